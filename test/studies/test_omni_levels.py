"""From a planned motion to wheel motions, torques and back: the paths and tables of saha-1991's specification."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.analysis.omni import NoTorquesError, drive_torques, simulate, wheel_angles, wheel_motion
from dyn_nodes.control.platform_path import LinesAndCurve, circle_path, straight_path
from dyn_nodes.control.torque_distribution import TorqueDistribution
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.machines import vehicle

PATH_3 = LinesAndCurve()


def limits(**by_wheel) -> np.ndarray:
    """Return the limits of the drives by number: `limits(count=4, w4=0.01)`."""
    limit = np.full(by_wheel.pop('count'), np.inf)
    for name, value in by_wheel.items():
        limit[int(name[1:]) - 1] = value
    return limit


def peaks(v: OmniVehicle, limit=np.inf) -> tuple[np.ndarray, float]:
    """Return the greatest torque of each drive on path 3, and the integral of their squares."""
    motion = PATH_3(np.linspace(0.0, 60.0, 3001))
    torques = drive_torques(v, motion, TorqueDistribution(v.L_driven, -limit, limit))
    return np.abs(torques).max(axis=0), float(np.trapezoid((torques**2).sum(axis=1), motion.times))


PEAKS = [
    (3, None, {}, 0),
    (4, None, {'w4': 0.01}, 3),
    (6, None, {}, 7),
    (6, None, {'w2': 0.01, 'w6': 0.025}, 8),
]
"""Number of wheels, driven wheels, limited wheels, row of the table."""


@pytest.mark.parametrize(('count', 'driven', 'limited', 'row'), PEAKS)
def test_peak_torques_on_path_3_are_those_of_the_table(count, driven, limited, row):
    v = vehicle(count, driven)
    limit = limits(count=len(v.L_driven), **limited)
    highest, integral = peaks(v, limit)
    assert highest == pytest.approx(tabulated('saha-1991/6.6/peaks')[row], abs=1.5e-6)
    assert integral == pytest.approx(tabulated('saha-1991/6.6/effort')[row], abs=2e-6)


def test_planned_twists_and_wheel_rates_are_those_of_the_table():
    motion = PATH_3([20.0, 25.0, 52.5])
    plan = tabulated('saha-1991/6.6/plan')
    assert motion.twist[0] == pytest.approx(plan[1, :3], abs=1e-10)
    assert motion.twist_acceleration[1] == pytest.approx(plan[2, 3:], abs=1e-10)
    assert motion.twist[2] == pytest.approx([0.0, 0.06, 0.0], abs=1e-10)
    wheels = wheel_motion(vehicle(3), motion)
    rates, accelerations, rollers = tabulated('saha-1991/6.6/wheels')
    assert wheels.hub_rates[1] == pytest.approx(rates, abs=1e-10)
    assert wheels.hub_accelerations[1] == pytest.approx(accelerations, abs=1e-10)
    assert wheels.roller_rates[1] == pytest.approx(rollers, abs=1e-7)


def test_wheel_angles_after_path_3_are_those_of_the_table():
    motion = PATH_3(np.linspace(0.0, 60.0, 601))
    of_three, of_four = tabulated('saha-1991/6.6/angles')
    assert wheel_angles(vehicle(3), motion)[0][-1] == pytest.approx(of_three, abs=1e-5)
    four = wheel_angles(vehicle(4), motion)[0][-1]
    assert four == pytest.approx(of_four, abs=1e-5)


@pytest.mark.parametrize(
    ('count', 'direction', 'rates', 'rollers', 'torques'),
    [
        (3, 0.0, (1.666667, -0.833333, -0.833333), (0, 14.433757, 14.433757), (0.0229802, -0.0114901, -0.0114901)),
        (3, 90.0, (0, 1.443376, -1.443376), (16.666667, 8.333333, 8.333333), (0, 0.0199014, -0.0199014)),
        (4, 0.0, (-1.666667, -1.666667, 1.666667, 1.666667), (23.570226,) * 4, 0.0106901 * np.array([-1, -1, 1, 1])),
        (4, 90.0, (-1.666667, 1.666667, 1.666667, -1.666667), (0,) * 4, 0.0106901 * np.array([-1, 1, 1, -1])),
    ],
)  # fmt: skip
def test_straight_paths_have_the_rates_and_torques_of_the_table(count, direction, rates, rollers, torques):
    v = vehicle(count)
    path = straight_path(np.deg2rad(direction))
    middle = wheel_motion(v, path([30.0]))
    assert middle.hub_rates[0] == pytest.approx(rates, abs=1e-6)
    assert np.abs(middle.roller_rates[0]) == pytest.approx(rollers, abs=1e-5)
    assert drive_torques(v, path([15.0]))[0] == pytest.approx(torques, abs=1e-7)


def test_limits_that_can_not_be_kept_are_reported_with_the_times():
    v = vehicle(4)
    with pytest.raises(NoTorquesError, match='There is no solution at 211 of 301 samples') as raised:
        drive_torques(v, PATH_3(np.linspace(0.0, 60.0, 301)), TorqueDistribution(v.L_driven, -0.01, 0.01))
    assert len(raised.value.times) == 211


def test_the_torques_drive_the_vehicle_along_the_planned_path():
    v = vehicle(4)

    def torques(now):
        return drive_torques(v, PATH_3([now]))[0]

    times = np.linspace(0.0, 60.0, 61)
    planned = PATH_3(times)
    run = simulate(v, torques, times, planned.pose[0], tolerance=1e-8, max_step=0.3)
    # 0.3 s steps across the junctions of the plan, where the third derivative jumps
    assert run.pose == pytest.approx(planned.pose, abs=4e-5)
    assert run.twist == pytest.approx(planned.twist, abs=2e-5)
    assert run.hub_angles == pytest.approx(wheel_angles(v, PATH_3(np.linspace(0, 60, 6001)))[0][::100], abs=1e-3)


@pytest.mark.parametrize('path', [LinesAndCurve(), LinesAndCurve(tangent=True), circle_path(), straight_path(0.7)])
def test_velocities_and_accelerations_of_a_path_are_its_derivatives(path):
    times, h = np.array([1.0, 7.0, 16.0, 22.0, 29.0, 41.0, 52.0, 59.0]), 1e-4
    before, now, after = path(times - h), path(times), path(times + h)
    assert (after.pose - before.pose) / (2 * h) == pytest.approx(now.velocity, abs=1e-8)
    assert (after.velocity - before.velocity) / (2 * h) == pytest.approx(now.acceleration, abs=1e-8)


def test_the_tangent_path_reaches_the_heading_and_speed_of_the_specification():
    motion = LinesAndCurve(tangent=True)(np.linspace(0.0, 60.0, 6001))
    assert np.abs(motion.pose[:, 0]).max() == pytest.approx(1.2299585, abs=1e-6)
    assert np.hypot(*motion.velocity[:, 1:].T).max() == pytest.approx(0.3589839, abs=1e-6)
    assert np.abs(motion.acceleration[:, 1]).max() == pytest.approx(0.0387347, abs=1e-6)
