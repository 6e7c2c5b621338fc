"""The held key of the page overrides a governor: press and hold, by pointer, keyboard and finger; all that ends it."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, coarse, find_chromium
from domains import next_domain
from driven_page import centre
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from websocket_page import BEAT_MESSAGE, Page

from dyn_nodes.middleware import Context, Node, Parameter, SingleThreadedExecutor, init, message
from dyn_nodes.nodes.viewer_node import ViewerNode
from dyn_nodes.viewer.levers import PUSH_TIME, HeldKey

Bool, Volts = message('std_msgs/msg/Bool'), message('std_msgs/msg/Float64MultiArray')
LABEL = 'Hold: override the governor (O)'
KEY = '[data-hold-key]'
browser_test = pytest.mark.skipif(find_chromium() is None, reason='no Chromium')


class Bench:
    """A viewer node, a governor that permits overrides, and the messages of the held key."""

    def __init__(self, context, permits: bool = True):
        settings = {'machine': 'log_loader', 'port': 0, 'page_timeout': 60.0, 'idle_timeout': 600.0, 'silence': 60.0}
        parameters = [Parameter(name, value=value) for name, value in {**settings, 'shadows': False}.items()]
        self.viewer = ViewerNode(context=context, parameter_overrides=parameters)
        self.governor, self.received = Node('governor', context=context), []
        self.governor.create_subscription(Volts, 'valve_commands_in', lambda _: None, 10)
        if permits:
            self.governor.create_subscription(Bool, 'governor/override', self._take, 10)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.governor)
        self.browser: Chromium | None = None

    def _take(self, msg):
        self.received.append(bool(msg.data))

    def turn(self, seconds: float = 0.1) -> None:
        """Run viewer and governor for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.viewer.connection.message(self.viewer.connection.time + 0.02, time.monotonic())
            self.viewer.frame()
            self.executor.spin_once(timeout_sec=0.0)
            time.sleep(0.02)

    def until(self, condition, timeout: float = 60.0):
        deadline = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < deadline, f'not within {timeout:g} s'
            self.turn()

    @property
    def is_held(self) -> bool:
        """The last message of the key."""
        return bool(self.received) and self.received[-1]

    def arm(self) -> None:
        """Switch the levers on, by the switch of the page; a click on one that still shows `on` switches it off."""
        self.until(lambda: self.viewer.cockpit.drivers)
        for _ in range(5):
            if self.viewer.levers.armed:
                break
            self.browser.click(*centre(self.browser.box_of('Levers on', 'input')))
            deadline = time.monotonic() + scaled_timeout(10.0)
            while not self.viewer.levers.armed and time.monotonic() < deadline:
                self.turn()
        assert self.viewer.levers.armed, 'the levers are not switched on'
        self.until(lambda: self.browser.evaluate(f"document.querySelector('{KEY}:not([disabled])') !== null"))

    def hold(self, start, end) -> None:
        """Press until an override is received: a browser that draws in software may stall, which ends a press."""
        for _ in range(5):
            start()
            deadline = time.monotonic() + scaled_timeout(10.0)
            while not self.is_held and time.monotonic() < deadline:
                self.turn()
            if self.is_held:
                return
            end()
        raise AssertionError('no override was received')

    def stays_released(self) -> bool:
        """Wait for the release, and return whether it lasts."""
        self.until(lambda: not self.is_held)
        count = len(self.received)
        self.turn(1.0)
        return len(self.received) == count

    def close(self) -> None:
        self.governor.destroy_node()
        self.viewer.destroy_node()


@pytest.fixture
def bench(context):
    made = Bench(context)
    yield made
    made.close()


@pytest.fixture(scope='module')
def opened():
    """A bench with a browser on its page, for all tests: loading the page takes most of the time of a test."""
    with pytest.MonkeyPatch.context() as patch, Chromium(find_chromium(), 1000, 600) as browser:
        patch.setenv('ROS_DOMAIN_ID', str(next_domain()))
        context = Context()
        init(args=['viewer'], context=context)
        made = Bench(context)
        made.browser = browser
        yield made
        made.close()
        context.try_shutdown()


@pytest.fixture
def page(opened):
    """The page with armed levers and a released key."""
    browser = opened.browser
    if not browser.evaluate(f"document.querySelector('{KEY}') !== null"):  # not loaded yet, or left
        browser.open(coarse(opened.viewer.cockpit.address))
        opened.until(lambda: opened.viewer._offers_override and opened.viewer.cockpit.drivers)
        browser.style('.mantine-Notification-root, canvas { display: none }')
    key_event(browser, 'keyUp')
    opened.until(lambda: not opened.is_held)
    opened.received.clear()
    browser.errors.clear()
    opened.arm()
    return opened


def key_event(browser, kind, key='o'):
    browser.call('Input.dispatchKeyEvent', type=kind, key=key, code=f'Key{key.upper()}')


@browser_test
def test_the_key_acts_while_the_mouse_holds_it_and_also_beside_it(page):
    x, y = centre(page.browser.box_of(LABEL, KEY))
    page.hold(lambda: page.browser.mouse('mousePressed', x, y), lambda: page.browser.mouse('mouseReleased', x, y))
    page.browser.mouse('mouseMoved', x - 400, y)
    page.turn(0.2)
    page.browser.mouse('mouseReleased', x - 400, y)
    assert page.stays_released()
    assert page.browser.errors == []


@browser_test
def test_the_key_of_the_keyboard_acts_while_a_lever_has_the_focus(page):
    page.browser.evaluate("document.querySelectorAll('.mantine-Slider-thumb')[0].focus()")
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    key_event(page.browser, 'keyUp')
    assert page.stays_released()


@browser_test
def test_a_finger_holds_the_key(page):
    x, y = centre(page.browser.box_of(LABEL, KEY))
    page.hold(lambda: page.browser.touch('touchStart', x, y), lambda: page.browser.touch('touchEnd'))
    page.browser.touch('touchEnd')
    assert page.stays_released()


@browser_test
def test_a_page_behind_another_one_has_released_the_key_also_when_it_is_back(page):
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    other = page.browser.call('Target.createTarget', url='about:blank')['targetId']
    assert page.stays_released()
    page.browser.call('Target.closeTarget', targetId=other)
    page.browser.call('Page.bringToFront')
    page.turn(1.0)
    assert not page.is_held


@browser_test
def test_a_window_without_the_focus_has_released_the_key(page):
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    page.browser.evaluate("dispatchEvent(new Event('blur'))")
    assert page.stays_released()


@browser_test
def test_a_page_that_is_left_or_frozen_has_released_the_key(page):
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    page.browser.evaluate('setTimeout(() => { const end = Date.now() + 1500; while (Date.now() < end); }, 0)')
    assert page.stays_released()
    page.turn(1.5)
    assert not page.is_held, 'the same press does not count again'
    key_event(page.browser, 'keyUp')
    page.arm()
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    page.browser.open('about:blank')
    assert page.stays_released()


@browser_test
def test_levers_that_are_off_release_the_key(page):
    page.hold(lambda: key_event(page.browser, 'keyDown'), lambda: key_event(page.browser, 'keyUp'))
    page.viewer.levers.disarm('test', time.monotonic())
    assert page.stays_released()
    page.arm()
    page.turn(1.0)
    assert not page.is_held, 'the key was pressed before the levers were on'


def pressed(number):
    return {**BEAT_MESSAGE, 'press': number}


def test_only_the_page_that_drives_overrides(bench):
    bench.until(lambda: bench.viewer._offers_override)
    with (
        Page(bench.viewer.cockpit) as first,
        Page(bench.viewer.cockpit) as second,
        Page(bench.viewer.cockpit, token='none') as viewer,
    ):
        numbers = [page.join() for page in (first, second)]
        viewer.join()
        for page in (first, second, viewer):
            page.send(pressed(0))
        bench.until(lambda: len(bench.viewer.cockpit.drivers) == 2)
        first.send(pressed(1))
        bench.turn(0.2)
        assert bench.received == [], 'the levers are off'
        first.arm()
        bench.until(lambda: bench.viewer.levers.owner == numbers[0])
        for page in (second, viewer):
            page.send(pressed(1))
        bench.turn(0.2)
        assert bench.received == []
        for value in (True, 'yes', -2, 1.5):
            first.send(pressed(value))
            bench.turn(0.1)
        assert bench.received == []

        def holds():
            first.send(pressed(2))
            return bench.is_held

        bench.until(holds)
        bench.until(lambda: not bench.is_held)
        assert bench.received.count(False) == 1


def test_a_governor_without_an_override_gets_no_key(context):
    bench = Bench(context, permits=False)
    try:
        bench.until(lambda: bench.viewer.driving.is_governed)
        bench.turn(1.0)
        assert not bench.viewer.cockpit.controls._override.visible
    finally:
        bench.close()


def test_a_press_ends_without_messages_and_only_a_new_one_counts():
    key = HeldKey()
    assert not key.is_held(0.0)
    key.update(1, 0.0)
    assert key.is_held(0.9 * PUSH_TIME)
    assert not key.is_held(1.1 * PUSH_TIME)
    key.update(1, 1.1 * PUSH_TIME)
    assert not key.is_held(1.1 * PUSH_TIME)
    key.update(0, 1.2)
    assert not key.is_held(1.2)
    key.update(2, 1.3)
    assert key.is_held(1.3)
    key.update(0, 1.4)
    assert not key.is_held(1.4)
    key.update(2, 1.5)
    assert not key.is_held(1.5), 'a number of a press that has ended'
