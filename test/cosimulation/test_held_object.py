"""Objects between separately simulated hands: split against monolithic model, momentum, stiff objects, slip."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.simulation.cosimulation.held_object import HeldHand, HeldObject, strains
from dyn_nodes.teams.deformable.lattice import Lattice, chain

GRAVITY = np.array([0.0, 0.0, -9.81])
MASSES = (7.0, 11.0)
PULL, RETURN = 300.0, 60.0
"""Stiffness and damping between a hand and its target, N/m and N s/m."""


def bar(stiffness: float, damping: float = 5.0) -> Lattice:
    return chain(0.6, 1, 1.2, stiffness, damping)


class Robots:
    """Point masses with springs and dampers to moving targets: hands with time-dependent free acceleration."""

    def __init__(self, load: Lattice) -> None:
        self.home = load.nodes.copy()
        self.position, self.velocity = load.nodes.copy(), np.zeros_like(load.nodes)
        self.velocity[:, 1] = (0.4, -0.3)
        self.impulse = np.zeros(3)

    def pull(self, k: int, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return PULL * (self.home[k] - position) - RETURN * velocity

    def hands(self) -> list[HeldHand]:
        return [
            HeldHand(p, v, np.eye(3) / mass, self.pull(k, p, v) / mass)
            for k, (p, v, mass) in enumerate(zip(self.position, self.velocity, MASSES))
        ]

    def advance(self, forces: np.ndarray, period: float) -> None:
        """Integrate the masses exactly with forces of the object that are constant for a period."""
        for k, mass in enumerate(MASSES):

            def rates(_: float, x: np.ndarray, k: int = k, mass: float = mass) -> np.ndarray:
                pull = self.pull(k, x[:3], x[3:6])
                return np.concatenate([x[3:6], (pull + forces[k]) / mass, pull])

            start = np.concatenate([self.position[k], self.velocity[k], np.zeros(3)])
            end = solve_ivp(rates, (0.0, period), start, rtol=1e-11, atol=1e-12).y[:, -1]
            self.position[k], self.velocity[k] = end[:3], end[3:6]
            self.impulse += end[6:]


def split(load: Lattice, period: float, end: float) -> tuple[Robots, HeldObject]:
    robots, item = Robots(load), HeldObject(load, GRAVITY)
    item.start(robots.hands())
    for _ in range(round(end / period)):
        robots.advance(item.advance(robots.hands(), period)[:, :3], period)
    return robots, item


def whole(load: Lattice, end: float) -> np.ndarray:
    """Return the positions of the masses with the object, integrated as one system."""
    robots = Robots(load)
    matrix = load.mass.toarray() + np.diag(MASSES)

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        p, v = x.reshape(2, 2, 3)
        pulls = np.array([robots.pull(k, p[k], v[k]) for k in range(2)])
        force = pulls + np.outer(load.lumped_mass, GRAVITY) - load.forces(p, v)
        return np.concatenate([v.ravel(), np.linalg.solve(matrix, force).ravel()])

    start = np.concatenate([robots.position.ravel(), robots.velocity.ravel()])
    solution = solve_ivp(rates, (0.0, end), start, 'DOP853', rtol=1e-11, atol=1e-12)
    return solution.y[:6, -1].reshape(2, 3)


def test_the_error_of_the_split_falls_with_the_period():
    load = bar(3000.0)
    expected = whole(load, 0.2)
    errors = [np.abs(split(load, period, 0.2)[0].position - expected).max() for period in (0.01, 0.005, 0.0025)]
    assert errors[2] < 2e-4 * np.abs(expected - load.nodes).max() / 0.01
    assert errors[0] > 1.6 * errors[1] > 1.6 * 1.6 * errors[2]


def test_total_momentum_of_hands_and_object_is_conserved():
    """The momentum of masses and object equals the impulse of springs and weight, to round-off."""
    load = bar(3000.0)
    robots, item = split(load, 0.005, 0.1)
    masses = np.array(MASSES)
    began = (masses[:, None] * Robots(load).velocity).sum(axis=0) + load.lumped_mass @ Robots(load).velocity
    weight = load.lumped_mass.sum() * GRAVITY * 0.1
    object_momentum = (load.mass @ item.velocity).sum(axis=0)
    final = (masses[:, None] * robots.velocity).sum(axis=0) + object_momentum
    np.testing.assert_allclose(final, began + robots.impulse + weight, atol=1e-9)


@pytest.mark.parametrize('stiffness', [1e7, 1e11])
def test_a_stiff_object_stays_between_its_hands(stiffness):
    load = bar(stiffness, damping=0.0)
    robots, item = split(load, 0.005, 0.2)
    assert np.abs(robots.velocity).max() < 1.0
    assert abs(strains(load, robots.position)[0]) < 1e-3
    assert np.isfinite(item.velocity).all()


def test_a_fixed_hand_carries_the_weight_of_its_end():
    load = bar(3000.0)
    hands = [HeldHand(node, np.zeros(3), np.zeros((3, 3)), np.zeros(3)) for node in load.nodes]
    item = HeldObject(load, GRAVITY)
    item.start(hands)
    for _ in range(3):
        forces = item.advance(hands, 0.005)
    np.testing.assert_allclose(forces[:, :3], 0.6 * np.tile(GRAVITY, (2, 1)), atol=1e-9)


def test_a_hand_beyond_its_holding_force_slips_off_and_the_end_falls():
    load = bar(3000.0)
    hands = [HeldHand(node, np.zeros(3), np.zeros((3, 3)), np.zeros(3)) for node in load.nodes]
    item = HeldObject(load, GRAVITY, np.array([np.inf, 5.0]))
    item.start(hands)
    forces = item.advance(hands, 0.005)
    assert item.released == {1}
    np.testing.assert_array_equal(forces[1], np.zeros(6))
    for _ in range(20):
        item.advance(hands, 0.005)
    assert item.position[1, 2] < -0.03
    np.testing.assert_allclose(item.position[0], load.nodes[0])
