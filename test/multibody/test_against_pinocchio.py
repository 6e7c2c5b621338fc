"""Rigid-body algorithms against Pinocchio, an independent implementation, on machines of all kinds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from pinocchio_witness import Pinocchio, robot_file
from rigid_states import LOG_LOADER, assert_close, effort_scale, random_state

from dyn_nodes.model import load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

STATES = 200
TOLERANCE = 1e-9  # relative to the largest entry


class Case(NamedTuple):
    urdf: str
    attachment: str
    links: tuple[str, ...]


CASES = {
    'log_loader': Case('', 'free', ('payload_link', 'boom_link')),
    'panda': Case('panda_description/urdf/panda.urdf', 'fixed', ('panda_rightfinger',)),
    'ur10': Case('ur_description/urdf/ur10_robot.urdf', 'fixed', ('ee_link',)),
    'hyq': Case('hyq_description/robots/hyq_no_sensors.urdf', 'free', ('rh_foot',)),
    'anymal': Case('anymal_b_simple_description/robots/anymal.urdf', 'free', ('LF_FOOT',)),
    'tiago': Case('tiago_description/robots/tiago_no_hand.urdf', 'fixed', ('wrist_ft_tool_link',)),
    'talos': Case('talos_data/robots/talos_reduced.urdf', 'free', ('gripper_left_base_link',)),
}


class Pair(NamedTuple):
    ours: RigidBodyModel
    theirs: Pinocchio
    parameters: np.ndarray
    links: tuple[str, ...]
    states: list


FAST = ('log_loader', 'panda', 'hyq')
"""Machines of the fast tests: one of this package, an arm and legs; talos compiles as long as all others together."""
PARAMETERS = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


@pytest.fixture(scope='module', params=PARAMETERS)
def pair(request, rigid, tmp_path_factory):
    case = CASES[request.param]
    if request.param == 'log_loader':
        ours, urdf = rigid, LOG_LOADER
    else:
        urdf = robot_file(case.urdf)
        config = None
        if case.attachment == 'free':
            config = tmp_path_factory.mktemp(request.param) / 'machine.yaml'
            config.write_text('base: {attachment: free}\ninitial: {settle: false}\n')
        ours = RigidBodyModel(load_machine(urdf, config))
    rng = np.random.default_rng(7)
    states = [random_state(ours, rng) for _ in range(STATES)]
    return Pair(ours, Pinocchio(urdf, ours), ours.parameters(payload=0.0), case.links, states)


def test_machines_have_every_kind_of_joint():
    """This detects changes of the robots' files that would empty these tests."""
    types = set()
    for case in CASES.values():
        machine = load_machine(robot_file(case.urdf) if case.urdf else LOG_LOADER)
        types.update(joint.type for joint in machine.joints)
    assert types == {'fixed', 'revolute', 'continuous', 'prismatic'}
    assert {case.attachment for case in CASES.values()} == {'fixed', 'free'}


def test_mass_matrix(pair):
    for q, _, _ in pair.states:
        assert_close(pair.ours.mass_matrix(q, pair.parameters), pair.theirs.mass_matrix(q), TOLERANCE)


def test_inverse_dynamics(pair):
    for q, v, tau in pair.states:
        a = tau / effort_scale(pair.ours) * 10
        ours = pair.ours.inverse_dynamics(q, v, a, pair.parameters)
        assert_close(ours, pair.theirs.inverse_dynamics(q, v, a), TOLERANCE)


@pytest.mark.parametrize('form', ['forward_dynamics', 'forward_dynamics_mass_matrix'])
def test_forward_dynamics(pair, form):
    for q, v, tau in pair.states:
        ours = getattr(pair.ours, form)(q, v, tau, pair.parameters)
        assert_close(ours, pair.theirs.forward_dynamics(q, v, tau), TOLERANCE)


def test_batch_of_forward_dynamics(pair):
    q, v, tau = (np.array(column) for column in zip(*pair.states))
    p, out = np.tile(pair.parameters, (STATES, 1)), np.empty_like(v)
    pair.ours.kernels.forward_dynamics_batch(q, v, tau, p, out)
    for state, a in zip(pair.states, out):
        assert_close(a, pair.theirs.forward_dynamics(*state), TOLERANCE)


def test_forward_kinematics(pair):
    for link in pair.links:
        for q, _, _ in pair.states:
            assert_close(pair.ours.link_pose(link, q), pair.theirs.link_pose(link, q), TOLERANCE)


def test_jacobians(pair):
    for link in pair.links:
        for q, _, _ in pair.states:
            assert_close(pair.ours.jacobian(link, q), pair.theirs.jacobian(link, q), TOLERANCE)


def test_jacobian_rate_times_velocity(pair):
    still = np.zeros(pair.ours.nv)
    for link in pair.links:
        for q, v, _ in pair.states:
            ours = pair.ours.jacobian_rate_times_velocity(link, q, v)
            assert_close(ours, pair.theirs.frame_acceleration(link, q, v, still), TOLERANCE)


def test_center_of_mass(pair):
    for q, _, _ in pair.states:
        assert_close(pair.ours.center_of_mass(q, pair.parameters), pair.theirs.center_of_mass(q), TOLERANCE)


def test_momentum(pair):
    for q, v, _ in pair.states:
        assert_close(pair.ours.momentum(q, v, pair.parameters), pair.theirs.momentum(q, v), TOLERANCE)


def test_kinetic_and_potential_energy(pair):
    for q, v, _ in pair.states:
        ours, theirs = pair.ours.energy(q, v, pair.parameters), pair.theirs.energy(q, v)
        assert ours[0] == pytest.approx(theirs[0], rel=TOLERANCE)
        # relative to the weight times a metre: the potential energy may be near zero
        assert ours[1] == pytest.approx(theirs[1], rel=TOLERANCE, abs=TOLERANCE * effort_scale(pair.ours))


def test_position_rate_moves_along_the_same_path(pair):
    h = 1e-6
    for q, v, _ in pair.states[:20]:
        forth, back = pair.theirs.step(q, v, h), pair.theirs.step(q, v, -h)
        rate = pair.ours.position_rate(q, v)
        # a step along this project's rate, in Pinocchio's coordinates, equals a step of Pinocchio
        ours = (pair.theirs.q(q + h * rate) - pair.theirs.q(q - h * rate)) / (2 * h)
        assert_close(ours, (forth - back) / (2 * h), 1e-8)


# ---------------------------------------------------------------------------- parameters of the log-loader


@pytest.mark.parametrize('payload', [0.0, 1.0, 5100.0, 6000.0])
def test_payload_is_a_body_added_at_run_time(rigid, payload):
    theirs = Pinocchio(LOG_LOADER, rigid)
    machine = rigid.machine
    theirs.with_payload(machine.payload.link, machine.payload.position, payload)
    parameters, rng = rigid.parameters(payload=payload), np.random.default_rng(3)
    for _ in range(STATES):
        q, v, tau = random_state(rigid, rng)
        a = rng.normal(size=rigid.nv)
        assert_close(rigid.mass_matrix(q, parameters), theirs.mass_matrix(q), TOLERANCE)
        assert_close(rigid.inverse_dynamics(q, v, a, parameters), theirs.inverse_dynamics(q, v, a), TOLERANCE)
        assert_close(rigid.forward_dynamics(q, v, tau, parameters), theirs.forward_dynamics(q, v, tau), TOLERANCE)
        assert_close(rigid.momentum(q, v, parameters), theirs.momentum(q, v), TOLERANCE)
        assert_close(rigid.center_of_mass(q, parameters), theirs.center_of_mass(q), TOLERANCE)


def test_gravity_of_any_direction(rigid):
    theirs = Pinocchio(LOG_LOADER, rigid)
    rng = np.random.default_rng(4)
    for _ in range(STATES):
        gravity = 9.81 * rng.normal(size=3)
        theirs.set_gravity(gravity)
        parameters = rigid.parameters(payload=0.0, gravity=tuple(gravity))
        q, v, tau = random_state(rigid, rng)
        assert_close(rigid.forward_dynamics(q, v, tau, parameters), theirs.forward_dynamics(q, v, tau), TOLERANCE)
        assert rigid.energy(q, v, parameters)[1] == pytest.approx(theirs.energy(q, v)[1], rel=1e-9, abs=1e-3)


def test_exact_derivatives_equal_the_analytic_ones(rigid):
    """Pinocchio differentiates along the tangent of the base's motion, this project by the quaternion's elements."""
    theirs, parameters = Pinocchio(LOG_LOADER, rigid), rigid.parameters(payload=0.0)
    rng = np.random.default_rng(5)
    for _ in range(50):
        q, v, tau = random_state(rigid, rng)
        by_q, by_v, by_tau = rigid.forward_dynamics_derivatives(q, v, tau, parameters)
        tangent = np.column_stack([rigid.position_rate(q, direction) for direction in np.eye(rigid.nv)])
        expected = theirs.forward_dynamics_derivatives(q, v, tau)
        for ours, reference in zip((by_q @ tangent, by_v, by_tau), expected):
            assert_close(ours, reference, TOLERANCE)


def test_exact_derivatives_of_a_fixed_base(tmp_path):
    urdf = robot_file(CASES['ur10'].urdf)
    ours = RigidBodyModel(load_machine(urdf))
    theirs, parameters, rng = Pinocchio(urdf, ours), ours.parameters(), np.random.default_rng(6)
    for _ in range(50):
        q, v, tau = random_state(ours, rng)
        derivatives = ours.forward_dynamics_derivatives(q, v, tau, parameters)
        for one, reference in zip(derivatives, theirs.forward_dynamics_derivatives(q, v, tau)):
            assert_close(one, reference, TOLERANCE)
