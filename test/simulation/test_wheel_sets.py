"""Vehicles of tanner-1998 from the YAML: casters without horizontal force, steering by heading, ranks of wheels."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.problems import MachineError
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.wheel_sets import rolling_rank
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations
from dyn_nodes.studies.tanner_1998.wheels import Wheel

RADIUS = 0.1
LINK = (
    '<link name="{name}"><inertial><mass value="{mass}"/>'
    '<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{place}" rpy="0 0 {turn}"/><axis xyz="{axis}"/>{limit}</joint>"""
LIMIT = '<limit effort="10" velocity="10"/>'


def vehicle(tmp_path, wheels, yaml, initial=''):
    """Return a box at 0.3 m height with wheels (name, x, y, turn), or with forks if the turn is None."""
    parts = [LINK.format(name='base', mass=60, i=4)]
    for name, x, y, turn in wheels:
        carrier, position = 'base', f'{x} {y} -0.2'
        if turn is None:
            parts += [LINK.format(name=f'{name}_fork', mass=0.1, i=0.001)]
            parts += [
                JOINT.format(
                    name=f'{name}_steer', kind='continuous', parent='base', child=f'{name}_fork', place=position,
                    turn=0, axis='0 0 1', limit=LIMIT,
                )
            ]  # fmt: skip
            carrier, position = f'{name}_fork', '0 0 0'
        parts += [LINK.format(name=f'{name}_wheel', mass=0.1, i=0.001)]
        parts += [
            JOINT.format(
                name=f'{name}_drive', kind='continuous', parent=carrier, child=f'{name}_wheel', place=position,
                turn=turn or 0, axis='0 1 0', limit=LIMIT,
            )
        ]  # fmt: skip
    (tmp_path / 'vehicle.urdf').write_text(f'<robot name="vehicle">{"".join(parts)}</robot>')
    text = f'base: {{link: base, attachment: free}}\ninitial: {{base_position: [0, 0, 0.3]{initial}}}\nconstraints:\n'
    (tmp_path / 'vehicle.yaml').write_text(text + yaml)
    return load_machine(tmp_path / 'vehicle.urdf', tmp_path / 'vehicle.yaml')


def rolling(*names, more=''):
    return ''.join(
        f'  {name}: {{kind: wheel, first: {{link: {name}_wheel}}, axis: [0, 1, 0], radius: {RADIUS}{more}}}\n'
        for name in names
    )


CORNERS = {'front_left': (0.3, 0.3), 'front_right': (0.3, -0.3), 'rear_left': (-0.3, 0.3), 'rear_right': (-0.3, -0.3)}

ACKERMANN = tabulated('tanner-1998/6.1/ranks')[3]
"""Angles of the front wheels, rad."""


def on_corners(tmp_path, turns):
    wheels = [(name, *CORNERS[name], turns.get(name, 0.0)) for name in CORNERS]
    return vehicle(tmp_path, wheels, rolling(*CORNERS))


@pytest.mark.parametrize('turns', [{}, dict(zip(CORNERS, ACKERMANN))])
def test_parallel_axles_and_axles_that_meet_leave_a_motion(tmp_path, turns):
    start = constrained_machine(on_corners(tmp_path, turns))
    assert rolling_rank(start.machine, start.system.blocks, start.q) == 2


def test_wheels_that_hold_their_vehicle_are_rejected_by_name_and_line(tmp_path):
    with pytest.raises(MachineError) as rejected:
        constrained_machine(on_corners(tmp_path, {'front_left': 0.3, 'front_right': 0.3, 'rear_left': 0.0}))
    (problem,) = rejected.value.problems
    assert problem.where == 'constraints.rear_left'
    assert problem.line == 6
    assert 'wheels whose axles meet in a point or are parallel' in problem.expected
    assert 'front_left, front_right in different points: rank 3' in problem.found


def test_steering_follows_the_heading(tmp_path):
    """The wheel of E1 with casters behind it is steered by 0.25 rad at a heading of 0.5 rad."""
    casters = rolling('left', 'right', more=', frictionless: true')
    yaml = rolling('front') + casters + '  slave: {kind: steering, joint: front_steer, ratio: 0.3, offset: 0.1}\n'
    yaml += 'joints: {left_drive: {class: free}, right_drive: {class: free}}\n'
    wheels = [('front', 0.4, 0.1, None), ('left', -0.15, 0.3, 0.0), ('right', -0.15, -0.3, 0.0)]
    start = constrained_machine(vehicle(tmp_path, wheels, yaml, ', base_yaw: 0.5'))
    blocks, wheel = start.system.blocks, Wheel(0.4, 0.1, RADIUS, 0.25, 0.3, 0.5)
    tree = blocks.tree
    assert rolling_rank(start.machine, blocks, start.q) == 1
    assert start.q[tree.position_names.index('front_steer')] == pytest.approx(0.25, abs=1e-9)
    assert [name for name in blocks.row_names if name.startswith('left')] == ['left/normal']
    u = np.array([0.3, 0.35])
    turn = wheel.turning(*u)
    body = [np.cos(0.5) * u[0] + np.sin(0.5) * u[1], np.cos(0.5) * u[1] - np.sin(0.5) * u[0]]
    velocities = dict(zip(('base_vx', 'base_vy'), body)) | {'left_drive': 0.0, 'right_drive': 0.0}
    v = np.zeros(tree.nv)
    v[[tree.velocity_index(name) for name in velocities]] = list(velocities.values())
    here = kanes_equations(blocks, tuple(velocities)).at(start.q, v)
    rates = {name: here.v[tree.velocity_index(name)] for name in ('base_wz', 'front_steer', 'front_drive')}
    assert rates['base_wz'] == pytest.approx(turn, rel=1e-9)
    assert rates['front_steer'] == pytest.approx(0.3 * turn, rel=1e-9)
    assert rates['front_drive'] == pytest.approx(wheel.spin((*u, turn)), rel=1e-9)
    tau = np.zeros(tree.nv)
    tau[[tree.velocity_index('front_drive'), tree.velocity_index('front_steer')]] = 2.0, 1.5
    along = here.efforts(tau)[:2] @ np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]]).T
    assert along == pytest.approx(wheel.forces(2.0, 1.5), rel=1e-9)


def test_steering_follows_the_heading_through_full_turns(tmp_path):
    casters = rolling('left', 'right', more=', frictionless: true')
    yaml = rolling('front') + casters + '  slave: {kind: steering, joint: front_steer, ratio: 0.3, offset: 0.1}\n'
    wheels = [('front', 0.4, 0.1, None), ('left', -0.15, 0.3, 0.0), ('right', -0.15, -0.3, 0.0)]
    start = constrained_machine(vehicle(tmp_path, wheels, yaml))
    blocks = start.system.blocks
    heading = 0.4 + 2 * np.pi
    q = start.q.copy()
    q[3:7] = 0.0, 0.0, np.sin(heading / 2), np.cos(heading / 2)
    q[blocks.tree.position_names.index('front_steer')] = 0.3 * heading + 0.1
    row = blocks.row_names.index('slave/steering')
    assert blocks.at(q).residual[row] == pytest.approx(0.0, abs=1e-12)
    q[blocks.tree.position_names.index('front_steer')] += 0.02
    assert blocks.at(q).residual[row] == pytest.approx(0.02, abs=1e-12)


@pytest.mark.parametrize(
    ('entry', 'where', 'expected'),
    [
        ('{kind: steering, joint: front_steer}', 'constraints.slave.ratio', 'a value, which kind steering needs'),
        ('{kind: lock, joint: front_steer, frictionless: true}', 'constraints.slave.frictionless', 'keys of kind lock'),
        (
            '{kind: wheel, first: {link: front}, radius: 0.1, frictionless: true, friction: 0.5}',
            'constraints.slave.friction',
            'no friction of a wheel that is frictionless',
        ),
        ('{kind: steering, joint: none, ratio: 1}', 'constraints.slave', 'a movable joint of the URDF'),
        ('{kind: steering, joint: front_steer, ratio: 0}', 'constraints.slave.ratio', 'a number other than zero'),
    ],
)
def test_faults_of_steering_are_named(tmp_path, entry, where, expected):
    wheels = [('front', 0.4, 0.1, None), ('left', -0.15, 0.3, 0.0), ('right', -0.15, -0.3, 0.0)]
    yaml = rolling('front', 'left', 'right') + f'  slave: {entry}\n'
    with pytest.raises(MachineError) as rejected:
        vehicle(tmp_path, wheels, yaml)
    (problem,) = rejected.value.problems
    assert problem.where == where
    assert expected in problem.expected
    assert problem.line == 7
