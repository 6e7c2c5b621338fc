"""Classification as holonomic or nonholonomic, and the loops of a graph (saha-1991, spec 2.1, 2.9, 6.1)."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.constraints import ConstraintBlocks, Lock, Prescribed
from dyn_nodes.studies.saha_1991.classification import classify, classify_system, fundamental_loops
from dyn_nodes.studies.saha_1991.machines import SPATIAL, vehicle
from dyn_nodes.studies.saha_1991.wheeled_vehicles import omni_vehicle
from dyn_nodes.studies.yesiloglu_2007 import models


def disk(theta, r=0.5):
    """Return the rows of a rolling disk: tilt, heading, spin, x, y (eq. 1.4)."""
    s, c, sp, cp = ca.sin(theta[0]), ca.cos(theta[0]), ca.sin(theta[1]), ca.cos(theta[1])
    return ca.vertcat(
        ca.horzcat(r * c * sp, r * s * cp, r * cp, 1, 0), ca.horzcat(-r * c * cp, r * s * sp, r * sp, 0, 1)
    )


def two_wheels(theta, r=0.05, length=0.4):
    """Return the rows of an axle with two wheels: heading, x, y, both wheel angles."""
    s, c = ca.sin(theta[0]), ca.cos(theta[0])
    return ca.vertcat(
        ca.horzcat(1, 0, 0, -r / length, r / length),
        ca.horzcat(0, 1, 0, -0.5 * r * s, -0.5 * r * s),
        ca.horzcat(0, 0, 1, 0.5 * r * c, 0.5 * r * c),
    )


def omni(theta):
    """Return the rows of three omnidirectional wheels of table 4.1: heading, x, y, wheel angles."""
    s, c = ca.sin(theta[0]), ca.cos(theta[0])
    rows = []
    for k, (a, b) in enumerate(((10.0, 0.0), (-5.0, 5 * 3**0.5), (-5.0, -5 * 3**0.5))):
        unit = [0.0, 0.0, 0.0]
        unit[k] = -1.0
        rows.append(ca.horzcat(-3.0, a * c - b * s, a * s + b * c, *unit))
    return ca.vertcat(*rows)


@pytest.mark.pins('saha-1991/6.1/structure')
@pytest.mark.parametrize(
    ('rows', 'count', 'independent', 'growth', 'holonomic', 'nonholonomic'),
    [
        (disk, 5, (0, 1, 2), (3, 4, 5), 0, 2),
        (two_wheels, 5, (3, 4), (2, 3, 4), 1, 2),
        (omni, 6, (0, 1, 2), (3, 5), 1, 2),
    ],
)
def test_vehicles_are_classified_by_their_reachable_motions(rows, count, independent, growth, holonomic, nonholonomic):
    point = np.linspace(0.2, 0.9, count)
    result = classify(rows, count, point, independent)
    assert result.growth == growth
    assert (result.holonomic, result.nonholonomic) == (holonomic, nonholonomic)
    assert result.degrees_of_freedom == len(independent)
    assert result.configurations == growth[-1]


@pytest.mark.pins('saha-1991/6.1/structure')
@pytest.mark.parametrize(
    ('name', 'growth', 'holonomic'),
    [('disk', (3, 4, 5), 1), ('driven axle', (2, 3, 4), 4), ('omni 3', (3, 5), 4), ('mecanum 4', (3, 5), 5)],
)
def test_vehicles_in_space_have_the_same_growth_and_further_holonomic_rows(name, growth, holonomic):
    """Additional rows: height, pitch and roll, or the disk's height; a fourth wheel follows from three."""
    machine = SPATIAL[name]()
    result = classify_system(machine.blocks, machine.random_position(np.random.default_rng(2)))
    assert result.growth == growth
    assert result.degrees_of_freedom == len(machine.independent)
    assert (result.holonomic, result.nonholonomic) == (holonomic, 2)


def test_the_caster_vehicle_reaches_all_wheel_angles_but_one():
    machine = SPATIAL['caster vehicle']()
    result = classify_system(machine.blocks, machine.random_position(np.random.default_rng(3)))
    # yaw follows from the two drives; position, fork and caster wheel do not
    assert result.growth[0] == 2
    assert (result.holonomic, result.nonholonomic) == (4, 4)
    assert result.configurations == 6


def test_a_mechanism_of_hinges_is_holonomic():
    model = models.four_bar()
    result = classify_system(model.blocks(), model.q)
    assert result.nonholonomic == 0
    assert result.configurations == result.degrees_of_freedom == 1


def test_systems_that_cannot_be_classified_are_rejected():
    free = omni_vehicle(vehicle(3), base='free')
    with pytest.raises(ValueError, match='platform: expected a chain of joints'):
        classify_system(free.blocks, free.rest)
    machine = SPATIAL['disk']()
    moving = Prescribed(Lock('servo', 'tilt'), lambda t: 0.1 * t)
    system = ConstraintBlocks(machine.blocks.tree, [*machine.blocks.constraints, moving])
    with pytest.raises(ValueError, match='expected constraints at rest'):
        classify_system(system, machine.rest)


def test_rows_that_are_integrable_only_together_are_holonomic():
    # x dy = 0 scaled by a function: dz - y dx = 0 with dx = 0
    result = classify(
        lambda q: ca.vertcat(ca.horzcat(-q[1], 0, 1), ca.horzcat(1, 0, 0)), 3, [0.3, 0.4, 0.5], independent=(1,)
    )
    assert (result.holonomic, result.nonholonomic) == (2, 0)


def test_rates_that_do_not_determine_the_others_are_rejected():
    with pytest.raises(ValueError, match='do not determine the others'):
        classify(two_wheels, 5, np.linspace(0.2, 0.9, 5), (1, 2))


@pytest.mark.pins('saha-1991/6.1/structure')
def test_the_caster_vehicle_has_two_independent_loops():
    edges = [('B', 'R1'), ('B', 'R2'), ('B', 'F'), ('R1', 'P'), ('R2', 'P'), ('P', 'L'), ('L', 'F')]
    loops = fundamental_loops(edges)
    assert len(loops) == len(edges) - 6 + 1 == 2
    joined = {frozenset(edge) for edge in edges}
    for loop in loops:
        assert len(set(loop)) == len(loop)
        assert all(frozenset(pair) in joined for pair in zip(loop, [*loop[1:], loop[0]]))


def test_a_graph_in_two_parts_is_rejected():
    with pytest.raises(ValueError, match='found c, d apart from a'):
        fundamental_loops([('a', 'b'), ('c', 'd')])
