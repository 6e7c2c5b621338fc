"""Crawler track: a row of road rollers on springs, over a belt whose shoes grip the ground while it runs below them.

Every roller presses one pitch of the belt on the ground. Deflections z of the shoes against the ground are bristles as
in LuGre friction. The belt carries them along: with slip velocity v (of the shoes on the ground), belt speed V and
Stribeck function eta,

    dz/dt + V dz/ds = v - |v| sigma_0 z / eta(|v|),   F = -N (sigma_0 z + sigma_1 dz/dt + sigma_2 v),

s from the end where shoes come down, with z = 0 there. At a constant slip i on even pressure this is the law of Janosi
and Hanamoto, F = mu N (1 - K / (i L) (1 - exp(-i L / K))), with the shear modulus K = mu / sigma_0. Along the belt the
derivative is taken upstream, over one pitch. One friction limit holds for both directions: a track that slides ahead
has no grip to the side.
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
"""Added in quadrature to the slip speed, m/s: its root has a slope at rest then."""
FASTEST = 1000.0
"""Bristles adapt no faster than this, 1/s, so that fixed steps of a millisecond follow; the force stays."""
LEAST_PRESS = 1e-9
"""Added to the push of every roller for the centre of pressure, N: without any load it is the middle of the track."""


class RollerContact(NamedTuple):
    """Ground below a roller, world frame.

    Attributes:
        height: of the row above the ground, m.  height_rate: m/s.
        push: along the normal, N.
        friction: along the directions, N.
        slip: of the shoe on the ground along the directions, m/s.
        rates: of the bristles, m/s.
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

    The belt has no mass beside that of the links. Friction along the track acts on the belt: on the link at the ground,
    and on the sprocket with the lever of its radius.

    Args:
        record: its numbers.
        machine: whose track it is.
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
        """Name of the element: that of the track."""
        return self.record.name

    @property
    def height(self) -> str:
        """Parameter: height of the ground below the track, m."""
        return f'{self.name}/ground_height'

    @property
    def rollers(self) -> tuple[str, ...]:
        """Names of the rollers, the rearmost one first."""
        return tuple(support.name for support in self.record.supports)

    def bristles(self, roller: str) -> tuple[str, ...]:
        """Return the names of the deflections below a roller."""
        return tuple(f'{roller}/bristle_{direction}' for direction in self.directions)

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Deflections of the shoes below every roller, m."""
        names = (name for roller in self.rollers for name in self.bristles(roller))
        return tuple(ElementState(name, DEFLECTION_SCALE, balances=True) for name in names)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Factors that wheels and tracks share, and the height of the ground."""
        return {STIFFNESS_SCALE: 1.0, DAMPING_SCALE: 1.0, FRICTION_SCALE: 1.0, self.height: 0.0}

    def friction(self, symbols: Symbols) -> LuGre:
        """Return the friction with the factor of the parameters in its numbers."""
        own, scale = self.record.friction, symbols[FRICTION_SCALE]
        scaled: LuGre = symbolic(own, static=own.static * scale, kinetic=own.kinetic * scale)
        return scaled

    def stiffness(self, symbols: Symbols) -> Expression:
        """Return the stiffness of one roller, N/m."""
        return self.record.supports[0].stiffness * symbols[STIFFNESS_SCALE]

    def belt_speed(self, state: TreeState) -> Expression:
        """Return the speed of the belt against the link, m/s: positive where it drives ahead."""
        return self.belt * joint_motion(state, self.record.sprocket).rate if self.turns else ca.SX(0)

    def contacts(self, state: TreeState, symbols: Symbols) -> tuple[RollerContact, ...]:
        """Return the contact below every roller; traced once for each state."""
        if self._traced is None or self._traced[0] is not state:
            places = range(self.record.count)
            self._traced = state, tuple(self._roller(place, state, symbols) for place in places)
        return self._traced[1]

    def _roller(self, place: int, state: TreeState, symbols: Symbols) -> RollerContact:
        support, frame = self.record.supports[place], state.tree.frame(self.record.link)
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
        rates = self._bristle_rates(place, slip, state, symbols)
        friction = self._shear(push, slip, self._deflections(place, symbols), rates)
        force = push * normal + sum((own * axis for own, axis in zip(friction, (along, left))), ca.SX(3, 1))
        return RollerContact(height, height_rate, push, friction, slip, rates, at - height * normal, force, axes)

    def _axes(self, at: Expression, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Return the axes of the ground at a place: along the track, to its left, normal."""
        heading = state.frame_pose(state.tree.frame(self.record.link)).R[:, 0]
        normal = ground_at(self.terrain, at[0], at[1]).normal if self.terrain else NORMAL
        own = ground_axes(normal, heading)
        along, left, up = (ca.SX(ca.vertcat(*axis)) for axis in (own.longitudinal, own.lateral, own.normal))
        return along, left, up

    def _deflections(self, place: int, symbols: Symbols) -> tuple[Expression, ...]:
        """Deflections below a roller, along the directions; zero beyond the ends, where shoes come down."""
        if not 0 <= place < self.record.count:
            return (ca.SX(0),) * len(self.directions)
        return tuple(symbols[name] for name in self.bristles(self.rollers[place]))

    def _bristle_rates(
        self, place: int, slip: Sequence[Expression], state: TreeState, symbols: Symbols
    ) -> tuple[Expression, ...]:
        speed = ca.sqrt(sum(v * v for v in slip) + SPEED_FLOOR**2)
        friction, carried = self.friction(symbols), self.belt_speed(state) / self.record.pitch
        ahead, astern = ca.fmax(carried, 0.0), ca.fmax(-carried, 0.0)
        loss = speed * friction.bristle_stiffness / stribeck(friction, speed) + ahead + astern
        pace = FASTEST / ca.fmax(loss, FASTEST)
        neighbours = (self._deflections(place + step, symbols) for step in (1, -1))
        own = self._deflections(place, symbols)
        return tuple(
            pace * (v - loss * z + ahead * front + astern * rear) for v, z, front, rear in zip(slip, own, *neighbours)
        )

    def _shear(
        self,
        push: Expression,
        slip: Sequence[Expression],
        deflections: Sequence[Expression],
        rates: Sequence[Expression],
    ) -> tuple[Expression, ...]:
        own = self.record.friction
        return tuple(
            -push * (own.bristle_stiffness * z + own.bristle_damping * rate + own.viscous * v)
            for v, z, rate in zip(slip, deflections, rates)
        )

    def ground_points(self, state: TreeState, symbols: Symbols) -> Sequence[GroundPoint]:
        """Return the points below the rollers."""
        body = state.tree.frame(self.record.link).body
        return [
            GroundPoint(name, body, own.point, own.point, own.force, own.axes[0], own.axes[2])
            for name, own in zip(self.rollers, self.contacts(state, symbols))
        ]

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) the torque of the belt on the sprocket."""
        if not self.turns:
            return ca.SX(state.width, 1)
        pull = sum((own.friction[0] for own in self.contacts(state, symbols)), ca.SX(0))
        return along_joint(state, joint_motion(state, self.record.sprocket).place, -self.belt * pull)

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of the deflections."""
        return [rate for own in self.contacts(state, symbols) for rate in own.rates]

    def _compression(self, own: RollerContact) -> Expression:
        return ca.fmax(self.record.free_length - own.height, 0.0)

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy of the springs of the rollers, J."""
        stiffness = self.stiffness(symbols)
        return sum((0.5 * stiffness * self._compression(own) ** 2 for own in self.contacts(state, symbols)), ca.SX(0))

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of dampers and friction, W; bristles that give way give some back."""
        total, stiffness = ca.SX(0), self.stiffness(symbols)
        for own in self.contacts(state, symbols):
            total += (stiffness * self._compression(own) - own.push) * own.height_rate
            total -= sum(force * v for force, v in zip(own.friction, own.slip))
        return total

    def work_accounts(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the power of springs and dampers and that of friction on the link, W."""
        belt, contacts = self.belt_speed(state), self.contacts(state, symbols)
        suspension = sum((own.push * own.height_rate for own in contacts), ca.SX(0))
        friction = sum((f * v for own in contacts for f, v in zip(own.friction, own.slip)), ca.SX(0))
        return {'suspension': suspension, 'friction': friction + belt * sum(own.friction[0] for own in contacts)}

    def friction_use(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return friction over the greatest static friction below every roller, for a machine at rest."""
        shares: dict[str, Expression] = {}
        static = self.friction(symbols).static
        for name, own in zip(self.rollers, self.contacts(state, symbols)):
            used = ca.norm_2(ca.vertcat(*own.friction)) / ca.fmax(static * own.push, 1e-9)
            shares |= dict.fromkeys(self.bristles(name), used)
        return shares

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the resultant of the ground at the centre of pressure, belt speed and slip; of every roller its load.

        The wrench is in the axes of the track's middle: along it, to its left, normal.
        """
        contacts, name = self.contacts(state, symbols), self.name
        axes = self._axes(sum((own.point for own in contacts), ca.SX(3, 1)) / len(contacts), state)
        center = center_of_pressure(contacts)
        force = sum((own.force for own in contacts), ca.SX(3, 1))
        moment = sum((cross(own.point - center, own.force) for own in contacts), ca.SX(3, 1))
        values: dict[str, Expression] = {
            f'friction_{direction}': dot(axis, force) for direction, axis in zip(DIRECTIONS, axes)
        }
        values['normal_force'] = dot(axes[2], force)
        values |= {f'moment_{part}': dot(axis, moment) for part, axis in zip((*DIRECTIONS, 'normal'), axes)}
        values |= {f'point_{axis}': center[k] for k, axis in enumerate(XYZ)}
        values['belt_speed'] = self.belt_speed(state)
        values['slip_longitudinal'] = sum((own.slip[0] for own in contacts), ca.SX(0)) / len(contacts)
        result = {f'{name}/{quantity}': value for quantity, value in values.items()}
        result |= dict(zip(axis_names(name), (*ca.vertsplit(axes[0]), *ca.vertsplit(axes[2]))))
        for roller, own in zip(self.rollers, contacts):
            result[f'{roller}/normal_force'] = own.push
            result |= {f'{roller}/point_{axis}': own.point[k] for k, axis in enumerate(XYZ)}
        return result

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the load of the track: `lift_off` where it vanishes below all rollers, `touch_down` where it is back.

        The value is positive exactly where the ground pushes some roller, and has no jump.
        """
        contacts, stiffness = self.contacts(state, symbols), self.stiffness(symbols)
        damping = self.record.supports[0].damping * symbols[DAMPING_SCALE]
        load = ca.SX(-ca.inf)
        for own in contacts:
            spring = stiffness * (self.record.free_length - own.height)
            load = ca.fmax(load, ca.fmin(spring, spring - damping * own.height_rate))
        rate = sum((own.height_rate for own in contacts), ca.SX(0)) / len(contacts)
        return [Surface(Watch('touch_down', 'lift_off', 'height_rate', {'track': self.name}), load, rate)]


def center_of_pressure(contacts: Sequence[RollerContact]) -> Expression:
    """Return (3,) the centre of the pushes of the ground, world frame, m."""
    pushes = [own.push + LEAST_PRESS for own in contacts]
    weighted = sum((push * own.point for push, own in zip(pushes, contacts)), ca.SX(3, 1))
    return weighted / sum(pushes)
