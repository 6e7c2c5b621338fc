"""E10: runs of two RM-1 robots with a bar, and their carrying controller (tanner-1998, 6.8)."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.robot import WHEELS
from dyn_nodes.studies.tanner_1998.team import BAR, POSTURE, Team, facing
from dyn_nodes.studies.tanner_1998.team_runs import Moving, TeamState, moving, run
from dyn_nodes.studies.tanner_1998.vehicle import ARM, RADIUS, rm_1

MOTIONS = ((0.3, 0.2, (0.1, 0.2, -0.1)), (-0.3, 0.1, (-0.2, 0.1, 0.15)))
"""Initial axle speed, m/s, turning rate and arm rates, rad/s, of each robot in the free runs."""
STIFFNESS, DAMPING = np.array([60.0, 80.0, 40.0]), np.array([12.0, 16.0, 8.0])
"""Joint gains, N m/rad and N m s/rad."""
SPEED_GAIN, TURN_GAIN = 200.0, 40.0
"""Drive force per speed error, N s/m; yaw moment per turning rate, N m s."""
CRUISE = (0.5, -0.5)
"""Speeds of the vehicles after a ramp of 1 s, m/s."""


def carrying(t: float, k: int, state: Array, robot: Moving) -> Array:
    """Return the efforts of robot k: joints hold their start positions, wheels follow a speed ramp.

    The joints compensate the weights of the arm and of half of the bar.
    """
    tree = rm_1().blocks.tree
    indices = [tree.velocity_index(name) for name in ARM]
    half = robot.jacobian.T @ (0.0, 0.0, 0.5 * 9.81 * BAR.rod_mass.sum())
    joints = robot.weight[indices] + half[2:] - STIFFNESS * (state[3:6] - POSTURE) - DAMPING * robot.u[2:]
    speed = robot.u[0] * np.cos(state[2]) + robot.u[1] * np.sin(state[2])
    drive = -SPEED_GAIN * (speed - CRUISE[k] * min(t, 1.0))
    turn = -TURN_GAIN * float(robot.partial[tree.velocity_index('yaw')] @ robot.u)
    track = WHEELS[0, 1] - WHEELS[1, 1]
    return rm_1().efforts(joints.tolist(), [RADIUS * (0.5 * drive + sign * turn / track) for sign in (-1.0, 1.0)])


def length(states: Array) -> float:
    """Return the distance between the hands of two robots with states (2, 11), m."""
    return float(np.linalg.norm(moving(states[1]).point - moving(states[0]).point))


def idle(t: float, k: int, state: Array, robot: Moving) -> Array:
    """Return zero efforts (nv,)."""
    return np.zeros(rm_1().blocks.tree.nv)


SECONDS = (0.2, 1.0)
INSTANTS = (0.0, 0.5, 1.0, 2.0)


@study('tanner-1998/e10-runs', 'Two RM-1 swing freely with a bar, and carry it: states, energy, momenta (E10)')
def e10_runs(s: StudyRun) -> None:
    """Check runs of the specification."""
    team = Team(BAR)
    _, _, *damped = tabulated('tanner-1998/6.8/damped')
    _, _, loss, reach, *_ = tabulated('tanner-1998/6.8/free')
    lengths, losses = (damped[0], reach), (damped[1], loss)
    for k, (t, now) in enumerate(zip(SECONDS, run(team, facing(BAR, MOTIONS), idle, SECONDS))):
        label = f'free, {t:g} s'
        s.near(f'{label}: length of the bar, m', '6.8', lengths[k], length(now.robots), absolute=1e-6)
        s.near(f'{label}: loss of its damping, J', '6.8', losses[k], now.lost, absolute=1e-6)
        _balances(s, label, team, now)
    start = facing(BAR, [(0.0, 0.0, (0.0, 0.0, 0.0))] * 2)
    carried = tabulated('tanner-1998/6.8/carry')
    for t, positions, now in zip(INSTANTS, carried, run(team, start, carrying, INSTANTS, 1e-8)):
        for k, position in enumerate(positions):
            s.near(
                f'carried, {t:g} s: position of robot {k + 1}, m',
                '6.8',
                position,
                float(now.robots[k, 0]),
                absolute=1e-6,
            )
        _balances(s, f'carried, {t:g} s', team, now)


def _balances(s: StudyRun, label: str, team: Team, now: TeamState) -> None:
    gained = now.energy[1] - now.energy[0] - now.work + now.lost
    s.near(f'{label}: energy gain less work plus losses, J', 'C23', 0.0, gained, absolute=1e-8)
    left = team.balance(team.members(now.robots, now.efforts), now.held)
    worst = float(np.abs([left.force, left.moment]).max())
    s.near(f'{label}: residuals of the momenta, N and N m', 'C23', 0.0, worst, absolute=1e-8)
