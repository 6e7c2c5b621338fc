"""Inverse dynamics of a Stewart platform in its legs, and G, H, D of an arm, against Pinocchio and MuJoCo.

    python benchmarks/freeman.py [--quick]

Prints JSON, in us. `bench.py` runs it. Both machines are from freeman-1985 (spec 7.1, 7.10).

Stewart platform (six legs RRPRRR, 36 joints, 30 rows): forces of the legs for rates and accelerations of the legs,
`MinimalSystem.inverse_dynamics` as one compiled call, against `pinocchio.constraintDynamics` of the opened tree with
five 6-D loops. First the accelerations of Pinocchio under our forces are compared with the wanted ones. The
second peer is `mj_step` of MuJoCo (semi-implicit Euler) on the same machine, with a ball joint of three rows between
platform and legs 2 to 6: 21 joints, 15 rows. It is compared at rest, as its constraints neglect velocities and are
soft; steps start at one state, a few at a time.

Arm A6: G, H and D of its tool in 64 states in one call, against Pinocchio looped over from Python: derivatives of
velocity and acceleration of the tool (`computeForwardKinematicsDerivatives` with `getFrameAccelerationDerivatives`),
one call a state. Pinocchio has no D: such a call returns its product with one pair of velocities. G and H alone are
also measured, against `computeJointKinematicHessians` with `getFrameKinematicHessian`. Answers are compared first.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.timing import best_of
from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.multibody import Tree
from dyn_nodes.studies.formulations.minimal_system import MinimalSystem
from dyn_nodes.studies.freeman_1985.arms import arm_a6
from dyn_nodes.studies.freeman_1985.compiled_influence import CompiledCoefficients, FrameBatch
from dyn_nodes.studies.freeman_1985.machines import Mechanism, stewart

RATES = np.array([0.2, -0.1, 0.15, 0.3, -0.2, 0.1])  # m/s of the legs
ACCELERATIONS = np.array([1.0, 0.5, -0.4, 0.2, 0.3, -0.1])  # m/s2
LIGHT = 1e-7  # kg and kg m2 of Pinocchio's massless bodies: it requires an inertia
PROXIMAL = ((1e-12, 0.0, 1), (1e-10, 1e-8, 50))  # accuracy, regularization, most iterations; the faster one counts
STATES = 64  # results of 10 kB a state fit a second-level cache of 1 MiB
AGREEMENT = 1e-5
SOFT = 1e-3
"""Tolerance of MuJoCo's accelerations, m/s2: its constraints yield by 1e-4 of the acting force."""
STEPS = 20  # of MuJoCo from one state


def pinocchio_tree(tree: Tree, light: float = 0.0) -> tuple[Any, np.ndarray]:
    """Return Pinocchio's model of a tree of joints about and along z, and the indices of our joints in its vectors."""
    import pinocchio as pin

    model, joints = pin.Model(), []
    kinds = {'revolute': pin.JointModelRZ, 'prismatic': pin.JointModelPZ}
    for body in tree.bodies:
        if np.abs(np.asarray(body.axis) - (0.0, 0.0, 1.0)).max() > 0:
            raise ValueError(f'{body.name}: expected a joint about or along z')
        parent = 0 if body.parent < 0 else joints[body.parent]
        joints.append(model.addJoint(parent, kinds[body.kind](), pin.SE3(body.R0, body.p0), body.name))
        mass, inertia = (light, light * np.eye(3)) if body.massless else (body.mass, np.asarray(body.inertia))
        model.appendBodyToJoint(joints[-1], pin.Inertia(mass, np.array(body.com), inertia), pin.SE3.Identity())
    return model, np.array([model.joints[joint].idx_v for joint in joints])


class PeerPlatform:
    """The Stewart platform in Pinocchio: an opened tree with closed ends."""

    def __init__(self, mechanism: Mechanism) -> None:
        import pinocchio as pin

        self.pin = pin
        self.model, self.order = pinocchio_tree(mechanism.tree, LIGHT)
        self.model.gravity.linear[:] = mechanism.gravity
        self.loops, self.loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        first, *others = (leg.end for leg in mechanism.legs)
        for end in others:
            placements = [
                (int(frame.body) + 1, pin.SE3(np.array(frame.R), np.array(frame.p))) for frame in (end, first)
            ]
            loop = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D, self.model, *placements[0], *placements[1], pin.ReferenceFrame.LOCAL
            )
            self.loops.append(loop)
            self.loop_data.append(loop.createData())
        self.data = self.model.createData()
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)

    def call(self, state: tuple[np.ndarray, np.ndarray, np.ndarray], proximal: tuple[float, float, int]) -> Any:
        """Return a call of the constrained dynamics at positions, velocities and efforts in our order."""
        vectors = [np.empty(len(self.order)) for _ in state]
        for vector, values in zip(vectors, state):
            vector[self.order] = values
        settings, dynamics = self.pin.ProximalSettings(*proximal), self.pin.constraintDynamics
        return lambda: dynamics(self.model, self.data, *vectors, self.loops, self.loop_data, settings)


def mujoco_xml(mechanism: Mechanism) -> str:
    """Return MuJoCo's model of a platform on legs that end in balls; the first leg carries the platform."""
    bodies, kinds = mechanism.tree.bodies, {'revolute': 'hinge', 'prismatic': 'slide'}
    ends = [leg.end for leg in mechanism.legs]
    last = [int(end.body) for end in ends]  # its three last joints are a ball at the origin of their last link
    children: dict[int, list[int]] = {}
    for k, body in enumerate(bodies):
        children.setdefault(body.parent, []).append(k)

    def numbers(values: Any) -> str:
        return ' '.join(f'{float(value):.17g}' for value in values)

    def text_of(k: int) -> str:
        body = bodies[k]
        mass, inertia = (LIGHT, LIGHT * np.eye(3)) if body.massless else (body.mass, np.array(body.inertia))
        whole = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        turn = numbers(np.roll(Rotation.from_matrix(np.array(body.R0)).as_quat(), 1))
        text = f'<body name="{body.name}" pos="{numbers(body.p0)}" quat="{turn}">'
        text += f'<joint name="{body.name}" type="{kinds[body.kind]}" axis="0 0 1"/>'
        text += f'<inertial pos="{numbers(body.com)}" mass="{mass:.17g}" fullinertia="{numbers(whole)}"/>'
        if k == last[0]:
            for r, end in enumerate(ends[1:], start=1):
                ball = np.array(ends[0].p) - np.array(ends[0].R) @ np.array(end.R).T @ np.array(end.p)
                text += f'<site name="platform_{r}" pos="{numbers(ball)}"/>'
        if k + 3 in last[1:]:
            return text + f'<site name="leg_{last.index(k + 3)}" pos="{numbers(bodies[k + 1].p0)}"/></body>'
        return text + ''.join(text_of(child) for child in children.get(k, ())) + '</body>'

    stiff = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'
    balls = ''.join(f'<connect site1="leg_{r}" site2="platform_{r}" {stiff}/>' for r in range(1, len(ends)))
    option = f'<option timestep="0.001" gravity="{numbers(mechanism.gravity)}" tolerance="1e-12"/>'
    world = ''.join(text_of(k) for k in children[-1])
    return f'<mujoco>{option}<worldbody>{world}</worldbody><equality>{balls}</equality></mujoco>'


def soft_platform(mechanism: Mechanism, forces: np.ndarray) -> MujocoPeer:
    """Return the Stewart platform in MuJoCo at rest under forces of its legs."""
    positions = {body.name: float(value) for value, body in zip(mechanism.q, mechanism.tree.bodies)}
    return MujocoPeer(mujoco_xml(mechanism), positions, mechanism.actuated, forces, STEPS)


def platform(rounds: int) -> dict[str, float]:
    """Return the times of a call."""
    mechanism = stewart()
    blocks = mechanism.blocks()
    system = MinimalSystem('stewart_legs', blocks, [mechanism.q], independent=mechanism.actuated)
    inverse, p, forces = system.inverse_module.inverse, blocks.numbers(None), np.empty(6)
    q = mechanism.q.copy()
    inverse(q, RATES, ACCELERATIONS, p, forces)
    legs = [blocks.tree.velocity_index(name) for name in mechanism.actuated]
    v, tau = _motion(blocks, q, legs), np.zeros(blocks.tree.nv)
    tau[legs] = forces
    peer = PeerPlatform(mechanism)
    calls = [peer.call((q, v, tau), proximal) for proximal in PROXIMAL]
    for call in calls:
        accelerations = np.array(call())[peer.order][legs]
        if np.abs(accelerations - ACCELERATIONS).max() > AGREEMENT:
            raise ValueError('accelerations of the legs differ from Pinocchio: nothing to compare')
    rest, still = np.empty(6), np.zeros(6)
    inverse(q, still, ACCELERATIONS, p, rest)
    soft = soft_platform(mechanism, rest)
    if np.abs(soft.accelerations() - ACCELERATIONS).max() > SOFT:
        raise ValueError('accelerations of the legs differ from MuJoCo: nothing to compare')
    times = best_of([lambda: inverse(q, RATES, ACCELERATIONS, p, forces), soft.steps, *calls], rounds)
    return {'ours': times[0], 'pinocchio': min(times[2:]), 'mujoco_step': times[1] / STEPS}


def _motion(blocks: ConstraintBlocks, q: np.ndarray, legs: list[int]) -> np.ndarray:
    """Return the rates of all joints for rates of the legs."""
    J = blocks.at(q).J
    others = [k for k in range(blocks.tree.nv) if k not in legs]
    v = np.zeros(blocks.tree.nv)
    v[legs] = RATES
    v[others] = np.linalg.lstsq(J[:, others], -J[:, legs] @ RATES, rcond=None)[0]
    return v


class PeerArm:
    """Arm A6 in Pinocchio, looped over from Python."""

    def __init__(self, tree: Tree, q: np.ndarray) -> None:
        import pinocchio as pin

        self.pin, self.q = pin, list(q)
        self.model, _ = pinocchio_tree(tree)
        tool = tree.frame('tool')
        placement = pin.SE3(np.array(tool.R), np.array(tool.p))
        self.frame = self.model.addFrame(pin.Frame('tool', tree.nv, placement, pin.FrameType.OP_FRAME))
        self.data, self.axes = self.model.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        self.v, self.a = np.linspace(-1.0, 1.5, tree.nv), np.zeros(tree.nv)

    def derivatives(self) -> Any:
        """Return the derivatives of velocity and acceleration of the tool in the last state, all states computed."""
        compute, get = self.pin.computeForwardKinematicsDerivatives, self.pin.getFrameAccelerationDerivatives
        result = None
        for q in self.q:
            compute(self.model, self.data, q, self.v, self.a)
            result = get(self.model, self.data, self.frame, self.axes)
        return result

    def hessians(self) -> Any:
        """Return the Hessian of the tool in the last state, all states computed."""
        compute, get = self.pin.computeJointKinematicHessians, self.pin.getFrameKinematicHessian
        result = None
        for q in self.q:
            compute(self.model, self.data, q)
            result = get(self.model, self.data, self.frame, self.axes)
        return result

    def check(self, batch: FrameBatch) -> None:
        """Raise ValueError if our result of the last state differs from Pinocchio's."""
        G, H, D = (part[-1] for part in batch if part is not None)
        v_by_q, a_by_q, _, a_by_a = self.derivatives()
        v, placement = self.v, self.model.frames[self.frame].placement
        # for the linear part, D belongs to the acceleration of the point, not of the spatial velocity
        point = self.pin.getPointClassicAccelerationDerivatives(self.model, self.data, len(v), placement, self.axes)
        turned, thrice = np.einsum('pln,n->pl', H, v), np.einsum('plmn,m,n->pl', D, v, v)
        pairs = ((a_by_a, G), (v_by_q[3:], turned[3:]), (a_by_q[3:], thrice[3:]), (point[1], thrice[:3]))
        for theirs, ours in pairs:
            if np.abs(theirs - ours).max() > 1e-9:
                raise ValueError('influence coefficients differ from Pinocchio: nothing to compare')


def arm(rounds: int) -> dict[str, float]:
    """Return the times a state."""
    tree = arm_a6()
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (STATES, tree.nv))
    third, second = (CompiledCoefficients(tree, tree.frame('tool'), order) for order in (3, 2))
    whole, part = third.batch(q), second.batch(q)
    peer = PeerArm(tree, q)
    peer.check(whole)
    calls = [lambda: third.batch(q, whole), lambda: second.batch(q, part), peer.derivatives, peer.hessians]
    times = [time / STATES for time in best_of(calls, rounds)]
    return {'ours': times[0], 'ours_G_H': times[1], 'pinocchio_derivatives': times[2], 'pinocchio_hessian': times[3]}


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    rounds = 100 if parser.parse_args().quick else 1000
    print(json.dumps({'platform': platform(rounds), 'arm': arm(rounds)}, indent=2))


if __name__ == '__main__':
    main()
