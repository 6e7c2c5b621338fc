"""The plant loses its equilibrium at the loads that the tipping solver returns: lift-off of a wheel, and fall."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.equilibrium import NoEquilibriumError, gravity_in_ground
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.tipping import tipping_load

FILES = Path(__file__).parents[1] / 'running_gear'
BELOW, ABOVE = 0.985, 1.015
STOP = 0.15
"""Limit of the axle angle, rad."""


@pytest.fixture(scope='module')
def crane(tmp_path_factory):
    """Return the crane with its boom held to the left, on an axle that pivots between its stops.

    Without friction, which would hold the frame before the stop, because its wheels would have to slide.
    """
    text = (FILES / 'pivot_crane.yaml').read_text()
    posture = 'joint_positions: {swing: 1.5707963267948966, luff: 0.0, extend: 1.3}'
    config = tmp_path_factory.mktemp('crane') / 'crane.yaml'
    config.write_text(text.replace('initial: {', f'locked: [swing, luff, extend]\ninitial: {{{posture}, '))
    machine = load_machine(FILES / 'pivot_crane.urdf', config)
    return System(replace(machine, wheels=tuple(replace(wheel, friction=None) for wheel in machine.wheels)), 'effort')


@pytest.fixture(scope='module')
def tipping(crane):
    result = tipping_load(running_gear(crane.machine), gravity_in_ground(crane.machine))
    assert result.load == pytest.approx(728.0, rel=1e-3)
    assert result.fall == pytest.approx(1624.0, rel=1e-3)
    return result


def run(crane, start, payload):
    """Return the run of the machine at rest with a payload, then for 6 s with a slightly greater one."""
    x0 = initial_state(crane, crane.parameters({'payload_mass': start}))
    settings = Settings(step=1e-3, watch=True)
    return crane.run(x0, np.linspace(0.0, 6.0, 61), Inputs.constant({}), {'payload_mass': payload}, settings)


def test_the_front_wheel_carries_below_the_first_loss_and_the_stop_is_reached_above(crane, tipping):
    start = BELOW * tipping.load - 10.0
    below = run(crane, start, BELOW * tipping.load)
    assert below.output('front_right/normal_force').min() > 0.0
    assert np.abs(below.state('axle_pivot')).max() < 0.5 * STOP
    above = run(crane, start, ABOVE * tipping.load)
    assert above.status == below.status == 'done'
    assert above.output('front_right/normal_force')[-1] == 0.0
    assert above.state('axle_pivot')[-1] == pytest.approx(STOP, abs=1e-3)


def test_above_the_first_loss_the_start_is_the_machine_on_its_stop(crane, tipping):
    """It is at rest there, like after the motion from a lighter load."""
    payload = ABOVE * tipping.load
    start = initial_state(crane, crane.parameters({'payload_mass': payload}))
    moved = run(crane, BELOW * tipping.load - 10.0, payload)
    assert start[crane.index('state', 'axle_pivot')] == pytest.approx(moved.state('axle_pivot')[-1], abs=1e-4)
    assert run(crane, payload, payload).output('tilt') == pytest.approx(moved.output('tilt')[-1], abs=5e-4)


def test_the_machine_on_its_stop_rests_below_the_fall_and_overturns_above(crane, tipping):
    start = BELOW * tipping.fall - 10.0
    below = run(crane, start, BELOW * tipping.fall)
    assert (below.status, below.overturned) == ('done', False)
    assert below.output('front_right/normal_force')[-1] == 0.0
    assert below.state('axle_pivot')[-1] > STOP
    assert run(crane, start, ABOVE * tipping.fall).overturned
    for share in (0.99, 1.01):
        p = crane.parameters({'payload_mass': share * tipping.fall})
        if share < 1.0:
            initial_state(crane, p)
        else:
            with pytest.raises(NoEquilibriumError, match="tips over 'front_left' and 'rear_left'"):
                initial_state(crane, p)
