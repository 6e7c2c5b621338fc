"""Addresses of the kernels of a system, for integrators."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dyn_nodes.compile import CompiledModule
from dyn_nodes.compile.integrators.classical import CLASSICAL, DAMPED, classical_code
from dyn_nodes.compile.integrators.codes import FORMULA, KINDS, STEP, STIFF
from dyn_nodes.compile.integrators.stiff import implicit_code


def codes_of(*modules: CompiledModule) -> np.ndarray:
    """Return the addresses (8 + m,) of a system's kernels (`codes`); kernels of later modules are added.

    The modules must outlive every run with them.
    """
    return np.array(_addresses(modules))


def without_stiff(codes: np.ndarray) -> np.ndarray:
    """Return the addresses of a system whose stiff states are integrated like all others."""
    codes = codes.copy()
    codes[STIFF], codes[STEP] = 0, classical_code().address
    return codes


def with_damped_steps(codes: np.ndarray) -> np.ndarray:
    """Return the addresses of a system with fixed steps of `rk3` (`classical`)."""
    codes = codes.copy()
    codes[FORMULA] = DAMPED
    return codes


@lru_cache(maxsize=256)
def _addresses(modules: tuple[CompiledModule, ...]) -> tuple[int, ...]:
    addresses = [next((module.code(kind) for module in modules if kind in module.kernels), 0) for kind in KINDS]
    indices = [index for module in modules for index in module.meta.get('stiff', ())]
    return (*addresses, (implicit_code() if indices else classical_code()).address, CLASSICAL, *indices)
