"""The controller recovers a task by messages: events and margins in, voltages out; late, lost and false messages."""

from __future__ import annotations

import pytest
from domains import next_domain

from dyn_nodes.measures import MEASURES
from dyn_nodes.middleware import Context, Parameter, init, message
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of

DOMAIN = next_domain()
DiagnosticStatus, KeyValue = message('diagnostic_msgs/msg/DiagnosticStatus'), message('diagnostic_msgs/msg/KeyValue')
Float64, JointState = message('std_msgs/msg/Float64'), message('sensor_msgs/msg/JointState')
START = {'swing_joint': 0.0, 'boom_joint': 0.17, 'stick_joint': -0.96}


class Bench:
    """A controller with messages from the test, and its last commands."""

    def __init__(self, context: Context, **parameters) -> None:
        init(args=['bench'], context=context)
        values = {'machine': 'log_loader', 'mode': 'lockstep', 'task': 'pick_and_place_supervised', **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = ControllerNode(context=context, parameter_overrides=overrides)
        self.sent: list[list[float]] = []
        self.node.commands_out.publish = lambda msg: self.sent.append(list(msg.data))

    def reach(self, time: float, share: float | None = 0.1) -> tuple[float, float]:
        """Advance time to an instant, with a report if a load share is given; return the volts of boom and stick."""
        if share is not None:
            self.node.receive(f'stability/{MEASURES[self.node.watch.task.on.watched].topic}', Float64(data=share))
        msg = JointState(name=list(START), position=list(START.values()), velocity=[0.0] * 3, effort=[0.0] * 3)
        msg.header.stamp = stamp_of(time)
        self.node.receive('joint_states', msg)
        names = [actuator.name for actuator in self.node.motion.tracker.actuators]
        volts = dict(zip(names, self.sent[-1]))
        return volts['boom'], volts['stick']

    def run(self, since: float, until: float, share: float | None = 0.1) -> tuple[float, float]:
        for k in range(round((until - since) / 0.02) + 1):
            volts = self.reach(since + 0.02 * k, share)
        return volts

    def event(self, kind: str, time: str) -> None:
        status = DiagnosticStatus(name=f'dynamics_node: {kind}', values=[KeyValue(key='time', value=time)])
        self.node.receive('events', status)

    def health(self):
        return self.node.watch.health()


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    contexts = []  # kept before a node is created: a rejected one also leaves its context

    def make(**parameters) -> Bench:
        contexts.append(Context())
        return Bench(contexts[-1], **parameters)

    yield make
    for context in contexts:
        context.try_shutdown()


def names_of(rig: Bench) -> set[str]:
    return {subscription.topic_name for subscription in rig.node.subscriptions}


def test_the_arm_is_pulled_back_so_long_after_the_event(bench):
    rig = bench()
    assert {'/events', '/stability/load_share'} <= names_of(rig)
    assert rig.run(0.0, 8.34)[0] < -3.0
    assert rig.health().text == 'waiting for lift_off'
    rig.event('touch_down', '8.1')
    rig.event('lift_off', '8.343000000')
    assert rig.run(8.36, 8.62, 0.0)[0] < 0.0
    assert rig.run(8.64, 9.26, 0.0) == pytest.approx((4.5, 4.0), abs=0.2)
    assert rig.node.phase == 'recover'
    level, text = rig.health().level, rig.health().text
    assert (level, text) == (1, 'recovery from t = 8.643 s: lift_off at t = 8.343 s')


def test_a_lost_event_is_made_up_for_by_the_load_of_the_wheel(bench):
    rig = bench()
    rig.run(0.0, 8.34)
    rig.run(8.36, 8.40, 0.0)
    assert rig.node.motion.profile.started == pytest.approx(8.34 + 0.3, abs=0.021)


def test_a_timeout_of_the_reports_stops_the_reach_and_health_has_the_reason(bench):
    rig = bench()
    rig.run(0.0, 6.0)
    volts = rig.run(6.02, 7.5, None)
    assert volts == pytest.approx((0.0, 0.0), abs=1e-9)
    assert rig.node.phase == 'stopped'
    health = rig.health()
    assert (health.level, health.text) == (2, 'the task is stopped: no stability/load_share for 0.5 s')
    rig.event('lift_off', '7.5')
    assert rig.run(7.52, 8.6, None) == pytest.approx((4.5, 4.0))


def lose_states(rig: Bench) -> None:
    """Joint states stop for longer than `command_timeout`, by the wall clock."""
    rig.node.received_at -= 100.0
    rig.node.check_timeouts()
    assert rig.sent[-1] == [0.0, 0.0, 0.0]


def test_after_lost_joint_states_a_supervised_task_steps_to_no_volts_and_nothing_is_recovered(bench):
    rig = bench(mode='realtime', partner='external')
    assert rig.run(0.0, 6.4) == pytest.approx((-5.0, -5.5))
    lose_states(rig)
    count = len(rig.sent)
    rig.run(7.4, 8.3)
    rig.event('lift_off', '8.3')
    rig.run(8.32, 9.0)
    assert rig.sent[count:] == [[0.0, 0.0, 0.0]] * (len(rig.sent) - count)
    assert rig.node.phase == 'hold'
    health = rig.health()
    assert (health.level, health.text) == (1, 'the task was left: no recovery follows')


def test_a_task_that_is_stopped_after_neutral_commands_stays_at_neutral(bench):
    rig = bench(mode='realtime', partner='external')
    rig.run(0.0, 6.0)
    assert rig.run(6.02, 6.4, None) == pytest.approx((-5.0, -5.5))
    lose_states(rig)
    assert rig.reach(6.55, None) == (0.0, 0.0)
    assert rig.node.phase == 'stopped'


@pytest.mark.parametrize('time', ['', 'soon', 'nan', 'inf', '-1', '1e300', '400.0'])
def test_an_event_without_a_possible_time_is_rejected(bench, time):
    rig = bench()
    rig.run(0.0, 6.0)
    rig.event('lift_off', time)
    assert rig.node.motion.profile.started is None
    assert rig.node.rejections.counts['event'] == 1


def test_a_reset_forgets_the_recovery(bench):
    rig = bench()
    rig.run(0.0, 8.34)
    rig.event('lift_off', '8.343')
    rig.run(8.36, 9.0, 0.0)
    rig.reach(0.0)
    assert rig.node.motion.profile.started is None
    assert rig.run(0.02, 6.0) == pytest.approx((-5.0, -5.5))


def test_a_parameter_overrides_the_task_and_the_clock_is_the_default(bench):
    assert bench(task='pick_and_place_recovery').node.watch is None
    assert bench(recover_on='clock').node.watch is None
    assert bench(recovery=False).node.watch is None
    rig = bench(task='pick_and_place_recovery', recover_on='zmp < 0.15', recovery_delay=0.1)
    assert '/stability/zmp_degree' in names_of(rig)
    assert '/events' not in names_of(rig)
    rig.run(0.0, 6.2, 0.5)
    rig.reach(6.22, 0.14)
    assert rig.node.motion.profile.started == pytest.approx(6.3, abs=0.021)


def test_an_empty_condition_is_rejected(bench):
    with pytest.raises(ParameterError, match="parameter 'recover_on': recover_on: expected clock, lift_off or"):
        bench(recover_on='soon')
    with pytest.raises(ParameterError, match='expected segments with recovery and others, found none'):
        bench(task='excavator_dig', machine='excavator', recover_on='lift_off')
