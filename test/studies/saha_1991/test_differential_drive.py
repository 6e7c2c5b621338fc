"""Two driven wheels, alone and with a caster: the numbers of saha-1991's specification (6.2, 6.3)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.control.platform_path import LinesAndCurve, circle_path
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.differential_drive import AxleMotion, CasterVehicle, DrivenAxle

AXLE, CASTER = DrivenAxle(), CasterVehicle()
TIMES = np.linspace(0.0, 60.0, 6001)


def on_circle(speed_radius: float) -> AxleMotion:
    """Return the motion on the circle, with the speed of a point at a distance from the centre."""
    motion = circle_path()(TIMES)
    yaw, growth = motion.velocity[:, 0], motion.acceleration[:, 0]
    return AxleMotion(TIMES, yaw, speed_radius * yaw, growth, speed_radius * growth)


def along_lines() -> AxleMotion:
    """Return the motion with the axle midpoint on the lines and the curve."""
    motion = LinesAndCurve(tangent=True)(TIMES)
    twist, rate = motion.twist, motion.twist_rate
    return AxleMotion(TIMES, twist[:, 0], twist[:, 2], rate[:, 0], rate[:, 2])


def test_two_wheels_on_the_circle_have_the_rates_and_torques_of_the_table():
    motion = on_circle(5.0)
    rates, torques = AXLE.rates(motion.yaw_rate, motion.speed), AXLE.torques(motion)
    accelerations = AXLE.rates(motion.yaw_acceleration, motion.acceleration)
    assert rates[3000] == pytest.approx(tabulated('saha-1991/6.2/rates'), abs=1e-8)
    assert np.abs(accelerations).max(axis=0) == pytest.approx(tabulated('saha-1991/6.2/accelerations')[0], abs=1e-7)
    assert np.abs(torques).max(axis=0) == pytest.approx(tabulated('saha-1991/6.2/torques'), abs=1e-8)
    assert np.trapezoid(rates, TIMES, axis=0) == pytest.approx([-192 * np.pi, -208 * np.pi], abs=1e-6)
    moving = np.abs(accelerations[:, 0]) > 1e-6
    ratio = torques[moving] / accelerations[moving]
    assert ratio == pytest.approx(np.tile(tabulated('saha-1991/6.2/ratio'), (moving.sum(), 1)), abs=1e-7)
    assert AXLE.lateral_force(motion)[3000] == pytest.approx(tabulated('saha-1991/6.2/lateral_force'), abs=1e-6)
    energy = 0.5 * rates[3000] @ AXLE.inertia @ rates[3000]
    work = np.trapezoid((rates * torques).sum(axis=1)[:3001], TIMES[:3001])
    assert energy == pytest.approx(tabulated('saha-1991/6.2/energy')[0], abs=1e-8)
    assert work == pytest.approx(energy, abs=1e-5)


def test_rates_and_twist_are_inverse():
    assert AXLE.twist(AXLE.rates(0.3, -0.7)) == pytest.approx([0.3, -0.7], abs=1e-15)


def test_the_caster_vehicle_has_the_matrices_of_the_table():
    (same, across), turned = tabulated('saha-1991/6.3/inertia')
    assert CASTER.inertia(0.0) == pytest.approx(np.array([[same, across], [across, same]]), abs=1e-8)
    assert CASTER.inertia(0.7)[np.triu_indices(2)] == pytest.approx(turned, abs=1e-8)
    plate = CasterVehicle(yaw_inertia=20.0 * 0.202**2 / 4)
    for fork, expected in zip((0.0, 0.7, 1.5), tabulated('saha-1991/6.3/plate')):
        assert plate.inertia(fork)[0, 0] == pytest.approx(expected, abs=1e-11)
    bias = CASTER.coupling(0.7, [-3.0, -4.5]) @ [-3.0, -4.5]
    expected = tabulated('saha-1991/6.3/convective')[1].reshape(2, 2) @ [-3.0, -4.5]
    assert bias == pytest.approx(expected, abs=1e-7)
    first, second = tabulated('saha-1991/6.3/forward')
    assert CASTER.accelerations(0.3, [-3, -4.5], [0.02, -0.05]) == pytest.approx(first, abs=1e-8)
    assert CASTER.accelerations(1.1, [5, -2], [-0.1, 0.03]) == pytest.approx(second, abs=1e-8)


@pytest.mark.pins('saha-1991/6.1/structure')
@pytest.mark.parametrize('fork', [0.0, 0.5, 2.0])
def test_the_loops_of_the_caster_vehicle_are_controllable_at_every_fork_angle(fork):
    J_I, J_D = CASTER.loop_jacobian(fork)
    assert np.linalg.det(J_D) == pytest.approx(-5e-4, abs=1e-15)
    assert CASTER.dependent(fork) == pytest.approx(-np.linalg.solve(J_D, J_I), abs=1e-13)


def test_the_caster_vehicle_on_the_circle_has_the_torques_of_the_table():
    fork = CASTER.steady_fork(5.0)
    assert fork == pytest.approx(tabulated('saha-1991/6.3/fork')[0], abs=1e-10)
    motion = on_circle(np.sqrt(25.0 - CASTER.ahead**2))
    for time, expected in zip((5, 10, 20, 30, 40, 50), tabulated('saha-1991/6.3/circle')):
        k = time * 100
        rates = CASTER.axle.rates(motion.yaw_rate[k], motion.speed[k])
        growth = CASTER.axle.rates(motion.yaw_acceleration[k], motion.acceleration[k])
        computed = np.concatenate([rates, growth, CASTER.torques(fork, rates, growth)])
        assert computed == pytest.approx(expected, abs=1e-7)
    # the fork settles at that angle: 99 % of it after 4.46 s
    angles = CASTER.fork_angles(motion)
    assert TIMES[np.argmax(angles > 0.99 * fork)] == pytest.approx(4.46, abs=0.02)


def test_the_caster_vehicle_on_lines_and_curve_has_the_torques_of_the_table():
    motion = along_lines()
    fork = CASTER.fork_angles(motion)
    assert [fork.min(), fork.max(), fork[-1]] == pytest.approx(
        [*tabulated('saha-1991/6.3/lines_peaks')[1], 0.0], abs=1e-6
    )
    for time, expected in zip((5, 20, 25, 30, 40), tabulated('saha-1991/6.3/lines')):
        k = time * 100
        rates = CASTER.axle.rates(motion.yaw_rate[k], motion.speed[k])
        growth = CASTER.axle.rates(motion.yaw_acceleration[k], motion.acceleration[k])
        computed = np.concatenate([rates, growth, [fork[k]], CASTER.torques(fork[k], rates, growth)])
        assert computed == pytest.approx(expected, abs=1e-7)


def test_the_torques_do_the_work_of_the_kinetic_energy():
    rng = np.random.default_rng(4)
    torques = rng.normal(size=2) * 0.05

    def rate(_, state):
        fork, v = state[0], state[1:3]
        return np.r_[CASTER.dependent(fork)[1] @ v, CASTER.accelerations(fork, v, torques), torques @ v]

    start = np.r_[0.3, -2.0, -1.0, 0.0]
    end = solve_ivp(rate, (0.0, 2.0), start, rtol=1e-11, atol=1e-12).y[:, -1]
    gained = CASTER.kinetic_energy(end[0], end[1:3]) - CASTER.kinetic_energy(start[0], start[1:3])
    assert gained == pytest.approx(end[3], abs=1e-9)


def test_in_reverse_the_caster_turns_over():
    motion = AxleMotion(TIMES[:1001], np.zeros(1001), np.full(1001, -0.2), np.zeros(1001), np.zeros(1001))
    ahead = AxleMotion(TIMES[:1001], np.zeros(1001), np.full(1001, 0.2), np.zeros(1001), np.zeros(1001))
    assert CASTER.fork_angles(motion, start=1e-3)[-1] == pytest.approx(np.pi, abs=1e-3)
    assert CASTER.fork_angles(ahead, start=1e-3)[-1] == pytest.approx(0.0, abs=1e-9)
