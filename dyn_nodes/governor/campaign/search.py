"""A search for the worst lever sequence and machine of a box for a governor, by the cross-entropy method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.governor.campaign.campaign import Campaign, Record
from dyn_nodes.governor.campaign.cases import Box, decoded, dimension

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
