"""Servos stay within the ranges, speeds and efforts of their joints."""

from __future__ import annotations

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.control.drive_limits import USED, DriveLimits, ServoInput, efforts_within, servo_output
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.nodes.joint_targets import JointTargets
from dyn_nodes.simulation.plant import Plant

PERIOD = 5e-3
MACHINES = ['log_loader', 'log_loader_grapple', 'telehandler', 'forwarder', 'arm_a6', 'arm_4r']
BEYOND = 1.001
"""Tolerance of a limit: 0.1 %."""


def system_of(seed, count):
    """Return a random mass matrix's response, efforts without acceleration, and rates."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count, count))
    return root @ root.T + 0.3 * np.eye(count), rng.normal(size=count), rng.normal(size=count), rng


@reaches(limited=12, unlimited=4)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.01, 100.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_effort_exceeds_its_limit_and_none_is_limited_unnecessarily(seed, count, size):
    response, still, rate, rng = system_of(seed, count)
    wanted, most = size * rng.normal(size=count), rng.uniform(0.5, 3.0, count)
    efforts, limited = efforts_within(wanted, rate, still, response, most)
    assert (np.abs(efforts) <= most).all()
    assert limited.any() == bool((np.abs(still + np.linalg.solve(response, wanted)) > most).any())
    reached('limited', limited.any())
    reached('unlimited', not limited.any())
    if not limited.any():
        np.testing.assert_allclose(response @ (efforts - still), wanted, atol=1e-9 * size)


def test_a_joint_that_speeds_up_does_not_drive_another_one_beyond_its_speed():
    """Two coupled joints: the second one's drive is weak, so the first speeds up by less than it could."""
    response = np.array([[1.0, -0.8], [-0.8, 1.0]])
    wanted, rate, most = np.array([50.0, 0.0]), np.array([1.0, 1.0]), np.array([10.0, 1.0])
    efforts, limited = efforts_within(wanted, rate, np.zeros(2), response, most)
    first, second = response @ efforts
    assert second == pytest.approx(0.0, abs=1e-12)
    assert efforts[1] == pytest.approx(1.0)
    assert 0.0 < first < 1.0
    assert limited.tolist() == [True, True]


def lead_of(position, rate, target, target_rate, effort, speed, lower=-10.0, upper=10.0):
    limits = DriveLimits(*(np.array([value]) for value in (effort, speed, lower, upper)))
    now = (np.array([value]) for value in (position, rate, target, target_rate))
    return ServoInput(*now, limits, 40.0, 1.0, np.zeros(1))


def followed(target, target_rate, effort, speed, load=0.0, steps=2000, upper=10.0):
    """Return positions, rates and efforts of a mass of 1 kg under a load, from rest at 0."""
    q, v, rows = 0.0, 0.0, []
    for _ in range(steps):
        output = servo_output(
            lead_of(q, v, target, target_rate, effort, speed, upper=upper), np.array([load]), np.eye(1), False
        )
        push = float(output.efforts[0])
        q, v = q + PERIOD * v + 0.5 * PERIOD**2 * (push - load), v + PERIOD * (push - load)
        rows.append((q, v, push))
    return np.array(rows).T


@pytest.mark.parametrize('load', [0.0, 6.0, -6.0])
@pytest.mark.parametrize('target', [0.01, 0.5, 5.0, -5.0])
def test_a_step_of_the_position_is_a_motion_within_the_limits_that_stops_at_the_target(target, load):
    q, v, push = followed(target, 0.0, effort=10.0, speed=1.5, load=load)
    assert np.abs(push).max() <= 10.0
    assert np.abs(v).max() <= 1.5
    assert q[-1] == pytest.approx(target, abs=1e-6)
    assert (np.sign(target) * q).max() <= abs(target) * 1.001 + 1e-6
    if abs(target) == 5.0:
        assert np.abs(v).max() > 1.4


def test_a_velocity_alone_is_kept_without_error_and_ends_at_the_end_of_the_range():
    q, v, _ = followed(np.nan, 0.7, effort=10.0, speed=1.5, load=6.0, upper=5.0)
    assert v[200:1000] == pytest.approx(np.full(800, 0.7), abs=1e-9)
    assert q.max() <= 5.0 + 1e-9
    assert q[-1] == pytest.approx(5.0, abs=1e-6)


class Watch:
    """The greatest efforts and speeds of joints over their limits in a run.

    A speed may exceed its limit only if no drive could prevent it: the effort has been at its limit against the motion
    since the speed was within the share of its limit that servos use.
    """

    def __init__(self, limits):
        self.limits, self.worst, self.thrown = limits, np.zeros(2), 0
        self._start = np.full(len(limits.speed), np.nan)  # speed from which a joint is braked at full effort

    def see(self, efforts, before, after):
        """Record efforts of a period, and the velocities before and after it."""
        speed, at_limit = np.abs(before), -efforts * np.sign(before) >= (1.0 - 1e-9) * self.limits.effort
        self._start = np.where(at_limit, np.where(np.isnan(self._start), speed, self._start), np.nan)
        rising = (np.abs(after) > BEYOND * self.limits.speed) & (np.abs(after) > speed)
        braked = self._start <= BEYOND * USED * self.limits.speed
        self.thrown += (rising & braked).any()
        used = np.abs(efforts) / self.limits.effort, np.where(rising & ~braked, np.abs(after) / self.limits.speed, 0.0)
        self.worst = np.maximum(self.worst, [part.max() for part in used])


def test_the_speed_check_excuses_only_speeds_despite_full_braking():
    limits = DriveLimits(*(np.array([value]) for value in (10.0, 1.0, -9.0, 9.0)))

    def worst(*rows):
        watch = Watch(limits)
        for row in rows:
            watch.see(*(np.array([value]) for value in row))
        return watch.worst[1], watch.thrown

    assert worst((-10.0, 0.9, 1.1), (-9.0, 1.1, 1.0)) == (0.0, 1)
    assert worst((-10.0, 0.9, 1.1), (-9.0, 1.1, 1.2)) == (1.2, 1)
    assert worst((-9.0, 0.9, 1.1)) == (1.1, 0)
    assert worst((-10.0, 0.99, 1.1)) == (1.1, 0)
    assert worst((10.0, 0.9, 1.1)) == (1.1, 0)


def worst_of(name, runs):
    """Return the greatest efforts and speeds over their limits in runs of 1.5 s after a step of random size.

    Also return the number of runs in which a joint exceeded its speed limit at full braking.
    """
    machine = load_machine(*machine_files(name))
    plant = Plant(machine, 'effort', PERIOD, 1e-3, ())
    targets, indices = JointTargets(plant), [plant.joints.index(joint) for joint in plant.actuated]
    limits, rng = targets.limits, np.random.default_rng(1)
    worst, thrown = np.zeros(2), 0
    for _ in range(runs):
        plant.reset()
        targets.release()
        asked = np.full((2, len(plant.joints)), np.nan)
        kind, size = rng.integers(2), float(rng.choice([0.01, 0.1, 1.0, 5.0]))
        moved = rng.random(len(indices)) < 0.7
        steps = size * rng.normal(size=len(indices)) * (limits.speed if kind else 1.0)
        asked[kind, indices] = np.where(moved, steps + (0.0 if kind else plant.positions[indices]), np.nan)
        targets.command(*asked)
        watch, events = Watch(limits), []
        for _ in range(round(1.5 / PERIOD)):
            targets.lead()
            before = plant.velocities[indices]
            plant.advance()
            watch.see(plant.u, before, plant.velocities[indices])
            events += [event.kind for event in plant.take_events()]
            if plant.overturned:
                break
        targets.lead()
        events += [event.kind for event in plant.take_events()]
        assert ('overspeed' in events) == bool(watch.thrown or watch.worst[1] > BEYOND)
        worst, thrown = np.maximum(worst, watch.worst), thrown + bool(watch.thrown)
    return *worst, thrown


@pytest.mark.parametrize('name', MACHINES)
def test_steps_of_random_size_stay_within_effort_and_speed(name):
    assert max(worst_of(name, 3)[:2]) <= BEYOND


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize('name', MACHINES)
def test_two_hundred_steps_of_random_size_stay_within_effort_and_speed(name):
    effort, speed, thrown = worst_of(name, 200)
    assert effort <= BEYOND
    assert speed <= BEYOND
    assert thrown <= (name == 'log_loader_grapple')  # its grapple turns over once


@pytest.mark.parametrize('loose', [0, 1, 2])
def test_servos_beside_commanded_efforts_give_the_same_accelerations_as_all_servos(loose):
    random = np.random.default_rng(loose)
    root = random.normal(size=(3, 3))
    response, still = root @ root.T + np.eye(3), random.normal(size=3)
    wide = DriveLimits(np.full(3, 1e6), np.full(3, 1e3), np.full(3, -10.0), np.full(3, 10.0))
    state = [random.normal(size=3) * 0.1 for _ in range(4)]
    every = ServoInput(*state, wide, 40.0, 1.0, np.zeros(3))
    whole = servo_output(every, still, response, False)
    commanded = np.full(3, np.nan)
    commanded[loose] = whole.efforts[loose]
    mixed = servo_output(every._replace(effort=commanded), still, response, False)
    assert mixed.efforts == pytest.approx(whole.efforts, rel=1e-9)
    assert mixed.accelerations == pytest.approx(whole.accelerations, rel=1e-9, abs=1e-9)
    assert not mixed.at_effort[loose]
