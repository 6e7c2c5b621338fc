"""Topics that the viewer discovers by name, without a machine file."""

from __future__ import annotations

import time

import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.viewer_inputs import PRESSURE_AGE, ViewerInputs
from dyn_nodes.viewer.connection import Connection

FLOAT = 'std_msgs/msg/Float64'


class Graph:
    """A node with a list of topics and without messages."""

    def __init__(self, namespace: str, topics: dict[str, str]) -> None:
        self.namespace, self.topics = namespace, topics
        self.callbacks = {}

    def resolve_topic_name(self, topic: str) -> str:
        return topic if topic.startswith('/') else f'{self.namespace}/{topic}'

    def get_topic_names_and_types(self):
        return [(topic, [kind]) for topic, kind in self.topics.items()]

    def create_subscription(self, kind, topic, callback, qos) -> None:
        self.callbacks[self.resolve_topic_name(topic)] = callback


@pytest.mark.parametrize('prefix', ['', 'monitor/'])
def test_the_interval_of_a_weighed_payload_appears_from_its_topic(prefix):
    kind = 'std_msgs/msg/Float64MultiArray'
    topic = f'/left/{prefix}payload/interval'
    graph = Graph('/left', {topic: kind, '/right/payload/interval': kind})
    inputs = ViewerInputs(graph, None, lambda text: None, Connection('dynamics_node'))
    assert inputs.discover()
    for data, seen in (([2910.0, 3090.0], (2910.0, 3090.0)), ([float('nan'), 1.0], (2910.0, 3090.0)), ([1.0], None)):
        graph.callbacks[topic](message(kind)(data=data))
        assert inputs.snapshot.weighed == (seen or (2910.0, 3090.0))
    assert '/right/payload/interval' not in graph.callbacks


@pytest.mark.parametrize('namespace', ['', '/left'])
def test_friction_use_and_a_measure_appear_from_their_topics(namespace):
    names = ('friction_use/rear_left', 'stability/admissible')
    graph = Graph(namespace, {f'{namespace}/{name}': FLOAT for name in names} | {'/right/friction_use/other': FLOAT})
    inputs = ViewerInputs(graph, None, lambda text: None, Connection('dynamics_node'))
    assert inputs.snapshot.friction_use == {}
    assert inputs.discover()
    for name, value in zip(names, (0.83, 120.0)):
        graph.callbacks[f'{namespace}/{name}'](message(FLOAT)(data=value))
    assert inputs.snapshot.friction_use == {'rear_left': 0.83}
    assert inputs.snapshot.margins['admissible'].value == 120.0
    assert '/right/friction_use/other' not in graph.callbacks
    assert not inputs.discover()


def test_a_pressure_that_is_nan_or_timed_out_is_unknown():
    kind, topic = 'sensor_msgs/msg/FluidPressure', '/hydraulics/boom/head_pressure'
    graph = Graph('', {topic: kind})
    inputs = ViewerInputs(graph, None, lambda text: None, Connection('dynamics_node'))
    assert inputs.discover()
    take, start = graph.callbacks[topic], time.monotonic()
    take(message(kind)(fluid_pressure=2e7))
    take(message(kind)(fluid_pressure=float('nan')))
    end = time.monotonic()
    inputs.forget_old(start + PRESSURE_AGE - 1e-3)
    assert inputs.snapshot.pressures == {'boom/head': 2e7}
    inputs.forget_old(end + PRESSURE_AGE + 1e-3)
    assert inputs.snapshot.pressures == {}
    take(message(kind)(fluid_pressure=1e7))
    assert inputs.snapshot.pressures == {'boom/head': 1e7}
