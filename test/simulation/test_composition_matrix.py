"""Every kind of element as a tree, with loops, with hydraulics, on a slope, with a payload.

Along any motion d(kinetic + potential)/dt = supplied power - dissipated power + power of efforts. This is checked
exactly at states, without an integrator.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from joint_machines import Part, machine_of
from log_loader_tasks import CONFIG, URDF
from rolling_machines import caster_vehicle, mecanum
from standing_linkage import LOOP, standing_linkage
from standing_machines import slider_box
from tracked_machines import carrier

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import ConstraintBlocks, Loop, constrained_dynamics
from dyn_nodes.elements.actuators import ActuatorForces, actuator_elements
from dyn_nodes.elements.contacts import contact_elements
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.elements.forces.joint_stop import SCALE
from dyn_nodes.elements.wheel import SprungWheel
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Payload
from dyn_nodes.model.terrain import Rise
from dyn_nodes.multibody import build_tree
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.constrained_machine import constrained_machine

RISE = Rise('rise', 'ramp', x=-0.5, y=0.0, heading=0.3, length=2.0, height=0.05, width=None)
ROUGH = Part('arm', dynamics='damping="3" friction="4"', limits='lower="-0.01" upper="0.01"')
SPRING = 'joints: {arm: {class: flexible, stiffness: 40, damping: 2}}\n'
KINDS = {
    'feet without friction': lambda folder: slider_box(folder, friction='none'),
    'feet with bristles': slider_box,
    'feet with Karnopp friction': lambda folder: slider_box(folder, friction='karnopp'),
    'tyres': lambda folder: caster_vehicle(folder, 100.0, 0.5, 0.2),
    'tyres on a rise': lambda folder: replace(caster_vehicle(folder, 100.0, 0.5, 0.2), terrain=(RISE,)),
    'wheels with rollers': lambda folder: mecanum(folder, 100.0, 0.5),
    'crawler tracks': carrier,
    'joint with spring, damping, friction and stop': lambda folder: machine_of(folder, [ROUGH], SPRING),
    'cylinders and motor on feet': lambda folder: load_machine(URDF, CONFIG),
    'electric motors on screws': lambda folder: load_machine(
        find_resource('urdf/stewart_platform.urdf'), find_resource('config/stewart_platform.yaml')
    ),
    'electric motors': lambda folder: load_machine(
        find_resource('urdf/agv_omni.urdf'), find_resource('config/agv_omni_motors.yaml')
    ),
}
SURROUNDINGS = ('tree', 'beside a loop', 'on a slope', 'with a payload')


def blocks_of(machine, surroundings):
    """Return the traced system of a machine in surroundings, with a payload of 7 kg at its base if it has none."""
    if machine.payload is None:
        machine = replace(machine, payload=Payload(machine.base.link, np.array([0.1, 0.2, 0.3]), 0.0, 100.0))
    tree = build_tree(machine)
    elements = (
        *contact_elements(machine),
        *joint_elements(machine),
        ActuatorForces(machine, actuator_elements(machine)),
    )
    slope = (0.1, -0.2) if surroundings == 'on a slope' else (0.0, 0.0)
    frame = tree.frame(machine.base.link)
    loops = [Loop.point('closed in itself', frame, frame)] if surroundings == 'beside a loop' else []
    payload = 7.0 if surroundings == 'with a payload' else 0.0
    return ConstraintBlocks(tree, loops, elements, gravity_vector(machine.gravity, slope), payload)


def state_of(machine, blocks, seed):
    """Return a state near the ground, wheels deflected by some mm, all parts moving, oil pressurized, valves open."""
    rng = np.random.default_rng(seed)
    tree = blocks.tree
    q, v = tree.neutral + 0.02 * rng.standard_normal(tree.nq), 0.1 * rng.standard_normal(tree.nv)
    for name, value in machine.initial.joint_positions.items():
        q[tree.position_names.index(name)] += value
    if machine.wheels:
        rolls = machine.wheels[0].rolling is not None
        feet = [wheel.free_length - wheel.position[2] for wheel in machine.wheels]
        q[tree.position_names.index('base_z')] = (0.004 if rolls else min(feet)) - 0.004
    elif machine.contacts:
        low = min(support.free_length - support.position[2] for support in machine.supports)
        q[tree.position_names.index('base_z')] = low - 0.004
    values = {SCALE: 1.0}
    for state in blocks.element_states:
        values[state.name] = state.start if state.discrete else 0.5 * state.scale * float(rng.random())
        if 'pressure' in state.name:
            values[state.name] = 8e6 * (0.5 + float(rng.random()))
        if 'bristle' in state.name or 'deflection' in state.name:
            values[state.name] *= 0.1
    values |= dict.fromkeys(blocks.inputs, 4.0)
    return q, v, blocks.numbers({name: value for name, value in values.items() if name in blocks.parameters.names})


def turning_plane(blocks):
    """Return the power of wheel springs due to the turning tangent plane of curved ground, W; zero on planes.

    The height of a wheel is measured from the plane that touches the ground below it; its rate neglects the plane's.
    """
    power = ca.SX(0)
    for wheel in (element for element in blocks.forces if isinstance(element, SprungWheel)):
        contact, scaled = wheel.contact(blocks.state, blocks.parameters), wheel.scaled(blocks.parameters)
        rate = ca.jtimes(ca.SX(contact.height), blocks.q, blocks.state.position_rate)
        spring = scaled.stiffness * ca.fmax(scaled.free_length - contact.height, 0.0)
        power = power - spring * (rate - contact.height_rate)
    return power


def imbalance(blocks, q, v, numbers, tau):
    """Return the rate of the energy less the powers, W, and the sum of their magnitudes."""
    p = blocks.parameters
    energy = blocks.state.kinetic_energy + blocks.potential_energy
    a = ca.SX.sym('a', blocks.tree.nv)
    rate = ca.jtimes(energy, blocks.q, blocks.state.position_rate) + ca.jtimes(energy, blocks.v, a)
    for k, state in enumerate(blocks.element_states):
        if not state.discrete:
            rate = rate + ca.jacobian(energy, p[state.name]) * blocks.element_rates[k]
    parts = [rate, blocks.supplied_power, -blocks.dissipated_power, turning_plane(blocks)]
    evaluate = ca.Function('powers', [blocks.q, blocks.v, a, p.vector], parts)
    acceleration = constrained_dynamics(blocks, q, v, tau, numbers, method='saddle').acceleration
    powers = [float(part) for part in evaluate(q, v, acceleration, numbers)]
    work = float(tau @ v)
    return powers[0] - sum(powers[1:]) - work, sum(abs(part) for part in powers) + abs(work)


@pytest.mark.parametrize('surroundings', SURROUNDINGS)
@pytest.mark.parametrize('kind', KINDS)
def test_the_energy_of_every_element_balances_in_all_surroundings(tmp_path, kind, surroundings):
    machine = KINDS[kind](tmp_path)
    blocks = blocks_of(machine, surroundings)
    for seed in range(2):
        q, v, numbers = state_of(machine, blocks, seed)
        off, size = imbalance(blocks, q, v, numbers, 3.0 * np.sin(np.arange(blocks.tree.nv)))
        assert size > 1e-3
        assert abs(off) < 1e-10 * size


@pytest.mark.parametrize('kind', KINDS)
def test_a_constraint_that_holds_nothing_changes_no_acceleration(tmp_path, kind):
    machine, accelerations = KINDS[kind](tmp_path), []
    for surroundings in ('tree', 'beside a loop'):
        blocks = blocks_of(machine, surroundings)
        q, v, numbers = state_of(machine, blocks, 0)
        tau = 3.0 * np.sin(np.arange(blocks.tree.nv))
        accelerations.append(constrained_dynamics(blocks, q, v, tau, numbers, method='saddle').acceleration)
    assert np.abs(accelerations[0] - accelerations[1]).max() <= 1e-12 * np.abs(accelerations[0]).max()


@pytest.mark.parametrize('friction', ['none', 'lugre', 'karnopp'])
def test_the_energy_of_feet_beside_a_moving_loop_balances(tmp_path, friction):
    """With a real loop: constraint forces have no power on admissible velocities."""
    keys = LOOP + 'payload: {link: coupler, position: [0.45, 0, 0], mass: 5, limit: 50}\n'
    start = constrained_machine(standing_linkage(tmp_path, friction=friction, keys=keys))
    blocks = start.system.blocks
    at = blocks.at(start.q)
    allowed = np.linalg.svd(at.J)[2][np.linalg.matrix_rank(at.J, 1e-9) :]
    v = allowed.T @ (0.2 * np.cos(np.arange(len(allowed))))
    numbers = blocks.parameters.values()
    off, size = imbalance(blocks, start.q, v, numbers, 10.0 * np.sin(np.arange(blocks.tree.nv)))
    assert abs(off) < 1e-10 * size
