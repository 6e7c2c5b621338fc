"""Errors and times of drawn manoeuvres with `simulate(accuracy=...)` and by default: `python -m benchmarks.population`.

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
ACCURACY = 1e-4
EXACT = 1e-3
"""Accuracy of the reference solution, relative to that of the runs."""
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


def measure(name: str, number: int, seconds: float) -> dict[str, float]:
    """Return the sums over the manoeuvres of a machine, and their greatest errors."""
    m = dn.load(name)
    sums = dict.fromkeys(('runs', 'simulated', 'accurate', 'default', 'error', 'default_error', 'ended', 'wrong'), 0.0)
    factors = []
    for seed in range(number):
        arguments = manoeuvre(m, seed, seconds)
        run, taken = least_time(partial(m.simulate, seconds, accuracy=ACCURACY, **arguments))
        plain, plainly = least_time(partial(m.simulate, seconds, **arguments))
        exact = m.simulate(seconds, accuracy=EXACT * ACCURACY, **arguments)
        simulated, error = float(run.times[-1]), error_of(run, exact)
        factors.append(simulated / taken)
        sums['runs'] += 1
        sums['simulated'] += simulated
        sums['accurate'] += taken
        sums['default'] += plainly
        sums['error'] = max(sums['error'], error)
        sums['default_error'] = max(sums['default_error'], error_of(plain, exact))
        sums['ended'] += run.status not in ('done', 'inaccurate')
        sums['wrong'] += run.status == 'inaccurate' or error > run.error
    return {**sums, 'median': float(np.median(factors))}


def main(arguments: list[str] | None = None) -> int:
    """Print a row per machine; return 1 if a run has a greater error than it states."""
    parser = argparse.ArgumentParser(description='Errors and times of drawn manoeuvres.')
    parser.add_argument('machines', nargs='*', default=MACHINES, help='names (%(default)s)')
    parser.add_argument('--number', type=int, default=20, help='manoeuvres per machine (%(default)s)')
    parser.add_argument('--seconds', type=float, default=10.0, help='duration of a manoeuvre, s (%(default)s)')
    options = parser.parse_args(arguments)
    print(f'accuracy {ACCURACY:g}; times real time')
    print(
        f'{"machine":20} {"runs":>4} {"median":>7} {"all":>7} {"error":>8} {"default":>8} {"error":>8} '
        f'{"ended early":>11} {"wrong":>5}'
    )
    wrong = 0.0
    for name in options.machines:
        row = measure(name, options.number, options.seconds)
        wrong += row['wrong']
        print(
            f'{name:20} {row["runs"]:4.0f} {row["median"]:7.0f} {row["simulated"] / row["accurate"]:7.0f} '
            f'{row["error"]:8.1e} {row["simulated"] / row["default"]:8.0f} {row["default_error"]:8.1e} '
            f'{row["ended"]:11.0f} {row["wrong"]:5.0f}',
            flush=True,
        )
    return int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
