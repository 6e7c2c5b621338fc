"""D-c motors: equations, limits, energy, checks of their keys, and rotors in every formulation."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.cli import main
from dyn_nodes.constraints import ConstraintBlocks, Coupling, constrained_dynamics
from dyn_nodes.elements import actuator_element
from dyn_nodes.model import load_machine
from dyn_nodes.model.load import load_machine_report
from dyn_nodes.model.machine import DcMotorActuator
from dyn_nodes.model.posture import center_of_mass, link_poses
from dyn_nodes.multibody import (
    Tree,
    TreeBuilder,
    TreeState,
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
)
from dyn_nodes.multibody.elements import Command
from dyn_nodes.multibody.influence import TreeCoefficients, serial_model
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.studies.formulations.chain import LinkArrays
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.transfer import coordinate_transfer
from dyn_nodes.studies.formulations.witnesses import gibbs_appell, kane
from dyn_nodes.studies.freeman_1985.machines import MECHANISMS, random_state
from dyn_nodes.studies.reference import tabulated

ROOT = Path(__file__).resolve().parents[2]
URDF, YAML = ROOT / 'urdf' / 'arm_a6.urdf', ROOT / 'config' / 'arm_a6.yaml'
MOTOR = DcMotorActuator(
    'drive', 'joint', torque_constant=0.25, resistance=1.0, inductance=3e-3, voltage_limit=48.0, current_limit=20.0,
    gear_ratio=100.0, rotor_inertia=2e-4, rotor_damping=1e-4,
)  # fmt: skip
GRAVITY = (0.2, -0.3, -9.81)


@cache
def traced():
    """Return effort, current rate, powers, rate of stored energy, outputs, surface by rate, current and command."""
    w, i, u = (ca.SX.sym(name) for name in 'wiu')
    terms = actuator_element(MOTOR).terms(ca.SX(0), w, {'drive/current': i, 'drive/voltage': u})
    stored = ca.jtimes(terms.stored_energy, i, terms.rates[0])
    parts = [terms.effort, terms.rates[0], terms.supplied_power, stored, terms.dissipated_power]
    parts += [terms.outputs['drive/terminal_voltage'], terms.outputs['drive/winding_power'], terms.surfaces[0].value]
    inside = ca.Function('motor', [w, i, u], [ca.vertcat(*parts)])
    return lambda rate, current, volts: np.array(inside(rate, current, volts)).ravel()


def samples(count=200):
    """Return rates, currents and commands: the back-emf (25 V s/rad) exceeds the source from 2.72 rad/s on."""
    rng = np.random.default_rng(7)
    return zip(rng.uniform(-4.0, 4.0, count), rng.uniform(-25.0, 25.0, count), rng.uniform(-120.0, 120.0, count))


def test_supplied_power_is_heat_friction_mechanical_power_and_stored_energy():
    for rate, current, volts in samples():
        effort, _, supplied, stored, dissipated, _, heat, _ = traced()(rate, current, volts)
        assert effort * rate == pytest.approx(supplied - stored - dissipated, abs=1e-10 * (1.0 + abs(supplied)))
        assert dissipated == pytest.approx(heat + 1.0 * rate**2)
        assert heat == pytest.approx(current**2)


def test_within_the_limits_the_equations_of_the_source_hold():
    rate, current, volts = (
        0.5,
        float(tabulated('freeman-1985/7.4/current')[0]),
        float(tabulated('freeman-1985/7.4/voltage')[0]),
    )
    effort, slope, *_, terminal, _, excess = traced()(rate, current, volts)
    assert terminal == volts
    assert excess < 0.0
    assert effort == pytest.approx(25.0 * current - 1.0 * rate)
    assert slope == pytest.approx((volts - current - 25.0 * rate) / 3e-3)


def test_voltage_stays_within_the_source_and_drives_no_current_beyond_its_limit():
    held = driven = 0
    for rate, current, volts in samples():
        _, slope, *_, terminal, _, excess = traced()(rate, current, volts)
        assert abs(terminal) <= 48.0
        final = terminal - 25.0 * rate  # R is 1 ohm
        if abs(25.0 * rate) <= 68.0:  # the source can hold the current: 48 V and 20 ohm A
            held += 1
            assert abs(final) <= 20.0 + 1e-12
            assert slope * np.sign(current) <= 1e-9 or abs(current) < 20.0
        else:  # driven so fast that the source is at its limit and the current exceeds its limit
            driven += 1
            assert terminal == 48.0 * np.sign(rate)
            assert final * rate < 0.0
            assert abs(final) > 20.0
        assert (excess > 0.0) == (abs(np.clip(volts, -48.0, 48.0) - 25.0 * rate) > 20.0)
    assert min(held, driven) > 30


def test_a_stalled_motor_approaches_its_current_limit_from_below():
    current, step = 0.0, 1e-4
    for _ in range(400):
        current += step * traced()(0.0, current, 400.0)[1]
        assert current <= 20.0
    assert current == pytest.approx(20.0, rel=1e-5)


def test_a_current_holds_a_joint_and_zero_volts_do_not():
    element = actuator_element(MOTOR)
    (current,) = element.at_rest(0.3, -44.0)
    assert traced()(0.0, current, MOTOR.resistance * current)[:2] == pytest.approx([-44.0, 0.0], abs=1e-12)
    assert element.locked_stiffness(0.0) == 0.0
    assert element.capacity(0.0, 48.0, holding=True) == (-500.0, 500.0)
    assert element.capacity(0.0, 12.0, holding=False) == (-300.0, 300.0)
    assert element.inputs == (Command('drive/voltage'),)
    with pytest.raises(ValueError, match='takes 24 A, expected at most the limit of 20 A'):
        element.at_rest(0.0, 600.0)


# -- rotors ------------------------------------------------------------------------------------------------------------


def rotors_on(tree: Tree, seed: int = 3) -> Tree:
    """Return the tree with reflected inertias, similar to its inertias, on every other joint."""
    rng = np.random.default_rng(seed)
    moved = [k for k, body in enumerate(tree.bodies) if body.kind != 'free'][::2]
    bodies = tuple(
        replace(body, armature=float(rng.uniform(0.5, 3.0))) if k in moved else body
        for k, body in enumerate(tree.bodies)
    )
    return replace(tree, bodies=bodies)


def floating_arm() -> Tree:
    builder = TreeBuilder()
    base = builder.add_free('base', 40.0, (0.1, 0.0, 0.2), np.diag([3.0, 4.0, 5.0]))
    one = builder.add_joint('one', base, 'revolute', (0, 0, 1), p=(0.2, 0, 0.3), mass=6.0, com=(0, 0.1, 0.2),
                            inertia=np.diag([0.3, 0.2, 0.1]))  # fmt: skip
    two = builder.add_joint('two', one, 'prismatic', (0.6, 0.0, 0.8), p=(0, 0.1, 0.3), mass=3.0, com=(0.1, 0, 0),
                            inertia=np.diag([0.1, 0.2, 0.1]))  # fmt: skip
    builder.add_joint('three', two, 'revolute', (0, 1, 0), p=(0, 0, 0.4), mass=2.0, com=(0.2, 0, 0.1),
                      inertia=np.diag([0.1, 0.1, 0.1]))  # fmt: skip
    return builder.build()


def test_forward_and_inverse_dynamics_mass_matrix_and_energy_agree_on_rotors():
    plain = floating_arm()
    tree = rotors_on(plain)
    assert np.flatnonzero(tree.armatures).tolist() == [6, 8]
    q, v, tau = ca.SX.sym('q', tree.nq), ca.SX.sym('v', tree.nv), ca.SX.sym('tau', tree.nv)
    state, bare, g = TreeState(tree, q, v), TreeState(plain, q, v), ca.SX(list(GRAVITY))
    a = forward_dynamics(state, tau, g)
    outputs = [a, inverse_dynamics(state, a, g), mass_matrix(state), mass_matrix(bare), bias_force(state, g),
               bias_force(bare, g), state.kinetic_energy]  # fmt: skip
    rng = np.random.default_rng(5)
    at = rng.normal(size=tree.nq)
    at[3:7] /= np.linalg.norm(at[3:7])
    rates, efforts = rng.normal(size=tree.nv), 10.0 * rng.normal(size=tree.nv)
    results = [np.array(part) for part in ca.Function('arm', [q, v, tau], outputs)(at, rates, efforts)]
    acceleration, needed, M, M_bare, h, h_bare, energy = results
    assert needed.ravel() == pytest.approx(efforts, abs=1e-11)
    assert M - M_bare == pytest.approx(np.diag(tree.armatures), abs=1e-12)
    assert h == pytest.approx(h_bare, abs=0.0)
    assert M @ acceleration.ravel() + h.ravel() == pytest.approx(efforts, abs=1e-11)
    assert float(energy[0, 0]) == pytest.approx(0.5 * rates @ M @ rates, rel=1e-13)


@pytest.mark.parametrize('name', ['five-bar', 'three-leg'])
def test_formulations_of_closed_loops_agree_on_rotors(name):
    """Constraint engine, natural complement, transfer of coordinates, Kane, Gibbs-Appell."""
    mechanism = MECHANISMS[name]()
    plain = mechanism.blocks(GRAVITY)
    system = ConstraintBlocks(rotors_on(plain.tree), mechanism.constraints, gravity=GRAVITY)
    q, v, tau = random_state(mechanism, plain, np.random.default_rng(2))
    expected = constrained_dynamics(system, q, v, tau, method='saddle').acceleration
    assert np.abs(expected - constrained_dynamics(plain, q, v, tau, method='saddle').acceleration).max() > 1e-3
    complement = natural_orthogonal_complement(system).at(q, v)
    results = [complement.accelerations(tau), coordinate_transfer(system).at(q, v).accelerations(tau)]
    if name == 'five-bar':
        results += [formulation(system)(q, v, tau).acceleration for formulation in (kane, gibbs_appell)]
    for accelerations in results:
        assert accelerations == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    needed = complement.inverse_dynamics(expected[list(complement.partition.independent)])
    assert needed == pytest.approx(complement.efforts(tau), abs=1e-9 * np.abs(tau).max())


def test_a_reflected_inertia_equals_a_geared_rotor_as_a_body():
    """A rotor on the base, coupled to the first joint by its gear: exact, as the carrier of the rotor is fixed."""
    n, rotor = 7.0, 0.02

    def arm(builder):
        one = builder.add_joint('one', -1, 'revolute', (0, 1, 0), mass=6.0, com=(0.3, 0, 0), inertia=0.1 * np.eye(3))
        builder.add_joint('two', one, 'revolute', (0, 1, 0), p=(0.6, 0, 0), mass=3.0, com=(0.2, 0, 0.1),
                          inertia=0.05 * np.eye(3))  # fmt: skip

    geared, reflected = TreeBuilder(), TreeBuilder()
    arm(geared)
    geared.add_joint('rotor', -1, 'revolute', (0, 1, 0), p=(0, 0.2, 0), mass=1.0, inertia=np.diag([0, rotor, 0]))
    arm(reflected)
    reflected.add_armature('one', n**2 * rotor)
    gear = Coupling('gear', {'rotor': 1.0, 'one': -n})
    system = ConstraintBlocks(geared.build(), [gear], gravity=GRAVITY)
    q, v, tau = np.array([0.4, -0.7, 2.8]), np.array([0.5, 1.5, 3.5]), np.array([30.0, 4.0, 0.0])
    expected = constrained_dynamics(system, q, v, tau, method='saddle').acceleration[:2]
    symbols = [ca.SX.sym(name, 2) for name in 'qvt']
    state = TreeState(reflected.build(), *symbols[:2])
    evaluate = ca.Function('arm', symbols, [forward_dynamics(state, symbols[2], ca.SX(list(GRAVITY)))])
    assert np.array(evaluate(q[:2], v[:2], tau[:2])).ravel() == pytest.approx(expected, rel=1e-12)


def test_formulations_without_rotors_reject_trees_with_rotors():
    with pytest.raises(ValueError, match='expected joints without rotors, found reflected inertia on one'):
        LinkArrays.from_tree(rotors_on(floating_arm()))


def test_rotors_are_declared_on_joints():
    builder = TreeBuilder()
    builder.add_free('base', 1.0)
    with pytest.raises(ValueError, match='base: expected a joint of one degree of freedom for a rotor'):
        builder.add_armature('base', 1.0)
    builder.add_joint('one', 0, 'revolute', (0, 0, 1))
    with pytest.raises(ValueError, match='one: expected a rotor inertia >= 0, found -1'):
        builder.add_armature('one', -1.0)


# -- machine files -----------------------------------------------------------------------------------------------------


@cache
def a6():
    return load_machine(URDF, YAML)


def test_rotors_of_a_machine_enter_the_inertia_of_its_joints():
    """This holds with motors in the system and with motors in another node."""
    for actuation in ('effort', 'hydraulic'):
        tree = Assembly(a6(), actuation).tree
        assert tree.armatures.tolist() == [2.0, 2.0, 2.0, 0.075, 0.075, 0.075]
    position = TreeCoefficients(tree).at(np.zeros(6), 2)
    bare = TreeCoefficients(replace(tree, bodies=tuple(replace(body, armature=0.0) for body in tree.bodies)))
    added = serial_model(position).inertia - serial_model(bare.at(np.zeros(6), 2)).inertia
    assert added == pytest.approx(np.diag(tree.armatures), abs=1e-14)


def test_a_machine_with_motors_is_checked_with_its_holding_currents(capsys):
    assert main(['check', str(URDF), '--config', str(YAML)]) == 0
    printed = capsys.readouterr().out
    assert '25 N m/A' in printed
    assert 'speed without load' in printed
    assert 'holds with, A' in printed
    assert '-1.948' in printed
    assert 'relief' not in printed
    assert 'no problems' in printed


def test_holding_currents_follow_from_the_potential_energy(capsys):
    """Central differences of the height of the masses, N m, over effort per current."""
    assert main(['check', str(URDF), '--config', str(YAML), '--json']) == 0
    facts = json.loads(capsys.readouterr().out)['machine']
    machine = load_machine(URDF, YAML)

    def energy(positions):
        mass, center = center_of_mass(machine.links, link_poses(machine.links, machine.joints, positions), None)
        return 9.81 * mass * center[2]

    start = machine.initial.joint_positions
    for actuator, motor in zip(facts['actuators'], machine.actuators):
        up, down = ({**start, motor.joint: start[motor.joint] + step} for step in (1e-5, -1e-5))
        effort = (energy(up) - energy(down)) / 2e-5
        assert actuator['holding_effort'] == pytest.approx(effort, abs=1e-5)
        assert actuator['holding_current'] == pytest.approx(effort / motor.effort_per_current, abs=1e-6)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            ('gear_ratio: {value: 100.0', 'gear_ratio: {value: 0.0'),
            ':25: actuators.motor_1.gear_ratio: expected a number > 0 rad/rad or rad/m, found 0',
        ),
        (
            ("    torque_constant: {value: 0.25, assumed: 'the source has no data of a motor'}\n", ''),
            ':17: actuators.motor_1.torque_constant: expected a value (N m/A): torque of the rotor per current',
        ),
        (
            ('current_limit: {value: 20.0', 'current_limit: {value: 1.0'),
            "expected one whose plant can be built, found actuator 'motor_2'",
        ),
    ],
)
def test_motors_without_constants_or_gear_are_rejected_by_name_file_and_line(tmp_path, capsys, change, message):
    path = tmp_path / 'arm.yaml'
    text = YAML.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    assert main(['check', str(URDF), '--config', str(path)]) == 1
    assert message in capsys.readouterr().err


PRESCRIBED = '{kind: prescribed, joint: joint_1, profile: {kind: sine, amplitude: 0.3, frequency: 0.5}}'
RESISTANCE = "resistance: {value: 1.0, assumed: 'the source has no data of a motor'}"


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (RESISTANCE, 'resistance: -1', ':21: actuators.motor_1.resistance: expected a number > 0 ohm, found -1'),
        (RESISTANCE, 'resistance: .nan', ":21: actuators.motor_1.resistance: expected a finite number, found '.nan'"),
        ('joint: joint_1\n', 'joint: elbow\n',
         ":19: actuators.motor_1.joint: expected a joint of the URDF, found 'elbow'"),
        ('joint: joint_2}', 'joint: joint_1}', ':26: actuators.motor_2.joint: expected one actuator on joint joint_1'),
        ('joint: joint_1\n', 'joint: tool_mount\n',
         ":19: actuators.motor_1.joint: expected a movable joint, found 'tool_mount', which is fixed"),
        ('defaults:\n', 'joints: {joint_1: {class: free}}\ndefaults:\n',
         ":11: joints.joint_1: expected class actuated of a joint that actuators.motor_1 moves, found 'free'"),
        ('defaults:\n', 'joints: {joint_1: {class: flexible, stiffness: 3}}\ndefaults:\n',
         ":11: joints.joint_1: expected class actuated of a joint that actuators.motor_1 moves, found 'flexible'"),
        ('defaults:\n', f'constraints: {{turn: {PRESCRIBED}}}\ndefaults:\n',
         ':11: constraints.turn.joint: expected a joint without actuator, found '
         "'joint_1', which actuators.motor_1 moves"),
    ],
)  # fmt: skip
def test_an_invalid_motor_is_reported_with_file_line_and_name(tmp_path, old, new, message):
    path = tmp_path / 'arm.yaml'
    text = YAML.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    machine, problems, _ = load_machine_report(str(URDF), str(path))
    assert machine is None
    assert any(str(problem).startswith(f'{path}{message}') for problem in problems), problems


def test_a_gear_that_makes_a_joint_far_slower_than_its_limit_is_a_warning(tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(YAML.read_text().replace('gear_ratio: {value: 50.0', 'gear_ratio: {value: 50000.0'))
    warnings = [str(warning) for warning in load_machine_report(str(URDF), str(path)).warnings]
    assert any('actuators.motor_4.gear_ratio: expected a gear with which 48 V reach' in line for line in warnings)


def test_a_screw_drives_a_prismatic_joint_by_a_motor(tmp_path, capsys):
    """60 N on a slide at 20 mm per turn: the rotor's torque is F l / (2 pi); a revolute joint is rejected."""
    motor = DcMotorActuator(
        name='lift', joint='slide', torque_constant=0.06, resistance=1.0, inductance=1e-3, voltage_limit=48.0,
        current_limit=9.0, gear_ratio=2.0, screw_lead=0.02, rotor_inertia=1e-5, rotor_damping=1e-5,
    )  # fmt: skip
    ratio = 2.0 * 2.0 * np.pi / 0.02
    assert motor.drive_ratio == pytest.approx(ratio)
    assert actuator_element(motor).at_rest(0.0, 60.0)[0] == pytest.approx(60.0 * 0.02 / (2.0 * np.pi) / 2.0 / 0.06)
    assert (motor.reflected_inertia, motor.viscous) == pytest.approx((ratio**2 * 1e-5, ratio**2 * 1e-5))
    path = tmp_path / 'arm.yaml'
    path.write_text(YAML.read_text().replace('gear_ratio: {value: 50.0', 'screw_lead: {value: 0.02', 1))
    assert main(['check', str(URDF), '--config', str(path)]) == 1
    assert 'actuators.motor_4.screw_lead: expected a prismatic joint for a screw' in capsys.readouterr().err
