"""Isotropic layouts: tables of saha-1991's specification (6.4) and the isotropy conditions."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.multibody.isotropy import (
    characteristic_length,
    condition_number,
    isotropic_angle,
    isotropy_residual,
    scaled,
    symmetric_layout,
    synthesize,
    wheel_condition,
)
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel
from dyn_nodes.studies.reference import tabulated


def rows(*table) -> np.ndarray:
    """Return hub rates per twist of wheels (alpha, beta, delta in degrees, d)."""
    return OmniVehicle([OmniWheel(*np.deg2rad(row[:3]), row[3], 0.1, 0.01) for row in table]).L


THREE = rows(*((90, b, b, 0.3) for b in (90, 210, 330)))
SIX = rows(*((90, b, b, 0.3) for b in (90, 210, 330, 30, 150, 270)))
FOUR = rows((45, 0, 56.3, 0.36), (135, 180, 123.7, 0.36), (45, 180, 236.3, 0.36), (135, 0, 303.7, 0.36))
ISOTROPIC_FOUR = rows((45, 0, -45, 0.3), (45, 90, 45, 0.3), (-135, 180, 135, 0.3), (-135, 270, 225, 0.3))
D, ANGLE = np.hypot(0.2, 0.3), np.degrees(np.arctan2(0.3, 0.2))
EXACT_FOUR = rows((45, 0, ANGLE, D), (135, 180, 180 - ANGLE, D), (45, 180, 180 + ANGLE, D), (135, 0, 360 - ANGLE, D))


@pytest.mark.pins('saha-1991/6.4/condition')
@pytest.mark.parametrize(
    ('L', 'two', 'frobenius', 'length', 'values', 'scaled_two', 'scaled_frobenius'),
    [
        (THREE, 2.357023, 1.352821, 0.3 * np.sqrt(2), (12.247449,) * 3, 1.0, 1.0),
        (SIX, 2.357023, 1.352821, 0.3 * np.sqrt(2), (17.320508,) * 3, 1.0, 1.0),
        (FOUR, 10.024109, 4.784064, 0.1, (20, 20, 19.951898), 1.002411, 1.0000026),
        (EXACT_FOUR, 10.0, 4.772840, 0.1, (20,) * 3, 1.0, 1.0),
        (FOUR, 10.024109, 4.784064, 0.36 * np.sqrt(2), (20, 20, 3.918923), 5.103443, 2.520297),
        (ISOTROPIC_FOUR, 2.357023, 1.352821, 0.3 * np.sqrt(2), (20,) * 3, 1.0, 1.0),
        (FOUR[:3], 14.211809, 5.859258, 0.1, (20, 19.967962, 9.991955), 2.001610, 1.224748),
        (SIX[1:5], 2.886751, 1.411242, 0.3 * np.sqrt(2), (17.320508, 14.142136, 10), 1.732051, 1.105542),
    ],
)
def test_condition_numbers_agree_with_the_table(L, two, frobenius, length, values, scaled_two, scaled_frobenius):
    assert condition_number(L) == pytest.approx(two, abs=1e-6)
    assert condition_number(L, 'frobenius') == pytest.approx(frobenius, abs=1e-6)
    matrix = scaled(L, length)
    assert np.linalg.svd(matrix, compute_uv=False) == pytest.approx(values, abs=2e-6)
    assert condition_number(matrix) == pytest.approx(scaled_two, abs=2e-6)
    assert condition_number(matrix, 'frobenius') == pytest.approx(scaled_frobenius, abs=1e-6)


@pytest.mark.parametrize(
    ('L', 'length', 'sigma'), [(THREE, 0.42426407, 12.2474487), (ISOTROPIC_FOUR, 0.42426407, 20.0)]
)
def test_the_characteristic_length_makes_a_layout_isotropic(L, length, sigma):
    assert characteristic_length(L) == pytest.approx(length, abs=1e-8)
    assert isotropy_residual(L, length, sigma) == pytest.approx(np.zeros(6), abs=1e-5)
    assert isotropy_residual(L, characteristic_length(L)) == pytest.approx(np.zeros(6), abs=1e-10)


@pytest.mark.pins('saha-1991/6.4/isotropic_angles')
@pytest.mark.parametrize(('ratio', 'degrees'), [(1.0, 45.0), (2.0, 20.7048110546), (np.sqrt(0.5), 90.0)])
def test_the_angle_of_the_source_makes_three_wheels_isotropic(ratio, degrees):
    xi = isotropic_angle(ratio)
    assert np.degrees(xi) == pytest.approx(degrees, abs=1e-6)
    wheels = symmetric_layout(3, np.pi / 2, xi - np.pi / 2, 0.0, ratio * 0.2, 0.1, 0.01)
    matrix = scaled(OmniVehicle(wheels).L, 0.2)
    assert np.linalg.svd(matrix, compute_uv=False) == pytest.approx([12.247449] * 3, abs=1e-6)
    assert condition_number(matrix) - 1 < 1e-12


@pytest.mark.pins('saha-1991/6.4/isotropic_angles')
def test_wheels_too_near_have_no_isotropic_angle():
    with pytest.raises(ValueError, match='no isotropic angle'):
        isotropic_angle(0.5)
    best = symmetric_layout(3, np.pi / 2, 0.0, 0.0, 0.5, 0.1, 0.01)
    assert condition_number(scaled(OmniVehicle(best).L, 1.0)) == pytest.approx(np.sqrt(2), abs=1e-9)


def test_three_wheels_too_near_have_two_singular_values_of_an_isotropic_layout():
    wheels = symmetric_layout(3, np.pi / 2, 0.0, 0.0, 0.5, 0.1, 0.01)
    values = np.linalg.svd(scaled(OmniVehicle(wheels).L, 1.0), compute_uv=False)
    assert values == pytest.approx(tabulated('saha-1991/6.4/too_near'), abs=6e-7)


@pytest.mark.pins('saha-1991/6.4/short_length')
def test_parallel_axles_are_isotropic_for_a_short_length():
    ratio = D / 0.1
    assert ratio == pytest.approx(3.61, abs=5e-3)
    assert np.degrees(isotropic_angle(ratio)) == pytest.approx(11.31, abs=5e-3)
    for roller, hub, direction in ((45, 0, ANGLE), (135, 180, 180 - ANGLE)):
        turned = roller + hub - direction
        assert abs(np.sin(np.deg2rad(turned))) == pytest.approx(np.sin(isotropic_angle(ratio)), abs=1e-12)


@pytest.mark.parametrize(('degrees', 'two', 'frobenius'), [(90.0, 10.0, 5.05), (45.0, 14.2132, 7.14178)])
def test_one_wheel_alone_is_never_isotropic(degrees, two, frobenius):
    roller = np.deg2rad(degrees)
    assert wheel_condition(roller, 0.1) == pytest.approx(two, abs=1e-4)
    assert wheel_condition(roller, 0.1, 'frobenius') == pytest.approx(frobenius, abs=1e-5)
    assert wheel_condition(0.0, 0.1) == float('inf')
    assert wheel_condition(np.pi / 2, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize('offset', [0.0, 90.0])
def test_singular_layouts_are_reported(offset):
    # all axes of rollers pass through the centre, or are parallel
    same = rows(*((90, d - 90, d, 0.3) for d in (0, 120, 240))) if not offset else rows(
        *((90, b, d, 0.3) for b, d in ((0, 10), (180, 130), (0, 250)))
    )  # fmt: skip
    assert condition_number(same) == float('inf')
    with pytest.raises(ValueError, match='rank 3'):
        characteristic_length(same)


@pytest.mark.parametrize('count', [3, 4, 5, 6])
def test_synthesis_turns_hubs_and_rollers_until_the_layout_is_isotropic(count):
    rng = np.random.default_rng(count)
    centres = zip(np.sort(rng.uniform(0, 2 * np.pi, count)), rng.uniform(0.25, 0.4, count))
    wheels = [OmniWheel(1.2, 0.3 * k, angle, d, 0.1, 0.01) for k, (angle, d) in enumerate(centres)]
    layout = synthesize(wheels)
    assert layout.isotropic
    matrix = scaled(OmniVehicle(layout.wheels).L, layout.length)
    assert matrix.T @ matrix == pytest.approx(layout.sigma**2 * np.eye(3), abs=1e-6 * layout.sigma**2)
    assert [w.distance for w in layout.wheels] == [w.distance for w in wheels]


def test_synthesis_needs_three_wheels():
    with pytest.raises(ValueError, match='three or more wheels, found 2'):
        synthesize(symmetric_layout(2, 1.0, 0.0, 0.0, 0.3, 0.1, 0.01))
