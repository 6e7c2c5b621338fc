"""One tipping load of a machine in one posture: load chart, check, library, plant (topics) and monitor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gear_cases import CASES
from load_witness import limits_at_start

from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.library.machine import Machine
from dyn_nodes.model import load_machine
from dyn_nodes.model.equilibrium import NoEquilibriumError, gravity_in_ground
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.stability.equilibrium.standing import gives_way

ROOT = Path(__file__).resolve().parents[2]
BELOW, ABOVE = 0.995, 1.005
REACHING = {
    'log_loader': {'swing_joint': 1.2, 'boom_joint': 0.2, 'stick_joint': -0.3},
    'pivot_crane': {'swing': 1.2, 'luff': 0.1, 'extend': 1.2},
    'pivot_crane_locked': {'swing': 1.2, 'luff': 0.1, 'extend': 1.2},
    'telehandler': {'luff_joint': 0.5, 'extend_joint': 2.5, 'fork_joint': -0.5},
    'forwarder': {'slew_joint': 1.3, 'boom_joint': 0.4, 'stick_joint': -0.6, 'extend_joint': 1.0},
    'rover': {'azimuth_joint': 1.4, 'shoulder_joint': 0.6, 'elbow_joint': -0.8},
}
"""Postures of machines that are not tested in their initial ones."""


def machines():
    """Return the names of the machines on springs with a payload."""
    names = {
        path.stem: (ROOT / 'urdf' / f'{path.stem}.urdf', path) for path in sorted((ROOT / 'config').glob('*.yaml'))
    }
    names |= {name: (CASES / f'{name}.urdf', CASES / f'{name}.yaml') for name in ('pivot_crane', 'pivot_crane_locked')}
    return {name: files for name, files in names.items() if files[0].exists() and 'payload:' in files[1].read_text()}


FILES = machines()


def reaching(name):
    """Return the machine with its arm out, without a payload limit; None if its base is not on springs."""
    machine = load_machine(*FILES[name])
    if machine.base.attachment == 'fixed' or not machine.supports or machine.rigid_wheels or machine.payload is None:
        return None
    positions = {**machine.initial.joint_positions, **REACHING.get(name, {})}
    return replace(
        machine,
        initial=replace(machine.initial, joint_positions=positions),
        payload=replace(machine.payload, mass=0.0, limit=1e6),
    )


@pytest.fixture(scope='module', params=sorted(FILES))
def machine_and_load(request):
    machine = reaching(request.param)
    if machine is None:
        pytest.skip('a base that does not stand on springs')
    tipping = machine_summary(machine)['static']['tipping']
    if tipping['load'] is None:
        pytest.skip('no payload tips it in this posture')
    return machine, tipping['load']


def plant_carrying(machine, mass, plant=None):
    """Return the plant at rest; the payload is a parameter of machines without constraints, a constant of others."""
    if machine.needs_constraints:
        return Plant(replace(machine, payload=replace(machine.payload, mass=mass)), 'effort', 0.01, 1e-3, ('static',))
    plant = plant or Plant(machine, 'effort', 0.01, 1e-3, ('static',))
    plant.set_payload(mass)
    plant.reset()
    return plant


def test_library_and_check_give_the_same_load(machine_and_load):
    machine, load = machine_and_load
    assert Machine(machine).tipping().load == pytest.approx(load, rel=1e-6)


def test_the_load_chart_gives_the_same_load(machine_and_load):
    machine, load = machine_and_load
    hanging = set(machine.idle_joints) - set(gives_way(machine))
    if machine.base.attachment == 'planar':
        pytest.skip('a machine in a plane')
    limits = limits_at_start(machine)
    hanging -= {name for linkage in limits.statics.linkages for name in (linkage.coordinate, *linkage.joints)}
    if hanging:
        pytest.skip('something hangs from the arm: the chart holds its joints')
    for to_the_fall in (False, True):  # by the edges where these decide, and by the path
        chart = limits.equilibria(gravity_in_ground(machine)[None], to_the_fall)[1]
        assert float(chart[0, 0]) == pytest.approx(load, rel=1e-5, abs=2e-6 * machine.total_mass)


def test_the_plant_is_stable_up_to_this_load_and_not_beyond(machine_and_load):
    machine, load = machine_and_load
    plant = plant_carrying(machine, BELOW * load)
    balance = plant.balance()
    assert balance is not None
    assert balance.margins['static'].value > 0.0
    tilt = plant.output('tilt')
    try:
        beyond = plant_carrying(machine, ABOVE * load, plant)
    except NoEquilibriumError:
        return
    assert gives_way(machine)  # it has come to rest on a stop
    assert beyond.output('tilt') > tilt + 0.02


def test_margins_of_the_library_vanish_at_this_load(machine_and_load):
    machine, load = machine_and_load
    library = Machine(machine)
    if gives_way(machine):
        pytest.skip('beyond it stands on a stop, as its plant does')
    posture = library.posture(payload=BELOW * load)
    margin = library.margins(posture, measures=('static',), payload=BELOW * load)['static']
    assert margin.value > 0.0
    assert margin.valid
    try:
        beyond = library.margins(measures=('static',), payload=ABOVE * load)['static']
    except ValueError:
        return  # it does not rest there
    hangs = any(name in machine.idle_joints for name in library.joints)
    assert hangs or not beyond.valid or beyond.value <= 0.0


def test_the_monitor_reports_tipping_there_or_rejects_the_machine_by_name(machine_and_load):
    machine, load = machine_and_load
    if gives_way(machine):
        with pytest.raises(GearError, match='stability monitor: expected supports that are rigid with the base'):
            StabilityMonitor(machine)
        return
    if machine.base.attachment != 'free' or any(name in machine.idle_joints for name in initial_positions(machine)):
        pytest.skip('not a machine of the monitor, or one on which something hangs')
    signs = []
    for share in (BELOW, ABOVE):
        monitor = StabilityMonitor(machine, ('static',))
        monitor.payload = share * load
        q = np.array([initial_positions(machine)[name] for name in monitor.model.joints])
        for k in range(200):  # without an IMU: the base comes to rest on its springs
            monitor.joints(0.01 * k, q, 0.0 * q)
        signs.append(monitor.estimated_balance().margins['static'].value > 0.0)
    assert signs == [True, False]
