"""Force and torque at a joint of a machine, for one motion or many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.optional import pandas
from dyn_nodes.library.html import table
from dyn_nodes.library.motion import Motion, at_rest, motion_of
from dyn_nodes.library.notice import shown

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded
    from dyn_nodes.simulation import JointReaction, System


@dataclass(frozen=True, eq=False)
class Reaction:
    """Force and torque that the parent link exerts on the child link at a joint.

    The component along (or about) the axis of a movable joint is the effort of its drive minus its damping.

    Attributes:
        joint: name of the joint.
        side: link in whose axes the vectors are, `child` or `parent`; torques are about its origin at the joint.
        force: (3,) or (t, 3), N.
        torque: (3,) or (t, 3), N m.
    """

    joint: str
    side: str
    force: Array
    torque: Array

    def _repr_html_(self) -> str:
        rows = []
        for name, values, unit in (('force', self.force, 'N'), ('torque', self.torque, 'N m')):
            for axis, column in zip('xyz', np.atleast_2d(values).T):
                span = f'{column[0]:.6g}' if len(column) == 1 else f'{column.min():.6g} to {column.max():.6g}'
                rows.append((f'{name} {axis}', span, unit))
        return table(('component', 'value', 'unit'), rows, f'{self.joint}, axes of {self.side}')

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row per state and six columns. Raises ImportError without pandas."""
        names = [f'{vector}_{axis}' for vector in ('force', 'torque') for axis in 'xyz']
        values = np.atleast_2d(np.concatenate([self.force, self.torque], axis=-1))
        return pandas().DataFrame(values, columns=names)


def reaction_of(
    machine: Loaded,
    q: ArrayLike | None,
    v: ArrayLike | None,
    a: ArrayLike | None,
    joint: str,
    side: str,
    payload: float,
    slope: tuple[float, float],
) -> Reaction:
    """Return the reaction of a motion; arguments and errors as for `Machine.reactions`."""
    motion = motion_of(machine, q, v, a, payload, slope)
    solve = _constrained if machine.data.needs_constraints else _of_tree
    wrenches = solve(machine, motion, joint, side, payload, slope)
    if motion.rows is None:
        return Reaction(joint, side, wrenches[0, :3], wrenches[0, 3:])
    return Reaction(joint, side, wrenches[:, :3], wrenches[:, 3:])


@lru_cache(maxsize=64)
def _kernel(system: System, joint: str, side: str) -> JointReaction:
    from dyn_nodes.simulation import JointReaction

    return JointReaction(system, (joint,), side=cast(Any, side))


def _of_tree(
    machine: Loaded, motion: Motion, joint: str, side: str, payload: float, slope: tuple[float, float]
) -> Array:
    """Return the wrenches (t, 6) of a motion of a machine without constraints."""
    system = machine.system(torque=True)
    with shown('reactions'):
        kernel = _kernel(system, joint, side)
    p = system.parameters({'payload_mass': payload}, slope)
    if motion.standing:
        states = []
        for plant, v in zip(at_rest(machine, motion, payload, slope), motion.v):
            states.append(plant.x.copy())
            states[-1][system.nq : system.nq + len(v)] = v
    else:
        states = [system.state(q, v, p) for q, v in zip(motion.q, motion.v)]
    return np.array([kernel.evaluate(x, a, p)[0] for x, a in zip(states, motion.a)])


def _constrained(
    machine: Loaded, motion: Motion, joint: str, side: str, payload: float, slope: tuple[float, float]
) -> Array:
    """Return the wrenches (t, 6) of a machine with constraints, held at rest by its drives."""
    if motion.moves:
        raise ValueError(f'{machine.name}: reactions: expected no velocities for a machine with constraints')
    if side != 'child':
        raise ValueError(f'{machine.name}: reactions: expected side child for a machine with constraints, found {side}')
    asked = cast(Any, type(machine))(replace(machine.data, reactions=(joint,)))
    return np.array([plant.joint_reactions()[0] for plant in at_rest(asked, motion, payload, slope)])
