"""A constrained system advanced piece by piece, for whoever gets its inputs as it goes: a node, a controller."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.constraints import _run_loops
from dyn_nodes.constraints.linear import RANK_TOLERANCE
from dyn_nodes.simulation.constrained import ConstrainedSystem, Stabilization, StepMethod

Array = NDArray[np.float64]


class ConstrainedStepper:
    """Holds the state of a system between calls of `advance`.

    Args:
        system: that runs.
        q: (nq,) position that meets the constraints.
        v: (nv,) velocity that meets them.
        p: parameters, see `ConstraintBlocks.numbers`.
        time: s.
        step: greatest Runge-Kutta step, s.
        method: see `ConstrainedSystem.run`.
        stabilization: see `ConstrainedSystem.run`.
        tolerance: of the rank, see `ConstrainedSystem.run`.

    Attributes:
        time: s.
        acceleration, multipliers: (nv,), (m,) at the present state, under the last effort; NaN before the first call.
        status: `done`, or what stopped the last call; the state is then the last sound one before it.
        detail: what is to be said of it, or ''.
    """

    def __init__(
        self,
        system: ConstrainedSystem,
        q: ArrayLike,
        v: ArrayLike,
        p: ArrayLike | Mapping[str, float] | None = None,
        time: float = 0.0,
        step: float = 1e-3,
        method: StepMethod = 'auto',
        stabilization: Stabilization | None = None,
        tolerance: float = RANK_TOLERANCE,
    ) -> None:
        if not step > 0:
            raise ValueError(f'expected a step above zero, found {step:g} s')
        self.system, self.time, self.step = system, float(time), float(step)
        self.status, self.detail = 'done', ''
        blocks = system.blocks
        self._p = np.array(blocks.numbers(p))
        self._p[0] = time
        self._rank, self._method = system.plan(blocks.at(q, v, self._p), method, tolerance)
        self._x = system.state(q, v, self._p)
        zeta, omega = (0.0, 0.0) if stabilization is None else (stabilization.zeta, stabilization.omega)
        self._how = np.array([tolerance, zeta, omega])
        self._trace = np.empty((1, len(self._x)))
        self._a, self._forces = np.full((1, blocks.tree.nv), np.nan), np.full((1, blocks.m), np.nan)
        self._sample = np.array([-1, 0], dtype=np.int64)

    @property
    def rank(self) -> int:
        """Rank of the rows at the start."""
        return self._rank

    @property
    def state(self) -> Array:
        """(n,) position, velocity, states of elements, work done on the system and heat since the start, J."""
        return self._x.copy()

    def put(self, state: ArrayLike, time: float, p: ArrayLike | None = None) -> None:
        """Go on from another state, time and, where given, parameters. Raises ValueError for another size."""
        x = np.array(state, dtype=np.float64)
        if x.shape != self._x.shape:
            raise ValueError(f'expected a state of {len(self._x)} numbers, found shape {x.shape}')
        self._x, self.time = x, float(time)
        if p is not None:
            self._p = np.array(self.system.blocks.numbers(p))

    @property
    def q(self) -> Array:
        """(nq,) position."""
        return self._x[: self.system.blocks.tree.nq].copy()

    @property
    def v(self) -> Array:
        """(nv,) velocity."""
        tree = self.system.blocks.tree
        return self._x[tree.nq : tree.nq + tree.nv].copy()

    @property
    def work(self) -> float:
        """Work done on the system since the start, J."""
        return float(self._x[-2])

    @property
    def acceleration(self) -> Array:
        """(nv,) at the end of the last call."""
        return self._a[0].copy()

    @property
    def multipliers(self) -> Array:
        """(m,) at the end of the last call."""
        return self._forces[0].copy()

    def set_parameter(self, name: str, value: float) -> None:
        """Change a parameter from now on. Raises KeyError that lists the known ones."""
        names = self.system.blocks.parameters.names
        if name not in names:
            raise KeyError(f'unknown parameter {name!r}; known: {", ".join(names)}')
        self._p[names.index(name)] = value

    def advance(self, duration: float, efforts: ArrayLike = (), at_end: ArrayLike | None = None) -> str:
        """Go on for `duration` s under inputs (n,), efforts and commands; return the status.

        Args:
            duration: s, above zero.
            efforts: at the start, in the order of `system.input_names`; empty: zero.
            at_end: at the end, linear in between; None: constant.

        Raises:
            ValueError: efforts of another number or not finite, a duration that is not above zero.
        """
        if not duration > 0:
            raise ValueError(f'expected a duration above zero, found {duration:g} s')
        start = self._efforts(efforts)
        end = start if at_end is None else self._efforts(at_end)
        return self._call(np.array([self.time, self.time + duration]), self._sample, start, end)

    def evaluate(self, efforts: ArrayLike = ()) -> str:
        """Find acceleration and multipliers at the present state under efforts (n,); return the status."""
        held = self._efforts(efforts)
        return self._call(np.array([self.time]), self._sample[1:], held, held)

    def rates(self, state: Array, efforts: ArrayLike = ()) -> Array:
        """Return the rates (n,) of another state at the present time under efforts (n,); NaN where there are none."""
        result = np.empty(len(self._x))
        done = self.system.slope(
            np.ascontiguousarray(state), self.time, self._efforts(efforts)[0], self._p, self._how, self._method, result
        )
        return result if done == self._rank else np.full(len(result), np.nan)

    def _call(self, stops: Array, sample: NDArray[np.int64], start: Array, end: Array) -> str:
        x = self._x.copy()
        edges = np.array([stops[0], stops[0] + 1.0]) if len(stops) == 1 else stops
        status, _, reached, found = self.system.call(
            x, self._p, stops, sample, self.step, edges, start, end, self._how, self._method, self._rank,
            self._trace, self._a, self._forces,
        )  # fmt: skip
        self.status = _run_loops.STATUS[status]
        self.detail = self.system.detail(int(status), int(found), self._rank)
        self.time = float(reached)
        if status != _run_loops.DIVERGED:
            self._x = x
        return self.status

    def _efforts(self, values: ArrayLike) -> Array:
        n = len(self.system.input_names)
        vector = np.asarray(values, dtype=np.float64).reshape(-1)
        if len(vector) == 0:
            vector = np.zeros(n)
        if vector.shape != (n,) or not np.all(np.isfinite(vector)):
            raise ValueError(f'expected {n} finite efforts, found {vector.tolist()}')
        return vector.reshape(1, n)
