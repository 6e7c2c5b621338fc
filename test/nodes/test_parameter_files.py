"""Parameter files of the nodes: valid contents, declared parameters."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.measures import DEFAULT_MEASURES
from dyn_nodes.middleware import Node, Parameter
from dyn_nodes.nodes import parameters
from dyn_nodes.nodes.parameters import (
    Declared,
    ParameterError,
    ParameterFileError,
    all_parameters,
    declare,
    mapped_parameters,
    node_parameters,
    nodes_with_parameters,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a parameter file of a node `some_node` beside the shared one, and clear the caches."""
    (tmp_path / 'shared.yaml').write_text((parameters.FOLDER / 'shared.yaml').read_text())
    monkeypatch.setattr(parameters, 'FOLDER', tmp_path)

    def clear() -> None:
        parameters._read.cache_clear()
        parameters._load.cache_clear()

    def make(text: str) -> None:
        (tmp_path / 'some_node.yaml').write_text(text)
        clear()

    yield make
    clear()


def entry(**changes: Any) -> str:
    """Return the file of a node with one good parameter, changed."""
    fields = {'type': 'double', 'default_value': 1.0, 'description': 'of something', **changes}
    return yaml.safe_dump({'some_node': {'size': {k: v for k, v in fields.items() if v is not None}}})


def test_every_program_of_setup_py_has_a_file_but_the_one_that_takes_a_launch_file() -> None:
    programs = re.search(r'NODES = \((.*?)\)', (ROOT / 'setup.py').read_text(), re.DOTALL)
    assert programs is not None
    names = re.findall(r"'(\w+)'", programs.group(1))
    assert nodes_with_parameters() == sorted(set(names) - {'composition_node'})


@pytest.mark.parametrize('node', nodes_with_parameters())
def test_a_node_declares_the_parameters_of_its_file(node: str) -> None:
    table = all_parameters(node)
    assert table
    assert len({declared.name for declared in table}) == len(table)
    assert all(declared.description and declared.description[-1] != '.' for declared in table)
    module = importlib.import_module(f'dyn_nodes.nodes.{node}')
    assert node_parameters(node) == module.PARAMETERS


def test_the_measures_published_are_those_that_the_simulation_computes_by_default() -> None:
    (measures,) = (d for d in node_parameters('dynamics_node') if d.name == 'measures')
    assert tuple(measures.default) == DEFAULT_MEASURES


def test_a_group_of_a_map_is_declared_for_a_name() -> None:
    gains = {declared.name: declared for declared in mapped_parameters('controller_node', 'joints', 'boom_joint')}
    assert [name for name in gains if not name.startswith('constraints.')] == [
        'gains.boom_joint.p',
        'gains.boom_joint.i',
        'gains.boom_joint.ff_velocity_scale',
    ]
    assert (gains['gains.boom_joint.p'].default, gains['gains.boom_joint.p'].high) == (1.5, 50.0)
    assert not any(declared.name.startswith('gains') for declared in node_parameters('controller_node'))


def test_a_descriptor_has_unit_range_and_choices() -> None:
    descriptors = {declared.name: declared.descriptor() for declared in node_parameters('dynamics_node')}
    period = descriptors['exchange_period']
    assert period.description == 'simulated time between two exchanges with the actuators [s]'
    assert (period.floating_point_range[0].from_value, period.floating_point_range[0].to_value) == (1e-5, 0.1)
    assert period.read_only
    assert descriptors['mode'].additional_constraints == 'one of: realtime, lockstep'
    assert not descriptors['speed'].read_only
    (port,) = (d for d in node_parameters('viewer_node') if d.name == 'port')
    assert port.descriptor().integer_range[0].to_value == 65535


def test_a_file_may_group_include_and_bound_below(write: Any) -> None:
    write(
        'include: [machine]\nsome_node:\n  left:\n    size: {type: int, default_value: 2, description: of it,\n'
        '      validation: {gt_eq<>: [1]}}\n  names: {type: string_array, default_value: [a, b], description: some}\n'
    )
    table = {declared.name: declared for declared in node_parameters('some_node')}
    assert list(table) == ['machine', 'config', 'left.size', 'names']
    size = table['left.size'].descriptor().integer_range[0]
    assert (size.from_value, size.to_value) == (1, 2**63 - 1)
    assert table['names'].default == ['a', 'b']
    assert not table['names'].read_only


SETTINGS = 'dyn_nodes.governor.settings:GripSettings'
"""A dataclass with a field `overshoot`."""


@pytest.mark.parametrize('group', ['', 'grip'])
def test_a_default_may_be_that_of_a_field_of_a_dataclass(write: Any, group: str) -> None:
    text = 'overshoot: {type: double, description: of it}'
    table = f'{{{group}: {{{text}}}}}' if group else f'{{{text}}}'
    write(f'defaults: {{{group!r}: {SETTINGS!r}}}\nsome_node: {table}\n')
    (declared,) = node_parameters('some_node')
    assert declared.default == GripSettings().overshoot


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (entry(type='float'), r'some_node\.yaml: size: type: expected one of bool, .*found .float'),
        (entry(default_value='1e-5'), r'size: default_value: expected double, .* found .1e-5'),
        (entry(default_value=1), r'size: default_value: expected double'),
        (entry(type='string_array', default_value=[]), r'size: default_value: expected string_array, not empty'),
        (entry(description=None), r'size: description is missing'),
        (entry(units='m'), r"size: unknown key 'units'; expected type, .*unit"),
        (entry(validation={'lower<>': [1.0]}), r'size: validation: lower<>: expected one of bounds<>'),
        (entry(validation={'bounds<>': [0, 1]}), r'size: validation: bounds<>: expected 2 of float'),
        (entry(validation={'gt_eq<>': [2.0]}), r'size: default_value 1\.0 is outside of \[2\.0, inf\]'),
        (entry(type='string', default_value='c', validation={'one_of<>': [['a', 'b']]}), r'expected one of a, b'),
        ('some_node:\n  size: 3\n', r'some_node\.yaml: size: expected a parameter or a group, found 3'),
        ('include: [wheels]\nsome_node: {}\n', r"include: no group 'wheels' in shared\.yaml"),
        (
            f'defaults: {{"": {SETTINGS!r}}}\nsome_node: {{overshoot: {{type: double, default_value: 1.0}}}}\n',
            r'some_node\.yaml: overshoot: default_value is already a field of dyn_nodes\.governor\.settings:Grip',
        ),
        ('other_node: {}\n', r'expected the keys include and some_node, found other_node'),
    ],
)
def test_a_wrong_file_is_rejected_with_the_location(write: Any, text: str, message: str) -> None:
    write(text)
    with pytest.raises(ParameterFileError, match=message):
        node_parameters('some_node')


def test_a_missing_parameter_file_is_reported_with_its_path() -> None:
    with pytest.raises(ParameterFileError, match=r'no parameters of no_node: expected .*no_node\.yaml'):
        node_parameters('no_node')


def test_none_is_an_empty_text_where_the_default_is_empty(context: Any) -> None:
    """`ros2 launch` rejects arguments without a value, so that `task:=''` cannot be entered."""
    table = (Declared('task', '', 'a file'), Declared('shaper', '', 'a kind', choices=('', 'none', 'zv')))
    overrides = [Parameter('task', value='none'), Parameter('shaper', value='none')]
    node = Node('node_with_none', context=context, parameter_overrides=overrides)
    assert declare(node, table) == {'task': '', 'shaper': 'none'}
    node.destroy_node()


def test_out_of_range_and_none_of_the_choices_are_rejected_with_the_reason(context: Any) -> None:
    node = Node('some_node', context=context)
    table = (
        Declared('speed', 1.0, 'how fast', 0.0, 2.0, read_only=False),
        Declared('colour', 'red', 'of it', read_only=False, choices=('red', 'green')),
        Declared('fixed', 1, 'for ever'),
    )
    assert declare(node, table) == {'speed': 1.0, 'colour': 'red', 'fixed': 1}
    results = node.set_parameters(
        [Parameter('speed', value=3.0), Parameter('colour', value='blue'), Parameter('fixed', value=2)]
    )
    assert [result.successful for result in results] == [False, False, False]
    assert re.search(r'0\.0, .*2\.0', results[0].reason)
    assert results[1].reason == "parameter 'colour': expected one of red, green; found 'blue'"
    assert 'read-only' in results[2].reason
    (good,) = node.set_parameters([Parameter('colour', value='green')])
    assert good.successful
    assert node.get_parameter('colour').value == 'green'
    other = Node('other_node', context=context, parameter_overrides=[Parameter('colour', value='blue')])
    with pytest.raises(ParameterError, match='expected one of red, green'):
        declare(other, table)
