"""A page of the cockpit with the viewer node, and the dynamics node in a separate process."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, coarse
from domains import next_domain
from timeouts import scaled_timeout

from dyn_nodes.middleware import SingleThreadedExecutor, init, shutdown

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / 'build' / 'screenshots'
UNFOLDED = 1000


class Page:
    """Viewer node, dynamics node and browser, spun by the test itself without threads."""

    def __init__(self, browser: Chromium, domain: int, page_timeout: float):
        from dyn_nodes.nodes.viewer_node import ViewerNode

        self.browser = browser
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': str(ROOT)}
        parameters = ('machine:=log_loader', 'mode:=realtime', 'actuation:=monolithic', 'exchange_period:=0.005')
        arguments = [word for parameter in parameters for word in ('-p', parameter)]
        command = [sys.executable, '-m', 'dyn_nodes.nodes.dynamics_node', '--ros-args', *arguments]
        self.dynamics = subprocess.Popen(command, env=environment, start_new_session=True)
        settings = (
            'machine:=log_loader',
            'port:=0',
            'idle_timeout:=60.0',
            'rate:=12.0',
            'shadows:=false',
            f'page_timeout:={page_timeout}',
        )
        init(args=['--ros-args', *(word for setting in settings for word in ('-p', setting))])
        self.viewer = ViewerNode()
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.viewer)

    @property
    def cockpit(self):
        return self.viewer.cockpit

    def turn(self, seconds: float) -> None:
        """Run everything for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.viewer.take(self.executor)
            self.viewer.frame()
            time.sleep(0.08)

    def until(self, condition, timeout: float = 90.0):
        """Run everything until a condition holds; return its value."""
        deadline = time.monotonic() + scaled_timeout(timeout)
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < deadline, f'not within {timeout:g} s; page: {self.state()!r}'
            self.turn(0.1)

    def state(self) -> str:
        """Return the text of the banner."""
        return self.browser.evaluate("document.querySelector('[data-connection]')?.textContent") or ''

    def picture(self, name: str = '') -> np.ndarray:
        """Return the middle of the page, without panels and labels: (height, width, 3)."""
        from PIL import Image

        self.turn(0.3)
        with ThreadPoolExecutor(1) as pool:  # a slow screenshot must not stop the viewer
            taken = pool.submit(self.browser.screenshot, SCREENSHOTS / f'{name}.png' if name else None)
            while not taken.done():
                self.turn(0.1)
        image = np.asarray(Image.open(io.BytesIO(taken.result())).convert('RGB'), dtype=np.int16)
        height, width, _ = image.shape
        return image[height // 5 :, width // 4 : 3 * width // 4]

    def joint(self, name: str) -> float:
        return self.viewer.inputs.snapshot.joints[name]

    def close(self) -> None:
        self.viewer.destroy_node()
        shutdown()
        self.dynamics.kill()
        self.dynamics.wait(scaled_timeout(20))


@contextlib.contextmanager
def driven_page(program: str, size: tuple[int, int], page_timeout: float = 5.0) -> Iterator[Page]:
    """Open a page of a size in a browser; page_timeout, s, is the parameter of the viewer node.

    Below `UNFOLDED` pixels the panel with the gauges is folded at the start.
    """
    domain = next_domain()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_DOMAIN_ID', str(domain))
        patch.setenv('DYN_NODES_MIDDLEWARE', 'embedded')
        with Chromium(program, *size) as browser:
            opened = Page(browser, domain, page_timeout)
            try:
                browser.open(coarse(opened.cockpit.address))
                opened.until(lambda: 'real time' in opened.state(), 240.0)  # the first start compiles
                if size[0] >= UNFOLDED:
                    opened.until(lambda: browser.evaluate("document.querySelectorAll('[data-margin]').length") >= 6)
                # in software the page shows a note; the test checks the picture below it
                browser.style('.mantine-Notification-root { display: none }')
                yield opened
            finally:
                opened.close()


def centre(box: dict) -> tuple[float, float]:
    """Return the middle of a box of the page."""
    return box['x'] + box['width'] / 2, box['y'] + box['height'] / 2
