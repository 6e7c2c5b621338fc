"""Names, parameters, inputs and runs of a System: valid arguments, and errors for invalid ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from log_loader_tasks import P3D, STILL, WHEELS, run

from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.simulation import Inputs, Settings, initial_state
from dyn_nodes.simulation.names import UnknownNameError


def test_states_inputs_and_parameters_have_the_expected_names(system, effort_system, audited):
    assert system.state_names[:10] == (
        *(f'base_{name}' for name in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')),
        *('swing_joint', 'boom_joint', 'stick_joint'),
    )
    assert 'boom/head_pressure' in system.state_names
    assert 'swing/pressure_b' in system.state_names
    assert 'front_left/bristle_lateral' in system.state_names
    assert system.input_names == ('boom/voltage', 'stick/voltage', 'swing/voltage')
    assert effort_system.input_names == ('swing_joint/effort', 'boom_joint/effort', 'stick_joint/effort')
    assert not any('pressure' in name for name in effort_system.state_names)
    assert system.state_names[-2:] == effort_system.state_names[-2:] == ('work', 'heat')
    assert audited.state_names[:-3] == system.state_names
    assert audited.state_names[-3:] == ('work_actuators', 'work_suspension', 'work_friction')
    assert len(set(system.output_names)) == len(system.output_names)


@pytest.mark.parametrize('kind', ['state', 'input', 'parameter', 'output'])
def test_an_unknown_name_raises_an_error_with_the_valid_names(system, kind):
    with pytest.raises(UnknownNameError) as caught:
        system.index(kind, 'bucket')
    assert str(caught.value).startswith(f"unknown {kind} 'bucket'; known: ")
    assert getattr(system, f'{kind}_names')[0] in str(caught.value)
    assert isinstance(caught.value, KeyError)


def test_unknown_parameters_and_outputs_are_named(system):
    with pytest.raises(UnknownNameError, match=r"unknown parameter 'payload'; known: .*payload_mass"):
        system.parameters({'payload': 5.0})
    result = run(system, STILL, 0.01)
    with pytest.raises(UnknownNameError, match="unknown output 'bucket'"):
        result.output('bucket')
    with pytest.raises(UnknownNameError, match="unknown state 'bucket'"):
        result.state('bucket')


def test_default_parameters_come_from_the_machine(system, machine):
    p = dict(zip(system.parameter_names, system.parameters()))
    assert (p['gravity_x'], p['gravity_y'], p['gravity_z']) == (0.0, 0.0, -machine.gravity)
    assert p['payload_mass'] == machine.payload.mass
    assert p.pop('joint_stop_scale') == 0.0
    assert {p[name] for name in p if name.endswith('_scale')} == {1.0}
    assert {p[f'{wheel}/ground_height'] for wheel in WHEELS} == {0.0}
    changed = system.parameters({'payload_mass': 1.0})
    assert changed[system.index('parameter', 'payload_mass')] == 1.0
    assert system.parameters()[system.index('parameter', 'payload_mass')] == machine.payload.mass


def test_parameters_act_at_run_time(system):
    p, light = system.parameters(), system.parameters({'payload_mass': 0.0})
    x = initial_state(system, p)
    at = system.index('state', 'boom_joint_rate')
    assert np.abs(system.rhs(x, np.zeros(3), p)[at]) < 1e-9
    assert system.rhs(x, np.zeros(3), light)[at] > 0.5  # the load dropped: trapped oil throws the boom up


@pytest.mark.parametrize(
    ('knots', 'values', 'words'),
    [
        ([], {}, 'at least one knot'),
        ([0.0, 2.0, 1.0], {}, 'rising times'),
        ([[0.0, 1.0]], {}, 'at least one knot'),
        ([0.0, np.nan], {}, 'rising times'),
        ([0.0, np.inf], {}, 'finite knots'),
        ([0.0, 1.0], {'boom/voltage': [1.0]}, r"input 'boom/voltage': expected 2 values, found shape \(1,\)"),
        ([0.0, 1.0], {'boom/voltage': [1.0, np.nan]}, "input 'boom/voltage': expected finite values, found nan"),
    ],
)
def test_faulty_inputs_are_rejected(knots, values, words):
    with pytest.raises(ValueError, match=words):
        Inputs(knots, values)


def test_unknown_input_is_named(system):
    with pytest.raises(KeyError, match="unknown input 'bucket/voltage'; known: boom/voltage"):
        run(system, Inputs.constant({'bucket/voltage': 1.0}), 0.01)


def test_inputs_are_linear_between_knots_and_zero_by_default():
    inputs = Inputs([1.0, 3.0], {'b': [2.0, 4.0]})
    np.testing.assert_allclose(inputs.at([0.0, 1.0, 2.0, 9.0], ['a', 'b']), [[0, 2], [0, 2], [0, 3], [0, 4]])
    assert Inputs.constant({'a': 1.5}).at([0.0, 7.0], ['a']).tolist() == [[1.5], [1.5]]


@pytest.mark.parametrize('times', [[], [0.0, 1.0, 0.5], [[0.0, 1.0]], [0.0, 0.0, 1.0]])
def test_times_must_rise(system, times):
    with pytest.raises(ValueError, match='at least one time, and rising times'):
        system.run(initial_state(system), np.array(times), STILL)


def test_fixed_steps_end_at_every_sample_however_these_are_spaced(system):
    x, volts = initial_state(system), Inputs([0.0, 0.01, 0.02], {'boom/voltage': [0.0, 5.0, 0.0]})
    settings = Settings(step=1e-3)
    even = system.run(x, np.linspace(0.0, 0.03, 4), volts, settings=settings)
    multiples = system.run(x, [0.0, 0.01, 0.03], volts, settings=settings)
    np.testing.assert_allclose(multiples.states, even.states[[0, 1, 3]], rtol=1e-9, atol=1e-12)
    between = system.run(x, [0.0, 0.0015, 0.01, 0.0205, 0.03], volts, settings=settings)
    assert between.status == 'done'
    work = system.index('state', 'work')  # and heat after it: energies of oil are small differences
    np.testing.assert_allclose(between.states[[2, 4], :work], even.states[[1, 3], :work], rtol=1e-5, atol=1e-6)


def test_no_step_of_a_tree_includes_both_sides_of_a_jump(system):
    """A run over a jump beside the grid equals the run up to it followed by the run from it."""
    x, jump, settings = initial_state(system), 0.00437, Settings(step=1e-3)
    volts = Inputs([0.0, jump, jump, 1.0], {'boom/voltage': [0.0, 0.0, 5.0, 5.0]})
    whole = system.run(x, [0.0, 0.02], volts, settings=settings)
    before = system.run(x, [0.0, jump], STILL, settings=settings)
    after = system.run(before.last, [jump, 0.02], Inputs.constant({'boom/voltage': 5.0}), settings=settings)
    np.testing.assert_allclose(whole.last, after.last, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(whole.u[:, list(system.input_names).index('boom/voltage')], [0.0, 5.0])


def test_a_run_of_a_tree_has_its_motion_by_name_and_no_constraints(system):
    run = system.run(initial_state(system), [0.0, 0.01], STILL)
    np.testing.assert_array_equal(run.position('boom_joint'), run.state('boom_joint'))
    np.testing.assert_array_equal(run.velocity('boom_joint'), run.state('boom_joint_rate'))
    np.testing.assert_array_equal(run.acceleration('boom_joint'), run.output('boom_joint_acceleration'))
    assert run.multipliers.shape == (2, 0)
    with pytest.raises(ValueError, match='log_loader: expected a system with constraints'):
        run.force('pin')
    state = system.state(run.q[1], run.v[1])
    np.testing.assert_array_equal(state[: system.nq + system.nv], run.states[1, : system.nq + system.nv])


def test_vectors_of_another_length_never_reach_machine_code(system):
    x, u, p = initial_state(system), np.zeros(3), system.parameters()
    times = np.array([0.0, 0.01])
    for method in (system.rhs, system.outputs, system.jacobians):
        with pytest.raises(ValueError, match=r'expected a state vector of \d+, found shape'):
            method(x[:-1], u, p)
        with pytest.raises(ValueError, match='expected a input vector of 3'):
            method(x, np.zeros(2), p)
        with pytest.raises(ValueError, match='expected a parameter vector'):
            method(x, u, p[1:])
    with pytest.raises(ValueError, match='expected a state vector'):
        system.run(x[1:], times, STILL)
    with pytest.raises(ValueError, match='expected a parameter vector'):
        system.run(x, times, STILL, p[1:])


def test_run_starts_at_its_first_state_and_is_repeatable(system):
    p = system.parameters()
    x = initial_state(system, p)
    kept = x.copy()
    times = np.linspace(5.0, 6.0, 101)  # runs may start anywhere
    one, two = (system.run(x, times, P3D, p) for _ in range(2))
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(one.states[0], kept)
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.last, one.states[-1])
    assert one.end_time == pytest.approx(6.0)


def test_a_run_in_parts_equals_the_run_in_one(system):
    p = system.parameters()
    x = initial_state(system, p)
    whole = system.run(x, np.linspace(0.0, 7.0, 701), P3D, p)
    first = system.run(x, np.linspace(0.0, 6.0, 601), P3D, p)
    second = system.run(first.last, np.linspace(6.0, 7.0, 101), P3D, p)
    np.testing.assert_allclose(second.last[:10], whole.last[:10], atol=1e-10)


def test_outputs_over_time_equal_the_outputs_of_every_state(system):
    result = run(system, P3D, 5.5)
    sample = 540
    u = result.inputs.at(result.times[[sample]], system.input_names)[0]
    y = system.outputs(result.states[sample], u, result.parameters)
    assert result.output('tilt')[sample] == y[system.index('output', 'tilt')]
    np.testing.assert_array_equal(
        result.outputs('center_of_mass')[sample],
        [y[system.index('output', f'center_of_mass_{axis}')] for axis in 'xyz'],
    )


def test_the_fingerprint_depends_only_on_the_dynamics_of_a_machine(machine):
    fingerprint = machine_fingerprint(machine)
    assert machine_fingerprint(replace(machine, urdf='', sources=(), assumed={})) == fingerprint
    wheel = replace(machine.wheels[0], stiffness=machine.wheels[0].stiffness * (1 + 1e-15))
    assert machine_fingerprint(replace(machine, wheels=(wheel, *machine.wheels[1:]))) != fingerprint
    joint = replace(machine.joints[1], damping=1.0)
    assert machine_fingerprint(replace(machine, joints=(machine.joints[0], joint, *machine.joints[2:]))) != fingerprint


def test_second_system_of_a_machine_traces_nothing(machine, system, monkeypatch):
    from dyn_nodes.simulation.system import System
    from dyn_nodes.simulation.tree_dynamics import TreeDynamics

    monkeypatch.setattr(TreeDynamics, '_functions', lambda self: pytest.fail('traced again'))
    again = System(machine)
    p = again.parameters()
    x = initial_state(system, p)
    np.testing.assert_array_equal(again.rhs(x, np.zeros(3), p), system.rhs(x, np.zeros(3), p))
