"""Joint reactions against closed forms, drive efforts and ground reactions."""

from __future__ import annotations

import numpy as np
import pytest
from log_loader_tasks import CONFIG, URDF

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Base, Joint, Link, Machine, frozen_array
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.multibody.virtual_links import force_along, torque_about
from dyn_nodes.simulation import (
    Inputs,
    JointReaction,
    Settings,
    System,
    initial_state,
    joint_reaction,
)
from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import ThreeLinkChain

LENGTH, MASS = (1.0, 0.8, 0.6), (10.0, 8.0, 5.0)
CHAIN = ThreeLinkChain(LENGTH, (0.5, 0.4, 0.3), MASS, tuple(m * length**2 / 12 for m, length in zip(MASS, LENGTH)))
JOINTS = ('swing_joint', 'boom_joint', 'stick_joint')


def three_links():
    """Return the chain of spec 6.1 in the x-z plane: z is up, a positive angle turns a link from -z towards +x."""

    def inertia(k):
        return frozen_array(np.diag([MASS[k] * LENGTH[k] ** 2 / 12] * 2 + [0.0]), (3, 3))

    links = [Link('ground', 0.0, frozen_array((0, 0, 0), (3,)), frozen_array(np.zeros((3, 3)), (3, 3)))]
    joints = []
    for k in range(3):
        links.append(Link(f'link_{k + 1}', MASS[k], frozen_array((0, 0, -LENGTH[k] / 2), (3,)), inertia(k)))
        origin = np.eye(4)
        origin[2, 3] = -LENGTH[k - 1] if k else 0.0
        axis = frozen_array((0, -1, 0), (3,))
        joints.append(
            Joint(f'joint_{k + 1}', 'continuous', links[k].name, links[k + 1].name, frozen_array(origin, (4, 4)), axis)
        )
    return Machine(
        name='three_links',
        links=tuple(links),
        joints=tuple(joints),
        base=Base('ground', 'fixed'),
        overturn_angle=1.3,
        urdf='',
        sources=(),
    )


@pytest.fixture(scope='module')
def chain():
    return System(three_links(), 'effort')


def state_of(angles, rates):
    """Return the state (8,): relative joint angles and rates, work and heat zero."""
    return np.r_[np.diff(angles, prepend=0.0), np.diff(rates, prepend=0.0), 0.0, 0.0]


def efforts_of(torques):
    """Return the joint efforts from the torques conjugate to the absolute angles."""
    return {f'joint_{k + 1}/effort': float(sum(torques[k:])) for k in range(3)}


def in_world(force, angle):
    """Return a force in the child frame as (x, z) in the world."""
    return np.array(
        [np.cos(angle) * force[0] - np.sin(angle) * force[2], np.sin(angle) * force[0] + np.cos(angle) * force[2]]
    )


def test_the_three_link_chain_has_the_reaction_of_the_spec(chain):
    angles, rates, torques = (0.3, 0.7, -0.4), (1.2, -0.8, 2.0), (20.0, -5.0, 3.0)
    wrench = joint_reaction(chain, state_of(angles, rates), 'joint_2', efforts_of(torques))
    np.testing.assert_allclose(in_world(wrench.force, angles[1]), (-27.5075987341, 56.3642775169), atol=5.1e-11)
    # the drive turns about -y with -5 + 3 N m
    np.testing.assert_allclose(wrench.torque, (0.0, 2.0, 0.0), atol=1e-11)
    still = joint_reaction(chain, np.zeros(8), 'joint_2')
    np.testing.assert_allclose(still.force, (0.0, 0.0, 127.53), atol=1e-12)


def test_the_reaction_is_the_multiplier_of_the_constrained_form(chain):
    rng = np.random.default_rng(2)
    for _ in range(100):
        angles, rates, torques = rng.uniform(-np.pi, np.pi, 3), rng.normal(size=3), 20.0 * rng.normal(size=3)
        wrench = joint_reaction(chain, state_of(angles, rates), 'joint_2', efforts_of(torques))
        multiplier = CHAIN.constrained_motion(angles, rates, torques).multiplier
        error = np.abs(in_world(wrench.force, angles[1]) - multiplier).max()
        assert error < 1e-10 * max(1.0, np.abs(multiplier).max())


def test_the_peak_of_the_free_swing_equals_the_specified_value(chain):
    x0 = state_of((1.0, 0.5, -0.5), (0.0, 0.0, 0.0))
    times = np.arange(10_001) * 1e-3
    run = chain.run(x0, times, Inputs.constant(), settings=Settings(step=1e-3, stop_at_overturn=False))
    reactions = JointReaction(chain, ('joint_2',)).of_run(run)
    assert reactions.shape == (10_001, 1, 6)
    assert np.linalg.norm(reactions[:, 0, :3], axis=1).max() == pytest.approx(1034.06, rel=1e-3)


# -- the log-loader on its wheels -------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def meter(system):
    return JointReaction(system, (*JOINTS, 'payload_joint'))


@pytest.fixture(scope='module')
def instants(task):
    """Return states and inputs of the reference run: at rest, at work, and in the recovery."""
    chosen = slice(0, None, len(task.times) // 25)
    return list(zip(task.states[chosen], task.inputs.at(task.times[chosen], task.system.input_names)))


def test_the_component_along_the_axis_equals_the_drive_effort(system, machine, meter, instants):
    p = system.parameters()
    for x, u in instants:
        y = system.outputs(x, u, p)
        reactions = meter.of_outputs(x, y, p)
        for name, reaction in zip(JOINTS, reactions):
            rate = x[system.index('state', f'{name}_rate')]
            effort = y[system.index('output', f'{name}/drive_effort')] - machine.joint(name).damping * rate
            component = machine.joint(name).axis @ reaction[3:]
            assert component == pytest.approx(effort, rel=1e-9, abs=1e-9 * np.abs(reaction).max())


def test_the_ground_balances_the_base_and_the_swing_bearing_reaction(system, machine, meter, instants):
    """Newton's law for the base link alone, with its wheels."""
    p, rigid = system.parameters(), RigidBodyModel(machine)
    base = machine.link('base_link')
    for x, u in instants:
        y = system.outputs(x, u, p)
        q, v = x[: system.nq], x[system.nq : system.nq + system.nv]
        a = np.array([y[system.index('output', f'{name}_acceleration')] for name in rigid.velocity_names])
        pose, J = rigid.link_pose('base_link', q), rigid.jacobian('base_link', q)
        alpha, linear = np.split(J @ a + rigid.jacobian_rate_times_velocity('base_link', q, v), 2)
        omega, arm = (J @ v)[:3], pose[:3, :3] @ base.com
        acceleration = linear + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        ground = -np.array([y[system.index('output', f'load_force_{axis}')] for axis in 'xyz'])
        passed_on = rigid.link_pose('cabin_link', q)[:3, :3] @ meter.of_outputs(x, y, p)[0, :3]
        missing = ground - passed_on - base.mass * (acceleration - p[:3])
        assert np.abs(missing).max() < 1e-9 * np.abs(ground).max()


def test_a_fixed_joint_carries_the_payload(system, machine, meter, instants):
    p, (x, u) = system.parameters(), instants[0]
    force, torque = np.split(meter.at(x, u, p)[JOINTS.index('stick_joint') + 1], 2)
    turned = RigidBodyModel(machine).link_pose('payload_link', x[: system.nq])[:3, :3]
    # settled: remaining inertia forces are far below the weight
    np.testing.assert_allclose(turned @ force, (0.0, 0.0, 9.81 * 5100.0), atol=1e-3 * 9.81 * 5100.0)
    np.testing.assert_allclose(torque, 0.0, atol=1e-6)
    p[system.index('parameter', 'payload_mass')] = 0.0
    np.testing.assert_allclose(meter.at(x, u, p)[3], 0.0, atol=1e-9)


def test_joint_reaction_accepts_a_machine_a_state_and_a_joint(system, machine, meter, instants):
    x, u = instants[12]
    expected = meter.at(x, u, system.parameters())[1]
    wrench = joint_reaction(machine, x, 'boom_joint', dict(zip(system.input_names, u)))
    np.testing.assert_allclose(wrench.force, expected[:3], rtol=1e-12)
    np.testing.assert_allclose(wrench.torque, expected[3:], rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    parent = joint_reaction(system, x, 'boom_joint', u, side='parent')
    angle = x[system.index('state', 'boom_joint')]
    turned = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    np.testing.assert_allclose(parent.force, turned @ wrench.force, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(parent.torque, turned @ wrench.torque, atol=1e-11 * np.abs(expected).max())


def test_chosen_directions_are_projections(system, meter, instants):
    x, u = instants[12]
    p = system.parameters()
    links = (*force_along((1.0, 0.0, 1.0)), *torque_about((0.0, 3.0, 4.0)))
    force, torque = np.split(meter.at(x, u, p)[0], 2)
    reactions = JointReaction(system, ('swing_joint',), links).at(x, u, p)
    expected = [[(force[0] + force[2]) / np.sqrt(2), 0.6 * torque[1] + 0.8 * torque[2]]]
    np.testing.assert_allclose(reactions, expected, rtol=1e-11)


def test_the_planar_machine_carries_the_weight_at_the_boom_foot():
    machine = load_machine(URDF.with_name('log_loader_planar.urdf'), CONFIG.with_name('log_loader_planar.yaml'))
    system = System(machine)
    p = system.parameters()
    x = initial_state(system, p)
    wrench = joint_reaction(system, x, 'boom_joint')
    turned = RigidBodyModel(machine).link_pose('boom_link', x[: system.nq])[:3, :3]
    weight = 9.81 * (1830.0 + 688.0 + 5000.0)
    np.testing.assert_allclose(turned @ wrench.force, (0.0, 0.0, weight), atol=1e-6 * weight)
    effort = system.outputs(x, np.zeros(len(system.input_names)), p)[system.index('output', 'boom_joint/drive_effort')]
    assert machine.joint('boom_joint').axis @ wrench.torque == pytest.approx(effort, rel=1e-9)


def test_faults_are_named(system, meter):
    with pytest.raises(KeyError, match="unknown joint 'bom_joint'; known: swing_joint, boom_joint"):
        JointReaction(system, ('boom_joint', 'bom_joint'))
    with pytest.raises(ValueError, match=r'log_loader: expected a state vector of \d+, found shape \(3,\)'):
        meter.evaluate(np.zeros(3), np.zeros(system.nv), system.parameters())
    with pytest.raises(KeyError, match="unknown input 'bom/voltage'"):
        joint_reaction(system, np.zeros(len(system.state_names)), 'boom_joint', {'bom/voltage': 1.0})
