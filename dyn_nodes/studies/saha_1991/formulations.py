"""Chapters 2 and 3: every formulation on every vehicle, their cost, and vehicles to which they do not apply."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.plots import LINES
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import MethodError
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.solve import UNIQUE
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.witnesses import WITNESSES, Answer, Witness, applicable
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.saha_1991.classification import classify_system
from dyn_nodes.studies.saha_1991.machines import SPATIAL, State, random_states
from dyn_nodes.studies.saha_1991.pair_graph import system_loops
from dyn_nodes.studies.saha_1991.wheeled_vehicles import caster_vehicle

STATES = 200
AGREE = 1e-10
REFERENCE = 'multipliers'
NOT_APPLICABLE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SPATIAL, ('operator',)),
    'omni 3': (),
    'disk': ('chaplygin', 'hamilton'),
}
"""Formulations that do not apply: `operator` needs independent rows; the disk's potential contains the height of its
centre, a function of its tilt."""

HOLONOMIC = {
    **dict.fromkeys(SPATIAL, 4),
    **dict.fromkeys(('mecanum 4', 'isotropic 4'), 5),
    'omni 6': 7,
    'disk': 1,
    'disk by contact': 0,
}
NONHOLONOMIC = {**dict.fromkeys(SPATIAL, 2), 'caster vehicle': 4}
MOBILITY = {**dict.fromkeys(SPATIAL, 3), 'driven axle': 2, 'caster vehicle': 2}


@dataclass(frozen=True)
class Comparison:
    """Results of one vehicle.

    Attributes:
        velocities, rows, mobility: nv, m, n.
        accelerations, forces: greatest relative difference from the reference, by formulation.
        seconds: processor time of a call, median, by formulation.
        rejected: reasons, by formulation.
        passed_over: states in which a formulation that applies elsewhere did not, by formulation.
        orthogonality: greatest |A T| over |A| |T|.
        kinds: numbers of holonomic and of nonholonomic constraints.
    """

    velocities: int
    rows: int
    mobility: int
    accelerations: dict[str, float]
    forces: dict[str, float]
    seconds: dict[str, float]
    rejected: dict[str, str]
    passed_over: dict[str, int]
    orthogonality: float
    kinds: tuple[int, int]


def compare(name: str) -> Comparison:
    """Return the comparison of all formulations on one vehicle in random states."""
    vehicle = SPATIAL[name]()
    states = list(random_states(vehicle, STATES, 1))
    formulations, rejected = applicable(vehicle.blocks, *states[0])
    solve = formulations[REFERENCE]
    expected = [solve(*state) for state in states]
    determined = [
        np.abs(Subspaces(vehicle.blocks.at(q).J).dependencies).max(axis=1, initial=0.0) < UNIQUE for q, _, _ in states
    ]
    accelerations, forces, seconds, passed_over = {}, {}, {}, {}
    for which, witness in formulations.items():
        answers, seconds[which] = _answers(witness, states)
        passed_over[which] = sum(answer is None for answer in answers)
        triples = [(a, b, k) for a, b, k in zip(answers, expected, determined) if a is not None]
        accelerations[which] = max(_apart(a.acceleration, b.acceleration) for a, b, _ in triples)
        with_forces = [
            _apart(a.multipliers, b.multipliers, k)
            for a, b, k in triples
            if a.multipliers is not None and b.multipliers is not None
        ]
        if with_forces:
            forces[which] = max(with_forces)
    formulation = natural_orthogonal_complement(vehicle.blocks, prefer=vehicle.actuated)
    worst = 0.0
    for q, v, _ in states[:20]:
        here, A = formulation.at(q, v), np.vstack(formulation.twist_rows(q))
        worst = max(worst, float(np.abs(A @ here.T).max() / (np.abs(A).max() * np.abs(here.T).max())))
    size, kinds = vehicle.blocks.tree.nv, classify_system(vehicle.blocks, states[0][0])
    return Comparison(
        size,
        vehicle.blocks.m,
        formulation.mobility(vehicle.rest),
        accelerations,
        forces,
        seconds,
        rejected,
        passed_over,
        worst,
        (kinds.holonomic, kinds.nonholonomic),
    )


def _answers(witness: Witness, states: list[State]) -> tuple[list[Answer | None], float]:
    """Return the answers, None if the formulation does not apply, and the median processor time of a call."""
    answers: list[Answer | None] = []
    times = []
    gc.disable()  # a collection walks all traced expressions: not part of a call
    try:
        for state in states:
            start_time = time.process_time()
            try:
                answers.append(witness(*state))
            except MethodError:
                answers.append(None)
            times.append(time.process_time() - start_time)
    finally:
        gc.enable()
    return answers, float(np.median(times))


def _apart(measured: Array, expected: Array, determined: NDArray[np.bool_] | slice = slice(None)) -> float:
    return float(np.abs(measured - expected)[determined].max(initial=0.0) / np.abs(expected).max())


@study('saha-1991/formulations', 'All formulations on every vehicle: agreement, cost, which apply (ch. 2 and 3)')
def formulations(s: StudyRun) -> None:
    """Check that all agree to 1e-10 in 200 random states of each vehicle."""
    results = dict(zip(SPATIAL, s.map(compare, SPATIAL, 'vehicles')))
    for name, comparison in results.items():
        worst = max(comparison.accelerations, key=comparison.accelerations.__getitem__)
        label = f'{name}: accelerations of {len(comparison.accelerations)} formulations differ by, relative'
        s.near(label, 'spec 2.4, 2.5', 0.0, comparison.accelerations[worst], absolute=AGREE)
        off = max(comparison.forces.values())
        s.near(f'{name}: forces that are determined differ by, relative', 'spec 2.12', 0.0, off, absolute=AGREE)
        s.near(f'{name}: A T, relative', 'eq. 3.21', 0.0, comparison.orthogonality, absolute=1e-13)
        rejected = sorted(comparison.rejected)
        s.holds(f'{name}: formulations that do not apply', 'derived', rejected == sorted(NOT_APPLICABLE[name]),
                expected=sorted(NOT_APPLICABLE[name]), value=rejected)  # fmt: skip
        s.holds(f'{name}: remaining equations of {comparison.velocities + comparison.rows}', 'p. 47',
                comparison.mobility == MOBILITY[name], expected=MOBILITY[name], value=comparison.mobility)  # fmt: skip
    _kinds(s, results)
    loops = len(system_loops(caster_vehicle(base='free').blocks))
    s.holds('E6 independent loops of the caster vehicle', 'p. 56', loops == 2, expected=2, value=loops)
    _notes(s, results)
    _figures(s, results)


def _kinds(s: StudyRun, results: dict[str, Comparison]) -> None:
    for name, comparison in results.items():
        expected = (HOLONOMIC[name], NONHOLONOMIC[name])
        s.holds(f'{name}: holonomic and nonholonomic constraints, by Lie brackets', 'spec 2.1, 6.1',
                comparison.kinds == expected, expected=list(expected), value=list(comparison.kinds))  # fmt: skip


def _notes(s: StudyRun, results: dict[str, Comparison]) -> None:
    reasons = {reason: which for comparison in results.values() for which, reason in comparison.rejected.items()}
    for which in dict.fromkeys(reasons.values()):
        names = [name for name, comparison in results.items() if which in comparison.rejected]
        reason = results[names[0]].rejected[which]
        s.note(f'{which} does not apply to {", ".join(names)}; of the first: {reason}.')
    skipped = [
        f'{which} of {name} in {count} of {STATES} states'
        for name, comparison in results.items()
        for which, count in comparison.passed_over.items()
        if count
    ]
    if skipped:
        s.note(
            f'Passed over: {", ".join(skipped)}. Their independent rates must be yaw and fork rate, which do not '
            'determine the speed if the caster trails or leads.'
        )
    relative = {which: _relative(results, which) for which in WITNESSES}
    listed = ', '.join(f'{which} {value:.2g}' for which, value in relative.items() if np.isfinite(value))
    s.note(f'Processor time of a call relative to svd, median over the vehicles, from Python, in this run: {listed}.')
    s.note(
        'The source argues that the natural complement is cheaper because it needs no decomposition of A. It saves a '
        'decomposition of the small J, but not the sums over all bodies: called from Python it costs more than svd or '
        'qr of J. Its advantages are that the elimination can be unrolled (`minimal_system`), that no derivative of an '
        'energy is needed, and that it gives joint and contact wrenches.'
    )


def _relative(results: dict[str, Comparison], which: str) -> float:
    ratios = [
        comparison.seconds[which] / comparison.seconds['svd']
        for comparison in results.values()
        if which in comparison.seconds
    ]
    return float(np.median(ratios)) if ratios else float('nan')


def _figures(s: StudyRun, results: dict[str, Comparison]) -> None:
    names = list(WITNESSES)

    def agreement() -> drawing.Figure:
        differences = {name: comparison.accelerations for name, comparison in results.items()}
        figure, axes = _dots(differences, names, 'difference from multipliers, relative')
        axes.axvline(AGREE, color='0.5', linewidth=0.8)
        return figure

    def cost() -> drawing.Figure:
        times = {name: {k: 1e3 * t for k, t in comparison.seconds.items()} for name, comparison in results.items()}
        figure, axes = _dots(times, names, 'processor time of a call from Python, ms')
        axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], ['0.1', '0.2', '0.5', '1', '2', '5', '10'])
        axes.minorticks_off()
        return figure

    s.figure('agreement', f'Greatest difference of the accelerations in {STATES} states', agreement)
    s.figure('cost', 'Cost of a call, median', cost)


def _dots(results: dict[str, dict[str, float]], names: list[str], label: str) -> tuple[drawing.Figure, Any]:
    """Return a figure with one line per formulation and one colour per vehicle."""
    figure, (axes,) = drawing.panels(1, 4.6)
    for k, (name, values) in enumerate(results.items()):
        shown = {which: value for which, value in values.items() if value > 0}
        rows = [names.index(which) for which in shown]
        mark = 'o' if k < len(LINES) else 's'
        colour = LINES[k % len(LINES)]
        axes.semilogx(list(shown.values()), rows, mark, color=colour, markersize=4, label=name)
    axes.set(xlabel=label, yticks=range(len(names)), yticklabels=names)
    axes.invert_yaxis()
    drawing.legend(axes)
    return figure, axes
