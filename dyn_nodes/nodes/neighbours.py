"""Detection of other machines and of second publishers of measurements, whose messages would be mixed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from dyn_nodes.middleware import RUNTIME, Clock, ClockType, QoSProfile, ReliabilityPolicy, message
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.exchange import CLOCK, is_simulated, undeclared_clock
from dyn_nodes.nodes.guarded import NAMELESS, node_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunFailed

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
TOPIC = 'joint_states'
MEASUREMENTS = (TOPIC, 'imu', 'payload', 'payload/interval', 'hydraulics/')
"""Topics of measurements, each with one publisher; the last entry is the prefix of all pressures."""
CHECK_PERIOD = 1.0
"""Wall-clock period of the check of the graph, s."""
LEASE = 6.0 if RUNTIME == 'embedded' else 25.0
"""Wall time for which a killed process may remain in the graph, s."""
DISCOVERY = 0.0 if RUNTIME == 'embedded' else 1.0
"""Wall time from the first node of a process until the middleware has discovered the existing nodes, s."""
ADVICE = 'give each machine another namespace (namespace:=...) or another ROS_DOMAIN_ID'

MACHINE = ''
"""Key of a problem of all topics: another machine."""

_made: Counter[str] = Counter()
"""Numbers of nodes created by this process, by full name; a destroyed node may remain in the graph for a while."""


_first: float | None = None
"""Wall time at which this process created its first node, s."""


def count_made(node: Any) -> None:
    """Count a node of this process to distinguish it from nodes of other processes."""
    global _first
    _first = _first or time.monotonic()
    _made[node.get_fully_qualified_name()] += 1


def require_alone(node: Any) -> None:
    """Wait until only this process has nodes of this name in the graph; a killed node leaves it.

    Raises:
        ParameterError: another node of this name is still in the graph after `LEASE`.
    """
    name = node.get_fully_qualified_name()
    _discover(lambda: _full_names(node).count(name) > _made[name])
    until = time.monotonic() + LEASE
    while _full_names(node).count(name) > _made[name]:
        if time.monotonic() > until:
            raise ParameterError(f'a node {name} is in this domain already: {ADVICE}')
        time.sleep(0.1)


def _discover(condition: Callable[[], bool]) -> None:
    """Wait until the middleware has discovered other nodes or a condition is true."""
    until = (_first or time.monotonic()) + DISCOVERY
    while time.monotonic() < until and not condition():
        time.sleep(0.05)


def require_no_publisher(node: Any) -> None:
    """Wait until no other process publishes the joint states of a node.

    Raises:
        ParameterError: another node still publishes them after `LEASE`; the message names it.
    """
    topic = node.resolve_topic_name(TOPIC)
    _discover(lambda: bool(_of_others(sources_of(node, topic))))
    until = time.monotonic() + LEASE
    while sources := _of_others(sources_of(node, topic)):
        if time.monotonic() > until:
            raise ParameterError(f'{", ".join(sources)} publishes {TOPIC} in this domain already: {ADVICE}')
        time.sleep(0.1)


def sources_of(node: Any, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic, one per endpoint."""
    return sorted(node_of(endpoint) for endpoint in node.get_publishers_info_by_topic(topic))


def _of_others(sources: list[str]) -> list[str]:
    """Return the sources without earlier nodes of this process."""
    earlier = Counter({name: _made[name] - 1 for name in set(sources) if _made[name] > 1})
    return sorted((Counter(sources) - earlier).elements())


def _full_names(node: Any) -> list[str]:
    return [f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()]


class Neighbours:
    """Detects a second publisher of measurements, and nodes of another machine in the namespace of a node.

    The process of a node that has not started ends. Followers of a simulation also end if a second publisher of the
    joint states remains; followers of a real machine ignore a topic while it has two publishers, and so enter their
    safe state.

    Args:
        node: with its `machine` (None: any); `live`: joint states may be measured on a real machine; `has_started`: it
            has received or publishes joint states; `watches_ages`: it distinguishes real and simulated time.
        is_source: whether it publishes the joint states.

    Attributes:
        topics: checked for a second publisher.
        problem: text of the present problem, or ''.
        clock: warning of an undeclared /clock or of a second publisher of it, or ''.
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
        """Return whether two checks have found a problem."""
        return self._lasting(time.monotonic()) >= CHECK_PERIOD

    def is_mixed_on(self, topic: str) -> bool:
        """Return whether two checks have found a second publisher of a topic, or another machine."""
        now = time.monotonic()
        return any(now - self._since.get(key, now) >= CHECK_PERIOD for key in (topic, MACHINE))

    def _lasting(self, now: float) -> float:
        """Return the duration of the oldest problem, s."""
        return max((now - since for since in self._since.values()), default=0.0)

    def health(self) -> Health | None:
        """Return the status `neighbours`, None without a problem."""
        if self.is_mixed:
            return Health(ERROR, self.problem)
        return Health(WARN, self.clock) if self.clock else None

    def check(self) -> None:
        """Check the graph. Raises RunFailed if this node must end."""
        now = time.monotonic()
        self._check_clock()
        self._others = {name: entry for name, entry in self._others.items() if now - entry[1] < LEASE}
        problems = self._problems()
        is_new = not self._since
        self._since = {key: self._since.get(key, now) for key in problems}
        self.problem = '; '.join(problems.values())
        if problems and not is_new:
            self.node.get_logger().error(self.problem, throttle_duration_sec=5.0)
        if self._ends(now):
            raise RunFailed(self.problem)

    def _check_clock(self) -> None:
        """Find an undeclared /clock, and a second publisher of it: time would jump between the two.

        Publishers are in the log once their names are known, and in the diagnostics before.
        """
        values, before, self.clock = self.node.values, self.clock, ''
        if self.is_source or is_simulated(self.node, values):
            self.clock = self._second_source(CLOCK)
            if self.clock and self.clock != before and NAMELESS not in self.clock:
                self.node.get_logger().warn(self.clock)
        elif self.node.watches_ages:
            self.clock = undeclared_clock(self.node, values)

    def _problems(self) -> dict[str, str]:
        """Return the problems by topic; only the one of `MACHINE` if there is another machine."""
        if foreign := self._foreign():
            return {MACHINE: foreign}
        problems = {topic: self._second_source(topic) for topic in self.topics}
        return {topic: text for topic, text in problems.items() if text}

    def _ends(self, now: float) -> bool:
        """Return whether this node must end because its machine is mixed with another."""
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
            return f'{", ".join(sources)} also publishes {name}: {ADVICE}'
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
                continue  # nodes of one process belong together
            for pair in status.values:
                if pair.key == 'machine' and pair.value != machine:
                    self._others[name] = pair.value, time.monotonic()
