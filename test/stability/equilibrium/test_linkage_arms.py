"""Tipping loads of load chart and certificates, of arms with linkages among others, against MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from mujoco_ramp import Staircase

from dyn_nodes.analysis.load_chart import ChartSettings, limits_of
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.analysis.standards import CertifySettings, certify
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine


def machine_of(name):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


@cache
def certificate_of(name):
    return certify(machine_of(name), 'iso10567', CertifySettings(step=3.0, vary=False))


def check_with_mujoco(machine, statics, at, load):
    """A machine comes to rest with 0.2 % less than its tipping load, leaning; it falls with 0.2 % more."""
    for linkage in statics.linkages:
        positions = linkage.positions(np.array([at[linkage.coordinate]]))[0]
        at = at | dict(zip(linkage.joints, positions.tolist()))
    posed = replace(machine.initial, joint_positions=machine.initial.joint_positions | at)
    # without loops all joints of the arm are driven ones, which the model holds
    stairs = Staircase(replace(machine, initial=posed, constraints=(), joint_classes=()))
    q = stairs.state_after(stairs.start, 0.95 * load)
    q = stairs.state_after(q, 0.998 * load)
    assert stairs.tilt < 0.2
    stairs.state_after(q, 1.002 * load)
    assert stairs.tilt > 0.5


@pytest.mark.parametrize('swing', [0.0, np.pi / 2])
def test_tipping_load_of_the_chart_is_that_of_mujoco(swing):
    machine = machine_of('excavator')
    statics, arm = LoadStatics(machine), np.array([[0.2, -0.7, 0.3]])
    limits = limits_of(statics, ChartSettings(), arm, np.array([swing]))
    load = float(limits.equilibria(np.array([[0.0, 0.0, -9.81]]), False)[1][0, 0])
    at = {'swing_joint': swing} | {joint.name: value for joint, value in zip(statics.arm, arm[0].tolist())}
    check_with_mujoco(machine, statics, at, load)


@pytest.mark.parametrize('name', ['excavator', 'log_loader', 'log_loader_linkage'])
@pytest.mark.parametrize('direction', ['over front', 'over side'])
def test_tipping_load_of_a_certificate_is_that_of_mujoco(name, direction):
    machine = machine_of(name)
    records = [each for each in certificate_of(name).records if each['direction'] == direction and each['farthest']]
    lowest = min(records, key=lambda record: record['tipping'])
    at = {'swing_joint': lowest['swing'], **lowest['joints']}
    check_with_mujoco(machine, LoadStatics(machine), at, lowest['tipping'])
