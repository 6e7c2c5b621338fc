"""The whole machine in the picture, on wide and narrow pages, and the banner in the colour of the worst gauge."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, find_chromium
from scipy.spatial.transform import Rotation
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.common.share import find_resource, folders_above
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation import Inputs, System, initial_state
from dyn_nodes.stability.balance import BalanceObserver
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.framing import excursion
from dyn_nodes.viewer.robot import load_robot
from dyn_nodes.viewer.snapshot import Margin, Snapshot

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1600, 900), (1280, 800), (820, 1180))
BANNER = "(document.querySelector('[data-connection]') || {dataset: {}}).dataset.band"
FOLDED = 'document.querySelector(\'[data-dock-region-collapse="left"][aria-expanded="true"]\') === null'
THUMB = "document.querySelector('.mantine-Slider-thumb').outerHTML"
TRACK = """(box => [box.x, box.width, box.y, box.height])(
  document.querySelector('.mantine-Slider-track').getBoundingClientRect())"""
COMPARED = """(() => {
  const order = ['danger', 'caution', 'ok'];
  window.compared = { equal: 0, different: [] };
  new MutationObserver(() => {
    const bands = [...document.querySelectorAll('[data-margin]')].map(gauge => gauge.dataset.band);
    if (bands.length === 0) return;
    const worst = order.find(band => bands.includes(band));
    const shown = document.querySelector('[data-connection]').dataset.band;
    if (worst === shown) window.compared.equal += 1;
    else window.compared.different.push([shown, worst]);
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
})(), 0"""
"""Script that compares the banner with the worst gauge at every change of the page."""
DURATION = 24.0


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader', '')


@pytest.fixture(scope='module')
def demo(machine):
    """Return samples of the page during the demonstration, at 10 Hz."""
    system = System(machine)
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'))
    names = [actuator.name for actuator in machine.actuators]
    volts = profile.evaluate(profile.knot_times, names)
    inputs = Inputs(profile.knot_times, {f'{name}/voltage': volts[:, k] for k, name in enumerate(names)})
    p = system.parameters()
    run = system.run(initial_state(system, p), np.linspace(0.0, DURATION, 241), inputs, p)
    observer, snapshots = BalanceObserver(system), []
    for k, at in enumerate(run.times.tolist()):
        balance = observer.observe(run.all_outputs[k], run.parameters[:3])
        turn = Rotation.from_euler('ZYX', [run.output(name)[k] for name in ('yaw', 'pitch', 'roll')])
        margins = {
            name: Margin(float(margin.value), tuple(float(value) for value in margin.edges))
            for name, margin in balance.margins.items()
        }
        snapshots.append(
            Snapshot(
                time=at,
                joints={name: float(run.position(name)[k]) for name in machine.initial.joint_positions},
                base_position=(0.0, 0.0, 1.5),
                base_quaternion=tuple(turn.as_quat().tolist()),
                margins=margins,
            )
        )
    return snapshots


def opened(machine):
    """Return a cockpit with a machine."""
    made = Cockpit('127.0.0.1', 0, machine.name)
    robot = load_robot(machine.urdf, folders_above(machine.sources[0]))
    made.set_robot(robot, None, dict(machine.initial.joint_positions))
    made.set_shadows(False)
    return made


@pytest.fixture
def cockpit(machine):
    made = opened(machine)
    yield made
    made.stop()


class Viewed:
    """Return a page of the cockpit in a browser of a size."""

    def __init__(self, cockpit: Cockpit, browser: Chromium):
        self.cockpit, self.browser = cockpit, browser
        self.position = np.zeros(3)
        browser.open(cockpit.address)

    @property
    def eye(self):
        """Return the camera that the page has reported, which may lag behind a request."""
        follower = next(iter(self.cockpit.cameras.followers.values()), None)
        return follower if follower is not None and follower.reported is not None else None

    @property
    def camera(self):
        return next(iter(self.cockpit.server.get_clients().values())).camera

    def outside(self) -> float:
        """Return the extent of the machine, as a share of the free picture from its middle to its edge."""
        corners = self.cockpit.corners + self.position
        seen = np.array((self.camera.image_width / self.camera.image_height, 1.0))
        return float((excursion(corners, self.eye.reported, self.eye.ahead) / seen).max())

    def until(self, snapshot: Snapshot, condition, seconds: float = 40.0) -> None:
        deadline = time.monotonic() + scaled_timeout(seconds)
        self.position = np.array(snapshot.base_position)
        while True:
            with self.cockpit.at_once():
                self.cockpit.update(snapshot)
                self.cockpit.show_state('running', f't = {snapshot.time:.1f} s')
            if condition():
                return
            assert time.monotonic() < deadline, self.outside()
            time.sleep(0.05)


def see(cockpit, demo, size, name):
    with Chromium(find_chromium(), *size) as browser:
        page = Viewed(cockpit, browser)
        page.until(demo[0], lambda: page.eye is not None and browser.evaluate(BANNER) is not None)
        page.until(demo[0], lambda: bool(browser.evaluate(FOLDED)) == (size[0] < 1000))
        page.until(demo[0], lambda: page.camera.image_width >= 0.45 * size[0])  # the page reports its camera later
        browser.evaluate(COMPARED)
        for snapshot in demo:
            page.until(snapshot, lambda: page.outside() < 1.0)
            assert page.camera.image_width >= 0.45 * size[0]
        if size[0] >= 1000:
            page.until(demo[-1], lambda: browser.evaluate('window.compared.equal') > 0)
            page.until(demo[-1], lambda: f't = {demo[-1].time:.1f} s' in browser.evaluate('document.body.innerText'))
            assert browser.evaluate('window.compared.different') == []
        browser.screenshot(ROOT / 'build' / 'screenshots' / f'{name}_{size[0]}.png')


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES[-1:], ids=lambda size: f'{size[0]}')
def test_the_whole_machine_is_in_the_free_part_of_the_picture_at_its_largest_and_smallest_reach(cockpit, demo, size):
    far = max(demo, key=lambda snapshot: snapshot.joints['stick_joint'])
    see(cockpit, [demo[0], far, demo[-1]], size, 'reach')


@pytest.mark.slow
@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES, ids=lambda size: f'{size[0]}')
def test_the_whole_machine_is_in_the_free_part_of_the_picture_during_the_whole_demonstration(cockpit, demo, size):
    see(cockpit, demo, size, 'demo')


@pytest.mark.slow
@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES, ids=lambda size: f'{size[0]}')
def test_a_vehicle_is_large_in_the_picture_and_slider_finger_and_keys_move_a_lever_but_no_eye(size):
    """Fast counterparts: test_follow_camera.py and test_page_script.py; test_cockpit_in_browser.py drives a machine."""
    vehicle = machine_of('agv_mecanum_arm', '')
    cockpit = opened(vehicle)
    joints = dict(vehicle.initial.joint_positions)
    still = Snapshot(time=0.0, joints=joints, base_position=(0.0, 0.0, 0.1), margins={'zmp_degree': Margin(0.9)})
    cockpit.controls.set_valves(['arm_turn'], {'arm_turn': 8.0})
    cockpit.controls.offer_driving(True)
    cockpit.controls.show_levers(True, '')
    lever = cockpit.controls.sliders['arm_turn']
    try:
        with Chromium(find_chromium(), *size) as browser:
            page = Viewed(cockpit, browser)
            page.until(still, lambda: page.eye is not None and browser.evaluate(BANNER) is not None)
            page.until(still, lambda: bool(browser.evaluate(FOLDED)) == (size[0] < 1000))
            page.until(still, lambda: 0.7 < page.outside() < 1.0)
            page.until(still, lambda: browser.evaluate("document.querySelector('.mantine-Slider-thumb') !== null"))
            left, width, top, height = browser.evaluate(TRACK)
            x, y = left + 0.5 * width, top + 0.5 * height
            browser.mouse('mousePressed', x, y)
            browser.mouse('mouseMoved', x - 0.25 * width, y)
            browser.mouse('mouseReleased', x - 0.25 * width, y)
            page.until(still, lambda: lever.value == pytest.approx(-4.0, abs=0.5))
            browser.touch('touchStart', x, y)
            browser.touch('touchMove', x + 0.1 * width, y)
            browser.touch('touchMove', x + 0.25 * width, y)
            browser.touch('touchEnd')
            page.until(still, lambda: lever.value == pytest.approx(4.0, abs=0.5))
            lever.value = 0.0
            browser.evaluate("document.querySelector('.mantine-Slider-thumb').focus()")
            page.until(still, lambda: 'aria-valuenow="0"' in browser.evaluate(THUMB))
            for volts in (0.1, 0.2, 0.3):
                browser.key('ArrowRight')
                page.until(still, lambda volts=volts: lever.value == pytest.approx(volts))
            page.until(still, lambda: 0.7 < page.outside() < 1.0)
            eye, target = cockpit.cameras.preset('Follow')
            assert page.eye.ahead == pytest.approx(target - eye)
            assert not page.eye.turned
            browser.screenshot(ROOT / 'build' / 'screenshots' / f'vehicle_stands_{size[0]}.png')
    finally:
        cockpit.stop()
