"""The same machine in other formulations: virtual links for the base, the source's DH chain in trace form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rigid_states import assert_close, effort_scale, random_state
from scipy.spatial.transform import Rotation

from dyn_nodes.model.machine import Base, Joint, Link
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.studies.abo_shanab_2003 import lagrange_euler as trace_form
from dyn_nodes.studies.abo_shanab_2003.dh import Body, ordinary_inertia
from dyn_nodes.studies.abo_shanab_2003.dh_machines import log_loader_chain

LINKS = ('base_link', 'payload_link')


def quaternion_state(rigid, chain, q, v):
    """Return the state of the quaternion base for a state of the virtual chain z, x, y, pitch, roll, yaw."""
    R = Rotation.from_euler('YXZ', q[3:6])
    twist = chain.jacobian('base_link', q) @ v
    position = np.r_[q[1], q[2], q[0], R.as_quat(), q[6:]]
    return position, np.r_[R.inv().apply(twist[:3]), R.inv().apply(twist[3:]), v[6:]]


def velocity_map(rigid, chain, q):
    """Return B (9, 9): maps velocities of the chain to the quaternion base; its transpose maps forces back."""
    return np.column_stack([quaternion_state(rigid, chain, q, column)[1] for column in np.eye(chain.nv)])


@pytest.fixture(scope='module')
def chain_states(rigid_chain):
    rng = np.random.default_rng(21)
    states = []
    for _ in range(200):
        q, v, tau = random_state(rigid_chain, rng)
        q[4] = rng.uniform(-1.3, 1.3)  # roll: the chain is singular at a quarter turn
        states.append((q, v, tau))
    return states


def test_virtual_links_keep_poses(rigid, rigid_chain, chain_states):
    for q, v, _ in chain_states:
        position, _ = quaternion_state(rigid, rigid_chain, q, v)
        for link in LINKS:
            assert_close(rigid_chain.link_pose(link, q), rigid.link_pose(link, position), 1e-13)


def test_virtual_links_keep_link_velocities_and_momentum(rigid, rigid_chain, chain_states):
    p = rigid.parameters()
    for q, v, _ in chain_states:
        position, velocity = quaternion_state(rigid, rigid_chain, q, v)
        for link in LINKS:
            assert_close(rigid_chain.jacobian(link, q) @ v, rigid.jacobian(link, position) @ velocity, 1e-13)
        assert_close(rigid_chain.momentum(q, v, p), rigid.momentum(position, velocity, p), 1e-12)
        np.testing.assert_allclose(rigid_chain.energy(q, v, p), rigid.energy(position, velocity, p), rtol=1e-12)


def test_virtual_links_keep_the_mass_matrix(rigid, rigid_chain, chain_states):
    p = rigid.parameters()
    for q, v, _ in chain_states:
        position, _ = quaternion_state(rigid, rigid_chain, q, v)
        B = velocity_map(rigid, rigid_chain, q)
        assert_close(rigid_chain.mass_matrix(q, p), B.T @ rigid.mass_matrix(position, p) @ B, 1e-13)


@pytest.mark.parametrize('form', ['forward_dynamics', 'forward_dynamics_mass_matrix'])
def test_virtual_links_yield_the_same_link_accelerations(rigid, rigid_chain, chain_states, form):
    """Under the same forces, including the base wrench, all link accelerations agree to round-off."""
    p = rigid.parameters()
    for q, v, tau in chain_states:
        position, velocity = quaternion_state(rigid, rigid_chain, q, v)
        tau_chain = velocity_map(rigid, rigid_chain, q).T @ tau
        a_chain = getattr(rigid_chain, form)(q, v, tau_chain, p)
        a = getattr(rigid, form)(position, velocity, tau, p)
        for link in LINKS:
            of_chain = rigid_chain.jacobian(link, q) @ a_chain + rigid_chain.jacobian_rate_times_velocity(link, q, v)
            expected = rigid.jacobian(link, position) @ a + rigid.jacobian_rate_times_velocity(link, position, velocity)
            assert_close(of_chain, expected, 1e-11)
        assert_close(a_chain[6:], a[6:], 1e-11)


def test_planar_base_is_the_chain_with_its_other_links_locked(log_loader, rigid_chain):
    planar = RigidBodyModel(replace(log_loader, name='log_loader_planar', base=Base('base_link', 'planar')))
    assert planar.velocity_names[:3] == ('base_x', 'base_z', 'base_pitch')
    kept = [rigid_chain.velocity_names.index(name) for name in planar.velocity_names]
    p, rng = rigid_chain.parameters(), np.random.default_rng(22)
    for _ in range(100):
        q, v, a = (np.zeros(rigid_chain.nv) for _ in range(3))
        small = rng.normal(size=(3, planar.nv))
        q[kept], v[kept], a[kept] = small
        assert_close(planar.mass_matrix(small[0], p), rigid_chain.mass_matrix(q, p)[np.ix_(kept, kept)], 1e-13)
        forces = rigid_chain.inverse_dynamics(q, v, a, p)[kept]
        assert_close(planar.inverse_dynamics(*small, p), forces, 1e-12)
        assert_close(planar.forward_dynamics(small[0], small[1], forces, p), small[2], 1e-9)


# ---------------------------------------------------------------------------- the source's DH chain, table 7.1

UPWARD = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
"""Axes of frames 7 to 9 (x, up, right) in axes of the URDF (x, left, up)."""
POSITIONED = np.array([-0.2, 0.0, -0.23])
"""Point that the first three joints of table 7.1 position, seen from frame 6 = base_link."""
LITERAL_STICK = np.array([[600.0, 0, -70], [0, 0, 0], [-70, 0, 0]])
SPEC_Q = np.array([1.2, 0.1, -0.2, 0.03, -np.pi / 2 + 0.04, -np.pi / 2 + 0.05, 0.4, 0.5, -1.2])
SPEC_QD = np.array([0.1, -0.2, 0.3, 0.15, -0.1, 0.2, 0.6, -0.4, 0.5])


def on_reference_point(machine):
    """Return the machine with the source's reference point as root, for equal generalized coordinates."""
    origin = np.eye(4)
    origin[:3, 3] = -POSITIONED
    root = Link('reference_point', 0.0, np.zeros(3), np.zeros((3, 3)))
    joint = Joint('reference', 'fixed', 'reference_point', 'base_link', origin, np.array([0.0, 0.0, 1.0]))
    return replace(
        machine,
        name='log_loader_reference',
        links=(root, *machine.links),
        joints=(joint, *machine.joints),
        base=Base('reference_point', 'free'),
    )


def with_stick_inertia(machine, tensor):
    links = tuple(replace(link, inertia=tensor) if link.name == 'stick_link' else link for link in machine.links)
    return replace(machine, links=links)


def tree_coordinates(q):
    """Return coordinates of the tree's virtual chain from coordinates of table 7.1."""
    return q + np.r_[np.zeros(4), np.pi / 2, np.pi / 2, np.zeros(3)] * 1.0


@pytest.fixture(scope='module')
def reference_tree(log_loader):
    return RigidBodyModel(on_reference_point(log_loader), 'virtual_chain')


@pytest.fixture(scope='module')
def literal_tree(log_loader):
    """Return the tree with the printed stick inertia of the source, which loaders reject."""
    tensor = UPWARD @ ordinary_inertia(LITERAL_STICK) @ UPWARD.T
    return RigidBodyModel(with_stick_inertia(on_reference_point(log_loader), tensor), 'virtual_chain')


def chain_with_urdf_stick(payload):
    """Return table 7.1 with the stick of the URDF: thickness from its offset, no product of inertia."""
    chain = log_loader_chain('literal', payload=0.0)
    stick = Body(688.0, np.array([-0.9, 0.1, 0.0]), np.diag([600.0, 6.9, 0.0]))
    return replace(chain, bodies=(*chain.bodies[:-1], stick)).with_payload(payload)


@pytest.mark.parametrize('payload', [0.0, 5100.0])
def test_lagrange_euler_chain_has_the_trees_dynamics(reference_tree, payload):
    chain, rng = chain_with_urdf_stick(payload), np.random.default_rng(31)
    p = reference_tree.parameters(payload=payload)
    free_fall = reference_tree.parameters(payload=payload, gravity=(0.0, 0.0, 0.0))
    for _ in range(50):
        q, v = rng.normal(size=9), rng.normal(size=9)
        coordinates = tree_coordinates(q)
        zero = np.zeros(9)
        assert_close(reference_tree.mass_matrix(coordinates, p), trace_form.mass_matrix(chain, q), 1e-11)
        coriolis = reference_tree.inverse_dynamics(coordinates, v, zero, free_fall)
        assert_close(coriolis, trace_form.coriolis_vector(chain, q, v), 1e-10)
        weight = reference_tree.inverse_dynamics(coordinates, zero, zero, p)
        assert_close(weight, trace_form.gravity_vector(chain, q), 1e-11)


def test_lagrange_euler_chain_has_the_trees_accelerations(reference_tree):
    chain, rng, p = chain_with_urdf_stick(5100.0), np.random.default_rng(32), reference_tree.parameters(payload=5100.0)
    for _ in range(50):
        q, v, tau = random_state(reference_tree, rng)
        q[4] = -np.pi / 2 + rng.uniform(-1, 1)  # away from the chain's singular posture
        ours = reference_tree.forward_dynamics(tree_coordinates(q), v, tau, p)
        assert_close(ours, trace_form.forward_dynamics(chain, q, v, tau), 1e-10)


def printed(actual, expected, decimals=6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=0.5001 * 10.0**-decimals)


def test_reference_state_of_the_source_through_the_tree(literal_tree):
    """The specification's section 6.9, with the stick's inertia as printed."""
    q = tree_coordinates(SPEC_Q)
    p = literal_tree.parameters(payload=0.0)
    M = literal_tree.mass_matrix(q, p)
    printed(
        np.diag(M),
        (17481, 17481, 17481, 75817.590087, 26589.053598, 79705.543193, 69503.128242, 48021.940591, 1164.16),
    )
    printed(
        [M[0, 3], M[0, 7], M[1, 3], M[2, 4], M[3, 4]],
        (-2940.400003, 7202.543855, 6044.26455, -6129.743604, -25665.842293),
    )
    printed([M[3, 7], M[5, 6], M[7, 8]], (-47985.713343, 69432.484741, 2664.340296))
    zero = np.zeros(9)
    printed(
        literal_tree.inverse_dynamics(q, SPEC_QD, zero, literal_tree.parameters(0.0, (0.0, 0.0, 0.0))),
        (
            -1384.391096,
            -2886.916446,
            1521.224664,
            -9649.493547,
            -2191.529181,
            13716.841395,
            13297.796715,
            8833.520244,
            -2534.163666,
        ),
    )
    printed(
        literal_tree.inverse_dynamics(q, zero, zero, p),
        (171488.61, 0, 0, -28845.324034, -2315.030698, 1084.089109, -178.804769, 70656.955213, 5041.682916),
    )
    printed(literal_tree.link_pose('base_link', q)[:3, 3], (0.306566, -0.199210, 1.424121))
    printed(literal_tree.link_pose('payload_link', q)[:3, 3], (6.063249, 2.373308, 2.689459))


def test_reference_state_of_the_urdf_without_effects_of_the_stick(reference_tree):
    """Weight, geometry and the translational rows of M hold for the physical stick of the URDF."""
    q, zero, p = tree_coordinates(SPEC_Q), np.zeros(9), reference_tree.parameters(payload=0.0)
    M = reference_tree.mass_matrix(q, p)
    printed([M[0, 0], M[0, 3], M[0, 7], M[1, 3], M[2, 4]], (17481, -2940.400003, 7202.543855, 6044.26455, -6129.743604))
    printed(
        reference_tree.inverse_dynamics(q, zero, zero, p),
        (171488.61, 0, 0, -28845.324034, -2315.030698, 1084.089109, -178.804769, 70656.955213, 5041.682916),
    )
    # the rest differs only by the stick's inertia: 6.9 kg m2 from its thickness about the boom's axis
    assert M[8, 8] == pytest.approx(1164.16 + 6.9, abs=1e-9)
    assert effort_scale(reference_tree) == pytest.approx(171488.61)
