"""The only module with names of viser that are not in its documented interface; no other module may use one.

`test/test_private_names.py` names those that a version of viser lacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any


class AnyThreadEvent(asyncio.Event):
    """An event that threads other than that of its loop may set, as viser's do for every message.

    The loop may add and remove waiters meanwhile. `asyncio.Event` then raises RuntimeError with a part of them woken.
    """

    def set(self) -> None:
        """Wake every waiter."""
        while True:
            try:
                return super().set()
            except RuntimeError:  # the waiters changed
                self.clear()


@cache
def serving_module() -> Any:
    """Return the module whose `websockets.asyncio.server.serve` serves viser's page and websocket.

    Its buffers of messages may be written to by any thread.
    """
    from viser.infra import _infra

    infra: Any = _infra
    plain: Any = infra.AsyncMessageBuffer

    class Buffer(plain):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.message_event = AnyThreadEvent()

    infra.AsyncMessageBuffer = Buffer
    return infra


def connections_of(server: Any) -> Mapping[int, Any]:
    """Return the open websockets of a `viser.ViserServer` by the numbers of their clients, as they change."""
    connections: Mapping[int, Any] = server._websock_server._live_connections
    return connections


def check_message(raw: bytes) -> None:
    """Raise an exception, of any type, if viser cannot deserialize a message of a page."""
    from viser._messages import Message

    Message.deserialize(raw)
