"""Rows of every kind against exact differentiation of their residual and their Jacobian."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from random_systems import partner, random_position, random_system, random_tree

from dyn_nodes.constraints import ConstraintBlocks, Coupling, Distance, Lock, Loop, Prescribed, world_frame
from dyn_nodes.multibody import Frame, TreeBuilder

SEEDS = range(12)


def derivatives(system):
    """Return a function (q, v, a, p) of the rate of the residual and the rate of J v - sigma, by differentiation."""
    rows, q, v = system.rows, system.q, system.v
    a, p, t = ca.SX.sym('a', system.tree.nv), system.parameters.vector, system.parameters.time
    rate_q = system.state.position_rate
    slip = ca.mtimes(rows.jacobian, v) - rows.sigma
    first = ca.jtimes(rows.residual, q, rate_q) + ca.jacobian(rows.residual, t)
    second = ca.jtimes(slip, q, rate_q) + ca.jtimes(slip, v, a) + ca.jacobian(slip, t)
    return ca.Function('derivatives', [q, v, a, p], [first, second])


def check(system, q, v, rng):
    p = system.numbers({'time': 0.3})
    a = rng.normal(size=system.tree.nv)
    first, second = (np.array(part).ravel() for part in derivatives(system)(q, v, a, p))
    blocks = system.at(q, v, p)
    held = system.holonomic
    np.testing.assert_allclose(first[held], (blocks.J @ v - blocks.sigma)[held], atol=1e-10)
    np.testing.assert_allclose(second, blocks.J @ a - blocks.gamma, atol=1e-9)


@pytest.mark.parametrize('seed', SEEDS)
def test_rows_are_the_derivatives_of_their_residual(seed):
    """J v - sigma is the rate of the residual, J a - gamma is the rate of J v - sigma."""
    system, q, v, _ = random_system(seed)
    assert np.abs(system.at(q).residual).max() < 1e-12
    check(system, q, v, np.random.default_rng(seed))


def test_prescribed_motion_enters_with_both_derivatives():
    rng = np.random.default_rng(5)
    tree, ends, _ = random_tree(rng)
    q = random_position(tree, rng)
    tip = Frame(ends[0], np.eye(3), np.array([0.1, 0.2, 0.3]))
    system = ConstraintBlocks(
        tree,
        [
            Prescribed(Loop.on_plane('terrain', tip, partner(tree, q, tip, -1)), lambda t: 0.02 * ca.sin(7 * t) ** 4),
            Prescribed(Lock('hip', 'b1_1', q[tree.bodies[tree.body('b1_1')].q]), lambda t: 0.3 * t**3),
        ],
    )
    check(system, q, rng.normal(size=tree.nv), rng)
    blocks = system.at(q, None, {'time': 0.5})
    assert blocks.sigma[1] == pytest.approx(0.9 * 0.5**2)
    assert blocks.gamma[1] == pytest.approx(1.8 * 0.5)
    assert blocks.residual[1] == pytest.approx(-0.3 * 0.5**3)


def test_a_motion_without_expression_has_three_parameters():
    tree = TreeBuilder()
    tree.add_joint('slide', -1, 'prismatic', (0, 0, 1), mass=1.0)
    system = ConstraintBlocks(tree.build(), [Prescribed(Lock('lift', 'slide'))])
    blocks = system.at([0.4], [0.0], {'lift/displacement': 0.1, 'lift/rate': 2.0, 'lift/acceleration': -3.0})
    assert (blocks.residual[0], blocks.sigma[0], blocks.gamma[0]) == pytest.approx((0.3, 2.0, -3.0))


def test_the_rotation_residual_is_the_angle_to_first_order_and_grows_to_half_a_turn():
    tree = TreeBuilder()
    tree.add_free('body', 1.0, inertia=np.eye(3))
    tree = tree.build()
    system = ConstraintBlocks(tree, [Loop.frame('weld', tree.frame('body'), world_frame())])
    sizes = []
    for angle in (1e-4, 0.5, 1.5, 3.0):
        q = tree.neutral
        q[3:7] = np.sin(angle / 2) * 0.6, 0, np.sin(angle / 2) * 0.8, np.cos(angle / 2)
        sizes.append(np.linalg.norm(system.at(q).residual))
    assert sizes[0] == pytest.approx(1e-4, rel=1e-6)
    assert np.all(np.diff(sizes) > 0)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: Loop('a', world_frame(), world_frame(), ('x', 'w')), 'expected rows out of rx'),
        (lambda: Loop('a', world_frame(), world_frame(), ()), 'expected rows'),
        (lambda: Loop.hinge('a', world_frame(), world_frame(), (0, 0, 0)), 'vector of length zero'),
        (lambda: Distance('rod', world_frame(), world_frame(), 0.0), 'length above zero'),
        (lambda: Coupling('gear', {'a': 0.0}), 'coefficient other than zero'),
    ],
)
def test_an_invalid_constraint_is_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unknown_joints_and_free_bodies_are_named():
    tree = TreeBuilder()
    tree.add_free('base', 1.0, inertia=np.eye(3))
    tree = tree.build()
    with pytest.raises(KeyError, match=r"unknown joint 'elbow'; known: base"):
        ConstraintBlocks(tree, [Lock('lock', 'elbow')])
    with pytest.raises(ValueError, match='found a free body'):
        ConstraintBlocks(tree, [Lock('lock', 'base')])
    with pytest.raises(ValueError, match='found twice: a'):
        ConstraintBlocks(tree, [Loop.point('a', tree.frame('base'), world_frame())] * 2)
