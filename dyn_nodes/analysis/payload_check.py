"""Check of a payload estimator: error, coverage of its interval, and delay after a step of the load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dyn_nodes.analysis.payload_cases import CaseRig, PayloadCase, PayloadRun, measure_case, random_case, rough_machine
from dyn_nodes.control.derivative_filter import DerivativeFilter
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.measured_samples import SensorModel
from dyn_nodes.monitor.payload_estimator import PayloadEstimator
from dyn_nodes.monitor.sensors import SensorNoise

FULL_SCALE_PART = 0.01
"""Limit of the error after three seconds of work, as a part of the mount's limit."""
NOTICED_WITHIN = 0.5
"""Limit of the time from a step of the load to the first estimate without the old load, s."""
WITHIN = 0.95
"""Least share of cases within the limit of the error."""
FEW, MANY = 0.93, 0.97
"""Bounds of the share of cases whose interval of 95 % contains the truth."""


@dataclass(frozen=True)
class PayloadResult:
    """Result of an estimator for a case.

    Attributes:
        seed, number: identify the case.
        truth: true payload at the end, kg.
        error: error of the estimate at the end, kg.
        deviation: standard deviation of the estimator, kg.
        state: `observed` or `rated`.
        steps: number of detected steps.
        stepped: whether the load was dropped or changed before the end.
        noticed: time from the step of the load to its detection, s; None without a step or without a detection.
        settled: time from the step to the first estimate in state `observed` again, s; None as above.
    """

    seed: int
    number: int
    truth: float
    error: float
    deviation: float
    state: str
    steps: int
    stepped: bool
    noticed: float | None
    settled: float | None

    @property
    def covered(self) -> bool:
        """Return whether the interval of 95 % contains the truth."""
        return abs(self.error) <= 1.959964 * self.deviation


def feed(run: PayloadRun, estimator: PayloadEstimator) -> Iterator[tuple[float, bool]]:
    """Feed measurements to an estimator, filtered like in the monitor.

    Yields:
        Time of each sample, s, and whether the estimate is new.
    """
    noise = SensorNoise()
    filtered = DerivativeFilter(3, noise.jerk_density, (noise.position, noise.velocity), (1.0, 0.1, 0.1), gate=6.0)
    for k, time in enumerate(run.time.tolist()):
        q, v, _ = filtered.update(time, run.positions[k], run.velocities[k])
        base = run.angular_velocity[k], run.specific_force[k]
        yield time, estimator.sample(time, q, v, *base, run.pressures[k], (noise.velocity, noise.gyroscope))


def follow(run: PayloadRun, estimator: PayloadEstimator, step_time: float = np.inf) -> dict[str, Any]:
    """Feed measurements to an estimator; return its result."""
    noticed = settled = None
    before = estimator.steps
    for time, _ in feed(run, estimator):
        if time <= step_time:
            before = estimator.steps
        else:
            noticed = time - step_time if noticed is None and estimator.steps > before else noticed
            if noticed is not None and settled is None and estimator.estimate.state == 'observed':
                settled = time - step_time
    estimate = estimator.estimate
    error = estimate.estimated - float(run.payload[-1])
    return {
        'truth': float(run.payload[-1]),
        'error': error,
        'deviation': estimator.deviation,
        'state': estimate.state,
        'steps': estimate.steps,
        'stepped': bool(run.time[-1] > step_time),
        'noticed': noticed,
        'settled': settled,
    }


def check_case(rig: CaseRig, case: PayloadCase, sensors: SensorModel | None = None) -> dict[str, Any]:
    """Return the result of an estimator for a simulated case."""
    run = measure_case(rig, case, sensors)
    settings = replace(rig.settings, offsets=case.offsets)
    return follow(run, PayloadEstimator(rig.model, settings), case.step_time)


def check_number(rig: CaseRig, seed: int, number: int, steps: bool = False) -> PayloadResult:
    """Return the result of the case of a number, which does not depend on the number of cases."""
    case = random_case(rig, np.random.default_rng((seed, number, int(steps))), steps)
    return PayloadResult(seed, number, **check_case(rig, case))


def summary(results: Sequence[PayloadResult], limit: float) -> dict[str, Any]:
    """Return summary values: errors in kg and relative to the full scale, coverage, and times after a step.

    Args:
        results: results of cases with steps of the load, or of cases without.
        limit: limit of the mount, the full scale, kg.
    """
    errors = np.abs([result.error for result in results])
    stepped = [result for result in results if result.stepped]
    notices = [result.noticed for result in stepped if result.noticed is not None]
    settled = [result.settled for result in stepped if result.settled is not None]
    return {
        'cases': len(results),
        'covered': float(np.mean([result.covered for result in results])),
        'within_bound': float(np.mean(errors <= FULL_SCALE_PART * limit)),
        'median_error': float(np.median(errors)),
        'error_95': float(np.quantile(errors, 0.95)),
        'greatest_error': float(errors.max()),
        'greatest_error_observed': max(
            (abs(result.error) for result in results if result.state == 'observed'), default=None
        ),
        'median_deviation': float(np.median([result.deviation for result in results])),
        'rated': sum(result.state == 'rated' for result in results),
        'false_steps': sum(result.steps for result in results) - len(notices),
        'stepped': len(stepped),
        'noticed': len(notices),
        'median_notice': float(np.median(notices)) if notices else None,
        'latest_notice': max(notices, default=None),
        'settled_in_time': float(np.mean([delay <= NOTICED_WITHIN for delay in settled])) if settled else None,
        'settled_99': float(np.quantile(settled, 0.99)) if settled else None,
        'latest_settled': max(settled, default=None),
        'never_settled': len(stepped) - len(settled),
        'worst': [asdict(result) for result in sorted(results, key=lambda result: -abs(result.error))[:5]],
    }


def missed(values: dict[str, Any], steps: bool) -> list[str]:
    """Return a text per limit that a summary exceeds; with `steps` only the limits for steps of the load."""
    if steps:
        late = values['latest_notice'] is None or values['latest_notice'] > NOTICED_WITHIN
        unnoticed = values['stepped'] - values['noticed']
        return [f'{unnoticed} steps not noticed'] * bool(unnoticed) + [f'noticed after {NOTICED_WITHIN:g} s'] * late
    result = []
    if not FEW <= values['covered'] <= MANY:
        result.append(f'interval: expected the truth in {100 * FEW:g} to {100 * MANY:g} % of the cases')
    if values['within_bound'] < WITHIN:
        result.append(f'error: expected at most {100 * FULL_SCALE_PART:g} % of the limit in {100 * WITHIN:g} % of them')
    return result


class _Worker:
    """Rig of a process."""

    rig: CaseRig | None = None


def start_worker(machine: Machine) -> None:
    """Create the rig of this process, for the machine with dry friction."""
    _Worker.rig = CaseRig(rough_machine(machine))


def check_in_worker(case: tuple[int, int, bool]) -> PayloadResult:
    """Return the result of a case (seed, number, with step) on the rig of this process."""
    assert _Worker.rig is not None
    return check_number(_Worker.rig, *case)
