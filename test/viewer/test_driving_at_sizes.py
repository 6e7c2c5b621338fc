"""A machine driven from wide and narrow pages by slider, keys and finger."""

from __future__ import annotations

import time

import pytest
from chromium import find_chromium
from driven_page import SCREENSHOTS, centre, driven_page

pytest.importorskip('viser', reason='the viewer needs viser')
SIZES = ((1600, 900), (1280, 800), (820, 1180))


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize('size', SIZES, ids=lambda size: f'{size[0]}')
def test_slider_keys_and_finger_move_the_joints_of_the_machine(size):
    """A browser that draws in software may stall for seconds on the widest: `page_timeout` allows for it."""
    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')
    with driven_page(program, size, page_timeout=60.0) as page:
        browser = page.browser

        def value(lever):
            return page.viewer.levers.values(time.monotonic())[lever]

        def neutral():
            browser.click(*centre(browser.box_of('All levers to neutral', 'span')))
            page.until(lambda: [value(name) for name in ('boom', 'stick', 'swing')] == [0.0, 0.0, 0.0])
            assert page.viewer.levers.armed

        browser.click(*centre(browser.box_of('Levers on', 'input')))
        page.until(lambda: page.viewer.levers.armed)
        page.until(lambda: not page.cockpit.controls.sliders['boom'].disabled)
        page.turn(0.3)

        boom = page.joint('boom_joint')
        slider = browser.box_of('boom', '.mantine-Slider-track')
        x, y = centre(slider)
        browser.mouse('mousePressed', x, y)
        browser.mouse('mouseMoved', x - 0.15 * slider['width'], y)
        browser.mouse('mouseMoved', x - 0.3 * slider['width'], y)
        browser.mouse('mouseReleased', x - 0.3 * slider['width'], y)
        page.until(lambda: page.joint('boom_joint') < boom - 0.1)
        neutral()

        stick = page.joint('stick_joint')
        track = browser.box_of('stick', '.mantine-Slider-track')
        x, y = centre(track)
        browser.touch('touchStart', x, y)
        browser.touch('touchMove', x + 0.15 * track['width'], y)
        browser.touch('touchMove', x + 0.3 * track['width'], y)
        browser.touch('touchEnd')
        page.until(lambda: page.joint('stick_joint') < stick - 0.1)
        neutral()

        swing = page.joint('swing_joint')
        browser.evaluate("document.querySelectorAll('.mantine-Slider-thumb')[2].focus()")
        browser.key('End')
        page.until(lambda: value('swing') > 4.0)
        page.until(lambda: page.joint('swing_joint') > swing + 0.1)
        browser.screenshot(SCREENSHOTS / f'driven_{size[0]}.png')
        neutral()
        assert browser.errors == []
