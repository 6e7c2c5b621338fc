"""Linear models with named states, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import near
from dyn_nodes.simulation.linear.frequency import Bode, bode
from dyn_nodes.simulation.linear.modes import Mode, modes
from dyn_nodes.simulation.linear.reachability import Reachability, reachability


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """Operating point of a linear model.

    Attributes:
        x, u, p: state (N,), inputs (m,) and parameters of the nonlinear system.
        rate: (N,) dx/dt there; zero at rest.
        time: s.
    """

    x: Array
    u: Array
    p: Array
    rate: Array
    time: float = 0.0


@dataclass(frozen=True, eq=False)
class LinearModel:
    """dx/dt = A x + B u, y = C x + D u, of deviations from a nominal motion.

    Attributes:
        A, B, C, D: (n, n), (n, m), (l, n), (l, m).
        state_names, input_names, output_names: of the vectors.
        scales: (n,) typical magnitudes of the states, to compare states of different units; default: ones.
        point: nominal state, or None.

    Raises:
        ValueError: matrices whose shapes do not fit the names.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    scales: Array = field(default_factory=lambda: np.zeros(0))
    point: OperatingPoint | None = None

    def __post_init__(self) -> None:
        n, m, count = len(self.state_names), len(self.input_names), len(self.output_names)
        if not len(self.scales):
            object.__setattr__(self, 'scales', np.ones(n))
        shapes = {'A': (n, n), 'B': (n, m), 'C': (count, n), 'D': (count, m), 'scales': (n,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f'{name}: expected shape {shape}, found {getattr(self, name).shape}')

    def __iter__(self) -> Iterator[Array]:
        """Iterate over A, B, C and D, for unpacking."""
        return iter((self.A, self.B, self.C, self.D))

    @cached_property
    def poles(self) -> NDArray[np.complex128]:
        """(n,) eigenvalues of A, 1/s, in ascending magnitude."""
        values = np.linalg.eigvals(self.scaled.A).astype(np.complex128)
        return values[np.lexsort((values.imag, np.round(np.abs(values), 12)))]

    @property
    def stable(self) -> bool:
        """Whether all poles lie in the open left half-plane."""
        return bool((self.poles.real < 0).all())

    @cached_property
    def scaled(self) -> LinearModel:
        """The same model with states in units of their typical magnitudes."""
        if (self.scales == 1.0).all():
            return self
        s = self.scales
        return replace(
            self, A=self.A * s / s[:, None], B=self.B / s[:, None], C=self.C * s, scales=np.ones(len(s)), point=None
        )

    def modes(self) -> list[Mode]:
        """Return the modes, the slowest first; a pair of conjugate poles is one mode."""
        return modes(self.scaled.A, self.state_names)

    def picked(self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> LinearModel:
        """Return the model with selected inputs and outputs. Raises KeyError that lists the valid names."""
        chosen = self.input_names if inputs is None else tuple(inputs)
        columns = [_index(name, self.input_names, 'input') for name in chosen]
        wanted = self.output_names if outputs is None else tuple(outputs)
        rows = [_index(name, self.output_names, 'output') for name in wanted]
        return replace(
            self,
            B=self.B[:, columns],
            C=self.C[rows],
            D=self.D[np.ix_(rows, columns)],
            input_names=chosen,
            output_names=wanted,
        )

    def bode(self, input_name: str, output_name: str, hertz: ArrayLike | None = None) -> Bode:
        """Return gain and phase from an input to an output.

        Args:
            input_name: of the model.
            output_name: of the model.
            hertz: (k,) frequencies above zero; None: 400 from a decade below the slowest pole to one above the fastest.

        Raises:
            KeyError: an unknown name.
        """
        column = _index(input_name, self.input_names, 'input')
        row = _index(output_name, self.output_names, 'output')
        scaled = self.scaled
        return bode(scaled.A, scaled.B[:, column], scaled.C[row], float(scaled.D[row, column]), self.poles, hertz)

    def controllability(self, inputs: Sequence[str] | None = None) -> Reachability:
        """Return the controllability from selected inputs, or from all."""
        picked = self.picked(inputs=inputs).scaled
        return reachability(picked.A, picked.B, self.state_names)

    def observability(self, outputs: Sequence[str] | None = None) -> Reachability:
        """Return the observability from selected outputs, or from all: the controllability of the dual system."""
        picked = self.picked(outputs=outputs).scaled
        return reachability(picked.A.T, picked.C.T, self.state_names)

    def discretized(self, period: float) -> tuple[Array, Array]:
        """Return A_d (n, n) and B_d (n, m) for a sample period, s, with inputs held between samples (zero-order hold).

        Raises:
            ValueError: a period that is not above zero.
        """
        from scipy.linalg import expm

        if not period > 0:
            raise ValueError(f'expected a period above zero, found {period:g} s')
        n, m, scaled = len(self.A), self.B.shape[1], self.scaled
        block = np.zeros((n + m, n + m))
        block[:n, :n], block[:n, n:] = scaled.A * period, scaled.B * period
        whole = expm(block)
        s = self.scales
        return whole[:n, :n] / s * s[:, None], whole[:n, n:] * s[:, None]

    def to_control(self) -> Any:
        """Return the model as `control.StateSpace` of python-control.

        Raises:
            ImportError: python-control is not installed.
        """
        try:
            import control
        except ImportError as error:
            raise ImportError('python-control is not installed: pip install control') from error
        return control.ss(
            self.A, self.B, self.C, self.D,
            states=list(self.state_names), inputs=list(self.input_names), outputs=list(self.output_names),
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Return the model as lists and numbers, for JSON."""
        result: dict[str, Any] = {name: getattr(self, name).tolist() for name in 'ABCD'}
        result |= {name: list(getattr(self, name)) for name in ('state_names', 'input_names', 'output_names')}
        result['poles'] = [[float(pole.real), float(pole.imag)] for pole in self.poles]
        result['modes'] = [mode.as_dict() for mode in self.modes()]
        if self.point is not None:
            result['time'] = self.point.time
        return result

    def arrays(self) -> dict[str, Any]:
        """Return the model as arrays, for a .npz file."""
        result: dict[str, Any] = {name: getattr(self, name) for name in 'ABCD'}
        result |= {name: np.array(getattr(self, name)) for name in ('state_names', 'input_names', 'output_names')}
        result |= {'poles': self.poles, 'scales': self.scales}
        if self.point is not None:
            result |= {name: getattr(self.point, name) for name in ('x', 'u', 'p', 'rate', 'time')}
        return result


def _index(name: str, names: Sequence[str], kind: str) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise KeyError(f'unknown {kind} {name!r}; known: {", ".join(names)}{near(name, names)}') from None
