"""Position, rate and effort of a joint of one degree of freedom, for the elements on it."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression


class JointMotion(NamedTuple):
    """Motion of a joint.

    Attributes:
        position: rad or m.  rate: rad/s or m/s.
        velocity_index: index of the joint's rate in the velocities of the tree.
    """

    position: Expression
    rate: Expression
    velocity_index: int


def joint_motion(state: TreeState, joint: str) -> JointMotion:
    """Return the motion of a joint.

    Raises:
        KeyError: no such joint.
        ValueError: the name belongs to a free body, which has no single position.
    """
    body = state.tree.bodies[state.tree.body(joint)]
    if body.kind == 'free':
        raise ValueError(f'{joint}: expected a joint of one degree of freedom, found a free body')
    return JointMotion(state.q[body.q], state.v[body.v], body.v)


def along_joint(state: TreeState, velocity_index: int, effort: Expression) -> Expression:
    """Return (width,) an effort at a velocity index, zero elsewhere."""
    force = ca.SX(state.width, 1)
    force[velocity_index] = effort
    return force
