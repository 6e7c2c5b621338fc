"""Publishers and subscribers by topic."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class NodeGraph:
    """Graph of nodes and topics.

    Attributes:
        nodes: full names.
        types: type by topic.
        publishers, subscribers: names of nodes by topic.
    """

    nodes: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    publishers: dict[str, list[str]] = field(default_factory=dict)
    subscribers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        """Sorted names of the topics."""
        return sorted(self.types)

    def edges(self) -> list[tuple[str, str, bool]]:
        """Return (node, topic, whether the node publishes it)."""
        published = [(node, topic, True) for topic in self.topics for node in self.publishers.get(topic, [])]
        return published + [(node, topic, False) for topic in self.topics for node in self.subscribers.get(topic, [])]
