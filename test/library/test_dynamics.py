"""The dynamics of the library against Pinocchio, for one state and many, and errors for wrong vectors."""

from __future__ import annotations

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.common.share import find_resource
from dyn_nodes.multibody.rigid_body import RigidBodyModel


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


@pytest.fixture(scope='module')
def dynamics(loader):
    return loader.dynamics(payload=500.0)


def states(dynamics, count, seed=1):
    rng = np.random.default_rng(seed)
    nq, nv = len(dynamics.position_names), len(dynamics.velocity_names)
    q, v, tau = rng.normal(size=(count, nq)), rng.normal(size=(count, nv)), 1e4 * rng.normal(size=(count, nv))
    if nq != nv:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q, v, tau


@pytest.mark.parametrize('name', ['log_loader', 'arm_a6'])
def test_dynamics_equal_pinocchio(name):
    pytest.importorskip('pinocchio')
    from multibody_reference import reference_of

    machine = dn.load(name)
    mount = machine.data.payload
    d = machine.dynamics(payload=500.0 if mount else None)
    reference = reference_of(find_resource(f'urdf/{name}.urdf'), RigidBodyModel(machine.data), mount, d.payload)
    for q, v, tau in zip(*states(d, 5)):
        a = d.forward(q, v, tau)
        np.testing.assert_allclose(d.mass_matrix(q), reference.mass_matrix(q), rtol=1e-11, atol=1e-6)
        np.testing.assert_allclose(d.gravity(q), reference.inverse_dynamics(q, 0 * v, 0 * v), rtol=1e-11, atol=1e-6)
        np.testing.assert_allclose(a, reference.forward_dynamics(q, v, tau), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(d.inverse(q, v, a), tau, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(d.bias(q, v), reference.inverse_dynamics(q, v, 0 * v), rtol=1e-11, atol=1e-6)
        np.testing.assert_allclose(d.center_of_mass(q), reference.center_of_mass(q), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(d.momentum(q, v), reference.momentum(q, v), rtol=1e-10, atol=1e-7)
        link = machine.data.links[-1].name
        np.testing.assert_allclose(d.pose(link, q), reference.link_pose(link, q), rtol=0, atol=1e-12)
        np.testing.assert_allclose(d.jacobian(link, q), reference.jacobian(link, q), rtol=0, atol=1e-11)


def test_rows_equal_single_calls(loader, dynamics):
    q, v, tau = states(dynamics, 4)
    link = loader.data.links[-1].name
    calls = {
        'mass_matrix': (q,),
        'gravity': (q,),
        'bias': (q, v),
        'inverse': (q, v, tau),
        'forward': (q, v, tau),
        'energy': (q, v),
        'momentum': (q, v),
        'center_of_mass': (q,),
    }
    for name, arguments in calls.items():
        call = getattr(dynamics, name)
        alone = [call(*row) for row in zip(*arguments)]
        np.testing.assert_allclose(call(*arguments), alone, rtol=1e-12, atol=1e-8, err_msg=name)
    np.testing.assert_array_equal(dynamics.pose(link, q), [dynamics.pose(link, row) for row in q])
    np.testing.assert_array_equal(dynamics.jacobian(link, q), [dynamics.jacobian(link, row) for row in q])
    alone = [dynamics.forward(row, v[0], effort) for row, effort in zip(q, tau)]
    np.testing.assert_allclose(dynamics.forward(q, v[0], tau), alone, rtol=1e-12, atol=1e-8)
    assert dynamics.forward(q[:0], v[:0], tau[:0]).shape == (0, 9)


def test_lists_integers_and_strided_arrays_are_vectors_too(dynamics):
    (q,), (v,), (tau,) = states(dynamics, 1)
    expected = dynamics.forward(q, v, tau)
    strided = np.repeat(q, 2)[::2]
    np.testing.assert_allclose(dynamics.forward(q.tolist(), v, tau), expected, rtol=1e-12)
    np.testing.assert_allclose(dynamics.forward(strided, v, tau), expected, rtol=1e-12)
    assert dynamics.forward(q, np.zeros(9, dtype=int), tau).shape == (9,)


def test_the_result_is_not_overwritten_by_the_next_call(dynamics):
    (q, other), (v, _), (tau, _) = states(dynamics, 2)
    first = dynamics.forward(q, v, tau)
    kept = first.copy()
    dynamics.forward(other, v, tau)
    np.testing.assert_array_equal(first, kept)


def test_joints_alone_mean_a_level_base_at_rest(dynamics):
    joints = np.array([0.1, 0.5, -1.0])
    q = np.array([0, 0, 0, 0, 0, 0, 1.0, *joints])
    np.testing.assert_allclose(dynamics.gravity(joints), dynamics.gravity(q), rtol=1e-13, atol=1e-9)
    np.testing.assert_allclose(
        dynamics.forward(joints, joints, 1e3 * joints),
        dynamics.forward(q, np.r_[np.zeros(6), joints], np.r_[np.zeros(6), 1e3 * joints]),
        rtol=1e-12,
        atol=1e-12,
    )


def test_a_slope_turns_gravity(loader):
    level, steep = loader.dynamics(), loader.dynamics(slope=(0.0, 0.1))
    q = np.array(loader.posture())
    weight = np.linalg.norm(level.gravity(q)[3:6])
    assert np.linalg.norm(steep.gravity(q)[3:6]) == pytest.approx(weight, rel=1e-12)
    assert steep.gravity_vector == pytest.approx([9.81 * np.sin(0.1), 0.0, -9.81 * np.cos(0.1)])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            lambda q, v, tau: (q[:-2], v, tau),
            r'q: expected shape \(10,\) or \(t, 10\), or the 3 joints alone; found \(8,\)',
        ),
        (lambda q, v, tau: (q, v[None, None], tau), r'v: expected shape .* found \(1, 1, 9\)'),
        (lambda q, v, tau: (q, v, 'fast'), r"tau: expected numbers, found 'fast'"),
        (lambda q, v, tau: (q, v, None), r'tau: expected finite numbers|tau: expected shape'),
        (lambda q, v, tau: (q, np.r_[v[:-1], np.nan], tau), r"v: expected finite numbers, found nan at 'stick_joint'"),
        (lambda q, v, tau: (np.r_[np.inf, q[1:]], v, tau), r"q: expected finite numbers, found inf at 'base_x'"),
        (lambda q, v, tau: (np.stack([q, q * np.nan]), v, tau), r"found nan at 'base_x', row 1"),
        (lambda q, v, tau: (np.stack([q] * 2), np.stack([v] * 3), tau), r'equal numbers of rows, found q 2, v 3'),
    ],
)
def test_a_wrong_vector_is_named(dynamics, change, message):
    (q,), (v,), (tau,) = states(dynamics, 1)
    with pytest.raises(
        ValueError, match=f'log_loader: {message}' if message.startswith(('q', 'v', 'tau')) else message
    ):
        dynamics.forward(*change(q, v, tau))


def test_every_method_rejects_nan(dynamics):
    (q,), (v,), _ = states(dynamics, 1)
    bad = np.full(10, np.nan)
    for call, arguments in (
        (dynamics.mass_matrix, (bad,)),
        (dynamics.gravity, (bad,)),
        (dynamics.bias, (q, bad[:9])),
        (dynamics.inverse, (q, v, bad[:9])),
        (dynamics.forward, (q, v, bad[:9])),
        (dynamics.energy, (bad, v)),
        (dynamics.momentum, (q, bad[:9])),
        (dynamics.center_of_mass, (bad,)),
    ):
        with pytest.raises(ValueError, match='expected finite numbers, found nan'):
            call(*arguments)


def test_an_unknown_link_gets_a_suggestion(dynamics, loader):
    link = loader.data.links[-1].name
    with pytest.raises(KeyError, match=f"unknown link .*did you mean '{link}'"):
        dynamics.pose(link + 'e', loader.posture())


def test_accelerations_satisfy_the_constraints():
    """The reference is the compiled system of the machine, whose joints have neither springs nor friction."""
    machine = dn.load('four_bar')
    d, system = machine.dynamics(), machine.system()
    x = machine.rest_state()
    nq, nv = system.nq, system.nv
    u = np.full(len(system.input_names), 3.0)
    tau = np.zeros(nv)
    for name, value in zip(system.input_names, u):
        tau[machine.velocity_names.index(name.removesuffix('/effort'))] = value
    expected = system.rhs(x, u, system.parameters())[nq : nq + nv]
    accelerations = d.forward(x[:nq], x[nq : nq + nv], tau)
    assert np.abs(accelerations).max() > 0.1
    np.testing.assert_allclose(accelerations, expected, rtol=1e-8, atol=1e-8)
    rows = d.forward(np.stack([x[:nq]] * 2), x[nq : nq + nv], np.stack([tau, 2 * tau]))
    np.testing.assert_allclose(rows[0], accelerations, rtol=1e-12, atol=1e-12)
