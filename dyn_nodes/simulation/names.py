"""Names and places of the states, inputs, parameters and outputs of a system."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal['state', 'input', 'parameter', 'output']


class UnknownNameError(KeyError):
    """A state, input, parameter or output name that a system does not have."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f'unknown {kind} {name!r}; known: {", ".join(known)}')

    def __str__(self) -> str:
        return str(self.args[0])


class NamedVectors:
    """A system whose vectors x, u, p and y have names."""

    name: str
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    output_names: tuple[str, ...]

    @cached_property
    def _found(self) -> dict[str, dict[str, int]]:
        return {}

    def index(self, kind: Kind, name: str) -> int:
        """Return the place of a name. Raises UnknownNameError."""
        if kind not in self._found:  # names of outputs may have to be traced
            self._found[kind] = {own: k for k, own in enumerate(getattr(self, f'{kind}_names'))}
        try:
            return self._found[kind][name]
        except KeyError:
            raise UnknownNameError(kind, name, tuple(self._found[kind])) from None

    def check(self, x: Array, u: Array, p: Array) -> None:
        """Demand vectors of this system: machine code reads as many numbers as it needs. Raises ValueError."""
        for kind, names, vector in (
            ('state', self.state_names, x),
            ('input', self.input_names, u),
            ('parameter', self.parameter_names, p),
        ):
            shape = np.shape(vector)
            if shape != (len(names),):
                raise ValueError(f'{self.name}: expected a {kind} vector of {len(names)}, found shape {shape}')
