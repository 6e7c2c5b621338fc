"""Planar spatial algebra against the spatial engine; the printed signs of the planar inertia (F35) and their effect."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.studies.yesiloglu_2007 import models, planar
from dyn_nodes.studies.yesiloglu_2007.planar import PlanarArm, PlanarLink, link_inertia, planar_dynamics, shift

ORDER = [2, 0, 1, *range(3, 9)]
LINKS = tuple(
    PlanarLink(length, mass, 0.5 * length, mass * length**2 / 3)
    for length, mass in zip(models.PLANAR_LENGTHS, models.PLANAR_MASSES)
)
ARMS = (PlanarArm((-0.5, 0.3), LINKS), PlanarArm((0.5, 0.3), LINKS))
PLATFORM = (50.0, 10.0)
GRASPS = (-0.2, 0.2)


def test_shifts_compose_and_are_dual():
    a, b = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    assert shift(a) @ shift(b) == pytest.approx(shift(a + b))
    force, velocity = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -0.9])
    assert (shift(a).T @ force) @ velocity == pytest.approx(force @ (shift(a) @ velocity))


def test_link_inertia_is_kinetic_energy():
    com, mass, central, velocity = np.array([0.4, -0.2]), 3.0, 0.5, np.array([0.7, 0.3, -0.5])
    M = link_inertia(mass, central + mass * com @ com, com)
    at_com = velocity[1:] + velocity[0] * np.array([-com[1], com[0]])
    assert velocity @ M @ velocity == pytest.approx(central * velocity[0] ** 2 + mass * at_com @ at_com)


def test_the_planar_operators_are_the_spatial_engine():
    """Random state of the planar arms: mass matrix, velocity terms, Jacobian, dJ/dt v, momentum."""
    model = models.planar_arms()
    system = model.blocks()
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-2, 2, model.tree.nq), rng.normal(size=model.tree.nv)
    dynamics = planar_dynamics(PLATFORM, ARMS, q[ORDER], v[ORDER])
    blocks = system.at(q, v)
    assert pytest.approx(blocks.M[np.ix_(ORDER, ORDER)], abs=1e-13) == dynamics.M
    springs = np.zeros(model.tree.nv)
    for spring in model.forces:
        at = model.tree.velocity_index(spring.joint)
        springs[at] = spring.stiffness * (q[at] - spring.rest) + spring.damping * v[at]
    assert pytest.approx((blocks.h - springs)[ORDER], abs=1e-12) == dynamics.C
    assert pytest.approx(-blocks.J[:, ORDER], abs=1e-13) == dynamics.J
    # the rows are load less tip: the load adds its centripetal acceleration to gamma
    turn = np.array([np.cos(q[11]), np.sin(q[11])])
    centripetal = np.concatenate([np.append(0.0, -(v[11] ** 2) * grasp * turn) for grasp in GRASPS])
    assert dynamics.J_rate == pytest.approx(blocks.gamma + centripetal, abs=1e-12)


@pytest.fixture
def printed(monkeypatch):
    """Return the planar inertia matrix with the signs of p. 58, used in the dynamics only."""

    def reversed_signs(mass, inertia, com):
        return link_inertia(mass, inertia, -np.asarray(com))

    monkeypatch.setattr(planar, 'link_inertia', reversed_signs)


def accelerations(t, x):
    """Source form (4.29) of the planar arms with load and springs; x = [q, v] of base and joints, then of the load."""
    q, v, load, rate = x[:9], x[9:18], x[18:21], x[21:24]
    terms = planar.planar_dynamics(PLATFORM, ARMS, q, v)
    tau = np.zeros(9)
    ramp = t / 5 if t < 5 else 0.0
    tau[4], tau[8] = -0.5 * ramp, 0.3 * ramp
    for at, rest in ((3, START[3]), (7, START[7])):
        tau[at] -= 10 * (q[at] - rest) + v[at]
    turn = np.array([np.cos(load[0]), np.sin(load[0])])
    A = np.vstack([shift(grasp * turn) for grasp in GRASPS])
    a_c = np.concatenate([np.append(0.0, -(rate[0] ** 2) * grasp * turn) for grasp in GRASPS])
    weight = np.diag([0.5, 10.0, 10.0])
    free = np.linalg.solve(terms.M, tau - terms.C)
    spread = np.linalg.solve(terms.M, terms.J.T)
    Omega = terms.J @ spread + A @ np.linalg.solve(weight, A.T)
    F = np.linalg.solve(Omega, terms.J @ free + terms.J_rate - a_c)
    return np.concatenate([v, free - spread @ F, rate, np.linalg.solve(weight, A.T @ F)])


START = models.planar_arms().q[ORDER]


def run(times, step=0.02):
    x = np.concatenate([START, np.zeros(9), [0.0, 0.0, models.planar_arms().q[10]], np.zeros(3)])
    kept, now = [], 0.0
    for time in times:
        while now < time - 1e-9:
            last = now + step > 5 - 1e-9 > now  # the ramp's end from the left
            k1 = accelerations(now, x)
            k2 = accelerations(now + step / 2, x + step / 2 * k1)
            k3 = accelerations(now + step / 2, x + step / 2 * k2)
            k4 = accelerations(now + step - (1e-12 if last else 0.0), x + step * k3)
            x = x + step / 6 * (k1 + 2 * (k2 + k3) + k4)
            now += step
        kept.append(x)
    return kept


def linear_momentum(x):
    """Return the greatest component of the total momentum by the inertia matrices in use, kg m/s."""
    terms = planar.planar_dynamics(PLATFORM, ARMS, x[:9], x[9:18])
    return np.abs((terms.M @ x[9:18])[1:3] + 10.0 * x[22:24]).max()


def test_the_source_form_with_right_signs_runs_as_tabled():
    (state,) = run([5.0])
    assert state[:9] == pytest.approx(
        [0.17735903, -0.02439578, 0.05637025, 1.90841303, -1.53490453, 0.16448091, 0.97256045, 0.70305907, 2.00396254],
        abs=1e-6,
    )
    assert linear_momentum(state) < 1e-7


@pytest.mark.pins('yesiloglu-2007/6.5/printed_signs')
def test_the_printed_signs_make_momentum_from_nothing(printed):
    M = planar.planar_dynamics(PLATFORM, ARMS, START, np.zeros(9)).M
    assert np.diag(M)[:6] == pytest.approx([36.18, 70, 70, 7.498, 2.261, 0.03], abs=6e-3)
    grown = [linear_momentum(x) for x in run([5.0, 10.0, 20.0])]
    assert grown == pytest.approx([0.30, 1.16, 2.47], abs=6e-3)
