"""A single closed loop in two stages (freeman-1985, pp. 116 to 126; 2.19 to 2.22 of its spec).

First stage: the joints phi of the open chain are replaced by w, some independent joints and the motion of the free end.
Holding the end along some directions closes the loop: the model in the remaining coordinates y is a block of the model
in w, and the loads along the held directions are the bearing loads. Second stage: any joints become inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.errors import ContradictoryConstraintsError
from dyn_nodes.multibody.influence import Coefficients, TransferredModel
from dyn_nodes.multibody.influence.algebra import quadratic

CLOSED = 1e-8
"""Greatest relative residual with which dependent held directions count as consistent."""


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """A loop with the free end of its chain held.

    Attributes:
        joints: phi by w.
        opened: the model of the open chain in w (4-26 to 4-28).
        free: names of y, the remaining coordinates.
        held: names of the directions that the bearing holds.
        condition: condition number of the transfer from phi to w.
    """

    joints: Coefficients
    opened: TransferredModel
    free: tuple[str, ...]
    held: tuple[str, ...]
    condition: float

    @cached_property
    def motion(self) -> Coefficients:
        """The joints by y."""
        return self.joints.columns(self.free)

    @cached_property
    def model(self) -> TransferredModel:
        """The model in y: blocks of the model in w (4-31)."""
        return self.opened.columns(self.free)

    def bearing_load(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return T_c: the bearing load on the end of the chain along the held directions (4-31).

        Args:
            v: rates of y.
            a: accelerations of y.
        """
        y = [self.opened.coordinates.index(name) for name in self.free]
        c = [self.opened.coordinates.index(name) for name in self.held]
        opened = self.opened
        inertia = opened.inertia[np.ix_(c, y)] @ np.asarray(a, float)
        return np.asarray(inertia + quadratic(v, opened.power[np.ix_(c, y, y)]) - opened.load[c])

    def inputs(self, names: Sequence[str]) -> Coefficients:
        """Return y by other coordinates, joints or parts of y (4-33 to 4-38).

        Raises:
            KeyError: a name that is neither.
            SingularTransferError: the coordinates do not determine the motion.
        """
        parts = [self.motion if name in self.motion.parameters else self._identity for name in names]
        return Coefficients.stacked([part.rows([name]) for part, name in zip(parts, names)]).inverse()

    @cached_property
    def _identity(self) -> Coefficients:
        return Coefficients.identity(self.free, 3 if self.joints.D is not None else 2)


def close_loop(model: TransferredModel, end: Coefficients, kept: Sequence[str], free: Sequence[str] = ()) -> ClosedLoop:
    """Return the loop that is closed by holding the end of an open chain.

    Args:
        model: of the open chain in its joints, M of them.
        end: motion of the free end by the joints, N directions; with more than M - `kept` of them, dependent
            directions must be consistent (a movable overconstrained loop).
        kept: joints that stay independent, including idle freedoms.
        free: directions of `end` that are not held.

    Raises:
        SingularTransferError: kept joints and end do not determine the motion.
        ContradictoryConstraintsError: inconsistent surplus directions.
    """
    names = model.coordinates
    order = 3 if end.D is not None else 2
    both = Coefficients.stacked([Coefficients.identity(names, order).rows(kept), end])
    surplus = len(both.parameters) > len(names)
    joints = both.inverse(left=surplus)
    held = tuple(name for name in end.parameters if name not in free)
    loop = ClosedLoop(joints, model.by(joints), (*kept, *free), held, both.condition)
    if surplus:
        _reject_immovable(end.rows(held).by(loop.motion))
    return loop


def _reject_immovable(held: Coefficients) -> None:
    """Raise ContradictoryConstraintsError if held directions move with the remaining coordinates, to second order."""
    for quantity, moved in (('velocity', held.G), ('acceleration', held.H)):
        left = np.abs(moved).reshape(len(moved), -1).max(axis=1, initial=0.0)
        if left.max(initial=0.0) > CLOSED * max(1.0, float(np.abs(held.H).max(initial=0.0))):
            worst = held.parameters[int(np.argmax(left))]
            raise ContradictoryConstraintsError(
                f'{worst}: the loop is held along more directions than it can move in, and this {quantity} stays '
                f'{left.max():.3g} per unit of {", ".join(held.coordinates)}'
            )
