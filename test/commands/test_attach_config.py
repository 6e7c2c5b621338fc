"""Tests of the merged machine YAML of `dyn-nodes attach`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from dyn_nodes.cli import build_parser, main
from dyn_nodes.commands import CommandError
from dyn_nodes.commands.attach_config import joined_config
from dyn_nodes.model import load_machine

ROOT = Path(__file__).resolve().parents[2]
PLATFORM, ARM = ROOT / 'urdf' / 'agv_omni.urdf', ROOT / 'urdf' / 'arm_4r.urdf'
CONFIG, ARM_CONFIG = ROOT / 'config' / 'agv_omni.yaml', ROOT / 'config' / 'arm_4r.yaml'


def attach(tmp_path, *options):
    output = ['-o', str(tmp_path / 'both.urdf'), '--to', 'base_link', '--prefix', 'arm_']
    return main(['attach', str(PLATFORM), str(ARM), *output, *options])


def written(tmp_path, text, name):
    path = tmp_path / f'{name}.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize('vehicle', ['agv_axle', 'agv_caster', 'agv_omni', 'agv_mecanum', 'platform_4x4x4', 'car'])
def test_one_command_attaches_an_arm_to_every_vehicle(vehicle, tmp_path, capsys):
    urdf, config = tmp_path / 'both.urdf', tmp_path / 'both.yaml'
    parts = [str(ROOT / 'urdf' / f'{vehicle}.urdf'), str(ARM), '--to', 'base_link', '--prefix', 'arm_', '-o', str(urdf)]
    configs = ['--config', str(ROOT / 'config' / f'{vehicle}.yaml'), '--arm-config', str(ARM_CONFIG)]
    assert main(['attach', *parts, *configs, '--out-config', str(config)]) == 0
    assert f'dyn-nodes check {urdf} --config {config}' in capsys.readouterr().out
    alone = load_machine(ROOT / 'urdf' / f'{vehicle}.urdf', ROOT / 'config' / f'{vehicle}.yaml')
    both = load_machine(urdf, config)
    assert both.name == f'{vehicle}_with_arm_4r'
    assert repr(both.wheels) == repr(alone.wheels)
    assert [replace(entry, line=0) for entry in both.joint_classes] == [
        replace(entry, line=0) for entry in alone.joint_classes
    ]
    assert both.base == alone.base
    assert both.payload.link == 'arm_hand'
    assert both.initial.joint_positions['arm_elbow'] == 1.6
    assert both.total_mass == pytest.approx(alone.total_mass + 12.0)
    assert set(both.assumed) >= {'payload.mass', 'payload.limit'}
    assert len(both.assumed) == len(alone.assumed) + 2


def test_configurations_need_input_and_output_files(tmp_path):
    with pytest.raises(CommandError, match='expected --out-config with them'):
        attach_command(tmp_path, '--config', str(CONFIG))
    with pytest.raises(CommandError, match='--out-config: expected'):
        attach_command(tmp_path, '--out-config', str(tmp_path / 'x.yaml'))
    (tmp_path / 'there.yaml').write_text('name: there')
    with pytest.raises(CommandError, match=r'there\.yaml exists'):
        attach_command(tmp_path, '--config', str(CONFIG), '--out-config', str(tmp_path / 'there.yaml'))


def attach_command(tmp_path, *options):

    from dyn_nodes.commands import attach as command

    line = ['attach', str(PLATFORM), str(ARM), '--to', 'base_link', '-o', str(tmp_path / 'both.urdf'), *options]
    return command.run(build_parser(['attach']).parse_args(line))


def test_defaults_of_the_arm_apply_to_the_arm_only(tmp_path):
    arm = written(
        tmp_path,
        'defaults:\n  valve: {gain: 0.001}\n  motor: {viscous: 5.0}\n'
        'actuators:\n  slew: {type: motor, joint: turn, displacement: 1.0e-3, valve: {gain: 0.002, dead_zone: 0}}\n'
        '  lift: {type: cylinder, joint: shoulder, linkage: {a: 1}}\n'
        'pumps:\n  main: {actuators: [slew, lift], flow: 1.0e-3}\n'
        'locked: [wrist]\nreactions: [turn]\ngravity: 1.62\n'
        'constraints:\n  gear: {kind: coupling, coefficients: {turn: 1, elbow: -2}}\n'
        '  tip: {kind: point, first: {link: hand}, second: {link: world}}\n',
        'arm',
    )
    result = yaml.safe_load(joined_config(CONFIG, arm, 'both', 'a_', 'base_link', 'a_attachment'))
    assert 'gravity' not in result
    assert set(result['defaults']) == {'wheel'}
    slew = result['actuators']['a_slew']
    assert slew['joint'] == 'a_turn'
    assert slew['valve'] == {'gain': 0.002, 'dead_zone': 0}
    assert slew['viscous'] == 5.0
    assert result['actuators']['a_lift']['valve'] == {'gain': 0.001}
    assert 'viscous' not in result['actuators']['a_lift']
    assert result['pumps']['a_main']['actuators'] == ['a_slew', 'a_lift']
    assert result['locked'] == ['a_wrist']
    assert result['reactions'] == ['a_turn', 'a_attachment']
    assert result['constraints']['a_gear']['coefficients'] == {'a_turn': 1, 'a_elbow': -2}
    assert result['constraints']['a_tip']['first'] == {'link': 'a_hand'}
    assert result['constraints']['a_tip']['second'] == {'link': 'world'}


def test_two_payloads_and_equal_names_are_rejected(tmp_path):
    with pytest.raises(CommandError, match='payload: expected it in one file'):
        joined_config(ARM_CONFIG, ARM_CONFIG, 'both', 'a_', 'base')
    arm = written(tmp_path, 'wheels:\n  front: {link: hand}\n', 'feet')
    with pytest.raises(CommandError, match='wheels: both files have front; --prefix'):
        joined_config(CONFIG, arm, 'both', '', 'base_link')


def test_a_platform_without_a_file_is_free_on_its_base():
    result = yaml.safe_load(joined_config(None, ARM_CONFIG, 'both', 'a_', 'chassis'))
    assert result['base'] == {'link': 'chassis', 'attachment': 'free'}
    assert result['payload']['link'] == 'a_hand'


def test_a_file_without_a_mapping_is_rejected(tmp_path):
    with pytest.raises(CommandError, match='expected a mapping, found list'):
        joined_config(written(tmp_path, '- a\n', 'list'), None, 'both', '', 'base')
    with pytest.raises(CommandError, match='expected a file that exists'):
        joined_config(tmp_path / 'absent.yaml', None, 'both', '', 'base')


def test_attach_alone_writes_the_urdf_as_before(tmp_path, capsys):
    assert attach(tmp_path) == 0
    assert 'check' not in capsys.readouterr().out
    assert '<!-- Written by dyn-nodes attach: arm_4r on base_link of agv_omni. -->' in (
        (tmp_path / 'both.urdf').read_text()
    )
