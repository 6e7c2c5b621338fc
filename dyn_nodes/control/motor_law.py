"""Voltages of d-c motors: for wanted efforts, and nominal ones along a path to third order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.actuators import electric, electric_motors
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody import Frame, TreeState, build_tree, inverse_dynamics
from dyn_nodes.multibody.dynamics import spatial_force_at
from dyn_nodes.multibody.spatial import Expression, Force


class TipLoad(NamedTuple):
    """A load on a link in world axes, constant along a path: force (3,) at the origin of its frame, N, moment, N m."""

    force: Sequence[float]
    moment: Sequence[float] = (0.0, 0.0, 0.0)


class NominalDrive(NamedTuple):
    """Nominal state of motors at one instant of a path, in the order of the motors.

    Attributes:
        effort: (n,) at the joints, of rotors and bodies, without the friction of the motors, N m or N.
        current: (n,) A.
        current_rate: (n,) A/s.
        voltage: (n,) V.
    """

    effort: Array
    current: Array
    current_rate: Array
    voltage: Array


class MotorLaw:
    """Electric motors of a machine as arrays.

    Args:
        motors: n electric actuators.

    Raises:
        ValueError: an actuator that is not an electric motor.
    """

    def __init__(self, motors: Sequence[Actuator]) -> None:
        self.motors = tuple(electric(motor) for motor in motors)
        self.joint_names = tuple(motor.joint for motor in self.motors)
        self.gain = np.array([motor.effort_per_current for motor in self.motors])
        self.resistance = np.array([motor.resistance for motor in self.motors])
        self.inductance = np.array([motor.inductance for motor in self.motors])
        self.viscous = np.array([motor.viscous for motor in self.motors])
        self.voltage_limit = np.array([motor.voltage_limit for motor in self.motors])
        self.current_limit = np.array([motor.current_limit for motor in self.motors])

    def currents(self, efforts: ArrayLike, rates: ArrayLike) -> Array:
        """Return the currents (n,) for efforts (n,) at joint rates (n,), within the limits, A (2-238)."""
        wanted = (np.asarray(efforts, float) + self.viscous * np.asarray(rates, float)) / self.gain
        return np.clip(wanted, -self.current_limit, self.current_limit)

    def voltages(
        self, efforts: ArrayLike, rates: ArrayLike, current_rates: ArrayLike = 0.0, after: float = 0.0
    ) -> Array:
        """Return the voltages (n,) for efforts (n,) at joint rates (n,), V (2-240).

        V = L di/dt + R (i + di/dt t) + n k w, current and voltage within the limits.

        Args:
            efforts: N m or N.
            rates: rad/s or m/s.
            current_rates: di/dt, A/s; 0: the current follows within the time L/R.
            after: time t until the instant at which the voltage is exact, such as the middle of its hold, s.
        """
        slope = np.asarray(current_rates, float)
        limit = self.current_limit
        current = np.clip(self.currents(efforts, rates) + slope * after, -limit, limit)
        volts = self.inductance * slope + self.resistance * current + self.gain * np.asarray(rates, float)
        return np.clip(volts, -self.voltage_limit, self.voltage_limit)


class NominalVoltage:
    """Nominal currents and voltages of motors along a path, to third order (freeman-1985, 2-238 to 2-240).

    The rotors are part of the tree, the damping of the joints is added, their dry friction is not. Voltages are not
    clipped: a motor cannot follow beyond its limits.

    Args:
        machine: on a fixed base, without constraints.
        loads: on links, by name.

    Raises:
        ValueError: another base, constraints, or no electric motors.
    """

    def __init__(self, machine: Machine, loads: Mapping[str, TipLoad] | None = None) -> None:
        if machine.base.attachment != 'fixed' or machine.needs_constraints:
            raise ValueError(f'{machine.name}: expected a tree on a fixed base for nominal voltages')
        motors = electric_motors(machine.actuators)
        if not motors:
            raise ValueError(f'{machine.name}: expected electric motors, found none')
        self.machine, self.law, self.loads = machine, MotorLaw(motors), dict(loads or {})
        self.tree = build_tree(machine)
        self.payload = machine.payload.mass if machine.payload else 0.0
        self._indices = [self.tree.velocity_index(name) for name in self.law.joint_names]

    def _external(self, state: TreeState) -> dict[int, Force]:
        result: dict[int, Force] = {}
        for link, load in self.loads.items():
            frame: Frame = self.tree.frame(link)
            pose, R = state.frame_pose(frame), state.poses[frame.body].R
            wrench = spatial_force_at(state.poses[frame.body].p, R, ca.SX(ca.DM(load.force)), pose.p)
            wrench = Force(wrench.n + ca.mtimes(R.T, ca.SX(ca.DM(load.moment))), wrench.f)
            result[frame.body] = result[frame.body] + wrench if frame.body in result else wrench
        return result

    @cached_property
    def _function(self) -> ca.Function:
        n = self.tree.nv
        q, v, a, jerk = (ca.SX.sym(name, n) for name in 'qvaj')
        state = TreeState(self.tree, q, v, self.payload)
        gravity = ca.SX(ca.DM([0.0, 0.0, -self.machine.gravity]))
        needed: Expression = inverse_dynamics(state, a, gravity, self._external(state))
        damping = np.array([self.machine.joint(name).damping for name in self.law.joint_names])
        effort, rate = needed[self._indices] + damping * v[self._indices], v[self._indices]
        law = self.law
        current = (effort + law.viscous * rate) / law.gain
        slope = ca.jtimes(current, ca.vertcat(q, v, a), ca.vertcat(v, a, jerk))
        volts = law.inductance * slope + law.resistance * current + law.gain * rate
        outputs = [ca.densify(part) for part in (effort, current, slope, volts)]
        return ca.Function('nominal', [q, v, a, jerk], outputs)

    def at(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, jerk: ArrayLike) -> NominalDrive:
        """Return effort, current, its rate and voltage at positions and their first three derivatives (nv,)."""
        arguments = (np.asarray(part, dtype=float) for part in (q, v, a, jerk))
        return NominalDrive(*(np.array(part).ravel() for part in self._function(*arguments)))
