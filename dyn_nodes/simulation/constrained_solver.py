"""Solver of the constraints of a system: expected rank, method, Baumgarte stabilization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule
from dyn_nodes.compile.code import BoundCode
from dyn_nodes.compile.integrators import codes_of
from dyn_nodes.compile.integrators.codes import JACOBIAN, RHS
from dyn_nodes.constraints import _rates

Indices = NDArray[np.int64]


class Solver:
    """Kernels of a system with constraints for one rank, method and stabilization.

    Args:
        module: kernel `blocks` of the system, and kernels of its guard, watches and discrete states.
        sizes: nq, nv, rows, states of elements, outputs of `blocks`.
        marks: of the inputs (n,) the indices of the velocities that they drive, -1 for other inputs; of the rows (m,)
            whether they are holonomic; of the rows (m,) whether their multipliers must not be negative.
        moving: a constraint has a prescribed motion, so that it does work.
        rows: names of the rows.
        rank: of the rows. A state with another rank has no dx/dt.
        method: OPERATOR or REDUCED of `constraints`.
        settings: tolerance of the rank; damping ratio and frequency of the Baumgarte stabilization, 1/s.
        implicit: kernel `changes` of the system, for the Jacobian; None: no Jacobian.

    Attributes:
        codes: addresses of the kernels, for the integrators; valid during the lifetime of this object.
        rank: of the rows.
    """

    def __init__(
        self,
        module: CompiledModule,
        sizes: tuple[int, int, int, int, int],
        marks: tuple[Indices, NDArray[np.bool_], NDArray[np.bool_]],
        moving: bool,
        rows: tuple[str, ...],
        rank: int,
        method: int,
        settings: tuple[float, float, float],
        implicit: CompiledModule | None = None,
    ) -> None:
        self.rank, self._rows, self._sizes, self._modules = rank, rows, sizes, (module, implicit)
        changes = 0 if implicit is None else implicit.code('changes')
        head = [module.code('blocks'), *sizes, method, rank, moving, changes, _rates.solve_code().address]
        self._layout = np.concatenate([head, [moving or marks[2].any()], *marks]).astype(np.int64)
        self._whole = np.concatenate([head, [True], *marks]).astype(np.int64)  # always with multipliers
        self._settings = np.array(settings, dtype=np.float64)
        constants = self._layout, self._settings
        self.codes = codes_of(module)
        self._bound = [BoundCode(_rates.rate_code(), constants, 4)]
        self.codes[RHS] = self._bound[0].address
        if implicit is not None:
            self._bound.append(BoundCode(_rates.jacobian_code(), constants, 4))
            self.codes[JACOBIAN] = self._bound[1].address

    def rates(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,); NaN if it is undefined."""
        rate = np.empty(len(x))
        status = _rates.rates(self._layout, self._settings, x, u, p, rate)
        if status > _rates.STOPPED and status != 0:
            raise ValueError('expected states, inputs and parameters of this system')
        return rate if status == 0 else np.full(len(x), np.nan)

    def solution(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return accelerations (nv,) and multipliers (m,) at a state; NaN if undefined."""
        a, multipliers = self.solutions(x.reshape(1, -1), u.reshape(1, -1), p)
        return a[0], multipliers[0]

    def solutions(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return accelerations (t, nv) and multipliers (t, m) at states (t, n) with inputs (t, k)."""
        a, multipliers = (np.zeros((len(x), size)) for size in self._sizes[1:3])
        _rates.solutions(self._whole, self._settings, x, u, p, a, multipliers)
        return a, multipliers

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and u (n, k); NaN if undefined.

        Raises:
            ValueError: the solver has no kernel of the derivatives.
        """
        if self.codes[JACOBIAN] == 0:
            raise ValueError('expected a solver that was made with the kernel of the derivatives')
        results = []
        for by_inputs, columns in ((False, len(x)), (True, len(u))):
            flat = np.empty(len(x) * columns)
            if _rates.jacobian(self._layout, self._settings, x, u, p, by_inputs, flat) != 0:
                flat[:] = np.nan
            results.append(flat.reshape(len(x), columns, order='F'))
        return results[0], results[1]

    def reason(self, status: int) -> tuple[str, str]:
        """Return the kind of failure without dx/dt, and a text with details or ''.

        Args:
            status: of a run, at most STOPPED.
        """
        number, detail = _rates.reason_of(status)
        if number == _rates.FAULT:
            raise RuntimeError('rates of a system with constraints: index out of range')
        if number == _rates.RANK_CHANGED:
            text = f'the rank of the constraints went from {self.rank} to {detail}'
            return _rates.REASONS[number], f'{text}: motion beyond this point is not continued'
        return _rates.REASONS[number], f'{self._rows[detail]} would pull' if number == _rates.LIFTED else ''
