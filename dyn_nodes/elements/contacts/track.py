"""Crawler track: a row of sprung road rollers on a belt whose shoes grip the ground.

Every roller presses one pitch of the belt on the ground. Deflections z of the shoes against the ground are bristles as
in LuGre friction. The belt carries them along: with slip velocity v (of the shoes on the ground), belt speed V and
Stribeck function eta,

    dz/dt + V dz/ds = v - |v| sigma_0 z / eta(|v|),   F = -N (sigma_0 z + sigma_1 dz/dt + sigma_2 v),

s from the end where shoes touch down, with z = 0 there. At constant slip i and even pressure this is the law of Janosi
and Hanamoto, F = mu N (1 - K / (i L) (1 - exp(-i L / K))), with the shear modulus K = mu / sigma_0. Along the belt the
derivative is taken upstream, over one pitch. One friction limit holds for both directions: a track that slides
longitudinally has no lateral grip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.elements.forces.contact import ground_axes, kelvin_voigt
from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.elements.forces.terrain import ground_at
from dyn_nodes.elements.wheel import (
    DAMPING_SCALE,
    DEFLECTION_SCALE,
    DIRECTIONS,
    FRICTION_SCALE,
    NORMAL,
    STIFFNESS_SCALE,
    XYZ,
    axis_names,
)
from dyn_nodes.model.contacts.track import Track, forward
from dyn_nodes.model.friction.lugre import LuGre, stribeck
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ContactElement, ElementState, GroundPoint, Surface, Symbols, Watch, symbolic
from dyn_nodes.multibody.spatial import Expression, cross, dot

SPEED_FLOOR = 1e-9
"""Added in quadrature to the slip speed, m/s: keeps the speed differentiable at rest."""
FASTEST = 1000.0
"""Greatest rate at which bristles adapt, 1/s: allows fixed steps of a millisecond; steady forces are unchanged."""
LEAST_PUSH = 1e-9
"""Added to the push of every roller for the centre of pressure, N: without load, the centre is the track's middle."""


class RollerContact(NamedTuple):
    """Ground below a roller, world frame.

    Attributes:
        height: height of the row above the ground, m.  height_rate: m/s.
        push: normal force, N.
        friction: forces along the directions, N.
        slip: velocity of the shoe on the ground along the directions, m/s.
        rates: rates of the bristles, m/s.
        point, force: (3,) m and N.
        axes: (3,) unit vectors along the track, to its left, and the normal.
    """

    height: Expression
    height_rate: Expression
    push: Expression
    friction: tuple[Expression, ...]
    slip: tuple[Expression, ...]
    rates: tuple[Expression, ...]
    point: Expression
    force: Expression
    axes: tuple[Expression, Expression, Expression]


class CrawlerTrack(ContactElement):
    """A crawler track on the ground.

    The belt is massless; its mass is in the links. Friction along the track acts on the belt: on the link at the
    ground, and on the sprocket with the lever of its radius.

    Args:
        record: parameters.
        machine: machine of the track.
    """

    kind = Track.kind
    rests = True

    def __init__(self, record: Track, machine: Machine) -> None:
        self.record, self.terrain = record, machine.terrain
        self.directions = DIRECTIONS[:1] if machine.base.attachment == 'planar' else DIRECTIONS
        sprocket = machine.joint(record.sprocket)
        self.turns, self.belt = sprocket.movable, record.sprocket_radius * np.sign(forward(sprocket))
        self._traced: tuple[TreeState, tuple[RollerContact, ...]] | None = None

    @property
    def name(self) -> str:
        """Return the name of the element: the track's name."""
        return self.record.name

    @property
    def height(self) -> str:
        """Return the name of the parameter: height of the ground below the track, m."""
        return f'{self.name}/ground_height'

    @property
    def rollers(self) -> tuple[str, ...]:
        """Return the names of the rollers, rearmost first."""
        return tuple(support.name for support in self.record.supports)

    def bristles(self, roller: str) -> tuple[str, ...]:
        """Return the names of the deflections below a roller."""
        return tuple(f'{roller}/bristle_{direction}' for direction in self.directions)

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return the deflections of the shoes below every roller, m."""
        names = (name for roller in self.rollers for name in self.bristles(roller))
        return tuple(ElementState(name, DEFLECTION_SCALE, balances=True) for name in names)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the factors that wheels and tracks share, and the height of the ground."""
        return {STIFFNESS_SCALE: 1.0, DAMPING_SCALE: 1.0, FRICTION_SCALE: 1.0, self.height: 0.0}

    def friction(self, symbols: Symbols) -> LuGre:
        """Return the friction law, its coefficients scaled by the parameter."""
        nominal, scale = self.record.friction, symbols[FRICTION_SCALE]
        scaled: LuGre = symbolic(nominal, static=nominal.static * scale, kinetic=nominal.kinetic * scale)
        return scaled

    def stiffness(self, symbols: Symbols) -> Expression:
        """Return the stiffness of one roller, N/m."""
        return self.record.supports[0].stiffness * symbols[STIFFNESS_SCALE]

    def belt_speed(self, state: TreeState) -> Expression:
        """Return the speed of the belt relative to the link, m/s: positive drives forward."""
        return self.belt * joint_motion(state, self.record.sprocket).rate if self.turns else ca.SX(0)

    def contacts(self, state: TreeState, symbols: Symbols) -> tuple[RollerContact, ...]:
        """Return the contact below every roller, traced once for each state."""
        if self._traced is None or self._traced[0] is not state:
            indices = range(self.record.count)
            self._traced = state, tuple(self._roller(index, state, symbols) for index in indices)
        return self._traced[1]

    def _roller(self, index: int, state: TreeState, symbols: Symbols) -> RollerContact:
        support, frame = self.record.supports[index], state.tree.frame(self.record.link)
        attachment = ca.SX(frame.p + frame.R @ support.position)
        at, velocity = state.body_pose(frame.body).point(attachment), state.point_velocity(frame.body, attachment)
        axes = self._axes(at, state)
        along, left, normal = axes
        offset = symbols[self.height]
        if self.terrain:
            offset = offset + ground_at(self.terrain, at[0], at[1]).plane_offset(at[0], at[1])
        height, height_rate = dot(normal, at) - offset, dot(normal, velocity)
        damping = support.damping * symbols[DAMPING_SCALE]
        push = kelvin_voigt(self.stiffness(symbols), damping, support.free_length, height, height_rate)
        below = velocity - height_rate * normal - height * cross(state.angular_velocity(frame.body), normal)
        slip = (dot(along, below) - self.belt_speed(state), dot(left, below))[: len(self.directions)]
        rates = self._bristle_rates(index, slip, state, symbols)
        friction = self._shear(push, slip, self._deflections(index, symbols), rates)
        force = push * normal + sum((component * axis for component, axis in zip(friction, (along, left))), ca.SX(3, 1))
        return RollerContact(height, height_rate, push, friction, slip, rates, at - height * normal, force, axes)

    def _axes(self, at: Expression, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Return the axes of the ground at a point: along the track, to its left, normal."""
        heading = state.frame_pose(state.tree.frame(self.record.link)).R[:, 0]
        normal = ground_at(self.terrain, at[0], at[1]).normal if self.terrain else NORMAL
        contact_axes = ground_axes(normal, heading)
        along, left, up = (
            ca.SX(ca.vertcat(*axis)) for axis in (contact_axes.longitudinal, contact_axes.lateral, contact_axes.normal)
        )
        return along, left, up

    def _deflections(self, index: int, symbols: Symbols) -> tuple[Expression, ...]:
        """Return the deflections below a roller, along the directions; zero beyond the ends, where shoes touch down."""
        if not 0 <= index < self.record.count:
            return (ca.SX(0),) * len(self.directions)
        return tuple(symbols[name] for name in self.bristles(self.rollers[index]))

    def _bristle_rates(
        self, index: int, slip: Sequence[Expression], state: TreeState, symbols: Symbols
    ) -> tuple[Expression, ...]:
        speed = ca.sqrt(sum(v * v for v in slip) + SPEED_FLOOR**2)
        friction, carried = self.friction(symbols), self.belt_speed(state) / self.record.pitch
        ahead, astern = ca.fmax(carried, 0.0), ca.fmax(-carried, 0.0)
        loss = speed * friction.bristle_stiffness / stribeck(friction, speed) + ahead + astern
        pace = FASTEST / ca.fmax(loss, FASTEST)
        neighbours = (self._deflections(index + step, symbols) for step in (1, -1))
        deflections = self._deflections(index, symbols)
        return tuple(
            pace * (v - loss * z + ahead * front + astern * rear)
            for v, z, front, rear in zip(slip, deflections, *neighbours)
        )

    def _shear(
        self,
        push: Expression,
        slip: Sequence[Expression],
        deflections: Sequence[Expression],
        rates: Sequence[Expression],
    ) -> tuple[Expression, ...]:
        law = self.record.friction
        return tuple(
            -push * (law.bristle_stiffness * z + law.bristle_damping * rate + law.viscous * v)
            for v, z, rate in zip(slip, deflections, rates)
        )

    def ground_points(self, state: TreeState, symbols: Symbols) -> Sequence[GroundPoint]:
        """Return the points below the rollers."""
        body = state.tree.frame(self.record.link).body
        return [
            GroundPoint(name, body, contact.point, contact.point, contact.force, contact.axes[0], contact.axes[2])
            for name, contact in zip(self.rollers, self.contacts(state, symbols))
        ]

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) the torque of the belt on the sprocket."""
        if not self.turns:
            return ca.SX(state.width, 1)
        pull = sum((contact.friction[0] for contact in self.contacts(state, symbols)), ca.SX(0))
        return along_joint(state, joint_motion(state, self.record.sprocket).velocity_index, -self.belt * pull)

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of the deflections."""
        return [rate for contact in self.contacts(state, symbols) for rate in contact.rates]

    def _compression(self, contact: RollerContact) -> Expression:
        return ca.fmax(self.record.free_length - contact.height, 0.0)

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy of the springs of the rollers, J."""
        stiffness = self.stiffness(symbols)
        return sum(
            (0.5 * stiffness * self._compression(contact) ** 2 for contact in self.contacts(state, symbols)), ca.SX(0)
        )

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of dampers and friction, W; bristles that relax return some of it."""
        total, stiffness = ca.SX(0), self.stiffness(symbols)
        for contact in self.contacts(state, symbols):
            total += (stiffness * self._compression(contact) - contact.push) * contact.height_rate
            total -= sum(force * v for force, v in zip(contact.friction, contact.slip))
        return total

    def work_accounts(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the power of springs and dampers, and the power of friction on the link, W."""
        belt, contacts = self.belt_speed(state), self.contacts(state, symbols)
        suspension = sum((contact.push * contact.height_rate for contact in contacts), ca.SX(0))
        friction = sum((f * v for contact in contacts for f, v in zip(contact.friction, contact.slip)), ca.SX(0))
        return {
            'suspension': suspension,
            'friction': friction + belt * sum(contact.friction[0] for contact in contacts),
        }

    def friction_use(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return friction as a share of the greatest static friction below every roller, for a machine at rest."""
        shares: dict[str, Expression] = {}
        static = self.friction(symbols).static
        for name, contact in zip(self.rollers, self.contacts(state, symbols)):
            used = ca.norm_2(ca.vertcat(*contact.friction)) / ca.fmax(static * contact.push, 1e-9)
            shares |= dict.fromkeys(self.bristles(name), used)
        return shares

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the ground's resultant at the centre of pressure, belt speed, slip, and the load of every roller.

        The resultant is in the axes at the track's middle: along it, to its left, normal.
        """
        contacts, name = self.contacts(state, symbols), self.name
        axes = self._axes(sum((contact.point for contact in contacts), ca.SX(3, 1)) / len(contacts), state)
        center = center_of_pressure(contacts)
        force = sum((contact.force for contact in contacts), ca.SX(3, 1))
        moment = sum((cross(contact.point - center, contact.force) for contact in contacts), ca.SX(3, 1))
        values: dict[str, Expression] = {
            f'friction_{direction}': dot(axis, force) for direction, axis in zip(DIRECTIONS, axes)
        }
        values['normal_force'] = dot(axes[2], force)
        values |= {f'moment_{part}': dot(axis, moment) for part, axis in zip((*DIRECTIONS, 'normal'), axes)}
        values |= {f'point_{axis}': center[k] for k, axis in enumerate(XYZ)}
        values['belt_speed'] = self.belt_speed(state)
        values['slip_longitudinal'] = sum((contact.slip[0] for contact in contacts), ca.SX(0)) / len(contacts)
        result = {f'{name}/{quantity}': value for quantity, value in values.items()}
        result |= dict(zip(axis_names(name), (*ca.vertsplit(axes[0]), *ca.vertsplit(axes[2]))))
        for roller, contact in zip(self.rollers, contacts):
            result[f'{roller}/normal_force'] = contact.push
            result |= {f'{roller}/point_{axis}': contact.point[k] for k, axis in enumerate(XYZ)}
        return result

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the load of the track: `lift_off` if it vanishes below all rollers, `touch_down` when it returns.

        The value is positive exactly if the ground pushes on some roller, and it is continuous.
        """
        contacts, stiffness = self.contacts(state, symbols), self.stiffness(symbols)
        damping = self.record.supports[0].damping * symbols[DAMPING_SCALE]
        load = ca.SX(-ca.inf)
        for contact in contacts:
            spring = stiffness * (self.record.free_length - contact.height)
            load = ca.fmax(load, ca.fmin(spring, spring - damping * contact.height_rate))
        rate = sum((contact.height_rate for contact in contacts), ca.SX(0)) / len(contacts)
        return [Surface(Watch('touch_down', 'lift_off', 'height_rate', {'track': self.name}), load, rate)]


def center_of_pressure(contacts: Sequence[RollerContact]) -> Expression:
    """Return (3,) the centre of pressure, world frame, m."""
    pushes = [contact.push + LEAST_PUSH for contact in contacts]
    weighted = sum((push * contact.point for push, contact in zip(pushes, contacts)), ca.SX(3, 1))
    return weighted / sum(pushes)
