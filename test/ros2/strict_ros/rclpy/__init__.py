"""A stand-in for rclpy: its documented names, in its modules; see strict_rclpy.py."""

from __future__ import annotations

import sys
import types

import strict_messages
import strict_rclpy as strict

strict_messages.install()

# underscores: setting a module as its parent's attribute would hide these
from roslite.runtime import api as _api  # noqa: E402
from roslite.runtime import context as _contexts  # noqa: E402
from roslite.runtime import exceptions as _exceptions  # noqa: E402
from roslite.runtime import executor as _executor  # noqa: E402
from roslite.runtime import qos as _qos  # noqa: E402
from roslite.runtime import qos_overriding as _overriding  # noqa: E402
from roslite.runtime import subscription as _subscription  # noqa: E402
from roslite.runtime import task as _task  # noqa: E402
from roslite.runtime import time as _time  # noqa: E402

_PATHS = {
    '': (strict, 'init shutdown try_shutdown spin spin_once spin_until_future_complete'),
    'callback_groups': (_executor, 'CallbackGroup MutuallyExclusiveCallbackGroup ReentrantCallbackGroup'),
    'clock': (strict, 'Clock ROSClock Time Duration'),
    'context': (_contexts, 'Context'),
    'duration': (strict, 'Duration'),
    'event_handler': (_subscription, 'SubscriptionEventCallbacks'),
    'qos_event': (_subscription, 'SubscriptionEventCallbacks'),
    'exceptions': (
        _exceptions,
        'NotInitializedException ParameterException ParameterNotDeclaredException ParameterAlreadyDeclaredException '
        'InvalidParameterException InvalidParameterTypeException InvalidParameterValueException '
        'ParameterImmutableException ParameterUninitializedException',
    ),
    'executors': (strict, 'SingleThreadedExecutor'),
    'logging': (strict, 'get_logger'),
    'node': (strict, 'Node'),
    'parameter': (strict, 'Parameter parameter_value_to_python'),
    'qos': (
        _qos,
        'QoSPolicyKind QoSProfile HistoryPolicy ReliabilityPolicy DurabilityPolicy LivelinessPolicy '
        'qos_profile_parameters qos_profile_sensor_data qos_profile_services_default qos_profile_system_default',
    ),
    'qos_overriding_options': (_overriding, 'InvalidQosOverridesError QoSOverridingOptions'),
    'serialization': (strict, 'serialize_message deserialize_message'),
    'subscription': (strict, 'Subscription'),
    'signals': (_contexts, 'SignalHandlerOptions install_signal_handlers uninstall_signal_handlers'),
    'task': (_task, 'Future Task'),
    'time': (strict, 'Time'),
    'utilities': (_contexts, 'get_default_context ok'),
    'impl': (strict, ''),
    'impl.implementation_singleton': (strict, ''),
}


def _module(path: str) -> types.ModuleType:
    name = f'rclpy.{path}' if path else 'rclpy'
    if name not in sys.modules:
        sys.modules[name] = types.ModuleType(name)
        parent, _, child = name.rpartition('.')
        setattr(sys.modules[parent], child, sys.modules[name])
    return sys.modules[name]


for _path, (_source, _names) in _PATHS.items():
    for _name in _names.split():
        setattr(_module(_path), _name, getattr(_source, _name))
    _module(_path)

_module('').ok = _contexts.ok  # type: ignore[attr-defined]
_module('').__path__ = []  # type: ignore[attr-defined]
_module('clock').ClockType = _time.ClockType  # type: ignore[attr-defined]
_module('executors').ExternalShutdownException = _exceptions.ExternalShutdownException  # type: ignore[attr-defined]
_module('executors').MultiThreadedExecutor = strict.SingleThreadedExecutor  # type: ignore[attr-defined]
_module('logging').LoggingSeverity = _api.LoggingSeverity  # type: ignore[attr-defined]
_module('utilities').remove_ros_args = _api.remove_ros_args  # type: ignore[attr-defined]
_module('impl.implementation_singleton').rclpy_implementation = types.SimpleNamespace(  # type: ignore[attr-defined]
    RCLError=strict.RCLError, RCLInvalidROSArgsError=strict.RCLInvalidROSArgsError
)
if not strict.HUMBLE:
    _module('parameter').get_parameter_value = strict.get_parameter_value  # type: ignore[attr-defined]
