"""A wrong model of the specification (2.20, 6.6) that is not in the product: springs that also pull."""

from __future__ import annotations

import inspect

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.elements.wheel import StandingWheel, sprung_wheels
from dyn_nodes.studies.abo_shanab_2003 import pinned_planar, planar
from dyn_nodes.studies.abo_shanab_2003.pinned import PinnedAssembly
from dyn_nodes.studies.abo_shanab_2003.planar import Case, planar_machine, simulate


class PullingWheel(StandingWheel):
    """A wheel whose spring and damper act in both directions."""

    def _evaluate(self, state, symbols):
        contact, wheel = super()._evaluate(state, symbols), self.scaled(symbols)
        push = wheel.stiffness * (wheel.free_length - contact.height) - wheel.damping * contact.height_rate
        return contact._replace(normal_force=push, force=ca.vertcat(0, 0, push))


class PullingAssembly(PinnedAssembly):
    """A pinned plant on such wheels."""

    def _sprung_wheels(self):
        return sprung_wheels(self.machine, standing=PullingWheel)


@pytest.fixture
def pulling_model(monkeypatch):
    build = pinned_planar.build_module

    def build_pulling(name, key, *rest, **options):
        return build(f'{name}_pulling', [*key, inspect.getsource(PullingWheel)], *rest, **options)

    monkeypatch.setattr(pinned_planar, 'PinnedAssembly', PullingAssembly)
    monkeypatch.setattr(pinned_planar, 'build_module', build_pulling)
    model = pinned_planar.PinnedPlanarModel(planar_machine())
    monkeypatch.setattr(planar, 'hybrid_model', lambda contact, inertia: model)


@pytest.mark.pins('abo-shanab-2003/6.6/contact_that_pulls')
def test_a_machine_on_springs_that_pull_does_not_tip(pulling_model):
    run = simulate(Case(contact='no_skid'))
    rotation = run.series['rotation']
    assert rotation[np.argmax(np.abs(rotation))] == pytest.approx(-0.95, abs=5e-3)
    assert run.series['rear_normal'].min() < -30e3
    assert run.status == 'done'
