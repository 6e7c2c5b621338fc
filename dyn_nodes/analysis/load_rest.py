"""Tipping load and hydraulic lift capacity at rest on level ground, without stops and without compiled payload.

The payload is a point at the mount, so its share follows from the mount and its derivatives. A changed machine file
therefore needs no other kernel than the machine itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.common.arrays import Array

FLAT = 1e-9
"""Effort per kilogram below which a drive does not carry the payload, N m/kg or N/kg."""


class RestLimits(NamedTuple):
    """Limits of n postures at s swing angles.

    Attributes:
        tipping: (n, s) tipping load, kg; inf if no payload tips the machine.
        lifting: (n,) hydraulic lift capacity, kg.
        lifting_drive: (n,) index in `LoadStatics.drives` of the drive that limits it.
    """

    tipping: Array
    lifting: Array
    lifting_drive: Array


def rest_limits(statics: LoadStatics, arm: Array, swings: Array, rigid: bool = False) -> RestLimits:
    """Return the limits on level ground.

    Args:
        statics: statics of the machine.
        arm: (n, a) positions of the arm's joints, rad or m.
        swings: (s,) positions of the swing joint, rad; one arbitrary value without a swing joint.
        rigid: springs and tyres are rigid; passive joints still move.
    """
    count, gravity = len(arm), np.array([0.0, 0.0, -statics.machine.gravity])
    q = statics.arm_positions(np.repeat(arm, len(swings), axis=0), np.tile(swings, count))
    wrench = np.stack([statics.forces(q, pull, None, None, 0.0)[0] for pull in np.eye(3)], axis=2)
    wrench -= statics.still_wrench
    mount = statics.mount(q)
    if rigid:
        pressing = wrench @ gravity @ statics.edge_rows.T + statics.still_rows @ gravity
        load = np.hstack([-np.cross(mount, gravity), np.broadcast_to(-gravity, mount.shape)]) @ statics.edge_rows.T
        with np.errstate(divide='ignore', invalid='ignore'):
            each = np.where(load < 0.0, -pressing / load, np.inf)
        tipping = np.where(pressing <= 0.0, 0.0, each).min(axis=1)
    else:
        mass = -wrench[:, 5, 2]
        moment = np.column_stack([wrench[:, 1, 2], -wrench[:, 0, 2], -wrench[:, 1, 0]])
        tipping = statics.gear.payloads(mass, moment, mount, gravity[np.newaxis], False)[1]
    lifting, drive = _lifting(statics, statics.arm_positions(arm), gravity)
    return RestLimits(tipping.reshape(count, len(swings)), lifting, drive)


def _lifting(statics: LoadStatics, q: Array, gravity: Array) -> tuple[Array, Array]:
    """Return lift capacity (n,), kg, and the index of the limiting drive (n,), for positions of the chain (n, c)."""
    effort = statics.forces(q, gravity, None, None, 0.0)[1]
    columns = [k for k, joint in enumerate(statics.chain) if joint is not statics.swing]
    per_kg = np.zeros_like(effort)
    per_kg[:, columns] = -np.einsum('i,nia->na', gravity, statics.mount_slopes(q)[1])
    per_kg /= statics.drive_rates(q)
    low, high = statics.capacities(q, holding=False)
    with np.errstate(divide='ignore', invalid='ignore'):
        each = np.where(per_kg > 0.0, high - effort, effort - low) / np.abs(per_kg)
    each[np.abs(per_kg) <= FLAT] = np.inf
    each[(effort > high) | (effort < low)] = 0.0
    return each.min(axis=1), each.argmin(axis=1)
