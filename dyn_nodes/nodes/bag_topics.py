"""Publishers that write their messages into a bag instead of the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dyn_nodes.middleware import QoSProfile, message_definition, serialize_message, type_hash, type_name
from dyn_nodes.middleware.bags import BagWriter, QosRecord, Topic

BATCH = 2000
"""Messages between two checkpoints."""


class BagTopics:
    """Replaces a node as the factory of publishers.

    Args:
        directory: of the bag; it must not exist.

    Attributes:
        time: log time of the next message, ns.

    Raises:
        BagError: the directory exists or cannot be created.
    """

    def __init__(self, directory: Path | str) -> None:
        self.bag = BagWriter(directory, reproducible=True)
        self.time = 0
        self._waiting: list[tuple[int, int, int, bytes]] = []

    def create_publisher(self, kind: Any, topic: str, qos: QoSProfile | int) -> BagPublisher:
        """Return a publisher of a topic, by its name without a leading slash or with one."""
        name, depth = type_name(kind), qos if isinstance(qos, int) else qos.depth
        record = QosRecord(history='keep_last', depth=depth)
        entry = Topic(f'/{topic.lstrip("/")}', name, message_definition(name), type_hash(name), (record,))
        return BagPublisher(self, self.bag.add_topic(entry))

    def write(self, number: int, data: bytes) -> None:
        """Write a message of a topic by its number. Raises OSError."""
        self._waiting.append((number, self.time, self.time, data))
        if len(self._waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.bag.checkpoint(waiting)

    def close(self, custom: dict[str, str] | None = None) -> None:
        """Write the remaining messages and close the bag. Raises OSError."""
        self._flush()
        self.bag.close(custom)


class BagPublisher:
    """A publisher of `BagTopics`."""

    def __init__(self, topics: BagTopics, number: int) -> None:
        self.topics, self.number = topics, number

    def publish(self, msg: Any) -> None:
        """Write a message, or its CDR."""
        self.topics.write(self.number, msg if isinstance(msg, bytes) else bytes(serialize_message(msg)))

    def get_subscription_count(self) -> int:
        """Return 1: the bag."""
        return 1
