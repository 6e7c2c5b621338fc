"""Parameters of the nodes, read from one YAML file each in `parameter_files/`.

The files follow generate_parameter_library: `type`, `default_value`, `description`, `read_only`, `validation`
(`bounds<>`, `gt_eq<>`, `one_of<>`); and `unit`. `include` adds groups of `shared.yaml`. A group named
`__map_<parameter>` is declared once for every name in that parameter. `defaults` maps groups of parameters ('' for the
node itself) to the dataclasses, `module:name`, whose fields have the `default_value`.

    PARAMETERS = node_parameters('teleop_node')
    values = declare(node, PARAMETERS)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near
from dyn_nodes.middleware import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult

LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
"""YAML loader of the files of this package; libyaml is six times as fast."""
FOLDER = Path(__file__).resolve().parent / 'parameter_files'
SHARED = 'shared'
NONE = 'none'
"""Text that stands for an empty value."""
MAP = '__map_'
TYPES: dict[str, type] = {
    'bool': bool,
    'int': int,
    'double': float,
    'string': str,
    'bool_array': bool,
    'int_array': int,
    'double_array': float,
    'string_array': str,
}
KEYS = ('type', 'default_value', 'description', 'unit', 'read_only', 'validation')
VALIDATORS = ('bounds<>', 'gt_eq<>', 'one_of<>')
GREATEST = {int: 2**63 - 1, float: math.inf}


class ParameterError(UserError, ValueError):
    """A parameter value with which the node cannot start."""


class ParameterFileError(UserError, ValueError):
    """A parameter file with an impossible entry; the message names file, parameter and key."""


@dataclass(frozen=True)
class Declared:
    """A parameter.

    Attributes:
        name, default, description: as declared.
        low, high: inclusive range of a number, or None.
        read_only: fixed after the start.
        choices: the accepted texts, or empty for any.
        unit: SI, or empty.
        type: as in the file; empty: type of the default.
    """

    name: str
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    read_only: bool = True
    choices: tuple[str, ...] = ()
    unit: str = ''
    type: str = ''

    def descriptor(self) -> Any:
        """Return the ROS descriptor; the unit follows the description in brackets."""
        text = f'{self.description} [{self.unit}]' if self.unit else self.description
        descriptor = ParameterDescriptor(description=text, read_only=self.read_only)
        if self.choices:
            descriptor.additional_constraints = f'one of: {", ".join(self.choices)}'
        if self.low is not None and self.high is not None:
            if isinstance(self.default, int):
                bounds = IntegerRange(from_value=int(self.low), to_value=int(self.high), step=0)
                descriptor.integer_range = [bounds]
            else:
                span = FloatingPointRange(from_value=float(self.low), to_value=float(self.high), step=0.0)
                descriptor.floating_point_range = [span]
        return descriptor

    @property
    def shown_name(self) -> str:
        """Return the displayed name: `<joint>` stands for the names of a map."""
        return re.sub(rf'{MAP}(\w+)s', r'<\1>', self.name)

    def default_text(self, quote: str = '') -> str:
        """Return the displayed default, texts between quotes; 'empty' for an empty text, 'none' for an empty list."""
        if isinstance(self.default, list):
            return ', '.join(f'{quote}{item}{quote}' for item in self.default if item != '') or 'none'
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if isinstance(self.default, str):
            return f'{quote}{self.default}{quote}' if self.default else 'empty'
        return f'{self.default:g}'

    def accepted(self, quote: str = '') -> str:
        """Return the choices, between quotes, or the range; '' if any value is accepted."""
        if self.choices:
            return ', '.join(f'{quote}{choice}{quote}' for choice in self.choices)
        if self.low is None or self.high is None:
            return ''
        if self.high in GREATEST.values():
            return f'{self.low:g} or more'
        return f'{self.low:g} to {self.high:g}'

    def problem(self, value: Any) -> str:
        """Return an error text for a value that is not a choice, or ''. ROS checks types and ranges."""
        if not self.choices or value in self.choices:
            return ''
        hint = near(str(value), self.choices)
        return f'parameter {self.name!r}: expected one of {", ".join(self.choices)}; found {value!r}{hint}'


def declare(node: Any, table: Sequence[Declared]) -> dict[str, Any]:
    """Declare the parameters and return their values. Raises ParameterError for a text that is not a choice.

    `none` is an empty text in parameters that are empty by default: `ros2 launch` rejects arguments without a value.
    """
    values = {}
    for declared in table:
        value = node.declare_parameter(declared.name, declared.default, declared.descriptor()).value
        if problem := declared.problem(value):
            raise ParameterError(problem)
        values[declared.name] = '' if value == NONE and declared.default == '' and not declared.choices else value
    if any(declared.choices and not declared.read_only for declared in table):

        def check(parameters: list[Any]) -> Any:
            reason = problem_of_choices(table, parameters)
            return SetParametersResult(successful=not reason, reason=reason)

        node.add_on_set_parameters_callback(check)
    return values


def problem_of_choices(table: Iterable[Declared], parameters: Iterable[Any]) -> str:
    """Return an error text for new values that are not choices, or ''. ROS checks only ranges of numbers.

    A node that sets parameters in a callback calls this first: its callback precedes the one of `declare`.
    """
    declared = {entry.name: entry for entry in table}
    problems = [declared[item.name].problem(item.value) for item in parameters if item.name in declared]
    return '; '.join(problem for problem in problems if problem)


# -- files -------------------------------------------------------------------------------------------------------------


def group(values: Mapping[str, Any], name: str, kind: Any) -> Any:
    """Return a dataclass with the values of a group of parameters. Raises ParameterError."""
    prefix = f'{name}.'
    arguments = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    try:
        return kind(**arguments)
    except ValueError as error:
        raise ParameterError(f'parameters {name!r}: {error}') from None


def node_parameters(node: str) -> tuple[Declared, ...]:
    """Return the parameters of a node without `__map_` groups.

    Raises:
        ParameterFileError: the file is missing or wrong.
    """
    return tuple(declared for declared in _read(node) if MAP not in declared.name)


def mapped_parameters(node: str, source: str, name: str) -> tuple[Declared, ...]:
    """Return the parameters of a node's groups `__map_<source>` for one name of the map."""
    key = f'{MAP}{source}.'
    return tuple(replace(d, name=d.name.replace(key, f'{name}.')) for d in _read(node) if key in d.name)


def all_parameters(node: str) -> tuple[Declared, ...]:
    """Return all parameters of a node, with `__map_<source>` in the names of maps."""
    return _read(node)


def nodes_with_parameters() -> list[str]:
    """Return the nodes with a parameter file."""
    return sorted(path.stem for path in FOLDER.glob('*.yaml') if path.stem != SHARED)


@cache
def _load(name: str) -> dict[str, Any]:
    path = FOLDER / f'{name}.yaml'
    try:
        return yaml.load(path.read_text(), Loader=LOADER)
    except FileNotFoundError:
        raise ParameterFileError(f'no parameters of {name}: expected {path}') from None


@cache
def _read(node: str) -> tuple[Declared, ...]:
    document = _load(node)
    extra = set(document) - {'include', 'defaults', node}
    if extra or not isinstance(document.get(node, {}), dict):
        raise ParameterFileError(f'{node}.yaml: expected the keys include and {node}, found {", ".join(document)}')
    declared: list[Declared] = []
    for group in document.get('include', ()):
        if group not in _load(SHARED):
            raise ParameterFileError(f'{node}.yaml: include: no group {group!r} in {SHARED}.yaml')
        declared += _parse(f'{SHARED}.yaml', '', _load(SHARED)[group])
    table = _with_defaults(f'{node}.yaml', document.get(node) or {}, document.get('defaults', {}))
    declared += _parse(f'{node}.yaml', '', table)
    return tuple(declared)


def _with_defaults(file: str, table: dict[str, Any], classes: dict[str, str]) -> dict[str, Any]:
    """Return the parameters of a node with the defaults of dataclasses."""
    for group, name in classes.items():
        parameters = dict(table[group] if group else table)
        for field in fields(resolve_name(name)):
            if 'default_value' in parameters.get(field.name, {}):
                raise ParameterFileError(f'{file}: {field.name}: default_value is already a field of {name}')
            if field.name in parameters:
                parameters[field.name] = {**parameters[field.name], 'default_value': field.default}
        table = {**table, group: parameters} if group else parameters
    return table


def _parse(file: str, prefix: str, table: dict[str, Any]) -> Iterator[Declared]:
    for key, value in table.items():
        if not isinstance(value, dict):
            raise ParameterFileError(f'{file}: {prefix}{key}: expected a parameter or a group, found {value!r}')
        if isinstance(value.get('type'), str):
            yield _declared(file, f'{prefix}{key}', value)
        else:
            yield from _parse(file, f'{prefix}{key}.', value)


def _declared(file: str, name: str, entry: dict[str, Any]) -> Declared:
    location = f'{file}: {name}'
    for key in entry:
        if key not in KEYS:
            raise ParameterFileError(f'{location}: unknown key {key!r}; expected {", ".join(KEYS)}')
    kind = entry['type']
    if kind not in TYPES:
        raise ParameterFileError(
            f'{location}: type: expected one of {", ".join(TYPES)}; found {kind!r}{near(kind, TYPES)}'
        )
    for key in ('default_value', 'description'):
        if key not in entry:
            raise ParameterFileError(f'{location}: {key} is missing')
    default = entry['default_value']
    items = default if kind.endswith('_array') else [default]
    if not isinstance(items, list) or not items or any(type(item) is not TYPES[kind] for item in items):
        raise ParameterFileError(f'{location}: default_value: expected {kind}, not empty; found {default!r}')
    low, high, choices = _validation(location, TYPES[kind], entry.get('validation', {}))
    declared = Declared(
        name, default, entry['description'], low, high, entry.get('read_only', False), choices, entry.get('unit', ''),
        kind,
    )  # fmt: skip
    if problem := declared.problem(default):
        raise ParameterFileError(f'{file}: default_value: {problem}')
    if low is not None and high is not None and not low <= default <= high:
        raise ParameterFileError(f'{location}: default_value {default} is outside of [{low}, {high}]')
    return declared


def _validation(location: str, kind: type, rules: dict[str, Any]) -> tuple[Any, Any, tuple[str, ...]]:
    """Return low, high and choices."""
    low = high = None
    choices: tuple[str, ...] = ()
    for rule, arguments in rules.items():
        rule_location = f'{location}: validation: {rule}'
        if rule not in VALIDATORS:
            raise ParameterFileError(f'{rule_location}: expected one of {", ".join(VALIDATORS)}')
        if rule == 'one_of<>':
            ((*values,),) = arguments
            choices = tuple(values)
            continue
        count = 2 if rule == 'bounds<>' else 1
        if kind not in GREATEST or len(arguments) != count or any(type(value) is not kind for value in arguments):
            raise ParameterFileError(f'{rule_location}: expected {count} of {kind.__name__}, found {arguments!r}')
        low, high = arguments if count == 2 else (arguments[0], GREATEST[kind])
    return low, high, choices
