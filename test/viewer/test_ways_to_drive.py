"""Inputs that the page offers: only for topics with a subscriber: valves, a pad for cmd_vel, or joints."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip('viser', reason='the viewer needs viser')
from websocket_page import BEAT_MESSAGE, Page, turn, until, update

from dyn_nodes.middleware import Node, Parameter, SingleThreadedExecutor, message
from dyn_nodes.nodes.listeners import is_listened_to
from dyn_nodes.nodes.page_driving import JointDriving
from dyn_nodes.nodes.viewer_node import ViewerNode
from dyn_nodes.viewer.gauges import dead_parts
from dyn_nodes.viewer.panel import Action
from dyn_nodes.viewer.snapshot import Snapshot

KINDS = {
    'valve_commands': 'std_msgs/msg/Float64MultiArray',
    'valve_commands_in': 'std_msgs/msg/Float64MultiArray',
    'cmd_vel': 'geometry_msgs/msg/TwistStamped',
    'joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
}


class Listener:
    """A node that subscribes to a topic and stores the messages."""

    def __init__(self, context, topic, name='listener'):
        self.node, self.received = Node(name, context=context), []
        self.node.create_subscription(message(KINDS[topic]), topic, self.received.append, 10)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)

    def take(self):
        self.executor.spin_once(timeout_sec=0.0)
        return self.received


@pytest.fixture
def made(context):
    """Make a viewer of a machine, which ends with the test."""
    viewers = []

    def make(machine, **settings):
        parameters = {'machine': machine, 'port': 0, 'page_timeout': 30.0, 'idle_timeout': 60.0, **settings}
        viewers.append(
            ViewerNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in parameters.items()])
        )
        return viewers[-1]

    yield make
    for viewer in viewers:
        viewer.destroy_node()


def test_timers_and_other_subscriptions_do_not_delay_measurements(made):
    viewer, done = made('log_loader'), []

    class Busy:
        def spin_once(self, timeout_sec):
            done.append(timeout_sec)
            if len(done) not in (1, 2, 4):
                viewer.inputs.handled += len(done) < 8

    viewer.take(Busy())
    assert viewer.inputs.handled == 4


def driver_of(viewer):
    page = Page(viewer.cockpit)
    page.number = page.join()
    page.send(BEAT_MESSAGE)
    until(lambda: viewer.cockpit.drivers)
    return page


def offered(viewer):
    return viewer.cockpit.controls._drive.visible


def test_levers_are_shown_while_a_node_subscribes(made, context):
    viewer = made('log_loader')
    turn(viewer, seconds=1.5)
    assert not offered(viewer), 'a bag, or a machine under a controller'
    Listener(context, 'valve_commands', 'recorder_node')
    turn(viewer, seconds=1.5)
    assert not offered(viewer), 'a recorder obeys nothing'
    listener = Listener(context, 'valve_commands', 'hydraulics')
    assert turn(viewer, lambda: offered(viewer))
    assert list(viewer.cockpit.controls.sliders) == list(viewer.levers.names)
    assert set(viewer.levers.names) == {'swing', 'boom', 'stick'}
    listener.node.destroy_node()
    assert turn(viewer, lambda: not offered(viewer))


def test_a_page_that_drives_through_a_governor_offers_no_levers_for_the_valves(made, context):
    viewer = made('log_loader', governed=True)
    Listener(context, 'valve_commands', 'hydraulics')
    turn(viewer, seconds=1.5)
    assert not offered(viewer)
    Listener(context, 'valve_commands_in', 'governor')
    assert turn(viewer, lambda: offered(viewer))
    assert viewer.driving.topic == '/valve_commands_in'


def test_drive_false_offers_nothing(made, context):
    viewer = made('log_loader', drive=False)
    Listener(context, 'valve_commands')
    turn(viewer, seconds=1.5)
    assert not offered(viewer)
    assert is_listened_to(viewer, 'valve_commands')


def test_a_vehicle_gets_a_pad_for_cmd_vel(made, context):
    listener = Listener(context, 'cmd_vel')
    viewer = made('agv_mecanum', linear_speed=0.8, angular_speed=0.6)
    assert turn(viewer, lambda: offered(viewer) and 'ahead' in viewer.cockpit.controls.sliders)
    page = driver_of(viewer)
    try:
        page.arm()
        assert turn(viewer, lambda: viewer.levers.owner == page.number)
        page.send(update(viewer.cockpit.controls.sliders['ahead'], 0.5))
        page.send(update(viewer.cockpit.controls.sliders['turn left'], -9.0))
        assert turn(viewer, lambda: any(command.twist.angular.z < -0.5 for command in listener.take()))
        twist = listener.received[-1].twist
        assert (twist.linear.x, twist.linear.y, twist.angular.z) == (0.5, 0.0, -0.6)
        page.send(update(viewer.cockpit.controls.armed, False))
        assert turn(viewer, lambda: not viewer.levers.armed and listener.take()[-1].twist.linear.x == 0.0)
    finally:
        page.socket.close()


def test_an_arm_gets_sliders_of_its_joints(made, context):
    listener = Listener(context, 'joint_trajectory')
    viewer = made('arm_a6')
    names = [joint.name for joint in viewer.machine.actuated_joints]
    assert turn(viewer, lambda: offered(viewer) and list(viewer.levers.names) == names)
    page = driver_of(viewer)
    try:
        page.arm()
        turn(viewer, seconds=0.6)
        assert not viewer.levers.armed, 'the positions of the joints are unknown'
        assert 'joint_states' in viewer.levers.reason
        viewer.inputs.snapshot.joints = dict.fromkeys(names, 0.1)
        turn(viewer, seconds=0.3)
        assert viewer.cockpit.controls.sliders[names[0]].value == pytest.approx(np.degrees(0.1), abs=0.1)
        page.arm()
        assert turn(viewer, lambda: viewer.levers.owner == page.number)
        assert listener.take() == []
        page.send(update(viewer.cockpit.controls.sliders[names[0]], 20.0))
        assert turn(viewer, lambda: listener.take())
        goal = listener.received[-1]
        assert list(goal.joint_names) == names
        seconds = goal.points[0].time_from_start.sec + 1e-9 * goal.points[0].time_from_start.nanosec
        assert 0.1 < goal.points[0].positions[0] < np.radians(20.0)
        assert goal.points[0].positions[1] == pytest.approx(0.1, abs=1e-6)
        assert seconds == pytest.approx(0.6, abs=1e-6), 'the joints stop soon when the cockpit ends'
        limit = min(viewer.machine.actuated_joints[0].velocity_limit, 1.0)
        assert seconds >= 1.9 * (goal.points[0].positions[0] - 0.1) / limit, 'a cubic is within the speed'
        viewer.inputs.snapshot.joints = dict.fromkeys(names, 0.1) | {names[0]: np.radians(19.0)}
        assert turn(viewer, lambda: listener.take()[-1].points[0].positions[0] == pytest.approx(np.radians(20.0)))
        viewer.inputs.snapshot.joints = dict.fromkeys(names, 0.1)
        assert turn(viewer, lambda: viewer.levers.present[names[0]] == pytest.approx(np.degrees(0.1)))
        page.send(update(viewer.cockpit.controls.armed, False))
        held = pytest.approx(0.1, abs=1e-6)
        assert turn(viewer, lambda: listener.take()[-1].points[0].positions[0] == held), 'it is held'
    finally:
        page.socket.close()


def test_a_lever_may_skip_the_dead_zone(made, context):
    listener = Listener(context, 'valve_commands')
    viewer = made('log_loader', silence=60.0)
    assert turn(viewer, lambda: offered(viewer))
    viewer.connection.message(0.0, time.monotonic())
    way = viewer.driving
    viewer.inputs.snapshot.pressures = {'boom/head': 15e6, 'boom/rod': 1e6}
    way.computed_at = -1e9
    turn(viewer, seconds=0.2)
    low, high = way.dead['boom']
    assert low < -0.4 and 2.0 < high < 7.0  # noqa: PT018
    page = driver_of(viewer)
    try:
        page.arm()
        assert turn(viewer, lambda: viewer.levers.armed)
        page.send(update(viewer.cockpit.controls.sliders['boom'], 1.0))
        index = viewer.levers.names.index('boom')
        assert turn(viewer, lambda: any(command.data[index] == 1.0 for command in listener.take()))
        way.computed_at = -1e9
        turn(viewer, seconds=0.2)
        assert 'data-dead="boom"' in viewer.cockpit.controls._dead.content
        page.send(update(viewer.cockpit.controls.sliders['boom'], 0.0))
        page.send(update(viewer.cockpit.controls._skip, True))
        assert turn(viewer, lambda: way.skips)
        page.send(update(viewer.cockpit.controls.sliders['boom'], 1.0))
        assert turn(viewer, lambda: any(command.data[index] > high for command in listener.take()))
        assert turn(viewer, lambda: viewer.cockpit.controls._dead.content == '', 3.0)
    finally:
        page.socket.close()


OWNER, OTHER = 1, 2


def test_a_joint_beyond_the_range_of_its_slider_stays_when_another_one_is_moved(made):
    viewer = made('log_loader')
    way, controls = JointDriving(viewer, viewer.machine), viewer.cockpit.controls
    way.set_up(controls)
    joints = {'swing_joint': np.radians(400.0), 'boom_joint': 0.0, 'stick_joint': -0.1}
    way.show(controls, Snapshot(joints=joints), '')
    assert way.levers.arm(OWNER, 0.0)
    way.levers.move('boom_joint', 1.0, OWNER, 0.1)
    goal = dict(zip(way.levers.names, way.levers.command(0.1, [OWNER])))
    assert (goal['swing_joint'], goal['boom_joint']) == pytest.approx((400.0, 1.0))
    controls.set_sliders(way.levers.values(0.1))
    assert controls.sliders['swing_joint'].value == pytest.approx(180.0), 'as far as it goes'


@pytest.fixture
def valves(made):
    """Return a viewer whose levers the page OWNER has armed; `sent` stores its volts."""
    viewer = made('log_loader')
    viewer.sent = []
    viewer.driving._outlet.publish = viewer.sent.append
    assert viewer.levers.arm(OWNER, time.monotonic())
    return viewer


def skip(viewer, on, client=OWNER):
    viewer.act(Action('skip', on, client), time.monotonic())
    return viewer.driving.skips


def touched(viewer, pressures):
    """Return the volts of the boom for a touch of its lever after rest at given line pressures."""
    way, now = viewer.driving, time.monotonic()
    way.computed_at = -1e9
    way.show(viewer.cockpit.controls, Snapshot(pressures=pressures), '')
    viewer.levers.move('boom', 0.1, OWNER, now)
    way.publish(viewer.levers.command(now, [OWNER]))
    viewer.levers.neutral()
    return viewer.sent[-1][viewer.levers.names.index('boom')]


def test_with_unknown_or_impossible_pressures_a_touch_skips_the_dead_zone_without_load(valves):
    assert skip(valves, True)
    bare = touched(valves, {})
    assert 0.1 < bare < 1.0
    pressures = {'boom/head': 15e6, 'boom/rod': 1e6}
    for head in (60e6, float('nan'), float('inf')):
        assert 4.0 < touched(valves, pressures) < 4.9
        assert touched(valves, pressures | {'boom/head': head}) == bare
    assert 4.0 < touched(valves, pressures) < 4.9
    assert touched(valves, {}) == bare, 'the topics have gone'
    assert 'boom' not in valves.driving._loaded


def test_only_the_driving_page_may_skip_the_dead_zone_and_only_at_neutral(valves):
    now = time.monotonic()
    assert not skip(valves, True, OTHER)
    valves.levers.move('boom', 0.1, OWNER, now)
    assert not skip(valves, True), 'the volts would jump'
    valves.levers.move('boom', 0.0, OWNER, now)
    valves.levers.push('swing', 1.0, OWNER, now)
    assert not skip(valves, True)
    valves.levers.neutral()
    assert skip(valves, True)
    assert skip(valves, False, OTHER)
    valves.levers.move('boom', 0.1, OWNER, now)
    assert skip(valves, False)
    valves.levers.disarm('', now)
    assert skip(valves, False), 'the levers are off'


def test_the_switch_of_skipping_shows_the_state(valves):
    valves.cockpit.controls._skip.value = True
    skip(valves, True, OTHER)
    assert not valves.cockpit.controls._skip.value


def test_a_lever_inside_its_dead_zone_is_named():
    dead = {'boom': (-0.6, 3.4), 'swing': (-0.5, 0.5)}
    assert 'data-dead=""' in dead_parts(dead, {'boom': 0.0, 'swing': 2.0})
    named = dead_parts(dead, {'boom': 3.0, 'swing': 2.0})
    assert 'data-dead="boom"' in named
    assert 'boom -0.6 to 3.4 V unloaded' in named
    assert 'boom -0.6 to 3.4 V<' in dead_parts(dead, {}, ['boom'])


def test_a_screen_reader_can_read_gauges_and_state():
    from dyn_nodes.viewer.gauges import Scale, banner, friction_gauges, gauges, spoken
    from dyn_nodes.viewer.snapshot import Margin

    page = gauges({'zmp_degree': Margin(0.1, (0.1, 0.4), ('front', 'rear'))}, Scale())
    assert 'role="meter"' in page
    assert 'aria-valuenow="10"' in page
    assert 'aria-valuetext="0.1, front, danger"' in page
    assert 'aria-label="friction use rear left"' in friction_gauges({'rear_left': 0.5})
    assert 'role="status"' not in banner('running', 't = 1.0 s'), 'the time would be read ten times a second'
    assert 'role="status"' in spoken('running', 'danger', 'danger: zero moment point')
