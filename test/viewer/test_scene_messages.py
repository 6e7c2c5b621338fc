"""The scene sends only changes. No browser: the state of the server is checked."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('viser', reason='the viewer needs viser')

from dyn_nodes.viewer.cockpit import Cockpit, check_port
from dyn_nodes.viewer.colours import AMBER, GREEN, GREY, RED
from dyn_nodes.viewer.robot import load_robot
from dyn_nodes.viewer.scene import colour_of, edge_measure
from dyn_nodes.viewer.snapshot import Margin, Snapshot

ROOT = Path(__file__).resolve().parents[2]
CORNERS = np.array([[1.5, -1.1, 0.0], [1.5, 1.1, 0.0], [-1.5, 1.1, 0.0], [-1.5, -1.1, 0.0]])
WHEELS = ('front_right', 'front_left', 'rear_left', 'rear_right')
EDGES = ('front', 'left', 'rear', 'right')


@pytest.fixture(scope='module')
def robot():
    return load_robot((ROOT / 'urdf' / 'log_loader.urdf').read_text())


@pytest.fixture
def cockpit(robot):
    made = Cockpit('127.0.0.1', 0, 'test')
    made.set_robot(robot)
    yield made
    made.stop()


def instant(**changes) -> Snapshot:
    snapshot = Snapshot(
        time=1.0,
        joints={'swing_joint': 0.2, 'boom_joint': 0.5, 'stick_joint': -1.0},
        base_position=(0.1, 0.2, 1.4),
        forces=dict.fromkeys(WHEELS, (0.0, 0.0, 5e4)),
        contacts={name: tuple(corner) for name, corner in zip(WHEELS, CORNERS)},
        margins={'net_moment': Margin(1e5, (1e5, 2e5, 4e5, 2e5), EDGES)},
        polygon=CORNERS,
        center_of_mass=(0.5, 0.0, 2.0),
        zmp=(0.5, 0.0, 0.0),
        payload=5100.0,
    )
    return replace(snapshot, **changes)


def test_the_poses_of_links_follow_the_joints(cockpit, robot):
    snapshot = instant()
    cockpit.scene.update(snapshot)
    for link, (position, rotation) in robot.poses(snapshot.joints).items():
        link_position, turn = cockpit.scene.link_pose(link)
        assert link_position == pytest.approx(position + snapshot.base_position, abs=1e-6)
        assert turn.as_matrix() == pytest.approx(rotation.as_matrix(), abs=1e-6)


def test_an_unknown_link_has_no_pose(cockpit):
    with pytest.raises(KeyError, match='bucket'):
        cockpit.scene.link_pose('bucket')


def test_a_machine_at_rest_sends_nothing(cockpit):
    cockpit.scene.update(instant())
    sent = cockpit.scene.messages
    for _ in range(10):
        cockpit.scene.update(instant(time=2.0))
    assert cockpit.scene.messages == sent


def test_invisibly_small_changes_are_not_sent(cockpit):
    cockpit.scene.update(instant())
    sent = cockpit.scene.messages
    cockpit.scene.update(instant(base_position=(0.10001, 0.2, 1.4), zmp=(0.5001, 0.0, 0.0)))
    assert cockpit.scene.messages == sent


def test_small_movements_add_up_until_they_are_sent(cockpit):
    for step in range(101):
        cockpit.scene.update(instant(base_position=(0.1 + 1e-4 * step, 0.2, 1.4)))
    assert cockpit.scene.link_pose('base_link')[0][0] == pytest.approx(0.11, abs=3e-4)


def test_one_moving_joint_costs_few_messages(cockpit):
    cockpit.scene.update(instant())
    sent = cockpit.scene.messages
    cockpit.scene.update(instant(joints={'swing_joint': 0.2, 'boom_joint': 0.5, 'stick_joint': -1.001}))
    assert 1 <= cockpit.scene.messages - sent <= 4


def test_a_lifted_wheel_is_red_and_labelled(cockpit):
    cockpit.scene.update(instant())
    arrows = cockpit.scene.handles['reactions']
    assert (arrows.colors == arrows.colors[0]).all()
    lifted = {**instant().forces, 'rear_left': (0.0, 0.0, 0.0)}
    cockpit.scene.update(instant(forces=lifted))
    assert cockpit.scene.handles['reactions'].colors[2].tolist() == list(RED)
    assert cockpit.scene.handles['label/load/rear_left'].text == 'lifted'
    assert cockpit.scene.handles['label/load/front_left'].text == '50 kN'


def test_arrows_are_proportional_to_the_loads(cockpit):
    forces = {name: (0.0, 0.0, load) for name, load in zip(WHEELS, (8e4, 6e4, 4e4, 2e4))}
    cockpit.scene.update(instant(forces=forces))
    points = cockpit.scene.handles['reactions'].points
    lengths = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
    assert lengths / lengths[3] == pytest.approx([4.0, 3.0, 2.0, 1.0], rel=1e-3)


@pytest.mark.parametrize(('value', 'colour'), [(1e5, AMBER), (-1e3, RED)])
def test_the_critical_edge_has_its_colour_and_position(cockpit, value, colour):
    cockpit.scene.update(instant(margins={'net_moment': Margin(value, (2e5, 2e5, value, 2e5), EDGES)}))
    critical = cockpit.scene.handles['critical']
    assert critical.colors.reshape(-1, 3)[0].tolist() == list(colour)
    start, end = critical.points[0]
    assert (start[0], end[0]) == pytest.approx((-1.5, -1.5))
    assert start[1] > 1.1 > -1.1 > end[1], 'the whole edge and the axis beyond it'


def test_edges_of_wheels_are_no_edges_of_the_polygon():
    shares = Margin(0.1, (0.1, 0.2, 0.3, 0.4), WHEELS)
    assert edge_measure({'load_share': shares}, 4) == {}
    assert edge_measure({'load_share': shares, 'static': Margin(1.0, (1.0, 2.0, 3.0))}, 4) == {}


def test_gravity_points_from_the_centre_of_mass_to_its_projection(cockpit):
    cockpit.scene.update(instant(slope=(0.0, np.arctan(0.5))))
    start, end = cockpit.scene.handles['gravity'].points[0]
    assert start == pytest.approx([0.5, 0.0, 2.0])
    assert end == pytest.approx([1.5, 0.0, 0.0], abs=1e-5), 'front downhill: gravity pulls ahead'


def test_a_dropped_load_is_hidden_and_returns(cockpit):
    cockpit.scene.update(instant())
    cockpit.scene.update(instant(payload=0.0))
    assert not any(handle.visible for handle in cockpit.scene._load)
    assert cockpit.scene.handles['label/payload'].text == 'no load'
    cockpit.scene.update(instant(payload=1234.0))
    assert all(handle.visible for handle in cockpit.scene._load)
    assert cockpit.scene.handles['label/payload'].text == '1,234 kg'


def test_a_weighed_payload_is_shown_with_its_interval(cockpit):
    cockpit.scene.update(instant(payload=3000.0, weighed=(2900.0, 3080.0)))
    assert cockpit.scene.handles['label/payload'].text == '3,000 kg, weighed 2,990 ± 90 kg'
    cockpit.scene.update(instant(payload=0.0, weighed=(-45.0, 31.0)))
    assert cockpit.scene.handles['label/payload'].text == 'no load, weighed 0 ± 38 kg'


def test_the_trace_follows_the_implement_and_is_cleared(cockpit):
    for step in range(20):
        joints = {**instant().joints, 'boom_joint': 0.5 + 0.02 * step}
        cockpit.scene.update(instant(joints=joints))
    assert len(cockpit.scene.trace) > 10
    assert cockpit.scene.trace[-1] == pytest.approx(cockpit.scene.link_pose('payload_link')[0], abs=0.05)
    cockpit.scene.clear_trace()
    assert cockpit.scene.trace == []
    assert 'trace' not in cockpit.scene.handles


def test_unknown_values_are_not_shown(cockpit):
    cockpit.scene.update(instant())
    cockpit.scene.update(instant(polygon=None, center_of_mass=None, zmp=None, forces={}))
    for name in ('polygon', 'critical', 'fill', 'center_of_mass', 'gravity', 'zmp', 'reactions'):
        assert name not in cockpit.scene.handles


def test_another_machine_replaces_the_first(cockpit):
    cockpit.scene.update(instant())
    other = load_robot(
        '<robot name="r"><link name="post"><visual><geometry><box size="1 1 2"/></geometry></visual></link></robot>'
    )
    cockpit.set_robot(other)
    cockpit.scene.update(instant())
    assert cockpit.scene.link_pose('post')[0] == pytest.approx(instant().base_position)
    with pytest.raises(KeyError):
        cockpit.scene.link_pose('boom_link')


def test_a_used_port_is_an_error(cockpit):
    with pytest.raises(OSError, match=f'127.0.0.1:{cockpit.port}'):
        Cockpit('127.0.0.1', cockpit.port, 'second')


def test_it_listens_on_the_given_address_only(cockpit):
    assert cockpit.address == f'http://127.0.0.1:{cockpit.port}/?token={cockpit.gate.access.token}'
    check_port('127.0.0.2', cockpit.port)


def test_the_colour_belongs_to_the_worst_known_margin():
    good, unknown = Margin(0.2), Margin(math.nan)
    assert colour_of({'static': good, 'energy': unknown}) == GREEN
    assert colour_of({'static': good, 'zmp': Margin(0.3)}) == AMBER
    assert colour_of({'static': good, 'energy': Margin(-math.inf)}) == RED
    assert colour_of({'static': Margin(0.0)}) == RED
    assert colour_of({'static': unknown}) == GREY
    assert colour_of({}) == GREY
