"""Runs and bags from files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.library.carried import Conditions
from dyn_nodes.library.named import load
from dyn_nodes.library.notice import shown
from dyn_nodes.library.run import Run
from dyn_nodes.library.saved import FORMAT
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.simulation import Settings
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.checks import Check
from dyn_nodes.simulation.run import SystemRun

if TYPE_CHECKING:
    from dyn_nodes.analysis.bag_reading import BagData
    from dyn_nodes.library.machine import Machine


def read_run(path: str | Path, machine: Machine | None = None) -> Run:
    """Read a run that `Run.save` has written.

    Args:
        path: of the file.
        machine: that was simulated; None: loaded from the files of that time, or by its name.

    Returns:
        The run, with every bit of its states.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no run, or a machine whose numbers differ from the machine of the run.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
            head = json.loads(str(arrays.pop('head')))
        if head['format'] != FORMAT:
            raise ValueError(head['format'])
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f'{path}: expected a run of Run.save, found {type(error).__name__}: {error}') from None
    asked, found = head['machine'], _machine_of(head) if machine is None else machine
    if machine_fingerprint(found.data) != asked['fingerprint']:
        raise ValueError(
            f'{path}: machine: expected the numbers with which {asked["name"] or asked["sources"][0]} was simulated, '
            f'found others in {", ".join(found.data.sources)}'
        )
    system: Any = found.system(head['actuation'] == 'effort')
    inputs = Inputs(arrays['knots'], dict(zip(head['inputs'], arrays['values'])))
    states, p, solver = arrays['states'], arrays['parameters'], None
    if system.constraints:
        u = inputs.aligned(system.input_names, system.delays)[1][0]
        with shown('runs'):
            solver = system.solver_from(states[0], u, p, Settings())
    raw = SystemRun(
        system,
        arrays['times'],
        states,
        inputs,
        p,
        head['status'],
        arrays['last'],
        head['end_time'],
        head['counts'],
        [Event(**event) for event in head['events']],
        head['detail'],
        solver,
        head['step'],
        head['refined_for'],
        tuple(Check(**check) for check in head['checks']),
    )
    return Run(found, raw, _conditions(head['conditions']))


def _machine_of(head: dict[str, Any]) -> Machine:
    """Return the machine of a run. Raises ValueError for missing files."""
    asked, conditions = head['machine'], _conditions(head['of_machine'])
    files = (asked['name'],) if asked['name'] else asked['sources']
    return load(*files, payload=conditions.payload, slope=conditions.slope, changes=conditions.changes or None)


def _conditions(content: dict[str, Any]) -> Conditions:
    roll, pitch = content['slope']
    return Conditions(content['payload'], (roll, pitch), content['changes'])


def read_bag(path: str | Path, namespace: str | None = None) -> BagData:
    """Read a bag of the nodes or of `Run.save_bag` as columns of numbers, one table per topic.

    Args:
        path: rosbag2 directory, or one MCAP or sqlite3 file.
        namespace: of the machine's topics; None: namespace of the only `odom` or `joint_states`.

    Returns:
        The tables: `bag.table('joint_states')['boom_joint/position']`, `bag.table('odom').time`.

    Raises:
        ValueError: no bag, a damaged or empty bag, or several machines without `namespace`.
    """
    from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag

    try:
        return read_bag(path, namespace=namespace)
    except BagReadingError as error:
        raise ValueError(str(error)) from None
