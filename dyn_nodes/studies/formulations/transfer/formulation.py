"""Any tree with constraints by transfer of coordinates (freeman-1985, ch. 4), an independent formulation.

    transfer = coordinate_transfer(blocks, independent=('left', 'right'))
    here = transfer.at(q, v)
    here.model.inertia, here.model.power, here.accelerations(tau), here.multipliers(tau)

The opened tree is modelled in its joints phi; w are independent joints and the rates of all constraint rows. Holding
the rows leaves the model in the independent joints, and the loads along the rows are the multipliers. The formulation
shares neither mass matrix nor bias nor solver with `constrained_dynamics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import ContradictoryConstraintsError, MethodError, SingularMotionError
from dyn_nodes.constraints.independent import Partition, choose_independent, named_independent
from dyn_nodes.constraints.row_coefficients import row_coefficients
from dyn_nodes.constraints.solve import CONTRADICTION
from dyn_nodes.multibody.influence import Coefficients, TransferredModel, TreeCoefficients, serial_model
from dyn_nodes.multibody.influence.algebra import quadratic
from dyn_nodes.multibody.influence.model import SingularInertiaError


class CoordinateTransfer:
    """The formulation for one traced system.

    Args:
        system: a tree of revolute and prismatic joints with time-independent constraints.
        independent: names of the independent joints; empty: chosen at every state by pivoting.
        prefer: names of joints chosen first where they can be independent, such as the actuated ones.

    Raises:
        MethodError: a free body, or a time-dependent constraint.
        KeyError: a joint that the tree does not have.
    """

    def __init__(self, system: ConstraintBlocks, independent: Sequence[str] = (), prefer: Sequence[str] = ()) -> None:
        for body in system.tree.bodies:
            if body.kind == 'free':
                raise MethodError(
                    f'coordinate transfer: expected revolute and prismatic joints, found the free body {body.name}; '
                    'write it as a chain of joints'
                )
        for k, name in enumerate(system.row_names):
            if not system.rows.sigma[k].is_zero():
                raise MethodError(f'coordinate transfer: expected constraints at rest, found the row {name} that moves')
        self.system = system
        self._tree = TreeCoefficients(system.tree)
        self._rows = row_coefficients(system)
        self._named = tuple(system.tree.velocity_index(name) for name in independent)
        self._preferred = tuple(system.tree.velocity_index(name) for name in prefer)

    @cached_property
    def _applied(self) -> ca.Function:
        system = self.system
        payload = ca.SX(system.state.payload_mass)
        outputs = [system.applied, system.parameters.gravity, payload]
        return ca.Function('applied', [system.q, system.v, system.parameters.vector], outputs)

    def at(self, q: ArrayLike, v: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> TransferredMotion:
        """Return the model at a state.

        Args:
            q: (n,) positions that meet the constraints.
            v: (n,) rates; the dependent ones are recomputed from the independent ones.
            p: parameters, see `ConstraintBlocks.numbers`.

        Raises:
            MethodError: the named joints are not independent here.
            SingularTransferError: the chosen joints hardly determine the motion; the message names one.
            ContradictoryConstraintsError: dependent rows ask for different accelerations.
        """
        numbers = self.system.numbers(p)
        position = self._tree.at(q, order=2)
        rows = self._rows(position, numbers)
        applied, gravity, payload = (
            np.array(part).ravel() for part in self._applied(position.q, np.asarray(v, float), numbers)
        )
        opened = serial_model(position, gravity, float(payload[0]))
        partition = self._chosen(rows.G, opened.inertia)
        names = self._tree.names
        independent = [names[k] for k in partition.independent]
        held = [rows.parameters[k] for k in partition.rows]
        both = Coefficients.stacked([position.joints(independent), rows.rows(held)])
        joints = both.inverse()
        motion = TransferredMotion(
            position.q, rows, opened, applied, partition, joints, opened.by(joints), both.condition,
            np.asarray(v, float)[list(partition.independent)],
        )  # fmt: skip
        motion.reject_contradictions()
        return motion

    def _chosen(self, J: Array, M: Array) -> Partition:
        if self._named:
            return named_independent(J, M, self._named, self.system.tree.velocity_names)
        return choose_independent(J, M, self._preferred)


@dataclass(frozen=True, eq=False)
class TransferredMotion:
    """A constrained system at a state, in independent joints y (m of n) and rows.

    Attributes:
        q: (n,) positions.
        rows: all rows by the joints.
        opened: the model of the tree in its joints, without elements.
        applied: (n,) efforts of springs, dampers, friction and other elements.
        partition: independent joints, and the rows that determine the others.
        joints: phi by w = (y, these rows).
        whole: the model in w.
        condition: condition number of the transfer from phi to w.
        rates: (m,) of y.
    """

    q: Array
    rows: Coefficients
    opened: TransferredModel
    applied: Array
    partition: Partition
    joints: Coefficients
    whole: TransferredModel
    condition: float
    rates: Array

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of y."""
        return self.joints.coordinates[: len(self.partition.independent)]

    @cached_property
    def motion(self) -> Coefficients:
        """All joints by y."""
        return self.joints.columns(self.independent)

    @cached_property
    def model(self) -> TransferredModel:
        """The model in y, without elements."""
        return self.whole.columns(self.independent)

    def minimal_accelerations(self, tau: ArrayLike) -> Array:
        """Return the accelerations (m,) of y under joint efforts tau (n,).

        Raises:
            SingularMotionError: a motion that moves no mass.
        """
        effort = self.motion.G.T @ (np.asarray(tau, float) + self.applied)
        try:
            return self.model.acceleration(self.rates, effort)
        except SingularInertiaError as reason:
            raise SingularMotionError(str(reason)) from None

    def accelerations(self, tau: ArrayLike) -> Array:
        """Return the accelerations (n,) of all joints under joint efforts tau (n,)."""
        return self.motion.acceleration(self.rates, self.minimal_accelerations(tau))

    def multipliers(self, tau: ArrayLike) -> Array:
        """Return the multipliers of all rows: loads along the rows held in w, zero along dependent rows."""
        a = self.minimal_accelerations(tau)
        count, w = len(self.rates), self.whole
        held = slice(count, None)
        loads = w.inertia[held, :count] @ a + quadratic(self.rates, w.power[held, :count, :count]) - w.load[held]
        loads = loads - self.joints.G[:, held].T @ (np.asarray(tau, float) + self.applied)
        result = np.zeros(len(self.rows.parameters))
        result[list(self.partition.rows)] = loads
        return result

    def reject_contradictions(self) -> None:
        """Raise ContradictoryConstraintsError if rows that depend on the held ones accelerate."""
        left = np.abs(self.rows.by(self.motion).acceleration(self.rates, np.zeros_like(self.rates)))
        size = float(np.abs(quadratic(self.motion.G @ self.rates, self.rows.H)).max(initial=0.0))
        if left.max(initial=0.0) > CONTRADICTION * max(1.0, size):
            raise ContradictoryConstraintsError(
                f'row {self.rows.parameters[int(np.argmax(left))]} depends on others and asks for an acceleration '
                f'that differs from theirs by {left.max():.3g}'
            )


def coordinate_transfer(
    system: ConstraintBlocks, independent: Sequence[str] = (), prefer: Sequence[str] = ()
) -> CoordinateTransfer:
    """Return the formulation of a system by transfer of coordinates, see `CoordinateTransfer`."""
    return CoordinateTransfer(system, independent, prefer)
