"""Tipping axis, reach and way of the load in the scene: positions, switches, and nothing out of date."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('viser', reason='the viewer needs viser')
from scipy.spatial.transform import Rotation
from test_scene_messages import CORNERS, cockpit, instant, robot  # noqa: F401

from dyn_nodes.middleware import Node, message
from dyn_nodes.monitor.reach_band import ReachLimit
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.viewer_inputs import DATA_AGE, ViewerInputs
from dyn_nodes.nodes.viewer_reach import MISSES, ViewerReach
from dyn_nodes.viewer.connection import Connection
from dyn_nodes.viewer.panel import Action
from dyn_nodes.viewer.scene import DRAWINGS
from dyn_nodes.viewer.snapshot import Load, Margin, Reach, Snapshot

NEW = ('critical', 'label/critical', 'load_line', 'label/load_line', 'reach/left', 'reach/over', 'reach/limit')
STOP = {'boom_joint': 0.2}
ANGLES = np.arange(12) * math.pi / 6.0


def reach(present=4.0, limits=None):
    limits = np.full(12, 5.0) if limits is None else limits
    return Reach(np.array((0.3, 0.0)), ANGLES, limits, True, present)


def test_the_axis_has_its_margin_and_the_load_its_distance_from_it(cockpit):  # noqa: F811
    cockpit.scene.update(instant())
    handles = cockpit.scene.handles
    assert handles['label/critical'].text == 'front: net moment 100 kN m'
    (load, below), (again, foot) = handles['load_line'].points
    position, _ = cockpit.scene.link_pose('payload_link')
    assert load == pytest.approx(position, abs=1e-3)
    assert below[:2] == pytest.approx(position[:2], abs=1e-3)
    assert again == pytest.approx(below)
    assert foot[0] == pytest.approx(1.5)
    assert foot[1] == pytest.approx(below[1])
    assert handles['label/load_line'].text == f'{below[0] - 1.5:.1f} m beyond the axis'


def test_on_a_slope_the_load_is_above_its_projection_along_gravity(cockpit):  # noqa: F811
    cockpit.scene.update(instant(slope=(0.0, np.arctan(0.2))))
    (load, below), _ = cockpit.scene.handles['load_line'].points
    assert below[0] - load[0] == pytest.approx(0.2 * (load[2] - below[2]), rel=1e-3)


def test_without_a_load_or_a_critical_edge_there_is_no_line(cockpit):  # noqa: F811
    cockpit.scene.update(instant())
    cockpit.scene.update(instant(payload=0.0))
    assert 'load_line' not in cockpit.scene.handles
    assert 'critical' in cockpit.scene.handles
    cockpit.scene.update(instant(margins={'net_moment': Margin(math.nan)}))
    assert not {*NEW} & cockpit.scene.handles.keys()


def test_the_band_is_green_up_to_the_limit_and_red_beyond_it(cockpit):  # noqa: F811
    limits = np.where(np.cos(ANGLES) > 0.1, 5.0, 3.0)
    cockpit.scene.update(instant(reach=reach(limits=limits), base_quaternion=(0.0, 0.0, 1.0, 0.0)))
    left, over = (cockpit.scene.handles[f'reach/{name}'].vertices for name in ('left', 'over'))
    centre = np.array((0.1 - 0.3, 0.2))  # the base is turned by half a turn
    for corners, inner, outer in (
        (left, np.full(12, 4.0), np.maximum(limits, 4.0)),
        (over, np.minimum(limits, 4.0), np.full(12, 4.0)),
    ):
        distances = np.linalg.norm(corners[:, :2] - centre, axis=1)
        assert distances == pytest.approx([*inner, *outer], abs=1e-4)
    assert left[12, 0] == pytest.approx(centre[0] - 5.0, abs=1e-4)
    sent = cockpit.scene.messages
    cockpit.scene.update(instant(reach=reach(4.001, limits), base_quaternion=(0.0, 0.0, 1.0, 0.0)))
    assert cockpit.scene.messages == sent, 'invisibly small changes are not sent'
    cockpit.scene.update(instant())
    assert not {key for key in cockpit.scene.handles if key.startswith('reach/')}


def test_the_posture_after_the_certified_stop_is_drawn_transparent_where_it_differs(cockpit, robot):  # noqa: F811
    joints = instant().joints
    cockpit.scene.update(instant(stop=dict(joints)))
    assert 'stop' not in cockpit.scene.handles, 'the machine already stands so'
    cockpit.scene.update(instant(stop=joints | {'stick_joint': -0.8}))
    ghost, moved = cockpit.scene._stop, {joint.child for joint in robot.joints if joint.parent == 'stick_link'}
    assert ghost.shown == {'stick_link', *moved}
    assert all(mesh.opacity < 0.5 for mesh in ghost.meshes.values())
    parts = robot.shapes['boom_link']
    assert len(parts) > 1
    assert len(ghost.meshes['boom_link'].faces) == sum(len(shape.faces) for shape in parts), 'one mesh a link'
    (_, turn), (_, now) = robot.poses(joints | {'stick_joint': -0.8})['stick_link'], robot.poses(joints)['stick_link']
    w, x, y, z = ghost.handles['stick_link'].wxyz
    there = robot.poses(joints)['boom_link'][1] * Rotation.from_quat((x, y, z, w))
    assert there.as_matrix() == pytest.approx(turn.as_matrix(), abs=1e-3)
    assert (there.inv() * now).magnitude() == pytest.approx(0.2, abs=1e-3)
    cockpit.scene.update(instant())
    assert 'stop' not in cockpit.scene.handles
    assert not any(mesh.visible for mesh in ghost.meshes.values())
    cockpit.scene.update(instant(stop=joints | {'swing_joint': 0.6}))
    assert ghost.shown == {'boom_link', 'stick_link', *moved}, 'the body of the machine covers what it shows'


@pytest.mark.parametrize('name', DRAWINGS)
def test_every_drawing_can_be_switched_off_and_on(cockpit, name):  # noqa: F811
    for step in range(5):
        joints = {**instant().joints, 'boom_joint': 0.5 + 0.02 * step}
        cockpit.scene.update(instant(reach=reach(), joints=joints, stop=STOP))
    before = set(cockpit.scene.handles)
    for on in (False, True):
        cockpit.controls._queue.put(Action('drawing', (name, on), 0))
        assert list(cockpit.actions()) == []
        cockpit.scene.update(instant(reach=reach(), joints={**joints, 'boom_joint': 0.7 + 0.1 * on}, stop=STOP))
        assert (set(cockpit.scene.handles) == before) == on
        assert set(cockpit.scene.handles) <= before
    assert set(cockpit.controls.drawings) == set(DRAWINGS)


@pytest.fixture
def inputs(context):
    node = Node('page', context=context)
    yield ViewerInputs(node, None, lambda _: None, Connection('dynamics_node'))
    node.destroy_node()


def test_values_without_messages_are_forgotten_while_joint_states_continue(inputs):
    snapshot = inputs.snapshot
    for k in range(5):
        snapshot.time = 10.0 + 0.1 * k
        inputs._keep('polygon', lambda: inputs._forget('polygon'))
        snapshot.polygon = CORNERS
    inputs.forget_late()
    assert snapshot.polygon is not None, 'also while time is paused'
    snapshot.time += 0.9 * DATA_AGE
    inputs.forget_late()
    assert snapshot.polygon is not None
    snapshot.time += 0.2 * DATA_AGE
    inputs.forget_late()
    assert snapshot.polygon is None


def test_the_stop_of_a_governor_is_taken_and_forgotten_with_its_joints(inputs):
    inputs._stop(message('sensor_msgs/msg/JointState')(name=['boom_joint', 'stick_joint'], position=[0.4, math.nan]))
    assert inputs.snapshot.stop == {'boom_joint': 0.4}
    inputs._stop(message('sensor_msgs/msg/JointState')())
    assert inputs.snapshot.stop == {}
    inputs.snapshot.stop, inputs.snapshot.time = {'boom_joint': 0.4}, inputs.snapshot.time + 1.1 * DATA_AGE
    inputs.forget_late()
    assert inputs.snapshot.stop == {}


def test_rare_values_stay_for_three_of_their_intervals(inputs):
    for at in (10.0, 12.0):
        inputs.snapshot.time = at
        inputs._keep('load', lambda: inputs._forget('load'))
    inputs.snapshot.load = Load(0.5)
    inputs.snapshot.time = 17.9
    inputs.forget_late()
    assert inputs.snapshot.load is not None
    inputs.snapshot.time = 18.1
    inputs.forget_late()
    assert inputs.snapshot.load is None


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader', '')


@pytest.fixture(scope='module')
def published(machine):
    """Return the load moment of the initial posture, as a node publishes it."""
    at = machine.initial.joint_positions
    moment = ReachLimit(machine).indicator.evaluate(at, 5100.0, np.array([0.0, 0.0, -machine.gravity]))
    return Load(moment.utilisation, moment.rated, 5100.0, moment.edge, moment.tipping, 0.75)


def followed(viewer_reach, snapshot, frames=2000):
    for _ in range(frames):
        result = viewer_reach.update(snapshot)
        if result is not None:
            return result
    return None


def test_the_reach_is_shown_for_the_present_payload_and_posture_only(machine, published):
    made = ViewerReach(machine)
    snapshot = Snapshot(joints=dict(machine.initial.joint_positions), load=published)
    result = followed(made, snapshot)
    assert result.present == pytest.approx(4.49, abs=0.01)
    assert result.limits.min() == pytest.approx(4.16, abs=0.02)
    lowered = replace(snapshot, joints=snapshot.joints | {'boom_joint': snapshot.joints['boom_joint'] - 0.2})
    assert made.update(lowered) is None
    assert made.update(snapshot) is not None
    assert made.update(replace(snapshot, load=None)) is None
    assert made.update(replace(snapshot, load=Load(math.nan))) is None


def test_a_published_tipping_load_that_differs_withdraws_the_reach(machine, published):
    made = ViewerReach(machine)
    snapshot = Snapshot(joints=dict(machine.initial.joint_positions), load=published)
    assert followed(made, snapshot) is not None
    for _ in range(MISSES):
        snapshot.load = replace(published, tipping=0.9 * published.tipping)
        made.update(snapshot)
    assert followed(made, snapshot, 50) is None, 'the ground of the other node is another one'


def test_a_page_without_a_machine_file_has_no_reach(published):
    assert ViewerReach(None).update(Snapshot(load=published)) is None
