"""Recorded runs on the page: the time line, events, and a second run beside the first."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, coarse, find_chromium
from small_bags import LIFT_OFF, SECONDS, write_bag
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.nodes.bag_snapshots import Replay, _complete_beginning, read_replay
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.viewer.framing import excursion
from dyn_nodes.viewer.replay import ReplayPage, ReplayRun
from dyn_nodes.viewer.robot import load_robot
from dyn_nodes.viewer.snapshot import Margin, Snapshot

SCREENSHOTS = Path(__file__).resolve().parents[2] / 'build' / 'screenshots'
PLAIN = "document.querySelector('[data-connection]')"


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    folder, machine = tmp_path_factory.mktemp('bags'), machine_of('log_loader', '')
    replays = [
        read_replay(write_bag(folder / name, swing), machine) for name, swing in (('first', 0.0), ('second', 0.6))
    ]
    return [ReplayRun(replay.path.name, replay, load_robot(replay.description), 'payload_link') for replay in replays]


class Watched:
    """A page spun by the test."""

    def __init__(self, page: ReplayPage, browser: Chromium):
        self.page, self.browser = page, browser
        page.cockpit.set_shadows(False)
        browser.open(coarse(page.cockpit.address))

    def until(self, condition, seconds: float = 40.0):
        deadline = time.monotonic() + scaled_timeout(seconds)
        while True:
            self.page.advance(0.0)
            value = condition()
            if value:
                return value
            assert time.monotonic() < deadline, self.words()
            time.sleep(0.05)

    def words(self) -> str:
        return self.browser.evaluate(f'{PLAIN}?.textContent') or ''

    def click(self, label: str) -> None:
        box = self.browser.box_of(label, 'span')
        self.browser.click(box['x'] + box['width'] / 2, box['y'] + box['height'] / 2)


def test_time_is_played_paused_stepped_and_ends(runs):
    page = ReplayPage(runs[:1])
    try:
        page.advance(1.0)
        assert page.time == 1.0
        page.speed = 0.5
        page.advance(1.0)
        assert page.time == 1.5
        page.run('Pause')
        page.advance(1.0)
        assert page.time == 1.5
        page.step(onwards=True)
        assert page.time == pytest.approx(LIFT_OFF, abs=0.05)
        page.step(onwards=True)  # it is the only one
        assert page.time == pytest.approx(LIFT_OFF, abs=0.05)
        page.run('Play')
        page.advance(100.0)
        assert page.time == page.duration == pytest.approx(SECONDS, abs=0.05)
        assert not page.playing
        page.run('Play')
        assert (page.time, page.playing) == (0.0, True)
        page.step(onwards=False)
        assert page.time == 0.0
    finally:
        page.stop()


def test_a_time_line_dragged_between_two_pictures_is_followed_and_not_reset(runs):
    page = ReplayPage(runs[:1])
    try:
        page.advance(1.0)
        page.time_line.slider.value = 3.0
        page.advance(0.1)
        assert (page.time, page.playing) == (3.0, False)
        assert page.time_line.slider.value == 3.0
    finally:
        page.stop()


def test_the_plots_show_the_seconds_before_any_selected_time(runs):
    page = ReplayPage(runs[:1])
    try:
        page.run('Pause')
        for time_, last in ((3.0, 3.0), (1.0, 1.0)):
            page.time = time_
            page.draw()
            times, values = page.cockpit.instruments.margins.history.arrays()
            assert times[0] == pytest.approx(0.0, abs=0.05)
            assert times[-1] == pytest.approx(last, abs=0.15)
            assert values[0] == pytest.approx(80.0)
        assert page.cockpit.instruments.margins.history.names == ['zero moment point']
    finally:
        page.stop()


def test_a_plot_of_margins_ends_with_the_gauges(runs):
    page = ReplayPage(runs[:1])
    try:
        plot = page.cockpit.instruments.margins
        for moment, value in ((10.0, 3.0), (11.0, -0.5)):
            page.cockpit.instruments.record(Snapshot(time=moment, margins={'zmp_degree': Margin(value)}))
        assert plot.history.arrays()[1][-2:] == pytest.approx([100.0, -50.0])
    finally:
        page.stop()


def test_gauges_and_banner_of_both_runs_are_sent_as_one(runs):
    page = ReplayPage(runs)
    try:
        cockpit, held = page.cockpit, []
        buffer = cockpit.server._websock_server.get_message_buffer()
        for part, name in ((cockpit.instruments, 'show'), (cockpit.controls, 'show_state'), (page, '_compare')):
            shown = getattr(part, name)
            setattr(part, name, lambda *arguments, shown=shown: (held.append(buffer.atomic_counter), shown(*arguments)))
        cockpit._gauged = 0.0
        page.draw()
        assert held == [1, 1, 1]
        assert buffer.atomic_counter == 0
    finally:
        page.stop()


def test_messages_right_after_the_first_joint_states_belong_to_the_first_instant():
    high = Snapshot(time=0.03, joints={'boom_joint': 2.0}, base_position=(0.0, 0.0, 1.5))
    for gap, expected in ((0.03, high.base_position), (0.3, (0.0, 0.0, 0.0))):
        replay = Replay(Path(), times=[0.0, gap], snapshots=[Snapshot(joints={'boom_joint': 1.0}), high])
        _complete_beginning(replay, 0.07)
        assert replay.at(0.0).base_position == expected
        assert replay.at(0.0).joints == {'boom_joint': 1.0}
        assert replay.at(0.0).time == 0.0


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', [(1280, 800)], ids=lambda size: f'{size[0]}')
def test_a_page_replays_two_runs_with_a_time_line(runs, size):
    page = ReplayPage(runs)
    with Chromium(find_chromium(), *size) as browser:
        watched = Watched(page, browser)
        try:
            watched.until(lambda: 'Replay, t =' in watched.words())
            browser.style('.mantine-Notification-root { display: none }')
            watched.click('Pause')
            watched.until(lambda: not page.playing)
            track = browser.box_of('Time, s', '.mantine-Slider-track')
            browser.click(track['x'] + 0.75 * track['width'], track['y'] + track['height'] / 2)
            watched.until(lambda: abs(page.time - 0.75 * page.duration) < 0.1)
            watched.until(lambda: browser.evaluate(f'{PLAIN}.dataset.band') == 'danger')
            assert 'second: TIPPING' in watched.words()
            gauges = "[...document.querySelectorAll('[data-margin]')].length"
            watched.until(lambda: browser.evaluate(gauges) == 2)
            watched.click('Before')
            watched.until(lambda: abs(page.time - LIFT_OFF) < 0.05)
            assert 'Levers on' not in browser.evaluate('document.body.innerText')
            assert 'Drop the load' not in browser.evaluate('document.body.innerText')

            def outside():
                client = next(iter(page.cockpit.server.get_clients().values()))
                camera = client.camera
                corners = np.vstack([page.cockpit.corners + np.array((0.0, 0.0, 1.5)), page.cockpit.beside])
                seen = np.array((camera.image_width / camera.image_height, 1.0))
                return (excursion(corners, camera.position, camera.look_at - camera.position) / seen).max()

            watched.until(lambda: outside() < 1.0)
            watched.click('Play')
            watched.until(lambda: page.playing)
            browser.screenshot(SCREENSHOTS / 'replay.png')
        finally:
            page.stop()


def test_gauges_have_the_same_scale_as_live(runs):
    page = ReplayPage(runs[:1])
    try:
        page.run('Pause')
        seen = []
        for moment in (3.0, 0.5):
            page.time = moment
            page.draw()
            for name, value in (('net_moment', 4e5), ('net_moment', 1e5)):
                seen.append(page.cockpit.instruments.scale.full(name, Margin(value)))
        assert seen == [4e5, 4e5, 4e5, 4e5]
        page.time = 2.0
        page.draw()
        page.time = 0.0
        page.draw()
        assert page.cockpit.instruments.scale.full('net_moment', Margin(1e5)) == 1e5, 'later samples are dropped'
    finally:
        page.stop()
