"""Tests of the types of options and of earlier names of options."""

from __future__ import annotations

import argparse

import pytest

from dyn_nodes.cli import build_parser, main
from dyn_nodes.commands import EARLIER, CommandParser
from dyn_nodes.commands.option_types import (
    at_least,
    between,
    count,
    finite,
    numbers_by_name,
    pair,
    pairs,
    picture,
    positive,
)


def options(parser, path=()):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from options(child, (*path, name))
        yield path, action


@pytest.mark.parametrize(
    ('kind', 'good', 'bad', 'expected'),
    [
        (between(0, 45, 'degrees'), '45', '45.1', '0 to 45 degrees'),
        (between(0.0, 1e5), '0', 'nan', '0 to 100000'),
        (at_least(0, 'kg'), '0', 'inf', '0 kg or more'),
        (positive(), '1e-9', '0', 'more than 0'),
        (positive(1.0), '1', '1.1', 'more than 0 and at most 1'),
        (count(1, 1_000_000), '1_000_000', '0', '1 to 1000000'),
        (count(2), '2', '1', '2 or more'),
        (count(), '0', '0.5', 'a whole number'),
        (finite, '-1', 'inf', 'a finite number'),
        (finite, '-1', 'x\x1b[31m', 'a number'),
        (numbers_by_name, 'a=1,b=-2', 'a=1,b', 'NAME=NUMBER'),
        (numbers_by_name, 'a=1', '=1', 'NAME=NUMBER'),
        (pair, '1,-2', '1,nan', 'two finite numbers with a comma'),
        (pairs, '1,2 3,4', '1,2 3', 'two finite numbers with a comma'),
        (picture, 'a.svg', 'a.txt', 'a .png, .svg or .pdf'),
    ],
)
def test_a_value_beyond_its_range_is_reported_with_option_range_and_value(capsys, kind, good, bad, expected):
    parser = CommandParser()
    parser.add_argument('--x', type=kind)
    assert parser.parse_args([f'--x={good}']).x is not None
    with pytest.raises(Exception, match=f'^--x: expected {expected}') as caught:
        parser.parse_args([f'--x={bad}'])
    assert 'found' in str(caught.value)
    assert str(caught.value).isprintable()
    assert caught.value.status == 2


def test_numbers_are_parsed_by_name_and_in_pairs():
    assert numbers_by_name('a=1,b=-2.5') == {'a': 1.0, 'b': -2.5}
    assert pairs('1,2 3,4') == [(1.0, 2.0), (3.0, 4.0)]


def test_every_number_has_a_range():
    unlimited = [(path, action) for path, action in options(build_parser()) if action.type in (int, float)]
    assert not unlimited


def test_equal_options_have_equal_names_in_all_commands():
    names = {(option, *path) for path, action in options(build_parser()) for option in action.option_strings}
    assert {name[1:] for name in names if name[0] == '-o'} == {name[1:] for name in names if name[0] == '--out'}
    assert not {name for name in names if name[0] in ('--output', '--output-config', '--seconds', '--urdf', '--yaml')}
    assert {path[0] for option, *path in names if option == '--from'} == {'bag'}


@pytest.mark.parametrize(
    ('words', 'name', 'value'),
    [
        ('attach a b --to x --output c.urdf --output-config=c.yaml', 'out_config', 'c.yaml'),
        ('bag record --output my_bag', 'out', 'my_bag'),
        ('design isotropic --wheels 3 --map m.png', 'plot', 'm.png'),
        ('fit bag tried --seconds 80', 'duration', '80.0'),
        ('ik log_loader --link x --pose 1 2 3 --from a=1 --free b', 'joints', "['b']"),
        ('loadchart log_loader --supports 1 --at a=1', 'posture', "[{'a': 1.0}]"),
        ('loadchart log_loader --map 5 --out x', 'map', '5'),
        ('linearize log_loader --bag b --at 3', 'at', '3.0'),
    ],
)
def test_earlier_names_of_options_are_accepted_and_not_shown(words, name, value, capsys):
    command = words.split(maxsplit=1)[0]
    args = build_parser([command]).parse_args(words.split())
    assert str(getattr(args, name)) == value
    assert all(present.startswith('--') for present in EARLIER.values())


def test_a_wrong_value_is_reported_in_one_line_without_usage(capsys):
    assert main(['governor', 'test', 'log_loader', '--jobs', '0']) == 2
    assert capsys.readouterr().err == 'dyn-nodes: --jobs: expected 1 to 1024, found 0\n'


@pytest.mark.parametrize('words', [['my.yaml', '--plan'], ['--plan', 'my.yaml'], ['run', 'my.yaml', '--plan']])
def test_a_sweep_is_run_with_and_without_its_verb(words):
    args = build_parser(['sweep']).parse_args(['sweep', *words])
    assert (args.verb, args.file, args.plan) == ('run', 'my.yaml', True)
