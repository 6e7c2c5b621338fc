"""Wrenches on hands are exact with and without constraints, and so are the responses of hands.

Evaluated with CasADi, without machine code.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.constraints import ConstraintBlocks, assemble, constrained_dynamics
from dyn_nodes.constraints.kane import AppliedWrench
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.elements.hand import wrench_names
from dyn_nodes.elements.hand_motion import HandMotion
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.constrained_machine import initial_guess
from dyn_nodes.simulation.machine_rows import machine_dynamics
from dyn_nodes.simulation.plant import check_contact_model
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations

FORCE, TORQUE = np.array([31.0, -47.0, -59.0]), np.array([3.0, 5.0, -7.0])
WRENCH = np.concatenate([FORCE, TORQUE])


@pytest.fixture(scope='module')
def robot() -> tuple[Machine, ConstraintBlocks, np.ndarray, np.ndarray, np.ndarray]:
    """Return RM-1 with its blocks, in motion: q, v and efforts."""
    machine = machine_of('rm_1', '')
    blocks = machine_dynamics(machine, 'effort').blocks
    q = assemble(blocks, initial_guess(machine, blocks.tree))
    rng = np.random.default_rng(1)
    N = Subspaces(blocks.at(q).J).motions
    return machine, blocks, q, N @ rng.normal(size=N.shape[1]), 10.0 * rng.normal(size=blocks.tree.nv)


def loaded(blocks: ConstraintBlocks, wrench: np.ndarray = WRENCH) -> np.ndarray:
    return blocks.numbers(dict(zip(wrench_names('hand'), wrench)))


def test_a_wrench_on_the_hand_of_a_machine_on_wheels_acts_as_in_kanes_equations(robot):
    """Kane's equations include the wrench as a load on a frame, not as an element."""
    _, blocks, q, v, tau = robot
    solution = constrained_dynamics(blocks, q, v, tau, loaded(blocks))
    equations = kanes_equations(blocks).at(q, v)
    expected = equations.accelerations(tau, [AppliedWrench(blocks.tree.frame('hand'), FORCE, TORQUE)])
    np.testing.assert_allclose(solution.acceleration, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    unloaded = constrained_dynamics(blocks, q, v, tau)
    assert np.abs(solution.acceleration - unloaded.acceleration).max() > 1.0


def test_a_wrench_does_the_virtual_work_of_its_force_and_torque(robot):
    _, blocks, q, v, _ = robot
    jacobian = ca.Function('jacobian', [blocks.q], [blocks.state.jacobian(blocks.tree.frame('hand'))])
    turning, moving = np.split(np.array(jacobian(q)), 2)
    effort = blocks.at(q, v).h - blocks.at(q, v, loaded(blocks)).h
    np.testing.assert_allclose(effort, moving.T @ FORCE + turning.T @ TORQUE, rtol=1e-10, atol=1e-10)
    power = ca.Function('power', [blocks.q, blocks.v, blocks.parameters.vector], [blocks.supplied_power])
    expected = FORCE @ moving @ v + TORQUE @ turning @ v
    assert float(power(q, v, loaded(blocks))) == pytest.approx(expected, rel=1e-12)


def rates_of(blocks: ConstraintBlocks, q: np.ndarray, v: np.ndarray, tau: np.ndarray):
    def rates(x: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.concatenate([q, constrained_dynamics(blocks, q, v, tau, p).acceleration])

    return rates


class ParameterIndices:
    """Indices of the parameters of a system."""

    def __init__(self, blocks: ConstraintBlocks) -> None:
        self.nq, self.nv, self.names = blocks.tree.nq, blocks.tree.nv, blocks.parameters.names

    def index(self, kind: str, name: str) -> int:
        return list(self.names).index(name)


def test_the_response_of_a_hand_to_forces_equals_its_operational_space_mobility(robot):
    machine, blocks, q, v, tau = robot
    motion = HandMotion(machine, machine.grasp('hand'), ParameterIndices(blocks))
    x = np.concatenate([q, v])
    answer = motion.mobility(x, np.zeros(0), loaded(blocks), rates_of(blocks, q, v, tau))
    equations = kanes_equations(blocks).at(q, v)
    space = operational_space(equations, blocks.tree.frame('hand'))
    np.testing.assert_allclose(np.linalg.inv(answer.matrix), space.inertia, rtol=1e-8, atol=1e-8)
    free = space.acceleration(equations.efforts(tau))
    np.testing.assert_allclose(answer.acceleration, free, rtol=1e-9, atol=1e-9 * np.abs(free).max())


def test_the_response_of_a_hand_to_torques_equals_its_equations(robot):
    """The mobility of angular and linear parts is symmetric and has the rank of the machine's five speeds."""
    machine, blocks, q, v, tau = robot
    motion = HandMotion(machine, machine.grasp('hand'), ParameterIndices(blocks))
    rates, p, x = rates_of(blocks, q, v, tau), loaded(blocks), np.concatenate([q, v])
    answer = motion.mobility(x, np.zeros(0), p, rates, 6)
    force = motion.mobility(x, np.zeros(0), p, rates)
    np.testing.assert_allclose(answer.matrix[:3, :3], force.matrix, rtol=1e-12)
    np.testing.assert_allclose(answer.acceleration[:3], force.acceleration, rtol=1e-12)
    np.testing.assert_allclose(answer.matrix, answer.matrix.T, atol=1e-9 * np.abs(answer.matrix).max())
    values = np.linalg.eigvalsh(answer.matrix)
    assert abs(values[0]) < 1e-9 * values[-1] < values[1]


def test_a_hand_moves_as_its_positions_change(robot):
    machine, blocks, q, v, _ = robot
    motion, step = HandMotion(machine, machine.grasp('hand'), ParameterIndices(blocks)), 1e-6
    now = motion.state(np.concatenate([q, v]))
    rate = np.array(ca.Function('rate', [blocks.q, blocks.v], [blocks.state.position_rate])(q, v)).ravel()
    after, before = (motion.state(np.concatenate([q + sign * step * rate, v])) for sign in (1.0, -1.0))
    np.testing.assert_allclose(now.velocity, (after.position - before.position) / (2 * step), atol=1e-8)
    turned = (after.rotation - before.rotation) / (2 * step) @ now.rotation.T
    skew = 0.5 * np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
    np.testing.assert_allclose(now.angular_velocity, skew, atol=1e-8)


def test_a_weight_on_the_hand_of_an_arm_needs_the_efforts_of_a_payload_there():
    machine = machine_of('arm_4r', '')
    assert machine.payload is not None
    machine = replace(machine, grasps=(Hand('hand', machine.payload.link, machine.payload.position),))
    plant = Assembly(machine, 'effort')
    efforts = ca.Function('efforts', [plant.x, plant.p], [plant.static_forces])
    names, x = plant.parameters.names, np.zeros(len(plant.states.names))
    x[plant.q_slice] = 0.4
    p = plant.default_parameters()
    p[names.index('payload_mass')] = 5.0
    expected = np.array(efforts(x, p)).ravel()
    p[names.index('payload_mass')], p[names.index('hand/force_z')] = 0.0, -5.0 * machine.gravity
    np.testing.assert_allclose(np.array(efforts(x, p)).ravel(), expected, rtol=1e-12, atol=1e-12)
    assert np.abs(expected).max() > 10.0


def test_rigid_ground_rejects_machines_that_hold_objects():
    machine = machine_of('log_loader_planar', '')
    machine = replace(machine, grasps=(Hand('hand', machine.links[-1].name, np.zeros(3)),))
    with pytest.raises(ContactModelError, match='expected compliant for hands that hold something'):
        check_contact_model(machine, 'rigid')
