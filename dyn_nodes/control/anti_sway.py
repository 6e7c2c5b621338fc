"""Trajectories that leave a hanging load at rest: input shaping by delayed parts of the reference.

    shaper = shaper_of(machine, 'zv')
    trajectory = shaped(trajectory, shaper)

A motion in parts, each delayed by half a period of the pendulum, excites swings that cancel. Singer and
Seering (1990), "Preshaping command inputs to reduce system vibration", Journal of Dynamic Systems, Measurement, and
Control 112, 76-82: with K = exp(-zeta pi / sqrt(1 - zeta^2)) and the damped period T,

    zv:  parts (1, K) / (1 + K)            at 0 and T / 2
    zvd: parts (1, 2 K, K^2) / (1 + K)^2   at 0, T / 2 and T

`zvd` takes twice the time of `zv` and leaves less sway if the period is uncertain. Each of several modes takes one
shaper; they are applied in sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import hanging_joints, initial_positions
from dyn_nodes.multibody.rigid_body import RigidBodyModel

KINDS = {'zv': 1, 'zvd': 2}
"""Kinds of shapers: number of times that the two parts of a mode are applied."""
NEWTON, CLOSE, SMALL = 20, 1e-10, 1e-6
"""Newton steps to the plumb posture, its greatest residual torque, N m, and step of a difference quotient, rad."""


class SwayMode(NamedTuple):
    """A mode of a swinging load.

    Attributes:
        period: of the damped swing, s.
        damping: ratio, below 1.
    """

    period: float
    damping: float


@dataclass(frozen=True, eq=False)
class Shaper:
    """Parts of a motion and their start times.

    Attributes:
        times: (k,) s, the first 0.
        parts: (k,) above 0, sum 1.
    """

    times: Array
    parts: Array

    @property
    def delay(self) -> float:
        """Time by which a motion becomes longer, s."""
        return float(self.times[-1])

    @classmethod
    def of_mode(cls, mode: SwayMode, kind: str) -> Shaper:
        """Return the shaper of one mode; kind is one of `KINDS`."""
        left = np.exp(-mode.damping * np.pi / np.sqrt(1.0 - mode.damping**2))
        pair = cls(np.array([0.0, 0.5 * mode.period]), np.array([1.0, left]) / (1.0 + left))
        return pair if KINDS[kind] == 1 else pair.then(pair)

    def then(self, other: Shaper) -> Shaper:
        """Return the convolution of both shapers."""
        times = (self.times[:, None] + other.times).ravel()
        parts = (self.parts[:, None] * other.parts).ravel()
        order = np.argsort(times, kind='stable')
        return Shaper(times[order], parts[order])


@dataclass(frozen=True, eq=False)
class ShapedTrajectory(JointTrajectory):
    """A trajectory in delayed parts: sum of parts_i reference(t - times_i).

    Its positions and speeds stay within the ranges of that one. It starts at rest: of a velocity at the start only
    the first part acts at once.

    Attributes:
        shaper: the parts.
    """

    shaper: Shaper

    @property
    def duration(self) -> float:
        """End of the last part, s."""
        return super().duration + self.shaper.delay

    def for_joints(self, joint_names: Sequence[str]) -> ShapedTrajectory:
        """Return the trajectory with its columns in another order. Raises ValueError if the names differ."""
        return shaped(super().for_joints(joint_names), self.shaper)

    def starting_from(
        self, position: ArrayLike, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None
    ) -> ShapedTrajectory:
        """Return the trajectory that leaves the present state at time 0; arguments as of `JointTrajectory`."""
        return shaped(super().starting_from(position, velocity, acceleration), self.shaper)

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time from the start, s."""
        size = len(self.joint_names)
        whole = JointReference(np.zeros(size), np.zeros(size), np.zeros(size))
        for part, start in zip(self.shaper.parts.tolist(), self.shaper.times.tolist()):
            for total, value in zip(whole, super().sample(time - start)):
                total += part * value
        return whole


def shaped(trajectory: JointTrajectory, shaper: Shaper) -> ShapedTrajectory:
    """Return a trajectory, shaped."""
    rates = trajectory.velocities, trajectory.accelerations
    return ShapedTrajectory(trajectory.joint_names, trajectory.times, trajectory.positions, *rates, shaper)


def shaper_of(machine: Machine, kind: str, payload: float | None = None) -> Shaper:
    """Return the shaper for all modes in which the load of a machine swings.

    Args:
        machine: with hanging joints.
        kind: one of `KINDS`.
        payload: kg; None: the payload of the machine.

    Raises:
        ValueError: the machine has no hanging load, or the load does not swing.
    """
    whole = Shaper(np.zeros(1), np.ones(1))
    for mode in sway_modes(machine, payload):
        whole = whole.then(Shaper.of_mode(mode, kind))
    return whole


def sway_modes(machine: Machine, payload: float | None = None) -> tuple[SwayMode, ...]:
    """Return the modes of the hanging load about plumb, the slowest first; base and other joints are at rest.

    Small swings of the hanging joints h about plumb: M a + D v + K x = 0 with M the rows and columns h of the mass
    matrix, D the dampers of the URDF and K the derivative of their gravity torques. D acts along a mode.

    Args:
        machine: with hanging joints.
        payload: kg; None: the payload of the machine.

    Raises:
        ValueError: the machine has no hanging load, or the load does not swing or is overdamped.
    """
    names = hanging_joints(machine)
    if not names:
        raise ValueError(f'{machine.name}: expected passive joints that a load hangs from, found none')
    model = RigidBodyModel(machine)
    parameters, q = model.parameters(payload), model.neutral()
    joints = [joint.name for joint in machine.movable_joints]
    indices = np.array([joints.index(name) for name in names])
    first, behind = model.nq - len(joints), model.nv - len(joints) + indices
    start = initial_positions(machine)
    q[first:] = [start[name] for name in joints]
    still = np.zeros(model.nv)

    def torques(angles: Array) -> Array:
        q[first + indices] = angles
        return np.asarray(model.inverse_dynamics(q, still, still, parameters)[behind])

    def slope(angles: Array) -> Array:
        steps = SMALL * np.eye(len(indices))
        return np.array([(torques(angles + step) - torques(angles - step)) / (2.0 * SMALL) for step in steps]).T

    angles = np.array([start[name] for name in names])
    for _ in range(NEWTON):
        torque = torques(angles)
        if np.abs(torque).max() < CLOSE:
            break
        angles = angles - np.linalg.solve(slope(angles), torque)
    stiffness = slope(angles)
    torques(angles)
    inertia = model.mass_matrix(q, parameters)[np.ix_(behind, behind)]
    dampers = np.diag([machine.joint(name).damping for name in names])
    squares, shapes = eigh(0.5 * (stiffness + stiffness.T), inertia)
    if squares[0] <= 0.0:
        raise ValueError(f'{machine.name}: expected a load that swings about plumb on {", ".join(names)}, found none')
    modes = []
    for omega, shape in zip(np.sqrt(squares), shapes.T):
        ratio = float(shape @ dampers @ shape / (2.0 * omega))
        if ratio >= 1.0:
            raise ValueError(f'{machine.name}: expected a load that swings, found one that creeps to plumb')
        modes.append(SwayMode(float(2.0 * np.pi / (omega * np.sqrt(1.0 - ratio**2))), ratio))
    return tuple(modes)
