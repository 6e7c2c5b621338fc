from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.forces.terrain import ground_at
from dyn_nodes.model.terrain import Rise

BUMP = Rise('bump', 'bump', 1.0, 0.5, 0.3, 0.8, 0.1, 1.0)
RAMP = Rise('ramp', 'ramp', -1.0, 0.0, -1.0, 2.0, 0.3)


def numbers(ground):
    return [float(value) for value in ground]


def test_a_bump_is_highest_in_its_middle_and_flat_at_both_ends():
    c, s = math.cos(0.3), math.sin(0.3)
    for along, height in ((0.0, 0.0), (0.2, 0.05), (0.4, 0.1), (0.8, 0.0), (1.5, 0.0)):
        found = numbers(ground_at((BUMP,), 1.0 + along * c, 0.5 + along * s))
        assert found[0] == pytest.approx(height, abs=1e-12)
        if along in (0.0, 0.4, 0.8, 1.5):
            assert found[1:] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_ramp_stays_up_and_has_no_sides():
    c, s = math.cos(-1.0), math.sin(-1.0)
    for along, height in ((-1.0, 0.0), (1.0, 0.15), (2.0, 0.3), (50.0, 0.3)):
        assert numbers(ground_at((RAMP,), -1.0 + along * c - 20 * s, along * s + 20 * c))[0] == pytest.approx(height)


def test_a_bump_ends_at_its_sides():
    c, s = math.cos(0.3), math.sin(0.3)
    for across, share in ((0.5, 1.0), (0.7, 0.5), (0.91, 0.0), (-0.7, 0.5)):
        x, y = 1.0 + 0.4 * c - across * s, 0.5 + 0.4 * s + across * c
        assert numbers(ground_at((BUMP,), x, y))[0] == pytest.approx(0.1 * share, abs=1e-12)


@given(x=st.floats(-3, 4), y=st.floats(-3, 4))
def test_slopes_are_the_derivatives_of_the_height(x, y):
    step, rises = 1e-5, (BUMP, RAMP)
    _, slope_x, slope_y = numbers(ground_at(rises, x, y))
    ahead, behind = (numbers(ground_at(rises, x + d, y))[0] for d in (step, -step))
    assert slope_x == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)
    ahead, behind = (numbers(ground_at(rises, x, y + d))[0] for d in (step, -step))
    assert slope_y == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)


@given(x=st.floats(-3, 4), y=st.floats(-3, 4))
def test_the_tangent_plane_goes_through_the_ground(x, y):
    ground = ground_at((BUMP, RAMP), x, y)
    normal = np.array([float(n) for n in ground.normal])
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert normal @ [x, y, float(ground.height)] == pytest.approx(float(ground.plane_offset(x, y)), abs=1e-12)
