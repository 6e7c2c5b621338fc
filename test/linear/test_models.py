"""Poles, modes, Bode, controllability and discretization of linear models with known results."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dyn_nodes.simulation.linear import LinearModel
from dyn_nodes.simulation.linear.reachability import staircase


def model_of(A, B, C=None, states=None, scales=None):
    A, B = np.array(A, float), np.array(B, float)
    C = np.eye(len(A))[:1] if C is None else np.array(C, float)
    names = tuple(states or (f'x{k}' for k in range(len(A))))
    inputs, outputs = (tuple(f'{stem}{k}' for k in range(size)) for stem, size in (('u', B.shape[1]), ('y', len(C))))
    D = np.zeros((len(C), B.shape[1]))
    return LinearModel(A, B, C, D, names, inputs, outputs, np.ones(len(A)) if scales is None else np.array(scales))


def oscillator(frequency=2.0, damping=0.1):
    omega = 2 * np.pi * frequency
    return model_of([[0, 1], [-(omega**2), -2 * damping * omega]], [[0], [1]], states=['q', 'q_rate'])


def test_an_oscillator_has_one_mode_with_its_frequency_and_damping():
    model = oscillator()
    (mode,) = model.modes()
    assert (mode.frequency, mode.damping_ratio, mode.count) == pytest.approx((2.0, 0.1, 2))
    assert mode.oscillates
    assert model.stable
    assert mode.participation == pytest.approx([0.5, 0.5], abs=0.01)
    assert np.abs(mode.shape[0] / mode.shape[1]) == pytest.approx(1 / (4 * np.pi))
    assert mode.time_constant == pytest.approx(1 / (0.1 * 4 * np.pi))


def test_a_real_pole_is_a_mode_with_a_time_constant():
    slow, fast = model_of([[-0.5, 0], [0, -4]], [[1], [1]]).modes()
    assert (slow.time_constant, fast.time_constant) == (2.0, 0.25)
    assert slow.main_states(1) == [('x0', 1.0)]
    assert (slow.frequency, slow.damping_ratio, slow.count) == (0.0, 1.0, 1)


def test_an_undamped_oscillation_neither_falls_nor_grows_by_its_rounding():
    for rest in (1e-14, -1e-14):
        (mode,) = model_of([[rest, 4.0], [-4.0, rest]], [[0], [1]]).modes()
        assert mode.time_constant == float('inf')
        assert not mode.grows
        assert mode.as_dict()['time_constant_s'] is None
    (mode,) = model_of([[1e-6, 4.0], [-4.0, 1e-6]], [[0], [1]]).modes()
    assert mode.grows
    assert mode.time_constant == pytest.approx(-1e6)


def test_poles_at_the_origin_are_one_mode_with_the_states_that_drift():
    """Two double integrators, one after a lag: eigenvectors of a defective group have no meaning."""
    A = np.zeros((5, 5))
    A[0, 1] = A[2, 3] = 1.0
    A[3, 4], A[4, 4] = 2.0, -3.0
    modes = model_of(A, np.eye(5)[:, [1, 4]]).modes()
    assert [mode.count for mode in modes] == [4, 1]
    assert modes[0].pole == 0.0
    assert {name for name, _ in modes[0].main_states(4)} == {'x0', 'x1', 'x2', 'x3'}
    assert modes[1].pole == -3.0


def test_shares_do_not_depend_on_units():
    model = oscillator()
    unit = 1e6
    S = np.diag([1.0, unit])
    other = model_of(S @ model.A @ np.linalg.inv(S), S @ model.B, scales=[1.0, unit])
    assert other.modes()[0].participation == pytest.approx(model.modes()[0].participation)
    assert np.abs(other.modes()[0].shape) == pytest.approx(np.abs(model.modes()[0].shape))


def test_bode_of_an_oscillator():
    model = oscillator()
    response = model.bode('u0', 'y0', [1e-3, 2.0, 200.0])
    omega = 4 * np.pi
    assert response.gain == pytest.approx([1 / omega**2, 1 / (2 * 0.1 * omega**2), 1 / (400 * np.pi) ** 2], rel=1e-3)
    assert response.phase == pytest.approx([0, -np.pi / 2, -np.pi], abs=3e-3)
    assert response.decibels[0] == pytest.approx(20 * np.log10(response.gain[0]))
    wide = model.bode('u0', 'y0')
    assert wide.hertz[[0, -1]] == pytest.approx([0.2, 20.0])
    with pytest.raises(KeyError, match="unknown input 'v'; known: u0"):
        model.bode('v', 'y0')
    with pytest.raises(ValueError, match='frequencies above zero'):
        model.bode('u0', 'y0', [0.0])


def test_the_uncontrollable_part_is_reported_with_its_poles():
    A = [[0, 1, 0, 0], [-4, -1, 0, 0], [0, 0, -3, 0], [0, 0, 1, -7]]
    reachable = model_of(A, [[0], [1], [0], [0]]).controllability()
    assert (reachable.rank, reachable.order, reachable.complete) == (2, 4, False)
    assert sorted(reachable.unreached.real) == pytest.approx([-7, -3])
    assert set(reachable.rest) == {'x2', 'x3'}
    lost = [distance for pole, distance in reachable.distances if pole.real < -2]
    assert max(lost) < 1e-12 < min(distance for pole, distance in reachable.distances if pole.real > -2)


def test_the_unobservable_part_is_reported():
    A = [[0, 1, 0], [-4, -1, 0], [0, 0, -3]]
    observable = model_of(A, [[0], [1], [1]], [[1, 0, 0], [0, 0, 1]]).observability(['y0'])
    assert (observable.rank, observable.rest) == (2, ('x2',))
    assert model_of(A, [[0], [1], [1]], [[1, 0, 0], [0, 0, 1]]).observability().complete


def test_a_chain_of_stiff_lags_is_controllable_though_its_powers_are_not_of_full_rank():
    rates = -np.geomspace(1e-2, 1e5, 12)
    A = np.diag(rates) + np.diag(0.5 * np.abs(rates[1:]), -1)
    B = np.eye(12)[:, :1]
    powers = np.hstack([np.linalg.matrix_power(A, k) @ B for k in range(12)])
    assert np.linalg.matrix_rank(powers) < 12
    assert model_of(A, B).controllability().rank == 12


def test_the_staircase_is_a_similarity():
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(6, 6)), rng.normal(size=(6, 1))
    A[:4, 4:] = 0.0
    B[:4] = 0.0
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    A, B = turn @ A @ turn.T, turn @ B
    rank, turned, Q = staircase(A, B, 1e-12)
    assert rank == 6 or np.abs(turned[rank:, :rank]).max() < 1e-12
    assert pytest.approx(turned, abs=1e-12) == Q.T @ A @ Q
    assert pytest.approx(np.eye(6), abs=1e-12) == Q.T @ Q


def test_samples_hold_the_inputs_between_them():
    model = model_of([[0, 1], [0, 0]], [[0], [1]], scales=[1.0, 100.0])
    A, B = model.discretized(0.2)
    assert pytest.approx(np.array([[1, 0.2], [0, 1]])) == A
    assert pytest.approx(np.array([[0.02], [0.2]])) == B
    with pytest.raises(ValueError, match='period above zero'):
        model.discretized(0.0)


def test_picked_inputs_and_outputs_and_unknown_names():
    model = model_of(np.diag([-1.0, -2.0]), np.eye(2), np.eye(2))
    picked = model.picked(['u1'], ['y0'])
    assert (picked.B.tolist(), picked.C.tolist(), picked.D.tolist()) == ([[0], [1]], [[1, 0]], [[0]])
    assert (picked.input_names, picked.output_names) == (('u1',), ('y0',))
    with pytest.raises(KeyError, match="unknown output 'y7'; known: y0, y1"):
        model.picked(outputs=['y7'])
    with pytest.raises(ValueError, match=r'B: expected shape \(2, 1\), found \(2, 2\)'):
        LinearModel(model.A, model.B, model.C, model.D[:, :1], model.state_names, ('u0',), model.output_names)


def test_to_control_returns_the_model_or_reports_that_python_control_is_missing(monkeypatch):
    class Control:
        @staticmethod
        def ss(A, B, C, D, states, inputs, outputs):
            return A, states, inputs, outputs

    monkeypatch.setitem(sys.modules, 'control', Control)
    A, states, inputs, outputs = oscillator().to_control()
    assert (A.shape, states, inputs, outputs) == ((2, 2), ['q', 'q_rate'], ['u0'], ['y0'])
    monkeypatch.setitem(sys.modules, 'control', None)
    with pytest.raises(ImportError, match='python-control is not installed: pip install control'):
        oscillator().to_control()


def test_the_model_as_lists_and_as_arrays():
    model = oscillator()
    values = model.as_dict()
    assert values['A'] == model.A.tolist()
    assert values['modes'][0]['frequency_hz'] == pytest.approx(2.0)
    assert values['modes'][0]['shape'].keys() == {'q', 'q_rate'}
    arrays = model.arrays()
    assert arrays['state_names'].tolist() == ['q', 'q_rate']
    assert arrays['poles'] == pytest.approx(model.poles)
