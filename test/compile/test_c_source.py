"""C source of every operation of a tape, compiled and compared with CasADi."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.compile.c_source import c_source
from dyn_nodes.compile.tape import Tape

UNARY = (
    ca.exp, ca.log, ca.sqrt, ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.sinh, ca.cosh, ca.tanh,
    ca.asinh, ca.atanh, ca.erf, ca.log1p, ca.expm1, ca.floor, ca.ceil, ca.fabs, ca.sign, ca.logic_not,
    lambda x: -x, lambda x: x * x, lambda x: x + x, lambda x: 1 / x, lambda x: x**2.5, lambda x: ca.acosh(1 + x),
)  # fmt: skip
BINARY = (
    ca.fmin, ca.fmax, ca.atan2, ca.hypot, ca.fmod, ca.copysign, ca.power, ca.logic_and, ca.logic_or,
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x < y,
    lambda x, y: x <= y, lambda x, y: x == y, lambda x, y: x != y, lambda x, y: ca.if_else(x < y, ca.sin(x), ca.cos(y)),
)  # fmt: skip


@pytest.mark.skipif(shutil.which('cc') is None, reason='no C compiler')
def test_every_operation_equals_casadi(tmp_path):
    x, y = ca.SX.sym('x', 1), ca.SX.sym('y', 1)
    rows = [operation(x) for operation in UNARY] + [operation(x, y) for operation in BINARY]
    rows += [ca.SX(0.1), ca.SX(-np.inf) * x, ca.SX(0)]
    function = ca.Function('all', [x, y], [ca.densify(ca.vertcat(*rows)), ca.SX.zeros(2)])
    dense = ca.Function('all', [x, y], [ca.densify(row) for row in (function(x, y))])
    source = c_source(Tape.from_function(dense), 'all', ['x', 'y'], ['out', 'nothing'])
    file, library = tmp_path / 'all.c', tmp_path / 'all.so'
    file.write_text(source)
    subprocess.run(
        ['cc', '-std=c99', '-Wall', '-Werror', '-shared', '-fPIC', str(file), '-o', str(library), '-lm'], check=True
    )
    call = ctypes.CDLL(str(library))['all']
    for values in ((0.3, 0.7), (0.7, 0.3), (0.5, 0.5)):
        expected = np.array(dense(*values)[0]).ravel()
        out, nothing = np.full(len(expected), np.nan), np.full(2, np.nan)
        inputs = [np.array([value]) for value in values]
        call(*(ctypes.c_void_p(array.ctypes.data) for array in (*inputs, out, nothing)))
        np.testing.assert_allclose(out, expected, rtol=1e-14)
        assert not nothing.any()
