"""The log-loader with bodies of its cylinders on its oil, on a fixed base."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.linkage_checks import piston_position
from dyn_nodes.model.machine import Base
from dyn_nodes.simulation import Inputs, Settings
from dyn_nodes.simulation.constrained_machine import constrained_machine

VOLTS = {'boom/voltage': -4.0, 'stick/voltage': -6.0, 'swing/voltage': 3.0}


@cache
def loader():
    names = ('urdf/log_loader_linkage.urdf', 'config/log_loader_linkage.yaml')
    machine = load_machine(*map(find_resource, names))
    return replace(machine, base=Base(machine.base.link, 'fixed'), wheels=())


@pytest.fixture(scope='module')
def start():
    return constrained_machine(loader(), actuation='hydraulic')


def test_the_linkages_stay_at_rest_on_their_oil(start):
    run = start.system.run(start.x, [0.0, 1.0, 2.0], settings=Settings(step=5e-4))
    assert run.status == 'done'
    assert run.q == pytest.approx(np.tile(start.q, (3, 1)), abs=1e-9)


def test_energy_of_the_linkages_equals_work_less_heat(start):
    """Arm, rods, barrels, compressed oil, friction and flow at the lines balance up to the integrator's error."""
    exchanged, errors = 0.0, []
    for step in (2.5e-4, 1.25e-4):
        run = start.system.run(
            start.x,
            np.linspace(0.0, 0.4, 41),
            Inputs.constant(VOLTS),
            settings=Settings(step=step),
        )
        assert run.status == 'done'
        exchanged = np.abs(np.diff(run.work)).sum()
        errors.append(np.abs(run.energy_balance).max())
    assert exchanged > 1e3
    assert errors[1] < 1e-8 * exchanged


def test_boom_and_stick_move_with_their_pistons_by_the_closed_form(start):
    """The loops stay closed while all three valves are open; the closed form is that of the machine without bodies."""
    plain = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    run = start.system.run(
        start.x,
        np.linspace(0.0, 1.5, 16),
        Inputs.constant(VOLTS),
        settings=Settings(step=5e-4),
    )
    assert run.status == 'done'
    at = dict(zip(start.system.blocks.tree.position_names, run.q.T))
    for name in ('boom', 'stick'):
        formula = [piston_position(plain.actuator(name).linkage, q) for q in at[f'{name}_joint']]
        assert at[f'{name}_rod_joint'] == pytest.approx(formula, abs=1e-8)
        assert abs(formula[-1] - formula[0]) > 0.05
    assert at['rocker_joint'] == pytest.approx(at['stick_joint'], abs=1e-8)
