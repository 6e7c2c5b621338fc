"""The script of every page in a browser: a page without messages of the viewer no longer shows real time."""

from __future__ import annotations

import time

import pytest
from chromium import Chromium, find_chromium
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.viewer.gauges import banner
from dyn_nodes.viewer.page_script import with_script

SHOWN = "(state => state && getComputedStyle(state).visibility)(document.querySelector('[data-connection]'))"
NOTE = "(document.querySelector('[data-stale]') || {}).textContent || ''"


def until(condition, seconds=40.0):
    """Repeat until the condition holds: the computer may be busy."""
    deadline = time.monotonic() + scaled_timeout(seconds)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_a_page_without_messages_of_its_viewer_hides_its_state_and_shows_the_age(tmp_path):
    state = banner('running', 't = 1.0 s · 1× real time', beat=4)
    page = tmp_path / 'page.html'
    page.write_bytes(with_script(f'<html><head></head><body>{state}</body></html>'.encode()))
    with Chromium(find_chromium(), 400, 300) as browser:
        browser.open(page.as_uri())
        until(lambda: browser.evaluate(SHOWN) == 'visible')
        until(lambda: 'The viewer has sent no data for ' in browser.evaluate(NOTE))
        assert browser.evaluate(SHOWN) == 'hidden'
        until(
            lambda: browser.evaluate(
                f"document.querySelector('[data-beat]').dataset.beat = performance.now(), {NOTE}"
            ) == ''
        )  # fmt: skip
        assert browser.evaluate(SHOWN) == 'visible'


def opened(browser, path, body):
    path.write_bytes(with_script(f'<html><head></head><body>{body}</body></html>'.encode()))
    browser.open(path.as_uri())
    until(lambda: browser.evaluate('document.readyState') == 'complete')


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_a_browser_that_draws_nothing_is_named_instead_of_the_viewer(tmp_path):
    with Chromium(find_chromium(), 400, 300) as browser:
        opened(browser, tmp_path / 'page.html', banner('running', 't = 1.0 s', beat=4))
        browser.evaluate('window.requestAnimationFrame = () => 0, 0')
        until(lambda: 'This browser has not drawn for ' in browser.evaluate(NOTE))


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_a_note_is_in_the_middle_of_the_picture_and_not_across_the_panels(tmp_path):
    with Chromium(find_chromium(), 820, 300) as browser:
        picture = '<canvas style="position:absolute;left:40px;top:0;width:400px;height:300px"></canvas>'
        opened(browser, tmp_path / 'page.html', picture + banner('running', 't = 1.0 s', beat=4))
        until(lambda: browser.evaluate(NOTE))
        edges = "(box => [box.left, box.right])(document.querySelector('[data-stale]').getBoundingClientRect())"
        left, right = browser.evaluate(edges)
        assert 40.0 <= left < right <= 440.0
        assert left + right == pytest.approx(480.0, abs=1.0)


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_arrow_keys_of_a_lever_reach_the_lever_and_nothing_else_on_the_page(tmp_path):
    """viser turns the eye by a listener of the document; the listeners of the panels are below it."""
    lever = '<div id="root"><div role="slider" tabindex="0"></div><button>A button</button></div>'
    count = "addEventListener('keydown', event => window.%s.push(event.key))"
    with Chromium(find_chromium(), 400, 300) as browser:
        opened(browser, tmp_path / 'page.html', lever)
        browser.evaluate(f'window.eye = [], document.{count % "eye"}, 0')
        browser.evaluate(f"window.panel = [], document.querySelector('#root').{count % 'panel'}, 0")
        for focus in ('[role=slider]', 'button'):
            browser.evaluate(f"document.querySelector('{focus}').focus()")
            for key in ('ArrowRight', 'ArrowUp', 'Home'):
                browser.key(key)
        assert browser.evaluate('window.panel') == 2 * ['ArrowRight', 'ArrowUp', 'Home']
        assert browser.evaluate('window.eye') == ['Home', 'ArrowRight', 'ArrowUp', 'Home']


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
def test_a_plot_of_unknown_width_has_the_width_of_its_panel(tmp_path):
    plot = (
        '<style>.uplot { width: min-content }</style><div class="uplot-container" style="width:300px">'
        '<div class="uplot"><div>Margins, % of full scale</div><div style="width:0"></div></div></div>'
    )
    with Chromium(find_chromium(), 400, 300) as browser:
        opened(browser, tmp_path / 'page.html', plot)
        assert browser.evaluate("document.querySelector('.uplot').getBoundingClientRect().width") == 300.0


def test_the_beat_is_part_of_the_state_that_the_page_shows():
    assert 'data-beat="7"' in banner('paused', 'Paused', beat=7)
