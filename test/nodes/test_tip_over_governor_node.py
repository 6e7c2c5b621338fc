"""The tip-over governor node: passed commands, neutral outputs, pairing of commands and states in lockstep."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from node_testing import Outbox, imu_message, joint_state, statuses

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.settings import JERK, GovernorSettings
from dyn_nodes.governor.tip_over_governor import LONGEST_STEP
from dyn_nodes.middleware import HistoryPolicy, Parameter, SingleThreadedExecutor, message
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.arrays import stamp_of_volts, stamp_volts, volts_message
from dyn_nodes.nodes.instants import MOST_WAITING
from dyn_nodes.nodes.parameters import ParameterError, node_parameters
from dyn_nodes.nodes.stamps import NANO, seconds_of_stamp, stamp_of
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode
from dyn_nodes.simulation.plant import Plant

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
CLOSE, FAR = (0.0, 0.96, -1.83), (0.0, 0.6, -1.4)
OUT, BACK = [-5.0, -5.5, 0.0], [0.0, 4.0, 0.0]
OK, WARN, ERROR = 0, 1, 2


@pytest.fixture
def make_governor(context):
    def make(fresh=False, **parameters):
        values = {'machine': 'log_loader', 'settling': 0.1, 'state_timeout': 9.0, 'command_timeout': 9.0}
        values['motion_check'] = False  # most of these joint states do not follow the outputs
        values['stamp_clock'] = 'other'
        values |= parameters
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = TipOverGovernorNode(context=context, parameter_overrides=overrides)
        if 'lateness' not in parameters:  # tests without a clock send joint states at once
            node.sensing.overdue = lambda *_: False
        node.waits = node.waits and fresh  # else as after levers at neutral
        node.commands_out, node.diagnostics.publisher = Outbox(), Outbox()
        return node

    return make


def test_every_setting_is_a_parameter_and_launch_files_have_the_default_reserve():
    settings, root = GovernorSettings(), Path(__file__).resolve().parents[2]
    declared = {parameter.name: parameter.default for parameter in node_parameters('tip_over_governor_node')}
    assert {field.name for field in fields(settings)} - {'halvings'} <= declared.keys()
    assert declared['jerk'] == JERK
    for name in ('log_loader', 'machine'):
        text = (root / 'launch' / f'{name}.launch.xml').read_text()
        assert f'<arg name="reserve" default="{settings.reserve}"' in text
    assert f'<arg name="jerk" default="{JERK}"' in text


def keep_still(node, positions, seconds=0.3, start=0.0):
    for k in range(round(seconds / 0.01) + 1):
        node.receive('joint_states', joint_state(start + 0.01 * k, positions))


def push(node, volts, count=60):
    """Hold the levers, as long as it takes the outputs to get there."""
    for _ in range(count):
        node.decided_at = (node.sensing.stamp or 0) / NANO - 0.02
        node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=list(volts)))
    return node.commands_out.last.data


def watch(node, count):
    """Call the check of timeouts every 60 ms, somewhat more than its period."""
    for _ in range(count):
        node._sent_at = time.monotonic() - 0.06
        node.check_timeouts()


def level(node):
    node.diagnostics.last_published = None
    node.update_diagnostics()
    status = statuses(node.diagnostics.publisher.last)['governor']
    return status.level[0] if isinstance(status.level, bytes) else int(status.level), status.message


def test_commands_pass_where_there_is_room(make_governor):
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    assert list(push(node, [-3.0, -3.0, 2.0])) == pytest.approx([-3.0, -3.0, 2.0])
    assert level(node)[0] == OK


def test_the_posture_after_the_certified_stop_is_published_ten_times_a_second_and_is_empty_without_one(make_governor):
    node = make_governor(payload=0.0)
    node.stop_out = Outbox()
    keep_still(node, CLOSE)
    push(node, [-3.0, -3.0, 2.0])
    node._stop_at = -np.inf
    push(node, [-3.0, -3.0, 2.0], 1)
    stop = node.stop_out.last
    assert stop.name == ['swing_joint', 'boom_joint', 'stick_joint']
    assert seconds_of_stamp(stop.header.stamp) == pytest.approx(node.sensing.stamp / NANO) == pytest.approx(0.3)
    assert stop.position == pytest.approx(list(node.stops.rest_after()))
    assert np.abs(np.subtract(stop.position, CLOSE)).max() > 0.01, 'the outputs move the arm until they are neutral'
    count = len(node.stop_out.messages)
    for k in range(1, 101):
        node._publish_stop(node._stop_at + 0.01 if k % 10 else node._stop_at + 0.1)
    assert len(node.stop_out.messages) == count + 10
    node.verdict.certified = False
    node._publish_stop(node._stop_at + 1.0)
    assert (list(node.stop_out.last.name), list(node.stop_out.last.position)) == ([], [])


def test_a_planar_machine_is_governed_as_one_in_space(make_governor):
    exact = {'mass_error': 0.0, 'payload_error': 0.0, 'delay': 0.0, 'reserve': 0.12, 'least': 0.03}
    node = make_governor(machine='log_loader_planar', payload=5000.0, **exact)
    joints = ['boom_joint', 'stick_joint']
    for k in range(31):
        node.receive('joint_states', joint_state(0.01 * k, (0.6, -1.4), (0.0, 0.0), (0.0, 0.0), joints))
    assert abs(push(node, OUT[:2])[0]) < 0.3 * abs(OUT[0])
    assert level(node)[0] == WARN
    assert level(node)[1].startswith('holding back boom, stick (')
    assert level(node)[1].endswith('): rear_left would come near to lifting')
    for _ in range(40):
        push(node, BACK[:2], 1)
    assert np.mean([push(node, BACK[:2], 1)[1] for _ in range(20)]) > 0.15 * BACK[1]


def test_near_the_limit_commands_towards_it_are_held_and_those_away_from_it_pass(make_governor):
    node = make_governor(mass_error=0.0, payload_error=0.0, delay=0.0, reserve=0.12, least=0.03)
    keep_still(node, FAR)
    held = push(node, OUT)
    assert abs(held[0]) < 0.3 * abs(OUT[0])
    assert level(node)[0] == WARN
    assert 'boom' in level(node)[1]
    assert level(node)[1].endswith(' would come near to lifting')
    # of a machine that never moves, whatever it gets, as much as can be stopped again
    for _ in range(40):
        push(node, BACK, 1)
    outputs = [push(node, BACK, 1)[1] for _ in range(20)]  # at the border the output goes up and down
    assert np.mean(outputs) > 0.15 * BACK[1]


def test_where_a_wheel_has_lifted_it_moves_by_itself_only_if_asked_to_and_reports_it(make_governor):
    for bring_down in (False, True):
        node = make_governor(bring_down=bring_down, payload=6000.0)
        keep_still(node, [0.0, 0.6, -0.9])
        outputs = np.array([push(node, [0.0, 0.0, 0.0], 1) for _ in range(20)])
        assert node.stops.has_lifted
        assert outputs.any() == bring_down
        status, text = level(node)
        assert (status == ERROR) == bring_down
        assert ('by itself' in text) == bring_down
    assert text.startswith('a wheel has lifted: moving ')
    assert 'stick' in text
    assert np.abs(np.diff(outputs[:, 1])).max() <= 15.0 * 0.02 + 1e-9
    value = {item.key: item.value for item in statuses(node.diagnostics.publisher.last)['governor'].values}
    assert 'stick' in value['moved by itself']
    assert list(push(node, BACK, 5))[1] * BACK[1] > 0.0
    assert node.verdict.brought == ()


@pytest.mark.parametrize('tilt', [0.0, 0.1])
def test_on_impossible_ground_nothing_passes_and_the_status_has_the_reason(make_governor, tilt):
    """The plane that a broken IMU or an overturned machine leads to: above the wheels."""
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    assert push(node, [3.0, 3.0, 0.0])[0] == pytest.approx(3.0)
    monitor = node.sensing.monitor
    below = np.array([tilt, 0.0, -np.sqrt(1.0 - tilt**2), 2.0])
    monitor.footing = monitor.footing._replace(plane=below)
    assert list(push(node, [3.0, 3.0, 0.0])) == pytest.approx([0.0, 0.0, 0.0])
    assert level(node)[0] == ERROR
    assert level(node)[1].startswith('no stability degree, valves at neutral: the ground points of ')
    assert level(node)[1].endswith('the ground is seen from below')


@pytest.mark.parametrize('data', [[1.0], [1.0, np.nan, 0.0], [1.0, 0.0, 99.0]])
def test_invalid_commands_are_rejected(make_governor, data):
    node = make_governor()
    keep_still(node, CLOSE)
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=data))
    assert node.commands_out.messages == []
    assert sum(node.rejections.counts.values()) == 1
    assert level(node)[0] == WARN


def test_without_joint_states_the_valves_stay_at_neutral(make_governor):
    node = make_governor()
    assert list(push(node, OUT)) == [0.0, 0.0, 0.0]
    assert level(node)[0] == ERROR


def test_stale_joint_states_and_a_timeout_of_levers_lead_to_neutral(make_governor):
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    node.decided_at = node.sensing.stamp / NANO - 0.1
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-3.0, 0.0, 0.0]))
    assert node.commands_out.last.data[0] < -1.0
    node.received_at = node.sensing.received_at = time.monotonic() - 9.1
    watch(node, 20)
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]
    assert level(node)[0] == ERROR


def test_joint_states_with_a_constant_stamp_count_as_missing(make_governor):
    """A driver that repeats its last message: levers that are let go would reach no valve."""
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    push(node, [-3.0, 0.0, 0.0])
    before = node.commands_out.last.data[0]
    assert before < -1.0
    node.sensing.received_at -= 9.1
    keep_still(node, CLOSE, seconds=0.0, start=node.sensing.stamp / NANO)
    assert command(node, -3.0, 0.0, 0.0)[0] == pytest.approx(before)
    watch(node, 20)
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]
    assert level(node)[0] == ERROR
    text = statuses(node.diagnostics.publisher.last)['joint_states'].message
    assert text.startswith('no joint_states with a new stamp for 9 s')


def imu_at(time_, pitch=0.0):
    imu = message('sensor_msgs/msg/Imu')()
    imu.header.stamp = stamp_of(time_)
    imu.orientation.y, imu.orientation.w = np.sin(0.5 * pitch), np.cos(0.5 * pitch)
    imu.linear_acceleration.x, imu.linear_acceleration.z = -9.81 * np.sin(pitch), 9.81 * np.cos(pitch)
    return imu


def test_without_the_imu_the_slope_is_unknown_and_nothing_passes_until_it_is_back(make_governor):
    """Level ground instead of a slope of 5 degrees would certify what takes more than the whole reserve."""
    node = make_governor(payload=0.0)

    def live(start, seconds, with_imu):
        for k in range(round(seconds / 0.01)):
            if with_imu:
                node.receive('imu', imu_at(start + 0.01 * k, 0.08))
            node.receive('joint_states', joint_state(start + 0.01 * k, CLOSE))

    live(0.0, 0.5, True)
    assert push(node, [-2.0, 0.0, 0.0])[0] == pytest.approx(-2.0)
    live(0.5, 0.3, False)
    assert push(node, [-2.0, 0.0, 0.0])[0] == 0.0
    assert level(node) == (ERROR, 'the IMU is lost: valves at neutral')
    live(0.8, 0.3, True)
    assert push(node, [-2.0, 0.0, 0.0])[0] == 0.0
    assert level(node)[1].startswith('waiting for all levers to return to neutral')
    command(node, 0.0, 0.0, 0.0)
    assert push(node, [-2.0, 0.0, 0.0])[0] == pytest.approx(-2.0)


def stopped_levers(node):
    node.received_at -= 10.0
    watch(node, 20)


def stale_states(node):
    node.sensing.received_at -= 10.0
    watch(node, 20)
    command(node, -3.0, 0.0, 0.0)
    keep_still(node, CLOSE, start=node.sensing.stamp / NANO + 0.01)


@pytest.mark.parametrize('gap', [stopped_levers, stale_states])
def test_after_a_gap_a_machine_does_not_start_to_move_while_a_lever_is_deflected(make_governor, gap):
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    assert push(node, [-3.0, 0.0, 0.0])[0] == pytest.approx(-3.0)
    gap(node)
    assert list(push(node, [-3.0, 0.0, 0.0])) == [0.0, 0.0, 0.0]
    assert level(node)[0] == WARN
    keep_still(node, CLOSE, start=node.sensing.stamp / NANO + 0.1)
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0], 'nor by joint states'
    command(node, 0.0, 0.0, 0.0)
    assert push(node, [-3.0, 0.0, 0.0])[0] == pytest.approx(-3.0)
    assert level(node)[0] == OK


@pytest.mark.parametrize('gap', [stopped_levers, stale_states])
def test_without_neutral_first_a_busy_computer_stops_no_task(make_governor, gap):
    node = make_governor(payload=0.0, neutral_first=False)
    keep_still(node, CLOSE)
    push(node, [-3.0, 0.0, 0.0])
    gap(node)
    assert push(node, [-3.0, 0.0, 0.0])[0] == pytest.approx(-3.0)


@pytest.mark.parametrize('early', [True, False])
def test_a_lever_that_is_deflected_at_the_start_waits_for_neutral(make_governor, early):
    """With a first command before the first measurements or long after."""
    node = make_governor(fresh=True, payload=0.0)
    if early:
        assert list(push(node, [-3.0, 0.0, 0.0])) == [0.0, 0.0, 0.0]
    keep_still(node, CLOSE)
    assert list(push(node, [-3.0, 0.0, 0.0])) == [0.0, 0.0, 0.0]
    command(node, 0.0, 0.0, 0.0)
    assert push(node, [-3.0, 0.0, 0.0])[0] == pytest.approx(-3.0)


def test_the_default_of_a_message_is_no_orientation(make_governor):
    """A driver that fills rates and accelerations alone would report level ground on any slope."""
    node, up = make_governor(payload=0.0), (np.sin(-0.08), 0.0, np.cos(0.08))
    for k in range(400):
        imu = imu_at(0.01 * k, 0.08)
        imu.orientation.y, imu.orientation.w = 0.0, 1.0
        node.receive('imu', imu)
        node.receive('joint_states', joint_state(0.01 * k, CLOSE))
    assert node.sensing.monitor.up == pytest.approx(up, abs=1e-3)


def test_late_joint_states_end_the_certificate(make_governor, monkeypatch):
    """Outputs kept for a fifth of a second without measurements lift a wheel in one of 200 stops."""
    node = make_governor(payload=0.0, lateness=0.04, state_timeout=0.2, command_timeout=0.2)
    now = [1000.0]
    monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: now[0])

    def go_on(seconds, states=True, commands=True):
        outputs = []
        for _ in range(round(seconds / 0.01)):
            now[0] += 0.01
            if states:
                keep_still(node, CLOSE, 0.0, (node.sensing.stamp or 0) / NANO + 0.01)
            if commands:
                command(node, -3.0, 0.0, 0.0)
            node.check_timeouts()
            outputs.append(node.commands_out.last.data[0] if node.commands_out.messages else 0.0)
        return outputs

    go_on(0.3, commands=False)
    command(node, 0.0, 0.0, 0.0)
    assert go_on(0.4)[-1] == pytest.approx(-3.0)
    for commands in (True, False):
        late = go_on(0.1, states=False, commands=commands)
        assert late[3] == pytest.approx(-3.0), 'not late yet'
        assert np.diff(late[4:]) == pytest.approx(0.15), 'at the rate of the outputs'
        assert go_on(0.3)[-1] == pytest.approx(-3.0), 'and it continues by itself'
    go_on(0.3, states=False)
    assert go_on(0.3)[-1] == 0.0, 'after a gap the levers have to be neutral'


class Driven:
    """A governor with levers out, on a clock that the test leads on by 10 ms at a time.

    Attributes:
        now: wall clock, s.
        origin: of the stamps on it, s.
        passed: time that the prediction has let pass, s.
    """

    def __init__(self, node, monkeypatch):
        self.node, self.now, self.passed = node, 1000.0, 0.0
        self.origin = self.now - 5000.0
        monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: self.now)
        pass_by = node.stops.pass_by

        def count(step):
            self.passed += step
            pass_by(step)

        monkeypatch.setattr(node.stops, 'pass_by', count)
        self.go_on(0.3)
        command(node, 0.0, 0.0, 0.0)
        self.move(0.6)

    def move(self, seconds):
        """Hold the lever of the boom out, in messages that come seldom; return the outputs after each step."""
        outputs = []
        for _ in range(round(seconds / 0.1)):
            command(self.node, -3.0, 0.0, 0.0)
            outputs += self.go_on(0.1)
        return outputs

    def go_on(self, seconds, states=True, watched=True):
        """Lead the clock on; return the outputs after each step."""
        outputs = []
        for _ in range(round(seconds / 0.01)):
            self.now += 0.01
            if states:
                self.measure(self.now)
            if watched:
                self.node.check_timeouts()
            outputs.append(self.node.commands_out.last.data[0] if self.node.commands_out.messages else 0.0)
        return outputs

    def measure(self, at):
        """Joint states of a time of the wall clock come, s."""
        self.node.receive('joint_states', joint_state(at - self.origin, CLOSE))


def test_after_late_joint_states_it_decides_at_once_on_levers_that_come_seldom(make_governor, monkeypatch):
    """An output on its way to neutral is certified by nothing: it must not stay until the next lever comes."""
    node = make_governor(payload=0.0, lateness=0.04, command_timeout=0.3)
    driven = Driven(node, monkeypatch)
    led = driven.go_on(0.08, states=False)
    assert led[-1] == pytest.approx(-2.25), 'to neutral from when the outputs are not certified any more'
    decide, decisions = node.stops.decide, []
    monkeypatch.setattr(node.stops, 'decide', lambda *situation: decisions.append(situation) or decide(*situation))
    assert driven.go_on(0.01)[-1] == pytest.approx(-2.4)
    assert len(decisions) == 1
    assert driven.go_on(0.08)[-1] == pytest.approx(-3.0)


@pytest.mark.parametrize('watched', [True, False])
@pytest.mark.parametrize('one_by_one', [True, False])
def test_the_time_of_late_joint_states_passes_once_in_the_prediction(make_governor, monkeypatch, one_by_one, watched):
    """With lost or consecutive joint states; with outputs advanced before or at the end."""
    node = make_governor(payload=0.0, lateness=0.04, command_timeout=0.3)
    driven = Driven(node, monkeypatch)
    command(node, -3.0, 0.0, 0.0)
    began, driven.passed = driven.now, 0.0
    driven.go_on(0.09, states=False, watched=watched)
    node.check_timeouts()
    assert driven.passed == pytest.approx(0.09), 'the outputs are led to neutral'
    for k in range(1, 10 if one_by_one else 1):
        driven.measure(began + 0.01 * k)
    driven.go_on(0.03)
    command(node, -3.0, 0.0, 0.0)
    assert driven.passed == pytest.approx(driven.now - began)


@pytest.mark.parametrize('jump', [-3600.0, -0.5, 3600.0])
def test_a_clock_that_is_set_while_joint_states_are_late_stops_no_lever(make_governor, monkeypatch, jump):
    driven = Driven(make_governor(payload=0.0, lateness=0.04, neutral_first=False), monkeypatch)
    driven.go_on(0.08, states=False)
    driven.origin -= jump
    assert driven.move(0.6)[-1] == pytest.approx(-3.0)


@pytest.mark.parametrize('period', [0.01, 0.1])
def test_seldom_joint_states_are_not_late(make_governor, monkeypatch, period):
    node = make_governor(payload=0.0, lateness=0.04)
    now = [1000.0]
    monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: now[0])
    for k in range(5):
        now[0] += period
        keep_still(node, CLOSE, 0.0, period * k)
    now[0] += period + 0.029
    assert not node.is_overdue()
    now[0] += 0.002
    assert node.is_overdue()


@pytest.mark.parametrize('partner', ['auto', 'external'])
@pytest.mark.parametrize('simulated', [False, True])
def test_joint_states_of_a_machine_are_late_whatever_clock_is_in_the_graph_unless_a_simulation_is_declared(
    make_governor, monkeypatch, simulated, partner
):
    """A bag that is played with its clock, or a simulation beside the machine."""
    node = make_governor(payload=0.0, lateness=0.04, partner=partner, use_sim_time=simulated)
    now = [1000.0]
    monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: now[0])
    node.create_publisher(message('rosgraph_msgs/msg/Clock'), '/clock', 10)
    for k in range(5):
        now[0] += 0.01
        keep_still(node, CLOSE, 0.0, 0.01 * k)
    now[0] += 0.045
    assert node.is_overdue() != simulated


def test_levers_that_come_seldom_are_decided_on_by_the_joint_states(make_governor):
    """So that an output lasts no longer than its stop is certified for."""
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    command(node, -5.0, 0.0, 0.0)
    keep_still(node, CLOSE, seconds=0.2, start=node.sensing.stamp / NANO + 0.01)
    outputs = [msg.data[0] for msg in node.commands_out.messages]
    assert len(outputs) == 11, 'every second joint states'
    assert np.diff(outputs) == pytest.approx(-0.3)
    node.received_at = time.monotonic() - 9.1
    keep_still(node, CLOSE, seconds=0.2, start=node.sensing.stamp / NANO + 0.01)
    assert len(node.commands_out.messages) == 11, 'the check of timeouts handles missing levers'


def test_a_decision_that_fails_leads_to_neutral(make_governor, monkeypatch):
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    push(node, [-3.0, 0.0, 0.0])

    def fail(*_):
        raise ZeroDivisionError('no such thing')

    monkeypatch.setattr(node.stops, 'decide', fail)
    for _ in range(20):
        push(node, [-3.0, 0.0, 0.0], 1)
    assert sum(node.guard.failed.values()) == 20
    assert 'ZeroDivisionError' in node.guard.last_failure
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ('age', 'text'),
    [
        (0.09, ''),
        (0.11, 'joint_states: 0.11 s old: expected 0.1 s at most: valves at neutral'),
        (0.3, 'joint_states: 0.30 s old: expected 0.1 s at most: valves at neutral'),
        (1000.0, 'joint_states: stamps are 1000.00 s behind the clock of this node: expected stamps of its clock, '),
        (-1.0, 'joint_states: stamps are 1.00 s ahead of the clock of this node: expected stamps of its clock, '),
    ],
)
def test_regular_joint_states_that_are_older_than_the_delay_lead_to_neutral_and_their_age_is_named(
    make_governor, monkeypatch, age, text
):
    """Stops are certified for joint states that are at most `delay` old when they are used."""
    node = make_governor(payload=0.0, stamp_clock='node', delay=0.1, lateness=0.04, state_timeout=0.2)
    now, outputs = [1000.0], []
    monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: now[0])
    wall = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=round(now[0] * NANO) + 1_700_000_000 * NANO))
    monkeypatch.setattr(node, 'get_clock', lambda: wall)
    for _ in range(80):
        now[0] += 0.01
        node.receive('joint_states', joint_state(1.7e9 + now[0] - age, CLOSE))
        command(node, -3.0 if node.received > 20 else 0.0, 0.0, 0.0)
        outputs.append(node.commands_out.last.data[0] if node.commands_out.messages else 0.0)
    if text:
        assert not any(outputs)
    else:
        assert min(outputs) < -1.0
    reported, message = level(node)
    assert reported == (ERROR if text else OK)
    assert message.startswith(text or 'passing commands')


def test_a_payload_that_nobody_gave_is_anything_from_nothing_on_to_the_error_beyond_that_of_the_file(make_governor):
    """Also without any message: a machine is not assumed to carry 5,100 kg because its payload is unknown."""
    node = make_governor()
    keep_still(node, CLOSE)
    push(node, [0.0, 0.0, 0.0], 1)
    rated = node.machine.payload.mass
    assert node.stops.payload_bounds == (0.0, pytest.approx(1.2 * rated))
    node.diagnostics.last_published = None
    node.update_diagnostics()
    status = statuses(node.diagnostics.publisher.last)['payload']
    assert status.message.startswith(f'payload assumed, 0 to {1.2 * rated:.0f} kg: none on payload')
    node.receive('payload', message('std_msgs/msg/Float64')(data=0.0))
    push(node, [0.0, 0.0, 0.0], 1)
    assert node.stops.payload_bounds is None
    assert make_governor(payload=1000.0).sensing.assumes_payload is False


def test_a_declared_simulation_carries_the_payload_of_the_machine_file(make_governor):
    node = make_governor(use_sim_time=True)
    keep_still(node, CLOSE)
    push(node, [0.0, 0.0, 0.0], 1)
    assert node.stops.payload_bounds is None


def test_in_lockstep_a_command_keeps_its_instant_after_one_was_rejected(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.01, command_period=0.01)

    def send(k, volts):
        msg = volts_message(node.governor.names)
        msg.data = volts
        stamp_volts(msg, round(0.01 * k * NANO))
        node.receive(f'{node.channel.topic}_in', msg)

    node.receive('joint_states', joint_state(0.0, CLOSE))
    send(0, [np.nan, 0.0, 0.0])
    node.receive('joint_states', joint_state(0.01, CLOSE))
    send(1, [-1.0, 0.0, 0.0])
    assert len(node.commands_out.messages) == 1
    send(2, [-1.0, 0.0, 0.0])
    assert len(node.commands_out.messages) == 1, 'its joint states have not come'
    node.receive('joint_states', joint_state(0.02, CLOSE))
    assert len(node.commands_out.messages) == 2


def test_in_lockstep_commands_of_instants_after_a_reset_do_not_wait_for_those_of_before(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.01, command_period=0.01)
    for k in (0, 1):
        node.receive('joint_states', joint_state(0.01 * k, CLOSE))
    node.receive('joint_states', joint_state(0.0, CLOSE))  # the dynamics was reset while the controller computes
    for k in (0, 1, 0):
        msg = volts_message(node.governor.names)
        msg.data = [-1.0, 0.0, 0.0]
        stamp_volts(msg, round(0.01 * k * NANO))
        node.receive(f'{node.channel.topic}_in', msg)
    assert [stamp_of_volts(msg) for msg in node.commands_out.messages] == [0, 0]
    node.receive('joint_states', joint_state(0.01, CLOSE))
    assert len(node.commands_out.messages) == 2, 'nothing of before the reset is left'


def test_a_required_imu_that_is_missing_keeps_the_valves_at_neutral(make_governor):
    node = make_governor(imu='required')
    keep_still(node, CLOSE)
    assert list(push(node, OUT)) == [0.0, 0.0, 0.0]


def test_in_lockstep_every_command_waits_for_its_instant_and_gets_one_answer(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.001, command_period=0.01)
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-1.0, 0.0, 0.0]))
    assert node.commands_out.messages == []
    for k in range(11):
        node.receive('joint_states', joint_state(0.001 * k, CLOSE))
    assert len(node.commands_out.messages) == 1  # instants 0 and 0.01 have come, one command has
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-1.0, 0.0, 0.0]))
    assert len(node.commands_out.messages) == 2
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-1.0, 0.0, 0.0]))
    assert len(node.commands_out.messages) == 2
    node.receive('joint_states', joint_state(0.0, CLOSE))  # time went back
    assert len(node.commands_out.messages) == 3
    first = node.commands_out.last.data[0]
    assert first == pytest.approx(-0.15)  # from neutral again, at 15 V/s


def test_in_lockstep_it_does_not_matter_whether_imu_or_joint_states_of_an_instant_come_first(make_governor):
    Imu = message('sensor_msgs/msg/Imu')

    def answers(imu_first):
        node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.01, command_period=0.01)
        for k in range(30):
            imu = Imu()
            imu.header.stamp = joint_state(0.01 * k, CLOSE).header.stamp
            imu.orientation.w, imu.linear_acceleration.z = 1.0, 9.81
            imu.angular_velocity.y = 0.02 * np.sin(0.5 * k)  # it rocks
            takes = [lambda imu=imu: node.receive('imu', imu)]
            takes.append(lambda k=k: node.receive('joint_states', joint_state(0.01 * k, CLOSE)))
            for take in takes if imu_first else takes[::-1]:
                take()
            node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-1.0, -2.0, 0.0]))
        assert node.sensing.imu_received == 29
        return node.verdict, node.sensing.monitor.balance().margins['zmp'].value

    (first, margin), (second, same) = answers(True), answers(False)
    assert first.degree == second.degree
    assert first.margin == second.margin
    assert margin == same


def test_in_lockstep_the_slope_is_known_after_a_reset_whose_imu_was_late(make_governor):
    """It took the slope of its parameters, level ground, for that below the machine."""
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.01, command_period=0.01)
    half = 0.04

    def tilted(at):
        force = (-9.81 * np.sin(2.0 * half), 0.0, 9.81 * np.cos(2.0 * half))
        node.receive('imu', imu_message(at, force=force, orientation=(0.0, np.sin(half), 0.0, np.cos(half))))

    for k in range(30):
        tilted(0.01 * k)
        node.receive('joint_states', joint_state(0.01 * k, CLOSE))
    node.receive('joint_states', joint_state(0.0, CLOSE))
    tilted(0.3)  # of before the reset
    for k in range(30):
        tilted(0.01 * k)
        node.receive('joint_states', joint_state(0.01 * (k + 1), CLOSE))
    assert node.sensing.monitor.has_imu
    assert node.sensing.monitor.up == pytest.approx([-np.sin(2.0 * half), 0.0, np.cos(2.0 * half)], abs=1e-6)


def command(node, *volts):
    node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[float(value) for value in volts]))
    return list(node.commands_out.last.data)


def test_a_command_beyond_the_valves_is_held_to_their_limits(make_governor):
    node = make_governor(payload=0.0)
    keep_still(node, CLOSE)
    limits = node.limits
    assert push(node, [1.0, 1.5 * limits[1], -1.5 * limits[2]], 200)[1:] == pytest.approx([limits[1], -limits[2]])


def test_the_output_follows_its_rate_over_the_time_since_the_last_command(make_governor):
    node = make_governor(payload=0.0, command_period=0.02, rate=10.0)
    node.scale_out = Outbox()
    keep_still(node, CLOSE)
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.2), 'the first step is a command period'
    node.decided_at -= 0.03
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.5)
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.5), 'no time has passed'
    node.decided_at += 1.0
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.5), 'time went back'
    node.decided_at -= 100.0
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.5 - 10.0 * LONGEST_STEP), 'no jump after a gap'
    assert [msg.data for msg in node.scale_out.messages] == [1.0] * 5
    assert node.sent == node.received == 5


def test_the_part_let_through_is_published_and_shown(make_governor):
    node = make_governor()
    node.scale_out = Outbox()
    keep_still(node, FAR)
    push(node, OUT, 3)
    assert node.scale_out.last.data == node.verdict.scale < 1.0
    node.update_diagnostics()
    values = {entry.key: entry.value for entry in statuses(node.diagnostics.publisher.last)['governor'].values}
    assert values['received'] == values['sent'] == '3'
    assert values['scale'] == f'{node.verdict.scale:.3f}'
    assert values['stability degree at rest'] == f'{node.verdict.degree:.3f}'
    assert values['margin kept'] == f'{node.verdict.margin:.3f}'
    assert values['least loaded wheel'] == node.verdict.contact == 'rear_left'
    assert values['seconds ahead'] == f'{node.verdict.ahead:.2f}'
    assert values['certified'] == 'false'
    assert values['held back'] == 'boom, stick'
    assert f'({100 * node.verdict.scale:.0f} %)' in level(node)[1]


def test_it_starts_at_neutral_and_waits_for_commands(make_governor):
    node = make_governor()
    assert not node.governor.output.any()
    assert (node.received, node.sent) == (0, 0)
    assert not node.timed_out
    assert level(node) == (OK, 'no valve_commands_in yet')
    node.check_timeouts()
    assert node.commands_out.messages == []


def test_the_way_to_neutral_keeps_the_rate_at_any_check_period(make_governor):
    node = make_governor(payload=0.0, command_timeout=0.02, rate=10.0)
    keep_still(node, CLOSE)
    node.governor.output = np.array([-3.0, 2.0, 0.05])
    node.received, node.received_at = 1, time.monotonic() - 1.0
    node.check_timeouts()
    step = 10.0 * 0.5 * 0.02
    assert list(node.commands_out.last.data) == pytest.approx([-3.0 + step, 2.0 - step, 0.0])
    assert level(node)[0] == WARN
    assert 'no valve_commands_in for 0.02 s' in level(node)[1]


def test_after_a_timeout_the_first_command_counts_from_the_outputs_before_it(make_governor, monkeypatch):
    node, now = make_governor(payload=0.0, command_period=0.02, neutral_first=False), [time.monotonic()]
    monkeypatch.setattr('dyn_nodes.nodes.sensing.time.monotonic', lambda: now[0])
    keep_still(node, CLOSE)
    command(node, -5.0, 0.0, 0.0)
    node.received_at -= 100.0
    watch(node, 5)
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]
    now[0] += 0.01
    assert command(node, -5.0, 0.0, 0.0)[0] == pytest.approx(-0.15)
    count = len(node.commands_out.messages)
    node.check_timeouts()
    assert len(node.commands_out.messages) == count, 'commands are there again: it watches and does nothing'


def test_in_lockstep_the_watch_sends_nothing(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.001, command_period=0.01)
    node.receive('joint_states', joint_state(0.0, CLOSE))
    command(node, -1.0, 0.0, 0.0)
    node.received_at = node.sensing.received_at = -1e9
    node.check_timeouts()
    assert len(node.commands_out.messages) == 1
    assert level(node)[0] == OK


def test_in_lockstep_an_instant_that_is_repeated_asks_for_no_second_answer(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.001, command_period=0.01)
    for time_ in (0.0, 0.0, 0.0, 0.005, 0.01, 0.01):
        node.receive('joint_states', joint_state(time_, CLOSE))
    for _ in range(4):
        node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-1.0, 0.0, 0.0]))
    assert len(node.commands_out.messages) == 2


def test_in_lockstep_commands_far_ahead_are_dropped_the_oldest_first(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.001, command_period=0.01, rate=100.0)
    for k in range(MOST_WAITING + 1):
        node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[0.0, 0.0, -1.0 if k == 1 else 1.0]))
    node.receive('joint_states', joint_state(0.0, CLOSE))
    assert node.commands_out.messages == [], 'the command of the first instant has been dropped'
    node.receive('joint_states', joint_state(0.01, CLOSE))
    assert [list(msg.data) for msg in node.commands_out.messages] == [[0.0, 0.0, -1.0]]


def test_levers_come_in_the_order_of_the_joints_parameter(make_governor):
    node = make_governor(payload=0.0, joints=['swing', 'boom'])
    keep_still(node, CLOSE)
    assert node.governor.names == ('swing', 'boom')
    limits = {actuator.name: actuator.valve.voltage_limit for actuator in node.machine.actuators}
    assert node.limits.tolist() == [limits['swing'], limits['boom']]
    assert push(node, [2.0, -3.0]) == pytest.approx([2.0, -3.0])


def test_before_the_filters_have_settled_the_valves_stay_at_neutral(make_governor):
    node = make_governor(settling=5.0)
    keep_still(node, CLOSE)
    assert push(node, [-3.0, 0.0, 0.0], 5) == pytest.approx([0.0, 0.0, 0.0])
    assert level(node) == (ERROR, 'the state of the machine is unknown: valves at neutral')


def test_in_lockstep_held_commands_are_shown_at_the_simulated_time(make_governor):
    node = make_governor(mode='lockstep', exchange_period=0.01, command_period=0.01)
    for k in range(40):
        node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=OUT))
        node.receive('joint_states', joint_state(0.01 * k, FAR))
    assert len(node.commands_out.messages) == 40
    assert 0.0 <= node.verdict.scale < 1.0
    reported, text = level(node)
    assert reported == WARN
    assert text.startswith('holding back ')
    assert 'boom' in text
    assert node.diagnostics.publisher.last.header.stamp == stamp_of(0.39)


def test_a_spinning_governor_goes_to_neutral_when_its_levers_time_out(make_governor, context):
    node = make_governor(payload=0.0, state_timeout=10.0, command_timeout=0.2)
    keep_still(node, CLOSE)
    push(node, [-3.0, 0.0, 0.0])
    assert node.commands_out.last.data[0] < -1.0
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    until = time.monotonic() + 30.0
    while any(node.commands_out.last.data) and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.05)
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ('mode', 'history'), [('lockstep', HistoryPolicy.KEEP_ALL), ('realtime', HistoryPolicy.KEEP_LAST)]
)
def test_in_lockstep_no_part_that_is_let_through_is_lost(make_governor, mode, history):
    assert make_governor(mode=mode).scale_out.qos_profile.history == history


def test_electric_motors_are_rejected_by_name_before_anything_is_compiled(make_node):
    with pytest.raises(ParameterError, match='expected hydraulic actuators, found front_motor, left_motor') as error:
        make_node(TipOverGovernorNode, machine='agv_omni', config='agv_omni_motors')
    assert '\n' not in str(error.value)


def test_on_a_slope_less_is_left(make_governor):
    degrees = []
    for pitch in (0.0, 0.08):
        node = make_governor(slope_pitch=pitch)
        keep_still(node, CLOSE)
        push(node, [-1.0, 0.0, 0.0], 3)
        degrees.append(node.verdict.degree)
    assert degrees[1] < degrees[0] - 0.02


def test_in_lockstep_the_output_follows_its_rate_over_simulated_time(make_governor):
    node = make_governor(mode='lockstep', payload=0.0, exchange_period=0.01, command_period=0.01)
    for k in range(5):
        node.receive(f'{node.channel.topic}_in', Float64MultiArray(data=[-5.0, 0.0, 0.0]))
        node.receive('joint_states', joint_state(0.01 * k, CLOSE))
    assert [sent.data[0] for sent in node.commands_out.messages] == pytest.approx([-0.15, -0.3, -0.45, -0.6, -0.75])


def test_in_lockstep_the_command_period_is_a_multiple_of_the_exchange(make_governor):
    periods = {'exchange_period': 0.003, 'command_period': 0.01}
    with pytest.raises(ParameterError, match='command_period'):
        make_governor(mode='lockstep', **periods)
    make_governor(mode='realtime', **periods)


def test_diagnostics_in_real_time_have_the_time_of_the_clock(make_governor):
    node = make_governor()
    level(node)
    stamp = node.diagnostics.publisher.last.header.stamp
    assert abs(node.get_clock().now().nanoseconds / NANO - stamp.sec) < 60.0


def test_levers_come_over_their_topic(make_governor):
    node = make_governor()
    (incoming,) = (
        subscription for subscription in node.subscriptions if subscription.topic_name.endswith('valve_commands_in')
    )
    incoming.callback(Float64MultiArray(data=[0.0, 0.0, 0.0]))
    assert node.received == 1


# -- efforts ---------------------------------------------------------------------------------------------------------

JointState = message('sensor_msgs/msg/JointState')
ARM = ['swing_joint', 'boom_joint', 'stick_joint']


def efforts(values, stamp=0.0, names=ARM):
    msg = JointState(name=list(names), effort=[float(value) for value in values])
    msg.header.stamp = stamp_of(stamp)
    return msg


def weight_of(node):
    """The efforts that hold the arm where it is."""
    node.stops.see()
    return node.stops.efforts_of(np.zeros(3))


def test_efforts_pass_as_they_are_where_there_is_room(make_governor):
    node = make_governor(output='joint_command', payload=0.0)
    keep_still(node, CLOSE)
    wanted = np.add(weight_of(node), [100.0, -200.0, 10.0])
    for _ in range(20):
        node.decided_at = (node.sensing.stamp or 0) / NANO - 0.02
        node.receive(f'{node.channel.topic}_in', efforts(wanted))
    assert list(node.commands_out.last.name) == ARM
    np.testing.assert_allclose(node.commands_out.last.effort, wanted, rtol=1e-6, atol=1.0)
    assert node.stops.rest_after() == pytest.approx(CLOSE, abs=0.02)
    assert level(node)[0] == OK


def test_efforts_that_would_tip_the_machine_are_held_back_and_the_arm_is_carried(make_governor):
    node = make_governor(output='joint_command', payload=5100.0)
    keep_still(node, FAR)
    held = weight_of(node)
    for _ in range(60):
        node.decided_at = (node.sensing.stamp or 0) / NANO - 0.02
        node.receive(f'{node.channel.topic}_in', efforts(np.add(held, [0.0, -4e5, 1e5])))
    output = np.array(node.commands_out.last.effort)
    assert output[1] > 0.6 * held[1]
    assert level(node)[0] == WARN
    assert level(node)[1].startswith('holding back ')


def test_efforts_wait_for_no_neutral_but_for_the_machine(make_governor):
    node = make_governor(output='joint_command', payload=0.0, fresh=True)
    node.receive(f'{node.channel.topic}_in', efforts([0.0, 1e5, 2e4]))
    assert node.commands_out.messages == [], 'the weight is unknown'
    keep_still(node, CLOSE)
    node.receive(f'{node.channel.topic}_in', efforts(weight_of(node)))
    assert len(node.commands_out.messages) >= 1
    assert not node.waits


@pytest.mark.parametrize(
    ('message_of', 'reason'),
    [
        (
            lambda: efforts([0.0, np.nan, 0.0]),
            "'boom_joint': expected a finite position, velocity or effort, found nan",
        ),
        (lambda: efforts([0.0, 0.0, 9e5]), "effort of 'stick_joint': expected at most 500000, found 900000"),
        (lambda: efforts([0.0, 0.0], names=ARM[:2]), 'no effort for stick_joint'),
        (lambda: JointState(name=ARM, position=[0.0] * 3), 'expected efforts, found positions or velocities'),
    ],
)
def test_invalid_efforts_are_rejected(make_governor, message_of, reason):
    node = make_governor(output='joint_command', payload=0.0)
    keep_still(node, CLOSE)
    before = len(node.commands_out.messages)
    node.receive(f'{node.channel.topic}_in', message_of())
    assert len(node.commands_out.messages) == before
    assert reason in node.rejections.last


def test_after_a_timeout_efforts_carry_the_weight(make_governor):
    node = make_governor(output='joint_command', payload=1000.0, command_timeout=0.05)
    keep_still(node, CLOSE)
    held = weight_of(node)
    node.receive(f'{node.channel.topic}_in', efforts(held))
    time.sleep(0.06)
    watch(node, 20)
    np.testing.assert_allclose(node.commands_out.last.effort, held, rtol=0.02, atol=500.0)
    assert level(node)[1].endswith('joints are braked')


class Arm:
    """The log-loader without oil, from whose measurements a node makes efforts."""

    def __init__(self, node, payload):
        self.node = node
        machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
        self.plant = Plant(replace(machine, actuators=()), 'effort', 0.01, 5e-4, ())
        self.plant.p[:] = self.plant.system.parameters({'payload_mass': payload, 'joint_stop_scale': 1.0})
        self.plant.start = dict(zip(ARM, CLOSE))
        self.plant.reset()

    def go(self, seconds, command=None):
        """Run the plant, with the efforts of a controller if there is one; return its greatest joint speed, rad/s."""
        for _ in range(round(seconds / 0.01)):
            plant, node = self.plant, self.node
            msg = joint_state(plant.time, plant.positions)
            msg.velocity = plant.velocities.tolist()
            node.receive('joint_states', msg)
            if command is not None:
                node.receive(f'{node.channel.topic}_in', efforts(command()))
            if node.commands_out.messages:
                plant.set_efforts(np.array(node.commands_out.last.effort))
            else:
                plant.set_efforts(plant.holding_efforts())
            plant.advance()
        return float(np.abs(self.plant.velocities).max())


def test_an_arm_without_a_controller_is_braked_and_held_by_measurements(make_governor):
    """A model alone carries no weight: the arm would fall, ever faster."""
    node = make_governor(output='joint_command', payload=1000.0, neutral_first=False)
    arm = Arm(node, 1050.0)
    arm.go(0.5)
    fast = arm.go(1.0, lambda: weight_of(node) + node.stops.inertia @ [0.4, 0.0, 0.5])
    assert fast > 0.05
    node.received_at = time.monotonic() - 99.0
    assert arm.go(3.0) < 0.02
    assert level(node)[1].endswith('joints are braked')
    q = arm.plant.positions.copy()
    arm.go(5.0)
    assert np.abs(arm.plant.positions - q).max() < 0.02


def test_efforts_end_where_nothing_is_measured_any_more_and_the_model_rests(make_governor):
    node = make_governor(output='joint_command', payload=1000.0, state_timeout=0.05)
    keep_still(node, CLOSE)
    node.receive(f'{node.channel.topic}_in', efforts(weight_of(node)))
    time.sleep(0.06)
    watch(node, 4)
    assert level(node)[1].endswith('joints are braked')
    watch(node, 12)
    count = len(node.commands_out.messages)
    watch(node, 5)
    assert len(node.commands_out.messages) == count
    assert level(node)[1].endswith('no efforts, the drives hold the joints')
    keep_still(node, CLOSE, start=1.0)
    node.receive(f'{node.channel.topic}_in', efforts(weight_of(node)))
    assert len(node.commands_out.messages) > count


def test_in_lockstep_every_exchange_gets_its_efforts(make_governor):
    node = make_governor(output='joint_command', mode='lockstep', payload=0.0, exchange_period=0.005)
    for k in range(6):
        at = 0.005 * k
        node.receive('joint_states', joint_state(at, CLOSE))
        node.receive(f'{node.channel.topic}_in', efforts([0.0, 1.2e5, 2e4], at))
    stamps = [msg.header.stamp.sec * NANO + msg.header.stamp.nanosec for msg in node.commands_out.messages]
    assert stamps == [round(0.005 * k * NANO) for k in range(6)]


def test_efforts_do_not_move_functions_by_themselves(make_governor):
    with pytest.raises(ParameterError, match="'bring_down': expected false with efforts"):
        make_governor(output='joint_command', bring_down=True)


def test_a_joint_that_is_not_driven_is_rejected_by_name(make_governor):
    with pytest.raises(ParameterError, match="'joints': expected all of swing_joint, boom_joint, stick_joint in some"):
        make_governor(output='joint_command', joints=['boom_joint', 'elbow'])


def test_joints_that_do_not_follow_their_valves_lead_to_neutral_until_it_is_acknowledged(make_governor):
    """A frozen encoder has this effect, and also a blocked function."""
    node = make_governor(payload=0.0, motion_check=True)
    keep_still(node, CLOSE)
    push(node, [-3.0, 0.0, 0.0], count=150)
    assert list(node.sensing.checks.faults()) == ['boom_joint']
    assert list(push(node, [-3.0, 0.0, 0.0])) == [0.0, 0.0, 0.0]
    health = node._governor_health()
    assert health.level == ERROR
    assert 'boom_joint: it deviates by' in health.text
    push(node, [0.0, 0.0, 0.0])
    node.sensing.checks.clear()
    assert push(node, [-3.0, 0.0, 0.0], count=10)[0] < 0.0
