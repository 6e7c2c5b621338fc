"""`m.simulate(accuracy=...)`: the greatest error of drawn manoeuvres is below the stated one."""

from __future__ import annotations

import numpy as np
import pytest

import dyn_nodes as dn
from benchmarks import population
from benchmarks.population import error_of

DRAWN, SECONDS = 20, 10.0
FINEST = 5e-5
"""Step of the reference solution, s."""


def manoeuvre(rng):
    """Return voltages of all valves, piecewise linear with rests, and a payload, kg."""
    knots = np.concatenate([[0.0], np.sort(rng.uniform(0.0, SECONDS, 6))])
    volts = {name: (knots, rng.uniform(-6.0, 6.0, 7) * (rng.random(7) < 0.7)) for name in ('boom', 'stick', 'swing')}
    return volts, float(rng.uniform(0.0, 2500.0))


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


@pytest.mark.parametrize('number', [0, 1, 2, pytest.param(range(3, DRAWN), marks=pytest.mark.slow)])
def test_the_greatest_error_of_drawn_manoeuvres_is_below_the_stated_one(loader, number):
    for seed in number if isinstance(number, range) else [number]:
        volts, payload = manoeuvre(np.random.default_rng(seed))
        run = loader.simulate(SECONDS, voltage=volts, payload=payload, accuracy=1e-4)
        reference = loader.simulate(SECONDS, voltage=volts, payload=payload, step=FINEST)
        assert run.status == reference.status == 'done'
        true = error_of(run, reference)
        assert true <= run.error <= 1e-4, (seed, true, run.error)


@pytest.mark.parametrize('name', ['telehandler', 'forwarder', 'rover'])
def test_machines_that_meet_stops_and_lift_off_keep_the_accuracy(name):
    """Equal steps of 1 ms have errors of 2e-3 to 6e-2 here, and no status says so."""
    m = dn.load(name)
    for seed in (0, 1):
        arguments = population.manoeuvre(m, seed, 5.0)
        run = m.simulate(5.0, accuracy=1e-4, **arguments)
        exact = m.simulate(5.0, accuracy=1e-7, **arguments)
        equal = m.simulate(5.0, step=1e-3, **arguments)
        default = m.simulate(5.0, **arguments)
        assert run.status == exact.status == equal.status == default.status == 'done'
        assert error_of(run, exact) <= run.error == 1e-4
        assert error_of(default, exact) < 0.1 * error_of(equal, exact)
        assert error_of(equal, exact) > 1e-3


@pytest.mark.parametrize('accuracy', [1e-3, 1e-5])
def test_a_run_that_tips_keeps_every_accuracy(loader, accuracy):
    run = loader.simulate(task='pick_and_place_recovery', payload=5100.0, accuracy=accuracy)
    reference = loader.simulate(task='pick_and_place_recovery', payload=5100.0, step=1.25e-5)
    assert max(run.tilt) > 0.1
    assert error_of(run, reference) <= run.error <= accuracy


def test_a_coarse_accuracy_needs_fewer_steps_than_equal_ones(loader):
    volts, payload = manoeuvre(np.random.default_rng(1))
    run = loader.simulate(SECONDS, voltage=volts, payload=payload, accuracy=1e-4)
    equal = loader.simulate(SECONDS, voltage=volts, payload=payload, step=1e-3)
    assert 2 * sum(run.raw.counts.values()) < 0.5 * SECONDS / equal.raw.step, 'both runs together'


def test_an_accuracy_that_no_step_keeps_is_not_done(loader):
    volts, payload = manoeuvre(np.random.default_rng(1))
    run = loader.simulate(1.0, voltage=volts, payload=payload, accuracy=1e-15)
    assert run.status == 'inaccurate'
    assert 'accuracy: expected at most 1e-15' in run.detail
    assert run.error > 1e-15


def test_functions_and_invalid_numbers_are_rejected(loader):
    with pytest.raises(ValueError, match='expected inputs as numbers, tables or a task, found a function'):
        loader.simulate(1.0, voltage=lambda t, x: {'boom': 1.0}, accuracy=1e-4)
    for accuracy in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match='accuracy: expected'):
            loader.simulate(1.0, voltage={'boom': 1.0}, accuracy=accuracy)
    assert np.isnan(loader.simulate(0.1, voltage={'boom': 1.0}).error)
