"""Voltages of electric motors by state feedback: nominal voltages on a trajectory, gains by LQR or placed poles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.held_feedback import held_placed_gain, held_quadratic_gain
from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.motor_model import MotorModel
from dyn_nodes.control.number_checks import require_positive
from dyn_nodes.control.state_feedback import NoGainError, StateFeedback
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.model.posture import initial_positions

LAWS = ('lqr', 'poles')


@dataclass(frozen=True)
class StateLaw:
    """Design of the gain on the state.

    Attributes:
        law: `lqr` or `poles`.
        poles: 1/s, real parts, one for each state; for `poles`.
        imaginary: 1/s, of the poles; (): all real.
        position, rate, current: deviations with the same cost as `voltage`, rad, rad/s, A; for `lqr`.
        voltage: V.

    Raises:
        ValueError: names the field.
    """

    law: str = 'lqr'
    poles: tuple[float, ...] = ()
    imaginary: tuple[float, ...] = ()
    position: float = 0.02
    rate: float = 1.0
    current: float = 20.0
    voltage: float = 10.0

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ValueError(f'law: expected {" or ".join(LAWS)}, found {self.law!r}')
        require_positive({name: getattr(self, name) for name in ('position', 'rate', 'current', 'voltage')})
        if self.imaginary and len(self.imaginary) != len(self.poles):
            raise ValueError(f'imaginary: expected {len(self.poles)} numbers or none, found {len(self.imaginary)}')

    def gain(self, model: MotorModel, positions: ArrayLike, hold: float) -> Array:
        """Return the gain (m, 2 n + m) at rest at positions (n,), for voltages that are held.

        Raises:
            NoGainError: another number of poles, or an uncontrollable mode, by name.
        """
        linear = model.linear(positions)
        linear.require_controllable()
        n, m = len(model.names), len(model.law.motors)
        if self.law == 'lqr':
            sizes = np.concatenate([np.full(n, self.position), np.full(n, self.rate), np.full(m, self.current)])
            return held_quadratic_gain(linear.A, linear.B, np.diag(sizes**-2), np.eye(m) / self.voltage**2, hold)
        if len(self.poles) != len(linear.A):
            raise NoGainError(
                f'poles: expected {len(linear.A)}, one for each of {", ".join(linear.names)}, found {len(self.poles)}'
            )
        wanted = np.array(self.poles) + (1j * np.array(self.imaginary) if self.imaginary else 0.0)
        return held_placed_gain(linear.A, linear.B, wanted, hold)


class MotorStateMotion:
    """u = u_nom(t) + K (x_nom(t) - x) of positions, rates and currents: nominal values to third order.

    The gain is designed for the positions of the start and, with a trajectory, of its end.

    Args:
        machine: on a fixed base, without constraints.
        motors: m of its actuators.
        law: design of the gain.
        hold: time for which a voltage is held, s.

    Attributes:
        gain: (m, 2 n + m).

    Raises:
        ValueError: a machine without such a model; a joint without a motor that does not stay at its start; no gain
            exists, for example with an uncontrollable mode.
    """

    def __init__(self, machine: Machine, motors: Sequence[Actuator], law: StateLaw, hold: float) -> None:
        self.model, self.state_law, self.hold = MotorModel(machine, motors), law, hold
        self.reference = PositionMotion(self.joint_names)
        self._passive = tuple(name for name in self.joint_names if name not in self.law.joint_names)
        start = initial_positions(machine)
        self._home = np.array([start.get(name, 0.0) for name in self.joint_names])
        self.model.nominal(self._home, *np.zeros((3, len(self._home))))
        self.restart(self._home)

    @property
    def law(self) -> MotorLaw:
        """The motors."""
        return self.model.law

    @property
    def joint_names(self) -> tuple[str, ...]:
        """All joints, in the order of a trajectory."""
        return self.model.names

    def restart(self, positions: Array) -> None:
        """Hold the joints at positions (n,); at the positions of the machine file if a joint has no motor."""
        held = self._home if self._passive else positions
        self._take_gain(held)
        self.reference.restart(held)

    def _take_gain(self, positions: Array) -> None:
        self.gain = self.state_law.gain(self.model, positions, self.hold)
        self._feedback = StateFeedback(self.gain, self.law.voltage_limit)

    def follow(self, trajectory: JointTrajectory, time: float, positions: Array, velocities: Array) -> None:
        """Follow a trajectory from now on.

        Raises:
            ValueError: other joints, or joints without a motor.
        """
        if self._passive:
            raise ValueError(f'expected a motor on every joint, found none on {", ".join(self._passive)}')
        self.reference.follow(trajectory, time, positions, velocities)
        self._take_gain(trajectory.for_joints(self.joint_names).positions[-1])

    def reference_at(self, time: float) -> JointReference | None:
        """Return the reference of the joints at a time, None before the first `restart`."""
        return self.reference.reference_at(time)

    def interrupt(self, time: float, positions: Array) -> bool:
        """Stop a trajectory at the present positions; return whether there was one."""
        return self.reference.interrupt(time, positions)

    def phase(self, time: float) -> str:
        """Return the name of the present phase."""
        return self.reference.phase(time)

    def voltages(self, time: float, positions: ArrayLike, velocities: ArrayLike, efforts: ArrayLike | None) -> Array:
        """Return one voltage per motor (m,), within the limits, V. Needs `restart` first.

        Args:
            time: now, s.
            positions: (n,) measured, rad or m.
            velocities: (n,) measured, rad/s or m/s.
            efforts: (n,) measured, N m or N, for the currents; None: nominal currents.
        """
        q, v = np.asarray(positions, dtype=float), np.asarray(velocities, dtype=float)
        now, currents, _ = self._nominal(time)
        measured = currents
        if efforts is not None:
            motor_efforts = np.asarray(efforts, dtype=float)[self.model.motor_indices]
            measured = (motor_efforts + self.law.viscous * v[self.model.motor_indices]) / self.law.gain
        deviation = np.concatenate([q - now.position, v - now.velocity, measured - currents])
        return self._feedback.inputs(self._nominal(time + 0.5 * self.hold)[2], deviation)

    def _nominal(self, time: float) -> tuple[JointReference, Array, Array]:
        now, ahead = self.reference.sample(time), self.reference.sample(time + self.hold)
        jerk = (ahead.acceleration - now.acceleration) / self.hold
        return now, *self.model.nominal(now.position, now.velocity, now.acceleration, jerk)
