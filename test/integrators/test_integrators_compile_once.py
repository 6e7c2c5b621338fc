"""Integrators are compiled once for all systems, and without Numba's text handling."""

from __future__ import annotations

import collections

import casadi as ca
import numpy as np
import pytest
from numba.core import event

from dyn_nodes.compile import build_module, integrators
from dyn_nodes.compile.guard import LengthError
from dyn_nodes.compile.integrators import ADAPTIVE, codes_of, modes, run_rk4, run_rk4_watched

KNOTS, TABLE, TIMES = np.zeros(1), np.zeros((1, 1)), np.linspace(0.0, 0.1, 11)


class Compilations(event.Listener):
    """Counts the specializations of every function that Numba compiles."""

    def __init__(self):
        self.names = collections.Counter()

    def on_start(self, event):
        function = event.data['dispatcher'].py_func
        self.names[f'{function.__module__}.{function.__qualname__}'] += 1

    def on_end(self, event):
        pass


@pytest.fixture
def compiled():
    compilations = Compilations()
    with event.install_listener('numba:compile', compilations):
        yield compilations.names


def chain(size):
    """Return kernels of `size` oscillators, whose rates depend on one input and one parameter."""

    def make():
        x, u, p = ca.SX.sym('x', 2 * size), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
        rates = ca.vertcat(x[size:], u - p * x[:size])
        jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(rates, x))))
        return {
            'rhs': ca.Function('rhs', [x, u, p], [rates]),
            'guard': ca.Function('guard', [x], [x[0]]),
            'jacobian': ca.Function('jacobian', [x, u, p], [jacobian]),
            'watch': ca.Function('watch', [x, u, p], [x[:2]]),
            'surfaces': ca.Function('surfaces', [x, u, p], [x[0] + 9.0]),
        }, {}

    return build_module(f'chain of {size}', [str(size)], make)


def run_all(module, size):
    """Run every integrator for 0.1 s."""
    p, codes = np.ones(1), codes_of(module)
    n = 2 * size
    trace, atol = np.zeros((11, n)), np.full(n, 1e-9)
    positive, table = np.array([True]), np.zeros((4, 4))

    def start():
        return np.linspace(0.5, -1.0, n)

    assert run_rk4(codes, start(), 0.0, 0.01, 10, KNOTS, TABLE, p, -9.0, 1, trace)[0] == integrators.DONE
    watched = run_rk4_watched(codes, start(), 0.0, 0.01, 10, KNOTS, TABLE, p, -9.0, 1, trace, positive, table)
    assert watched[0] == integrators.DONE
    for run in ADAPTIVE.values():
        done = run(codes, start(), TIMES, KNOTS, TABLE, p, -9.0, 1e-6, atol, 1e-3, 1e-9, trace)
        assert done[0] == integrators.DONE
    of_modes = np.array([[module.code(kind)] for kind in modes.KINDS])
    modes_of, sets = np.zeros(11, np.int64), np.zeros(11, np.int64)
    code, *_ = modes.run_stretch(
        of_modes,
        0,
        start(),
        0.0,
        0.0,
        0.01,
        0,
        10,
        99.0,
        1,
        modes.NO_GROUND,
        KNOTS,
        TABLE,
        p,
        1,
        trace,
        modes_of,
        sets,
        0,
        positive,
        table,
    )
    assert code == modes.DONE


def test_a_further_system_compiles_no_integrator(compiled, tmp_path, monkeypatch):
    run_all(chain(1), 1)
    assert [name for name in compiled if 'unicode' in name or 'shape_context' in name] == []
    compiled.clear()
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    run_all(chain(2), 2)
    assert not compiled, 'its kernels are C functions'


def test_an_integrator_rejects_a_state_input_or_parameters_of_another_length():
    codes, trace = codes_of(chain(1)), np.zeros((11, 3))
    for lengths, argument, expected, size in (((3, 1, 1), 0, 2, 3), ((2, 2, 1), 1, 1, 2), ((2, 1, 0), 2, 1, 0)):
        x, u, p = (np.ones(length) for length in lengths)
        wanted = f'argument {argument}: expected a vector of {expected} numbers, found {size}'
        with pytest.raises(LengthError, match=wanted):
            run_rk4(codes, x, 0.0, 0.01, 10, KNOTS, u.reshape(1, -1), p, -9.0, 1, trace[:, : len(x)].copy())
        assert (x == 1.0).all()
