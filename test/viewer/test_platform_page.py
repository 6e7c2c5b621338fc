"""Six sliders of the pose of a platform with the gate, switch and beat of the levers; they send a pose."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('viser', reason='the viewer needs viser')
from websocket_page import BEAT_MESSAGE, Page, notices_of, turn, until, update

from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.nodes.hand_messages import fill_pose
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.viewer_node import ViewerNode

PoseStamped = message('geometry_msgs/msg/PoseStamped')
DiagnosticArray, DiagnosticStatus = (
    message('diagnostic_msgs/msg/DiagnosticArray'),
    message('diagnostic_msgs/msg/DiagnosticStatus'),
)


def viewer_of(context, **settings):
    parameters = {'machine': 'stewart_platform', 'platform': True, 'port': 0, 'page_timeout': 30.0, **settings}
    return ViewerNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in parameters.items()])


@pytest.fixture
def viewer(context):
    made = viewer_of(context)
    made.sent, made.notices = [], notices_of(made)
    made.pose.publish = made.sent.append
    yield made
    made.destroy_node()


@pytest.fixture
def page(viewer):
    opened = Page(viewer.cockpit)
    opened.number = opened.join()
    opened.send(BEAT_MESSAGE)
    until(lambda: viewer.cockpit.drivers)
    yield opened
    opened.socket.close()


def measured(viewer, x, y, z, rpy=(0.0, 0.0, 0.0)):
    msg = PoseStamped()
    fill_pose(msg, HandPose(matrix_of_rpy(rpy), np.array([x, y, z])))
    viewer.receive('platform_measured', msg)


def test_sliders_move_the_platform_from_its_present_pose(viewer, page):
    measured(viewer, 0.01, 0.0, 1.8, (0.0, 0.0, np.radians(2.0)))
    page.arm()
    assert turn(viewer, lambda: viewer.levers.owner == page.number)
    assert viewer.sent == []
    page.send(update(viewer.cockpit.controls.sliders['z'], 40.0))
    assert turn(viewer, lambda: viewer.sent)
    assert viewer.sent == [pytest.approx([10.0, 0.0, 40.0, 0.0, 0.0, 2.0], abs=1e-2)]
    pose = viewer.pose.pose_of(viewer.sent[0])
    assert pose.position == pytest.approx([0.01, 0.0, 1.84], abs=1e-5)
    assert pose.rotation == pytest.approx(matrix_of_rpy([0.0, 0.0, np.radians(2.0)]), abs=1e-5)
    turn(viewer, seconds=0.2)
    assert len(viewer.sent) == 1, 'a pose is sent once'


def test_without_the_switch_or_the_token_nothing_is_sent(viewer, page):
    measured(viewer, 0.0, 0.0, 1.8)
    page.send(update(viewer.cockpit.controls.sliders['z'], 40.0))
    turn(viewer, seconds=0.3)
    looker = Page(viewer.cockpit, 'none')
    looker.join()
    looker.send(update(viewer.cockpit.controls.armed, True))
    looker.send(update(viewer.cockpit.controls.sliders['z'], 40.0))
    turn(viewer, seconds=0.3)
    looker.socket.close()
    assert not viewer.levers.armed
    assert viewer.sent == []


def test_closing_the_page_holds_the_platform(viewer, page):
    measured(viewer, 0.0, 0.0, 1.8)
    page.arm()
    assert turn(viewer, lambda: viewer.levers.armed)
    page.send(update(viewer.cockpit.controls.sliders['x'], 100.0))
    assert turn(viewer, lambda: viewer.sent)
    measured(viewer, 0.03, 0.0, 1.8)
    page.socket.close()
    assert turn(viewer, lambda: not viewer.levers.armed)
    assert viewer.sent[-1] == pytest.approx([30.0, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-2)


def test_a_platform_of_unknown_pose_is_not_driven(viewer, page):
    page.arm()
    assert turn(viewer, lambda: viewer.notices)
    assert 'its controller has published no platform_measured' in viewer.notices[0][0]
    assert not viewer.levers.armed


def test_to_the_middle_needs_the_switch(viewer, page):
    measured(viewer, 0.05, 0.0, 1.8)
    viewer.act(type('Action', (), {'name': 'neutral', 'value': None, 'client': page.number})(), 0.0)
    assert viewer.notices[-1][0] == 'Switch the sliders on first.'
    turn(viewer, seconds=0.1)
    assert viewer.sent == []


def test_a_rejected_pose_is_shown_once(viewer):
    status = DiagnosticStatus(
        name='platform_controller_node: platform', message='rejected: platform_pose: leg_1 is short'
    )
    for _ in range(3):
        viewer.receive('/diagnostics', DiagnosticArray(status=[status]))
    assert [text for text, _ in viewer.notices] == ['platform_pose: leg_1 is short']


def test_machines_without_a_platform_are_rejected(context):
    with pytest.raises(ParameterError, match="parameter 'platform': log_loader: expected a platform on driven legs"):
        viewer_of(context, machine='log_loader')
