"""`dyn-nodes can init`: the first mapping of a DBC."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

pytest.importorskip('cantools')

from can_fixtures import CONFIG

from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.cli import main

FOREIGN = """VERSION ""

NS_ :

BS_:

BU_: ECU

BO_ 300 Arm: 8 ECU
 SG_ stick_stroke : 0|16@1+ (0.1,0) [0|0] "mm" Other
 SG_ boom_stroke : 16|16@1+ (0.1,0) [0|0] "mm" Other
 SG_ CRC : 56|8@1+ (1,0) [0|255] "" Other
 SG_ RollingCounter : 48|4@1+ (1,0) [0|15] "" Other

BO_ 301 Engine: 8 ECU
 SG_ EngineSpeed : 0|16@1+ (0.125,0) [0|0] "rpm" Other
 SG_ HydraulicLoad : 16|16@1+ (1,0) [0|0] "kg" Other
 SG_ RateX : 32|16@1- (0.01,0) [0|0] "deg/s" Other
"""


def run(*words: str) -> int:
    return main(['can', 'init', *words])


def test_the_first_mapping_of_the_log_loader_is_the_one_of_the_package(tmp_path, capsys):
    shutil.copy(CONFIG / 'log_loader.dbc', tmp_path / 'bus.dbc')
    assert run(str(tmp_path / 'bus.dbc'), '--machine', 'log_loader', '-o', str(tmp_path / 'bus.yaml')) == 0
    output = capsys.readouterr().out
    assert '25 signals of log_loader' in output
    assert 'not used: LinePressures.Actuator' in output
    made, _ = load_mapping(tmp_path / 'bus.yaml')
    shipped, _ = load_mapping(CONFIG / 'log_loader.yaml')

    def signals(mapping):
        return {
            (channel.kind, channel.name, frame.name, channel.signal, frame.counter, frame.checksum)
            for frame in mapping.frames
            for channel in frame.channels
        }

    assert signals(made) == signals(shipped)
    assert main(['check', str(tmp_path / 'bus.yaml')]) == 0


def test_strokes_counters_and_payload_are_mapped_and_other_signals_are_named(tmp_path, capsys):
    (tmp_path / 'other.dbc').write_text(FOREIGN)
    assert run(str(tmp_path / 'other.dbc'), '--machine', 'log_loader', '-o', str(tmp_path / 'other.yaml')) == 0
    output, text = capsys.readouterr().out, (tmp_path / 'other.yaml').read_text()
    assert '3 signals of log_loader, each marked "guess"; 2 not used' in output
    assert 'boom_joint: {signal: ' in text
    assert text.count('measures: cylinder_stroke') == 2
    assert 'counter: RollingCounter, checksum: CRC' in text
    assert 'HydraulicLoad' in text.partition('payload:')[2].splitlines()[0]
    assert '#   Engine.EngineSpeed, rpm' in text
    assert 'Engine.RateX' in text.partition('# Signals without')[2], 'an IMU needs all six axes'


def test_mistakes_are_one_line(tmp_path, capsys):
    (tmp_path / 'bad.dbc').write_text('BO_ nonsense')
    assert run(str(tmp_path / 'bad.dbc'), '--machine', 'log_loader', '-o', str(tmp_path / 'x.yaml')) == 1
    assert 'bad.dbc' in capsys.readouterr().err
    assert run(str(tmp_path / 'none.dbc'), '--machine', 'log_loader', '-o', str(tmp_path / 'x.yaml')) == 1
    assert 'expected a DBC, found no such file' in capsys.readouterr().err
    (tmp_path / 'x.yaml').write_text('kept')
    assert run(str(tmp_path / 'bad.dbc'), '--machine', 'log_loader', '-o', str(tmp_path / 'x.yaml')) == 1
    assert '--force overwrites it' in capsys.readouterr().err
    assert (tmp_path / 'x.yaml').read_text() == 'kept'
    assert run(str(tmp_path / 'bad.dbc'), '--machine', 'log_leader', '-o', str(tmp_path / 'y.yaml')) == 1
    assert 'did you mean' in capsys.readouterr().err


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, '-m', 'dyn_nodes', '--version'], capture_output=True, text=True, check=True)
    assert done.stdout.startswith('dyn_nodes ')
