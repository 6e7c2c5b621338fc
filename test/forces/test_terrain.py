from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.elements.forces.terrain import ground_at
from dyn_nodes.model.terrain import Rise

BUMP = Rise('bump', 'bump', 1.0, 0.5, 0.3, 0.8, 0.1, 1.0)
HOLLOW = Rise('hollow', 'bump', -0.3, 0.2, 2.2, 1.1, -0.2, 0.4)
RAMP = Rise('ramp', 'ramp', -1.0, 0.0, -1.0, 2.0, 0.3)


def numbers(ground):
    return [float(value) for value in ground]


def test_a_bump_is_highest_in_its_middle_and_flat_at_both_ends():
    c, s = math.cos(0.3), math.sin(0.3)
    for along, height in ((0.0, 0.0), (0.2, 0.05), (0.4, 0.1), (0.8, 0.0), (1.5, 0.0)):
        ground = numbers(ground_at((BUMP,), 1.0 + along * c, 0.5 + along * s))
        assert ground[0] == pytest.approx(height, abs=1e-12)
        if along in (0.0, 0.4, 0.8, 1.5):
            assert ground[1:] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_ramp_stays_up_and_has_no_sides():
    c, s = math.cos(-1.0), math.sin(-1.0)
    for along, height in ((-1.0, 0.0), (1.0, 0.15), (2.0, 0.3), (50.0, 0.3)):
        assert numbers(ground_at((RAMP,), -1.0 + along * c - 20 * s, along * s + 20 * c))[0] == pytest.approx(height)


def test_a_bump_ends_at_its_sides():
    c, s = math.cos(0.3), math.sin(0.3)
    for across, share in ((0.5, 1.0), (0.7, 0.5), (0.91, 0.0), (-0.7, 0.5)):
        x, y = 1.0 + 0.4 * c - across * s, 0.5 + 0.4 * s + across * c
        assert numbers(ground_at((BUMP,), x, y))[0] == pytest.approx(0.1 * share, abs=1e-12)


def beside(rise, along, across):
    """Return (x, y) at shares of a rise: `along` from start to end, `across` from the middle to its side."""
    ahead = along * rise.length
    aside = across * (0.5 * rise.width + 0.5 * rise.length)
    c, s = math.cos(rise.heading), math.sin(rise.heading)
    return rise.x + ahead * c - aside * s, rise.y + ahead * s + aside * c


def differences(rises, x, y, step=1e-5):
    """Return central differences of the height along x and y."""
    sides = ((step, 0.0), (0.0, step))
    return [
        (numbers(ground_at(rises, x + dx, y + dy))[0] - numbers(ground_at(rises, x - dx, y - dy))[0]) / (2.0 * step)
        for dx, dy in sides
    ]


INSIDE = st.floats(0.02, 0.98)


@pytest.mark.parametrize('region', ['side', 'middle', 'beside', 'anywhere'])
@pytest.mark.parametrize('other', [(), (RAMP,)])
@pytest.mark.parametrize('bump', [BUMP, HOLLOW])
@given(along=INSIDE, part=INSIDE, positive=st.booleans())
@settings(max_examples=25)
def test_slopes_are_the_derivatives_of_the_height(region, other, bump, along, part, positive):
    """Points on the slopes and the top of a bump, beside it, and anywhere around it."""
    edge = bump.width / (bump.width + bump.length)
    across = {'side': edge + part * (1.0 - edge), 'middle': part * edge, 'beside': 1.0 + part, 'anywhere': 2.0 * part}
    ahead = 3.0 * along - 1.0 if region == 'anywhere' else along
    x, y = beside(bump, ahead, across[region] if positive else -across[region])
    ground = numbers(ground_at((bump, *other), x, y))
    assert ground[1:] == pytest.approx(differences((bump, *other), x, y), abs=1e-4)
    if region == 'side':  # the height decreases outwards
        c, s = math.cos(bump.heading), math.sin(bump.heading)
        alone = numbers(ground_at((bump,), x, y))
        assert (c * alone[2] - s * alone[1]) * bump.height * (1.0 if positive else -1.0) < 0.0


@given(along=st.floats(-0.5, 1.5), across=st.floats(-3, 3))
def test_slopes_of_a_ramp_are_the_derivatives_of_its_height(along, across):
    x, y = beside(replace(RAMP, width=1.0), along, across)
    assert numbers(ground_at((RAMP,), x, y))[1:] == pytest.approx(differences((RAMP,), x, y), abs=1e-4)


@given(along=st.floats(-0.2, 1.2), across=st.floats(-1.2, 1.2))
def test_the_tangent_plane_touches_the_ground(along, across):
    x, y = beside(BUMP, along, across)
    ground = ground_at((BUMP, RAMP), x, y)
    normal = np.array([float(n) for n in ground.normal])
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert normal @ [x, y, float(ground.height)] == pytest.approx(float(ground.plane_offset(x, y)), abs=1e-12)
