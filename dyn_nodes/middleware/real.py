"""The names of `dyn_nodes.middleware` if rclpy is installed: rclpy's own, and a few helpers.

Differences between rclpy's releases are handled only here.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import time
from collections.abc import Callable
from typing import Any

import rclpy
import yaml
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy import exceptions as _exceptions
from rclpy import ok, shutdown, spin_once, spin_until_future_complete, try_shutdown
from rclpy import parameter as _parameter
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType, ROSClock
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.exceptions import (
    NotInitializedException,
    ParameterAlreadyDeclaredException,
    ParameterNotDeclaredException,
)
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.node import Node as _Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_parameters,
    qos_profile_sensor_data,
    qos_profile_services_default,
    qos_profile_system_default,
)
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription as _Subscription
from rclpy.task import Future
from rclpy.time import Time
from rclpy.utilities import get_default_context, remove_ros_args

from dyn_nodes.middleware.hand_over import LocalTopics
from dyn_nodes.middleware.lean_executor import EXECUTOR, LeanExecutor, is_supported

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

SingleThreadedExecutor = EXECUTOR
InvalidParameterTypeException = getattr(_exceptions, 'InvalidParameterTypeException', TypeError)
InvalidParameterValueException = getattr(_exceptions, 'InvalidParameterValueException', ValueError)
ParameterUninitializedException = getattr(_exceptions, 'ParameterUninitializedException', RuntimeError)
RCLError = getattr(_rclpy, 'RCLError', RuntimeError)
RCLInvalidROSArgsError = getattr(_rclpy, 'RCLInvalidROSArgsError', RuntimeError)


class _Shutdown:
    """Shuts down at the end of a `with` block, for releases whose `init` returns nothing."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def __enter__(self) -> _Shutdown:
        return self

    def __exit__(self, *_: object) -> None:
        try_shutdown(context=self.context)


def init(*, context: Any = None, intra_process: bool = False, **options: Any) -> Any:
    """Call rclpy.init; the result is a context manager on every release.

    With `intra_process` the nodes of the context deliver messages to each other locally, if `lean_executor` supports
    this rclpy, and must be spun by this module's `spin` or `SingleThreadedExecutor`.
    """
    result = rclpy.init(context=context, **options)
    if EXECUTOR is not LeanExecutor:
        rclpy.logging.get_logger('dyn_nodes').warning(
            "rclpy's own executor runs the nodes, at several times the cost: expected the interfaces of Jazzy or Kilted"
        )
    LocalTopics.of(context or get_default_context()).is_on = intra_process and is_supported()
    return _Shutdown(context) if result is None else result


class _NodeWithInfo(_Node):
    """A node whose subscriptions call back with (msg, info), for releases that call back with the message alone."""

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any) -> Any:
        """Create a subscription; the callback takes (msg) or (msg, info). Here info has the time of receipt only."""
        called = _with_time_of_receipt(callback) if _takes_info(callback) else callback
        return super().create_subscription(msg_type, topic, called, qos_profile, **options)


def _takes_info(callback: Callable[..., Any]) -> bool:
    try:
        inspect.signature(callback).bind(object())
    except TypeError:
        return True
    return False


def _with_time_of_receipt(callback: Callable[..., Any]) -> Callable[[Any], Any]:
    def called(msg: Any) -> Any:
        now = time.time_ns()
        return callback(msg, {'source_timestamp': now, 'received_timestamp': now})

    return called


#: Humble's subscriptions have no MessageInfo.
_AnyNode: Any = _Node if hasattr(_Subscription, 'CallbackType') else _NodeWithInfo

#: Longest wait of a KEEP_ALL publisher for a subscription that lags, s of wall time.
_LONGEST_WAIT = 30.0


class Node(_AnyNode):
    """rclpy's node, whose publishers serialize only if there is a subscription, and wait for subscriptions that lag.

    Publishers that keep everything (KEEP_ALL) wait: Fast DDS gives a full queue a tenth of a second and then lets
    `publish` fail. Between two nodes of one process it does not recover once the queue of the subscription (5,000) was
    full: `publish` then fails after `_LONGEST_WAIT`. In a context with `intra_process` messages are delivered locally.
    """

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **options: Any) -> Any:
        """Create a publisher."""
        publisher = super().create_publisher(msg_type, topic, qos_profile, **options)
        topics = LocalTopics.of(self.context)
        if isinstance(qos_profile, QoSProfile) and qos_profile.history == HistoryPolicy.KEEP_ALL:
            publisher.publish = _waiting(publisher.publish, self.context, lambda: topics.drain(publisher))
        topics.add_publisher(publisher)
        return publisher

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any) -> Any:
        """Create a subscription."""
        subscription = super().create_subscription(msg_type, topic, callback, qos_profile, **options)
        LocalTopics.of(self.context).add_subscription(subscription, self)
        return subscription

    def destroy_node(self) -> None:
        """Destroy the node and its entities, at once if no wait is under way."""
        executor = self.executor
        super().destroy_node()
        if isinstance(executor, LeanExecutor):
            executor.release()

    def destroy_publisher(self, publisher: Any) -> bool:
        """Destroy a publisher."""
        LocalTopics.of(self.context).remove_publisher(publisher)
        return bool(super().destroy_publisher(publisher))

    def destroy_subscription(self, subscription: Any) -> bool:
        """Destroy a subscription."""
        LocalTopics.of(self.context).remove_subscription(subscription)
        return bool(super().destroy_subscription(subscription))


def _waiting(publish: Callable[[Any], None], context: Any, drain: Callable[[], None]) -> Callable[[Any], None]:
    def publish_or_wait(msg: Any) -> None:
        began = time.monotonic()
        while True:
            try:
                return publish(msg)
            except RCLError as error:
                is_full = 'cannot publish data' in str(error)
                if not is_full or not context.ok() or time.monotonic() - began > _LONGEST_WAIT:
                    raise
                drain()
                time.sleep(0.01)  # rclpy holds Python's lock while it publishes

    return publish_or_wait


def spin(node: Any, executor: Any = None) -> None:
    """Call back for a node until its context is shut down, as rclpy.spin.

    Raises:
        ExternalShutdownException: the context was shut down.
    """
    if executor is not None:
        rclpy.spin(node, executor)
        return
    executor = SingleThreadedExecutor(context=node.context)
    try:
        rclpy.spin(node, executor)
    finally:
        executor.shutdown()


def _find(name: str, folder: str) -> Any:
    full = name if name.count('/') == 2 else name.replace('/', f'/{folder}/', 1)
    package, kind, short = full.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), short)
    except (ImportError, AttributeError):
        raise ValueError(f'unknown type {name!r}: is the package {package} installed and sourced?') from None


def message(name: str) -> Any:
    """Return the class of a message type, `pkg/msg/Name`."""
    return _find(name, 'msg')


def service(name: str) -> Any:
    """Return the class of a service type, `pkg/srv/Name`."""
    return _find(name, 'srv')


def register_message(name: str, text: str) -> Any:
    """Return the class of an installed message type; ROS creates none from text."""
    return message(name)


def register_service(name: str, text: str) -> Any:
    """Return the class of an installed service type; ROS creates none from text."""
    return service(name)


def type_name(cls: Any) -> str:
    """Return the ROS name of a message or service class, such as `sensor_msgs/msg/JointState`."""
    package, kind = cls.__module__.split('.')[:2]
    return f'{package}/{kind}/{cls.__name__}'


def get_parameter_value(string_value: str) -> Any:
    """Return the rcl_interfaces/ParameterValue of a text, read as YAML."""
    if hasattr(_parameter, 'get_parameter_value'):
        return _parameter.get_parameter_value(string_value=string_value)
    try:  # Humble: rclpy has no such function yet
        value = yaml.safe_load(string_value)
        return Parameter('', value=value).get_parameter_value()
    except (
        yaml.YAMLError,
        TypeError,
    ):  # not YAML, or not a parameter type: a text, as in later releases
        return Parameter('', value=string_value).get_parameter_value()


# Text and hash of a message definition, for bags, are not in rclpy and come from rosbags; it is
# imported when it is needed, so that nodes that do not record start without that package.


def _definitions() -> Any:
    return importlib.import_module('roslite.runtime.types')


def message_types() -> list[str]:
    """Return the names of all message types with an available definition."""
    return _definitions().message_types()


def service_types() -> list[str]:
    """Return the names of all service types with an available definition."""
    return _definitions().service_types()


def message_definition(name: str) -> str:
    """Return the definition text of a message type with the types that it uses, as stored in bags."""
    return _definitions().message_definition(name)


def type_hash(name: str) -> str:
    """Return the RIHS01 hash of a message type, a service or one of a service's halves."""
    return _definitions().type_hash(name)


def typestore() -> Any:
    """Return rosbags' type store, for writing and reading bags."""
    return _definitions().typestore()


def take_raw(subscription: Any, count: int) -> list[tuple[bytes, int]]:
    """Take up to `count` messages of a raw subscription as (CDR, source timestamp), without its callback."""
    messages: list[tuple[bytes, int]] = []
    handle = getattr(subscription, 'handle', None)
    if handle is None:  # a release without it: messages arrive by the callback, one at a time
        return []
    with handle:
        while len(messages) < count:
            taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is None:
                break
            messages.append((bytes(taken[0]), int(taken[1]['source_timestamp'])))
    return messages


def drive_clock(node: Any, nanoseconds: int) -> None:
    """Set the time of a node that is itself the source of time (and publishes /clock)."""
    clock = node.get_clock()
    clock._set_ros_time_is_active(True)
    clock.set_ros_time_override(Time(nanoseconds=nanoseconds, clock_type=ClockType.ROS_TIME))


__all__ = [
    'Clock',
    'ClockType',
    'Context',
    'DurabilityPolicy',
    'Duration',
    'ExternalShutdownException',
    'FloatingPointRange',
    'Future',
    'HistoryPolicy',
    'IntegerRange',
    'InvalidParameterTypeException',
    'InvalidParameterValueException',
    'InvalidQosOverridesError',
    'LivelinessPolicy',
    'LoggingSeverity',
    'MultiThreadedExecutor',
    'MutuallyExclusiveCallbackGroup',
    'Node',
    'NotInitializedException',
    'Parameter',
    'ParameterAlreadyDeclaredException',
    'ParameterDescriptor',
    'ParameterNotDeclaredException',
    'ParameterUninitializedException',
    'QoSOverridingOptions',
    'QoSPolicyKind',
    'QoSProfile',
    'RCLError',
    'RCLInvalidROSArgsError',
    'ROSClock',
    'ReentrantCallbackGroup',
    'ReliabilityPolicy',
    'SetParametersResult',
    'SignalHandlerOptions',
    'SingleThreadedExecutor',
    'SubscriptionEventCallbacks',
    'Time',
    'deserialize_message',
    'drive_clock',
    'get_default_context',
    'get_logger',
    'get_parameter_value',
    'init',
    'message_types',
    'service_types',
    'message',
    'message_definition',
    'ok',
    'parameter_value_to_python',
    'qos_profile_parameters',
    'qos_profile_sensor_data',
    'qos_profile_services_default',
    'qos_profile_system_default',
    'register_message',
    'register_service',
    'remove_ros_args',
    'serialize_message',
    'service',
    'shutdown',
    'spin',
    'spin_once',
    'spin_until_future_complete',
    'take_raw',
    'try_shutdown',
    'type_hash',
    'type_name',
    'typestore',
]
