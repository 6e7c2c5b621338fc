"""Events of a machine, received on `events` by another process and read from the bag."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from dyn_nodes.middleware import message
from dyn_nodes.simulation import Inputs
from dyn_nodes.studies.abo_shanab_2003.planar import hybrid_model, profile
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import STANDING

Float64 = message('std_msgs/msg/Float64')
STATUS = 'diagnostic_msgs/msg/DiagnosticStatus'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
SLOPE, DROP = math.radians(20.0), math.radians(15.0)
START = {'boom_joint': math.radians(10.0), 'stick_joint': math.radians(-55.0)}
SLOPE_CASE = {
    'machine': 'log_loader_planar',
    'contact_model': 'rigid',
    'initial_positions': ','.join(f'{name}={value:.12f}' for name, value in START.items()),
    'payload': 4000.0,
    'slope_pitch': SLOPE,
    'drop_tilt': DROP,
}


def values_of(status) -> dict[str, str]:
    return {pair.key: pair.value for pair in status.values}


def kind_of(status) -> str:
    return status.name.rpartition(': ')[2]


def in_one_process(duration: float):
    """Return the slope case of the rigid model, with voltages held for 10 ms as the controller publishes them."""
    model = hybrid_model('rigid', 'literal')
    p = model.parameters({'payload_mass': 4000.0, 'drop_tilt': DROP}, slope=SLOPE)
    commanded = np.arange(round(duration * 100)) * 0.01
    volts = profile('planar_slope_lift').evaluate(commanded, ('boom', 'stick'))
    knots, held = np.repeat(commanded, 2)[1:], np.repeat(volts, 2, axis=0)[:-1]
    inputs = Inputs(knots, {'boom/voltage': held[:, 0], 'stick/voltage': held[:, 1]})
    times = np.arange(round(duration * 1000) + 1) * 1e-3
    return model.run(model.initial_state(p, START), STANDING, times, inputs, p, step=5e-4)


def read_bag(bag):
    """Return the events and the number of messages by topic."""
    events, counts = [], {}
    with AnyReader([bag]) as reader:
        for connection, _, raw in reader.messages(reader.connections):
            counts[connection.topic] = counts.get(connection.topic, 0) + 1
            if connection.topic == '/events':
                events.append(reader.deserialize(raw, connection.msgtype))
    return events, counts


@pytest.mark.slow
def test_the_slope_case_tips_drops_and_lands_as_nodes(processes, probe, tmp_path):
    """20 degrees, rigid ground, oil in a separate process: events on topic, log and bag at their times."""
    duration, bag = 6.9, tmp_path / 'bag'
    received = []
    probe.node.create_subscription(message(STATUS), 'events', received.append, 1000)
    for topic in ('ground_reactions/rear', 'ground_reactions/front', 'joint_reactions/boom_joint'):
        probe.listen(WRENCH, topic)
    probe.listen('std_msgs/msg/Float64MultiArray', 'stability/net_moment/edges')
    common = {'machine': 'log_loader_planar', 'mode': 'lockstep'}
    processes.start('recorder_node', directory=bag, use_sim_time=True)
    processes.start('hydraulic_actuator_node', **common)
    processes.start('controller_node', task='planar_slope_lift', **common)
    others = ['recorder_node', 'hydraulic_actuator_node', 'controller_node']
    processes.start('dynamics_node', mode='lockstep', wait_for=others, duration=duration, **SLOPE_CASE)
    assert processes.wait('dynamics_node', 200) == 0, processes.log('dynamics_node')
    assert probe.last['stability/net_moment/edges'].layout.dim[0].label == 'rear,front'
    assert probe.last['joint_reactions/boom_joint'].header.frame_id == 'boom_link'
    processes.stop()

    alone = in_one_process(duration)
    recorded, counts = read_bag(bag)
    for topic in ('ground_reactions/rear', 'stability/zmp_degree', 'stability/support_polygon', 'markers'):
        assert counts[f'/{topic}'] > 10, topic
    sources = {'dynamics_node': ('lift_off', 'payload_drop', 'impact'), 'hydraulic_actuator_node': ('relief_open',)}
    for node, kinds in sources.items():
        log = processes.log(node)
        for kind in kinds:
            (first, *_) = [status for status in received if kind_of(status) == kind]
            assert first.name == f'{node}: {kind}'
            assert f'{kind}: {first.message}' in log
            expected = next(event for event in alone.log if event.kind == kind)
            # the split into two processes moves the joints by less than a milliradian
            assert float(values_of(first)['time']) == pytest.approx(expected.time, abs=5e-3)
            stored = [status for status in recorded if status.name == first.name]
            assert (stored[0].message, values_of(stored[0])) == (first.message, values_of(first))
    lift, drop, relief = (
        values_of(next(s for s in received if kind_of(s) == kind))
        for kind in ('lift_off', 'payload_drop', 'relief_open')
    )
    assert lift['wheel'] == 'rear'
    assert (float(drop['mass']), float(drop['mass_after'])) == (4000.0, 0.0)
    assert float(drop['pitch']) == pytest.approx(DROP, abs=1e-8)
    assert (relief['actuator'], relief['joint'], relief['relief']) == ('boom', 'boom_joint', 'rod line')
    assert float(relief['pressure']) == pytest.approx(35.2e6, rel=1e-6)
    # events are exact: the instants are between the exchange periods, not on them
    assert any(abs(float(v['time']) / 1e-3 - round(float(v['time']) / 1e-3)) > 1e-3 for v in (lift, drop, relief))


def test_in_real_time_the_payload_is_released_by_topic_and_the_ground_reaction_drops(processes, probe):
    for wheel in ('rear', 'front'):
        probe.listen(WRENCH, f'ground_reactions/{wheel}')
    probe.listen(STATUS, 'events')
    quiet = {**SLOPE_CASE, 'drop_tilt': 0.0}
    processes.start('dynamics_node', mode='realtime', actuation='monolithic', command_timeout=60.0, **quiet)
    probe.until(lambda: min(probe.count[f'ground_reactions/{w}'] for w in ('rear', 'front')) > 5, 'the reports', 120)

    def load() -> float:
        return sum(probe.last[f'ground_reactions/{wheel}'].wrench.force.z for wheel in ('rear', 'front'))

    across = 9.81 * math.cos(SLOPE)
    assert load() == pytest.approx((14_518 + 4_000) * across, rel=0.01)
    publisher = probe.node.create_publisher(Float64, 'payload', 10)
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the match with dynamics_node')
    publisher.publish(Float64(data=0.0))
    probe.until(lambda: probe.count['events'] > 0, 'the event')
    event = probe.last['events']
    assert kind_of(event) == 'payload_drop'
    assert event.message == '0 kg'
    values = values_of(event)
    assert (float(values['mass']), float(values['mass_after'])) == (4000.0, 0.0)
    probe.until(lambda: abs(load() / (14_518 * across) - 1.0) < 0.02, 'the new weight')


def test_wheels_of_the_spatial_machine_lift_between_two_steps(processes, probe):
    """Compliant, monolithic, lockstep: the loaded machine on a side slope; the drop unloads one side."""
    received = []
    probe.node.create_subscription(message(STATUS), 'events', received.append, 1000)
    common = {'machine': 'log_loader', 'mode': 'lockstep'}
    processes.start('controller_node', task='pick_and_place_recovery', **common)
    processes.start(
        'dynamics_node', actuation='monolithic', wait_for=['controller_node'], duration=9.5, report_period=0.5,
        integration_step=0.001, command_period=0.01, **common,
    )  # fmt: skip
    assert processes.wait('dynamics_node', 200) == 0, processes.log('dynamics_node')
    lifts = [values_of(status) for status in received if kind_of(status) == 'lift_off']
    assert {values['wheel'] for values in lifts} >= {'rear_right', 'rear_left'}
    # located: neither on a step of 1 ms nor on a report of 0.5 s
    offsets = [abs(float(values['time']) * 1e3 - round(float(values['time']) * 1e3)) for values in lifts]
    assert max(offsets) > 1e-3
    assert all(float(values['height_rate']) > 0.0 for values in lifts)
