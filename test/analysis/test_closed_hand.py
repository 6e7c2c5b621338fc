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


def slopes(own: ClosedHand, drives, q, step=1e-5):
    """Position of the link by some drives, by central differences along the closed loops."""
    found = []
    for name in drives:
        ends = []
        for side in (1, -1):
            guess = q.copy()
            guess[own.names.index(name)] += side * step
            ends.append(own.kinematics.pose(own.closed(guess, drives)).position)
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.column_stack(found)


def test_a_pose_of_the_stewart_platform_gives_its_leg_lengths():
    """Numbers of freeman-1985, spec 7.10."""
    own = hand('stewart_platform', 'platform')
    result = own.inverse_kinematics(POSE_OF_7_10, own.start, HandTask(POSE))
    (solution,) = result.solutions
    assert solution.joints[:6] == tuple(LEGS)
    assert solution.positions[:6] == pytest.approx(tabulated('freeman-1985/7.10/lengths'), abs=1e-6)
    assert solution.condition == pytest.approx(tabulated('freeman-1985/7.10/condition'), abs=5e-5)
    assert max(solution.distance, solution.angle) < 1e-11
    assert np.abs(own.blocks.at(solution.posture).residual).max() < 1e-11


def test_a_pose_that_the_legs_do_not_reach_names_the_leg_and_its_limits():
    own = hand('stewart_platform', 'platform')
    result = own.inverse_kinematics(HandPose(np.eye(3), np.array([0.0, 0.0, 3.8])), own.start, HandTask(POSE))
    assert not result.reached
    assert re.search(r'leg_\d_length_joint at [34][.]\d+, beyond its limits 1.6 to 2.8$', result.statement)


def test_the_hand_of_a_crane_on_linkages_is_reached_by_its_rods_within_their_limits():
    own = hand('log_loader_linkage', 'payload_link')
    result = own.inverse_kinematics(HandPose(np.eye(3), np.array([5.5, 1.0, 0.5])), own.start, HandTask(POSE[:3]))
    q = result.solutions[0].posture
    assert own.kinematics.pose(q).position == pytest.approx([5.5, 1.0, 0.5], abs=1e-9)
    assert (q >= own.lower - 1e-9).all()
    assert (q <= own.upper + 1e-9).all()
    assert np.abs(own.blocks.at(q).residual).max() < 1e-9
    rods = own.inverse_kinematics(
        HandPose(np.eye(3), np.array([5.5, 1.0, 0.5])), own.start, HandTask(POSE[:3]), free=['boom_rod_joint']
    )
    assert rods.statement.endswith('with swing_joint, stick_rod_joint held')


def test_a_workspace_has_the_coefficients_of_the_closed_loops():
    own = hand('five_bar', 'rod')
    found = closed_workspace(own, 12)
    space = found.space
    assert space.joints == ('joint_1', 'joint_2')
    assert len(space.postures) + found.open + found.beyond == found.tried == 12
    assert found.open > 0
    for k, posture in enumerate(space.postures):
        guess = own.start.copy()
        guess[own.places(space.joints)] = posture
        q = own.closed(guess, space.joints)
        assert own.kinematics.pose(q).position == pytest.approx(space.positions[k], abs=1e-9)
        values = np.linalg.svd(slopes(own, space.joints, q)[:2], compute_uv=False)
        assert space.condition[k] == pytest.approx(values[0] / values[1], rel=1e-4)


def test_stiffness_of_more_drives_than_freedoms_is_that_of_all_of_them():
    """A small force on the body of the walker turns springs at its six drives: energy equals work."""
    own = hand('walker', 'body')
    K = dict(zip(own.driven, (1e5, 2e5, 3e5, 4e5, 5e5, 6e5)))
    found = closed_workspace(own, 6, stiffness=K).space
    assert len(found.joints) == 3
    guess = own.start.copy()
    guess[own.places(found.joints)] = found.postures[0]
    N, moved = own.motion(own.closed(guess, found.joints))
    drives = N[own.places(own.driven)]
    rates = np.linalg.solve(drives.T @ np.diag(list(K.values())) @ drives, moved[2])
    assert 1.0 / found.vertical_stiffness[0] == pytest.approx(moved[2] @ rates, rel=1e-9)


def test_wheels_and_held_loads_are_no_loops_of_the_hand():
    def loops(urdf, config):
        return loop_constraints(load_machine(ROOT / 'urdf' / f'{urdf}.urdf', ROOT / 'config' / f'{config}.yaml'))

    assert [own.kind for own in loops('stewart_platform', 'stewart_platform')] == ['point'] * 5
    assert loops('planar_arms', 'planar_arms') == ()
    assert loops('agv_axle', 'agv_axle_rigid') == ()


def test_a_hand_of_closed_loops_refuses_names_that_are_none():
    with pytest.raises(HandError, match=r"unknown link 'plate'; known: .*platform"):
        hand('stewart_platform', 'plate')
    own = hand('stewart_platform', 'platform')
    with pytest.raises(
        HandError, match=r'free: expected driven joints, leg_1_length_joint, .*, found leg_1_fork_joint'
    ):
        own.inverse_kinematics(POSE_OF_7_10, own.start, HandTask(POSE), free=['leg_1_fork_joint'])
    with pytest.raises(HandError, match='unknown joint'):
        own.posture({'leg_9_length_joint': 2.0})


def test_ik_and_workspace_of_closed_loops_from_the_command_line(capsys, tmp_path):
    picture = tmp_path / 'space.png'
    arguments = ['ik', 'stewart_platform', '--link', 'platform', '--pose', '0.1', '0.05', '1.8', '0.1', '-0.15', '0.2']
    assert main([*arguments, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['rows'] == list(POSE)
    assert len(found['solutions'][0]['joints']) == 21
    assert main([*arguments, '--damping', '1']) == 2
    assert '--damping: expected 0 for a machine with closed loops' in capsys.readouterr().err
    assert main(['ik', 'five_bar', '--link', 'rod', '--pose', '3', '0', '0']) == 1
    assert 'out of reach from 9 starts: the nearest leaves' in capsys.readouterr().out
    arguments = ['workspace', 'five_bar', '--link', 'rod', '--postures', '12']
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert main([*arguments, '--json', '--plot', str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['rows'] == ['x', 'y']
    assert found['notes'][0].startswith('12 postures of joint_1, joint_2 tried: at ')
    assert picture.stat().st_size > 10_000
    assert main([*arguments, '--joints', 'joint_1']) == 2
    assert '--joints: expected without it for a machine with closed loops' in capsys.readouterr().err
