"""The log-loader with cylinders as bodies against virtual work, the formula of its joints, and Pinocchio."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from test_loops_against_pinocchio import PinocchioLoops

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import constrained_dynamics, projected_velocity
from dyn_nodes.elements.hydraulics import linkage
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Base
from dyn_nodes.model.posture import link_poses
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.constrained_machine import constrained_machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'model'))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from linkage_design import linkage_positions

from benchmarks.lumping import lumped_alike

POSTURES = [(0.96, -1.83), (-0.2, -0.3), (0.4, -2.1)]
"""Angles of boom and stick, rad."""


@cache
def plain(attachment='fixed'):
    """Return the log-loader with cylinders by the formula, without wheels."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return replace(machine, base=Base(machine.base.link, attachment), wheels=())


@cache
def bodies(attachment='fixed'):
    """Return the log-loader with cylinders as bodies, without wheels."""
    names = (f'{folder}/log_loader_linkage.{kind}' for folder, kind in (('urdf', 'urdf'), ('config', 'yaml')))
    machine = load_machine(*map(find_resource, names))
    return replace(machine, base=Base(machine.base.link, attachment), wheels=())


def potential_energy(machine, boom, stick):
    """Return the potential energy, J, from the positions of the links alone."""
    poses = link_poses(machine.links, machine.joints, linkage_positions(plain(), boom, stick))
    weights = [(link.mass, poses[link.name] @ [*link.com, 1.0]) for link in machine.links]
    load = machine.payload
    weights.append((load.mass, poses[load.link] @ [*load.position, 1.0]))
    return machine.gravity * sum(mass * position[2] for mass, position in weights)


def piston_forces(machine, start):
    """Return the forces of the pistons of boom and stick from the pressures that hold them, N."""
    states = start.at_rest().states
    return [
        states[f'{actuator.name}/head_pressure'] * actuator.head_area
        - states[f'{actuator.name}/rod_pressure'] * actuator.rod_area
        for actuator in (machine.actuator('boom'), machine.actuator('stick'))
    ]


@pytest.mark.parametrize(('boom', 'stick'), POSTURES)
def test_cylinders_hold_the_weights_with_the_forces_of_virtual_work(boom, stick):
    """F dX = dV for each piston with the other one held: rods, barrels, rocker and coupler included."""
    machine, step = bodies(), 1e-5
    start = constrained_machine(machine, {'boom_joint': boom, 'stick_joint': stick}, 'hydraulic')
    slopes = [
        (potential_energy(machine, boom + step * a, stick + step * b)
         - potential_energy(machine, boom - step * a, stick - step * b)) / (2 * step)
        for a, b in ((1, 0), (0, 1))
    ]  # fmt: skip
    levers = [float(linkage(plain().actuator(n).linkage, q).lever) for n, q in (('boom', boom), ('stick', stick))]
    assert piston_forces(machine, start) == pytest.approx(np.divide(slopes, levers), rel=1e-7)


OIL = {'boom/spool': 4e-3, 'stick/spool': -5e-3, 'swing/spool': 2e-3, 'boom/voltage': 5.0, 'stick/voltage': -3.0}
OIL |= {'boom/head_pressure': 18e6, 'boom/rod_pressure': 2e6, 'stick/head_pressure': 9e6, 'stick/rod_pressure': 2.4e7}
OIL |= {'swing/pressure_a': 8e6, 'swing/pressure_b': 3e6}
RATES = {'swing_joint': 0.4, 'boom_joint': -0.3, 'stick_joint': 0.7}


@pytest.mark.parametrize(('boom', 'stick'), POSTURES)
def test_a_massless_linkage_agrees_with_the_formula(boom, stick):
    """Accelerations of swing, boom and stick, rates of spools and pressures equal the plain log-loader's."""
    tree = Assembly(plain(), 'hydraulic')
    at = {**OIL, 'swing_joint': 0.3, 'boom_joint': boom, 'stick_joint': stick}
    at |= {f'{name}_rate': rate for name, rate in RATES.items()}
    x, u = ([at.get(name, 0.0) for name in names] for names in (tree.states.names, tree.inputs.names))
    evaluate = ca.Function('rates', [tree.x, tree.u, tree.p], [tree.rhs])
    rates = dict(zip(tree.states.names, np.array(evaluate(x, u, tree.default_parameters())).ravel()))
    blocks = constrained_machine(lumped_alike(bodies(), plain()), actuation='hydraulic').system.blocks
    positions = {**linkage_positions(plain(), boom, stick), 'swing_joint': 0.3}
    q = np.array([positions[name] for name in blocks.tree.position_names])
    v = projected_velocity(blocks, q, [RATES.get(name, 0.0) for name in blocks.tree.velocity_names], held=list(RATES))
    numbers = blocks.numbers(OIL | {'payload_mass': plain().payload.mass})
    accelerations = constrained_dynamics(blocks, q, v, np.zeros(len(v)), numbers, method='saddle').acceleration
    element_rates = ca.Function('element_rates', [blocks.q, blocks.v, blocks.parameters.vector], [blocks.element_rates])
    oil = dict(zip(blocks.parameters.states, np.array(element_rates(q, v, numbers)).ravel()))
    for name in RATES:
        acceleration = accelerations[blocks.tree.velocity_index(name)]
        assert acceleration == pytest.approx(rates[f'{name}_rate'], rel=1e-9, abs=1e-10), name
        assert abs(acceleration) > 0.01
    assert {name: oil[name] for name in OIL if name in oil} == pytest.approx(
        {name: rates[name] for name in OIL if name in oil}, rel=1e-9
    )


@pytest.mark.parametrize('seed', range(4))
def test_accelerations_agree_with_pinocchio(seed):
    """On a free base, at random postures, velocities and efforts."""
    rng = np.random.default_rng(seed)
    machine = replace(bodies('free'), payload=None)
    blocks = constrained_machine(machine).system.blocks
    tree = blocks.tree
    limits = [plain().joint(name) for name in ('boom_joint', 'stick_joint')]
    angles = [rng.uniform(joint.lower, joint.upper) for joint in limits]
    positions = {**linkage_positions(plain(), *angles), 'swing_joint': rng.uniform(-3.0, 3.0)}
    q = tree.neutral
    q[:3], q[3:7] = rng.normal(size=3), (turn := rng.normal(size=4)) / np.linalg.norm(turn)
    for name, value in positions.items():
        q[tree.position_names.index(name)] = value
    held = [*tree.velocity_names[:6], *RATES]
    v = projected_velocity(blocks, q, rng.normal(size=tree.nv), held=held)
    tau = 1e4 * rng.normal(size=tree.nv)
    gravity = [blocks.parameters.defaults[f'gravity_{axis}'] for axis in 'xyz']
    expected = PinocchioLoops(tree, blocks.constraints, gravity).accelerations(q, v, tau)
    accelerations = constrained_dynamics(blocks, q, v, tau).acceleration
    assert np.abs(accelerations - expected).max() < 1e-10 * np.abs(accelerations).max()
