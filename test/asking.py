"""Repeated requests to services.

A client reports a service as ready as soon as it has matched the server. The server may match the client later: answers
in between are lost without an error (a race of DDS services; Fast DDS waits 0.1 s for the match). A busy computer makes
that likely, so a test repeats its request.
"""

from __future__ import annotations

import time
from typing import Any

AGAIN = 10.0
"""Wall time after which a request is sent again, s; compilation for an answer may take longer."""
MATCHED = 1.0
"""Wall time in which a server matches a client that reports it as ready, s."""


class Question:
    """A request that is repeated until one answer arrives.

    Args:
        client: of the service.
        request: message.
        once: never repeat the request, as every repetition has an effect; wait for the match instead.
    """

    def __init__(self, client: Any, request: Any, once: bool = False) -> None:
        self._client, self._request, self._once = client, request, once
        self._ready_at = self._asked_at = 0.0
        self._answers: list[Any] = []

    def is_answered(self) -> bool:
        """Send the request when it is due; return whether an answer has arrived."""
        now = time.monotonic()
        is_answered = any(answer.done() for answer in self._answers)
        if not is_answered and self._is_due(now):
            self._answers.append(self._client.call_async(self._request))
            self._asked_at = now
        return is_answered

    def _is_due(self, now: float) -> bool:
        if not self._client.service_is_ready():
            return False
        self._ready_at = self._ready_at or now
        if self._once:
            return not self._answers and now - self._ready_at > MATCHED
        return not self._answers or now - self._asked_at > AGAIN

    @property
    def answer(self) -> Any:
        """Return the first answer."""
        return next(answer for answer in self._answers if answer.done()).result()
