"""Sequences for identification: their information, their selection, and their tasks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.analysis.excitation import Candidate, Planner, score, task_text
from dyn_nodes.analysis.information import Block, added
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, fit
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import Segment, VoltageProfile, load_voltage_profile
from dyn_nodes.model import load_machine


def log_loader():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def command(*arguments):
    return fit.run(build_parser(['fit']).parse_args(['fit', 'plan', *map(str, arguments)]))


def test_information_becomes_intervals():
    block = Block(('a', 'b'), np.array([2.0, 1.0]), np.array([0.5, 0.5]))
    nothing = np.zeros((2, 2))
    np.testing.assert_allclose(block.half_widths(nothing), [2 * 1.96, 1.96])
    assert block.gain(nothing) == 0.0
    much = np.diag([100.0, 0.0])
    np.testing.assert_allclose(block.half_widths(much)[0], 1.96 / np.sqrt(100.25))
    assert block.gain(much) == pytest.approx(np.log(401.0))
    assert block.missing(much)[1] == pytest.approx(1.96 / 0.5)
    both = added({'x': much}, {'x': np.diag([0.0, 50.0]), 'y': nothing})
    np.testing.assert_allclose(both['x'], np.diag([100.0, 50.0]))


def test_the_worst_parameter_may_decide():
    blocks = {'x': Block(('a', 'b'), np.ones(2), np.full(2, 0.2))}
    one_sided, even = {'x': np.diag([1e8, 0.0])}, {'x': np.diag([200.0, 200.0])}
    assert score(blocks, one_sided, 'determinant') > score(blocks, even, 'determinant')
    assert score(blocks, one_sided, 'worst') < score(blocks, even, 'worst')


def test_a_sequence_becomes_a_task_of_the_controller(tmp_path):
    parts = (
        Segment('part 1', 1.0, 2.5, 0.2, {'boom': -4.25, 'swing': 3.0}),
        Segment('part 2', 2.5, 4.0, 0.3, {'stick': 5.0}),
    )
    candidate = Candidate(VoltageProfile('plan', 6.0, parts), {}, 1.0, False)
    path = tmp_path / 'plan.yaml'
    path.write_text(task_text(candidate, log_loader(), 1))
    read = load_voltage_profile(path, ('boom', 'stick', 'swing'))
    times = np.linspace(0.0, 6.0, 61)
    names = ('boom', 'stick', 'swing')
    np.testing.assert_allclose(read.evaluate(times, names), candidate.profile.evaluate(times, names), atol=1e-12)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--payload', '9000'), '--payload: expected 0 to 6000 kg, found 9000'),
        (('--duration', '3'), '--duration: expected 15 to 300, found 3'),
        (('--sequences', '5', '--candidates', '3'), '--sequences: expected 1 to 3, as --candidates, found 5'),
        (('--bag', '/nowhere'), '/nowhere: expected a bag directory, found nothing'),
    ],
)
def test_an_impossible_plan_is_reported_in_one_line(words, message):
    with pytest.raises(CommandError, match=message):
        command('--machine', 'log_loader', *words)


@pytest.mark.slow
def test_a_plan_passes_the_governor_and_is_more_informative(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    words = ('--duration', '20', '--candidates', '4', '--sequences', '1', '-o', path, '--json')
    assert command('--machine', 'log_loader', *words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['governed'] is True
    assert facts['tried'] == 4
    assert facts['sequences'][0]['let_through'] >= 0.98
    assert all(width['after'] <= width['before'] * (1 + 1e-9) for width in facts['half_widths'].values())
    wanted = [width for width in facts['half_widths'].values() if width['wanted'] is not None]
    missing = sum(width['before'] > width['wanted'] for width in wanted)
    assert len(facts['still_not_seen']) < 0.5 * missing, 'after one sequence of 20 s'
    gains = [width for name, width in facts['half_widths'].items() if name.startswith('swing.outlet_gain')]
    assert len(gains) == 2
    assert all(width['after'] < width['wanted'] < width['before'] for width in gains)
    planner = Planner(log_loader(), 0.0, 20.0)
    profile = load_voltage_profile(path, ('boom', 'stick', 'swing'))
    run, let_through = planner.through_governor(profile)
    assert let_through >= 0.98
    assert np.abs(run.velocities).max() > 0.05
    assert not planner.recorder.plant.overturned
