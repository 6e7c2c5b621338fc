"""Public names of the runtime: names of rclpy, and helpers for message types."""

from __future__ import annotations

from typing import Any

from .arguments import parse_arguments
from .clock import Clock, ROSClock
from .context import (
    Context,
    SignalHandlerOptions,
    get_default_context,
    init,
    ok,
    shutdown,
    try_shutdown,
)
from .exceptions import (
    ExternalShutdownException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    NotInitializedException,
    ParameterAlreadyDeclaredException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
    RCLError,
    RCLInvalidROSArgsError,
)
from .executor import (
    MultiThreadedExecutor,
    MutuallyExclusiveCallbackGroup,
    ReentrantCallbackGroup,
    SingleThreadedExecutor,
    spin,
    spin_once,
    spin_until_future_complete,
)
from .logging import LoggingSeverity, get_logger
from .node import Node
from .parameters import (
    FloatingPointRange,
    IntegerRange,
    Parameter,
    ParameterDescriptor,
    SetParametersResult,
    get_parameter_value,
    parameter_value_to_python,
)
from .qos import (
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
from .qos_overriding import InvalidQosOverridesError, QoSOverridingOptions
from .subscription import SubscriptionEventCallbacks, take_raw
from .task import Future
from .time import ClockType, Duration, Time
from .types import (
    codec,
    message,
    message_definition,
    message_types,
    register_message,
    register_service,
    service,
    service_types,
    type_hash,
    typestore,
)


def type_name(cls: Any) -> str:
    """Return the ROS name of a message or service class, such as `sensor_msgs/msg/JointState`."""
    return getattr(cls, '__msgtype__', None) or cls.__srvtype__


def serialize_message(msg: Any) -> bytes:
    """Return a message as CDR bytes."""
    return codec(msg.__msgtype__).encode(msg)


def deserialize_message(data: bytes, message_type: Any) -> Any:
    """Return the message in CDR bytes."""
    return codec(message_type.__msgtype__).decode(data)


def drive_clock(node: Node, nanoseconds: int) -> None:
    """Set the time of a node that is the source of time (and publishes /clock).

    The node's clock and timers then follow these calls, and its samples have this time as DDS source timestamp. With
    rclpy only clock and timers follow.
    """
    clock = node.get_clock()
    clock._set_nanoseconds(nanoseconds)
    clock._set_ros_time_is_active(True)


def remove_ros_args(args: list[str] | None = None) -> list[str]:
    """Return the command line without `--ros-args` and its arguments."""
    return parse_arguments(args).rest


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
