"""A fit as JSON, and its plots."""

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
    """Return everything as plain data; numbers that are not known are null."""
    return {
        'machine': fit.machine.name,
        'log': fit.log,
        'payload': fit.payload,
        'assumed': plain(fit.assumed),
        'used': list(fit.used),
        'held_out': None if fit.held is None else list(fit.held),
        'valves': {name: _valve(own) for name, own in fit.valves.items()},
        'mechanics': None if fit.mechanics is None else _mechanics(fit),
        'validation': None
        if fit.validation is None
        else {name: asdict(own) for name, own in fit.validation.joints.items()},
        'warnings': list(fit.warnings),
        'failures': list(fit.failures),
        'yaml': yaml_lines(fit),
        'urdf': urdf_lines(fit),
        'offsets': offset_lines(fit),
    }


def _quantity(one: Quantity, seen: bool) -> dict[str, Any]:
    return {'value': one.value, 'half_width': one.half_width, 'before': one.before, 'seen': bool(seen)}


def _valve(own: ValveFit) -> dict[str, Any]:
    result = {}
    for k, key in enumerate(PARAMETERS):
        one = Quantity(float(own.values[k]), float(own.half_widths[k]), float(own.before[k]))
        sensor = key in SENSORS or key == 'joint_offset'
        result[key] = _quantity(one, not sensor and is_seen(key.partition('.')[0], one))
    for key, one in valve_quantities(own).items():
        if key in SHARED:
            result[key] = _quantity(one, is_seen(key, one))
    return {'numbers': result, 'rest': own.rest, 'flow': own.moved, 'windows': own.windows}


def _mechanics(fit: MachineFit) -> dict[str, Any]:
    own = fit.mechanics
    assert own is not None
    combinations = []
    for k, one in enumerate(own.combinations):
        seen = one.half_width < SEEN_COMBINATION * own.base.scales[k]
        combinations.append({'of': own.base.text(k), **_quantity(one, seen)})
    return {
        'combinations': combinations,
        'never_seen': list(own.base.hidden),
        'only_combined': list(own.base.only_combined),
        'viscous': {name: _quantity(one, is_seen('viscous', one)) for name, one in own.viscous.items()},
        'dry': {name: _quantity(one, dry_is_seen(fit, name)) for name, one in own.dry.items()},
        'offsets': {name: _quantity(one, one.half_width < abs(one.value)) for name, one in own.offsets.items()},
        'sensors': {name: _quantity(one, one.half_width < abs(one.value)) for name, one in own.sensors.items()},
        'effort_left': own.rest,
        'effort': own.moved,
        'windows': own.windows,
        'moved_to_a_rigid_body': list(own.kept),
    }


def write_fit(fit: MachineFit, directory: Path) -> list[Path]:
    """Write `FILES` to a directory, which is made; return what was written."""
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
