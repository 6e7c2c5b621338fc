"""Wheels and feet on springs: unilateral suspension, friction, ground reaction, lift-off and touch-down.

The laws are in `dyn_nodes.elements.forces`; this module adds names, states, outputs, events and energy for any
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
"""Parameters that all wheels share: factors of stiffness, damping and friction."""


def axis_names(wheel: str) -> list[str]:
    """Return the names of the outputs with the longitudinal axis and the normal of a wheel's contact."""
    return [f'{wheel}/{axis}_{part}' for axis in ('longitudinal', 'normal') for part in XYZ]


class SprungWheel(ContactElement):
    """A wheel or foot on a unilateral spring and damper along the normal of the ground, with friction.

    Its deflections are states of its friction law, m. Their energy counts as dissipated: `dissipated_power` is
    negative for a moment while deflections relax.

    Args:
        wheel: parameters.
        base: name of the base link; its heading is the longitudinal axis of a wheel without rolling direction.
        planar: the machine moves in the vertical plane; friction acts in it only.
    """

    def __init__(self, wheel: Wheel, base: str, planar: bool = False) -> None:
        self.wheel, self.base, self.planar = wheel, base, planar
        self._traced: tuple[TreeState, WheelContact] | None = None

    @property
    def name(self) -> str:
        """Return the name of the element: the wheel's name."""
        return self.wheel.name

    @property
    def height(self) -> str:
        """Return the name of the parameter: height of the ground below the wheel, m."""
        return f'{self.name}/ground_height'

    @property
    def directions(self) -> tuple[str, ...]:
        """Return the directions with a deflection each; none without friction."""
        if self.wheel.friction is None:
            return ()
        return DIRECTIONS[:1] if self.planar else DIRECTIONS

    @property
    def deflections(self) -> tuple[str, ...]:
        """Return the names of the deflections."""
        law = self.wheel.friction
        return (
            () if law is None else tuple(f'{self.name}/{law.deflection}_{direction}' for direction in self.directions)
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the names of the stick flags: 1 if the foot sticks."""
        law = self.wheel.friction
        return (
            tuple(f'{self.name}/stick_{direction}' for direction in self.directions)
            if law is not None and law.sticks
            else ()
        )

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return deflections, then stick flags."""
        deflections = (ElementState(name, DEFLECTION_SCALE, balances=True) for name in self.deflections)
        return (*deflections, *(ElementState(name, start=1.0, discrete=True) for name in self.flags))

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the factors that all wheels share, and the height of the ground."""
        return {STIFFNESS_SCALE: 1.0, DAMPING_SCALE: 1.0, FRICTION_SCALE: 1.0, self.height: 0.0}

    def scaled(self, symbols: Symbols) -> Wheel:
        """Return the wheel with its stiffness, damping and friction scaled by the parameters."""
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
        """Return force and geometry of the wheel's contact, traced once for each state."""
        if self._traced is None or self._traced[0] is not state:
            self._traced = state, self._evaluate(state, symbols)
        return self._traced[1]

    @abstractmethod
    def _evaluate(self, state: TreeState, symbols: Symbols) -> WheelContact:
        """Evaluate the law of the wheel."""

    def _motion(self, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Return position and velocity of the attachment, angular velocity of its body, (3,) each, world frame."""
        frame = state.tree.frame(self.wheel.link)
        point = ca.SX(frame.p + frame.R @ self.wheel.position)
        velocity = state.point_velocity(frame.body, point)
        return state.body_pose(frame.body).point(point), velocity, state.angular_velocity(frame.body)

    @staticmethod
    def _pair(names: Sequence[str], absent: float, symbols: Symbols) -> Expression:
        """Return (2,) states by direction; a planar machine has the longitudinal one only."""
        values = ca.vertcat(*(symbols[name] for name in names), ca.SX(0, 1))
        return ca.vertcat(values, absent * ca.SX.ones(2 - len(names)))

    def ground_points(self, state: TreeState, symbols: Symbols) -> Sequence[GroundPoint]:
        """Return the ground point below the wheel."""
        contact, body = self.contact(state, symbols), state.tree.frame(self.wheel.link).body
        longitudinal, normal = (ca.SX(ca.vertcat(*axis)) for axis in (contact.axes.longitudinal, contact.axes.normal))
        point, at = contact.ground_point, contact.application_point
        return [GroundPoint(self.name, body, point, at, contact.force, longitudinal, normal)]

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of the deflections; flags have no rate."""
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
        contact = self.contact(state, symbols)
        return suspension_dissipation(self.scaled(symbols), contact) - friction_power(contact)

    def work_accounts(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the power of suspension and friction on the machine, W."""
        contact = self.contact(state, symbols)
        return {'suspension': contact.normal_force * contact.height_rate, 'friction': friction_power(contact)}

    def friction_use(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return friction as a share of the greatest static friction, by deflection, for a machine at rest."""
        if self.wheel.friction is None:
            return {}
        contact = self.contact(state, symbols)
        greatest = self.wheel.friction.static * symbols[FRICTION_SCALE] * contact.normal_force
        used = self._friction_of_deflections(contact) / ca.fmax(greatest, 1e-9)
        return {name: used[k] for k, name in enumerate(self.deflections)}

    def _friction_of_deflections(self, contact: WheelContact) -> Expression:
        return ca.fabs(contact.friction[: len(self.deflections)])

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return height, forces, slip, ground point and axes of the contact."""
        contact, name = self.contact(state, symbols), self.name
        values = {'height': contact.height, 'normal_force': contact.normal_force}
        values |= {f'friction_{axis}': contact.friction[k] for k, axis in enumerate(DIRECTIONS)}
        values |= {f'slip_{axis}': contact.slip[k] for k, axis in enumerate(DIRECTIONS)}
        values |= {f'point_{axis}': contact.ground_point[k] for k, axis in enumerate(XYZ)}
        result = {f'{name}/{quantity}': ca.SX(value) for quantity, value in values.items()}
        axes = (*contact.axes.longitudinal, *contact.axes.normal)
        return result | {output: ca.SX(part) for output, part in zip(axis_names(name), axes)}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the load of the wheel: `lift_off` if it vanishes, `touch_down` when it returns.

        The value is positive exactly if the ground pushes (kelvin_voigt). It is continuous, unlike the push itself: a
        damper pushes at once if it touches with some speed.
        """
        contact, wheel = self.contact(state, symbols), self.scaled(symbols)
        spring = wheel.stiffness * (wheel.free_length - contact.height)
        push = spring - wheel.damping * contact.height_rate
        watch = Watch('touch_down', 'lift_off', 'height_rate', {'wheel': self.name})
        return [Surface(watch, ca.fmin(spring, push), contact.height_rate)]


class StandingWheel(SprungWheel):
    """A braked wheel or a foot on the plane."""

    def _evaluate(self, state: TreeState, symbols: Symbols) -> WheelContact:
        heading = state.frame_pose(state.tree.frame(self.base)).R[:, 0]
        bristles, flags = self._pair(self.deflections, 0.0, symbols), self._pair(self.flags, 1.0, symbols)
        motion = self._motion(state)
        return wheel_contact(self.scaled(symbols), NORMAL, heading, *motion, bristles, symbols[self.height], flags)


class RollingWheel(SprungWheel):
    """A tyre, or a wheel with rollers, on the plane and the terrain on it.

    Args:
        wheel: parameters, with `rolling`.
        base: name of the base link.
        planar: the machine moves in the vertical plane.
        terrain: rises of the terrain above the plane.
    """

    def __init__(self, wheel: Wheel, base: str, planar: bool = False, terrain: tuple[Rise, ...] = ()) -> None:
        super().__init__(wheel, base, planar)
        assert wheel.rolling is not None
        self.rolling, self.terrain = wheel.rolling, terrain

    @property
    def directions(self) -> tuple[str, ...]:
        """Return the directions with a deflection each: for a roller wheel, the axis of its rollers."""
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

    def _friction_of_deflections(self, contact: WheelContact) -> Expression:
        return ca.norm_2(contact.friction) * ca.SX.ones(len(self.deflections))


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
