"""Hydraulics coupled to sampled joint motion."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import Machine, load_machine
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem, DivergedError
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange

POSTURE = np.array([0.96, -1.83, 0.0])  # boom, stick, swing
EFFORTS = np.array([2.0e5, -3.0e4, 0.0])
VOLTS = np.array([-5.0, 4.0, 2.0])


@pytest.fixture(scope='module')
def machine() -> Machine:
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def motion(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a joint motion in closed form."""
    rate = 2.0 * np.pi * 0.5
    amplitude = np.array([0.05, -0.08, 0.1])
    return (
        POSTURE + amplitude * (1.0 - np.cos(rate * time)),
        amplitude * rate * np.sin(rate * time),
    )


def run(machine: Machine, period: float, follow: bool, duration: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Return the final oil and the sum of all efforts times the period (the impulse on the joints)."""
    exchange = ActuatorExchange(ActuatorSystem(machine, 2.5e-4), period)
    exchange.start(POSTURE, EFFORTS)
    impulse = np.zeros(3)
    steps = round(duration / period)
    for k in range(steps + 1):
        positions, velocities = motion(k * period)
        if follow:
            efforts = exchange.follow(period if k else 0.0, positions, velocities, VOLTS)
        else:
            efforts = exchange.predict(positions, velocities, VOLTS)
        impulse += efforts * period * (k < steps)
    return exchange.system.oil.copy(), impulse


def test_trapped_oil_has_the_efforts_of_its_start(machine: Machine) -> None:
    exchange = ActuatorExchange(ActuatorSystem(machine), 1e-3)
    exchange.start(POSTURE, EFFORTS)
    assert exchange.predict(POSTURE, np.zeros(3), np.zeros(3)) == pytest.approx(EFFORTS, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize('follow', [False, True])
def test_a_finer_exchange_is_closer_to_the_continuous_motion(machine: Machine, follow: bool) -> None:
    exact_oil, exact_impulse = run(machine, 2.5e-4, follow)
    errors = []
    for period in (4e-3, 2e-3, 1e-3):
        oil, impulse = run(machine, period, follow)
        errors.append((np.abs(oil - exact_oil).max(), np.abs(impulse - exact_impulse).max()))
    assert errors[0][0] > 1.7 * errors[1][0] > 1.7 * 1.7 * errors[2][0]
    assert errors[0][1] > 1.7 * errors[1][1] > 1.7 * 1.7 * errors[2][1]
    assert errors[2][1] < 1e-3 * np.abs(exact_impulse).max()


def test_following_ends_at_the_same_oil_as_predicting(machine: Machine) -> None:
    predicted, _ = run(machine, 1e-3, follow=False)
    followed, _ = run(machine, 1e-3, follow=True)
    pressures = [1, 2, 4, 5, 7, 8]
    assert followed[pressures] == pytest.approx(predicted[pressures], rel=2e-3)
    assert followed[[0, 3, 6]] == pytest.approx(predicted[[0, 3, 6]], rel=1e-9)


def test_the_prediction_does_not_change_the_oil(machine: Machine) -> None:
    exchange = ActuatorExchange(ActuatorSystem(machine), 1e-3)
    exchange.start(POSTURE, EFFORTS)
    before = exchange.system.oil.copy()
    exchange.follow(0.0, POSTURE, np.full(3, 0.1), VOLTS)
    assert np.array_equal(exchange.system.oil, before)


@pytest.mark.parametrize('follow', [False, True])
def test_a_divergence_does_not_change_the_oil(machine: Machine, follow: bool) -> None:
    exchange = ActuatorExchange(ActuatorSystem(machine), 1e-3)
    exchange.start(POSTURE, EFFORTS)
    exchange.follow(0.0, POSTURE, np.zeros(3), VOLTS)
    before = exchange.system.oil.copy()
    step = exchange.follow if follow else lambda _, *rest: exchange.predict(*rest)
    with pytest.raises(DivergedError, match='diverged'):
        step(1e-3, POSTURE, np.full(3, 1e12), VOLTS)
    assert np.array_equal(exchange.system.oil, before)


@pytest.mark.parametrize('inertia_factor', [0.6, 1.0, 1.5, None])
def test_a_light_link_whose_frequency_is_near_that_of_the_samples_comes_to_rest(
    machine: Machine, inertia_factor: float | None
) -> None:
    """A boom of a fortieth of its inertia on its oil, pushed, every 10 ms; `inertia_factor`: used over actual inertia.

    Without a mobility (None) the exchange diverges.
    """
    period, mobility = 1e-2, 2e-3
    exchange = ActuatorExchange(ActuatorSystem(machine, 2.5e-4), period)
    exchange.start(POSTURE, EFFORTS)
    W = None if inertia_factor is None else np.diag([mobility / inertia_factor, 0.0, 0.0])
    q, v = POSTURE.copy(), np.array([1e-3, 0.0, 0.0])

    def move(steps: int) -> float:
        fastest = 0.0
        for _ in range(steps):
            a = mobility * (exchange.predict(q, v, np.zeros(3), W)[0] - EFFORTS[0])
            q[0] += v[0] * period + 0.5 * a * period**2
            v[0] += a * period
            fastest = max(fastest, abs(v[0]))
        return fastest

    if inertia_factor is None:
        with pytest.raises(DivergedError):
            move(300)
    else:
        move(250)
        assert move(50) < 1e-5
