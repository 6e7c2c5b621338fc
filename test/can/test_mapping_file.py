"""Errors of mappings and DBC files have file, line, and expected and found values."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time

import pytest

pytest.importorskip('cantools')

from can_fixtures import CONFIG, changed, line_with

from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.units import UNITS
from dyn_nodes.cli import main
from dyn_nodes.model.problems import MachineError

YAML, DBC = 'log_loader.yaml', 'log_loader.dbc'
BOOM = 'BoomLength, measures: cylinder_length'
FAULTS = [
    (YAML, 'JointPositions.BoomLength', 'JointPositions.BoomLenght', "(did you mean 'BoomLength'?)"),
    (YAML, 'JointPositions.BoomLength', 'JointPosition.BoomLength', "(did you mean 'JointPositions'?)"),
    (YAML, '  boom_joint: {signal: JointP', '  bom_joint: {signal: JointP', "(did you mean 'boom_joint'?)"),
    (YAML, BOOM, BOOM + ', unit: cm', "'mm', the unit of JointPositions.BoomLength in the DBC, found 'cm'"),
    (YAML, BOOM, 'BoomLength', 'a unit of position: rad, mrad, deg'),
    (YAML, BOOM, BOOM + ', sign: 2', 'expected 1 or -1, found 2'),
    (YAML, BOOM, BOOM + ', lower: 2, upper: 1', 'lower below upper'),
    (YAML, 'SwingRate, max_rate: 50', 'SwingRate, max_rate: -1', 'max_rate: expected'),
    (YAML, 'ValveCommands.BoomVolts', 'ValveCommands.BoomVolts, max_rate: 5', 'expected none for commands'),
    (YAML, BOOM, BOOM + ', scale: 2', "'scale' (known"),
    (YAML, 'JointPositions.SwingAngle', 'JointPositions.SwingAngle, measures: cylinder_length', 'no cylinder moves'),
    (
        YAML,
        'JointPositions.StickLength',
        'JointPositions.BoomLength',
        'a signal that is not mapped yet (joints.boom_joint uses it)',
    ),
    (YAML, 'boom/head_pressure', 'boom/head', "(did you mean 'boom/head_pressure'?)"),
    (YAML, '  front_left', '  left_front', 'wheel_loads.left_front'),
    (YAML, 'angular_velocity_y:', 'angular_velocity_w:', 'imu.angular_velocity_w'),
    (YAML, 'counter: CommandsAlive', 'counter: BoomVolts', 'an otherwise unused signal'),
    (YAML, 'checksum: CommandsCheck', 'checksum: CommandsAlive', 'one whole byte'),
    (YAML, '  ValveCommands: {', '  ValveCommand: {', "(did you mean 'ValveCommands'?)"),
    (YAML, '  ValveCommands: {', '  ValveCommands: {period: 0.2, ', 'a timeout of at least two cycles of 0.2 s'),
    (YAML, 'machine: log_loader', 'machine: log_leader', 'the name of a machine of this package'),
    (YAML, 'dbc: log_loader.dbc', 'dbc: nothing.dbc', "found 'nothing.dbc'"),
    (DBC, 'SG_ BoomVolts : 0|16@1- (0.001,0) [-10|10]', 'SG_ BoomVolts : 0|16@1- (0.001,0) [-5|5]', '-8 to 8 V'),
    (DBC, 'BoomLength : 16|16@1+ (0.05,0)', 'BoomLength : 16|16@1+ (0,0)', 'a finite factor other than 0'),
    (DBC, 'BoomLength : 16|16@1+', 'BoomLength : 16|x@1+', 'Invalid syntax'),
    (DBC, 'BoomLength : 16|16@1+', 'BoomLength : 15|16@1+', 'overlapping'),
    (DBC, 'BO_ 257 JointVelocities: 8', 'BO_ 257 JointVelocities: 999999999', 'at most 64 bytes'),
    (DBC, 'BO_ 257 JointVelocities', 'BO_ 256 JointVelocities', 'an identifier'.replace('an ', '')),
    (DBC, 'BO_ 257 JointVelocities', 'BO_ 257 JointPositions', 'a message with a unique name'),
    (DBC, '0|16@1- (0.01,0) [-327.68|327.67] "deg"', '0|99999@1- (0.01,0) [0|1] "deg"', 'at most 64 bits'),
]


@pytest.mark.parametrize(('file', 'old', 'new', 'text'), FAULTS)
def test_an_error_has_its_location(tmp_path, file, old, new, text):
    mapping = changed(tmp_path, file, old, new)
    with pytest.raises(MachineError) as caught:
        load_mapping(mapping)
    problems = [str(problem) for problem in caught.value.problems]
    assert any(text in problem for problem in problems), problems
    assert all('expected' in problem for problem in problems)


@pytest.mark.parametrize('number', [0, 3, 12, 20, 23])
def test_an_error_has_the_right_line(tmp_path, number):
    file, old, new, _ = FAULTS[number]
    mapping = changed(tmp_path, file, old, new)
    with pytest.raises(MachineError) as caught:
        load_mapping(mapping)
    problem = caught.value.problems[0]
    assert problem.file == str(tmp_path / file)
    assert problem.line == line_with(tmp_path / file, new)


@pytest.mark.parametrize(
    'text',
    [
        '',
        '\x00' * 100,
        'BO_ ' * 50_000,
        '(' * 100_000,
        'CM_ "' + 'x' * 1_000_000,
        'BU_: A\nBO_ 1 M: 8 A\n SG_ S m0M : 0|8@1+ (1,0) [0|0] "" A\nSG_MUL_VAL_ 1 S S 0-4000000000;\n',
        'BU_: A\nBO_ 99999999999999999999 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|0] "" A\n',
        'BU_: A\nBO_ 1 M: 8 A\n SG_ S : 0|8@1+ (1e999,nan) [0|0] "" A\n',
        'BU_: A\nVAL_ 7 S 0 "x" ;\nBA_ "__import__(\'os\').abort()" BO_ 3 4;\n',
        'BU_: A\nBO_ 1 __class__: 8 A\n SG_ __init__ : 0|8@1+ (1,0) [0|0] "${x}{0}%s" A\n',
    ],
)
def test_a_hostile_dbc_is_rejected_in_bounded_time_and_in_lines(tmp_path, text):
    mapping = changed(tmp_path, YAML, 'machine', 'machine')
    (tmp_path / DBC).write_text(text)
    before = time.thread_time()
    with pytest.raises(MachineError) as caught:
        load_mapping(mapping)
    assert time.thread_time() - before < 10.0
    assert all(len(str(problem)) < 2000 and '\n' not in str(problem) for problem in caught.value.problems)


def test_a_too_large_dbc_is_rejected_unread(tmp_path):
    mapping = changed(tmp_path, YAML, 'machine', 'machine')
    (tmp_path / DBC).write_text('VERSION ""\n' + 'x' * 4_000_001)
    with pytest.raises(MachineError, match='at most 4000000 bytes'):
        load_mapping(mapping)


def test_a_signal_that_does_not_hold_the_range_of_its_joint_is_a_warning(tmp_path):
    old = 'BoomLength : 16|16@1+ (0.05,0) [0|3276.75]'
    _, warnings = load_mapping(changed(tmp_path, DBC, old, old.replace('3276.75', '2000')))
    assert any('the range of boom_joint' in str(warning) for warning in warnings)


SI_SIZES = {
    'rad': 1.0, 'mrad': 0.001, 'deg': 0.017453292519943295, 'rad/s': 1.0, 'deg/s': 0.017453292519943295,
    'rpm': 0.10471975511965977, 'm': 1.0, 'cm': 0.01, 'mm': 0.001, 'm/s': 1.0, 'mm/s': 0.001, 'm/s2': 1.0,
    'g': 9.80665, 'Pa': 1.0, 'kPa': 1000.0, 'bar': 1e5, 'MPa': 1e6, 'kg': 1.0, 't': 1000.0, 'N': 1.0, 'kN': 1000.0,
    'V': 1.0, 'mV': 0.001, '%': 0.01,
}  # fmt: skip
"""Numbers of the SI brochure, ISO 80000-3 and, for g, the 3rd General Conference on Weights and Measures (1901)."""


def test_units_have_the_sizes_of_the_standards():
    assert {name: unit.size for name, unit in UNITS.items()} == pytest.approx(SI_SIZES, rel=1e-15)


@pytest.mark.parametrize(
    ('signal', 'spelled', 'key', 'si'),
    [
        ('AccelerationZ', 'g', ('imu', 'linear_acceleration_z'), 9.80665),
        ('AccelerationZ', 'm/s²', ('imu', 'linear_acceleration_z'), 1.0),
        ('RateZ', 'rpm', ('imu', 'angular_velocity_z'), 2.0 * math.pi / 60.0),
        ('SwingRate', '°/s', ('velocity', 'swing_joint'), math.pi / 180.0),
        ('SwingAngle', 'mrad', ('position', 'swing_joint'), 1e-3),
        ('BoomHead', 'MPa', ('pressure', 'boom/head_pressure'), 1e6),
        ('FrontLeft', 'N', ('wheel_load', 'front_left'), 1.0),
        ('BoomVolts', '%', ('command', 'boom'), 0.08),  # of the 8 V of its valve
    ],
)
def test_a_signal_is_read_in_the_unit_of_its_dbc(tmp_path, signal, spelled, key, si):
    text = (CONFIG / DBC).read_text()
    line = next(line for line in text.splitlines() if line.startswith(f' SG_ {signal} '))
    respelled = re.sub(r'\([^)]*\) \[[^]]*\] "[^"]*"', f'(1,0) [0|0] "{spelled}"', line)
    mapping, _ = load_mapping(changed(tmp_path, DBC, line, respelled))
    (channel,) = (channel for frame in mapping.frames for channel in frame.channels if channel.key == key)
    assert channel.factor == pytest.approx(si, rel=1e-15)


def test_check_prints_frames_and_resolutions(capsys):
    assert main(['check', str(CONFIG / 'log_loader.yaml'), '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['valid']
    signals = {channel['signal']: channel for frame in facts['frames'] for channel in frame['signals']}
    assert signals['BoomLength']['resolution'] == pytest.approx(5e-5 / 0.601, rel=0.02)
    assert {frame['message']: frame['sent_by'] for frame in facts['frames']}['ValveCommands'] == 'bridge'


def test_check_of_a_faulty_mapping_has_one_line_per_error(tmp_path, capsys):
    mapping = changed(tmp_path, YAML, 'JointPositions.BoomLength', 'JointPositions.Boom')
    assert main(['check', str(mapping)]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith(f'{mapping}:{line_with(mapping, "JointPositions.Boom,")}: joints.boom_joint.signal')
    assert errors[-1] == '1 problem'


def test_without_cantools_check_names_the_package_to_install():
    code = (
        'import sys; sys.modules["cantools"] = None; sys.modules["cantools.database"] = None\n'
        f'from dyn_nodes.cli import main; sys.exit(main(["check", {str(CONFIG / "log_loader.yaml")!r}]))'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert 'dyn_nodes[can]' in done.stderr
    assert 'Traceback' not in done.stderr


RATES = [
    ('JointPositions.SwingAngle', ', max_rate: 3.0', 'joints.swing_joint', 3.0),
    ('JointVelocities.BoomSpeed, measures: cylinder_length', ', max_rate: 30.0', 'velocities.boom_joint', 30.0),
    ('ImuRates.RateY', ', max_rate: 20.0', 'imu.angular_velocity_y', 20.0),
    ('ImuAccelerations.AccelerationX', ', max_rate: 2000.0', 'imu.linear_acceleration_x', 1962.0),
    ('LinePressures.SwingA', ', max_rate: 1.1e+9', 'pressures.swing/pressure_a', 22.0e6 / 0.02),
    ('WheelLoads.RearLeft', ', max_rate: 1.2e+7', 'wheel_loads.rear_left', 230_349.0 / 0.02),
]


@pytest.mark.parametrize(('signal', 'rate', 'where', 'suggested'), RATES)
def test_each_measurement_without_a_greatest_rate_is_a_warning_with_one_of_the_machine(
    tmp_path, signal, rate, where, suggested
):
    path = changed(tmp_path, YAML, signal + rate, signal)
    (warning,) = load_mapping(path)[1]
    assert (warning.line, warning.where) == (line_with(path, signal), where)
    limit = float(warning.expected.removeprefix('max_rate, such as ').partition(',')[0])
    assert limit == pytest.approx(suggested, rel=0.05)
    assert warning.expected.endswith('else jumps are accepted')


def test_every_measurement_of_the_packaged_mapping_has_a_greatest_rate():
    mapping, warnings = load_mapping('log_loader')
    assert warnings == ()
    assert all(math.isfinite(channel.max_rate) for frame in mapping.measurements for channel in frame.channels)
