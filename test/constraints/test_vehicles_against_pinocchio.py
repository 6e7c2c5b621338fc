"""The vehicles of saha-1991 against an unreduced Pinocchio model: its M, h and frame Jacobians, separate contacts.

A wheel's point on the ground is at rest: three rows in world axes, two for a hub with rollers. The arm to the ground
and the axis of the roller are fixed in the body that carries the wheel and turn with it. Rows, masses and bias of this
project are not used.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from dyn_nodes.constraints import Lock
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.saha_1991.machines import SPATIAL, random_states
from dyn_nodes.studies.saha_1991.rollers import RollerWheel

UP = np.array([0.0, 0.0, 1.0])
CENTRE = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


class Unreduced:
    """Solver of [M -J^T; J 0] [a; lambda] = [tau - h; gamma]."""

    def __init__(self, blocks):
        self.tree, self.constraints = blocks.tree, blocks.constraints
        self.model = pin.Model()
        self.model.gravity.linear = np.array([blocks.parameters.defaults[f'gravity_{axis}'] for axis in 'xyz'])
        self.joints = []
        for body in self.tree.bodies:
            kind = pin.JointModelRevoluteUnaligned if body.kind == 'revolute' else pin.JointModelPrismaticUnaligned
            parent = 0 if body.parent < 0 else self.joints[body.parent]
            joint = self.model.addJoint(parent, kind(body.axis), pin.SE3(body.R0, body.p0), body.name)
            self.model.appendBodyToJoint(joint, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity())
            self.joints.append(joint)
        self.data = self.model.createData()

    def _turn(self, joint):
        return pin.getVelocity(self.model, self.data, joint, CENTRE).angular if joint else np.zeros(3)

    def _wheel(self, wheel, axle):
        """Return Jacobian and bias of a wheel's centre, axle, arm to ground, and angular velocities of both bodies."""
        joint = self.joints[wheel.body]
        carrier = self.model.parents[joint]
        J = pin.getJointJacobian(self.model, self.data, joint, CENTRE)
        bias = pin.getClassicalAcceleration(self.model, self.data, joint, CENTRE)
        e, carried, turning = self.data.oMi[joint].rotation @ axle, self._turn(carrier), self._turn(joint)
        arm = -(UP - (UP @ e) * e) / np.linalg.norm(UP - (UP @ e) * e)
        return J, bias, e, arm, carried, turning

    def rows(self):
        J, gamma = [], []
        for constraint in self.constraints:
            if isinstance(constraint, Lock):
                index = self.tree.velocity_index(constraint.joint)
                J.append(np.eye(self.model.nv)[[index]])
                gamma.append(np.zeros(1))
                continue
            jacobian, bias, e, arm, carried, turning = self._wheel(constraint.centre, np.asarray(constraint.axle))
            r = constraint.radius * arm
            at_ground = jacobian[:3] - pin.skew(r) @ jacobian[3:]
            slip = pin.skew(turning) @ r
            acceleration = bias.linear + np.cross(bias.angular, r) + np.cross(turning, np.cross(carried, r))
            if not isinstance(constraint, RollerWheel):
                J.append(at_ground)
                gamma.append(-acceleration)
                continue
            # the roller's axis: the hub's axis, turned about the vertical
            c, s = np.cos(constraint.roller), np.sin(constraint.roller)
            axis = c * e + s * np.cross(UP, e)
            velocity = pin.getVelocity(self.model, self.data, self.joints[constraint.centre.body], CENTRE).linear + slip
            change = np.cross(carried, axis)
            J.append(np.vstack([axis @ at_ground, UP @ at_ground]))
            gamma.append(-np.array([axis @ acceleration + change @ velocity, UP @ acceleration]))
        return np.vstack(J), np.concatenate(gamma)

    def solve(self, q, v, tau):
        model, data = self.model, self.data
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.nonLinearEffects(model, data, q, v)
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        J, gamma = self.rows()
        unit = 1 / np.sqrt(np.diag(M))
        rows = J * unit
        size = np.abs(rows).max()
        n, m = len(M), len(J)
        matrix = np.block([[M * np.outer(unit, unit), -rows.T / size], [rows / size, np.zeros((m, m))]])
        solution = np.linalg.lstsq(matrix, np.concatenate([unit * (tau - h), gamma / size]), rcond=1e-13)[0]
        return unit * solution[:n], solution[n:] / size, J


@pytest.mark.parametrize('name', SPATIAL)
def test_motion_agrees_with_pinocchios_unreduced_model_in_200_random_states(name):
    machine = SPATIAL[name]()
    unreduced = Unreduced(machine.blocks)
    formulation = natural_orthogonal_complement(machine.blocks)
    worst = 0.0
    for q, v, tau in random_states(machine, 200, 6):
        a, _, J = unreduced.solve(q, v, tau)
        assert np.abs(J @ v).max() < 1e-10 * max(1.0, np.abs(v).max())
        accelerations = formulation.at(q, v).accelerations(tau)
        worst = max(worst, float(np.abs(accelerations - a).max() / np.abs(a).max()))
    assert worst < 1e-10


def test_forces_of_the_ground_agree_with_pinocchios_model():
    """All three forces of the caster, the normal forces of the drives: their lateral forces are not determined."""
    machine = SPATIAL['caster vehicle']()
    unreduced, formulation = Unreduced(machine.blocks), natural_orthogonal_complement(machine.blocks)
    for q, v, tau in random_states(machine, 20, 7):
        _, force, _ = unreduced.solve(q, v, tau)
        here = formulation.at(q, v)
        forces = here.wrenches(tau).forces
        expected = force.reshape(-1, 3)
        size = np.abs(force).max()
        for k, wheel in enumerate(('left', 'right', 'caster')):
            assert abs(forces[f'{wheel}_ground'][2] - expected[k, 2]) < 1e-9 * size
        assert abs(np.linalg.norm(forces['caster_ground'][:2]) - np.linalg.norm(expected[2, :2])) < 1e-9 * size


def test_forces_under_three_wheels_with_rollers_agree_with_pinocchios_model():
    machine = SPATIAL['omni 3']()
    unreduced, formulation = Unreduced(machine.blocks), natural_orthogonal_complement(machine.blocks)
    for q, v, tau in random_states(machine, 20, 7):
        _, force, _ = unreduced.solve(q, v, tau)
        wrenches = formulation.at(q, v).wrenches(tau)
        assert wrenches.unique.all()
        assert wrenches.multipliers == pytest.approx(force, abs=1e-9 * np.abs(force).max())
