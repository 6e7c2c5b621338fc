"""Wheels and feet on springs: unilateral suspension, friction, ground reaction, lift-off and touch-down.

The laws are in `dyn_nodes.elements.forces`; here are the names, states, outputs, events and energy of a wheel on any
system. World frame: the plane of the ground, z its normal.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.elements.forces import (
    WheelContact,
    friction_power,
    rolling_contact,
    suspension_dissipation,
    suspension_energy,
    wheel_contact,
)
from dyn_nodes.elements.forces.terrain import ground_at
from dyn_nodes.model.machine import Machine, Wheel
from dyn_nodes.model.terrain import Rise
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ContactElement, ElementState, GroundPoint, Surface, Symbols, Watch, symbolic
from dyn_nodes.multibody.spatial import Expression, entries

NORMAL = (0.0, 0.0, 1.0)
XYZ = ('x', 'y', 'z')
DIRECTIONS = ('longitudinal', 'lateral')
ROLLER = ('roller',)
DEFLECTION_SCALE = 1e-2
STIFFNESS_SCALE, DAMPING_SCALE, FRICTION_SCALE = 'wheel_stiffness_scale', 'wheel_damping_scale', 'friction_scale'
"""Parameters that all wheels share: factors of their numbers."""


def axis_names(wheel: str) -> list[str]:
    """Return the names of the outputs with the longitudinal axis and the normal of a wheel's contact."""
    return [f'{wheel}/{axis}_{part}' for axis in ('longitudinal', 'normal') for part in XYZ]


class SprungWheel(ContactElement):
    """A wheel or foot on a unilateral spring and damper along the normal of the ground, with friction.

    Its deflections are those of its friction law, m. Their energy counts as
    dissipated: `dissipated_power` is negative for a moment where deflections give way.

    Args:
        wheel: parameters.
        base: name of the base link, whose heading is that of a wheel without a rolling direction.
        planar: the machine moves in the vertical plane, so that friction acts along it alone.
    """

    def __init__(self, wheel: Wheel, base: str, planar: bool = False) -> None:
        self.wheel, self.base, self.planar = wheel, base, planar
        self._traced: tuple[TreeState, WheelContact] | None = None

    @property
    def name(self) -> str:
        """Name of the element: that of the wheel."""
        return self.wheel.name

    @property
    def height(self) -> str:
        """Parameter: height of the ground below the wheel, m."""
        return f'{self.name}/ground_height'

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions with a deflection each; none without friction."""
        if self.wheel.friction is None:
            return ()
        return DIRECTIONS[:1] if self.planar else DIRECTIONS

    @property
    def deflections(self) -> tuple[str, ...]:
        """Names of the deflections."""
        law = self.wheel.friction
        return () if law is None else tuple(f'{self.name}/{law.deflection}_{own}' for own in self.directions)

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the stick flags: 1 where the foot sticks."""
        law = self.wheel.friction
        return tuple(f'{self.name}/stick_{own}' for own in self.directions) if law is not None and law.sticks else ()

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Deflections, then stick flags."""
        deflections = (ElementState(name, DEFLECTION_SCALE, balances=True) for name in self.deflections)
        return (*deflections, *(ElementState(name, start=1.0, discrete=True) for name in self.flags))

    @property
    def parameters(self) -> Mapping[str, float]:
        """Factors that all wheels share, and the height of the ground."""
        return {STIFFNESS_SCALE: 1.0, DAMPING_SCALE: 1.0, FRICTION_SCALE: 1.0, self.height: 0.0}

    def scaled(self, symbols: Symbols) -> Wheel:
        """Return the wheel with the factors of the parameters in its numbers."""
        wheel, friction = self.wheel, self.wheel.friction
        if friction is not None:
            scale = symbols[FRICTION_SCALE]
            friction = symbolic(friction, static=friction.static * scale, kinetic=friction.kinetic * scale)
        scaled: Wheel = symbolic(
            wheel,
            stiffness=wheel.stiffness * symbols[STIFFNESS_SCALE],
            damping=wheel.damping * symbols[DAMPING_SCALE],
            friction=friction,
        )
        return scaled

    def contact(self, state: TreeState, symbols: Symbols) -> WheelContact:
        """Return the force of the ground on the wheel, and its geometry; traced once for each state."""
        if self._traced is None or self._traced[0] is not state:
            self._traced = state, self._evaluate(state, symbols)
        return self._traced[1]

    @abstractmethod
    def _evaluate(self, state: TreeState, symbols: Symbols) -> WheelContact:
        """Evaluate the law of the wheel."""

    def _motion(self, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Position and velocity of the attachment, angular velocity of its body, (3,) each, world frame."""
        frame = state.tree.frame(self.wheel.link)
        point = ca.SX(frame.p + frame.R @ self.wheel.position)
        velocity = state.point_velocity(frame.body, point)
        return state.body_pose(frame.body).point(point), velocity, state.angular_velocity(frame.body)

    @staticmethod
    def _pair(names: Sequence[str], absent: float, symbols: Symbols) -> Expression:
        """Return (2,) states by direction; a planar machine has the longitudinal one alone."""
        own = ca.vertcat(*(symbols[name] for name in names), ca.SX(0, 1))
        return ca.vertcat(own, absent * ca.SX.ones(2 - len(names)))

    def ground_points(self, state: TreeState, symbols: Symbols) -> Sequence[GroundPoint]:
        """Return the one point below the wheel."""
        found, body = self.contact(state, symbols), state.tree.frame(self.wheel.link).body
        longitudinal, normal = (ca.SX(ca.vertcat(*axis)) for axis in (found.axes.longitudinal, found.axes.normal))
        point, at = found.ground_point, found.application_point
        return [GroundPoint(self.name, body, point, at, found.force, longitudinal, normal)]

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of the deflections; flags have none."""
        moving = entries(self.contact(state, symbols).bristle_rate, slice(0, len(self.deflections)))
        return [moving, ca.SX(len(self.flags), 1)]

    def after_step(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the stick flags after this instant."""
        stick = self.contact(state, symbols).stick
        return {name: stick[k] for k, name in enumerate(self.flags)}

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy of the compressed spring, J."""
        return suspension_energy(self.scaled(symbols), self.contact(state, symbols))

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of damper and friction, W."""
        found = self.contact(state, symbols)
        return suspension_dissipation(self.scaled(symbols), found) - friction_power(found)

    def work_accounts(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the power of the suspension and that of friction on the machine, W."""
        found = self.contact(state, symbols)
        return {'suspension': found.normal_force * found.height_rate, 'friction': friction_power(found)}

    def friction_use(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return friction over the greatest static friction, of every deflection, for a machine at rest."""
        if self.wheel.friction is None:
            return {}
        found = self.contact(state, symbols)
        greatest = self.wheel.friction.static * symbols[FRICTION_SCALE] * found.normal_force
        used = self._friction_of_deflections(found) / ca.fmax(greatest, 1e-9)
        return {name: used[k] for k, name in enumerate(self.deflections)}

    def _friction_of_deflections(self, found: WheelContact) -> Expression:
        return ca.fabs(found.friction[: len(self.deflections)])

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return height, forces, slip, ground point and axes of the contact."""
        found, name = self.contact(state, symbols), self.name
        values = {'height': found.height, 'normal_force': found.normal_force}
        values |= {f'friction_{axis}': found.friction[k] for k, axis in enumerate(DIRECTIONS)}
        values |= {f'slip_{axis}': found.slip[k] for k, axis in enumerate(DIRECTIONS)}
        values |= {f'point_{axis}': found.ground_point[k] for k, axis in enumerate(XYZ)}
        result = {f'{name}/{quantity}': ca.SX(value) for quantity, value in values.items()}
        axes = (*found.axes.longitudinal, *found.axes.normal)
        return result | {own: ca.SX(part) for own, part in zip(axis_names(name), axes)}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the load of the wheel: `lift_off` where it vanishes, `touch_down` where it comes back.

        The value is positive exactly where the ground pushes (kelvin_voigt) and has no jump, unlike the push itself: a
        damper that touches with some speed pushes at once.
        """
        found, wheel = self.contact(state, symbols), self.scaled(symbols)
        spring = wheel.stiffness * (wheel.free_length - found.height)
        push = spring - wheel.damping * found.height_rate
        watch = Watch('touch_down', 'lift_off', 'height_rate', {'wheel': self.name})
        return [Surface(watch, ca.fmin(spring, push), found.height_rate)]


class StandingWheel(SprungWheel):
    """A braked wheel or a foot on the plane."""

    def _evaluate(self, state: TreeState, symbols: Symbols) -> WheelContact:
        heading = state.frame_pose(state.tree.frame(self.base)).R[:, 0]
        bristles, flags = self._pair(self.deflections, 0.0, symbols), self._pair(self.flags, 1.0, symbols)
        motion = self._motion(state)
        return wheel_contact(self.scaled(symbols), NORMAL, heading, *motion, bristles, symbols[self.height], flags)


class RollingWheel(SprungWheel):
    """A tyre, or a wheel with rollers, on the plane and on what rises from it.

    Args:
        wheel: parameters, with `rolling`.
        base: name of the base link.
        planar: the machine moves in the vertical plane.
        terrain: what rises from the plane.
    """

    def __init__(self, wheel: Wheel, base: str, planar: bool = False, terrain: tuple[Rise, ...] = ()) -> None:
        super().__init__(wheel, base, planar)
        assert wheel.rolling is not None
        self.rolling, self.terrain = wheel.rolling, terrain

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions with a deflection each: of a roller wheel the axis of its rollers."""
        return super().directions if self.rolling.roller_angle is None else ROLLER

    def _evaluate(self, state: TreeState, symbols: Symbols) -> WheelContact:
        frame = state.tree.frame(self.wheel.link)
        axle = ca.mtimes(state.body_pose(frame.body).R, frame.R @ np.array(self.rolling.axis))
        center, velocity, turning = self._motion(state)
        normal: Any = NORMAL
        height = symbols[self.height]
        if self.terrain:
            ground = ground_at(self.terrain, center[0], center[1])
            normal, height = ground.normal, height + ground.plane_offset(center[0], center[1])
        bristles = self._pair(self.deflections, 0.0, symbols)
        return rolling_contact(self.scaled(symbols), normal, axle, center, velocity, turning, bristles, height)

    def _friction_of_deflections(self, found: WheelContact) -> Expression:
        return ca.norm_2(found.friction) * ca.SX.ones(len(self.deflections))


def sprung_wheels(
    machine: Machine,
    standing: type[StandingWheel] = StandingWheel,
    rolling: type[RollingWheel] = RollingWheel,
) -> tuple[SprungWheel, ...]:
    """Return the wheels and feet of a machine, in its order."""
    base, planar = machine.base.link, machine.base.attachment == 'planar'
    return tuple(
        standing(wheel, base, planar) if wheel.rolling is None else rolling(wheel, base, planar, machine.terrain)
        for wheel in machine.wheels
    )
