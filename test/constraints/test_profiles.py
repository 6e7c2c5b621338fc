"""Prescribed motions: values in closed form, continuous derivatives, numbers that change between runs."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.constraints import ConstraintBlocks, Lock, Prescribed, assemble, projected_velocity
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.model.constraint import Profile
from dyn_nodes.multibody import TreeBuilder


def derivatives(profile, times):
    """Return (3, t) value, rate and acceleration."""
    t = ca.SX.sym('t')
    value = ca.SX(motion_of(profile)(t))
    rate = ca.jacobian(value, t)
    function = ca.Function('motion', [t], [ca.vertcat(value, rate, ca.jacobian(rate, t))])
    return np.array(function(np.asarray(times)[None, :]))


def test_a_sine_a_polynomial_and_a_bump_follow_their_formulas():
    times = np.array([0.0, 0.55, 1.3])
    sine = Profile('sine', offset=1.0, amplitude=0.2, frequency=0.5, phase=0.3)
    assert derivatives(sine, times)[0] == pytest.approx(1.0 + 0.2 * np.sin(np.pi * times + 0.3))
    assert derivatives(sine, times)[1] == pytest.approx(0.2 * np.pi * np.cos(np.pi * times + 0.3))
    polynomial = Profile('polynomial', coefficients=(1.0, -2.0, 0.5))
    assert derivatives(polynomial, times) == pytest.approx(
        np.array([1 - 2 * times + 0.5 * times**2, times - 2.0, np.ones(3)])
    )
    bump = Profile('bump', height=0.02, start=0.5, duration=0.2)
    assert derivatives(bump, [0.4, 0.55, 0.6, 0.8])[0] == pytest.approx([0, 0.005, 0.02, 0], abs=1e-15)


def test_two_points_are_joined_with_least_jerk():
    """10 s^3 - 15 s^4 + 6 s^5, the only quintic at rest at both ends."""
    s = np.linspace(0, 1, 11)
    values = derivatives(Profile('points', times=(1.0, 3.0), values=(0.0, 0.5)), 1 + 2 * s)
    assert values[0] == pytest.approx(0.5 * (10 * s**3 - 15 * s**4 + 6 * s**5), abs=1e-12)


@pytest.mark.parametrize(
    'profile',
    [
        Profile('points', times=(0.5, 1.0, 1.2, 2.0), values=(0.0, 0.3, 0.1, -0.2)),
        Profile('bump', height=0.5, start=0.5, duration=1.5),
    ],
    ids=['points', 'bump'],
)
def test_derivatives_are_continuous_and_zero_outside(profile):
    knots = np.array(profile.times or (0.5, 2.0))
    h = 1e-9
    assert derivatives(profile, knots - h) == pytest.approx(derivatives(profile, knots + h), abs=1e-6)
    assert derivatives(profile, [0.0, 5.0])[1:] == pytest.approx(np.zeros((2, 2)))
    for time, value in zip(profile.times, profile.values):
        assert derivatives(profile, [time])[0] == pytest.approx([value], abs=1e-12)


def test_numbers_of_a_motion_are_parameters():
    builder = TreeBuilder()
    builder.add_joint('slide', -1, 'prismatic', (1, 0, 0), mass=1.0)
    tree = builder.build()
    moved = Prescribed(
        Lock('drive', 'slide'), lambda time, start, speed: start + speed * time, {'start': 0.1, 'speed': 2}
    )
    blocks = ConstraintBlocks(tree, [moved])
    assert assemble(blocks, [0.0]) == pytest.approx([0.1])
    changed = {'drive/start': 0.4, 'drive/speed': -1.0, 'time': 0.5}
    assert assemble(blocks, [0.0], changed) == pytest.approx([-0.1])
    assert projected_velocity(blocks, [-0.1], [0.0], changed) == pytest.approx([-1.0])
