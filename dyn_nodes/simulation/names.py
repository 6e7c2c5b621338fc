"""Names and indices of the states, inputs, parameters and outputs of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.assembly import gravity_vector

Kind = Literal['state', 'input', 'parameter', 'output']


class UnknownNameError(UserError, KeyError):
    """A system has no state, input, parameter or output with this name."""

    def __init__(self, kind: str, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f'unknown {kind} {name!r}; known: {", ".join(names)}{near(name, names)}')

    def __str__(self) -> str:
        return str(self.args[0])


class NamedVectors:
    """System with named vectors x, u, p and y; `defaults` are the parameters of its machine, gravity (3,) first."""

    name: str
    machine: Machine
    defaults: Array
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    output_names: tuple[str, ...]

    @cached_property
    def _indices(self) -> dict[str, dict[str, int]]:
        return {}

    def index(self, kind: Kind, name: str) -> int:
        """Return the index of a name. Raises UnknownNameError."""
        if kind not in self._indices:  # tracing the names of outputs can take long
            self._indices[kind] = {entry: k for k, entry in enumerate(getattr(self, f'{kind}_names'))}
        try:
            return self._indices[kind][name]
        except KeyError:
            raise UnknownNameError(kind, name, tuple(self._indices[kind])) from None

    def parameters(
        self, values: Mapping[str, float] | None = None, slope: float | tuple[float, float] | None = None
    ) -> Array:
        """Return a parameter vector: the machine's values, changed by name. Raises UnknownNameError.

        Args:
            values: by name.
            slope: of the ground, (roll, pitch) or pitch alone, rad; positive pitch: the front is downhill.
        """
        p = np.array(self.defaults)
        if slope is not None:
            p[:3] = gravity_vector(self.machine.gravity, slope if isinstance(slope, tuple) else (0.0, slope))
        for name, value in (values or {}).items():
            p[self.index('parameter', name)] = value
        return p

    def parameter_vector(self, p: ArrayLike | Mapping[str, float] | None) -> Array:
        """Return parameters (n,): a vector as it is, else the defaults, changed by name. Raises UnknownNameError."""
        return self.parameters(p) if p is None or isinstance(p, Mapping) else np.array(p, dtype=np.float64)

    def check(self, x: Array, u: Array, p: Array) -> None:
        """Raise ValueError for vectors of another length, because machine code does not check lengths."""
        for kind, size, vector in zip(('state', 'input', 'parameter'), self._sizes, (x, u, p)):
            shape = vector.shape if isinstance(vector, np.ndarray) else np.shape(vector)
            if shape != (size,):
                raise ValueError(f'{self.name}: expected a {kind} vector of {size}, found shape {shape}')

    @cached_property
    def _sizes(self) -> tuple[int, int, int]:
        return len(self.state_names), len(self.input_names), len(self.parameter_names)


def index_of(names: Sequence[str], name: str) -> int:
    """Return the index of a name. Raises KeyError that lists the valid names."""
    if name not in names:
        raise KeyError(f'unknown name {name!r}; known: {", ".join(names)}{near(name, names)}')
    return list(names).index(name)
