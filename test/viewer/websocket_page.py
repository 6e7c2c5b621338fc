"""A client of the page's websocket, as used by a browser or an attacker."""

from __future__ import annotations

import time

import msgspec.msgpack
import viser
from timeouts import scaled_timeout
from websockets.sync.client import connect

from dyn_nodes.viewer.page_script import BEAT

BEAT_MESSAGE = {'type': BEAT, 'visible': True}
CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': [1.0, 0.0, 0.0, 0.0],
    'position': [1.0, 2.0, 3.0],
    'fov': 1.0,
    'near': 0.1,
    'far': 100.0,
    'image_height': 100,
    'image_width': 100,
    'look_at': [0.0, 0.0, 0.0],
    'up_direction': [0.0, 0.0, 1.0],
}


class Page:
    """A client of the websocket, as used by a page or an attacker."""

    def __init__(self, cockpit, token='right', origin='own', path=None, host=None, **options):
        address = f'127.0.0.1:{cockpit.port}'
        query = {'right': f'/?token={cockpit.gate.access.token}', 'none': '/'}.get(token, f'/?token={token}')
        self.origin = f'http://{address}' if origin == 'own' else origin
        headers = dict(options.pop('headers', {}))
        self.cockpit = cockpit
        self.socket = connect(
            f'ws://{host or address}{path or query}',
            origin=self.origin,
            subprotocols=options.pop('subprotocols', [f'viser-v{viser.__version__}']),
            additional_headers=headers,
            compression=None,
            max_size=None,
            proxy=None,
            **options,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, content):
        self.socket.send(msgspec.msgpack.encode(content))

    def join(self):
        """Send a camera, as viser requires from a page; return the number of the page."""
        before = set(self.cockpit.clients)
        self.send(CAMERA)
        return until(lambda: next(iter(set(self.cockpit.clients) - before), None))

    def arm(self):
        self.send(update(self.cockpit.controls.armed, True))


def update(handle, value):
    return {'type': 'GuiUpdateMessage', 'uuid': handle._impl.uuid, 'updates': {'value': value}}


def until(condition, timeout=20.0):
    deadline = time.monotonic() + scaled_timeout(timeout)
    while True:
        value = condition()
        if value is not None and value is not False and value != []:  # the first page has the number 0
            return value
        assert time.monotonic() < deadline, 'not in time'
        time.sleep(0.01)


def turn(viewer, condition=lambda: False, seconds=10.0):
    """Process the pages of the viewer until a condition holds; return whether it does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        viewer.frame()
        time.sleep(0.02)
    return condition()


def notices_of(viewer):
    """Return the list of notifications of the viewer, each with its page."""
    notices, notify = [], viewer.cockpit.notify
    viewer.cockpit.notify = lambda text, client=None: (notices.append((text, client)), notify(text, client))
    return notices
