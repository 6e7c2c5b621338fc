"""Files of a fit: JSON, lines and plots."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from dyn_nodes.analysis.fit_lines import offset_lines, urdf_lines, yaml_lines
from dyn_nodes.analysis.fit_plots import plot_gain_curves, plot_speeds
from dyn_nodes.analysis.machine_fit import (
    SEEN_COMBINATION,
    SHARED,
    MachineFit,
    dry_is_seen,
    is_seen,
    valve_quantities,
)
from dyn_nodes.analysis.mechanics_fit import Quantity
from dyn_nodes.analysis.valve_fit import PARAMETERS, SENSORS, ValveFit
from dyn_nodes.common.json_text import json_text
from dyn_nodes.model.assumptions import plain

FILES = ('fit.json', 'lines.yaml', 'lines.urdf', 'offsets.yaml', 'speeds.png', 'gain_curves.png')


def as_json(fit: MachineFit) -> dict[str, Any]:
    """Return the fit as plain data; unknown numbers are None."""
    return {
        'machine': fit.machine.name,
        'log': fit.log,
        'payload': fit.payload,
        'assumed': plain(fit.assumed),
        'used': list(fit.used),
        'held_out': None if fit.held is None else list(fit.held),
        'valves': {name: _valve(valve) for name, valve in fit.valves.items()},
        'mechanics': None if fit.mechanics is None else _mechanics(fit),
        'validation': None
        if fit.validation is None
        else {name: asdict(speeds) for name, speeds in fit.validation.joints.items()},
        'warnings': list(fit.warnings),
        'failures': list(fit.failures),
        'yaml': yaml_lines(fit),
        'urdf': urdf_lines(fit),
        'offsets': offset_lines(fit),
    }


def _quantity(quantity: Quantity, seen: bool) -> dict[str, Any]:
    return {'value': quantity.value, 'half_width': quantity.half_width, 'before': quantity.before, 'seen': bool(seen)}


def _valve(fit: ValveFit) -> dict[str, Any]:
    result = {}
    for k, key in enumerate(PARAMETERS):
        quantity = Quantity(float(fit.values[k]), float(fit.half_widths[k]), float(fit.before[k]))
        sensor = key in SENSORS or key == 'joint_offset'
        result[key] = _quantity(quantity, not sensor and is_seen(key.partition('.')[0], quantity))
    for key, quantity in valve_quantities(fit).items():
        if key in SHARED:
            result[key] = _quantity(quantity, is_seen(key, quantity))
    return {'numbers': result, 'rest': fit.rest, 'flow': fit.moved, 'windows': fit.windows}


def _mechanics(fit: MachineFit) -> dict[str, Any]:
    fitted = fit.mechanics
    assert fitted is not None
    combinations = []
    for k, combination in enumerate(fitted.combinations):
        seen = combination.half_width < SEEN_COMBINATION * fitted.base.scales[k]
        combinations.append({'of': fitted.base.text(k), **_quantity(combination, seen)})
    return {
        'combinations': combinations,
        'never_seen': list(fitted.base.hidden),
        'only_combined': list(fitted.base.only_combined),
        'viscous': {
            name: _quantity(quantity, is_seen('viscous', quantity)) for name, quantity in fitted.viscous.items()
        },
        'dry': {name: _quantity(quantity, dry_is_seen(fit, name)) for name, quantity in fitted.dry.items()},
        'offsets': {
            name: _quantity(quantity, quantity.half_width < abs(quantity.value))
            for name, quantity in fitted.offsets.items()
        },
        'sensors': {
            name: _quantity(quantity, quantity.half_width < abs(quantity.value))
            for name, quantity in fitted.sensors.items()
        },
        'effort_left': fitted.rest,
        'effort': fitted.moved,
        'windows': fitted.windows,
        'moved_to_a_rigid_body': list(fitted.kept),
    }


def write_fit(fit: MachineFit, directory: Path) -> list[Path]:
    """Write `FILES` to a directory, which is created if needed; return the written paths."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        'fit.json': json_text(as_json(fit)),
        'lines.yaml': yaml_lines(fit),
        'lines.urdf': urdf_lines(fit),
        'offsets.yaml': offset_lines(fit),
    }
    written = []
    for name, text in texts.items():
        if text:
            (directory / name).write_text(text + '\n')
            written.append(directory / name)
    if fit.validation is not None:
        plot_speeds(fit, directory / 'speeds.png')
        written.append(directory / 'speeds.png')
    if fit.valves:
        plot_gain_curves(fit, directory / 'gain_curves.png')
        written.append(directory / 'gain_curves.png')
    return written
