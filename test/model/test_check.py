"""Output of `dyn-nodes check` for valid machines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.commands import CommandError, check

ROOT = Path(__file__).resolve().parents[2]
LOG_LOADER = [str(ROOT / 'urdf' / 'log_loader.urdf'), '--config', str(ROOT / 'config' / 'log_loader.yaml')]


def run_check(*words: str) -> int:
    parser = argparse.ArgumentParser()
    check.add_parser(parser.add_subparsers())
    args = parser.parse_args(['check', *words])
    return args.run(args)


@pytest.fixture(scope='module')
def summary():
    return json.loads(_captured(*LOG_LOADER, '--json'))


def _captured(*words: str) -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run_check(*words) == 0
    return out.getvalue()


def test_the_table_of_the_log_loader_shows_the_machine_and_its_rest(capsys):
    assert run_check(*LOG_LOADER) == 0
    captured = capsys.readouterr()
    assert captured.err == ''
    text = captured.out
    for fact in ('6 of the base + 3 of the joints = 9', '17481 kg', '5100 kg at payload_link', '-0.3491 (-20.0°)'):
        assert fact in text
    for fact in ('88609.9', '85816.0', '24943.8', '22149.9', 'pitch 0.672 deg, roll 0.042 deg', 'support polygon'):
        assert fact in text
    for fact in (
        'static margin',
        'force-angle',
        'wheel-load share',
        '0.305 to 1.344 of 1.350 m',
        '58 values are marked as assumed',
    ):
        assert fact in text
    assert 'no problems' in text


def test_the_assumed_values_are_listed_on_request(capsys):
    assert run_check(*LOG_LOADER, '--assumed') == 0
    text = capsys.readouterr().out
    assert 'actuators.boom.linkage.angle' in text
    assert 'a usual large servo valve' in text


def test_json_holds_the_same_numbers(summary):
    machine = summary['machine']
    assert summary['valid'] is True
    assert summary['problems'] == []
    assert summary['warnings'] == []
    assert machine['degrees_of_freedom'] == {'base': 6, 'joints': 3, 'total': 9}
    assert machine['mass'] == 17481
    assert machine['total_mass'] == 22581
    assert [joint['name'] for joint in machine['joints']] == [
        'swing_joint',
        'boom_joint',
        'stick_joint',
        'payload_joint',
    ]
    assert machine['joints'][0]['lower'] is None
    assert len(machine['assumed']) == 58


def test_static_wheel_loads_are_those_of_the_spec(summary):
    static = summary['machine']['static']
    expected = {'front_right': 88610, 'front_left': 85816, 'rear_right': 24944, 'rear_left': 22150}
    for name, load in expected.items():
        assert static['wheels'][name]['load'] == pytest.approx(load, rel=1e-4)
        assert static['wheels'][name]['compression'] == pytest.approx(load / 1.75e6, rel=1e-4)
    assert sum(wheel['share'] for wheel in static['wheels'].values()) == pytest.approx(1.0)
    assert static['weight'] == pytest.approx(22581 * 9.81)


def test_static_margins_belong_to_the_support_polygon(summary):
    static = summary['machine']['static']
    assert static['edges'] == ['front', 'left', 'rear', 'right']
    assert len(static['support_polygon']) == 4
    margin = static['margins']['static']
    front = max(corner[0] for corner in static['support_polygon']) - static['center_of_mass'][0]
    assert margin['value'] == pytest.approx(front, abs=1e-4)  # the front edge is turned by less than 1e-5 rad
    assert margin['value'] == min(margin['edges'])
    moment = static['margins']['net_moment']
    assert moment['edges'][0] == pytest.approx(margin['edges'][0] * static['weight'], rel=1e-9)


def test_the_machine_yaml_may_follow_the_urdf_as_an_argument():
    urdf, _, config = LOG_LOADER
    assert json.loads(_captured(urdf, config, '--json')) == json.loads(_captured(*LOG_LOADER, '--json'))
    with pytest.raises(CommandError, match='expected one machine YAML, found'):
        run_check(urdf, config, '--config', config)


def test_the_innermost_static_reactions_are_printed_for_every_wheel(summary):
    """On level ground they are normal forces; with four wheels one is free, and both loads of an axle become equal."""
    static = summary['machine']['static']
    margin = static['margins']['admissible']
    assert margin['valid']
    assert margin['names'] == list(static['wheels'])
    rear = [static['wheels'][name]['load'] for name in ('rear_left', 'rear_right')]
    assert margin['value'] == pytest.approx(np.mean(rear), rel=1e-3)
    assert margin['value'] == pytest.approx(min(margin['edges']))


def test_a_urdf_alone_is_a_fixed_machine_without_wheels(capsys):
    assert run_check(LOG_LOADER[0]) == 0
    text = capsys.readouterr().out
    assert 'base_link, fixed' in text
    assert 'at rest' not in text


def test_a_machine_that_tips_is_rejected_unless_it_need_not_rest(tmp_path, capsys):
    text = Path(LOG_LOADER[2]).read_text(encoding='utf-8').replace('value: 0.9599310885968813', 'value: 0.0')
    config = tmp_path / 'm.yaml'
    config.write_text(text.replace('value: -1.8325957145940461', 'value: 0.0'), encoding='utf-8')
    assert run_check(LOG_LOADER[0], '--config', str(config)) == 1
    assert f'{config}: initial: expected a posture in which the machine rests, found no resting pose on the wheels' in (
        capsys.readouterr().err
    )
    config.write_text(config.read_text(encoding='utf-8').replace('settle: true', 'settle: false'), encoding='utf-8')
    assert run_check(LOG_LOADER[0], '--config', str(config)) == 0
    shown = capsys.readouterr().out
    assert 'does not stand on its wheels' in shown
    assert 'found one in which it tips' in shown


GEAR = ROOT / 'test' / 'running_gear'


@pytest.mark.parametrize(
    ('urdf', 'stiffness', 'wheel', 'sag'),
    [
        (ROOT / 'test' / 'corpus' / 'crane', ('2.0e5', '4.0e3'), 'front_left', 0.2),
        (GEAR / 'pivot_side_1000', ('8.0e5', '2.5e4'), 'front_right', 0.5),
    ],
)
def test_a_fully_compressed_strut_at_rest_is_a_warning(tmp_path, urdf, stiffness, wheel, sag):
    config = tmp_path / 'soft.yaml'
    text = urdf.with_suffix('.yaml').read_text(encoding='utf-8')
    assert stiffness[0] in text
    config.write_text(text.replace(*stiffness), encoding='utf-8')
    shown = json.loads(_captured(str(urdf.with_suffix('.urdf')), '--config', str(config), '--json'))
    where = f'wheels.{wheel}.stiffness'
    warning = next(entry for entry in shown['warnings'] if entry['where'] == where)
    assert warning['expected'] == f'a compression at rest well below the free length, {sag:g} m'
    assert config.read_text(encoding='utf-8').splitlines()[warning['line'] - 1].strip().startswith(f'{wheel}:')


def test_a_tipping_machine_with_oscillating_axle_is_a_warning_if_it_need_not_rest(tmp_path):
    config, text = tmp_path / 'm.yaml', (GEAR / 'pivot_crane.yaml').read_text(encoding='utf-8')
    posture = 'joint_positions: {swing: 1.57, luff: 0.0, extend: 1.3}'
    text = text.replace('settle: true', f'settle: false, {posture}').replace('mass: 0', 'mass: 1700')
    config.write_text(text, encoding='utf-8')
    shown = json.loads(_captured(str(GEAR / 'pivot_crane.urdf'), '--config', str(config), '--json'))
    assert [(entry['line'], entry['found']) for entry in shown['warnings'] if entry['where'] == 'initial'] == [
        (3, 'one in which it tips')
    ]
    assert shown['machine']['static'] == {'stands': False}
