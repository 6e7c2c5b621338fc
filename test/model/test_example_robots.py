"""URDFs of real robots load with the values that Pinocchio reads from the same file."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.posture import link_poses

pin = pytest.importorskip('pinocchio')


def robots_folder() -> Path | None:
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == 'panda.urdf':
            return Path(str(file.locate())).resolve().parents[2]
    return None


ROBOTS = robots_folder()
pytestmark = pytest.mark.skipif(ROBOTS is None, reason='needs the package example-robot-data')
SOUND = [
    'panda_description/urdf/panda.urdf',
    'ur_description/urdf/ur10_robot.urdf',
    'ur_description/urdf/ur5_gripper.urdf',
    'tiago_description/robots/tiago.urdf',
    'tiago_description/robots/tiago_dual.urdf',
    'talos_data/robots/talos_reduced.urdf',
    'talos_data/robots/talos_full_v2.urdf',
    'hyq_description/robots/hyq_no_sensors.urdf',
    'anymal_c_simple_description/urdf/anymal.urdf',
    'solo_description/robots/solo12.urdf',
    'go2_description/urdf/go2.urdf',
    'g1_description/urdf/g1_29dof_rev_1_0.urdf',
    'baxter_description/urdf/baxter.urdf',
    'pr2_description/urdf/pr2.urdf',
    'icub_description/robots/icub.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'kinova_description/robots/kinova.urdf',
    'double_pendulum_description/urdf/double_pendulum.urdf',
    'hector_description/robots/quadrotor_base.urdf',
]


@pytest.mark.parametrize('name', SOUND)
def test_a_robot_has_the_inertias_and_poses_that_pinocchio_reads(name):
    path = ROBOTS / name
    machine = load_machine(path)
    model = pin.buildModelFromUrdf(str(path))
    assert sorted(joint.name for joint in machine.movable_joints) == sorted(list(model.names)[1:])
    generator = np.random.default_rng(3)
    positions = {joint.name: generator.uniform(-1, 1) for joint in machine.movable_joints}
    q = pin.neutral(model)
    for joint in machine.movable_joints:
        index = model.getJointId(joint.name)
        start, size = model.joints[index].idx_q, model.joints[index].nq
        value = positions[joint.name]
        q[start : start + size] = [value] if size == 1 else [np.cos(value), np.sin(value)]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    poses = link_poses(machine.links, machine.joints, positions)
    for link in machine.links:
        frame = data.oMf[model.getFrameId(link.name, pin.FrameType.BODY)]
        np.testing.assert_allclose(poses[link.name], frame.homogeneous, atol=1e-9)
    bodies = rigid_bodies(machine)
    for joint in machine.movable_joints:
        expected = model.inertias[model.getJointId(joint.name)].matrix()
        np.testing.assert_allclose(bodies[joint.child], expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


def rigid_bodies(machine) -> dict[str, np.ndarray]:
    """Return the spatial inertia (Pinocchio's order) of every moving link with the links fixed to it, in its frame."""
    owner = {machine.links[0].name: (machine.links[0].name, np.eye(4))}
    for joint in machine.joints:
        root, pose = owner[joint.parent]
        owner[joint.child] = (joint.child, np.eye(4)) if joint.movable else (root, pose @ joint.origin)
    bodies = {root: np.zeros((6, 6)) for root, _ in owner.values()}
    for link in machine.links:
        root, pose = owner[link.name]
        rotation, center = pose[:3, :3], pose[:3, :3] @ link.com + pose[:3, 3]
        arm = link.mass * pin.skew(center)
        turned = rotation @ link.inertia @ rotation.T - arm @ pin.skew(center)
        bodies[root] += np.block([[link.mass * np.eye(3), -arm], [arm, turned]])
    return bodies


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('romeo_description/urdf/romeo_laas_small.urdf', 'expected a positive definite tensor'),
        ('romeo_description/urdf/romeo.urdf', 'a missing <inertial>?'),
        ('ur_description/urdf/ur3.urdf', 'expected at least one link'),
        ('alex_description/urdf/alex_psyonic_hands.urdf', "(did you mean 'Left_index_q1'?)"),
    ],
)
def test_a_robot_with_faults_is_rejected_with_their_lines(name, message):
    machine, problems, _ = load_machine_report(ROBOTS / name)
    assert machine is None
    assert all(problem.line > 0 for problem in problems)
    assert any(message in str(problem) for problem in problems)
