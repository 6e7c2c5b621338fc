"""Effects of errors that a payload estimator does not model on its estimate and interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.analysis.payload_cases import CaseRig, PayloadCase, PayloadRun, measure_case, random_case
from dyn_nodes.analysis.payload_check import PayloadResult, follow
from dyn_nodes.monitor.payload_estimator import PayloadEstimator


class Wrong(NamedTuple):
    """An error in addition to the errors of a case.

    Attributes:
        name: description.
        case: change of the case.
        run: change of the measurements.
    """

    name: str
    case: Callable[[CaseRig, PayloadCase], PayloadCase] = lambda _, case: case
    run: Callable[[PayloadRun], PayloadRun] = lambda run: run


def _masses(part: float) -> Callable[[CaseRig, PayloadCase], PayloadCase]:
    """Return a change that makes all links heavier than in the machine file, by the same part."""
    return lambda rig, case: _shifted(case, dict.fromkeys(rig.model.bodies, -part))


def _farther_out(offset: float) -> Callable[[CaseRig, PayloadCase], PayloadCase]:
    """Return a change that moves the payload outwards from its mount."""
    return lambda rig, case: _shifted(case, {rig.model.body_columns[1]: -offset})


def _friction(factor: float) -> Callable[[CaseRig, PayloadCase], PayloadCase]:
    return lambda _, case: replace(case, dry=tuple(factor * (1.0 + part) - 1.0 for part in case.dry))


def _shifted(case: PayloadCase, shifts: Mapping[str, float]) -> PayloadCase:
    offsets = {name: value + shifts.get(name, 0.0) for name, value in case.offsets.items()}
    return replace(case, offsets=offsets)


def _gain(part: float) -> Callable[[PayloadRun], PayloadRun]:
    return lambda run: replace(run, pressures=(1.0 + part) * run.pressures)


def _late(samples: int) -> Callable[[PayloadRun], PayloadRun]:
    def change(run: PayloadRun) -> PayloadRun:
        first = np.repeat(run.pressures[:1], samples, axis=0)
        return replace(run, pressures=np.concatenate((first, run.pressures[:-samples])))

    return change


WRONG = (
    Wrong('none in addition to the cases'),
    Wrong('all links 5 % heavier', case=_masses(0.05)),
    Wrong('all links 10 % heavier', case=_masses(0.10)),
    Wrong('payload 0.1 m farther out', case=_farther_out(0.10)),
    Wrong('dry friction twice as much', case=_friction(2.0)),
    Wrong('pressures read 1 % too high', run=_gain(0.01)),
    Wrong('pressures 20 ms late', run=_late(4)),
    Wrong('pressures 100 ms late', run=_late(20)),
)


def check_wrong(rig: CaseRig, wrong: Wrong, seed: int, number: int, tared: bool = False) -> PayloadResult:
    """Return the result of the case of a number under an error.

    Args:
        rig: rig of the machine.
        wrong: the error.
        seed: seed of the random numbers.
        number: number of the case.
        tared: the estimator is first tared with the same work and an empty implement.
    """
    case = wrong.case(rig, random_case(rig, np.random.default_rng((seed, number, 0))))
    estimator = PayloadEstimator(rig.model, replace(rig.settings, offsets=case.offsets))
    run = wrong.run(measure_case(rig, case))
    if tared:
        empty = wrong.run(measure_case(rig, replace(case, payload=0.0, payload_after=0.0)))
        follow(empty, estimator)
        estimator.tare(0.0)
        estimator.forget_payload()
        run = replace(run, time=run.time + empty.time[-1] + 1.0)
    return PayloadResult(seed, number, **follow(run, estimator))


def row(wrong: Wrong, tared: bool, results: Sequence[PayloadResult]) -> dict[str, Any]:
    """Return summary values of an error: coverage, errors, kg, and the number of false steps."""
    observed = [result for result in results if result.state == 'observed']
    errors = np.array([result.error for result in observed])
    return {
        'wrong': wrong.name,
        'tared': tared,
        'cases': len(results),
        'rated': len(results) - len(observed),
        'covered': float(np.mean([result.covered for result in observed])) if observed else None,
        'mean_error': float(errors.mean()) if observed else None,
        'error_95': float(np.quantile(np.abs(errors), 0.95)) if observed else None,
        'greatest_error': float(np.abs(errors).max()) if observed else None,
        'false_steps': sum(result.steps for result in results),
    }
