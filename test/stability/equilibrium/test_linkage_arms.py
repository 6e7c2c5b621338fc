"""Tipping load of an excavator on tracks, its arm with linkages, from a load chart against MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mujoco_ramp import Staircase

from dyn_nodes.analysis.load_chart import ChartSettings, limits_of
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine


@pytest.mark.parametrize('swing', [0.0, np.pi / 2])
def test_tipping_load_of_the_chart_is_that_of_mujoco(swing):
    """The machine comes to rest with 0.2 % less than the tipping load, leaning; it falls with 0.2 % more."""
    machine = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    statics = LoadStatics(machine)
    arm = np.array([[0.2, -0.7, 0.3]])
    limits = limits_of(statics, ChartSettings(), arm, np.array([swing]))
    load = float(limits.equilibria(np.array([[0.0, 0.0, -9.81]]), False)[1][0, 0])
    at = {'swing_joint': swing} | {joint.name: value for joint, value in zip(statics.arm, arm[0].tolist())}
    for linkage in statics.linkages:
        positions = linkage.positions(np.array([at[linkage.coordinate]]))[0]
        at |= dict(zip(linkage.joints, positions.tolist()))
    posed = replace(machine.initial, joint_positions=machine.initial.joint_positions | at)
    # without loops all joints of the arm are driven ones, which the model holds
    stairs = Staircase(replace(machine, initial=posed, constraints=(), joint_classes=()))
    q = stairs.state_after(stairs.start, 0.95 * load)
    q = stairs.state_after(q, 0.998 * load)
    assert stairs.tilt < 0.2
    stairs.state_after(q, 1.002 * load)
    assert stairs.tilt > 0.5
