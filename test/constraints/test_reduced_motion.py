"""Constrained systems in the rates of a few velocities: rows, balance of forces, and motion of points."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.reduced_motion import ReducedMotion
from dyn_nodes.studies.tanner_1998.vehicle import S0, rm_1

NAMES = ('q2', 'left', 'right', 'q1', 'q3')
"""Velocities in another order than the tree's."""
RATES = np.array([0.3, -1.2, 2.5, 0.7, -0.4])


@pytest.fixture(scope='module')
def motion():
    return ReducedMotion.of(rm_1().blocks, NAMES, [rm_1().position(S0)])


def values(motion, *expressions):
    """Return values of expressions at S0 with RATES."""
    blocks = motion.blocks
    arguments = [blocks.q, motion.rates, blocks.parameters.vector]
    evaluate = ca.Function('values', arguments, [motion.in_rates(ca.densify(part)) for part in expressions])
    results = evaluate.call([ca.DM(part) for part in (rm_1().position(S0), RATES, blocks.numbers(None))])
    return [np.array(part) for part in results]


def test_velocities_have_the_rates_and_satisfy_the_rows(motion):
    v, N = values(motion, motion.velocity, motion.complement)
    assert v.ravel()[list(motion.indices)] == pytest.approx(RATES, abs=1e-15)
    rows = motion.blocks.at(rm_1().position(S0), v.ravel())
    assert np.abs(rows.J @ N).max() < 1e-14


def test_accelerations_of_the_rates_satisfy_the_full_system(motion):
    blocks, tau = motion.blocks, rm_1().efforts((2.0, 30.0, 8.0), (3.0, 2.0))
    parts = (motion.inertia, motion.free(ca.DM(tau) - blocks.bias), motion.complement, motion.start, motion.velocity)
    inertia, free, N, start, v = values(motion, *parts)
    a = (start + N @ np.linalg.solve(inertia, free)).ravel()
    here = blocks.at(rm_1().position(S0), v.ravel())
    assert here.J @ a == pytest.approx(here.gamma, abs=1e-12)
    reactions = here.M @ a + here.h - tau
    assert np.abs(N.T @ reactions).max() < 1e-11, 'the remainder is a force of the constraints'


def test_motion_and_drift_of_a_point_agree_with_differences(motion):
    point = motion.point(rm_1().hand)
    velocity, jacobian, drift, v = values(motion, point.velocity, point.jacobian, point.drift, motion.velocity)
    assert velocity.ravel() == pytest.approx((jacobian @ RATES).ravel(), abs=1e-14)
    blocks, h = motion.blocks, 1e-6
    along = ca.Function('along', [blocks.q, motion.rates, blocks.parameters.vector], [motion.in_rates(point.velocity)])
    q, p = rm_1().position(S0), blocks.numbers(None)
    ahead, behind = (np.array(along(q + d * v.ravel(), RATES, p)) for d in (h, -h))
    assert (ahead - behind) / (2.0 * h) == pytest.approx(drift, abs=1e-8)


def test_velocities_that_do_not_determine_all_are_rejected():
    with pytest.raises(MethodError, match='expected drives that determine the motion, found none for left'):
        ReducedMotion.of(rm_1().blocks, NAMES[:1] + NAMES[2:], [rm_1().position(S0)])
