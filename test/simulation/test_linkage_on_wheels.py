"""The log-loader on wheels with cylinders as bodies, compared with massless cylinders in closed form."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.simulation import System, initial_state
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.lumping import course, log_loader, lumped_alike


def test_it_rests_on_its_wheels_as_the_plain_log_loader():
    """Mass and centre of mass are equal at rest, and so are the pose on the springs and the tyre deflections."""
    plain, bodies = log_loader(), log_loader('linkage')
    start = constrained_machine(bodies, actuation='hydraulic')
    rest = start.at_rest()
    system = System(plain)
    x = initial_state(system)
    assert rest.q[:7] == pytest.approx(x[:7], abs=1e-7)
    deflections = {
        name: value for name, value in rest.states.items() if name.startswith(tuple(w.name for w in plain.wheels))
    }
    expected = {name: x[system.index('state', name)] for name in deflections}
    assert len(deflections) == 8
    assert deflections == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_with_lumped_masses_it_performs_the_demo_like_the_plain_log_loader():
    """Lift-off, peak and touch-down: massless bodies equal the closed form up to the error of the integrators."""
    plain = log_loader()
    formula, bodies = course(plain), course(lumped_alike(log_loader('linkage'), plain))
    assert bodies == pytest.approx(formula, rel=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_with_distributed_masses_it_tips_less():
    """Numbers of `python -m benchmarks.lumping`: lumped masses change the peak by 6.6 %."""
    result = course(log_loader('linkage'))
    assert (result.lift_off, result.peak, result.touch_down) == pytest.approx((8.344, 7.983, 11.728), rel=1e-3)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_stays_at_rest_for_a_minute_and_its_wheels_carry_its_weight():
    machine = log_loader('linkage')
    plant = Plant(machine, 'hydraulic', 2e-3, 1e-3, measures=())
    start = plant.x[: plant.system.nq].copy()
    weight = machine.gravity * (machine.total_mass + machine.payload.mass)
    for _ in range(60):
        for _ in range(500):
            plant.advance()
        carried = sum(plant.output(f'{wheel.name}/normal_force') for wheel in machine.wheels)
        assert carried == pytest.approx(weight, rel=1e-6)
    assert np.abs(plant.x[: plant.system.nq] - start).max() < 1e-8
    assert plant.take_events() == []
