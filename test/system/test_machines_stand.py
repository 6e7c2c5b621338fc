"""Every machine of this package is at rest: no acceleration, no drift, and the ground carries its weight.

The machines are the files in config/ with a URDF or a launch file of their name: new ones are covered automatically.
A machine without a launch file starts by launch/machine.launch.xml.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from domains import next_domain
from harness import launched

from dyn_nodes.analysis.bag_reading import BagData, read_bag
from dyn_nodes.constraints import constrained_dynamics
from dyn_nodes.middleware.launching import declared_arguments
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.elements import ContactElement
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

ROOT = Path(__file__).resolve().parents[2]
MACHINES = sorted(
    path.stem
    for path in (ROOT / 'config').glob('*.yaml')
    if (ROOT / 'urdf' / f'{path.stem}.urdf').exists() or (ROOT / 'launch' / f'{path.stem}.launch.xml').exists()
)
QUICK = {'log_loader': 'hydraulic', 'four_bar': 'effort'}
"""Machines compiled by other tests, with their actuation."""
MINUTE, PERIOD = 60.0, 0.01
DRIFT = 1e-6  # m or rad
SETTLED, SAG = 5.0, 1e-3
"""Time after which nothing moves, s, and greatest motion until then, m, rad or share of the weight."""
OF_WEIGHT = 1e-6


def machine_named(name: str) -> Machine:
    """Return the machine of the launch file or of the files with this name."""
    path = ROOT / 'launch' / f'{name}.launch.xml'
    if not path.exists():
        return machine_of(name, '')
    defaults = {argument.name: argument.default for argument in declared_arguments(path)}
    return machine_of(defaults['machine'], defaults.get('config', ''))


def standing(name: str) -> Machine:
    """Return a machine that starts at rest; skip machines that their files set in motion, such as the disc."""
    machine = machine_named(name)
    if machine.initial.moves:
        pytest.skip(f'{name} starts in motion: see test/vehicles/test_rolling_disc.py')
    return machine


def weight_of(machine: Machine) -> float:
    return machine.gravity * (machine.total_mass + (machine.payload.mass if machine.payload else 0.0))


def rolls_by_constraint(machine: Machine) -> list[str]:
    return [item.name for item in machine.constraints if item.kind == 'wheel']


def test_there_are_machines_of_every_kind():
    machines = [machine_named(name) for name in MACHINES]
    assert len(machines) >= 20
    assert any(machine.actuators for machine in machines)
    assert any(machine.contacts for machine in machines)
    assert any(machine.needs_constraints and machine.supports for machine in machines)
    assert any(rolls_by_constraint(machine) for machine in machines)


@pytest.mark.parametrize('name', MACHINES)
def test_at_rest_nothing_accelerates_and_the_ground_carries_the_weight(name):
    """Evaluated by CasADi, without machine code: drives, oil, springs and constraints hold the machine."""
    machine = standing(name)
    start = constrained_machine(machine, actuation='hydraulic' if machine.actuators else 'effort')
    blocks, rest = start.system.blocks, start.at_rest()
    numbers, still, drives = blocks.numbers(rest.states), np.zeros(blocks.tree.nv), np.zeros(blocks.tree.nv)
    for joint in start.system.constraints.actuated:
        drives[blocks.tree.velocity_index(joint)] = rest.efforts.get(joint, 0.0)
    result = constrained_dynamics(blocks, rest.q, still, drives, numbers, method='saddle')
    assert np.abs(result.acceleration).max() < 1e-7
    contacts = [contact for contact in blocks.forces if isinstance(contact, ContactElement)]
    assert len(contacts) == len(machine.wheels) + len(machine.contacts)
    if contacts and not rolls_by_constraint(machine):
        points = [point for contact in contacts for point in contact.ground_points(blocks.state, blocks.parameters)]
        total = sum((point.force for point in points), ca.SX(3, 1))
        ground = ca.Function('ground', [blocks.q, blocks.v, blocks.parameters.vector], [total])
        force = np.array(ground(rest.q, still, numbers)).ravel() / weight_of(machine)
        assert force == pytest.approx([0.0, 0.0, 1.0], abs=OF_WEIGHT)


@pytest.mark.parametrize('name', QUICK)
def test_a_machine_stands_for_a_minute(name):
    """As in dynamics_node without a command: closed valves, or held joints."""
    machine = machine_named(name)
    plant = Plant(machine, QUICK[name], PERIOD, 1e-3, values={'joint_stop_scale': 1.0})
    positions, base = plant.positions.copy(), plant.base_pose()[0].copy()
    for _ in range(round(MINUTE / PERIOD)):
        if QUICK[name] == 'effort':
            plant.set_efforts(plant.servo_efforts(positions, np.zeros(len(positions))))
        plant.advance()
    assert plant.take_events() == []
    assert np.abs(plant.positions - positions).max() < DRIFT
    assert np.abs(plant.base_pose()[0] - base).max() < DRIFT
    if machine.supports:
        assert plant.balance().total_normal == pytest.approx(weight_of(machine), rel=OF_WEIGHT)


# -- launch files ----------------------------------------------------------------------------------------------------


def recorded(name: str, duration: float, bag: Path) -> BagData:
    """Run a machine's launch file in lockstep without commands, in one process if possible; return its bag."""
    file = ROOT / 'launch' / f'{name}.launch.xml'
    words = [name] if file.exists() else ['machine', f'machine:={name}']
    words += ['mode:=lockstep', 'compose:=true', 'record:=true', f'bag:={bag}', f'duration:={duration}']
    if oil_actuators(machine_named(name).actuators):
        words.append('task:=')
    if file.exists() and '<arg name="path"' in file.read_text():
        words.append('path:=')
    launched(next_domain(), *words, seconds=1500.0)
    return read_bag(bag)


def check_motion(times: np.ndarray, positions: np.ndarray) -> None:
    """Check coordinates (n, t) of a machine at rest."""
    assert np.abs(positions - positions[:, :1]).max() < SAG
    after = positions[:, times >= SETTLED]
    assert np.abs(after - after[:, :1]).max() < DRIFT


def check_bag(machine: Machine, bag: BagData, duration: float) -> None:
    states = bag.table('joint_states')
    assert states.time[-1] == pytest.approx(duration, abs=0.011)
    check_motion(states.time, np.array([states[f'{joint.name}/position'] for joint in machine.movable_joints]))
    if machine.base.attachment != 'fixed':
        odom = bag.table('odom')
        check_motion(odom.time, np.array([odom[axis] for axis in 'xyz']))
    standing = [item.name for item in (*machine.wheels, *machine.contacts)] + rolls_by_constraint(machine)
    reactions = bag.below('ground_reactions')
    assert set(reactions) == set(standing)
    if standing:
        first = next(iter(reactions.values()))
        off = np.abs(sum(item['fz'] for item in reactions.values()) / weight_of(machine) - 1.0)
        assert off[0] < OF_WEIGHT
        assert off.max() < SAG
        assert off[first.time >= SETTLED].max() < OF_WEIGHT


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize('name', MACHINES)
def test_a_machine_stands_for_a_minute_after_its_launch(name, tmp_path):
    check_bag(standing(name), recorded(name, MINUTE, tmp_path / 'bag'), MINUTE)
