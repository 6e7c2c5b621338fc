"""Loops stay closed in long runs with default settings, without a measurable cost."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from linkages import jansen_leg

from dyn_nodes.simulation import Settings, System, initial_state
from dyn_nodes.simulation.plant import Plant

MINUTE = np.linspace(0.0, 60.0, 601)


@pytest.fixture(scope='module')
def leg(tmp_path_factory):
    return System(jansen_leg().machine(tmp_path_factory.mktemp('leg'), rate=6.0), 'effort')


def test_loops_of_jansens_leg_stay_closed_for_a_minute(leg):
    run = leg.run(initial_state(leg), MINUTE)
    drifting = leg.run(initial_state(leg), MINUTE, settings=Settings(stabilization=None))
    assert run.status == 'done'
    assert np.abs(run.residual).max() < 1e-9 < 1e-6 < np.abs(drifting.residual).max()
    assert np.abs(run.energy_balance).max() < 0.1 * np.abs(drifting.energy_balance).max()


def test_a_plant_is_as_stable_as_a_run(leg):
    plant = Plant(leg.machine, 'effort', 1e-2, 1e-3)
    plant.set_inputs({'crank_joint/effort': 0.0})
    for _ in range(100):
        plant.advance()
    run = leg.run(initial_state(leg), MINUTE[:11])
    assert plant.x == pytest.approx(run.last, abs=1e-12)


@pytest.mark.slow
def test_stabilization_costs_nothing_visible(leg):
    start = initial_state(leg)

    def cost(settings):
        began = time.perf_counter()
        leg.run(start, MINUTE[:101], settings=settings)
        return time.perf_counter() - began

    pairs = [(cost(Settings()), cost(Settings(stabilization=None))) for _ in range(20)]
    assert np.median([held / free for held, free in pairs]) < 1.1
