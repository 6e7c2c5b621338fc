"""Monitor of ground reactions and stability margins of a real machine: joint states, IMU and payload in.

    dyn-nodes run stability_monitor_node --ros-args -p machine:=log_loader

It publishes no commands.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dyn_nodes.measures import MEASURES, Levels
from dyn_nodes.middleware import Clock, ClockType, QoSProfile, message
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.monitor.allowance import Allowance, Allowances, AllowanceSettings
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.nodes.balance_reports import BalanceReports, contact_frames
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.exchange import WATCH_PERIOD, Every
from dyn_nodes.nodes.load_moment_report import LoadMomentReport
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.managed import Managed
from dyn_nodes.nodes.neighbours import MEASUREMENTS
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import Declared, ParameterError, declare, group, mapped_parameters, node_parameters
from dyn_nodes.nodes.payload_sensing import PayloadSensing
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.sensing import Sensing
from dyn_nodes.nodes.stability_health import judge, margin_values
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.transforms import Frame, TransformPublisher
from dyn_nodes.stability import PolygonError
from dyn_nodes.stability.at_rest import alarm_levels
from dyn_nodes.stability.balance import Balance

Float64 = message('std_msgs/msg/Float64')

PARAMETERS = node_parameters('stability_monitor_node')
UNITS = {'payload': 'kg', 'reach': 'm', 'swing_speed': 'rad/s'}


def level_parameters(measure: str, levels: Levels) -> tuple[Declared, ...]:
    """Return the parameters of the alarm levels of a measure, with the defaults of the machine."""
    declared = mapped_parameters('stability_monitor_node', 'measures', measure)
    return tuple(replace(item, default=getattr(levels, item.name.rpartition('.')[2])) for item in declared)


class StabilityMonitorNode(OverridableNode, Managed):
    """Publishes ground reactions, margins and allowances of a machine.

    Attributes:
        sensing: measurements.
        payload: estimation from pressures; None for a specified payload.
        balance: the last one; None before the first.
        allowance: the last one; None before the first.
        latency: last computing time from a message to its margins, s.
        fault: why no margins are published, or ''.
    """

    watches_ages = is_managed = True
    measurements = MEASUREMENTS

    def __init__(self, **options: Any) -> None:
        super().__init__('stability_monitor_node', **options)
        self.values = values = declare(self, PARAMETERS)
        self.machine = in_space(machine_of(values['machine'], values['config']))
        measures = tuple(name for name in values['measures'] if name)
        self.levels = self._declare_levels(measures)
        self.balance: Balance | None = None
        self.allowance: Allowance | None = None
        self.latency = 0.0
        self._withdrawn = True
        self.fault = ''
        qos = QoSProfile(depth=values['queue_depth'])
        payload_specified = values['payload_source'] == 'given'
        self.sensing = Sensing(
            self, self.machine, values, measures, self._on_state, qos, payload_specified=payload_specified
        )
        self.ground = StandingGround(self.machine, self.sensing.monitor.model)
        self.allowances = self._make_allowances()
        self._due = {name: Every(name, values[name], 1e-3, False) for name in ('period', 'marker_period')}
        self._allowance_due = Every('allowance_period', values['allowance_period'], 1e-3, False)
        self._load_moment_due = Every('load_moment_period', values['load_moment_period'], 1e-3, False)
        self._create_topics(measures, qos)
        start = f'{values["prefix"]}/' if values['prefix'] else ''
        self.payload = None if payload_specified else PayloadSensing(self, self.sensing.monitor, values, qos, start)
        self.load_moment = LoadMomentReport(self, self.machine, values['rated_share'], qos, values['prefix'])
        self.sensing.warm_up(self._warm_up)
        sources = self.load_moment.sources() | {
            'joint_states': self.sensing.joint_health,
            'imu': self.sensing.imu_health,
            'stability': self._stability_health,
            'allowance': self._allowance_health,
        }
        if self.payload is not None:
            sources['payload'] = self.payload.health
        elif self.machine.payload is not None:
            sources['payload'] = self.sensing.payload_health
        self.diagnostics = DiagnosticsPublisher(self, sources)
        self.create_timer(WATCH_PERIOD, self.check_timeouts, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{self.machine.name}: {", ".join(measures)}; imu {values["imu"]}')
        self.manage()

    def _declare_levels(self, measures: tuple[str, ...]) -> dict[str, Levels]:
        """Return the alarm levels by measure: of the machine, or of the parameters."""
        try:
            levels = alarm_levels(self.machine, measures)
        except KeyError as error:
            raise ParameterError(f"parameter 'measures': {error.args[0]}") from None
        for name, nominal in levels.items():
            values = declare(self, level_parameters(name, nominal))
            levels[name] = group(values, f'thresholds.{name}', partial(replace, nominal))
        return levels

    def _make_allowances(self) -> Allowances:
        values = self.values
        settings = AllowanceSettings(values['reserve'], values['swing_braking'], values['swing_joint'])
        try:
            return Allowances(self.machine, self.ground, settings)
        except (KeyError, ValueError) as error:
            raise ParameterError(f"parameter 'swing_joint': {error.args[0]}") from None

    def _create_topics(self, measures: tuple[str, ...], qos: QoSProfile) -> None:
        prefix = self.values['prefix']
        wheels = [contact.name for contact in self.machine.ground_contacts]
        weight = self.machine.total_mass * self.machine.gravity
        self.reports = BalanceReports(self, wheels, self.levels, qos, self.values['ground_frame'], weight, prefix)
        start = f'{prefix}/' if prefix else ''
        names = [] if self.machine.payload is None else ['payload', 'reach']
        names += [] if self.allowances.swing is None else ['swing_speed']
        self.allowance_out = {
            name: self.create_publisher(Float64, f'{start}stability/allowance/{name}', qos) for name in names
        }
        self.tf = TransformPublisher(self, '/tf', qos) if self.values['publish_tf'] else None

    def _warm_up(self, q: np.ndarray) -> None:
        """Run the processing of a message once to load its machine code."""
        monitor = self.sensing.monitor
        monitor.balance()
        self.ground.set_ground(np.array([0.0, 0.0, 1.0, -1.0]), monitor.up)
        self.allowances.evaluate(q, 0.0 * q, monitor.payload, monitor.load)
        self.load_moment.evaluate(dict(zip(monitor.model.joints, q)), monitor.payload, self._level_gravity())
        self.load_moment.moment = None

    # -- states ------------------------------------------------------------------------------------------------------

    def _on_state(self, stamp: int) -> None:
        if self.payload is not None:
            self.payload.take_state(stamp / NANO)
        if not self._due['period'].passed(stamp):
            return
        began = time.perf_counter()
        monitor = self.sensing.monitor
        if not self.sensing.trustworthy:
            self.withdraw()
            return
        try:
            balance = monitor.balance()
        except ValueError as error:
            self._fail(str(error))
            return
        self.fault = ''
        self.balance, self._withdrawn = balance, False
        self.reports.publish(lambda: balance, stamp, self._due['marker_period'].passed(stamp))
        self.latency = time.perf_counter() - began
        if self.tf is not None:
            self._publish_frames(balance, stamp)
        if self._allowance_due.passed(stamp):
            self._publish_allowance()
        if self._load_moment_due.passed(stamp):
            joints = dict(zip(monitor.model.joints, monitor.q.tolist()))
            self.load_moment.publish(joints, monitor.payload, self._level_gravity())
        self.update_diagnostics()

    def _level_gravity(self) -> np.ndarray:
        """Return gravity (3,) in axes of the measured ground, x along the heading of the base, m/s2."""
        up = self.sensing.monitor.up
        return -self.machine.gravity * (self.sensing.monitor.footprint()[0].T @ up)

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self.withdraw()
        self.get_logger().error(f'no margins: {fault}', throttle_duration_sec=1.0)
        self.update_diagnostics()

    def withdraw(self) -> None:
        """Publish NaN once for the margins and allowances, which are out of date."""
        if self._withdrawn:
            return
        self._withdrawn, self.allowance = True, None
        self.reports.withdraw()
        self.load_moment.withdraw()
        for publisher in self.allowance_out.values():
            publisher.publish(Float64(data=math.nan))

    def _publish_frames(self, balance: Balance, stamp: int) -> None:
        """Publish the frame of the ground below the base, and the contact frames on it."""
        assert self.tf is not None
        frame = self.values['ground_frame']
        axes, origin = self.sensing.monitor.footprint()
        turn = quaternion_of_matrix(axes)
        frames: list[Frame] = [(self.machine.base.link, frame, origin.tolist(), turn.tolist())]
        frames += contact_frames(frame, balance, self.values['prefix'])
        self.tf.publish(frames, stamp)

    def _publish_allowance(self) -> None:
        monitor = self.sensing.monitor
        if monitor.footing is None:
            return
        self.ground.set_ground(monitor.footing.plane, monitor.up)
        try:
            self.allowance = self.allowances.evaluate(monitor.q, monitor.v, monitor.payload, monitor.load)
        except PolygonError as error:
            self._fail(str(error))
            return
        for name, publisher in self.allowance_out.items():
            publisher.publish(Float64(data=float(getattr(self.allowance, name))))

    # -- health ------------------------------------------------------------------------------------------------------

    def check_timeouts(self) -> None:
        """Withdraw margins without present measurements."""
        if not self.sensing.trustworthy:
            self.withdraw()
        self.update_diagnostics()

    def update_diagnostics(self) -> None:
        """Publish /diagnostics if due or changed."""
        self.diagnostics.update(time.monotonic(), self.get_clock().now().nanoseconds / NANO)

    def _stability_health(self) -> Health:
        """Return the status `stability`: every margin with its alarm levels."""
        balance = self.balance
        if self.fault:
            return Health(ERROR, self.fault)
        if balance is None or not self.sensing.trustworthy:
            return Health(ERROR if balance is not None else WARN, 'no margins: measurements are missing')
        values = {'computing time': f'{1e3 * self.latency:.3f} ms'}
        health = Health(text='stable', values=values)
        defined = [name for name in balance.margins if len(balance.polygon) >= MEASURES[name].least_feet]
        values |= {name: 'not defined for this machine' for name in balance.margins if name not in defined}
        values |= margin_values(balance, self.levels, defined)
        judge(health, balance, self.levels, defined)
        return health

    def _allowance_health(self) -> Health:
        """Return the status `allowance`: the safe increase of payload, reach and speed."""
        if self.fault:
            return Health(ERROR, f'no allowance: {self.fault}')
        if self.allowance is None:
            return Health(text='no allowance yet')
        values, lacking = {}, []
        for name in self.allowance_out:
            amount = float(getattr(self.allowance, name))
            values[name] = f'{amount:.4g} {UNITS[name]}'
            if amount < 0.0:
                lacking.append(f'{name} {-amount:.3g} {UNITS[name]}')
        health = Health(text='within the allowance', values=values)
        if lacking:
            health.worse(WARN, f'exceeded: {", ".join(lacking)}')
        return health


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('stability_monitor_node', StabilityMonitorNode, args)


if __name__ == '__main__':
    sys.exit(main())
