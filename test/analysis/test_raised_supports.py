"""Outriggers in the air do not support: tipping load, margins, plant, monitor and check equal those without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gear_cases import CASES
from load_witness import limits_at_start

from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.library.machine import Machine
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.plant import Plant

MEASURES = ('static', 'zmp', 'force_angle', 'net_moment', 'load_share', 'admissible')
GAP = 0.95
LEG = """
<link name="leg_{side}"><inertial><origin xyz="0 0 0"/><mass value="20"/><inertia ixx="1" ixy="0" ixz="0" iyy="1"
 iyz="0" izz="1"/></inertial></link>
<joint name="leg_{side}" type="{type}"><origin xyz="0 {y} 1.05"/><parent link="base_link"/><child link="leg_{side}"/>
 <axis xyz="0 0 -1"/><limit lower="0" upper="1.2" effort="100000" velocity="0.2"/></joint>
"""
PAD = '  pad_{side}: {{link: leg_{side}, position: [0, 0, 0], free_length: 0.1, stiffness: 4.0e+6}}\n'


def vehicle(directory, *, pads, legs='prismatic', down=0.0):
    """Return a crane of 4.4 t with its arm to the left and legs 3 m out, whose pads are 0.95 m above the ground."""
    urdf, config = ((CASES / f'pivot_crane_locked.{kind}').read_text() for kind in ('urdf', 'yaml'))
    sides = {'left': 3.0, 'right': -3.0}
    parts = ''.join(LEG.format(side=side, y=y, type=legs) for side, y in sides.items())
    config += ''.join(PAD.format(side=side) for side in sides) if pads else ''
    start = {'swing': np.pi / 2, 'luff': 0.0, 'extend': 1.4}
    if legs == 'prismatic':
        start |= {f'leg_{side}': down for side in sides}
    directory.mkdir(exist_ok=True)
    (directory / 'crane.urdf').write_text(urdf.replace('</robot>', f'{parts}</robot>'))
    (directory / 'crane.yaml').write_text(config)
    machine = load_machine(directory / 'crane.urdf', directory / 'crane.yaml')
    return replace(machine, initial=replace(machine.initial, joint_positions=start))


@pytest.fixture(scope='module', params=['prismatic', 'fixed'])
def pair(request, tmp_path_factory):
    """The vehicle with pads in the air, and without pads."""
    directory = tmp_path_factory.mktemp(request.param)
    return tuple(vehicle(directory / str(pads), pads=pads, legs=request.param) for pads in (True, False))


def chart_load(machine):
    return float(limits_at_start(machine).equilibria(np.array([[0.0, 0.0, -9.81]]), True)[1][0, 0])


def test_the_tipping_load_is_that_without_pads_everywhere(pair):
    loads = [
        (chart_load(machine), machine_summary(machine)['static']['tipping']['load'], Machine(machine).tipping().load)
        for machine in pair
    ]
    np.testing.assert_allclose(loads[0], loads[1], rtol=1e-6)
    np.testing.assert_allclose(loads[0], loads[0][0], rtol=1e-5)
    assert loads[0][0] < 3000.0


def test_margins_of_library_and_plant_are_those_without_pads(pair):
    of_library = [Machine(machine).margins(measures=MEASURES) for machine in pair]
    of_plant = [Plant(machine, 'effort', 0.01, 1e-3, MEASURES).balance().margins for machine in pair]
    for margins in (of_library, of_plant):
        for name in MEASURES:
            assert float(margins[0][name].value) == pytest.approx(float(margins[1][name].value), rel=1e-6, abs=1e-9), (
                name
            )
    assert float(of_library[0]['static'].value) < 0.8
    assert float(of_plant[0]['static'].value) == pytest.approx(float(of_library[0]['static'].value), rel=1e-3)


def test_margins_of_the_monitor_are_those_without_pads(pair):
    values = []
    for machine in pair:
        monitor = StabilityMonitor(machine, ('static', 'force_angle'))
        q = np.array([initial_positions(machine)[name] for name in monitor.model.joints])
        for k in range(200):
            monitor.joints(0.01 * k, q, 0.0 * q)
        margins = monitor.estimated_balance().margins
        values.append([margins[name].value for name in ('static', 'force_angle')])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def test_check_names_the_pads_in_the_air_and_their_gaps(pair):
    raised = machine_summary(pair[0])['static']['raised']
    assert raised == pytest.approx({'pad_left': GAP, 'pad_right': GAP}, abs=0.15)
    assert machine_summary(pair[1])['static']['raised'] == {}


def test_pads_on_the_ground_support(tmp_path):
    """Legs out by 0.955 m: the pads carry, and the machine tips about them."""
    up, down = (vehicle(tmp_path / str(out), pads=True, down=out) for out in (0.0, 0.955))
    assert not any(name.startswith('pad') for name in machine_summary(down)['static']['raised'])
    assert Machine(down).tipping().load > 2.0 * Machine(up).tipping().load
    values = [Machine(machine).margins(measures=('static',))['static'].value for machine in (up, down)]
    assert values[1] > values[0] + 0.15  # now least over the rear, as before
