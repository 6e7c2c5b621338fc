"""Searches for the worst lever sequence and machine of a box: by the cross-entropy method, and by hill climbs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_nodes.governor.campaign.campaign import Campaign, Record
from dyn_nodes.governor.campaign.cases import Box, Case, decoded, dimension, neighbour

LEAST_SPREAD, FIRST_SPREAD = 0.1, 0.7
"""Standard deviations of every number of a case; the numbers range from -1 to 1."""


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search.

    Attributes:
        population: cases of a generation.
        elite: number of worst cases from which the next generation is drawn.
        smoothing: fraction by which mean and spread move to mean and spread of the elite.
        stall_limit: number of generations without a worse case after which the search restarts.
        seed: of the random numbers.
    """

    population: int = 40
    elite: int = 8
    smoothing: float = 0.7
    stall_limit: int = 6
    seed: int = 1


def search(campaign: Campaign, box: Box, evaluations: int, settings: SearchSettings | None = None) -> list[Record]:
    """Return all runs of a search, at most `evaluations`, in their order.

    Each generation is drawn from a normal distribution, which then moves to its worst cases (least score). If some
    generations have produced nothing worse, the distribution restarts from the whole range; the records are kept. It
    does not move to cases with a rejected start.
    """
    settings = settings or SearchSettings()
    rng = np.random.default_rng(settings.seed)
    records: list[Record] = []
    mean, spread, worst, waited = np.zeros(dimension(box)), np.full(dimension(box), FIRST_SPREAD), np.inf, 0
    while len(records) < evaluations:
        count = min(settings.population, evaluations - len(records))
        vectors = np.clip(rng.normal(mean, spread, (count, len(mean))), -1.0, 1.0)
        generation = campaign.run([decoded(box, vector) for vector in vectors])
        records += generation
        scores = np.array([np.inf if record.outcome.refused else record.outcome.score for record in generation])
        elite = vectors[np.argsort(scores, kind='stable')[: min(settings.elite, int(np.isfinite(scores).sum()))]]
        if len(elite):
            mean = mean + settings.smoothing * (elite.mean(axis=0) - mean)
            spread = spread + settings.smoothing * (np.maximum(elite.std(axis=0), LEAST_SPREAD) - spread)
        waited = 0 if scores.min() < worst - 1e-3 else waited + 1
        worst = min(worst, float(scores.min()))
        if waited >= settings.stall_limit:
            mean, spread, worst, waited = np.zeros(len(mean)), np.full(len(mean), FIRST_SPREAD), np.inf, 0
    return records


def climb(campaign: Campaign, box: Box, starts: Sequence[Case], steps: int, seed: int) -> list[Record]:
    """Return all runs of hill climbs from some cases, in their order: the starts first, then one step of each.

    A step runs a neighbour of the worst case of its climb so far, and continues from it if it is worse. Starts that are
    rejected are replaced by their neighbours until one is not. The climbs proceed together, so that all processes work.
    """
    rngs = [np.random.default_rng((seed, number)) for number in range(len(starts))]
    records = campaign.run(starts)
    here = list(records)
    for _ in range(steps):
        tried = campaign.run([neighbour(box, record.case, rng) for record, rng in zip(here, rngs)])
        records += tried
        here = [new if _is_worse(new, old) else old for new, old in zip(tried, here)]
    return records


def _is_worse(new: Record, old: Record) -> bool:
    """Return whether a run is at least as bad as another one, and its start is not rejected."""
    return not new.outcome.refused and (old.outcome.refused or new.outcome.score <= old.outcome.score)
