"""Messages of valid types with absurd values: every node rejects, counts and continues."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.control import JointTrajectory, TrajectoryPoint
from dyn_nodes.middleware import Context, Node, Parameter, init, message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, one_line
from dyn_nodes.nodes.guarded import GuardedNode
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.plausible import Bounds
from dyn_nodes.nodes.running import RunOver
from dyn_nodes.nodes.stamps import StampError, check_stamps, stamped_fields
from faults.messages import MODES, NODES, Goods, fuzz, node_of
from faults.values import damaged

Clock = message('rosgraph_msgs/msg/Clock')
Float64 = message('std_msgs/msg/Float64')
JointState = message('sensor_msgs/msg/JointState')
Time = message('builtin_interfaces/msg/Time')
BAD_STAMPS = [(2**31 - 1, 2**32 - 1), (-1, 0), (-(2**31), 0), (0, 10**9)]


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('name', NODES)
def test_a_node_survives_absurd_messages_and_sends_nothing_absurd(name, mode):
    outcome = fuzz(name, mode, 150, seed=3)
    assert outcome.sent == 150
    assert not outcome.escaped
    assert not outcome.caught, 'the guard is the last resort: expected faults are rejected by name'
    assert not outcome.unsafe


@pytest.mark.slow
@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('name', NODES)
def test_a_node_survives_thousands_of_absurd_messages(name, mode):
    assert fuzz(name, mode, 3000, seed=4).passed


def test_a_team_continues_between_absurd_messages_of_its_hands():
    rng = random.Random(8)
    with node_of('object') as node:
        goods, instants = Goods(node), 0
        for k in range(600):
            subscription = rng.choice(list(node.subscriptions))
            msg = goods.message(subscription.msg_type, subscription.topic_name, k * 0.005, rng)
            before = node.instant
            subscription.callback(damaged(msg, rng) if rng.random() < 0.6 else msg)
            instants += node.instant != before
        assert not node.stopped
        assert instants > 10


class Published:
    """Replaces a publisher."""

    def __init__(self):
        self.messages = []

    def publish(self, msg):
        self.messages.append(msg)


@pytest.fixture
def node():
    context = Context()
    init(args=['tester'], context=context)
    made = GuardedNode('guarded', context=context, parameter_overrides=[Parameter('use_sim_time', value=True)])
    yield made
    made.destroy_node()
    context.try_shutdown()


def callback_of(node, topic):
    """Return the callback of the executor for a message of a topic."""
    return next(s.callback for s in node.subscriptions if s.topic_name.endswith(topic))


@pytest.mark.parametrize(('seconds', 'nanoseconds'), BAD_STAMPS)
def test_invalid_stamps_are_rejected_and_counted(node, seconds, nanoseconds):
    taken = []
    node.create_subscription(JointState, 'joint_states', taken.append, 10)
    msg = JointState()
    msg.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
    callback_of(node, 'joint_states')(msg)
    msg.header.stamp = Time(sec=2**31 - 1, nanosec=999_999_999)
    callback_of(node, 'joint_states')(msg)
    assert len(taken) == 1
    health = node.message_health()
    assert health.level == WARN
    assert health.values['bad stamp joint_states'] == '1'
    assert 'header.stamp: expected seconds from 0' in health.values['last']


@pytest.mark.parametrize(('seconds', 'nanoseconds'), BAD_STAMPS)
def test_an_invalid_clock_moves_nothing(node, seconds, nanoseconds):
    callback_of(node, '/clock')(Clock(clock=Time(sec=5, nanosec=0)))
    callback_of(node, '/clock')(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
    assert node.get_clock().now().nanoseconds == 5 * 10**9
    assert node.guard.rejected['/clock'] == 1


def test_the_clock_of_any_node_ignores_invalid_times():
    context = Context()
    init(args=['tester'], context=context)
    node = Node('plain', context=context, parameter_overrides=[Parameter('use_sim_time', value=True)])
    for seconds, nanoseconds in ((7, 0), *BAD_STAMPS):
        callback_of(node, '/clock')(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
    assert node.get_clock().now().nanoseconds == 7 * 10**9
    node.destroy_node()
    context.try_shutdown()


def test_an_exception_in_a_callback_is_counted_and_shown_and_the_node_continues(node):
    def fail(*_):
        raise ZeroDivisionError('one\nline')

    node.declare_parameter('gain', 1.0)
    node.create_subscription(Float64, 'payload', fail, 10)
    node.create_timer(10.0, fail)
    node.create_service(message_service := _trigger(), '~/reset', fail)
    node.add_on_set_parameters_callback(fail)
    callback_of(node, 'payload')(Float64())
    list(node.timers)[-1].callback()
    service = next(s for s in node.services if s.srv_name.endswith('reset'))
    response = service.callback(message_service.Request(), message_service.Response())
    assert (response.success, response.message) == (False, 'one line')
    result = node.set_parameters([Parameter('gain', value=2.0)])[0]
    assert (result.successful, node.get_parameter('gain').value) == (False, 1.0)
    health = node.message_health()
    assert health.level == ERROR
    assert f'ZeroDivisionError at {Path(__file__).name}' in health.text
    assert sum(node.guard.failed.values()) >= 4
    diagnostics = DiagnosticsPublisher(node, {})
    diagnostics.publisher = Published()
    diagnostics.update(0.0)
    (status,) = diagnostics.publisher.messages[0].status
    assert status.name == 'guarded: messages'


def test_an_exception_in_a_coroutine_is_counted_too_and_answered(node):
    async def fail(*_):
        raise ZeroDivisionError('later')

    async def end(*_):
        raise RunOver

    answers = []
    for name, callback in (('~/fail', fail), ('~/end', end)):
        node.create_service(_trigger(), name, callback)
        service = list(node.services)[-1]
        try:
            service.callback(_trigger().Request(), _trigger().Response()).send(None)
        except StopIteration as returned:
            answers.append(returned.value.message)
        except RunOver:
            answers.append('the end')
    assert answers == ['later', 'the end']
    assert dict(node.guard.failed) == {'~/fail': 1}


def _trigger():
    from dyn_nodes.middleware import service

    return service('std_srvs/srv/Trigger')


def test_the_end_of_a_run_passes_the_guard(node):
    def end():
        raise RunOver

    node.create_timer(10.0, end)
    with pytest.raises(RunOver):
        list(node.timers)[-1].callback()


def test_nothing_is_reported_without_faults(node):
    node.create_subscription(Float64, 'payload', lambda msg: None, 10)
    callback_of(node, 'payload')(Float64())
    assert node.message_health() is None


def test_every_stamp_of_a_type_is_known():
    assert stamped_fields(JointState) == (('header', 'stamp'),)
    assert stamped_fields(Clock) == (('clock',),)
    assert stamped_fields(Float64) == ()
    with pytest.raises(StampError, match='clock: expected seconds from 0'):
        check_stamps(Clock(clock=Time(sec=-1, nanosec=0)), (('clock',),))


def test_texts_of_messages_fit_into_a_line():
    assert one_line('a\nb\x1b\u202e') == 'a b  '
    assert len(one_line('x' * 10**6)) == 300
    assert len(str(RejectedError('unknown joint', 'x' * 10**6))) == 300


def test_positions_a_whole_range_beyond_the_limits_are_out_of_bounds():
    machine = machine_of('log_loader', '')
    joints = [joint.name for joint in machine.movable_joints]
    bounds = Bounds.of(machine, joints)
    boom = machine.joint('boom_joint')
    good = np.array([0.5 * (max(j.lower, -1) + min(j.upper, 1)) for j in machine.movable_joints])
    bounds.check_positions('joint_states', good)
    bad = good.copy()
    bad[joints.index('boom_joint')] = boom.upper + 1.01 * (boom.upper - boom.lower)
    with pytest.raises(RejectedError, match="position of 'boom_joint': expected"):
        bounds.check_positions('joint_states', bad)
    with pytest.raises(RejectedError, match='velocity of'):
        bounds.check_velocities('joint_states', np.full(len(joints), -1e5))
    bounds.check_positions('joint_command', np.full(len(joints), math.nan))  # none specified


@pytest.mark.parametrize(
    ('rates', 'leaves'),
    [
        ({}, False),
        ({'velocities': ([0.0], [0.0])}, False),
        ({'velocities': ([40.0], [0.0])}, True),
        ({'velocities': ([0.5], [0.0]), 'accelerations': ([0.0], [0.0])}, False),
        ({'velocities': ([0.0], [0.0]), 'accelerations': ([-300.0], [0.0])}, True),
    ],
)
def test_a_curve_that_leaves_its_range_between_two_points_is_detected(rates, leaves):
    points = [
        TrajectoryPoint(time, [position], **{name: values[k] for name, values in rates.items()})
        for k, (time, position) in enumerate(((0.0, 0.0), (1.0, 1.0)))
    ]
    trajectory = JointTrajectory.from_points(['a'], points)
    exit_point = trajectory.leaves([-0.5], [1.5])
    sampled = np.array([trajectory.sample(t).position[0] for t in np.linspace(0, 1, 500)])
    assert (exit_point is not None) is leaves is bool((sampled < -0.5).any() or (sampled > 1.5).any())


class Log:
    """Replaces a logger."""

    def __init__(self):
        self.lines = []

    def warn(self, text, **options):
        self.lines.append(('warn', text, options))

    def error(self, text, **options):
        self.lines.append(('error', text, options))


def test_the_status_of_messages_counts_each_kind_and_shows_the_newest(node, monkeypatch):
    log = Log()
    monkeypatch.setattr(node, 'get_logger', lambda: log)
    published = []
    monkeypatch.setattr(node, '_publish_counts', lambda: published.append(len(log.lines)))
    node.create_subscription(JointState, 'joint_states', lambda msg: 1 / 0, 10)
    take = callback_of(node, 'joint_states')
    bad = JointState()
    bad.header.stamp = Time(sec=-1, nanosec=0)
    take(bad)
    take(bad)
    health = node.guard.health({})
    assert (health.level, health.text) == (WARN, '2 messages could not be used')
    assert health.values['bad stamp joint_states'] == '2'
    assert health.values['last'] == node.guard.last
    assert node.guard.last.startswith('joint_states: ')
    take(JointState())
    health = node.guard.health({'undecodable odom': 4})
    assert health.level == ERROR
    assert health.text == f'1 callbacks failed: {node.guard.last_failure}'
    assert node.guard.last == node.guard.last_failure == health.values['last']
    assert list(health.values) == ['undecodable odom', 'bad stamp joint_states', 'failed joint_states', 'last']
    assert [health.values[key] for key in list(health.values)[:3]] == ['4', '2', '1']
    assert [line[0] for line in log.lines] == ['warn', 'warn', 'error']
    assert log.lines[0][1].startswith('rejected: joint_states: ')
    assert log.lines[2][1].startswith('callback failed: joint_states: ZeroDivisionError at ')
    assert {line[2]['throttle_duration_sec'] for line in log.lines} == {1.0}
    assert published == [1, 2, 3]


def test_a_dropped_message_is_a_warning_without_a_newest_one(node):
    health = node.guard.health({'undecodable odom': 4})
    assert (health.level, health.text) == (WARN, '4 messages could not be used')
    assert health.values == {'undecodable odom': '4'}


def test_after_the_shutdown_an_exception_is_raised(node, context_of_node):
    def fail():
        raise ZeroDivisionError

    node.create_timer(10.0, fail)
    call = list(node.timers)[-1].callback
    context_of_node.try_shutdown()
    with pytest.raises(ZeroDivisionError):
        call()
    assert not node.guard.failed


@pytest.fixture
def context_of_node(node):
    return node.context
