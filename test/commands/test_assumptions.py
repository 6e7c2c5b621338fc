"""Results report assumed payload, slope, friction and posture in text and JSON."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from dyn_nodes.cli import main
from dyn_nodes.commands.monitor import _assumed
from dyn_nodes.model import load_machine
from dyn_nodes.model.assumptions import friction_of, lines, payload_of, plain, posture_of, slope_of
from dyn_nodes.model.named import packaged_machines

LOADER = load_machine(*packaged_machines()['log_loader'])
PLAN = """
machine: agv_mecanum_arm
points:
  start: {time: 0.0, base: [0.0, 0.0, 0.0]}
  end: {time: 2.0, base: [0.2, 0.0, 0.0]}
"""


def facts(capsys, *words: str) -> dict[str, object]:
    """Return the assumptions of a command's JSON by quantity."""
    main([*words, '--json'])
    return {entry['quantity']: entry['value'] for entry in json.loads(capsys.readouterr().out)['assumed']}


def text(capsys, *words: str) -> str:
    main(list(words))
    return ' '.join(capsys.readouterr().out.split())


def test_an_assumption_has_its_value_unit_and_source():
    assert lines(payload_of(LOADER, '--payload')) == [
        'assumed: payload 5100 kg (payload.mass of the machine file; no --payload)'
    ]
    assert lines(plain(friction_of(LOADER, '--friction'))) == [
        'assumed: friction 0.9 (friction.static of the machine file; no --friction)'
    ]
    assert slope_of(LOADER, '--slope')[0].value == [0.0, 0.0]
    assert list(posture_of(LOADER, '--at', ['swing_joint'])[0].value) == ['boom_joint', 'stick_joint']
    assert posture_of(LOADER, '--at', [joint.name for joint in LOADER.movable_joints]) == ()


def test_linearize_names_payload_posture_and_slope(capsys):
    assumed = facts(capsys, 'linearize', 'log_loader')
    assert set(assumed) == {'payload', 'posture', 'slope'}
    assert assumed['payload'] == 5100.0
    options = ('linearize', 'log_loader', '--payload', '500', '--posture', 'boom_joint=0.5')
    assert set(facts(capsys, *options)['posture']) == {'swing_joint', 'stick_joint'}
    assert 'assumed: payload 5100 kg' in text(capsys, 'linearize', 'log_loader')
    assert 'assumed: payload' not in text(capsys, *options)


def test_a_plan_of_contacts_names_payload_and_friction(tmp_path, capsys):
    plan = tmp_path / 'plan.yaml'
    plan.write_text(PLAN)
    assumed = facts(capsys, 'contact', 'plan', str(plan))
    assert assumed == {'payload': 1.0, 'friction': [0.9], 'slope': [0.0, 0.0]}
    options = ('contact', 'plan', str(plan), '--payload', '2', '--friction', '0.5')
    assert set(facts(capsys, *options)) == {'slope'}
    assert 'assumed: friction 0.9 (friction.static of the machine file; no --friction)' in text(capsys, *options[:3])


def test_loads_of_supports_name_the_posture(capsys):
    words = ('loadchart', 'log_loader', '--supports', '1000', '--swing-step', '90')
    assert set(facts(capsys, *words)['posture']) == {'boom_joint', 'stick_joint'}
    assert set(facts(capsys, *words, '--at', 'boom_joint=0.3')['posture']) == {'stick_joint'}
    assert 'assumed: posture boom_joint 0.9599' in text(capsys, *words)


@pytest.mark.slow
def test_a_load_chart_names_friction_and_slope(capsys):
    words = ('loadchart', 'log_loader', '--reach-step', '2', '--swing-step', '90')
    assert facts(capsys, *words) == {'slope': [0.0, 0.0], 'friction': [0.9]}
    assert set(facts(capsys, *words, '--slope', '0')) == {'friction'}


def test_simulated_runs_name_their_payload_and_slope():
    assumed = lines(_assumed(Namespace(payload=None), 'work', 'slope'))
    assert assumed[0] == 'assumed: payload 3000 kg (of the run work; no --payload)'
    assert [line.split()[1] for line in assumed] == ['payload', 'payload', 'slope']
    assert _assumed(Namespace(payload=1000.0), 'work') == []


def test_plans_of_the_package_specify_their_payload_or_report_it(capsys):
    for plan in sorted((Path(__file__).resolve().parents[2] / 'config' / 'plans').glob('*.yaml')):
        assumed = facts(capsys, 'contact', 'plan', str(plan))
        assert ('payload' in assumed) == ('payload:' not in plan.read_text())
