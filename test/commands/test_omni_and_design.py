"""Tests of `dyn-nodes omni` and `dyn-nodes design`: output, files and errors."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from dyn_nodes import cli

PEAKS = {'wheel_1': 0.069676, 'wheel_2': 0.106811, 'wheel_3': 0.066877, 'wheel_4': 0.01}


def test_torques_on_path_3_are_those_of_the_specification(capsys):
    assert cli.main(['omni', 'torques', 'four_wheels', 'path_3', '--limit', 'wheel_4=0.01', '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['peak_torques'] == pytest.approx(PEAKS, abs=2e-6)
    assert answer['effort'] == pytest.approx(0.215899, abs=2e-6)
    assert answer['greatest_energy'] == pytest.approx(3.172109, abs=1e-6)
    assert answer['limits'] == {'wheel_1': None, 'wheel_2': None, 'wheel_3': None, 'wheel_4': 0.01}


def test_the_table_has_a_line_for_every_wheel(capsys):
    assert cli.main(['omni', 'torques', 'six_wheels', 'path_1', '--driven', 'wheel_1', 'wheel_2', 'wheel_3']) == 0
    printed = capsys.readouterr().out
    assert printed.count('driven') == 3
    assert printed.count('free') == 3
    assert 'peak torque' in printed


def test_written_torques_drive_the_simulation_along_the_path(tmp_path, capsys):
    table = tmp_path / 'torques.csv'
    assert cli.main(['omni', 'torques', 'three_wheels', 'path_3', '--csv', str(table)]) == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3001
    assert float(rows[1250]['wheel_1_torque']) == pytest.approx(-0.09067913, abs=1e-8)
    capsys.readouterr()
    command = ['omni', 'simulate', 'three_wheels', str(table), '--torques', str(table), '--step', '0.5', '--json']
    assert cli.main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert max(answer['simulation_error'].values()) < 1e-4
    end = [answer['histories'][name][-1] for name in ('x', 'y', 'yaw')]
    assert end == pytest.approx([-2.32, 2.65, 0.5 * np.pi], abs=1e-9)


def test_a_picture_is_written(tmp_path, capsys):
    for level in ('rates', 'angles', 'torques'):
        picture = tmp_path / f'{level}.png'
        assert cli.main(['omni', level, 'three_wheels', 'circle', '--step', '0.5', '--plot', str(picture)]) == 0
        assert picture.read_bytes()[:4] == b'\x89PNG'


@pytest.mark.parametrize(
    ('arguments', 'status', 'part'),
    [
        (['rates', 'threewheels', 'path_1'], 1, 'expected a file, or one of four_wheels'),
        (['rates', 'no/such.yaml', 'path_1'], 1, 'no/such.yaml: file: expected a file that exists'),
        (['rates', 'three_wheels', 'path_9'], 1, 'expected a file of waypoints, or a name (path_1'),
        (['rates', 'three_wheels', 'path_1', '--step', '0'], 2, '--step: expected more than 0'),
        (['torques', 'four_wheels', 'path_3', '--limit', 'wheel_4'], 2, '--limit: expected NAME=NUMBER'),
        (['torques', 'four_wheels', 'path_3', '--limit', 'wheel_5=1'], 1, "did you mean 'wheel_4'?"),
        (['torques', 'four_wheels', 'path_3', '--weight', 'all=0'], 2, 'X a number > 0'),
        (['torques', 'four_wheels', 'path_3', '--driven', 'wheel_1', 'wheel_2'], 1, 'expected three or more driven'),
        (
            ['torques', 'four_wheels', 'path_3', '--step', '0.2', '--limit', 'all=0.01'],
            1,
            'at 211 of 301 samples (3.4 to',
        ),
        (['rates', 'three_wheels', 'path_1', '--plot', 'p.nonsense'], 2, '--plot: Format'),
    ],
)
def test_mistakes_of_omni_are_reported_in_one_line(arguments, status, part, capsys):
    assert cli.main(['omni', *arguments]) == status
    error = capsys.readouterr().err
    assert part in error
    assert error.count('\n') == 1


def test_omni_reads_the_vehicle_of_a_design(tmp_path, capsys):
    from dyn_nodes.analysis.omni_config import load_omni_machine
    from dyn_nodes.multibody.isotropy import condition_number, scaled

    vehicle, picture = tmp_path / 'mine.yaml', tmp_path / 'map.png'
    command = ['design', 'isotropic', '--wheels', '5', '--roller', '60', '--distance', '0.4', '--length', '0.5']
    assert cli.main([*command, '--vehicle', str(vehicle), '--plot', str(picture), '--json']) == 0
    designs = json.loads(capsys.readouterr().out)
    assert [design['family'] for design in designs] == ['star', 'star, turned', 'general', 'general']
    assert [design['condition_number'] for design in designs] == pytest.approx([1.0] * 4, abs=1e-9)
    L = load_omni_machine(vehicle).vehicle.L
    assert condition_number(scaled(L, 0.5)) == pytest.approx(1.0, abs=1e-9)
    assert cli.main(['omni', 'torques', str(vehicle), 'path_3', '--step', '0.5']) == 0
    assert picture.read_bytes()[:4] == b'\x89PNG'


def test_specified_positions_get_the_nearest_layout_and_its_isotropy_is_reported(capsys):
    positions = '0.2,0.3 -0.2,0.3 -0.2,-0.3 0.2,-0.3'
    assert cli.main(['design', 'isotropic', '--wheels', '4', '--places', positions]) == 0
    assert 'hubs and rollers turned until the six conditions hold' in ' '.join(capsys.readouterr().out.split())
    positions = '0.3,0 0.31,0.02 0.29,-0.02'  # all in one corner
    assert cli.main(['design', 'isotropic', '--wheels', '3', '--length', '0.4', '--places', positions]) == 1
    assert 'no isotropic layout was found at these positions' in ' '.join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ('arguments', 'part'),
    [
        (['--wheels', '2'], '2 wheels: expected three or more'),
        (['--wheels', '3', '--roller', '0'], 'rollers along the hub'),
        (['--wheels', '3', '--roller', '15', '90', '90'], 'wheel 1 outweighs all others'),
        (['--wheels', '4', '--distance', '0.3', '--length', '0.5'], 'expected 1/sqrt(2) = 0.7071 or more'),
        (['--wheels', '4', '--rectangle', '0.3,0.2', '--roller', '60'], 'expected rollers at 45 degrees'),
        (['--wheels', '3', '--places', '0,1 1,0'], '--places: expected 3 places, found 2'),
        (['--wheels', '3', '--places', '0,1 1,0 x'], '--places: expected two finite numbers with a comma'),
        (['--wheels', '4', '--roller', '45', '50'], '--roller: expected one angle, or 4, found 2'),
    ],
)
def test_impossible_designs_are_rejected_with_the_reason(arguments, part, capsys):
    assert cli.main(['design', 'isotropic', *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert part in error
    assert error.count('\n') == 1
