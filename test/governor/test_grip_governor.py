"""The grip governor on a block with four wheels with reactions in closed form: sliding, lifting, braking."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits, WheelDrive
from dyn_nodes.governor.grip_governor import GripGovernor
from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.nodes.machines import machine_of

G, MU, DT = 9.81, 0.6, 0.01
SETTINGS = GripSettings(friction_use=0.8, load_share=0.1, least_braking=0.3, overshoot=1.0)
HOLDS = 0.8 * MU * G


class Block:
    """A block of 1 kg on four wheels, 1 m apart, its centre of mass at a height; reactions of least norm."""

    names = ('front_left', 'front_right', 'rear_left', 'rear_right')
    points = np.array(list(itertools.product((0.5, -0.5), (0.5, -0.5))))

    def __init__(self, height=0.1, friction=MU, shift=0.0):
        self.height, self.shift = height, shift
        self.friction = np.full(4, friction)

    def reactions(self, twists, accelerations):
        ax = accelerations[:, 0] - twists[:, 2] * twists[:, 1]
        ay = accelerations[:, 1] + twists[:, 2] * twists[:, 0]
        turn = 0.2 * accelerations[:, 2]
        forces = np.empty((1, len(twists), 4, 3))
        for k, (x, y) in enumerate(self.points):
            forces[0, :, k, 0] = 0.25 * ax - 0.5 * turn * y
            forces[0, :, k, 1] = 0.25 * ay + 0.5 * turn * x
            forces[0, :, k, 2] = 0.25 * G + (self.shift * G - self.height * ax) * x - self.height * ay * y
        return forces


class Gone(Block):
    """A block without finite reactions."""

    def reactions(self, twists, accelerations):
        return np.full((1, len(twists), 4, 3), np.nan)


def governor(model=None, settings=SETTINGS):
    return GripGovernor(model or Block(), settings)


def step(law, before, goal, acceleration=20.0):
    """Return one step towards a goal, and to rest, at an acceleration."""
    before, goal = np.array(before, float), np.array(goal, float)

    def towards(end):
        change = end - before
        size = np.linalg.norm(change)
        return end if size <= acceleration * DT else before + change * (acceleration * DT / size)

    goal = law.reachable(goal)
    return law.step(before, towards(goal), towards(np.zeros(3)), goal, DT)


def test_a_motion_within_the_grip_passes_unchanged():
    law = governor()
    assert step(law, [1.0, 0.0, 0.0], [1.02, 0.01, 0.03]).tolist() == [1.02, 0.01, 0.03]
    assert not law.verdict.held
    assert law.verdict.text == ''


def test_an_acceleration_is_limited_to_friction_less_the_reserve():
    law = governor(Block(height=0.0))
    twist = step(law, [1.0, 0.0, 0.0], [5.0, 0.0, 0.0])
    assert (twist[0] - 1.0) / DT == pytest.approx(HOLDS, rel=1e-6)
    assert law.verdict.wheel in Block.names
    assert not law.verdict.lifts
    assert law.verdict.friction_use == pytest.approx(20.0 / (MU * G))
    assert 'would slide' in law.verdict.text


def test_the_overshoot_of_springs_is_left_as_a_reserve():
    law = governor(Block(height=0.0), replace(SETTINGS, overshoot=1.25))
    assert (step(law, [1.0, 0.0, 0.0], [5.0, 0.0, 0.0])[0] - 1.0) / DT == pytest.approx(HOLDS / 1.25, rel=1e-6)


def test_a_high_centre_of_mass_lifts_before_it_slides():
    law = governor(Block(height=0.8, friction=20.0))
    twist = step(law, [1.0, 0.0, 0.0], [5.0, 0.0, 0.0])
    # 0.25 g - h a / 2 = 0.1 g / 4
    assert (twist[0] - 1.0) / DT == pytest.approx(0.225 * G / 0.4, rel=0.01)
    assert law.verdict.lifts
    assert law.verdict.wheel.startswith('front')


def test_a_turn_that_is_too_fast_is_slowed_on_the_same_curve():
    law = governor(Block(height=0.0))
    goal = law.reachable(np.array([4.0, 0.0, 2.0]))
    assert goal[2] / goal[0] == pytest.approx(0.5)
    assert goal[0] * goal[2] == pytest.approx(HOLDS, rel=0.02)
    assert goal[0] * goal[2] < HOLDS
    step(law, goal, [4.0, 0.0, 2.0])
    assert law.verdict.speed == pytest.approx(goal[0] / 4.0)
    assert '% of the speed' in law.verdict.text


def test_braking_is_limited_too_but_never_below_the_least():
    law = governor(Block(height=0.0))
    assert (1.0 - step(law, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])[0]) / DT == pytest.approx(HOLDS, rel=1e-6)
    ice = governor(Block(height=0.0, friction=0.02))
    assert (1.0 - step(ice, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])[0]) / DT == pytest.approx(0.3)


def test_an_impossible_twist_is_brought_to_rest_for_any_command():
    law = governor(Block(height=0.0))
    twist = np.array([4.0, 0.0, 2.0])
    for _ in range(300):
        after = step(law, twist, [4.0, 0.0, 2.0])
        assert np.linalg.norm(after) < np.linalg.norm(twist) or after[0] * after[2] <= HOLDS
        twist = after
    assert twist[0] * twist[2] == pytest.approx(HOLDS, rel=0.05)


def test_a_vehicle_does_not_drive_in_a_posture_that_tips_at_rest():
    law = governor(Block(shift=0.6))
    assert step(law, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]).tolist() == [0.0, 0.0, 0.0]
    assert law.verdict.lifts


def test_reactions_that_are_not_finite_allow_braking_only_without_a_limit():
    law = governor(Gone())
    assert step(law, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]).tolist() == [0.0, 0.0, 0.0]
    twist = step(law, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert (1.0 - twist[0]) / DT == pytest.approx(20.0)


def test_a_vehicle_with_an_unknown_arm_motion_is_brought_to_rest_for_any_command():
    law = governor()
    law.halts = True
    assert step(law, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]).tolist() == [0.0, 0.0, 0.0]
    assert 0.0 < step(law, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])[0] < 1.0
    law.acts = False
    assert step(law, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]).tolist() == [1.0, 0.0, 0.0]


def test_reporting_only_changes_nothing_and_names_the_same_wheel():
    acting, watching = governor(), governor()
    watching.acts = False
    before, goal = [1.0, 0.0, 0.5], [5.0, 1.0, 2.0]
    step(acting, before, goal)
    assert step(watching, before, goal, 1e4).tolist() == goal
    assert watching.verdict.held
    assert watching.verdict.speed == acting.verdict.speed


def test_under_random_twists_every_step_holds_or_brakes():
    rng = np.random.default_rng(3)
    law = governor(Block(height=0.5))
    twist = np.zeros(3)
    for _ in range(15):
        goal = rng.uniform(-4.0, 4.0, 3)
        for _ in range(20):
            after = step(law, twist, goal)
            margin = law.margins(law.model.reactions(after[None], (after - twist)[None] / DT)).min()
            assert margin > -1e-4 * G or np.linalg.norm(after) < np.linalg.norm(twist)
            kept = law.margins(law.model.reactions(after[None], np.zeros((1, 3)))).min()
            assert kept > -1e-4 * G
            twist = after
    assert np.linalg.norm(twist) > 0.0


def test_the_drive_of_a_vehicle_follows_its_governor():
    base = WheelBase.of(machine_of('agv_mecanum', ''))
    drives = [WheelDrive(base, DriveLimits(linear_acceleration=20.0)) for _ in range(2)]
    drives[1].governor = governor(Block(height=0.0))
    for _ in range(4):
        free, governed = (drive.step(np.array([1.0, 0.0, 0.0]), DT, np.zeros(4)) for drive in drives)
    assert free.acceleration[0] == pytest.approx(20.0)
    assert governed.acceleration[0] == pytest.approx(HOLDS, rel=1e-6)
    assert governed.wheel_accelerations == pytest.approx(free.wheel_accelerations * HOLDS / 20.0, rel=1e-6)


class Rounded(Block):
    """A block with round-off that depends on the number of twists."""

    def reactions(self, twists, accelerations):
        forces = super().reactions(twists, accelerations)
        forces[..., 2] -= 1e-14 * len(twists)
        return forces


@pytest.mark.parametrize('model', [Block, Rounded])
def test_round_off_does_not_reduce_braking_that_improves_stability(model):
    """The rear wheels are below the reserve; braking from driving backwards loads them."""
    law = governor(model(height=0.2, friction=20.0, shift=0.47))
    before = np.array([-1.0, 0.0, 0.0])
    assert law._margin(before[None], np.zeros((1, 3)))[0] < 0.0
    twist = step(law, before, [0.0, 0.0, 0.0], acceleration=3.0)
    assert (twist[0] - before[0]) / DT == pytest.approx(3.0)


class ArmGoesOut(Block):
    """The block is stable now; with its arm extended, its centre of mass is so far ahead that the grip is small."""

    def reactions(self, twists, accelerations):
        coming = Block(height=self.height, shift=0.42)
        return np.concatenate([super().reactions(twists, accelerations), coming.reactions(twists, accelerations)])


def test_before_the_arm_arrives_the_vehicle_brakes_within_its_present_grip():
    law = governor(ArmGoesOut(height=0.5))
    before = np.array([1.0, 0.0, 1.5])
    assert law._kept(before[None])[0] < 0.0, 'in the posture that is coming'
    twist = step(law, before, [1.0, 0.0, 1.5])
    braking = float(np.linalg.norm(twist - before)) / DT
    assert braking > 5.0 * SETTINGS.least_braking
    now = Block(height=0.5).reactions(twist[None], ((twist - before) / DT)[None])
    assert law.margins(now).min() >= -1e-6
