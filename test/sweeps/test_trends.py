"""Factors that vary one at a time, their trends, and times of a task as factors."""

from __future__ import annotations

import numpy as np
import pytest
from small_sweep import written
from test_sensitivity import results_of

from dyn_nodes import cli
from dyn_nodes.analysis.sweeps.design import Design, Levels, Span
from dyn_nodes.analysis.sweeps.factors import Factor, case_of
from dyn_nodes.analysis.sweeps.pictures import draw_trends
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.trends import ConditionError, trends
from dyn_nodes.control.voltage_profile import Segment, VoltageProfile
from dyn_nodes.model.problems import MachineError

Y, Z = Levels((1.0, 0.5, 2.0)), Levels((0.0, 3.0))
VARIED = Design('monte_carlo', 200 * 4, 1, (1, 2))


def results(outcome, kind='number'):
    made = results_of(VARIED, (Span(0.0, 1.0), Y, Z), outcome, kind)
    return made._replace(note={**made.note, 'varied': {'y': [1.0, 0.5, 2.0], 'z': [0.0, 3.0]}})


def test_each_point_is_run_with_the_first_values_and_then_with_each_other_one():
    blocks = VARIED.values((Span(0.0, 1.0), Y, Z)).reshape(200, 4, 3)
    assert (blocks[:, :, 0] == blocks[:, :1, 0]).all()
    assert len(np.unique(blocks[:, 0, 0])) == 200
    np.testing.assert_array_equal(blocks[0, :, 1:], [[1.0, 0.0], [0.5, 0.0], [2.0, 0.0], [1.0, 3.0]])
    drawn = Design('monte_carlo', 200, 1).values((Span(0.0, 1.0),))
    np.testing.assert_array_equal(blocks[:, 0, :1], drawn)


def test_a_trend_compares_runs_of_the_same_point():
    """Twice a value is higher at every point, although points differ more; -z / 6 is lower for x > 0.5."""
    by_value = {(trend.factor, trend.value): trend for trend in trends(results(lambda x, y, z: 0.1 + x * y), 'peak')}
    assert list(by_value) == [('y', 0.5), ('y', 2.0), ('z', 3.0)]
    assert (by_value['y', 0.5].lower, by_value['y', 2.0].higher) == (1.0, 1.0)
    assert (by_value['z', 3.0].higher, by_value['z', 3.0].lower, by_value['z', 3.0].median) == (0.0, 0.0, 0.0)
    some = trends(results(lambda x, y, z: 1.0 + x * np.where((x > 0.5) & (z > 0.0), -1.0, 1.0)), 'peak')[2]
    assert some.lower == pytest.approx(0.5, abs=0.12)
    assert some.higher == 0.0


def test_points_are_counted_by_their_first_run():
    made = results(lambda x, y, z: x * y)
    values = made.column('peak').reshape(200, 4)[:, 0]
    (first, *_) = trends(made, 'peak', ['peak>0.25', 'x < 0.75'])
    assert first.points == ((values > 0.25) & (values < 0.75)).sum()
    flags = results(lambda x, y, z: (x > 0.3) & (y < 2.0), 'flag')
    assert trends(flags, 'peak', ['peak'])[1].lower == 1.0
    assert trends(flags, 'peak', ['peak'])[1].points == (flags.column('x').reshape(200, 4)[:, 0] > 0.3).sum()


def test_points_without_an_outcome_or_without_all_runs_are_omitted():
    made = results(lambda x, y, z: np.where((x < 0.5) & (y > 1.0), np.nan, x))
    part = made._replace(table=made.table.slice(0, 4 * 50 + 3))
    result = trends(part, 'peak')
    low = (part.column('x')[:200].reshape(50, 4)[:, 0] < 0.5).sum()
    assert [trend.points for trend in result] == [50, 50 - low, 50]
    assert [trend.points for trend in trends(made, 'peak', ['x>2'])] == [0, 0, 0]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('peek>1', "expected one of x, y, z, peak, found 'peek' (did you mean 'peak'?)"),
        ('peak>a', "expected a number after >, found 'a'"),
        ('peak>=1', "expected a number after >, found '=1'"),
        ('a b', "expected a flag, or name>number or name<number, found 'a b'"),
    ],
)
def test_an_invalid_condition_is_reported(text, expected):
    with pytest.raises(ConditionError) as caught:
        trends(results(lambda x, y, z: x), 'peak', [text])
    assert str(caught.value) == expected


def test_trends_are_drawn(tmp_path):
    made = results(lambda x, y, z: x - 0.5 * z * (x > 0.5))
    draw_trends(made, 'peak', trends(made, 'peak'), tmp_path / 'trends.png')
    assert (tmp_path / 'trends.png').read_bytes().startswith(b'\x89PNG')


def test_independent_runs_are_the_first_of_each_point():
    apart = results(lambda x, y, z: x).independent()
    assert apart.factors == ['x']
    assert (apart.column('run') == 4 * np.arange(200)).all()


@pytest.mark.parametrize(
    ('design', 'expected'),
    [
        ('{kind: monte_carlo, runs: 8, varied: [swin]}', 'design.varied: expected one of the factors, found .*swing'),
        ('{kind: monte_carlo, runs: 8, varied: [payload]}', 'expected a factor with values, found payload'),
        (
            '{kind: saltelli, runs: 12, varied: [swing]}',
            'expected no varied factors for this kind of design, found swing',
        ),
        ('{kind: sobol, runs: 2000000, varied: [swing]}', 'at most 5000000 runs, found 6000000'),
    ],
)
def test_factors_that_cannot_vary_one_at_a_time_are_errors(tmp_path, design, expected):
    with pytest.raises(MachineError, match=expected):
        load_sweep(written(tmp_path, design=f'design: {design}'))


def test_a_sweep_that_varies_counts_all_its_runs(tmp_path):
    sweep = load_sweep(written(tmp_path, design='design: {kind: sobol, runs: 10, seed: 1, varied: [swing]}'))
    assert sweep.design.runs == 30
    assert sweep.varied == {'swing': [-4.0, 0.0, 4.0]}


# -- times of a task -------------------------------------------------------------------------------------------------

PROFILE = VoltageProfile(
    'three',
    16.0,
    (
        Segment('a', 5.0, 8.0, 0.5, {'boom': 1.0}),
        Segment('b', 8.5, 10.0, 0.5, {'boom': -1.0}),
        Segment('c', 12.0, 13.0, 0.25, {'stick': 2.0}),
    ),
)


@pytest.mark.parametrize(
    ('key', 'value', 'times', 'duration'),
    [
        ('a/length', 4.0, [(5.0, 9.0), (9.5, 11.0), (13.0, 14.0)], 17.0),
        ('b/wait', 0.0, [(5.0, 8.0), (8.0, 9.5), (11.5, 12.5)], 15.5),
        ('a/wait', 1.0, [(1.0, 4.0), (4.5, 6.0), (8.0, 9.0)], 12.0),
        ('c/length', 2.0, [(5.0, 8.0), (8.5, 10.0), (12.0, 14.0)], 17.0),
    ],
)
def test_later_segments_keep_their_distances(key, value, times, duration):
    task = case_of([Factor('x', 'timing', key)], [value], PROFILE).profile
    assert [(segment.start, segment.end) for segment in task.segments] == times
    assert task.duration == duration
    assert [segment.ramp for segment in task.segments] == [0.5, 0.5, 0.25]


def test_a_ramp_moves_nothing_and_an_invalid_task_is_an_error():
    task = case_of([Factor('x', 'timing', 'b/ramp')], [0.7], PROFILE).profile
    assert [segment.ramp for segment in task.segments] == [0.5, 0.7, 0.25]
    assert task.duration == 16.0
    for key, value in (('b/ramp', 0.8), ('b/wait', -0.1), ('a/length', 0.9)):
        with pytest.raises(ValueError, match='expected'):
            case_of([Factor('x', 'timing', key)], [value], PROFILE)


def test_times_of_missing_segments_are_errors(tmp_path):
    text = '  swing: {timing: reach/lenght, values: [3.0]}'
    with pytest.raises(MachineError, match=r"a segment's name/wait, /length, /ramp, found .*reach/length"):
        load_sweep(written(tmp_path, swing=text, levers='task: pick_and_place_recovery'))
    with pytest.raises(MachineError, match=r'factors.swing: expected a task for this factor, found none'):
        load_sweep(written(tmp_path, swing=text))


def test_the_report_shows_trends(tmp_path, capsys):
    design = 'design: {kind: monte_carlo, runs: 6, seed: 1, varied: [swing]}'
    path = written(tmp_path, design=design)
    assert cli.main(['sweep', str(path), '--out', str(tmp_path / 'out'), '--jobs', '1']) == 0
    words = ['sweep', 'report', str(tmp_path / 'out'), '--outcome', 'swing_angle', '--where', 'greatest_tilt<1']
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    assert 'swing -4 to 4: higher in 0.000 (' in text or 'swing -4 to 4: higher in 1.000 (' in text
    assert (tmp_path / 'out' / 'trends.png').exists()
    assert cli.main([*words, '--where', 'nonsense']) == 1
    assert '--where: expected one of' in capsys.readouterr().err
