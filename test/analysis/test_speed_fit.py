"""Identification of a drive with specified parameters from its commands and positions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.analysis.speed_fit import PARAMETERS, SpeedFitError, curve, fit_speed
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, fit

TRUTH = np.array([0.12, 0.06, 0.5, -0.3, 0.4, 0.6, 0.45, 0.35])
STEP, EVERY = 1e-3, 20
DRIVES = 48


def drive(seed=0, most=2.0, seconds=90.0, step=5e-4):
    """Return positions every 20 ms with noise and steps, and commands every 0.6 to 2 s, of a drive between its limits.

    The lag is exact, the speed integrated by Simpson's rule over 1 ms: Euler's steps would shift it by half a step.
    """
    rng = np.random.default_rng(seed)
    count = round(seconds / STEP)
    late, half_kept = round(TRUTH[0] / STEP), np.exp(-0.5 * STEP / TRUTH[1])
    x, acting, until, sent = 0.0, 0.0, 0, 0.0
    commands, positions = np.zeros(count), np.zeros(count)
    for k in range(count):
        if k >= until or (k % EVERY == 0 and abs(x) > 1.0 and sent * x > 0.0):
            until = k + EVERY * int(rng.integers(30, 100))
            sent = float(rng.uniform(0.2, most) * (-np.sign(x) if abs(x) > 1.0 else rng.choice([-1.0, 0.0, 1.0])))
        commands[k] = sent
        delayed = commands[k - late] if k >= late else 0.0
        passed = delayed + (acting - delayed) * np.array([1.0, half_kept, half_kept**2])
        positions[k], acting = x, passed[-1]
        x += STEP / 6.0 * float(np.array([1.0, 4.0, 1.0]) @ curve(TRUTH, passed))
    times = STEP * np.arange(count)
    read = np.round((positions + 2e-4 * rng.normal(size=count)) / step) * step
    selected = slice(None, None, EVERY)
    return Samples(times[selected], read[selected, None]), Samples(times[selected], commands[selected, None])


@pytest.fixture(scope='module')
def logged():
    return drive()


def test_parameters_of_a_drive_are_estimated(logged):
    fit = fit_speed(*logged)
    assert fit.sign == 1
    assert fit.seen[2:].all()
    for name, value, half, truth in zip(PARAMETERS, fit.values, fit.half_widths, TRUTH):
        assert value == pytest.approx(truth, rel=0.06, abs=0.02), name
        assert abs(value - truth) < 2.5 * half, name
    assert fit.delay[0] == pytest.approx(TRUTH[0] + TRUTH[1], abs=0.02)
    assert fit.nrmse < 0.05
    assert fit.held[0] == pytest.approx(0.75 * 89.98, abs=0.1)


@pytest.mark.slow
def test_intervals_contain_the_true_values():
    fits = [fit_speed(*drive(seed)) for seed in range(DRIVES)]
    errors = np.array([np.append(fit.values - TRUTH, fit.delay[0] - TRUTH[0] - TRUTH[1]) for fit in fits])
    halves = np.array([np.append(fit.half_widths, fit.delay[1]) for fit in fits])
    held = (np.abs(errors) <= halves).mean(axis=0)
    print(dict(zip((*PARAMETERS, 'delay'), held.round(3).tolist())))
    assert held.min() >= 0.85
    assert held.mean() >= 0.92


def test_a_drive_that_moves_against_its_command_has_the_same_numbers(logged):
    position, command = logged
    fit, other = fit_speed(position, command), fit_speed(Samples(position.times, -position.values), command)
    assert other.sign == -1
    np.testing.assert_allclose(other.values, fit.values, rtol=1e-6, atol=1e-9)


def test_a_limit_that_is_never_reached_is_not_estimated():
    fit = fit_speed(*drive(2, most=1.2))  # volts for at most 0.28 of 0.45 forward
    assert not fit.seen[PARAMETERS.index('forward_limit')]
    assert fit.seen[PARAMETERS.index('forward_gain')]
    assert fit.values[PARAMETERS.index('forward_gain')] == pytest.approx(TRUTH[4], rel=0.1)


def test_a_log_without_motion_is_rejected(logged):
    position, command = logged
    still = Samples(position.times, np.zeros_like(position.values))
    with pytest.raises(SpeedFitError, match='away from both ends'):
        fit_speed(still, command)
    with pytest.raises(SpeedFitError, match='5 s or more before'):
        fit_speed(position, command, (2.0, 20.0))
    growing = Samples(position.times, position.times[:, None].copy())
    with pytest.raises(SpeedFitError, match=r'move (forward|back), found 0'):
        fit_speed(growing, command)


def run_command(*words):
    return fit.run(build_parser(['fit']).parse_args(['fit', 'speeds', *map(str, words)]))


@pytest.fixture(scope='module')
def table(tmp_path_factory, logged):
    position, command = logged
    path = tmp_path_factory.mktemp('speeds') / 'drive.csv'
    rows = np.column_stack([position.times, command.values, position.values])
    path.write_text('Time,Boom Cmd,Boom Ms\n' + '\n'.join(','.join(f'{v:.6f}' for v in row) for row in rows) + '\n')
    return path


def test_the_command_reads_a_table(table, capsys):
    assert run_command(table, '--pair', 'Boom Cmd=Boom Ms', '--json') == 0
    numbers = json.loads(capsys.readouterr().out)['drives']['Boom Cmd=Boom Ms']
    assert numbers['numbers']['forward_start']['value'] == pytest.approx(0.5, abs=0.03)
    assert run_command(table, '--pair', 'Boom Cmd=Boom Ms', '--hold', '60', '80') == 0
    text = capsys.readouterr().out
    assert 'moves with the command' in text
    assert 'NRMSE' in text


@pytest.mark.parametrize(
    ('text', 'pair', 'message'),
    [
        ('Time,a,b\n0,1,2\n1,x,3\n', 'a=b', r'bad.csv:3: a: expected a number, found x'),
        ('Time,a,b\n0,1\n', 'a=b', r'bad.csv:2: expected 3 cells, found 2'),
        ('a,b\n0,1\n', 'a=b', r'bad.csv:1: expected a column of time'),
        ('Time,a,b\n', 'a=b', r'bad.csv: expected rows of numbers'),
        ('Time,a,b\n0,1,2\n1,2,3\n', 'c=b', r'expected the command c, found a, b'),
        ('Time,a,b\n0,1,2\n1,2,3\n', 'ab', r'--pair: expected COMMAND=POSITION, found ab'),
        ('Time,a,b\n0,,2\n1,2,3\n', 'a=b', r'expected two numbers or more of a'),
    ],
)
def test_an_invalid_table_is_reported_by_its_line(tmp_path, text, pair, message):
    path = tmp_path / 'bad.csv'
    path.write_text(text)
    with pytest.raises(CommandError, match=message):
        run_command(path, '--pair', pair)
