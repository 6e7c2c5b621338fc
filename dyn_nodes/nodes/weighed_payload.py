"""Payload estimated by a stability monitor for another node's monitor: mass and bounds."""

from __future__ import annotations

import time
from typing import Any

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.monitor.payload_estimate import no_weight
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes.arrays import stamp_of_volts
from dyn_nodes.nodes.commands import RejectedError, Rejections
from dyn_nodes.nodes.diagnostics import WARN, Health
from dyn_nodes.nodes.stamps import NANO

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
TOPIC = 'payload/interval'
LARGEST = 1e6
"""Greatest magnitude of the ends of an interval, kg."""


class WeighedPayload:
    """Receives `payload/interval` and sets its middle as the payload of a monitor.

    Without a valid interval (missing, timed out, not observed or impossible) the rated payload is used, with bounds
    from 0 to the rated payload and a part more.

    Args:
        node: the node.
        monitor: receives the payload; its present payload is the rated one.
        error: part by which the rated payload may be exceeded.
        timeout: greatest age of an interval, s.

    Attributes:
        bounds: (least, greatest), kg.
        observed: whether the bounds are estimated.
        rejections: of intervals.
    """

    def __init__(self, node: Any, monitor: StabilityMonitor, error: float, timeout: float) -> None:
        self.node, self.monitor, self.timeout = node, monitor, timeout
        self.rated, self._most = monitor.payload, (1.0 + error) * monitor.payload
        self.bounds, self.observed = (0.0, self._most), False
        self.rejections = Rejections()
        self._newest: tuple[float, float, float, bool] | None = None
        mount = monitor.machine.payload
        self._limit = self._most if mount is None else mount.limit
        node.create_subscription(Float64MultiArray, TOPIC, self.take, QoSProfile(depth=10))

    def take(self, msg: Any) -> None:
        """Store lower and upper end, kg, whether the payload is observed, and the instant of a message."""
        stamp, data = stamp_of_volts(msg), list(msg.data)
        try:
            if stamp is None:
                raise RejectedError('no instant', f'{TOPIC}: expected the instant of the estimate, found none')
            is_interval = len(data) == 3 and -LARGEST <= data[0] <= data[1] <= LARGEST  # false for NaN too
            if not (is_interval and data[2] in (0.0, 1.0)):
                text = f'{TOPIC}: expected lower and upper end, kg, and 0 or 1, found {data[:5]}'
                raise RejectedError('no interval', text)
        except RejectedError as error:
            self.rejections.add(error, time.monotonic())
            self.node.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)
            return
        self._newest = stamp / NANO, float(data[0]), float(data[1]), bool(data[2])

    def update(self, now: float) -> None:
        """Set bounds and the monitor's payload at the time of joint states, s."""
        newest = self._newest
        if newest is None or not abs(now - newest[0]) <= self.timeout:
            self.observed = False
            self.bounds, self.monitor.payload = (0.0, self._most), self.rated
            return
        _, lower, upper, observed = newest
        self.observed = observed and not no_weight(lower, upper, self._limit)
        if not self.observed:
            self._widen(lower, upper)
            return
        least, most = max(lower, 0.0), max(upper, 0.0)
        self.bounds, self.monitor.payload = (least, most), 0.5 * (least + most)

    def _widen(self, lower: float, upper: float) -> None:
        """Extend the bounds beyond the rated payload if an uncertain estimate indicates it."""
        most = self._most
        if upper <= self._limit:
            most = max(most, upper)
        elif lower > self.rated:
            most = max(most, self._limit)
        self.bounds, self.monitor.payload = (0.0, most), min(max(self.rated, lower), most)

    def health(self) -> Health:
        """Return the status `payload`."""
        values = {
            'used': f'{self.monitor.payload:.6g} kg',
            'bounds': f'{self.bounds[0]:.6g} to {self.bounds[1]:.6g} kg',
            'weighed': str(self.observed).lower(),
            **self.rejections.values(),
        }
        health = Health(text=f'{self.monitor.payload:.0f} kg', values=values)
        if not self.observed:
            health.worse(WARN, f'the rated {self.rated:.0f} kg: no estimate on {TOPIC}')
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health
