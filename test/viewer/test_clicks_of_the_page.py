"""User input reaches the viewer: fixed positions of buttons, a stalled page, two fingers."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, coarse, find_chromium
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.measures import DANGER, OK
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.snapshot import Situation

NAMES = ('swing', 'boom', 'stick')
WIDTH, HEIGHT = 1200, 840
pytestmark = pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
CLICK = """(labels => {
    const buttons = [...document.querySelectorAll('button')];
    for (const label of labels) buttons.find(button => button.textContent.trim() === label).click();
})(%s)"""


class Panel:
    """The controls of a machine with levers and a load, in a browser."""

    def __init__(self, cockpit: Cockpit, browser: Chromium):
        self.cockpit, self.browser = cockpit, browser
        self.controls = cockpit.controls
        self.controls.set_payload(1000.0, 2000.0)
        self.controls.set_valves(NAMES, dict.fromkeys(NAMES, 8.0))
        self.controls.offer_skipping()
        self.controls.offer_simulation(True)
        self.show()
        browser.open(coarse(cockpit.address))

    def show(self, details: str = '', band: str = OK, note: str = '', armed: bool = False, low: float = -0.6, **values):
        """Show a text in every element that appears and disappears."""
        held = Situation(
            'held', band, 'HELD: boom, stick', '12 % of the lever passes: rear left would come near to lift'
        )
        stable = Situation('ok', band, 'STABLE', '', 'zero moment point 0.6, front')
        self.controls.show_state('running', 't = 1.0 s', details, band, held if details else stable)
        self.controls.show_levers(armed, note)
        self.controls.show_dead_parts(dict.fromkeys(NAMES, (low, 4.5)), values, False, NAMES if low == -0.6 else ())

    def until(self, condition):
        deadline = time.monotonic() + scaled_timeout(40)
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < deadline, 'not in time'
            time.sleep(0.05)

    def done(self, *names: str) -> bool:
        """Wait until all of these events have been processed by the page."""
        names_of_actions: list[str] = []

        def all_of_them() -> bool:
            names_of_actions.extend(action.name for action in self.cockpit.actions())
            return set(names) <= set(names_of_actions)

        return self.until(all_of_them)

    def middle(self, label: str, selector: str) -> tuple[float, float]:
        box = self.browser.box_of(label, selector)
        return box['x'] + box['width'] / 2, box['y'] + box['height'] / 2

    def fingers(self, kind: str, **points_by_finger) -> None:
        """Send an event of several fingers, each with its number and position."""
        points = [{'x': x, 'y': y, 'id': int(name[-1])} for name, (x, y) in points_by_finger.items()]
        self.browser.call('Input.dispatchTouchEvent', type=kind, touchPoints=points)


@pytest.fixture(scope='module')
def panel():
    cockpit = Cockpit('127.0.0.1', 0, 'log loader')
    try:
        with Chromium(find_chromium(), WIDTH, HEIGHT) as browser:
            opened = Panel(cockpit, browser)
            browser.box_of('Drop the load', 'span')
            browser.style('.mantine-Notification-root { display: none }')
            yield opened
    finally:
        cockpit.stop()


def test_no_button_moves_when_texts_appear_and_disappear(panel):
    """If a button moves while it is being tapped, it is missed or another one is pressed."""
    labels = ('All levers to neutral', 'Pause', 'Reset', 'Drop the load', 'Follow')
    at_rest = [panel.middle(label, 'span') for label in labels]
    warning = 'danger: wheel-load share rear left · rear left wheel: lifted, ground reaction 0 kN'
    panel.show(warning, DANGER, 'no lever was touched for 10 s', low=-0.8, boom=3.0)
    panel.until(lambda: 'lifted' in panel.browser.evaluate("document.querySelector('[data-connection]').textContent"))
    panel.until(lambda: panel.browser.evaluate("document.querySelector('[data-dead]').dataset.dead") == 'boom')
    assert [panel.middle(label, 'span') for label in labels] == at_rest
    panel.show()
    panel.until(lambda: panel.browser.evaluate("document.querySelector('[data-dead]').dataset.dead") == '')
    assert [panel.middle(label, 'span') for label in labels] == at_rest


def test_the_button_that_releases_all_levers_is_above_them(panel):
    neutral = panel.middle('All levers to neutral', 'span')[1]
    assert panel.middle('Levers on', 'input')[1] < neutral < panel.middle('swing', '.mantine-Slider-track')[1]


def test_all_clicks_during_a_stall_of_the_page_arrive(panel):
    panel.browser.evaluate(CLICK % "['All levers to neutral', 'Drop the load', 'Pause', 'Clear the trace', 'Reset']")
    assert panel.done('neutral', 'payload', 'run')


def test_a_finger_releases_all_levers_while_another_one_is_on_a_lever(panel):
    for slider in panel.controls.sliders.values():
        slider.disabled = False
    x, y = panel.middle('boom', '.mantine-Slider-track')
    button = panel.middle('All levers to neutral', 'span')
    panel.browser.call('Emulation.setTouchEmulationEnabled', enabled=True, maxTouchPoints=2)
    try:
        panel.until(lambda: panel.browser.evaluate("!document.querySelector('.mantine-Slider-thumb').dataset.disabled"))
        panel.fingers('touchStart', finger_1=(x, y))
        panel.fingers('touchMove', finger_1=(x + 10, y))
        panel.fingers('touchStart', finger_1=(x + 10, y), finger_2=button)
        panel.fingers('touchEnd', finger_1=(x + 10, y))
        panel.fingers('touchMove', finger_1=(x + 20, y))
        panel.fingers('touchEnd')
        assert panel.done('lever', 'neutral')
    finally:
        panel.browser.call('Emulation.setTouchEmulationEnabled', enabled=False)
