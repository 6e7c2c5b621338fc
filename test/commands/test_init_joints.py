"""`dyn-nodes init`: mimic joints as couplings, limits of 0, and that `check` accepts whatever it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from dyn_nodes.cli import main
from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

pin = pytest.importorskip('pinocchio')

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / 'test' / 'init_cases'
BODY = (
    '<inertial><origin xyz="{x} 0 0.1"/><mass value="{mass}"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


BOX = '<visual><geometry><box size="2 2 0.2"/></geometry></visual>'


def link(name, mass=5.0, x=0.3, shape=''):
    return f'<link name="{name}">{BODY.format(mass=mass, x=x) if mass else ""}{shape}</link>'


def joint(name, parent, child, mimic='', kind='revolute', limits='lower="-3" upper="3"', drive=(100, 1)):
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0.4 0 0.1"/><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="0 1 0"/><limit {limits} effort="{drive[0]}" velocity="{drive[1]}"/>{mimic}</joint>'
    )


def mimic(leader, multiplier=None, offset=None):
    numbers = {'multiplier': multiplier, 'offset': offset}
    words = ' '.join(f'{key}="{value}"' for key, value in numbers.items() if value is not None)
    return f'<mimic joint="{leader}" {words}/>'


def chain(folder, *joints, masses=(5.0, 5.0, 5.0), base=30.0, shape=''):
    """A URDF whose links one, two, three hang on each other in a row."""
    path = folder / 'chain.urdf'
    links = link('base', base, 0.0, shape) + ''.join(
        link(name, mass) for name, mass in zip(('one', 'two', 'three'), masses)
    )
    path.write_text(f'<robot name="chain">{links}{"".join(joints)}</robot>')
    return path


def init(urdf, folder):
    """The YAML that `init` writes, which `check` accepts."""
    output = folder / f'{urdf.stem}.yaml'
    assert main(['init', str(urdf), '-o', str(output), '--force']) == 0
    assert main(['check', str(urdf), '--config', str(output), '--json']) == 0
    return yaml.safe_load(output.read_text())


def moving_effort(urdf, positions, rates):
    """Effort at the leader that holds the joints that move with it, by virtual work, N m or N."""
    model = pin.buildModelFromUrdf(str(urdf))
    data, q, v = model.createData(), np.zeros(model.nq), np.zeros(model.nv)
    for name in model.names[1:]:
        place = model.joints[model.getJointId(name)]
        q[place.idx_q], v[place.idx_v] = positions.get(name, 0.0), rates.get(name, 0.0)
    return float(v @ pin.computeGeneralizedGravity(model, data, q))


def test_mimic_joints_of_a_scissor_lift_become_couplings(tmp_path, capsys):
    urdf = CASES / 'mimic_lift.urdf'
    values = init(urdf, tmp_path)
    assert 'locked' not in values
    assert values['constraints'] == {
        'mimic_fold': {'kind': 'coupling', 'coefficients': {'fold': 1.0, 'lift': 2.0}},
        'mimic_level': {'kind': 'coupling', 'coefficients': {'level': 1.0, 'lift': -1.0}},
    }
    assert values['joints'] == {'fold': {'class': 'free'}, 'level': {'class': 'free'}}
    out = capsys.readouterr().out
    assert 'constraints: mimic_fold, mimic_level' in out
    assert json.loads(out[out.index('{\n') :])['warnings'] == []


def test_the_machine_with_couplings_runs_and_its_drive_carries_all_that_moves(tmp_path):
    urdf = CASES / 'mimic_lift.urdf'
    init(urdf, tmp_path)
    plant = Plant(load_machine(urdf, tmp_path / 'mimic_lift.yaml'), 'effort', 2e-3, 5e-4, ())
    plant.set_efforts(plant.holding_efforts())
    at = dict(zip(plant.joints, plant.positions))
    expected = moving_effort(urdf, at, {'lift': 1.0, 'fold': -2.0, 'level': 1.0})
    assert plant.output('lift/drive_effort') == pytest.approx(expected, rel=1e-4)  # the base leans on its springs
    for _ in range(50):
        plant.advance()
    at = dict(zip(plant.joints, plant.positions))
    assert [at['fold'], at['level']] == pytest.approx([-2 * at['lift'], at['lift']], abs=1e-9)


def test_multiplier_and_offset_along_a_chain_of_mimic_joints(tmp_path):
    """two = 2 one + 0.1 and three = 0.2 - two / 2 = 0.15 - one."""
    urdf = chain(
        tmp_path,
        joint('three', 'two', 'three', mimic('two', -0.5, 0.2)),
        joint('two', 'one', 'two', mimic('one', 2, 0.1)),
        joint('one', 'base', 'one'),
    )
    values = init(urdf, tmp_path)
    assert values['initial']['joint_positions'] == {'one': 0.0, 'two': 0.1, 'three': pytest.approx(0.15)}
    assert values['constraints'] == {
        'mimic_two': {'kind': 'coupling', 'coefficients': {'two': 1.0, 'one': -2.0}, 'offset': 0.1},
        'mimic_three': {
            'kind': 'coupling',
            'coefficients': {'three': 1.0, 'one': 1.0},
            'offset': pytest.approx(0.15),
        },
    }
    values['base'] = {'attachment': 'fixed'}
    values['initial']['joint_positions'] = {'one': 0.4}
    (tmp_path / 'fixed.yaml').write_text(yaml.safe_dump(values))
    start = constrained_machine(load_machine(urdf, tmp_path / 'fixed.yaml'))
    positions = dict(zip(start.system.blocks.tree.position_names, start.q))
    assert positions == {'one': 0.4, 'two': pytest.approx(0.9), 'three': pytest.approx(-0.25)}
    expected = moving_effort(urdf, positions, {'one': 1.0, 'two': 2.0, 'three': -1.0})
    assert start.at_rest().efforts == {'one': pytest.approx(expected, rel=1e-9)}


def test_a_rack_follows_its_pinion(tmp_path):
    rack = joint('rack', 'base', 'two', mimic('pinion', 0.05), 'prismatic', 'lower="-1" upper="1"')
    urdf = chain(tmp_path, joint('pinion', 'base', 'one'), rack, joint('three', 'two', 'three'))
    values = init(urdf, tmp_path)
    assert values['constraints']['mimic_rack']['coefficients'] == {'rack': 1.0, 'pinion': -0.05}


@pytest.mark.parametrize(
    ('leader', 'masses', 'reason'),
    [
        (joint('one', 'base', 'one', kind='fixed'), (5.0, 5.0, 5.0), 'mimics one, which does not move it'),
        (joint('one', 'base', 'one'), (0.0, 5.0, 5.0), 'mimics one, which does not move it'),
        (joint('one', 'base', 'one'), (5.0, 0.0, 5.0), 'moves no inertia'),
        (joint('one', 'base', 'one', limits='lower="0" upper="0.01"'), (5.0, 5.0, 5.0), 'its own limits'),
    ],
)
def test_a_mimic_joint_that_nothing_moves_is_held_where_its_leader_puts_it(tmp_path, leader, masses, reason):
    """Leader fixed or without inertia, follower without inertia, limits that do not meet those of the leader."""
    lower = -3 if reason != 'its own limits' else 0.5
    limits = f'lower="{lower}" upper="3"'
    follower = joint('two', 'base', 'two', mimic('one', 2, 0.3), limits=limits)
    urdf = chain(tmp_path, leader, follower, joint('three', 'base', 'three'), masses=masses)
    values = init(urdf, tmp_path)
    assert 'two' in values['locked']
    assert reason in (tmp_path / 'chain.yaml').read_text()
    assert 'constraints' not in values
    assert values['initial']['joint_positions']['two'] == pytest.approx(0.3 if lower < 0 else 0.525)


def test_light_joints_are_held_only_where_all_that_moves_with_them_is_light(tmp_path):
    """0.1 kg of 40 kg is less than 0.5 %, but its followers weigh 10 kg."""
    joints = (
        joint('one', 'base', 'one'),
        joint('two', 'base', 'two', mimic('one')),
        joint('three', 'base', 'three', mimic('one', -1)),
    )
    values = init(chain(tmp_path, *joints, masses=(0.1, 5.0, 5.0)), tmp_path)
    assert set(values['constraints']) == {'mimic_two', 'mimic_three'}
    assert 'locked' not in values
    values = init(chain(tmp_path, *joints, masses=(0.05, 0.02, 0.02)), tmp_path)
    assert values['locked'] == ['one', 'two', 'three']


def test_a_leader_starts_where_its_followers_may_be(tmp_path):
    """three = one - 0.8 has the range 0.2 to 1.2, so that one starts within 1.0 to 2.0."""
    follower = joint('three', 'base', 'three', mimic('one', 1, -0.8), limits='lower="0.2" upper="1.2"')
    urdf = chain(tmp_path, joint('one', 'base', 'one'), joint('two', 'one', 'two'), follower)
    positions = init(urdf, tmp_path)['initial']['joint_positions']
    assert positions == {'one': 1.01, 'two': 0.0, 'three': pytest.approx(0.21)}


@pytest.mark.parametrize('leaders', [('two', 'one'), ('one', 'two')])
def test_mimic_joints_in_a_ring_are_rejected(tmp_path, capsys, leaders):
    joints = (joint(name, 'base', name, mimic(leader)) for name, leader in zip(('one', 'two'), leaders))
    urdf = chain(tmp_path, *joints, joint('three', 'base', 'three'))
    assert main(['init', str(urdf), '-o', str(tmp_path / 'x.yaml')]) == 1
    message = f"chain.urdf:1: joint one, mimic: expected a joint that does not follow this one, found '{leaders[0]}'"
    assert message in capsys.readouterr().err


def test_a_mimic_joint_is_reported_until_the_yaml_couples_or_locks_it(tmp_path):
    urdf, config = CASES / 'mimic_lift.urdf', tmp_path / 'lift.yaml'
    config.write_text(
        'locked: [level]\nconstraints: {a: {kind: coupling, coefficients: {fold: 1, lift: 2}}}\n'
        'initial: {joint_positions: {lift: 0.2, fold: -0.4}}\n'
    )
    assert load_machine_report(urdf, config).warnings == ()
    text = 'mimic_lift.urdf:7: joint fold: expected a coupling or a lock of it in the machine YAML'
    config.write_text('locked: [level]\ninitial: {joint_positions: {lift: 0.2}}\n')
    found = [str(warning) for warning in load_machine_report(urdf, config).warnings if 'mimic' in str(warning)]
    assert len(found) == 1
    assert text in found[0]


# --- limits of 0 ---------------------------------------------------------------------------------------------------


def test_limits_of_zero_are_named_and_the_joint_becomes_actuated(tmp_path, capsys):
    values = init(CASES / 'zero_limits.urdf', tmp_path)
    assert values['joints'] == {'shoulder': {'class': 'actuated'}}
    said = 'shoulder: class actuated, because its effort and velocity are limited to 0 in the URDF'
    assert said in capsys.readouterr().out
    machine, _, warnings = load_machine_report(CASES / 'zero_limits.urdf', tmp_path / 'zero_limits.yaml')
    shoulder = machine.joint('shoulder')
    assert (shoulder.effort_limit, shoulder.velocity_limit) == (np.inf, np.inf)
    assert machine.idle_joints == {}
    found = 'expected limits of a driven joint in the URDF, found effort and velocity 0, interpreted as no limit'
    assert f'joints.shoulder: {found}' in str(warnings[-1])


def test_a_passive_joint_that_nothing_holds_becomes_actuated_with_the_reason(tmp_path):
    """A slide without friction, effort 0: it would fall for ever."""
    urdf = chain(
        tmp_path,
        joint('one', 'base', 'one', kind='prismatic', drive=(0, 1)).replace('0 1 0', '0 0 1'),
        joint('two', 'one', 'two'),
        joint('three', 'two', 'three'),
        base=300.0,
        shape=BOX,
    )
    assert init(urdf, tmp_path)['joints'] == {'one': {'class': 'actuated'}}
    text = (tmp_path / 'chain.yaml').read_text()
    assert "effort is limited to 0 in the URDF; passive, nothing holds joint 'one'" in text


# --- whatever is written is accepted -------------------------------------------------------------------------------

OWN = sorted([*(ROOT / 'urdf').glob('*.urdf'), *(ROOT / 'test' / 'zoo').glob('*.urdf'), *CASES.glob('*.urdf')])


@pytest.mark.parametrize('urdf', OWN, ids=lambda path: path.stem)
def test_check_accepts_what_init_writes(tmp_path, urdf):
    init(urdf, tmp_path)
