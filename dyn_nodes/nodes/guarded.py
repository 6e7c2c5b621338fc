"""Base class of nodes with guarded callbacks: invalid stamps are rejected, an exception does not end the process.

A message of a valid type may hold any value: a stamp before 1970 or with 4 s of nanoseconds, a position of 1e300 rad.
`GuardedNode` wraps every callback of a node. Before the callback it rejects a message with invalid stamps. If the
callback raises, the exception is logged, counted and shown on /diagnostics, the message counts as rejected, and the
node continues: it has sent no command for that message, so that the timeouts of other nodes lead to their safe states.
"""

from __future__ import annotations

import functools
import inspect
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dyn_nodes.middleware import ExternalShutdownException, Node, SetParametersResult, ok, type_name
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health, one_line
from dyn_nodes.nodes.running import RunOver, is_interrupt
from dyn_nodes.nodes.stamps import StampError, check_stamps, stamped_fields

THROTTLE = 1.0
"""Minimum time between two log messages of one kind, s."""
UNKNOWN = '_NODE_NAME_UNKNOWN_'
"""Name of a node in rmw whose endpoint is in the graph before the node."""
NAMELESS = 'a node of unknown name'
TYPES_PERIOD = 2.0
"""Wall-clock period of the check of the types of publishers, s."""


class Guard:
    """Counts messages that the callbacks of a node could not use.

    Attributes:
        rejected: messages with invalid stamps, by topic.
        failed: exceptions, by callback.
        last, last_failure: text of the newest fault, and of the newest exception.
    """

    def __init__(self) -> None:
        self.rejected: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.last = self.last_failure = ''

    def health(self, dropped: Mapping[str, int]) -> Health | None:
        """Return the status `messages`, or None if all messages could be used.

        Args:
            dropped: messages that the middleware could not decode or deliver, by reason and topic.
        """
        if not (dropped or self.rejected or self.failed):
            return None
        counts = [
            *dropped.items(),
            *((f'bad stamp {topic}', count) for topic, count in sorted(self.rejected.items())),
            *((f'failed {callback}', count) for callback, count in sorted(self.failed.items())),
        ]
        values = {callback: str(count) for callback, count in counts}
        if self.last:
            values['last'] = self.last
        total = sum(count for _, count in counts)
        if self.failed:
            return Health(ERROR, f'{sum(self.failed.values())} callbacks failed: {self.last_failure}', values)
        return Health(WARN, f'{total} messages could not be used', values)


def node_of(endpoint: Any) -> str:
    """Return the full name of the node of an endpoint in the graph."""
    if endpoint.node_name == UNKNOWN:
        return NAMELESS
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


def _location(error: BaseException) -> str:
    """Return file and line of an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    return f'{Path(frames[-1].filename).name}:{frames[-1].lineno}' if frames else 'unknown place'


class GuardedNode(Node):
    """A node with guarded callbacks; see the module."""

    _types_at, _other_types = -TYPES_PERIOD, ''

    @functools.cached_property
    def guard(self) -> Guard:
        """Return the counts of messages that callbacks could not use."""
        return Guard()

    @functools.cached_property
    def _received_by(self) -> dict[str, list[Callable[[Any], None]]]:
        """Return the callbacks of subscriptions by topic."""
        return {}

    @functools.cached_property
    def _answered_by(self) -> dict[str, Callable[[Any], Any]]:
        """Return the callbacks of services by name."""
        return {}

    @functools.cached_property
    def _types(self) -> dict[str, Any]:
        """Return the message types of subscriptions by topic."""
        return {}

    def message_health(self) -> Health | None:
        """Return the status `messages` for /diagnostics, None if all messages could be used."""
        count = getattr(self, 'count_dropped', dict)
        health = self.guard.health(count())
        if time.monotonic() - self._types_at >= TYPES_PERIOD:
            self._types_at, self._other_types = time.monotonic(), self._find_other_types()
        if self._other_types:
            health = health or Health()
            health.worse(WARN, self._other_types)
        return health

    def _find_other_types(self) -> str:
        """Return the publishers of subscribed topics whose message type is another, and log them when they change."""
        texts = []
        for topic, kind in self._types.items():
            expected = type_name(kind)
            for publisher in self.get_publishers_info_by_topic(topic):
                if publisher.topic_type != expected:
                    actual = f'{publisher.topic_type} of {node_of(publisher)}'
                    texts.append(f'{topic}: expected {expected}, found {actual}, not received')
        text = '; '.join(sorted(set(texts)))
        if text and text != self._other_types:
            self.get_logger().warn(text)
        return text

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any) -> Any:
        """Create a subscription with a guarded callback."""
        fields = () if options.get('raw') else stamped_fields(msg_type)
        guarded = self._guarded_message(topic, callback, fields)
        self._received_by.setdefault(topic, []).append(guarded)
        if not options.get('raw'):
            self._types[topic] = msg_type
        return super().create_subscription(msg_type, topic, guarded, qos_profile, **options)

    def create_timer(self, timer_period_sec: float, callback: Any, *args: Any, **options: Any) -> Any:
        """Create a timer with a guarded callback."""
        name = f'timer {getattr(callback, "__name__", "")}'.rstrip()
        guarded = callback and self._guarded(name, callback)
        return super().create_timer(timer_period_sec, guarded, *args, **options)

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """Create a service with a guarded callback; if it fails the response has its default values."""
        guarded = self._guarded_service(srv_type, srv_name, callback)
        self._answered_by[srv_name] = lambda request: guarded(request, srv_type.Response())
        return super().create_service(srv_type, srv_name, guarded, **options)

    def receive(self, topic: str, message: Any) -> None:
        """Pass a message to every subscription of a topic in the order of creation, as if it had been received.

        Args:
            topic: as the node names it, without its namespace, such as `joint_states`.
            message: of the type of the topic.

        Raises:
            KeyError: the node does not subscribe to the topic.
        """
        for callback in self._received_by[topic]:
            callback(message)

    def answer(self, service: str, request: Any) -> Any:
        """Return the response to a request as if it had been received. Raises KeyError for an unknown service.

        Args:
            service: as the node names it, such as `~/reset`.
            request: of the type of the service.
        """
        return self._answered_by[service](request)

    def add_on_set_parameters_callback(self, callback: Any) -> None:
        """Add a guarded callback; if it fails the parameters are rejected."""

        def rejected(error: Exception) -> Any:
            return SetParametersResult(successful=False, reason=one_line(error))

        super().add_on_set_parameters_callback(self._guarded('set parameters', callback, rejected))

    # -- guards ------------------------------------------------------------------------------------------------------

    def _guarded(self, name: str, callback: Any, instead: Callable[[Exception], Any] | None = None) -> Any:
        @functools.wraps(callback)
        def call(*args: Any, **options: Any) -> Any:
            try:
                return callback(*args, **options)
            except Exception as error:
                return self._survived(name, error, instead)

        @functools.wraps(callback)
        async def call_coroutine(*args: Any, **options: Any) -> Any:
            try:
                return await callback(*args, **options)
            except Exception as error:
                return self._survived(name, error, instead)

        return call_coroutine if inspect.iscoroutinefunction(callback) else call

    def _guarded_message(self, topic: str, callback: Any, fields: tuple[tuple[str, ...], ...]) -> Any:
        call = self._guarded(topic, callback)
        if not fields:
            return call

        @functools.wraps(callback)
        def checked(msg: Any, *info: Any) -> Any:
            try:
                check_stamps(msg, fields)
            except StampError as error:
                self.guard.rejected[topic] += 1
                self._count(f'{topic}: {error}', warn=True)
                return None
            return call(msg, *info)

        return checked

    def _guarded_service(self, srv_type: Any, name: str, callback: Any) -> Any:
        def failed(error: Exception) -> Any:
            answer = srv_type.Response()
            for field in ('message', 'error_message'):
                if hasattr(answer, field):
                    setattr(answer, field, one_line(error))
            return answer

        return self._guarded(name, callback, failed)

    def _survived(self, name: str, error: Exception, instead: Callable[[Exception], Any] | None) -> Any:
        """Count an exception of a callback and return its replacement result; re-raise exceptions that end the node."""
        is_end = isinstance(error, (RunOver, ExternalShutdownException)) or is_interrupt(error)
        if is_end or not ok(context=self.context):
            raise error  # after the shutdown of the context nothing can be published
        self.guard.failed[name] += 1
        self.guard.last_failure = one_line(f'{name}: {type(error).__name__} at {_location(error)}: {error}')
        self._count(self.guard.last_failure, warn=False)
        return instead(error) if instead is not None else None

    def _count(self, text: str, warn: bool) -> None:
        self.guard.last = one_line(text)
        log = self.get_logger()
        if warn:
            log.warn(f'rejected: {self.guard.last}', throttle_duration_sec=THROTTLE)
        else:
            log.error(f'callback failed: {self.guard.last}', throttle_duration_sec=THROTTLE)
        self._publish_counts()

    def _publish_counts(self) -> None:
        """Publish /diagnostics now; implemented by nodes without a timer for it."""
