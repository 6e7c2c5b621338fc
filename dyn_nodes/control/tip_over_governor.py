"""Keeps valve commands within what the machine can do without tipping: a reference governor on the stability degree.

For a command the governor asks: the joints take up that speed, keep it for the horizon, and are then braked to a stop:
how near to tipping does the machine come on the way, while it is braked, and where it stands in the end? It lets the
largest part of the command through for which that stays above a reserve. As the machine comes near to its limit the
part goes to zero continuously, like the speed from which one can still stop.

Levers that by themselves make the machine stand better are let through whatever the margin is, as far as where they
lead to stands no worse than now. Nothing here knows how a stability degree is made: it is given as two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Actuator, Machine

Array = NDArray[np.float64]
Moving = Callable[[Array, Array, Array], Array]
"""Stability degrees (t,) of t states: positions, velocities, accelerations of all joints, (t, n) each."""
LEAST_LEVER = 0.05


@dataclass(frozen=True)
class GovernorSettings:
    """How careful the governor is.

    Attributes:
        reserve: least stability degree of what is predicted.
        horizon: s for which the speed commanded is kept in the prediction.
        lag: s for which the present speed goes on before a new command acts.
        stop_time: s in which a joint comes to rest when its valve is led to neutral: its deceleration is speed over
            this.
        overshoot: times that deceleration, for the springs of oil and suspension that ring behind it.
        rate: greatest change of an output, V/s.
        scales: number of parts of a command that are tried.
        probe: rad, by which a lever is tried on its own.
    """

    reserve: float = 0.15
    horizon: float = 0.25
    lag: float = 0.15
    stop_time: float = 0.5
    overshoot: float = 1.5
    rate: float = 15.0
    scales: int = 9
    probe: float = 0.02


@dataclass
class Verdict:
    """What the governor did to a command.

    Attributes:
        volts: (m,) output.
        scale: part of the harmful levers' command that is let through, 1 where nothing is held back.
        held: names of the levers that are held back.
        degree: stability degree at rest in the present posture.
        predicted: least degree of the prediction for what is let through.
    """

    volts: Array
    scale: float = 1.0
    held: tuple[str, ...] = ()
    degree: float = np.nan
    predicted: float = np.nan


class SpeedMap:
    """Steady speed of a joint by voltage: the pump's flow, as far as the spool has closed the bypass (spec G4).

    An upper bound for loads that are driven; a load that runs ahead of the pump is seen in the measured speed.
    """

    def __init__(self, machine: Machine, actuator: Actuator) -> None:
        own = hydraulic(actuator)
        self.valve, self._areas, self._lever = own.valve, own.areas, actuator_element(own).lever
        pump = machine.pump_of(actuator.name)
        self._flow = own.supply.flow if pump is None else pump.flow

    def speed(self, volts: Array, q: float) -> Array:
        """Return the joint's speed, rad/s, for voltages of any shape at a position."""
        valve = self.valve
        spool = np.clip(volts, -valve.voltage_limit, valve.voltage_limit) * valve.gain
        spool = np.clip(spool, -valve.spool_limit, valve.spool_limit)
        opening = np.maximum(np.abs(spool) - valve.dead_zone, 0.0) / max(valve.bypass_stroke - valve.dead_zone, 1e-9)
        flow = self._flow * np.minimum(opening, 1.0) * np.sign(spool)
        area, lever = np.where(spool >= 0.0, *self._areas), float(self._lever(q))
        return np.asarray(flow / area / np.copysign(max(abs(lever), LEAST_LEVER), lever))


@dataclass
class TipOverGovernor:
    """The law.

    Args:
        machine: the machine.
        order: actuators in the order of the commands, as places in `machine.actuators`.
        moving: stability degrees of states in motion.
        settings: how careful.
    """

    machine: Machine
    order: Sequence[int]
    moving: Moving
    settings: GovernorSettings = field(default_factory=GovernorSettings)

    def __post_init__(self) -> None:
        names = [joint.name for joint in self.machine.movable_joints]
        actuators = [self.machine.actuators[k] for k in self.order]
        self.names = tuple(actuator.name for actuator in actuators)
        self.places = np.array([names.index(actuator.joint) for actuator in actuators], dtype=np.intp)
        self.maps = [SpeedMap(self.machine, actuator) for actuator in actuators]
        joints = self.machine.movable_joints
        self._lower = np.array([joint.lower for joint in joints])
        self._upper = np.array([joint.upper for joint in joints])
        self.reset()

    def reset(self) -> None:
        """All outputs at neutral."""
        self.output = np.zeros(len(self.names))

    def neutral(self, step: float) -> Array:
        """Lead the outputs to neutral at their rate; return them."""
        self._approach(np.zeros(len(self.names)), step)
        return self.output

    def govern(self, command: Array, q: Array, v: Array, step: float) -> Verdict:
        """Return what is let through; nothing where the present posture has no degree: no lever is known to help.

        Args:
            command: (m,) V.
            q: (n,) positions of all joints.
            v: (n,) their velocities.
            step: time since the last command, s.
        """
        here = self._at_rest(q[None])[0]
        if not np.isfinite(here):
            held = tuple(name for name, wanted in zip(self.names, command) if wanted)
            return Verdict(self.neutral(step).copy(), 0.0, held, float(here))
        harmful = self._harmful(command, q, here)
        helpful = np.where(harmful, 0.0, command)
        helpful = self._allowed_to_safety(helpful, q, v, here)
        scale, predicted = self._scale(np.where(harmful, command, 0.0), helpful, q, v)
        target = helpful + scale * np.where(harmful, command, 0.0)
        held = tuple(
            name for name, wanted, given in zip(self.names, command, target) if abs(wanted - given) > 1e-3 * abs(wanted)
        )
        self._approach(target, step)
        return Verdict(self.output.copy(), float(scale), held, float(here), float(predicted))

    def _approach(self, target: Array, step: float) -> None:
        most = self.settings.rate * max(step, 0.0)
        self.output = self.output + np.clip(target - self.output, -most, most)

    # -- predictions -------------------------------------------------------------------------------------------------

    def _at_rest(self, q: Array) -> Array:
        zeros = np.zeros_like(q)
        return np.asarray(self.moving(np.ascontiguousarray(q), zeros, zeros))

    def _speeds(self, volts: Array, q: Array) -> Array:
        """Speeds (t, n) of all joints for voltages (t, m)."""
        result = np.zeros((len(volts), len(q)))
        for k, (place, law) in enumerate(zip(self.places, self.maps)):
            result[:, place] = law.speed(volts[:, k], float(q[place]))
        return result

    def _harmful(self, command: Array, q: Array, here: float) -> NDArray[np.bool_]:
        """Levers that, each on its own, make the machine stand worse."""
        speeds = self._speeds(np.diag(command), q)
        tried = q + self.settings.probe * np.sign(speeds)
        return (command != 0.0) & (self._at_rest(tried) < here)

    def _ends(self, volts: Array, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Speeds taken up, postures at the end of the horizon, and where the joints then come to rest, (t, n) each."""
        settings = self.settings
        speeds = self._speeds(volts, q)
        after = q + v * settings.lag + speeds * settings.horizon
        stop = after + 0.5 * settings.stop_time * speeds
        return speeds, np.clip(after, self._lower, self._upper), np.clip(stop, self._lower, self._upper)

    def _least(self, volts: Array, q: Array, v: Array) -> Array:
        """Least predicted degree (t,) of commands (t, m)."""
        settings = self.settings
        speeds, after, stop = self._ends(volts, q, v)
        zeros = np.zeros_like(speeds)
        brake = -settings.overshoot / settings.stop_time * speeds
        count = len(volts)
        degrees = self.moving(
            np.ascontiguousarray(np.concatenate((after, after, stop))),
            np.concatenate((speeds, speeds, zeros)),
            np.concatenate((zeros, brake, zeros)),
        )
        return np.asarray(degrees).reshape(3, count).min(axis=0)

    def _scale(self, harmful: Array, helpful: Array, q: Array, v: Array) -> tuple[float, float]:
        """Largest part of the harmful levers such that it, and every smaller part, keeps the reserve."""
        if not harmful.any():
            return 1.0, float(self._least(helpful[None], q, v)[0])
        parts = np.linspace(0.0, 1.0, self.settings.scales)
        degrees = self._least(helpful + parts[:, None] * harmful, q, v)
        bad = np.flatnonzero(~(degrees >= self.settings.reserve))
        if len(bad) == 0:
            return 1.0, float(degrees[-1])
        first = int(bad[0])
        if first == 0:
            return 0.0, float(degrees[0])
        good, worse = degrees[first - 1], degrees[first]
        share = (good - self.settings.reserve) / (good - worse) if np.isfinite(worse) else 0.0
        return float(parts[first - 1] + share * (parts[first] - parts[first - 1])), self.settings.reserve

    def _allowed_to_safety(self, helpful: Array, q: Array, v: Array, here: float) -> Array:
        """Let levers through that lead to a better stand; hold them back where they would lead beyond it."""
        if not helpful.any():
            return helpful
        parts = np.linspace(0.0, 1.0, self.settings.scales)
        _, _, stop = self._ends(parts[:, None] * helpful, q, 0.0 * v)
        fine = self._at_rest(stop) >= min(here, self.settings.reserve) - 1e-9
        fine[0] = True
        bad = np.flatnonzero(~fine)
        return helpful if len(bad) == 0 else helpful * parts[int(bad[0]) - 1]
