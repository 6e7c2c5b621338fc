"""Hands of a machine in its YAML: points of links at which it holds objects."""

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.problems import MachineError

ROOT = Path(__file__).resolve().parents[2]
URDF = ROOT / 'urdf' / 'rm_1.urdf'


def with_grasps(path, text):
    config = path / 'rm_1.yaml'
    lines = (ROOT / 'config' / 'rm_1.yaml').read_text().replace('grasps:\n  hand: {link: hand}\n', '')
    config.write_text(lines + text)
    return config


def test_rm_1_has_its_hand_where_the_urdf_puts_it():
    machine = load_machine(URDF, ROOT / 'config' / 'rm_1.yaml')
    assert machine.grasp('hand').link == 'hand'
    np.testing.assert_array_equal(machine.grasp('hand').point, np.zeros(3))
    with pytest.raises(KeyError, match="unknown grasp 'claw'; known: hand"):
        machine.grasp('claw')


def test_a_machine_may_have_several_hands_with_points_of_their_links(tmp_path):
    text = 'grasps:\n  tip: {link: arm_link_3, point: [0.4, 0, 0]}\n  elbow: {link: arm_link_2}\n'
    config = with_grasps(tmp_path, text)
    machine = load_machine(URDF, config)
    assert [hand.name for hand in machine.grasps] == ['tip', 'elbow']
    np.testing.assert_array_equal(machine.grasp('tip').point, [0.4, 0.0, 0.0])


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('grasps:\n  hand: {link: arm_link_9}\n', "grasps.hand.link: expected a link of the URDF, found 'arm_link_9'"),
        ('grasps:\n  hand: {point: [0, 0, 0]}\n', 'grasps.hand.link: expected'),
        ('grasps:\n  hand: {link: hand, point: [0, 0]}\n', 'grasps.hand.point: expected'),
        ('grasps:\n  "a b": {link: hand}\n', 'grasps.a b: expected a name of letters'),
    ],
)
def test_a_faulty_hand_is_rejected_with_file_line_and_key(tmp_path, text, expected):
    config = with_grasps(tmp_path, text)
    with pytest.raises(MachineError) as caught:
        load_machine(URDF, config)
    (problem,) = caught.value.problems
    line = config.read_text().splitlines().index(text.splitlines()[1]) + 1
    assert expected in str(problem)
    assert f'{config}:{line}:' in str(problem)
