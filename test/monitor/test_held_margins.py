"""Inputs and outputs of a monitor: margins while wheels lift and land, and messages of a wrong length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.campaign import read_cases
from dyn_nodes.governor.campaign.cases import box_of
from dyn_nodes.governor.campaign.governed_run import Rig, sample_of
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

FAILURES = Path(__file__).parents[1] / 'governor' / 'governor_failures.jsonl'


def test_margins_evaluated_rarely_are_held_as_if_evaluated_always():
    """A log-loader that tips over: both monitors agree at every seventh instant, while wheels lift and land."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    trial = Rig(machine).trial(read_cases(FAILURES, box_of(machine))[2], governed=False)
    often, seldom = (StabilityMonitor(machine, ('zmp',)) for _ in range(2))
    alert = compared = 0
    for k, levers in enumerate(trial.levers):
        trial.step(levers)
        if trial.plant.overturned:
            break
        time, q, v, (orientation, turn, force) = sample_of(trial.plant, True)
        for monitor in (often, seldom):
            monitor.imu(time, turn, force, orientation)
            monitor.joints(time, q, v)
        if not often.settled:
            continue
        held = often.balance().margins['zmp'].edges
        if k % 7 == 0:
            np.testing.assert_array_equal(seldom.balance().margins['zmp'].edges, held)
            compared += 1
            alert += often.guard.span(time) > 0.0
    assert compared > 50
    assert alert > 5


@pytest.mark.parametrize('wrong', [(np.zeros(2), np.zeros(3), None), (np.zeros(3), np.zeros(3), np.ones(3))])
def test_an_imu_message_of_a_wrong_length_is_rejected(wrong):
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    with pytest.raises(ValueError, match='could not broadcast'):
        StabilityMonitor(machine, ('zmp',)).imu(0.0, *wrong)
