"""Two RM-1 with a bar between their hands: a Runge-Kutta step, ours against MuJoCo's (tanner-1998, E10).

    python benchmarks/team_step.py [--quick]

Prints JSON, in us. MuJoCo's machines have a ball for each wheel, so that each has one contact, elliptic cones, a caster
without friction, and a tendon with the bar's stiffness and damping; half of its mass is in each hand. Ours is the same
lattice, robots that roll exactly, and no contact detection. Before a time is taken, accelerations of the arms
are compared at rest; MuJoCo's contacts are soft and yield a little.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.timing import best_of
from dyn_nodes.compile.integrators import run_rk4
from dyn_nodes.studies.tanner_1998.team import BAR, POSTURE
from dyn_nodes.teams import load_team
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.object_model import LatticeModel
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.system import TeamSystem

STEP, STEPS = 1e-3, 20
LUMPED = BAR._replace(rod_mass=np.zeros(1), node_mass=np.full(2, 0.6))
"""MuJoCo's tendons have no mass."""
HEIGHT = 0.3 - 1e-7
"""Height of the vehicles above the ground in MuJoCo, with wheels in contact, m."""
EFFORTS = (0.5, 20.0, 4.0)
"""Efforts of the arms, N m."""
SOFT = 0.01
"""Greatest relative difference of the arms' accelerations from MuJoCo's."""


def our_team() -> TeamSystem:
    """Return the team with the lumped bar."""
    team = load_team('team_bar')
    robots = [RobotModel.of_machine(name, robot.machine, ['hand']) for name, robot in team.robots.items()]
    holding = Holding('bar', LatticeModel(LUMPED), ('left', 'right'), ((0, 0), (1, 0)))
    return TeamSystem.of_models('team_bar_lumped', robots, [holding])


def robot_xml(name: str, x: float, turn: str) -> str:
    """Return a robot of MuJoCo's model: vehicle, two wheels, caster, arm, half of the bar in its hand.

    Args:
        name: of the robot.
        x: position along x, m.
        turn: quaternion of the vehicle, w first.
    """
    wheels = ''.join(
        f'<body pos="-0.15 {side} -0.2"><joint name="{name}_{wheel}" type="hinge" axis="0 1 0"/>'
        '<inertial pos="0 0 0" mass="1e-4" diaginertia="5e-7 5e-7 5e-7"/>'
        '<geom type="sphere" size="0.1" condim="3"/></body>'
        for wheel, side in (('left', 0.3), ('right', -0.3))
    )
    hand = f'<site name="{name}_hand"/><inertial pos="0 0 0" mass="0.6" diaginertia="1e-9 1e-9 1e-9"/>'
    return (
        f'<body pos="{x} 0 {HEIGHT}" quat="{turn}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="60" diaginertia="2 3 4"/>'
        '<geom type="sphere" size="0.1" pos="0.35 0 -0.2" condim="1"/>'
        f'{wheels}<body pos="0.1 0 0.2"><inertial pos="0 0 0.05" mass="4" diaginertia="0.02 0.02 0.015"/></body>'
        f'<body pos="0.1 0 0.2"><joint name="{name}_1" axis="0 0 1"/>'
        '<inertial pos="0 0 0.12" mass="5" diaginertia="0.03 0.03 0.015"/>'
        f'<body pos="0 0 0.2" quat="0.70710678118654752 0.70710678118654752 0 0"><joint name="{name}_2" axis="0 0 1"/>'
        '<inertial pos="0.2 0 0" mass="4" diaginertia="0.01 0.06 0.06"/>'
        f'<body pos="0.4 0 0"><joint name="{name}_3" axis="0 0 1"/>'
        '<inertial pos="0.17 0 0" mass="2.5" diaginertia="0.005 0.03 0.03"/>'
        f'<body pos="0.35 0 0">{hand}</body></body></body></body></body>'
    )


def mujoco_team(x: float) -> MujocoPeer:
    """Return MuJoCo's model of the same team, its vehicles at -x and x, m."""
    stiff = '<default><geom solref="0.002 1" solimp="0.9999 0.9999 0.001" friction="0.7 0 0"/></default>'
    robots = robot_xml('left', -x, '1 0 0 0') + robot_xml('right', x, '0 0 0 1')
    bar = '<spatial stiffness="3333.3333333333" damping="6.6666666667" springlength="0.6">'
    tendon = f'<tendon>{bar}<site site="left_hand"/><site site="right_hand"/></spatial></tendon>'
    option = f'<option timestep="{STEP}" integrator="RK4" cone="elliptic"/>'
    world = f'<worldbody><geom type="plane" size="50 50 1" condim="1"/>{robots}</worldbody>'
    names = [f'{robot}_{joint}' for robot in ('left', 'right') for joint in (1, 2, 3)]
    text = f'<mujoco>{option}{stiff}{world}{tendon}</mujoco>'
    return MujocoPeer(text, dict(zip(names, POSTURE * 2)), names, EFFORTS * 2, STEPS)


def compare(rounds: int) -> dict[str, float]:
    """Return the times of a step, us."""
    ours = our_team()
    arms = [f'{robot}/arm_joint_{joint}' for robot in ('left', 'right') for joint in (1, 2, 3)]
    u = np.zeros(len(ours.input_names))
    u[[ours.index('input', f'{name}/effort') for name in arms]] = EFFORTS * 2
    rates = ours.rhs(ours.start, u, ours.defaults)[[ours.index('state', f'{name}_rate') for name in arms]]
    peer = mujoco_team(-float(ours.robot_positions(ours.start, 'left')[0]))
    apart = np.abs(peer.accelerations() - rates).max() / np.abs(rates).max()
    if apart > SOFT:
        raise ValueError(f'accelerations of the arms differ from MuJoCo by {apart:.1%}: nothing to compare')
    x, start, trace = ours.start, ours.start, np.empty((2, len(ours.start)))
    knots, table, codes, p = np.zeros(1), u[None].copy(), ours.codes, ours.defaults

    def steps() -> None:
        x[:] = start
        run_rk4(codes, x, 0.0, STEP, STEPS, knots, table, p, 0.0, STEPS, trace)

    times = best_of([steps, peer.steps], rounds)
    return {'ours': times[0] / STEPS, 'mujoco': times[1] / STEPS, 'apart': float(apart)}


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(compare(100 if parser.parse_args().quick else 1000)))


if __name__ == '__main__':
    main()
