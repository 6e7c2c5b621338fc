"""Load of every support of a standing machine over the slew angle of its arm, as outrigger loads of cranes are given.

The arm slews once around in a fixed posture, such as a fixed boom length and angle, with a fixed payload. At every
angle the machine stands in its stable equilibrium on springs and tyres, joints without a drive giving way
(`stability.equilibrium`); cranes are judged by the greatest load of each outrigger (CICA-GN-0013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.equilibrium import gravity_in_ground
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.tipping import settle

UPRIGHT = 1e-6
"""Sine of the angle to the vertical below which the axis of a joint is vertical."""


@dataclass(frozen=True, eq=False)
class SupportLoads:
    """Loads of the supports.

    Attributes:
        supports: names of c supports.
        swing_joint: name of the joint that slews.
        swings: (s,) its positions, rad.
        loads: (s, c) normal forces, N; NaN where the machine does not stand.
        payload: kg.
    """

    supports: tuple[str, ...]
    swing_joint: str
    swings: Array
    loads: Array
    payload: float


def support_loads(
    machine: Machine, payload: float, step: float, positions: Mapping[str, float] | None = None
) -> SupportLoads:
    """Return the loads of all supports.

    Args:
        machine: with a payload and a joint that slews it.
        payload: kg.
        step: of the slew angle, rad.
        positions: of joints by name, over those of the start, rad or m.

    Raises:
        ValueError: no payload, or one beyond its limit, no such joint, a position outside its limits, or a machine
            whose equilibrium cannot be computed.
    """
    if machine.payload is None:
        raise ValueError(f'{machine.name}: support loads need a payload: the key `payload` of the machine YAML')
    if not 0.0 <= payload <= machine.payload.limit:
        raise ValueError(f'{machine.name}: payload: expected 0 to {machine.payload.limit:g} kg, found {payload:g}')
    _check(machine, positions or {})
    at = {**initial_positions(machine), **(positions or {})}
    joint = _swing_joint(machine)
    count = max(4, round(2.0 * np.pi / step))
    around = [-np.pi + 2.0 * np.pi / count * k for k in range(1, count + 1)]
    swings = np.array([swing for swing in around if joint.lower <= swing <= joint.upper])
    loads, gravity = np.full((len(swings), len(machine.supports)), np.nan), gravity_in_ground(machine)
    for k, swing in enumerate(swings):
        found = settle(running_gear(machine, at | {joint.name: float(swing)}), payload, gravity)
        if found is not None:
            loads[k] = found.loads
    return SupportLoads(tuple(own.name for own in machine.supports), joint.name, swings, loads, payload)


def _swing_joint(machine: Machine) -> Joint:
    """Return the joint next to the base that turns the payload about the vertical."""
    assert machine.payload is not None
    poses = link_poses(machine.links, machine.joints, {})
    by_child = {joint.child: joint for joint in machine.joints}
    link, found = machine.payload.link, None
    while link in by_child:
        joint = by_child[link]
        axis = poses[joint.child][:3, :3] @ joint.axis
        if joint.type in ('revolute', 'continuous') and np.hypot(axis[0], axis[1]) < UPRIGHT:
            found = joint
        link = joint.parent
    if found is None:
        raise ValueError(f'{machine.name}: support loads: no joint slews the payload about the vertical')
    return found


def _check(machine: Machine, positions: Mapping[str, float]) -> None:
    names = [joint.name for joint in machine.movable_joints]
    for name, value in positions.items():
        if name not in names:
            raise ValueError(f'{machine.name}: expected a joint out of {", ".join(names)}, found {name!r}')
        joint = machine.joint(name)
        if not joint.lower <= value <= joint.upper:
            raise ValueError(
                f'{machine.name}: joint {name!r}: expected {joint.lower:g} to {joint.upper:g}, found {value:g}'
            )
