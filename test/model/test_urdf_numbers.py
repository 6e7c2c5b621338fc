"""Numbers of a URDF in comparison with yourdfpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_example_robots import ROBOTS, SOUND

from dyn_nodes.model.problems import Report
from dyn_nodes.model.urdf import read_urdf

yourdfpy = pytest.importorskip('yourdfpy')
PACKAGED = sorted((Path(__file__).resolve().parents[2] / 'urdf').glob('*.urdf'))
FILES = [*PACKAGED, *(ROBOTS / name for name in SOUND if ROBOTS is not None)]


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_links_and_joints_match_yourdfpy(path):
    urdf = read_urdf(path.read_text(encoding='utf-8'), Report(str(path)))
    robot = yourdfpy.URDF.load(str(path), build_scene_graph=False, load_meshes=False).robot
    links = {link.name: link for link in robot.links}
    joints = {joint.name: joint for joint in robot.joints}
    assert {joint.name for joint in urdf.joints} == set(joints)
    for link in urdf.links:
        inertial = links[link.name].inertial
        if inertial is None or inertial.mass is None:
            assert link.mass == 0.0
            continue
        pose = np.eye(4) if inertial.origin is None else inertial.origin
        turn = pose[:3, :3]
        assert link.mass == inertial.mass
        np.testing.assert_array_equal(link.com, pose[:3, 3])
        np.testing.assert_allclose(link.inertia, turn @ inertial.inertia @ turn.T, rtol=1e-12, atol=1e-15)
    for joint in urdf.joints:
        other = joints[joint.name]
        assert (joint.type, joint.parent, joint.child) == (other.type, other.parent, other.child)
        np.testing.assert_allclose(joint.origin, np.eye(4) if other.origin is None else other.origin, atol=1e-15)
        if joint.movable:
            np.testing.assert_allclose(joint.axis, other.axis / np.linalg.norm(other.axis), atol=1e-15)
        if joint.type in ('revolute', 'prismatic') and other.limit is not None:
            for limit, written in ((joint.lower, other.limit.lower), (joint.upper, other.limit.upper)):
                endless = 9.4 if joint.type == 'revolute' else 1000.0  # 3 pi means "no limit"
                expected = written or 0.0
                assert limit == (expected if abs(expected) < endless else np.copysign(np.inf, expected))
        if other.limit is not None:
            bounds = (other.limit.effort, other.limit.velocity)
            expected = tuple(np.inf if bound in (None, -1.0) else bound for bound in bounds)
            assert (joint.effort_limit, joint.velocity_limit) == expected
        if other.dynamics is not None:
            # some versions leave these as text
            dynamics = other.dynamics.damping, other.dynamics.friction
            assert (joint.damping, joint.friction) == tuple(float(value or 0.0) for value in dynamics)
