"""Two pages with the token: one drives, the other is refused, and may stop it."""

from __future__ import annotations

import pytest

pytest.importorskip('viser', reason='the viewer needs viser')
from websocket_page import BEAT_MESSAGE, Page, notices_of, turn, until, update

from dyn_nodes.middleware import Node, Parameter, QoSProfile, message
from dyn_nodes.nodes.viewer_node import ViewerNode

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')


@pytest.fixture
def viewer(context):
    settings = {'machine': 'log_loader', 'port': 0, 'page_timeout': 30.0, 'idle_timeout': 60.0}
    made = ViewerNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in settings.items()])
    made.sent, made.notices = [], notices_of(made)
    made.driving.publish = made.sent.append
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
    """Switch the levers on and deflect the first."""
    page.arm()
    assert turn(viewer, lambda: viewer.levers.owner == page.number)
    page.send(update(viewer.cockpit.controls.sliders['boom'], volts))
    assert turn(viewer, lambda: viewer.sent and max(viewer.sent[-1]) == volts)


def test_a_second_page_can_not_take_the_levers(viewer, pages):
    first, second = pages
    drive(viewer, first, 2.0)
    second.arm()  # the switch is on on all pages: only a program sends this
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


def test_in_lockstep_the_levers_drive_where_no_controller_does(viewer, pages, context):
    viewer.dynamics.parameters['mode'] = 'lockstep'
    drive(viewer, pages[0], 2.0)
    pages[0].send(update(viewer.cockpit.controls.armed, False))
    assert turn(viewer, lambda: not viewer.levers.armed)
    controller = Node('controller_node', context=context)
    controller.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=1))
    until(viewer._other_publishers)
    pages[0].arm()
    refusal = 'In lockstep /controller_node commands every instant. Start with drive:=true to drive.'
    assert turn(viewer, lambda: (refusal, pages[0].number) in viewer.notices)
    assert not viewer.levers.armed
    controller.destroy_node()
