"""Counts of constrained systems; initial states from rough guesses."""

from __future__ import annotations

import numpy as np
import pytest
from random_systems import random_system

from dyn_nodes.constraints import (
    AssemblyError,
    BeyondLimitsError,
    ConstraintBlocks,
    ContradictoryConstraintsError,
    Distance,
    Lock,
    Loop,
    Prescribed,
    analyse,
    assemble,
    assemble_within,
    moved,
    projected_velocity,
    world_frame,
)
from dyn_nodes.multibody import TreeBuilder

Z = (0.0, 0.0, 1.0)


def slider_crank(crank=0.3, rod=0.8):
    builder = TreeBuilder()
    a = builder.add_joint('crank', -1, 'revolute', Z, mass=1.0, com=(crank / 2, 0, 0), inertia=0.01 * np.eye(3))
    b = builder.add_joint(
        'rod', a, 'revolute', Z, p=(crank, 0, 0), mass=1.0, com=(rod / 2, 0, 0), inertia=0.01 * np.eye(3)
    )
    builder.add_joint('piston', -1, 'prismatic', (1, 0, 0), mass=2.0)
    builder.add_frame('pin', b, p=(rod, 0, 0))
    tree = builder.build()
    return tree, ConstraintBlocks(tree, [Loop.planar('pin', tree.frame('pin'), tree.frame('piston'), rotation=False)])


def test_counts_of_a_slider_crank():
    _, system = slider_crank()
    q = assemble(system, [0.7, -0.5, 0.8], held=['crank'])
    report = analyse(system, q, actuated=['crank'])
    assert (report.velocities, report.rows, report.rank, report.mobility) == (3, 2, 2, 1)
    assert (report.actuators, report.underactuation, report.topology) == (1, 0, 'closed')
    assert report.redundant == ()
    assert all(report.forces_unique.values())
    # a motor on the piston as well drives the same motion: still one independent actuator
    assert analyse(system, q, actuated=['crank', 'piston']).actuators == 1
    assert analyse(system, q).underactuation == 1
    with pytest.raises(KeyError, match='unknown velocity'):
        analyse(system, q, actuated=['knee'])


def test_a_spatial_loop_of_a_planar_mechanism_has_three_redundant_rows():
    tree, _ = slider_crank()
    hinge = ConstraintBlocks(tree, [Loop.hinge('pin', tree.frame('pin'), tree.frame('piston'))])
    report = analyse(hinge, assemble(hinge, [0.7, -0.5, 0.8]), actuated=['crank'])
    assert (report.rows, report.rank, report.mobility) == (5, 2, 1)
    assert len(report.redundant) == len(report.dependencies) == 3
    assert set(report.redundant) == {'pin/rx', 'pin/ry', 'pin/z'}
    text = report.text()
    assert 'mobility         1' in text
    assert 'redundant rows   3' in text


def test_dependencies_are_relations_between_few_rows():
    builder = TreeBuilder()
    builder.add_joint('slide', -1, 'prismatic', Z, mass=1.0)
    builder.add_joint('other', -1, 'prismatic', Z, mass=1.0)
    system = ConstraintBlocks(
        builder.build(), [Lock('a', 'slide'), Lock('b', 'slide'), Lock('c', 'other'), Lock('d', 'other')]
    )
    report = analyse(system, [0.0, 0.0])
    assert len(report.redundant) == 2
    pairs = {frozenset(relation) for relation in report.dependencies}
    assert pairs == {frozenset({'a/position', 'b/position'}), frozenset({'c/position', 'd/position'})}
    for relation in report.dependencies:
        assert sum(relation.values()) == pytest.approx(0.0, abs=1e-12)


def test_topology_has_four_kinds():
    builder = TreeBuilder()
    a = builder.add_joint('a', -1, 'revolute', Z, mass=1.0, inertia=np.eye(3))
    b = builder.add_joint('b', a, 'revolute', Z, p=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    serial = builder.build()
    assert analyse(ConstraintBlocks(serial, []), serial.neutral).topology == 'serial'
    c = builder.add_joint('c', a, 'revolute', Z, p=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    tree = builder.build()
    assert analyse(ConstraintBlocks(tree, []), tree.neutral).topology == 'tree'
    loop = Loop.planar('x', tree.frame('b'), tree.frame('c'), rotation=False)
    assert analyse(ConstraintBlocks(tree, [loop]), tree.neutral).topology == 'closed'
    builder.add_joint('d', b, 'revolute', Z, mass=1.0, inertia=np.eye(3))
    more = builder.build()
    assert analyse(ConstraintBlocks(more, [loop]), more.neutral).topology == 'complex'
    assert c == 2


@pytest.mark.parametrize('seed', range(6))
def test_loops_are_closed_from_a_rough_guess(seed):
    system, q, _, _ = random_system(seed)
    rng = np.random.default_rng(seed)
    rough = moved(system.tree, q, 0.15 * rng.normal(size=system.tree.nv))
    closed = assemble(system, rough)
    assert np.abs(system.at(rough).residual).max() > 0.01
    assert np.abs(system.at(closed).residual).max() < 1e-11
    quaternions = [closed[b.q + 3 : b.q + 7] for b in system.tree.bodies if b.kind == 'free']
    assert [np.linalg.norm(part) for part in quaternions] == pytest.approx([1.0] * len(quaternions))


def test_held_coordinates_stay():
    _, system = slider_crank()
    q = assemble(system, [0.7, 0.2, 0.1], held=['crank'])
    assert q[0] == 0.7
    assert 0.3 * np.sin(q[0]) + 0.8 * np.sin(q[0] + q[1]) == pytest.approx(0.0, abs=1e-12)


def test_a_joint_that_would_pass_its_limit_stops_there_and_others_close_the_loop():
    _, system = slider_crank()
    guess = [0.2, -0.3, 1.05]
    assert assemble(system, guess)[2] > 0.95
    q = assemble_within(system, guess, {'piston': (0.5, 0.9), 'crank': (-3.0, 3.0)})
    assert q[2] == 0.9
    assert np.abs(system.at(q).residual).max() < 1e-11


def test_joints_at_two_incompatible_limits_move_together():
    """A crank at its limit of 0.6 rad puts the piston at 1.029 m, outside its range."""
    _, system = slider_crank()
    q = assemble_within(system, [0.0, 0.0, 1.1], {'crank': (0.6, 1.2), 'piston': (0.5, 1.028)})
    assert 0.6 < q[0] < 0.7
    assert q[2] <= 1.028
    assert np.abs(system.at(q).residual).max() < 1e-11


def test_a_loop_that_closes_only_beyond_a_limit_names_the_joint():
    _, system = slider_crank()
    with pytest.raises(BeyondLimitsError, match=r'^piston at 1\.0\d+, beyond its limits 0\.5 to 0\.9$') as caught:
        assemble_within(system, [0.2, -0.3, 1.05], {'piston': (0.5, 0.9)}, held=['crank'])
    assert caught.value.joint == 'piston'
    held = assemble_within(system, [0.2, -0.3, 1.05], {'crank': (0.5, 0.6)}, held=['crank'])
    assert held[0] == 0.2  # joints held at the guess stay


def test_a_loop_that_cannot_close_is_reported_with_its_gap():
    """Two links of 0.3 and 0.8 m do not reach a pin 2 m away: the least gap is 0.9 m."""
    tree, _ = slider_crank()
    system = ConstraintBlocks(
        tree, [Loop.planar('far', tree.frame('pin'), world_frame((2.0, 0, 0)), False), Lock('piston_lock', 'piston')]
    )
    with pytest.raises(AssemblyError, match=r'still open \(m or rad\): far by 0\.9') as caught:
        assemble(system, [0.4, 0.3, 0.0])
    assert caught.value.gaps == {'far': pytest.approx(0.9, abs=1e-3)}


def test_contradictory_locks_cannot_be_assembled():
    tree, _ = slider_crank()
    system = ConstraintBlocks(tree, [Lock('one', 'crank', 0.1), Lock('two', 'crank', 0.5)])
    with pytest.raises(AssemblyError, match=r'one by 0\.2') as caught:
        assemble(system, tree.neutral)
    assert caught.value.gaps == pytest.approx({'one': 0.2, 'two': 0.2}, abs=1e-6)


@pytest.mark.parametrize('seed', range(4))
def test_projection_satisfies_the_rows_and_is_nearest_in_energy(seed):
    system, q, v, _ = random_system(seed)
    rng = np.random.default_rng(seed)
    wanted = rng.normal(size=system.tree.nv)
    velocity = projected_velocity(system, q, wanted)
    blocks = system.at(q, velocity)
    assert np.abs(blocks.J @ velocity - blocks.sigma).max() < 1e-10
    # the removed part is orthogonal, in the metric of M, to every remaining motion
    assert abs((wanted - velocity) @ blocks.M @ velocity) < 1e-9
    assert projected_velocity(system, q, v) == pytest.approx(v, abs=1e-9)


def test_projection_follows_a_moving_constraint_and_held_velocities():
    tree, _ = slider_crank()
    pin = Loop.planar('pin', tree.frame('pin'), tree.frame('piston'), rotation=False)
    system = ConstraintBlocks(tree, [pin, Prescribed(Lock('drive', 'crank'), lambda t: 2.0 * t)])
    q = assemble(system, [0.0, 0.3, 0.9])
    v = projected_velocity(system, q, np.zeros(3))
    assert v[0] == pytest.approx(2.0)
    with pytest.raises(ContradictoryConstraintsError, match='is missed by'):
        projected_velocity(system, q, [1.0, 0.0, 0.0], held=['crank'])


def test_a_rod_is_assembled_to_its_length():
    builder = TreeBuilder()
    builder.add_free('ball', 1.0, inertia=np.eye(3))
    tree = builder.build()
    system = ConstraintBlocks(tree, [Distance('rod', tree.frame('ball'), world_frame(), 0.75)])
    q = tree.neutral
    q[:3] = 0.1, 0.2, 0.1
    assert np.linalg.norm(assemble(system, q)[:3]) == pytest.approx(0.75)
