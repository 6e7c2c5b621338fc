"""Node parameters of a launch file: types, nesting and parameter files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from roslite.launching.context import LaunchContext
from roslite.launching.errors import SubstitutionError
from roslite.launching.substitutions import expand
from roslite.launching.xmltree import Element
from roslite.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text

_SCALARS: dict[str, type] = {'int': int, 'float': float, 'bool': bool, 'str': str}
_TYPES = (*_SCALARS, *(f'list_of_{name}' for name in _SCALARS))


LONG = 10_000
"""Number of characters above which a text is long."""


def guess(text: str) -> Any:
    """Return the YAML value of a text: a number, a boolean, a homogeneous list of them, or the text itself."""
    try:
        value = load_yaml(text)
    except TextFileError:
        return text
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and value:
        if all(isinstance(item, int | float) and not isinstance(item, bool) for item in value):
            return [float(item) for item in value] if any(isinstance(item, float) for item in value) else value
        if all(type(item) is type(value[0]) and isinstance(item, bool | str) for item in value):
            return value
    return text


def convert(text: str, kind: str) -> Any:
    """Return a text converted to one of the front end's types.

    Raises:
        ValueError: the text has another type.
    """
    if kind.startswith('list_of_'):
        values = load_yaml(text)
        if not isinstance(values, list):
            raise ValueError(kind)
        return [convert(str(value), kind[len('list_of_') :]) for value in values]
    if kind == 'bool':
        word = text.strip().lower()
        if word not in ('true', 'false', '1', '0', 'yes', 'no', 'on', 'off'):
            raise ValueError(kind)
        return word in ('true', '1', 'yes', 'on')
    return _SCALARS[kind](text)


def to_yaml(value: Any) -> str:
    """Return one line of YAML for `-p name:=value`; a long text as JSON, because the YAML writer is too slow."""
    if isinstance(value, str) and len(value) > LONG and max(value) <= '\uffff':
        return json.dumps(value)
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True)
    return text.removesuffix('...\n').strip()


def _typed_value(element: Element, context: LaunchContext) -> Any:
    text = context.required(element, 'value')
    kind = element.attributes.get('type')
    if 'value-sep' in element.attributes:
        items = [guess(item) for item in text.split(element.attributes['value-sep'])]
        return guess(to_yaml(items)) if kind is None else convert(to_yaml(items), kind)
    if kind is None:
        return guess(text)
    if kind not in _TYPES:
        raise element.error(f'expected one of {", ".join(_TYPES)}, found {kind!r}', 'type')
    try:
        return convert(text, kind)
    except (ValueError, TypeError, yaml.YAMLError):
        raise element.error(f'expected a value of type {kind}, found {text!r}', 'value') from None


def _named(element: Element, context: LaunchContext, prefix: str = '') -> list[tuple[str, str]]:
    """Return the parameters of a `<param name>`; names of nested parameters have dots."""
    name = prefix + context.required(element, 'name')
    if not name or ':=' in name:
        raise element.error(f'expected a parameter name, found {name!r}', 'name')
    nested = list(element.find_all('param'))
    if nested and 'value' in element.attributes:
        raise element.error("expected an attribute 'value' or nested <param> elements, found both")
    if nested:
        return [pair for child in nested for pair in _named(child, context, f'{name}.')]
    return [(name, to_yaml(_typed_value(element, context)))]


def _file(element: Element, context: LaunchContext) -> str:
    """Return the path of a `<param from>`; with `allow_substs` the path of a copy with substitutions performed."""
    path = Path(context.required(element, 'from'))
    if not path.is_file():
        raise element.error(f'expected a parameter file, found no file {str(path)!r}', 'from')
    if not context.flag(element, 'allow_substs'):
        return str(path)
    try:
        text = expand(read_text(path, LARGEST_YAML), context)
    except (SubstitutionError, TextFileError) as error:
        raise element.error(f'{path}: {error}', 'from') from None
    if context.log_directory is None:
        return str(path)
    context.generated += 1
    copy = context.log_directory / f'{path.stem}-{context.generated}.yaml'
    copy.write_text(text, encoding='utf-8')
    return str(copy)


def parameter_arguments(node: Element, context: LaunchContext) -> list[str]:
    """Return the `--ros-args` arguments of `<set_parameter>` and then of a node's `<param>` elements, in order.

    Raises:
        LaunchError: an invalid parameter, or a missing file.
    """
    arguments: list[str] = []
    for name, value in context.parameters:
        context.take(node, lambda: context.budget.take_text(len(name) + len(value)))  # noqa: B023 - called at once
        arguments += ['-p', f'{name}:={value}']
    for element in node.find_all('param'):
        if 'from' in element.attributes and 'name' in element.attributes:
            raise element.error("expected one of the attributes 'name' and 'from', found both")
        if 'from' in element.attributes:
            arguments += ['--params-file', _file(element, context)]
        elif 'name' in element.attributes:
            for name, value in _named(element, context):
                arguments += ['-p', f'{name}:={value}']
        else:
            raise element.error("expected the attribute 'name' or 'from', found neither")
    return arguments
