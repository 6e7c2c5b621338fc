"""Closed loops and cooperating arms against Pinocchio's constrained dynamics, which is independent of this engine."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from random_systems import partner, random_position, random_tree
from test_arms_of_yesiloglu import spatial_motion

from dyn_nodes.constraints import ConstraintBlocks, Loop, constrained_dynamics, projected_velocity
from dyn_nodes.multibody import Frame
from dyn_nodes.studies.yesiloglu_2007 import models

GRAVITY = (0.2, -0.5, -9.81)
SWAP = np.r_[3:6, 0:3]


class PinocchioLoops:
    """Pinocchio's model of a tree with loops of 3 or 6 rows."""

    def __init__(self, tree, loops, gravity):
        self.tree = tree
        self.model = pin.Model()
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        self.joints = []
        for body in tree.bodies:
            joint = {
                'free': pin.JointModelFreeFlyer,
                'revolute': lambda body=body: pin.JointModelRevoluteUnaligned(body.axis),
                'prismatic': lambda body=body: pin.JointModelPrismaticUnaligned(body.axis),
            }[body.kind]()
            parent = 0 if body.parent < 0 else self.joints[body.parent]
            index = self.model.addJoint(parent, joint, pin.SE3(body.R0, body.p0), body.name)
            self.model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
            self.joints.append(index)
        self.data = self.model.createData()
        self.rows = []
        for loop in loops:
            full = len(loop.keep) == 6
            ends = [(0 if f.body < 0 else self.joints[f.body], pin.SE3(f.R, f.p)) for f in (loop.first, loop.second)]
            kind = pin.ContactType.CONTACT_6D if full else pin.ContactType.CONTACT_3D
            self.rows.append(pin.RigidConstraintModel(kind, self.model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL))

    def swapped(self, vector):
        """Return a vector with [linear; angular] for [angular; linear] of free bodies, and vice versa."""
        result = np.array(vector, dtype=float)
        for body in self.tree.bodies:
            if body.kind == 'free':
                result[body.v : body.v + 6] = result[body.v : body.v + 6][SWAP]
        return result

    def accelerations(self, q, v, tau):
        rows, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for row in self.rows:
            rows.append(row)
            data.append(row.createData())
        pin.initConstraintDynamics(self.model, self.data, rows, data)
        settings = pin.ProximalSettings(1e-14, 1e-10, 50)
        result = pin.constraintDynamics(
            self.model, self.data, np.array(q), self.swapped(v), self.swapped(tau), rows, data, settings
        )
        return self.swapped(result)


def compare(system, q, v, tau, relative=1e-6):
    loops = system.constraints
    pinocchio = PinocchioLoops(system.tree, loops, [system.parameters.defaults[f'gravity_{axis}'] for axis in 'xyz'])
    accelerations = constrained_dynamics(system, q, v, tau).acceleration
    expected = pinocchio.accelerations(q, v, tau)
    assert np.abs(accelerations - expected).max() < relative * np.abs(accelerations).max()


def test_two_arms_with_a_common_load():
    model = models.spatial_arms()
    v, tau = spatial_motion(model)
    compare(model.blocks(), model.q, v, tau)
    heavy = ConstraintBlocks(model.tree, model.constraints, (), GRAVITY)
    compare(heavy, model.q, v, tau)


@pytest.mark.parametrize('planar', [True, False])
def test_four_bar_with_dependent_rows(planar):
    """Full connections of a planar mechanism: 3 of 12 rows (more with a planar load) are redundant."""
    model = models.four_bar(planar=planar)
    grasps = [Loop.frame(loop.name, loop.first, loop.second) for loop in model.constraints]
    system = ConstraintBlocks(model.tree, grasps, (), model.gravity)
    tau = np.zeros(model.tree.nv)
    tau[0] = 4.0
    compare(system, model.q, model.v, tau)


@pytest.mark.parametrize('seed', range(8))
def test_random_loops(seed):
    """A free base, two arms, a load held by one and touched by the other, a point on the ground."""
    rng = np.random.default_rng(100 + seed)
    tree, ends, load = random_tree(rng)
    q = random_position(tree, rng)
    tips = [Frame(end, np.eye(3), 0.3 * rng.normal(size=3)) for end in ends]
    loops = [
        Loop.frame('grasp', tips[0], partner(tree, q, tips[0], load)),
        Loop.point('touch', tips[1], partner(tree, q, tips[1], load)),
        Loop.point('ground', tree.frame('base'), partner(tree, q, tree.frame('base'), -1)),
    ]
    system = ConstraintBlocks(tree, loops, (), GRAVITY)
    v = projected_velocity(system, q, rng.normal(size=tree.nv))
    compare(system, q, v, rng.normal(size=tree.nv))
