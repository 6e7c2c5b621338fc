"""Payload estimation from pressure topics: subscriptions, samples of the estimator, topics, health."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.middleware import QoSProfile, message, service
from dyn_nodes.monitor.payload_estimate import PayloadEstimate, no_weight
from dyn_nodes.monitor.payload_estimator import PayloadEstimator, payload_estimator
from dyn_nodes.monitor.payload_model import UnobservableError
from dyn_nodes.monitor.payload_settings import PayloadSettings, pressure_ranges
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes.arrays import stamp_volts, volts_message
from dyn_nodes.nodes.commands import RejectedError, Rejections
from dyn_nodes.nodes.diagnostics import ERROR, WARN, Health
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

FluidPressure = message('sensor_msgs/msg/FluidPressure')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Trigger = service('std_srvs/srv/Trigger')

SETTINGS = (
    'body_mass',
    'center',
    'friction',
    'seal_friction',
    'pressure_offset',
    'pressure_noise',
    'delay',
    'tolerance',
)
TARED = 0.05
"""Greatest sum of all tares over the limit of the mount: a greater residual is a load."""
LEAST_RATE = 40.0
"""Least rate of pressure messages, 1/s: at 20 per second the interval contains only 85 % of the true values."""
RATE_PART = 0.05
"""Weight of the newest interval between messages in the mean."""
MOST_WAITING = 400
"""Greatest number of motion samples that wait for pressures of their time."""
STEPPED = 2.0
"""Time for which a step of the load is reported, s."""


class PressureLine:
    """Interpolation of the pressures of one line.

    Attributes:
        before, newest: the last two messages, (s, Pa).
        period: mean time between messages, s; 0 before the second.
    """

    def __init__(self) -> None:
        self.before, self.newest = (-math.inf, 0.0), (-math.inf, 0.0)
        self.period = 0.0

    def take(self, time: float, pressure: float) -> None:
        """Add a message; one that is not newer restarts the line."""
        follows = time > self.newest[0] > -math.inf
        if follows:
            step = time - self.newest[0]
            self.period += (RATE_PART if self.period else 1.0) * (step - self.period)
        self.before = self.newest if follows else (time, pressure)
        self.newest = time, pressure

    def at(self, time: float) -> float:
        """Return the pressure at a time up to the newest message; before the last two it is constant."""
        (start, first), (end, last) = self.before, self.newest
        part = 1.0 if end <= start else min(max((time - start) / (end - start), 0.0), 1.0)
        return first + part * (last - first)


class PayloadSensing:
    """Estimates the payload of a node's monitor and sets it.

    Args:
        node: the node.
        monitor: source of the motion, receives the payload.
        values: the node's parameters.
        qos: of the pressures.
        start: prefix of the topics, '' or with a slash at the end.

    Attributes:
        estimator: of the payload.
        estimate: the last estimate.

    Raises:
        ParameterError: the payload of this machine cannot be estimated.
    """

    def __init__(self, node: Any, monitor: StabilityMonitor, values: dict[str, Any], qos: Any, start: str) -> None:
        self.node, self.monitor, self.values = node, monitor, values
        self.estimator = self._make_estimator()
        self.estimate: PayloadEstimate = self.estimator.estimate
        self.rejections = Rejections()
        self._ranges = pressure_ranges(self.estimator.model, self.estimator.settings)
        self._lines = {name: PressureLine() for name in self._ranges}
        self._waiting: deque[tuple[float, Array, Array, Array, Array, float]] = deque(maxlen=MOST_WAITING)
        self._time = self._stepped = -math.inf
        self._timed_out = True
        self.mass_out = node.create_publisher(Float64, f'{start}payload/estimate', qos)
        self.interval_out = node.create_publisher(Float64MultiArray, f'{start}payload/interval', qos)
        self._interval = volts_message(('lower', 'upper', 'observed'))
        for name in self._lines:
            node.create_subscription(FluidPressure, f'hydraulics/{name}', self._taker(name), QoSProfile(depth=100))
        node.create_service(Trigger, '~/tare', self._on_tare)

    def _make_estimator(self) -> PayloadEstimator:
        settings = PayloadSettings(**{name: self.values[f'payload_estimate.{name}'] for name in SETTINGS})
        try:
            estimator = payload_estimator(self.monitor.machine, settings)
        except UnobservableError as error:
            raise ParameterError(f"parameter 'payload_source': estimated: {error}") from None
        estimator.rated = self.monitor.payload
        return estimator

    # -- messages ----------------------------------------------------------------------------------------------------

    def _taker(self, name: str) -> Any:
        def take(msg: Any) -> None:
            self.take_pressure(name, msg)

        return take

    def take_pressure(self, name: str, msg: Any) -> None:
        """Process a FluidPressure of a line; messages before the first joint states are ignored."""
        if self._time == -math.inf:
            return
        pressure, stamp = float(msg.fluid_pressure), nanoseconds_of_stamp(msg.header.stamp) / NANO
        least, most = self._ranges[name]
        if not least <= pressure <= most:  # false for NaN too
            kind = 'out of range' if math.isfinite(pressure) else 'not finite'
            expected = f'expected {least:.3g} to {most:.3g} Pa, by tank and reliefs'
            self._reject(RejectedError(kind, f'hydraulics/{name}: {expected}, found {pressure:g}'))
            return
        if stamp - self._time > self._timeout:  # it would hide a timeout
            expected = f'expected a stamp at most {self._timeout:g} s after the joint states'
            self._reject(RejectedError('ahead', f'hydraulics/{name}: {expected}, found {stamp - self._time:.3g} s'))
            return
        self._lines[name].take(stamp, pressure)
        self._use_waiting()

    def _reject(self, error: RejectedError) -> None:
        self.rejections.add(error, time.monotonic())
        self.node.get_logger().warn(f'rejected: {error}', throttle_duration_sec=1.0)

    def take_state(self, now: float) -> None:
        """Process the motion that the monitor has estimated for an instant, s."""
        if now < self._time:  # time went back
            self.restart()
        self._time = now
        monitor = self.monitor
        if monitor.settled and monitor.has_imu:
            motion = monitor.q, monitor.v, monitor.omega, monitor.specific_force
            self._waiting.append((now, *motion, monitor.speed_deviation))
        self._use_waiting()
        self._check_pressure_timeout()

    def restart(self) -> None:
        """Reset the estimate, as after a reset of time; tares are kept."""
        self.estimator.restart()
        self._waiting.clear()
        for name in self._lines:
            self._lines[name] = PressureLine()
        self._stepped = -math.inf
        self._set(self.estimator.estimate)

    def _use_waiting(self) -> None:
        """Pass motion samples with pressures of their time to the estimator: pressures are later and rarer."""
        newest = min(line.newest[0] for line in self._lines.values())
        while self._waiting and self._waiting[0][0] <= newest + 1e-6:
            now, q, v, omega, force, speed = self._waiting.popleft()
            steps = self.estimator.steps
            pressures = np.array([line.at(now) for line in self._lines.values()])
            renewed = self.estimator.sample(now, q, v, omega, force, pressures, (speed, self.monitor.noise.gyroscope))
            if self.estimator.steps > steps:
                self._stepped = now
            if renewed:
                self._timed_out = False
                self._publish(self.estimator.estimate, now)

    def _check_pressure_timeout(self) -> None:
        """Return to the rated payload after a timeout of pressures or of the IMU."""
        newest = min(line.newest[0] for line in self._lines.values())
        if self._time - newest <= self._timeout and self.monitor.has_imu:
            return
        self._waiting.clear()  # pressures after a timeout do not belong to these samples
        if not self._timed_out:
            self._timed_out = True
            self.estimator.forget_payload()
            self._publish(self.estimator.estimate, self._time)

    def _set(self, estimate: PayloadEstimate) -> None:
        self.estimate = estimate
        self.monitor.payload = estimate.mass

    def _publish(self, estimate: PayloadEstimate, at: float) -> None:
        """Publish mass and interval of an instant, s; the mass is clamped to the limit of the mount."""
        self._set(estimate)
        self.mass_out.publish(Float64(data=min(estimate.mass, self.estimator.limit)))
        self._interval.data = [estimate.lower, estimate.upper, float(estimate.state == 'observed')]
        stamp_volts(self._interval, round(at * NANO) if math.isfinite(at) else None)
        self.interval_out.publish(self._interval)

    def _on_tare(self, _: Any, response: Any) -> Any:
        """Zero the payload estimate: the residual at an empty implement is attributed to the machine."""
        observed, tared = self.estimate.state == 'observed', self.estimator.tared
        residual, most = self.estimate.estimated + tared, TARED * self.estimator.limit
        response.success = observed and abs(residual) <= most
        if observed and abs(residual) > most:
            before = f', {tared:.0f} kg of it tared before' if tared else ''
            expected = f'expected an empty implement, {most:.0f} kg at most'
            response.message = f'no tare: {expected}, found {residual:.0f} kg{before}'
        elif observed:
            self.estimator.tare(0.0)
            self._publish(self.estimator.estimate, self._time)
            response.message = 'the implement counts as empty'
        else:
            response.message = f'no tare: {self._why_rated()}'
        return response

    # -- health ------------------------------------------------------------------------------------------------------

    def _why_rated(self) -> str:
        if not self.monitor.has_imu:
            return 'no imu, which the motion of the base needs'
        if self._timed_out:
            lacking = [name for name, line in self._lines.items() if self._time - line.newest[0] > self._timeout]
            return f'no pressure on hydraulics/{", hydraulics/".join(lacking or self._lines)}'
        if self.estimator.doubted:
            return (
                'pressures and motion are inconsistent: the load seems to step all the time, or no load explains them'
            )
        if wrong := no_weight(self.estimate.lower, self.estimate.upper, self.estimator.limit):
            return wrong
        if self.estimator.blind:
            return 'joints at their ends, or samples that are too rare, would not show a change of the load'
        half = 0.5 * (self.estimate.upper - self.estimate.lower)
        return f'uncertain by {half:.0f} kg'

    @property
    def _timeout(self) -> float:
        return float(self.values['pressure_timeout'])

    def health(self) -> Health:
        """Return the status `payload`."""
        estimate, limit = self.estimate, self.estimator.limit
        values = {
            'state': estimate.state,
            'used': f'{estimate.mass:.6g} kg',
            'interval of 95 %': f'{estimate.lower:.6g} to {estimate.upper:.6g} kg',
            'center from the mount': ' '.join(f'{value:.3f}' for value in estimate.center) + ' m',
            'steps noticed': str(estimate.steps),
            **self.rejections.values(),
        }
        health = Health(text=f'{estimate.mass:.0f} kg', values=values)
        if estimate.state == 'rated':
            health.worse(WARN, f'the rated {estimate.mass:.0f} kg: {self._why_rated()}')
        elif estimate.lower > limit:
            health.worse(ERROR, f'overloaded: {estimate.mass:.0f} kg, the mount carries {limit:.0f} kg')
        elif self._time - self._stepped < STEPPED:
            health.text = f'{estimate.mass:.0f} kg after a step of the load'
        slow = max(self._lines, key=lambda name: self._lines[name].period)
        if self._lines[slow].period * LEAST_RATE > 1.0 + 1e-6:
            rate = f'{1.0 / self._lines[slow].period:.3g} pressures a second on hydraulics/{slow}'
            health.worse(WARN, f'expected {LEAST_RATE:g} or more, found {rate}: the interval is too narrow')
        if self.rejections.recent(time.monotonic()):
            health.worse(WARN, f'rejected: {self.rejections.last}')
        return health
