"""Other machines and second senders of measurements, whose messages would be mixed with those of a node's machine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from dyn_nodes.middleware import RUNTIME, Clock, ClockType, QoSProfile, ReliabilityPolicy, message
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.exchange import undeclared_clock
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunFailed

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
TOPIC = 'joint_states'
MEASUREMENTS = (TOPIC, 'imu', 'payload', 'payload/interval', 'hydraulics/')
"""Topics of what is measured on a machine, each with one sender; the last one begins the names of all pressures."""
CHECK_PERIOD = 1.0
"""Wall time between two looks at the graph, s."""
LEASE = 6.0 if RUNTIME == 'embedded' else 25.0
"""Wall time for which a killed process may stay in the graph, s."""
DISCOVERY = 0.0 if RUNTIME == 'embedded' else 1.0
"""Wall time after the first node of a process in which the middleware learns of those that are there already, s."""
ADVICE = 'give each machine another namespace (namespace:=...) or another ROS_DOMAIN_ID'

MACHINE = ''
"""Key of a problem that concerns all topics: another machine."""
UNKNOWN = '_NODE_NAME_UNKNOWN_'
"""Name that rmw gives a node whose endpoint is in its graph before the node."""

_made: Counter[str] = Counter()
"""Nodes that this process has made, by full name; one that has ended may stay in the graph for a while."""


_first: float | None = None
"""Wall time at which this process made its first node, s."""


def count_made(node: Any) -> None:
    """Count a node of this process, which is not to be taken for one of another process."""
    global _first
    _first = _first or time.monotonic()
    _made[node.get_fully_qualified_name()] += 1


def require_alone(node: Any) -> None:
    """Wait until no node of this name is in the graph but those of this process; one that was killed leaves it.

    Raises:
        ParameterError: another one is still there after `LEASE`.
    """
    name = node.get_fully_qualified_name()
    _discover(lambda: _full_names(node).count(name) > _made[name])
    until = time.monotonic() + LEASE
    while _full_names(node).count(name) > _made[name]:
        if time.monotonic() > until:
            raise ParameterError(f'a node {name} is in this domain already: {ADVICE}')
        time.sleep(0.1)


def _discover(condition: Callable[[], bool]) -> None:
    """Wait for the middleware of a process to learn of others, at most until something is found."""
    until = (_first or time.monotonic()) + DISCOVERY
    while time.monotonic() < until and not condition():
        time.sleep(0.05)


def require_no_publisher(node: Any) -> None:
    """Wait until nothing publishes the joint states that a node is about to publish, but earlier nodes of this process.

    Raises:
        ParameterError: something still does after `LEASE`; the message names the node.
    """
    topic = node.resolve_topic_name(TOPIC)
    _discover(lambda: bool(_of_others(sources_of(node, topic))))
    until = time.monotonic() + LEASE
    while sources := _of_others(sources_of(node, topic)):
        if time.monotonic() > until:
            raise ParameterError(f'{", ".join(sources)} publishes {TOPIC} in this domain already: {ADVICE}')
        time.sleep(0.1)


def sources_of(node: Any, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, one an endpoint."""
    publishers = node.get_publishers_info_by_topic(topic)
    return sorted(
        'a node whose name is not known'
        if info.node_name == UNKNOWN
        else f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in publishers
    )


def _of_others(sources: list[str]) -> list[str]:
    """Return the sources without those of nodes that this process has made before the present one."""
    earlier = Counter({name: _made[name] - 1 for name in set(sources) if _made[name] > 1})
    return sorted((Counter(sources) - earlier).elements())


def _full_names(node: Any) -> list[str]:
    return [f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()]


class Neighbours:
    """Notices a second publisher of measurements, and nodes of another machine in the namespace of a node.

    A node that has not begun refuses: its process ends. Followers of a simulation end, too, where a second publisher
    of the joint states stays; followers of a real machine take no messages of a topic while it has two, and so come to
    their safe state.

    Args:
        node: with its `machine`, None where it is that of any; `live`: its joint states may be those of a real
            machine; `has_started`: it has had joint states, or publishes them; `watches_ages`: it needs to know whether
            time is that of a simulation.
        is_source: it publishes the joint states itself.

    Attributes:
        topics: that have one publisher each.
        problem: what is wrong, or ''.
        clock: a warning of a /clock that was not declared, or ''.
    """

    def __init__(self, node: Any, is_source: bool = False) -> None:
        self.node, self.is_source = node, is_source
        self.topics = [TOPIC] if is_source else []
        self.problem = self.clock = ''
        self._since: dict[str, float] = {}
        self._others: dict[str, tuple[str, float]] = {}
        self._space = node.get_namespace().rstrip('/')
        newest = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, newest)
        node.create_timer(CHECK_PERIOD, self.check, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def is_mixed(self) -> bool:
        """Two looks have found a problem."""
        return self._lasting(time.monotonic()) >= CHECK_PERIOD

    def is_mixed_on(self, topic: str) -> bool:
        """Return whether two looks have found a second publisher of a topic, or another machine."""
        now = time.monotonic()
        return any(now - self._since.get(key, now) >= CHECK_PERIOD for key in (topic, MACHINE))

    def _lasting(self, now: float) -> float:
        """Return for how long there has been a problem, s."""
        return max((now - since for since in self._since.values()), default=0.0)

    def health(self) -> Health | None:
        """Return the status `neighbours`, None where there is nothing to report."""
        if self.is_mixed:
            return Health(ERROR, self.problem)
        return Health(WARN, self.clock) if self.clock else None

    def check(self) -> None:
        """Look at the graph. Raises RunFailed where this node must not go on."""
        now = time.monotonic()
        if self.node.watches_ages:
            self.clock = undeclared_clock(self.node, self.node.values)
        self._others = {name: entry for name, entry in self._others.items() if now - entry[1] < LEASE}
        problems = self._problems()
        is_new = not self._since
        self._since = {key: self._since.get(key, now) for key in problems}
        self.problem = '; '.join(problems.values())
        if problems and not is_new:
            self.node.get_logger().error(self.problem, throttle_duration_sec=5.0)
        if self._ends(now):
            raise RunFailed(self.problem)

    def _problems(self) -> dict[str, str]:
        """Return what is wrong by topic; by `MACHINE` and nothing else where there is another machine."""
        if foreign := self._foreign():
            return {MACHINE: foreign}
        problems = {topic: self._second_source(topic) for topic in self.topics}
        return {topic: text for topic, text in problems.items() if text}

    def _ends(self, now: float) -> bool:
        """Return whether this node must not go on: its machine is mixed with another."""
        lasts = max((now - self._since[key] for key in (TOPIC, MACHINE) if key in self._since), default=0.0)
        if self.node.has_started:
            return not (self.is_source or self.node.live) and lasts > 2.0 * LEASE
        return lasts > (CHECK_PERIOD if MACHINE in self._since else LEASE) and not self.node.live

    def _second_source(self, topic: str) -> str:
        name = self.node.resolve_topic_name(topic)
        sources = sources_of(self.node, name)
        if len(sources) < 2:
            return ''
        this = self.node.get_fully_qualified_name()
        if self.is_source and this in sources:
            sources.remove(this)
            return f'{", ".join(sources)} publishes {name}, too: {ADVICE}'
        return f'{name} has {len(sources)} publishers ({", ".join(sources)}): {ADVICE}'

    def _foreign(self) -> str:
        others = [f'{name} is of machine {machine!r}' for name, (machine, _) in sorted(self._others.items())]
        return f'{", ".join(others)}, this node of {self.node.machine.name!r}: {ADVICE}' if others else ''

    def _on_diagnostics(self, msg: Any) -> None:
        if self.node.machine is None:
            return
        machine = self.node.machine.name
        for status in msg.status:
            name = f'/{status.hardware_id}'
            if name.rpartition('/')[0] != self._space or _made[name]:
                continue  # nodes of one process are together on purpose
            for pair in status.values:
                if pair.key == 'machine' and pair.value != machine:
                    self._others[name] = pair.value, time.monotonic()
