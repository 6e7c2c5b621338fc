"""Other machines in the domain and namespace of a node, whose messages would be mixed with those of its machine."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from dyn_nodes.middleware import RUNTIME, Clock, ClockType, QoSProfile, ReliabilityPolicy, message
from dyn_nodes.nodes.diagnostics import ERROR, Health
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunFailed

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
TOPIC = 'joint_states'
LOOK = 1.0
"""Wall time between two looks at the graph, s."""
LEASE = 6.0 if RUNTIME == 'embedded' else 25.0
"""Wall time for which a killed process may stay in the graph, s."""
ADVICE = 'give each machine another namespace (namespace:=...) or another ROS_DOMAIN_ID'

UNKNOWN = '_NODE_NAME_UNKNOWN_'
"""Name that rmw gives a node whose endpoint is in its graph before the node."""

_made: Counter[str] = Counter()
"""Nodes that this process has made, by full name; one that has ended may stay in the graph for a while."""


def count_made(node: Any) -> None:
    """Count a node of this process, which is not to be taken for one of another process."""
    _made[node.get_fully_qualified_name()] += 1


def require_alone(node: Any) -> None:
    """Wait until no node of this name is in the graph but those of this process; one that was killed leaves it.

    Raises:
        ParameterError: another one is still there after `LEASE`.
    """
    own = node.get_fully_qualified_name()
    until = time.monotonic() + LEASE
    while _full_names(node).count(own) > _made[own]:
        if time.monotonic() > until:
            raise ParameterError(f'a node {own} is in this domain already: {ADVICE}')
        time.sleep(0.1)


def require_silence(node: Any) -> None:
    """Wait until nothing publishes the joint states that a node is about to publish, but earlier nodes of this process.

    Raises:
        ParameterError: something still does after `LEASE`; the message names the node.
    """
    until = time.monotonic() + LEASE
    while sources := _of_others(sources_of(node, node.resolve_topic_name(TOPIC))):
        if time.monotonic() > until:
            raise ParameterError(f'{", ".join(sources)} publishes {TOPIC} in this domain already: {ADVICE}')
        time.sleep(0.1)


def sources_of(node: Any, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, one an endpoint."""
    found = node.get_publishers_info_by_topic(topic)
    return sorted(
        'a node whose name is not known'
        if info.node_name == UNKNOWN
        else f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in found
    )


def _of_others(sources: list[str]) -> list[str]:
    """Return the sources without those of nodes that this process has made before the present one."""
    earlier = Counter({name: _made[name] - 1 for name in set(sources) if _made[name] > 1})
    return sorted((Counter(sources) - earlier).elements())


def _full_names(node: Any) -> list[str]:
    return [f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()]


class Neighbours:
    """Notices a second publisher of the joint states, and nodes of another machine in the namespace of a node.

    A node that has not begun refuses: its process ends. Followers of a simulation end, too, where a second publisher
    stays; followers of a real machine take no joint states while there are two, and so come to their safe state.

    Args:
        node: with its `machine`; `live`: its joint states may be those of a real machine; `has_begun`: it has had joint
            states, or publishes them.
        is_source: it publishes the joint states itself.

    Attributes:
        problem: what is wrong, or ''.
    """

    def __init__(self, node: Any, is_source: bool = False) -> None:
        self.node, self.topic, self.is_source = node, node.resolve_topic_name(TOPIC), is_source
        self.problem = ''
        self._since: float | None = None
        self._others: dict[str, tuple[str, float]] = {}
        self._space = node.get_namespace().rstrip('/')
        newest = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, newest)
        node.create_timer(LOOK, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def is_mixed(self) -> bool:
        """Two looks have found the problem."""
        return self._since is not None and time.monotonic() - self._since >= LOOK

    def health(self) -> Health | None:
        """Return the status `neighbours`, None where there is nothing to report."""
        return Health(ERROR, self.problem) if self.is_mixed else None

    def look(self) -> None:
        """Look at the graph. Raises RunFailed where this node must not go on."""
        now = time.monotonic()
        self._others = {name: own for name, own in self._others.items() if now - own[1] < LEASE}
        foreign = self._foreign()
        problem = foreign or self._second_source()
        if not problem:
            self.problem, self._since = '', None
            return
        is_new = self._since is None
        self.problem, self._since = problem, self._since or now
        if not is_new:
            self.node.get_logger().error(problem, throttle_duration_sec=5.0)
        lasts = now - self._since
        if self.node.has_begun:
            ends = not (self.is_source or self.node.live) and lasts > 2.0 * LEASE
        else:
            ends = lasts > (LOOK if foreign else LEASE) and not self.node.live
        if ends:
            raise RunFailed(problem)

    def _second_source(self) -> str:
        sources = sources_of(self.node, self.topic)
        if len(sources) < 2:
            return ''
        own = self.node.get_fully_qualified_name()
        if self.is_source and own in sources:
            sources.remove(own)
            return f'{", ".join(sources)} publishes {self.topic}, too: {ADVICE}'
        return f'{self.topic} has {len(sources)} publishers ({", ".join(sources)}): {ADVICE}'

    def _foreign(self) -> str:
        own = self.node.machine.name
        found = [f'{name} is of machine {machine!r}' for name, (machine, _) in sorted(self._others.items())]
        return f'{", ".join(found)}, this node of {own!r}: {ADVICE}' if found else ''

    def _on_diagnostics(self, msg: Any) -> None:
        own = self.node.machine.name
        for status in msg.status:
            name = f'/{status.hardware_id}'
            if name.rpartition('/')[0] != self._space or _made[name]:
                continue  # nodes of one process are together on purpose
            for pair in status.values:
                if pair.key == 'machine' and pair.value != own:
                    self._others[name] = pair.value, time.monotonic()
