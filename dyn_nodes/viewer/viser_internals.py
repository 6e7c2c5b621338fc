"""The only module that uses names of viser outside its documented interface.

`test/test_private_names.py` reports names that a version of viser lacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any


class AnyThreadEvent(asyncio.Event):
    """An event that can be set from other threads than its loop, as viser does for every message.

    The loop may add and remove waiters meanwhile. `asyncio.Event` then raises RuntimeError after waking some of them.
    """

    def set(self) -> None:
        """Wake all waiters."""
        while True:
            try:
                return super().set()
            except RuntimeError:  # the waiters changed
                self.clear()


@cache
def serving_module() -> Any:
    """Return the module whose `websockets.asyncio.server.serve` serves viser's page and websocket.

    Its message buffers accept messages from any thread.
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
    """Return a live view of the open websockets of a `viser.ViserServer` by client number."""
    connections: Mapping[int, Any] = server._websock_server._live_connections
    return connections


def check_message(raw: bytes) -> None:
    """Raise an exception of any type if viser cannot deserialize a message of a page."""
    from viser._messages import Message

    Message.deserialize(raw)
