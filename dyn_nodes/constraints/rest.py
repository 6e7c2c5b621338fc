"""Where a machine on springs stands beside its constraints: loops closed, springs loaded, friction holding.

At rest the weight, the springs, the efforts of the driven joints and the multipliers of the constraints balance:
h(q, s) = S tau + J(q)^T lambda and phi(q) = 0, s the deflections of friction. Newton steps with the exact Jacobian find
all unknowns together; of those that the balance leaves open the least change is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints.assembly import assemble, moved
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import AssemblyError
from dyn_nodes.model.equilibrium import BALANCED, FRICTION_EASE, NoEquilibriumError, check_friction
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Tree

Array = NDArray[np.float64]
ITERATIONS = 60
ATTEMPTS = 3
CLOSED = 1e-11
"""Residual of a closed loop, m or rad, relative to 1 plus the size of the position."""
DRIVE_EASE = 1e-3
"""How easily driven joints give way, against the pose, where the loops leave no other way."""
GREATEST_CHANGE = 0.05
"""Of a position in one Newton step, m or rad."""


class Freedom(NamedTuple):
    """Displacements among which a rest is looked for.

    Attributes:
        directions: (nv, k) along the velocities.
        ease: (k,) of each.
        keeps_yaw: the heading of the base stays.
    """

    directions: Array
    ease: Array
    keeps_yaw: bool


class Balance(NamedTuple):
    """Forces at rest at one position: what is missing to a balance, and its derivatives.

    Attributes:
        force: (nv,) forces less multipliers and efforts, N or N m.
        gaps: (h,) of the holonomic rows, m or rad.
        by_position: (nv, nv) of the force.  by_deflection: (nv, n) of the force.
        J: (m, nv) of all rows.
        used: friction over the greatest static friction, by deflection of a wheel.
    """

    force: Array
    gaps: Array
    by_position: Array
    by_deflection: Array
    J: Array
    used: Array


@dataclass(frozen=True, eq=False)
class ConstrainedRest:
    """Finds the rest of a machine with wheels on springs and constraints.

    Attributes:
        machine: the machine.
        blocks: its traced system.
        driven: names of the joints whose efforts hold them.
    """

    machine: Machine
    blocks: ConstraintBlocks
    driven: Sequence[str]

    @property
    def tree(self) -> Tree:
        """Bodies."""
        return self.blocks.tree

    @cached_property
    def deflections(self) -> tuple[str, ...]:
        """Names of the states of elements that follow from the balance."""
        return tuple(own.name for own in self.blocks.element_states if own.balances)

    @cached_property
    def _places(self) -> list[int]:
        return [self.blocks.parameters.names.index(name) for name in self.deflections]

    @cached_property
    def _used(self) -> tuple[tuple[str, ...], list[ca.SX]]:
        blocks = self.blocks
        shares = [own.friction_use(blocks.state, blocks.parameters).items() for own in blocks.forces]
        pairs = [pair for own in shares for pair in own]
        return tuple(name for name, _ in pairs), [share for _, share in pairs]

    @cached_property
    def _evaluate(self) -> ca.Function:
        blocks = self.blocks
        multipliers = ca.SX.sym('multipliers', blocks.m)
        force = ca.densify(blocks.bias - ca.mtimes(blocks.rows.jacobian.T, multipliers))
        shares = ca.densify(ca.vertcat(*self._used[1], ca.SX(0, 1)))
        known = [force, blocks.rows.residual, blocks.rows.jacobian, shares]
        own = ca.vertcat(*(blocks.parameters[name] for name in self.deflections), ca.SX(0, 1))
        lead = ca.jacobian(blocks.state.position_rate, blocks.v)
        derivatives = [ca.mtimes(ca.jacobian(force, blocks.q), lead), ca.jacobian(force, own)]
        still = ca.substitute([*known, *derivatives], [blocks.v], [ca.SX.zeros(self.tree.nv)])
        inputs = [blocks.q, blocks.parameters.vector, multipliers]
        return ca.Function('rest', inputs, [ca.densify(part) for part in still])

    def _balance(self, q: Array, p: Array, multipliers: Array, efforts: Array) -> Balance:
        found = [np.array(part) for part in self._evaluate(q, p, multipliers)]
        force, gaps, J, used, by_position, by_deflection = found
        nv, count = self.tree.nv, len(self.deflections)
        return Balance(
            force.ravel() - self._selection @ efforts,
            gaps.ravel()[self.blocks.holonomic],
            by_position,
            by_deflection.reshape(nv, count),
            J.reshape(self.blocks.m, nv),
            used.ravel(),
        )

    @cached_property
    def _selection(self) -> Array:
        """(nv, d) S: efforts of driven joints along the velocities."""
        return np.eye(self.tree.nv)[:, [self.tree.velocity_index(name) for name in self.driven]]

    def _freedom(self, q: Array, attempt: int) -> Freedom:
        """Heading, place and driven joints as they are; then the base free; then driven joints, too, as the last."""
        nv, base = self.tree.nv, self.tree.base_dofs
        driven = self._selection.any(axis=1)
        unit = np.eye(nv)
        give = unit[:, (~driven) & (np.arange(nv) >= base)]
        if self.machine.base.attachment == 'free':
            vertical = np.zeros((nv, 1))
            vertical[3:6, 0] = Rotation.from_quat(q[3:7]).as_matrix()[2]
            upright = np.hstack([unit[:, :2], vertical])
        else:
            upright = unit[:, [name in ('base_z', 'base_pitch') for name in self.tree.velocity_names]]
        if attempt == ATTEMPTS - 1:
            return Freedom(unit, np.where(driven, DRIVE_EASE, 1.0), False)
        directions = np.hstack([upright if attempt == 0 else unit[:, :base], give])
        return Freedom(directions, np.ones(directions.shape[1]), attempt == 0)

    def settle(self, q: Array, p: Array, stances: Iterable[Array]) -> tuple[Array, dict[str, float]]:
        """Return the position (nq,) at rest and the deflections of friction by name.

        Args:
            q: (nq,) position that closes the loops.
            p: parameters of the blocks.
            stances: height, m, roll and pitch, rad, of the base to start from, one after the other.

        Raises:
            NoEquilibriumError: no rest was found: the machine tips, slides, or nothing holds a joint.
        """
        least = np.inf
        for guess in self._guesses(q, p, stances):
            for attempt in range(ATTEMPTS):
                found = self._search(guess, p, attempt)
                if isinstance(found, tuple):
                    return found
                least = min(least, found)
        raise NoEquilibriumError(
            f'{self.machine.name}: no resting pose on the wheels beside the constraints (unbalanced force {least:.2e} '
            'of the weight); the machine tips or slides, or nothing holds a joint'
        )

    def _guesses(self, q: Array, p: Array, stances: Iterable[Array]) -> Iterator[Array]:
        """Positions with the base in its stances; loops closed where they can be."""
        names, base = self.tree.position_names, list(self.tree.velocity_names[: self.tree.base_dofs])
        for height, roll, pitch in stances:
            guess = np.array(q)
            if self.machine.base.attachment == 'free':
                guess[2] = height
                guess[3:7] = Rotation.from_euler('ZYX', [_yaw(q), pitch, roll]).as_quat()
            else:
                guess[names.index('base_z')], guess[names.index('base_pitch')] = height, pitch
            for held in ([*base, *self.driven], base):
                try:
                    guess = assemble(self.blocks, guess, p, held)
                    break
                except AssemblyError:
                    continue
            yield guess

    def _search(self, q: Array, p: Array, attempt: int) -> tuple[Array, dict[str, float]] | float:
        """Return the rest found by Newton steps from q, or the unbalanced force over the weight."""
        machine, count = self.machine, len(self.deflections)
        names = self.blocks.parameters.names
        payload = float(p[names.index('payload_mass')]) if 'payload_mass' in names else 0.0
        loads = sum(load.mass for load in machine.loads)
        weight = (machine.total_mass + payload + loads) * float(np.linalg.norm(p[1:4]))
        p = np.array(p)
        p[self._places] = 0.0
        free = machine.base.attachment == 'free'
        yaw = _yaw(q) if free else 0.0
        multipliers, efforts = np.zeros(self.blocks.m), np.zeros(len(self.driven))
        unbalanced = np.inf
        for _ in range(ITERATIONS):
            at = self._balance(q, p, multipliers, efforts)
            unbalanced = float(np.abs(at.force).max(initial=0.0)) / weight
            closed = float(np.abs(at.gaps).max(initial=0.0)) <= CLOSED * (1 + float(np.abs(q).max()))
            if not np.isfinite(unbalanced):
                return float(np.inf)
            if closed and unbalanced < BALANCED:
                check_friction(machine.name, self._used[0], at.used)
                return q, dict(zip(self.deflections, p[self._places]))
            freedom = self._freedom(q, attempt)
            k = freedom.directions.shape[1]
            displace = freedom.directions * freedom.ease
            rows = [displace.T @ at.by_position.T, FRICTION_EASE * at.by_deflection.T, -weight * at.J]
            forces = np.vstack([*rows, -weight * self._selection.T]).T / weight
            shut = np.zeros((len(at.gaps), forces.shape[1]))
            shut[:, :k] = at.J[self.blocks.holonomic] @ displace
            missing = np.concatenate([at.force / weight, at.gaps])
            step = -np.linalg.lstsq(np.vstack([forces, shut]), missing, rcond=1e-12)[0]
            change, give = displace @ step[:k], FRICTION_EASE * step[k : k + count]
            greatest = max(float(np.abs(np.concatenate([change, give])).max(initial=0.0)), 1e-12)
            share = min(1.0, GREATEST_CHANGE / greatest)
            q = moved(self.tree, q, share * change)
            if freedom.keeps_yaw and free:
                q[3:7] = (Rotation.from_euler('z', yaw - _yaw(q)) * Rotation.from_quat(q[3:7])).as_quat()
            p[self._places] += share * give
            multipliers += share * weight * step[k + count : k + count + self.blocks.m]
            efforts += share * weight * step[k + count + self.blocks.m :]
        return unbalanced


def _yaw(q: Array) -> float:
    """Heading of a free base, rad."""
    R = Rotation.from_quat(q[3:7]).as_matrix()
    return float(np.arctan2(R[1, 0], R[0, 0]))
