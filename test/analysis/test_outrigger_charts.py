"""Load charts with outriggers and telescopes, compared with the lever law about the edges between pads."""

from __future__ import annotations

import json

import numpy as np
import pytest
from standard_machines import PADS, TYRES, G, crane, polygon_payload

from dyn_nodes.analysis.load_chart import ChartSettings, load_chart
from dyn_nodes.analysis.load_table import heads, load_table, rows
from dyn_nodes.analysis.outriggers import OutriggerError, state_named
from dyn_nodes.cli import main
from dyn_nodes.model import load_machine

REST = {'arm_deceleration': 0.0, 'slew_deceleration': 0.0, 'slew_speed': 0.0, 'rigid': True}
SETTINGS = ChartSettings(reach_step=3.0, swing_step=np.pi / 6, **REST)


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp('crane')
    crane(limit=1e5).load(folder)
    return folder / 'sketch.urdf', folder / 'sketch.yaml'


@pytest.fixture(scope='module')
def machine(files):
    return load_machine(*files)


@pytest.mark.slow
@pytest.mark.parametrize(('state', 'names'), [('raised', TYRES), ('half', PADS), ('extended', PADS), ('left', PADS)])
def test_a_table_has_the_lever_law_of_its_outriggers_and_lengths(machine, state, names):
    sketch, settings = crane(limit=1e5), ChartSettings(**{**vars(SETTINGS), 'outriggers': state})
    table = load_table(machine, settings, [0.0, 1.0])
    assert table.extensions == (0.0, 1.0)
    for chart in table.charts:
        assert np.ptp(chart.postures[:, 1]) == 0.0  # the telescope
        for k, posture in enumerate(chart.postures):
            at = {'boom_joint': posture[0], 'tip_joint': posture[1], **state_named(machine, state)[1]}
            for swing, tipping in zip(chart.swings, chart.tipping[0, k]):
                expected = polygon_payload(sketch, {**at, 'column_joint': swing}, names)
                if np.isfinite(expected) and expected < 1e5:
                    assert tipping == pytest.approx(expected, rel=2e-3)
    far = np.isfinite(table.safe[:, 1]) & np.isnan(table.safe[:, 0])
    assert far.any()
    assert len(rows(table)[0]) == len(heads(table)) == 3


def test_wider_outriggers_carry_more_in_the_chart_and_are_named(machine):
    safe = {}
    for state in ('retracted', 'extended'):
        chart = load_chart(machine, ChartSettings(**{**vars(SETTINGS), 'outriggers': state, 'extension': 1.0}))
        safe[state] = chart.all_round()[-1]
        assert chart.raised == ('front_left', 'front_right', 'rear_left', 'rear_right')
    assert safe['extended'] > 2.0 * safe['retracted'] > 0.0


def test_states_that_a_machine_does_not_have_are_rejected(machine):
    with pytest.raises(
        OutriggerError, match='sketch: outriggers down: expected outriggers raised, outriggers retracted'
    ):
        load_chart(machine, ChartSettings(outriggers='down'))


def test_supports_of_the_command_stand_on_the_outriggers_and_have_pressures(files, capsys):
    words = [
        str(files[0]),
        '--config',
        str(files[1]),
        '--supports',
        '3000',
        '--posture',
        'tip_joint=4',
        'boom_joint=0.5',
    ]
    words += ['--swing-step', '90', '--outriggers', 'extended', '--pad-area', '0.5', '--json']
    assert main(['loadchart', *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    loads = np.array(shown['loads'])
    on_pads = ['pad' in name for name in shown['supports']]
    assert (loads[:, np.logical_not(on_pads)] == 0.0).all()
    assert loads.sum(axis=1) == pytest.approx(G * (load_machine(*files).total_mass + 3000.0), rel=1e-6)
    for name, pressure in shown['pad_pressure'].items():
        assert pressure == pytest.approx(loads[:, shown['supports'].index(name)].max() / 0.5)
    assert main(['loadchart', *words[:3], '--pad-area', '0.5']) == 2
    assert '--pad-area: expected --supports KG with it' in capsys.readouterr().err
