"""Inputs and outputs of a tip-over governor: volts of valves, or efforts of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.drives import EffortDrives
from dyn_nodes.governor.effort_predictor import EffortPredictor
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.nodes import commands
from dyn_nodes.nodes.arrays import stamp_of_volts, stamp_volts, volts_message
from dyn_nodes.nodes.exchange import valve_order
from dyn_nodes.nodes.joint_commands import joint_values
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import nanoseconds_of_stamp, stamp_at

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointState = message('sensor_msgs/msg/JointState')


def reject_motors(machine: Machine, order: Sequence[int]) -> None:
    """Raise ParameterError if actuators, by their indices in the machine, are not hydraulic."""
    actuators = [machine.actuators[k] for k in order]
    oil = oil_actuators(actuators)
    names = ', '.join(actuator.name for actuator in actuators if actuator not in oil)
    if names:
        raise ParameterError(
            f'machine {machine.name!r}: the governor predicts the speeds that valves give, '
            f'expected hydraulic actuators, found {names}'
        )


class ValveCommands:
    """Volts on `valve_commands`.

    Args:
        machine: with the governed valves.
        joints: order of the volts, names of actuators or of their joints; empty: all.
        whole: the machine with its parked joints, whose valves (travel motors) have volts in the messages, too.

    Attributes:
        topic: of the outputs; the inputs have the suffix `_in`.
        kind: of the messages.
        rate: parameter with the rate of the law.
        follows_measurements: whether neutral outputs depend on measurements.
        names: of the levers.
        limits: (m,) of the commands.
        driving: names of the other valves, k of them, which drive the machine.

    Raises:
        ParameterError: the machine has no such valves.
    """

    topic, kind, rate = 'valve_commands', Float64MultiArray, 'rate'
    follows_measurements = False

    def __init__(self, machine: Machine, joints: Sequence[str], whole: Machine) -> None:
        valves = [whole.actuators[k] for k in valve_order(whole, joints)]
        governed = [actuator.name for actuator in machine.actuators]
        self._order = [governed.index(valve.name) for valve in valves if valve.name in governed]
        if not self._order:
            listed = ', '.join(valve.name for valve in valves)
            raise ParameterError(f"parameter 'joints': expected a valve of the arm, found only {listed}")
        reject_motors(machine, self._order)
        self._all, self._bounds = [valve.name for valve in valves], np.array([valve.command_limit for valve in valves])
        self._governed = np.array([name in governed for name in self._all])
        self.names, self.limits = tuple(governed[k] for k in self._order), self._bounds[self._governed]
        self.driving = tuple(name for name in self._all if name not in governed)
        self._out = volts_message(self._all)

    def stops(self, machine: Machine, monitor: StabilityMonitor, settings: Any) -> StopPredictor:
        """Return the predictor of stops. Raises ParameterError for linkages that the valves do not move."""
        try:
            return StopPredictor(machine, self._order, monitor, settings)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def read(self, msg: Any) -> Array:
        """Return the commands (m + k,) of a message. Raises RejectedError."""
        return commands.voltages(msg, self._all, self._bounds, f'{self.topic}_in')

    def split(self, wanted: Array) -> tuple[Array, Array]:
        """Return the governed commands (m,) within their limits, and those that drive the machine (k,)."""
        within = np.clip(wanted, -self._bounds, self._bounds)
        return within[self._governed], within[~self._governed]

    def stamp_of(self, msg: Any) -> int | None:
        """Return the instant that a message answers, ns; None if it has none. Raises RejectedError."""
        return stamp_of_volts(msg)

    def are_neutral(self, wanted: Array) -> bool:
        """Return whether a command is neutral."""
        return commands.are_neutral(wanted)

    def neutral_of(self, stops: Any) -> str:
        """Return a text for the present neutral output."""
        return 'valves at neutral'

    def message(self, output: Array, driving: Array, stops: Any, stamp: int | None) -> Any:
        """Return the message of an output (m,) that answers an instant, ns; None: no message is due."""
        volts = np.empty(len(self._all))
        volts[self._governed], volts[~self._governed] = output, driving
        self._out.data = volts.tolist()
        stamp_volts(self._out, stamp)
        return self._out


class EffortCommands:
    """Efforts of joints on `joint_command`; arguments and attributes as `ValveCommands`.

    Efforts have no neutral value to wait for: the governor brakes the joints at any input.
    """

    topic, kind, rate = 'joint_command', JointState, 'jerk'
    follows_measurements, driving = True, ()

    def __init__(self, machine: Machine, joints: Sequence[str], whole: Machine) -> None:
        try:
            drives = EffortDrives(machine)
        except ValueError as error:
            raise ParameterError(str(error)) from None
        wanted = [name for name in joints if name] or list(drives.joints)
        if sorted(wanted) != sorted(drives.joints):
            expected, received = ', '.join(drives.joints), ', '.join(wanted)
            raise ParameterError(f"parameter 'joints': expected all of {expected} in some order, found {received}")
        self._order = [drives.joints.index(name) for name in wanted]
        self.names, self.limits = tuple(wanted), drives.greatest[self._order]
        self._out = JointState(name=wanted)

    def stops(self, machine: Machine, monitor: StabilityMonitor, settings: Any) -> EffortPredictor:
        """Return the predictor of stops. Raises ParameterError with `bring_down`."""
        if settings.bring_down:
            raise ParameterError(
                "parameter 'bring_down': expected false with efforts, which move nothing by themselves"
            )
        return EffortPredictor(machine, self._order, monitor, settings)

    def read(self, msg: Any) -> Array:
        """Return the commands (m,) of a message. Raises RejectedError."""
        topic = f'{self.topic}_in'
        command = joint_values(msg, self.names, self.limits, topic)
        if not command.is_effort:
            raise commands.RejectedError('no efforts', f'{topic}: expected efforts, found positions or velocities')
        return command.effort

    def split(self, wanted: Array) -> tuple[Array, Array]:
        """Return the commands (m,) within their limits; none of them drives the machine."""
        return np.clip(wanted, -self.limits, self.limits), np.zeros(0)

    def stamp_of(self, msg: Any) -> int | None:
        """Return the instant that a message answers, ns; None if it has none."""
        return nanoseconds_of_stamp(msg.header.stamp) or None

    def are_neutral(self, wanted: Array) -> bool:
        """Return True: efforts do not wait for neutral."""
        return True

    def neutral_of(self, stops: Any) -> str:
        """Return a text for the present neutral output."""
        return 'no efforts, the drives hold the joints' if np.isnan(stops.output_efforts).any() else 'joints are braked'

    def message(self, output: Array, driving: Array, stops: Any, stamp: int | None) -> Any:
        """Return the message of an output (m,); None before the first measurement and after the end of efforts."""
        if np.isnan(stops.output_efforts).any():
            return None
        self._out.effort = stops.output_efforts.tolist()
        self._out.header.stamp = stamp_at(stamp or 0)
        return self._out


CHANNELS = {channel.topic: channel for channel in (ValveCommands, EffortCommands)}
"""Channels by the parameter `output`."""
