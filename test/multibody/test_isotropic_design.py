"""Isotropic layouts by formula: checked by singular values; the source's rows are members of the families."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.multibody.isotropic_design import (
    Design,
    ImpossibleDesignError,
    condition_map,
    freedom,
    general,
    mirrored,
    rectangles,
    require_possible,
    stars,
    together,
)
from dyn_nodes.multibody.isotropy import characteristic_length, condition_number, scaled
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel
from dyn_nodes.studies.reference import tabulated

SIZES = (0.1, 0.01)  # radii of wheel and roller, m


def singular_values(design: Design) -> np.ndarray:
    """Return the singular values of the scaled matrix, from the wheels alone."""
    L = OmniVehicle(design.layout.wheels).L / np.array([design.layout.length, 1.0, 1.0])
    return np.linalg.svd(L, compute_uv=False)


@pytest.mark.pins('saha-1991/6.4/condition')
@pytest.mark.parametrize(('count', 'roller', 'sigma'), [(3, 90, 12.247449), (6, 90, 17.320508), (4, 45, 20.0)])
def test_stars_with_the_greatest_length_agree_with_the_table(count, roller, sigma):
    (design,) = stars(count, np.deg2rad(roller), *SIZES, 0.3)
    assert design.layout.length == pytest.approx(0.424264, abs=1e-6)
    assert singular_values(design) == pytest.approx([sigma] * 3, abs=1e-6)


@pytest.mark.parametrize(('ratio', 'xi'), [(1.0, 45.0), (2.0, tabulated('saha-1991/6.4/isotropic_angles')[0][1])])
def test_stars_of_a_specified_ratio_have_the_angles_of_the_specification(ratio, xi):
    result = stars(3, 0.5 * np.pi, *SIZES, 0.3, 0.3 / ratio)
    angles = sorted(np.degrees((d.layout.wheels[0].roller + d.layout.wheels[0].hub) % np.pi) for d in result)
    assert angles == pytest.approx([xi, 180.0 - xi], abs=1e-4)
    for design in result:
        assert singular_values(design) == pytest.approx([12.247449] * 3, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(3, 9),
    roller=st.floats(5.0, 175.0),
    distance=st.floats(0.05, 3.0),
    ratio=st.floats(np.sqrt(0.5), 8.0),
)
def test_every_star_is_isotropic_by_singular_values(count, roller, distance, ratio):
    for design in stars(count, np.deg2rad(roller), *SIZES, distance, distance / ratio):
        values = singular_values(design)
        assert values[0] / values[-1] == pytest.approx(1.0, abs=1e-9)
        assert design.layout.sigma**2 == pytest.approx(count / (2 * (0.1 * np.sin(np.deg2rad(roller))) ** 2), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(count=st.integers(3, 9), seed=st.integers(0, 10_000), spread=st.booleans())
def test_every_layout_without_symmetry_is_isotropic_by_singular_values(count, seed, spread):
    rollers = np.random.default_rng(seed).uniform(np.pi / 4, 3 * np.pi / 4, count) if spread else [0.8] * count
    for design in itertools.islice(general(rollers, *SIZES, 0.5, 0.35, seed), 2):
        values = singular_values(design)
        assert values[0] / values[-1] == pytest.approx(1.0, abs=1e-9)
        assert sorted(wheel.roller for wheel in design.layout.wheels) == pytest.approx(sorted(rollers))
        assert [wheel.distance for wheel in design.layout.wheels] == [0.5] * count


@pytest.mark.parametrize('count', [3, 4, 5, 6])
def test_isotropic_layouts_have_the_documented_number_of_parameters(count):
    """The number of parameters is the corank of the conditions in line directions and levers, less the rotation."""
    design = next(general([0.8] * count, *SIZES, 0.5, 0.4, 3))
    wheels = design.layout.wheels
    lines = np.array([w.hub + w.roller for w in wheels])
    levers = np.array([w.distance * np.sin(w.hub + w.roller - w.direction) for w in wheels]) / design.layout.length

    def conditions(x):
        g, h = x[:count], x[count:]
        closing = np.exp(2j * g).sum()
        balance = (h * np.exp(1j * g)).sum()
        return np.array([closing.real, closing.imag, balance.real, balance.imag, (h**2).sum() - 0.5 * count])

    x = np.r_[lines, levers]
    assert conditions(x) == pytest.approx(0.0, abs=1e-12)
    jacobian = np.array([(conditions(x + 1e-6 * e) - conditions(x - 1e-6 * e)) / 2e-6 for e in np.eye(2 * count)])
    assert 2 * count - np.linalg.matrix_rank(jacobian, tol=1e-6) - 1 == freedom(count)


def test_table_4_2_is_a_rectangle_with_a_short_length_and_a_common_mecanum_vehicle_has_a_long_one():
    diamond, cross = rectangles(0.2, 0.3, *SIZES)
    assert (diamond.layout.length, cross.layout.length) == pytest.approx((0.5, 0.1))
    for design in (diamond, cross):
        assert singular_values(design) == pytest.approx([20.0] * 3, abs=1e-12)
        assert len({round(np.cos(2 * wheel.hub), 9) for wheel in design.layout.wheels}) == 1, 'the hubs are parallel'
    assert [design.family for design in rectangles(0.3, 0.3, *SIZES)] == ['rectangle O']


def test_layouts_of_one_length_stay_isotropic_combined_and_mirrored():
    three = stars(3, 0.5 * np.pi, *SIZES, 0.3, 0.35)[0].layout
    four = stars(4, 0.25 * np.pi, *SIZES, 0.5, 0.35)[1].layout
    assert together(three, four).condition == pytest.approx(1.0, abs=1e-12)
    assert mirrored(three).condition == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ImpossibleDesignError, match='of one characteristic length'):
        together(three, stars(3, 0.5 * np.pi, *SIZES, 0.3)[0].layout)


def test_moving_a_wheel_along_its_line_has_no_effect():
    layout = stars(4, 0.25 * np.pi, *SIZES, 0.3)[0].layout
    w = layout.wheels[0]
    line = w.hub + w.roller
    x = w.distance * np.cos(w.direction) + 0.2 * np.cos(line)
    y = w.distance * np.sin(w.direction) + 0.2 * np.sin(line)
    slid = OmniWheel(w.roller, w.hub, np.arctan2(y, x), np.hypot(x, y), *SIZES)
    moved = OmniVehicle([slid, *layout.wheels[1:]]).L
    assert moved == pytest.approx(OmniVehicle(layout.wheels).L, abs=1e-12)


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (([1.0, 1.0], 0.1), '2 wheels: expected three or more'),
        (([1.0, 1.0, 0.0], 0.1), 'wheel 3: rollers along the hub'),
        (([0.3, 1.5, 1.5], 0.1), 'wheel 1 outweighs all others'),
        (([1.0] * 4, 0.1, 0.3, 0.43), 'expected 1/sqrt.2. = 0.7071 or more'),
        (([1.0] * 4, -0.1), 'radius: expected a number > 0 m'),
    ],
)
def test_impossible_designs_are_rejected_with_the_reason(arguments, reason):
    with pytest.raises(ImpossibleDesignError, match=reason):
        require_possible(*arguments)


def test_a_wheel_that_outweighs_the_others_prevents_isotropy():
    """Every layout of such wheels has a condition number above 1, because of the weights alone."""
    random = np.random.default_rng(1)
    best = min(
        condition_number(scaled(L, characteristic_length(L)))
        for L in (
            OmniVehicle([OmniWheel(a, *random.uniform(-3, 3, 2), 0.3, *SIZES) for a in (0.3, 1.5, 1.5)]).L
            for _ in range(300)
        )
        if np.isfinite(condition_number(L))
    )
    assert best > 1.5


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), ratio=st.floats(0.2, 0.7))
def test_wheels_too_near_never_exceed_the_documented_bound(seed, ratio):
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 7))
    wheels = [OmniWheel(1.0, *random.uniform(-np.pi, np.pi, 2), ratio, *SIZES) for _ in range(count)]
    assert condition_number(scaled(OmniVehicle(wheels).L, 1.0)) >= 1.0 / (np.sqrt(2.0) * ratio) * (1 - 1e-12)


@pytest.mark.parametrize('count', [3, 4, 7])
def test_the_map_agrees_with_singular_values_of_vehicles_and_is_one_on_the_curve(count):
    ratios, angles = np.array([0.5, 1.0, 2.2]), np.array([0.3, 0.25 * np.pi, 1.9])
    values = condition_map(ratios, angles, count)
    assert values[1, 1] == pytest.approx(1.0, abs=1e-12)
    for i, k in np.ndindex(values.shape):
        wheels = [
            OmniWheel(0.9, angles[i] - 0.9 + t, t, ratios[k], *SIZES) for t in 2 * np.pi / count * np.arange(count)
        ]
        assert values[i, k] == pytest.approx(condition_number(OmniVehicle(wheels).L), rel=1e-12)
