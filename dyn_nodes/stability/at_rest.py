"""Support, margins and alarm levels of a machine at rest on its springs in its initial position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import MEASURES, Levels, measure
from dyn_nodes.model.equilibrium import Stance, gravity_in_ground
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses, rotation_about
from dyn_nodes.stability.balance import Balance, value_names
from dyn_nodes.stability.equilibrium.axes import TippingAxes, tipping_axes
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.standing import at_rest, carried, gives_way, standing_supports
from dyn_nodes.stability.gear_margins import AxisMoments, axis_margins, axis_polygon, name_axes
from dyn_nodes.stability.grip import Grip, axles_of, free_directions, grip_of
from dyn_nodes.stability.polygon import PolygonError, name_edges, support_order
from dyn_nodes.stability.support import Margin, Support, margins


@dataclass(frozen=True, eq=False)
class ContactAtRest:
    """A wheel or another contact at rest.

    Attributes:
        load: normal force, N.
        point: (2,) centre of pressure in axes of the ground, m.
        compression: greatest compression of its springs, m.
    """

    load: float
    point: Array
    compression: float


@dataclass(frozen=True, eq=False)
class SupportAtRest:
    """Input of the measures for a machine with a free base at rest.

    Attributes:
        support: in axes of the ground, the base link above the origin.
        wheels: names of wheels and other contacts.
        feet: names of the corners of the polygon, in its order.
        measures: names of the measures that are defined.
        counted: (w,) wheels and contacts that carry load, or would before the machine moves by more than its springs
            yield.
        axes: tipping axes and the moments about them if joints under the machine give way; else None. The edges are
            then the axes, and the polygon of `support` is the area above which the centre of mass is held.
    """

    support: Support
    wheels: tuple[str, ...]
    feet: tuple[str, ...]
    measures: tuple[str, ...]
    counted: NDArray[np.bool_]
    axes: tuple[TippingAxes, AxisMoments] | None = None

    def margins(self, names: Iterable[str] | None = None) -> dict[str, Margin]:
        """Return the margins of all defined measures, or of the named ones."""
        chosen = self.measures if names is None else [name for name in names if name in self.measures]
        if self.axes is not None:
            return axis_margins(self.support, *self.axes, chosen, self.counted)
        return margins(self.support, chosen, self.counted)

    def names(self, measure: str) -> tuple[str, ...]:
        """Return the names of the values of a measure."""
        return value_names(measure, self.edge_names, self.wheels, self.feet)

    @property
    def edge_names(self) -> tuple[str, ...]:
        """Names of the edges, or of the tipping axes."""
        if self.axes is None:
            return self.support.edge_names
        return name_axes(self.axes[0], self.support.travel)


def stands_on_springs(machine: Machine) -> bool:
    """Return whether springs alone carry a machine: base not fixed, no wheels by constraint, no loads."""
    on_others = machine.base.attachment == 'fixed' or machine.loads or machine.rigid_wheels
    return bool(machine.supports and not on_others)


def contact_at_rest(machine: Machine, name: str, stance: Stance) -> ContactAtRest:
    """Return load, centre of pressure and compression of a wheel or another contact."""
    indices = [k for k, support in enumerate(machine.supports) if support.contact == name]
    loads, load = stance.loads[indices], float(stance.loads[indices].sum())
    weights = loads / load if load > 0.0 else np.full(len(indices), 1.0 / len(indices))
    return ContactAtRest(
        load,
        stance.contacts[indices[0]] if len(indices) == 1 else weights @ stance.contacts[indices],
        max(float(stance.loads[k]) / machine.supports[k].stiffness for k in indices),
    )


def support_at_rest(machine: Machine, stance: Stance) -> SupportAtRest:
    """Return the support of a machine with a free base.

    Raises:
        PolygonError: its contacts do not form a support polygon.
    """
    contacts = np.column_stack([stance.contacts, np.zeros(len(stance.contacts))])
    standing = standing_supports(machine)
    corners = [k for k, support in enumerate(machine.supports) if support.corner and standing[k]]
    order = np.array(corners)[support_order(contacts[corners])]
    gravity = gravity_in_ground(machine)
    mass = machine.total_mass + (machine.payload.mass if machine.payload is not None else 0.0)
    grip = grip_of(machine)
    gripping = bool(grip.friction.any()) and not machine.contacts
    wheels = [contact_at_rest(machine, contact.name, stance) for contact in machine.ground_contacts]
    support = Support(
        feet=contacts[order],
        com=stance.center,
        force=mass * gravity,
        moment=np.zeros(3),
        mass=mass,
        up=-gravity / machine.gravity,
        normal_loads=np.array([contact.load for contact in wheels]),
        wheels=np.array([[*contact.point, 0.0] for contact in wheels]),
        gravity=machine.gravity,
        friction=grip.friction if gripping else None,
        rolling=_rolling(machine, stance, grip) if gripping else None,
        traction=grip.traction if gripping else None,
    )
    on_ground = {contact.contact for contact, stands in zip(machine.supports, standing) if stands}
    names = tuple(contact.name for contact in machine.ground_contacts)
    counted = np.array([name in on_ground for name in names])
    if gives_way(machine):
        return _support_on_axes(machine, stance, support, names, counted)
    defined = (name for name, m in MEASURES.items() if m.least_feet <= len(order) and (gripping or not m.of_friction))
    feet = tuple(machine.supports[corner].name for corner in order)
    return SupportAtRest(support, names, feet, tuple(defined), counted)


def _support_on_axes(
    machine: Machine, stance: Stance, support: Support, names: tuple[str, ...], counted: NDArray[np.bool_]
) -> SupportAtRest:
    """Return the support, by tipping axes, of a machine whose joints give way."""
    running, gravity = running_gear(machine), gravity_in_ground(machine)
    base = [stance.height, stance.pitch, stance.roll][: running.gear.base + 1]
    q = np.array([*base, *running.start[running.gear.base + 1 :]])
    payload = support.mass - machine.total_mass
    axes = tipping_axes(running, q, payload, gravity, carried(running))
    weight = -axes.weights @ gravity
    moments = AxisMoments(weight, np.where(axes.leaves_stop, weight, axes.lifts @ stance.loads))
    corners = axis_polygon(axes, weight / (support.mass * machine.gravity), support)
    if len(corners) < 3:
        raise PolygonError(f'{machine.name}: no area of the ground supports its weight')
    placed = replace(support, feet=corners, edge_names=name_edges(corners, support.travel))
    defined = (name for name, m in MEASURES.items() if m.per in ('edge', 'end') or name == 'load_share')
    return SupportAtRest(placed, names, (), tuple(defined), counted, (axes, moments))


def _rolling(machine: Machine, stance: Stance, grip: Grip) -> Array:
    """Return the force-free directions (w, 3) of the wheels at rest, in axes of the ground."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    level = rotation_about(np.array([0.0, 1.0, 0.0]), stance.pitch) @ rotation_about(np.eye(3)[0], stance.roll)
    axle_of = axles_of(machine)
    axles = np.array([level @ poses[wheel.link][:3, :3] @ axle_of[wheel.name] for wheel in machine.wheels])
    return free_directions(grip, axles, np.array([wheel.rolling is not None for wheel in machine.wheels]))


def alarm_levels(machine: Machine, measures: Sequence[str], start: Balance | None = None) -> dict[str, Levels]:
    """Return the alarm levels of a machine by measure.

    The full scale of a measure without a greatest value is its margin with the machine at rest in the initial position
    of its files. For a planar machine, a machine not carried by springs alone and a machine that holds an object it is
    the margin of `start`.

    Args:
        machine: the machine.
        measures: names.
        start: balance at the start of a simulation.

    Raises:
        KeyError: an unknown measure; the message lists the valid names.
    """
    resting = _margins_at_rest(machine, [name for name in measures if measure(name).full_scale is None])
    if resting is None:
        resting = {} if start is None else start.margins
    count = len(machine.ground_contacts)
    levels = {}
    for name in measures:
        definition, margin = measure(name), resting.get(name)
        if margin is None:
            levels[name] = definition.levels(count)
        else:
            levels[name] = definition.levels(len(margin.edges), margin.value if margin.valid else np.nan)
    return levels


def _margins_at_rest(machine: Machine, names: Sequence[str]) -> Mapping[str, Margin] | None:
    """Return margins by name at rest in the initial position; None if there is no such rest (`at_rest`)."""
    if machine.base.attachment != 'free' or not stands_on_springs(machine):
        return None
    resting = at_rest(machine)
    if resting is None:
        return None
    try:
        return support_at_rest(*resting).margins(names)
    except PolygonError:
        return {}
