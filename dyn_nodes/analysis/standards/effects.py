"""Effect of each assumed value of a machine file on a result: every value is varied, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from dyn_nodes.analysis.standards.standard import Effect
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.changes import Number, number_at
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import Report
from dyn_nodes.model.yaml_source import read_yaml

SHARE = 0.1
"""Change of a value, and of each component of a vector relative to the length of the vector."""
COUNTS = {'rollers'}
"""Last words of keys whose values are integers."""
SUPPORTS = {'contacts', 'feet', 'wheels'}
"""Sections of a machine YAML with supports."""
IN_MOTION = {
    'bristle_damping',
    'bristle_stiffness',
    'bulk_modulus',
    'bypass_area',
    'bypass_stroke',
    'damping',
    'dead_zone',
    'flow',
    'gain',
    'head_volume',
    'idle_pressure',
    'inlet_gain',
    'kinetic',
    'line_relief_area',
    'line_volume',
    'makeup_area',
    'mass_damping',
    'orifice_coefficient',
    'outlet_gain',
    'overturn_angle',
    'rod_volume',
    'smoothing',
    'spool_limit',
    'sprocket_radius',
    'static',
    'stribeck_exponent',
    'stribeck_speed',
    'time_constant',
    'viscous',
    'voltage_limit',
}
"""Last words of keys whose values have no part in a static equilibrium without sliding."""


def effects_of(
    machine: Machine, evaluate: Callable[[Machine, str], Array], unused: Iterable[str] = ()
) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
    """Return the effects of the assumed values, the greatest first, and the keys without a part in the result.

    Keys with the same last word, value and reason, for example of equal wheels, are changed together.

    Args:
        machine: the machine, loaded from its files.
        evaluate: returns the results (n,) of a changed machine; its second argument is the first changed key.
        unused: further keys, or first words of keys, without a part in the result.
    """
    report = Report('')
    root = read_yaml(Path(machine.sources[1]), report) if len(machine.sources) > 1 else None
    if root is None:
        return (), tuple(machine.assumed)
    idle = tuple(unused)
    groups: dict[tuple[str, str, str], list[str]] = {}
    unaffected = []
    for key, reason in machine.assumed.items():
        value = number_at(root, key)
        if value is None or key.split('.')[-1] in IN_MOTION or any(f'{key}.'.startswith(f'{part}.') for part in idle):
            unaffected.append(key)
        else:
            groups.setdefault((key.split('.')[-1], _text(value), reason), []).append(key)
    nominal, effects = evaluate(machine, ''), []
    for (_, text, reason), keys in groups.items():
        value = number_at(root, keys[0])
        assert value is not None
        change, varied = _variations(value, keys[0])
        changes = [_relative(machine, keys, other, nominal, evaluate) for other in varied]
        least, greatest = np.min(changes), np.max(changes)  # NaN if one is
        if least == 0.0 and greatest == 0.0:
            unaffected += keys
        else:
            effects.append(Effect(tuple(keys), text, reason, change, float(least), float(greatest)))
    effects.sort(key=lambda effect: -max(abs(effect.least), abs(effect.greatest)))
    return tuple(effects), tuple(unaffected)


def _text(value: Number) -> str:
    return f'[{", ".join(f"{part:g}" for part in value)}]' if not isinstance(value, float) else f'{value:g}'


def _variations(value: Number, key: str) -> tuple[str, list[Number]]:
    """Return the description of a change and the changed values: up and down, each component of a vector.

    Of the position of a support only x and y are changed: supports of different heights would not all stand.
    """
    if isinstance(value, float):
        if value == 0.0:
            return '± 0.1', [SHARE, -SHARE]
        if key.split('.')[-1] in COUNTS:
            return '± 1', [value - 1.0, value + 1.0]
        return f'± {100.0 * SHARE:g} %', [(1.0 - SHARE) * value, (1.0 + SHARE) * value]
    step = SHARE * float(np.linalg.norm(value)) or SHARE
    varied: list[Number] = []
    level = key.split('.')[0] in SUPPORTS and key.endswith('.position')
    for k in range(2 if level else len(value)):
        for side in (-step, step):
            varied.append([part + side if k == j else part for j, part in enumerate(value)])
    return f'{"x and y" if level else "each component"} ± {step:.3g}', varied


def _relative(
    machine: Machine, keys: list[str], value: Number, nominal: Array, evaluate: Callable[[Machine, str], Array]
) -> tuple[float, float]:
    """Return the least and greatest relative change of the results; NaN if the machine file does not allow a value."""
    try:
        changed = load_machine(machine.sources[0], machine.sources[1], dict.fromkeys(keys, value))
        result = evaluate(changed, keys[0])
    except (UserError, ValueError):
        return np.nan, np.nan
    usable = np.isfinite(nominal) & np.isfinite(result) & (nominal > 0.0)
    change = result[usable] / nominal[usable] - 1.0
    change = np.where(np.abs(change) < 1e-6, 0.0, change)
    return float(change.min(initial=0.0)), float(change.max(initial=0.0))
