"""Forward dynamics of the free log-loader against MuJoCo, a second independent implementation.

MuJoCo's free joint: linear velocity of the body frame's origin in world axes, then angular velocity in body axes;
quaternion w, x, y, z. Its generalized force is conjugate: force in world axes, moment in body axes.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from rigid_states import assert_close, effort_scale, random_state
from scipy.spatial.transform import Rotation

STATES = 200
TOLERANCE = 1e-8
POINT_INERTIA = 1e-9  # kg m2; MuJoCo requires a positive inertia of the point mass
THICKNESS = 1e-6  # kg m2; the boom is a flat body at the limit of the triangle inequality, which MuJoCo checks strictly


def numbers(values):
    return ' '.join(f'{float(v):.17g}' for v in np.ravel(values))


def inertial(link):
    I = link.inertia + THICKNESS * np.eye(3)  # noqa: E741
    full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return f'<inertial pos="{numbers(link.com)}" mass="{link.mass:.17g}" fullinertia="{numbers(full)}"/>'


def body(machine, link, opening, payload):
    """Return the MJCF of a link and of all links beyond it."""
    text = opening
    if link.mass > 0:
        text += inertial(link)
    if payload > 0 and machine.payload.link == link.name:
        point = f'mass="{payload:.17g}" diaginertia="{POINT_INERTIA} {POINT_INERTIA} {POINT_INERTIA}"'
        text += f'<body pos="{numbers(machine.payload.position)}"><inertial pos="0 0 0" {point}/></body>'
    for joint in machine.joints:
        if joint.parent == link.name:
            x, y, z, w = Rotation.from_matrix(joint.origin[:3, :3]).as_quat()
            pose = f'pos="{numbers(joint.origin[:3, 3])}" quat="{numbers((w, x, y, z))}"'
            child = f'<body name="{joint.child}" {pose}>'
            if joint.movable:
                kind = 'slide' if joint.type == 'prismatic' else 'hinge'
                child += f'<joint name="{joint.name}" type="{kind}" axis="{numbers(joint.axis)}"/>'
            text += body(machine, machine.link(joint.child), child, payload)
    return text + '</body>'


def mujoco_model(machine, payload):
    root = machine.links[0]
    tree = body(machine, root, f'<body name="{root.name}"><freejoint/>', payload)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><compiler angle="radian" inertiagrouprange="0 0"/>
        <option gravity="0 0 {-machine.gravity}"><flag contact="disable" eulerdamp="disable"/></option>
        <worldbody>{tree}</worldbody></mujoco>"""
    )


def mujoco_accelerations(model, data, q, v, tau):
    """Return accelerations in this project's coordinates."""
    R = Rotation.from_quat(q[3:7]).as_matrix()
    data.qpos[:] = np.r_[q[:3], q[6], q[3:6], q[7:]]
    data.qvel[:] = np.r_[R @ v[3:6], v[0:3], v[6:]]
    data.qfrc_applied[:] = np.r_[R @ tau[3:6], tau[0:3], tau[6:]]
    mujoco.mj_forward(model, data)
    # world acceleration of the origin = R (dv/dt + w x v)
    linear = R.T @ data.qacc[0:3] - np.cross(v[0:3], v[3:6])
    return np.r_[data.qacc[3:6], linear, data.qacc[6:]]


@pytest.mark.parametrize('payload', [0.0, 5100.0])
def test_forward_dynamics_of_the_free_machine(rigid, payload):
    model = mujoco_model(rigid.machine, payload)
    assert model.nv == rigid.nv
    assert model.body_subtreemass[0] == pytest.approx(17481 + payload)
    data, parameters, rng = mujoco.MjData(model), rigid.parameters(payload=payload), np.random.default_rng(11)
    for _ in range(STATES):
        q, v, tau = random_state(rigid, rng)
        expected = mujoco_accelerations(model, data, q, v, tau)
        assert_close(rigid.forward_dynamics(q, v, tau, parameters), expected, TOLERANCE)
        assert_close(rigid.forward_dynamics_mass_matrix(q, v, tau, parameters), expected, TOLERANCE)


def test_inverse_dynamics_of_the_free_machine(rigid):
    """Newton-Euler maps the accelerations of MuJoCo back to the forces."""
    model = mujoco_model(rigid.machine, 0.0)
    data, parameters, rng = mujoco.MjData(model), rigid.parameters(payload=0.0), np.random.default_rng(12)
    for _ in range(STATES):
        q, v, tau = random_state(rigid, rng)
        a = mujoco_accelerations(model, data, q, v, tau)
        forces = rigid.inverse_dynamics(q, v, a, parameters)
        assert np.abs(forces - tau).max() < TOLERANCE * effort_scale(rigid) * max(1.0, np.abs(a).max())
