"""The whole machine in the picture, on wide and narrow pages, and the banner in the colour of the worst gauge."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, find_chromium
from patience import patience
from scipy.spatial.transform import Rotation

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.share import find_resource, folders_above
from dyn_nodes.simulation import Inputs, System, initial_state
from dyn_nodes.stability.balance import BalanceObserver
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.framing import excursion
from dyn_nodes.viewer.robot import load_robot
from dyn_nodes.viewer.snapshot import Margin, Snapshot

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1600, 900), (1280, 800), (820, 1180))
BANNER = "(document.querySelector('[data-connection]') || {dataset: {}}).dataset.band"
GAUGES = "[...document.querySelectorAll('[data-margin]')].map(gauge => gauge.dataset.band)"
FOLDED = 'document.querySelector(\'[data-dock-region-collapse="left"][aria-expanded="true"]\') === null'
WORST = ('danger', 'caution', 'ok')
DURATION = 24.0


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader', '')


@pytest.fixture(scope='module')
def demo(machine):
    """What the page shows of the demonstration, ten times a second."""
    system = System(machine)
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'))
    names = [actuator.name for actuator in machine.actuators]
    volts = profile.evaluate(profile.knot_times, names)
    inputs = Inputs(profile.knot_times, {f'{name}/voltage': volts[:, k] for k, name in enumerate(names)})
    p = system.parameters()
    run = system.run(initial_state(system, p), np.linspace(0.0, DURATION, 241), inputs, p)
    observer, found = BalanceObserver(system), []
    for k, at in enumerate(run.times.tolist()):
        balance = observer.observe(run.all_outputs[k], run.parameters[:3])
        turn = Rotation.from_euler('ZYX', [run.output(name)[k] for name in ('yaw', 'pitch', 'roll')])
        margins = {
            name: Margin(float(own.value), tuple(float(value) for value in own.edges))
            for name, own in balance.margins.items()
        }
        found.append(
            Snapshot(
                time=at,
                joints={name: float(run.position(name)[k]) for name in machine.initial.joint_positions},
                base_position=(0.0, 0.0, 1.5),
                base_quaternion=tuple(turn.as_quat().tolist()),
                margins=margins,
            )
        )
    return found


@pytest.fixture
def cockpit(machine):
    made = Cockpit('127.0.0.1', 0, 'log loader')
    robot = load_robot(machine.urdf, folders_above(machine.sources[0]))
    made.set_robot(robot, None, dict(machine.initial.joint_positions))
    made.set_shadows(False)
    yield made
    made.stop()


class Viewed:
    """A page of the cockpit in a browser of some size."""

    def __init__(self, cockpit: Cockpit, browser: Chromium):
        self.cockpit, self.browser = cockpit, browser
        browser.open(cockpit.address)

    @property
    def camera(self):
        client = next(iter(self.cockpit.server.get_clients().values()), None)
        return client.camera if client is not None and client.camera.update_timestamp else None

    def outside(self) -> float:
        """How far the machine reaches, in parts of the free picture from its middle to its edge."""
        camera, corners = self.camera, self.cockpit._corners + np.array((0.0, 0.0, 1.5))
        seen = np.array((camera.image_width / camera.image_height, 1.0))
        return float((excursion(corners, camera.position, camera.look_at - camera.position) / seen).max())

    def until(self, snapshot: Snapshot, condition, seconds: float = 40.0) -> None:
        deadline = time.monotonic() + patience(seconds)
        while True:
            self.cockpit.update(snapshot)
            self.cockpit.show_state('running', f't = {snapshot.time:.1f} s')
            if condition():
                return
            assert time.monotonic() < deadline, self.outside()
            time.sleep(0.05)


def see(cockpit, demo, size, name):
    with Chromium(find_chromium(), *size) as browser:
        page = Viewed(cockpit, browser)
        page.until(demo[0], lambda: page.camera is not None and browser.evaluate(BANNER) is not None)
        page.until(demo[0], lambda: bool(browser.evaluate(FOLDED)) == (size[0] < 1000))
        for snapshot in demo:
            page.until(snapshot, lambda: page.outside() < 1.0)
            assert page.camera.image_width >= 0.45 * size[0]
        bands = browser.evaluate(GAUGES)
        if size[0] >= 1000:
            worst = next(band for band in WORST if band in bands)
            page.until(demo[-1], lambda: browser.evaluate(BANNER) == worst)
        browser.screenshot(ROOT / 'build' / 'screenshots' / f'{name}_{size[0]}.png')


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES[-1:], ids=lambda size: f'{size[0]}')
def test_the_whole_machine_is_in_the_free_part_of_the_picture_at_its_farthest_and_nearest(cockpit, demo, size):
    far = max(demo, key=lambda snapshot: snapshot.joints['stick_joint'])
    see(cockpit, [demo[0], far, demo[-1]], size, 'reach')


@pytest.mark.slow
@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES, ids=lambda size: f'{size[0]}')
def test_the_whole_machine_is_in_the_free_part_of_the_picture_during_the_whole_demonstration(cockpit, demo, size):
    see(cockpit, demo, size, 'demo')
