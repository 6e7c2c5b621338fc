"""rclpy's documented interface and nothing else, carried by the embedded runtime.

Every object is a wrapper with only the documented attributes and keyword arguments of rclpy; messages are the strict
classes. The use of an attribute or argument that rclpy lacks fails as it would there. STRICT_ROS_RELEASE=humble
leaves out later additions.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any

import numpy as np
import strict_messages

from roslite.runtime import api, exceptions, executor, qos, task, time
from roslite.runtime import clock as clocks
from roslite.runtime import context as contexts
from roslite.runtime import parameters as values

RELEASE = os.environ.get('STRICT_ROS_RELEASE', 'jazzy')
HUMBLE = RELEASE == 'humble'

NAMES_OF_NODE = """
publishers subscriptions clients services timers guards waitables executor _wake_executor context
default_callback_group handle get_name get_namespace get_clock get_logger declare_parameter declare_parameters
_declare_parameter_common undeclare_parameter has_parameter get_parameter_types get_parameter_type get_parameters
get_parameter get_parameter_or get_parameters_by_prefix set_parameters set_parameters_atomically _set_parameters
_set_parameters_atomically _set_parameters_atomically_common list_parameters _check_undeclared_parameters
_call_pre_set_parameters_callback _call_post_set_parameters_callback add_pre_set_parameters_callback
add_on_set_parameters_callback add_post_set_parameters_callback remove_pre_set_parameters_callback
remove_on_set_parameters_callback remove_post_set_parameters_callback _apply_descriptors _apply_descriptor
_apply_integer_range _apply_floating_point_range _apply_descriptor_and_set describe_parameter describe_parameters
set_descriptor _validate_topic_or_service_name _validate_qos_or_depth_parameter add_waitable remove_waitable
resolve_topic_name resolve_service_name create_publisher create_subscription create_client create_service
create_timer create_guard_condition create_rate destroy_publisher destroy_subscription destroy_client
destroy_service destroy_timer destroy_guard_condition destroy_rate get_publisher_names_and_types_by_node
get_subscriber_names_and_types_by_node get_service_names_and_types_by_node get_client_names_and_types_by_node
get_topic_names_and_types get_service_names_and_types get_node_names get_fully_qualified_node_names
get_node_names_and_namespaces get_node_names_and_namespaces_with_enclaves get_fully_qualified_name
_count_publishers_or_subscribers count_publishers count_subscribers _count_clients_or_servers count_clients
count_services _get_info_by_topic get_publishers_info_by_topic get_subscriptions_info_by_topic wait_for_node
_allow_undeclared_parameters _clients _clock _context _default_callback_group _descriptors _guards _logger
_logger_service _on_set_parameters_callbacks _parameter_event_publisher _parameter_overrides _parameter_service
_parameters _parameters_callbacks _post_set_parameters_callbacks _pre_set_parameters_callbacks _publishers
_rate_group _services _subscriptions _time_source _timers _type_description_service
"""
#: Attributes of rclpy.node.Node (Humble to Rolling), which a subclass must not override.
NODE_NAMES = frozenset(NAMES_OF_NODE.split())
#: Methods that are overridden on purpose and call those of rclpy.
MEANT = {
    'GuardedNode': {'add_on_set_parameters_callback', 'create_service', 'create_subscription', 'create_timer'},
    'OverridableNode': {'create_publisher', 'create_subscription', 'create_timer'},
}


class RCLError(RuntimeError):
    """An error of rcl."""


class RCLInvalidROSArgsError(RCLError):
    """A bad --ros-args command line."""


def reject_message(value: Any, kind: Any) -> None:
    """Raise TypeError, as rclpy does, unless a message is exactly of a type."""
    if not isinstance(value, kind):
        raise TypeError(f'Expected {kind}, got {type(value)}')


# -- time ------------------------------------------------------------------------------------------------------------


class Time(time.Time):
    """rclpy.time.Time."""

    def to_msg(self) -> Any:
        return strict_messages.from_runtime(super().to_msg())


class Duration(time.Duration):
    """rclpy.duration.Duration."""

    def to_msg(self) -> Any:
        return strict_messages.from_runtime(super().to_msg())


class Clock:
    """rclpy.clock.Clock."""

    def __new__(cls, *, clock_type: Any = time.ClockType.SYSTEM_TIME) -> Clock:
        return object.__new__(ROSClock if clock_type == time.ClockType.ROS_TIME else cls)

    def __init__(self, *, clock_type: Any = time.ClockType.SYSTEM_TIME) -> None:
        self._inner = clocks.Clock(clock_type=clock_type)

    @property
    def clock_type(self) -> Any:
        return self._inner.clock_type

    def now(self) -> Time:
        time = self._inner.now()
        return Time(nanoseconds=time.nanoseconds, clock_type=time.clock_type)


class ROSClock(Clock):
    """rclpy.clock.ROSClock."""

    def __new__(cls) -> ROSClock:
        return object.__new__(cls)

    def __init__(self) -> None:
        self._inner = clocks.ROSClock()

    @property
    def ros_time_is_active(self) -> bool:
        return self._inner.ros_time_is_active

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        self._inner._set_ros_time_is_active(enabled)

    def set_ros_time_override(self, time: Time) -> None:
        if not isinstance(time, Time):
            raise TypeError(f'Time must be specified as rclpy.time.Time. Received type: {type(time)}')
        self._inner.set_ros_time_override(time)


# -- logging ---------------------------------------------------------------------------------------------------------

OPTIONS = ('throttle_duration_sec', 'throttle_time_source_type', 'skip_first', 'once', 'name')


class Logger:
    """rclpy's RcutilsLogger: the severity and the filters of a place in the code may not change between two calls."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._call_sites: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._inner.name

    def get_child(self, name: str) -> Logger:
        return Logger(self._inner.get_child(name))

    def set_level(self, level: Any) -> None:
        self._inner.set_level(level)

    def get_effective_level(self) -> Any:
        return self._inner.get_effective_level()

    def is_enabled_for(self, severity: Any) -> bool:
        return self._inner.is_enabled_for(severity)

    def _log(self, message: Any, severity: str, **options: Any) -> bool:
        unknown = [key for key in options if key not in OPTIONS]
        if unknown:
            raise TypeError(f'parameter "{unknown[0]}" is not one of the recognized logging options "{OPTIONS}"')
        if not isinstance(message, str):
            raise TypeError(f'incompatible function arguments: expected str, found {type(message)}')
        frame = sys._getframe(2)
        call_site = frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno, frame.f_lasti
        filters = {key: value for key, value in options.items() if value}
        before = self._call_sites.setdefault(call_site, (severity, filters))
        if before[0] != severity:
            raise ValueError('Logger severity cannot be changed between calls.')
        if before[1] != filters:
            raise ValueError('Logging filter parameters cannot be changed between calls.')
        options.pop('name', None)
        return getattr(self._inner, severity)(f'{message}', **options)

    def debug(self, message: str, **options: Any) -> bool:
        return self._log(message, 'debug', **options)

    def info(self, message: str, **options: Any) -> bool:
        return self._log(message, 'info', **options)

    def warning(self, message: str, **options: Any) -> bool:
        return self._log(message, 'warning', **options)

    def warn(self, message: str, **options: Any) -> bool:
        return self._log(message, 'warning', **options)

    def error(self, message: str, **options: Any) -> bool:
        return self._log(message, 'error', **options)

    def fatal(self, message: str, **options: Any) -> bool:
        return self._log(message, 'fatal', **options)


def get_logger(name: str) -> Logger:
    """rclpy.logging.get_logger."""
    return Logger(api.get_logger(name))


# -- parameters ------------------------------------------------------------------------------------------------------


class Parameter(values.Parameter):
    """rclpy.parameter.Parameter: messages are strict, NumPy integers are not accepted."""

    def __init__(self, name: str, type_: Any = None, value: Any = None) -> None:
        items = value if isinstance(value, (list, tuple)) else [value]
        for item in items:
            if isinstance(item, np.generic) and not isinstance(item, (float, str)):
                raise TypeError(f'The given value is not one of the allowed types {value!r}.')
        super().__init__(name, type_, value)

    def get_parameter_value(self) -> Any:
        return strict_messages.from_runtime(super().get_parameter_value())

    def to_parameter_msg(self) -> Any:
        return strict_messages.from_runtime(self.plain().to_parameter_msg())

    def plain(self) -> Any:
        """Return the runtime's parameter."""
        return values.Parameter(self.name, self.type_, self.value)

    @classmethod
    def from_parameter_msg(cls, param_msg: Any) -> Parameter:
        return cls.of(values.Parameter.from_parameter_msg(strict_messages.to_runtime(param_msg)))

    @classmethod
    def of(cls, inner: Any) -> Parameter:
        """Return the wrapper of a runtime's parameter."""
        return cls(inner.name, inner.type_, inner.value)


def parameter_value_to_python(parameter_value: Any) -> Any:
    """rclpy.parameter.parameter_value_to_python."""
    reject_message(parameter_value, strict_messages.message('rcl_interfaces/msg/ParameterValue'))
    return values.parameter_value_to_python(strict_messages.to_runtime(parameter_value))


def get_parameter_value(string_value: str) -> Any:
    """rclpy.parameter.get_parameter_value (since Iron)."""
    return strict_messages.from_runtime(values.get_parameter_value(string_value))


# -- entities --------------------------------------------------------------------------------------------------------


class Publisher:
    """rclpy.publisher.Publisher."""

    def __init__(self, inner: Any, kind: Any, context: Any) -> None:
        self._inner, self.msg_type, self._context = inner, kind, context
        self.qos_profile = inner.qos_profile

    @property
    def topic_name(self) -> str:
        return self._inner.topic_name

    def publish(self, msg: Any) -> None:
        if not isinstance(msg, bytes):
            reject_message(msg, self.msg_type)
        if not self._context.ok():  # after a signal rcl raises; the embedded runtime does not
            raise RCLError("Failed to publish: publisher's context is invalid")
        self._inner.publish(msg if isinstance(msg, bytes) else strict_messages.to_runtime(msg))

    def get_subscription_count(self) -> int:
        return self._inner.get_subscription_count()


class Subscription:
    """rclpy.subscription.Subscription."""

    def __init__(self, inner: Any, kind: Any) -> None:
        self._inner, self.msg_type = inner, kind
        self.qos_profile = inner.qos_profile

    @property
    def topic_name(self) -> str:
        return self._inner.topic_name

    if not HUMBLE:

        def get_publisher_count(self) -> int:
            return self._inner.get_publisher_count()

    if not HUMBLE:

        class CallbackType:
            """Whether a callback also takes a MessageInfo (since Iron)."""


class Client:
    """rclpy.client.Client."""

    def __init__(self, inner: Any, kind: Any) -> None:
        self._inner, self.srv_type = inner, kind
        self.srv_name = inner.srv_name

    def service_is_ready(self) -> bool:
        return self._inner.service_is_ready()

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        return self._inner.wait_for_service(timeout_sec)

    def call_async(self, request: Any) -> Any:
        reject_message(request, self.srv_type.Request)
        result = task.Future()

        def answered(future: Any) -> None:
            result.set_result(strict_messages.from_runtime(future.result()))

        self._inner.call_async(strict_messages.to_runtime(request)).add_done_callback(answered)
        return result

    def remove_pending_request(self, future: Any) -> None:
        self._inner.remove_pending_request(future)


class Service:
    """rclpy.service.Service."""

    def __init__(self, inner: Any, kind: Any, name: str) -> None:
        self._inner, self.srv_type, self.srv_name = inner, kind, name


class Timer:
    """rclpy.timer.Timer."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def timer_period_ns(self) -> int:
        return self._inner.timer_period_ns

    def is_ready(self) -> bool:
        return self._inner.is_ready()

    def is_canceled(self) -> bool:
        return self._inner.is_canceled()

    def cancel(self) -> None:
        self._inner.cancel()

    def reset(self) -> None:
        self._inner.reset()

    def time_since_last_call(self) -> int:
        return self._inner.time_since_last_call()

    def time_until_next_call(self) -> int | None:
        return self._inner.time_until_next_call()


class TopicEndpointInfo:
    """rclpy.topic_endpoint_info.TopicEndpointInfo."""

    def __init__(self, inner: Any) -> None:
        for name in ('node_name', 'node_namespace', 'topic_type', 'endpoint_type', 'endpoint_gid', 'qos_profile'):
            setattr(self, name, getattr(inner, name))
        if not HUMBLE:
            self.topic_type_hash = inner.topic_type_hash


def takes_info(callback: Any) -> bool:
    """Return whether a subscription's callback is called with a MessageInfo: rclpy tries it, Humble never."""
    if HUMBLE:
        return False
    try:
        inspect.signature(callback).bind(object())
    except TypeError:
        inspect.signature(callback).bind(object(), object())
        return True
    return False


class InnerNode(api.Node):
    """The runtime's node below a strict one; has the same clock object."""


class Node:
    """rclpy.node.Node."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition('.')[0] == 'dyn_nodes' and '.middleware' not in cls.__module__:
            taken = sorted((NODE_NAMES & set(vars(cls))) - MEANT.get(cls.__name__, set()))
            assert not taken, f'{cls.__name__} overrides what rclpy.node.Node needs: {", ".join(taken)}'

    def __setattr__(self, name: str, value: Any) -> None:
        caller = sys._getframe(1).f_globals.get('__name__', '')
        assert name not in NODE_NAMES or name == 'executor' or caller == __name__, (
            f'{type(self).__name__}.{name} is an attribute of rclpy.node.Node and must not be assigned'
        )
        object.__setattr__(self, name, value)

    def __init__(
        self,
        node_name: str,
        *,
        context: Any = None,
        cli_args: list[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: list[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        automatically_declare_parameters_from_overrides: bool = False,
        **later: Any,
    ) -> None:
        allowed = set() if HUMBLE else {'enable_logger_service'}
        if set(later) - allowed:
            raise TypeError(f'Node.__init__() got an unexpected keyword argument {sorted(later)[0]!r}')
        for item in parameter_overrides or []:
            assert isinstance(item, Parameter), 'parameter_overrides: expected rclpy.parameter.Parameter'
        self._inner_node = InnerNode(
            node_name,
            context=context,
            cli_args=cli_args,
            namespace=namespace,
            use_global_arguments=use_global_arguments,
            enable_rosout=enable_rosout,
            start_parameter_services=start_parameter_services,
            parameter_overrides=[item.plain() for item in parameter_overrides or []],
            allow_undeclared_parameters=allow_undeclared_parameters,
            automatically_declare_parameters_from_overrides=automatically_declare_parameters_from_overrides,
        )
        self._clock = ROSClock()
        self._clock._inner = self._inner_node.get_clock()
        self._logger = Logger(self._inner_node.get_logger())

    # graph and names: the runtime's methods with their documented arguments
    def _plain(name: str) -> Any:  # type: ignore[misc]
        def method(self: Any, *args: Any) -> Any:
            return getattr(self._inner_node, name)(*args)

        return method

    for _name in (
        'get_name',
        'get_namespace',
        'get_fully_qualified_name',
        'get_node_names',
        'get_node_names_and_namespaces',
        'get_topic_names_and_types',
        'get_service_names_and_types',
        'get_publisher_names_and_types_by_node',
        'get_subscriber_names_and_types_by_node',
        'get_service_names_and_types_by_node',
        'get_client_names_and_types_by_node',
        'get_node_names_and_namespaces_with_enclaves',
        'count_publishers',
        'count_subscribers',
        'resolve_topic_name',
        'resolve_service_name',
        'has_parameter',
    ):
        locals()[_name] = _plain(_name)
    if not HUMBLE:
        for _name in ('count_services', 'count_clients', 'get_fully_qualified_node_names', 'wait_for_node'):
            locals()[_name] = _plain(_name)
    del _plain, _name

    @property
    def context(self) -> Any:
        return self._inner_node.context

    @property
    def executor(self) -> Any:
        return getattr(self, '_strict_executor', None)

    def get_clock(self) -> ROSClock:
        return self._clock

    def get_logger(self) -> Logger:
        return self._logger

    def get_publishers_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        return [TopicEndpointInfo(i) for i in self._inner_node.get_publishers_info_by_topic(topic_name, no_mangle)]

    def get_subscriptions_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        return [TopicEndpointInfo(i) for i in self._inner_node.get_subscriptions_info_by_topic(topic_name, no_mangle)]

    # -- parameters --

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: Any = None, ignore_override: bool = False
    ) -> Parameter:
        kind = strict_messages.message('rcl_interfaces/msg/ParameterDescriptor')
        if descriptor is not None and not isinstance(descriptor, kind):
            raise TypeError(f'Third element {descriptor} is not a ParameterDescriptor.')
        if not isinstance(value, values.ParameterType):
            Parameter(name, value=value)
            if value is None and not (descriptor is not None and descriptor.dynamic_typing):
                raise ValueError('Cannot declare a statically typed parameter with default value of type NOT_SET')
        plain = None if descriptor is None else strict_messages.to_runtime(descriptor)
        return Parameter.of(self._inner_node.declare_parameter(name, value, plain, ignore_override))

    def declare_parameters(self, namespace: str, parameters: list[Any], ignore_override: bool = False) -> list[Any]:
        return [
            self.declare_parameter(f'{namespace}.{entry[0]}' if namespace else entry[0], *entry[1:])
            for entry in parameters
        ]

    def get_parameter(self, name: str) -> Parameter:
        return Parameter.of(self._inner_node.get_parameter(name))

    def get_parameters(self, names: list[str]) -> list[Parameter]:
        return [self.get_parameter(name) for name in names]

    def get_parameter_or(self, name: str, alternative_value: Any = None) -> Parameter:
        return Parameter.of(self._inner_node.get_parameter_or(name, alternative_value and alternative_value.plain()))

    def set_parameters(self, parameter_list: list[Parameter]) -> list[Any]:
        items = [item.plain() for item in parameter_list]
        return [strict_messages.from_runtime(item) for item in self._inner_node.set_parameters(items)]

    def describe_parameter(self, name: str) -> Any:
        return strict_messages.from_runtime(self._inner_node.describe_parameter(name))

    def add_on_set_parameters_callback(self, callback: Any) -> None:
        def ask(parameters: Any) -> Any:
            result = callback([Parameter.of(item) for item in parameters])
            reject_message(result, strict_messages.message('rcl_interfaces/msg/SetParametersResult'))
            return strict_messages.to_runtime(result)

        self._inner_node.add_on_set_parameters_callback(ask)

    if not HUMBLE:

        def add_post_set_parameters_callback(self, callback: Any) -> None:
            def tell(parameters: Any) -> None:
                callback([Parameter.of(item) for item in parameters])

            self._inner_node.add_post_set_parameters_callback(tell)

    # -- topics, services, timers --

    def create_publisher(
        self,
        msg_type: Any,
        topic: str,
        qos_profile: Any,
        *,
        callback_group: Any = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
        publisher_class: Any = Publisher,
    ) -> Publisher:
        inner = self._inner_node.create_publisher(
            api.message(msg_type._ros_type_name), topic, qos_profile, qos_overriding_options=qos_overriding_options
        )
        return publisher_class(inner, msg_type, self.context)

    def create_subscription(
        self,
        msg_type: Any,
        topic: str,
        callback: Any,
        qos_profile: Any,
        *,
        callback_group: Any = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
        raw: bool = False,
    ) -> Subscription:
        with_info = takes_info(callback)

        def receive(msg: Any, info: Any) -> Any:
            content = msg if raw else strict_messages.from_runtime(msg)
            return callback(content, info) if with_info else callback(content)

        kind = api.message(msg_type._ros_type_name)
        options = {'raw': raw, 'qos_overriding_options': qos_overriding_options}
        return Subscription(
            self._inner_node.create_subscription(kind, topic, receive, qos_profile, **options), msg_type
        )

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Any,
        *,
        qos_profile: Any = qos.qos_profile_services_default,
        callback_group: Any = None,
    ) -> Service:
        def answer(request: Any, response: Any) -> Any:
            reply = callback(strict_messages.from_runtime(request), srv_type.Response())
            reject_message(reply, srv_type.Response)
            return strict_messages.to_runtime(reply)

        inner = self._inner_node.create_service(
            api.service(srv_type._ros_type_name), srv_name, answer, qos_profile=qos_profile
        )
        return Service(inner, srv_type, srv_name)

    def create_client(
        self,
        srv_type: Any,
        srv_name: str,
        *,
        qos_profile: Any = qos.qos_profile_services_default,
        callback_group: Any = None,
    ) -> Client:
        kind = api.service(srv_type._ros_type_name)
        return Client(self._inner_node.create_client(kind, srv_name, qos_profile=qos_profile), srv_type)

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Any,
        callback_group: Any = None,
        clock: Clock | None = None,
        **later: Any,
    ) -> Timer:
        if set(later) - (set() if HUMBLE else {'autostart'}):
            raise TypeError(f'Node.create_timer() got an unexpected keyword argument {sorted(later)[0]!r}')
        assert clock is None or isinstance(clock, Clock), 'clock: expected rclpy.clock.Clock'
        inner = None if clock is None else clock._inner
        return Timer(self._inner_node.create_timer(float(timer_period_sec), callback, callback_group, inner, **later))

    def destroy_publisher(self, publisher: Publisher) -> bool:
        return self._inner_node.destroy_publisher(publisher._inner)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        return self._inner_node.destroy_subscription(subscription._inner)

    def destroy_timer(self, timer: Timer) -> bool:
        return self._inner_node.destroy_timer(timer._inner)

    def destroy_service(self, service: Service) -> bool:
        return self._inner_node.destroy_service(service._inner)

    def destroy_client(self, client: Client) -> bool:
        return self._inner_node.destroy_client(client._inner)

    def destroy_node(self) -> None:
        self._inner_node.destroy_node()


# -- executors -------------------------------------------------------------------------------------------------------


class SingleThreadedExecutor:
    """rclpy.executors.SingleThreadedExecutor."""

    def __init__(self, *, context: Any = None) -> None:
        self._inner = executor.SingleThreadedExecutor(context=context)
        self._strict_nodes: list[Node] = []

    @property
    def context(self) -> Any:
        return self._inner.context

    def add_node(self, node: Node) -> bool:
        self._strict_nodes.append(node)
        object.__setattr__(node, '_strict_executor', self)
        return self._inner.add_node(node._inner_node)

    def remove_node(self, node: Node) -> None:
        if node in self._strict_nodes:
            self._strict_nodes.remove(node)
        self._inner.remove_node(node._inner_node)

    def get_nodes(self) -> list[Node]:
        return list(self._strict_nodes)

    def spin(self) -> None:
        self._inner.spin()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        self._inner.spin_once(timeout_sec)

    def spin_until_future_complete(self, future: Any, timeout_sec: float | None = None) -> None:
        self._inner.spin_until_future_complete(future, timeout_sec)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        return self._inner.shutdown(timeout_sec)


def _chosen(node: Node, chosen: Any) -> Any:
    return executor._executor_of(node._inner_node) if chosen is None else chosen._inner


def spin(node: Node, executor: Any = None) -> None:
    """rclpy.spin."""
    api.spin(node._inner_node, _chosen(node, executor))


def spin_once(node: Node, *, executor: Any = None, timeout_sec: float | None = None) -> None:
    """rclpy.spin_once."""
    api.spin_once(node._inner_node, executor=_chosen(node, executor), timeout_sec=timeout_sec)


def spin_until_future_complete(node: Node, future: Any, executor: Any = None, timeout_sec: float | None = None) -> None:
    """rclpy.spin_until_future_complete."""
    api.spin_until_future_complete(node._inner_node, future, _chosen(node, executor), timeout_sec)


def init(
    *, args: Any = None, context: Any = None, domain_id: int | None = None, signal_handler_options: Any = None
) -> Any:
    """rclpy.init: gives a context manager back since Iron."""
    try:
        result = contexts.init(
            args=args, context=context, domain_id=domain_id, signal_handler_options=signal_handler_options
        )
    except exceptions.RCLInvalidROSArgsError as error:
        raise RCLInvalidROSArgsError(str(error)) from None
    return None if HUMBLE else result


def try_shutdown(*, context: Any = None, **later: Any) -> None:
    """rclpy.try_shutdown: `uninstall_handlers` since Iron."""
    if set(later) - (set() if HUMBLE else {'uninstall_handlers'}):
        raise TypeError(f'try_shutdown() got an unexpected keyword argument {sorted(later)[0]!r}')
    contexts.try_shutdown(context=context, **later)


def shutdown(*, context: Any = None, uninstall_handlers: bool | None = None) -> None:
    """rclpy.shutdown."""
    contexts.shutdown(context=context, uninstall_handlers=uninstall_handlers)


def serialize_message(message: Any) -> bytes:
    """rclpy.serialization.serialize_message."""
    return api.serialize_message(strict_messages.to_runtime(message))


def deserialize_message(serialized_message: bytes, message_type: Any) -> Any:
    """rclpy.serialization.deserialize_message."""
    return strict_messages.from_runtime(
        api.deserialize_message(serialized_message, api.message(message_type._ros_type_name))
    )
