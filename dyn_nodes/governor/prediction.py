"""Prediction of stops: each in all variants; the worst result counts.

Stops are integrated by linearly implicit Euler steps, with oil and joint limits implicit, as many at once as the vector
kernels take (`lanes`). The outputs of a stop have a row per step, and the last row lasts; when they have been constant
for a while, a step is two rows long. A stop ends when all joints rest after the last row and none was fast for as long
as the base rocks after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.governor._kernels import kernel, part
from dyn_nodes.governor.lanes import AT_REST, Runs, run_lanes, write_standing
from dyn_nodes.governor.records import Requests, Results, Situation, situation_of
from dyn_nodes.governor.stops import Stop

EASE = 0.05
"""Displacement of a joint by which its effect on stability is tested, rad or m."""


@kernel
def predict_stops(requests: Requests, results: Results, first: int, last: int, situation: Situation) -> None:
    """Predict the stops of the rows from `first` to before `last` of the requests.

    The longer ones, with an intermediate target, start first, so that the last ones to start delay the others least.
    """
    count, variants = last - first, situation.states.shape[0]
    chosen, index = np.empty(count, np.int64), 0
    for leads in range(1, -1, -1):
        for row in range(first, last):
            if (requests.leads[row] > 0.0) == (leads > 0):
                chosen[index] = row
                index += 1
    runners, supports = count * variants, situation.layout.instants - situation.layout.least
    runs = Runs(
        np.empty((runners, supports)),
        np.empty((runners, supports)),
        np.empty((runners, 2 * supports)),
        np.empty(runners),
        np.empty(runners, np.int64),
    )
    run_lanes(requests, chosen, situation, runs)
    for i in range(count):
        row, offset = chosen[i], i * variants
        worst, off = summed(runs, offset)
        for k in range(offset + 1, offset + variants):
            if runs.least[k, 0] == np.inf:
                continue  # it never started
            other, other_off = summed(runs, k)
            standing, off = min(worst.standing, other.standing), max(off, other_off)
            pushes, rest = min(worst.pushes, other.pushes), min(worst.rest, other.rest)
            if other.least < worst.least:
                worst = Stop(other.least, other.contact, other.ahead, standing, pushes, rest)
            else:
                worst = Stop(worst.least, worst.contact, worst.ahead, standing, pushes, rest)
        results.least[row], results.contact[row] = worst.least, worst.contact
        results.ahead[row], results.standing[row], results.off[row] = worst.ahead, worst.standing, off
        results.pushes[row], results.rest[row] = worst.pushes, worst.rest
        # the rest of a stop that was cut off may be worse than all others
        followed = runs.outcome[offset : offset + variants].max() == AT_REST
        results.followed[row] = worst.least == -np.inf or followed


@kernel
def predict_fields(*fields: Any) -> None:
    """Predict the first request, from the fields of requests, results and situation."""
    first, last = np.int64(0), np.int64(1)  # with literals Numba compiles `predict_stops` again
    predict_stops(Requests(*fields[:4]), Results(*fields[4:12]), first, last, situation_of(fields[12:]))


@part
def summed(runs: Runs, runner: int) -> tuple[Stop, float]:
    """Return the stop of a runner, the worst of all shares, and the last time at which a wheel was off the ground, s.

    The shares with the rated payload at rest in the end count as well. If a number is not finite, the worst possible
    stop is returned.
    """
    least, standing, worst = runs.least[runner], runs.standing[runner], 0
    count, limited = least.shape[0], 0
    for i in range(count):
        is_valid = np.isfinite(least[i]) and np.isfinite(runs.instant[runner, i]) and np.isfinite(standing[i])
        if not is_valid or np.isnan(standing[count + i]):
            return Stop(-np.inf, 0, 0.0, -np.inf, -np.inf, -np.inf), np.inf
    for i in range(count):
        if least[i] < least[worst]:
            worst = i
        if standing[count + i] < standing[count + limited]:
            limited = i
    pushes, lowest, rest = least[worst], standing.min(), standing[:count].min()
    if standing[count + limited] < pushes:
        return Stop(standing[count + limited], limited, 0.0, lowest, pushes, rest), runs.off[runner]
    return Stop(pushes, worst, runs.instant[runner, worst], lowest, pushes, rest), runs.off[runner]


@kernel
def eases_of(command: Array, situation: Situation, eases: Flags) -> None:
    """Write to `eases` (l,) whether a small motion in the direction of each command (l,) improves static stability."""
    levers, layout = situation.levers, situation.layout
    state, rest = situation.states[0].copy(), np.empty(2 * (layout.instants - layout.least))
    now = least_standing(situation, state, rest)
    for j in range(command.shape[0]):
        actuator = levers.order[j]
        joint = levers.joints[actuator]
        here = state[joint]
        state[joint] += EASE * np.sign(command[j] * levers.arms[actuator])
        eases[j] = least_standing(situation, state, rest) > now
        state[joint] = here


@part
def least_standing(situation: Situation, state: Array, rest: Array) -> float:
    """Return the least share at rest in all variants at the joints of a state; `rest` (2 w,) is overwritten."""
    least = np.inf
    for h in range(situation.states.shape[0]):
        write_standing(situation, h, state, rest)
        least = min(least, rest.min())
    return least
