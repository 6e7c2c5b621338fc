"""Influence coefficients G, H, D of trees: exact derivatives, Pinocchio, the traced form, batches, transfers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from random_trees import random_inertia, random_rotation, random_unit

from dyn_nodes.multibody import Frame, TreeBuilder, TreeState, inverse_dynamics, mass_matrix
from dyn_nodes.multibody.influence import (
    Coefficients,
    IllConditionedTransferWarning,
    SingularInertiaError,
    SingularTransferError,
    TreeCoefficients,
    algebra,
    rigid_body_model,
    serial_model,
)
from dyn_nodes.studies.freeman_1985.compiled_influence import CompiledCoefficients
from dyn_nodes.studies.freeman_1985.traced_influence import traced_coefficients

GRAVITY = (0.3, -0.4, -9.81)
PATTERNS = ('RRRRRR', 'RRPRRR', 'RPRRPR', 'PRRPRR', 'PPRRPP')


def random_tree(pattern, seed, branch=None):
    """Return a chain with a tip; with `branch`, its last joints branch off at that body."""
    rng, builder, body = np.random.default_rng(seed), TreeBuilder(), -1
    for k, kind in enumerate(pattern):
        parent = body if branch is None or k != branch + 2 else branch
        body = builder.add_joint(
            f'j{k}', parent, 'revolute' if kind == 'R' else 'prismatic', random_unit(rng), random_rotation(rng),
            0.5 * rng.normal(size=3), rng.uniform(0.5, 2), 0.2 * rng.normal(size=3), random_inertia(rng),
        )  # fmt: skip
    builder.add_frame('tip', body, random_rotation(rng), 0.3 * rng.normal(size=3))
    return builder.build(), rng


def exact_derivatives(tree, frame, q):
    """Return G, H, D of a frame by differentiation of its position and rotation matrix."""
    symbols = ca.SX.sym('q', tree.nv)
    pose = TreeState(tree, symbols, ca.SX(tree.nv, 1)).frame_pose(frame)
    n, rates = tree.nv, []
    for k in range(n):
        spin = ca.mtimes(ca.reshape(ca.jacobian(ca.vec(pose.R), symbols)[:, k], 3, 3), pose.R.T)
        rates.append(ca.vertcat(ca.jacobian(pose.p, symbols)[:, k], spin[2, 1], spin[0, 2], spin[1, 0]))
    G = ca.horzcat(*rates)
    H = ca.jacobian(ca.vec(G), symbols)
    D = ca.jacobian(ca.vec(H), symbols)
    numbers = [np.array(part) for part in ca.Function('exact', [symbols], [G, H, D])(q)]
    # vec is column-major: H[p + 6 n_, m], D[p + 6 n_ + 6 n m, l]
    G, H, D = numbers[0], numbers[1].reshape(n, 6, n), numbers[2].reshape(n, n, 6, n)
    return G, H.transpose(1, 2, 0), D.transpose(2, 3, 0, 1)


@pytest.mark.parametrize('pattern', PATTERNS)
@pytest.mark.parametrize('branch', [None, 1])
def test_nested_cross_products_are_the_exact_derivatives_of_the_kinematics(pattern, branch):
    tree, rng = random_tree(pattern, 5, branch)
    frame, q = tree.frame('tip'), rng.normal(size=tree.nv)
    result = TreeCoefficients(tree).at(q).frame(frame)
    assert result.parameters == ('x', 'y', 'z', 'rx', 'ry', 'rz')
    for actual, exact in zip((result.G, result.H, result.D), exact_derivatives(tree, frame, q)):
        assert np.abs(exact).max() > 0.1
        assert actual == pytest.approx(exact, abs=1e-13)


def _both(coefficients, q, tip):
    """Return G, H, D of points and rotations by the array loops, one above the other."""
    point, turn = coefficients.points(q, [tip.body], tip.p), coefficients.rotations(q, [tip.body])
    return [np.concatenate([getattr(point, name)[:, 0], getattr(turn, name)[:, 0]], axis=1) for name in 'GHD']


@pytest.mark.parametrize('pattern', ['RPR', 'PRRR'])
def test_compiled_coefficients_agree_with_the_array_loops(pattern):
    tree, rng = random_tree(pattern, 8)
    tip = tree.frame('tip')
    q = rng.normal(size=(7, len(pattern)))
    compiled = CompiledCoefficients(tree, tip)
    result = compiled.batch(q)
    for actual, expected in zip(result, _both(TreeCoefficients(tree), q, tip)):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-14)
    again = compiled.batch(q[::-1], result)
    assert again is result
    np.testing.assert_allclose(again.D, _both(TreeCoefficients(tree), q[::-1], tip)[2], rtol=0, atol=1e-14)
    second = CompiledCoefficients(tree, tip, 2).batch(q)
    assert second.D is None
    np.testing.assert_array_equal(second.H, compiled.batch(q).H)


def test_compiled_coefficients_reject_other_shapes_orders_and_large_trees():
    tree, _ = random_tree('RPR', 8)
    compiled = CompiledCoefficients(tree, tree.frame('tip'))
    with pytest.raises(ValueError, match=r'expected q of shape \(N, 3\), found \(2, 4\)'):
        compiled.batch(np.zeros((2, 4)))
    result = compiled.batch(np.zeros((2, 3)))
    with pytest.raises(ValueError):
        compiled.batch(np.zeros((3, 3)), result)
    with pytest.raises(ValueError, match='contiguous'):
        compiled.batch(np.zeros((1, 3)), result._replace(G=result.G[::2], H=result.H[::2, :, ::-1], D=result.D[:1]))
    with pytest.raises(ValueError, match='order: expected 2 or 3, found 1'):
        CompiledCoefficients(tree, tree.frame('tip'), 1)
    large, _ = random_tree('R' * 11, 8)
    with pytest.raises(ValueError, match='expected at most 10 joints, found 11'):
        CompiledCoefficients(large, large.frame('tip'))


@pytest.mark.parametrize('pattern', ['RRPRRR', 'RPRRPR'])
def test_traced_coefficients_agree_with_the_array_loops(pattern):
    tree, rng = random_tree(pattern, 6, branch=1)
    symbols, q = ca.SX.sym('q', tree.nv), rng.normal(size=tree.nv)
    state = TreeState(tree, symbols, ca.SX(tree.nv, 1))
    traced = traced_coefficients(state, tree.frame('tip')).function()(q)
    loops = TreeCoefficients(tree).at(q).frame(tree.frame('tip'))
    assert traced.parameters == loops.parameters
    assert traced.coordinates == loops.coordinates
    for name in 'GHD':
        assert getattr(traced, name) == pytest.approx(getattr(loops, name), abs=1e-14)


class PinocchioChain:
    """Pinocchio's model of a chain without branches, joints in tree order."""

    def __init__(self, tree):
        self.model, joint = pin.Model(), 0
        for body in tree.bodies:
            kind = {'revolute': pin.JointModelRevoluteUnaligned, 'prismatic': pin.JointModelPrismaticUnaligned}
            joint = self.model.addJoint(joint, kind[body.kind](body.axis), pin.SE3(body.R0, body.p0), body.name)
        self.data, self.joint = self.model.createData(), joint

    def last(self, q):
        """Return the Jacobian (6, n) of the last body's origin, rows [linear; angular] in world axes."""
        pin.computeJointJacobians(self.model, self.data, q)
        return pin.getJointJacobian(self.model, self.data, self.joint, pin.LOCAL_WORLD_ALIGNED)

    def rate(self, q, v):
        pin.computeJointJacobiansTimeVariation(self.model, self.data, q, v)
        return pin.getJointJacobianTimeVariation(self.model, self.data, self.joint, pin.LOCAL_WORLD_ALIGNED)

    def hessian(self, q):
        """Return (6, n, n): row and column of the Jacobian, coordinate; the binding's memory is column-major."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.computeJointKinematicHessians(self.model, self.data)
        result = pin.getJointKinematicHessian(self.model, self.data, self.joint, pin.LOCAL_WORLD_ALIGNED)
        return result.ravel().reshape(result.shape, order='F')


@pytest.mark.parametrize('pattern', PATTERNS)
def test_coefficients_agree_with_the_jacobian_of_pinocchio_and_its_derivatives(pattern):
    tree, rng = random_tree(pattern, 7)
    pinocchio, model = PinocchioChain(tree), TreeCoefficients(tree)
    frame = tree.frame(tree.bodies[-1].name)
    for _ in range(3):
        q, v = rng.normal(size=(2, tree.nv))
        result = model.at(q, order=2).frame(frame)
        assert pytest.approx(pinocchio.last(q), abs=1e-13) == result.G
        assert np.einsum('m,pmn->pn', v, result.H) == pytest.approx(pinocchio.rate(q, v), abs=1e-12)
        assert np.swapaxes(result.H, 1, 2) == pytest.approx(pinocchio.hessian(q), abs=1e-12)


def test_a_batch_of_states_agrees_with_single_states():
    tree, rng = random_tree('RRPRRR', 8, branch=1)
    model, q = TreeCoefficients(tree), rng.normal(size=(7, tree.nv))
    bodies, points = [5, 2, 3], rng.normal(size=(3, 3))
    result, turns = model.points(q, bodies, points), model.rotations(q, bodies)
    for k, position in enumerate(q):
        here = model.at(position)
        for c, body in enumerate(bodies):
            frame = Frame(body, np.eye(3), points[c])
            assert result.positions[k, c] == pytest.approx(here.pose(frame)[1], abs=1e-15)
            point, turn = here.point(frame), here.rotation(frame)
            for name in 'GHD':
                assert np.array_equal(getattr(result, name)[k, c], getattr(point, name))
                assert np.array_equal(getattr(turns, name)[k, c], getattr(turn, name))
    first = model.points(q, bodies, points, order=1)
    assert first.H is None
    assert np.array_equal(first.G, result.G)


def test_rotational_coefficients_are_not_symmetric_and_translational_ones_are():
    tree, rng = random_tree('RRRRRR', 9)
    here = TreeCoefficients(tree).at(rng.normal(size=6))
    point, turn = here.point(tree.frame('tip')), here.rotation(tree.frame('tip'))
    assert np.array_equal(point.H, algebra.transposed(point.H))
    for order in [(0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1)]:
        assert np.array_equal(point.D, point.D.transpose(order))
    assert np.abs(turn.H - algebra.transposed(turn.H)).max() > 0.5
    assert np.array_equal(turn.H, np.triu(turn.H, 1))


@pytest.mark.parametrize('pattern', PATTERNS)
def test_the_identity_of_rotational_coefficients_holds(pattern):
    """v^T H^T - G^T x G v = v^T H (2-178)."""
    tree, rng = random_tree(pattern, 10)
    turn = TreeCoefficients(tree).at(rng.normal(size=6)).rotation(tree.frame('tip'))
    v = rng.normal(size=6)
    result = np.einsum('n,pmn->pm', v, turn.H) - algebra.cross_columns(turn.G, turn.G @ v)
    assert result == pytest.approx(np.einsum('m,pmn->pn', v, turn.H), abs=1e-13)


def test_array_algebra_follows_its_definitions():
    rng = np.random.default_rng(11)
    A, C, D = rng.normal(size=(4, 3)), rng.normal(size=(3, 5, 5)), rng.normal(size=(3, 5, 5, 5))
    B, a, b, G = rng.normal(size=(5, 2)), rng.normal(size=5), rng.normal(size=5), rng.normal(size=(3, 5))
    assert algebra.dot_product(A, C) == pytest.approx(np.einsum('pk,kmn->pmn', A, C))
    assert algebra.sandwich(B, C) == pytest.approx(np.einsum('ma,pmn,nb->pab', B, C, B))
    assert algebra.bilinear(a, C, b) == pytest.approx(np.einsum('m,pmn,n->p', a, C, b))
    assert algebra.cubic(b, D) == pytest.approx(np.einsum('plmn,l,m,n->p', D, b, b, b))
    assert A @ algebra.quadratic(b, C) == pytest.approx(algebra.quadratic(b, algebra.dot_product(A, C)))
    for k in range(5):
        assert algebra.cross_columns(G, a[:3])[:, k] == pytest.approx(np.cross(G[:, k], a[:3]))
        for n in range(5):
            assert algebra.cross_planes(G)[k, :, n] == pytest.approx(np.cross(G[:, k], G[:, n]))
            for m in range(5):
                expected = G[:, m] @ C[:, :3, 0] @ np.cross(G[:, k], G[:, n])
                assert algebra.turning_power(G, C[:, :3, 0])[k, m, n] == pytest.approx(expected)


@pytest.mark.parametrize('pattern', PATTERNS)
def test_the_model_agrees_with_newton_euler_efforts_and_christoffel_symbols(pattern):
    tree, rng = random_tree(pattern, 12, branch=1)
    model = TreeCoefficients(tree)
    q, v, a = rng.normal(size=(3, 6))
    serial = serial_model(model.at(q, 2), GRAVITY)
    symbols = [ca.SX.sym(name, 6) for name in 'qva']
    state = TreeState(tree, symbols[0], symbols[1])
    M = mass_matrix(state)
    slopes = ca.jacobian(ca.vec(M), symbols[0])
    outputs = [inverse_dynamics(state, symbols[2], ca.SX(list(GRAVITY))), M, slopes, state.kinetic_energy]
    efforts, inertia, slope, energy = (np.array(part) for part in ca.Function('reference', symbols, outputs)(q, v, a))
    assert serial.effort(v, a) == pytest.approx(efforts.ravel(), abs=1e-12 * np.abs(efforts).max())
    assert serial.inertia == pytest.approx(inertia, abs=1e-13)
    assert serial.kinetic_energy(v) == pytest.approx(energy.item(), rel=1e-13)
    assert serial.acceleration(v, serial.effort(v, a)) == pytest.approx(a, abs=1e-9)
    rates = slope.reshape(6, 6, 6)  # d I_km / d q_n at [k, m, n], for M is symmetric
    christoffel = 0.5 * (rates + np.swapaxes(rates, 1, 2) - np.einsum('mnk->kmn', rates))
    symmetric = 0.5 * (serial.power + algebra.transposed(serial.power))
    assert symmetric == pytest.approx(christoffel, abs=1e-12)


@pytest.mark.parametrize('pattern', ['RRRRRR', 'RRPRRR', 'RPRRPR'])
def test_transfer_to_hand_coordinates_and_back_is_exact_to_third_order(pattern):
    tree, rng = random_tree(pattern, 13)
    here = TreeCoefficients(tree).at(rng.normal(size=6))
    v, a, jerk = rng.normal(size=(3, 6))
    hand, serial = here.frame(tree.frame('tip')), serial_model(here, GRAVITY)
    joints = hand.inverse()
    rates, accelerations = hand.velocity(v), hand.acceleration(v, a)
    assert joints.velocity(rates) == pytest.approx(v, abs=1e-11)
    assert joints.acceleration(rates, accelerations) == pytest.approx(a, abs=1e-9)
    assert joints.jerk(rates, accelerations, hand.jerk(v, a, jerk)) == pytest.approx(jerk, abs=1e-8)
    there = serial.by(joints)
    size = np.abs(serial.effort(v, a)).max()
    assert hand.G.T @ there.effort(rates, accelerations) == pytest.approx(serial.effort(v, a), abs=1e-10 * size)
    back = there.by(hand)
    assert back.inertia == pytest.approx(serial.inertia, abs=1e-11 * np.abs(serial.inertia).max() * hand.condition)
    assert back.power == pytest.approx(serial.power, abs=1e-10 * np.abs(there.power).max())
    # the hand by the hand: unit, zero, zero
    unit = hand.by(joints)
    assert pytest.approx(np.eye(6), abs=1e-11) == unit.G
    assert np.abs(unit.H).max() < 1e-10 * np.abs(joints.H).max()
    assert np.abs(unit.D).max() < 1e-9 * np.abs(joints.D).max()


def test_both_ways_of_the_transfer_yield_the_same_arrays():
    """Transfer of the model (3-34, 3-35), and transfer of the bodies' coefficients first (2-196, 2-197)."""
    tree, rng = random_tree('RRPRRR', 14)
    here = TreeCoefficients(tree).at(rng.normal(size=6))
    joints = here.frame(tree.frame('tip')).inverse()
    total = None
    for k, body in enumerate(tree.bodies):
        frame = Frame(k, np.eye(3), body.com)
        R = here.poses[0][0, k]
        part = rigid_body_model(
            here.point(frame).by(joints), here.rotation(frame).by(joints), body.mass, R @ body.inertia @ R.T,
            body.mass * np.array(GRAVITY),
        )  # fmt: skip
        total = part if total is None else total + part
    direct = serial_model(here, GRAVITY).by(joints)
    assert total.inertia == pytest.approx(direct.inertia, rel=1e-9, abs=1e-10 * np.abs(direct.inertia).max())
    assert total.power == pytest.approx(direct.power, rel=1e-9, abs=1e-10 * np.abs(direct.power).max())
    assert total.load == pytest.approx(direct.load, rel=1e-10, abs=1e-10)


def planar_arm(second):
    """Return two links in the plane and the x, y of their tip, at a second angle."""
    builder = TreeBuilder()
    first = builder.add_joint('shoulder', -1, 'revolute', (0, 0, 1), mass=1.0, com=(0.5, 0, 0))
    elbow = builder.add_joint('elbow', first, 'revolute', (0, 0, 1), p=(1, 0, 0), mass=1.0, com=(0.5, 0, 0))
    builder.add_frame('tip', elbow, p=(1, 0, 0))
    tree = builder.build()
    here = TreeCoefficients(tree).at([0.3, second], 2)
    return here, here.point(tree.frame('tip')).rows(['x', 'y'])


def test_a_stretched_arm_is_rejected_by_the_name_of_the_coordinate():
    _, hand = planar_arm(0.0)
    with pytest.raises(SingularTransferError, match=r'coordinate [xy] does not determine the motion') as rejected:
        hand.inverse()
    assert rejected.value.coordinate in 'xy'
    assert rejected.value.condition > 1e12


def test_a_nearly_stretched_arm_is_flagged_and_a_bent_one_is_not(recwarn):
    _, hand = planar_arm(1e-9)
    with pytest.warns(IllConditionedTransferWarning, match='condition number [0-9.]+e\\+09'):
        hand.inverse()
    _, bent = planar_arm(1.0)
    recwarn.clear()
    bent.inverse()
    assert not recwarn.list
    assert bent.condition < 10


def test_too_few_or_unknown_coordinates_are_named():
    here, hand = planar_arm(1.0)
    with pytest.raises(SingularTransferError, match='expected 2 coordinates, as many as the present ones, found 1: x'):
        hand.rows(['x']).inverse()
    with pytest.raises(KeyError, match="unknown parameter 'z'; known: x, y"):
        hand.rows(['z'])
    with pytest.raises(KeyError, match="unknown coordinate 'wrist'; known: shoulder, elbow"):
        hand.columns(['wrist'])
    with pytest.raises(ValueError, match='expected coefficients of shoulder, elbow, found x, y'):
        hand.by(Coefficients.identity(['x', 'y']))
    with pytest.raises(ValueError, match='jerk: expected coefficients of third order'):
        hand.jerk([0, 0], [0, 0], [0, 0])
    with pytest.raises(ValueError, match='expected a model in shoulder, elbow, found one in x, y'):
        serial_model(here) + serial_model(here).by(hand.inverse())


def test_a_motion_without_inertia_has_no_acceleration():
    builder = TreeBuilder()
    first = builder.add_joint('crank', -1, 'revolute', (0, 0, 1), mass=1.0, com=(0.5, 0, 0))
    builder.add_joint('idle', first, 'revolute', (0, 0, 1), p=(1, 0, 0))
    serial = serial_model(TreeCoefficients(builder.build()).at([0.1, 0.2], 2))
    with pytest.raises(SingularInertiaError, match=r'^idle can move without moving any inertia'):
        serial.acceleration([0, 0], [1, 0])


def test_a_free_body_is_rejected():
    builder = TreeBuilder()
    builder.add_free('base', 1.0)
    tree = builder.build()
    with pytest.raises(ValueError, match='base: expected revolute and prismatic joints, found a free body'):
        TreeCoefficients(tree)
    state = TreeState(tree, ca.SX.sym('q', 7), ca.SX(6, 1))
    with pytest.raises(ValueError, match='base: expected revolute and prismatic joints'):
        traced_coefficients(state, tree.frame('base'))
