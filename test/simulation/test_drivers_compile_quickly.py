"""A first start compiles the drivers once each, and nothing of Numba's text handling with them."""

from __future__ import annotations

import collections

import casadi as ca
import numpy as np
import pytest
from numba.core import event

from dyn_nodes.compile import build_module
from dyn_nodes.simulation import drivers, hybrid_drivers


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
def compiled(tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    found = Compilations()
    with event.install_listener('numba:compile', found):
        yield found.names


def oscillator():
    x, u, p = ca.SX.sym('x', 2), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rates = ca.vertcat(x[1], u - p * x[0])
    jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(rates, x))))
    return {
        'rhs': ca.Function('rhs', [x, u, p], [rates]),
        'guard': ca.Function('guard', [x], [x[0]]),
        'jacobian': ca.Function('jacobian', [x, u, p], [jacobian]),
        'watch': ca.Function('watch', [x, u, p], [x]),
        'surfaces': ca.Function('surfaces', [x, u, p], [x[0] + 9.0]),
    }, {}


ONE_MODE = """

@njit(cache=True)
def rhs_of(mode, x, u, p, k):
    rhs_at(x, u, p, k)


@njit(cache=True)
def surfaces_of(mode, x, u, p, values):
    surfaces_at(x, u, p, values)


@njit(cache=True)
def watch_of(mode, x, u, p, values):
    watch_at(x, u, p, values)
"""


def test_each_driver_is_compiled_once_and_no_text_with_it(compiled):
    texts = [drivers.CONSTANTS, *drivers.COMMON, drivers.error_norm, drivers.NO_SWITCHES, ONE_MODE]
    steps = [drivers.run_rk4, drivers.single_step, drivers.watch_step, drivers.run_rk4_watched]
    adaptive = [drivers.run_dopri5, drivers.factorize, drivers.substitute, drivers.run_rodas3]
    modes = [hybrid_drivers.rk4_step, hybrid_drivers.lowest, hybrid_drivers.watch_part, hybrid_drivers.run_stretch]
    module = build_module('drivers', [], oscillator, drivers=[*texts, *steps, *adaptive, *modes])
    knots, table, p = np.zeros(1), np.zeros((1, 1)), np.ones(1)
    trace, times, atol = np.zeros((11, 2)), np.linspace(0.0, 0.1, 11), np.full(2, 1e-9)
    positive, found = np.array([True]), np.zeros((4, 4))

    def start():
        return np.array([0.5, -1.0])

    assert module.run_rk4(start(), 0.0, 0.01, 10, knots, table, p, -9.0, 1, trace)[0] == drivers.DONE
    watched = module.run_rk4_watched(start(), 0.0, 0.01, 10, knots, table, p, -9.0, 1, trace, positive, found)
    assert watched[0] == drivers.DONE
    for run in (module.run_dopri5, module.run_rodas3):
        assert run(start(), times, knots, table, p, -9.0, 1e-6, atol, 1e-3, 1e-9, trace)[0] == drivers.DONE
    modes_of, sets = np.zeros(11, np.int64), np.zeros(11, np.int64)
    code, *_ = module.run_stretch(
        0, start(), 0.0, 0.0, 0.01, 0, 10, 99.0, 1, knots, table, p, 1, trace, modes_of, sets, 0, positive, found
    )
    assert code == hybrid_drivers.DONE
    assert [name for name in compiled if 'unicode' in name or 'shape_context' in name] == []
    own = {name: count for name, count in compiled.items() if name.startswith('dyn_nodes_generated')}
    assert len(own) > 15
    assert {name: count for name, count in own.items() if count > 1} == {}
