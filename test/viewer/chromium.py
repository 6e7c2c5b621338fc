"""A headless Chromium, controlled by its DevTools protocol, with `websockets` as the only further package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from timeouts import scaled_timeout

FLAGS = (
    '--headless=new',
    '--no-sandbox',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    # panels are combined with the picture without SwiftShader: this takes less than half of the processor time
    '--disable-gpu-compositing',
    # on a busy computer a slow graphics process is not restarted, and a page that lost it may draw again
    '--disable-gpu-watchdog',
    '--disable-gpu-process-crash-limit',
    '--disable-domain-blocking-for-3d-apis',
    '--disable-quic',
    '--no-first-run',
    '--no-default-browser-check',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-extensions',
    '--disable-sync',
    # a page in the back cache keeps its connection too: disable the cache
    '--disable-features=BackForwardCache,OptimizationHints,MediaRouter,Translate',
    '--metrics-recording-only',
    '--mute-audio',
    '--hide-scrollbars',
    # only this machine has a name, so that nothing else can be reached
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
)
NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
CANVAS_SCALE = os.environ.get('CANVAS_SCALE', '0.5')
"""Pixels of the drawn canvas per pixel of the page, in each direction, for pages opened with `coarse`."""


def find_chromium() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, or the first one on the PATH."""
    named = os.environ.get('CHROMIUM')
    if named:
        return named
    return next((path for path in map(shutil.which, NAMES) if path), None)


def coarse(address: str) -> str:
    """Return the address of a page of viser whose canvas has `CANVAS_SCALE`: drawing in software takes less time."""
    return f'{address}{"&" if "?" in address else "?"}fixedDpr={CANVAS_SCALE}'


class Chromium:
    """One browser with one page. It draws without a graphics processor, so it has less priority than the nodes.

    Attributes:
        requests: addresses of all requests of the page.
        errors: of its console.
    """

    def __init__(self, program: str, width: int = 1440, height: int = 860):
        from websockets.sync.client import connect

        self.folder = tempfile.mkdtemp(prefix='chromium-')
        arguments = [f'--user-data-dir={self.folder}', '--remote-debugging-port=0', f'--window-size={width},{height}']
        self.log = open(Path(self.folder) / 'log', 'wb')  # noqa: SIM115
        self.process = subprocess.Popen(
            ['nice', '-n', '4', program, *FLAGS, *arguments, 'about:blank'],
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._number = 0
        try:
            self.socket = connect(
                self._page_address(), max_size=None, open_timeout=scaled_timeout(20), compression=None, proxy=None
            )
            for domain in ('Page', 'Runtime', 'Network', 'Log'):
                self.call(f'{domain}.enable')
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _page_address(self) -> str:
        port_file = Path(self.folder) / 'DevToolsActivePort'
        deadline = time.monotonic() + scaled_timeout(60)
        while not (port_file.is_file() and port_file.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = (Path(self.folder) / 'log').read_text(errors='replace')[-2000:]
                raise RuntimeError(f'Chromium did not start (exit status {self.process.poll()}): {text}')
            time.sleep(0.05)
        port = port_file.read_text().split()[0]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f'http://127.0.0.1:{port}/json/list', timeout=scaled_timeout(20)) as answer:
            pages = json.load(answer)
        return next(page['webSocketDebuggerUrl'] for page in pages if page['type'] == 'page')

    def call(self, method: str, timeout: float = 60.0, **parameters):
        """Call a method of the protocol; record events that arrive meanwhile."""
        self._number += 1
        number = self._number
        self.socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        deadline = time.monotonic() + scaled_timeout(timeout)
        while True:
            message = json.loads(self.socket.recv(timeout=max(deadline - time.monotonic(), 0.01)))
            if message.get('id') == number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            self._note(message)

    def _note(self, message: dict) -> None:
        method, details = message.get('method'), message.get('params', {})
        if method == 'Network.requestWillBeSent':
            self.requests.append(details['request']['url'][:200])
        elif method == 'Network.webSocketCreated':
            self.requests.append(details['url'])
        elif method == 'Runtime.exceptionThrown':
            self.errors.append(str(details['exceptionDetails'].get('exception', details['exceptionDetails']))[:500])
        elif method == 'Log.entryAdded' and details['entry']['level'] == 'error':
            self.errors.append(details['entry']['text'])

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page, pixels."""
        metrics = {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False}
        self.call('Emulation.setDeviceMetricsOverride', **metrics)

    def open(self, address: str) -> None:
        """Navigate to an address."""
        self.call('Page.navigate', url=address)

    def evaluate(self, expression: str):
        """Return the value of a JavaScript expression on the page."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(str(result['exceptionDetails']))
        return result['result'].get('value')

    def wait_for(self, expression: str, timeout: float = 30.0):
        """Wait until a JavaScript expression is true; return its value."""
        deadline = time.monotonic() + scaled_timeout(timeout)
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise TimeoutError(f'{expression} is still {value!r} after {timeout:g} s; errors: {self.errors}')
            time.sleep(0.1)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Send a mouse event: mousePressed, mouseMoved, mouseReleased."""
        button = 'none' if kind == 'mouseMoved' else 'left'
        pressed = 1 if kind != 'mouseReleased' else 0
        self.call(
            'Input.dispatchMouseEvent',
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=pressed,
            clickCount=1,
            pointerType='mouse',
        )

    def touch(self, kind: str, *point: float) -> None:
        """Send an event of one finger: touchStart or touchMove with its position x, y, or touchEnd."""
        self.call('Emulation.setTouchEmulationEnabled', enabled=bool(point))
        points = [{'x': point[0], 'y': point[1]}] if point else []
        self.call('Input.dispatchTouchEvent', type=kind, touchPoints=points)

    def key(self, name: str) -> None:
        """Press and release a key by its name in KeyboardEvent."""
        for kind in ('rawKeyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=name, code=name)

    def box_of(self, label: str, selector: str) -> dict:
        """Return x, y, width, height of an element in the row with a label; scroll to it first."""
        return self.wait_for(f"""(() => {{
            for (const leaf of document.querySelectorAll('label, span, div')) {{
                if (leaf.children.length || leaf.textContent.trim() !== {json.dumps(label)}) continue;
                for (let row = leaf; row; row = row.parentElement) {{
                    const element = row.querySelector({json.dumps(selector)});
                    if (!element) continue;
                    element.scrollIntoView({{block: 'nearest'}});
                    const box = element.getBoundingClientRect();
                    if (box.width) return {{x: box.x, y: box.y, width: box.width, height: box.height}};
                    break;
                }}
            }}
        }})()""")

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""
        self.mouse('mousePressed', x, y)
        self.mouse('mouseReleased', x, y)

    def style(self, rules: str) -> None:
        """Add style rules to the page. (Removing elements would break the state of the page.)"""
        content = json.dumps({'textContent': rules})
        self.evaluate(f"document.head.append(Object.assign(document.createElement('style'), {content}))")

    def screenshot(self, path: Path | None = None) -> bytes:
        """Return the page as PNG."""
        data = base64.b64decode(self.call('Page.captureScreenshot', format='png')['data'])
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return data

    def close(self) -> None:
        """End the browser, all its processes, and its profile."""
        if hasattr(self, 'socket'):
            self.socket.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(scaled_timeout(20))
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
