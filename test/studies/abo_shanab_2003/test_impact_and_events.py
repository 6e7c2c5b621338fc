"""The law of plastic impact, and event location in hybrid runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.constraints.impact import plastic_impact
from dyn_nodes.simulation import Inputs
from dyn_nodes.simulation.names import UnknownNameError
from dyn_nodes.studies.abo_shanab_2003.planar import hybrid_model, profile, profile_inputs
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import STANDING


@given(seed=st.integers(0, 10_000), contacts=st.integers(1, 3))
def test_an_impact_stops_the_contacts_and_adds_no_energy(seed, contacts):
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(5, 5))
    M, J, v = root @ root.T + 0.1 * np.eye(5), generator.normal(size=(contacts, 5)), generator.normal(size=5)
    impact = plastic_impact(M, J, v)
    np.testing.assert_allclose(J @ impact.velocity, 0.0, atol=1e-8)
    assert impact.energy_after <= impact.energy_before * (1 + 1e-12)
    np.testing.assert_allclose(M @ (impact.velocity - v), J.T @ impact.impulse, atol=1e-8)
    # an impact that has happened does not happen again
    np.testing.assert_allclose(plastic_impact(M, J, impact.velocity).impulse, 0.0, atol=1e-7)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r'found shapes \(3, 3\), \(1, 2\) and \(3,\)'):
        plastic_impact(np.eye(3), np.ones((1, 2)), np.zeros(3))


@pytest.fixture(scope='module')
def model():
    return hybrid_model('rigid', 'literal')


def run_with(model, step, spacing=0.01):
    p = model.parameters()
    times = np.arange(round(20 / spacing) + 1) * spacing
    return model.run(model.initial_state(p), STANDING, times, profile_inputs(profile('planar_pick_and_place')), p, step)


def test_events_are_located_far_below_the_step(model):
    """The onsets at steps of 2 ms and 0.1 ms differ by the integrator's error, not by the step."""
    coarse, fine = (run_with(model, step).of_kind('lift_off')[0].time for step in (2e-3, 1e-4))
    assert coarse == pytest.approx(fine, abs=2e-6)


def test_samples_lie_on_their_grid_whatever_happens_between(model):
    dense, sparse = run_with(model, 1e-3), run_with(model, 1e-3, spacing=0.1)
    np.testing.assert_array_equal(dense.states[::10], sparse.states)
    np.testing.assert_array_equal(dense.modes[::10], sparse.modes)


def test_runs_are_reproducible_bit_for_bit(model):
    np.testing.assert_array_equal(run_with(model, 1e-3).states, run_with(model, 1e-3).states)


def test_mistakes_are_named(model):
    p = model.parameters()
    x0 = model.initial_state(p)
    with pytest.raises(ValueError, match='expected a state vector of 16, found shape'):
        model.run(x0[:3], STANDING, np.linspace(0, 1, 11), Inputs.constant(), p)
    with pytest.raises(ValueError, match='multiple of the step'):
        model.run(x0, STANDING, np.linspace(0, 1, 11), Inputs.constant(), p, step=0.03)
    with pytest.raises(UnknownNameError, match='unknown parameter'):
        model.parameters({'payload': 1.0})
