"""Transfer of coordinates against the constraint engine and the natural complement, on machines with loops."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dyn_nodes.constraints import (
    ConstraintBlocks,
    ContradictoryConstraintsError,
    Coupling,
    Distance,
    Lock,
    Loop,
    MethodError,
    Prescribed,
    SingularMotionError,
    assemble,
    constrained_dynamics,
    world_frame,
)
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.elements.forces.joint_spring import JointSpring
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.multibody.influence import SingularTransferError, TreeCoefficients, serial_model
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.transfer import (
    LoadDistribution,
    ParallelMachine,
    RedundantMotion,
    close_loop,
    coordinate_transfer,
)
from dyn_nodes.studies.formulations.transfer.parallel import PLANE
from dyn_nodes.studies.freeman_1985.arms import arm_a6
from dyn_nodes.studies.freeman_1985.machines import MECHANISMS, bricard, five_bar, random_state, stewart

GRAVITY = (0.3, -0.4, -9.81)
Z = (0.0, 0.0, 1.0)
SINGLE_LOOPS = {'five-bar', 'slider-crank', 'Bricard'}


@cache
def mechanism(name):
    device = MECHANISMS[name]()
    return device, device.blocks(GRAVITY)


def apart(result, expected):
    return np.abs(result - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize('name', MECHANISMS)
def test_mechanisms_agree_with_the_engine_and_the_natural_complement(name):
    device, system = mechanism(name)
    transfer, complement = coordinate_transfer(system), natural_orthogonal_complement(system)
    rng = np.random.default_rng(20)
    for _ in range(5):
        q, v, tau = random_state(device, system, rng)
        here = transfer.at(q, v)
        reference = constrained_dynamics(system, q, v, tau, method='saddle')
        assert apart(here.accelerations(tau), reference.acceleration) < 1e-10
        assert apart(complement.at(q, v).accelerations(tau), here.accelerations(tau)) < 1e-10
        J, multipliers = system.at(q).J, here.multipliers(tau)
        assert apart(J.T @ multipliers, J.T @ reference.multipliers) < 1e-10
        assert multipliers[reference.unique] == pytest.approx(
            reference.multipliers[reference.unique], rel=1e-8, abs=1e-9 * np.abs(multipliers).max()
        )
        assert here.condition < 1e4


@pytest.mark.parametrize('name', sorted(set(MECHANISMS) - SINGLE_LOOPS))
def test_legs_added_at_the_platform_agree_with_the_engine(name):
    """The method of the source: every leg to the platform, the platform to the inputs."""
    device, system = mechanism(name)
    assert device.legs
    rng = np.random.default_rng(21)
    names = system.tree.velocity_names
    for _ in range(3):
        q, v, tau = random_state(device, system, rng)
        machine = ParallelMachine(device.coefficients.at(q, 2), device.legs, device.directions, GRAVITY)
        platform = device.coefficients.at(q, 2).frame(device.end).rows(device.directions)
        kept = [names.index(joint) for leg in device.legs for joint in leg.kept]
        w = np.concatenate([v[kept], platform.velocity(v)])
        assert machine.joints.velocity(w) == pytest.approx(v, abs=1e-10 * np.abs(v).max())
        order = [names.index(joint) for joint in machine.joints.parameters]
        acceleration = machine.model.acceleration(w, machine.joints.G.T @ tau[order])
        reference = constrained_dynamics(system, q, v, tau, method='saddle').acceleration
        assert apart(machine.joints.acceleration(w, acceleration), reference[order]) < 1e-10
        if len(device.actuated) != len(w):
            continue
        # the inputs alone: the efforts for the motion that they cause
        inputs = machine.inputs(device.actuated)
        efforts = rng.normal(size=len(w))
        all_efforts = np.zeros(len(names))
        all_efforts[[names.index(joint) for joint in device.actuated]] = efforts
        reference = constrained_dynamics(system, q, v, all_efforts, method='saddle').acceleration
        model = machine.actuated(device.actuated)
        rates = inputs.velocity(w)
        indices = [names.index(joint) for joint in device.actuated]
        assert model.effort(rates, reference[indices]) == pytest.approx(efforts, abs=1e-9)


def test_a_serial_arm_without_constraints_needs_no_transfer():
    tree = arm_a6()
    system = ConstraintBlocks(tree, [], (), GRAVITY)
    rng = np.random.default_rng(22)
    q, v, tau = rng.normal(size=(3, 6))
    here = coordinate_transfer(system).at(q, v)
    assert here.independent == tree.velocity_names
    assert apart(here.accelerations(tau), constrained_dynamics(system, q, v, tau).acceleration) < 1e-10


def springy_chain():
    """Return a chain with a gear, a rod to the world, rows in the axes of a body, springs and a payload."""
    builder = TreeBuilder()
    body, rng = -1, np.random.default_rng(23)
    for k in range(8):
        axis = rng.normal(size=3)
        body = builder.add_joint(f'j{k}', body, 'revolute' if k != 2 else 'prismatic', axis / np.linalg.norm(axis),
                                 p=0.4 * rng.normal(size=3), mass=1.0 + k, com=0.1 * rng.normal(size=3),
                                 inertia=0.05 * np.eye(3))  # fmt: skip
    tree = builder.build(Frame(body, np.eye(3), np.array([0.1, 0.2, 0.3])))
    q = rng.normal(size=8)
    here = TreeCoefficients(tree).at(q)
    tip = Frame(7, np.eye(3), np.array([0.2, 0.0, 0.1]))
    R, p = here.pose(tip)
    middle = Frame(3, np.eye(3), np.zeros(3))
    Rm, pm = here.pose(middle)
    far = world_frame(pm + np.array([1.0, 0.5, 0.0]))
    constraints = [
        Loop('slot', tip, world_frame(p, R), ('z',), 'second'),
        Loop('body_axes', Frame(3, Rm.T @ R, Rm.T @ (p - pm)), tip, ('rx', 'y'), 'second'),
        Distance('rod', middle, far, float(np.linalg.norm(pm - far.p))),
        Coupling('gear', {'j0': 1.0, 'j6': -0.7}, q[0] - 0.7 * q[6]),
    ]
    springs = [JointSpring('j1', 20.0, 2.0, 0.1), JointSpring('j4', 5.0, 0.5)]
    return ConstraintBlocks(tree, constraints, springs, GRAVITY, payload=1.5), q, rng


def test_rows_of_every_kind_with_springs_and_payload_agree():
    """Rows in body axes, a rod and a gear are differentiated exactly; loops in world axes are nested products."""
    system, q, rng = springy_chain()
    J = system.at(q).J
    v = Subspaces(J).motions @ rng.normal(size=8 - len(J))
    tau = rng.normal(size=8)
    here = coordinate_transfer(system).at(q, v)
    reference = constrained_dynamics(system, q, v, tau)
    assert apart(here.accelerations(tau), reference.acceleration) < 1e-10
    assert apart(here.multipliers(tau), reference.multipliers) < 1e-9
    step = 1e-6
    for k, unit in enumerate(np.eye(8)):
        slope = (system.at(q + step * unit).J - system.at(q - step * unit).J) / (2 * step)
        assert here.rows.H[:, k, :] == pytest.approx(slope, abs=1e-7)


def test_named_joints_are_the_coordinates_and_too_few_are_rejected():
    device, system = mechanism('five-bar')
    here = coordinate_transfer(system, ('joint_2', 'joint_3')).at(device.q, np.zeros(4))
    assert here.independent == ('joint_2', 'joint_3')
    with pytest.raises(MethodError, match='expected 2 independent velocities'):
        coordinate_transfer(system, ('joint_2',)).at(device.q, np.zeros(4))


def test_free_bodies_and_moving_constraints_are_rejected():
    builder = TreeBuilder()
    builder.add_free('raft', 1.0, inertia=np.eye(3))
    with pytest.raises(MethodError, match='found the free body raft; write it as a chain of joints'):
        coordinate_transfer(ConstraintBlocks(builder.build(), []))
    tree = arm_a6()
    moving = Prescribed(Lock('servo', 'joint_2'), lambda t: 0.1 * t)
    with pytest.raises(MethodError, match='expected constraints at rest, found the row servo/position'):
        coordinate_transfer(ConstraintBlocks(tree, [moving]))


def test_a_motion_without_mass_has_no_acceleration():
    builder = TreeBuilder()
    first = builder.add_joint('crank', -1, 'revolute', Z, mass=1.0, com=(0.5, 0, 0))
    builder.add_joint('idle', first, 'revolute', Z, p=(1, 0, 0))
    system = ConstraintBlocks(builder.build(), [])
    with pytest.raises(SingularMotionError, match=r'^idle can move without moving any inertia'):
        coordinate_transfer(system).at([0.1, 0.2], [0.0, 0.0]).accelerations([1.0, 0.0])


def test_a_loop_with_more_rows_than_freedoms_is_rejected():
    """The Bricard linkage with one joint turned off its closure: dependent rows become independent."""
    device = bricard()
    here = device.coefficients.at(device.q + np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0]), 2)
    with pytest.raises(ContradictoryConstraintsError, match='the loop is held along more directions than it can move'):
        close_loop(serial_model(here), here.frame(device.end), ['joint_6'])


def test_base_joints_of_a_stewart_platform_with_parallel_axes_are_rejected_by_name():
    device = stewart(parallel_axes=True)
    with pytest.raises(SingularTransferError, match=r'coordinate leg_\d_1 does not determine the motion') as caught:
        device.parallel().platform([f'leg_{r}_1' for r in range(1, 7)])
    assert caught.value.condition > 1e14


def test_the_bearing_load_of_a_loop_equals_the_multipliers_of_its_pin():
    device = five_bar()
    system = device.blocks()
    rng = np.random.default_rng(24)
    q, v, tau = random_state(device, system, rng)
    here = device.coefficients.at(q, 2)
    loop = close_loop(serial_model(here), here.frame(device.end).rows(PLANE), ['joint_1'], ['rz'])
    tau[2:] = 0.0
    tau[1] = 0.0
    reference = constrained_dynamics(system, q, v, tau, method='saddle')
    rates = np.array([v[0], v.sum()])
    accelerations = np.array([reference.acceleration[0], reference.acceleration.sum()])
    assert loop.model.effort(rates, accelerations) == pytest.approx([tau[0], 0.0], abs=1e-12)
    assert loop.bearing_load(rates, accelerations) == pytest.approx(reference.multipliers, abs=1e-12)


def test_the_inverse_of_least_energy_and_its_rate_follow_the_motion():
    device, system = mechanism('redundant device')
    q, names = device.q, system.tree.velocity_names

    def at(q):
        machine = device.parallel(q)
        platform = machine.platform(device.actuated)
        return machine, RedundantMotion.of_least_energy(platform.rows(PLANE), machine.model.by(platform))

    machine, redundant = at(q)
    v = np.array([0.3, -0.2, 0.4])
    rates = redundant.rates(v)
    order = [machine.joints.parameters.index(name) for name in names]
    along = machine.joints.by(machine.platform(device.actuated)).velocity(rates)[order]
    step = 1e-5
    slope = (at(q + step * along)[1].right_inverse - at(q - step * along)[1].right_inverse) / (2 * step)
    assert redundant.inverse_rate(v) == pytest.approx(slope, abs=1e-7)
    a = np.array([1.0, 0.5, -0.6])
    consistent = redundant.accelerations(v, a, redundant.inverse_rate(v))
    error = redundant.task.acceleration(rates, consistent) - a
    assert np.abs(error).max() < 1e-12
    assert np.abs(consistent - redundant.accelerations(v, a)).max() > 0.1
    plain = RedundantMotion(redundant.task, redundant.model, np.linalg.pinv(redundant.task.G))
    assert plain.model.kinetic_energy(plain.rates(v)) > redundant.model.kinetic_energy(rates)
    with pytest.raises(ValueError, match='expected the right inverse of least energy'):
        plain.inverse_rate(v)


@pytest.mark.parametrize('name', ['two-finger hand', 'walker'])
def test_loads_shared_among_redundant_inputs_cause_the_same_motion(name):
    device, system = mechanism(name)
    rng = np.random.default_rng(25)
    q, v, _ = random_state(device, system, rng)
    names = system.tree.velocity_names
    machine = ParallelMachine(device.coefficients.at(q, 2), device.legs, device.directions, GRAVITY)
    w = device.coefficients.at(q, 2).frame(device.end).rows(PLANE).velocity(v)
    a = rng.normal(size=3)
    inputs = machine.inputs(device.actuated)
    for weights in (None, rng.uniform(0.5, 4.0, len(device.actuated))):
        shared = LoadDistribution(inputs, machine.model, weights)
        efforts = shared.effort(w, a)
        assert efforts == pytest.approx(shared.distributed(machine.model.effort(w, a)), abs=1e-10)
        assert inputs.G.T @ shared.internal == pytest.approx(0.0, abs=1e-13)
        cost = np.ones(len(efforts)) if weights is None else weights
        assert shared.internal.T @ (cost * efforts) == pytest.approx(0.0, abs=1e-10)
        tau = np.zeros(len(names))
        tau[[names.index(joint) for joint in device.actuated]] = efforts
        reference = constrained_dynamics(system, q, v, tau, method='saddle').acceleration
        platform = device.coefficients.at(q, 2).frame(device.end).rows(PLANE)
        assert platform.acceleration(v, reference) == pytest.approx(a, abs=1e-10)


def test_the_third_order_of_a_closed_loop_is_the_derivative_along_it():
    """The five-bar's joints by its two cranks, D against differences of H along the closed loop."""
    device = five_bar()

    def motion(q, order):
        here = device.coefficients.at(q, order)
        loop = close_loop(serial_model(here), here.frame(device.end).rows(PLANE), ['joint_1'], ['rz'])
        return loop.motion.by(loop.inputs(['joint_1', 'joint_2']))

    exact = motion(device.q, 3)
    system, step = device.blocks(), 1e-5
    for k in range(2):
        moved = []
        for side in (1, -1):
            guess = device.q + side * step * exact.G[:, k]
            guess[:2] = device.q[:2] + side * step * np.eye(2)[k]
            moved.append(motion(assemble(system, guess, held=['joint_1', 'joint_2']), 2))
        assert apart(exact.H[:, k, :], (moved[0].G - moved[1].G) / (2 * step)) < 1e-6
        assert apart(exact.D[:, k], (moved[0].H - moved[1].H) / (2 * step)) < 1e-6
    assert np.abs(exact.D).max() > 0.1
