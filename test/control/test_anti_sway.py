"""Shaped trajectories: of pendulums in closed form, and of the simulated log-loader with its grapple."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dyn_nodes.control import JointTrajectory, TrajectoryPoint, TrajectoryTracker, ValveMotion
from dyn_nodes.control.anti_sway import Shaper, SwayMode, shaped, shaper_of, sway_modes
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.01
MODES = st.builds(SwayMode, st.floats(0.5, 4.0), st.floats(0.0, 0.5))


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader_grapple', '')


@given(mode=MODES, kind=st.sampled_from(['zv', 'zvd']))
def test_parts_of_a_mode_sum_to_one_and_cancel_its_swing(mode, kind):
    """The response to impulses of this size vanishes after the last of them (Singer and Seering 1990)."""
    shaper = Shaper.of_mode(mode, kind)
    assert shaper.parts.sum() == pytest.approx(1.0)
    assert (shaper.parts > 0.0).all()
    assert shaper.delay == pytest.approx(mode.period * {'zv': 0.5, 'zvd': 1.0}[kind])
    damped = 2.0 * np.pi / mode.period
    growth = mode.damping * damped / np.sqrt(1.0 - mode.damping**2)
    left = shaper.parts * np.exp((growth + 1j * damped) * shaper.times)
    assert abs(left.sum()) < 1e-9 * np.abs(left).max()


@given(error=st.floats(-0.2, 0.2))
def test_residual_sway_of_zvd_is_the_square_of_that_of_zv_at_a_wrong_period(error):
    left = []
    for kind in ('zv', 'zvd'):
        shaper = Shaper.of_mode(SwayMode(1.0, 0.0), kind)
        left.append(abs((shaper.parts * np.exp(2j * np.pi / (1.0 + error) * shaper.times)).sum()))
    assert left[1] == pytest.approx(left[0] ** 2, abs=1e-12)


def curve():
    points = [TrajectoryPoint(0.0, [0.0, 1.0], [0.0, 0.0]), TrajectoryPoint(2.0, [0.8, 0.5], [0.0, 0.0])]
    return JointTrajectory.from_points(['a', 'b'], points)


@given(time=st.floats(-1.0, 8.0), mode=MODES)
def test_a_shaped_trajectory_stays_within_positions_and_speeds_of_its_trajectory(time, mode):
    plain = curve()
    result = shaped(plain, Shaper.of_mode(mode, 'zvd')).sample(time)
    assert (result.position >= [-1e-12, 0.5 - 1e-12]).all()
    assert (result.position <= [0.8 + 1e-12, 1.0 + 1e-12]).all()
    fastest = np.abs([plain.sample(instant).velocity for instant in np.linspace(0.0, 2.0, 401)]).max(axis=0)
    assert (np.abs(result.velocity) <= fastest + 1e-6).all()


def test_it_ends_at_the_end_of_its_trajectory_after_the_delay_in_any_order_of_joints():
    shaper = Shaper.of_mode(SwayMode(1.6, 0.05), 'zv')
    result = shaped(curve(), shaper).for_joints(['b', 'a']).starting_from([1.0, 0.0])
    assert result.duration == pytest.approx(2.8)
    assert result.sample(0.0).position == pytest.approx([1.0, 0.0])
    assert result.sample(2.5).position != pytest.approx([0.5, 0.8], abs=1e-3)
    end = result.sample(result.duration)
    assert end.position == pytest.approx([0.5, 0.8])
    assert end.velocity == pytest.approx([0.0, 0.0])


def test_a_pendulum_rests_after_a_shaped_motion_of_its_pivot():
    """Linear pendulum on a cart that follows the curve: the shaper leaves at most 1 % of the swing."""
    mode, left = SwayMode(1.6, 0.02), []
    natural = 2.0 * np.pi / mode.period / np.sqrt(1.0 - mode.damping**2)
    for trajectory in (curve(), shaped(curve(), Shaper.of_mode(mode, 'zv'))):

        def rate(time, x, trajectory=trajectory):
            push = trajectory.sample(time).acceleration[0]
            return [x[1], -(natural**2) * x[0] - 2.0 * mode.damping * natural * x[1] - push]

        end = solve_ivp(rate, (0.0, trajectory.duration), [0.0, 0.0], rtol=1e-8, atol=1e-10, max_step=0.01).y[:, -1]
        left.append(np.hypot(end[0], end[1] / natural))
    assert left[0] > 0.02
    assert left[1] < 0.01 * left[0]


@pytest.mark.parametrize('payload', [0.0, 1000.0, 6000.0])
def test_the_modes_are_those_of_two_pendulums_about_pins_at_right_angles(machine, payload):
    """Crosshead with grapple and logs about the upper pin, and grapple and logs about the lower one."""
    hook, grapple, damping = 40.0, 260.0, 300.0
    about = [
        (
            hook * 0.125 + grapple * 0.7 + payload * 0.81,
            0.6 + hook * 0.125**2 + 25.0 + grapple * 0.7**2 + payload * 0.81**2,
        ),
        (grapple * 0.45 + payload * 0.56, 20.0 + grapple * 0.45**2 + payload * 0.56**2),
    ]
    expected = []
    for moment, inertia in about:
        natural = np.sqrt(9.81 * moment / inertia)
        ratio = damping / (2.0 * inertia * natural)
        expected.append((2.0 * np.pi / (natural * np.sqrt(1.0 - ratio**2)), ratio))
    result = sway_modes(machine, payload)
    assert np.array(sorted(result)) == pytest.approx(np.array(sorted(expected)), rel=1e-5)


def swings(plant, machine, trajectory, efforts):
    """Follow a trajectory with the valves; return the greatest angle of the load off plumb after its end, degrees."""
    plant.reset()
    motion = ValveMotion(TrajectoryTracker(machine.actuators))
    names = [actuator.name for actuator in machine.actuators]
    indices = [plant.joints.index(name) for name in motion.joint_names]
    chain = [plant.joints.index(name) for name in ('boom_joint', 'stick_joint', 'hook_joint')]
    side, plumb = plant.joints.index('sway_joint'), plant.positions[chain].sum()
    motion.follow(trajectory, 0.0, plant.positions[indices], np.zeros(3))
    worst = 0.0
    while plant.time < trajectory.duration + 3.0:
        measured = [plant.output(f'{name}/drive_effort') for name in motion.joint_names] if efforts else None
        volts = motion.voltages(plant.time, plant.positions[indices], plant.velocities[indices], measured)
        plant.set_inputs({f'{name}/voltage': value for name, value in zip(names, volts)})
        plant.advance()
        if plant.time > trajectory.duration + 0.3:
            worst = max(worst, abs(plant.positions[chain].sum() - plumb), abs(plant.positions[side]))
    assert plant.positions[indices] == pytest.approx(trajectory.sample(99.0).position, abs=0.03)
    return np.degrees(worst)


@pytest.mark.parametrize(
    ('goal', 'seconds', 'efforts', 'kind', 'part'),
    [
        ([0.96, -1.6, 0.0], 3.0, True, 'zv', 0.2),
        ([0.96, -1.83, 1.5], 6.0, False, 'zvd', 0.6),
    ],
    ids=['arm', 'swing'],
)
def test_shaping_reduces_the_sway_of_the_logs_on_the_simulated_machine(machine, goal, seconds, efforts, kind, part):
    """Valves, oil and suspension included. The swing drive coasts and follows its reference coarsely."""
    plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, ())
    points = [TrajectoryPoint(seconds, goal, [0.0] * 3, [0.0] * 3)]
    plain = JointTrajectory.from_points(['boom_joint', 'stick_joint', 'swing_joint'], points)
    left, calm = (
        swings(plant, machine, trajectory, efforts) for trajectory in (plain, shaped(plain, shaper_of(machine, kind)))
    )
    assert left > 1.5
    assert calm < part * left


def test_a_machine_without_a_hanging_load_is_rejected():
    with pytest.raises(ValueError, match='log_loader: expected passive joints that a load hangs from, found none'):
        shaper_of(machine_of('log_loader', ''), 'zv')
