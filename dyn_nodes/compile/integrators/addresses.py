"""Addresses of the kernels of a system, as integrators get them."""

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
    """Return the addresses of a system whose stiff states go on as all others do."""
    codes = codes.copy()
    codes[STIFF], codes[STEP] = 0, classical_code().address
    return codes


def with_damped_steps(codes: np.ndarray) -> np.ndarray:
    """Return the addresses of a system whose fixed steps are those of `rk3` (`classical`)."""
    codes = codes.copy()
    codes[FORMULA] = DAMPED
    return codes


@lru_cache(maxsize=256)
def _addresses(modules: tuple[CompiledModule, ...]) -> tuple[int, ...]:
    found = [next((module.code(kind) for module in modules if kind in module.kernels), 0) for kind in KINDS]
    places = [place for module in modules for place in module.meta.get('stiff', ())]
    return (*found, (implicit_code() if places else classical_code()).address, CLASSICAL, *places)
