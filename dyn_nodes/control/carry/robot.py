"""A robot on rolling wheels that holds an object: equations in the speeds of its actuated joints, traced once.

The constraints are solved for all other velocities (`constraints.elimination`): v = N u with the rates u of the driven
wheels and of the arm's joints. Generalized forces along u are then the efforts of these joints, and the hand moves by
the constrained Jacobian (tanner-1998, C11). Unlike with velocities of the vehicle in the world, no heading is singular.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.reduced_motion import PointMotion, ReducedMotion
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.teams.deformable.augmented import HandDynamics


class Evaluation:
    """A traced function of vectors with one vector as result, called without copies to CasADi's matrices.

    Args:
        function: dense inputs, one dense output.
    """

    def __init__(self, function: ca.Function) -> None:
        self._buffer, self._run = function.buffer()
        self._inputs = [np.zeros(function.size1_in(k)) for k in range(function.n_in())]
        self._output = np.zeros(function.size1_out(0))
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, memoryview(array))  # type: ignore[arg-type, call-arg]
        self._buffer.set_res(0, memoryview(self._output))  # type: ignore[arg-type, call-arg]

    def __call__(self, *values: ArrayLike) -> Array:
        """Return the result for vectors of the inputs' lengths."""
        for array, value in zip(self._inputs, values, strict=True):
            array[:] = value
        self._run()
        return self._output.copy()


@dataclass(frozen=True, eq=False)
class RobotNumbers:
    """A robot at one state: M du/dt + c = tau - J_hand^T f, n actuated joints.

    Attributes:
        q: (nq,) positions.
        u: (n,) rates of the actuated joints.
        position_rate: (nq,) dq/dt.
        inertia: (n, n) M.
        bias: (n,) c, velocity terms and gravity.
        placement: (5,) position of the hand in the world, and of the carrier in the plane, m.
        jacobian: (5, n) of these.
        drift: (5,) their accelerations without du/dt, m/s2.
    """

    q: Array
    u: Array
    position_rate: Array
    inertia: Array
    bias: Array
    placement: Array
    jacobian: Array
    drift: Array

    @property
    def rate(self) -> Array:
        """(5,) velocities of hand and carrier, m/s."""
        return np.asarray(self.jacobian @ self.u)

    def hand(self, efforts: Array) -> HandDynamics:
        """Return the dynamics of the hand under efforts (n,) of the actuated joints."""
        return HandDynamics(self.inertia, efforts - self.bias, self.jacobian[:3], self.drift[:3])


@dataclass(frozen=True, eq=False)
class GroundNumbers:
    """The load on the ground of a robot at one state and acceleration.

    Attributes:
        center: (3,) centre of mass, m.
        force, moment: (3,) to be balanced by the ground, the moment about `center`, N and N m.
        points: (w, 3) where the wheels touch the ground, m.
        rolling: (w, 3) directions in which they roll.
    """

    center: Array
    force: Array
    moment: Array
    points: Array
    rolling: Array


class HoldingRobot:
    """A vehicle with an arm whose hand holds a point of an object.

    Args:
        blocks: tree, rolling wheels, gravity.
        actuated: names of the velocities that have efforts; they must determine all others.
        hand: the grasp point.
        carrier: point of the vehicle whose horizontal motion is the posture, such as the arm's mount; not on the axle.
        posture: (nq,) a position that satisfies the constraints, arm bent.

    Attributes:
        wheels: names of the wheels by constraint, in the order of `ground`.

    Raises:
        MethodError: the actuated velocities do not determine the others.
        ValueError: other than five actuated velocities.
    """

    def __init__(
        self, blocks: ConstraintBlocks, actuated: Sequence[str], hand: Frame, carrier: Frame, posture: ArrayLike
    ) -> None:
        tree = blocks.tree
        self.blocks, self.actuated, self.frames = blocks, tuple(actuated), (hand, carrier)
        self.indices = tuple(tree.velocity_index(name) for name in actuated)
        self.wheels = tuple(part.name for part in blocks.constraints if isinstance(part, RollingWheel))
        self._motion = ReducedMotion.of(blocks, actuated, [posture])
        if len(self.actuated) != 5:
            raise ValueError(
                f'expected 5 actuated joints for a hand (3) and a carrier in the plane (2), found {len(self.actuated)}'
            )

    @cached_property
    def _points(self) -> tuple[PointMotion, PointMotion]:
        hand, carrier = self.frames
        return self._motion.point(hand), self._motion.point(carrier)

    @property
    def _positions(self) -> Expression:
        """(5,) positions of hand and carrier, m."""
        hand, carrier = self._points
        return ca.vertcat(hand.position, carrier.position[:2])

    @property
    def _jacobian(self) -> Expression:
        """(5, n) Jacobian of `_positions`."""
        hand, carrier = self._points
        return ca.vertcat(hand.jacobian, carrier.jacobian[:2, :])

    @cached_property
    def _parameters(self) -> Array:
        return self.blocks.numbers(None)

    @cached_property
    def _evaluate(self) -> Evaluation:
        blocks, motion = self.blocks, self._motion
        hand, carrier = self._points
        outputs = [
            blocks.state.position_rate,
            motion.inertia,
            -motion.free(-blocks.bias),
            self._positions,
            self._jacobian,
        ]
        outputs += [hand.drift, carrier.drift[:2]]
        whole = motion.in_rates(ca.vertcat(*(ca.vec(ca.densify(part)) for part in outputs)))
        inputs = [blocks.q, motion.rates, blocks.parameters.vector]
        return Evaluation(ca.Function('robot', inputs, [whole], {'cse': True}))

    def at(self, q: ArrayLike, u: ArrayLike, p: Array | None = None) -> RobotNumbers:
        """Return the robot at positions (nq,) and rates (n,) of the actuated joints; p: parameters of the blocks."""
        nq, n = self.blocks.tree.nq, len(self.indices)
        position, speeds = np.asarray(q, float), np.asarray(u, float)
        whole = self._evaluate(position, speeds, self._parameters if p is None else p)
        rate, M, bias, points, J, drift = np.split(whole, np.cumsum([nq, n * n, n, 5, 5 * n]))
        return RobotNumbers(position, speeds, rate, M.reshape(n, n), bias, points, J.reshape((5, n), order='F'), drift)

    @cached_property
    def _kinematics(self) -> Evaluation:
        blocks = self.blocks
        rates = ca.mtimes(ca.jacobian(blocks.state.position_rate, blocks.v), self._motion.complement)
        whole = ca.vertcat(self._positions, ca.vec(ca.densify(self._jacobian)), ca.vec(ca.densify(rates)))
        return Evaluation(ca.Function('kinematics', [blocks.q, blocks.parameters.vector], [whole]))

    def motions(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """Return positions (5,) and Jacobian (5, n) of hand and carrier, and dq/dt (nq, n) per joint rate."""
        nq, n = self.blocks.tree.nq, len(self.indices)
        points, J, rates = np.split(self._kinematics(q, self._parameters), [5, 5 + 5 * n])
        return points, J.reshape((5, n), order='F'), rates.reshape((nq, n), order='F')

    @cached_property
    def _hand_pose(self) -> Evaluation:
        pose = self.blocks.state.frame_pose(self.frames[0])
        whole = ca.densify(ca.vertcat(pose.p, ca.vec(pose.R)))
        return Evaluation(ca.Function('hand_pose', [self.blocks.q, self.blocks.parameters.vector], [whole]))

    def hand_pose(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the grasp point (3,), m, and the rotation (3, 3) of its frame in the world at positions (nq,)."""
        result = self._hand_pose(q, self._parameters)
        return result[:3], result[3:].reshape((3, 3), order='F')

    def normalized(self, q: Array) -> Array:
        """Return positions (nq,) with quaternions of norm 1."""
        result = np.array(q, dtype=np.float64)
        for body in self.blocks.tree.bodies:
            if body.kind == 'free':
                quaternion = slice(body.q + 3, body.q + 7)
                result[quaternion] /= np.linalg.norm(result[quaternion])
        return result

    @cached_property
    def _ground(self) -> Evaluation:
        blocks, motion = self.blocks, self._motion
        change, force = ca.SX.sym('change', len(self.indices)), ca.SX.sym('force', 3)
        state, gravity = blocks.state, blocks.parameters.gravity
        a = ca.mtimes(motion.complement, change) + motion.start
        momentum = state.momentum.stacked()
        rate = ca.jtimes(momentum, blocks.q, state.position_rate) + ca.jtimes(momentum, blocks.v, a)
        center = state.center_of_mass
        point = self._points[0].position
        moment = cross(point - center, force) - rate[:3]
        parts = [center, state.mass * gravity + force - rate[3:], moment]
        for wheel in blocks.constraints:
            if isinstance(wheel, RollingWheel):
                radius = ca.SX(wheel.radius)
                at, travel, _ = wheel.on_ground(state, radius)
                parts += [at, travel]
        whole = motion.in_rates(ca.densify(ca.vertcat(*parts)))
        inputs = [blocks.q, motion.rates, change, force, blocks.parameters.vector]
        return Evaluation(ca.Function('ground', inputs, [whole], {'cse': True}))

    def ground(self, q: Array, u: Array, change: Array, force: Array, p: Array | None = None) -> GroundNumbers:
        """Return the load on the ground.

        Args:
            q: (nq,) positions.
            u: (n,) rates of the actuated joints.
            change: (n,) du/dt.
            force: (3,) of the object on the hand, N.
            p: parameters of the blocks.
        """
        parameters = self._parameters if p is None else p
        whole = self._ground(q, u, change, force, parameters).reshape(-1, 3)
        return GroundNumbers(whole[0], whole[1], whole[2], whole[3::2], whole[4::2])

    def energies(self, q: ArrayLike, u: ArrayLike) -> tuple[float, float]:
        """Return kinetic and potential energy, J."""
        velocity = self._velocities(q, u, self._parameters)
        return self.blocks.energies(q, velocity)

    @cached_property
    def _velocities(self) -> Evaluation:
        motion = self._motion
        inputs = [self.blocks.q, motion.rates, self.blocks.parameters.vector]
        return Evaluation(ca.Function('velocities', inputs, [ca.densify(motion.velocity)]))

    def tractions(self, efforts: Array) -> Array:
        """Return the rolling forces (w,) from efforts (n,) on wheels that turn about an actuated joint, N.

        Zero at a wheel without friction, NaN (any) at an undriven one. Wheels have no mass here: their spin needs no
        effort.
        """
        forces = []
        for wheel in self.blocks.constraints:
            if not isinstance(wheel, RollingWheel):
                continue
            body = self.blocks.tree.bodies[wheel.centre.body]
            driven = body.v in self.indices and body.kind == 'revolute'
            force = efforts[self.indices.index(body.v)] / wheel.radius if driven else np.nan
            forces.append(0.0 if wheel.frictionless else force)
        return np.array(forces)
