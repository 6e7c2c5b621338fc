"""The array loops against Pinocchio, against the traced form, and against the laws of mechanics."""

from __future__ import annotations

import time

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import PinocchioTree, random_state, random_tree

from dyn_nodes.multibody import TreeState, build_tree, forward_dynamics, inverse_dynamics
from dyn_nodes.studies.formulations.chain import LinkArrays

GRAVITY = np.array([0.3, -1.0, -9.81])
SEEDS = st.integers(0, 2**32 - 1)
TREES = st.fixed_dictionaries({
    'n': st.integers(1, 30),
    'free': st.booleans(),
    'roots': st.integers(1, 3),
    'branching': st.sampled_from([0.0, 0.3, 1.0]),
    'kinds': st.sampled_from([('revolute',), ('prismatic', 'revolute', 'revolute')]),
})  # fmt: skip


def relative(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


def tree_and_pinocchio(seed, n, roots, **options):
    rng = np.random.default_rng(seed)
    arrays = random_tree(rng, n, roots=min(roots, n), **options)
    tree = LinkArrays(**arrays)
    return rng, tree, PinocchioTree(tree, GRAVITY, **arrays)


@given(seed=SEEDS, shape=TREES)
@settings(max_examples=60)
def test_forward_and_inverse_dynamics_agree_with_pinocchio(seed, shape):
    rng, tree, pinocchio = tree_and_pinocchio(seed, **shape)
    q, v, tau = random_state(rng, tree)
    external = rng.normal(size=(tree.n, 6))
    expected = pinocchio.forward_dynamics(q, v, tau, external)
    accelerations = tree.forward_dynamics(q, v, tau, GRAVITY, external)
    assert relative(accelerations, expected) < 1e-10
    assert relative(tree.inverse_dynamics(q, v, expected, GRAVITY), pinocchio.inverse_dynamics(q, v, expected)) < 1e-10
    back = tree.inverse_dynamics(q, v, accelerations, GRAVITY, external)
    assert np.abs(back - tau).max() < 1e-9 * max(1.0, np.abs(accelerations).max())


@given(seed=SEEDS, shape=TREES, tips=st.integers(1, 4))
@settings(max_examples=40)
def test_inverse_mass_matrix_and_tip_inverse_inertia_agree_with_dense_ones(seed, shape, tips):
    rng, tree, pinocchio = tree_and_pinocchio(seed, **shape)
    q, v, a = random_state(rng, tree)
    M = pinocchio.mass_matrix(q)
    assert relative(tree.mass_matrix_times(q, a), M @ a) < 1e-10
    assert tree.kinetic_energy(q, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-10)
    b = rng.normal(size=(tree.nv, 2))
    assert relative(tree.inverse_mass_matrix_times(q, b), np.linalg.solve(M, b)) < 1e-9
    bodies, points = rng.integers(tree.n, size=tips), rng.normal(size=(tips, 3))
    J = np.vstack([pinocchio.jacobian(q, int(body), point) for body, point in zip(bodies, points)])
    assert relative(tree.tip_inverse_inertia(q, bodies, points), J @ np.linalg.solve(M, J.T)) < 1e-9
    _, velocity, acceleration = tree.tip_motion(q, v, a, bodies, points)
    assert np.abs(velocity.ravel() - J @ v).max() < 1e-10
    for body, point, tip in zip(bodies, points, acceleration):
        assert relative(tip, pinocchio.tip_acceleration(q, v, a, int(body), point)) < 1e-10


@given(seed=SEEDS)
@settings(max_examples=15)
def test_massless_links_between_joints_are_allowed(seed):
    rng = np.random.default_rng(seed)
    arrays = random_tree(rng, 14, kinds=('revolute',), free=True, branching=0.2, massless=0.3)
    # at most two massless links in a row: each joint must move an inertia
    for k in range(2, 14):
        if arrays['mass'][k] == arrays['mass'][k - 1] == arrays['mass'][k - 2] == 0.0:
            arrays['mass'][k], arrays['inertia'][k] = 1.0, 0.01 * np.eye(3)
    tree = LinkArrays(**arrays)
    pinocchio = PinocchioTree(tree, GRAVITY, **arrays)
    q, v, tau = random_state(rng, tree)
    expected = pinocchio.forward_dynamics(q, v, tau)
    condition = np.linalg.cond(pinocchio.mass_matrix(q))
    assert relative(tree.forward_dynamics(q, v, tau, GRAVITY), expected) < 1e-15 * max(condition, 1e3)


def test_a_joint_that_moves_nothing_is_named():
    rng = np.random.default_rng(3)
    arrays = random_tree(rng, 4, branching=0.0)
    arrays['mass'][3], arrays['inertia'][3] = 0.0, 0.0
    tree = LinkArrays(**arrays, names=['a', 'b', 'c', 'hand'])
    with pytest.raises(ValueError, match='hand: its joint moves no inertia'):
        tree.forward_dynamics(*random_state(rng, tree))


def test_a_machine_tree_and_its_traced_form_agree(log_loader):
    tree = build_tree(log_loader)
    loops, rng = LinkArrays.from_tree(tree), np.random.default_rng(0)
    assert (loops.nq, loops.nv) == (tree.nq, tree.nv)
    q, v, a, g = ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv), ca.SX.sym('a', tree.nv), ca.SX(GRAVITY)
    state = TreeState(tree, q, v)
    forward = ca.Function('forward', [q, v, a], [forward_dynamics(state, a, g)])
    inverse = ca.Function('inverse', [q, v, a], [inverse_dynamics(state, a, g)])
    poses = ca.Function('poses', [q], [pose.p for pose in state.poses] + [pose.R for pose in state.poses])
    for _ in range(20):
        numbers = random_state(rng, loops)
        assert relative(loops.forward_dynamics(*numbers, GRAVITY), np.array(forward(*numbers)).ravel()) < 1e-12
        assert relative(loops.inverse_dynamics(*numbers, GRAVITY), np.array(inverse(*numbers)).ravel()) < 1e-12
        rotations, origins = loops.poses(numbers[0])
        expected = [np.array(part) for part in poses(numbers[0])]
        assert np.abs(origins - np.array(expected[: loops.n])[:, :, 0]).max() < 1e-13
        assert np.abs(rotations - np.array(expected[loops.n :])).max() < 1e-13


@given(seed=SEEDS)
@settings(max_examples=20)
def test_springs_and_locks_are_equivalent_to_their_efforts(seed):
    rng = np.random.default_rng(seed)
    arrays = random_tree(rng, 10, free=bool(seed % 2))
    plain, held = LinkArrays(**arrays), LinkArrays(**arrays)
    q, v, tau = random_state(rng, plain)
    joints = np.flatnonzero(plain.kind != 2)
    stiffness, damping, rest = rng.uniform(1, 5, size=(3, plain.n))
    locked = np.zeros(plain.n, dtype=bool)
    locked[rng.choice(joints, 3, replace=False)] = True
    v[plain.at_v[locked]] = 0.0
    held.set_springs(stiffness, damping, rest)
    held.set_locks(locked)
    efforts = np.empty(plain.nv)
    accelerations = held.forward_dynamics(q, v, tau, GRAVITY, efforts=efforts)
    assert not accelerations[plain.at_v[locked]].any()
    # the tree without springs and locks has the same motion under these efforts
    assert relative(plain.forward_dynamics(q, v, efforts, GRAVITY), accelerations) < 1e-9
    unlocked = [k for k in joints if not locked[k]]
    for k in unlocked:
        spring = -stiffness[k] * (q[plain.at_q[k]] - rest[k]) - damping[k] * v[plain.at_v[k]]
        assert efforts[plain.at_v[k]] == pytest.approx(tau[plain.at_v[k]] + spring, abs=1e-12)
    # M^-1 applies to the unlocked joints
    free = np.setdiff1d(np.arange(plain.nv), plain.at_v[locked])
    M = np.column_stack([plain.mass_matrix_times(q, unit) for unit in np.eye(plain.nv)])
    b = rng.normal(size=plain.nv)
    answer = held.inverse_mass_matrix_times(q, b)
    assert relative(answer[free], np.linalg.solve(M[np.ix_(free, free)], b[free])) < 1e-9
    assert not answer[plain.at_v[locked]].any()


def test_a_long_chain_keeps_its_accuracy():
    rng = np.random.default_rng(5)
    tree = LinkArrays(**random_tree(rng, 1000, kinds=('revolute',), branching=0.0))
    q, v, tau = random_state(rng, tree)
    a = tree.forward_dynamics(q, 0.1 * v, tau, GRAVITY)
    back = tree.inverse_dynamics(q, 0.1 * v, a, GRAVITY)
    assert np.abs(back - tau).max() < 1e-9 * np.abs(a).max()


@pytest.mark.pins('yesiloglu-2007/6.3/cost')
def test_the_run_time_is_proportional_to_the_links():
    rng, sizes, trees = np.random.default_rng(0), (40, 160, 640, 2560), []
    for n in sizes:
        tree = LinkArrays(**random_tree(rng, n, kinds=('revolute',), branching=0.0))
        trees.append((tree, random_state(rng, tree), np.empty(tree.nv)))

    def seconds(tree, state, out):
        calls = 4 * sizes[-1] // tree.n
        start = time.thread_time()
        for _ in range(calls):
            tree.forward_dynamics(*state, out=out)
        return (time.thread_time() - start) / calls

    # the least of many short slices, sizes in turn: other load on the computer affects all sizes equally
    best = np.array([[seconds(*tree) for tree in trees] for _ in range(40)]).min(axis=0)
    assert np.polyfit(np.log(sizes), np.log(best), 1)[0] < 1.2


def sound(**changed):
    arrays = random_tree(np.random.default_rng(0), 3, branching=0.0)
    return {**arrays, **changed}


@pytest.mark.parametrize(
    ('changed', 'message'),
    [
        ({'parent': [-1, 2, 1]}, 'link 1: expected a parent from -1 to 0, found 2'),
        (
            {'kind': ['revolute', 'screw', 'revolute']},
            "link 1: expected a joint of revolute, prismatic, free, found 'sc",
        ),
        ({'kind': ['revolute', 'free', 'revolute']}, 'link 1: a free link is a root'),
        ({'kind': ['revolute']}, 'kind, names: expected 3 entries, found 1 and 3'),
        ({'axis': np.array([[0, 0, 1.0], [0, 0, 2.0], [0, 0, 1.0]])}, 'link 1: axis is no unit vector'),
        ({'R': np.array([np.eye(3), np.eye(3), -np.eye(3)])}, 'link 2: R is no rotation'),
        ({'mass': np.array([1.0, -1.0, 1.0])}, 'link 1: mass is negative'),
        ({'mass': np.array([1.0, np.nan, 1.0])}, 'mass: expected finite numbers'),
        ({'com': np.zeros((2, 3))}, r'com: expected shape \(3, 3\), found \(2, 3\)'),
        ({'inertia': np.tile([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], (3, 1, 1))}, 'link 0: inertia is not symmetric'),
    ],
)
def test_arrays_without_tree_structure_are_rejected(changed, message):
    with pytest.raises(ValueError, match=message):
        LinkArrays(**sound(**changed))


def test_vectors_of_another_size_are_rejected():
    tree = LinkArrays(**sound())
    with pytest.raises(ValueError, match='tau: expected 3 numbers'):
        tree.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match=r'external: expected shape \(3, 6\)'):
        tree.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3), external=np.zeros((2, 6)))
    with pytest.raises(ValueError, match='b: expected 3 rows'):
        tree.inverse_mass_matrix_times(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match='bodies: expected indices from 0 to 2'):
        tree.tip_inverse_inertia(np.zeros(3), [3], np.zeros((1, 3)))
    with pytest.raises(ValueError, match='points: expected three numbers for each of 1 tips'):
        tree.tip_inverse_inertia(np.zeros(3), [1], np.zeros((2, 3)))
    free = LinkArrays(**random_tree(np.random.default_rng(0), 2, free=True))
    with pytest.raises(ValueError, match='link 0: a free link has no joint to lock'):
        free.set_locks([True, False])
