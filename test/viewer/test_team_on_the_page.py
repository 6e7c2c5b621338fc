"""Robots of a team and their held object on the page of one of them."""

from __future__ import annotations

import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, find_chromium
from domains import next_domain
from matplotlib.image import imread
from node_process import ROOT
from timeouts import scaled_timeout

from dyn_nodes.middleware import Context, Node, QoSProfile, SingleThreadedExecutor, init, message
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.object_reports import ObjectReports
from dyn_nodes.nodes.object_shapes import shape_of
from dyn_nodes.nodes.transforms import set_quaternion, set_vector
from dyn_nodes.nodes.viewer_inputs import LATCHED
from dyn_nodes.simulation.cosimulation.held_object import HeldHand, HeldObject
from dyn_nodes.teams import load_team
from dyn_nodes.teams.reach import poses_at_start

pytest.importorskip('viser', reason='the viewer needs viser')

from dyn_nodes.nodes.viewer_team import Marker, picture_of
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.companions import Bodies, BodyPicture, Companion, quartered
from dyn_nodes.viewer.robot import load_robot

SCREENSHOTS = ROOT / 'build' / 'screenshots'
JointState, Odometry, String = (
    message(kind) for kind in ('sensor_msgs/msg/JointState', 'nav_msgs/msg/Odometry', 'std_msgs/msg/String')
)
SQUARE = np.array([(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 0, 1), (1, 1, 1), (0, 1, 1)], dtype=float)
UP = np.array((0.0, 0.0, 0.2))
BLUE, RED = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


@pytest.fixture
def cockpit():
    made = Cockpit('127.0.0.1', 0, 'test')
    yield made
    made.stop()


def test_a_surface_is_a_mesh_of_each_colour_and_follows_its_corners(cockpit):
    bodies = Bodies(cockpit.server)
    both = np.array([BLUE] * 3 + [RED] * 3)
    bodies.update({'plate': BodyPicture(True, SQUARE, both, 'plate: 3 kPa')})
    blue, red = bodies.handles['plate/shade_0_0_6'], bodies.handles['plate/shade_6_0_0']
    np.testing.assert_allclose(blue.vertices, quartered(SQUARE[:3]).reshape(-1, 3))
    assert tuple(red.color) == (255, 0, 0)
    assert bodies.handles['label/plate'].text == 'plate: 3 kPa'
    bodies.update({'plate': BodyPicture(True, SQUARE + UP, np.array([BLUE] * 6), 'plate')})
    assert bodies.handles['plate/shade_0_0_6'] is blue
    np.testing.assert_allclose(blue.vertices, quartered(SQUARE).reshape(-1, 3) + UP, atol=1e-6)
    assert blue.faces.max() == 23
    assert not red.visible
    bodies.update({'plate': BodyPicture(True, SQUARE, both, 'plate')})
    assert red.visible
    assert blue.faces.max() == 11


def test_rods_change_their_colours_and_a_removed_object_disappears(cockpit):
    bodies = Bodies(cockpit.server)
    bodies.update({'bar': BodyPicture(False, SQUARE[:2], np.array([RED, RED]), 'bar', 0.03)})
    rods = bodies.handles['bar/rods']
    bodies.update({'bar': BodyPicture(False, SQUARE[:2] + 0.1, np.array([BLUE, BLUE]), 'bar', 0.03)})
    np.testing.assert_allclose(rods.points, [SQUARE[:2] + 0.1])
    assert (np.asarray(rods.colors) == (0, 0, 255)).all()
    bodies.update({})
    assert not bodies.handles


def test_an_object_at_rest_is_not_sent_again(cockpit):
    bodies = Bodies(cockpit.server)
    picture = BodyPicture(True, SQUARE, np.array([BLUE] * 6), 'plate')
    bodies.update({'plate': picture})
    sent = bodies.messages
    bodies.update({'plate': picture._replace(points=SQUARE + 1e-5)})
    assert bodies.messages == sent


def test_another_robot_is_hidden_until_its_pose_is_known(cockpit):
    robot = load_robot((ROOT / 'urdf' / 'rm_1.urdf').read_text())
    other = Companion(cockpit.server, 'right', robot)
    base = other.handles[robot.root]
    assert not base.visible
    other.update((1.0, 2.0, 0.3), (0.0, 0.0, 1.0, 0.0), {'arm_joint_2': 0.5})
    assert base.visible
    np.testing.assert_allclose(base.position, (1.0, 2.0, 0.3))
    joint = next(joint for joint in robot.joints if joint.name == 'arm_joint_2')
    np.testing.assert_allclose(other.handles[joint.child].position, joint.pose({'arm_joint_2': 0.5})[0], atol=1e-9)


def test_quarters_of_a_triangle_cover_it():
    triangle = np.array([(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 2.0, 0.0)])
    a, b, c = np.moveaxis(quartered(triangle), 1, 0)
    np.testing.assert_allclose(np.cross(b - a, c - a), np.tile((0.0, 0.0, 1.0), (4, 1)))


@pytest.mark.parametrize('fault', ['another kind', 'a corner too many', 'not finite'])
def test_a_marker_that_is_no_object_is_ignored(fault):
    points = [message('geometry_msgs/msg/Point')(x=x, y=y, z=z) for x, y, z in SQUARE]
    marker = Marker(ns='objects', id=0, type=Marker.TRIANGLE_LIST, points=points)
    name, picture = picture_of(marker)
    assert name == 'objects_0'
    np.testing.assert_array_equal(picture.colours, np.tile((0.0, 1.0, 0.0), (6, 1)))
    if fault == 'another kind':
        marker.type = Marker.CUBE
    elif fault == 'a corner too many':
        marker.points.append(points[0])
    else:
        marker.points[0].x = float('nan')
    assert picture_of(marker) is None


class Stage:
    """The topics of the team with the plate: robots at rest, hands that move up and down in turn."""

    def __init__(self, context: Context) -> None:
        self.team = load_team('team_plate')
        self.node = Node('stage', context=context)
        held = self.team.objects['plate']
        self.item = HeldObject(held.item.reduced, np.array([0.0, 0.0, -9.81]))
        self.item.start(self.hands(0.0))
        self.reports = ObjectReports(self.node, {'plate': shape_of(held, self.item)}, QoSProfile(depth=10), 'odom')
        self.time, self.robots = 0.0, []
        for name, robot in self.team.robots.items():
            made = [
                self.node.create_publisher(kind, f'/{name}/{topic}', qos)
                for kind, topic, qos in (
                    (String, 'robot_description', LATCHED),
                    (JointState, 'joint_states', QoSProfile(depth=10)),
                    (Odometry, 'odom', QoSProfile(depth=10)),
                )
            ]
            made[0].publish(String(data=Path(robot.urdf).read_text()))
            positions = {name: float(value) for name, value in robot.machine.initial.joint_positions.items()}
            self.robots.append((made[1], made[2], positions, poses_at_start(robot.machine)[robot.machine.base.link]))

    def hands(self, now: float) -> list[HeldHand]:
        """Return hands whose heights swing against each other."""
        hands = []
        for k, grasp in enumerate(self.team.grasps_on('plate')):
            up = np.array([0.0, 0.0, (-1.0) ** k])
            displacement, speed = 0.025 * np.sin(3.0 * now), 0.075 * np.cos(3.0 * now)
            hands.append(
                HeldHand(
                    grasp.position + displacement * up, speed * up, np.zeros((3, 3)), -3.0 * displacement * 3.0 * up
                )
            )
        return hands

    def step(self) -> None:
        """Publish the next instant."""
        for _ in range(6):
            self.item.advance(self.hands(self.time), 0.01)
            self.time += 0.01
        self.reports.publish('plate', round(1e9 * self.time), True)
        for joints, odom, positions, base in self.robots:
            state = JointState(name=list(positions), position=list(positions.values()))
            state.header.stamp.sec, state.header.stamp.nanosec = int(self.time), int(1e9 * (self.time % 1.0))
            joints.publish(state)
            msg = Odometry()
            set_vector(msg.pose.pose.position, base[:3, 3])
            set_quaternion(msg.pose.pose.orientation, quaternion_of_matrix(base[:3, :3]))
            odom.publish(msg)


@pytest.fixture
def play(monkeypatch):
    """Yield a viewer of one robot of the team with the plate, and the topics around it."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'embedded')
    from dyn_nodes.nodes.viewer_node import ViewerNode

    contexts = Context(), Context()
    init(args=['stage'], context=contexts[0])
    settings = ('machine:=rm_1', 'port:=0', 'rate:=12.0', 'shadows:=false')
    words = [word for setting in settings for word in ('-p', setting)]
    init(args=['viewer', '--ros-args', '-r', '__ns:=/rear_right', *words], context=contexts[1])
    stage, viewer = Stage(contexts[0]), ViewerNode(context=contexts[1])
    executor = SingleThreadedExecutor(context=contexts[1])
    executor.add_node(viewer)

    def turn(until, timeout: float) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not until():
            assert time.monotonic() < end, f'not within {timeout:g} s'
            stage.step()
            viewer.take(executor)
            viewer.frame()
            time.sleep(0.03)

    yield viewer, turn
    viewer.destroy_node()
    stage.node.destroy_node()
    for context in contexts:
        context.try_shutdown()


def drawn(viewer) -> bool:
    others = [robot for robot in viewer.team.robots.values() if robot.drawn is not None]
    return len(others) == 3 and any('shade' in key for key in viewer.team.bodies.handles)


def test_the_viewer_of_one_robot_draws_the_others_and_the_bent_plate(play):
    viewer, turn = play
    turn(lambda: drawn(viewer), 60.0)
    assert set(viewer.team.robots) == {'front_right', 'front_left', 'rear_left'}

    def corners() -> np.ndarray:
        return np.concatenate([
            np.asarray(handle.vertices) for key, handle in viewer.team.bodies.handles.items()
            if 'shade' in key and handle.visible
        ])  # fmt: skip

    sizes = []

    def seen() -> bool:
        sizes.append(np.ptp(corners()[:, 2]))
        return len(sizes) > 5 and max(sizes) - min(sizes) > 0.01

    turn(seen, 30.0)
    assert len({key for key in viewer.team.bodies.handles if 'shade' in key}) >= 4, 'colours of its stress'
    assert viewer.team.bodies.handles['label/objects_0'].text.startswith('plate: stress up to')


@pytest.mark.slow
def test_a_team_and_its_plate_on_the_page(play):
    """Fast counterpart: test_the_viewer_of_one_robot_draws_the_others_and_the_bent_plate."""
    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')
    viewer, turn = play
    turn(lambda: drawn(viewer), 60.0)
    with Chromium(program, 1440, 860) as browser:
        browser.open(viewer.cockpit.address)
        turn(lambda: browser.evaluate("Boolean(document.querySelector('canvas'))"), 60.0)
        browser.style('.mantine-Notification-root { display: none }')
        for width, height in ((1440, 860), (1000, 620)):
            browser.resize(width, height)
            turn(lambda: all(count > 300 for count in stress_colours(browser.screenshot()).values()), 90.0)
            browser.screenshot(SCREENSHOTS / f'team_{width}.png')
        assert not browser.errors


def stress_colours(picture: bytes) -> dict[str, int]:
    """Return the number of pixels in the blue and green of the plate alone; fog leaves none."""
    red, green, blue = np.moveaxis(imread(BytesIO(picture))[..., :3], -1, 0)
    return {
        'blue': int(((blue > 2.0 * red) & (blue > 1.3 * green)).sum()),
        'green': int(((green > 2.0 * red) & (green > 1.5 * blue)).sum()),
    }
