"""Wait for the other nodes before time starts, so that no first message is lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware.launching import finished_nodes
from dyn_nodes.nodes.bring_up import BringUp
from dyn_nodes.nodes.running import RunFailed

IGNORED = ('/rosout', '/parameter_events', '/diagnostics')
RECORDER = 'recorder_node'
GRACE = 0.25
"""Wall time between the readiness of all nodes and the start, s: discovery by the others may be later."""


class Readiness:
    """Reports when every awaited node is present and connected.

    A node that is in the graph without subscriptions may compile: the wait for it has no limit.

    Args:
        node: the waiting node.
        names: of the nodes to wait for, in the waiting node's namespace (empty names are ignored).
        timeout: wall time within which an absent node or publisher must appear, s; restarted by each one that does.
        topics: fully qualified, that need a publisher.
        required: raise RunFailed after `timeout`; otherwise time starts with the present nodes and a warning.
        managed: names of managed nodes that are configured and activated once all are connected.
    """

    def __init__(
        self,
        node: Any,
        names: Sequence[str],
        timeout: float,
        topics: Sequence[str] = (),
        required: bool = False,
        managed: Sequence[str] = (),
    ) -> None:
        self.node, self.timeout, self.required = node, timeout, required
        self.names = [name for name in names if name]
        self.topics = tuple(topics)
        self.bring_up = BringUp(node, managed)
        self.began = time.monotonic()
        self.missing = ''
        self._logged_at = self.began
        self._absent: tuple[str, ...] = ()
        self._since: float | None = None

    @property
    def awaits(self) -> bool:
        """Return whether there is a node or topic to wait for."""
        return bool(self.names or self.topics or self.bring_up.names)

    def check(self) -> bool:
        """Return whether time may start.

        Raises:
            RunFailed: an awaited node has ended, or is still absent after `timeout` and required.
        """
        self.check_finished()
        self.missing = self._missing()
        now = time.monotonic()
        if not self.missing:
            self._since = self._since or now
            return now - self._since > GRACE
        self._since = None
        if now - self.began > self.timeout:
            if self.required:
                raise RunFailed(f'{self.missing}: nothing has appeared for {self.timeout:g} s (wait_timeout)')
            self.node.get_logger().warn(f'starting without waiting any longer: {self.missing}')
            return True
        if now - self._logged_at > 2.0:
            self._logged_at = now
            self.node.get_logger().info(f'waiting: {self.missing}')
        return False

    def check_finished(self) -> None:
        """Raise RunFailed if the launch of this node has recorded the end of an awaited node."""
        if not self.names:
            return
        for node, how in finished_nodes().items():
            name = node.rpartition('/')[2]
            if name in self.names:
                raise RunFailed(f'{name}, which is waited for, has ended: {how}')

    def subscriptions(self) -> frozenset[bytes]:
        """Return the identities of the present subscriptions to `joint_states`."""
        topic = self.node.resolve_topic_name('joint_states')
        return frozenset(bytes(info.endpoint_gid) for info in self.node.get_subscriptions_info_by_topic(topic))

    def _missing(self) -> str:
        there = {name for name, _ in self.node.get_node_names_and_namespaces()}
        absent = [name for name in self.names if name not in there]
        unpublished = [topic for topic in self.topics if not self.node.count_publishers(topic)]
        self._note_progress((*absent, *unpublished))
        if absent:
            return f'no node {", ".join(absent)} yet'
        if unpublished:
            return f'nothing publishes {", ".join(unpublished)} yet'
        listeners = self._listeners(self.node.resolve_topic_name('joint_states'))
        others = [name for name in self.names if name != RECORDER]
        unsubscribed = [name for name in others if name not in listeners]  # a node is announced before its topics are
        if unsubscribed:
            return f'{", ".join(unsubscribed)} has not subscribed to joint_states yet'
        if self.node.joint_states.get_subscription_count() < len(self.names):  # a recorder is one of them
            return 'joint_states is not yet connected to all of its subscriptions'
        missing = self.bring_up.missing()
        return missing or (self._unrecorded() if RECORDER in self.names else '')

    def _note_progress(self, absent: tuple[str, ...]) -> None:
        """Restart the timeout if a node or publisher has appeared, or none is absent."""
        if not absent or not set(absent) >= set(self._absent):
            self.began = time.monotonic()
        self._absent = absent

    def _unrecorded(self) -> str:
        """Return a text with a topic that the recorder has not subscribed to, or ''."""
        for topic, _ in self.node.get_topic_names_and_types():
            if topic in IGNORED or not self.node.count_publishers(topic):
                continue
            if RECORDER not in self._listeners(topic):
                return f'the recorder has not subscribed to {topic} yet'
        for publisher in self.node.publishers:  # it is in the graph a moment before it is connected
            if publisher.topic_name not in IGNORED and not publisher.get_subscription_count():
                return f'the recorder is not yet connected to {publisher.topic_name}'
        return ''

    def _listeners(self, topic: str) -> set[str]:
        return {info.node_name for info in self.node.get_subscriptions_info_by_topic(topic)}
