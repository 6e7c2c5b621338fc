"""Error of runs over step and tolerance, with the observed order, as a page and a picture.

    python -m benchmarks.convergence              # writes docs/verification/accuracy.md and docs/images/convergence.png
    python -m benchmarks.convergence --cases arm  # prints one table, writes nothing

Every error is the error of a whole run against the same machine with a much smaller step (whose method is checked
against another one), so it includes round-off and the effect of discontinuities.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import population
from benchmarks.bench import task_inputs
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state

Array = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / 'docs' / 'verification' / 'accuracy.md', ROOT / 'docs' / 'images' / 'convergence.png'
STEPS = (10.0, 5.0, 4.0, 2.5, 2.0, 1.25, 1.0, 0.5, 0.25, 0.125)
"""Step lengths, ms; each divides the 0.1 s between two rows."""
FINEST = 1e-5
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
METHODS = ('rk32', 'dopri5', 'adams', 'rodas3')
LONGEST = 1e-2
"""Longest step of rk32, and first step of the other methods with a tolerance, s."""
BAR = 1e-4
"""Error at which speeds are compared, rad (`benchmarks/README.md`)."""
ROUND_OFF = 3e-12
"""Least error from which an order is computed."""


@dataclass(frozen=True)
class Case:
    """A machine, its commands and how long it moves.

    Attributes:
        title: of its table.
        machine: name in `config/`.
        duration: s.
        inputs: (t,) times and columns by input; None: the reference task.
        about: its numerical difficulty.
        adaptive: methods with a tolerance.
    """

    title: str
    machine: str
    duration: float
    inputs: Inputs | None
    about: str
    adaptive: tuple[str, ...] = METHODS


CASES = {
    'arm': Case(
        'An arm that falls',
        'arm_4r',
        1.0,
        Inputs(np.array([0.0, 1.0]), {}),
        'Four joints in space, no effort, no stop: nothing but rigid bodies.',
    ),
    'loop': Case(
        'A closed loop',
        'spatial_slider_crank',
        1.0,
        Inputs(np.array([0.0, 1.0]), {}),
        'A slider-crank in space under gravity: its constraints are solved in every evaluation.',
    ),
    'line': Case(
        'A stiff oil line',
        'log_loader',
        3.0,
        Inputs(np.array([0.0, 0.2, 1.0, 1.2, 3.0]), {'swing/voltage': np.array([0.0, 6.0, 6.0, -6.0, -6.0])}),
        'The swing of the log-loader is turned and reversed: the line behind the motor falls to tank pressure, where '
        'oil flows in through the make-up check, and the pressure follows at up to 51,600 /s.',
    ),
    'task': Case(
        'The reference task',
        'log_loader',
        16.0,
        None,
        'Reach, tip, recover: LuGre friction, wheels that leave the ground and come back, reliefs, spools with a dead '
        'zone, voltages with corners. Its rates have kinks, so no method keeps its order throughout.',
    ),
}


class Trial:
    """Runs of a case against its converged solution."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.system = System(
            load_machine(find_resource(f'urdf/{case.machine}.urdf'), find_resource(f'config/{case.machine}.yaml'))
        )
        self.inputs, self.duration = task_inputs() if case.inputs is None else (case.inputs, case.duration)
        self.parameters = self.system.parameters()
        self.start = initial_state(self.system, self.parameters)
        self.times = np.linspace(0.0, self.duration, round(self.duration / 0.1) + 1)
        self.converged = self.states(Settings(step=FINEST))

    def states(self, settings: Settings) -> Array:
        """Return the states every 0.1 s, or None if the run did not complete."""
        run = self.system.run(self.start, self.times, self.inputs, self.parameters, settings)
        return run.states if run.status == 'done' else np.full((1, len(self.start)), np.nan)

    def error(self, settings: Settings) -> float:
        """Return the greatest difference of positions (without the position of the base) from the converged ones."""
        first = 3 if self.system.state_names[0] == 'base_x' else 0
        turned = slice(first, self.system.nq)
        states = self.states(settings)
        if len(states) != len(self.converged):
            return float('nan')
        return float(np.abs(states[:, turned] - self.converged[:, turned]).max())

    @property
    def has_oil(self) -> bool:
        """Return whether some pressures may be stiff."""
        return any(name.endswith('pressure') or 'pressure_' in name for name in self.system.state_names)


def order(steps: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of log error over log step, for errors that are neither round-off nor large."""
    useful = [(step, error) for step, error in zip(steps, errors) if ROUND_OFF < error < 0.1]
    if len(useful) < 2:
        return float('nan')
    x, y = np.log([step for step, _ in useful]), np.log([error for _, error in useful])
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True)
class Curve:
    """Errors of one method.

    Attributes:
        label: of the method.
        at: steps, ms, or tolerances.
        errors: rad or m.
        seconds: processor time of each run.
    """

    label: str
    at: tuple[float, ...]
    errors: tuple[float, ...]
    seconds: tuple[float, ...]


def curve(trial: Trial, label: str, at: tuple[float, ...], settings: list[Settings]) -> Curve:
    """Return errors and processor times of runs, the least of three."""
    errors, seconds = [], []
    for choice in settings:
        errors.append(trial.error(choice))
        seconds.append(min(_seconds(trial, choice) for _ in range(3)))
    return Curve(label, at, tuple(errors), tuple(seconds))


def _seconds(trial: Trial, settings: Settings) -> float:
    start = time.process_time()
    trial.states(settings)
    return time.process_time() - start


def curves(trial: Trial) -> list[Curve]:
    """Return the curves of a case: fixed steps first."""
    steps = [Settings(step=1e-3 * step) for step in STEPS]
    results = [curve(trial, 'rk4, pressures solved for' if trial.has_oil else 'rk4', STEPS, steps)]
    results.append(curve(trial, 'rk3', STEPS, [replace(fixed, method='rk3') for fixed in steps]))
    if trial.has_oil:
        results.append(curve(trial, 'rk4 alone', STEPS, [replace(fixed, stiff='explicit') for fixed in steps]))
    for method in trial.case.adaptive:
        adaptive = [Settings(method, LONGEST, tolerance, tolerance) for tolerance in TOLERANCES]  # type: ignore[arg-type]
        results.append(curve(trial, method, TOLERANCES, adaptive))
    return results


def table(case: Case, results: list[Curve]) -> str:
    """Return the tables of a case in Markdown."""
    fixed = [item for item in results if item.at is STEPS]
    adaptive = [item for item in results if item.at is TOLERANCES]
    lines = [f'## {case.title}', '', case.about, '']
    lines += ['| step, ms | ' + ' | '.join(item.label for item in fixed) + ' |', '|---|' + '---:|' * len(fixed)]
    for k, step in enumerate(STEPS):
        lines.append(f'| {step:g} | ' + ' | '.join(_number(item.errors[k]) for item in fixed) + ' |')
    lines.append('| order | ' + ' | '.join(f'{order(item.at, item.errors):.1f}' for item in fixed) + ' |')
    lines += [
        '',
        '| tolerance | ' + ' | '.join(f'{item.label} | s' for item in adaptive) + ' |',
        '|---|' + '---:|' * 2 * len(adaptive),
    ]
    for k, tolerance in enumerate(TOLERANCES):
        cells = ' | '.join(f'{_number(item.errors[k])} | {item.seconds[k]:.2g}' for item in adaptive)
        lines.append(f'| {tolerance:g} | {cells} |')
    return '\n'.join([*lines, ''])


def _number(error: float) -> str:
    return 'no end' if np.isnan(error) else f'{error:.1e}'


def draw(results: dict[str, list[Curve]], path: Path) -> None:
    """Draw error over step of all cases, and error over processor time."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.8), sharey=True)
    styles = {'rk3': '+-', 'rk32': 'x-', 'dopri5': '.--', 'adams': '.-.', 'rodas3': '.:'}
    for k, (name, all_of) in enumerate(results.items()):
        for item in all_of:
            alone = item.label == 'rk4 alone'
            if item.at is STEPS:
                label = f'{CASES[name].title.lower()}: {item.label}'
                style = '.:' if alone else styles.get(item.label, '.-')
                left.loglog(item.at, item.errors, f'C{k}{style}', label=label)
            if not alone:
                right.loglog(item.seconds, item.errors, f'C{k}{styles.get(item.label, ".-")}')
    for label, style in {'rk4': '.-', **styles}.items():
        right.plot([], [], style, color='0.3', label=label)
    guide = np.array([0.25, 4.0])
    left.loglog(guide, 1e-9 * guide**4, color='0.6', linewidth=1)
    left.annotate('order 4', (1.2, 4e-10), color='0.4')
    for axes, text in ((left, 'step, ms'), (right, 'processor time of the run, s (colours as on the left)')):
        axes.axhline(BAR, color='0.8', linewidth=1)
        axes.set_xlabel(text)
    left.legend(fontsize=7, loc='upper center', bbox_to_anchor=(0.5, -0.12), ncol=2)
    right.legend(fontsize=7, loc='upper center', bbox_to_anchor=(0.5, -0.12), ncol=3)
    left.set_ylabel('greatest error, rad')
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


HEAD = f"""\
# Accuracy

How the error of a run falls with its step and with its tolerance. `python -m benchmarks.convergence` made this page
and its picture.

An error is the greatest difference of joint positions and of the base's quaternion over the run from the solution with
steps of {1e6 * FINEST:g} us, rad. The order is the slope of a line through the errors from {ROUND_OFF:g} to 0.1.
`no end`: the run diverges, as the step is too long for wheels and joint stops, whose springs are not solved for, or
fails a check, such as the gap of its constraints.
`rk3` is `rk4` with another last stage (`dyn_nodes/compile/integrators/classical.py`), of order 3, stable at 1.8 times
as long a step; it solves for pressures, too. `rk32` is `rk3` with step control; its error is far below its tolerance,
which applies to a rule of order 2 (`dyn_nodes/compile/integrators/controlled.py`).
Processor times are the least of three runs on a computer that may be busy: they compare methods, not computers.

![Error over step and over processor time](../images/convergence.png)

"""


DRAWN = f"""\
## Drawn manoeuvres

`python -m benchmarks.population`: {population.NUMBER} manoeuvres of {population.SECONDS:g} s per machine, with
voltages of all valves or efforts of all driven joints, and with drawn payloads, by `simulate` with an accuracy, by
default and with equal steps. Speeds are times real time (median, all runs together), of the whole call; errors
(median, greatest) are differences of positions, m and rad, from runs with a thousandth of the accuracy.
`ended early`: the machine overturned, or the constraints lost their rank. `wrong`: the error was greater than stated,
or the run was reported as inaccurate.
"""


def main() -> int:
    """Run the cases and print their tables; write page and picture if all cases were run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cases', nargs='+', choices=CASES, help='only these; nothing is written')
    chosen = parser.parse_args().cases
    results: dict[str, list[Curve]] = {}
    texts = []
    for name in chosen or CASES:
        results[name] = curves(Trial(CASES[name]))
        texts.append(table(CASES[name], results[name]))
        print(texts[-1], flush=True)
    if not chosen:
        rows = [f'| `{name}` | {population.cells(population.measure(name))} |' for name in population.MACHINES]
        texts.append('\n'.join([DRAWN, population.HEAD, *rows, '']))
        print(texts[-1], flush=True)
        PAGE.write_text(HEAD + '\n'.join(texts), encoding='utf-8')
        draw(results, PICTURE)
        print(f'{PAGE.relative_to(ROOT)}, {PICTURE.relative_to(ROOT)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
