"""The natural orthogonal complement: identities, loops, choices, wrenches and errors (saha-1991, ch. 3)."""

from __future__ import annotations

import numpy as np
import pytest
from random_systems import pose_of, random_system

from dyn_nodes.constraints import (
    ConstraintBlocks,
    ContradictoryConstraintsError,
    ForceObserver,
    Lock,
    Loop,
    MethodError,
    Prescribed,
    SingularMotionError,
    analyse,
    constrained_dynamics,
    projected_velocity,
    world_frame,
)
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle, DrivenAxle
from dyn_nodes.studies.saha_1991.machines import SPATIAL, random_states, vehicle
from dyn_nodes.studies.saha_1991.pair_graph import PairGraph, system_loops
from dyn_nodes.studies.saha_1991.rolling_disk import RollingDisk
from dyn_nodes.studies.saha_1991.wheeled_vehicles import axle_vehicle, caster_vehicle, omni_vehicle, rolling_disk
from dyn_nodes.studies.yesiloglu_2007 import models

Z = (0.0, 0.0, 1.0)


@pytest.mark.parametrize('seed', range(6))
def test_random_loops_agree_with_the_engine_and_the_observer(seed):
    """Free bodies, branches, sliders, springs, grasps, a rod and a gear."""
    system, q, v, tau = random_system(seed)
    here = natural_orthogonal_complement(system).at(q, v)
    reference = constrained_dynamics(system, q, v, tau, method='saddle')
    assert here.v == pytest.approx(v, abs=1e-11)
    size = np.abs(reference.acceleration).max()
    assert np.abs(here.accelerations(tau) - reference.acceleration).max() < 1e-10 * size
    wrenches = here.wrenches(tau)
    assert np.array_equal(wrenches.unique, reference.unique)
    same = np.abs(wrenches.multipliers - reference.multipliers)[wrenches.unique]
    assert same.max(initial=0.0) < 1e-9 * np.abs(reference.multipliers).max()
    observed = ForceObserver(system).forces(q, v, here.accelerations(tau), wrenches.multipliers, tau)
    bodies = system.tree.bodies
    for index, body in enumerate(bodies):
        if body.kind == 'free':
            continue
        R, _ = pose_of(system.tree, q, index)
        expected, wrench = observed.wrench(body.name), wrenches.pairs[body.name]
        arm, axis = R @ body.com, R @ body.axis
        at_origin = np.r_[wrench[:3] + np.cross(arm, wrench[3:]), wrench[3:]]
        # the observer includes the joint's effort: along its freedom they may differ
        size = np.abs(expected).max()
        turn, push = expected[:3] - at_origin[:3], expected[3:] - at_origin[3:]
        free, held = (turn, push) if body.kind == 'revolute' else (push, turn)
        assert np.abs(held).max() < 1e-9 * size
        assert np.abs(np.cross(free, axis)).max() < 1e-9 * size


@pytest.mark.parametrize('seed', range(4))
def test_identities_of_the_complement_hold_for_random_systems(seed):
    system, q, v, _ = random_system(40 + seed)
    formulation = natural_orthogonal_complement(system)
    here = formulation.at(q, v)
    check_identities(formulation, here)


@pytest.mark.parametrize('name', SPATIAL)
def test_identities_of_the_complement_hold_for_the_vehicles(name):
    machine = SPATIAL[name]()
    formulation = natural_orthogonal_complement(machine.blocks, prefer=machine.actuated)
    for q, v, _ in random_states(machine, 5, 3):
        check_identities(formulation, formulation.at(q, v))


def check_identities(formulation, here):
    A = np.vstack(formulation.twist_rows(here.q))
    size = np.abs(A).max() * np.abs(here.T).max()
    parts, rates = here.parts, here.independent_rates
    assert np.abs(A @ here.T).max() < 1e-12 * size
    assert A.shape[1] - np.linalg.matrix_rank(A, tol=1e-9 * np.abs(A).max()) == here.T.shape[1]
    assert here.T @ rates == pytest.approx(here.twists, abs=1e-11 * np.abs(here.T).max())
    assert np.linalg.eigvalsh(here.inertia).min() > 0
    assert here.inertia == pytest.approx(here.inertia.T, rel=1e-12)
    # the power of the convective terms cancels the power of the changing inertia: they do no work
    turning = parts.turned(here.T, parts.inertia_rates(here.v))
    changing = here.T.T @ parts.weighed(here.T_rate)
    inertia_rate = changing + changing.T + here.T.T @ turning
    power = 0.5 * rates @ inertia_rate @ rates + rates @ here.convective @ rates
    assert abs(power) < 1e-11 * np.abs(here.inertia).max() * max(1.0, np.abs(rates).max() ** 3)
    # rates of T by differentiation against rates of twists by recursion: equal for constraints at rest
    assert np.abs(here.driven).max() < 1e-11 * max(1.0, float(np.abs(here.convective @ rates).max()))
    assert parts.tree.T @ parts.per_effort == pytest.approx(np.eye(len(here.v)), abs=1e-12)


def test_the_rate_of_the_complement_is_its_time_derivative():
    machine = caster_vehicle()
    formulation = natural_orthogonal_complement(machine.blocks, machine.actuated)
    (q, v, _), step = next(random_states(machine, 1, 8)), 1e-6
    here = formulation.at(q, v)
    forth, back = (formulation.at(q + side * step * here.v, v) for side in (1, -1))
    assert (forth.T - back.T) / (2 * step) == pytest.approx(here.T_rate, abs=1e-6)
    assert (forth.N - back.N) / (2 * step) == pytest.approx(here.N_rate, abs=1e-6)


@pytest.mark.parametrize('name', SPATIAL)
def test_inverse_dynamics_returns_the_efforts(name):
    machine = SPATIAL[name]()
    formulation = natural_orthogonal_complement(machine.blocks, machine.independent)
    for q, v, tau in random_states(machine, 3, 11):
        here = formulation.at(q, v)
        efforts = here.inverse_dynamics(here.minimal_accelerations(tau))
        assert efforts == pytest.approx(here.efforts(tau), rel=1e-9, abs=1e-9 * np.abs(tau).max())


# --- the closed forms of the source ------------------------------------------------------------------------------


@pytest.mark.pins('saha-1991/6.1/structure')
def test_the_axle_has_the_inertia_of_the_source_and_no_convective_terms():
    machine, plane = axle_vehicle(), DrivenAxle()
    formulation = natural_orthogonal_complement(machine.blocks, ('left', 'right'))
    for q, v, _ in random_states(machine, 5, 1):
        here = formulation.at(q, v)
        assert here.inertia == pytest.approx(plane.inertia, rel=1e-12)
        assert here.convective == pytest.approx(np.zeros((2, 2)), abs=1e-15)
        assert here.gravity == pytest.approx(np.zeros(2), abs=1e-12)


@pytest.mark.pins('saha-1991/6.1/structure')
def test_the_rows_of_the_source_for_the_axle_have_rank_15_and_allow_pitch():
    """Two hinges and two rolling wheels, three bodies: 18 rows of 18 columns (eq. 4.24, fault F7)."""
    graph = PairGraph()
    graph.body('axle', p=(0, 0, 0.05))
    for name, side in (('left', -0.2), ('right', 0.2)):
        graph.body(name, 2.0, 0.001 * np.eye(3), (side, 0, 0.05))
        graph.revolute(f'{name}_hinge', 'axle', name, (side, 0, 0.05), (1, 0, 0))
        graph.rolling(f'{name}_ground', name, (1, 0, 0), 0.05)
    system = graph.system()
    A = np.vstack(natural_orthogonal_complement(system).twist_rows(graph.start(system.tree)))
    assert A.shape == (18, 18)
    assert np.linalg.matrix_rank(A, tol=1e-10) == 15
    pitch = np.zeros(18)
    pitch[0] = 1.0  # the axle is the first body
    assert np.abs(A @ pitch).max() < 1e-15


@pytest.mark.parametrize('seed', range(3))
def test_six_rows_of_a_pair_have_rank_five(seed):
    """Lemma 3.1, for hinges and sliders against another body or the world."""
    system, q, _, _ = random_system(60 + seed)
    pairs, _ = natural_orthogonal_complement(system).twist_rows(q)
    for k in range(len(pairs) // 6):
        assert np.linalg.matrix_rank(pairs[6 * k : 6 * k + 6], tol=1e-9) == 5


def test_rows_of_rolling_contacts_are_independent():
    """Lemma 3.2, with the two rows of a hub with rollers."""
    for name, rows in (('caster vehicle', 3), ('omni 3', 2), ('disk', 3)):
        machine = SPATIAL[name]()
        for q, _, _ in random_states(machine, 3, 9):
            _, contacts = natural_orthogonal_complement(machine.blocks).twist_rows(q)
            for k in range(len(contacts) // rows):
                assert np.linalg.matrix_rank(contacts[rows * k : rows * k + rows], tol=1e-9) == rows


@pytest.mark.pins('saha-1991/6.1/structure')
def test_without_the_row_against_pitching_the_axle_is_free_to_pitch():
    machine = axle_vehicle()
    open_axle = ConstraintBlocks(machine.blocks.tree, machine.blocks.constraints[:2], gravity=(0.0, 0.0, -9.81))
    formulation = natural_orthogonal_complement(open_axle)
    assert formulation.mobility(machine.rest) == 3
    with pytest.raises(SingularMotionError, match='pitch'):
        formulation.at(machine.rest, np.zeros(8))


def test_the_caster_vehicle_has_the_matrices_of_the_source():
    plane, machine = CasterVehicle(), caster_vehicle()
    formulation = natural_orthogonal_complement(machine.blocks, ('left', 'right'))
    drives = [machine.blocks.tree.velocity_index(name) for name in ('left', 'right')]
    rng = np.random.default_rng(4)
    for fork in (0.0, 0.3, 0.7, 1.1, -2.5):
        q = machine.position({'fork': fork, 'yaw': 0.4, 'left': 1.0})
        v = np.zeros(machine.blocks.tree.nv)
        v[drives] = rng.normal(size=2) * 4
        here = formulation.at(q, v)
        dependent = [machine.blocks.tree.velocity_index(name) for name in ('caster', 'fork', 'yaw')]
        assert here.N[dependent] == pytest.approx(plane.dependent(fork), abs=1e-12)
        assert here.inertia == pytest.approx(plane.inertia(fork), abs=1e-14)
        assert here.convective @ v[drives] == pytest.approx(plane.coupling(fork, v[drives]) @ v[drives], abs=1e-13)
    v[drives] = -3.0, -4.5
    accelerations = formulation.at(machine.position({'fork': 0.3}), v).minimal_accelerations(
        machine.motors([0.02, -0.05])
    )
    assert accelerations == pytest.approx(tabulated('saha-1991/6.3/forward')[0], abs=1e-8)


@pytest.mark.pins('saha-1991/6.4/multiplier_model')
@pytest.mark.parametrize('count', [3, 4, 6])
def test_vehicles_with_rollers_agree_with_the_planar_model(count):
    plane = vehicle(count)
    machine = omni_vehicle(plane)
    formulation = natural_orthogonal_complement(machine.blocks, ('x', 'y', 'yaw'))
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, twist, torques = machine.random_position(rng), rng.normal(size=3), rng.normal(size=count)
        yaw = q[3]
        turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        v = np.zeros(machine.blocks.tree.nv)
        v[3], v[:2] = twist[0], turn @ twist[1:]
        here = formulation.at(q, v)
        assert here.v[6:] == pytest.approx(plane.L @ twist, abs=1e-12)
        rate = plane.twist_rate(twist, torques)
        a = here.accelerations(machine.motors(torques))
        inertial = rate[1:] + twist[0] * np.array([-twist[2], twist[1]])
        assert np.r_[a[3], turn.T @ a[:2]] == pytest.approx(np.r_[rate[0], inertial], abs=1e-11)


def test_the_disk_agrees_with_its_euler_equations():
    machine = rolling_disk()
    formulation = natural_orthogonal_complement(machine.blocks, ('heading', 'tilt', 'spin'))
    v = np.zeros(6)
    v[3:] = 2.0, 0.5, -3.0
    a = formulation.at(machine.position({'tilt': 0.3, 'heading': 0.7}), v).accelerations(np.zeros(6))
    assert a[[4, 3, 5]] == pytest.approx(tabulated('saha-1991/6.7/multiplier_model'), abs=1e-8)
    steady = RollingDisk().steady_state(9.6, -9.1)
    v[3:] = 9.6, 0.0, -9.1
    a = formulation.at(machine.position({'tilt': steady[0]}), v).accelerations(np.zeros(6))
    assert a[3:] == pytest.approx(np.zeros(3), abs=1e-9)


# --- wrenches ----------------------------------------------------------------------------------------------------


def test_only_the_sum_of_the_axles_lateral_forces_is_determined():
    """On the circle of 5 m at 30 s: the total force on the wheels towards the centre is 0.771063 N."""
    machine, plane = axle_vehicle(), DrivenAxle()
    formulation = natural_orthogonal_complement(machine.blocks, ('left', 'right'))
    psi_rate = 0.19634954084936207
    v = np.zeros(8)
    v[6:] = plane.rates([psi_rate], [5 * psi_rate])[0]
    wrenches = formulation.at(machine.rest, v).wrenches(np.zeros(8))
    forces, names = wrenches.forces, list(machine.blocks.row_names)
    # the lateral direction of a wheel is its axle, +x
    assert forces['left_ground'][1] + forces['right_ground'][1] == pytest.approx(
        tabulated('saha-1991/6.2/lateral_force'), abs=1e-6
    )
    for row, unique in (('left_ground/lateral', False), ('left_ground/travel', True), ('left_ground/normal', True)):
        assert wrenches.unique[names.index(row)] == unique
    weight = 2 * plane.wheel_mass * 9.81
    assert forces['left_ground'][2] + forces['right_ground'][2] == pytest.approx(weight, rel=1e-12)
    assert wrenches.left_over < 1e-12


def test_the_wheels_of_the_caster_vehicle_carry_its_weight():
    machine, plane = caster_vehicle(), CasterVehicle()
    wrenches = natural_orthogonal_complement(machine.blocks).at(machine.rest, np.zeros(10)).wrenches(np.zeros(10))
    loads = {name: wrenches.forces[f'{name}_ground'][2] for name in ('left', 'right', 'caster')}
    assert sum(loads.values()) == pytest.approx((plane.mass + 3 * plane.wheel_mass) * 9.81, rel=1e-12)
    share = plane.ahead / (plane.ahead + plane.pivot - plane.offset)
    assert loads['caster'] == pytest.approx(9.81 * (plane.wheel_mass + plane.mass * share), rel=1e-10)
    # the caster's pivot carries the load of the caster wheel, less the weight of the wheel
    assert wrenches.pairs['fork'][5] == pytest.approx(-9.81 * plane.mass * share, rel=1e-10)
    assert all(wrenches.pairs_unique['fork'])


def test_only_the_sum_of_four_wheel_loads_is_determined():
    machine = omni_vehicle(vehicle(4))
    wrenches = natural_orthogonal_complement(machine.blocks).at(machine.rest, np.zeros(10)).wrenches(np.zeros(10))
    normals = [wrenches.forces[f'wheel_{k}_ground'][1] for k in range(1, 5)]
    names = list(machine.blocks.row_names)
    assert sum(normals) == pytest.approx(45 * 9.81, rel=1e-12)
    assert not wrenches.unique[names.index('wheel_1_ground/normal')]


# --- loops and choices -------------------------------------------------------------------------------------------


@pytest.mark.pins('saha-1991/6.1/structure')
def test_the_caster_vehicle_as_a_free_platform_has_two_loops():
    machine = caster_vehicle(base='free')
    loops = system_loops(machine.blocks)
    assert len(loops) == 2
    assert all('ground' in loop for loop in loops)


def test_actuated_rates_are_chosen_if_they_can_be_independent():
    machine = caster_vehicle()
    for q, _, _ in random_states(machine, 10, 2):
        partition = natural_orthogonal_complement(machine.blocks, prefer=machine.actuated).partition(q)
        assert [machine.blocks.tree.velocity_names[k] for k in partition.independent] == ['left', 'right']
    four = omni_vehicle(vehicle(4))
    names = four.blocks.tree.velocity_names
    chosen = natural_orthogonal_complement(four.blocks, prefer=four.actuated).partition(four.rest).independent
    assert {names[k] for k in chosen} < set(four.actuated)


def test_the_choice_by_pivoting_is_better_conditioned_than_a_named_one():
    """Yaw and fork of the caster vehicle: the fork's rate does not determine the speed if the caster trails."""
    machine = caster_vehicle()
    straight = machine.position({'fork': 1e-3})
    automatic = natural_orthogonal_complement(machine.blocks).partition(straight)
    named = natural_orthogonal_complement(machine.blocks, ('yaw', 'fork')).partition(straight)
    assert automatic.condition < 20 < 1000 < named.condition
    with pytest.raises(MethodError, match=r'velocities yaw, fork do not determine the others here: .*caster can still'):
        natural_orthogonal_complement(machine.blocks, ('yaw', 'fork')).partition(machine.position({'fork': 0.0}))


def test_a_choice_of_the_wrong_size_is_rejected():
    machine = caster_vehicle()
    with pytest.raises(MethodError, match='expected 2 independent velocities, as many as the mobility, found left'):
        natural_orthogonal_complement(machine.blocks, ('left',)).at(machine.rest, np.zeros(10))
    with pytest.raises(KeyError, match="unknown velocity 'lift'; known: x, y, z"):
        natural_orthogonal_complement(machine.blocks, ('lift',))
    with pytest.raises(ValueError, match='expected v of 10 numbers'):
        natural_orthogonal_complement(machine.blocks).at(machine.rest, np.zeros(3))


def test_the_four_bar_with_dependent_rows_has_one_motion():
    model = models.four_bar(planar=False)
    system = model.blocks()
    formulation = natural_orthogonal_complement(system)
    assert formulation.mobility(model.q) == analyse(system, model.q).mobility == 1
    tau = np.zeros(model.tree.nv)
    tau[0] = 4.0
    v = projected_velocity(system, model.q, np.ones(model.tree.nv))
    here = formulation.at(model.q, v)
    expected = constrained_dynamics(system, model.q, v, tau, method='saddle').acceleration
    assert here.accelerations(tau) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_prescribed_motion_drives_the_bodies_on_it():
    builder = TreeBuilder()
    arm = builder.add_joint('drive', -1, 'revolute', Z, mass=1.0, com=(0.3, 0, 0), inertia=0.02 * np.eye(3))
    builder.add_joint('free', arm, 'revolute', Z, p=(0.6, 0, 0), mass=0.7, com=(0.2, 0.1, 0), inertia=0.01 * np.eye(3))
    driven = Prescribed(Lock('servo', 'drive'), lambda t: 0.3 * t + 0.5 * t**2)
    system = ConstraintBlocks(builder.build(), [driven])
    p = {'time': 0.4}
    q, v = np.array([0.3 * 0.4 + 0.5 * 0.16, 0.8]), np.array([0.7, -0.4])
    here = natural_orthogonal_complement(system).at(q, v, p)
    expected = constrained_dynamics(system, q, v, np.zeros(2), p)
    assert here.independent == ('free',)
    assert here.accelerations(np.zeros(2)) == pytest.approx(expected.acceleration, abs=1e-12)
    assert here.wrenches(np.zeros(2)).multipliers == pytest.approx(expected.multipliers, abs=1e-12)


def test_contradictory_rows_are_rejected():
    builder = TreeBuilder()
    builder.add_joint('slide', -1, 'prismatic', (1, 0, 0), mass=1.0)
    tree = builder.build()
    locks = [Prescribed(Lock('one', 'slide')), Prescribed(Lock('two', 'slide'))]
    system = ConstraintBlocks(tree, locks)
    with pytest.raises(ContradictoryConstraintsError, match=r'row (one|two)/position depends on others'):
        natural_orthogonal_complement(system).at([0.0], [0.0], {'one/acceleration': 1.0})


def test_without_constraints_all_rates_are_independent_and_held_bodies_have_none():
    builder = TreeBuilder()
    builder.add_joint('slide', -1, 'prismatic', (1, 0, 0), mass=2.0)
    tree = builder.build()
    loose = natural_orthogonal_complement(ConstraintBlocks(tree, [], gravity=(0.5, 0, 0))).at([0.1], [0.3])
    assert loose.accelerations([3.0]) == pytest.approx([2.0])
    held = ConstraintBlocks(tree, [Loop.frame('weld', tree.frame('slide'), world_frame())], gravity=(0.5, 0, 0))
    fixed = natural_orthogonal_complement(held).at([0.0], [0.0])
    assert fixed.T.shape == (6, 0)
    assert fixed.accelerations([3.0]) == pytest.approx([0.0])
    assert fixed.wrenches([3.0]).forces['weld'][3] == pytest.approx(-4.0)


def test_an_arm_on_rollers_agrees_with_the_engine():
    """A platform on four Mecanum wheels with two joints of an arm on it, as one free body."""
    plane = OmniVehicle(vehicle(4).wheels, 37.0, 1.6033)
    base = omni_vehicle(plane, base='free')
    blocks = base.blocks
    builder = TreeBuilder()
    platform = builder.add_free('platform', 37.0, inertia=1.6033 * np.eye(3))
    for body in blocks.tree.bodies[1:]:
        builder.add_joint(body.name, platform, 'revolute', body.axis, p=body.p0, mass=body.mass, inertia=body.inertia)
    shoulder = builder.add_joint('shoulder', platform, 'revolute', Z, p=(0.1, 0, 0.2), mass=3.0, com=(0.2, 0, 0))
    builder.add_joint('elbow', shoulder, 'revolute', (0, 1, 0), p=(0.4, 0, 0), mass=2.0, com=(0.2, 0, 0.1))
    system = ConstraintBlocks(builder.build(), blocks.constraints, gravity=(0, 0, -9.81))
    rng = np.random.default_rng(0)
    q = system.tree.neutral
    q[2], q[-2:] = 0.1, (0.4, -0.7)
    v = projected_velocity(system, q, rng.normal(size=system.tree.nv))
    tau = rng.normal(size=system.tree.nv)
    here = natural_orthogonal_complement(system).at(q, v)
    expected = constrained_dynamics(system, q, v, tau, method='saddle')
    assert len(here.independent) == 5
    assert np.abs(here.accelerations(tau) - expected.acceleration).max() < 1e-10 * np.abs(expected.acceleration).max()
