"""Runs to files."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.named import packaged_machines

FORMAT = 'dyn_nodes run 1'


def save_run(run: Any, path: Path) -> Path:
    """Write a run; errors as for `Run.save`."""
    raw, data = run.raw, run.machine.data
    sources = [str(Path(source).resolve()) for source in data.sources]
    named = [name for name, files in packaged_machines().items() if [str(file.resolve()) for file in files] == sources]
    head = {
        'format': FORMAT,
        'machine': {'name': named[0] if named else '', 'sources': sources, 'fingerprint': machine_fingerprint(data)},
        'of_machine': run.machine.conditions._asdict(),
        'conditions': run.conditions._asdict(),
        'actuation': raw.system.actuation,
        'status': raw.status,
        'detail': raw.detail,
        'end_time': raw.end_time,
        'counts': raw.counts,
        'step': raw.step,
        'refined_for': raw.refined_for,
        'events': [asdict(event) for event in raw.events],
        'checks': [check._asdict() for check in raw.checks],
        'inputs': list(raw.inputs.values),
    }
    values = np.array([raw.inputs.values[name] for name in head['inputs']])
    arrays = {'times': raw.times, 'states': raw.states, 'parameters': raw.parameters, 'last': raw.last}
    text = np.array(json.dumps(head, default=_plain))
    with path.open('xb') as file:
        np.savez_compressed(file, head=text, knots=raw.inputs.knots, values=values, **arrays)
    return path


def _plain(value: Any) -> Any:
    """Return a number or array of NumPy as JSON has it."""
    return value.tolist()
