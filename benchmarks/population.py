"""Errors and times of drawn manoeuvres by accuracy, by default and with equal steps: `python -m benchmarks.population`.

A manoeuvre is voltages of all valves, or efforts of all driven joints near those that hold them, piecewise linear with
rests, and a drawn payload. Errors are greatest differences of positions from a run with a thousandth of the accuracy.
Times are wall times, each the least of three.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import Any

import numpy as np

import dyn_nodes as dn

MACHINES = ('log_loader', 'telehandler', 'forwarder', 'excavator', 'log_loader_linkage')
ACCURACY, EQUAL = 1e-4, 1e-3
"""Accuracy, and equal steps, s."""
NUMBER, SECONDS = 20, 10.0
"""Number of manoeuvres per machine, and their duration, s."""
EXACT = 1e-3
"""Accuracy of the reference solution, relative to the accuracy of the runs."""
VOLTS, PUSH, LEAST_PUSH = 6.0, 0.1, 5.0
"""Greatest voltage, V; greatest change of an effort, relative to the effort that holds the joint, and the least effort
for this ratio, N m or N."""


def manoeuvre(m: dn.Machine, seed: int, seconds: float) -> dict[str, Any]:
    """Return arguments of `simulate`: voltages or torques, and the payload, kg."""
    rng = np.random.default_rng(seed)
    knots = np.concatenate([[0.0], np.sort(rng.uniform(0.0, seconds, 6))])
    payload = {} if m.data.payload is None else {'payload': float(rng.uniform(0.0, 0.5 * m.data.payload.limit))}
    if m.actuators:
        drive = {name: (knots, rng.uniform(-VOLTS, VOLTS, 7) * (rng.random(7) < 0.7)) for name in m.actuators}
        return {'voltage': drive, **payload}
    plant = m.plant(torque=True, **payload)
    held = dict(zip(plant.system.input_names, plant.u))
    sizes = {name: PUSH * max(abs(held[f'{name}/effort']), LEAST_PUSH) for name in m.driven}
    drive = {name: (knots, held[f'{name}/effort'] + size * rng.uniform(-1, 1, 7)) for name, size in sizes.items()}
    return {'torque': drive, **payload}


def least_time(call: Any) -> tuple[Any, float]:
    """Return the result of a call and its least wall time of three, s."""
    seconds, result = [], call()
    for _ in range(3):
        since = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - since)
    return result, min(seconds)


def error_of(run: dn.Run, exact: dn.Run) -> float:
    """Return the greatest difference of positions at common samples."""
    count = min(len(run.times), len(exact.times))
    return float(np.abs(run.q[:count] - exact.q[:count]).max())


def measure(name: str, number: int = NUMBER, seconds: float = SECONDS) -> dict[str, float]:
    """Return factors of real time and errors over the manoeuvres of a machine, by name."""
    m = dn.load(name)
    ways = {'accurate': {'accuracy': ACCURACY}, 'default': {}, 'equal': {'step': EQUAL}}
    times, errors = ({way: np.zeros(number) for way in ways} for _ in range(2))
    simulated, ended, wrong = np.zeros(number), 0, 0
    for seed in range(number):
        arguments = manoeuvre(m, seed, seconds)
        exact = m.simulate(seconds, accuracy=EXACT * ACCURACY, **arguments)
        simulated[seed] = exact.times[-1]
        for way, settings in ways.items():
            run, times[way][seed] = least_time(partial(m.simulate, seconds, **settings, **arguments))
            errors[way][seed] = error_of(run, exact)
            if way == 'accurate':
                wrong += run.status == 'inaccurate' or errors[way][seed] > run.error
        ended += exact.status not in ('done', 'inaccurate')
    row = {'runs': number, 'ended': ended, 'wrong': wrong}
    for way in ways:
        factors = simulated / times[way]
        row |= {f'{way} median': np.median(factors), f'{way} all': simulated.sum() / times[way].sum()}
        row |= {f'{way} error': errors[way].max(), f'{way} median error': np.median(errors[way])}
    return row


HEAD = f"""\
| machine | runs | `accuracy={ACCURACY:g}` | error | default | error | `step={EQUAL:g}` | error | ended early | wrong |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def cells(row: dict[str, float]) -> str:
    """Return the columns of a machine in Markdown, without its name."""
    ways = ('accurate', 'default', 'equal')
    of_ways = [
        f'{row[way + " median"]:.0f}, {row[way + " all"]:.0f} | '
        f'{row[way + " median error"]:.0e}, {row[way + " error"]:.0e}'
        for way in ways
    ]
    return ' | '.join([f'{row["runs"]:.0f}', *of_ways, f'{row["ended"]:.0f}', f'{row["wrong"]:.0f}'])


def main(arguments: list[str] | None = None) -> int:
    """Print a row per machine; return 1 if a run has a greater error than it states."""
    parser = argparse.ArgumentParser(
        description='Times real time (median, all runs together) and errors (median, greatest) of drawn manoeuvres.'
    )
    parser.add_argument('machines', nargs='*', default=MACHINES, help='names (%(default)s)')
    parser.add_argument('--number', type=int, default=NUMBER, help='manoeuvres per machine (%(default)s)')
    parser.add_argument('--seconds', type=float, default=SECONDS, help='duration of a manoeuvre, s (%(default)s)')
    options = parser.parse_args(arguments)
    print(HEAD)
    wrong = 0.0
    for name in options.machines:
        row = measure(name, options.number, options.seconds)
        wrong += row['wrong']
        print(f'| `{name}` | {cells(row)} |', flush=True)
    return int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
