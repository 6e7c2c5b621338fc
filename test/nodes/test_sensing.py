"""Measurements of a monitor: which are used, in which order, and their reports."""

from __future__ import annotations

import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from node_testing import JOINTS, imu_message, joint_state

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.monitor.signal_checks import SignalChecks
from dyn_nodes.nodes import sensing as rooms
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.sensing import LARGEST_MEASURED, MOST_WAITING, UNSEEN_BASE, Sensing

Float64 = message('std_msgs/msg/Float64')
OK, WARN, ERROR = 0, 1, 2
POSITIONS = (0.1, 0.7, -1.4)
VALUES = {
    'filter_period': 0.001, 'payload': -1.0, 'imu': 'auto', 'use_velocities': True, 'imu_timeout': 0.1,
    'state_timeout': 9.0, 'settling': 0.1, 'crossover_time': 0.5, 'bias_time': 20.0, 'imu_position': [0.0, 0.0, 0.0],
    'imu_rotation': [0.0, 0.0, 0.0], 'slope_roll': 0.0, 'slope_pitch': 0.0, 'stamp_clock': 'other',
    **{f'noise.{name}': 1e-3 for name in ('position', 'velocity', 'gyroscope', 'accelerometer')},
    **{f'density.{name}': 1.0 for name in ('jerk', 'turn', 'felt')},
}  # fmt: skip


class Check:
    """A check of measurements with the faults that a test sets."""

    def __init__(self):
        self.detected = {}

    are_sound = property(lambda self: not self.detected)

    def faults(self):
        return dict(self.detected)

    def clear(self):
        self.detected = {}


class Monitor:
    """Stores the measurements that it receives."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.model = SimpleNamespace(joints=JOINTS)
        self.ground = SimpleNamespace(bias=(0.0, 1e-3, 0.0), resets=3)
        self.payload, self.settled, self.has_imu = 1000.0, True, False
        self.received = []
        self.joint_checks, self.imu_checks = Check(), Check()
        self.checks = SignalChecks(self.joint_checks, self.imu_checks)
        self.clear()

    def clear(self):
        self.time = self.imu_time = None
        self.cleared = len(self.received)

    def joints(self, now, positions, velocities):
        self.time = now
        self.received.append(('joints', round(now, 6), None if velocities is None else tuple(velocities)))
        self.positions = positions

    def imu(self, now, omega, force, up=None):
        self.imu_time = now
        self.received.append(('imu', round(now, 6), None if up is None else tuple(up)))
        self.omega, self.force = omega, force

    @property
    def order(self):
        """Return the measurements after the warm-up, without details."""
        return [entry[:2] for entry in self.received]


class Node:
    """Stands where a node was."""

    def __init__(self, simulated=False):
        self.subscriptions, self.simulated, self.warnings = {}, simulated, []
        self.order, self.services, self.time = [], {}, 0.0
        self.handlers = {}

    def create_subscription(self, kind, topic, callback, qos):
        self.order.append(topic)
        self.subscriptions[topic], self.handlers[topic] = qos, callback

    def receive(self, topic, msg):
        self.handlers[topic](msg)

    def create_service(self, kind, name, callback):
        self.services[name] = callback

    def get_logger(self):
        return SimpleNamespace(warn=lambda text, **_: self.warnings.append(text), info=lambda text, **_: None)

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=round(self.time * 1e9)))

    def get_parameter(self, name):
        assert name == 'use_sim_time'
        return SimpleNamespace(value=self.simulated)


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader', '')


@pytest.fixture
def make(machine, monkeypatch):
    monkeypatch.setattr(rooms, 'StabilityMonitor', Monitor)
    monkeypatch.setattr(rooms, 'drive_clock', lambda node, stamp: setattr(node, 'clock', stamp))

    def made(lockstep=False, simulated=False, depth=10, **values):
        used = []
        node = Node(simulated)
        qos = QoSProfile(depth=depth)
        sensing = Sensing(node, machine, {**VALUES, **values}, ('zmp',), used.append, qos, lockstep)
        sensing.used = used
        return sensing

    return made


def state(sensing, at, positions=POSITIONS, velocity=(0.0, 0.1, 0.2)):
    sensing.node.receive('joint_states', joint_state(at, positions, velocity=velocity))


def imu(sensing, at, **fields):
    sensing.node.receive('imu', imu_message(at, **fields))


def test_the_imu_is_subscribed_to_first_and_not_at_all_where_it_is_off(make):
    node = make(depth=10).node
    assert node.order == ['imu', 'joint_states', 'payload']
    assert [node.subscriptions[topic].depth for topic in node.order] == [100, 10, 10]
    assert make(depth=500).node.subscriptions['imu'].depth == 500
    assert make(imu='off').node.order == ['joint_states', 'payload']


def test_the_parameters_are_those_of_the_monitor(make):
    sensing = make(
        imu_position=[1.0, 2.0, 3.0], imu_rotation=[0.0, 0.0, np.pi / 2], slope_roll=0.1, slope_pitch=-0.2,
        payload=0.0, crossover_time=0.7,
    )  # fmt: skip
    machine, measures, noise, mount, observer, slope, settling, timeout = sensing.monitor.arguments
    assert (machine, measures, settling, timeout) == (sensing.machine, ('zmp',), 0.1, 0.1)
    assert mount.position.tolist() == [1.0, 2.0, 3.0]
    assert mount.rotation @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])
    assert (noise.velocity, noise.jerk_density) == (1e-3, 1.0)
    assert (observer.time_constant, slope) == (0.7, (0.1, -0.2))
    assert sensing.monitor.payload == 0.0
    assert make(payload=2000.0).monitor.payload == 2000.0
    assert make().monitor.payload == 1000.0  # of the machine file


@pytest.mark.parametrize('wrong', [[0.0, 1.0], [0.0, 1.0, 2.0, 3.0], [0.0, np.nan, 0.0], [0.0, 0.0, np.inf]])
@pytest.mark.parametrize('name', ['imu_position', 'imu_rotation'])
def test_a_mount_that_is_no_three_numbers_is_rejected(make, name, wrong):
    with pytest.raises(ParameterError, match=f'{name}.*three finite numbers'):
        make(**{name: wrong})


def test_the_warm_up_shows_a_machine_at_rest_and_is_forgotten(make, machine):
    sensing, seen = make(), []
    sensing.warm_up(seen.append)
    monitor = sensing.monitor
    assert monitor.order == [(kind, round(1e-3 * k, 6)) for k in range(3) for kind in ('imu', 'joints')]
    assert monitor.cleared == 6
    assert monitor.force.tolist() == [0.0, 0.0, machine.gravity]
    assert monitor.omega.tolist() == [0.0, 0.0, 0.0]
    initial = [machine.initial.joint_positions[name] for name in JOINTS]
    assert seen[0].tolist() == monitor.positions.tolist() == initial
    assert monitor.received[-1][2] == (0.0, 0.0, 0.0)
    machine_without = SimpleNamespace(gravity=9.81, initial=SimpleNamespace(joint_positions={}))
    sensing.machine = machine_without
    sensing.warm_up(seen.append)
    assert seen[1].tolist() == [0.0, 0.0, 0.0]


def test_velocities_are_used_where_the_message_has_them_and_the_parameter_allows_it(make):
    sensing = make()
    state(sensing, 0.0)
    state(sensing, 0.01, velocity=())
    assert [entry[2] for entry in sensing.monitor.received] == [(0.0, 0.1, 0.2), None]
    sensing = make(use_velocities=False)
    state(sensing, 0.0)
    assert sensing.monitor.received[0][2] is None
    sensing = make(use_velocities=False, lockstep=True)
    state(sensing, 0.0)
    assert sensing.monitor.received[0][2] is None


def test_without_an_imu_joint_states_are_used_at_once(make):
    sensing = make()
    for k in range(3):
        state(sensing, 0.01 * k)
        assert sensing.received == k + 1
    assert sensing.used == [0, 10_000_000, 20_000_000]
    assert sensing.stamp == 20_000_000
    assert sensing.restarts == 0
    assert sensing.node.warnings == []


def test_states_that_come_too_soon_are_passed_over(make):
    sensing = make(filter_period=0.01)
    for at in (0.0, 0.005, 0.0097, 0.0098, 0.012):
        state(sensing, at)
    assert sensing.monitor.order == [('joints', 0.0), ('joints', 0.0098)]
    assert sensing.used == [0, 9_800_000]
    assert sensing.received == 2
    assert sensing.restarts == 0


@pytest.mark.parametrize('lockstep', [False, True])
def test_time_that_goes_back_is_counted_and_later_measurements_of_the_imu_are_dropped(make, lockstep):
    sensing = make(lockstep=lockstep, filter_period=0.01)
    state(sensing, 11.1)
    sensing.waiting = [(0.5, 'kept', 'kept', None), (6.0, 'of before', 'of before', None)]
    state(sensing, 1.0)
    assert sensing.restarts == 1
    assert sensing.received == 2
    assert [entry[0] for entry in sensing.waiting] in ([], [0.5])
    assert sensing.state_period == 0.0
    state(sensing, 1.01)
    assert sensing.restarts == 1
    assert sensing.state_period == pytest.approx(0.01)


def test_joint_states_that_were_overtaken_are_rejected_and_a_clock_that_was_set_back_is_not(make):
    sensing = make(state_timeout=0.2)
    for at in (1.0, 1.01, 1.005, 0.82, 1.01, 1.02):
        state(sensing, at)
    assert sensing.rejections.counts == {'out of order': 2}
    assert sensing.monitor.order == [('joints', 1.0), ('joints', 1.01), ('joints', 1.02)]
    assert (sensing.restarts, sensing.stamp) == (0, 1_020_000_000)
    state(sensing, 0.81)
    assert sensing.restarts == 1
    assert sensing.monitor.order[-1] == ('joints', 0.81)
    health = sensing.joint_health()
    assert health.level == WARN
    assert health.text.endswith('expected stamps that do not go back, found one 0.19 s before the last')


def test_overtaken_joint_states_do_not_hide_a_timeout(make, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(rooms, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    sensing = make(state_timeout=0.2)
    state(sensing, 1.0)
    for at in (0.99, 0.98, 0.97):
        now[0] += 0.1
        state(sensing, at)
    assert sensing.stale


@pytest.mark.parametrize('simulation', [{'lockstep': True}, {'simulated': True}])
def test_a_simulation_that_goes_back_a_little_was_reset(make, simulation):
    sensing = make(state_timeout=0.2, **simulation)
    state(sensing, 0.1)
    state(sensing, 0.0)
    assert sensing.restarts == 1
    assert not sensing.rejections.counts


@pytest.mark.parametrize('filter_period', [0.01, 0.0001])
def test_an_instant_that_comes_twice_is_no_time_that_goes_back(make, filter_period):
    sensing = make(filter_period=filter_period)
    for at in (1.0, 1.0, 1.0001):
        state(sensing, at)
    assert (sensing.received, sensing.restarts) == (1 if filter_period > 1e-3 else 2, 0)


def test_states_wait_for_the_imu_of_their_instant_until_it_times_out(make):
    """The margins of joint states of now on a base of 50 ms ago would be wrong by half of their full scale."""
    sensing = make()
    for k in range(4):
        imu(sensing, 0.01 * k)
        state(sensing, 0.01 * k)
    assert sensing.received == 4
    state(sensing, 0.04)
    assert sensing.received == 4
    imu(sensing, 0.04)
    assert sensing.received == 5
    assert sensing.monitor.order[-2:] == [('imu', 0.04), ('joints', 0.04)]
    assert sensing.used[-1] == 40_000_000
    for at in (0.05, 0.06, 0.06, 0.07):  # a repeated message
        state(sensing, at)
    assert sensing.received == 5
    imu(sensing, 0.05)
    imu(sensing, 0.06)
    expected = [('imu', 0.05), ('joints', 0.05), ('imu', 0.06), ('joints', 0.06)]
    assert sensing.monitor.order[-4:] == expected
    state(sensing, 0.17)  # 0.11 s after the IMU, its timeout: states that waited for it are dropped
    assert sensing.monitor.order[-2:] == [('joints', 0.06), ('joints', 0.17)]


@pytest.mark.parametrize('simulated', [False, True])
def test_joint_states_whose_time_goes_back_do_not_wait_for_an_imu_of_before(make, simulated):
    sensing = make(simulated=simulated)
    for k in range(4):
        imu(sensing, 10.0 + 0.01 * k)
        state(sensing, 10.0 + 0.01 * k)
    state(sensing, 10.04)  # waits
    for at in (0.0, 0.01):
        state(sensing, at)
        assert sensing.monitor.order[-1] == ('joints', at)
    assert not sensing.stale


@pytest.mark.parametrize('late', [1, 3, 5, 8])
def test_an_imu_that_comes_late_delays_the_joint_states_by_as_much_and_mixes_no_instants(make, monkeypatch, late):
    now = [1000.0]
    monkeypatch.setattr(rooms, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    sensing = make()
    for k in range(40):
        now[0] += 0.01
        state(sensing, 0.01 * k)
        if k >= late:
            imu(sensing, 0.01 * (k - late))
    assert sensing.age == pytest.approx(0.01 * late)
    assert sensing.received >= 30 - late
    order = sensing.monitor.order
    for before, after in pairwise(order[20:]):
        assert after == (('joints', before[1]) if before[0] == 'imu' else ('imu', round(before[1] + 0.01, 6)))
    assert sensing.overdue(1.0, delay=0.04) == (late > 4)


def test_an_imu_that_is_due_later_than_the_states_is_not_waited_for(make):
    sensing = make()
    for at in (0.0, 0.05):
        imu(sensing, at)
    state(sensing, 0.06)  # the next is due at 0.1
    assert sensing.received == 1
    state(sensing, 0.0999)  # within the tolerance of one instant
    assert sensing.received == 1
    imu(sensing, 0.1)
    assert sensing.received == 2


def test_after_one_message_of_the_imu_the_states_wait_for_the_next(make):
    sensing = make()
    imu(sensing, 0.0)
    state(sensing, 0.05)
    assert sensing.received == 0
    imu(sensing, 0.05)
    assert sensing.received == 1


def test_states_wait_for_all_of_the_imu_up_to_their_instant(make):
    sensing = make()
    for at in (0.0, 0.01):
        imu(sensing, at)
    state(sensing, 0.03)
    imu(sensing, 0.02)
    assert sensing.received == 0
    imu(sensing, 0.03)
    assert sensing.monitor.order[-2:] == [('imu', 0.03), ('joints', 0.03)]


def test_after_the_first_states_the_imu_of_later_instants_waits(make):
    sensing = make()
    state(sensing, 0.0)
    imu(sensing, 0.01)
    assert sensing.monitor.order == [('joints', 0.0)]


def test_an_imu_that_is_early_is_kept_for_the_states_after_the_next(make):
    sensing = make()
    state(sensing, 0.0)
    state(sensing, 0.01)
    for at in (0.005, 0.02, 0.0203, 0.03):
        imu(sensing, at)
    assert ('imu', 0.02) in sensing.monitor.order
    assert ('imu', 0.0203) not in sensing.monitor.order
    state(sensing, 0.02)
    state(sensing, 0.03)
    assert sensing.monitor.order[-4:] == [('joints', 0.02), ('imu', 0.0203), ('imu', 0.03), ('joints', 0.03)]
    assert sensing.imu_received == 4


def test_before_the_first_states_the_imu_is_taken_as_it_comes(make):
    sensing = make()
    imu(sensing, 7.0)
    assert sensing.monitor.order == [('imu', 7.0)]
    imu(sensing, 7.0)  # the same instant again
    assert sensing.monitor.order == [('imu', 7.0)]
    assert sensing.imu_received == 1


def test_an_imu_whose_time_goes_back_drops_later_messages(make):
    sensing = make()
    state(sensing, 0.0)
    state(sensing, 0.01)
    for at in (0.5, 0.6):
        imu(sensing, at)
    assert [entry[0] for entry in sensing.waiting] == [0.5, 0.6]
    imu(sensing, 0.015)
    assert sensing.waiting == []
    assert sensing.monitor.order[-1] == ('imu', 0.015)
    assert sensing.imu_period == pytest.approx(0.1)  # time that goes back has no period


def test_in_lockstep_an_imu_of_before_time_went_back_keeps_none_of_the_later_ones_waiting(make):
    sensing = make(lockstep=True)
    state(sensing, 3.0)
    state(sensing, 0.0)
    imu(sensing, 3.01)  # of before, on another topic than the joint states
    for k in range(3):
        imu(sensing, 0.01 * k)
        state(sensing, 0.01 * (k + 1))
    assert sensing.monitor.order[-2:] == [('imu', 0.02), ('joints', 0.03)]
    assert sensing.imu_received == 3
    assert sensing.waiting == []


def test_orientation_is_used_unless_the_message_marks_it_as_absent(make):
    sensing = make()
    imu(sensing, 0.0, orientation=(0.0, 0.6, 0.0, 0.8))
    imu(sensing, 0.01, orientation=None)
    assert [entry[2] for entry in sensing.monitor.received] == [(0.0, 0.6, 0.0, 0.8), None]


def test_in_lockstep_the_imu_of_an_instant_comes_before_the_states_of_the_next(make):
    sensing = make(lockstep=True)
    imu(sensing, 0.0)
    state(sensing, 0.0)
    assert sensing.monitor.order == [('joints', 0.0)]
    imu(sensing, 0.01)
    state(sensing, 0.01)
    assert sensing.monitor.order == [('joints', 0.0), ('imu', 0.0), ('joints', 0.01)]
    assert sensing.used == [0, 10_000_000]
    assert sensing.node.clock == 10_000_000
    sensing = make()
    state(sensing, 0.0)
    assert not hasattr(sensing.node, 'clock')


def test_in_lockstep_every_state_is_answered_though_not_all_are_used(make):
    sensing = make(lockstep=True, filter_period=0.01)
    for at in (0.0, 0.005, 0.01):
        state(sensing, at)
    assert sensing.used == [0, 5_000_000, 10_000_000]
    assert sensing.received == 2
    state(sensing, 0.02, positions=(np.nan, 0.0, 0.0))
    assert len(sensing.used) == 3
    assert sensing.node.clock == 20_000_000


def test_no_more_of_the_imu_waits_than_for_ten_seconds(make):
    sensing = make(lockstep=True)
    sensing.waiting = [(1e-3 * k, (0.0,) * 3, (0.0,) * 3, None) for k in range(MOST_WAITING)]
    imu(sensing, 20.0)
    assert len(sensing.waiting) == MOST_WAITING
    assert (sensing.waiting[0][0], sensing.waiting[-1][0]) == (1e-3, 20.0)


@pytest.mark.parametrize('quantity', ['omega', 'force', 'orientation'])
def test_an_imu_with_a_number_that_is_none_is_rejected(make, quantity):
    sensing = make()
    imu(sensing, 0.1, **{quantity: (0.0, np.nan, 0.0, 1.0)[: 4 if quantity == 'orientation' else 3]})
    assert sensing.rejections.counts == {'not finite': 1}


@pytest.mark.parametrize('quantity', ['omega', 'force'])
def test_an_imu_beyond_any_machine_is_rejected(make, quantity):
    sensing = make()
    for value in (LARGEST_MEASURED, -LARGEST_MEASURED):
        imu(sensing, 0.1, **{quantity: (0.0, value, 0.0)})
    assert sum(sensing.rejections.counts.values()) == 0
    for value in (1.001 * LARGEST_MEASURED, -1.001 * LARGEST_MEASURED):
        imu(sensing, 0.2, **{quantity: (0.0, value, 0.0)})
    assert sensing.rejections.counts == {'out of range': 2}
    assert len(sensing.node.warnings) == 2


@pytest.mark.parametrize('quantity', ['angular_velocity', 'linear_acceleration'])
def test_an_imu_without_a_needed_quantity_is_rejected(make, quantity):
    sensing, msg = make(), imu_message(0.0)
    getattr(msg, f'{quantity}_covariance')[0] = -1.0
    sensing.node.receive('imu', msg)
    assert sensing.rejections.counts == {'missing quantity': 1}
    assert sensing.monitor.received == []


def test_an_orientation_is_a_unit_quaternion_within_a_hundredth(make):
    sensing = make()
    imu(sensing, 0.0, orientation=(0.0, 0.0, 0.0, 1.009))
    imu(sensing, 0.1, orientation=(0.0, 0.0, 0.0, 0.991))
    assert not sensing.rejections.counts
    for length in (0.98, 1.02):
        imu(sensing, 0.2, orientation=(0.0, 0.0, 0.0, length))
    assert sensing.rejections.counts == {'not a rotation': 2}


@pytest.mark.parametrize('simulated', [False, True])
def test_timeouts_count_in_wall_time_and_are_longer_in_simulated_time(make, monkeypatch, simulated):
    now = [1000.0]
    monkeypatch.setattr(rooms, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    sensing = make(simulated=simulated, state_timeout=0.5, imu_timeout=0.02)
    assert sensing.stale
    assert sensing.imu_stale
    imu(sensing, 0.0)
    state(sensing, 0.0)
    assert not sensing.stale
    assert not sensing.imu_stale
    for elapsed, states, of_imu in (
        [(4.9, False, False), (5.1, True, True)]
        if simulated
        else [(0.04, False, False), (0.06, False, True), (0.49, False, True), (0.51, True, True)]
    ):
        now[0] = 1000.0 + elapsed
        assert (sensing.stale, sensing.imu_stale) == (states, of_imu)
    sensing = make(simulated=simulated, state_timeout=8.0, imu_timeout=0.2)
    imu(sensing, 0.0)
    state(sensing, 0.0)
    now[0] += 0.19
    assert (sensing.stale, sensing.imu_stale) == (False, False)
    now[0] += 7.0
    assert (sensing.stale, sensing.imu_stale) == (False, True)
    now[0] += 1.0
    assert sensing.stale


def aged(sensing, age, imu_age=None):
    """Give half a second of joint states of an age, s, and of an IMU."""
    for k in range(50):
        sensing.node.time = 1.7e9 + 0.01 * k
        if imu_age is not None:
            imu(sensing, sensing.node.time - imu_age)
        state(sensing, sensing.node.time - age)
    return sensing


@pytest.mark.parametrize(
    ('age', 'text'),
    [
        (0.0, ''),
        (0.19, ''),
        (-0.01, ''),
        (0.21, 'joint_states: 0.21 s old: expected 0.2 s at most: the state of the machine is unknown'),
        (-0.03, 'joint_states: stamps are 0.03 s ahead of the clock of this node: expected stamps of its clock'),
        (-500.0, 'joint_states: stamps are 500.00 s ahead of the clock of this node: expected stamps of its clock'),
        (1.7e9, 'joint_states: stamps are 1700000000.00 s behind the clock of this node: expected stamps of its clock'),
    ],
)
def test_regular_joint_states_that_are_not_of_now_are_not_trusted_and_their_age_is_named(make, age, text):
    sensing = aged(make(stamp_clock='node', state_timeout=0.2), age)
    assert sensing.stale == (not sensing.trustworthy) == bool(text)
    health = sensing.joint_health()
    assert health.level == (ERROR if text else OK)
    assert health.text.startswith(text or 'receiving')
    assert sensing.overdue(1.0, delay=0.1) == (not -0.02 <= age <= 0.1)


@pytest.mark.parametrize('declared', [{'stamp_clock': 'other'}, {'simulated': True}])
def test_ages_of_another_clock_count_for_nothing_once_it_is_declared(make, declared):
    sensing = aged(make(**{'stamp_clock': 'node', **declared}), 500.0, 500.0)
    assert not sensing.stale
    assert not sensing.overdue(1.0, delay=0.1)
    assert sensing.imu_received == 50


@pytest.mark.parametrize(('imu_age', 'used'), [(0.02, True), (0.3, False), (-0.05, False), (500.0, False)])
def test_an_imu_that_is_not_of_now_is_not_used_and_counts_as_lost(make, imu_age, used):
    sensing = aged(make(stamp_clock='node', imu_timeout=0.1), 0.0, imu_age)
    assert bool(sensing.imu_received) == used
    sensing.monitor.has_imu = used
    assert sensing.lost_imu != used
    if not used:
        assert sensing.rejections.counts['age'] == 50
        assert sensing.rejections.last.startswith('imu: ')


@pytest.mark.parametrize('simulated', [False, True])
def test_a_payload_that_nobody_gave_is_named_and_a_warning_on_a_real_machine(make, simulated):
    sensing = make(simulated=simulated)
    health = sensing.payload_health()
    assert health.level == (OK if simulated else WARN)
    assert '1000 kg of the machine file' in health.text
    sensing.node.receive('payload', Float64(data=2000.0))
    assert (sensing.payload_health().level, sensing.payload_health().text) == (OK, '2000 kg')
    assert make(simulated=simulated, payload=0.0).payload_health().text == '0 kg'


def test_only_a_settled_monitor_with_its_inputs_is_trusted(make):
    sensing = make()
    state(sensing, 0.0)
    assert sensing.trustworthy
    sensing.monitor.settled = False
    assert not sensing.trustworthy
    required = make(imu='required')
    state(required, 0.0)
    assert not required.trustworthy
    required.monitor.has_imu = True
    assert required.trustworthy
    timed_out = make()
    timed_out.received_at = time.monotonic() - 100.0
    assert not timed_out.trustworthy
    timed_out.lockstep = True  # there, time stands still as long as nothing comes
    assert timed_out.trustworthy


def test_health_of_the_joint_states(make):
    sensing = make()
    health = sensing.joint_health()
    assert (health.level, health.text) == (WARN, 'no joint_states yet')
    state(sensing, 0.0)
    health = sensing.joint_health()
    assert (health.level, health.text) == (OK, 'receiving joint_states')
    assert health.values == {'received': '1', 'restarts': '0'}
    sensing.monitor.settled = False
    assert sensing.joint_health().text == 'settling: 0.1 s of joint states are needed'
    assert sensing.joint_health().level == WARN
    sensing.received_at -= 100.0
    health = sensing.joint_health()
    assert health.text == 'no joint_states with a new stamp for 9 s: the state of the machine is unknown'
    sensing.arrived -= 100.0
    health = sensing.joint_health()
    assert (health.level, health.text) == (ERROR, 'no joint_states for 9 s: the state of the machine is unknown')
    sensing.lockstep = sensing.monitor.settled = True
    assert sensing.joint_health().level == OK
    state(sensing, 0.1, positions=(np.nan, 0.0, 0.0))
    health = sensing.joint_health()
    assert health.level == WARN
    assert health.text.startswith('rejected: joint_states: position of ')
    assert health.values['rejected: not finite'] == '1'


def test_health_of_the_imu(make):
    sensing = make()
    assert sensing.imu_health().text == f'no imu: {UNSEEN_BASE}'
    assert sensing.imu_health().level == OK
    imu(sensing, 0.0)
    health = sensing.imu_health()
    assert (health.level, health.text) == (OK, 'receiving imu')
    assert health.values == {
        'received': '1', 'gyroscope bias': '0.00e+00 1.00e-03 0.00e+00', 'base motion': 'not measured',
        'sources disagreed': '3', 'payload': '1000',
    }  # fmt: skip
    sensing.monitor.has_imu = True
    assert sensing.imu_health().values['base motion'] == 'measured'
    sensing.imu_received_at -= 100.0
    health = sensing.imu_health()
    assert (health.level, health.text) == (WARN, f'no imu for 0.1 s: {UNSEEN_BASE}')
    sensing.lockstep = True
    assert sensing.imu_health().level == OK
    assert make(imu='off').imu_health().text == f'off: {UNSEEN_BASE}'


@pytest.mark.parametrize('lockstep', [False, True])
def test_an_imu_that_comes_without_being_used_is_a_warning_and_an_error_where_it_is_required(make, lockstep):
    for kind, level in (('auto', WARN), ('required', ERROR)):
        sensing = make(lockstep=lockstep, imu=kind)
        for at in (0.0, 0.01):
            imu(sensing, at)
            state(sensing, at)
        sensing.monitor.has_imu = True
        assert sensing.imu_health().level == OK
        sensing.monitor.has_imu = False
        health = sensing.imu_health()
        assert health.level == level
    assert health.text == 'no imu, and it is required'


def test_an_imu_that_sends_and_is_not_used_counts_as_lost(make):
    """Its stamps differ far from the joint states: level ground would be assumed on a slope."""
    sensing = make()
    sensing.monitor.settled, sensing.monitor.has_imu = True, False
    state(sensing, 0.0)
    assert not sensing.lost_imu, 'without an IMU'
    imu(sensing, 0.0)
    state(sensing, 0.01)
    assert sensing.lost_imu
    sensing.monitor.has_imu = True
    assert not sensing.lost_imu
    sensing.had_imu, sensing.monitor.has_imu, sensing.imu_received_at = False, False, -np.inf
    assert not sensing.lost_imu, 'it sends no more, and never was of use'


def test_health_of_an_imu_that_is_required(make):
    sensing = make(imu='required')
    health = sensing.imu_health()
    assert (health.level, health.text) == (ERROR, 'no imu, and it is required')
    imu(sensing, 0.0)
    assert sensing.imu_health().level == OK
    sensing.imu_received_at -= 100.0
    assert sensing.imu_health().level == ERROR
    sensing.lockstep = True
    assert sensing.imu_health().level == OK


def test_a_payload_of_the_topic_is_checked(make):
    sensing = make()
    sensing.node.receive('payload', Float64(data=500.0))
    assert sensing.monitor.payload == 500.0
    sensing.node.receive('payload', Float64(data=-1.0))
    assert sensing.monitor.payload == 500.0
    assert sensing.rejections.counts == {'payload': 1}


@pytest.mark.parametrize(('check', 'name'), [('joint_checks', JOINTS[1]), ('imu_checks', 'gyroscope')])
def test_measurements_that_failed_a_test_are_not_trusted_until_it_is_acknowledged(make, check, name):
    sensing = make()
    state(sensing, 1.0)
    state(sensing, 1.01)
    assert sensing.trustworthy
    getattr(sensing.monitor, check).detected = {name: 'it is noisy'}
    assert not sensing.trustworthy
    assert sensing.checks.faults() == {name: 'it is noisy'}
    health = sensing.joint_health() if check == 'joint_checks' else sensing.imu_health()
    assert health.level == ERROR
    assert f'{name}: it is noisy' in health.text
    response = sensing.node.services['~/acknowledge'](None, SimpleNamespace(success=False, message=''))
    assert response.success
    assert f'{name}: it is noisy' in response.message
    assert sensing.trustworthy
    response = sensing.node.services['~/acknowledge'](None, SimpleNamespace(success=False, message=''))
    assert response.message == 'there was no fault'
