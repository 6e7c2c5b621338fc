"""Chapter 6: the rolling disk, in twelve schemes."""

from __future__ import annotations

import time

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.plots import LINES
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES, DiskRun, RollingDisk

DISK = RollingDisk()
CIRCLES = {'A': (1.0, -0.5), 'B': (1.8, -1.3), 'C': (4.2, -3.7), 'D': (9.6, -9.1)}
GENERAL = np.array([0.35, 0.1, 0.2, 0.4, 6.0, -5.0, 0.0, 0.0])
"""Initial Euler state of the general motion (specification, 6.7)."""
STEP, STEPS = 0.007, 500


@study('saha-1991/disk', 'Rolling disk: steady circles, twelve schemes, energy audit, cost (E32 to E40)')
def disk(s: StudyRun) -> None:
    """Check steady states, energies, onsets, and the exactness of the schemes."""
    printed = {'A': (0.217633, 0.0098254), 'B': (1.004186, None), 'C': (6.099778, None), 'D': (23.465159, 0.0105278)}
    growth = dict(zip(CIRCLES, tabulated('saha-1991/6.7/growth')[0]))
    for name, rates in CIRCLES.items():
        start = DISK.steady_state(*rates)
        degrees, energy = printed[name]
        s.near(f'E32 tilt of circle {name}, deg', 'table 6.1', degrees, float(np.degrees(start[0])), absolute=1e-6)
        if energy is not None:
            computed = float(DISK.run('F1', start, STEP, 0).energy[0])
            s.near(f'E33 energy of circle {name}, J', 'captions 6.1 to 6.4', energy, computed, absolute=5e-8)
        computed = float(DISK.growth_rates(*rates).real.max())
        s.near(f'E40 growth on circle {name}, 1/s', 'spec 6.7', growth[name], computed, absolute=0.01)
    unstable = {name: _run(name, 'A') for name in SCHEMES}
    stable = {name: _run(name, 'D') for name in SCHEMES}
    _exactness(s, unstable, stable)
    costs = _costs()
    s.holds('E39 F1 is the cheapest scheme', 'p. 149', min(costs, key=costs.__getitem__) in ('F1', 'D1'),
            expected='F1 or D1', value=min(costs, key=costs.__getitem__))  # fmt: skip
    listed = ', '.join(f'{name} {value / costs["F1"]:.2f}' for name, value in costs.items())
    s.note(f'Time of a step relative to F1, compiled, in this run: {listed}.')
    s.note('Circles A to C are unstable: the time at which a scheme leaves them shows the size of its error.')
    _figures(s, unstable, stable)


def _run(scheme: str, circle: str) -> DiskRun:
    return DISK.run(scheme, DISK.steady_state(*CIRCLES[circle]), STEP, STEPS)  # type: ignore[arg-type]


def _exactness(s: StudyRun, unstable: dict[str, DiskRun], stable: dict[str, DiskRun]) -> None:
    onsets = {'F2': 2.128, 'F3': 2.121}
    for name, expected in onsets.items():
        run = unstable[name]
        off = np.abs(run.tilt - run.tilt[0]) > 1e-3
        s.near(
            f'E34 {name} leaves circle A at, s', 'spec 6.8', expected, float(run.times[np.argmax(off)]), absolute=0.05
        )
    same = float(np.nanmax(np.abs(unstable['F1'].tilt - unstable['D1'].tilt)))
    s.near('E34 F1 and D1 are one system, rad', 'p. 148', 0.0, same, absolute=0.0)
    for name in ('F4', 'F5'):
        error = float(np.abs(stable[name].energy / stable[name].energy[0] - 1).max())
        s.near(f'E35 {name} keeps the energy of circle D, relative', 'p. 151', 0.0, error, absolute=1e-14)
    kept = max(float(np.abs(run.tilt - run.tilt[0]).max()) for run in stable.values())
    s.near('E35 all schemes keep circle D, rad', 'p. 151', 0.0, kept, absolute=1e-3)
    drift = stable['F2'].energy[379] - stable['F2'].energy[0]
    s.near('E36 energy error of F2 on circle D, mantissa', 'p. 148', 7.60834, float(-drift * 1e10), absolute=5e-4)
    drift = unstable['F2'].energy[379] - unstable['F2'].energy[0]
    s.near('E36 energy error of F2 on circle A, mantissa', 'p. 148', 1.31758, float(-drift * 1e12), absolute=0.02)
    long = DISK.run('F1', DISK.steady_state(*CIRCLES['D']), STEP, 10000)
    s.near('E37 circle D for 70 s, rad', 'p. 147', 0.0, float(np.abs(long.tilt - long.tilt[0]).max()), absolute=1e-10)


def _costs() -> dict[str, float]:
    """Return the time of a step, s: the best of several alternating runs."""
    start = DISK.steady_state(*CIRCLES['D'])
    best = dict.fromkeys(SCHEMES, np.inf)
    for _ in range(20):
        for name in SCHEMES:
            start_time = time.perf_counter()
            DISK.run(name, start, STEP, 100)  # type: ignore[arg-type]
            best[name] = min(best[name], (time.perf_counter() - start_time) / 100)
    return {name: float(value) for name, value in best.items()}


def _figures(s: StudyRun, unstable: dict[str, DiskRun], stable: dict[str, DiskRun]) -> None:
    for circle, runs in (('A', unstable), ('D', stable)):

        def energies(runs: dict[str, DiskRun] = runs) -> drawing.Figure:
            figure, (axes,) = drawing.panels(1, 4.0)
            for k, (name, run) in enumerate(runs.items()):
                error = np.maximum(np.abs(run.energy - run.energy[0])[1:], 1e-19)
                line = {'color': LINES[k % len(LINES)], 'linestyle': '-' if k < len(LINES) else '--'}
                axes.semilogy(run.times[1:], error, label=name, linewidth=1.1, **line)
            axes.set(xlabel='time, s', ylabel='energy error, J', ylim=(1e-19, 1e-1))
            axes.legend(ncol=4, loc='upper left')
            return figure

        def paths(runs: dict[str, DiskRun] = runs) -> drawing.Figure:
            figure, axes = drawing.panels(3, 9.0, 4, share=False)
            for panel, (name, run) in zip(axes, runs.items()):
                panel.plot(1e3 * run.position[:, 0], 1e3 * run.position[:, 1], linewidth=1.0)
                panel.set_aspect('equal')
                # some schemes fail after the fall; their results are then far outside
                panel.set(xlim=(-55.0, 60.0), ylim=(-30.0, 85.0))
                panel.set_title(name)
            for panel in axes[8:]:
                panel.set_xlabel('x, mm')
            for panel in axes[::4]:
                panel.set_ylabel('y, mm')
            return figure

        s.figure(f'energy_{circle}', f'Energy error of the schemes on circle {circle}', energies)
        s.figure(f'path_{circle}', f'Path of the centre, circle {circle}', paths)
