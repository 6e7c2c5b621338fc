"""A vehicle in the cockpit, driven by its controller, in a headless Chromium (docs/images)."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, find_chromium
from domains import next_domain
from node_process import ROOT, start
from timeouts import scaled_timeout

from dyn_nodes.middleware import SingleThreadedExecutor, init, message, shutdown

pytest.importorskip('viser', reason='the viewer needs viser')
SCREENSHOTS = ROOT / 'build' / 'screenshots'
DOMAIN = next_domain()
MACHINE = 'machine:=agv_mecanum_arm'


@pytest.mark.slow
def test_a_vehicle_drives_through_the_cockpit(monkeypatch):
    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'embedded')
    common = (MACHINE, 'mode:=realtime', 'exchange_period:=0.004')
    # joint control inside the dynamics: efforts from another process are late beside a drawing browser
    nodes = [
        start(DOMAIN, 'vehicle_controller_node', 'output:=velocity', *common),
        start(DOMAIN, 'dynamics_node', *common),
    ]
    settings = (MACHINE, 'port:=0', 'idle_timeout:=60.0', 'rate:=12.0', 'shadows:=false')
    init(args=['--ros-args', *(word for setting in settings for word in ('-p', setting))])
    from dyn_nodes.nodes.viewer_node import ViewerNode

    twist = message('geometry_msgs/msg/TwistStamped')()
    twist.twist.linear.x, twist.twist.angular.z = 0.3, 0.3
    viewer = ViewerNode()
    levers = viewer.create_publisher(type(twist), 'cmd_vel', 10)
    executor = SingleThreadedExecutor()
    executor.add_node(viewer)

    def turn(until, timeout: float) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not until():
            assert time.monotonic() < end, f'not within {timeout:g} s'
            levers.publish(twist)
            viewer.take(executor)
            viewer.frame()
            time.sleep(0.05)

    def wait(seconds: float) -> None:
        end = time.monotonic() + seconds
        turn(lambda: time.monotonic() > end, 2.0 * seconds + 10.0)

    def moved() -> bool:
        position = viewer.inputs.snapshot.base_position
        return position is not None and abs(position[0]) + abs(position[1]) > 0.4

    try:
        turn(moved, 120.0)
        with Chromium(program, 1200, 700) as browser:
            browser.open(viewer.cockpit.address)
            count = "document.querySelectorAll('[data-margin]').length"
            turn(lambda: browser.evaluate(count) >= 6, 30.0)
            browser.style('.mantine-Notification-root { display: none }')
            # it turns on the spot; a page opened during the drive may show another view, and needs time without fog
            twist.twist.linear.x = 0.0
            wait(3.0)
            browser.evaluate(
                "[...document.querySelectorAll('button')].find(b => b.textContent.trim() == 'Follow').click()"
            )
            wait(8.0)
            picture = browser.screenshot(SCREENSHOTS / 'vehicle.png')
            assert len(picture) > 20_000, 'a blank page is small'
            assert not browser.errors
            assert viewer.inputs.snapshot.margins['zmp_degree'].value > 0.9, 'it stands'
    finally:
        viewer.destroy_node()
        shutdown()
        for node in nodes:
            node.kill()
            node.wait(scaled_timeout(20))
