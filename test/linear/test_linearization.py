"""Linear models against central differences of dx/dt and of outputs, in minimal coordinates."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import projected_velocity
from dyn_nodes.model import load_machine
from dyn_nodes.model.actuators.dc_motor import DcMotorActuator
from dyn_nodes.multibody import build_tree
from dyn_nodes.multibody.influence import TreeCoefficients
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.linear import Linearizer, linearize
from dyn_nodes.simulation.linear.deviations import by_independent, independent
from dyn_nodes.studies.freeman_1985.arms import A6_GRAVITY, A6_V
from dyn_nodes.studies.freeman_1985.influence_linearization import arm_state_space, effort_slopes
from dyn_nodes.studies.freeman_1985.linear import drives_of

TOLERANCE = 1e-6
VOLTS = {'boom/voltage': 5.0, 'stick/voltage': -4.0, 'swing/voltage': 3.0}


def machine_of(name):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


@cache
def moving_loader():
    """Return the log-loader with open valves, its arm and base in motion."""
    system = System(machine_of('log_loader'))
    inputs = Inputs.constant(VOLTS)
    run = system.run(initial_state(system), np.linspace(0, 0.6, 61), inputs, settings=Settings(step=1e-3))
    return system, run


@cache
def moving_agv():
    """Return an arm on a vehicle with Mecanum wheels, driven by efforts."""
    system = System(machine_of('agv_mecanum_arm'), 'effort')
    inputs = Inputs.constant({name: 0.5 + 0.2 * k for k, name in enumerate(system.input_names)})
    run = system.run(initial_state(system), np.linspace(0, 0.1, 11), inputs, settings=Settings(step=1e-3))
    return system, run


@cache
def moving_mechanism(name, actuation):
    """Return the system of a machine with constraints, a state in motion that satisfies them, and inputs."""
    start = constrained_machine(machine_of(name), actuation=actuation)
    system = start.system
    v = projected_velocity(system.blocks, start.q, 0.3 * np.cos(np.arange(system.nv)))
    x = system.state(start.q, v)
    rng = np.random.default_rng(3)
    for k, state in enumerate(system.blocks.element_states):
        x[system.constraints.element_slice.start + k] += 0.05 * state.scale * rng.normal()
    return system, x, np.cos(np.arange(len(system.input_names)))


def at_sample(system, run, time):
    sample = int(np.argmin(np.abs(run.times - time)))
    return run.states[sample], run.inputs.at(run.times[[sample]], system.input_names)[0]


def state_at(system, deviations, z, p):
    """Return the state with the deviation z, which satisfies the constraints."""
    x = deviations.x + deviations.into @ z
    for at in deviations.quaternions:
        turn = 2 * (deviations.into @ z)[at : at + 4]
        quaternion = deviations.x[at : at + 4]
        turn = Rotation.from_rotvec(Rotation.from_quat(quaternion).inv().as_matrix() @ world(quaternion, turn))
        x[at : at + 4] = (Rotation.from_quat(quaternion) * turn).as_quat()
        x[at : at + 4] *= np.sign(x[at : at + 4] @ quaternion)
    blocks = getattr(system, 'blocks', None)
    if blocks is None or not blocks.m:
        return x
    nq, nv = system.nq, system.nv
    for _ in range(6):  # dependent coordinates only: independent ones and quaternions here stay
        at = blocks.at(x[:nq], x[nq : nq + nv], system.constraints.numbers(p, x))
        rest = [k for k in range(nv) if k not in deviations.choice.velocities]
        indices = {body.v: body.q for body in blocks.tree.bodies if body.kind != 'free'}
        step = -np.linalg.lstsq(at.J[:, rest], at.residual, rcond=1e-10)[0]
        x[[indices[k] for k in rest]] += step
        at = blocks.at(x[:nq], x[nq : nq + nv], system.constraints.numbers(p, x))
        slip = at.J @ x[nq : nq + nv] - at.sigma
        x[nq + np.array(rest)] -= np.linalg.lstsq(at.J[:, rest], slip, rcond=1e-10)[0]
    assert np.abs(at.residual).max() < 1e-12
    return x


def world(quaternion, rate):
    """Return twice the vector part of (rate x conjugate): the angular velocity in the world of a quaternion rate."""
    (x, y, z), w = quaternion[:3], quaternion[3]
    a, b = rate[:3], rate[3]
    return a * w - b * np.array([x, y, z]) + np.cross(np.array([x, y, z]), a)


def rate_of(system, deviations, x, u, p, nominal):
    """Return the rate (n,) of the deviation at a state while the nominal state moves."""
    rate = system.rhs(x, u, p)
    rates = deviations.out_of @ (rate - nominal)
    nq = system.nq
    for k, at in enumerate(deviations.quaternions):
        turn = Rotation.from_quat(deviations.x[at : at + 4]).inv() * Rotation.from_quat(x[at : at + 4])
        first = nq + 0  # a free base comes first among the velocities: angular, then linear
        assert k == 0
        relative = x[first : first + 3] - turn.inv().apply(deviations.x[first : first + 3])
        rows = [deviations.names.index(f'base_r{axis}') for axis in 'xyz']
        rates[rows] = relative + 0.5 * np.cross(turn.as_rotvec(), relative)
    return rates


def check(system, x, u, outputs):
    """Check A, B, C, D against fourth-order differences in units of the typical magnitudes of the states."""
    p = system.parameters()
    linearizer = Linearizer(system, outputs)
    model, deviations = linearizer.at(x, u, p), linearizer.deviations(x, u, p)
    nominal = system.rhs(x, u, p)

    def function(z, v):
        there = state_at(system, deviations, z, p)
        values = dict(zip(system.output_names, system.outputs(there, v, p)))
        values |= dict(zip(system.state_names, there))
        return np.r_[rate_of(system, deviations, there, v, p, nominal), [values[name] for name in outputs]]

    n, rows = len(model.A), np.r_[model.scales, np.ones(len(outputs))]
    exact = np.block([[model.A, model.B], [model.C, model.D]])
    sizes = np.r_[model.scales, np.ones(len(u))]
    numeric = np.empty_like(exact)
    for k, size in enumerate(sizes):
        h = 1e-5 * size
        unit = np.eye(len(sizes))[k]

        def shifted(step, unit=unit):
            return function(step * unit[:n], u + step * unit[n:])

        numeric[:, k] = (8 * (shifted(h) - shifted(-h)) - shifted(2 * h) + shifted(-2 * h)) / (12 * h)
    exact, numeric = (part * sizes / rows[:, None] for part in (exact, numeric))
    error = np.abs(exact - numeric) / np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1.0)
    worst = np.unravel_index(error.argmax(), error.shape)
    assert error.max() < TOLERANCE, (worst, exact[worst], numeric[worst])
    return model


def test_log_loader_with_hydraulics_equals_central_differences():
    system, run = moving_loader()
    outputs = ['boom_joint', 'boom_joint_acceleration', 'load_force_z', 'load_moment_y', 'tilt', 'boom/drive_effort']
    outputs = [name for name in outputs if name in (*system.output_names, *system.state_names)]
    model = check(system, *at_sample(system, run, 0.5), outputs)
    assert model.A.shape == (35, 35)
    assert model.state_names[3:7] == ('base_rx', 'base_ry', 'base_rz', 'swing_joint')
    assert model.input_names == tuple(VOLTS)


def test_vehicle_with_arm_equals_central_differences():
    system, run = moving_agv()
    outputs = ['load_force_x', 'load_moment_z', *[name for name in system.output_names if 'normal_force' in name]]
    model = check(system, *at_sample(system, run, 0.1), outputs)
    assert 'base_rz' in model.state_names
    assert not any('base_q' in name for name in model.state_names)


def test_mechanism_with_a_loop_equals_central_differences():
    system, x, u = moving_mechanism('four_bar', 'effort')
    model = check(system, x, u, ['crank_joint', 'kinetic_energy', 'crank_joint_acceleration', 'rocker_joint'])
    assert model.state_names == ('crank_joint', 'crank_joint_rate')


def test_linkage_with_hydraulics_on_wheels_equals_central_differences():
    system, x, u = moving_mechanism('log_loader_linkage', 'hydraulic')
    reactions = [name for name in system.output_names if name.endswith('/force_x')][:1]
    model = check(system, x, u, ['stick_joint', 'load_force_z', *reactions])
    driven = ('swing_joint', 'stick_rod_joint', 'boom_rod_joint')
    assert model.state_names[6:9] == driven
    assert Linearizer(system).outputs == driven
    assert len(model.A) == 35


def test_arm_on_motors_equals_the_closed_form_of_its_source():
    """Rotors, gears and armatures by the general model and by (2-241), without a tool load."""
    machine = machine_of('arm_a6')
    system = System(machine)
    tree = build_tree(machine)
    x = initial_state(system)
    x[6:12] = A6_V
    volts = np.array([12.0, -11.0, 17.0, 0.5, -2.0, 4.0])
    a = system.rhs(x, volts, system.parameters())[6:12]
    model = linearize(system, x, volts)
    drives = drives_of(machine)
    slopes = effort_slopes(TreeCoefficients(tree).at(x[:6]), A6_V, a, A6_GRAVITY)
    F, inputs = arm_state_space(slopes, drives)  # the tree of the machine has the rotors
    assert model.state_names[12:] == tuple(f'motor_{k}/current' for k in range(1, 7))
    assert np.abs(model.A - F).max() < 1e-9 * np.abs(F).max()
    assert pytest.approx(inputs) == model.B
    assert model.controllability().complete


@pytest.mark.slow
def test_platform_on_six_motors_equals_central_differences():
    """Fast counterparts: the arm on motors, and the machines with loops."""
    machine = machine_of('stewart_platform')
    numbers = {'torque_constant': 0.2, 'resistance': 0.8, 'inductance': 2e-3, 'voltage_limit': 48.0}
    numbers |= {'current_limit': 60.0, 'gear_ratio': 300.0, 'rotor_inertia': 1e-4, 'rotor_damping': 1e-4}
    motors = tuple(DcMotorActuator(name=f'motor_{k}', joint=f'leg_{k}_length_joint', **numbers) for k in range(1, 7))
    start = constrained_machine(replace(machine, actuators=motors), actuation='hydraulic')
    system = start.system
    v = projected_velocity(system.blocks, start.q, 0.1 * np.cos(np.arange(system.nv)))
    x = system.state(start.q, v)
    outputs = ['leg_1_length_joint', 'leg_3_length_joint_acceleration', 'motor_2/effort', 'kinetic_energy']
    model = check(system, x, np.linspace(-5, 5, 6), [name for name in outputs if name in existing(system)])
    assert model.state_names[:6] == tuple(f'leg_{k}_length_joint' for k in range(1, 7))
    assert len(model.A) == 18
    assert model.controllability().complete
    assert Linearizer(system).outputs == model.state_names[:6]


def existing(system):
    return {*system.output_names, *system.state_names}


def test_models_along_a_motion_have_the_same_coordinates_and_follow_the_motion():
    system, run = moving_loader()
    models = Linearizer(system).along(run, [0.1, 0.3, 0.5])
    assert {model.state_names for model in models} == {models[0].state_names}
    assert [model.point.time for model in models] == pytest.approx([0.1, 0.3, 0.5])
    assert np.abs(models[0].A - models[-1].A).max() > 1e-3
    assert models[0].output_names == ('swing_joint', 'boom_joint', 'stick_joint')


def test_the_deviation_of_a_state_equals_its_coordinates():
    system, run = moving_loader()
    deviations = Linearizer(system).deviations(*at_sample(system, run, 0.5))
    z = 1e-3 * np.cos(np.arange(len(deviations.names)))
    assert deviations.of(state_at(system, deviations, z, system.parameters())) == pytest.approx(z, abs=1e-8)
    far = deviations.x.copy()
    turn = Rotation.from_rotvec([0.4, -0.3, 1.0])
    far[3:7] = -(Rotation.from_quat(deviations.x[3:7]) * turn).as_quat()
    deviation = deviations.of(far)
    turned = [deviations.names.index(f'base_r{axis}') for axis in 'xyz']
    assert deviation[turned] == pytest.approx([0.4, -0.3, 1.0], abs=1e-12)


def test_an_undetermined_reaction_and_an_unknown_output_are_rejected():
    system, x, u = moving_mechanism('four_bar', 'effort')
    with pytest.raises(ValueError, match=r'output pin/force_y: expected one that the state determines'):
        linearize(system, x, u, outputs=['pin/force_y'])
    with pytest.raises(KeyError, match="unknown output 'nowhere'"):
        Linearizer(system, ['nowhere'])
    with pytest.raises(ValueError, match='expected a state vector'):
        Linearizer(system).at(x[:-1], u)


def test_coordinates_that_do_not_determine_the_motion_are_rejected():
    J = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    chosen = independent(J, np.array([False, True, False]))
    assert chosen.tolist() == [1, 2]
    assert by_independent(J, chosen, 'abc') == pytest.approx(np.array([[-1, 0], [1, 0], [0, 1]]))
    with pytest.raises(ValueError, match='a, b: expected coordinates that determine the motion'):
        by_independent(J, np.array([0, 1]), 'abc')
