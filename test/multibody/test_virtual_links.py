"""Virtual links in any machine: joints of several degrees of freedom, bases and reactions, checked independently."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinocchio_witness import Pinocchio, robot_file
from rigid_states import assert_close, random_state
from scipy.spatial.transform import Rotation
from small_machines import Traced, joint, link, machine, reaction, traced
from test_against_mujoco import mujoco_model

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Base
from dyn_nodes.multibody.virtual_links import (
    WRENCH,
    VirtualLink,
    force_along,
    insert_virtual_links,
    joint_chain,
    mount_on_virtual_links,
    replace_joint,
    torque_about,
)
from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import spherical_joint_torque

SPHERICAL = {'mass': 5.0, 'com_height': 0.3, 'inertia': 2.0, 'axial_inertia': 0.7, 'length': 0.4}
GRAVITY = np.array([0.0, 0.0, -9.81])
TILT = Rotation.from_euler('xyz', (0.4, -0.3, 0.7)).as_matrix()
FULL = np.array([[3.0, 0.2, -0.1], [0.2, 2.0, 0.3], [-0.1, 0.3, 2.5]])


@lru_cache
def arm(attachment='fixed'):
    """Return a machine with skew joints of every kind, a fixed joint between them, and a branch."""
    links = (
        link('base_link', 40.0, (0.1, 0.0, 0.2), FULL),
        link('turret', 12.0, (0.0, 0.1, 0.3), FULL),
        link('bracket', 3.0, (0.1, 0.2, 0.0), 0.1 * FULL),
        link('slider', 5.0, (0.3, 0.0, 0.1), 0.4 * FULL),
        link('tip', 2.0, (0.0, 0.0, 0.5), 0.2 * FULL),
        link('branch', 4.0, (0.2, 0.0, 0.0), 0.3 * FULL),
    )
    joints = (
        joint('turn', 'continuous', 'base_link', 'turret', (0.0, 0.0, 1.0), (0.2, 0.1, 0.5), TILT),
        joint('weld', 'fixed', 'turret', 'bracket', (1.0, 0.0, 0.0), (0.1, -0.2, 0.4), TILT.T),
        joint('slide', 'prismatic', 'bracket', 'slider', (0.6, 0.0, 0.8), (0.3, 0.0, 0.2), TILT),
        joint('bend', 'revolute', 'slider', 'tip', (0.0, -1.0, 0.0), (0.5, 0.1, 0.0)),
        joint('side', 'revolute', 'turret', 'branch', (1.0, 0.0, 0.0), (0.0, 0.4, 0.1), TILT),
    )
    return machine(links, joints, attachment)


# -- joints of several degrees of freedom ----------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_spherical_joint_of_virtual_links_agrees_with_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    q, v, a = rng.uniform(-np.pi, np.pi, 3), rng.normal(size=3), rng.normal(size=3)
    torque = spherical_top().inverse_dynamics(q, v, a, (-9.81, 0.0, 0.0))
    assert_close(torque, spherical_joint_torque(q, v, a, **SPHERICAL), 1e-12)


@lru_cache
def spherical_top():
    across, axial = SPHERICAL['inertia'], SPHERICAL['axial_inertia']
    com = (0.0, 0.0, SPHERICAL['length'] + SPHERICAL['com_height'])
    body = link('top', SPHERICAL['mass'], com, (across, across, axial))
    welded = machine((link('ground'), body), (joint('ball', 'fixed', 'ground', 'top'),))
    return Traced(replace_joint(welded, 'ball', joint_chain('spherical', 'zyz')))


def test_a_spherical_joint_of_virtual_links_agrees_with_the_specification():
    torque = spherical_top().inverse_dynamics((0.3, 0.8, -0.5), (1.0, -0.6, 2.0), (0.5, 1.5, -1.0), (-9.81, 0.0, 0.0))
    np.testing.assert_allclose(torque, (-8.098068851553, 28.658108067383, -0.154863093551), rtol=0, atol=5e-12)


@pytest.mark.parametrize('angles', ['zyx', 'zyz', 'xyz'])
def test_a_free_joint_of_virtual_links_agrees_with_a_quaternion_base(angles):
    floating = arm('free')
    welded = replace(
        floating,
        links=(link('ground'), *floating.links),
        joints=(joint('weld_to_ground', 'fixed', 'ground', 'base_link'), *floating.joints),
        base=Base('ground', 'fixed'),
    )
    chain = Traced(replace_joint(welded, 'weld_to_ground', joint_chain('free', angles)))
    body = Traced(floating)
    assert chain.nv == body.nv == 10
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, v, tau = rng.normal(size=10), rng.normal(size=10), 100.0 * rng.normal(size=10)
        q[4] = rng.uniform(0.5, 1.0) if angles == 'zyz' else rng.uniform(-1.0, 1.0)  # clear of the singular posture
        R, p, J, _ = chain.link('base_link', q, v)
        # velocities of the quaternion base by velocities of the chain
        B = np.eye(10)
        B[:3], B[3:6] = R.T @ J[:3], R.T @ J[3:]
        position = np.r_[p, Rotation.from_matrix(R).as_quat(), q[6:]]
        assert_close(B.T @ body.mass_matrix(position) @ B, chain.mass_matrix(q), 1e-12)
        force = np.linalg.solve(B.T, tau)
        ours, theirs = chain.forward_dynamics(q, v, tau), body.forward_dynamics(position, B @ v, force)
        for name in ('base_link', 'tip', 'branch'):
            _, _, J_chain, rate_chain = chain.link(name, q, v)
            _, _, J_body, rate_body = body.link(name, position, B @ v)
            assert_close(J_chain @ v, J_body @ (B @ v), 1e-11)
            assert_close(J_chain @ ours + rate_chain, J_body @ theirs + rate_body, 1e-8)


def test_a_universal_joint_turns_about_two_axes_and_keeps_the_rest_of_the_machine():
    changed = replace_joint(arm(), 'bend', joint_chain('universal', 'yz'))
    assert [j.name for j in changed.movable_joints] == ['turn', 'slide', 'bend_virtual_1', 'bend_virtual_2', 'side']
    assert [j.child for j in changed.joints] == [link.name for link in changed.links[1:]]
    assert sum(link.mass for link in changed.links) == arm().total_mass
    q = np.array([0.3, 0.1, 0.7, -0.4, 0.2])
    R, p, _, _ = Traced(changed).link('tip', q, np.zeros(5))
    before, at, _, _ = Traced(arm()).link('slider', np.array([0.3, 0.1, 0.0, 0.2]), np.zeros(4))
    np.testing.assert_allclose(R, before @ Rotation.from_euler('YZ', (0.7, -0.4)).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(p, at + before @ (0.5, 0.1, 0.0), atol=1e-14)


def test_a_base_pinned_at_an_edge_agrees_with_the_planar_base_held_at_the_edge():
    """Table 5.1: one prismatic and one revolute joint at the edge, against x, z and pitch of the planar base."""
    point = np.array([1.5, 0.0, -0.6])
    boom = link('boom', 9.0, (0.7, 0.0, 0.1), (0.3, 2.0, 2.0))
    lift = joint('lift', 'revolute', 'base_link', 'boom', (0.0, -1.0, 0.0), (0.4, 0.0, 0.3))
    flat = machine((link('base_link', 40.0, (0.1, 0.0, 0.2), (3.0, 2.0, 2.5)), boom), (lift,), 'planar')
    links = (*force_along((0.0, 0.0, 1.0)), *torque_about((0.0, 1.0, 0.0)))
    pinned, plane = Traced(mount_on_virtual_links(flat, links, tuple(point))), Traced(flat)
    rng = np.random.default_rng(8)
    for _ in range(10):
        height, pitch, angle = q = rng.normal(size=3)
        v, a = rng.normal(size=3), rng.normal(size=3)
        turned = Rotation.from_euler('y', pitch).apply(point)
        position = np.array([point[0] - turned[0], point[2] + height - turned[2], pitch, angle])
        by_pitch, twice = -np.array([turned[2], -turned[0]]), np.array([turned[0], turned[2]])
        B = np.zeros((4, 3))
        B[1, 0] = B[2, 1] = B[3, 2] = 1.0
        B[:2, 1] = by_pitch
        drift = np.r_[twice * v[1] ** 2, 0.0, 0.0]
        assert_close(pinned.mass_matrix(q), B.T @ plane.mass_matrix(position) @ B, 1e-12)
        expected = B.T @ plane.inverse_dynamics(position, B @ v, B @ a + drift)
        assert_close(pinned.inverse_dynamics(q, v, a), expected, 1e-11)


def test_invalid_joints_are_rejected_by_name():
    with pytest.raises(ValueError, match=r"spherical joint: expected 3 axes .* found 'zz'"):
        joint_chain('spherical', 'zz')
    with pytest.raises(ValueError, match='neighbours unequal'):
        joint_chain('spherical', 'zzy')
    with pytest.raises(ValueError, match=r"joint kind: expected one of universal, .* found 'ball'"):
        joint_chain('ball')
    with pytest.raises(ValueError, match='expected a direction of 3 finite numbers'):
        VirtualLink('prismatic', (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="expected prismatic or revolute, found 'screw'"):
        VirtualLink('screw', (0.0, 0.0, 1.0))
    with pytest.raises(KeyError, match="unknown joint 'ben'; known: turn, weld, slide, bend, side"):
        insert_virtual_links(arm(), 'ben', WRENCH)
    with pytest.raises(ValueError, match="side: expected child or parent, found 'left'"):
        insert_virtual_links(arm(), 'bend', WRENCH, 'left')
    with pytest.raises(ValueError, match='joint bend: expected no existing virtual links, found bend_virtual_1'):
        insert_virtual_links(insert_virtual_links(arm(), 'bend', WRENCH), 'bend', WRENCH)
    with pytest.raises(ValueError, match='at least one virtual link, found none'):
        replace_joint(arm(), 'bend', ())


def test_a_driven_joint_is_not_replaced(log_loader):
    with pytest.raises(ValueError, match='joint boom_joint: expected a joint without an actuator, found boom'):
        replace_joint(log_loader, 'boom_joint', joint_chain('universal'))


# -- reactions -------------------------------------------------------------------------------------------------------


def beyond(of, name):
    """Return the links that a joint carries."""
    carried = [of.joint(name).child]
    for entry in of.joints:
        if entry.parent in carried:
            carried.append(entry.child)
    return carried


def newton_euler(of, name, q, v, a):
    """Return force and moment (world axes, about the child's origin) on the bodies beyond a joint, summed."""
    ours = traced(of)
    R, point, _, _ = ours.link(of.joint(name).child, q, v)
    force, moment = np.zeros(3), np.zeros(3)
    for body in (of.link(carried) for carried in beyond(of, name)):
        B, p, J, rate = ours.link(body.name, q, v)
        omega, (alpha, linear) = J[:3] @ v, np.split(J @ a + rate, 2)
        arm_to_com = B @ body.com
        acceleration = linear + np.cross(alpha, arm_to_com) + np.cross(omega, np.cross(omega, arm_to_com))
        inertia = B @ body.inertia @ B.T
        inertial = body.mass * (acceleration - GRAVITY)
        force += inertial
        moment += inertia @ alpha + np.cross(omega, inertia @ omega) + np.cross(p + arm_to_com - point, inertial)
    return R, force, moment


@pytest.mark.parametrize('attachment', ['fixed', 'planar', 'free'])
@pytest.mark.parametrize('name', ['turn', 'weld', 'slide', 'bend', 'side'])
def test_reactions_agree_with_newton_and_euler(name, attachment):
    of = arm(attachment)
    ours, rng = traced(of), np.random.default_rng(5)
    for _ in range(5):
        q, v, a = random_state(ours, rng)
        a = a / np.abs(a).max()
        R, force, moment = newton_euler(of, name, q, v, a)
        expected = np.r_[R.T @ force, R.T @ moment]
        child = reaction(of, name, WRENCH, 'child', q, v, a)
        assert_close(child, expected, 1e-12)
        # in the parent's frame, about the joint's origin
        parent = of.joint(name).parent
        P, p, _, _ = ours.link(parent, q, v)
        at_joint = p + P @ of.joint(name).origin[:3, 3]
        _, at_child, _, _ = ours.link(of.joint(name).child, q, v)
        shifted = moment + np.cross(at_child - at_joint, force)
        result = reaction(of, name, WRENCH, 'parent', q, v, a)
        assert_close(result, np.r_[P.T @ force, P.T @ shifted], 1e-12)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_reaction_along_any_direction_is_the_projection_of_the_wrench(seed):
    of, rng = arm('free'), np.random.default_rng(seed)
    q, v, a = random_state(traced(of), rng)
    axes = rng.normal(size=(4, 3))
    links = (*force_along(*axes[:2]), *torque_about(*axes[2:]))
    wrench = reaction(of, 'slide', WRENCH, 'child', q, v, a)
    unit = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    expected = np.r_[unit[:2] @ wrench[:3], unit[2:] @ wrench[3:]]
    np.testing.assert_allclose(reaction(of, 'slide', links, 'child', q, v, a), expected, atol=1e-11 * abs(wrench).max())


@pytest.mark.parametrize('name', ['turn', 'slide', 'bend', 'side'])
def test_the_component_along_the_axis_is_the_effort_of_the_drive(name):
    of = arm('free')
    ours, rng = traced(of), np.random.default_rng(6)
    for _ in range(5):
        q, v, tau = random_state(ours, rng)
        a = ours.forward_dynamics(q, v, tau)
        kind, axis = 'prismatic' if of.joint(name).type == 'prismatic' else 'revolute', of.joint(name).axis
        for side, direction in (('child', axis), ('parent', of.joint(name).origin[:3, :3] @ axis)):
            (result,) = reaction(of, name, (VirtualLink(kind, tuple(direction)),), side, q, v, a)
            assert abs(result - tau[ours.velocity_names.index(name)]) < 1e-10 * np.abs(tau).max()


@pytest.mark.parametrize(
    ('urdf', 'free'),
    [
        ('ur_description/urdf/ur10_robot.urdf', False),
        ('panda_description/urdf/panda.urdf', False),
        ('anymal_b_simple_description/robots/anymal.urdf', True),
    ],
)
def test_reactions_agree_with_joint_forces_of_pinocchio(urdf, free, tmp_path):
    config = tmp_path / 'machine.yaml'
    config.write_text(f'base: {{attachment: {"free" if free else "fixed"}}}\ninitial: {{settle: false}}\n')
    of = load_machine(robot_file(urdf), config)
    ours = traced(of)
    theirs = Pinocchio(robot_file(urdf), ours)
    q, v, a = random_state(ours, np.random.default_rng(9))
    a = a / np.abs(a).max()
    theirs.inverse_dynamics(q, v, a)
    for movable_joint in of.movable_joints:
        expected = theirs.data.f[theirs.model.getJointId(movable_joint.name)].vector
        assert_close(reaction(of, movable_joint.name, WRENCH, 'child', q, v, a), expected, 1e-9)


def test_reactions_of_the_floating_log_loader_agree_with_mujoco(log_loader):
    of = replace(log_loader, payload=None)
    ours, model = traced(of), mujoco_model(log_loader, 0.0)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(13)
    for _ in range(5):
        q, v, tau = random_state(ours, rng)
        a = ours.forward_dynamics(q, v, tau)
        R = ours.link('base_link', q, v)[0]
        data.qpos[:] = np.r_[q[:3], q[6], q[3:6], q[7:]]
        data.qvel[:] = np.r_[R @ v[3:6], v[:3], v[6:]]
        data.qfrc_applied[:] = np.r_[R @ tau[3:6], tau[:3], tau[6:]]
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        for movable_joint in of.movable_joints:
            body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, movable_joint.child)
            B, point, _, _ = ours.link(movable_joint.child, q, v)
            moment, force = np.split(data.cfrc_int[body], 2)
            center = data.subtree_com[model.body_rootid[body]]
            moment = moment + np.cross(center - point, force)
            result = reaction(of, movable_joint.name, WRENCH, 'child', q, v, a)
            assert_close(result, np.r_[B.T @ force, B.T @ moment], 1e-8)
