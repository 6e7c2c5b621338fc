"""The adversary of the governor on a planar machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import box_of, decoded, dimension
from dyn_nodes.governor.campaign.emergency_stops import emergency_stops
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.run_outcome import RESTLESS

SLOPE = np.radians(2.0)
"""Steepest ground on which it rests: its wheels have the friction of ice."""


@pytest.fixture(scope='module')
def rig(planar):
    return Rig(planar)


def test_no_wheel_lifts_with_the_governor_and_many_do_without(planar, rig):
    cases = random_cases(box_of(planar, mass_error=0.0, slope=SLOPE), 12, seed=1)
    governed = [run for run in (rig.run(case) for case in cases) if not run.refused]
    free = [rig.run(case, governed=False) for case in cases]
    assert len(governed) >= 10
    assert not any(run.lifted or run.lost for run in governed)
    assert np.mean([run.let_through for run in governed]) > 0.4
    assert sum(run.lifted for run in free) > 4


def test_ground_slopes_along_the_plane_only_and_nothing_is_off_the_plane(planar):
    box = box_of(planar, slope=SLOPE, center_error=0.02)
    vectors = np.random.default_rng(1).uniform(-1.0, 1.0, (60, dimension(box)))
    cases = random_cases(box, 60, seed=1) + [decoded(box, vector) for vector in vectors]
    assert not any(case.roll for case in cases)
    assert {case.center for case in cases} == {(0.0, 0.0), (0.02, 0.0), (-0.02, 0.0)}
    assert max(case.pitch for case in cases) > 0.7 * SLOPE
    assert min(case.pitch for case in cases) < -0.7 * SLOPE
    assert max(abs(case.pitch) for case in cases) <= SLOPE + 1e-5


@pytest.mark.parametrize('governed', [True, False])
def test_a_machine_that_slides_at_its_start_has_no_run(planar, rig, governed):
    case = replace(random_cases(box_of(planar), 1, seed=1)[0], pitch=0.08, mass=1.0)
    assert rig.run(case, governed) == RESTLESS
    assert RESTLESS.refused


def test_a_machine_that_slides_at_its_start_has_no_stops(planar, rig):
    case = replace(random_cases(box_of(planar), 1, seed=1)[0], pitch=0.08, mass=1.0)
    stopped = emergency_stops(rig, case)
    assert (stopped.stops, stopped.refused, stopped.ended) == (0, True, False)
