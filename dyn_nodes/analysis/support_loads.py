"""Load of every support of a machine at rest over the slew angle of its arm, like outrigger loads of cranes.

The arm slews once around in a fixed posture, such as a fixed boom length and angle, with a fixed payload. At every
angle the machine is in its stable equilibrium on springs and tyres, with passive joints (`stability.equilibrium`); the
greatest load of each outrigger is the criterion for cranes (CICA-GN-0013).
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
"""Sine of the angle to the vertical below which the axis of a joint counts as vertical."""


@dataclass(frozen=True, eq=False)
class SupportLoads:
    """Loads of the supports.

    Attributes:
        supports: names of c supports.
        swing_joint: name of the joint that slews.
        swings: (s,) positions of this joint, rad.
        loads: (s, c) normal forces, N; NaN without an equilibrium.
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
        machine: machine with a payload and a joint that slews it.
        payload: kg.
        step: step of the slew angle, rad.
        positions: positions of joints by name that replace the initial ones, rad or m.

    Raises:
        ValueError: no payload, a payload beyond its limit, no such joint, a position outside its limits, or a machine
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
        equilibrium = settle(running_gear(machine, at | {joint.name: float(swing)}), payload, gravity)
        if equilibrium is not None:
            loads[k] = equilibrium.loads
    return SupportLoads(tuple(support.name for support in machine.supports), joint.name, swings, loads, payload)


def _swing_joint(machine: Machine) -> Joint:
    """Return the joint next to the base that turns the payload about the vertical."""
    assert machine.payload is not None
    poses = link_poses(machine.links, machine.joints, {})
    by_child = {joint.child: joint for joint in machine.joints}
    link, swing_joint = machine.payload.link, None
    while link in by_child:
        joint = by_child[link]
        axis = poses[joint.child][:3, :3] @ joint.axis
        if joint.type in ('revolute', 'continuous') and np.hypot(axis[0], axis[1]) < UPRIGHT:
            swing_joint = joint
        link = joint.parent
    if swing_joint is None:
        raise ValueError(f'{machine.name}: support loads: no joint slews the payload about the vertical')
    return swing_joint


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
