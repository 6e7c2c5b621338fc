"""Quantities that may change while a compiled model runs, collected during tracing."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.multibody.spatial import Expression

TIME = 'time'
GRAVITY = ('gravity_x', 'gravity_y', 'gravity_z')


class Parameters:
    """Named scalars with default values; the first is always the time, s.

    The code that traces a part of a model adds its parameters: `p.add('front_left/height', 0.0)` returns the symbol.
    Prescribed motions may depend on `p.time` and are differentiated exactly.
    """

    def __init__(self, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        self._symbols: dict[str, Expression] = {}
        self.defaults: dict[str, float] = {}
        self.states: dict[str, float] = {}
        self.time = self.add(TIME, 0.0)
        self.gravity = ca.vertcat(*(self.add(name, value) for name, value in zip(GRAVITY, gravity)))

    def add(self, name: str, default: float) -> Expression:
        """Return the symbol of a parameter, new or existing.

        Raises:
            ValueError: the name exists with another default.
        """
        present = self.defaults.setdefault(name, float(default))
        if present != float(default):
            raise ValueError(f'parameter {name!r}: expected its existing default {present:g}, found {default:g}')
        return self._symbols.setdefault(name, ca.SX.sym(name))

    def add_state(self, name: str, start: float) -> Expression:
        """Return the symbol of a state of an element, stored in the vector of the parameters.

        The integrator of the state writes its value there. `states` contains the names in order.

        Raises:
            ValueError: the name exists already.
        """
        if name in self.defaults:
            raise ValueError(f'expected a new name for a state, found {name!r} twice')
        self.states[name] = float(start)
        return self.add(name, start)

    def start(self, values: Mapping[str, float]) -> None:
        """Change start values of states by name. Raises KeyError for an unknown state."""
        for name, value in values.items():
            if name not in self.states:
                raise KeyError(f'unknown state {name!r}; known: {", ".join(self.states)}')
            self.states[name] = self.defaults[name] = float(value)

    def __getitem__(self, name: str) -> Expression:
        """Return the symbol of a name. Raises KeyError, listing the names, for an unknown one."""
        if name not in self._symbols:
            raise KeyError(f'unknown parameter {name!r}; known: {", ".join(self._symbols)}')
        return self._symbols[name]

    @property
    def state_indices(self) -> NDArray[np.intp]:
        """Indices of the states in the vector, in their order."""
        names = list(self._symbols)
        return np.array([names.index(name) for name in self.states], dtype=np.intp)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of the vector."""
        return tuple(self._symbols)

    @property
    def vector(self) -> Expression:
        """(n,) all symbols; complete after tracing."""
        return ca.vertcat(*self._symbols.values())

    def values(self, changed: Mapping[str, float] | None = None) -> NDArray[np.float64]:
        """Return the values (n,): defaults, some changed by name. Raises KeyError for an unknown name."""
        numbers = dict(self.defaults) if changed else self.defaults
        for name, value in (changed or {}).items():
            if name not in numbers:
                raise KeyError(f'unknown parameter {name!r}; known: {", ".join(numbers)}')
            numbers[name] = float(value)
        return np.fromiter(numbers.values(), np.float64, len(numbers))
