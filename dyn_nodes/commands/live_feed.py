"""Subscribes to the topics of a machine for a live display; uses only the newest message of a topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import numpy as np

from dyn_nodes.analysis.run_record import attitude_of
from dyn_nodes.commands.live_state import LiveState
from dyn_nodes.elements import actuator_elements
from dyn_nodes.middleware import (
    DurabilityPolicy,
    Node,
    QoSProfile,
    ReliabilityPolicy,
    SignalHandlerOptions,
    SingleThreadedExecutor,
    init,
    message,
    try_shutdown,
)
from dyn_nodes.model import Machine
from dyn_nodes.nodes.balance_reports import margin_topic
from dyn_nodes.nodes.stability_health import levels_of_array

DYNAMICS = 'dynamics_node'
MOST_CALLBACKS = 200
"""Greatest number of callbacks per poll, so that a slow feed does not delay the display."""


class LiveFeed:
    """A node that fills a LiveState.

    Subscriptions are best effort with depth 1: a poll receives the newest messages and slows no node down.

    Args:
        machine: whose topics are subscribed.
        state: to fill.
        measures: stability measures to subscribe to.
        detailed: also wheel loads, margins and pressures.
        domain: of the machine; None for ROS_DOMAIN_ID.
    """

    def __init__(
        self,
        machine: Machine,
        state: LiveState,
        measures: Iterable[str],
        detailed: bool = True,
        domain: int | None = None,
    ) -> None:
        self.state = state
        self.taken = 0
        init(args=[], domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('demo_display', enable_rosout=False, start_parameter_services=False)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self._create(machine, tuple(measures) if detailed else (), detailed)

    def _create(self, machine: Machine, measures: tuple[str, ...], detailed: bool) -> None:
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._listen('nav_msgs/msg/Odometry', 'odom', self._on_odom, newest)
        self._listen('std_msgs/msg/String', 'task_phase', self._on_phase, latched)
        self._listen('diagnostic_msgs/msg/DiagnosticStatus', 'events', self._on_event, QoSProfile(depth=50))
        self._listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics', self._on_diagnostics, QoSProfile(depth=50))
        if not detailed:
            return
        for wheel in machine.wheels:
            self.state.loads[wheel.name] = 0.0
            topic = f'ground_reactions/{wheel.name}'
            self._listen('geometry_msgs/msg/WrenchStamped', topic, self._load_setter(wheel.name), newest)
        for measure in measures:
            self._listen('std_msgs/msg/Float64', margin_topic(measure), self._margin_setter(measure), newest)
        for actuator in actuator_elements(machine):
            for line in (quantity.name for quantity in actuator.reported if quantity.unit == 'Pa'):
                topic = f'hydraulics/{actuator.name}/{line}'
                self._listen('sensor_msgs/msg/FluidPressure', topic, self._pressure_setter(actuator.name, line), newest)

    def _load_setter(self, wheel: str) -> Callable[[Any], None]:
        return lambda msg: self.state.loads.__setitem__(wheel, msg.wrench.force.z)

    def _margin_setter(self, measure: str) -> Callable[[Any], None]:
        return lambda msg: self.state.set_margin(measure, msg.data)

    def _pressure_setter(self, actuator: str, line: str) -> Callable[[Any], None]:
        lines = self.state.pressures.setdefault(actuator, {})
        return lambda msg: lines.__setitem__(line, msg.fluid_pressure)

    def _listen(self, kind: str, topic: str, callback: Callable[[Any], None], qos: QoSProfile) -> None:
        def counted(msg: Any) -> None:
            self.taken += 1
            callback(msg)

        self.node.create_subscription(message(kind), topic, counted, qos)

    def _on_odom(self, msg: Any) -> None:
        stamp, turn = msg.header.stamp, msg.pose.pose.orientation
        self.state.set_time(stamp.sec + 1e-9 * stamp.nanosec, time.monotonic())
        tilt, roll, pitch = attitude_of(np.array([[turn.x, turn.y, turn.z, turn.w]]))
        self.state.tilt, self.state.roll, self.state.pitch = float(tilt[0]), float(roll[0]), float(pitch[0])
        self.state.peak_tilt = max(self.state.peak_tilt, self.state.tilt)

    def _on_phase(self, msg: Any) -> None:
        self.state.phase = msg.data

    def _on_diagnostics(self, msg: Any) -> None:
        self.state.levels.update(levels_of_array(msg, DYNAMICS))

    def _on_event(self, msg: Any) -> None:
        self.state.events.append(f'{msg.name.rpartition(": ")[2].replace("_", " ")}: {msg.message}')

    def poll(self) -> None:
        """Process received messages without waiting."""
        for _ in range(MOST_CALLBACKS):
            before = self.taken
            self.executor.spin_once(timeout_sec=0.0)
            if self.taken == before:
                return

    def close(self) -> None:
        """Destroy the node."""
        self.executor.shutdown()
        self.node.destroy_node()
        try_shutdown()

    def __enter__(self) -> LiveFeed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
