"""Publishers of reports whose messages differ only in stamps and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware.prepared import PreparedMessage


class PreparedPublisher:
    """A publisher with preserialized messages, see `middleware.prepared`.

    Args:
        publisher: of the topic.
        prototype: a message with the frames and lengths of all messages.
        fields: paths of the fields with variable numbers.
    """

    def __init__(self, publisher: Any, prototype: Any, *fields: str) -> None:
        self.publisher = publisher
        self._message = PreparedMessage(prototype, fields)

    def publish(self, stamp: bytes, numbers: Sequence[float]) -> None:
        """Publish a message.

        Args:
            stamp: of `packed_stamp`, for all stamps of the message, if any.
            numbers: in the order of the message's definition.
        """
        self.publisher.publish(self._message.filled(stamp, numbers))

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions to the published topics."""
        return int(self.publisher.get_subscription_count())
