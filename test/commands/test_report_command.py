from __future__ import annotations

import json

import pytest

from dyn_nodes.cli import main
from dyn_nodes.commands.report import earlier_wall_time


@pytest.fixture
def bag(tmp_path):
    """Return a bag of the loads of two wheels over 2 s."""
    import numpy as np
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    types, kind = store.types, 'geometry_msgs/msg/WrenchStamped'
    vector = types['geometry_msgs/msg/Vector3']
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for wheel in ('left', 'right'):
            connection = writer.add_connection(f'/ground_reactions/{wheel}', kind, typestore=store)
            for nanoseconds in np.arange(0, 2 * 10**9, 10**8):
                seconds, rest = divmod(int(nanoseconds), 10**9)
                header = types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](seconds, rest), wheel)
                wrench = types['geometry_msgs/msg/Wrench'](vector(0.0, 0.0, 5e3), vector(0.0, 0.0, 0.0))
                message = types[kind](header=header, wrench=wrench)
                writer.write(connection, int(nanoseconds), store.serialize_cdr(message, kind))
    return tmp_path / 'bag'


def test_a_report_is_made_beside_the_bag(bag, capsys):
    assert main(['report', str(bag)]) == 0
    assert 'Stable: no wheel lifted' in capsys.readouterr().out
    assert (bag.with_name('bag_report') / 'report.html').is_file()
    assert (bag.with_name('bag_report') / 'wheel_loads.png').is_file()


def test_json_output_is_the_summary_only(bag, capsys, tmp_path):
    assert main(['report', str(bag), '--json', '--out', str(tmp_path / 'out')]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert summary['final_wheel_load_sum_n'] == 1e4


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['nowhere'], 'nowhere: expected a bag directory, found nothing'),
        (['{bag}', '--config', 'none.yaml'], '--config: no such file: none.yaml'),
        (['{bag}', '--out', '/proc/no'], '/proc'),
    ],
)
def test_mistakes_are_reported_in_one_line(bag, capsys, arguments, words):
    assert main(['report', *(word.format(bag=bag) for word in arguments)]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count('\n') == 1


def test_the_wall_time_of_a_demonstration_is_read_from_its_summary(bag):
    assert earlier_wall_time(bag) is None
    (bag.parent / 'summary.json').write_text(json.dumps({'wall_time_s': 12.5, 'bag': '/elsewhere/bag'}))
    assert earlier_wall_time(bag) == 12.5
    (bag.parent / 'summary.json').write_text('{')
    assert earlier_wall_time(bag) is None
