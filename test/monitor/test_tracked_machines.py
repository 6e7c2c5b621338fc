"""The stability monitor on crawler tracks: reactions, pressure and margins from measured joints at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.commands.machine_summary import static_summary
from dyn_nodes.common.share import find_resource
from dyn_nodes.measures import MEASURES
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Slope
from dyn_nodes.monitor.allowance import Allowances
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.monitor.standing import StandingGround

MEASURED = tuple(name for name, record in MEASURES.items() if record.least_feet <= 4 and not record.of_friction)
HALF_LENGTH, HALF_GAUGE, WEIGHT = 1.685, 1.1, 20320.0 * 9.81


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))


def monitor_at_rest(machine, payload=0.0, slope=None):
    """Return a monitor that has received the joints at rest for a second, without an IMU."""
    monitor = StabilityMonitor(machine, MEASURED, slope=slope)
    monitor.payload = payload
    q = np.array([machine.initial.joint_positions[name] for name in monitor.model.joints])
    for k in range(101):
        monitor.joints(0.01 * k, q, np.zeros(len(q)))
    return monitor


@pytest.mark.parametrize('payload', [0.0, 2500.0])
def test_loads_and_margins_of_tracks_at_rest_equal_those_of_equilibrium(machine, payload):
    """Loads, centres of pressure and margins; with 2.5 t in the bucket the rear rollers carry nothing."""
    balance = monitor_at_rest(machine, payload).balance()
    expected = static_summary(replace(machine, payload=replace(machine.payload, mass=payload)))
    assert balance.wheels == ('left_track', 'right_track')
    for k, (name, wheel) in enumerate(expected['wheels'].items()):
        assert balance.wheels[k] == name
        assert balance.forces[k][2] == pytest.approx(wheel['load'], rel=1e-6)
        assert balance.points[k][:2] == pytest.approx(wheel['contact'], abs=1e-3)
    assert balance.total_normal == pytest.approx(WEIGHT + 9.81 * payload, rel=1e-9)
    assert balance.moments.shape == (2, 3)
    for name, margin in expected['margins'].items():
        if name == 'moment_height':  # the table counts the machine as a point
            continue
        assert balance.margins[name].value == pytest.approx(margin['value'], rel=1e-3), name
        assert sorted(balance.names(name)) == sorted(margin['names'])


def test_the_corners_are_the_ends_of_the_tracks(machine):
    corners = np.array(monitor_at_rest(machine).balance().corners)
    expected = [(x * HALF_LENGTH, y * HALF_GAUGE) for x, y in ((-1, 1), (-1, -1), (1, -1), (1, 1))]
    assert corners[:, :2] == pytest.approx(np.array(expected), abs=5e-3)  # in the plane of the ground


def test_on_a_slope_friction_is_the_weight_along_it(machine):
    balance = monitor_at_rest(machine, slope=Slope(roll=0.0, pitch=0.2)).balance()
    expected = static_summary(replace(machine, slope=Slope(roll=0.0, pitch=0.2)))
    downhill = balance.forces.sum(axis=0)
    assert downhill == pytest.approx([-WEIGHT * np.sin(0.2), 0.0, WEIGHT * np.cos(0.2)], rel=1e-4, abs=1.0)
    assert balance.margins['static'].value == pytest.approx(expected['margins']['static']['value'], rel=1e-3)


def test_the_allowed_payload_is_that_of_the_tracks_and_reach_is_unknown_in_closed_loops(machine):
    monitor = monitor_at_rest(machine)
    ground = StandingGround(machine, monitor.model)
    ground.set_ground(monitor.footing.plane, monitor.up)
    allowance = Allowances(machine, ground).evaluate(monitor.q, monitor.v, 0.0)
    assert 500.0 < allowance.payload <= 2500.0
    assert (
        ground.standing_degree(monitor.q, allowance.payload) == pytest.approx(0.15, abs=1e-3)
        or allowance.payload == 2500.0
    )
    assert np.isnan(allowance.reach)
