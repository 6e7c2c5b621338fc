from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from recorded_run import HEADER, TYPES, BagOfRun, header, pressure, stamp, vector, write_run
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
from dyn_nodes.analysis.run_record import read_run
from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.nodes.balance_reports import margin_topic


def write_phases(bag: BagOfRun, times) -> None:
    for time in times:
        bag.write('task_phase', 'std_msgs/msg/String', time, data=f'at {time}')


def test_every_topic_has_its_count_and_every_numeric_one_a_table(recovered):
    data = recovered.data
    assert data.counts['/odom'] == 1201
    assert data.counts['/task_phase'] == 4
    assert data.storage == 'mcap'
    for topic, count in data.counts.items():
        relative = topic.lstrip('/')
        if relative in ('robot_description', 'task_phase', 'events'):
            continue
        assert len(data.table(relative)) == count


def test_columns_equal_the_simulation(recovered, recovered_run):
    run, _ = recovered_run
    data = recovered.data
    np.testing.assert_allclose(data.table('odom').time, run.times, atol=1e-9)
    for wheel in run.system.machine.wheels:
        column = data.table(f'ground_reactions/{wheel.name}')['fz']
        np.testing.assert_array_equal(column, run.output(f'{wheel.name}/normal_force'))
    np.testing.assert_array_equal(data.table('joint_states')['boom_joint/position'], run.state('boom_joint'))
    np.testing.assert_array_equal(
        data.table('hydraulics/stick/rod_pressure')['pressure'], run.state('stick/rod_pressure')
    )


def test_attitude_is_that_of_the_simulation_to_round_off(recovered, recovered_run):
    run, _ = recovered_run
    for name in ('tilt', 'roll', 'pitch'):
        np.testing.assert_allclose(getattr(recovered.attitude, name), run.output(name), atol=1e-9)


@pytest.mark.parametrize('measure', [margin_topic(name).removeprefix('stability/') for name in DEFAULT_MEASURES])
def test_margins_come_with_named_edges_whose_least_is_the_margin(recovered, measure):
    history = recovered.margins[measure]
    wanted = {'front_right', 'front_left', 'rear_right', 'rear_left'} if measure == 'load_share' else None
    assert set(history.edges) == (wanted or {'front', 'left', 'rear', 'right'})
    edges = np.column_stack(list(history.edges.values()))
    np.testing.assert_allclose(edges.min(axis=1), history.value, atol=1e-9 * max(1.0, np.abs(edges).max()))


def test_messages_without_a_stamp_get_the_time_of_those_published_with_them(recovered):
    for topic in ('stability/zmp_degree', 'stability/zmp_degree/edges', 'stability/zmp'):
        np.testing.assert_array_equal(recovered.data.table(topic).time, recovered.data.table('odom').time)


def test_two_types_on_one_topic_are_kept_apart_and_the_scalar_has_the_name(tmp_path):
    store = get_typestore(Stores.ROS2_JAZZY)
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        point, scalar = 'geometry_msgs/msg/PointStamped', 'std_msgs/msg/Float64'
        connections = {kind: writer.add_connection('/stability/zmp', kind, typestore=store) for kind in (point, scalar)}
        messages = {
            point: store.types[point](header=_header(), point=store.types['geometry_msgs/msg/Point'](1.0, 2.0, 0.0)),
            scalar: store.types[scalar](data=0.5),
        }
        for kind, message in messages.items():
            writer.write(connections[kind], 0, store.serialize_cdr(message, kind))
    data = read_bag(tmp_path / 'bag')
    assert data.table('stability/zmp')['data'].tolist() == [0.5]
    assert data.table(f'stability/zmp ({point})')['y'].tolist() == [2.0]
    assert data.counts == {'/stability/zmp': 2}


def test_wall_log_times_are_mapped_to_simulated_time(recovered):
    assert recovered.data.log_span == pytest.approx(24.0 / 5.0)
    assert [(p.name, round(p.start, 6), round(p.end, 6)) for p in recovered.phases] == [
        ('wait', 0.0, 5.0),
        ('reach', 5.0, 8.8),
        ('recover', 8.8, 11.8),
        ('settle', 11.8, 24.0),
    ]


def test_a_bag_logged_in_simulated_time_has_no_wall_time(tmp_path):
    with BagOfRun(tmp_path / 'bag', stamped_log=True) as bag:
        write_phases(bag, (0.0, 1.0))
        for k in range(20):
            pressure(bag, 'hydraulics/boom/head_pressure', 0.1 * k, 1e6)
    data = read_bag(tmp_path / 'bag')
    assert data.log_span is None
    assert [time for time, _ in data.texts['task_phase']] == pytest.approx([0.0, 1.0])


def test_topics_below_a_namespace_are_read_like_those_of_the_root(recovered_run, tmp_path):
    with BagOfRun(tmp_path / 'bag', prefix='/loader') as bag:
        write_run(bag, *recovered_run)
    record = read_run(tmp_path / 'bag')
    assert record.data.namespace == '/loader'
    assert record.duration == 24.0
    assert set(record.wheel_loads) == {'front_left', 'front_right', 'rear_left', 'rear_right'}


def test_two_machines_in_a_bag_need_a_namespace(tmp_path):
    with BagOfRun(tmp_path / 'bag') as bag:
        for name in ('/a/joint_states', '/b/joint_states'):
            bag.write(
                name,
                'sensor_msgs/msg/JointState',
                0.0,
                header=_header(),
                name=['boom'],
                position=np.array([1.0 if name[1] == 'a' else 2.0]),
                velocity=np.zeros(1),
                effort=np.zeros(0),
            )
    with pytest.raises(BagReadingError, match='several machines are in this bag, choose a namespace: /a, /b'):
        read_bag(tmp_path / 'bag')
    table = read_bag(tmp_path / 'bag', namespace='b').table('joint_states')
    assert table['boom/position'].tolist() == [2.0]
    assert np.isnan(table['boom/effort']).all()


def _header():
    return HEADER(stamp=stamp(0.0), frame_id='')


def test_reading_reports_its_progress_up_to_the_end(recovered_bag):
    seen = []
    read_bag(recovered_bag, lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 30_000


def test_a_missing_bag_is_reported_with_its_path(tmp_path):
    with pytest.raises(BagReadingError, match='nowhere: expected a bag directory, found nothing'):
        read_bag(tmp_path / 'nowhere')


@pytest.mark.parametrize('content', [b'', b'\x89MCAP0\r\n', b'nonsense' * 100])
def test_a_broken_bag_is_reported_without_a_traceback(tmp_path, recovered_bag, content):
    folder = tmp_path / 'bag'
    folder.mkdir()
    (folder / 'metadata.yaml').write_bytes((recovered_bag / 'metadata.yaml').read_bytes())
    (folder / 'bag.mcap').write_bytes(content)
    with pytest.raises(BagReadingError, match='bag: the bag cannot be read'):
        read_bag(folder)


def test_a_third_party_bag_lists_its_topics(tmp_path):
    with BagOfRun(tmp_path / 'bag') as bag:
        write_phases(bag, (0.0,))
        pressure(bag, 'somewhere/pressure', 0.0, 1.0)
    with pytest.raises(BagReadingError, match=r'expected odom or ground_reactions/<wheel>.*found /somewhere/pressure'):
        read_run(tmp_path / 'bag')


def test_a_missing_topic_is_named_where_it_is_asked_for(recovered):
    with pytest.raises(BagReadingError, match='expected messages of /imu, found '):
        recovered.data.table('imu')


KINDS = ('description', 'joints', 'machine', 'mark', 'wheels')


@pytest.mark.parametrize('kind', KINDS)
def test_two_machines_on_the_topics_of_one_namespace_are_rejected(tmp_path, recovered_run, kind):
    run, profile = recovered_run
    machine = run.system.machine
    with BagOfRun(tmp_path / 'bag') as bag:
        write_start(bag, run, profile)
        if kind == 'description':
            bag.write('robot_description', 'std_msgs/msg/String', 0.0, data='<robot name="other"/>')
        if kind == 'joints':
            zero = np.zeros(2)
            fields = {'position': zero, 'velocity': zero, 'effort': zero}
            bag.write(
                'joint_states', 'sensor_msgs/msg/JointState', 0.01, header=header(0.01), name=['lift', 'tilt'], **fields
            )
        if kind == 'machine':
            for name, at in ((machine.name, ''), ('telehandler', ''), ('excavator', 'yard/')):
                write_machine(bag, name, f'{at}dynamics_node')
        if kind == 'mark':
            bag.writer.set_custom_data('machines_mixed', '/joint_states: /dynamics_node, /sim')
        if kind == 'wheels':
            wrench = TYPES['geometry_msgs/msg/Wrench'](vector((0, 0, 1)), vector((0, 0, 0)))
            bag.write('ground_reactions/mid', 'geometry_msgs/msg/WrenchStamped', 0.0, header=header(0.0), wrench=wrench)
    expected = {
        'description': 'expected one machine on the topics of /, found 2 different robot_description',
        'joints': 'found joint_states of .*boom_joint.*; lift, tilt; record each machine in a separate namespace',
        'machine': r'found log_loader \(dynamics_node\), telehandler \(dynamics_node\); record each',
        'mark': 'found /joint_states: /dynamics_node, /sim; record each',
        'wheels': 'expected ground_reactions of log_loader .*, also found mid: the bag has another machine',
    }
    with pytest.raises(BagReadingError, match=expected[kind]):
        read_run(tmp_path / 'bag')


def test_machines_in_separate_namespaces_are_distinguished(tmp_path, recovered_run):
    run, profile = recovered_run
    with BagOfRun(tmp_path / 'bag') as bag:
        write_start(bag, run, profile)
        write_machine(bag, 'log_loader', 'dynamics_node')
        write_machine(bag, 'telehandler', 'yard/dynamics_node')
    assert read_run(tmp_path / 'bag').machine.name == 'log_loader'


def write_start(bag: BagOfRun, run, profile) -> None:
    """Write the first instants of a run."""
    names = ('system', 'parameters', 'state', 'output', 'position', 'overturned', 'end_time')
    short = SimpleNamespace(
        **{name: getattr(run, name) for name in names},
        times=run.times[:3],
        all_outputs=run.all_outputs[:3],
    )
    write_run(bag, short, profile)


def write_machine(bag: BagOfRun, name: str, node: str) -> None:
    """Write diagnostics that name a machine."""
    pairs = [TYPES['diagnostic_msgs/msg/KeyValue'](key='machine', value=name)]
    status = TYPES['diagnostic_msgs/msg/DiagnosticStatus'](0, f'{node}: simulation', 'running', node, pairs)
    bag.write('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', 0.0, header=header(0.0), status=[status])
