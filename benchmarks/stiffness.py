"""Stiffness of the reference task, and the error of runs with fixed steps.

    python -m benchmarks.stiffness

Prints the error of the task against its converged solution for a number of steps, with the oil pressures solved
for in each step (`integrators.stiff`) and with the classical Runge-Kutta method alone, and the share of the time in
which some rate of its linearization exceeds the stability limit of that method (2.785 over the step). A line at tank
pressure, into which the make-up check lets oil, is such a rate: it decays in 20 to 500 us.
"""

from __future__ import annotations

import numpy as np

from benchmarks.bench import Task
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Settings

PARTS = (29, 30, 32, 36, 40, 45, 50, 56, 60, 64, 68, 72, 76, 80, 90, 100, 125, 160, 200, 250, 400)  # steps in 0.1 s
STABLE = 2.785
SAMPLES = 3201


def greatest_rates(task: Task) -> tuple[np.ndarray, list[str]]:
    """Return the greatest rate (n,), 1/s, at n instants of the task, and the dominant state of its eigenvector."""
    system, times = task.system, np.linspace(0.0, task.duration, SAMPLES)
    run = system.run(task.start, times, task.inputs, task.parameters, Settings(step=1.25e-4))
    knots, table = task.inputs.aligned(system.input_names)
    sizes = np.abs(run.states).max(axis=0) + 1e-12
    rates, names = np.zeros(len(times)), []
    for k, time in enumerate(times):
        volts = np.array([np.interp(time, knots, column) for column in table.T])
        by_state, _ = system.jacobians(run.states[k], volts, task.parameters)
        values, vectors = np.linalg.eig(by_state)
        fastest = int(np.argmax(np.abs(values)))
        rates[k] = abs(values[fastest])
        names.append(system.state_names[int(np.argmax(np.abs(vectors[:, fastest]) / sizes))])
    return rates, names


def main() -> None:
    """Print the table."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    task = Task(machine)
    rates, names = greatest_rates(task)
    fastest = int(np.argmax(rates))
    print(f'greatest rate {rates[fastest]:.0f} /s, of {names[fastest]}')
    print('| step, ms | error, rad | classical method alone | too stiff for it |')
    print('|---|---|---|---|')
    for parts in PARTS:
        share = float((rates > STABLE * parts / 0.1).mean())
        errors = [task.error(task.run(0.1 / parts, stiff)) for stiff in ('implicit', 'explicit')]
        print(f'| {100.0 / parts:.4g} | {errors[0]:.1e} | {errors[1]:.1e} | {share:.1%} |', flush=True)


if __name__ == '__main__':
    main()
