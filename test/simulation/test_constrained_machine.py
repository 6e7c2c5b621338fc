"""Machines with constraints from URDF and YAML: runs, results of `check`, rejections with their reasons."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.commands import check
from dyn_nodes.constraints import _dense_loops, _rates
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.studies.yesiloglu_2007 import models

ROOT = Path(__file__).resolve().parents[2]
FOUR_BAR, ARMS = ROOT / 'urdf' / 'four_bar.urdf', ROOT / 'urdf' / 'planar_arms.urdf'
FOUR_BAR_YAML, ARMS_YAML = ROOT / 'config' / 'four_bar.yaml', ROOT / 'config' / 'planar_arms.yaml'
CART = """
<robot name="cart">
  <link name="base">
    <inertial><origin xyz="0 0 0.1"/><mass value="20"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  {wheels}
</robot>
"""
WHEEL = """
  <link name="{name}"><inertial><mass value="2"/>
    <inertia ixx="0.02" iyy="0.04" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{name}_joint" type="continuous"><parent link="base"/><child link="{name}"/>
    <origin xyz="{x} {y} {z}"/><axis xyz="0 1 0"/></joint>
"""
HELD_ELBOW = 'joints: {arm_elbow: {class: pseudo}}\n'
LOCKED_ELBOW = 'joints: {arm_elbow: {class: locked}}\n'


def run_check(capsys, urdf, config, *options):
    parser = argparse.ArgumentParser()
    check.add_parser(parser.add_subparsers())
    args = parser.parse_args(['check', str(urdf), '--config', str(config), *options])
    status = args.run(args)
    return status, capsys.readouterr()


def changed(tmp_path, source, *pairs):
    text = source.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'machine.yaml'
    path.write_text(text)
    return path


def test_the_four_bar_from_files_equals_the_one_of_the_study():
    """The same mechanism from URDF and YAML: closed form of its acceleration, and 5 rows of rank 2."""
    machine = constrained_machine(load_machine(FOUR_BAR, FOUR_BAR_YAML))
    assert machine.system.constraints.actuated == ('crank_joint',)
    report = machine.analysis
    assert (report.rows, report.rank, report.mobility, report.underactuation) == (5, 2, 1, 0)
    run = machine.system.run(
        machine.x,
        np.linspace(0, 0.3, 4),
        Inputs.constant({'crank_joint/effort': -4.0}),
        settings=Settings(step=5e-3),
    )
    # the URDF's axis turns x towards z at negative y: torque and angle have the sign of that axis
    moment = 4.0 + (2 + 3) * 9.81 * 0.5 * np.cos(models.CRANK_ANGLE)
    inertia = 2 / 3 * 2 * 0.25 + 3 * 0.25
    assert run.a[0][0] == pytest.approx(-moment / inertia, rel=1e-9)
    assert np.abs(run.energy_balance).max() < 1e-7


def compilations():
    """Run a machine and print how often each function of the constraint solver is in the cache of compiled code."""
    machine = constrained_machine(load_machine(FOUR_BAR, FOUR_BAR_YAML))
    run = machine.system.run(machine.x, np.array([0.0, 1e-3]), settings=Settings(step=1e-3))
    assert np.isfinite(run.a).all()
    assert np.isfinite(run.multipliers).all()
    loops = _rates.solve, _rates.solve_code(), _dense_loops.accelerate, _dense_loops.reduced
    print(json.dumps([len(loop._cache._cache_file._load_index()) for loop in loops]))


def test_a_run_and_its_accelerations_share_one_compilation_of_the_constraint_solver(tmp_path):
    """With a fresh cache: in the user's cache, processes that write an index at the same time lose entries."""
    environment = {**os.environ, 'DYN_NODES_CACHE': str(tmp_path / 'cache'), 'PYTHONPATH': str(ROOT)}
    printed = subprocess.run([sys.executable, __file__], env=environment, stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(printed) == [1, 1, 1, 1]


def test_the_planar_arms_from_files_equal_those_of_the_study():
    """The plane x, z instead of x, y: the same motion after 2 s under the motors' ramp."""
    machine = constrained_machine(load_machine(ARMS, ARMS_YAML))
    ramp = Inputs([0, 5], {name: [0, end] for name, end in models.PLANAR_RAMP.items()})
    efforts = Inputs(ramp.knots, {f'{name}/effort': column for name, column in ramp.values.items()})
    run = machine.system.run(machine.x, [0.0, 2.0], efforts, settings=Settings(step=5e-3))
    model = models.planar_arms()
    reference = System.of_blocks('planar_arms', model.blocks(), model.actuated)
    expected = reference.run(reference.state(model.q, model.v), [0.0, 2.0], ramp, settings=Settings(step=5e-3))
    joints = [name for name in model.tree.velocity_names if name.startswith('arm_')]
    for name in joints:
        assert run.position(name)[-1] == pytest.approx(expected.position(name)[-1], abs=1e-8)
    assert run.position('load_x')[-1] == pytest.approx(expected.position('load_x')[-1], abs=1e-8)
    assert run.position('load_z')[-1] == pytest.approx(expected.position('load_y')[-1], abs=1e-8)
    assert (machine.analysis.mobility, machine.analysis.underactuation) == (6, 4)


@pytest.mark.parametrize('config', [FOUR_BAR_YAML, ARMS_YAML], ids=lambda path: path.stem)
def test_check_reports_rank_mobility_and_redundancy(config, capsys):
    urdf = ROOT / 'urdf' / f'{config.stem}.urdf'
    status, output = run_check(capsys, urdf, config)
    assert (status, 'warning' in output.out) == (0, False)
    assert 'mobility' in output.out
    status, output = run_check(capsys, urdf, config, '--json')
    facts = json.loads(output.out)['machine']['constraints']
    assert facts['rank'] == {'four_bar': 2, 'planar_arms': 6}[config.stem]
    assert len(facts['redundant']) == {'four_bar': 3, 'planar_arms': 0}[config.stem]


LOCK = '  a: {kind: lock, joint: crank_joint, position: 0.2}\n'


def moved(profile):
    """Return the YAML with a prescribed motion of the crank before the joints of the file."""
    return f'  b: {{kind: prescribed, joint: crank_joint, profile: {{{profile}}}}}\njoints:'


BROKEN = {
    'loop that can not close': (
        [('link: rocker, position: [0.5, 0, 0]', 'link: world, position: [3, 0, 0]')],
        'constraints.pin: expected a loop that closes, found ends that stay 1.6 m',
        7,
    ),
    'contradictory locks': (
        [
            (
                'joints:',
                '  a: {kind: lock, joint: crank_joint, position: 0.2}\n'
                '  b: {kind: lock, joint: crank_joint, position: 0.5}\njoints:',
            )
        ],
        'constraints.b: expected one lock of joint crank_joint, found 0.5, while constraints.a holds it at 0.2',
        9,
    ),
    'locks that the loop contradicts': (
        [('rocker_joint: {class: free}', 'rocker_joint: {class: locked, rest: 0.3}\n  crank_joint: {class: locked}')],
        'constraints.pin: expected a loop that closes, found ends that stay',
        7,
    ),
    'unknown link': (
        [('link: rocker,', 'link: roker,')],
        "constraints.pin.second.link: expected a link of the URDF, a load or world, found 'roker' (did you mean",
        7,
    ),
    'unknown joint': (
        [('rocker_joint: {class: free}', 'rocket_joint: {class: free}')],
        "joints.rocket_joint: expected a movable joint of the URDF, found 'rocket_joint' (did you mean",
        10,
    ),
    'unknown kind': ([('kind: hinge', 'kind: hing')], 'constraints.pin.kind: expected one of coupling, distance', 7),
    'missing end': (
        [(', second: {link: rocker, position: [0.5, 0, 0]}', '')],
        'constraints.pin.second: expected a value, which kind hinge needs, found nothing',
        7,
    ),
    'key of another kind': (
        [('kind: hinge,', 'kind: hinge, radius: 0.2,')],
        "constraints.pin.radius: expected keys of kind hinge: axis, first, kind, second, found 'radius'",
        7,
    ),
    'no axis': ([('axis: [0, 1, 0]', 'axis: [0, 0, 0]')], 'constraints.pin.axis: expected a direction', 7),
    'one link twice': (
        [('link: rocker,', 'link: coupler,')],
        "constraints.pin: expected two different links, found 'coupler' twice",
        7,
    ),
    'spring of a free joint': (
        [('rocker_joint: {class: free}', 'rocker_joint: {class: free, stiffness: 3}')],
        'joints.rocker_joint: expected stiffness or damping with class flexible',
        10,
    ),
    'coupling of nothing': (
        [('joints:', '  gear: {kind: coupling, coefficients: {crank_joint: 0}}\njoints:')],
        'constraints.gear.coefficients: expected a coefficient other than zero',
        8,
    ),
    'motion of a locked joint': (
        [('joints:', LOCK + moved('kind: sine, amplitude: 1, frequency: 1'))],
        'constraints.b: expected one motion of joint crank_joint, found a motion, while constraints.a holds it at 0.2',
        9,
    ),
    'motion without a profile': (
        [('joints:', '  b: {kind: prescribed, joint: crank_joint}\njoints:')],
        'constraints.b.profile: expected a value, which kind prescribed needs, found nothing',
        8,
    ),
    'profile of another kind': (
        [('joints:', moved('kind: bump, height: 1, duration: 1').replace('prescribed', 'lock'))],
        "constraints.b.profile: expected keys of kind lock: joint, kind, position, found 'profile'",
        8,
    ),
    'profile without its numbers': (
        [('joints:', moved('kind: sine, amplitude: 1'))],
        'constraints.b.profile.frequency: expected a value, which kind sine needs, found nothing',
        8,
    ),
    'key of another profile': (
        [('joints:', moved('kind: polynomial, coefficients: [1], start: 2'))],
        "constraints.b.profile.start: expected keys of kind polynomial: coefficients, kind, found 'start'",
        8,
    ),
    'times that do not rise': (
        [('joints:', moved('kind: points, times: [0, 1, 1], values: [0, 1, 2]'))],
        'constraints.b.profile.times: expected at least two rising times, found 0, 1, 1',
        8,
    ),
    'values that are too few': (
        [('joints:', moved('kind: points, times: [0, 1], values: [0]'))],
        'constraints.b.profile.values: expected a value for every time, found 1 values for 2 times',
        8,
    ),
    'a list that holds a text': (
        [('joints:', moved('kind: polynomial, coefficients: [1, up]'))],
        "constraints.b.profile.coefficients[1]: expected a number, found 'up'",
        8,
    ),
    'name that is no topic': (
        [('  pin:', '  pin-1:')],
        'constraints.pin-1: expected a name of letters, digits and underscores, as it becomes part of a topic',
        7,
    ),
    'load that is no body': (
        [('joints:', 'loads:\n  box: {mass: 1, inertia: {ixx: 1, iyy: 1, izz: 5}}\njoints:')],
        'loads.box.inertia: expected an inertia of a body',
        9,
    ),
    'load with the name of a link': (
        [('joints:', 'loads:\n  crank: {mass: 1, inertia: {ixx: 1, iyy: 1, izz: 1}}\njoints:')],
        'loads.crank: expected a name that no link or joint has',
        9,
    ),
}


@pytest.mark.parametrize('name', BROKEN)
def test_a_faulty_constraint_file_is_rejected_with_the_reason(name, tmp_path, capsys):
    """Done-when 5 of the specification."""
    pairs, message, line = BROKEN[name]
    path = changed(tmp_path, FOUR_BAR_YAML, *pairs)
    status, output = run_check(capsys, FOUR_BAR, path)
    assert status == 1
    assert 'Traceback' not in output.err
    assert any(text.startswith(f'{path}:{line}: {message}') for text in output.err.splitlines()), output.err


def cart(tmp_path, height):
    """Return a platform on four rolling wheels of radius 0.2 m, the last one mounted higher by `height`."""
    wheels, lines = '', ''
    for k, (x, y) in enumerate(((0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4))):
        wheels += WHEEL.format(name=f'wheel_{k}', x=x, y=y, z=height if k == 3 else 0.0)
        lines += f'  roll_{k}: {{kind: wheel, first: {{link: wheel_{k}}}, axis: [0, -1, 0], radius: 0.2}}\n'
    urdf, config = tmp_path / 'cart.urdf', tmp_path / 'cart.yaml'
    urdf.write_text(CART.format(wheels=wheels))
    config.write_text(
        f'name: cart\nbase: {{attachment: free}}\ninitial: {{base_position: [0, 0, 0.2]}}\nconstraints:\n{lines}'
    )
    return urdf, config


def test_a_rolling_cart_from_files(tmp_path, capsys):
    """The four wheels carry the weight; an equal torque on all drives it straight ahead."""
    machine = constrained_machine(load_machine(*cart(tmp_path, 0.0)))
    torque = 1.0
    inputs = Inputs.constant({f'wheel_{k}_joint/effort': torque for k in range(4)})
    run = machine.system.run(machine.x, np.linspace(0, 1, 11), inputs, settings=Settings(step=5e-3))
    mass, radius = 20 + 4 * 2, 0.2
    expected = 4 * torque / (radius * (mass + 4 * 0.04 / radius**2))
    assert run.status == 'done'
    assert run.position('base_x')[-1] == pytest.approx(0.5 * expected, rel=1e-9)
    normal = sum(run.force(f'roll_{k}')[0][2] for k in range(4))
    assert normal == pytest.approx(mass * 9.81, rel=1e-12)
    status, output = run_check(capsys, *cart(tmp_path, 0.0))
    assert status == 0
    assert 'redundant rows' in output.out


def test_a_wheel_in_the_air_is_rejected(tmp_path, capsys):
    urdf, config = cart(tmp_path, 0.05)
    status, output = run_check(capsys, urdf, config)
    assert status == 1
    assert f'{config}:8: constraints.roll_3: expected a wheel on the ground, found one 0.05 m above it' in output.err


def test_a_system_has_the_same_interface_with_and_without_constraints():
    machine = load_machine(FOUR_BAR, FOUR_BAR_YAML)
    system = System(machine, 'effort')
    x, u, p = initial_state(system), np.zeros(1), system.parameters()
    assert x == pytest.approx(constrained_machine(machine).x, abs=1e-12)
    rate = system.rhs(x, u, p)
    assert rate[: system.nq] == pytest.approx(x[system.nq : system.nq + system.nv])
    y = dict(zip(system.output_names, system.outputs(x, u, p)))
    assert y['crank_joint_acceleration'] == pytest.approx(rate[system.index('state', 'crank_joint_rate')])
    assert [part.shape for part in system.jacobians(x, u, p)] == [(len(x), len(x)), (len(x), 1)]
    run = system.run(x, [0.0, 0.05], Inputs.constant({'crank_joint/effort': 1.0}), p, Settings(step=1e-3))
    assert run.status == 'done'
    assert np.abs(run.residual).max() < 1e-10
    assert system.machine is machine
    with pytest.raises(ValueError, match='four_bar: expected base quaternion and no audit beside constraints'):
        System(machine, 'effort', audit=True)


def test_a_joint_of_class_locked_with_wheels_on_springs_is_fixed(capsys, tmp_path):
    """The machine is a tree without this joint, and its plant can be built."""
    config = changed(tmp_path, ROOT / 'config' / 'agv_mecanum_arm.yaml', ('\nwheels:', f'\n{LOCKED_ELBOW}wheels:'))
    status, output = run_check(capsys, ROOT / 'urdf' / 'agv_mecanum_arm.urdf', config)
    assert status == 0
    assert "expected locked joints in the list `locked`, found 'arm_elbow' locked in another way" in output.out
    machine = load_machine(ROOT / 'urdf' / 'agv_mecanum_arm.urdf', config)
    assert not machine.needs_constraints
    assert not machine.joint('arm_elbow').movable


def test_check_assembles_a_held_joint_with_wheels_on_springs(capsys, tmp_path):
    """One predicate decides whether there are constraints, and `check` assembles like a plant, also on springs."""
    config = changed(tmp_path, ROOT / 'config' / 'agv_mecanum_arm.yaml', ('\nwheels:', f'\n{HELD_ELBOW}wheels:'))
    status, output = run_check(capsys, ROOT / 'urdf' / 'agv_mecanum_arm.urdf', config)
    assert status == 0, output.err


def test_check_rejects_a_machine_with_constraints_and_no_equilibrium(capsys, tmp_path):
    reaching = HELD_ELBOW.replace('pseudo}', 'pseudo, rest: 0.0}')
    pairs = ('\nwheels:', f'\n{reaching}slope: {{pitch: 1.2}}\nwheels:')
    config = changed(tmp_path, ROOT / 'config' / 'agv_mecanum_arm.yaml', pairs)
    status, output = run_check(capsys, ROOT / 'urdf' / 'agv_mecanum_arm.urdf', config)
    assert status == 1
    assert 'initial: expected a posture in which the machine rests' in output.err
    assert 'Traceback' not in output.err


if __name__ == '__main__':
    compilations()
