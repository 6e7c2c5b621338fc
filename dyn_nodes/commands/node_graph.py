"""Who publishes and who subscribes, by topic."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Talk:
    """Publishers and subscribers by topic.

    Attributes:
        nodes: Full names.
        types: Type by topic.
        publishers, subscribers: Names of nodes by topic.
    """

    nodes: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    publishers: dict[str, list[str]] = field(default_factory=dict)
    subscribers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        """Names, sorted."""
        return sorted(self.types)

    def edges(self) -> list[tuple[str, str, bool]]:
        """Return (node, topic, whether the node publishes it)."""
        spoken = [(node, topic, True) for topic in self.topics for node in self.publishers.get(topic, [])]
        return spoken + [(node, topic, False) for topic in self.topics for node in self.subscribers.get(topic, [])]
