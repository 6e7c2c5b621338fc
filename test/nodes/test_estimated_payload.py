"""stability_monitor_node with the payload from pressures: inputs, topics and statuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from node_testing import Outbox, imu_message, joint_state, statuses, values_of

from dyn_nodes.analysis.payload_cases import CaseRig, measure_case, random_case
from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.payload_sensing import FluidPressure, PressureLine, Trigger
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode

Float64 = message('std_msgs/msg/Float64')
RATED, LIMIT = 5100.0, 6000.0
REPORTS = 4
"""Joint states for every message of pressure, as the actuator node gives them."""


@pytest.fixture(scope='module')
def rig():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return CaseRig(machine)


@pytest.fixture(scope='module')
def dropped(rig):
    """A machine that works with 2,400 kg and drops them."""
    case = random_case(rig, np.random.default_rng(4))
    case = replace(case, payload=2400.0, payload_after=0.0, step_time=2.0, offsets={}, dry=())
    return measure_case(rig, case)


@pytest.fixture(scope='module')
def standing(rig):
    """A machine that stands with 2,400 kg."""
    case = random_case(rig, np.random.default_rng(4))
    case = replace(case, payload=2400.0, payload_after=2400.0, offsets={}, dry=(), segments=())
    return measure_case(rig, case)


@pytest.fixture
def make_monitor(context):
    def make(**parameters):
        values = {'machine': 'log_loader', 'state_timeout': 9.0, 'stamp_clock': 'other', 'payload_source': 'estimated'}
        values |= parameters
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = StabilityMonitorNode(context=context, parameter_overrides=overrides)
        node.diagnostics.publisher = Outbox()
        if node.payload is not None:
            node.payload.mass_out, node.payload.interval_out = Outbox(), Outbox()
        return node

    return make


def pressure(time, value):
    result = FluidPressure(fluid_pressure=float(value))
    result.header.stamp = stamp_of(time)
    return result


def play(node, run, rows, pressures=True, states=1, ahead=0.0, reports=REPORTS):
    """Give measurements to a node: IMU at every instant, joint states at most, pressures at every fourth, later."""
    for k in rows:
        time = float(run.time[k])
        node.receive('imu', imu_message(time, run.angular_velocity[k], run.specific_force[k], None))
        if k % states == 0:
            node.receive('joint_states', joint_state(time, run.positions[k], run.velocities[k], effort=()))
        if pressures and k % reports == 0:
            for line, value in zip(node.payload.estimator.model.lines, run.pressures[k]):
                node.payload.take_pressure(line, pressure(time + ahead, value))


def payload_status(node):
    node.diagnostics.last_published = None
    node.update_diagnostics()
    return statuses(node.diagnostics.publisher.last)['payload']


def level(status):
    return status.level[0] if isinstance(status.level, bytes) else int(status.level)


def until(run, time):
    return range(int(np.searchsorted(run.time, time)))


def test_the_margins_use_the_payload_estimated_from_pressures(make_monitor, dropped):
    node = make_monitor()
    assert node.sensing.monitor.payload == RATED
    play(node, dropped, until(dropped, 1.9))
    assert node.sensing.monitor.payload == pytest.approx(2400.0, abs=0.01 * LIMIT)
    assert node.payload.mass_out.last.data == node.sensing.monitor.payload
    lower, upper, observed = node.payload.interval_out.last.data
    assert observed == 1.0
    assert lower < 2400.0 < upper
    assert upper - lower < 0.1 * LIMIT
    assert node.payload.interval_out.last.layout.dim[0].label == 'lower,upper,observed'
    assert node.balance is not None
    assert level(payload_status(node)) == 0
    assert values_of(payload_status(node))['state'] == 'observed'


def test_a_drop_is_estimated_within_half_a_second(make_monitor, dropped):
    node = make_monitor()
    play(node, dropped, until(dropped, 2.5))
    assert node.sensing.monitor.payload == pytest.approx(0.0, abs=0.02 * LIMIT)
    assert 'after a step of the load' in payload_status(node).message
    assert values_of(payload_status(node))['steps noticed'] == '1'


@pytest.mark.parametrize(('before', 'after'), [(2400.0, 0.0), (0.0, 2400.0)])
def test_a_governor_receives_a_drop_and_a_grab_within_half_a_second(make_monitor, rig, context, before, after):
    """The monitor's intervals are the only payload of a governor; before, it uses the rated payload."""
    case = random_case(rig, np.random.default_rng(4))
    case = replace(case, payload=before, payload_after=after, step_time=2.0, offsets={}, dry=())
    run = measure_case(rig, case)
    values = {'machine': 'log_loader', 'state_timeout': 9.0, 'stamp_clock': 'other', 'payload_source': 'estimated'}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    governor = TipOverGovernorNode(context=context, parameter_overrides=overrides)
    node = make_monitor()
    bounds_at = {}
    for k in until(run, 2.5):
        play(node, run, range(k, k + 1))
        if node.payload.interval_out.messages:
            governor.weighed.take(node.payload.interval_out.last)
        governor.weighed.update(float(run.time[k]))
        bounds_at[round(float(run.time[k]), 3)] = governor.weighed.bounds
    least, most = bounds_at[1.995]
    assert least - 30.0 < before < most + 30.0
    assert most - least < 600.0
    least, most = bounds_at[max(bounds_at)]
    assert least - 30.0 < after < most + 30.0
    assert most - least < 600.0
    # from the step to the next estimate: the previous bounds, then 0 to the rated payload
    between = {bounds for time, bounds in bounds_at.items() if 2.0 < time < 2.49}
    assert (0.0, 1.2 * RATED) in between
    assert governor.sensing.monitor.payload == pytest.approx(after, abs=0.02 * LIMIT)


def test_a_timeout_of_pressures_restores_the_rated_payload_and_the_status_names_them(make_monitor, dropped):
    node = make_monitor()
    rows = until(dropped, 1.5)
    play(node, dropped, rows[:200])
    assert values_of(payload_status(node))['state'] == 'observed'
    play(node, dropped, rows[200:], pressures=False)
    assert node.sensing.monitor.payload == RATED
    assert node.payload.mass_out.last.data == RATED
    assert level(payload_status(node)) == 1
    assert 'no pressure on hydraulics/boom/head_pressure' in payload_status(node).message


def test_joint_states_that_are_too_rare_bring_the_rated_payload_back(make_monitor, dropped):
    """At 8 per second no block is complete: the previous estimate would remain with any load."""
    node = make_monitor()
    rows = until(dropped, 1.9)
    play(node, dropped, rows[:240])
    assert values_of(payload_status(node))['state'] == 'observed'
    play(node, dropped, rows[240:], states=24)
    assert node.sensing.monitor.payload == RATED
    assert node.payload.interval_out.last.data[2] == 0.0
    assert level(payload_status(node)) == 1
    assert 'samples that are too rare' in payload_status(node).message


def test_without_an_imu_the_rated_payload_holds(make_monitor, dropped):
    """The rocking of the base shakes the load as much as the arm does: a mass from that would be wrong by a third."""
    node = make_monitor()
    play(node, dropped, until(dropped, 1.5))
    assert values_of(payload_status(node))['state'] == 'observed'
    for k in range(len(until(dropped, 1.5)), len(until(dropped, 1.9))):
        time = float(dropped.time[k])
        node.receive('joint_states', joint_state(time, dropped.positions[k], dropped.velocities[k], effort=()))
        for line, value in zip(node.payload.estimator.model.lines, dropped.pressures[k]):
            node.payload.take_pressure(line, pressure(time, value))
    assert node.sensing.monitor.payload == RATED
    assert level(payload_status(node)) == 1
    assert 'no imu' in payload_status(node).message


def test_unmeasured_speeds_have_a_greater_deviation_than_measured_ones(make_monitor, standing):
    """They lag behind accelerations; the interval has to hold it."""
    deviations = []
    for measured in (True, False):
        node, collected = make_monitor(use_velocities=measured), []
        sample = node.payload.estimator.sample
        node.payload.estimator.sample = lambda *args, kept=collected, use=sample: kept.append(args[-1][0]) or use(*args)
        play(node, standing, until(standing, 0.8))
        deviations.append(collected[-1])
    assert deviations[0] == 1e-3
    assert deviations[1] > 4e-3


@pytest.mark.parametrize(('every', 'expected'), [(4, 0), (8, 1)])
def test_less_than_forty_pressures_a_second_are_a_warning(make_monitor, standing, every, expected):
    node = make_monitor()
    play(node, standing, until(standing, 1.5), reports=every)
    assert level(payload_status(node)) == expected
    assert ('expected 40 or more, found 25 pressures a second' in payload_status(node).message) == bool(expected)


def test_before_any_pressure_the_rated_payload_holds(make_monitor, dropped):
    node = make_monitor(payload=1234.0)
    play(node, dropped, until(dropped, 0.8), pressures=False)
    assert node.sensing.monitor.payload == 1234.0
    assert node.payload.mass_out.messages == []
    assert level(payload_status(node)) == 1


@pytest.mark.parametrize(
    ('value', 'kind'), [(np.nan, 'not finite'), (np.inf, 'not finite'), (-1e7, 'out of range'), (4e7, 'out of range')]
)
def test_implausible_pressures_are_rejected_and_counted(make_monitor, dropped, value, kind):
    node = make_monitor()
    play(node, dropped, until(dropped, 1.0))
    before = node.sensing.monitor.payload
    node.payload.take_pressure('boom/head_pressure', pressure(1.01, value))
    assert node.sensing.monitor.payload == before
    status = payload_status(node)
    assert values_of(status)[f'rejected: {kind}'] == '1'
    assert 'hydraulics/boom/head_pressure' in status.message


def test_pressures_in_bar_are_not_used_and_reported(make_monitor, standing):
    node = make_monitor()
    play(node, replace(standing, pressures=1e-5 * standing.pressures), until(standing, 1.5))
    assert node.payload.interval_out.last.data[2] == 0.0
    assert node.sensing.monitor.payload == RATED
    assert level(payload_status(node)) == 1
    assert 'pressures and motion are inconsistent' in payload_status(node).message


def test_a_negative_payload_is_not_observed_and_reported(make_monitor, standing):
    node = make_monitor()
    play(node, standing, until(standing, 1.5))
    node.payload.estimator.x[0] = -1000.0  # as where the arm seems to be lighter than it is
    node.payload._publish(node.payload.estimator.estimate, 1.5)
    assert node.payload.interval_out.last.data[2] == 0.0
    assert node.sensing.monitor.payload == RATED
    assert level(payload_status(node)) == 1
    assert 'less than zero: pressures or units are wrong' in payload_status(node).message


def test_time_that_goes_back_starts_anew(make_monitor, dropped):
    node = make_monitor(state_timeout=0.5)
    play(node, dropped, until(dropped, 1.5))
    play(node, dropped, until(dropped, 0.4))
    assert node.sensing.monitor.payload == RATED
    play(node, dropped, range(len(until(dropped, 0.4)), len(until(dropped, 1.5))))
    assert node.sensing.monitor.payload == pytest.approx(2400.0, abs=0.01 * LIMIT)


def test_overtaken_joint_states_leave_the_estimate(make_monitor, dropped):
    node = make_monitor()
    play(node, dropped, until(dropped, 1.5))
    node.receive('joint_states', joint_state(1.45, dropped.positions[0], dropped.velocities[0], effort=()))
    assert node.sensing.monitor.payload == pytest.approx(2400.0, abs=0.01 * LIMIT)


def test_a_topic_does_not_overrule_the_estimate(make_monitor):
    taken = {sub.topic_name.lstrip('/') for sub in make_monitor().subscriptions}
    assert 'payload' not in taken
    assert 'hydraulics/boom/head_pressure' in taken
    topics = {sub.topic_name.lstrip('/') for sub in make_monitor(payload_source='given').subscriptions}
    assert 'payload' in topics
    assert not any(name.startswith('hydraulics') for name in topics)


def test_the_service_tares_an_empty_implement(make_monitor, dropped):
    node = make_monitor()
    early = node.answer('~/tare', Trigger.Request())
    assert not early.success
    assert early.message.startswith('no tare: no imu')
    play(node, dropped, range(len(dropped.time)))
    done = node.answer('~/tare', Trigger.Request())
    assert done.success
    assert node.sensing.monitor.payload == pytest.approx(0.0, abs=3.0)


def test_a_load_is_no_empty_implement(make_monitor, dropped):
    """A tare with a load would reduce every following estimate and the bounds of the governor."""
    node = make_monitor()
    play(node, dropped, until(dropped, 1.9))
    before = node.payload.estimate
    assert before.state == 'observed'
    response = node.answer('~/tare', Trigger.Request())
    assert not response.success
    assert response.message.startswith('no tare: expected an empty implement, 300 kg at most, found 2')
    assert node.payload.estimate == before


def tare(node):
    return node.answer('~/tare', Trigger.Request())


@pytest.mark.parametrize(('residual', 'success'), [(-290.0, True), (-350.0, False)])
def test_a_tare_is_rejected_for_a_negative_residual_as_for_a_load(make_monitor, standing, residual, success):
    node = make_monitor()
    play(node, standing, until(standing, 1.0))
    node.payload.estimator.x[0] = residual
    node.payload._publish(node.payload.estimator.estimate._replace(state='observed'), 1.0)
    assert tare(node).success == success
    assert node.payload.estimator.x[0] == pytest.approx(0.0 if success else residual, abs=3.0)


def test_tares_do_not_add_up_to_a_load(make_monitor, standing):
    node = make_monitor()
    play(node, standing, until(standing, 1.0))
    answers = []
    for _ in range(2):  # another 270 kg each time
        node.payload.estimator.x[0] = 270.0
        node.payload._publish(node.payload.estimator.estimate, 1.0)
        answers.append(tare(node))
    assert [answer.success for answer in answers] == [True, False]
    assert '300 kg at most, found 540 kg, 270 kg of it tared before' in answers[1].message


def test_pressures_ahead_of_the_joint_states_are_rejected_and_time_out(make_monitor, dropped):
    """Stamps of another clock, 3 s ahead: pressures that no longer come would count as new for so long."""
    node = make_monitor()
    rows = until(dropped, 1.5)
    play(node, dropped, rows[:40])
    play(node, dropped, rows[40:200], ahead=3.0)
    assert node.sensing.monitor.payload == RATED
    assert 'rejected: ahead' in values_of(payload_status(node))
    play(node, dropped, rows[200:])
    assert values_of(payload_status(node))['state'] == 'observed'


def test_pressures_before_the_first_joint_states_are_not_used(make_monitor, dropped):
    node = make_monitor()
    for line in node.payload.estimator.model.lines:
        node.payload.take_pressure(line, pressure(5.0, 1e6))
    play(node, dropped, until(dropped, 1.0), pressures=False)
    assert node.payload.mass_out.messages == []
    assert 'no pressure' in payload_status(node).message


def test_more_than_the_mount_carries_is_an_error_and_is_published_as_its_limit(make_monitor, rig):
    node = make_monitor()
    case = random_case(rig, np.random.default_rng(4))
    joints = (0.0, 0.9, -1.8)  # close to the base: the machine stands
    case = replace(case, payload=7500.0, payload_after=7500.0, offsets={}, dry=(), joints=joints, slope=(0.0, 0.0))
    run = measure_case(rig, replace(case, segments=()))
    play(node, run, until(run, 1.5))
    assert node.sensing.monitor.payload == pytest.approx(7500.0, abs=0.03 * LIMIT)
    assert node.payload.mass_out.last.data == LIMIT
    assert level(payload_status(node)) == 2
    assert payload_status(node).message.startswith('overloaded: 7')


@pytest.mark.parametrize('name', ['agv_mecanum_arm', 'platform_4x4x4'])
def test_a_machine_that_cannot_be_weighed_is_rejected_with_the_reason(make_monitor, name):
    with pytest.raises(ParameterError, match=r"parameter 'payload_source': estimated: .*expected"):
        make_monitor(machine=name)


def test_pressures_between_two_messages_are_interpolated_and_never_extrapolated():
    line = PressureLine()
    line.take(1.0, 10.0)
    assert line.at(0.5) == line.at(1.0) == 10.0
    line.take(2.0, 20.0)
    assert [line.at(time) for time in (0.5, 1.25, 2.0, 3.0)] == [10.0, 12.5, 20.0, 20.0]
    line.take(1.5, 30.0)
    assert line.at(1.2) == line.at(1.5) == 30.0
