"""The dynamics node with hydraulics inside a machine with constraints: from files, by voltages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.parameters import ParameterError

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
ROOT = Path(__file__).resolve().parents[2]
LINKAGE = """
constraints:
  rod:
    kind: distance
    first: {link: cabin_link, position: [1.5, 0, 1]}
    second: {link: stick_link, position: [1, 0, 0]}
    length: 3.5156
joints:
  stick_joint: {class: free}
"""


def linkage_files(directory):
    """The log-loader's arm on a fixed base; a rod from the cabin holds the stick in place of its cylinder."""
    text = (ROOT / 'config' / 'log_loader.yaml').read_text().replace('attachment: free', 'attachment: fixed')
    text = re.sub(r'\n  stick:\n.*?\n\n', '\n', text, flags=re.DOTALL)
    config = directory / 'linkage.yaml'
    config.write_text(text[: text.index('\nwheels:')] + LINKAGE)
    return {'urdf': str(ROOT / 'urdf' / 'log_loader.urdf'), 'config': str(config)}


def test_a_linkage_follows_the_voltages_of_its_valves(make_node, tmp_path):
    node = make_node(DynamicsNode, actuation='monolithic', measures=[''], **linkage_files(tmp_path))
    plant = node.plant
    at_rest = plant.positions.copy()
    for _ in range(20):
        assert node.advance()
    assert plant.positions == pytest.approx(at_rest, abs=1e-9)
    node.receive('valve_commands', Float64MultiArray(data=[5.0, -4.0]))
    for _ in range(400):
        assert node.advance()
    boom, swing = (plant.joints.index(name) for name in ('boom_joint', 'swing_joint'))
    assert plant.positions[boom] > at_rest[boom] + 1e-3
    assert plant.positions[swing] < at_rest[swing] - 1e-3
    assert plant.constraints.health().drift < 1e-9
    node.hold()
    assert np.array_equal(plant.u, np.zeros(2))


def test_monolithic_is_rejected_where_nothing_is_inside(make_node):
    with pytest.raises(ParameterError, match='expected topics for a machine with constraints and no actuators'):
        make_node(DynamicsNode, actuation='monolithic', machine='four_bar')
