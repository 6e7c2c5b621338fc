"""What elements of a joint of one degree of freedom share: its position, its rate, an effort along it."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression


class JointMotion(NamedTuple):
    """Motion of a joint.

    Attributes:
        position: rad or m.  rate: rad/s or m/s.
        place: of the joint among the velocities of the tree.
    """

    position: Expression
    rate: Expression
    place: int


def joint_motion(state: TreeState, joint: str) -> JointMotion:
    """Return the motion of a joint.

    Raises:
        KeyError: no such joint.
        ValueError: a free body of that name, which has no single position.
    """
    body = state.tree.bodies[state.tree.body(joint)]
    if body.kind == 'free':
        raise ValueError(f'{joint}: expected a joint of one degree of freedom, found a free body')
    return JointMotion(state.q[body.q], state.v[body.v], body.v)


def along_joint(state: TreeState, place: int, effort: Expression) -> Expression:
    """Return (width,) an effort at the place of a joint among the velocities, zero elsewhere."""
    force = ca.SX(state.width, 1)
    force[place] = effort
    return force
