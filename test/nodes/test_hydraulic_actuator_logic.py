"""The hydraulic actuator node, callback by callback."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from node_testing import EFFORTS, JOINTS, POSTURE, Outbox, joint_state, statuses, values_of

from dyn_nodes.middleware import message
from dyn_nodes.nodes import actuator_health
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT, SOURCE_TIMEOUT
from dyn_nodes.nodes.hydraulic_actuator_node import HydraulicActuatorNode
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import nanoseconds_of, seconds_of_stamp

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')


def volts(*values: float) -> Any:
    return Float64MultiArray(data=list(values))


def stamped(time_: float, *values: float) -> Any:
    """Return the volts of a controller for the joint states of an instant, s."""
    msg = volts_message(['boom', 'stick', 'swing'])
    msg.data = list(values)
    stamp_volts(msg, nanoseconds_of(time_))
    return msg


def go_on(node: Any, first: int, last: int) -> None:
    """Send the joint states of the ms from `first` to `last`."""
    for k in range(first, last + 1):
        node.receive('joint_states', joint_state(k * 1e-3))


@pytest.fixture
def node(make_node: Callable[..., Any]) -> Any:
    return make_node(HydraulicActuatorNode)


@pytest.fixture
def realtime(make_node: Callable[..., Any]) -> Any:
    return make_node(HydraulicActuatorNode, mode='realtime', partner='external')


def efforts_of(reply: Any) -> dict[str, float]:
    return dict(zip(reply.name, np.asarray(reply.effort).tolist()))


class TestLockstep:
    def test_the_first_answer_holds_the_measured_efforts(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        node.receive('joint_states', joint_state(0.0))
        reply = node.commands_out.last
        assert seconds_of_stamp(reply.header.stamp) == 0.0
        assert efforts_of(reply) == pytest.approx(dict(zip(JOINTS, EFFORTS)), abs=1e-6)

    def test_an_instant_of_a_command_waits_for_it_and_the_others_do_not(self, node: Any) -> None:
        node.receive('joint_states', joint_state(0.0))
        assert node.commands_out.messages == []
        node.receive('valve_commands', volts(0, 0, 0))
        assert len(node.commands_out.messages) == 1
        for k in range(1, 10):
            node.receive('joint_states', joint_state(k * 1e-3))
        assert len(node.commands_out.messages) == 10
        node.receive('joint_states', joint_state(0.01))
        assert len(node.commands_out.messages) == 10
        node.receive('valve_commands', volts(0, 0, 0))
        assert seconds_of_stamp(node.commands_out.last.header.stamp) == 0.01

    def test_either_order_of_state_and_command_gives_the_same_efforts(self, make_node: Callable[..., Any]) -> None:
        replies = []
        for command_first in (True, False):
            node = make_node(HydraulicActuatorNode)
            for k in range(50):
                command = [volts(-5.0, 3.0, 1.0)] * (k % 10 == 0)
                if command_first and command:
                    node.receive('valve_commands', command[0])
                node.receive('joint_states', joint_state(k * 1e-3))
                if not command_first and command:
                    node.receive('valve_commands', command[0])
            replies.append([np.asarray(reply.effort).tobytes() for reply in node.commands_out.messages])
        assert len(replies[0]) == 50
        assert replies[0] == replies[1]

    def test_a_command_is_held_until_the_next_one(self, node: Any) -> None:
        for k in range(20):
            if k % 10 == 0:
                node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
            node.receive('joint_states', joint_state(k * 1e-3))
        spool = node.exchange.system.oil[0]
        assert spool == pytest.approx(-5e-3 * (1.0 - math.exp(-0.019 / 0.08)), rel=1e-6)

    def test_a_repeated_instant_gets_the_same_answer_without_moving_the_oil(self, node: Any) -> None:
        node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        node.receive('joint_states', joint_state(0.0))
        node.receive('joint_states', joint_state(0.001))
        oil = node.exchange.system.oil.copy()
        node.receive('joint_states', joint_state(0.001))
        first, again = node.commands_out.messages[-2:]
        assert first == again
        assert np.array_equal(node.exchange.system.oil, oil)
        assert node.answered == 2

    def test_joints_without_an_actuator_get_no_effort_and_all_are_named(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        node.receive('joint_states', joint_state(0.0))
        assert list(node.commands_out.last.name) == [joint.name for joint in node.machine.movable_joints]

    def test_time_that_goes_back_starts_the_oil_again(self, node: Any) -> None:
        for k in range(30):
            if k % 10 == 0:
                node.receive('valve_commands', volts(-5.0, 5.0, 5.0))
            node.receive('joint_states', joint_state(k * 1e-3))
        node.receive('valve_commands', volts(0, 0, 0))
        node.receive('joint_states', joint_state(0.0))
        assert node.restarts == 1
        assert efforts_of(node.commands_out.last) == pytest.approx(dict(zip(JOINTS, EFFORTS)), abs=1e-6)

    def test_a_command_for_an_instant_before_the_reset_is_not_taken_for_the_first_one_after_it(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        for k in range(10):
            node.receive('joint_states', joint_state(k * 1e-3))
        node.receive('joint_states', joint_state(0.01))  # waits for its command
        node.receive('joint_states', joint_state(0.0))  # the dynamics was reset
        node.receive('valve_commands', volts(7.0, 7.0, 7.0))  # of t = 0.01
        assert node.waiting is not None
        node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        assert node.waiting is None
        node.receive('joint_states', joint_state(0.001))
        assert node.exchange.system.oil[0] < 0.0

    @pytest.mark.parametrize('late', [True, False])
    @pytest.mark.parametrize('first', ['joint states', 'command'])
    def test_after_a_reset_a_stamped_command_is_for_its_instant(self, node: Any, late: bool, first: str) -> None:
        """With or without the command of the instant before the reset, for any order of the topics."""
        node.receive('valve_commands', stamped(0.0, 0.0, 0.0, 0.0))
        go_on(node, 0, 10)  # the last one waits for its command
        if late and first == 'command':
            node.receive('valve_commands', stamped(0.01, 7.0, 7.0, 7.0))
        steps = [lambda: node.receive('joint_states', joint_state(0.0))]
        if late and first == 'joint states':
            steps.append(lambda: node.receive('valve_commands', stamped(0.01, 7.0, 7.0, 7.0)))
        steps.append(lambda: node.receive('valve_commands', stamped(0.0, -5.0, 0.0, 0.0)))
        count = len(node.commands_out.messages)
        for step in steps[::-1] if first == 'command' else steps:
            assert len(node.commands_out.messages) == count
            step()
        assert seconds_of_stamp(node.commands_out.last.header.stamp) == 0.0
        go_on(node, 1, 10)
        assert node.exchange.system.oil[0] < 0.0
        assert seconds_of_stamp(node.commands_out.last.header.stamp) == 0.009, 'nothing of before the reset is taken'
        node.receive('valve_commands', stamped(0.01, -5.0, 0.0, 0.0))
        assert seconds_of_stamp(node.commands_out.last.header.stamp) == 0.01

    def test_stamped_commands_that_come_ahead_are_kept_for_their_instants(self, node: Any) -> None:
        node.receive('joint_states', joint_state(0.0))
        for k in range(3):
            node.receive('valve_commands', stamped(0.01 * k, -1.0 - k, 0.0, 0.0))
        for k in range(3):
            go_on(node, 10 * k + (k == 0), 10 * k + 9)
            assert node._volts[0] == -1.0 - k
        assert node.answered == 30

    @pytest.mark.parametrize(('first', 'answered'), [(10, 0), (11, 1)])
    def test_of_stamped_commands_far_ahead_of_time_the_latest_are_kept_in_bounded_number(
        self, node: Any, first: int, answered: int
    ) -> None:
        node.instants.most = 20
        for k in range(1, 31):
            node.receive('valve_commands', stamped(0.01 * k, -1.0, 0.0, 0.0))
        node.receive('joint_states', joint_state(0.01 * first))
        assert node.answered == answered

    def test_valves_follow_the_order_of_the_parameter(self, make_node: Callable[..., Any]) -> None:
        node = make_node(HydraulicActuatorNode, joints=['swing_joint', 'boom'])
        node.receive('valve_commands', volts(2.0, -5.0))
        node.receive('joint_states', joint_state(0.0))
        node.receive('joint_states', joint_state(0.001))
        boom, stick, swing = node.exchange.system.oil[::3]
        assert boom < 0.0 < swing
        assert stick == 0.0

    def test_a_divergence_keeps_the_oil_gives_nothing_and_is_an_error_until_the_reset(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        node.reader.bounds = node.posture.bounds = None  # which would reject it
        node.receive('joint_states', joint_state(0.0))
        oil = node.exchange.system.oil.copy()
        node.receive('joint_states', joint_state(0.001, velocity=(0.0, 1e12, 0.0)))
        assert len(node.commands_out.messages) == 1
        assert np.array_equal(node.exchange.system.oil, oil)
        status = statuses(node.diagnostics.publisher.last)['hydraulics']
        assert status.level == 2
        assert 'diverged' in status.message

    @pytest.mark.parametrize('instant', [0.001, 0.01])
    @pytest.mark.parametrize('how', ['time goes back', 'reset'])
    def test_it_continues_after_a_divergence_at_any_instant(self, node: Any, instant: float, how: str) -> None:
        for k in range(round(instant * 1e3)):
            if k == 0:
                node.receive('valve_commands', volts(0, 0, 0))
            node.receive('joint_states', joint_state(k * 1e-3))
        if instant == 0.01:
            node.receive('valve_commands', volts(0, 0, 0))
        node.reader.bounds = node.posture.bounds = None  # which would reject it
        node.receive('joint_states', joint_state(instant, velocity=(0.0, 1e12, 0.0)))
        count = len(node.commands_out.messages)
        assert node.fault
        if how == 'time goes back':
            node.receive('joint_states', joint_state(0.0))
            assert len(node.commands_out.messages) == count  # its command is not here yet
            node.receive('valve_commands', volts(0, 0, 0))
        else:
            node.waiting = (node.waiting[0], node.waiting[1], np.zeros(3))  # what drove it apart has gone
            assert node.answer('~/reset', None).success
        assert len(node.commands_out.messages) == count + 1
        assert not node.fault

    def test_diagnostics_are_paced_and_stamped_by_simulated_time(self, node: Any) -> None:
        for k in range(2101):
            if k % 10 == 0:
                node.receive('valve_commands', volts(0, 0, 0))
            node.receive('joint_states', joint_state(k * 1e-3))
        stamps = [seconds_of_stamp(array.header.stamp) for array in node.diagnostics.publisher.messages]
        assert stamps == pytest.approx([0.0, 1.0, 2.0])
        last = statuses(node.diagnostics.publisher.last)
        assert {status.level for status in last.values()} == {0}
        assert values_of(last['joint_states'])['received'] == '2001'

    def test_a_missing_command_is_reported_by_the_wall_clock_alone(
        self, node: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node.receive('joint_states', joint_state(0.0))
        node.check_timeouts()
        assert node.diagnostics.publisher.messages == []
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + LOCKSTEP_TIMEOUT + 1.0)
        node.check_timeouts()
        status = statuses(node.diagnostics.publisher.last)['valve_commands']
        assert status.level == 1
        assert 'no valve_commands for t = 0.000 s' in status.message


class TestRejections:
    @pytest.mark.parametrize(
        ('command', 'kind'),
        [
            (volts(1.0, 2.0), 'wrong size'),
            (volts(1.0, math.nan, 0.0), 'not finite'),
            (volts(1.0, 17.0, 0.0), 'out of range'),
        ],
    )
    def test_a_bad_command_is_not_used_counted_and_reported(self, node: Any, command: Any, kind: str) -> None:
        node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        for k in range(10):
            node.receive('joint_states', joint_state(k * 1e-3))
        age = node.commanded
        node.receive('joint_states', joint_state(0.01))
        node.receive('valve_commands', command)
        assert len(node.commands_out.messages) == 10
        assert node.commanded == age
        status = statuses(node.diagnostics.publisher.last)['valve_commands']
        assert status.level == 1
        assert values_of(status)[f'rejected: {kind}'] == '1'

    def test_bad_joint_states_are_not_answered_and_do_not_hurt(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        node.receive('joint_states', joint_state(0.0, position=(0.0, math.nan, 0.0)))
        node.receive('joint_states', joint_state(0.0, names=('a', 'b', 'c')))
        node.receive('joint_states', joint_state(0.0, velocity=(1.0,)))
        node.receive('joint_states', joint_state(0.0, effort=(math.inf, 0.0, 0.0)))
        assert node.commands_out.messages == []
        status = statuses(node.diagnostics.publisher.last)['joint_states']
        assert status.level == 1
        counts = dict(node.state_rejections.counts)
        assert counts == {'not finite': 2, 'missing joint': 1, 'wrong size': 1}
        node.receive('joint_states', joint_state(0.0))
        assert efforts_of(node.commands_out.last) == pytest.approx(dict(zip(JOINTS, EFFORTS)), abs=1e-6)

    def test_a_rejection_is_reported_for_five_seconds(self, node: Any) -> None:
        node.receive('valve_commands', volts(0, 0, 0))
        node.receive('joint_states', joint_state(0.0))
        node.receive('valve_commands', volts(1.0))
        assert statuses(node.diagnostics.publisher.last)['valve_commands'].level == 1
        node.stamp = 5_000_000_000
        node.update_diagnostics()
        status = statuses(node.diagnostics.publisher.last)['valve_commands']
        assert status.level == 0
        assert values_of(status)['rejected: wrong size'] == '1'


class TestRealtime:
    def test_it_answers_every_new_instant_without_waiting(self, realtime: Any) -> None:
        for k in range(5):
            realtime.receive('joint_states', joint_state(k * 1e-3))
        realtime.receive('joint_states', joint_state(0.004))
        assert len(realtime.commands_out.messages) == 5

    def test_without_commands_the_spools_are_neutral_and_this_is_reported(self, realtime: Any) -> None:
        realtime.receive('joint_states', joint_state(0.0))
        realtime.update_diagnostics()
        status = statuses(realtime.diagnostics.publisher.last)['valve_commands']
        assert status.level == 1
        assert 'spools to neutral' in status.message

    def test_a_timeout_of_commands_leads_the_spools_to_neutral_and_new_ones_move_them_again(
        self, realtime: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        realtime.receive('joint_states', joint_state(0.0))
        realtime.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        for k in range(1, 101):
            realtime.receive('joint_states', joint_state(k * 1e-3))
        opened = realtime.exchange.system.oil[0]
        assert opened == pytest.approx(-5e-3 * (1.0 - math.exp(-0.1 / 0.08)), rel=1e-6)
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + 0.25)
        for k in range(101, 201):
            realtime.receive('joint_states', joint_state(k * 1e-3))
        assert realtime.exchange.system.oil[0] == pytest.approx(opened * math.exp(-0.1 / 0.08), rel=1e-6)
        realtime.update_diagnostics()
        status = statuses(realtime.diagnostics.publisher.last)['valve_commands']
        assert (status.level, status.message) == (1, 'no valve_commands for 0.2 s: spools to neutral')
        realtime.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        realtime.receive('joint_states', joint_state(0.201))
        realtime.update_diagnostics()
        assert statuses(realtime.diagnostics.publisher.last)['valve_commands'].level == 0

    def test_a_short_gap_is_integrated_over_and_a_long_one_starts_the_oil_again(self, realtime: Any) -> None:
        realtime.receive('joint_states', joint_state(0.0))
        realtime.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        realtime.receive('joint_states', joint_state(0.1))
        assert realtime.exchange.system.oil[0] == pytest.approx(-5e-3 * (1.0 - math.exp(-0.1 / 0.08)), rel=1e-6)
        assert realtime.restarts == 0
        realtime.receive('joint_states', joint_state(0.35))
        assert realtime.restarts == 1
        assert realtime.exchange.system.oil[0] == 0.0
        assert efforts_of(realtime.commands_out.last)['boom_joint'] == pytest.approx(EFFORTS[1], rel=1e-3)

    def test_joint_states_that_were_overtaken_are_rejected_and_the_oil_continues(self, realtime: Any) -> None:
        realtime.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        for k in (0, 100, 110, 105, 120):
            realtime.receive('joint_states', joint_state(k * 1e-3))
        assert realtime.exchange.system.oil[0] == pytest.approx(-5e-3 * (1.0 - math.exp(-0.12 / 0.08)), rel=1e-6)
        assert dict(realtime.state_rejections.counts) == {'out of order': 1}
        assert (realtime.restarts, realtime.answered) == (0, 4)

    @pytest.mark.parametrize('back', [0.201, 3.0])
    def test_a_clock_that_was_set_back_starts_the_oil_again(self, realtime: Any, back: float) -> None:
        realtime.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        for at in (5.0, 5.05, 5.05 - back):
            realtime.receive('joint_states', joint_state(at))
        assert (realtime.restarts, realtime.answered) == (1, 3)
        assert realtime.exchange.system.oil[0] == 0.0

    def test_a_timeout_of_joint_states_is_an_error(self, realtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        realtime.receive('joint_states', joint_state(0.0))
        realtime.check_timeouts()
        assert statuses(realtime.diagnostics.publisher.last)['joint_states'].level == 0
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + 0.25)
        realtime.check_timeouts()
        status = statuses(realtime.diagnostics.publisher.last)['joint_states']
        assert (status.level, status.message) == (2, 'no joint_states for 0.2 s')

    def test_after_a_divergence_it_gives_nothing_until_it_is_reset(self, realtime: Any) -> None:
        realtime.reader.bounds = None  # which would reject it
        realtime.receive('joint_states', joint_state(0.0))
        realtime.receive('joint_states', joint_state(0.001, velocity=(0.0, 1e12, 0.0)))
        for k in range(2, 300):
            realtime.receive('joint_states', joint_state(k * 1e-3))
        assert len(realtime.commands_out.messages) == 1
        response = realtime.answer('~/reset', None)
        assert response.success
        realtime.receive('joint_states', joint_state(0.3))
        assert len(realtime.commands_out.messages) == 2
        assert efforts_of(realtime.commands_out.last) == pytest.approx(dict(zip(JOINTS, EFFORTS)), abs=1e-3)

    def test_without_measured_efforts_the_oil_starts_unloaded(self, realtime: Any) -> None:
        realtime.receive('joint_states', joint_state(0.0, effort=()))
        assert efforts_of(realtime.commands_out.last) == pytest.approx(dict.fromkeys(JOINTS, 0.0), abs=1e-6)


class Answer:
    success = False
    message = ''


def test_reset_restores_the_pressures_that_hold_the_present_efforts(node: Any) -> None:
    assert not node.answer('~/reset', None).success
    for k in range(30):
        if k % 10 == 0:
            node.receive('valve_commands', volts(-5.0, 5.0, 5.0))
        node.receive('joint_states', joint_state(k * 1e-3, effort=(0.0, 1.5e5, -1e4)))
    assert node.exchange.system.oil[0] < -1e-4
    assert node.answer('~/reset', None).success
    assert node.exchange.system.oil[::3].tolist() == [0.0, 0.0, 0.0]
    held = node.exchange.system.efforts(np.array([POSTURE[1], POSTURE[2], POSTURE[0]]), np.zeros(3))
    assert held == pytest.approx([1.5e5, -1e4, 0.0], abs=1e-6)


def test_the_bulk_modulus_is_scaled_while_it_runs_within_its_range(node: Any) -> None:
    from dyn_nodes.middleware import Parameter

    good, bad = node.set_parameters(
        [Parameter('bulk_modulus_scale', value=0.5), Parameter('bulk_modulus_scale', value=1000.0)]
    )
    assert good.successful
    assert not bad.successful
    assert node.exchange.system.parameters[0] == 0.5


def test_a_period_that_does_not_fit_is_rejected_at_the_start(make_node: Callable[..., Any]) -> None:
    with pytest.raises(ParameterError, match="'command_period': in lockstep"):
        make_node(HydraulicActuatorNode, exchange_period=0.003)


def test_reports_have_the_pressures_of_the_instant(node: Any) -> None:
    boxes = {name: Outbox.behind(publisher) for name, publisher in node.reports.publishers}
    for k in range(41):
        if k % 10 == 0:
            node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        node.receive('joint_states', joint_state(k * 1e-3))
    head = boxes['boom/head_pressure'].messages
    assert [seconds_of_stamp(m.header.stamp) for m in head] == pytest.approx([0.0, 0.02, 0.04])
    assert boxes['boom/effort'].messages[0].data == pytest.approx(EFFORTS[1])
    assert boxes['boom/spool'].messages[1].data == pytest.approx(-5e-3 * (1 - math.exp(-0.02 / 0.08)), rel=1e-6)
    assert {name.partition('/')[2] for name in boxes if name.startswith('swing/')} == {
        'pressure_a', 'pressure_b', 'supply_pressure', 'spool', 'flow_a', 'flow_b', 'effort',
    }  # fmt: skip
    assert 'stick/force' in boxes


class TestPacedLockstep:
    """Real time: every joint state is answered for its instant, at any wall time."""

    @pytest.fixture
    def paced(self, make_node: Callable[..., Any]) -> Any:
        return make_node(HydraulicActuatorNode, mode='realtime', command_source='lockstep')

    def test_it_answers_as_in_lockstep_bit_for_bit(self, make_node: Callable[..., Any]) -> None:
        answers = []
        for mode in ('lockstep', 'realtime'):
            node = make_node(HydraulicActuatorNode, mode=mode, command_source='lockstep')
            for k in range(50):
                if k % 10 == 0:
                    node.receive('valve_commands', volts(-5.0, 3.0, 1.0))
                node.receive('joint_states', joint_state(k * 1e-3, velocity=(0.01 * k, 0.0, 0.0)))
            answers.append([np.asarray(reply.effort).tobytes() for reply in node.commands_out.messages])
        assert len(answers[0]) == 50
        assert answers[0] == answers[1]

    def test_without_a_person_at_the_levers_the_volts_are_neutral_and_nothing_waits(
        self, make_node: Callable[..., Any]
    ) -> None:
        node = make_node(HydraulicActuatorNode, mode='realtime', command_source='asynchronous')
        for k in range(5):
            node.receive('joint_states', joint_state(k * 1e-3))
        assert len(node.commands_out.messages) == 5
        node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        assert len(node.commands_out.messages) == 5
        for k in range(5, 12):
            node.receive('joint_states', joint_state(k * 1e-3))
        assert node.exchange.system.oil[0] < 0.0

    def test_a_person_who_lets_go_gets_neutral_spools(
        self, make_node: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = make_node(HydraulicActuatorNode, mode='realtime', command_source='asynchronous')
        node.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        for k in range(101):
            node.receive('joint_states', joint_state(k * 1e-3))
        opened = node.exchange.system.oil[0]
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + 0.3)
        for k in range(101, 202):
            node.receive('joint_states', joint_state(k * 1e-3))
        assert node.exchange.system.oil[0] == pytest.approx(opened * math.exp(-0.1 / 0.08), rel=0.02)

    def test_a_controller_that_is_gone_is_given_up_and_waited_for_when_it_is_back(
        self, paced: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paced.receive('joint_states', joint_state(0.0))
        paced.check_timeouts()
        assert paced.commands_out.messages == []
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + SOURCE_TIMEOUT + 0.1)
        paced.check_timeouts()
        assert len(paced.commands_out.messages) == 1
        assert 'spools to neutral' in statuses(paced.diagnostics.publisher.last)['valve_commands'].message
        for k in range(1, 21):
            paced.receive('joint_states', joint_state(k * 1e-3))
        assert len(paced.commands_out.messages) == 21
        paced.receive('valve_commands', volts(-5.0, 0.0, 0.0))  # of an instant that has its answer
        for k in range(21, 31):
            paced.receive('joint_states', joint_state(k * 1e-3))
        assert len(paced.commands_out.messages) == 30  # the one of 0.03 s waits for its command again
        paced.receive('valve_commands', volts(-5.0, 0.0, 0.0))
        assert len(paced.commands_out.messages) == 31
        assert not paced.source_lost

    def test_a_source_that_was_given_up_and_answers_its_backlog_moves_nothing_with_old_volts(
        self, paced: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paced.receive('joint_states', joint_state(0.0))
        now = time.monotonic()
        monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + SOURCE_TIMEOUT + 0.1)
        paced.check_timeouts()
        go_on(paced, 1, 45)
        for k in range(4):
            paced.receive('valve_commands', stamped(0.01 * k, 7.0, 7.0, 7.0))
        assert not paced.source_lost
        paced.receive('joint_states', joint_state(0.046))
        assert not paced.exchange.system.oil[::3].any(), 'commands of periods that are over'
        paced.receive('valve_commands', stamped(0.04, -4.0, 0.0, 0.0))
        go_on(paced, 47, 49)
        assert paced.exchange.system.oil[0] < 0.0, 'the command of this period holds for its rest'
        for k in range(50, 80, 10):
            paced.receive('joint_states', joint_state(k * 1e-3))
            assert paced.answered == k, 'every instant waits for its command again'
            paced.receive('valve_commands', stamped(k * 1e-3, 0.1 * k, 0.0, 0.0))
            assert paced.answered == k + 1
            assert paced._volts[0] == pytest.approx(0.1 * k)
            go_on(paced, k + 1, k + 9)

    def test_joint_states_that_went_on_without_an_answer_are_all_taken(self, paced: Any) -> None:
        for k in range(3):  # the dynamics has given this node up, and its controller too
            paced.receive('joint_states', joint_state(k * 1e-3))
        assert len(paced.commands_out.messages) == 3
        assert paced.restarts == 0

    def test_a_gap_of_another_length_starts_the_oil_again(self, paced: Any) -> None:
        paced.receive('valve_commands', volts(0.0, 0.0, 0.0))
        paced.receive('joint_states', joint_state(0.0))
        paced.receive('joint_states', joint_state(0.003))
        assert paced.restarts == 1
