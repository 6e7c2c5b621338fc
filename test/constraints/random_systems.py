"""Random trees with random constraints that are satisfied at a random state, for tests of all formulations."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import ConstraintBlocks, Coupling, Distance, Loop, projected_velocity
from dyn_nodes.elements.forces.joint_spring import JointSpring
from dyn_nodes.multibody import Frame, TreeBuilder, TreeState

GRAVITY = (0.3, -0.4, -9.81)


def inertia(rng):
    A = rng.normal(size=(3, 3))
    return 0.05 * (A @ A.T + np.eye(3))


def unit(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_tree(rng, joints=5):
    """Return a free base with two branches, and a second free body."""
    builder = TreeBuilder()
    base = builder.add_free('base', 20.0, 0.1 * rng.normal(size=3), 5 * inertia(rng))
    ends = []
    for branch in range(2):
        carrier = base
        for k in range(joints):
            kind = 'prismatic' if rng.random() < 0.25 else 'revolute'
            carrier = builder.add_joint(
                f'b{branch}_{k}',
                carrier,
                kind,
                unit(rng),
                Rotation.random(random_state=rng).as_matrix(),
                0.4 * rng.normal(size=3),
                rng.uniform(0.5, 3),
                0.2 * rng.normal(size=3),
                inertia(rng),
            )
        ends.append(carrier)
    load = builder.add_free('load', 4.0, 0.1 * rng.normal(size=3), inertia(rng))
    return builder.build(), ends, load


def random_position(tree, rng):
    q = rng.uniform(-1, 1, tree.nq)
    for body in tree.bodies:
        if body.kind == 'free':
            q[body.q + 3 : body.q + 7] = Rotation.random(random_state=rng).as_quat()
    return q


def pose_of(tree, q, body):
    import casadi as ca

    pose = TreeState(tree, ca.SX(q), ca.SX(tree.nv, 1)).poses[body]
    return np.array(ca.DM(pose.R)), np.array(ca.DM(pose.p)).ravel()


def partner(tree, q, frame, body, turn=None, shift=(0.0, 0.0, 0.0)):
    """Return the frame of another body (-1: world) that coincides with `frame` at q, turned and shifted in its axes."""
    R1, p1 = pose_of(tree, q, frame.body)
    R, p = R1 @ frame.R, p1 + R1 @ frame.p
    R2, p2 = (np.eye(3), np.zeros(3)) if body < 0 else pose_of(tree, q, body)
    origin = p + R @ np.asarray(shift)
    return Frame(body, R2.T @ R @ (np.eye(3) if turn is None else turn), R2.T @ (origin - p2))


def random_constraints(tree, q, ends, load, rng):
    """Return constraints satisfied at q: a common load, ground contacts, a rod and a gear."""
    tip = [Frame(end, Rotation.random(random_state=rng).as_matrix(), 0.3 * rng.normal(size=3)) for end in ends]
    axis = unit(rng)
    spin = Rotation.from_rotvec(0.7 * axis).as_matrix()
    kinds = [
        lambda: Loop.frame('grasp', tip[0], partner(tree, q, tip[0], load)),
        lambda: Loop.frame('grasp', tip[0], partner(tree, q, tip[0], load), 'second'),
        lambda: Loop.hinge('grasp', tip[0], partner(tree, q, tip[0], load, spin), axis),
        lambda: Loop.slider('grasp', tip[0], partner(tree, q, tip[0], load, shift=0.3 * axis), axis),
        lambda: Loop.point('grasp', tip[0], partner(tree, q, tip[0], load)),
    ]
    first, second = rng.choice(len(kinds)), rng.choice(3)
    ground = [
        lambda: Loop.point('ground', tip[1], partner(tree, q, tip[1], -1)),
        lambda: Loop.on_plane('ground', tip[1], partner(tree, q, tip[1], load, shift=(0.3, -0.2, 0.0))),
        lambda: Loop.on_line('ground', tip[1], partner(tree, q, tip[1], load, shift=(0.0, 0.0, 0.4))),
    ]
    a, b = (pose_of(tree, q, frame.body) for frame in tip)
    length = float(np.linalg.norm(a[0] @ tip[0].p + a[1] - b[0] @ tip[1].p - b[1]))
    ratio = {'b0_1': 1.0, 'b1_2': -float(rng.uniform(0.5, 2))}
    offset = sum(c * q[tree.bodies[tree.body(name)].q] for name, c in ratio.items())
    return [kinds[first](), ground[second](), Distance('rod', tip[0], tip[1], length), Coupling('gear', ratio, offset)]


def random_system(seed):
    """Return system, q, v that satisfies the constraints, and torques."""
    rng = np.random.default_rng(seed)
    tree, ends, load = random_tree(rng)
    q = random_position(tree, rng)
    springs = [JointSpring('b0_0', 20.0, 2.0, 0.1), JointSpring('b1_3', 5.0, 0.5)]
    system = ConstraintBlocks(tree, random_constraints(tree, q, ends, load, rng), springs, GRAVITY)
    v = projected_velocity(system, q, rng.normal(size=tree.nv))
    return system, q, v, rng.normal(size=tree.nv)
