"""Driven axle and caster vehicle of saha-1991 as machines of the engine: numbers of 6.2 and 6.3, round-trip audit."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.platform_path import circle_path
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle
from dyn_nodes.studies.saha_1991.round_trips import (
    RADIUS,
    TIMES,
    axle_on_lines,
    centre_on_circle,
    centre_on_lines,
    comes_back,
)
from dyn_nodes.studies.saha_1991.traced_vehicle import TracedVehicle, plan
from dyn_nodes.studies.saha_1991.wheeled_vehicles import axle_vehicle, caster_vehicle

STEADY = float(tabulated('saha-1991/6.3/fork')[0])


@pytest.fixture(scope='module')
def axle():
    return TracedVehicle(axle_vehicle(), ('left', 'right'))


@pytest.fixture(scope='module')
def caster():
    return TracedVehicle(caster_vehicle(), ('left', 'right'))


@pytest.fixture(scope='module')
def circle_of_axle(axle):
    return plan(axle, circle_path(RADIUS)(TIMES))


@pytest.fixture(scope='module')
def circle(caster):
    return plan(caster, centre_on_circle(), {'fork': STEADY})


@pytest.fixture(scope='module')
def lines(caster):
    return plan(caster, axle_on_lines())


def angles(vehicle, states, *names):
    indices = [vehicle.wheeled.blocks.tree.position_names.index(name) for name in names]
    return states[..., indices]


def peak(values):
    """Return the greatest magnitude of each column on the grid of 0.01 s, and its time."""
    sizes = np.abs(values)
    return sizes.max(axis=0), TIMES[sizes.argmax(axis=0)]


# --- 6.2 ---------------------------------------------------------------------------------------------------------


def test_the_axle_on_the_circle_has_the_rates_accelerations_and_angles_of_the_table(axle, circle_of_axle):
    course = circle_of_axle
    assert course.missed < 1e-13
    assert course.rates[3000] == pytest.approx(tabulated('saha-1991/6.2/rates'), abs=5e-9)
    assert np.abs(course.rates).max(axis=0) == pytest.approx(-tabulated('saha-1991/6.2/rates'), abs=5e-9)
    sizes, times = peak(course.accelerations)
    assert sizes == pytest.approx(tabulated('saha-1991/6.2/accelerations')[0], abs=6e-9)
    assert np.minimum(times, 60.0 - times) == pytest.approx(
        [tabulated('saha-1991/6.2/accelerations')[1][0]] * 2, abs=1e-3
    )
    assert np.maximum(times, 60.0 - times) == pytest.approx(
        [tabulated('saha-1991/6.2/accelerations')[1][1]] * 2, abs=1e-3
    )
    assert course.accelerations[::-1] == pytest.approx(-course.accelerations, abs=1e-12)  # it has both peaks
    end = angles(axle, course.q, 'left', 'right')[-1]
    assert end == pytest.approx(tabulated('saha-1991/6.2/angles'), abs=6e-9)
    assert end == pytest.approx([-192 * np.pi, -208 * np.pi], abs=1e-8)


def test_the_torques_of_the_axle_are_proportional_to_its_accelerations(circle_of_axle):
    course = circle_of_axle
    assert peak(course.efforts)[0] == pytest.approx(tabulated('saha-1991/6.2/torques'), abs=5e-9)
    moving = np.abs(course.accelerations[:, 0]) > 1e-3
    ratio = course.efforts[moving] / course.accelerations[moving]
    assert ratio.mean(axis=0) == pytest.approx(tabulated('saha-1991/6.2/ratio'), abs=5e-8)
    assert np.ptp(ratio, axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_the_work_of_the_torques_of_the_axle_is_its_kinetic_energy(circle_of_axle):
    course = circle_of_axle
    assert course.energy[3000] == pytest.approx(tabulated('saha-1991/6.2/energy')[0], abs=5e-9)
    assert course.work(30.0) == pytest.approx(course.energy[3000], abs=1e-6)
    assert course.work(60.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.pins('saha-1991/6.2/simulation')
def test_the_axle_driven_by_its_planned_torques_follows_the_circle(axle, circle_of_axle):
    """Round trip (E4): inverse dynamics, then simulation in steps of 0.6 s or less at a tolerance of 1e-3."""
    missed = comes_back(axle, circle_of_axle, 60, 1e-3)
    assert missed.joint < 3.45e-9
    assert missed.yaw < 3.25e-11
    assert missed.position < 1.35e-8
    assert missed.rate <= 1e-12  # round-off of 20 rad/s: the pair is exact for these torques


# --- 6.3 ---------------------------------------------------------------------------------------------------------


def test_the_caster_vehicle_has_the_inertia_of_the_specification(caster):
    (same, across), turned = tabulated('saha-1991/6.3/inertia')
    rows = {0.0: (same, across, same), 0.7: turned}
    for fork, expected in rows.items():
        inertia = caster.inertia(caster.wheeled.position({'fork': fork, 'yaw': 0.3}))
        assert inertia[np.triu_indices(2)] == pytest.approx(expected, abs=5e-9)
    plate = TracedVehicle(caster_vehicle(CasterVehicle(yaw_inertia=20.0 * 0.202**2 / 4)), ('left', 'right'))
    for fork, expected in zip((0.0, 0.7, 1.5), tabulated('saha-1991/6.3/plate')):
        assert plate.inertia(plate.wheeled.position({'fork': fork}))[0, 0] == pytest.approx(expected, abs=5e-12)


def test_the_caster_vehicle_has_the_convective_torques_of_the_specification(caster):
    """Only the product of C with the rates is unique."""
    rates = np.array([-3.0, -4.5])
    (near, far), turned = tabulated('saha-1991/6.3/convective')
    rows = {0.0: [[near, far], [-far, -near]], 0.7: turned.reshape(2, 2)}
    for fork, matrix in rows.items():
        q = caster.wheeled.position({'fork': fork, 'yaw': -1.0})
        assert caster.efforts(q, rates, [0.0, 0.0]) == pytest.approx(-np.array(matrix) @ rates, abs=5e-8)


def test_the_caster_vehicle_accelerates_as_specified(caster):
    rows = (
        (0.3, (-3.0, -4.5), (0.02, -0.05), tabulated('saha-1991/6.3/forward')[0]),
        (1.1, (5.0, -2.0), (-0.1, 0.03), tabulated('saha-1991/6.3/forward')[1]),
    )
    for fork, rates, torques, expected in rows:
        q = caster.wheeled.position({'fork': fork, 'yaw': 2.0})
        assert caster.rate(q, rates, caster.wheeled.motors(torques))[1] == pytest.approx(expected, abs=6e-9)


def test_the_caster_vehicle_on_the_circle_has_the_torques_of_the_table(circle):
    assert circle.missed < 1e-12
    for time, expected in zip((5, 10, 20, 30, 40, 50), tabulated('saha-1991/6.3/circle')):
        k = 100 * time
        assert np.r_[circle.rates[k], circle.accelerations[k]] == pytest.approx(expected[:4], abs=6e-8)
        assert circle.efforts[k] == pytest.approx(expected[4:], abs=6e-9)
    sizes, times = peak(circle.efforts)
    assert sizes == pytest.approx(tabulated('saha-1991/6.3/circle_peaks')[0], abs=5e-7)
    assert times == pytest.approx([36.7, 22.2], abs=0.05)
    assert circle.energy[3000] == pytest.approx(tabulated('saha-1991/6.3/circle_energy')[0], abs=5e-7)
    assert circle.work(30.0) == pytest.approx(circle.energy[3000], abs=1e-6)
    assert circle.work(60.0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.pins('saha-1991/6.3/fork')
def test_the_fork_turns_to_the_angle_of_the_curvature_and_stays_there(caster, circle):
    """From straight ahead it reaches 99 % after 4.46 s (E7); from this angle it does not move."""
    assert np.ptp(angles(caster, circle.q, 'fork')) < 1e-9
    assert angles(caster, circle.q, 'fork')[0] == pytest.approx(np.radians(3.18258), abs=1e-7)
    short = plan(caster, centre_on_circle(TIMES[:2001]))
    fork = angles(caster, short.q, 'fork')[:, 0]
    assert fork[-1] == pytest.approx(STEADY, abs=6e-11)
    assert TIMES[np.argmax(fork > 0.99 * STEADY)] == pytest.approx(4.46, abs=0.01)


@pytest.mark.pins('saha-1991/6.3/circle_simulation')
@pytest.mark.parametrize(
    ('tolerance', 'rate', 'angle', 'position'), [(1e-3, 3.8e-3, 5.3e-5, 1.9e-4), (1e-5, 3.2e-5, 5.3e-7, 7e-8)]
)
def test_the_caster_vehicle_driven_by_its_planned_torques_follows_the_circle(
    caster, circle, tolerance, rate, angle, position
):
    """Round trip (E11): inverse dynamics, then simulation in steps of 0.3 s or less."""
    missed = comes_back(caster, circle, 30, tolerance)
    assert missed.rate <= rate
    assert missed.yaw <= angle
    assert missed.position <= position


def test_the_caster_vehicle_on_lines_and_curve_has_the_torques_of_the_table(caster, lines):
    assert lines.missed < 1e-12
    for time, expected in zip((5, 20, 25, 30, 40), tabulated('saha-1991/6.3/lines')):
        k = 100 * time
        assert np.r_[lines.rates[k], lines.accelerations[k]] == pytest.approx(expected[:4], abs=6e-8)
        assert angles(caster, lines.q, 'fork')[k] == pytest.approx(expected[4:5], abs=6e-9)
        assert lines.efforts[k] == pytest.approx(expected[5:], abs=6e-9)


def test_the_caster_vehicle_on_lines_and_curve_has_the_peaks_and_ends_of_the_specification(caster, lines):
    assert peak(lines.rates)[0] == pytest.approx([tabulated('saha-1991/6.3/lines_peaks')[0][0]] * 2, abs=6e-9)
    assert peak(lines.accelerations)[0] == pytest.approx([tabulated('saha-1991/6.3/lines_peaks')[0][1]] * 2, abs=6e-9)
    sizes, times = peak(lines.efforts)
    assert sizes == pytest.approx(tabulated('saha-1991/6.3/lines_peaks')[0][2:], abs=6e-8)
    assert times == pytest.approx([24.43, 36.68], abs=6e-3)
    fork = angles(caster, lines.q, 'fork')[:, 0]
    assert [fork.min(), fork.max()] == pytest.approx(tabulated('saha-1991/6.3/lines_peaks')[1], abs=6e-7)
    assert fork[-1] == pytest.approx(0.0, abs=1e-9)
    assert angles(caster, lines.q, 'left', 'right')[-1] == pytest.approx(
        [tabulated('saha-1991/6.3/lines_angles')[0]] * 2, abs=6e-7
    )
    assert angles(caster, lines.q, 'caster')[-1] == pytest.approx(
        [tabulated('saha-1991/6.3/lines_angles')[2]], abs=6e-7
    )
    assert lines.energy[3000] == pytest.approx(tabulated('saha-1991/6.3/lines_energy'), abs=5e-7)
    assert lines.work(30.0) == pytest.approx(lines.energy[3000], abs=1e-6)


@pytest.mark.pins('saha-1991/6.3/lines_simulation')
@pytest.mark.parametrize(
    ('tolerance', 'rate', 'angle', 'position'), [(1e-3, 1e-3, 1e-3, 1e-3), (1e-5, 1.5e-4, 1.3e-4, 4.7e-4)]
)
def test_the_caster_vehicle_driven_by_its_planned_torques_follows_lines_and_curve(
    caster, lines, tolerance, rate, angle, position
):
    """Round trip (E11). At 1e-3, steps of 0.3 s cross the ends of the curve: the bounds of the experiment."""
    missed = comes_back(caster, lines, 30, tolerance)
    assert missed.rate <= rate
    assert missed.yaw <= angle
    assert missed.position <= position


def test_with_its_centre_on_the_path_the_caster_vehicle_has_the_peaks_of_the_specification(caster):
    course = plan(caster, centre_on_lines())
    assert course.missed < 1e-9
    assert peak(course.rates)[0] == pytest.approx(tabulated('saha-1991/6.3/centre_on_lines')[0][:2], abs=6e-8)
    assert peak(course.accelerations)[0] == pytest.approx(tabulated('saha-1991/6.3/centre_on_lines')[0][2:4], abs=6e-7)
    assert peak(course.efforts)[0] == pytest.approx(tabulated('saha-1991/6.3/centre_on_lines')[0][4:], abs=6e-8)
    yaw, fork = angles(caster, course.q, 'yaw', 'fork').T
    assert yaw.max() == pytest.approx(tabulated('saha-1991/6.3/centre_on_lines')[1][0], abs=6e-8)
    assert [fork.min(), fork.max()] == pytest.approx(tabulated('saha-1991/6.3/centre_on_lines')[2], abs=6e-7)
    assert yaw[-1] == pytest.approx(2.2e-6, abs=6e-8)
