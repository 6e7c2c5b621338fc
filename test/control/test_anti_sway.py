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
def test_the_parts_of_a_mode_are_one_motion_and_leave_none_of_its_swing(mode, kind):
    """The response to impulses of this size is gone after the last of them (Singer and Seering 1990)."""
    shaper = Shaper.of_mode(mode, kind)
    assert shaper.parts.sum() == pytest.approx(1.0)
    assert (shaper.parts > 0.0).all()
    assert shaper.delay == pytest.approx(mode.period * {'zv': 0.5, 'zvd': 1.0}[kind])
    damped = 2.0 * np.pi / mode.period
    growth = mode.damping * damped / np.sqrt(1.0 - mode.damping**2)
    left = shaper.parts * np.exp((growth + 1j * damped) * shaper.times)
    assert abs(left.sum()) < 1e-9 * np.abs(left).max()


@given(error=st.floats(-0.2, 0.2))
def test_zvd_leaves_the_square_of_what_zv_leaves_where_the_period_is_not_known_well(error):
    found = []
    for kind in ('zv', 'zvd'):
        shaper = Shaper.of_mode(SwayMode(1.0, 0.0), kind)
        found.append(abs((shaper.parts * np.exp(2j * np.pi / (1.0 + error) * shaper.times)).sum()))
    assert found[1] == pytest.approx(found[0] ** 2, abs=1e-12)


def curve():
    points = [TrajectoryPoint(0.0, [0.0, 1.0], [0.0, 0.0]), TrajectoryPoint(2.0, [0.8, 0.5], [0.0, 0.0])]
    return JointTrajectory.from_points(['a', 'b'], points)


@given(time=st.floats(-1.0, 8.0), mode=MODES)
def test_a_shaped_trajectory_stays_among_the_places_and_speeds_of_its_trajectory(time, mode):
    plain = curve()
    found = shaped(plain, Shaper.of_mode(mode, 'zvd')).sample(time)
    assert (found.position >= [-1e-12, 0.5 - 1e-12]).all()
    assert (found.position <= [0.8 + 1e-12, 1.0 + 1e-12]).all()
    fastest = np.abs([plain.sample(own).velocity for own in np.linspace(0.0, 2.0, 401)]).max(axis=0)
    assert (np.abs(found.velocity) <= fastest + 1e-6).all()


def test_it_ends_where_its_trajectory_ends_later_by_the_delay_in_any_order_of_the_joints():
    shaper = Shaper.of_mode(SwayMode(1.6, 0.05), 'zv')
    found = shaped(curve(), shaper).for_joints(['b', 'a']).starting_from([1.0, 0.0])
    assert found.duration == pytest.approx(2.8)
    assert found.sample(0.0).position == pytest.approx([1.0, 0.0])
    assert found.sample(2.5).position != pytest.approx([0.5, 0.8], abs=1e-3)
    end = found.sample(found.duration)
    assert end.position == pytest.approx([0.5, 0.8])
    assert end.velocity == pytest.approx([0.0, 0.0])


def test_a_point_on_a_string_rests_after_its_pivot_has_gone_a_shaped_way():
    """Linear pendulum on a cart that follows the curve: 1 % of the swing is left, all of it without the shaper."""
    mode, left = SwayMode(1.6, 0.02), []
    natural = 2.0 * np.pi / mode.period / np.sqrt(1.0 - mode.damping**2)
    for own in (curve(), shaped(curve(), Shaper.of_mode(mode, 'zv'))):

        def rate(time, x, own=own):
            push = own.sample(time).acceleration[0]
            return [x[1], -(natural**2) * x[0] - 2.0 * mode.damping * natural * x[1] - push]

        end = solve_ivp(rate, (0.0, own.duration), [0.0, 0.0], rtol=1e-8, atol=1e-10, max_step=0.01).y[:, -1]
        left.append(np.hypot(end[0], end[1] / natural))
    assert left[0] > 0.02
    assert left[1] < 0.01 * left[0]


@pytest.mark.parametrize('payload', [0.0, 1000.0, 6000.0])
def test_the_modes_are_those_of_two_pendulums_about_pins_at_right_angles(machine, payload):
    """Of the crosshead with grapple and logs about the upper pin, and of grapple and logs about the lower one."""
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
    found = sway_modes(machine, payload)
    assert np.array(sorted(found)) == pytest.approx(np.array(sorted(expected)), rel=1e-5)


def swings(plant, machine, trajectory, efforts):
    """Follow a trajectory with the valves; greatest angle of the load off plumb once it has ended, degrees."""
    plant.reset()
    motion = ValveMotion(TrajectoryTracker(machine.actuators))
    names = [own.name for own in machine.actuators]
    places = [plant.joints.index(name) for name in motion.joint_names]
    chain = [plant.joints.index(name) for name in ('boom_joint', 'stick_joint', 'hook_joint')]
    side, plumb = plant.joints.index('sway_joint'), plant.positions[chain].sum()
    motion.follow(trajectory, 0.0, plant.positions[places], np.zeros(3))
    worst = 0.0
    while plant.time < trajectory.duration + 3.0:
        measured = [plant.output(f'{name}/drive_effort') for name in motion.joint_names] if efforts else None
        volts = motion.voltages(plant.time, plant.positions[places], measured)
        plant.set_inputs({f'{name}/voltage': value for name, value in zip(names, volts)})
        plant.advance()
        if plant.time > trajectory.duration + 0.3:
            worst = max(worst, abs(plant.positions[chain].sum() - plumb), abs(plant.positions[side]))
    assert plant.positions[places] == pytest.approx(trajectory.sample(99.0).position, abs=0.03)
    return np.degrees(worst)


@pytest.mark.parametrize(
    ('goal', 'seconds', 'efforts', 'kind', 'part'),
    [
        ([0.96, -1.6, 0.0], 3.0, True, 'zv', 0.2),
        ([0.96, -1.83, 1.5], 6.0, False, 'zvd', 0.6),
    ],
    ids=['arm', 'swing'],
)
def test_less_is_left_of_the_swing_of_the_logs_on_the_simulated_machine(machine, goal, seconds, efforts, kind, part):
    """Valves, oil and suspension included. The swing drive coasts and follows its reference coarsely."""
    plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, ())
    points = [TrajectoryPoint(seconds, goal, [0.0] * 3, [0.0] * 3)]
    plain = JointTrajectory.from_points(['boom_joint', 'stick_joint', 'swing_joint'], points)
    left, calm = (swings(plant, machine, own, efforts) for own in (plain, shaped(plain, shaper_of(machine, kind))))
    assert left > 1.5
    assert calm < part * left


def test_a_machine_from_which_nothing_hangs_is_refused():
    with pytest.raises(ValueError, match='log_loader: expected passive joints that a load hangs from, found none'):
        shaper_of(machine_of('log_loader', ''), 'zv')
