"""The log-loader with cylinders as bodies by its launch file: separate processes for dynamics, oil, levers and bag."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from domains import next_domain
from harness import launched

from dyn_nodes.analysis.bag_reading import BagData, read_bag
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.voltage_profile import load_voltage_profile
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

TASK = """name: both_cylinders
description: boom up, stick out
duration: 2.0
segments:
  - {name: move, start: 0.3, end: 2.0, ramp: 0.3, volts: {boom: 7.0, stick: -5.5}}
"""
DURATION = 2.0
PINS = ('boom_pin', 'rocker_pin', 'horn_pin')
HOLDING = 1.1
"""Ratio of effort limit to effort at rest: the boom cannot be lifted within it."""


def recorded(folder: Path, *words: str) -> BagData:
    """Run the launch file in lockstep with the task; return its bag."""
    task, bag = folder / 'task.yaml', folder / 'bag'
    task.write_text(TASK)
    arguments = ['mode:=lockstep', f'duration:={DURATION}', f'task:={task}', 'record:=true', f'bag:={bag}', *words]
    launched(next_domain(), 'log_loader_linkage', *arguments, seconds=800.0)
    return read_bag(bag)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_oil_bodies_and_levers_in_processes_move_it_as_one_system_does(tmp_path):
    """Positions of the split system and of the monolithic plant are equal; pins, ground and margins are published."""
    bag = recorded(tmp_path)
    machine, states = machine_of('log_loader_linkage', ''), bag.table('joint_states')
    plant = Plant(machine, 'hydraulic', 5e-3, 5e-4, values={'joint_stop_scale': 1.0})
    names = [item.name for item in machine.actuators]
    task = load_voltage_profile(tmp_path / 'task.yaml', names)
    for _ in range(round(DURATION / plant.period)):
        volts = task.evaluate(plant.time, names).ravel()
        plant.set_inputs({f'{name}/voltage': value for name, value in zip(names, volts)})
        plant.advance()
    moved = dict(zip(plant.joints, plant.positions - [states[f'{name}/position'][0] for name in plant.joints]))
    assert moved['boom_joint'] > 0.01
    assert abs(moved['stick_joint']) > 0.01
    for name in plant.joints:
        travel = states[f'{name}/position'][-1] - states[f'{name}/position'][0]
        assert travel == pytest.approx(moved[name], abs=2e-3), name
    reactions = bag.below('constraint_reactions')
    assert set(PINS) <= set(reactions)
    assert np.abs(reactions['boom_pin']['fx']).max() > 1e4
    wheels = bag.below('ground_reactions')
    assert sum(item['fz'][0] for item in wheels.values()) == pytest.approx(
        machine.gravity * (machine.total_mass + machine.payload.mass), rel=1e-6
    )
    assert set(wheels) == {wheel.name for wheel in machine.wheels}
    assert len(bag.table('stability/static')) > 50
    health = [status for _, status in bag.statuses['diagnostics'] if status.name == 'dynamics_node: constraints']
    assert health
    assert max(float(status.values['drift']) for status in health) < 1e-6


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_cylinder_that_pushes_more_than_its_joint_takes_does_not_stop_time(tmp_path):
    """The run ends at its time; the boom is held while its cylinder exceeds the limit, and /diagnostics reports it."""
    urdf = find_resource('urdf/log_loader_linkage.urdf').read_text()
    machine = machine_of('log_loader_linkage', '')
    plant = Plant(machine, 'hydraulic', 5e-3, 5e-4)
    effort = plant.output('boom_rod_joint/drive_effort')
    limit = f'<limit lower="0.3" upper="1.35" effort="{HOLDING * abs(effort):.0f}" velocity="1"/>'
    assert '<limit lower="0.3" upper="1.35" effort="1000000" velocity="1"/>' in urdf
    weak = tmp_path / 'weak.urdf'
    weak.write_text(urdf.replace('<limit lower="0.3" upper="1.35" effort="1000000" velocity="1"/>', limit))
    config = find_resource('config/log_loader_linkage.yaml')
    bag = recorded(tmp_path, f'machine:={weak}', f'config:={config}')
    states = bag.table('joint_states')
    assert states.time[-1] == pytest.approx(DURATION, abs=0.011)
    assert np.isfinite(states['boom_rod_joint/position']).all()
    health = [status for _, status in bag.statuses['diagnostics'] if status.name == 'dynamics_node: commands']
    rejected = [status for status in health if 'rejected: out of range' in status.values]
    assert rejected
    assert "effort of 'boom_rod_joint': expected at most" in rejected[-1].values['last rejection']
