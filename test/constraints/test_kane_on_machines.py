"""Kane's equations on every vehicle with an arm: accelerations, wrench at the mount, energy (tanner-1998, 2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.constraints import (
    ConstraintBlocks,
    ForceObserver,
    Lock,
    MethodError,
    SingularMotionError,
    assemble,
    constrained_dynamics,
)
from dyn_nodes.constraints.kane import AppliedWrench, mount_at, mount_of
from dyn_nodes.constraints.kane.mounts import FixedMass
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.simulation.machine_rows import machine_dynamics
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.generalized_speeds import GeneralizedSpeeds, link_speeds
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.kanes_equations import kanes_equations
from dyn_nodes.studies.tanner_1998.vehicle import ARM, S0, rm_1

ROOT = Path(__file__).resolve().parents[2]
ARMS = {
    'rm_1': 'arm_joint_1',
    'agv_mecanum_arm': 'arm_shoulder',
    'log_loader_linkage': 'boom_joint',
    'platform_4x4x4_arm': 'arm_joint_1',
    'log_loader': 'boom_joint',
    'log_loader_planar': 'boom_joint',
    'excavator': 'boom_joint',
}
"""Vehicles with an arm, and the joint at which the wrench is compared."""
LARGE = ('platform_4x4x4_arm', 'excavator')
AGREE = 1e-11
"""Relative tolerance: the systems combine stiff springs and light wheels."""


def machine_named(name: str) -> Machine:
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


def base_start(machine: Machine, blocks: ConstraintBlocks) -> np.ndarray:
    """Return the initial position of the file, before springs and loops have settled."""
    from dyn_nodes.simulation.constrained_machine import initial_guess

    return initial_guess(machine, blocks.tree)


def random_states(machine: Machine, blocks: ConstraintBlocks, count: int):
    """Yield q near the start with closed loops, v that satisfies the constraints, and efforts."""
    rng, tree = np.random.default_rng(3), blocks.tree
    start = base_start(machine, blocks)
    joints = [tree.position_names.index(joint.name) for joint in machine.movable_joints]
    for _ in range(count):
        q = start.copy()
        q[joints] += 0.05 * rng.normal(size=len(joints))
        if blocks.m:
            q = assemble(blocks, q)
        N = Subspaces(blocks.at(q).J).motions
        v = N @ rng.normal(size=N.shape[1])
        yield q, v, 100.0 * rng.normal(size=tree.nv)


@pytest.mark.parametrize('name', [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in ARMS])
def test_a_vehicle_with_an_arm_agrees_with_the_other_formulations(name):
    machine = machine_named(name)
    blocks = machine_dynamics(machine, 'effort').blocks
    kane, noc, observer = kanes_equations(blocks), natural_orthogonal_complement(blocks), ForceObserver(blocks)
    mount = mount_at(blocks.tree, ARMS[name])
    for q, v, tau in random_states(machine, blocks, 2 if name in LARGE else 3):
        here = kane.at(q, v)
        a = here.accelerations(tau)
        size = np.abs(a).max()
        assert np.abs(noc.at(q, v).accelerations(tau) - a).max() < AGREE * size
        engine = constrained_dynamics(blocks, q, v, tau, method='saddle')
        assert np.abs(engine.acceleration - a).max() < AGREE * size
        assert here.kinetic_energy == pytest.approx(blocks.energies(q, v)[0], rel=1e-11)
        wrench, other = here.mount_wrench(mount, tau), here.newton_euler_wrench(mount, tau)
        observed = observer.forces(q, v, a, here.multipliers(tau), tau).wrench(ARMS[name])
        force, torque = np.abs(observed[3:]).max(), np.abs(observed).max()
        assert np.abs(wrench.force + observed[3:]).max() < 1e-8 * force
        assert np.abs(wrench.torque + observed[:3]).max() < 1e-8 * torque
        assert np.abs(wrench.torque - other.torque).max() < 1e-9 * torque


@pytest.mark.parametrize(('name', 'joint'), [('rm_1', 'arm_mount'), ('agv_mecanum_arm', 'arm_attachment')])
def test_the_observer_of_a_machine_computes_the_wrench_of_a_fixed_mount(name, joint):
    machine = machine_named(name)
    assert machine.reactions == (joint,)
    blocks = machine_dynamics(machine, 'effort').blocks
    mount = mount_of(machine, blocks.tree, joint)
    kane, observer = kanes_equations(blocks), ForceObserver(blocks, [mount])
    for q, v, tau in random_states(machine, blocks, 3):
        here = kane.at(q, v, {'payload_mass': 3.0} if machine.payload else None)
        wrench = here.mount_wrench(mount, tau)
        observed = observer.forces(q, v, here.accelerations(tau), here.multipliers(tau), tau, here.p).mounts[0]
        assert observed[3:] == pytest.approx(-wrench.force, rel=1e-9, abs=1e-8 * np.abs(wrench.force).max())
        assert observed[:3] == pytest.approx(-wrench.torque, rel=1e-9, abs=1e-8 * np.abs(wrench.torque).max())


def test_a_mount_in_the_world_carries_masses_fixed_on_it():
    tree = TreeBuilder()
    tree.add_joint('hip', -1, 'revolute', (0, 0, 1), p=(0.0, 0.0, 0.5), mass=2.0, com=(0.3, 0, 0), inertia=np.eye(3))
    blocks = ConstraintBlocks(tree.build(), [], gravity=(0.0, 0.0, -10.0))
    foot = FixedMass(4.0, np.array([0.1, 0.0, 0.2]), np.eye(3))
    mount = mount_at(blocks.tree, 'hip', (foot,), Frame(-1, np.eye(3), np.zeros(3)))
    here = kanes_equations(blocks).at([0.2], [1.5])
    wrench = here.mount_wrench(mount, [0.7])
    assert wrench.force[2] == pytest.approx(-60.0)
    observed = ForceObserver(blocks, [mount]).forces([0.2], [1.5], here.accelerations([0.7]), [], [0.7]).mounts[0]
    assert observed == pytest.approx(-np.concatenate([wrench.torque, wrench.force]), abs=1e-12)


def test_power_of_all_forces_is_the_rate_of_the_energy():
    """Energy balance along a step of the motion, an independent check without other formulations."""
    robot = rm_1()
    here, tau = reference()
    a, step = here.accelerations(tau), 1e-5
    kane = kanes_equations(robot.blocks)

    def energy(t):
        later = kane.at(here.q + t * here.v + 0.5 * t**2 * a, here.v + t * a)
        return later.kinetic_energy + robot.blocks.energies(later.q, later.v)[1]

    assert (energy(step) - energy(-step)) / (2 * step) == pytest.approx(tau @ here.v, rel=1e-7)


def test_user_defined_speeds_yield_the_same_motion():
    """Y and Z depend on position and time; the speeds are not rates of coordinates."""
    robot = rm_1()
    here, tau = reference()
    plain = kanes_equations(robot.blocks, ('x', 'y', *ARM))

    def trace(state, parameters):
        import casadi as ca

        unit, tree = ca.SX.eye(state.tree.nv), state.tree
        rows = [unit[tree.velocity_index(name), :] for name in ('yaw', *ARM)]
        c, s = (function(state.q[tree.position_names.index('yaw')]) for function in (ca.cos, ca.sin))
        ahead = c * unit[0, :] + s * unit[1, :] + 0.3 * rows[2]
        shift = ca.vertcat(0.2 * parameters.time, 1.0, state.q[0], 0.0, ca.sin(parameters.time))
        return ca.vertcat(ahead, *rows), shift

    kane = kanes_equations(robot.blocks, speeds=GeneralizedSpeeds(('ahead', 'turn', *ARM), trace))
    for time in (0.0, 0.7):
        equations = kane.at(here.q, here.v, {'time': time})
        assert equations.v == pytest.approx(here.v, abs=1e-12)
        assert equations.accelerations(tau) == pytest.approx(
            plain.at(here.q, here.v).accelerations(tau), rel=1e-11, abs=1e-11
        )
    step, a = 1e-6, here.accelerations(tau)
    rate = [kane.at(here.q + t * here.v, here.v + t * a, {'time': t}).u for t in (step, -step)]
    assert (rate[0] - rate[1]) / (2 * step) == pytest.approx(kane.at(here.q, here.v).speed_rates(tau), rel=1e-6)


def test_loads_act_at_the_hand_and_at_the_mount():
    robot = rm_1()
    here, tau = reference()
    load = AppliedWrench(robot.hand, (3.0, -2.0, -12.0), (0.4, 0.1, -0.2))
    space = operational_space(here, robot.hand)
    moved = here.speed_rates(tau, [load]) - here.speed_rates(tau)
    turning, _ = here.partial_velocities(robot.hand)
    expected = np.linalg.solve(here.inertia, space.jacobian.T @ load.force + turning.T @ load.torque)
    assert moved == pytest.approx(expected, rel=1e-9)
    loaded, other = here.mount_wrench(robot.mount, tau, [load]), here.newton_euler_wrench(robot.mount, tau, [load])
    assert loaded.torque == pytest.approx(other.torque, rel=1e-11)
    assert np.abs(loaded.force - here.mount_wrench(robot.mount, tau).force).max() > 1.0
    free = natural_orthogonal_complement(robot.blocks, ('x', 'y', *ARM)).at(here.q, here.v)
    assert here.accelerations(tau) == pytest.approx(free.accelerations(tau), rel=1e-11, abs=1e-11)


def test_the_machine_file_of_rm_1_agrees_with_the_source():
    """From the YAML, with a milligram for each wheel: wrench of the fixed mount, forces of the ground."""
    machine, printed = machine_named('rm_1'), reference()
    blocks = machine_dynamics(machine, 'effort').blocks
    tree = blocks.tree
    q, v = tree.neutral, np.zeros(tree.nv)
    q[:3], q[5:7] = (0.3, -0.2, 0.3), (np.sin(0.25), np.cos(0.25))
    speeds = link_speeds(tree, {'V': ('left_wheel', 'vx')}, ('base_wz',))
    assert speeds.names == ('V', 'base_wz')
    q[[tree.position_names.index(f'arm_joint_{k}') for k in (1, 2, 3)]] = S0[3:]
    names = ('base_wz', 'base_vx', 'arm_joint_1', 'arm_joint_2', 'arm_joint_3')
    v[[tree.velocity_index(name) for name in names]] = (0.8, 0.5, 0.3, -0.4, 0.7)
    here = kanes_equations(blocks, names).at(q, v)
    tau = np.zeros(tree.nv)
    efforts = {'left_drive': 3, 'right_drive': 2, 'arm_joint_1': 2, 'arm_joint_2': 30, 'arm_joint_3': 8}
    tau[[tree.velocity_index(name) for name in efforts]] = list(efforts.values())
    wrench, expected = (
        here.mount_wrench(mount_of(machine, tree, 'arm_mount'), tau),
        printed[0].mount_wrench(rm_1().mount, printed[1]),
    )
    assert wrench.force == pytest.approx(expected.force, rel=1e-6)
    assert wrench.torque == pytest.approx(expected.torque, rel=1e-6)
    forces = dict(zip(blocks.row_names, here.multipliers(tau)))
    assert forces['caster/normal'] == pytest.approx(tabulated('tanner-1998/6.4/S0')[2][2], rel=1e-6)
    assert 'caster/lateral' not in forces


def test_speeds_that_do_not_determine_the_motion_are_rejected():
    robot = rm_1()
    q = robot.position(S0)
    along, twice = {'V': ('axle', 'vx'), 'omega': ('axle', 'wz')}, {'V': ('axle', 'vx'), 'W': ('axle', 'vx')}
    few = kanes_equations(robot.blocks, speeds=link_speeds(robot.blocks.tree, along))
    equal = kanes_equations(robot.blocks, speeds=link_speeds(robot.blocks.tree, twice, ARM))
    with pytest.raises(MethodError, match='expected 5 independent speeds, as many as the mobility, found 2: V, omega'):
        few.at(q, np.zeros(11))
    with pytest.raises(MethodError, match='speeds V, W, q1, q2, q3 do not determine the velocities here'):
        equal.at(q, np.zeros(11))
    with pytest.raises(ValueError, match='names of velocities or generalized speeds, found both'):
        kanes_equations(robot.blocks, ('x',), speeds=few.speeds)
    with pytest.raises(KeyError, match="expected a component of wx, wy, wz, vx, vy, vz, found 'ahead'"):
        link_speeds(robot.blocks.tree, {'V': ('axle', 'ahead')})


def test_a_massless_motion_and_an_immovable_point_are_rejected():
    tree = TreeBuilder()
    arm = tree.add_joint('hip', -1, 'revolute', (0, 0, 1), mass=1.0, com=(0.3, 0, 0), inertia=0.02 * np.eye(3))
    tree.add_joint('spin', arm, 'revolute', (1, 0, 0), p=(0.5, 0, 0))
    built = tree.build()
    with pytest.raises(SingularMotionError, match='a motion of spin that moves no mass'):
        kanes_equations(ConstraintBlocks(built, [])).at(np.zeros(2), np.zeros(2))
    here = kanes_equations(ConstraintBlocks(built, [Lock('still', 'spin')])).at(np.zeros(2), np.zeros(2))
    with pytest.raises(MethodError, match='the point does not move along'):
        operational_space(here, built.frame('spin'))
