"""Inverse kinematics: poses are solved within limits; out of reach the result is the nearest pose."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from dyn_nodes.cli import main
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand import (
    POSITION,
    ROWS,
    HandError,
    HandKinematics,
    HandPose,
    HandTask,
    Settings,
    inverse_kinematics,
)
from dyn_nodes.control.hand.bounded_step import bounded_step
from dyn_nodes.control.hand.inverse_kinematics import rate_of_rotation_vector
from dyn_nodes.model import load_machine
from dyn_nodes.studies.freeman_1985.arms import arm_a6

STATES = 60


def machine(name):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


def of_a6():
    tree = arm_a6()
    names = list(tree.velocity_names)
    return HandKinematics(tree, 'tool', None, dict.fromkeys(names, -2.8), dict.fromkeys(names, 2.8))


def of_pa10():
    return HandKinematics.of(machine('arm_pa10'), 'link_7')


def of_log_loader():
    return HandKinematics.of(machine('log_loader'), 'payload_link')


HANDS = {'A6': of_a6, 'arm_pa10': of_pa10, 'log_loader': of_log_loader}


@pytest.fixture(scope='module', params=HANDS)
def hand(request):
    return HANDS[request.param]()


@pytest.fixture(scope='module')
def loader():
    return of_log_loader()


@pytest.fixture(scope='module')
def pa10():
    return of_pa10()


def anywhere(hand, random):
    low, high = (np.where(np.isfinite(bound), bound, end) for bound, end in ((hand.lower, -3.1), (hand.upper, 3.1)))
    return hand.with_joints(np.zeros(len(hand.names)), random.uniform(low, high))


def test_every_reachable_pose_is_solved_to_1e_10_within_the_limits(hand):
    random = np.random.default_rng(5)
    start = hand.with_joints(np.zeros(len(hand.names)), np.full(len(hand.joints), 0.1))
    for _ in range(STATES):
        target = hand.pose(anywhere(hand, random))
        result = inverse_kinematics(hand, target, start, settings=Settings(more_starts=30))
        assert result.reached, result.statement
        solution = result.best
        assert np.abs(hand.default_task.scaled(hand.pose(solution.posture).error_to(target))).max() < 1e-10
        assert (solution.positions >= hand.lower).all()
        assert (solution.positions <= hand.upper).all()


def test_the_pose_is_pinocchios_frame_placement(pa10):
    model = pin.buildModelFromUrdf(str(find_resource('urdf/arm_pa10.urdf')))
    data, frame = model.createData(), model.getFrameId('link_7')
    target = pa10.pose(anywhere(pa10, np.random.default_rng(8)))
    solution = inverse_kinematics(pa10, target, np.zeros(7), settings=Settings(more_starts=30)).best
    q = pin.neutral(model)
    for name, value in zip(solution.joints, solution.positions):
        q[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, q)
    np.testing.assert_allclose(data.oMf[frame].translation, target.position, atol=1e-10)
    np.testing.assert_allclose(data.oMf[frame].rotation, target.rotation, atol=1e-10)


def test_convergence_is_quadratic_from_a_start_nearby(pa10):
    posture = np.array([0.3, 0.4, -0.2, 1.1, 0.5, 0.7, 0.1])
    result = inverse_kinematics(pa10, pa10.pose(posture), posture + 0.05)
    assert result.best.iterations <= 4
    assert np.isfinite(result.best.condition)


def test_several_starts_give_the_different_postures_of_a_six_joint_arm_nearest_first():
    hand = of_a6()
    posture = np.array([0.3, -0.6, 0.9, 0.4, 0.8, -0.5])
    result = inverse_kinematics(hand, hand.pose(posture), posture + 0.1, settings=Settings(starts=40))
    assert len(result.solutions) >= 4
    away = [np.linalg.norm(each.positions - posture - 0.1) for each in result.solutions]
    assert away == sorted(away)
    np.testing.assert_allclose(result.best.positions, posture, atol=1e-9)


def test_an_unreachable_target_gives_the_nearest_position_and_is_reported(loader):
    target = HandPose(np.eye(3), np.array([6.0, 5.0, 4.0]))
    result = inverse_kinematics(loader, target, np.array([0.0, 0.5, -1.0]))
    assert not result.reached
    assert 'out of reach' in result.statement
    bounds = [(-np.pi, np.pi), *zip(loader.lower[1:], loader.upper[1:])]
    peer = min(
        minimize(
            lambda q: float(np.sum((loader.pose(q).position - target.position) ** 2)), guess, bounds=bounds, tol=1e-15
        ).fun
        for guess in ([0.7, 0.5, -0.1], [0.5, 0.9, -1.0], [0.9, 0.0, -0.5])
    )
    assert result.best.distance == pytest.approx(np.sqrt(peer), rel=1e-6)
    assert result.best.at_limit == {'stick_joint': 1}
    assert 'stick_joint at its upper limit' in result.statement


def test_the_nearest_position_is_stationary_also_without_a_joint_at_a_limit(pa10):
    target = HandPose(np.eye(3), np.array([1.0, 1.0, 1.6]))
    best = inverse_kinematics(pa10, target, np.full(7, 0.2), HandTask(POSITION)).best
    assert not best.at_limit
    error = best.pose.error_to(target)[:3]
    G = pa10.coefficients(best.posture).G[:3]
    assert np.abs(G.T @ error).max() < 1e-6 * np.linalg.norm(error)


def test_a_partial_task_leaves_the_other_rows_free(pa10):
    target = pa10.pose(np.array([0.2, 0.5, 0.0, 1.2, 0.0, 0.4, 0.0])).moved([0.05, 0, -0.1, 0, 0, 0.3])
    task = HandTask(('x', 'z', 'rz'))
    best = inverse_kinematics(pa10, target, np.full(7, 0.3), task).best
    assert best.reached
    error = best.pose.error_to(target)
    assert np.abs(error[task.indices]).max() < 1e-10
    assert np.abs(np.delete(error, task.indices)).max() > 1e-3


def test_only_the_free_joints_move(loader):
    start = np.array([0.4, 0.5, -1.0])
    free = HandKinematics.of(machine('log_loader'), 'payload_link', ['boom_joint', 'stick_joint'])
    target = free.pose(start + np.array([0.0, 0.2, -0.3]))
    best = inverse_kinematics(free, target, start, HandTask(('x', 'z'))).best
    assert best.reached
    assert best.posture[0] == start[0]


def test_damped_steps_converge_from_a_singular_start(pa10):
    target = pa10.pose(np.array([0.1, 0.3, 0.0, 0.9, 0.0, 0.5, 0.0]))
    settings = Settings(damping=0.1, more_starts=0)
    result = inverse_kinematics(pa10, target, np.zeros(7), settings=settings)  # stretched upwards: singular
    assert result.reached, result.statement


def test_a_base_on_wheels_does_not_change_the_pose_relative_to_the_base_link(loader):
    fixed = machine('log_loader')
    fixed = replace(fixed, base=replace(fixed.base, attachment='fixed'))
    other = HandKinematics.of(fixed, 'payload_link')
    q = np.array([0.3, 0.2, -1.1])
    np.testing.assert_allclose(other.pose(q).position, loader.pose(q).position, atol=1e-15)


def test_the_rate_of_the_rotation_vector_is_its_derivative():
    random = np.random.default_rng(3)
    for angle in (1e-7, 1e-3, 0.5, 2.0, 3.0):
        R = Rotation.from_rotvec(angle * np.array([0.6, 0.0, -0.8]))
        w, h = random.normal(size=3), 1e-6
        ends = [(R * Rotation.from_rotvec(s * h * w).inv()).as_rotvec() for s in (1, -1)]
        rate = -rate_of_rotation_vector(R.as_rotvec()) @ w
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), rate, atol=1e-8)


def test_a_step_that_a_bound_cuts_is_taken_over_by_the_other_joints():
    J = np.array([[1.0, 1.0]])
    step, side = bounded_step(J, np.array([1.0]), np.array([-1.0, -1.0]), np.array([0.2, 1.0]))
    np.testing.assert_allclose(step, [0.2, 0.8])
    assert side.tolist() == [1, 0]


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_no_step_is_longer_than_the_longest_one_to_either_side(loader, monkeypatch, side):
    seen = []
    original = type(loader).pose_and_jacobian

    def recorded(hand, posture):
        seen.append(np.array(posture)[hand.indices])
        return original(hand, posture)

    target = loader.pose(loader.with_joints(loader.posture({}), [2.5 * side, 0.5, -1.2]))
    start = loader.with_joints(loader.posture({}), [0.0, 0.9, -1.8])
    monkeypatch.setattr(type(loader), 'pose_and_jacobian', recorded)
    solution = inverse_kinematics(loader, target, start, HandTask(POSITION)).solutions[0]
    np.testing.assert_allclose(solution.positions, [2.5 * side, 0.5, -1.2], atol=1e-9)
    steps = [min(float(np.abs(trial - earlier).max()) for earlier in seen[:k]) for k, trial in enumerate(seen) if k]
    assert max(steps) == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize(
    ('make', 'text'),
    [
        (lambda: HandKinematics.of(machine('arm_4r'), 'nothing'), "unknown link 'nothing'; known: "),
        (lambda: HandKinematics.of(machine('log_loader'), 'base_link'), "link 'base_link': no joint moves it"),
        (
            lambda: HandKinematics.of(machine('log_loader'), 'boom_link', ['stick_joint']),
            'expected some of swing_joint',
        ),
        (lambda: HandTask(('x', 'x')), 'rows: expected some of x, y, z'),
        (lambda: HandTask(length=0.0), 'length: expected a number above 0 m'),
        (lambda: Settings(starts=0), 'starts: expected a number >= 1, found 0'),
        (lambda: of_log_loader().posture({'boom': 1.0}), "unknown joint 'boom'; known: swing_joint"),
    ],
)
def test_wrong_names_and_settings_are_rejected_by_name(make, text):
    with pytest.raises(HandError, match=text):
        make()


def test_the_command_prints_the_posture_and_its_residual(capsys):
    assert main(['ik', 'log_loader', '--link', 'payload_link', '--pose', '5.5', '1', '0.5', '--json']) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['reached']
    joints = result['solutions'][0]['joints']
    hand = of_log_loader()
    np.testing.assert_allclose(hand.pose(hand.posture(joints)).position, [5.5, 1.0, 0.5], atol=1e-10)
    assert result['solutions'][0]['residual']['distance'] < 1e-10


def test_the_command_reports_a_target_out_of_reach_and_fails(capsys):
    assert main(['ik', 'log_loader', '--link', 'payload_link', '--pose', '9.5', '1', '0.5']) == 1
    assert 'out of reach: the nearest of 9 starts leaves 2.215 m' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--link', 'payload', '--pose', '1', '1', '1'], "unknown link 'payload'; known: base_link"),
        (['--link', 'payload_link', '--pose', '1', '1'], '--pose: expected 3 or 6 numbers, found 2'),
        (['--link', 'payload_link', '--pose', '1', '1', 'nan'], '--pose: expected a finite number, found nan'),
        (['--link', 'payload_link', '--pose', '1', '1', '1', '--rows', 'rx'], 'expected 6 numbers with a row rx'),
        (['--link', 'payload_link', '--pose', '1', '1', '1', '--from', 'boom_joint=9'], "--posture: 'boom_joint=9'"),
        (['--link', 'payload_link', '--pose', '1', '1', '1', '--joints', 'boom'], 'found boom'),
    ],
)
def test_a_mistake_on_the_command_line_gets_one_line(capsys, arguments, text):
    assert main(['ik', 'log_loader', *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert text in error
    assert len(error.strip().splitlines()) == 1
    assert ROWS[0] == 'x'
