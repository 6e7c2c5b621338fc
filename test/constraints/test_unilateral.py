"""Contacts that push and never pull: cones and distribution of multipliers, closed contacts, plastic impacts."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from dyn_nodes.constraints.unilateral import ContactProblem, NoContactStateError

HALF_LENGTH, HALF_WIDTH, HEIGHT, MASS = 0.5, 0.4, 0.6, 100.0
MASSES = np.diag([3.0, 4.0, 5.0, 10.0, 10.0, 10.0])
CORNERS = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)]) * (HALF_LENGTH, HALF_WIDTH)


def problem(feet, load, height=0.7, M=MASSES):
    """Return a rigid body, moments and velocities about its mass centre, on feet at one height below it."""
    rows = []
    for x, y in feet:
        spin = np.array([[0.0, height, y], [-height, 0.0, -x], [-y, x, 0.0]])  # of the arm (x, y, -height)
        rows.append(np.hstack([-spin, np.eye(3)]))
    J = np.vstack(rows)
    row_indices = [np.arange(3 * k, 3 * k + 3) for k in range(len(feet))]
    return ContactProblem(M, np.asarray(load, float), J, np.zeros(len(J)), row_indices)


def random_problem(seed):
    generator = np.random.default_rng(seed)
    feet = generator.uniform(-1.0, 1.0, (generator.integers(1, 6), 2))
    return problem(feet, generator.normal(size=6) * (3, 3, 3, 5, 5, 30)), generator


@reaches(pushes=3, pulls=3)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_facets_are_positive_exactly_if_a_distribution_without_a_pull_exists(seed):
    body, _ = random_problem(seed)
    every = range(len(body.row_indices))
    state = body.closed(every)
    _, multipliers = body.accelerations(state)
    effort = body.J[state.rows].T @ multipliers
    along = [row for row in range(len(body.J)) if row % 3 < 2]
    _, missed = nnls(np.hstack([body.J.T, -body.J[along].T]), effort)
    least = (state.facets @ multipliers).min()
    reached('pushes', least > 1e-6)
    reached('pulls', least < -1e-6)
    if abs(least) > 1e-6:
        assert (least > 0.0) == (missed < 1e-7 * np.linalg.norm(effort))
    if least > 1e-6:
        shared = body.shared(state, multipliers)
        assert shared[2::3].min() > -1e-7
        np.testing.assert_allclose(body.J.T @ shared, effort, atol=1e-8)


def test_facets_of_four_feet_are_the_edges_of_their_polygon():
    state = problem(CORNERS, np.zeros(6)).closed(range(4))
    assert len(state.rows) == 6
    assert {frozenset(feet) for feet in state.leaving} == {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 3), (2, 3))}


def test_four_feet_share_a_load_with_least_norm_and_never_pull():
    """The load above one corner: the plain least norm would pull at the opposite one."""
    weight = MASS * 9.81
    for x, y, expected in ((0.0, 0.0, [0.25] * 4), (0.4, 0.3, None), (0.5, 0.4, [1.0, 0.0, 0.0, 0.0])):
        body = problem(CORNERS, (-y * weight, x * weight, 0.0, 0.0, 0.0, -weight))
        state = body.closed(range(4))
        _, multipliers = body.accelerations(state)
        loads = body.shared(state, multipliers)[2::3] / weight
        assert loads.min() >= -1e-12
        assert loads.sum() == pytest.approx(1.0, rel=1e-12)
        assert loads @ CORNERS == pytest.approx([x, y], abs=1e-12)
        if expected:
            assert loads == pytest.approx(expected, abs=1e-12)
        free = np.linalg.lstsq(body.J.T, body.J[state.rows].T @ multipliers, rcond=None)[0][2::3] / weight
        assert (free.min() < -0.1) == (x > 0.0)


@pytest.mark.parametrize(('x', 'y', 'kept'), [(0.0, 0.0, 4), (0.6, 0.0, 2), (0.6, 0.5, 1)])
def test_a_load_beyond_an_edge_or_a_corner_is_carried_by_two_feet_or_one(x, y, kept):
    weight = MASS * 9.81
    body = problem(CORNERS, (-y * weight, x * weight, 0.0, 0.0, 0.0, -weight))
    carrying = body.carrying(range(4))
    assert len(carrying) == kept
    assert body.is_consistent(carrying, range(4))


def test_a_body_pulled_up_leaves_the_ground():
    assert problem(CORNERS, (0.0, 0.0, 0.0, 0.0, 0.0, 50.0)).carrying(range(4)) == ()


def test_a_jammed_sticking_contact_is_an_error():
    """Pushed over its foot, the body would accelerate faster than in free fall: the foot can neither stick nor lift."""
    body = problem([(-0.5, 0.0)], (0.0, 0.0, 0.0, 500.0, 0.0, -98.1))
    _, multipliers = body.accelerations(body.closed([0]))
    assert multipliers[-1] < 0.0
    with pytest.raises(NoContactStateError, match='no set of contacts pushes without a pull while the others separate'):
        body.carrying([0])


@reaches(impacts=6, kept=4, bounced=2)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_an_impact_adds_no_energy_and_no_contact_enters_the_ground(seed):
    body, generator = random_problem(seed)
    v = generator.normal(size=6)
    normal_speeds = body.J[2::3] @ v
    struck = [k for k, speed in enumerate(normal_speeds) if speed < 0.0]
    if not struck:
        return
    impact = body.impact((), struck, v, 1e-3)
    reached('impacts')
    reached('kept', bool(impact.kept))
    reached('bounced', len(impact.kept) < len(struck))
    assert impact.hit.energy_after <= impact.hit.energy_before * (1 + 1e-12)
    assert (body.J[[3 * k + 2 for k in struck]] @ impact.hit.velocity).min() > -1e-7
    kept = [row for k in impact.kept for row in body.row_indices[k]]
    np.testing.assert_allclose(body.J[kept] @ impact.hit.velocity, 0.0, atol=1e-7)
    if not impact.kept:
        return
    again = body.impact(impact.kept, impact.kept, impact.hit.velocity, 1e-3)
    np.testing.assert_allclose(again.hit.velocity, impact.hit.velocity, atol=1e-8)


def test_a_slender_body_leaves_the_old_edge_and_a_flat_one_keeps_both():
    """Impact on the second edge: the first one separates if the mass centre is high, else both stop."""
    for half, height, kept in ((0.3, 1.0, {2, 3}), (1.0, 0.2, {0, 1, 2, 3})):
        inertia = MASS / 3 * np.array([0.16 + height**2, half**2 + height**2, half**2 + 0.16])
        M = np.diag([*inertia, MASS, MASS, MASS])
        body = problem(CORNERS / HALF_LENGTH * (half, HALF_WIDTH), np.zeros(6), height, M)
        # turns about the front edge (feet 0, 1), the rear one comes down
        v = np.array([0.0, -1.0, 0.0, -height, 0.0, -half])
        impact = body.impact((0, 1), (2, 3), v, 1e-3)
        assert set(impact.kept) == kept
        if len(kept) == 2:  # Housner's ratio
            assert -impact.hit.velocity[1] == pytest.approx(1.0 - 1.5 * half**2 / (half**2 + height**2), rel=1e-12)
