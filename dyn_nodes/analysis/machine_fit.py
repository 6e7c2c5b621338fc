"""A whole machine from a log: valves and oil, friction, inertial parameters, joint offsets; checked on another part.

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
"""Part of the log, at its end, that the fit does not see."""
SEEN = 0.2
"""A number whose interval is wider than this part of it on either side is not seen."""
SEEN_COMBINATION = 0.1
"""The same of a combination of inertial parameters, as a part of its natural size."""
DIRECTIONS_DIFFER = 3.0
"""Standard errors between both directions of a valve beyond which one number is wrong for both."""
SHARED = ('dead_zone', 'inlet_gain', 'outlet_gain')
PLACES = {
    'bypass_area': 'valve',
    'bypass_stroke': 'valve',
    'dead_time': 'valve',
    'time_constant': 'valve',
    'flow': 'supply',
    'bulk_modulus': 'supply',
    'leakage': '',
} | dict.fromkeys(SHARED, 'valve')
SMALL = {'dead_time': 0.01, 'leakage': 1e-12, 'dead_zone': 2e-5}
"""Numbers that may be 0: they are seen where their interval is narrower than this on either side, in their unit."""


@dataclass(frozen=True, eq=False)
class MachineFit:
    """Result.

    Attributes:
        machine: with its first guesses.
        log: name of the log.
        payload: kg in the implement.
        used, held: (start, end) of the parts of the log, s.
        valves: by actuator.
        mechanics: None where the log does not allow it.
        validation: on the part that was not used; None where there is none.
        failures: what could not be fitted, a line each.
        assumed: conditions that were not given.
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
        """What to know before using the numbers."""
        found = [text for fit in self.valves.values() for text in direction_warnings(fit)]
        if self.mechanics is not None and self.mechanics.kept:
            bodies = ', '.join(self.mechanics.kept)
            found.append(f'the inertial parameters below {bodies} are moved to the nearest ones of a rigid body')
        return tuple(found)


def fit_machine(
    machine: Machine,
    log: MachineLog,
    payload: float | None = None,
    part: tuple[float, float] | None = None,
    held: tuple[float, float] | None = None,
) -> MachineFit:
    """Fit a machine to a log.

    Args:
        machine: gives geometry and first guesses.
        log: of it.
        payload: kg in the implement; None: that of the machine.
        part: (start, end) to use, s; None: all but the part that is held out.
        held: (start, end) for the validation, s; None: the last quarter of the log, or nothing where `part` is given.

    Raises:
        LogError: a part that the log does not have.
    """
    assumed = payload_of(machine, '--payload') if payload is None else ()
    mass = payload if payload is not None else (machine.payload.mass if machine.payload is not None else 0.0)
    start, end = log.span
    if part is None:
        split = end - HELD_OUT * (end - start) if held is None else held[0]
        part, held = (start, split), held or (split, end)
    for first, last in [part, *([held] if held else [])]:
        if not first < last:
            raise LogError(f'{log.name}: expected a part that begins before it ends, found {first:g} to {last:g} s')
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
    found = {}
    for name in log.actuators:
        actuator = hydraulic(machine.actuator(name))
        if machine.pump_of(name) is not None:
            failures.append(f'{name}: fed by a shared pump, whose flow to this valve is not measured')
            continue
        zero = (0.0, OFFSET_DOUBT)
        if mechanics is not None:
            zero = mechanics.offsets[actuator.joint].value, mechanics.offsets[actuator.joint].error
        try:
            found[name] = fit_valve(actuator, log, *zero)
        except ValveFitError as error:
            failures.append(str(error))
    return found


# -- numbers of the machine files ------------------------------------------------------------------------------------


def valve_quantities(fit: ValveFit) -> dict[str, Quantity]:
    """Return the numbers by key of the machine YAML; of the two directions their mean, weighted by what is known."""
    by_name = {name: k for k, name in enumerate(PARAMETERS)}
    result = {}
    for key in PLACES:
        if key in SHARED:
            places = [by_name[f'{key}.forward'], by_name[f'{key}.reverse']]
            values, half, errors = fit.values[places], fit.half_widths[places], np.maximum(fit.errors[places], 1e-300)
            weights = errors**-2 / np.sum(errors**-2)
            value, width = float(weights @ values), float(np.sqrt(np.sum((weights * half) ** 2)))
            result[key] = Quantity(value, width, float(fit.before[places[0]]))
        else:
            k = by_name[key]
            result[key] = Quantity(float(fit.values[k]), float(fit.half_widths[k]), float(fit.before[k]))
    return result


def is_seen(key: str, quantity: Quantity) -> bool:
    """Return whether the log shows a number: its interval is narrow."""
    return quantity.half_width <= max(SEEN * abs(quantity.value), SMALL.get(key, 0.0))


def direction_warnings(fit: ValveFit) -> list[str]:
    """Return a line for every number that differs between the directions of a valve."""
    found = []
    for key in SHARED:
        a, b = PARAMETERS.index(f'{key}.forward'), PARAMETERS.index(f'{key}.reverse')
        apart = abs(fit.values[a] - fit.values[b])
        if apart > DIRECTIONS_DIFFER * np.hypot(fit.errors[a], fit.errors[b]) and apart > 0.05 * abs(fit.values[a]):
            found.append(
                f'{fit.actuator}: {key} is {fit.values[a]:.4g} forward and {fit.values[b]:.4g} in reverse; '
                'the machine YAML has one number for both'
            )
    return found


def fitted_machine(fit: MachineFit) -> Machine:
    """Return the machine with all numbers of the fit that are seen; links stay as they are."""
    machine = fit.machine
    actuators = tuple(_fitted_actuator(fit, own) for own in machine.actuators)
    friction: dict[str, float] = {}
    if fit.mechanics is not None:
        friction = {name: max(own.value, 0.0) for name, own in fit.mechanics.dry.items() if dry_is_seen(fit, name)}
    joints = tuple(replace(own, friction=friction.get(own.name, own.friction)) for own in machine.joints)
    return replace(machine, actuators=actuators, joints=joints)


def dry_is_seen(fit: MachineFit, joint: str) -> bool:
    """Return whether the log shows the dry friction of a joint to a fifth of it or a hundredth of the efforts there."""
    assert fit.mechanics is not None
    own = fit.mechanics.dry[joint]
    return own.half_width <= max(SEEN * abs(own.value), 0.01 * fit.mechanics.moved[joint])


def _fitted_actuator(fit: MachineFit, own: Any) -> Any:
    if own.name in fit.valves:
        numbers = {key: one for key, one in valve_quantities(fit.valves[own.name]).items() if is_seen(key, one)}
        changes: dict[str, dict[str, float]] = {'valve': {}, 'supply': {}, '': {}}
        for key, one in numbers.items():
            changes[PLACES[key]][key] = max(one.value, 0.0)
        valve, supply = replace(own.valve, **changes['valve']), replace(own.supply, **changes['supply'])
        own = replace(own, valve=valve, supply=supply, **changes[''])
    if fit.mechanics is not None and own.name in fit.mechanics.viscous:
        viscous = fit.mechanics.viscous[own.name]
        if is_seen('viscous', viscous):
            own = replace(own, viscous=max(viscous.value, 0.0))
    return own


def numbers_of(fit: MachineFit) -> JointNumbers:
    """Return the numbers of a fit for a simulation of its joints."""
    assert fit.mechanics is not None
    gains = {}
    for name, own in fit.valves.items():
        keys = [f'{key}.{way}' for key in SHARED for way in ('forward', 'reverse')]
        gains[name] = {key: float(own.values[PARAMETERS.index(key)]) for key in keys}
    offsets = {name: own.value for name, own in fit.mechanics.offsets.items()}
    return JointNumbers(fitted_machine(fit), fit.mechanics.parameters, gains, offsets, fit.payload)


__all__ = [
    'MachineFit',
    'fit_machine',
    'fitted_machine',
    'is_seen',
    'numbers_of',
    'valve_quantities',
]
