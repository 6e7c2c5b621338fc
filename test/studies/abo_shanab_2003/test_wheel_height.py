"""Sensitivity of P3D to the height of the wheels (spec 6.8, G8): with 20 % more height the recovery is too late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.simulation import System
from dyn_nodes.studies.abo_shanab_2003 import spatial_runs
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import REACH, RECOVERY, log_loader, profile_run


def recovered(monkeypatch, change):
    machine = replace(log_loader(), wheels=tuple(change(wheel) for wheel in log_loader().wheels))
    changed = System(machine)
    monkeypatch.setattr(spatial_runs, 'system', lambda variant='standard': changed)
    return profile_run((REACH, RECOVERY), 16.0)


def lowered(factor):
    return lambda wheel: replace(wheel, position=wheel.position * np.array([1.0, 1.0, factor]))


@pytest.mark.pins('abo-shanab-2003/6.8/height')
def test_wheels_a_fifth_farther_below_the_base_overturn_the_machine(monkeypatch):
    """The height is the distance of the attachments below the base, 1.20 m: r_w of G8."""
    assert recovered(monkeypatch, lowered(1.2)).overturned
    assert recovered(monkeypatch, lowered(1.1)).peak == pytest.approx(10.32, rel=0.01)


@pytest.mark.slow
def test_a_longer_free_length_of_the_springs_does_not(monkeypatch):
    """The other height of a wheel in G8, l_o, does not have this effect."""
    run = recovered(monkeypatch, lambda wheel: replace(wheel, free_length=1.2 * wheel.free_length))
    assert run.peak == pytest.approx(8.50, rel=0.01)
