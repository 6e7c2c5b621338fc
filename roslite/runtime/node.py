"""rclpy's Node on the embedded runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .arguments import Arguments, parse_arguments
from .clock import Clock, ROSClock
from .context import Context, get_default_context
from .executor import MutuallyExclusiveCallbackGroup
from .graph import GraphNode
from .logging import get_logger
from .names import expand_name, full_node_name, validate_namespace, validate_node_name
from .parameter_node import ParameterNode
from .parameter_service import ParameterService
from .parameters import Parameter
from .publisher import Publisher
from .qos import (
    QoSProfile,
    as_profile,
    qos_profile_parameter_events,
    qos_profile_rosout_default,
    qos_profile_services_default,
)
from .qos_overriding import override_qos
from .service import Client, Service
from .subscription import Subscription
from .time import Time
from .time_source import TimeSource
from .timer import Rate, Timer
from .types import message


class Node(ParameterNode, GraphNode):
    """A node in the ROS graph, with rclpy's arguments and methods.

    Args:
        node_name: name, unless remapped by `__node:=`.
        context: None: the default context.
        cli_args: arguments for this node only, as after `--ros-args`.
        namespace: namespace, unless remapped by `__ns:=`.
        use_global_arguments: use the command line of the process.
        enable_rosout: publish log messages on /rosout.
        start_parameter_services: provide services to get and set parameters.
        parameter_overrides: values of parameters to be declared.
        allow_undeclared_parameters: allow to set undeclared parameters.
        automatically_declare_parameters_from_overrides: declare all parameters with overrides.

    Raises:
        NotInitializedException: `init` was not called.
        InvalidNodeNameException, InvalidNamespaceException: an invalid name.
    """

    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        cli_args: list[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: list[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        automatically_declare_parameters_from_overrides: bool = False,
        enable_logger_service: bool = False,
    ) -> None:
        self._context = context or get_default_context()
        self._context.check()
        self.executor: Any = None
        self.timers: list[Timer] = []
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._services: list[Service] = []
        self._clients: list[Client] = []
        self._destroyed = False
        self._arguments = self._merge_arguments(cli_args, use_global_arguments)
        self._name = validate_node_name(self._arguments.node_name(validate_node_name(node_name)))
        self._namespace = validate_namespace(self._arguments.namespace(node_name, namespace or '/'))
        self._clock = ROSClock()
        self._default_callback_group = MutuallyExclusiveCallbackGroup()
        self._logger = get_logger('.'.join(part for part in (*self._namespace.split('/'), self._name) if part))
        self._event_publisher: Publisher | None = None
        overrides = {
            name: Parameter(name, value=value)
            for name, value in self._arguments.parameter_overrides(self._name, self._namespace).items()
        }
        overrides.update({item.name: item for item in parameter_overrides or []})
        self._init_parameters(overrides, allow_undeclared_parameters)
        self._context.add_node(self)
        self._rosout: Publisher | None = None
        if enable_rosout and self._arguments.rosout:
            self._rosout = self._make_publisher(
                message('rcl_interfaces/msg/Log'), '/rosout', qos_profile_rosout_default
            )
            self._logger._sinks.append(self._publish_log)
        self._event_publisher = self._make_publisher(
            message('rcl_interfaces/msg/ParameterEvent'), '/parameter_events', qos_profile_parameter_events
        )
        self._time_source = TimeSource(self, self._clock)
        if automatically_declare_parameters_from_overrides:
            for name, item in overrides.items():
                if not self.has_parameter(name):
                    self.declare_parameter(name, item.value)
        if start_parameter_services:
            self._parameter_service = ParameterService(self)

    def _merge_arguments(self, cli_args: Sequence[str] | None, use_global: bool) -> Arguments:
        shared = self._context.arguments if use_global else Arguments()
        if not cli_args:
            return shared
        arguments = parse_arguments(['--ros-args', *cli_args])
        arguments.remaps = arguments.remaps + shared.remaps
        arguments.parameters = shared.parameters + arguments.parameters
        arguments.rosout = arguments.rosout and shared.rosout
        return arguments

    @property
    def context(self) -> Context:
        """Context of the node."""
        return self._context

    @property
    def handle(self) -> Node:
        """The node itself; a handle of rcl in rclpy."""
        return self

    @property
    def default_callback_group(self) -> Any:
        """Default callback group of entities."""
        return self._default_callback_group

    @property
    def publishers(self) -> list[Publisher]:
        """Publishers of the node."""
        return self._publishers

    @property
    def subscriptions(self) -> list[Subscription]:
        """Subscriptions of the node."""
        return self._subscriptions

    @property
    def services(self) -> list[Service]:
        """Services of the node."""
        return self._services

    @property
    def clients(self) -> list[Client]:
        """Clients of the node."""
        return self._clients

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def get_namespace(self) -> str:
        """Return the namespace."""
        return self._namespace

    def get_fully_qualified_name(self) -> str:
        """Return namespace and name."""
        return full_node_name(self._name, self._namespace)

    def get_clock(self) -> ROSClock:
        """Return the node's clock: system time, or simulated time."""
        return self._clock

    def get_logger(self) -> Any:
        """Return the node's logger."""
        return self._logger

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """Return the fully qualified and remapped form of a topic name."""
        full = expand_name(topic, self._name, self._namespace)
        return full if only_expand else self._arguments.remap(full, self._name, self._namespace)

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """Return the fully qualified and remapped form of a service name."""
        full = expand_name(service, self._name, self._namespace, is_service=True)
        return full if only_expand else self._arguments.remap(full, self._name, self._namespace)

    def reader_gids(self) -> list[bytes]:
        """Return the GUIDs of all readers, for the announcement."""
        return [item.gid for item in self._subscriptions] + [
            item.reader_gid for item in (*self._services, *self._clients)
        ]

    def writer_gids(self) -> list[bytes]:
        """Return the GUIDs of all writers, for the announcement."""
        return [item.gid for item in self._publishers] + [item.writer_gid for item in (*self._services, *self._clients)]

    def waitables(self) -> list[tuple[Any, Callable[[], Any]]]:
        """Return DDS entities to wait for, each with the function to run when it triggers."""
        readers: list[Any] = [*self._subscriptions, *self._services, *self._clients]
        endpoints: list[Any] = [*self._publishers, *self._subscriptions]
        data = [(item.condition, item.run) for item in readers]
        status = [(item.status_entity, item.report_status) for item in endpoints]
        return data + status

    def count_dropped(self) -> dict[str, int]:
        """Return the numbers above zero of undecodable and undelivered messages, by kind and name."""
        endpoints: list[Any] = [*self._subscriptions, *self._services, *self._clients]
        counts = {f'undecodable {item.name}': item.decode_errors for item in endpoints if item.decode_errors}
        counts.update({f'undelivered {item.name}': item.dropped for item in self._services if item.dropped})
        return counts

    def _changed(self, *, announce: bool = True) -> None:
        if announce:
            self._context.announce()
        if self.executor is not None:
            self.executor.refresh()

    def _check_alive(self) -> None:
        if self._destroyed:
            raise RuntimeError(f'node {self.get_fully_qualified_name()} was destroyed')
        self._context.check()

    def _make_publisher(self, msg_type: Any, topic: str, qos: QoSProfile) -> Publisher:
        publisher = Publisher(self._context, msg_type, topic, qos, self._clock, self._logger)
        self._publishers.append(publisher)
        self._changed()
        return publisher

    def create_publisher(
        self,
        msg_type: Any,
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        callback_group: Any = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
    ) -> Publisher:
        """Return a new publisher; `qos_profile` may be a depth."""
        self._check_alive()
        name, qos = self.resolve_topic_name(topic), as_profile(qos_profile)
        if qos_overriding_options is not None:
            qos = override_qos(self, 'publisher', name, qos, qos_overriding_options)
        return self._make_publisher(msg_type, name, qos)

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Callable[..., Any],
        qos_profile: QoSProfile | int,
        *,
        callback_group: Any = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
        raw: bool = False,
    ) -> Subscription:
        """Return a new subscription; the callback takes (msg) or (msg, info); with `raw`, msg is CDR bytes."""
        self._check_alive()
        name, qos = self.resolve_topic_name(topic), as_profile(qos_profile)
        if qos_overriding_options is not None:
            qos = override_qos(self, 'subscription', name, qos, qos_overriding_options)
        subscription = Subscription(
            self._context, msg_type, name, callback, qos, self._logger, raw=raw, event_callbacks=event_callbacks
        )
        self._subscriptions.append(subscription)
        self._changed()
        return subscription

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: Any = None,
    ) -> Service:
        """Return a new service; the callback takes (request, response) and returns a response."""
        self._check_alive()
        name = self.resolve_service_name(srv_name)
        made = Service(self._context, srv_type, name, callback, as_profile(qos_profile), self._logger)
        self._services.append(made)
        self._changed()
        return made

    def create_client(
        self,
        srv_type: Any,
        srv_name: str,
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: Any = None,
    ) -> Client:
        """Return a new client of a service."""
        self._check_alive()
        name = self.resolve_service_name(srv_name)
        made = Client(self._context, srv_type, name, as_profile(qos_profile), self._logger)
        self._clients.append(made)
        self._changed()
        return made

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[[], Any],
        callback_group: Any = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """Return a new timer on the node's clock, or on another clock."""
        self._check_alive()
        timer = Timer(callback, round(timer_period_sec * 1e9), clock or self._clock, self._wake, autostart=autostart)
        self.timers.append(timer)
        self._changed(announce=False)
        return timer

    def create_rate(self, frequency: float, clock: Clock | None = None) -> Rate:
        """Return a rate for a loop outside of the executor's thread."""
        return Rate(frequency, clock or self._clock, self._context)

    def _wake(self) -> None:
        if self.executor is not None:
            self.executor.wake()

    def _destroy(self, items: list[Any], item: Any) -> bool:
        if item not in items:
            return False
        items.remove(item)
        self._changed()
        item.destroy()
        return True

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy a publisher; return whether it belongs to the node."""
        return self._destroy(self._publishers, publisher)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription; return whether it belongs to the node."""
        return self._destroy(self._subscriptions, subscription)

    def destroy_service(self, service: Service) -> bool:
        """Destroy a service; return whether it belongs to the node."""
        return self._destroy(self._services, service)

    def destroy_client(self, client: Client) -> bool:
        """Destroy a client; return whether it belongs to the node."""
        return self._destroy(self._clients, client)

    def destroy_timer(self, timer: Timer) -> bool:
        """Destroy a timer; return whether it belongs to the node."""
        return self._destroy(self.timers, timer)

    def destroy_node(self) -> None:
        """Destroy the node and all its entities."""
        if self._destroyed:
            return
        self._destroyed = True
        if self._publish_log in self._logger._sinks:
            self._logger._sinks.remove(self._publish_log)
        if self.executor is not None:
            self.executor.remove_node(self)
        self._context.remove_node(self)
        for items in (self.timers, self._subscriptions, self._services, self._clients, self._publishers):
            while items:
                items.pop().destroy()

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy_node()

    def _publish_parameter_event(self, event: Any) -> None:
        if self._event_publisher is not None and not self._destroyed:
            event.node = self.get_fully_qualified_name()
            event.stamp = self._clock.now().to_msg()
            self._event_publisher.publish(event)

    def _publish_log(self, severity: int, name: str, stamp: int, text: str, location: tuple[str, str, int]) -> None:
        if self._rosout is None or self._destroyed:
            return
        log = message('rcl_interfaces/msg/Log')(level=int(severity), name=name, msg=text)
        log.file, log.function, log.line = location
        log.stamp = Time(nanoseconds=self._clock.nanoseconds() if self._clock.is_driven else stamp).to_msg()
        self._rosout.publish(log)
