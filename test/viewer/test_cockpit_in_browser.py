"""The cockpit in a headless Chromium, with the viewer node, and the dynamics node in a separate process."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import numpy as np
import pytest
from chromium import coarse, find_chromium
from driven_page import centre, driven_page
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.viewer.scene import DRAWINGS

SIZE = (1200, 700)
STOOD_STILL = ('the page that drove is hidden or frozen', 'no data from the machine')
"""Reasons for disarmed levers on a busy computer."""
FRAMES = """(window.frames_drawn ??= (() => {
  let count = 0, drawn = false;
  const draw = WebGL2RenderingContext.prototype.drawElements;
  WebGL2RenderingContext.prototype.drawElements = function (...rest) { drawn = true; return draw.apply(this, rest); };
  const next = () => { count += drawn; drawn = false; requestAnimationFrame(next); };
  next();
  return () => count;
})())()"""
"""Script that returns the number of drawn frames."""
LOST_NOTE = "document.querySelector('[data-lost]')?.textContent"
LOCAL = ('http://127.0.0.1:', 'ws://127.0.0.1:', 'blob:http://127.0.0.1:', 'data:')


@pytest.fixture(scope='module')
def page():
    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')
    with driven_page(program, SIZE) as opened:
        yield opened


def changed(before: np.ndarray, after: np.ndarray) -> float:
    """Return the share of clearly different pixels."""
    return float((np.abs(before - after).max(axis=2) > 40).mean())


def yellow(picture: np.ndarray) -> float:
    """Return the share of pixels in the colour of the machine."""
    red, green, blue = np.moveaxis(picture, 2, 0)
    return float(((red > 150) & (green > 100) & (blue < 90)).mean())


def drawn(page) -> np.ndarray:
    """Return a picture that contains the machine: a connecting page fades in with its frames."""
    pictures = []

    def has_machine() -> bool:
        pictures.append(page.picture())
        return yellow(pictures[-1]) > 0.02

    page.until(has_machine)
    return pictures[-1]


def drive(page):
    """Arm the levers if necessary; a page that drew for longer than `page_timeout` has lost them. Return the owner.

    Repeat on failure: a page may lose them between the click and the next check.
    """
    for left in reversed(range(5)):
        if not page.viewer.levers.armed:
            page.until(lambda: page.cockpit.drivers)
            page.browser.click(*centre(page.browser.box_of('Levers on', 'input')))
        try:
            page.until(lambda: page.viewer.levers.armed and not page.cockpit.controls.sliders['boom'].disabled, 10.0)
            break
        except AssertionError:
            if not left:
                raise
    return page.viewer.levers.owner


def drive_until(page, act, condition):
    """Arm the levers, act, and wait for a condition; repeat if a stall disarmed the levers."""
    for _ in range(5):
        drive(page)
        act()
        if page.until(lambda: 'met' if condition() else 'off' * (not page.viewer.levers.armed)) == 'met':
            return
        assert page.viewer.levers.reason in STOOD_STILL
    raise AssertionError(f'levers off each time: {page.viewer.levers.reason}')


def lever_of(page, name):
    """Return the commanded volts of a lever."""
    return page.viewer.levers.values(time.monotonic())[name]


def to_neutral(page, name):
    """Press the button and wait until a lever is at neutral, on the page and in the commands."""
    page.browser.click(*centre(page.browser.box_of('All levers to neutral', 'span')))
    page.until(lambda: page.cockpit.controls.sliders[name].value == 0.0 == lever_of(page, name))


def test_the_page_shows_a_machine_and_its_margins(page):
    page.until(lambda: page.viewer.inputs.snapshot.polygon is not None)
    page.until(lambda: {'reach/left', 'label/critical', 'load_line'} <= page.cockpit.scene.handles.keys())
    page.until(lambda: yellow(page.picture('cockpit')) > 0.02)
    colours = np.unique((page.picture('cockpit') // 16).reshape(-1, 3), axis=0)
    assert len(colours) > 60, 'a blank page has few colours'
    gauges = page.browser.evaluate("[...document.querySelectorAll('[data-margin]')].map(e => e.dataset.margin)")
    assert gauges[0] == 'static'
    assert {'zmp_degree', 'force_angle', 'load_share', 'net_moment'} <= set(gauges)


def test_the_pose_on_the_page_equals_the_topics(page):
    page.turn(0.5)
    snapshot = page.viewer.inputs.snapshot
    position, rotation = page.cockpit.scene.link_pose('base_link')
    assert position == pytest.approx(snapshot.base_position, abs=1e-3)
    shown = page.viewer.inputs.robot.poses(snapshot.joints)
    link_position, turn = shown['payload_link']
    tip, _ = page.cockpit.scene.link_pose('payload_link')
    assert tip == pytest.approx(position + rotation.apply(link_position), abs=5e-3)
    assert tip[2] == pytest.approx(turn.apply([0, 0, 0])[2] + link_position[2] + position[2], abs=0.2)


def test_a_slider_moves_the_boom_once_the_levers_are_armed(page):
    start, before = page.joint('boom_joint'), drawn(page)

    def drag():
        page.turn(0.3)
        slider = page.browser.box_of('boom', '.mantine-Slider-track')
        x, y = centre(slider)
        page.browser.mouse('mousePressed', x, y)
        for part in (0.1, 0.2, 0.3):
            page.browser.mouse('mouseMoved', x - part * slider['width'], y)
        page.browser.mouse('mouseReleased', x - 0.3 * slider['width'], y)

    def has_come_down():
        lever = page.cockpit.controls.sliders['boom'].value
        return page.joint('boom_joint') < start - 0.15 and lever == pytest.approx(-4.8, abs=0.5)

    drive_until(page, drag, has_come_down)
    page.until(lambda: changed(before, drawn(page)) > 0.01)
    position, _ = page.cockpit.scene.link_pose('stick_link')
    assert position[2] < page.viewer.inputs.robot.poses({'boom_joint': start})['stick_link'][0][2] + 1.6


def test_neutral_stops_the_boom(page):
    to_neutral(page, 'boom')
    page.turn(1.5)
    rest = page.joint('boom_joint')
    page.turn(1.0)
    assert page.joint('boom_joint') == pytest.approx(rest, abs=0.02)
    assert page.viewer.levers.armed or page.viewer.levers.reason in STOOD_STILL, 'neutral is no reason to switch off'


def test_the_arrow_keys_move_a_lever_that_has_the_focus(page):
    asked = {}

    def press_key():
        asked['swing'] = lever_of(page, 'swing') + 0.1
        page.browser.evaluate("document.querySelectorAll('.mantine-Slider-thumb')[2].focus()")  # of the swing
        page.browser.key('ArrowRight')

    for _ in range(2):
        drive_until(page, press_key, lambda: lever_of(page, 'swing') == pytest.approx(asked['swing']))
    to_neutral(page, 'swing')


def test_a_finger_moves_a_lever(page):
    def drag():
        slider = page.browser.box_of('boom', '.mantine-Slider-track')
        x, y = centre(slider)
        page.browser.touch('touchStart', x, y)
        page.browser.touch('touchMove', x + 0.1 * slider['width'], y)
        page.browser.touch('touchMove', x + 0.25 * slider['width'], y)
        page.browser.touch('touchEnd')

    drive_until(page, drag, lambda: lever_of(page, 'boom') == pytest.approx(4.0, abs=0.5))
    to_neutral(page, 'boom')


def test_dropping_the_load_removes_it_from_the_page(page):
    before, picture = page.viewer.inputs.snapshot.margins['load_share'].value, drawn(page)
    page.browser.click(*centre(page.browser.box_of('Drop the load', 'span')))
    page.until(lambda: page.viewer.inputs.snapshot.payload == 0.0)
    page.until(lambda: page.viewer.inputs.snapshot.margins['load_share'].value > before + 0.03)
    page.until(lambda: changed(picture, drawn(page)) > 0.01)  # the logs are gone


def test_pause_is_shown_and_step_advances(page):
    page.browser.click(*centre(page.browser.box_of('Pause', 'span')))
    page.until(lambda: 'Paused at' in page.state())
    paused = page.viewer.inputs.snapshot.time
    page.browser.click(*centre(page.browser.box_of('Step', 'span')))
    page.until(lambda: page.viewer.inputs.snapshot.time > paused)
    page.browser.click(*centre(page.browser.box_of('Play', 'span')))
    page.until(lambda: page.viewer.inputs.snapshot.time > paused + 0.5)


def test_the_ground_tilts_with_the_slope_of_the_dynamics_node(page):
    before = drawn(page)
    page.viewer.dynamics.set({'slope_pitch': 0.12, 'slope_roll': 0.05})
    page.viewer.dynamics.parameters.clear()  # the page shows the value of the node
    page.until(lambda: page.viewer.dynamics.parameters.get('slope_pitch') == pytest.approx(0.12))
    page.until(lambda: changed(before, page.picture()) > 0.05)
    page.viewer.dynamics.set({'slope_pitch': 0.0, 'slope_roll': 0.0})


@pytest.mark.parametrize('preset', ['Top', 'Side', 'Front', 'Follow'])
def test_camera_presets_show_the_machine_from_elsewhere(page, preset):
    before = page.picture()
    page.browser.click(*centre(page.browser.box_of(preset, 'span')))
    page.until(lambda: changed(before, page.picture()) > 0.05)


def test_the_motion_of_a_machine_is_shown(page):
    swing, picture = page.joint('swing_joint'), drawn(page)

    def move():
        page.viewer.levers.move('swing', 1.5, page.viewer.levers.owner, time.monotonic())

    drive_until(page, move, lambda: abs(page.joint('swing_joint') - swing) > 0.1)
    page.viewer.levers.neutral()
    page.until(lambda: changed(picture, page.picture()) > 0.01)  # the page may lag behind the node


def test_nothing_is_fetched_from_elsewhere(page):
    assert page.browser.requests
    assert [address for address in page.browser.requests if not address.startswith(LOCAL)] == []
    assert page.browser.errors == []


def test_a_lost_picture_is_reported_and_drawn_again(page):
    """As after the end of its graphics process; viser would draw only a part of the machine."""
    drawn(page)
    page.browser.evaluate("""
        const context = document.querySelector('canvas').getContext('webgl2');
        window.loss = context.getExtension('WEBGL_lose_context');
        loss.loseContext();
    """)
    page.until(lambda: 'no longer draws the picture' in (page.browser.evaluate(LOST_NOTE) or ''))
    page.browser.evaluate('loss.restoreContext()')

    def is_loaded_again():
        try:
            return page.browser.evaluate('window.loss === undefined && ' + LOST_NOTE) is None
        except RuntimeError:  # it was loading just then
            return False

    page.until(is_loaded_again)
    drawn(page)


def test_the_levers_are_disarmed_when_the_driving_page_closes(page):
    drive(page)
    page.browser.open('about:blank')
    page.until(lambda: not page.viewer.levers.armed)
    assert page.viewer.levers.reason in ('the driving page was closed', 'the page that drove is hidden or frozen')


def test_a_page_without_the_token_is_shown_as_read_only(page):
    page.browser.open(coarse(page.cockpit.address.partition('?')[0]))
    page.until(lambda: 'real time' in page.state())
    assert 'view-only' in page.browser.evaluate("document.querySelector('[data-looking]').textContent")
    page.browser.click(*centre(page.browser.box_of('Levers on', 'input')))
    page.turn(1.0)
    assert not page.viewer.levers.armed
    assert page.cockpit.drivers == []
    page.browser.open(coarse(page.cockpit.address))
    page.until(lambda: 'real time' in page.state())
    page.until(lambda: page.cockpit.drivers)
    assert page.browser.evaluate("document.querySelector('[data-looking]')") is None


def test_a_frozen_page_loses_the_levers(page):
    drive(page)
    page.browser.evaluate('setTimeout(() => { const end = Date.now() + 9000; while (Date.now() < end); }, 0)')
    page.until(lambda: not page.viewer.levers.armed)
    assert page.viewer.levers.reason == 'the page that drove is hidden or frozen'
    assert page.cockpit.clients, 'its connection is still there'
    page.until(lambda: page.cockpit.drivers, 60.0)
    assert not page.viewer.levers.armed, 'they stay off'


def test_a_lost_machine_is_reported(page):
    page.dynamics.kill()
    page.dynamics.wait(scaled_timeout(20))
    page.until(lambda: 'dynamics_node' in page.state() and 'real time' not in page.state())
    assert page.browser.evaluate("document.querySelector('[data-connection]').dataset.connection") == 'lost'
    assert 'The picture shows t =' in page.state()
    shown = page.cockpit.scene.handles.keys()
    assert not {'critical', 'reach/left', 'load_line', 'reactions', 'polygon'} & shown, 'they are out of date'
    page.picture('lost')


def processor_time(browser) -> float:
    """Return the processor time of the browser, s: it draws in software."""
    total = 0
    for path in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(')')[2].split()
            total += (int(fields[11]) + int(fields[12])) * (int(fields[2]) == browser.process.pid)
    return total / os.sysconf('SC_CLK_TCK')


def times(rounds: int = 5, seconds: float = 10.0):
    """Print the cost of drawings while the machine moves: joint states at 200 Hz, all else at 50 Hz, 30 pictures/s.

    Rounds with all drawings and without tipping axis, reach, way of the load and posture after a stop alternate. The
    posture is 0.5 rad of swing ahead, as after a fast swing: there is no governor.
    """
    program = find_chromium()
    if program is None:
        raise SystemExit('no Chromium: install the package chromium, or name one in $CHROMIUM')
    costs = {True: [0.0, 0.0, 0.0, 0.0], False: [0.0, 0.0, 0.0, 0.0]}
    with driven_page(program, (1280, 800), page_timeout=60.0) as page:
        page.until(lambda: page.viewer.inputs.snapshot.reach is not None)
        drive(page)
        for k in range(2 * rounds):
            for name in DRAWINGS[:4]:
                page.cockpit.scene.set_drawing(name, k % 2 == 0)
            page.viewer.levers.move('swing', 1.5, drive(page), time.monotonic())
            page.turn(1.0)
            before = time.process_time(), time.monotonic(), processor_time(page.browser), page.browser.evaluate(FRAMES)
            while time.monotonic() - before[1] < seconds:
                page.viewer.take(page.executor)
                page.viewer.inputs.snapshot.stop = {'swing_joint': page.joint('swing_joint') + 0.5}
                page.viewer.frame()
                time.sleep(1 / 30)
            after = time.process_time(), time.monotonic(), processor_time(page.browser), page.browser.evaluate(FRAMES)
            costs[k % 2 == 0] = [c + a - b for c, a, b in zip(costs[k % 2 == 0], after, before)]
    for is_shown, (node, wall, browser, frames) in costs.items():
        name = 'all drawings' if is_shown else 'without axis to stop'
        drawn = f'{frames / wall:.2f} frames/s, {1e3 * browser / max(frames, 1):.0f} ms of processor time each'
        print(f'{name:25} node {node / wall:.2f} of a core; browser {drawn}')


if __name__ == '__main__':
    times()
