"""Results, errors and warnings of `load_machine`."""

from __future__ import annotations

import dataclasses
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import MachineError, Problem, load_machine, load_machine_report

CORPUS = Path(__file__).resolve().parents[1] / 'corpus'
CRANE = CORPUS / 'crane.urdf'
CONFIG = CORPUS / 'crane.yaml'


def edited(source: Path, folder: Path, *changes: tuple[str, str]) -> Path:
    text = source.read_text(encoding='utf-8')
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / source.name
    path.write_text(text, encoding='utf-8')
    return path


def test_without_a_config_the_base_is_fixed_and_has_no_equipment():
    machine = load_machine(CRANE)
    assert machine.name == 'crane'
    assert (machine.base.link, machine.base.attachment) == ('base_link', 'fixed')
    assert machine.wheels == ()
    assert machine.actuators == ()
    assert machine.payload is None
    assert machine.gravity == 9.81
    assert machine.urdf == CRANE.read_text(encoding='utf-8')
    assert machine.sources == (str(CRANE),)


def test_links_come_root_first_and_joint_i_moves_link_i_plus_1():
    machine = load_machine(CRANE, CONFIG)
    assert machine.links[0].name == 'base_link'
    assert [joint.child for joint in machine.joints] == [link.name for link in machine.links[1:]]
    seen = {'base_link'}
    for joint in machine.joints:
        assert joint.parent in seen
        seen.add(joint.child)
    assert [joint.name for joint in machine.movable_joints] == ['slew', 'luff', 'extend']


def test_joints_carry_limits_axis_and_dynamics():
    machine = load_machine(CRANE)
    luff = machine.joint('luff')
    assert (luff.lower, luff.upper, luff.effort_limit, luff.velocity_limit) == (-0.2, 1.2, 20000, 0.5)
    assert (luff.damping, luff.friction) == (10, 5)
    np.testing.assert_array_equal(luff.axis, [0, -1, 0])
    np.testing.assert_allclose(luff.origin[:3, 3], [0.2, 0, 1])
    slew = machine.joint('slew')
    assert (slew.lower, slew.upper) == (-math.inf, math.inf)


def test_an_inertia_is_turned_into_the_axes_of_its_link(tmp_path):
    path = edited(CRANE, tmp_path, ('<origin xyz="1 0 0"/>', '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>'))
    link = load_machine(path).link('boom_link')
    np.testing.assert_allclose(link.inertia, np.diag([30, 1, 30]), atol=1e-12)


def test_a_machine_can_not_be_changed():
    machine = load_machine(CRANE, CONFIG)
    with pytest.raises(dataclasses.FrozenInstanceError):
        machine.gravity = 1.62
    with pytest.raises(ValueError, match='read-only'):
        machine.links[0].inertia[0, 0] = 1.0


def test_defaults_lie_under_wheels_and_actuators():
    machine = load_machine(CRANE, CONFIG)
    assert {wheel.stiffness for wheel in machine.wheels} == {2.0e5}
    assert all(wheel.link == 'base_link' for wheel in machine.wheels)
    assert machine.wheels[0].friction.bristle_stiffness == 40.0
    assert machine.actuator('luffing').valve == machine.actuator('slewing').valve
    assert machine.actuator('slewing').idle_pressure == 5.0e6
    assert machine.assumed == {'defaults.valve.time_constant': 'a usual servo valve'}


def test_an_element_overrides_its_defaults_key_by_key(tmp_path):
    change = (
        '    position: [1.2, -0.9, -0.1]',
        '    position: [1.2, -0.9, -0.1]\n    stiffness: 3.0e5\n    friction: {static: 0.7}',
    )
    machine = load_machine(CRANE, edited(CONFIG, tmp_path, change))
    assert [wheel.stiffness for wheel in machine.wheels] == [3.0e5, 2.0e5, 2.0e5, 2.0e5]
    assert (machine.wheels[0].friction.static, machine.wheels[0].friction.kinetic) == (0.7, 0.5)


def test_friction_null_makes_a_wheel_frictionless(tmp_path):
    change = ('    position: [1.2, -0.9, -0.1]', '    position: [1.2, -0.9, -0.1]\n    friction: null')
    machine = load_machine(CRANE, edited(CONFIG, tmp_path, change))
    assert machine.wheels[0].friction is None
    assert machine.wheels[1].friction is not None


def test_yaml_numbers_without_a_dot_and_merge_keys_are_read(tmp_path):
    config = edited(
        CONFIG,
        tmp_path,
        ('stiffness: 2.0e5', 'stiffness: 2e5'),
        ('  front_right:', '  front_right: &corner'),
        ('  front_left:\n', '  front_left:\n    <<: *corner\n'),
    )
    machine = load_machine(CRANE, config)
    assert machine.wheels[1].stiffness == 2e5
    assert tuple(machine.wheels[1].position) == (1.2, 0.9, -0.1)


def test_all_problems_of_both_files_are_raised_together_sorted_by_line(tmp_path):
    urdf = edited(CRANE, tmp_path, ('value="900"', 'value="-1"'), ('upper="1.5"', 'upper="-1"'), ('"0 0 1"', '"0 0 0"'))
    config = edited(CONFIG, tmp_path, ('gravity: 9.81', 'gravity: fast'), ('mass: 50', 'mas: 50'))
    with pytest.raises(MachineError) as caught:
        load_machine(urdf, config)
    located = [(Path(problem.file).name, problem.line, problem.where) for problem in caught.value.problems]
    assert located == [
        ('crane.urdf', 6, 'link base_link, mass'),
        ('crane.urdf', 36, 'joint slew, axis'),
        ('crane.urdf', 52, 'joint extend, limit'),
        ('crane.yaml', 2, 'gravity'),
        ('crane.yaml', 13, 'payload.mass'),
        ('crane.yaml', 16, 'payload.mas'),
    ]
    assert len(str(caught.value).splitlines()) == 6
    assert isinstance(caught.value, ValueError)


def test_a_problem_is_one_line_of_file_line_key_expected_found():
    problem = Problem('a.urdf', 3, 'link boom, mass', 'a mass >= 0 kg', '-1')
    assert str(problem) == 'a.urdf:3: link boom, mass: expected a mass >= 0 kg, found -1'
    assert str(dataclasses.replace(problem, line=0)) == 'a.urdf: link boom, mass: expected a mass >= 0 kg, found -1'


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('iyy="9"', 'iyy="90"'), 'link mast_link, inertia: expected principal moments that satisfy the triangle'),
        (('<limit effort="5000" velocity="1"/>', ''), 'joint slew, limit: expected effort and velocity limits, found'),
        (('<origin xyz="0 0 0.4"/>', '<origin xyz="0 130 0.4"/>'), 'expected a centre of mass within 100 m'),
        (('effort="3000"', 'effort="0"'), 'joint extend, limit: expected effort > 0, found 0'),
        (
            ('<joint name="luff" type="revolute">', '<joint name="luff" type="fixed">'),
            'joint luff, dynamics: expected a joint that moves, found damping of a fixed joint',
        ),
        (('<parent link="mast_link"/>', '<parentt/><parent link="mast_link"/>'), "'parentt' (did you mean 'parent'?)"),
    ],
)
def test_suspicious_but_legal_values_are_warnings(tmp_path, change, message):
    machine, problems, warnings = load_machine_report(edited(CRANE, tmp_path, change))
    assert problems == ()
    assert machine is not None
    assert any(message in str(warning) for warning in warnings), warnings


LUFF, EXTEND = 'lower="-0.2" upper="1.2"', 'lower="0" upper="1.5"'


@pytest.mark.parametrize(
    ('joint', 'old', 'new', 'limits'),
    [
        ('luff', LUFF, 'lower="-9.42477796" upper="9.42477796"', (-math.inf, math.inf)),
        ('luff', LUFF, 'lower="-10" upper="1.2"', (-math.inf, 1.2)),
        ('luff', LUFF, 'lower="-1e16" upper="1e16"', (-math.inf, math.inf)),
        ('luff', LUFF, 'lower="-7" upper="7"', (-7.0, 7.0)),
        ('extend', EXTEND, 'lower="-999999" upper="999999"', (-math.inf, math.inf)),
        ('extend', EXTEND, 'lower="0" upper="1e9"', (0.0, math.inf)),
        ('extend', EXTEND, 'lower="0" upper="900"', (0.0, 900.0)),
    ],
)
def test_limits_that_mean_unlimited_are_infinite_without_a_warning(tmp_path, joint, old, new, limits):
    machine, problems, warnings = load_machine_report(edited(CRANE, tmp_path, (old, new)))
    assert (problems, warnings) == ((), ())
    assert (machine.joint(joint).lower, machine.joint(joint).upper) == limits


def test_an_effort_or_velocity_limit_of_minus_one_is_none(tmp_path):
    change = ('effort="20000" velocity="0.5"', 'effort="-1" velocity="-1"')
    luff = load_machine(edited(CRANE, tmp_path, change)).joint('luff')
    assert (luff.effort_limit, luff.velocity_limit) == (math.inf, math.inf)


def test_a_joint_with_an_effort_limit_of_zero_is_passive_unless_an_actuator_moves_it(tmp_path):
    change = ('effort="20000"', 'effort="0"')
    machine = load_machine(edited(CRANE, tmp_path, change))
    assert machine.idle_joints == {'luff': 'passive'}
    assert [joint.name for joint in machine.actuated_joints] == ['slew', 'extend']
    assert load_machine(machine.sources[0], CONFIG).idle_joints == {}  # its cylinder moves it


def test_an_axis_of_any_length_is_normalized(tmp_path):
    machine = load_machine(edited(CRANE, tmp_path, ('<axis xyz="0 -1 0"/>', '<axis xyz="0 -3 4"/>')))
    np.testing.assert_allclose(machine.joint('luff').axis, [0.0, -0.6, 0.8])


def test_distances_up_to_a_kilometre_are_legal(tmp_path):
    change = ('<origin xyz="2 0 0"/>', '<origin xyz="800 0 0"/>')
    machine, problems, _ = load_machine_report(edited(CRANE, tmp_path, change))
    assert problems == ()
    assert machine.joint('extend').origin[0, 3] == 800.0


def test_elements_with_undeclared_prefixes_are_removed_from_the_description_too(tmp_path):
    extension = '<sensor:camera name="eye"><sensor:lens/></sensor:camera>\n  <link name="hook_link" foo:bar="1"/>'
    machine = load_machine(edited(CRANE, tmp_path, ('<link name="hook_link"/>', extension)))
    assert machine.link('hook_link').mass == 0.0
    assert 'sensor' not in machine.urdf
    assert 'foo' not in machine.urdf


def test_a_massless_moving_link_between_others_is_a_warning(tmp_path):
    text = CRANE.read_text(encoding='utf-8')
    start = text.index('    <inertial>', text.index('"boom_link"'))
    text = text[:start] + text[text.index('</inertial>', start) + len('</inertial>') :]
    path = tmp_path / 'crane.urdf'
    path.write_text(text, encoding='utf-8')
    machine, _, warnings = load_machine_report(path)
    assert machine is not None
    assert any('expected a mass (joint luff moves it)' in str(warning) for warning in warnings)


def test_a_missing_file_is_one_problem():
    with pytest.raises(MachineError) as caught:
        load_machine('no/such.urdf', 'no/such.yaml')
    assert [str(problem) for problem in caught.value.problems] == [
        'no/such.urdf: file: expected a file that exists, found none',
        'no/such.yaml: file: expected a file that exists, found none',
    ]


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / 'large.urdf'
    with path.open('wb') as file:
        file.truncate(20_000_000)
    with pytest.raises(MachineError, match='expected at most 16000000 bytes, found 20000000 bytes'):
        load_machine(path)


def test_a_plain_urdf_named_xacro_is_read(tmp_path):
    path = tmp_path / 'crane.urdf.xacro'
    path.write_text(CRANE.read_text(encoding='utf-8'), encoding='utf-8')
    assert load_machine(path).name == 'crane'


def test_without_the_xacro_module_the_error_names_the_command_that_expands_a_file(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text('<robot name="r"><link name="${name}"/></robot>', encoding='utf-8')
    with pytest.raises(MachineError, match=r'expand it first with ROS 2, `xacro arm.urdf.xacro > arm.urdf`'):
        load_machine(path)


def test_a_xacro_file_is_expanded_if_the_module_is_installed(tmp_path, monkeypatch):
    expanded = types.SimpleNamespace(toprettyxml=lambda indent: CRANE.read_text(encoding='utf-8'))
    module = types.ModuleType('xacro')
    module.process_file = lambda path: expanded
    monkeypatch.setitem(sys.modules, 'xacro', module)
    path = tmp_path / 'crane.urdf.xacro'
    path.write_text('<robot name="r"><link name="${name}"/></robot>', encoding='utf-8')
    machine = load_machine(path)
    assert machine.name == 'crane'
    assert machine.urdf == CRANE.read_text(encoding='utf-8')


def test_an_external_entity_is_never_opened(tmp_path, monkeypatch):
    secret = tmp_path / 'secret.txt'
    secret.write_text('not for you', encoding='utf-8')
    path = tmp_path / 'a.urdf'
    path.write_text(
        f'<!DOCTYPE robot [<!ENTITY s SYSTEM "file://{secret}">]>\n<robot name="&s;"><link name="a"/></robot>',
        encoding='utf-8',
    )
    with pytest.raises(MachineError) as caught:
        load_machine(path)
    assert 'not for you' not in str(caught.value)
    assert caught.value.problems[0].line == 1


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ([('attachment: free', 'attachment: fixed')], 'wheels: expected no wheels on a fixed base, found 4'),
        ([('[1.2, -0.9, -0.1]', '[1.2, -0.9, 2.0]')], 'wheels.front_right.position: expected an attachment below'),
        ([('stiffness: 2.0e5', 'stiffness: 1.0e4')], 'wheels: expected wheels that carry the weight, 11281.5 N'),
        ([('    luff: 0.5\n', '')], None),
    ],
)
def test_suspicious_combinations_of_both_files_are_warnings(tmp_path, changes, message):
    machine, problems, warnings = load_machine_report(CRANE, edited(CONFIG, tmp_path, *changes))
    assert problems == ()
    assert machine is not None
    assert warnings == () if message is None else any(message in str(warning) for warning in warnings)


def test_a_free_base_without_wheels_is_a_warning(tmp_path):
    config = tmp_path / 'm.yaml'
    config.write_text('base: {attachment: free}\n', encoding='utf-8')
    machine, _, warnings = load_machine_report(CRANE, config)
    assert machine.base.link == 'base_link'
    assert [warning.found for warning in warnings] == ['none: the machine has no support']
