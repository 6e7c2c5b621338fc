"""What a payload estimator takes for known, and how well it knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.monitor.payload_model import PAYLOAD_COLUMNS, PayloadModel

RESTING = 0.6
"""Deviation of what a joint at rest holds, as a part of its dry friction: even chances give 0.58, either end 1."""

MARGIN, OVERRIDE = 10.0, 1.1
"""Of pressures that a line may have: standard deviations of its sensor, and pressure at a relief that passes its whole
flow over that at which it opens."""


@dataclass(frozen=True)
class PayloadSettings:
    """Deviations are standard deviations; parts are of the value in the machine file.

    Attributes:
        body_mass: part by which each link's mass is uncertain, inertia with it.
        center: of the payload's centre of mass from the mount, along each axis, m.
        friction: part by which viscous and dry friction are uncertain.
        seal_friction: dry friction that the machine file does not have, part of the actuator's capacity.
        pressure_offset, pressure_noise: of a pressure sensor, Pa: constant, and white in every sample.
        accelerometer_offset: constant, m/s2.
        delay: of the pressures against the motion, constant, s.
        unmodelled: white error of the efforts' mean over a block, part of the actuator's capacity.
        momentum_noise: error of momentum at the ends of blocks beside that of the speeds, s of `unmodelled`: delays
            between the sensors.
        block: length of a block, s.
        gap: between samples after which a block begins anew, s.
        drift: of the payload's mass, kg per root of a second.
        resting_drift: of it, more, after the joints have rested for `rest_time`, s: friction, offsets and masses could
            take a load that grows slowly for theirs.
        working: speed of a joint beyond which it does more than sag under a load that grows, rad/s or m/s.
        forgetting: time in which masses, viscous friction, offsets and delay become as unknown as at first, s.
        friction_forgetting: of dry friction, s.
        slow: speed below which a joint may stick, rad/s or m/s: dry friction has the sign tanh(speed / slow).
        stick_travel: of a joint in which the effort of dry friction at rest is renewed, rad or m.
        step_gate: standard deviations from which on an innovation shows a step of the load.
        step_window: blocks whose innovations are judged together.
        blind_step: a block is blind where even a step of the load by this part of the mount's limit would not pass
            `step_gate` within `step_window` blocks like it.
        blind_time: of blind blocks, or of none, after which the payload counts as unknown, s.
        fit_gate: standard deviations from which on no payload explains the innovations of all rows together.
        doubt_steps, doubt_time: so many steps, or blocks that no payload explains, within so many seconds: pressures
            and motion do not fit, and the payload counts as not observed.
        end_room: of a joint (rad, m) or a piston (m): closer to its end a row is not used.
        tolerance: half width of the interval of 95 % as a part of the mount's limit, up to which the payload counts as
            observed.
        offsets: by column, where the mean of what is known beforehand is not zero.
    """

    body_mass: float = 0.03
    center: float = 0.03
    friction: float = 0.2
    seal_friction: float = 2e-3
    pressure_offset: float = 4e4
    pressure_noise: float = 5e4
    accelerometer_offset: float = 0.02
    delay: float = 0.01
    unmodelled: float = 5e-4
    momentum_noise: float = 0.02
    block: float = 0.1
    gap: float = 0.1
    drift: float = 1.0
    resting_drift: float = 100.0
    rest_time: float = 1.0
    working: float = 0.003
    forgetting: float = 300.0
    friction_forgetting: float = 50.0
    slow: float = 1e-3
    stick_travel: float = 1e-3
    step_gate: float = 6.0
    step_window: int = 4
    blind_step: float = 0.1
    blind_time: float = 0.3
    fit_gate: float = 6.5
    doubt_steps: int = 3
    doubt_time: float = 3.0
    end_room: float = 0.01
    tolerance: float = 0.05
    offsets: dict[str, float] = field(default_factory=dict)

    def means(self, model: PayloadModel, limit: float) -> Array:
        """Return the mean of every column before anything is measured; of the payload's mass half of its limit.

        Raises KeyError for an offset of a column that the model does not have.
        """
        result = np.zeros(len(model.columns))
        result[0] = 0.5 * limit
        for name, value in self.offsets.items():
            if name not in model.columns:
                raise KeyError(f'{name!r}: expected one of {", ".join(model.columns)}')
            result[model.columns.index(name)] = value
        return result


class Deviations(NamedTuple):
    """Standard deviations.

    Attributes:
        columns: of all columns of the model.
        dry: (r,) of dry friction in motion, N m or N.
        resting: (r,) of dry friction at rest.
        unmodelled: (r,) white, of the mean over a block.
    """

    columns: Array
    dry: Array
    resting: Array
    unmodelled: Array


def dry_friction(model: PayloadModel) -> Array:
    """Return the dry friction (r,) of the rows' joints, as the machine file has it, N m or N."""
    return np.array([model.machine.joint(name).friction for name in model.rows])


def capacities(model: PayloadModel) -> Array:
    """Return the greatest efforts (r,) of the rows' actuators, by their pumps, where the machine starts, N m or N."""
    machine, found = model.machine, []
    for name in model.actuators:
        record = hydraulic(next(own for own in machine.actuators if own.name == name))
        position = machine.initial.joint_positions.get(record.joint, 0.0)
        low, high = actuator_element(record).capacity(position, record.supply.relief_pressure, False)
        found.append(max(abs(float(low)), abs(float(high))))
    return np.array(found)


def pressure_ranges(model: PayloadModel, settings: PayloadSettings) -> dict[str, tuple[float, float]]:
    """Return by line the least and the greatest pressure that it may have by tank and reliefs, Pa."""
    margin = MARGIN * float(np.hypot(settings.pressure_offset, settings.pressure_noise))
    found: dict[str, tuple[float, float]] = {}
    for name in model.actuators:
        record = hydraulic(next(own for own in model.machine.actuators if own.name == name))
        supply = record.supply
        most = OVERRIDE * max(supply.relief_pressure, supply.line_relief_pressure) + margin
        found |= {f'{name}/{line}': (supply.tank_pressure - margin, most) for line in record.lines}
    return found


def deviations(model: PayloadModel, settings: PayloadSettings) -> Deviations:
    """Return the deviations of all columns, and by row those of dry friction and of what is not modelled."""
    capacity, dry = capacities(model), dry_friction(model)
    unknown = np.hypot(settings.friction * dry, settings.seal_friction * capacity)
    payload = model.machine.payload
    assert payload is not None
    bodies = np.full(len(model.body_columns), settings.body_mass)
    bodies[0] = payload.limit
    bodies[1:PAYLOAD_COLUMNS] = settings.center
    efforts = (
        np.full(len(model.rows), settings.friction),
        np.full(len(model.lines), settings.pressure_offset),
        np.full(3, settings.accelerometer_offset),
    )
    # a joint that stands holds anything up to its dry friction, either way
    resting = np.hypot(RESTING * dry, unknown)
    return Deviations(np.concatenate((bodies, *efforts)), unknown, resting, settings.unmodelled * capacity)
