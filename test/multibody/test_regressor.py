"""The regressor of inertial parameters against Pinocchio's, and the nearest rigid body."""

from __future__ import annotations

import numpy as np
import pytest

pin = pytest.importorskip('pinocchio')

from dyn_nodes.common.share import find_resource  # noqa: E402
from dyn_nodes.model import load_machine  # noqa: E402
from dyn_nodes.multibody import build_tree  # noqa: E402
from dyn_nodes.multibody.regressor import (  # noqa: E402
    MomentumRegressor,
    mass_properties,
    nearest_possible,
    parameters_of,
)

ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""Indices of Pinocchio's m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in this project's order."""


def regressor_of(name: str) -> MomentumRegressor:
    machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    return MomentumRegressor(build_tree(machine))


def pinocchio_model(name: str, regressor: MomentumRegressor, *root) -> tuple:
    model = pin.buildModelFromUrdf(str(find_resource(f'urdf/{name}.urdf')), *root)
    joints = [model.getJointId(regressor.tree.bodies[k].name) for k in regressor.bodies]
    return model, joints


def reordered(matrix, joints) -> np.ndarray:
    return np.concatenate([matrix[:, 10 * (k - 1) : 10 * k][:, ORDER] for k in joints], axis=1)


def test_an_arm_on_a_fixed_base_has_pinocchios_regressor():
    regressor = regressor_of('arm_pa10')
    model, joints = pinocchio_model('arm_pa10', regressor)
    rng, n = np.random.default_rng(1), len(regressor.bodies)
    velocity_indices = [model.joints[k].idx_v for k in joints]
    for _ in range(5):
        q, v, a = rng.normal(size=(3, n))
        full = np.zeros((3, n))
        full[:, velocity_indices] = q, v, a
        pinocchio = pin.computeJointTorqueRegressor(model, model.createData(), *full)
        expected = reordered(pinocchio, joints)[velocity_indices]
        result = regressor.torque(q, v, a, np.zeros(3), np.zeros(3), -model.gravity.linear)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_an_arm_on_a_moving_base_has_pinocchios_regressor():
    regressor = regressor_of('log_loader')
    model, joints = pinocchio_model('log_loader', regressor, pin.JointModelFreeFlyer())
    rng = np.random.default_rng(2)
    index_q, index_v = ([getattr(model.joints[k], name) for k in joints] for name in ('idx_q', 'idx_v'))
    for _ in range(5):
        q, v, a, omega, alpha, linear = rng.normal(size=(6, 3))
        position, velocity, acceleration = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for index, k, angle in zip(index_q, joints, q):
            wide = model.joints[k].nq == 2
            position[index : index + model.joints[k].nq] = (np.cos(angle), np.sin(angle)) if wide else angle
        velocity[3:6], acceleration[:3], acceleration[3:6] = omega, linear, alpha
        velocity[index_v], acceleration[index_v] = v, a
        pinocchio = pin.computeJointTorqueRegressor(model, model.createData(), position, velocity, acceleration)
        expected = reordered(pinocchio, joints)[index_v]
        result = regressor.torque(q, v, a, omega, alpha, linear - model.gravity.linear)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_parameters_and_mass_properties_are_inverse():
    regressor = regressor_of('log_loader')
    for k in regressor.bodies:
        body = regressor.tree.bodies[k]
        mass, com, inertia = mass_properties(parameters_of(body))
        assert mass == pytest.approx(body.mass)
        np.testing.assert_allclose(com, body.com, atol=1e-12)
        np.testing.assert_allclose(inertia, body.inertia, atol=1e-8)


def test_the_nearest_rigid_body_of_a_rigid_body_is_itself_and_is_always_physical():
    body = regressor_of('arm_pa10').tree.bodies[2]
    parameters = parameters_of(body)
    np.testing.assert_allclose(
        nearest_possible(parameters), parameters, rtol=1e-9, atol=1e-9 * np.abs(parameters).max()
    )
    wrong = parameters.copy()
    wrong[4] = 10.0 * (parameters[7] + parameters[9])  # Ixx above Iyy + Izz
    result = nearest_possible(wrong)
    _, _, inertia = mass_properties(result)
    moments = np.linalg.eigvalsh(inertia)
    assert result[0] > 0.0
    assert moments[0] >= -1e-9 * moments[2]
    assert moments[2] <= (moments[0] + moments[1]) * (1.0 + 1e-9)
