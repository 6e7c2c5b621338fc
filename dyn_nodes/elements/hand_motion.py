"""Motion and mobility of the hands of a running machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements.hand import hand_frame, wrench_names
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, build_tree

Rates = Callable[[Array, Array, Array], Array]
EMPTY = np.zeros(6)
"""Wrench on a hand that holds nothing."""


class HandState(NamedTuple):
    """A hand in the world.

    Attributes:
        position: (3,) m.  rotation: (3, 3) axes of its link.
        velocity, angular_velocity: (3,) m/s and rad/s.
    """

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array


class HandMobility(NamedTuple):
    """Acceleration of a hand under a wrench on it: acceleration + matrix @ wrench, in the world.

    Efforts of the joints and wrenches on other hands are held constant. With d = 3 the wrench is a force,
    with d = 6 force and torque, and the acceleration linear and angular.

    Attributes:
        matrix: (d, d) apparent mobility, the inverse of the apparent mass, 1/kg.
        acceleration: (d,) without a wrench on this hand, m/s2 and rad/s2.
    """

    matrix: Array
    acceleration: Array


class HandMotion:
    """Position, velocity and mobility of a hand.

    Args:
        machine: the machine.
        hand: hand of the machine.
        system: simulated system; its first states are the positions and velocities of the machine's tree.
    """

    def __init__(self, machine: Machine, hand: Hand, system: Any) -> None:
        self.hand, self.nq, self.nv = hand, system.nq, system.nv
        self._parameter_indices = [system.index('parameter', name) for name in wrench_names(hand.name)]
        tree = build_tree(machine)
        q, v = ca.SX.sym('q', self.nq), ca.SX.sym('v', self.nv)
        state, frame = TreeState(tree, q, v), hand_frame(tree, hand)
        pose, motion = state.frame_pose(frame), state.frame_velocity(frame)
        moving = [pose.p, pose.R, motion.v, motion.w]
        self._state = ca.Function('hand', [q, v], [ca.densify(part) for part in moving])
        order = [3, 4, 5, 0, 1, 2]  # linear before angular
        slopes = [state.jacobian(frame)[order, :], state.jacobian_rate_times_velocity(frame)[order]]
        self._slopes = ca.Function('slopes', [q, v], [ca.densify(part) for part in slopes])

    def state(self, x: Array) -> HandState:
        """Return pose and velocity of the hand at a state of the system."""
        position, rotation, velocity, turning = (np.array(part) for part in self._state(*self._split(x)))
        return HandState(position.ravel(), rotation, velocity.ravel(), turning.ravel())

    def mobility(self, x: Array, u: Array, p: Array, rates: Rates, size: int = 3) -> HandMobility:
        """Return the acceleration of the hand as a function of the wrench on it.

        Args:
            x: state of the system.
            u: its inputs.
            p: its parameters; the wrench on this hand is ignored.
            rates: function of x, u and p that returns dx/dt.
            size: 3 for forces, 6 for wrenches.
        """
        jacobian, bias = (np.array(part)[:size] for part in self._slopes(*self._split(x)))
        changed, velocity_slice = p.copy(), slice(self.nq, self.nq + self.nv)
        changed[self._parameter_indices] = 0.0
        free = rates(x, u, changed)[velocity_slice]
        matrix = np.empty((size, size))
        for k, index in enumerate(self._parameter_indices[:size]):
            changed[index] = 1.0
            matrix[:, k] = jacobian @ (rates(x, u, changed)[velocity_slice] - free)
            changed[index] = 0.0
        return HandMobility(matrix, jacobian @ free + bias.ravel())

    def _split(self, x: Array) -> tuple[Array, Array]:
        return x[: self.nq], x[self.nq : self.nq + self.nv]


class Hands:
    """The hands of a running machine.

    Args:
        plant: plant of the machine.
    """

    def __init__(self, plant: Any) -> None:
        self._plant = plant
        self._motions: dict[str, HandMotion] = {}

    def _motion(self, name: str) -> HandMotion:
        if name not in self._motions:
            machine = self._plant.machine
            self._motions[name] = HandMotion(machine, machine.grasp(name), self._plant.system)
        return self._motions[name]

    def state(self, name: str) -> HandState:
        """Return the present pose and velocity of a hand. Raises KeyError."""
        return self._motion(name).state(self._plant.x)

    def mobility(self, name: str, size: int = 3) -> HandMobility:
        """Return the mobility of a hand for forces (`size` 3) or wrenches (6) at present. Raises KeyError."""
        plant = self._plant
        return self._motion(name).mobility(plant.x, plant.u, plant.p, plant.ground.rhs, size)

    def set_wrench(self, name: str, wrench: Array) -> None:
        """Set the wrench (6,) on a hand, N and N m, world frame; it acts until it is set again. Raises KeyError."""
        for parameter, value in zip(wrench_names(self._plant.machine.grasp(name).name), wrench):
            self._plant.set_parameter(parameter, value)

    def empty(self) -> None:
        """Set the wrenches on all hands to zero."""
        for hand in self._plant.machine.grasps:
            self.set_wrench(hand.name, EMPTY)
