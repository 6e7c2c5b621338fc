"""The YAML of a sweep: its values are applied; each error has file, line and key."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_sweep import SMALL, written

from dyn_nodes.analysis.sweeps.design import Levels, Normal, Span
from dyn_nodes.analysis.sweeps.factors import Factor
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.common.share import share_directory
from dyn_nodes.model.problems import MachineError
from dyn_nodes.simulation import System

CASES = [
    # a line by its key, its error: key, expected, actual
    ('machine', 'machine: log_loadr', 'machine', 'a name of urdf/', 'log_loadr'),
    ('machine', 'machine: ./no.urdf', 'machine', 'a file', 'none'),
    ('duration', 'duration: -1', 'duration', '> 0', '-1'),
    ('sample_period', 'sample_period: 1e-7', 'sample_period', 'at most 1000000 samples of a run of 0.2 s', '2e+06'),
    ('duration', 'duraton: 1', 'duraton', 'a key', "did you mean 'duration'"),
    ('step', 'step: 0.05', 'step', 'up to the sample period', '0.05'),
    ('design', 'design: {kind: sobl, runs: 4}', 'design.kind', 'sobol', 'sobl'),
    ('design', 'design: {kind: sobol}', 'design.runs', 'number of runs', 'nothing'),
    ('design', 'design: {kind: sobol, runs: 2.5}', 'design.runs', 'whole number', '2.5'),
    ('design', 'design: {kind: sobol, runs: 1e9}', 'design.runs', 'up to 5000000', '1e+09'),
    ('design', 'design: {kind: sobol, runs: 4, seed: 0.5}', 'design.seed', 'whole number', '0.5'),
    ('design', 'design: {kind: grid, runs: 4}', 'design.runs', 'no number of runs', '4'),
    ('payload', '  payload: {parameter: payload_mass, from: -5, to: 1}', 'factors.payload', 'from 0', '-'),
    ('boom', '  boom: {joint: boom_joint, values: [3.0]}', 'factors.boom', 'within the limits', '3'),
    (
        'payload',
        '  payload: {parameter: payload_mas, from: 0, to: 1}',
        'factors.payload',
        'a parameter',
        'payload_mass',
    ),
    ('payload', '  payload: {from: 0, to: 1}', 'factors.payload', 'one of parameter', 'none'),
    (
        'payload',
        '  payload: {parameter: a, joint: b, from: 0, to: 1}',
        'factors.payload',
        'one of',
        'parameter and joint',
    ),
    ('payload', '  payload: {parameter: payload_mass, from: 2, to: 1}', 'factors.payload.to', 'above 2', '1'),
    ('payload', '  payload: {parameter: payload_mass, from: 2}', 'factors.payload', 'from and to', 'from'),
    ('payload', '  payload: {parameter: payload_mass, values: [1, 1]}', 'factors.payload.values', 'different', 'twice'),
    (
        'payload',
        '  payload: {parameter: payload_mass, values: [1], to: 2}',
        'factors.payload',
        'values alone',
        'to, too',
    ),
    ('payload', '  payload: {parameter: payload_mass, mean: 1}', 'factors.payload', 'mean and deviation', 'mean'),
    (
        'payload',
        '  payload: {parameter: payload_mass, from: 0, to: 1, spacing: logarithmic}',
        'factors.payload.from',
        'above 0',
        '0',
    ),
    (
        'payload',
        '  payload: {machine: wheels.front_left.stiffness, from: 1e6, to: 2e6}',
        'factors.payload',
        'each',
        'range',
    ),
    (
        'payload',
        '  payload: {machine: wheels.front_left.sti, values: [1e6]}',
        'factors.payload',
        'a machine with',
        'sti',
    ),
    ('payload', '  payload: {volts: reach/boom, values: [1]}', 'factors.payload', 'a task', 'none'),
    ('payload', '  payload: {pace: task, values: [1]}', 'factors.payload', 'a task', 'none'),
    ('payload', '  payload: {pace: arm, values: [1]}', 'factors.payload.pace', 'task', 'arm'),
    ('slope', '  slope: {machine: slope.pitch, from: -6, to: 6}', 'factors.slope', 'an angle in rad from -1.5', '-5.'),
    ('swing', '  swing: {lever: swng, values: [1]}', 'factors.swing', 'an actuator', "did you mean 'swing'"),
    ('boom', '  boom: {joint: bom_joint, values: [1]}', 'factors.boom', 'a movable joint', 'boom_joint'),
    ('boom', '  overturned: {joint: boom_joint, values: [1]}', 'factors.overturned', 'a unique name', 'an outcome'),
    ('boom', '  run: {joint: boom_joint, values: [1]}', 'factors.run', 'a unique name', 'every sweep'),
    ('levers', 'levers: {bom: 1}', 'levers.bom', 'levers', "did you mean 'boom'"),
    ('outcomes', 'outcomes: [overturnd]', 'outcomes[0]', 'one of overturned', "did you mean 'overturned'"),
    ('measures', 'measures: [zmpp]', 'measures[0]', 'one of', "did you mean 'zmp'"),
    ('measures', 'measures: [conservative]', 'measures', 'of this machine', 'needs 5 wheels'),
    (
        'swing_angle',
        '  swing_angle: last(swing_jont)',
        'expressions.swing_angle',
        'a state or an output',
        'swing_joint',
    ),
    ('swing_angle', '  swing_angle: swing_joint', 'expressions.swing_angle', 'a number of the run', 'a signal'),
    ('swing_angle', '  swing_angle: exec("x")', 'expressions.swing_angle', 'one of min', 'exec'),
    ('swing_angle', '  swing_angle: [1]', 'expressions.swing_angle', 'an expression', 'a list'),
    ('swing_angle', '  payload: last(swing_joint)', 'expressions.payload', 'a unique name', 'factors'),
]


@pytest.mark.parametrize(
    ('line', 'text', 'key', 'expected', 'actual'), CASES, ids=[f'{case[2]} {case[4]}' for case in CASES]
)
def test_an_error_has_file_line_and_key(tmp_path, line, text, key, expected, actual):
    path = written(tmp_path, **{line: text})
    with pytest.raises(MachineError) as error:
        load_sweep(path)
    number = path.read_text().splitlines().index(text) + 1
    matching = [problem for problem in error.value.problems if problem.where.startswith(key)]
    assert matching, error.value
    assert matching[0].file == str(path)
    assert matching[0].line in (number, *([number + 1] if line == 'machine' else []))
    assert expected in matching[0].expected
    assert actual in matching[0].found


def test_a_grid_names_the_factor_without_levels(tmp_path):
    path = written(tmp_path, design='design: {kind: grid}')
    with pytest.raises(MachineError, match=r'sweep.yaml:9: factors.payload: expected .*count.* found no levels'):
        load_sweep(path)


@pytest.mark.parametrize(
    'text', ['', '[1]', 'a: [', 'name: x\n', 'machine: log_loader\nduration: 1\nfactors: {}\n', 'machine: log_loader\n']
)
def test_a_file_that_is_no_sweep_is_a_fault(tmp_path, text):
    path = tmp_path / 'sweep.yaml'
    path.write_text(text)
    with pytest.raises(MachineError, match=r'sweep.yaml.*expected'):
        load_sweep(path)


def test_the_values_of_a_file_are_applied(tmp_path):
    sweep = load_sweep(written(tmp_path))
    assert sweep.factors == (
        Factor('payload', 'parameter', 'payload_mass'),
        Factor('slope', 'slope', 'pitch'),
        Factor('swing', 'lever', 'swing'),
        Factor('boom', 'joint', 'boom_joint'),
    )
    assert sweep.distributions == (
        Span(0.0, 6000.0),
        Span(-math.radians(6), math.radians(6)),
        Levels((-4.0, 0.0, 4.0)),
        Normal(0.6, 0.1, 0.3, 0.9),
    )
    assert (sweep.design.kind, sweep.design.runs, sweep.design.seed) == ('latin_hypercube', 40, 7)
    assert dict(sweep.levers) == {'boom': -6.0}
    assert (sweep.duration, sweep.step, sweep.sample_period) == (0.2, 0.002, 0.02)
    assert sweep.part_size * sweep.parts >= 40
    assert [number for part in range(sweep.parts) for number in sweep.runs_of(part)] == list(range(40))


def test_keys_of_the_machine_that_are_no_parameters_make_a_machine_for_each_value(tmp_path):
    text = '  payload: {machine: defaults.wheel.stiffness, values: [1.5e6, 1.75e6]}'
    sweep = load_sweep(written(tmp_path, payload=text))
    assert [machine.wheels[0].stiffness for machine in sweep.machines.values()] == [1.5e6, 1.75e6]
    assert sweep.factors[0].structural
    small, rows = sweep.for_part(1)
    assert set(small.machines) == {(value,) for value in rows[:, 0].tolist()}


@pytest.mark.parametrize('change', ['duration: 0.3', 'step: 0.001', 'measures: [zmp]', 'levers: {boom: -5.0}'])
def test_another_sweep_has_another_identity(tmp_path, change):
    one, same = load_sweep(written(tmp_path)), load_sweep(written(tmp_path))
    other = load_sweep(written(tmp_path, **{change.split(':')[0]: change}))
    assert one.identity == same.identity != other.identity


@pytest.mark.parametrize(
    'path', sorted((share_directory() / 'config' / 'sweeps').glob('*.yaml')), ids=lambda path: path.stem
)
def test_sweeps_of_this_package_are_valid(path):
    sweep = load_sweep(path)
    assert sweep.design.runs == len(sweep.values) > 1
    assert np.isfinite(sweep.values).all()
    assert set(sweep.machine().initial.joint_positions) <= set(System(sweep.machine()).state_names)


def test_the_small_sweep_of_these_tests_has_every_known_outcome():
    from dyn_nodes.analysis.sweeps.outcomes import OUTCOMES

    assert all(name in SMALL for name in OUTCOMES)
