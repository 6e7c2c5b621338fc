"""The stability monitor node: inputs, rejections, topics and statuses; also as a process."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from node_testing import JOINTS, Outbox, imu_message, joint_state, statuses, values_of
from timeouts import scaled_timeout

from dyn_nodes.analysis.measured_run import measure, work_cycle
from dyn_nodes.common.share import find_resource
from dyn_nodes.middleware import Parameter, SingleThreadedExecutor, message
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.allowance import Allowance
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.nodes import sensing
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stability_monitor_node import StabilityMonitorNode
from dyn_nodes.nodes.transforms import TFMessage
from dyn_nodes.simulation import System, initial_state
from dyn_nodes.stability.balance import BalanceObserver

Float64 = message('std_msgs/msg/Float64')
OK, WARN, ERROR = 0, 1, 2
POSTURE = {'swing_joint': 0.1, 'boom_joint': 0.7, 'stick_joint': -1.4}


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


@pytest.fixture
def make_monitor(context):
    def make(**parameters):
        values = {'machine': 'log_loader', 'settling': 0.1, 'state_timeout': 9.0, 'stamp_clock': 'other', **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = StabilityMonitorNode(context=context, parameter_overrides=overrides)
        node.diagnostics.publisher = Outbox()
        reports = node.reports
        for publisher in (*reports.margins.values(), *reports.reactions.values(), *reports.uses.values()):
            Outbox.behind(publisher)
        node.allowance_out = {name: Outbox() for name in node.allowance_out}
        return node

    return make


def keep_still(node, seconds=0.4, start=0.0, positions=(0.1, 0.7, -1.4)):
    for k in range(round(seconds / 0.01) + 1):
        node.receive('joint_states', joint_state(start + 0.01 * k, positions))


def test_a_planar_machine_is_watched_as_one_in_space(make_monitor):
    node = make_monitor(machine='log_loader_planar', payload=4000.0)
    for k in range(41):
        posture = joint_state(0.01 * k, (0.6, -1.4), (0.0, 0.0), (0.0, 0.0), ('boom_joint', 'stick_joint'))
        node.receive('joint_states', posture)
    loads = {name: report.publisher.last.wrench.force.z for name, report in node.reports.reactions.items()}
    machine = load_machine(find_resource('urdf/log_loader_planar.urdf'), find_resource('config/log_loader_planar.yaml'))
    system = System(machine)
    p = system.parameters({'payload_mass': 4000.0})
    x = initial_state(system, p, {'boom_joint': 0.6, 'stick_joint': -1.4})
    outputs = system.outputs(x, np.zeros(len(system.input_names)), p)
    for name in ('rear', 'front'):
        carried = outputs[system.index('output', f'{name}/normal_force')]
        assert [loads[f'{name}_left'], loads[f'{name}_right']] == pytest.approx([carried / 2, carried / 2], rel=1e-3)


def time_out(node, seconds):
    """Let nothing have come for so long, without waiting for it."""
    node.sensing.received_at = node.sensing.imu_received_at = time.monotonic() - seconds


def levels(node):
    node.diagnostics.last_published = None
    node.update_diagnostics()
    result = {}
    for subject, status in statuses(node.diagnostics.publisher.last).items():
        result[subject] = status.level[0] if isinstance(status.level, bytes) else int(status.level)
    return result


def status_of(node, subject):
    node.diagnostics.last_published = None
    node.update_diagnostics()
    return statuses(node.diagnostics.publisher.last)[subject]


def test_a_standing_machine_is_seen_as_the_simulation_settles_it(make_monitor, machine):
    node = make_monitor()
    keep_still(node)
    assert status_of(node, 'stability').message.startswith('caution: zero moment point 0.282 at front')
    system = System(machine, 'effort')
    x = initial_state(system, system.parameters(), POSTURE)
    y = system.outputs(x, np.zeros(len(system.input_names)), system.parameters())
    truth = BalanceObserver(system, node.sensing.monitor.measures).observe(y, system.parameters()[:3])
    for name, margin in truth.margins.items():
        # 3 us of filtered rest and the rounding of the plane: negligible
        assert node.reports.margins[name].publisher.last.data == pytest.approx(margin.value, rel=2e-5), name
    for wheel, force in zip(truth.wheels, truth.forces):
        assert node.reports.reactions[wheel].publisher.last.wrench.force.z == pytest.approx(force[2], rel=2e-5)


def test_admissible_reactions_and_the_friction_use_of_every_wheel_are_published(make_monitor, machine):
    """Braked wheels at rest: what every one can spare, as of the simulated machine, and no friction in use."""
    node = make_monitor(measures=['admissible'])
    keep_still(node)
    system = System(machine, 'effort')
    y = system.outputs(
        initial_state(system, system.parameters(), POSTURE), np.zeros(len(system.input_names)), system.parameters()
    )
    truth = BalanceObserver(system, ('admissible',)).observe(y, system.parameters()[:3])
    margin = truth.margins['admissible']
    assert margin.valid
    assert 0.0 < margin.value < truth.total_normal / 4
    assert node.reports.margins['admissible'].publisher.last.data == pytest.approx(margin.value, rel=1e-3)
    assert set(node.reports.uses) == set(truth.wheels)
    for publisher in node.reports.uses.values():
        assert publisher.publisher.last.data == pytest.approx(0.0, abs=1e-3)
    node.reports.withdraw()
    assert all(np.isnan(report.publisher.last.data) for report in node.reports.uses.values())
    assert not make_monitor(measures=['zmp']).reports.uses


def test_nothing_is_published_before_the_filters_have_settled(make_monitor):
    node = make_monitor(settling=0.3)
    keep_still(node, 0.2)
    assert node.reports.margins['zmp'].publisher.messages == []
    assert levels(node)['joint_states'] == WARN
    keep_still(node, 0.2, start=0.21)
    assert node.reports.margins['zmp'].publisher.messages != []


@pytest.mark.parametrize(
    ('names', 'positions', 'kind'),
    [
        (JOINTS, (0.0, np.nan, -1.0), 'not finite'),
        (JOINTS, (0.0, 0.5), 'wrong size'),
        (('swing_joint', 'boom_joint', 'elbow'), (0.0, 0.5, -1.0), 'missing joint'),
        (('swing_joint', 'boom_joint', 'boom_joint'), (0.0, 0.5, -1.0), 'wrong size'),
    ],
)
def test_implausible_joint_states_are_rejected_and_counted(make_monitor, names, positions, kind):
    node = make_monitor()
    keep_still(node)
    before = node.sensing.received
    node.receive('joint_states', joint_state(0.5, positions, names=names, velocity=(), effort=()))
    assert node.sensing.received == before
    assert node.sensing.rejections.counts[kind] == 1
    status = status_of(node, 'joint_states')
    assert values_of(status)[f'rejected: {kind}'] == '1'
    assert 'rejected' in status.message


@pytest.mark.parametrize(
    ('fields', 'kind'),
    [
        ({'omega': (0.0, np.inf, 0.0)}, 'not finite'),
        ({'force': (0.0, 0.0, np.nan)}, 'not finite'),
        ({'orientation': (0.0, 0.0, 0.0, 0.0)}, 'not a rotation'),
    ],
)
def test_implausible_imu_messages_are_rejected(make_monitor, fields, kind):
    node = make_monitor()
    node.receive('imu', imu_message(0.0, **fields))
    assert node.sensing.rejections.counts[kind] == 1
    assert node.sensing.imu_received == 0


def test_payload_changes_the_margins_and_a_wrong_one_is_rejected(make_monitor, machine):
    node = make_monitor()
    keep_still(node)
    loaded = node.reports.margins['net_moment'].publisher.last.data
    node.receive('payload', Float64(data=0.0))
    keep_still(node, 0.1, start=0.41)
    assert node.reports.margins['net_moment'].publisher.last.data != pytest.approx(loaded, rel=0.05)
    for wrong in (-1.0, machine.payload.limit + 1.0, np.nan):
        node.receive('payload', Float64(data=wrong))
    assert node.sensing.rejections.counts['payload'] == 3
    assert node.sensing.monitor.payload == 0.0


def test_levels_follow_the_thresholds(make_monitor):
    node = make_monitor(**{'thresholds.zmp.caution': 2.0})
    keep_still(node)
    assert levels(node)['stability'] == WARN
    assert 'net moment' not in status_of(node, 'stability').message
    node = make_monitor(**{'thresholds.net_moment.caution': 1e9, 'thresholds.net_moment.danger': 1e9})
    keep_still(node)
    assert levels(node)['stability'] == ERROR


def test_a_posture_that_overturns_is_an_error_with_its_edge(make_monitor):
    node = make_monitor(payload=6000.0)
    keep_still(node, positions=(0.0, 0.0, 0.0))
    status = status_of(node, 'stability')
    assert levels(node)['stability'] == ERROR
    assert 'front' in status.message
    assert node.reports.margins['net_moment'].publisher.last.data < 0.0
    assert node.allowance_out['payload'].last.data < 0.0
    assert node.allowance_out['reach'].last.data < 0.0
    assert levels(node)['allowance'] == WARN


def test_a_timeout_is_reported_and_ends_the_margins(make_monitor):
    node = make_monitor(state_timeout=9.0)
    keep_still(node)
    assert levels(node)['joint_states'] == OK
    time_out(node, 9.1)
    assert levels(node)['joint_states'] == ERROR
    assert levels(node)['stability'] == ERROR


def test_margins_and_allowances_come_once_in_their_periods(make_monitor):
    node = make_monitor(period=0.05, allowance_period=0.2003)  # no multiple of the millisecond either
    keep_still(node, 1.095)
    assert len(node.reports.margins['zmp'].publisher.messages) == pytest.approx(20, abs=2)
    assert set(node.allowance_out) == {'payload', 'reach', 'swing_speed'}
    for out in node.allowance_out.values():
        assert len(out.messages) == pytest.approx(5, abs=1)


def test_the_timer_reports_a_timeout_of_the_machine(make_monitor, context):
    node = make_monitor()
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    deadline = time.monotonic() + scaled_timeout(30.0)
    while not node.diagnostics.publisher.messages and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.2)
    array = node.diagnostics.publisher.last
    assert statuses(array)['stability'].message == 'no margins: measurements are missing'
    assert array.header.stamp.sec == pytest.approx(time.time(), abs=3600.0)
    executor.remove_node(node)


def test_a_prefix_is_put_before_the_topics_and_frames_are_published_only_if_asked_for(make_monitor):
    node = make_monitor(prefix='monitor', publish_tf=False)
    topics = {publisher.topic_name for publisher in node.publishers}
    assert {'/monitor/stability/allowance/payload', '/monitor/stability/zmp_degree'} <= topics
    assert '/stability/allowance/payload' not in topics
    assert '/tf' not in topics
    keep_still(node)
    assert np.isfinite(node.reports.margins['zmp'].publisher.last.data)


@pytest.mark.skipif(TFMessage is None, reason='tf2_msgs is not installed')
def test_the_ground_below_the_base_is_a_frame_with_the_contact_frames_on_it(make_monitor, machine):
    node = make_monitor()
    assert '/stability/allowance/payload' in {publisher.topic_name for publisher in node.publishers}
    node.tf.publisher = frames = Outbox(TFMessage)
    keep_still(node)
    ground, *contacts = frames.last.transforms
    assert (ground.header.frame_id, ground.child_frame_id) == (machine.base.link, 'base_footprint')
    assert ground.transform.translation.z < -0.1
    assert {contact.header.frame_id for contact in contacts} == {'base_footprint'}
    assert {contact.child_frame_id for contact in contacts} == {f'{wheel.name}_contact' for wheel in machine.wheels}


def test_time_that_goes_back_withdraws_the_margins_at_once(make_monitor):
    node = make_monitor()
    keep_still(node, start=10.0)
    margin = node.reports.margins['zmp'].publisher
    assert np.isfinite(margin.last.data)
    keep_still(node, 0.05)
    assert np.isnan(margin.last.data)


def test_levels_are_published_with_the_states_that_change_them_and_values_with_their_units(make_monitor):
    node = make_monitor(payload=6000.0)
    began = time.perf_counter()
    keep_still(node, positions=(0.0, 0.0, 0.0))
    elapsed = time.perf_counter() - began
    status = statuses(node.diagnostics.publisher.last)['stability']
    values = values_of(status)
    assert status.level == ERROR
    assert status.message == 'tipping: static margin over front'
    assert 0.0 < float(values['computing time'].removesuffix(' ms')) <= 1e3 * elapsed
    assert float(values['zmp']) == pytest.approx(node.balance.margins['zmp'].value, rel=1e-5)


def test_a_pure_number_has_no_unit_and_a_wheel_without_load_is_named(make_monitor):
    node = make_monitor(measures=['zmp', 'load_share'], **{'thresholds.zmp.danger': 2.0, 'thresholds.zmp.caution': 2.0})
    keep_still(node)
    where, zmp = node.balance.critical_edge('zmp'), node.balance.margins['zmp'].value
    assert status_of(node, 'stability').message == f'danger: zero moment point {zmp:.3g} at {where}, level 2'
    levels = {'thresholds.load_share.danger': 0.2, 'thresholds.load_share.caution': 0.3}
    node = make_monitor(measures=['zmp', 'load_share'], **levels)
    keep_still(node)
    share = node.balance.margins['load_share'].value
    where = node.balance.critical_edge('load_share')
    assert (
        status_of(node, 'stability').message == f'danger: wheel-load share {100.0 * share:.3g} % at {where}, level 20 %'
    )


def test_a_margin_of_too_few_feet_is_not_defined(make_monitor):
    node = make_monitor(measures=['zmp'])
    keep_still(node)
    node.balance = replace(node.balance, polygon=node.balance.polygon[:3])
    assert float(values_of(status_of(node, 'stability'))['zmp']) > 0.0
    node.balance = replace(node.balance, polygon=node.balance.polygon[:2])
    assert values_of(status_of(node, 'stability'))['zmp'] == 'not defined for this machine'


def test_half_a_metre_too_much_reach_is_too_much(make_monitor):
    node = make_monitor()
    node.allowance = Allowance(payload=0.0, reach=-0.5, swing_speed=0.1)
    status = status_of(node, 'allowance')
    assert (status.level, status.message) == (WARN, 'exceeded: reach 0.5 m')
    assert values_of(status) == {'payload': '0 kg', 'reach': '-0.5 m', 'swing_speed': '0.1 rad/s'}


def test_a_payload_beyond_the_allowance_is_a_warning_with_its_unit(make_monitor):
    node = make_monitor()
    keep_still(node, positions=(0.0, 0.25, -0.9))
    assert status_of(node, 'allowance').message.startswith('exceeded: payload ')
    assert ' kg' in status_of(node, 'allowance').message
    assert levels(node)['allowance'] == WARN


def test_a_timeout_withdraws_the_last_margins_once(make_monitor):
    node = make_monitor(state_timeout=9.0)
    node.check_timeouts()
    margin, payload = node.reports.margins['zmp'].publisher, node.allowance_out['payload']
    assert margin.messages == payload.messages == []  # there is nothing to withdraw
    keep_still(node)
    assert np.isfinite([margin.last.data, payload.last.data]).all()
    count = len(margin.messages), len(payload.messages)
    time_out(node, 9.1)
    for _ in range(3):
        node.check_timeouts()
    assert np.isnan([margin.last.data, payload.last.data]).all()
    assert (len(margin.messages), len(payload.messages)) == (count[0] + 1, count[1] + 1)
    assert status_of(node, 'allowance').message == 'no allowance yet'


def test_in_simulated_time_margins_do_not_depend_on_how_long_the_computer_takes(make_monitor, monkeypatch):
    monkeypatch.setattr(sensing, 'SIMULATED_TIMEOUT', 500.0)
    node = make_monitor(state_timeout=0.05, imu_timeout=0.05, use_sim_time=True)
    for k in range(41):
        node.receive('imu', imu_message(0.01 * k))
        keep_still(node, 0.0, 0.01 * k)
    margin = node.reports.margins['zmp'].publisher
    time_out(node, 100.0)
    node.check_timeouts()
    assert np.isfinite(margin.last.data)
    assert levels(node)['joint_states'] == levels(node)['imu'] == OK
    time_out(node, 600.0)  # a machine that has ended times out all the same
    node.check_timeouts()
    assert np.isnan(margin.last.data)
    assert levels(node)['joint_states'] == ERROR
    assert levels(node)['imu'] == WARN


@pytest.fixture(scope='module')
def sled(tmp_path_factory):
    """A frame on three feet and on a fourth one that slides across it, past its neighbours."""
    folder = tmp_path_factory.mktemp('sled')
    body = '<inertial><mass value="{}"/><inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>'
    (folder / 'sled.urdf').write_text(
        f"""<robot name="sled"><link name="base">{body.format(100)}</link><link name="slide">{body.format(10)}</link>
        <joint name="rail" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="0 1 0"/>
        <limit lower="-1.5" upper="0.5" effort="1000" velocity="1"/></joint></robot>"""
    )
    positions = {'rear_right': (-1, -0.5), 'rear_left': (-1, 0.5), 'front_right': (1, -0.5), 'front_left': (0.8, 0.5)}
    feet = [
        f'  {name}: {{link: {"slide" if name == "front_left" else "base"}, position: [{x}, {y}, -0.5], '
        'free_length: 0.1, stiffness: 1.0e+5, damping: 1.0e+4}'
        for name, (x, y) in positions.items()
    ]
    (folder / 'sled.yaml').write_text('\n'.join(['base: {attachment: free}', 'wheels:', *feet, '']))
    return {'machine': str(folder / 'sled.urdf'), 'config': str(folder / 'sled.yaml')}


def test_wheels_whose_ground_points_cross_are_named_and_the_margins_withdrawn_until_they_do_not(make_monitor, sled):
    node = make_monitor(measures=['zmp', 'load_share'], **sled)

    def slide(position, start):
        for k in range(40):
            node.receive(
                'joint_states',
                joint_state(start + 0.01 * k, (position,), velocity=(0.0,), effort=(0.0,), names=('rail',)),
            )

    slide(0.0, 0.0)
    margin = node.reports.margins['zmp'].publisher
    assert margin.last.data > 0.5
    slide(-1.2, 1.0)
    assert np.isnan(margin.last.data)
    status = status_of(node, 'stability')
    crossed = 'the edges from rear_right to front_right and from front_left to rear_left intersect'
    assert status.message == f'the ground points of the wheels cross: {crossed}'
    assert levels(node)['stability'] == levels(node)['allowance'] == ERROR
    assert not node.guard.failed
    slide(0.0, 2.0)
    assert margin.last.data > 0.5
    assert levels(node)['stability'] == OK


def test_a_required_imu_that_is_missing_is_an_error(make_monitor):
    node = make_monitor(imu='required')
    keep_still(node)
    assert node.reports.margins['zmp'].publisher.messages == []
    assert levels(node)['imu'] == ERROR


def test_a_base_without_measured_motion_is_reported_with_its_effect_on_the_margins(make_monitor):
    node = make_monitor()
    keep_still(node)
    status = status_of(node, 'imu')
    assert values_of(status)['base motion'] == 'not measured'
    assert 'margins are 5 % of their full scale lower while the machine moves' in status.message
    for k in range(60):
        node.receive('imu', imu_message(0.41 + 0.01 * k))
        node.receive('joint_states', joint_state(0.41 + 0.01 * k, (0.1, 0.7, -1.4)))
    assert values_of(status_of(node, 'imu'))['base motion'] == 'measured'


def test_an_imu_with_a_constant_stamp_is_a_warning_as_the_base_is_predicted(make_monitor):
    node = make_monitor()
    for k in range(60):
        node.receive('imu', imu_message(min(0.01 * k, 0.3)))
        node.receive('joint_states', joint_state(0.01 * k, (0.1, 0.7, -1.4)))
    assert not node.sensing.monitor.has_imu
    status = status_of(node, 'imu')
    assert levels(node)['imu'] == WARN
    assert status.message.startswith('no imu with stamps of the last 0.1 s of joint_states: the motion of the base')


def test_joint_states_wait_for_the_imu_of_their_instant(make_monitor):
    node = make_monitor(imu='required')
    sensing, published = node.sensing, node.reports.margins['zmp'].publisher.messages
    for k in range(60):
        node.receive('imu', imu_message(0.01 * k))
        node.receive('joint_states', joint_state(0.01 * k, (0.1, 0.7, -1.4)))
    before, count = sensing.received, len(published)
    node.receive('joint_states', joint_state(0.60, (0.1, 0.7, -1.4)))
    assert sensing.received == before
    node.receive('imu', imu_message(0.60))
    assert sensing.received == before + 1
    assert sensing.monitor.imu_time == sensing.monitor.time == 0.60
    node.receive('joint_states', joint_state(0.61, (0.1, 0.7, -1.4)))
    node.receive('joint_states', joint_state(0.62, (0.1, 0.7, -1.4)))
    assert sensing.received == before + 1
    node.receive('imu', imu_message(0.615))
    node.receive('imu', imu_message(0.625))
    assert sensing.received == before + 3
    assert sensing.monitor.time == 0.62
    assert sensing.monitor.imu_time <= 0.625
    assert len(published) > count


def test_time_that_goes_back_starts_the_filters_again(make_monitor):
    node = make_monitor()
    keep_still(node, start=10.0)
    keep_still(node, 0.05)
    assert node.sensing.restarts == 1
    assert not node.sensing.monitor.settled


def test_joint_states_that_were_overtaken_are_rejected_and_the_monitor_continues(make_monitor):
    node = make_monitor()
    for k in range(60):
        node.receive('imu', imu_message(0.01 * k, (0.005, 0.0, 0.0)))
        node.receive('joint_states', joint_state(0.01 * k, (0.1, 0.7, -1.4)))
    monitor = node.sensing.monitor
    bias = monitor.ground.bias
    assert bias[0] == pytest.approx(0.005, abs=1e-3)
    node.receive('joint_states', joint_state(0.585, (0.1, 0.7, -1.4)))
    node.receive('imu', imu_message(0.6, (0.005, 0.0, 0.0)))
    node.receive('joint_states', joint_state(0.6, (0.1, 0.7, -1.4)))
    assert node.sensing.rejections.counts == {'out of order': 1}
    assert monitor.settled
    assert monitor.has_imu
    assert monitor.ground.bias == pytest.approx(bias, abs=1e-4)


@pytest.mark.parametrize(
    'wrong',
    [{'measures': ['beauty']}, {'imu_position': [0.0, 1.0]}, {'payload': 7000.0}, {'swing_joint': 'no_joint'}],
)
def test_parameters_that_do_not_fit_are_rejected(make_monitor, wrong):
    with pytest.raises((ParameterError, ValueError, KeyError)):
        make_monitor(**wrong)


def test_a_measured_machine_is_watched_by_a_process(start_node, tester, machine):
    """Two seconds of noisy joint states and IMU in real time; the results are near the true values."""
    run = measure(machine, work_cycle(machine), 3000.0, SensorModel(rate=100.0))
    process = start_node('stability_monitor_node', machine='log_loader', payload=3000.0, stamp_clock='other')
    degree = tester.listen('std_msgs/msg/Float64', 'stability/zmp_degree')
    share = tester.listen('std_msgs/msg/Float64', 'stability/load_share')
    reactions = tester.listen('geometry_msgs/msg/WrenchStamped', 'ground_reactions/front_left')
    allowed = tester.listen('std_msgs/msg/Float64', 'stability/allowance/payload')
    health = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
    states = tester.speak('sensor_msgs/msg/JointState', 'joint_states')
    imu = tester.speak('sensor_msgs/msg/Imu', 'imu')
    tester.until(lambda: states.get_subscription_count() and imu.get_subscription_count(), 60.0)
    tester.until(lambda: health, 60.0)
    for k in range(200):
        at = float(run.time[k])
        imu.publish(
            imu_message(
                at, run.angular_velocity[k].tolist(), run.specific_force[k].tolist(), run.orientation[k].tolist()
            )
        )
        states.publish(joint_state(at, run.positions[k].tolist(), run.velocities[k].tolist()))
        tester.for_seconds(0.01)
    tester.until(lambda: len(degree) > 40 and allowed and reactions, 5.0)
    assert degree[-1].data == pytest.approx(run.truth['zmp'][199], abs=0.05)
    assert share[-1].data == pytest.approx(run.truth['load_share'][199], abs=0.05 * 0.2186)
    assert 500.0 < allowed[-1].data <= 3000.0
    assert reactions[-1].header.frame_id == 'front_left_contact'
    stable = [statuses(array).get('stability') for array in health]
    assert any(status is not None and status.message == 'stable' for status in stable)
    status, errors = process.stop()
    assert status == 0, errors
