"""Queues of an exchange, the wait for partners, the pace of the wall clock and the bounds of what joints can do."""

from __future__ import annotations

import dataclasses
import math
import re
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dyn_nodes.middleware import DurabilityPolicy, HistoryPolicy, message
from dyn_nodes.nodes import exchange, readiness, stamps
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.exchange import Every
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.readiness import GRACE, Readiness
from dyn_nodes.nodes.running import RunFailed
from dyn_nodes.nodes.schedule import FACTOR_WINDOW, LATE_WINDOW, MOST_CATCH_UP, RealTimeFactor, WallSchedule
from roslite.launching import finished

TOLERANCE, SPEED = 0.002, 2.0


class Wall:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


# -- queues ----------------------------------------------------------------------------------------------------------


def mode(name: str, partner: str = 'auto', source: str = 'auto') -> dict[str, Any]:
    return {'mode': name, 'partner': partner, 'command_source': source}


def test_in_lockstep_every_state_is_kept_and_a_late_match_gets_the_last_command() -> None:
    for qos in (exchange.data_qos(True), exchange.states_qos(mode('lockstep'))):
        assert qos.history == HistoryPolicy.KEEP_ALL
    command = exchange.command_qos(True)
    assert (command.depth, command.durability) == (1, DurabilityPolicy.TRANSIENT_LOCAL)
    assert command.history == HistoryPolicy.KEEP_LAST


def test_in_real_time_queues_are_bounded_and_partners_that_are_waited_for_have_a_long_one() -> None:
    for qos, depth in (
        (exchange.data_qos(False), 10),
        (exchange.command_qos(False), 10),
        (exchange.states_qos(mode('realtime')), 5000),
        (exchange.states_qos(mode('realtime', 'external')), 10),
    ):
        assert (qos.history, qos.depth) == (HistoryPolicy.KEEP_LAST, depth)
        assert qos.durability == DurabilityPolicy.VOLATILE


@pytest.mark.parametrize(
    ('values', 'lockstep', 'awaits'),
    [
        (mode('lockstep'), True, True),
        (mode('lockstep', 'external'), True, True),
        (mode('realtime'), True, False),
        (mode('realtime', 'external'), False, False),
        (mode('realtime', source='lockstep'), True, True),
        (mode('realtime', 'external', 'lockstep'), False, False),
        (mode('lockstep', source='free'), True, False),
        (mode('realtime', source='free'), True, False),
    ],
)
def test_a_node_waits_for_commands_where_its_exchange_is_in_lockstep(values: Any, lockstep: bool, awaits: bool) -> None:
    assert exchange.is_lockstep(values) is lockstep
    assert exchange.awaits_commands(values) is awaits


def test_a_node_in_the_chain_gives_up_its_source_before_its_partner_gives_it_up() -> None:
    assert exchange.LOCKSTEP_TIMEOUT == 5.0
    assert exchange.SOURCE_TIMEOUT == 2.5
    assert 0.0 < 10 * exchange.WATCH_PERIOD <= exchange.SOURCE_TIMEOUT


def test_a_period_below_the_exchange_is_every_exchange() -> None:
    every = Every('report_period', 0.0004, 0.001, exact=False)
    assert every.ticks == 1
    assert all(every.at(k * 1_000_000) for k in range(5))


def test_a_period_fits_to_a_millionth() -> None:
    assert Every('report_period', 0.003 * (1 + 5e-7), 0.001, exact=True).ticks == 3
    for factor in (1 + 2e-6, 1 - 2e-6):
        with pytest.raises(ParameterError, match='multiple of the exchange period'):
            Every('report_period', 0.003 * factor, 0.001, exact=True)


def test_a_stamp_is_written_in_place() -> None:
    state = message('sensor_msgs/msg/JointState')()
    stamp = state.header.stamp
    exchange.set_stamp(state, 3_000_000_007)
    assert state.header.stamp is stamp
    assert (stamp.sec, stamp.nanosec) == (3, 7)


def test_a_stamp_is_the_nearest_nanosecond_and_reads_as_seconds() -> None:
    stamp = stamps.stamp_of(1.5000000004)
    assert (stamp.sec, stamp.nanosec) == (1, 500_000_000)
    assert stamps.nanoseconds_of_stamp(stamp) == 1_500_000_000
    assert stamps.seconds_of_stamp(stamp) == 1.5
    assert stamps.nanoseconds_of(2.0000000006) == 2_000_000_001


# -- the wall clock --------------------------------------------------------------------------------------------------


def schedule() -> tuple[Wall, WallSchedule]:
    wall = Wall()
    made = WallSchedule(SPEED, TOLERANCE, wall)
    made.rebase(10.0)
    return wall, made


def test_an_instant_is_due_at_its_wall_time_and_not_before() -> None:
    wall, made = schedule()
    wall.now += 0.5
    assert made.is_due(11.0)
    assert not made.is_due(11.0 + 1e-6)
    made.rebase(20.0)
    assert made.is_due(20.0)
    assert not made.is_due(20.1)


def test_an_instant_counts_as_missed_beyond_the_tolerance_and_delays_below_the_catch_up_lose_nothing() -> None:
    wall, made = schedule()
    assert not made.late
    for behind, missed in ((0.9 * TOLERANCE, 0), (1.1 * TOLERANCE, 1), (0.9 * MOST_CATCH_UP, 2)):
        wall.now = 50.0 + 0.5 + behind
        made.start(11.0)
        assert (made.missed, made.lost) == (missed, 0.0)
    assert not made.late


def test_time_beyond_the_catch_up_is_lost_once_and_shown_for_a_while() -> None:
    wall, made = schedule()
    for k in range(1, 3):
        wall.now += 0.5 + MOST_CATCH_UP + 0.03
        made.start(11.0 if k == 1 else 12.0 + SPEED * (MOST_CATCH_UP))  # it starts late and has caught up nothing
    assert made.lost == pytest.approx(0.06)
    assert made.missed == 2
    assert made.late
    wall.now += LATE_WINDOW - 0.01
    assert made.late
    wall.now += 0.02
    assert not made.late
    assert (MOST_CATCH_UP, LATE_WINDOW, FACTOR_WINDOW) == (0.1, 5.0, 2.0)


def test_the_factor_needs_two_marks_and_forgets_when_cleared() -> None:
    wall = Wall()
    factor = RealTimeFactor(wall)
    factor.note(1.0)
    assert math.isnan(factor.value)
    wall.now += 0.5
    factor.note(1.4)
    assert factor.value == pytest.approx(0.8)
    factor.clear()
    assert math.isnan(factor.value)
    factor.note(7.0)
    factor.note(7.5)  # the clock stands still
    assert factor.value == pytest.approx(0.5e9)


def test_the_factor_is_over_the_least_span_that_covers_its_window() -> None:
    wall = Wall()
    factor = RealTimeFactor(wall)
    for at, simulated in ((0.0, 0.0), (0.9, 5.0), (1.0, 5.1), (2.9, 6.0), (3.0, 6.2)):
        wall.now = 50.0 + at
        factor.note(simulated)
    assert factor.value == pytest.approx((6.2 - 5.1) / 2.0)


# -- the wait for partners -------------------------------------------------------------------------------------------


class Waiting:
    """A node in a graph that is written down here."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.listeners: dict[str, list[str]] = {}
        self.published: list[str] = ['/quiet', '/joint_states', '/rosout', '/odom']
        self.unpublished = {'/quiet'}
        self.connected = 0
        self.lines: list[str] = []
        self.joint_states = SimpleNamespace(get_subscription_count=lambda: self.connected)
        self.reached = {'/odom': 1, '/rosout': 0}
        self.publishers = [
            SimpleNamespace(topic_name=topic, get_subscription_count=lambda topic=topic: self.reached[topic])
            for topic in self.reached
        ]

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        return [(name, '/') for name in sorted(self.nodes)]

    def resolve_topic_name(self, name: str) -> str:
        return f'/{name}'

    def get_subscriptions_info_by_topic(self, topic: str) -> list[Any]:
        names = self.listeners.get(topic, [])
        return [SimpleNamespace(node_name=name, endpoint_gid=list(name.encode())) for name in names]

    def get_topic_names_and_types(self) -> list[tuple[str, list[str]]]:
        return [(topic, ['x']) for topic in self.published]

    def count_publishers(self, topic: str) -> int:
        return 0 if topic in self.unpublished else 1

    def get_logger(self) -> Any:
        return SimpleNamespace(info=self.lines.append, warn=lambda text: self.lines.append(f'warn {text}'))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    monkeypatch.setattr(readiness.time, 'monotonic', wall)
    return wall


def test_time_starts_a_moment_after_all_partners_are_there_and_connected(clock: Wall) -> None:
    node = Waiting()
    wait = Readiness(node, ['hydraulics', '', 'controller'], 30.0)
    assert wait.names == ['hydraulics', 'controller']
    steps = (
        (lambda: None, 'no node hydraulics, controller yet'),
        (lambda: node.nodes.update({'hydraulics', 'other'}), 'no node controller yet'),
        (lambda: node.nodes.add('controller'), 'hydraulics, controller has not subscribed to joint_states yet'),
        (
            lambda: node.listeners.update({'/joint_states': ['hydraulics', 'viewer']}),
            'controller has not subscribed to joint_states yet',
        ),
        (
            lambda: node.listeners['/joint_states'].append('controller'),
            'joint_states is not yet connected to all of its subscriptions',
        ),
        (lambda: setattr(node, 'connected', 1), 'joint_states is not yet connected to all of its subscriptions'),
    )
    for step, missing in steps:
        step()
        assert not wait.check()
        assert wait.missing == missing
    node.connected = 2
    assert not wait.check()
    assert wait.missing == ''
    clock.now += GRACE - 0.01
    assert not wait.check()
    clock.now += 0.02
    assert wait.check()
    assert GRACE == 0.25
    assert wait.subscriptions() == {b'hydraulics', b'viewer', b'controller'}


@pytest.mark.parametrize('names', [['controller'], ['recorder_node'], ['controller', 'recorder_node']])
@pytest.mark.parametrize('node_name', ['/controller', '/yard/loader/controller', '/recorder_node'])
def test_a_node_that_is_waited_for_and_ends_ends_the_wait_with_its_message(
    clock: Wall, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: list[str], node_name: str
) -> None:
    monkeypatch.setenv(finished.VARIABLE, str(tmp_path / 'ended'))
    wait = Readiness(Waiting(), names, 30.0)
    assert not wait.check()
    finished.record_finished(tmp_path / 'ended', '/viewer_node', 'exit code 1: port 8080 is taken')
    assert not wait.check()
    finished.record_finished(tmp_path / 'ended', node_name, "exit code 1: parameter 'task': not found")
    (tmp_path / 'ended').open('a').write('["half a li')
    name = node_name.rpartition('/')[2]
    if name in names:
        with pytest.raises(RunFailed, match=f"^{name}, .* has ended: exit code 1: parameter 'task': not found$"):
            wait.check()
    else:
        assert not wait.check()


def test_a_node_that_is_there_and_compiles_is_waited_for_without_a_limit(clock: Wall) -> None:
    node = Waiting()
    wait = Readiness(node, ['hydraulics', 'controller'], 30.0, required=True)
    clock.now += 29.0
    assert not wait.check()
    node.nodes = {'controller'}
    clock.now += 29.0
    assert not wait.check()  # it has appeared: the timeout restarts
    node.nodes = {'controller', 'hydraulics'}
    for _ in range(100):
        clock.now += 29.0
        assert not wait.check()
    assert not any(line.startswith('warn') for line in node.lines)
    node.nodes = {'controller'}
    assert not wait.check()
    clock.now += 31.0
    with pytest.raises(RunFailed, match='no node hydraulics yet: nothing has appeared for 30 s'):
        wait.check()


def test_a_partner_that_leaves_again_restarts_the_wait(clock: Wall) -> None:
    node = Waiting()
    node.nodes, node.listeners, node.connected = {'hydraulics'}, {'/joint_states': ['hydraulics']}, 1
    wait = Readiness(node, ['hydraulics'], 30.0)
    assert not wait.check()
    clock.now += 0.2
    node.nodes = set()
    assert not wait.check()
    node.nodes = {'hydraulics'}
    clock.now += 0.2
    assert not wait.check()
    clock.now += 0.2
    assert not wait.check()
    clock.now += 0.1
    assert wait.check()


def test_the_recorder_has_to_listen_to_all_that_is_published_and_to_be_connected_to_joint_states(clock: Wall) -> None:
    node = Waiting()
    node.nodes = {'recorder_node'}
    wait = Readiness(node, ['recorder_node'], 30.0)
    assert not wait.check()
    assert wait.missing == 'joint_states is not yet connected to all of its subscriptions'
    node.connected = 1
    for topic in ('/joint_states', '/odom'):
        assert not wait.check()
        assert wait.missing == f'the recorder has not subscribed to {topic} yet'
        node.listeners[topic] = ['recorder_node']
    assert not wait.check()
    assert wait.missing == ''
    clock.now += 0.3
    assert wait.check()


def test_time_waits_for_the_recorder_to_be_connected_to_every_topic_of_the_node(clock: Wall) -> None:
    node = Waiting()
    node.nodes, node.connected = {'recorder_node'}, 1
    node.listeners = {'/joint_states': ['recorder_node'], '/odom': ['recorder_node']}
    node.reached['/odom'] = 0
    wait = Readiness(node, ['recorder_node'], 30.0)
    assert not wait.check()
    assert wait.missing == 'the recorder is not yet connected to /odom'
    node.reached['/odom'] = 1
    assert not wait.check()
    assert wait.missing == ''


def test_a_wait_is_reported_every_two_seconds_and_ends_with_a_warning(clock: Wall) -> None:
    node = Waiting()
    wait = Readiness(node, ['hydraulics'], 10.0)
    logged_at: list[int] = []
    for tenths in range(1, 96):
        clock.now += 0.1
        before = len(node.lines)
        assert not wait.check()
        logged_at += [tenths] * (len(node.lines) - before)
    assert logged_at == pytest.approx([20, 41, 61, 82], abs=2)
    assert node.lines == ['waiting: no node hydraulics yet'] * 4
    clock.now += 0.6
    assert wait.check()
    assert node.lines[-1] == 'warn starting without waiting any longer: no node hydraulics yet'


# -- bounds ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def bounds() -> Bounds:
    machine = machine_of('log_loader', '')
    limits = {'boom_joint': (-0.4, 1.2), 'stick_joint': (0.5, 0.52), 'swing_joint': (-math.inf, math.inf)}
    joints = tuple(
        dataclasses.replace(joint, lower=limits[joint.name][0], upper=limits[joint.name][1])
        if joint.name in limits
        else joint
        for joint in machine.joints
    )
    return Bounds.of(dataclasses.replace(machine, joints=joints), list(limits))


def test_a_time_beyond_the_last_stamp_becomes_it_and_none_before() -> None:
    last = (2**31 - 1) * stamps.NANO + 999_999_999
    for nanoseconds in (0, 1, 10**18, last - 1, last, last + 1, 2 * last):
        expected = divmod(min(nanoseconds, last), stamps.NANO)
        made = stamps.stamp_at(nanoseconds)
        assert (made.sec, made.nanosec) == expected
        assert struct.unpack('<iI', stamps.packed_stamp(nanoseconds)) == expected


def test_a_position_may_leave_its_limits_by_the_range_between_them_and_a_little_at_least(bounds: Bounds) -> None:
    assert bounds.joints == ('boom_joint', 'stick_joint', 'swing_joint')
    assert bounds.low == pytest.approx([-2.0, 0.4, -1e7])
    assert bounds.high == pytest.approx([2.8, 0.62, 1e7])
    assert (bounds.low[2], bounds.high[2]) == (-1e7, 1e7)
    for edge in (bounds.low, bounds.high):
        bounds.check_positions('joint_states', edge)
    bounds.check_positions('joint_states', np.full(3, math.nan))
    for index, value in ((0, -2.01), (0, 2.81), (1, 0.39), (1, 0.63), (2, -1.1e7), (2, 1.1e7)):
        values = np.full(3, 0.5)
        values[index] = value
        with pytest.raises(RejectedError, match=f"position of '{bounds.joints[index]}': expected .* found") as error:
            bounds.check_positions('joint_states', values)
        assert error.value.kind == 'out of range'


def test_the_first_position_beyond_its_bounds_is_named(bounds: Bounds) -> None:
    with pytest.raises(RejectedError, match=r"'stick_joint': expected 0\.4 to 0\.62, found 9"):
        bounds.check_positions('joint_states', np.array([0.0, 9.0, 1e9]))
    for border in (bounds.low[0], bounds.high[0]):  # the first joint is within its bounds
        with pytest.raises(RejectedError, match=r"'stick_joint': expected 0\.4 to 0\.62, found 9"):
            bounds.check_positions('joint_states', np.array([border, 9.0, 0.0]))


@pytest.mark.parametrize(('check', 'largest'), [('velocities', 1e4), ('efforts', 1e12)])
def test_rates_and_efforts_have_a_largest_size(bounds: Bounds, check: str, largest: float) -> None:
    check_values = getattr(bounds, f'check_{check}')
    check_values('joint_states', np.array([largest, -largest, math.nan]))
    beyond = float(np.nextafter(largest, math.inf))
    for value in (1.01 * largest, -1.01 * largest, beyond, -beyond):
        with pytest.raises(
            RejectedError, match=re.escape(f"'stick_joint': expected at most {largest:g}, found {value:g}")
        ):
            check_values('joint_states', np.array([largest, value, 2 * value]))
