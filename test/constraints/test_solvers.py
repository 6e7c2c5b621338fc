"""All methods of the solver yield the same accelerations and, if unique, the same forces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import random_system

from dyn_nodes.constraints import (
    METHODS,
    ConstraintBlocks,
    ContradictoryConstraintsError,
    Coupling,
    Lock,
    Loop,
    MethodError,
    Prescribed,
    SingularMotionError,
    constrained_dynamics,
    free_acceleration,
    world_frame,
)
from dyn_nodes.multibody import TreeBuilder

Z = (0.0, 0.0, 1.0)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_all_methods_yield_the_same_motion_and_forces(seed):
    system, q, v, tau = random_system(seed)
    reference = constrained_dynamics(system, q, v, tau, method='saddle')
    assert reference.rank == system.m
    size = max(1.0, np.abs(reference.acceleration).max()), max(1.0, np.abs(reference.multipliers).max())
    blocks = system.at(q, v)
    balance = blocks.M @ reference.acceleration + blocks.h - tau - blocks.J.T @ reference.multipliers
    assert np.abs(balance).max() < 1e-8 * size[1]
    # the conditioning of random loops (some are nearly singular) determines the round-off
    allowed = 1e-14 * np.linalg.cond(blocks.J) ** 2 * np.linalg.cond(blocks.M)
    for method in ('auto', *METHODS):
        solution = constrained_dynamics(system, q, v, tau, method=method)
        assert np.abs(solution.acceleration - reference.acceleration).max() < max(1e-12, allowed) * size[0], method
        assert np.abs(solution.multipliers - reference.multipliers).max() < max(1e-12, allowed) * size[1], method
        assert solution.closure < 1e-8 * size[0]


def table(legs=3, mass=12.0):
    """Return a slab on vertical guides and on more legs than needed."""
    builder = TreeBuilder()
    slab = builder.add_joint('lift', -1, 'prismatic', Z, mass=mass)
    for k in range(legs):
        builder.add_frame(f'foot_{k}', slab, p=(0.3 * k, 0.0, 0.0))
    tree = builder.build()
    feet = [Loop.on_plane(f'leg_{k}', tree.frame(f'foot_{k}'), world_frame((0.3 * k, 0, 0))) for k in range(legs)]
    return ConstraintBlocks(tree, feet, gravity=(0, 0, -10.0))


def test_indeterminate_forces_are_shared_and_marked():
    system = table()
    for method in ('saddle', 'reduced', 'pseudo_inverse', 'compliant'):
        solution = constrained_dynamics(system, [0.0], [0.0], [0.0], method=method)
        assert solution.multipliers == pytest.approx([40.0] * 3)
        assert not solution.unique.any()
        assert solution.rank == 1
    assert constrained_dynamics(system, [0.0], [0.0], [0.0]).method == 'saddle'
    with pytest.raises(MethodError, match='rank 1 of 3'):
        constrained_dynamics(system, [0.0], [0.0], [0.0], method='operator')


def test_stiffness_and_weights_determine_the_distribution_of_forces():
    system = table()
    stiff = constrained_dynamics(system, [0.0], [0.0], [0.0], method='compliant', stiffness=[1e6, 2e6, 3e6])
    assert stiff.multipliers == pytest.approx([20.0, 40.0, 60.0])
    weighted = constrained_dynamics(system, [0.0], [0.0], [0.0], method='pseudo_inverse', weights=[1.0, 1 / 2, 1 / 3])
    assert weighted.multipliers == pytest.approx([20.0, 40.0, 60.0])
    with pytest.raises(ValueError, match='expected 3 stiffness above zero'):
        constrained_dynamics(system, [0.0], [0.0], [0.0], method='compliant', stiffness=[1.0, 0.0, 1.0])


def test_unique_rows_are_distinguished_from_indeterminate_ones():
    builder = TreeBuilder()
    first = builder.add_joint('a', -1, 'prismatic', Z, mass=2.0)
    builder.add_joint('b', first, 'revolute', Z, mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    tree = builder.build()
    system = ConstraintBlocks(tree, [Lock('one', 'a'), Lock('two', 'a'), Lock('three', 'b')], gravity=(0, -1.0, -10.0))
    solution = constrained_dynamics(system, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert solution.unique.tolist() == [False, False, True]
    assert solution.forces['one'] == pytest.approx([15.0])
    assert solution.force('three') == pytest.approx([0.1])
    with pytest.raises(KeyError, match=r'unknown constraint .four.; known: one, two, three'):
        solution.force('four')


def test_contradictory_rows_are_rejected_by_name():
    builder = TreeBuilder()
    builder.add_joint('hip', -1, 'revolute', Z, mass=1.0, inertia=np.eye(3))
    system = ConstraintBlocks(
        builder.build(), [Lock('still', 'hip'), Prescribed(Lock('driven', 'hip'), lambda t: t**2)]
    )
    with pytest.raises(ContradictoryConstraintsError, match='still/position'):
        constrained_dynamics(system, [0.0], [0.0], [0.0])


def test_a_motion_without_mass_is_rejected_by_name():
    builder = TreeBuilder()
    body = builder.add_joint('body', -1, 'revolute', Z, mass=1.0, com=(1, 0, 0))
    builder.add_joint('massless', body, 'revolute', Z, p=(1, 0, 0))
    system = ConstraintBlocks(builder.build(), [])
    with pytest.raises(SingularMotionError, match='massless'):
        constrained_dynamics(system, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], method='saddle')
    with pytest.raises(MethodError, match='without mass'):
        constrained_dynamics(system, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], method='operator')
    with pytest.raises(MethodError, match='regular mass matrix'):
        free_acceleration(system, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_massless_bodies_are_allowed_if_a_constraint_holds_them():
    """A massless crank geared to a heavy one: saddle point and reduced form apply."""
    builder = TreeBuilder()
    builder.add_joint('heavy', -1, 'revolute', Z, mass=1.0, inertia=2 * np.eye(3))
    builder.add_joint('light', -1, 'revolute', Z)
    system = ConstraintBlocks(builder.build(), [Coupling('gear', {'heavy': 1.0, 'light': -4.0})])
    for method in ('auto', 'saddle', 'reduced', 'compliant'):
        solution = constrained_dynamics(system, [0.0, 0.0], [0.0, 0.0], [0.0, 3.0], method=method)
        assert solution.acceleration == pytest.approx([0.375, 0.09375])
        assert solution.multipliers == pytest.approx([0.75])


def test_baumgarte_stabilizes_the_constraint():
    builder = TreeBuilder()
    builder.add_joint('slide', -1, 'prismatic', Z, mass=1.0)
    system = ConstraintBlocks(builder.build(), [Lock('held', 'slide', 0.2)])
    solution = constrained_dynamics(system, [0.5], [2.0], [0.0], baumgarte=(1.0, 10.0))
    assert solution.acceleration == pytest.approx([-2 * 10 * 2.0 - 100 * 0.3])


@pytest.mark.parametrize('name', ['q', 'tau', 'p'])
def test_a_vector_of_another_length_is_rejected(name):
    system = table()
    vectors = {'q': [0.0], 'v': [0.0], 'tau': [0.0], 'p': system.numbers(None)}
    vectors[name] = np.zeros(9)
    with pytest.raises(ValueError, match=f'expected {name} of'):
        constrained_dynamics(system, **vectors)


def test_an_unknown_method_is_reported_with_the_available_ones():
    with pytest.raises(MethodError, match='known: auto, operator, saddle'):
        constrained_dynamics(table(), [0.0], [0.0], [0.0], method='magic')
