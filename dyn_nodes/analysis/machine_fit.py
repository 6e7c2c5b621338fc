"""Fit of a whole machine to a log: valves and oil, friction, inertial parameters, joint offsets, with a validation.

fit = fit_machine(machine, log)
print(yaml_lines(fit))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyn_nodes.analysis.joint_simulation import JointNumbers
from dyn_nodes.analysis.machine_log import LogError, MachineLog
from dyn_nodes.analysis.mechanics_fit import MechanicsError, MechanicsFit, Quantity, fit_mechanics
from dyn_nodes.analysis.validation import Validation, validate
from dyn_nodes.analysis.valve_fit import OFFSET_DOUBT, PARAMETERS, ValveFit, ValveFitError, fit_valve
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.assumptions import Assumption, payload_of
from dyn_nodes.model.machine import Machine

HELD_OUT = 0.25
"""Part of the log, at its end, that the fit does not use."""
SEEN = 0.2
"""Greatest half width of the interval of an identified value, as a part of the value."""
SEEN_COMBINATION = 0.1
"""Greatest half width for a combination of inertial parameters, as a part of its typical size."""
DIRECTIONS_DIFFER = 3.0
"""Difference between both directions of a valve, in standard errors, above which one common value is wrong."""
SHARED = ('dead_zone', 'inlet_gain', 'outlet_gain')
SECTIONS = {
    'bypass_area': 'valve',
    'bypass_stroke': 'valve',
    'dead_time': 'valve',
    'time_constant': 'valve',
    'flow': 'supply',
    'bulk_modulus': 'supply',
    'leakage': '',
} | dict.fromkeys(SHARED, 'valve')
SMALL = {'dead_time': 0.01, 'leakage': 1e-12, 'dead_zone': 2e-5}
"""Half widths, in the unit of the value, at which values that may be 0 count as identified."""


@dataclass(frozen=True, eq=False)
class MachineFit:
    """Result of `fit_machine`.

    Attributes:
        machine: machine with the initial guesses.
        log: name of the log.
        payload: kg in the implement.
        used, held: (start, end) of the parts of the log, s.
        valves: fits by actuator.
        mechanics: fit of the joints; None if the log does not permit it.
        validation: validation on the held-out part, or None.
        failures: reasons of parts that could not be fitted, one line each.
        assumed: conditions that were assumed.
    """

    machine: Machine
    log: str
    payload: float
    used: tuple[float, float]
    held: tuple[float, float] | None
    valves: dict[str, ValveFit]
    mechanics: MechanicsFit | None
    validation: Validation | None
    failures: tuple[str, ...]
    assumed: tuple[Assumption, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Cautions for the use of the values."""
        warnings = [text for fit in self.valves.values() for text in direction_warnings(fit)]
        if self.mechanics is not None and self.mechanics.kept:
            bodies = ', '.join(self.mechanics.kept)
            warnings.append(f'the inertial parameters below {bodies} are changed to the nearest ones of a rigid body')
        return tuple(warnings)


def fit_machine(
    machine: Machine,
    log: MachineLog,
    payload: float | None = None,
    part: tuple[float, float] | None = None,
    held: tuple[float, float] | None = None,
) -> MachineFit:
    """Return the fit of a machine to a log.

    Args:
        machine: machine with geometry and initial guesses.
        log: log of the machine.
        payload: kg in the implement; None: payload of the machine.
        part: (start, end) to use, s; None: all except the held-out part.
        held: (start, end) for the validation, s; None: the last quarter of the log, or no validation if `part` is
            specified.

    Raises:
        LogError: a part outside the log.
    """
    assumed = payload_of(machine, '--payload') if payload is None else ()
    mass = payload if payload is not None else (machine.payload.mass if machine.payload is not None else 0.0)
    start, end = log.span
    if part is None:
        split = end - HELD_OUT * (end - start) if held is None else held[0]
        part, held = (start, split), held or (split, end)
    for first, last in [part, *([held] if held else [])]:
        if not first < last:
            raise LogError(f'{log.name}: expected a part that starts before its end, found {first:g} to {last:g} s')
    used = log.between(*part)
    failures: list[str] = []
    try:
        mechanics = fit_mechanics(machine, used, mass)
    except MechanicsError as error:
        mechanics = None
        failures.append(str(error))
    valves = _valves(machine, used, mechanics, failures)
    fit = MachineFit(machine, log.name, mass, part, held, valves, mechanics, None, tuple(failures), assumed)
    if held is None or mechanics is None or len(valves) < len(log.actuators):
        return fit
    return replace(fit, validation=validate(numbers_of(fit), log.between(part[0], end), *held))


def _valves(
    machine: Machine, log: MachineLog, mechanics: MechanicsFit | None, failures: list[str]
) -> dict[str, ValveFit]:
    fits = {}
    for name in log.actuators:
        actuator = hydraulic(machine.actuator(name))
        if machine.pump_of(name) is not None:
            failures.append(f'{name}: fed by a shared pump, whose flow to this valve is not measured')
            continue
        zero = (0.0, OFFSET_DOUBT)
        if mechanics is not None:
            zero = mechanics.offsets[actuator.joint].value, mechanics.offsets[actuator.joint].error
        try:
            fits[name] = fit_valve(actuator, log, *zero)
        except ValveFitError as error:
            failures.append(str(error))
    return fits


# -- numbers of the machine files ------------------------------------------------------------------------------------


def valve_quantities(fit: ValveFit) -> dict[str, Quantity]:
    """Return the values by key of the machine YAML; for two directions their mean, weighted by their errors."""
    by_name = {name: k for k, name in enumerate(PARAMETERS)}
    result = {}
    for key in SECTIONS:
        if key in SHARED:
            indices = [by_name[f'{key}.forward'], by_name[f'{key}.reverse']]
            values, half, errors = (
                fit.values[indices],
                fit.half_widths[indices],
                np.maximum(fit.errors[indices], 1e-300),
            )
            weights = errors**-2 / np.sum(errors**-2)
            value, width = float(weights @ values), float(np.sqrt(np.sum((weights * half) ** 2)))
            result[key] = Quantity(value, width, float(fit.before[indices[0]]))
        else:
            k = by_name[key]
            result[key] = Quantity(float(fit.values[k]), float(fit.half_widths[k]), float(fit.before[k]))
    return result


def is_seen(key: str, quantity: Quantity) -> bool:
    """Return whether the log identifies a value: its interval is narrow."""
    return quantity.half_width <= max(SEEN * abs(quantity.value), SMALL.get(key, 0.0))


def direction_warnings(fit: ValveFit) -> list[str]:
    """Return a line for every value that differs between the directions of a valve."""
    warnings = []
    for key in SHARED:
        a, b = PARAMETERS.index(f'{key}.forward'), PARAMETERS.index(f'{key}.reverse')
        apart = abs(fit.values[a] - fit.values[b])
        if apart > DIRECTIONS_DIFFER * np.hypot(fit.errors[a], fit.errors[b]) and apart > 0.05 * abs(fit.values[a]):
            warnings.append(
                f'{fit.actuator}: {key} is {fit.values[a]:.4g} forward and {fit.values[b]:.4g} in reverse; '
                'the machine YAML has one number for both'
            )
    return warnings


def fitted_machine(fit: MachineFit) -> Machine:
    """Return the machine with all identified values of the fit; links are unchanged."""
    machine = fit.machine
    actuators = tuple(_fitted_actuator(fit, actuator) for actuator in machine.actuators)
    friction: dict[str, float] = {}
    if fit.mechanics is not None:
        friction = {name: max(dry.value, 0.0) for name, dry in fit.mechanics.dry.items() if dry_is_seen(fit, name)}
    joints = tuple(replace(joint, friction=friction.get(joint.name, joint.friction)) for joint in machine.joints)
    return replace(machine, actuators=actuators, joints=joints)


def dry_is_seen(fit: MachineFit, joint: str) -> bool:
    """Return whether the dry friction of a joint is identified to a fifth of it or a hundredth of the efforts."""
    assert fit.mechanics is not None
    dry = fit.mechanics.dry[joint]
    return dry.half_width <= max(SEEN * abs(dry.value), 0.01 * fit.mechanics.moved[joint])


def _fitted_actuator(fit: MachineFit, actuator: Any) -> Any:
    if actuator.name in fit.valves:
        numbers = {
            key: quantity
            for key, quantity in valve_quantities(fit.valves[actuator.name]).items()
            if is_seen(key, quantity)
        }
        changes: dict[str, dict[str, float]] = {'valve': {}, 'supply': {}, '': {}}
        for key, quantity in numbers.items():
            changes[SECTIONS[key]][key] = max(quantity.value, 0.0)
        valve, supply = replace(actuator.valve, **changes['valve']), replace(actuator.supply, **changes['supply'])
        actuator = replace(actuator, valve=valve, supply=supply, **changes[''])
    if fit.mechanics is not None and actuator.name in fit.mechanics.viscous:
        viscous = fit.mechanics.viscous[actuator.name]
        if is_seen('viscous', viscous):
            actuator = replace(actuator, viscous=max(viscous.value, 0.0))
    return actuator


def numbers_of(fit: MachineFit) -> JointNumbers:
    """Return the parameters of a fit for a simulation of its joints."""
    assert fit.mechanics is not None
    gains = {}
    for name, valve in fit.valves.items():
        keys = [f'{key}.{way}' for key in SHARED for way in ('forward', 'reverse')]
        gains[name] = {key: float(valve.values[PARAMETERS.index(key)]) for key in keys}
    offsets = {name: offset.value for name, offset in fit.mechanics.offsets.items()}
    return JointNumbers(fitted_machine(fit), fit.mechanics.parameters, gains, offsets, fit.payload)


__all__ = [
    'MachineFit',
    'fit_machine',
    'fitted_machine',
    'is_seen',
    'numbers_of',
    'valve_quantities',
]
