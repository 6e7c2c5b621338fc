"""The names that `dyn_nodes.middleware` gives out where rclpy is installed: rclpy's own, and a few helpers.

Differences between rclpy's releases are evened out here and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import Any

import rclpy
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy import exceptions as _exceptions
from rclpy import ok, shutdown, spin, spin_once, spin_until_future_complete, try_shutdown
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
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_parameters,
    qos_profile_sensor_data,
    qos_profile_services_default,
    qos_profile_system_default,
)
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.time import Time
from rclpy.utilities import get_default_context, remove_ros_args

from .embedded.types import known_messages, known_services, message_definition, type_hash, typestore

InvalidParameterTypeException = getattr(_exceptions, 'InvalidParameterTypeException', TypeError)
InvalidParameterValueException = getattr(_exceptions, 'InvalidParameterValueException', ValueError)
ParameterUninitializedException = getattr(_exceptions, 'ParameterUninitializedException', RuntimeError)
RCLInvalidROSArgsError = getattr(_rclpy, 'RCLInvalidROSArgsError', RuntimeError)


class _Shutdown:
    """Shuts down at the end of a `with` block, for releases whose `init` returns nothing."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def __enter__(self) -> _Shutdown:
        return self

    def __exit__(self, *_: object) -> None:
        try_shutdown(context=self.context)


def init(*, context: Any = None, **options: Any) -> Any:
    """Call rclpy.init; the result is a context manager on every release."""
    result = rclpy.init(context=context, **options)
    return _Shutdown(context) if result is None else result


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
    """Return the class of an installed message type; ROS makes none from text."""
    return message(name)


def register_service(name: str, text: str) -> Any:
    """Return the class of an installed service type; ROS makes none from text."""
    return service(name)


def type_name(cls: Any) -> str:
    """Return the ROS name of a message or service class, such as `sensor_msgs/msg/JointState`."""
    package, kind = cls.__module__.split('.')[:2]
    return f'{package}/{kind}/{cls.__name__}'


def get_parameter_value(string_value: str) -> Any:
    """Return the rcl_interfaces/ParameterValue of a text, read as YAML."""
    return _parameter.get_parameter_value(string_value=string_value)


def drive_clock(node: Node, nanoseconds: int) -> None:
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
    'QoSProfile',
    'RCLInvalidROSArgsError',
    'ROSClock',
    'ReentrantCallbackGroup',
    'ReliabilityPolicy',
    'SetParametersResult',
    'SignalHandlerOptions',
    'SingleThreadedExecutor',
    'Time',
    'deserialize_message',
    'drive_clock',
    'get_default_context',
    'get_logger',
    'get_parameter_value',
    'init',
    'known_messages',
    'known_services',
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
    'try_shutdown',
    'type_hash',
    'type_name',
    'typestore',
]
