"""Functions of rotations in comparison with SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.model import rotations

RANDOM = np.random.default_rng(20)
ANGLES = [*RANDOM.uniform(-np.pi, np.pi, (50, 3)), np.zeros(3), [np.pi, 0, 0], [0, 0, np.pi], [0.3, np.pi / 2, -0.2]]


@pytest.mark.parametrize('angles', ANGLES)
def test_matrices_and_quaternions_of_roll_pitch_and_yaw_match_scipy(angles):
    turn = Rotation.from_euler('xyz', angles)
    matrix = rotations.matrix_of_rpy(angles)
    np.testing.assert_allclose(matrix, turn.as_matrix(), atol=1e-15)
    quaternion = rotations.quaternion_of_matrix(matrix)
    np.testing.assert_allclose(np.linalg.norm(quaternion), 1.0, atol=1e-15)
    np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), turn.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(rotations.matrix_of_quaternion(turn.as_quat()), turn.as_matrix(), atol=1e-15)


def test_products_and_turns_about_an_axis_match_scipy():
    for first, second in itertools.pairwise(ANGLES):
        a, b = Rotation.from_euler('xyz', first), Rotation.from_euler('xyz', second)
        np.testing.assert_allclose(
            rotations.matrix_of_quaternion(rotations.product(a.as_quat(), b.as_quat())), (a * b).as_matrix(), atol=1e-15
        )
        axis, angle = a.as_matrix()[0], float(second[0])
        np.testing.assert_allclose(
            rotations.matrix_of_quaternion(rotations.quaternion_about(axis, angle)),
            Rotation.from_rotvec(angle * axis).as_matrix(),
            atol=1e-15,
        )


def test_the_shortest_turn_brings_one_direction_to_another():
    for start, end in [*RANDOM.normal(size=(50, 2, 3)), ([1, 2, 3], [-1, -2, -3]), ([0, 0, 2], [0, 0, 1])]:
        start, end = np.asarray(start, float), np.asarray(end, float)
        turn = Rotation.from_quat(rotations.shortest(start, end))
        cosine = start @ end / np.linalg.norm(start) / np.linalg.norm(end)
        assert turn.magnitude() == pytest.approx(np.arccos(np.clip(cosine, -1.0, 1.0)), abs=1e-7)
        np.testing.assert_allclose(turn.apply(start / np.linalg.norm(start)), end / np.linalg.norm(end), atol=1e-12)


@pytest.mark.parametrize('angles', ANGLES)
def test_rotation_vectors_and_angles_of_a_matrix_match_scipy(angles):
    turn = Rotation.from_euler('xyz', angles)
    vector = rotations.rotation_vector(turn.as_matrix())
    assert np.linalg.norm(vector) <= np.pi + 1e-15
    np.testing.assert_allclose(rotations.matrix_of_rotation_vector(vector), turn.as_matrix(), atol=4e-15)
    np.testing.assert_allclose(rotations.matrix_of_rotation_vector(turn.as_rotvec()), turn.as_matrix(), atol=4e-15)
    again = rotations.matrix_of_rpy(rotations.rpy_of_matrix(turn.as_matrix()))
    np.testing.assert_allclose(again, turn.as_matrix(), atol=4e-15)


@pytest.mark.parametrize('angle', [0.0, 1e-200, 1e-160, 1e-12, 1e-8, 1.0, np.pi])
def test_small_and_half_turns_survive_the_round_trip_of_a_rotation_vector(angle):
    vector = angle * np.array([0.6, 0.0, 0.8])
    again = rotations.rotation_vector(rotations.matrix_of_rotation_vector(vector))
    np.testing.assert_allclose(again, vector, atol=1e-15)
