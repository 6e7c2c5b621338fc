"""From a twist to wheel references: possible twists, rates, and rejected parts by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st
from vehicle_layouts import (
    STOP,
    TRACK,
    WHEELBASE,
    base_of,
    car,
    differential,
    four_steered,
    layouts,
    mecanum,
    steered,
    twists,
    unit,
)

from dyn_nodes.control.wheel_drive import DriveLimits, WheelDrive
from dyn_nodes.control.wheel_unit import NoVehicleError

FAST = DriveLimits(100.0, 100.0, 1e6, 1e6, 1e9)


def settled(drive: WheelDrive, twist, seconds: float = 3.0, dt: float = 0.01):
    """Follow a twist with ideal steering joints; return the last reference."""
    angles = drive._angles.copy()
    reference = None
    for _ in range(round(seconds / dt)):
        reference = drive.step(np.array(twist, dtype=float), dt, angles)
        angles = reference.steering_angles
    return reference


class TestFixedWheels:
    def test_an_axle_rolls_ahead_and_turns(self) -> None:
        reference = WheelDrive(differential(), FAST).step(np.array([0.5, 0.0, 1.0]), 0.01, np.zeros(2))
        assert reference.wheel_speeds == pytest.approx([2.5, 7.5])
        assert reference.rejected == ()

    def test_sideways_is_left_out_and_named(self) -> None:
        reference = WheelDrive(differential(), FAST).step(np.array([0.5, 0.2, 0.0]), 0.01, np.zeros(2))
        assert reference.twist == pytest.approx([0.5, 0.0, 0.0])
        assert reference.rejected == ('sideways at 0.2 m/s: left, right do not steer',)

    def test_an_axle_behind_the_base_swings_it_sideways_without_a_rejection(self) -> None:
        reference = WheelDrive(differential(-0.2), FAST).step(np.array([0.0, 0.0, 1.0]), 0.01, np.zeros(2))
        assert reference.twist == pytest.approx([0.0, 0.2, 1.0])
        assert reference.rejected == ()

    def test_wheels_on_two_axles_turn_about_the_middle_and_drag(self) -> None:
        base = base_of(*(unit(f'{x}{y}', x, y) for x in (0.3, -0.1) for y in (0.2, -0.2)))
        assert base.drags
        reference = WheelDrive(base, FAST).step(np.array([0.0, 0.0, 1.0]), 0.01, np.zeros(4))
        assert reference.twist == pytest.approx([0.0, -0.1, 1.0])

    def test_axles_that_are_not_parallel_are_rejected_by_name(self) -> None:
        with pytest.raises(NoVehicleError, match='parallel for the wheels a, b'):
            base_of(unit('a', 0.0, 0.2), unit('b', 0.0, -0.2, heading=0.3))

    def test_wheels_that_leave_a_motion_free_are_rejected_by_name(self) -> None:
        with pytest.raises(NoVehicleError, match='found: right'):
            base_of(unit('left', 0.0, 0.2, driven=False), unit('right', 0.0, 0.0))


class TestSteeredWheels:
    @reaches(rolls=20)
    @given(twists)
    def test_all_axles_meet_at_one_point_and_all_wheels_roll(self, twist) -> None:
        base = four_steered()
        drive = WheelDrive(base, FAST)
        if base.pivot_speeds(twist).min() < 0.05:
            return
        reached('rolls')
        reference = settled(drive, twist, 1.5, 0.05)
        rows, _ = base.lateral_rows(reference.steering_angles)
        assert rows @ reference.twist == pytest.approx(np.zeros(4), abs=1e-6)
        assert reference.twist == pytest.approx(twist, abs=1e-9)

    def test_the_crab_walks_with_parallel_wheels(self) -> None:
        reference = settled(WheelDrive(four_steered(), DriveLimits()), (0.3, 0.3, 0.0))
        assert reference.steering_angles == pytest.approx(np.full(4, math.pi / 4), abs=1e-6)
        assert reference.wheel_speeds == pytest.approx(np.full(4, 0.3 * math.sqrt(2) / 0.1), abs=1e-6)

    def test_on_the_spot_the_wheels_are_perpendicular_to_their_levers(self) -> None:
        reference = settled(WheelDrive(four_steered(), DriveLimits()), (0.0, 0.0, 1.0))
        lean = math.atan2(0.35, 0.25)
        assert np.abs(reference.steering_angles) == pytest.approx(np.full(4, lean), abs=1e-6)
        # the scrub offset adds to the lever of every wheel
        assert np.abs(reference.wheel_speeds) == pytest.approx(
            np.full(4, (math.hypot(0.35, 0.25) + 0.08) / 0.1), abs=1e-6
        )

    @reaches(turns=8, flips=2)
    @given(twists, twists)
    def test_no_wheel_turns_by_more_than_a_quarter(self, first, second) -> None:
        drive = WheelDrive(four_steered(), FAST)
        settled(drive, first, 0.1)
        before = drive._angles.copy()
        drive._aim(second, second)
        reached('turns', np.abs(drive._targets - before).max() > 0.1)
        reached('flips', np.abs(drive._targets - before).max() > 1.2)
        assert np.abs(drive._targets - before).max() <= math.pi / 2 + 1e-9

    def test_backwards_needs_no_steering(self) -> None:
        drive = WheelDrive(four_steered(), DriveLimits())
        settled(drive, (0.5, 0.0, 0.0))
        reference = settled(drive, (-0.5, 0.0, 0.0))
        assert reference.steering_angles == pytest.approx(np.zeros(4), abs=1e-6)
        assert reference.wheel_speeds == pytest.approx(np.full(4, -5.0), abs=1e-6)

    def test_it_steers_before_it_drives(self) -> None:
        drive, angles, dt = WheelDrive(four_steered(), DriveLimits()), np.zeros(4), 0.01
        for _ in range(200):
            reference = drive.step(np.array([0.0, 0.5, 0.0]), dt, angles)
            error = np.abs(np.abs(angles) - math.pi / 2).max()
            if error > drive.limits.waiting:
                assert not reference.twist.any()
            angles = reference.steering_angles
        assert reference.twist == pytest.approx([0.0, 0.5, 0.0])

    def test_joints_turn_no_faster_than_they_can(self) -> None:
        drive, angles = WheelDrive(four_steered(), DriveLimits(steering_acceleration=15.0)), np.zeros(4)
        rates = []
        for _ in range(200):
            reference = drive.step(np.array([0.0, 0.0, 1.0]), 0.01, angles)
            angles = reference.steering_angles
            rates.append(reference.steering_rates)
        assert np.abs(rates).max() == pytest.approx(3.0, abs=0.3)
        assert np.abs(np.diff(rates, axis=0)).max() <= 15.0 * 0.01 + 1e-9

    def test_stops_are_kept(self) -> None:
        drive = WheelDrive(four_steered(stops=1.6), DriveLimits())
        angles = np.zeros(4)
        for twist in ((0.0, 0.5, 0.0), (0.1, -0.5, 0.0), (0.0, 0.0, 1.0), (-0.3, -0.4, 0.2)):
            for _ in range(150):
                angles = drive.step(np.array(twist), 0.02, angles).steering_angles
                assert np.abs(angles).max() <= 1.6 + 1e-9

    def test_at_rest_the_wheels_stay_as_they_are(self) -> None:
        drive = WheelDrive(four_steered(), DriveLimits())
        turned = settled(drive, (0.0, 0.4, 0.0)).steering_angles
        reference = settled(drive, (0.0, 0.0, 0.0))
        assert reference.steering_angles == pytest.approx(turned, abs=1e-9)
        assert not reference.wheel_speeds.any()

    def test_a_wheel_behind_its_pivot_is_steered_so_that_it_rolls(self) -> None:
        trailing = {'offset': (-0.05, 0.0), 'steering_speed': 1e9}
        base = base_of(*(steered(f'{k}', x, y, **trailing) for k, (x, y) in enumerate([(0.3, 0.2), (-0.3, -0.2)])))
        reference = settled(WheelDrive(base, FAST), (0.3, 0.1, 0.5), 0.5)
        rows, _ = base.lateral_rows(reference.steering_angles)
        assert rows @ reference.twist == pytest.approx(np.zeros(2), abs=1e-6)


class TestCar:
    def test_front_wheels_take_the_angles_of_ackermann(self) -> None:
        radius = 10.0
        reference = settled(WheelDrive(car(), DriveLimits()), (0.8, 0.0, 0.8 / radius), 5.0)
        left, right = reference.steering_angles[2:]
        assert math.tan(left) == pytest.approx(WHEELBASE / (radius - TRACK / 2), rel=1e-6)
        assert math.tan(right) == pytest.approx(WHEELBASE / (radius + TRACK / 2), rel=1e-6)
        assert reference.wheel_speeds[:2] == pytest.approx([0.8 / 0.1 * (1 - 0.075), 0.8 / 0.1 * (1 + 0.075)], rel=1e-6)

    def test_a_turn_beyond_the_stops_is_made_as_tight_as_they_allow_and_named(self) -> None:
        reference = settled(WheelDrive(car(), DriveLimits(angular_speed=10.0)), (0.5, 0.0, 0.5), 5.0)
        tightest = WHEELBASE / math.tan(STOP) + TRACK / 2
        assert reference.twist == pytest.approx([0.5, 0.0, 0.5 / tightest], rel=1e-4)
        assert any('the steering joints end before it' in text for text in reference.rejected)

    def test_it_cannot_turn_on_the_spot(self) -> None:
        reference = settled(WheelDrive(car(), DriveLimits()), (0.0, 0.0, 0.5))
        assert not reference.twist.any()
        assert reference.rejected == ('100 % of the turn: the steering joints end before it',)


class TestLimits:
    @reaches(at_limit=40, turn_limit=40)
    @given(layouts, twists, twists)
    def test_no_acceleration_beyond_the_limits(self, base, first, second) -> None:
        limits = DriveLimits(linear_acceleration=0.7, angular_acceleration=1.1)
        drive, angles, dt = WheelDrive(base, limits), np.zeros(len(base.wheels)), 0.02
        before = np.zeros(3)
        for k in range(60):
            reference = drive.step(first if k < 30 else second, dt, angles)
            if not base.steered.any():  # stops may take a turn out at once
                change = (reference.twist - before) / dt
                reached('at_limit', np.hypot(*change[:2]) > 0.699)
                reached('turn_limit', abs(change[2]) > 1.099)
                assert np.hypot(*change[:2]) <= 0.7 + 1e-9
                assert abs(change[2]) <= 1.1 + 1e-9
            before, angles = reference.twist, np.where(base.steered, reference.steering_angles, angles)

    def test_the_way_between_two_twists_is_straight(self) -> None:
        drive, zero = WheelDrive(mecanum(), DriveLimits()), np.zeros(4)
        seen = np.array([drive.step(np.array([0.4, -0.2, 0.6]), 0.02, zero).twist for _ in range(12)])
        assert seen == pytest.approx(np.outer(seen[:, 0] / 0.4, [0.4, -0.2, 0.6]), abs=1e-12)

    @reaches(limited=4, free=4, linear=4, turn=4, wheels=4)
    @given(twists)
    def test_speeds_are_limited_in_the_same_direction_and_named(self, twist) -> None:
        limits = DriveLimits(0.4, 0.5, 1e6, 1e6)
        reference = WheelDrive(mecanum(drive_limits=(6.0, math.inf)), limits).step(twist, 0.1, np.zeros(4))
        reached('limited', bool(reference.rejected))
        reached('free', not reference.rejected)
        reached('linear', np.hypot(*twist[:2]) > 0.4)
        reached('turn', abs(twist[2]) > 0.5)
        reached('wheels', np.abs(reference.wheel_speeds).max() > 5.999)
        assert np.hypot(*reference.twist[:2]) <= 0.4 + 1e-9
        assert abs(reference.twist[2]) <= 0.5 + 1e-9
        assert np.abs(reference.wheel_speeds).max() <= 6.0 + 1e-9
        assert np.cross(reference.twist, twist) == pytest.approx(np.zeros(3), abs=1e-12)
        assert bool(reference.rejected) == (not np.allclose(reference.twist, twist))

    def test_a_wheel_that_would_be_too_fast_is_named(self) -> None:
        drive = WheelDrive(mecanum(drive_limits=(6.0, math.inf)), DriveLimits(2.0, 2.0, 1e6, 1e6))
        assert drive.step(np.array([0.8, 0.0, 0.4]), 0.1, np.zeros(4)).rejected == (
            '10 rad/s of front_right: 60 % is allowed',
        )

    @given(st.floats(0.0, 0.99))
    def test_an_acceleration_that_the_drives_cannot_give_is_taken_back_in_part(self, fraction) -> None:
        drive, zero = WheelDrive(mecanum(), DriveLimits()), np.zeros(4)
        reference = drive.step(np.array([0.4, 0.0, 0.0]), 0.02, zero)
        less = drive.withdraw(reference, fraction, 0.02, zero)
        assert less.twist == pytest.approx(fraction * reference.twist)
        assert less.acceleration == pytest.approx(fraction * reference.acceleration)

    def test_a_waiting_angle_below_the_aligned_one_is_rejected(self) -> None:
        with pytest.raises(ValueError, match=r'found 0\.4 and 0\.2 rad'):
            DriveLimits(aligned=0.4, waiting=0.2)
