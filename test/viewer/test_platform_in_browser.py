"""The Stewart platform in the cockpit in a headless Chromium: a slider of its pose moves it."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, find_chromium
from domains import next_domain
from node_process import ROOT, start
from timeouts import scaled_timeout

from dyn_nodes.middleware import SingleThreadedExecutor, init, shutdown

pytest.importorskip('viser', reason='the viewer needs viser')
SCREENSHOTS = ROOT / 'build' / 'screenshots'
DOMAIN = next_domain()
MACHINE = 'machine:=stewart_platform'


def centre(box: dict) -> tuple[float, float]:
    return box['x'] + box['width'] / 2, box['y'] + box['height'] / 2


@pytest.mark.slow
def test_a_slider_of_its_pose_moves_the_platform(monkeypatch):
    """Fast counterpart: test_platform_page.py."""
    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'embedded')
    common = (MACHINE, 'mode:=realtime', 'exchange_period:=0.005')
    partners = 'wait_for:=[platform_controller_node, electric_actuator_node]'
    nodes = [
        start(DOMAIN, 'platform_controller_node', *common),
        start(DOMAIN, 'electric_actuator_node', 'command_source:=lockstep', *common),
        start(DOMAIN, 'dynamics_node', 'partner:=lockstep', partners, *common),
    ]
    settings = (
        MACHINE,
        'platform:=true',
        'port:=0',
        'page_timeout:=20.0',
        'silence:=20.0',
        'rate:=12.0',
        'shadows:=false',
    )
    init(args=['--ros-args', *(word for setting in settings for word in ('-p', setting))])
    from dyn_nodes.nodes.viewer_node import ViewerNode

    viewer = ViewerNode()
    executor = SingleThreadedExecutor()
    executor.add_node(viewer)
    sliders = viewer.cockpit.controls.sliders

    def turn(until, timeout: float = 90.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not until():
            assert time.monotonic() < end, f'not within {timeout:g} s: {viewer.pose.state}, {viewer.levers.present}'
            viewer.take(executor)
            viewer.frame()
            time.sleep(0.05)

    def wait(seconds: float) -> None:
        end = time.monotonic() + seconds
        turn(lambda: time.monotonic() > end)

    try:
        turn(lambda: viewer.levers.present, 240.0)  # the first start compiles
        with Chromium(program, 1280, 800) as browser:
            browser.open(viewer.cockpit.address)
            turn(lambda: browser.evaluate("(document.body?.textContent ?? '').includes('Sliders on')"))
            browser.style('.mantine-Notification-root { display: none }')
            wait(1.0)
            browser.click(*centre(browser.box_of('Sliders on', 'input')))
            turn(lambda: viewer.levers.armed)
            turn(lambda: not sliders['z'].disabled)
            wait(0.5)
            track = browser.box_of('z, mm', '.mantine-Slider-track')
            x, y = centre(track)
            browser.mouse('mousePressed', x, y)
            for part in (0.05, 0.1, 0.15):
                browser.mouse('mouseMoved', x + part * track['width'], y)
            browser.mouse('mouseReleased', x + 0.15 * track['width'], y)
            turn(lambda: sliders['z'].value > 30.0)
            goal = sliders['z'].value
            turn(lambda: abs(viewer.pose.sliders.present['z'] - goal) < 1.0)
            turn(lambda: viewer.pose.state == 'holding')
            picture = browser.screenshot(SCREENSHOTS / 'platform.png')
            assert len(picture) > 20_000, 'a blank page is small'
            browser.resize(800, 700)
            wait(1.0)
            browser.screenshot(SCREENSHOTS / 'platform_800.png')
            assert browser.box_of('yaw, °', '.mantine-Slider-track')['width'] > 100
            assert not browser.errors
            browser.open('about:blank')
            turn(lambda: not viewer.levers.armed)
    finally:
        viewer.destroy_node()
        shutdown()
        for node in nodes:
            node.kill()
            node.wait(scaled_timeout(20))
