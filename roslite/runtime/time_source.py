"""Time from /clock if `use_sim_time` is set."""

from __future__ import annotations

import os
from typing import Any

from .clock import ROSClock
from .parameters import Parameter, ParameterDescriptor, ParameterType, SetParametersResult
from .qos import HistoryPolicy, QoSProfile, qos_profile_clock
from .types import message

USE_SIM_TIME = 'use_sim_time'
_NANO = 1_000_000_000
#: If 1, /clock is received reliably and completely instead of best effort with depth 1: no tick of a clock faster than
#: its subscribers is skipped. The publisher of /clock must be reliable.
RELIABLE_CLOCK_VARIABLE = 'DYN_NODES_RELIABLE_CLOCK'


class TimeSource:
    """Connects a node's clock to the parameter `use_sim_time` and the topic /clock."""

    def __init__(self, node: Any, clock: ROSClock) -> None:
        self._node = node
        self._clock = clock
        self._subscription: Any = None
        if not node.has_parameter(USE_SIM_TIME):
            descriptor = ParameterDescriptor(description='use the time of /clock')
            node.declare_parameter(USE_SIM_TIME, False, descriptor)
        self._enable(node.get_parameter(USE_SIM_TIME).value)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._after_set)

    @staticmethod
    def _check(parameters: list[Parameter]) -> Any:
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME and parameter.type_ != ParameterType.BOOL:
                return SetParametersResult(successful=False, reason=f'{USE_SIM_TIME} must be a bool')
        return SetParametersResult(successful=True)

    def _after_set(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME:
                self._enable(parameter.value)

    def _enable(self, enabled: bool) -> None:
        if enabled and self._subscription is None:
            reliable = os.environ.get(RELIABLE_CLOCK_VARIABLE) == '1'
            qos = QoSProfile(history=HistoryPolicy.KEEP_ALL) if reliable else qos_profile_clock
            self._subscription = self._node.create_subscription(
                message('rosgraph_msgs/msg/Clock'), '/clock', self._on_clock, qos
            )
        elif not enabled and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        self._clock._set_ros_time_is_active(enabled)

    def _on_clock(self, msg: Any) -> None:
        seconds, nanoseconds = msg.clock.sec, msg.clock.nanosec
        if seconds < 0 or nanoseconds >= _NANO:  # not a valid time for the clock
            self._node.get_logger().error(
                f'/clock is ignored: expected a time, found {seconds} s and {nanoseconds} ns', throttle_duration_sec=1.0
            )
            return
        self._clock._set_nanoseconds(seconds * _NANO + nanoseconds)
