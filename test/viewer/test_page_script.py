"""The script of every page in a browser: a page to which the viewer sends nothing does not go on to show real time."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, find_chromium
from patience import patience

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.viewer.gauges import banner
from dyn_nodes.viewer.page_script import with_script

SHOWN = "(state => state && getComputedStyle(state).visibility)(document.querySelector('[data-connection]'))"
NOTE = "(document.querySelector('[data-silent]') || {}).textContent || ''"


def until(condition, seconds=40.0):
    """Ask until it is so: the computer may be busy."""
    deadline = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_a_page_whose_viewer_is_silent_hides_its_state_and_shows_for_how_long(tmp_path):
    state = banner('running', 't = 1.0 s · 1× real time', beat=4)
    page = tmp_path / 'page.html'
    page.write_bytes(with_script(f'<html><head></head><body>{state}</body></html>'.encode()))
    with Chromium(find_chromium(), 400, 300) as browser:
        browser.open(page.as_uri())
        until(lambda: browser.evaluate(SHOWN) == 'visible')
        until(lambda: 'The viewer has sent nothing for ' in browser.evaluate(NOTE))
        assert browser.evaluate(SHOWN) == 'hidden'
        until(
            lambda: browser.evaluate(
                f"document.querySelector('[data-beat]').dataset.beat = performance.now(), {NOTE}"
            ) == ''
        )  # fmt: skip
        assert browser.evaluate(SHOWN) == 'visible'


def test_the_beat_is_part_of_the_state_that_the_page_shows():
    assert 'data-beat="7"' in banner('paused', 'Paused', beat=7)
