"""Addresses of the kernels of a system, as integrators get them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dyn_nodes.compile import CompiledModule
from dyn_nodes.integrators.codes import KINDS
from dyn_nodes.integrators.stiff import step_code


def codes_of(*modules: CompiledModule) -> np.ndarray:
    """Return the addresses (7 + m,) of a system's kernels (`codes`); kernels of later modules are added.

    The modules must outlive every run with them.
    """
    return np.array(_addresses(modules))


@lru_cache(maxsize=256)
def _addresses(modules: tuple[CompiledModule, ...]) -> tuple[int, ...]:
    found = [next((module.code(kind) for module in modules if kind in module.kernels), 0) for kind in KINDS]
    places = [place for module in modules for place in module.meta.get('stiff', ())]
    return (*found, step_code().address if places else 0, *places)
