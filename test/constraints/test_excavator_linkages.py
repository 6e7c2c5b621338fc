"""The excavator's linkages: ranges, static forces of its cylinders, and accelerations against Pinocchio."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from test_loops_against_pinocchio import PinocchioLoops

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import assemble, constrained_dynamics, projected_velocity
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.machine import Base
from dyn_nodes.model.posture import center_of_mass, link_poses
from dyn_nodes.multibody.elements import ContactElement, total_force
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

ARM = ('boom_joint', 'arm_joint', 'bucket_joint')
CYLINDERS = ('boom', 'arm', 'bucket')
RODS = tuple(f'{name}_rod_joint' for name in CYLINDERS)


@cache
def excavator(attachment='fixed'):
    """Return the excavator without tracks, on a base with this attachment."""
    machine = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    return replace(machine, base=Base(machine.base.link, attachment), contacts=())


@pytest.fixture(scope='module')
def start():
    return constrained_machine(excavator(), actuation='hydraulic')


def posture(start, angles, count=8):
    """Return the position at angles of boom, arm and bucket, in steps from the start, so that no loop folds."""
    q, names = start.q.copy(), start.system.blocks.tree.position_names
    indices = [names.index(name) for name in ARM]
    for share in np.linspace(0.0, 1.0, count + 1)[1:]:
        q[indices] = start.q[indices] + share * (np.asarray(angles) - start.q[indices])
        q = assemble(start.system.blocks, q, held=list(ARM))
    return q


def test_the_files_have_no_problems_or_warnings():
    report = load_machine_report(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    assert [str(problem) for problem in (*report.problems, *report.warnings)] == []


def test_the_masses_sum_to_the_published_ones():
    assert excavator().total_mass == pytest.approx(7434 + 9086 + 2130 + 1010 + 660, abs=1e-9)


@pytest.mark.parametrize('moving', range(3))
def test_cylinders_reach_the_published_ranges_within_their_strokes(start, moving):
    """All joints stay within their limits, and no loop approaches a folded position."""
    machine, blocks = excavator(), start.system.blocks
    joint, angles = machine.joint(ARM[moving]), [0.5, -1.6, -1.0]
    for angle in np.linspace(joint.lower, joint.upper, 7):
        angles[moving] = angle
        q = posture(start, angles)
        at = dict(zip(blocks.tree.position_names, q))
        for other in machine.movable_joints:
            assert other.lower - 1e-9 <= at[other.name] <= other.upper + 1e-9, other.name
        assert Subspaces(blocks.at(q).J).condition < 20.0


def potential_energy(machine, at):
    """Return the potential energy, J."""
    mass, center = center_of_mass(machine.links, link_poses(machine.links, machine.joints, at), machine.payload)
    return mass * machine.gravity * center[2]


@pytest.mark.parametrize('angles', [(0.5, -1.6, -1.0), (-0.6, -0.9, 0.4), (0.9, -2.4, -2.1)])
def test_cylinders_hold_the_weights_with_the_forces_of_virtual_work(start, angles):
    """F = dV/dX of each piston with the others held, a load in the bucket, all bodies included."""
    machine = replace(excavator(), payload=replace(excavator().payload, mass=1200.0))
    blocks, q, step = start.system.blocks, posture(start, angles), 1e-4
    names = blocks.tree.position_names
    slopes = []
    for rod in RODS:
        energies = []
        for sign in (1, -1):
            moved = q.copy()
            moved[names.index(rod)] += sign * step
            moved = assemble(blocks, moved, held=list(RODS))
            energies.append(potential_energy(machine, dict(zip(names, moved))))
        slopes.append((energies[0] - energies[1]) / (2 * step))
    here = replace(start, assembled=q)
    states = here.at_rest(blocks.numbers({'payload_mass': 1200.0})).states
    forces = [
        states[f'{actuator.name}/head_pressure'] * actuator.head_area
        - states[f'{actuator.name}/rod_pressure'] * actuator.rod_area
        for actuator in map(machine.actuator, CYLINDERS)
    ]
    assert forces == pytest.approx(slopes, rel=1e-6)


@pytest.mark.parametrize('seed', range(4))
def test_accelerations_agree_with_pinocchio(start, seed):
    """On a free base, at random postures, velocities and efforts; without friction, which Pinocchio lacks."""
    rng = np.random.default_rng(seed)
    smooth = tuple(replace(joint, friction=0.0) for joint in excavator().joints)
    machine = replace(excavator('free'), payload=None, joints=smooth)
    blocks = constrained_machine(machine).system.blocks
    tree = blocks.tree
    angles = [rng.uniform(machine.joint(name).lower, machine.joint(name).upper) for name in ARM]
    q = tree.neutral
    q[:3], q[3:7] = rng.normal(size=3), (turn := rng.normal(size=4)) / np.linalg.norm(turn)
    q[7:] = posture(start, angles)
    q[7:8] = rng.uniform(-3.0, 3.0)
    held = [*tree.velocity_names[:7], *ARM]
    v = projected_velocity(blocks, q, rng.normal(size=tree.nv), held=held)
    tau = 1e4 * rng.normal(size=tree.nv)
    gravity = [blocks.parameters.defaults[f'gravity_{axis}'] for axis in 'xyz']
    expected = PinocchioLoops(tree, blocks.constraints, gravity).accelerations(q, v, tau)
    accelerations = constrained_dynamics(blocks, q, v, tau).acceleration
    assert np.abs(accelerations - expected).max() < 1e-10 * np.abs(accelerations).max()


@pytest.mark.parametrize('seed', range(2))
def test_accelerations_on_tracks_agree_with_pinocchio(seed):
    """Loops, cylinders as bodies, moving and slipping tracks: Pinocchio gets the ground's forces as efforts."""
    rng = np.random.default_rng(seed)
    machine = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    smooth = tuple(replace(joint, friction=0.0) for joint in machine.joints)
    blocks = constrained_machine(replace(machine, payload=None, joints=smooth)).system.blocks
    tree, q = blocks.tree, blocks.tree.neutral
    q[2], q[3:7] = -0.002, (*(turn := 5e-4 * rng.normal(size=3)), np.sqrt(1.0 - turn @ turn))
    q[7:] = [machine.initial.joint_positions[name] for name in tree.position_names[7:]]
    q = assemble(blocks, q, held=[*tree.velocity_names[:7], *ARM])
    sprockets = [name for name in tree.velocity_names if 'sprocket' in name]
    held = [*tree.velocity_names[:7], *ARM, *sprockets]
    v = projected_velocity(blocks, q, 0.05 * rng.normal(size=tree.nv), held=held)
    states = {state.name: state.scale * rng.normal() for state in blocks.element_states}
    numbers, tau = blocks.numbers(states), 1e4 * rng.normal(size=tree.nv)
    tracks = [track for track in blocks.forces if isinstance(track, ContactElement)]
    pushes = sum(total_force(track, blocks.state, blocks.parameters) for track in tracks)
    ground = ca.Function('ground', [blocks.q, blocks.v, blocks.parameters.vector], [pushes])
    pushed = np.array(ground(q, v, numbers)).ravel()
    assert len(tracks) == 2
    assert pushed[5] > 0.5 * machine.total_mass * machine.gravity
    gravity = [blocks.parameters.defaults[f'gravity_{axis}'] for axis in 'xyz']
    expected = PinocchioLoops(tree, blocks.constraints, gravity).accelerations(q, v, tau + pushed)
    accelerations = constrained_dynamics(blocks, q, v, tau, numbers, method='saddle').acceleration
    assert np.abs(accelerations - expected).max() < 1e-8 * np.abs(accelerations).max()


@pytest.mark.slow
def test_a_stopped_swing_comes_to_rest():
    """The oil between closed valve and motor oscillates; the friction of the bearing ends the oscillation."""
    plant = Plant(excavator(), 'hydraulic', 5e-3, 1e-3)
    index = plant.joints.index('swing_joint')
    command = next(name for name in plant.system.input_names if name.startswith('swing/'))
    speeds = []
    for volts, duration in ((6.0, 2.0), (0.0, 10.0)):
        plant.set_inputs({command: volts})
        for _ in range(round(duration / plant.period)):
            plant.advance()
            speeds.append(abs(plant.velocities[index]))
    assert max(speeds) > 0.5
    assert max(speeds[-200:]) < 1e-4
