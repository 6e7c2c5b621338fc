"""Compiled function of a machine for inner loops: callable from Python and Numba, and available as C source."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, types

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.c_source import c_source
from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.tape import Tape
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import checked_name
from dyn_nodes.multibody.rigid_body import RigidBodyModel

if TYPE_CHECKING:
    from dyn_nodes.compile import CompiledModule
    from dyn_nodes.library.loaded import Loaded

ARGUMENTS = {
    'forward_dynamics': (('q', 'v', 'tau', 'p'), 'a'),
    'inverse_dynamics': (('q', 'v', 'a', 'p'), 'tau'),
    'mass_matrix': (('q', 'p'), 'M'),
    'forward_dynamics_mass_matrix': (('q', 'v', 'tau', 'p'), 'a'),
    'position_rate': (('q', 'v'), 'q_rate'),
    'energy': (('q', 'v', 'p'), 'energy'),
    'momentum': (('q', 'v', 'p'), 'momentum'),
    'center_of_mass': (('q', 'p'), 'com'),
}
"""Names of the inputs and of the output, by kernel."""


class Kernel:
    """Machine code of one rigid-body function of a machine, created by `Machine.kernel`.

    `f(q, v, tau, p, a)` reads its inputs and fills its output, in Python and inside `numba.njit`: contiguous vectors of
    float64. Vectors of another length raise ValueError. `p` is `f.parameters`.

    Attributes:
        name: of the function.
        inputs: names of its inputs, in order.
        output: name of its output, which comes after them.
        sizes: lengths of the inputs and of the output, by name; matrices are in column-major order.
        parameters: (4,) gravity in the world, m/s2, and payload, kg, of the machine YAML.
        address: address of a C function of pointer and length of each argument. It returns 0, or another number for a
            wrong length. The address is valid for the lifetime of this object.
    """

    def __init__(self, module: CompiledModule, name: str, parameters: Array) -> None:
        self._module, self.name, self.parameters = module, name, parameters
        self.inputs, self.output = ARGUMENTS[name]
        self._tape = Tape.load(module.directory / f'{name}.npz')
        lengths = [*self._tape.inputs, *self._tape.outputs]
        self.sizes = dict(zip((*self.inputs, self.output), lengths))
        self.address = module.code(name)
        self._call = getattr(module, name)

    def __repr__(self) -> str:
        arguments = ', '.join(f'{name}[{size}]' for name, size in self.sizes.items())
        return f'<kernel {self.name}({arguments})>'

    def __call__(self, *vectors: Array) -> None:
        """Fill the output from the inputs. Raises ValueError for another length, TypeError for other arguments."""
        self._call(*vectors)

    def result(self) -> Array:
        """Return an array for the output, (n,)."""
        return np.empty(self.sizes[self.output])

    @cached_property
    def jitted(self) -> Any:
        """Function for Numba; functions compiled by Numba may also call this object directly."""
        return _jitted(self.name, self.address, len(self.sizes))

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.jitted)

    def c_source(self) -> str:
        """Return C99 source of the function: `void name(const double *q, ..., double *a)`."""
        return c_source(self._tape, self.name, self.inputs, [self.output])


def _jitted(name: str, address: int, count: int) -> Any:
    """Return a Numba function of `count` vectors that calls machine code at a constant address."""
    letters = ', '.join(f'x{k}' for k in range(count))
    text = (
        f'def kernel({letters}):\n'
        f'    if call_code(address, {letters}) != 0:\n'
        f'        raise ValueError("kernel {name}: expected vectors of other lengths")\n'
    )
    inside = {'call_code': call_code, 'address': address}
    exec(text, inside)
    return njit(inside['kernel'])


@lru_cache(maxsize=32)
def _model(machine: Any) -> RigidBodyModel:
    with shown('kernels'):
        return RigidBodyModel(machine)


def kernel_of(machine: Loaded, name: str) -> Kernel:
    """Return a kernel of a machine; errors as for `Machine.kernel`."""
    checked_name(machine.name, 'kernel', name, tuple(ARGUMENTS))
    model = _model(machine.data)
    if not (model.kernels.directory / f'{name}.npz').is_file():  # removed from the cache since, as the least used
        _model.cache_clear()
        model = _model(machine.data)
    return Kernel(model.kernels, name, model.parameters(gravity=machine.gravity_vector()))
