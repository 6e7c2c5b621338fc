"""Tests of messages filled from YAML and of texts and pictures of a graph."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dyn_nodes.commands import CommandError
from dyn_nodes.commands.graph import dot, mermaid
from dyn_nodes.commands.graph_picture import arranged, draw
from dyn_nodes.commands.node_graph import NodeGraph
from dyn_nodes.commands.plain_messages import fill_message, message_class, parse_values, to_plain


@pytest.mark.parametrize(
    ('kind', 'text', 'message'),
    [
        ('sensor_msgs/msg/JointState', '{positions: [1]}', r'positions: no such field of'),
        ('sensor_msgs/msg/JointState', '{position: 1}', r'position: expected a list \(sequence<double>\), found 1'),
        ('sensor_msgs/msg/JointState', '{position: [a]}', r"position\[0\]: expected a number, found 'a'"),
        ('sensor_msgs/msg/JointState', '{position: [true]}', r'position\[0\]: expected a number, found True'),
        ('sensor_msgs/msg/JointState', '{name: [{a: 1}]}', r'name\[0\]: expected a text'),
        (
            'sensor_msgs/msg/JointState',
            '{header: {stamp: {nanosec: -1}}}',
            r'nanosec: expected 0 to 4294967295, found -1',
        ),
        ('sensor_msgs/msg/JointState', '{header: later}', r'header: expected field: value pairs'),
        ('geometry_msgs/msg/PoseWithCovariance', '{covariance: [1, 2]}', r'covariance: expected 36 values, found 2'),
        (
            'shape_msgs/msg/SolidPrimitive',
            '{dimensions: [1, 2, 3, 4]}',
            r'dimensions: expected at most 3 values, found 4',
        ),
        ('std_msgs/msg/Bool', '{data: 1}', r'data: expected true or false, found 1'),
        ('std_msgs/msg/UInt8', '{data: 1.5}', r'data: expected an integer, found 1\.5'),
        ('std_msgs/msg/Byte', '{data: 256}', r'data: expected 0 to 255, found 256'),
        ('diagnostic_msgs/msg/DiagnosticArray', '{status: [{level: x}]}', r'status\[0\]\.level: expected an integer'),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected_with_its_field(kind: str, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        fill_message(message_class(kind)(), parse_values(text))


def test_values_are_converted_to_the_types_of_the_fields() -> None:
    text = '{header: {stamp: now, frame_id: map}, name: [a, 7], position: [1, 2e-1, .nan]}'
    state = fill_message(message_class('sensor_msgs/msg/JointState')(), parse_values(text))
    assert abs(state.header.stamp.sec - time.time()) < 60
    plain = to_plain(state)
    assert (plain['name'], plain['position'][:2], plain['header']['frame_id']) == (['a', '7'], [1.0, 0.2], 'map')
    array = fill_message(
        message_class('diagnostic_msgs/msg/DiagnosticArray')(),
        parse_values('{header: auto, status: [{level: 2, name: pump, values: [{key: p, value: "3"}]}]}'),
    )
    assert array.header.stamp.sec > 0
    assert (array.status[0].level, array.status[0].values[0].key) == (2, 'p')


def test_now_is_the_latest_stamp_once_the_clock_is_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, 'time_ns', lambda: 2_210_000_000 * 10**9)
    stamp = fill_message(message_class('std_msgs/msg/Header')(), {'stamp': 'now'}, 'header').stamp
    assert (stamp.sec, stamp.nanosec) == (2**31 - 1, 999_999_999)


def test_invalid_yaml_is_rejected() -> None:
    with pytest.raises(CommandError, match='VALUES: expected YAML'):
        parse_values('[1')


@pytest.fixture
def graph() -> NodeGraph:
    return NodeGraph(
        nodes=['/a', '/b'],
        types={'/states': 'pkg/msg/S', '/commands': 'pkg/msg/C', '/silent': 'pkg/msg/X'},
        publishers={'/states': ['/a'], '/commands': ['/b']},
        subscribers={'/states': ['/b'], '/commands': ['/a'], '/silent': ['/b']},
    )


def test_the_texts_contain_every_edge_once(graph: NodeGraph) -> None:
    assert mermaid(graph).splitlines() == [
        'flowchart LR',
        '  n0(["/a"])',
        '  n1(["/b"])',
        '  t0["/commands<br/>pkg/msg/C"]',
        '  t1["/silent<br/>pkg/msg/X"]',
        '  t2["/states<br/>pkg/msg/S"]',
        '  n1 --> t0',
        '  n0 --> t2',
        '  t0 --> n0',
        '  t1 --> n1',
        '  t2 --> n1',
    ]
    text = dot(graph)
    assert text.count(' -> ') == 5
    assert '"topic /states" -> "node /b";' in text


def test_the_picture_has_every_name(graph: NodeGraph, tmp_path: Path) -> None:
    publishers, topics, subscribers = arranged(graph)
    assert (sorted(publishers), sorted(topics), sorted(subscribers)) == (['/a', '/b'], graph.topics, ['/a', '/b'])
    draw(graph, tmp_path / 'nodes.svg', 'svg')
    picture = (tmp_path / 'nodes.svg').read_text()
    assert all(f'<!-- {name} -->' in picture for name in ('/a', '/b', '/states', '/commands', '/silent'))
    draw(graph, tmp_path / 'nodes.png', 'png')
    assert (tmp_path / 'nodes.png').read_bytes().startswith(b'\x89PNG')
