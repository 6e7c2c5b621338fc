"""Poses and workspaces of machines with closed loops: every joint, within its limits, from `ik` and `workspace`."""

from __future__ import annotations

import json
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.analysis.closed_hand import ClosedHand, loop_constraints
from dyn_nodes.analysis.closed_workspace import closed_workspace
from dyn_nodes.cli import main
from dyn_nodes.control.hand import POSE, HandError, HandPose, HandTask
from dyn_nodes.model import load_machine
from dyn_nodes.model.rotations import matrix_of_rotation_vector
from dyn_nodes.studies.reference import tabulated

ROOT = Path(__file__).resolve().parents[2]
LEGS = [f'leg_{r}_length_joint' for r in range(1, 7)]
POSE_OF_7_10 = HandPose(matrix_of_rotation_vector(np.array([0.1, -0.15, 0.2])), np.array([0.1, 0.05, 1.8]))


@cache
def hand(name: str, link: str) -> ClosedHand:
    return ClosedHand(load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml'), link)


def slopes(closed_hand: ClosedHand, drives, q, step=1e-5):
    """Return the slopes of the link's position per drive, by central differences along the closed loops."""
    columns = []
    for name in drives:
        ends = []
        for side in (1, -1):
            guess = q.copy()
            guess[closed_hand.names.index(name)] += side * step
            ends.append(closed_hand.kinematics.pose(closed_hand.closed(guess, drives)).position)
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.column_stack(columns)


def test_a_pose_of_the_stewart_platform_gives_its_leg_lengths():
    """Numbers of freeman-1985, spec 7.10."""
    platform = hand('stewart_platform', 'platform')
    result = platform.inverse_kinematics(POSE_OF_7_10, platform.start, HandTask(POSE))
    (solution,) = result.solutions
    assert solution.joints[:6] == tuple(LEGS)
    assert solution.positions[:6] == pytest.approx(tabulated('freeman-1985/7.10/lengths'), abs=1e-6)
    assert solution.condition == pytest.approx(tabulated('freeman-1985/7.10/condition'), abs=5e-5)
    assert max(solution.distance, solution.angle) < 1e-11
    assert np.abs(platform.blocks.at(solution.posture).residual).max() < 1e-11


def test_a_pose_that_the_legs_do_not_reach_names_the_leg_and_its_limits():
    platform = hand('stewart_platform', 'platform')
    result = platform.inverse_kinematics(HandPose(np.eye(3), np.array([0.0, 0.0, 3.8])), platform.start, HandTask(POSE))
    assert not result.reached
    assert re.search(r'leg_\d_length_joint at [34][.]\d+, beyond its limits 1.6 to 2.8$', result.statement)


def test_the_hand_of_a_crane_on_linkages_is_reached_by_its_rods_within_their_limits():
    crane = hand('log_loader_linkage', 'payload_link')
    result = crane.inverse_kinematics(HandPose(np.eye(3), np.array([5.5, 1.0, 0.5])), crane.start, HandTask(POSE[:3]))
    q = result.solutions[0].posture
    assert crane.kinematics.pose(q).position == pytest.approx([5.5, 1.0, 0.5], abs=1e-9)
    assert (q >= crane.lower - 1e-9).all()
    assert (q <= crane.upper + 1e-9).all()
    assert np.abs(crane.blocks.at(q).residual).max() < 1e-9
    rods = crane.inverse_kinematics(
        HandPose(np.eye(3), np.array([5.5, 1.0, 0.5])), crane.start, HandTask(POSE[:3]), free=['boom_rod_joint']
    )
    assert rods.statement.endswith('with swing_joint, stick_rod_joint held')


def test_a_workspace_has_the_coefficients_of_the_closed_loops():
    rod = hand('five_bar', 'rod')
    result = closed_workspace(rod, 12)
    space = result.space
    assert space.joints == ('joint_1', 'joint_2')
    assert len(space.postures) + result.open + result.beyond == result.tried == 12
    assert result.open > 0
    for k, posture in enumerate(space.postures):
        guess = rod.start.copy()
        guess[rod.indices(space.joints)] = posture
        q = rod.closed(guess, space.joints)
        assert rod.kinematics.pose(q).position == pytest.approx(space.positions[k], abs=1e-9)
        values = np.linalg.svd(slopes(rod, space.joints, q)[:2], compute_uv=False)
        assert space.condition[k] == pytest.approx(values[0] / values[1], rel=1e-4)


def test_stiffness_of_more_drives_than_freedoms_is_that_of_all_of_them():
    """A small force on the body of the walker deflects springs at its six drives: energy equals work."""
    body = hand('walker', 'body')
    K = dict(zip(body.driven, (1e5, 2e5, 3e5, 4e5, 5e5, 6e5)))
    space = closed_workspace(body, 6, stiffness=K).space
    assert len(space.joints) == 3
    guess = body.start.copy()
    guess[body.indices(space.joints)] = space.postures[0]
    N, moved = body.motion(body.closed(guess, space.joints))
    drives = N[body.indices(body.driven)]
    rates = np.linalg.solve(drives.T @ np.diag(list(K.values())) @ drives, moved[2])
    assert 1.0 / space.vertical_stiffness[0] == pytest.approx(moved[2] @ rates, rel=1e-9)


def test_wheels_and_held_loads_are_no_loops_of_the_hand():
    def loops(urdf, config):
        return loop_constraints(load_machine(ROOT / 'urdf' / f'{urdf}.urdf', ROOT / 'config' / f'{config}.yaml'))

    assert [constraint.kind for constraint in loops('stewart_platform', 'stewart_platform')] == ['point'] * 5
    assert loops('planar_arms', 'planar_arms') == ()
    assert loops('agv_axle', 'agv_axle_rigid') == ()


def test_a_hand_of_closed_loops_rejects_unknown_names():
    with pytest.raises(HandError, match=r"unknown link 'plate'; known: .*platform"):
        hand('stewart_platform', 'plate')
    platform = hand('stewart_platform', 'platform')
    with pytest.raises(
        HandError, match=r'free: expected driven joints, leg_1_length_joint, .*, found leg_1_fork_joint'
    ):
        platform.inverse_kinematics(POSE_OF_7_10, platform.start, HandTask(POSE), free=['leg_1_fork_joint'])
    with pytest.raises(HandError, match='unknown joint'):
        platform.posture({'leg_9_length_joint': 2.0})


def test_ik_and_workspace_of_closed_loops_from_the_command_line(capsys, tmp_path):
    picture = tmp_path / 'space.png'
    arguments = ['ik', 'stewart_platform', '--link', 'platform', '--pose', '0.1', '0.05', '1.8', '0.1', '-0.15', '0.2']
    assert main([*arguments, '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['rows'] == list(POSE)
    assert len(answer['solutions'][0]['joints']) == 21
    assert main([*arguments, '--damping', '1']) == 2
    assert '--damping: expected 0 for a machine with closed loops' in capsys.readouterr().err
    assert main(['ik', 'five_bar', '--link', 'rod', '--pose', '3', '0', '0']) == 1
    assert 'out of reach from 9 starts: the smallest remaining gap is' in capsys.readouterr().out
    arguments = ['workspace', 'five_bar', '--link', 'rod', '--postures', '12']
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert main([*arguments, '--json', '--plot', str(picture)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['rows'] == ['x', 'y']
    assert answer['notes'][0].startswith('12 postures of joint_1, joint_2 tried: at ')
    assert picture.stat().st_size > 10_000
    assert main([*arguments, '--joints', 'joint_1']) == 2
    assert '--joints: expected without it for a machine with closed loops' in capsys.readouterr().err
