"""Access checks in front of viser's server: every request and every message of a page is checked by `access`.

viser serves its page and websocket with `websockets.serve` and offers no way to reject requests. During its start this
function is replaced by one that adds the checks. If a version of viser starts its server in another way, nothing is
served.
"""

from __future__ import annotations

import contextlib
import http
import io
import logging
import math
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from dyn_nodes.viewer.access import Access
from dyn_nodes.viewer.levers import HeldKey, Owner
from dyn_nodes.viewer.page_script import BEAT, with_script
from dyn_nodes.viewer.viser_internals import check_message, connections_of, serving_module

MOST_PAGES = 32
"""Maximum number of open websockets with the token, and of those without it."""
CAMERA = 'ViewerCameraMessage'
CAMERA_SIZES = {
    'wxyz': 4,
    'position': 3,
    'look_at': 3,
    'up_direction': 3,
    'fov': 1,
    'near': 1,
    'far': 1,
    'image_height': 1,
    'image_width': 1,
}
HEADERS = {
    'Content-Security-Policy': "frame-ancestors 'none'; connect-src 'self' blob: data:; form-action 'none'",
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
}
_STARTING = threading.Lock()


class Gate:
    """Access checks of the server of one page.

    Attributes:
        access: access rights.
        server: viser's server.
        rejected: number of rejected requests and dropped messages.
    """

    def __init__(self, host: str, port: int, access: Access | None = None) -> None:
        import viser

        self.access = access or Access(host)
        self.rejected = 0
        self._open: set[Any] = set()
        self._entitled: weakref.WeakSet[Any] = weakref.WeakSet()
        self._beats: dict[Any, float] = {}
        """Time of the last beat by connection, for connections with the token only."""
        self._keys: weakref.WeakKeyDictionary[Any, HeldKey] = weakref.WeakKeyDictionary()
        self._attached = False
        with _STARTING, self._in_front(), contextlib.redirect_stdout(io.StringIO()):  # viser prints a table
            self.server = viser.ViserServer(host=host, port=port, verbose=False)
        if not self._attached:
            self.server.stop()
            raise RuntimeError(f'viser {viser.__version__}: its server starts in an unsupported way')
        self._connections: Mapping[int, Any] = connections_of(self.server)

    def workers(self, timeout: float) -> list[int]:
        """Return the numbers of the pages with the token and a beat within the last `timeout` seconds."""
        now = time.monotonic()
        return [
            int(number)
            for number, connection in tuple(self._connections.items())
            if now - self._beats.get(connection, -math.inf) <= timeout
        ]

    def is_holding(self, page: Owner | None) -> bool:
        """Return whether the page of a number has the token and holds its key."""
        connection = self._connections.get(page) if isinstance(page, int) else None
        return connection in self._keys and self._keys[connection].is_held(time.monotonic())

    def end_presses(self) -> None:
        """End the presses of the keys of all pages: only new ones count."""
        for key in tuple(self._keys.values()):
            key.end()

    # -- requests ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _in_front(self) -> Iterator[None]:
        infra = serving_module()
        real = infra.websockets

        def serve(handler: Any, host: Any, port: Any, *, process_request: Any, **options: Any) -> Any:
            self._attached = True
            checked = self._checked(process_request)
            return real.asyncio.server.serve(
                self._watched(handler), host, port, process_request=checked, logger=_quiet_logger(), **options
            )

        server = _Replaced(real.asyncio.server, serve=serve)
        infra.websockets = _Replaced(real, asyncio=_Replaced(real.asyncio, server=server))
        try:
            yield
        finally:
            infra.websockets = real

    def _checked(self, process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return the handler of a request that runs before viser's handler."""

        def handle(connection: Any, request: Any) -> Any:
            try:
                reason = self._request_error(connection, request)
            except Exception:  # an unreadable header
                reason = 'the request cannot be read'
            if reason:
                self.rejected += 1
                return _answer(http.HTTPStatus.FORBIDDEN, f'{reason}\n')
            if 'Upgrade' in request.headers:
                return process(connection, request)
            request.headers.pop('Accept-Encoding', None)  # the script is inserted into uncompressed text
            return _with_headers(process(connection, request))

        return handle

    def _request_error(self, connection: Any, request: Any) -> str:
        headers = request.headers
        hosts = headers.get_all('Host')
        reason = self.access.host_error(hosts)
        right = self.access.right_of(request.path)
        if not reason and right is None:
            reason = 'the token of this address does not match the running page: open the address that it printed'
        upgrades = headers.get_all('Upgrade')
        if reason or not upgrades:
            return reason
        if upgrades != ['websocket']:
            return 'Upgrade: expected websocket'
        reason = self.access.origin_error(headers.get_all('Origin'), hosts[0])
        if not reason and self._count_open(bool(right)) >= MOST_PAGES:
            reason = f'{MOST_PAGES} pages {"with" if right else "without"} the token are open'
        if not reason and right:
            self._entitled.add(connection)
        return reason

    def _count_open(self, entitled: bool) -> int:
        """Return the number of open connections with or without the token."""
        return sum((connection in self._entitled) == entitled for connection in self._open)

    # -- messages ------------------------------------------------------------------------------------------------------

    def _watched(self, handler: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        async def handle(connection: Any) -> None:
            self._open.add(connection)
            if connection in self._entitled:
                self._beats[connection] = -math.inf
            connection.recv = self._filtered(connection, connection.recv)
            try:
                await handler(connection)
            finally:
                self._open.discard(connection)
                self._beats.pop(connection, None)

        return handle

    def _filtered(self, connection: Any, receive: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """Return a receive function for viser that returns only messages that this connection may send."""

        async def read(*arguments: Any, **options: Any) -> Any:
            while True:
                raw = await receive(*arguments, **options)
                if self._passes(connection, raw):
                    return raw

        return read

    def _passes(self, connection: Any, raw: Any) -> bool:
        import msgspec.msgpack

        try:
            content = msgspec.msgpack.decode(raw)
            kind = content['type']
            if kind == BEAT:
                self._beat(connection, content.get('visible') is True, content.get('press'))
                return False
            if kind == CAMERA:
                sound = _is_camera(content)
            elif kind == 'GuiUpdateMessage':
                sound = connection in self._beats and set(content['updates']) == {'value'}
            else:
                sound = connection in self._beats
            if sound:
                check_message(raw)
        except Exception:  # whatever a client may send
            sound = False
        self.rejected += not sound
        return sound

    def _beat(self, connection: Any, visible: bool, number: Any) -> None:
        if connection in self._beats:
            now = time.monotonic()
            self._beats[connection] = now if visible else -math.inf
            self._keys.setdefault(connection, HeldKey()).update(number if visible and type(number) is int else 0, now)


class _Replaced:
    """A module with some names replaced."""

    def __init__(self, real: Any, **names: Any) -> None:
        self._real = real
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _quiet_logger() -> logging.Logger:
    """Return a logger that suppresses tracebacks of rejected and broken connections."""
    logger = logging.getLogger('dyn_nodes.viewer.gate')
    logger.propagate = False
    logger.setLevel(logging.CRITICAL)
    return logger


def _is_camera(content: Mapping[str, Any]) -> bool:
    for name, size in CAMERA_SIZES.items():
        values = content[name] if size > 1 else [content[name]]
        if len(values) != size or not all(type(v) in (int, float) and abs(v) < 1e9 for v in values):
            return False
    return True


def _answer(status: http.HTTPStatus, text: str) -> Any:
    from websockets import Headers
    from websockets.http11 import Response

    body = text.encode()
    headers = Headers({'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': str(len(body)), **HEADERS})
    return Response(status, status.phrase, headers, body)


def _with_headers(response: Any) -> Any:
    """Return viser's response with the security headers, and its page with the script."""
    if response is None:
        return _answer(http.HTTPStatus.BAD_REQUEST, 'expected a websocket\n')
    for name, value in HEADERS.items():
        response.headers.pop(name, None)
        response.headers[name] = value
    if response.status_code == http.HTTPStatus.OK and response.headers.get('Content-Type', '').startswith('text/html'):
        response.body = with_script(response.body)
        del response.headers['Content-Length']
        response.headers['Content-Length'] = str(len(response.body))
    return response
