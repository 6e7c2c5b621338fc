"""Prior values of a payload estimator, and their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.monitor.payload_model import PAYLOAD_COLUMNS, PayloadModel

RESTING = 0.6
"""Deviation of the effort that holds a joint at rest, as a fraction of its dry friction: uniform 0.58, always at a
limit 1."""

MARGIN, OVERRIDE = 10.0, 1.1
"""Bounds of line pressures: standard deviations of the sensor, and ratio of the pressure at a relief that passes its
whole flow to its opening pressure."""


@dataclass(frozen=True)
class PayloadSettings:
    """Settings of the payload estimator.

    Deviations are standard deviations; fractions are of the value in the machine file.

    Attributes:
        body_mass: fraction by which each link's mass is uncertain, inertia with it.
        center: of the payload's centre of mass from the mount, along each axis, m.
        friction: fraction by which viscous and dry friction are uncertain.
        seal_friction: dry friction that is not in the machine file, fraction of the actuator's capacity.
        pressure_offset, pressure_noise: of a pressure sensor, Pa: constant, and white in every sample.
        accelerometer_offset: constant, m/s2.
        delay: of the pressures against the motion, constant, s.
        unmodelled: white error of the efforts' mean over a block, fraction of the actuator's capacity.
        momentum_noise: additional error of momentum at the ends of blocks, by delays between the sensors, s of
            `unmodelled`.
        block: length of a block, s.
        gap: between samples after which a block restarts, s.
        drift: of the payload's mass, kg per root of a second.
        resting_drift: additional drift after the joints have rested for `rest_time`, s: a load that grows slowly could
            otherwise be attributed to friction, offsets and masses.
        working: speed of a joint above which it does more than sag under a load that grows, rad/s or m/s.
        forgetting: time constant with which masses, viscous friction, offsets and delay return to their initial
            uncertainty, s.
        friction_forgetting: of dry friction, s.
        slow: speed below which a joint may stick, rad/s or m/s: dry friction has the sign tanh(speed / slow).
        stick_travel: travel of a joint in which the effort of dry friction at rest is renewed, rad or m.
        step_gate: standard deviations above which an innovation shows a step of the load.
        step_window: number of blocks whose innovations are tested together.
        blind_step: a block is blind if even a step of the load by this fraction of the mount's limit would not pass
            `step_gate` within `step_window` blocks like it.
        blind_time: duration of blind blocks, or of no blocks, after which the payload counts as unknown, s.
        fit_gate: standard deviations above which no payload explains the innovations of all rows together.
        doubt_steps, doubt_time: number of steps, or of blocks that no payload explains, within a time, s: pressures and
            motion are inconsistent, and the payload counts as not observed.
        end_room: distance to the limit of a joint (rad, m) or a piston (m) below which a row is not used.
        tolerance: half width of the interval of 95 % as a fraction of the mount's limit, up to which the payload counts
            as observed.
        offsets: prior means that are not zero, by column.
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
        """Return the prior mean of every column; for the payload's mass half of its limit.

        Raises KeyError for an offset of an unknown column.
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
    """Return the dry friction (r,) of the rows' joints from the machine file, N m or N."""
    return np.array([model.machine.joint(name).friction for name in model.rows])


def capacities(model: PayloadModel) -> Array:
    """Return the greatest efforts (r,) of the rows' actuators, by their pumps, in the initial posture, N m or N."""
    machine, efforts = model.machine, []
    for name in model.actuators:
        record = hydraulic(next(actuator for actuator in machine.actuators if actuator.name == name))
        position = machine.initial.joint_positions.get(record.joint, 0.0)
        low, high = actuator_element(record).capacity(position, record.supply.relief_pressure, False)
        efforts.append(max(abs(float(low)), abs(float(high))))
    return np.array(efforts)


def pressure_ranges(model: PayloadModel, settings: PayloadSettings) -> dict[str, tuple[float, float]]:
    """Return by line the least and the greatest possible pressure, by tank and reliefs, Pa."""
    margin = MARGIN * float(np.hypot(settings.pressure_offset, settings.pressure_noise))
    ranges: dict[str, tuple[float, float]] = {}
    for name in model.actuators:
        record = hydraulic(next(actuator for actuator in model.machine.actuators if actuator.name == name))
        supply = record.supply
        most = OVERRIDE * max(supply.relief_pressure, supply.line_relief_pressure) + margin
        ranges |= {f'{name}/{line}': (supply.tank_pressure - margin, most) for line in record.lines}
    return ranges


def deviations(model: PayloadModel, settings: PayloadSettings) -> Deviations:
    """Return the deviations of all columns, and by row of dry friction and of unmodelled efforts."""
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
    # a joint at rest holds any effort up to its dry friction, in both directions
    resting = np.hypot(RESTING * dry, unknown)
    return Deviations(np.concatenate((bodies, *efforts)), unknown, resting, settings.unmodelled * capacity)
