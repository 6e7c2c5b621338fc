from __future__ import annotations

import textwrap

import pytest

from roslite.runtime.api import Node, RCLInvalidROSArgsError, remove_ros_args
from roslite.runtime.arguments import load_parameter_file, parse_arguments
from roslite.runtime.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    UnknownROSArgsError,
)
from roslite.runtime.names import expand_name, validate_namespace, validate_node_name


@pytest.mark.parametrize(
    ('name', 'full'),
    [
        ('joint_states', '/yard/joint_states'),
        ('/clock', '/clock'),
        ('~/reset', '/yard/loader/reset'),
        ('~', '/yard/loader'),
        ('hydraulics/boom', '/yard/hydraulics/boom'),
        ('{node}/x', '/yard/loader/x'),
        ('{ns}/x', '/yard/x'),
    ],
)
def test_names_are_expanded_with_namespace_and_node(name, full):
    assert expand_name(name, 'loader', '/yard') == full


@pytest.mark.parametrize('name', ['', 'a b', 'a//b', 'a/', '1a', 'a/1b', '~a', 'a-b', '{who}/x', '/'])
def test_bad_topic_names_are_rejected(name):
    with pytest.raises(InvalidTopicNameException):
        expand_name(name, 'loader', '/')
    with pytest.raises(InvalidServiceNameException):
        expand_name(name, 'loader', '/', is_service=True)


@pytest.mark.parametrize('name', ['', 'a b', '1a', 'a/b', 'a-b'])
def test_bad_node_names_are_rejected(name):
    with pytest.raises(InvalidNodeNameException):
        validate_node_name(name)


def test_namespaces_are_made_absolute_and_checked():
    assert validate_namespace('yard') == '/yard'
    assert validate_namespace('/') == '/'
    assert validate_namespace('/a/b/') == '/a/b'
    for bad in ('/a b', '/1a', '//a', '/a//b'):
        with pytest.raises(InvalidNamespaceException):
            validate_namespace(bad)


def test_values_on_the_command_line_are_typed_by_their_spelling():
    words = ['a:=1', 'b:=1.0', 'c:=true', 'd:=text', 'e:=[1, 2]', 'f:=1e-3', "g:='1'", 'h:=2020-01-01', 'i:=1:30']
    words.append("j:=''")
    args = ['--ros-args']
    for word in words:
        args += ['-p', word]
    overrides = parse_arguments(args).parameter_overrides('n', '/')
    numbers = {'a': 1, 'b': 1.0, 'c': True, 'e': [1, 2], 'f': 1e-3}
    assert overrides == {**numbers, 'd': 'text', 'g': '1', 'h': '2020-01-01', 'i': '1:30', 'j': ''}
    assert isinstance(overrides['b'], float)
    assert isinstance(overrides['a'], int)


def test_arguments_outside_the_marks_are_unchanged():
    words = ['prog', '--plain', '--ros-args', '-p', 'a:=1', '--', 'rest', '--ros-args', '--log-level', 'debug']
    assert remove_ros_args(words) == ['prog', '--plain', 'rest']
    parsed = parse_arguments(words)
    assert parsed.parameter_overrides('n', '/') == {'a': 1}
    assert parsed.log_level == 10


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (['-p', 'a'], 'expected name:=value'),
        (['-p'], 'needs a value'),
        (['-p', 'a:=[1, x]'], 'expected a list of values of one type'),
        (['-p', 'a:={b: 1}'], 'expected a bool, number, string or list'),
        (['-p', 'a:=[1'], 'not YAML'),
        (['-r', 'a:='], 'expected name:=value'),
        (['--log-level', 'loud'], 'expected one of'),
        (['--params-file', '/nowhere.yaml'], 'expected a file that exists'),
    ],
)
def test_wrong_arguments_are_rejected_with_a_reason(words, reason):
    with pytest.raises(RCLInvalidROSArgsError, match=reason):
        parse_arguments(['--ros-args', *words])


def test_an_unknown_flag_is_rejected():
    with pytest.raises(UnknownROSArgsError, match='--frobnicate'):
        parse_arguments(['--ros-args', '--frobnicate'])


@pytest.fixture
def parameter_file(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        textwrap.dedent(
            """
            /**:
              ros__parameters:
                rate: 50.0
                valve:
                  gain: 1.5
                  names: [a, b]
            loader:
              ros__parameters:
                rate: 100.0
            /yard/*:
              ros__parameters: {place: yard}
            yard:
              loader:
                ros__parameters: {deep: 1e-6}
            """
        ),
        encoding='utf-8',
    )
    return path


def test_a_parameter_file_reaches_nodes_by_name_and_wildcard(parameter_file):
    parsed = parse_arguments(['--ros-args', '--params-file', str(parameter_file)])
    assert parsed.parameter_overrides('other', '/') == {'rate': 50.0, 'valve.gain': 1.5, 'valve.names': ['a', 'b']}
    assert parsed.parameter_overrides('loader', '/')['rate'] == 100.0
    in_yard = parsed.parameter_overrides('loader', '/yard')
    assert (in_yard['rate'], in_yard['place'], in_yard['deep']) == (50.0, 'yard', 1e-6)
    assert 'place' not in parsed.parameter_overrides('loader', '/yard/deeper')


def test_a_later_argument_wins_over_an_earlier_one(parameter_file):
    parsed = parse_arguments(['--ros-args', '--params-file', str(parameter_file), '-p', 'rate:=1.0'])
    assert parsed.parameter_overrides('loader', '/')['rate'] == 1.0


def test_a_parameter_for_one_node_only():
    parsed = parse_arguments(['--ros-args', '-p', 'loader:rate:=1.0'])
    assert parsed.parameter_overrides('loader', '/yard') == {'rate': 1.0}
    assert parsed.parameter_overrides('other', '/yard') == {}


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('node: 3', "expected 'ros__parameters' under '/node'"),
        ('node:\n  ros__parameters: 3', 'must be a mapping'),
        ('node:\n  ros__parameters:\n    a: [1, x]', r'/node, a: expected a list of values of one type'),
        ('node: [', 'line 1: expected well-formed YAML'),
    ],
)
def test_an_error_of_a_parameter_file_has_its_location(tmp_path, text, reason):
    path = tmp_path / 'wrong.yaml'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(RCLInvalidROSArgsError, match=reason) as caught:
        load_parameter_file(path)
    assert 'wrong.yaml' in str(caught.value)


def test_remapping_of_names_node_and_namespace(make_context):
    context = make_context(
        '--ros-args', '-r', '__ns:=/yard', '-r', 'first:__node:=loader', '-r', 'joint_states:=measured',
        '-r', 'loader:~/reset:=/reset_all', '-r', '/odom:=truth',
    )  # fmt: skip
    node = Node('first', context=context)
    other = Node('other', context=context)
    assert node.get_fully_qualified_name() == '/yard/loader'
    assert node.resolve_topic_name('joint_states') == '/yard/measured'
    assert node.resolve_service_name('~/reset') == '/reset_all'
    assert node.resolve_topic_name('/odom') == '/yard/truth'
    assert other.get_fully_qualified_name() == '/yard/other'
    assert other.resolve_service_name('~/reset') == '/yard/other/reset'
    assert node.resolve_topic_name('joint_states', only_expand=True) == '/yard/joint_states'
