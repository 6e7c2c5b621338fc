"""Choice of representation: measured accuracy of the rolling disk's twelve schemes against their cost.

It replaces the source's chart of processor times (fig. 6.5), whose values are not in the text. Cost and error must be
compared together: a scheme with twice the cost per step may still be cheaper for a required accuracy.
"""

from __future__ import annotations

import time

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.plots import BLUE, GREEN, ORANGE
from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.disk import CIRCLES, DISK, GENERAL
from dyn_nodes.studies.saha_1991.disk_motion import disk_motion
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES

REFERENCE = tabulated('saha-1991/6.7/general')[1][[0, 6, 7]]
"""Tilt, rad, and position of the centre, m, after 1 s (specification, 6.7)."""
STEPS = (0.02, 0.01, 0.005, 0.0025, 0.00125)
DURATION, FINE = 1.0, 1.25e-4  # s
WANTED = 1e-6  # m and rad
ROUNDS = 15
REPRESENTATIONS = ('Euler angles', 'quaternion', 'matrix')
COLOURS, MARKS = (ORANGE, BLUE, GREEN), ('o', 's', '^')
FRAMES = ('following the disk', 'fixed in the disk', 'fixed in space')


@study(
    'saha-1991/disk-schemes', 'Rolling disk: accuracy of the twelve schemes against their cost (in place of fig. 6.5)'
)
def disk_schemes(s: StudyRun) -> None:
    """Check that all schemes converge to one motion, and draw error over time of computing."""
    starts = {'general motion': GENERAL, 'circle D': DISK.steady_state(*CIRCLES['D'])}
    costs = _costs()
    errors = {name: _errors(start) for name, start in starts.items()}
    _convergence(s, errors['general motion'])
    table = {name: _time_for(costs[name], errors['general motion'][name]) for name in SCHEMES}
    best = min(table, key=table.__getitem__)
    s.holds(f'Euler angles are the cheapest way to {WANTED:g} on a general motion', 'p. 155', best in ('F1', 'D1'),
            expected='F1 or D1', value=best)  # fmt: skip
    s.note(_said(costs, table))
    s.figure('cost', 'Error after 1 s over computing time; one point per step', lambda: _draw(costs, errors))


def _errors(start: Array) -> dict[str, Array]:
    """Return the error (steps,) of every scheme after 1 s: the greater of attitude, rad, and position over radius."""
    exact = _end('F1', start, FINE)
    errors: dict[str, Array] = {}
    for name in SCHEMES:
        ends = [_end(name, start, step) for step in STEPS]
        errors[name] = np.array(
            [max(np.abs(F - exact[0]).max(), np.abs(c - exact[1]).max() / DISK.radius) for F, c in ends]
        )
    return errors


def _end(scheme: str, start: Array, step: float) -> tuple[Array, Array]:
    """Return axis of the disk (3,) and centre (3,) after 1 s."""
    run = DISK.run(scheme, start, step, round(DURATION / step))  # type: ignore[arg-type]
    motion = disk_motion(DISK, scheme, run, start[2])
    return motion.rotations[-1, :, 2], motion.centre[-1]


def _convergence(s: StudyRun, errors: dict[str, Array]) -> None:
    for name in SCHEMES:
        run = DISK.run(name, GENERAL, 1e-3, 1000)  # type: ignore[arg-type]
        away = np.abs([run.tilt[-1], *run.position[-1]] - REFERENCE).max()
        s.near(f'{name} at 1 ms: tilt and position after 1 s', 'spec 6.7', 0.0, float(away), absolute=1e-9)
    for name in ('F1', 'F2', 'F4', 'D4', 'I2'):
        order = float(np.log2(errors[name][1] / errors[name][2]))
        s.near(f'order of {name} between 10 and 5 ms', 'spec 6.8', 6.2, order, absolute=1.2)


def _costs() -> dict[str, Array]:
    """Return the computing time of one simulated second (steps,), us: the best of several alternating runs."""
    best = {name: np.full(len(STEPS), np.inf) for name in SCHEMES}
    for _ in range(ROUNDS):
        for name in SCHEMES:
            for k, step in enumerate(STEPS):
                start_time = time.perf_counter()
                DISK.run(name, GENERAL, step, round(DURATION / step))  # type: ignore[arg-type]
                best[name][k] = min(best[name][k], 1e6 * (time.perf_counter() - start_time))
    return best


def _time_for(costs: Array, errors: Array) -> float:
    """Return the time at the wanted error, us, by interpolation of the logarithms."""
    order = np.argsort(errors)
    return float(np.exp(np.interp(np.log(WANTED), np.log(errors[order]), np.log(costs[order]))))


def _said(costs: dict[str, Array], table: dict[str, float]) -> str:
    step = STEPS.index(0.005)
    rows = ', '.join(f'{name} {costs[name][step]:.0f} and {table[name]:.0f}' for name in SCHEMES)
    return (
        f'Time of a simulated second, us, in this run, at a step of 5 ms and for an error of {WANTED:g} on the general '
        f'motion: {rows}.'
    )


def _draw(costs: dict[str, Array], errors: dict[str, dict[str, Array]]) -> drawing.Figure:
    figure, axes = drawing.panels(1, 4.6, 2, share=False)
    for panel, (title, error_by_scheme) in zip(axes, errors.items()):
        for name, (frame, kind, _) in SCHEMES.items():
            line_style = {'color': COLOURS[kind], 'marker': MARKS[frame], 'linestyle': ('-', '--', ':')[frame]}
            error = np.maximum(error_by_scheme[name], 1e-15)
            panel.loglog(costs[name], error, markersize=4, linewidth=1.1, **line_style)
            panel.annotate(
                {'F1': 'F1, D1', 'D1': ''}.get(name, name),
                (costs[name][0], error[0]), xytext=(-3, 3), textcoords='offset points', fontsize=7,
                color=COLOURS[kind], ha='right',
            )  # fmt: skip
        panel.set_title(title)
        panel.set_xlabel('computing a second of motion, us')
    axes[0].set_ylabel('error after 1 s, rad or radii')
    for label, colour in zip(REPRESENTATIONS, COLOURS):
        axes[0].plot([], [], color=colour, label=label)
    for label, mark, line in zip(FRAMES, MARKS, ('-', '--', ':')):
        axes[0].plot([], [], color='#555555', marker=mark, markersize=4, linestyle=line, label=label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncol=3)
    return figure
