"""The rolling disc as a machine: steady turns, motion of the study, classical equations, energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.model.machine import InitialTwist, Machine
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

MASS, RADIUS, GRAVITY = 10.0, 0.3, 9.81
AXIAL, DIAMETRAL = 0.5 * MASS * RADIUS**2, 0.25 * MASS * RADIUS**2
PERIOD = 0.002


def started(lean: float, lean_rate: float, yaw_rate: float, spin: float) -> Machine:
    """Return the disc with a lean to the right, rad, and rates, rad/s; the spin is relative to the leaning plane."""
    machine = machine_of('disc', '')
    twist = InitialTwist(None, (lean_rate, spin + yaw_rate * np.sin(lean), yaw_rate * np.cos(lean)))
    position = (0.0, -RADIUS * np.sin(lean), RADIUS * np.cos(lean))
    return replace(machine, initial=replace(machine.initial, base_position=position, base_roll=lean, base_twist=twist))


def run(machine: Machine, duration: float) -> dict[str, np.ndarray]:
    """Run a disc; return lean, yaw, their rates, spin, contact, energy and force at every period."""
    plant = Plant(machine, 'effort', PERIOD, 5e-4)
    rows = []
    for _ in range(round(duration / PERIOD) + 1):
        (x, y, _), quaternion = plant.base_pose()
        turn = Rotation.from_quat(quaternion).as_matrix()
        angular = turn @ plant.base_twist()[1]
        axle = turn[:, 1]  # to the left; upwards if the disc leans to the right
        lean, heading = np.arcsin(axle[2]), np.arctan2(-axle[0], axle[1])
        ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
        spin_and_yaw = np.linalg.lstsq(
            np.column_stack([axle, [0, 0, 1]]), angular - ahead * (ahead @ angular), rcond=None
        )[0]
        point, _, force = plant.constraints.ground_reaction('ground')
        energy = plant.output('kinetic_energy') + plant.output('potential_energy')
        rows.append(
            [lean, heading, ahead @ angular, spin_and_yaw[1], spin_and_yaw[0], *point[:2], energy, *force, x, y]
        )
        plant.advance()
    names = (
        'lean',
        'yaw',
        'lean_rate',
        'yaw_rate',
        'spin',
        'at_x',
        'at_y',
        'energy',
        'along',
        'left',
        'normal',
        'x',
        'y',
    )
    table = dict(zip(names, np.array(rows).T))
    table['yaw'] = np.unwrap(table['yaw'])
    assert plant.take_events() == []
    assert not plant.overturned
    return table


def steady_spin(lean: float, yaw_rate: float) -> float:
    """Return the spin relative to the leaning plane of a steady turn (classical disc equations)."""
    theta = np.pi / 2 + lean
    balance = DIAMETRAL * yaw_rate**2 * np.sin(theta) * np.cos(theta) - MASS * GRAVITY * RADIUS * np.cos(theta)
    omega = balance / ((AXIAL + MASS * RADIUS**2) * yaw_rate * np.sin(theta))
    return float(yaw_rate * np.cos(theta) - omega)


def test_the_machine_file_starts_a_steady_turn():
    machine = machine_of('disc', '')
    spin = steady_spin(0.2, -0.7)
    assert spin == pytest.approx(6.428860120, abs=1e-9)
    expected = [0.0, spin - 0.7 * np.sin(0.2), -0.7 * np.cos(0.2)]
    assert machine.initial.base_twist.angular == pytest.approx(expected, abs=1e-8)
    result = run(machine, 2.0)
    assert np.ptp(result['lean']) < 1e-8
    assert np.abs(result['yaw_rate'] + 0.7).max() < 1e-8
    assert np.ptp(result['energy']) < 1e-8
    assert result['normal'] == pytest.approx(MASS * GRAVITY, rel=1e-9)
    centre = np.array([result['at_x'].mean(), result['at_y'].mean()])
    circle = np.column_stack([result['at_x'], result['at_y'], np.ones(len(result['at_x']))])
    middle = np.linalg.lstsq(circle, result['at_x'] ** 2 + result['at_y'] ** 2, rcond=None)[0]
    radius = np.sqrt(middle[2] + 0.25 * (middle[0] ** 2 + middle[1] ** 2))
    assert radius == pytest.approx(2.755225766, abs=1e-7)
    assert np.linalg.norm(centre) > 0.1


def test_it_moves_like_the_disc_of_the_study():
    """Section 6.8 (b) of the specification of yesiloglu-2007; its x is our -y, its y our x."""
    result = run(started(0.2, 0.1, 0.7, 8.0), 2.0)
    rows = (
        (0.5, 0.202793758, -0.442565040, 8.006040186, -0.274490774, 0.654360676, 0.2598327, 1.2195046),
        (1.0, 0.217005690, -0.880672640, 8.042163439, -0.613139199, 0.421186022, 0.9683949, 2.2466729),
        (2.0, 0.270983112, -1.722338457, 8.263562331, -1.014617487, -0.484716097, 3.2516097, 3.1453745),
    )
    for time, *expected in rows:
        k = round(time / PERIOD)
        values = [result[name][k] for name in ('lean', 'yaw', 'spin', 'lean_rate', 'yaw_rate')]
        assert [*values, -result['at_y'][k], result['at_x'][k]] == pytest.approx(expected, abs=1e-6)
    assert [-result['left'][0], result['normal'][0]] == pytest.approx([17.82758, 90.99083], abs=5e-4)
    assert result['energy'][0] - result['energy'] == pytest.approx(np.zeros(len(result['energy'])), abs=1e-6)


def test_it_moves_by_the_classical_equations_of_a_disc():
    lean, lean_rate, yaw_rate, spin = -0.15, 0.2, 1.1, 5.0

    def rates(_, y):
        theta, theta_rate, psi_rate, omega = y
        s, c = np.sin(theta), np.cos(theta)
        second = DIAMETRAL * psi_rate**2 * s * c - (AXIAL + MASS * RADIUS**2) * omega * psi_rate * s
        second = (second - MASS * GRAVITY * RADIUS * c) / (DIAMETRAL + MASS * RADIUS**2)
        omega_rate = MASS * RADIUS**2 * theta_rate * psi_rate * s / (AXIAL + MASS * RADIUS**2)
        psi_second = (AXIAL * omega * theta_rate / DIAMETRAL - 2 * psi_rate * theta_rate * c) / s
        return [theta_rate, second, psi_second, omega_rate]

    theta = np.pi / 2 + lean
    start = [theta, lean_rate, yaw_rate, -spin + yaw_rate * np.cos(theta)]
    times = np.arange(0, 1.0 + 1e-9, 0.25)
    expected = solve_ivp(rates, (0, 1), start, t_eval=times, rtol=1e-11, atol=1e-12).y
    result = run(started(lean, lean_rate, yaw_rate, spin), 1.0)
    k = np.round(times / PERIOD).astype(int)
    assert result['lean'][k] == pytest.approx(expected[0] - np.pi / 2, abs=1e-7)
    assert result['yaw_rate'][k] == pytest.approx(expected[2], abs=1e-6)
    assert result['spin'][k] == pytest.approx(-expected[3] + expected[2] * np.cos(expected[0]), abs=1e-6)


def test_a_disc_that_turns_over_as_it_rolls_has_not_overturned():
    """Its base is the wheel: `run` has no event after more than half a turn."""
    assert run(machine_of('disc', ''), 1.0)['spin'].mean() > np.pi
