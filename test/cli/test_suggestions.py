"""Misspelt words: the error suggests the correct word and shows the usage of the command."""

from __future__ import annotations

import pytest

from dyn_nodes.cli import main
from dyn_nodes.measures import Measure


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ('launch log_loader viewer=true', "found 'viewer=true' (did you mean viewer:=true?)"),
        ('launch log_loader viewer:true', '(did you mean viewer:=true?)'),
        ('launch log_loader mode:=lockstep payload=12.5', '(did you mean payload:=12.5?)'),
        ('launch dyn_nodes log_loader viewer=true', '(did you mean viewer:=true?)'),
        ('launch log_loader viewer', "expected arguments of the form name:=value, found 'viewer'"),
        ('launch log_loadr', "no launch file 'log_loadr' (did you mean 'log_loader'?)"),
        ('launch log_loadr viewer=true', "(did you mean 'log_loader'?)"),
        ('launch machin.launch.xml', "found no such file (did you mean 'machine'?)"),
        ('launch log_loader veiwer:=true', '(did you mean viewer:=?)'),
        ('launch log_loader mode:=lockstp', "found 'lockstp' (did you mean 'lockstep'?)"),
        ('sweep log_loader_tip_ovr', "(did you mean 'log_loader_tip_over.yaml'?)"),
        ('governor test log_loadr', "(did you mean 'log_loader.urdf'?)"),
        ('omni simulate six_wheel path_3', "found 'six_wheel' (did you mean 'six_wheels'?)"),
        ('omni simulate six_wheels pth_3', "(did you mean 'path_3'?)"),
        (
            'linearize log_loader --posture boom_jont=0.5',
            "unknown joint; known: swing_joint, boom_joint, stick_joint (did you mean 'boom_joint'?)",
        ),
        ('linearize log_loader --posture boom_joint:=0.5', "(did you mean 'boom_joint=0.5'?)"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(capsys, words, expected):
    assert main(words.split()) == 1
    error = capsys.readouterr().err
    assert expected in error
    assert 'ROS 2 installation' not in error
    assert len(error) < 900


@pytest.mark.parametrize(
    ('words', 'usage', 'hint'),
    [
        ('report bag --ouut x', 'usage: dyn-nodes report [-h]', "--ouut x (did you mean '--out'?)"),
        ('fit hydraulics bag --machine m --jsn', 'usage: dyn-nodes fit hydraulics [-h]', "(did you mean '--json'?)"),
        ('study run x --bogus', 'usage: dyn-nodes study run [-h]', 'unrecognized arguments: --bogus\n'),
        ('demo surplus', 'usage: dyn-nodes demo [-h]', 'unrecognized arguments: surplus\n'),
        ('--verson', 'usage: dyn-nodes [-h]', "(did you mean '--version'?)"),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_command(capsys, words, usage, hint):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith(usage)
    assert hint in error


def test_a_missing_package_is_reported_as_a_package(capsys):
    assert main(['launch', 'somebodys_package', 'their.launch.xml']) == 1
    assert "the package 'somebodys_package' was not found" in capsys.readouterr().err


def test_a_stability_measure_may_have_another_unit():
    made = Measure('mine', 'my measure', 'rad/s2', 'How fast it falls.', 'static')
    assert (made.display_unit, made.scale, made.display(0.25)) == ('rad/s2', 1.0, '0.25 rad/s2')
