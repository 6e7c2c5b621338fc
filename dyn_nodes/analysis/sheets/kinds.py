"""Kinds of machines of data sheets: each returns the loads at which the machine of a cell tips.

A kind is a function of (machine, values, cases): the section `model` of the sheet, the values of its quantities and
the cells of its charts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.analysis.sheets.arms import ArmPostures, folding_arm, telescope
from dyn_nodes.analysis.sheets.cases import Cases, SheetError, amount, column, option_of
from dyn_nodes.analysis.sheets.statics import Statics, tipping_loads
from dyn_nodes.common.arrays import Array

DIRECTIONS = {'front': 0.0, 'side': 90.0, 'rear': 180.0, 'all': None}
"""Headings of the arm from the front of the undercarriage, degrees; None: the least load of all headings."""
ALL_HEADINGS = np.radians(np.arange(0.0, 181.0, 5.0))
"""Headings whose least load counts; a machine is symmetric."""
GRAVITY = 9.80665
"""m/s2."""


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of n cells, kg.

    Attributes:
        tipping: (n,) tipping load, kg.
        head_mass: (n,) mass of a boom reduced to its head, kg; 0 for other machines.
        posture: (n, s) angles of the arm's segments above the horizontal, rad; s may be 0.
        radius: (n,) of the load from the slewing axis, or from the front axle, m.
        mass: (n,) of the machine without load, kg.
        moment: (n,) its static moment along x of the undercarriage, kg m.
    """

    tipping: Array
    head_mass: Array
    posture: Array
    radius: Array
    mass: Array
    moment: Array


def slewing(machine: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> Loads:
    """Return the loads of a machine with a slewing arm: excavator (`arm.segments`) or crane (`arm.com`)."""
    arm = machine['arm']
    postures = folding_arm(arm, values, cases) if 'segments' in arm else telescope(arm, values, cases)
    tipping, mass, moment = np.zeros(postures.moment.shape), np.zeros(cases.size), np.zeros(cases.size)
    supports = cases.label('undercarriage')
    directions = cases.label('direction')
    table = {**DIRECTIONS, **machine.get('directions', {})}
    for support in set(supports.tolist()):
        for direction in set(directions[supports == support].tolist()):
            mask = (supports == support) & (directions == direction)
            heading = option_of(table, direction)
            headings = ALL_HEADINGS if heading in (None, 'all') else [np.radians(float(heading))]
            group = _least(machine, values, cases.part(mask), postures, mask, support, headings)
            tipping[mask], mass[mask], moment[mask] = group
    return _extreme(postures, tipping, cases, mass, moment)


def _least(
    machine: Mapping[str, Any],
    values: Mapping[str, Any],
    cases: Cases,
    postures: ArmPostures,
    mask: np.ndarray,
    support: str,
    headings: Any,
) -> tuple[Array, Array, Array]:
    """Return least tipping loads (n, k) of cells on one undercarriage over the headings, masses and moments (n,)."""
    undercarriage = option_of(machine['undercarriages'], support)
    mass, fixed, turning = np.zeros(cases.size), np.zeros(cases.size), np.zeros(cases.size)
    for body in [*machine['bodies'].values(), *undercarriage.get('bodies', {}).values()]:
        kilograms = amount(body['mass'], values, cases)
        mass = mass + kilograms
        part = kilograms * amount(body['com'][0], values, cases)
        fixed, turning = (fixed, turning + part) if body.get('slews', False) else (fixed + part, turning)
    corners = np.array([[column(value, values, cases) for value in point] for point in undercarriage['supports']])
    corners = corners.transpose(2, 0, 1)
    arm_mass, arm_moment = postures.mass[mask], postures.moment[mask]
    total, plane = mass[:, None] + arm_mass, turning[:, None] + arm_moment
    axes = np.stack((np.cos(headings), np.sin(headings)), axis=1)
    moments = plane[..., None, None] * axes  # (n, k, headings, 2)
    moments[..., 0] += fixed[:, None, None]
    points = np.broadcast_to(postures.radius[mask][:, None, None, None] * axes, moments.shape)
    masses = np.broadcast_to(total[..., None], moments.shape[:-1])
    least = np.zeros(plane.shape)
    positions, which = np.unique(corners, axis=0, return_inverse=True)
    for index, position in enumerate(positions):
        cells = which.ravel() == index
        contacts = np.concatenate((position, position * (1.0, -1.0)))
        statics = Statics(masses[cells].ravel(), moments[cells].reshape(-1, 2), points[cells].reshape(-1, 2))
        least[cells] = tipping_loads(statics, contacts).reshape(-1, *moments.shape[1:-1]).min(axis=-1)
    return least, total[:, 0], moments[:, 0, -1, 0]


def _extreme(postures: ArmPostures, tipping: Array, cases: Cases, mass: Array, moment: Array) -> Loads:
    """Return the least loads over the postures, or the greatest in cells with `posture: greatest`."""
    rows = np.arange(cases.size)
    greatest = cases.labels.get('posture', np.array(['least'] * cases.size)) == 'greatest'
    sign = np.where(greatest, -1.0, 1.0)[:, None]
    scale = np.abs(tipping).mean(axis=1, keepdims=True)
    penalised = sign * tipping + scale * postures.penalty
    best = penalised.argmin(axis=1)
    loads = (sign * penalised)[rows, best]
    return Loads(loads, postures.head_mass, postures.angles[rows, best], postures.radius, mass, moment)


def articulated(machine: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> Loads:
    """Return the loads of a loader that tips about its front axle.

    Bodies of `frame: rear` turn by `articulation` about the joint of the frames, at `hinge`; x of the front frame is
    from the front axle, x of the rear frame from the joint. The rear axle oscillates, so the front axle is the tipping
    axis. Tyres that deflect pitch the machine about the front axle by (M + P) g / (2 k L): the front tyres carry all,
    the rear ones nothing. L is the distance of the middle of the rear axle behind the front axle, along the front
    frame.
    """
    angle = amount(machine.get('articulation', 0.0), values, cases)
    hinge = amount(machine['hinge'], values, cases)
    mass, moment, height = np.zeros(cases.size), np.zeros(cases.size), np.zeros(cases.size)
    for body in machine['bodies'].values():
        kilograms = amount(body['mass'], values, cases)
        x = amount(body['com'][0], values, cases)
        if body.get('frame') == 'rear':
            x = hinge + x * np.cos(angle)
        mass, moment = mass + kilograms, moment - kilograms * x
        height = height + kilograms * amount(body['com'][1], values, cases)
    lever = amount(machine['load'][0], values, cases) + np.zeros(cases.size)
    load = moment / lever
    tyres = cases.labels.get('tyres', np.array(['rigid'] * cases.size))
    deflects = tyres == 'deflect'
    if deflects.any():
        load = np.where(
            deflects, _with_tyres(machine, values, cases, (mass, moment, height, lever), hinge, angle), load
        )
    return _frontal(load, lever, mass, -moment)


def _with_tyres(
    machine: Mapping[str, Any],
    values: Mapping[str, Any],
    cases: Cases,
    rigid: tuple[Array, Array, Array, Array],
    hinge: Any,
    angle: Any,
) -> Array:
    """Return the tipping loads with tyres that deflect, by fixed-point iteration on the pitch."""
    mass, moment, height, lever = rigid
    stiffness = amount(machine['tyre_stiffness'], values, cases)
    base = (amount(machine['wheelbase'], values, cases) + hinge) * np.cos(angle) - hinge
    axle = amount(machine['axle_height'], values, cases)
    load_height = amount(machine['load'][1], values, cases)
    load = moment / lever
    for _ in range(60):
        pitch = (mass + load) * GRAVITY / (2.0 * stiffness * base)
        load = (moment - (height - mass * axle) * pitch) / (lever + (load_height - axle) * pitch)
    return np.asarray(load)


def truck(machine: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> Loads:
    """Return the loads of a counterbalanced truck that tips about its front axle, x from this axle."""
    mass, moment = np.zeros(cases.size), np.zeros(cases.size)
    for body in machine['bodies'].values():
        kilograms = amount(body['mass'], values, cases)
        mass, moment = mass + kilograms, moment - kilograms * amount(body['com'][0], values, cases)
    lever = amount(machine['load'][0], values, cases) + np.zeros(cases.size)
    return _frontal(moment / lever, lever, mass, -moment)


def _frontal(tipping: Array, lever: Array, mass: Array, moment: Array) -> Loads:
    """Return the loads of a machine whose load is ahead of its front axle."""
    return Loads(tipping, np.zeros(len(mass)), np.zeros((len(mass), 0)), lever, mass, moment)


def axle_loads(machine: Mapping[str, Any], values: Mapping[str, Any], cases: Cases, loads: Loads) -> Array:
    """Return the loads (n,) of the axles named in the column `axle`, with the mass of the column `carried`, kg.

    Raises:
        SheetError: no positions of the axles in the sheet, or another axle.
    """
    if set(machine.get('axles', {})) != {'front', 'rear'}:
        raise SheetError('model.axles: expected the positions of the axles, `front` and `rear`')
    front, rear = (amount(machine['axles'][axle], values, cases) for axle in ('front', 'rear'))
    carried = cases.numbers.get('carried', np.zeros(cases.size))
    mass = loads.mass + carried
    moment = loads.moment + carried * loads.radius
    at_rear = (mass * front - moment) / (front - rear)
    axle = cases.label('axle')
    if not set(axle.tolist()) <= {'front', 'rear'}:
        raise SheetError(f'axle: expected front or rear, found {", ".join(sorted(set(axle.tolist())))}')
    return np.where(axle == 'rear', at_rear, mass - at_rear)


KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], Cases], Loads]] = {
    'excavator': slewing,
    'crane': slewing,
    'loader': articulated,
    'forklift': truck,
}
"""Kinds by the value of `kind`."""
