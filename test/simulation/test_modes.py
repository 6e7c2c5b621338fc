"""Heave of the machine on its wheels: about 3 Hz and damping ratio 0.4 (abo-shanab-2003, section 7.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from log_loader_tasks import STILL, locked

from dyn_nodes.simulation import Settings, System, initial_state

MASS, STIFFNESS, DAMPING = 17_481.0, 4 * 1.75e6, 4 * 7.5e4
FREQUENCY, RATIO = 3.185, 0.4288  # of the specification, for the machine without payload


class Heave:
    """Plant without payload, at rest, and its modes."""

    def __init__(self, machine, values=None):
        self.system = System(machine, 'effort')
        self.parameters = self.system.parameters({'payload_mass': 0.0, **(values or {})})
        self.rest = initial_state(self.system, self.parameters)
        self.inputs = np.zeros(len(self.system.input_names))

    def modes(self):
        """Return (Hz, damping ratio, share of the base's vertical motion) of every oscillating mode."""
        by_state, _ = self.system.jacobians(self.rest, self.inputs, self.parameters)
        values, vectors = np.linalg.eig(by_state)
        z = self.system.index('state', 'base_z')
        return [
            (abs(value) / (2 * np.pi), -value.real / abs(value), abs(v[z]) / np.abs(v[: self.system.nq]).max())
            for value, v in zip(values, vectors.T)
            if value.imag > 1.0
        ]

    def heave_mode(self):
        return max(self.modes(), key=lambda mode: mode[2])

    def dropped(self, height, end=1.0):
        """Return the height of the centre of mass above rest after a drop from `height`, every half millisecond."""
        start = self.rest.copy()
        start[self.system.index('state', 'base_z')] += height
        times = np.linspace(0.0, end, round(end / 5e-4) + 1)
        result = self.system.run(start, times, STILL, self.parameters, Settings(step=2.5e-4))
        y = self.system.outputs(self.rest, self.inputs, self.parameters)
        return times, result.output('center_of_mass_z') - y[self.system.index('output', 'center_of_mass_z')]


@pytest.fixture(scope='module')
def rigid_machine(machine):
    return locked(machine, 'log_loader_locked')


@pytest.fixture(scope='module')
def heave(rigid_machine):
    """Return the machine with locked joints and wheels shifted so that the centre of mass is above their middle."""
    first = Heave(rigid_machine)
    y = first.system.outputs(first.rest, first.inputs, first.parameters)
    shift = np.array([y[first.system.index('output', f'center_of_mass_{axis}')] for axis in 'xy'] + [0.0])
    wheels = tuple(replace(wheel, position=wheel.position + shift) for wheel in rigid_machine.wheels)
    return Heave(replace(rigid_machine, name='log_loader_centred', wheels=wheels))


@pytest.mark.pins('abo-shanab-2003/2.24/heave')
def test_mass_on_four_springs_has_the_sources_frequency_and_damping():
    natural = np.sqrt(STIFFNESS / MASS)
    assert natural / (2 * np.pi) == pytest.approx(FREQUENCY, abs=5e-4)
    assert DAMPING / (2 * MASS * natural) == pytest.approx(RATIO, abs=5e-5)


def test_linearized_machine_heaves_with_them(heave):
    frequency, ratio, share = heave.heave_mode()
    assert share > 0.99
    assert frequency == pytest.approx(FREQUENCY, abs=5e-4)
    assert ratio == pytest.approx(RATIO, abs=5e-5)


def test_dropped_machine_swings_with_them(heave):
    """Frequency and damping from the extremes of a decay: first overshoot and time between extremes."""
    times, height = heave.dropped(0.002)
    turns = np.flatnonzero(np.diff(np.sign(np.diff(height)))) + 1
    first, second = turns[0], turns[1]
    half_period = times[second] - times[first]
    decrement = np.log(abs(height[first] / height[second]))
    ratio = decrement / np.hypot(np.pi, decrement)
    frequency = 0.5 / half_period / np.sqrt(1 - ratio**2)
    assert frequency == pytest.approx(FREQUENCY, rel=5e-3)
    assert ratio == pytest.approx(RATIO, rel=5e-3)


def test_drop_from_the_air_bounces_and_comes_to_rest(heave):
    times, height = heave.dropped(0.10, end=4.0)
    static = MASS * 9.81 / STIFFNESS
    assert height[0] == pytest.approx(0.10)
    assert height.min() > -3 * static
    assert abs(height[-1]) < 1e-4
    # until the wheels touch it falls freely
    falling = times < np.sqrt(2 * (0.10 - static) / 9.81) - 0.01
    np.testing.assert_allclose(height[falling], 0.10 - 9.81 / 2 * times[falling] ** 2, atol=1e-6)


@pytest.mark.parametrize(
    'posture', [{}, {'boom_joint': 0.96, 'stick_joint': -1.8326}, {'boom_joint': 0.785, 'stick_joint': -0.785}]
)
def test_real_machine_heaves_near_3_hz_and_04_in_any_posture(machine, posture):
    """Its centre of mass is not above the middle of the wheels, so that heave is coupled to pitch."""
    frequency, ratio, share = Heave(locked(machine, 'log_loader_locked', posture)).heave_mode()
    assert share > 0.98
    assert frequency == pytest.approx(FREQUENCY, rel=0.01)
    assert ratio == pytest.approx(RATIO, rel=0.01)


@pytest.mark.parametrize(('scale', 'ratio'), [(7.0 / 7.5, 0.4002), (1.0, 0.4288)])
def test_the_damping_scale_gives_the_damping_ratio_of_the_second_figure(rigid_machine, scale, ratio):
    mode = Heave(rigid_machine, {'wheel_damping_scale': scale}).heave_mode()
    assert mode[1] == pytest.approx(ratio, rel=0.01)


def test_stiffness_scale_moves_the_frequency_by_its_root(heave, rigid_machine):
    stiff = Heave(heave.system.machine, {'wheel_stiffness_scale': 4.0})
    assert stiff.heave_mode()[0] == pytest.approx(2 * heave.heave_mode()[0], rel=1e-3)
    assert stiff.heave_mode()[1] == pytest.approx(heave.heave_mode()[1] / 2, rel=1e-3)


def test_every_mode_of_the_machine_at_rest_is_damped(heave):
    by_state, _ = heave.system.jacobians(heave.rest, heave.inputs, heave.parameters)
    assert np.linalg.eigvals(by_state).real.max() < 1e-6


@pytest.mark.pins('abo-shanab-2003/6.10/locked_boom')
def test_locked_oil_is_the_spring_of_the_specification(system):
    """Section 6.10: with neutral spools the oil stiffness of the boom (0, -45 degrees) is 2.154e7 N m/rad."""
    p, u = system.parameters({'payload_mass': 5000.0}), np.zeros(3)
    x = initial_state(system, p, {'boom_joint': 0.0, 'stick_joint': -np.pi / 4})
    chambers = [system.index('state', f'boom/{name}_pressure') for name in ('head', 'rod')]
    turning = x.copy()
    turning[system.index('state', 'boom_joint_rate')] = 1.0
    compression = system.rhs(turning, u, p)[chambers] - system.rhs(x, u, p)[chambers]  # Pa/rad

    def effort(angle, of_the_oil):
        moved = x.copy()
        moved[system.index('state', 'boom_joint')] += angle
        moved[chambers] += of_the_oil * compression * angle
        return system.outputs(moved, u, p)[system.index('output', 'boom/effort')]

    h = 1e-6
    # the lever arm changes too; that part is geometry, not oil
    total, geometry = ((effort(h, oil) - effort(-h, oil)) / (2 * h) for oil in (1.0, 0.0))
    assert geometry - total == pytest.approx(2.154e7, rel=1e-3)
