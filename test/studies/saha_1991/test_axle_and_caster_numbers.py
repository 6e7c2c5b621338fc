"""Driven axle and caster vehicle of saha-1991 as machines of the engine: numbers of 6.2 and 6.3, round-trip audit."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.platform_path import circle_path
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

STEADY = 0.0555464236


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
    places = [vehicle.own.blocks.tree.position_names.index(name) for name in names]
    return states[..., places]


def peak(values):
    """Greatest size of each column on the grid of 0.01 s, and its time."""
    sizes = np.abs(values)
    return sizes.max(axis=0), TIMES[sizes.argmax(axis=0)]


# --- 6.2 ---------------------------------------------------------------------------------------------------------


@pytest.mark.pins('saha-1991/6.2/rates', 'saha-1991/6.2/accelerations', 'saha-1991/6.2/angles')
def test_the_axle_on_the_circle_has_the_rates_accelerations_and_angles_of_the_table(axle, circle_of_axle):
    own = circle_of_axle
    assert own.missed < 1e-13
    assert own.rates[3000] == pytest.approx([-18.84955592, -20.42035225], abs=5e-9)
    assert np.abs(own.rates).max(axis=0) == pytest.approx([18.84955592, 20.42035225], abs=5e-9)
    sizes, times = peak(own.accelerations)
    assert sizes == pytest.approx([0.96735966, 1.04797296], abs=6e-9)
    assert np.minimum(times, 60.0 - times) == pytest.approx([12.679] * 2, abs=1e-3)
    assert np.maximum(times, 60.0 - times) == pytest.approx([47.321] * 2, abs=1e-3)
    assert own.accelerations[::-1] == pytest.approx(-own.accelerations, abs=1e-12)  # it has both peaks
    end = angles(axle, own.q, 'left', 'right')[-1]
    assert end == pytest.approx([-603.18578949, -653.45127195], abs=6e-9)
    assert end == pytest.approx([-192 * np.pi, -208 * np.pi], abs=1e-8)


@pytest.mark.pins('saha-1991/6.2/torques', 'saha-1991/6.2/ratio')
def test_the_torques_of_the_axle_are_proportional_to_its_accelerations(circle_of_axle):
    own = circle_of_axle
    assert peak(own.efforts)[0] == pytest.approx([0.00725205, 0.00786295], abs=5e-9)
    moving = np.abs(own.accelerations[:, 0]) > 1e-3
    ratio = own.efforts[moving] / own.accelerations[moving]
    assert ratio.mean(axis=0) == pytest.approx([0.0074967, 0.0075030], abs=5e-8)
    assert np.ptp(ratio, axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.pins('saha-1991/6.2/energy')
def test_the_work_of_the_torques_of_the_axle_is_its_kinetic_energy(circle_of_axle):
    own = circle_of_axle
    assert own.energy[3000] == pytest.approx(2.89616023, abs=5e-9)
    assert own.work(30.0) == pytest.approx(own.energy[3000], abs=1e-6)
    assert own.work(60.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.pins('saha-1991/6.2/simulation')
def test_the_axle_driven_by_its_own_torques_comes_back_on_the_circle(axle, circle_of_axle):
    """Round trip (E4): inverse dynamics, then simulation in steps of 0.6 s or less at a tolerance of 1e-3."""
    missed = comes_back(axle, circle_of_axle, 60, 1e-3)
    assert missed.joint < 3.45e-9
    assert missed.yaw < 3.25e-11
    assert missed.place < 1.35e-8
    assert missed.rate <= 1e-12  # round-off of 20 rad/s: the pair is exact for these torques


# --- 6.3 ---------------------------------------------------------------------------------------------------------


@pytest.mark.pins('saha-1991/6.3/inertia', 'saha-1991/6.3/plate')
def test_the_caster_vehicle_has_the_inertia_of_the_specification(caster):
    rows = {0.0: (0.03435059, 0.00189941, 0.03435059), 0.7: (0.03375346, 0.00104467, 0.03561965)}
    for fork, expected in rows.items():
        inertia = caster.inertia(caster.own.position({'fork': fork, 'yaw': 0.3}))
        assert inertia[np.triu_indices(2)] == pytest.approx(expected, abs=5e-9)
    plate = TracedVehicle(caster_vehicle(CasterVehicle(yaw_inertia=20.0 * 0.202**2 / 4)), ('left', 'right'))
    for fork, expected in ((0.0, 0.03115871875), (0.7, 0.03056158332), (1.5, 0.03183056075)):
        assert plate.inertia(plate.own.position({'fork': fork}))[0, 0] == pytest.approx(expected, abs=5e-12)


@pytest.mark.pins('saha-1991/6.3/convective')
def test_the_caster_vehicle_has_the_convective_torques_of_the_specification(caster):
    """Of C only its product with the rates is unique."""
    rates = np.array([-3.0, -4.5])
    rows = {
        0.0: [[0.00197423, -0.00750398], [0.00750398, -0.00197423]],
        0.7: [[0.00078066, 0.0145713], [-0.02123031, 0.00183674]],
    }
    for fork, matrix in rows.items():
        q = caster.own.position({'fork': fork, 'yaw': -1.0})
        assert caster.efforts(q, rates, [0.0, 0.0]) == pytest.approx(-np.array(matrix) @ rates, abs=5e-8)


@pytest.mark.pins('saha-1991/6.3/forward')
def test_the_caster_vehicle_accelerates_as_the_specification_says(caster):
    rows = (
        (0.3, (-3.0, -4.5), (0.02, -0.05), (0.21777221, -1.16195758)),
        (1.1, (5.0, -2.0), (-0.1, 0.03), (-2.94789897, 4.37545237)),
    )
    for fork, rates, torques, expected in rows:
        q = caster.own.position({'fork': fork, 'yaw': 2.0})
        assert caster.rate(q, rates, caster.own.motors(torques))[1] == pytest.approx(expected, abs=6e-9)


CIRCLE = {
    5: (-1.7594996, -1.9061558, -0.6398180, -0.6931475, -0.02278357, -0.02550296),
    10: (-5.8165277, -6.3013413, -0.9306444, -1.0082146, -0.02896029, -0.04095309),
    20: (-14.8903108, -16.1314338, -0.7445155, -0.8065717, 0.00457065, -0.05836718),
    30: (-18.8455496, -20.4163459, 0.0, 0.0, 0.05061034, -0.04671648),
    40: (-14.8903108, -16.1314338, 0.7445155, 0.8065717, 0.05862093, 0.00003744),
    50: (-5.8165277, -6.3013413, 0.9306444, 1.0082146, 0.03860256, 0.03205268),
}


@pytest.mark.pins('saha-1991/6.3/circle', 'saha-1991/6.3/circle_peaks', 'saha-1991/6.3/circle_energy')
def test_the_caster_vehicle_on_the_circle_has_the_torques_of_the_table(circle):
    assert circle.missed < 1e-12
    for time, expected in CIRCLE.items():
        k = 100 * time
        assert np.r_[circle.rates[k], circle.accelerations[k]] == pytest.approx(expected[:4], abs=6e-8)
        assert circle.efforts[k] == pytest.approx(expected[4:], abs=6e-9)
    sizes, times = peak(circle.efforts)
    assert sizes == pytest.approx([0.060598, 0.059201], abs=5e-7)
    assert times == pytest.approx([36.7, 22.2], abs=0.05)
    assert circle.energy[3000] == pytest.approx(13.991587, abs=5e-7)
    assert circle.work(30.0) == pytest.approx(circle.energy[3000], abs=1e-6)
    assert circle.work(60.0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.pins('saha-1991/6.3/fork')
def test_the_fork_turns_to_the_angle_of_the_curvature_and_stays_there(caster, circle):
    """From straight ahead it is at 99 % after 4.46 s (E7); where it starts at that angle it keeps it."""
    assert np.ptp(angles(caster, circle.q, 'fork')) < 1e-9
    assert angles(caster, circle.q, 'fork')[0] == pytest.approx(np.radians(3.18258), abs=1e-7)
    short = plan(caster, centre_on_circle(TIMES[:2001]))
    fork = angles(caster, short.q, 'fork')[:, 0]
    assert fork[-1] == pytest.approx(STEADY, abs=6e-11)
    assert TIMES[np.argmax(fork > 0.99 * STEADY)] == pytest.approx(4.46, abs=0.01)


@pytest.mark.pins('saha-1991/6.3/circle_simulation')
@pytest.mark.parametrize(
    ('tolerance', 'rate', 'angle', 'place'), [(1e-3, 3.8e-3, 5.3e-5, 1.9e-4), (1e-5, 3.2e-5, 5.3e-7, 7e-8)]
)
def test_the_caster_vehicle_driven_by_its_own_torques_comes_back_on_the_circle(
    caster, circle, tolerance, rate, angle, place
):
    """Round trip (E11): inverse dynamics, then simulation in steps of 0.3 s or less."""
    found = comes_back(caster, circle, 30, tolerance)
    assert found.rate <= rate
    assert found.yaw <= angle
    assert found.place <= place


LINES = {
    5: (-0.6, -0.6, -0.2176559, -0.2176559, 0.0, -0.00789003, -0.00789003),
    20: (-1.9133787, -3.4181184, -0.2137101, -0.2710944, 0.37221831, 0.00049433, -0.01443125),
    25: (-5.0826419, -5.5655026, -0.7181832, -0.5544749, 0.06579073, -0.02074817, -0.02493370),
    30: (-7.1796781, -7.1796781, -0.0336051, 0.0336051, 0.00045349, -0.00091345, 0.00091345),
    40: (-3.4181184, -1.9133787, 0.2710944, 0.2137101, -0.36654333, 0.00552508, 0.01540587),
}


@pytest.mark.pins('saha-1991/6.3/lines')
def test_the_caster_vehicle_on_lines_and_curve_has_the_torques_of_the_table(caster, lines):
    assert lines.missed < 1e-12
    for time, expected in LINES.items():
        k = 100 * time
        assert np.r_[lines.rates[k], lines.accelerations[k]] == pytest.approx(expected[:4], abs=6e-8)
        assert angles(caster, lines.q, 'fork')[k] == pytest.approx(expected[4:5], abs=6e-9)
        assert lines.efforts[k] == pytest.approx(expected[5:], abs=6e-9)


@pytest.mark.pins('saha-1991/6.3/lines_peaks', 'saha-1991/6.3/lines_angles', 'saha-1991/6.3/lines_energy')
def test_the_caster_vehicle_on_lines_and_curve_has_the_peaks_and_ends_of_the_specification(caster, lines):
    assert peak(lines.rates)[0] == pytest.approx([7.18300252] * 2, abs=6e-9)
    assert peak(lines.accelerations)[0] == pytest.approx([0.76688161] * 2, abs=6e-9)
    sizes, times = peak(lines.efforts)
    assert sizes == pytest.approx([0.0210508, 0.0321040], abs=6e-8)
    assert times == pytest.approx([24.43, 36.68], abs=6e-3)
    fork = angles(caster, lines.q, 'fork')[:, 0]
    assert [fork.min(), fork.max()] == pytest.approx([-0.372395, 0.372292], abs=6e-7)
    assert fork[-1] == pytest.approx(0.0, abs=1e-9)
    assert angles(caster, lines.q, 'left', 'right')[-1] == pytest.approx([-163.911820] * 2, abs=6e-7)
    assert angles(caster, lines.q, 'caster')[-1] == pytest.approx([-165.829928], abs=6e-7)
    assert lines.energy[3000] == pytest.approx(1.868607, abs=5e-7)
    assert lines.work(30.0) == pytest.approx(lines.energy[3000], abs=1e-6)


@pytest.mark.pins('saha-1991/6.3/lines_simulation')
@pytest.mark.parametrize(
    ('tolerance', 'rate', 'angle', 'place'), [(1e-3, 1e-3, 1e-3, 1e-3), (1e-5, 1.5e-4, 1.3e-4, 4.7e-4)]
)
def test_the_caster_vehicle_driven_by_its_own_torques_comes_back_on_lines_and_curve(
    caster, lines, tolerance, rate, angle, place
):
    """Round trip (E11). At 1e-3 steps of 0.3 s go across the ends of the curve: the bounds of the experiment."""
    found = comes_back(caster, lines, 30, tolerance)
    assert found.rate <= rate
    assert found.yaw <= angle
    assert found.place <= place


@pytest.mark.pins('saha-1991/6.3/centre_on_lines')
def test_with_its_centre_on_the_path_the_caster_vehicle_has_the_peaks_of_the_specification(caster):
    own = plan(caster, centre_on_lines())
    assert own.missed < 1e-9
    assert peak(own.rates)[0] == pytest.approx([7.1734750, 7.1927286], abs=6e-8)
    assert peak(own.accelerations)[0] == pytest.approx([0.811946, 0.743200], abs=6e-7)
    assert peak(own.efforts)[0] == pytest.approx([0.0207027, 0.0304394], abs=6e-8)
    yaw, fork = angles(caster, own.q, 'yaw', 'fork').T
    assert yaw.max() == pytest.approx(1.2296222, abs=6e-8)
    assert [fork.min(), fork.max()] == pytest.approx([-0.358997, 0.354690], abs=6e-7)
    assert yaw[-1] == pytest.approx(2.2e-6, abs=6e-8)
