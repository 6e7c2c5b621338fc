"""Two pages with the token: one drives, the other is rejected, and may stop it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('viser', reason='the viewer needs viser')
from websocket_page import BEAT_MESSAGE, Page, notices_of, turn, until, update

from dyn_nodes.middleware import Node, Parameter, QoSProfile, message
from dyn_nodes.nodes.running import RunOver
from dyn_nodes.nodes.viewer_node import ViewerNode
from dyn_nodes.viewer.connection import Connection
from dyn_nodes.viewer.panel import Action

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')


@pytest.fixture
def viewer(context):
    settings = {'machine': 'log_loader', 'port': 0, 'page_timeout': 30.0, 'idle_timeout': 60.0, 'silence': 60.0}
    made = ViewerNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in settings.items()])
    made.sent, made.notices = [], notices_of(made)
    made.driving.publish = made.sent.append
    made.connection.message(0.0, time.monotonic())
    yield made
    made.destroy_node()


@pytest.fixture
def pages(viewer):
    opened = [Page(viewer.cockpit), Page(viewer.cockpit)]
    for page in opened:
        page.number = page.join()
        page.send(BEAT_MESSAGE)
    until(lambda: len(viewer.cockpit.drivers) == 2)
    yield opened
    for page in opened:
        page.socket.close()


def drive(viewer, page, volts):
    """Arm the levers and deflect the first."""
    page.arm()
    assert turn(viewer, lambda: viewer.levers.owner == page.number)
    page.send(update(viewer.cockpit.controls.sliders['boom'], volts))
    assert turn(viewer, lambda: viewer.sent and max(viewer.sent[-1]) == volts)


def test_a_second_page_can_not_take_over_the_levers(viewer, pages):
    first, second = pages
    drive(viewer, first, 2.0)
    second.arm()  # the switch is on for all pages: only a program sends this
    second.send(update(viewer.cockpit.controls.sliders['boom'], -3.0))
    second.send(update(viewer.cockpit.controls.sliders['stick'], 4.0))
    turn(viewer, lambda: viewer.cockpit.controls.sliders['stick'].value == 4.0, 1.0)
    turn(viewer, seconds=0.5)
    assert viewer.levers.owner == first.number
    assert {max(volts) for volts in viewer.sent[-5:]} == {2.0}
    assert {min(volts) for volts in viewer.sent[-5:]} == {0.0}
    sliders = {name: slider.value for name, slider in viewer.cockpit.controls.sliders.items()}
    assert sliders['boom'] == 2.0, 'the sliders of all pages show the levers'
    assert sliders['stick'] == 0.0


def test_a_second_page_may_stop_and_then_drive(viewer, pages):
    first, second = pages
    drive(viewer, first, 2.0)
    second.send(update(viewer.cockpit.controls.armed, False))
    assert turn(viewer, lambda: not viewer.levers.armed)
    assert viewer.levers.reason == 'switched off on another page'
    assert ('Your levers were switched off on another page.', first.number) in viewer.notices
    turn(viewer, seconds=0.3)
    assert set(viewer.sent[-1]) == {0.0}
    drive(viewer, second, -1.0 + 2.5)
    assert viewer.levers.owner == second.number


def arm(viewer):
    """Arm the levers from a page with the right to drive; return whether they are armed."""
    viewer.cockpit.gate.workers = lambda timeout: [7]
    viewer.act(Action('drive', True, 7), time.monotonic())
    return viewer.levers.armed


def test_levers_stay_disarmed_before_the_first_joint_states(viewer):
    viewer.connection = Connection('dynamics_node')
    assert not arm(viewer)
    assert viewer.notices[-1] == ('The state of the machine is unknown: no joint_states were received.', 7)
    viewer.connection.message(0.0, time.monotonic())
    assert arm(viewer)


def test_a_simulation_in_lockstep_may_be_driven_before_the_first_joint_states(viewer):
    viewer.connection = Connection('dynamics_node')
    viewer.dynamics.parameters['mode'] = 'lockstep'
    assert arm(viewer), 'it waits for a command before it publishes more'


def test_a_failed_picture_disarms_the_levers_and_the_next_one_is_shown(viewer, monkeypatch):
    assert arm(viewer)
    viewer.levers.move('boom', 2.0, 7, time.monotonic())
    shown = []

    def show(snapshot):
        shown.append(snapshot)
        if len(shown) == 1:
            raise ValueError('no picture of this')
        raise RunOver

    monkeypatch.setattr(viewer.cockpit, 'update', show)
    with pytest.raises(RunOver):
        viewer.run()
    assert max(viewer.sent[0]) == 2.0
    assert set(viewer.sent[1]) == {0.0}
    assert (viewer.levers.armed, viewer.levers.reason) == (False, 'the cockpit failed')
    assert 'no picture of this' in viewer.guard.last_failure


def test_in_lockstep_the_levers_drive_without_a_controller(viewer, pages, context):
    viewer.dynamics.parameters['mode'] = 'lockstep'
    drive(viewer, pages[0], 2.0)
    pages[0].send(update(viewer.cockpit.controls.armed, False))
    assert turn(viewer, lambda: not viewer.levers.armed)
    controller = Node('controller_node', context=context)
    controller.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=1))
    until(viewer._other_publishers)
    pages[0].arm()
    reason = 'In lockstep /controller_node commands every instant. Start with drive:=true to drive.'
    assert turn(viewer, lambda: (reason, pages[0].number) in viewer.notices)
    assert not viewer.levers.armed
    controller.destroy_node()
