"""`--ros-args`: parameters, parameter files, remappings, log levels."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from roslite.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text

from .exceptions import RCLInvalidROSArgsError, UnknownROSArgsError
from .names import expand_name, full_node_name, validate_namespace, validate_node_name

LONGEST_SHOWN = 100
LEVELS = {'unset': 0, 'debug': 10, 'info': 20, 'warn': 30, 'warning': 30, 'error': 40, 'fatal': 50}


class _Loader(yaml.SafeLoader):
    """YAML loader with the scalars of parameter files: no dates, no base-60 numbers; 1e-3 is a number."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ('bool', r'^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$', 'yYnNtTfFoO'),
    ('int', r'^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)$', '-+0123456789'),
    (
        'float',
        r'^[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|'
        r'\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$',
        '-+0123456789.',
    ),
    ('null', r'^(?:~|null|Null|NULL|)$', ['~', 'n', 'N', '']),
):
    _Loader.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(_pattern), list(_first))


def _construct_bool(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() in ('y', 'yes', 'true', 'on')


_Loader.add_constructor('tag:yaml.org,2002:bool', _construct_bool)


@dataclass(frozen=True)
class Remap:
    """One `-r` rule: `node` limits it to a node of that name; `source` and `target` are unchanged."""

    node: str | None
    source: str
    target: str


@dataclass
class Arguments:
    """Content of `--ros-args`, in order."""

    parameters: list[tuple[str, str, Any]] = field(default_factory=list)
    remaps: list[Remap] = field(default_factory=list)
    log_level: int | None = None
    logger_levels: dict[str, int] = field(default_factory=dict)
    rosout: bool = True
    stdout: bool = True
    enclave: str = '/'
    rest: list[str] = field(default_factory=list)

    def node_name(self, name: str) -> str:
        """Return the name of a node after remapping by `__node:=`."""
        for rule in self.remaps:
            if rule.source in ('__node', '__name') and rule.node in (None, name):
                return rule.target
        return name

    def namespace(self, name: str, namespace: str) -> str:
        """Return the namespace after remapping by `__ns:=` for a node created as `name`."""
        for rule in self.remaps:
            if rule.source == '__ns' and rule.node in (None, name):
                return rule.target
        return namespace

    def remap(self, full: str, node: str, namespace: str) -> str:
        """Return a fully qualified topic or service name after remapping by the first matching rule."""
        for rule in self.remaps:
            if rule.source.startswith('__') or rule.node not in (None, node):
                continue
            source = rule.source.split('://', 1)[-1]
            if expand_name(source, node, namespace) == full:
                return expand_name(rule.target, node, namespace)
        return full

    def parameter_overrides(self, node: str, namespace: str) -> dict[str, Any]:
        """Return the parameters of a node by name; later values override earlier ones."""
        full = full_node_name(node, namespace)
        return {name: value for pattern, name, value in self.parameters if matches_node(pattern, full)}


def matches_node(pattern: str, full: str) -> bool:
    """Return whether a node pattern of a parameter file (`/**`, `/ns/*`, `node`) matches a full node name."""
    text = pattern if pattern.startswith('/') else f'/{pattern}'
    regex = re.escape(text).replace(r'/\*\*', '(?:/[^/]+)*').replace(r'\*', '[^/]+')
    return re.fullmatch(regex, full) is not None


def parse_value(text: str, location: str) -> Any:
    """Return the value of a `-p name:=value` argument, read as YAML.

    Raises:
        RCLInvalidROSArgsError: not a valid parameter value.
    """
    try:
        value = load_yaml(text, _Loader)
    except TextFileError as error:
        raise RCLInvalidROSArgsError(f'{location}: not YAML: {error}') from None
    return check_value(value, location)


def check_value(value: Any, location: str) -> Any:
    """Return `value` if it is a valid parameter value; a list must have one type.

    Raises:
        RCLInvalidROSArgsError: None, a mapping or a mixed list.
    """
    if isinstance(value, (bool, int, float, str)):
        return _in_range(value, location)
    if isinstance(value, list) and all(isinstance(item, (bool, int, float, str)) for item in value):
        if len({type(item) for item in value}) > 1:
            raise RCLInvalidROSArgsError(f'{location}: expected a list of values of one type, found {_shown(value)}')
        return [_in_range(item, location) for item in value]
    expected = 'a bool, number, string or list of one of them'
    raise RCLInvalidROSArgsError(f'{location}: expected {expected}, found {_shown(value)}')


def _in_range(value: Any, location: str) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise RCLInvalidROSArgsError(f'{location}: expected an integer of 64 bits, found one of {value.bit_length()}')
    return value


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= LONGEST_SHOWN else f'{text[:LONGEST_SHOWN]}...'


def load_parameter_file(path: str | Path) -> list[tuple[str, str, Any]]:
    """Read a ROS parameter file.

    Returns:
        (node pattern, parameter name, value) in the order of the file; nested keys are joined with dots.

    Raises:
        RCLInvalidROSArgsError: missing file, not YAML, or not of the form `node: {ros__parameters: {...}}`.
    """
    try:
        tree = load_yaml(read_text(path, LARGEST_YAML), _Loader)
    except TextFileError as error:
        raise RCLInvalidROSArgsError(f'parameter file {path}: {error}') from None
    if tree is None:
        return []
    values: list[tuple[str, str, Any]] = []
    _walk_nodes(tree, '', str(path), values)
    return values


def _walk_nodes(tree: Any, prefix: str, path: str, values: list[tuple[str, str, Any]]) -> None:
    if not isinstance(tree, dict):
        raise RCLInvalidROSArgsError(f"parameter file {path}: expected 'ros__parameters' under {prefix or 'a node'!r}")
    for key, value in tree.items():
        if key == 'ros__parameters':
            if value is not None:
                _walk_parameters(value, '', prefix, path, values)
        else:
            _walk_nodes(value, f'{prefix}/{str(key).strip("/")}', path, values)


def _walk_parameters(tree: Any, name: str, node: str, path: str, values: list[tuple[str, str, Any]]) -> None:
    if isinstance(tree, dict):
        for key, value in tree.items():
            _walk_parameters(value, f'{name}.{key}' if name else str(key), node, path, values)
        return
    if not name:
        raise RCLInvalidROSArgsError(f'parameter file {path}: ros__parameters of {node} must be a mapping')
    values.append((node, name, check_value(tree, f'parameter file {path}, {node}, {name}')))


def parse_arguments(args: Sequence[str] | None = None) -> Arguments:
    """Parse the command-line arguments between `--ros-args` and `--`; other arguments are in `rest`.

    Args:
        args: arguments with or without the program's name; None: `sys.argv`.

    Raises:
        RCLInvalidROSArgsError, UnknownROSArgsError: an invalid flag or value.
    """
    result = Arguments()
    queue = list(sys.argv if args is None else args)
    inside = False
    while queue:
        word = queue.pop(0)
        if not inside:
            if word == '--ros-args':
                inside = True
            else:
                result.rest.append(word)
        elif word == '--':
            inside = False
        elif word != '--ros-args':
            _parse_flag(word, queue, result)
    return result


def _take(flag: str, queue: list[str]) -> str:
    if not queue or queue[0] in ('--', '--ros-args'):
        raise RCLInvalidROSArgsError(f'{flag} needs a value')
    return queue.pop(0)


def _rule(text: str, flag: str) -> tuple[str, str]:
    left, sign, right = text.partition(':=')
    if not sign or not left or (not right and flag != '-p'):
        raise RCLInvalidROSArgsError(f'{flag}: expected name:=value, found {text!r}')
    return left, right


def _parse_flag(word: str, queue: list[str], result: Arguments) -> None:
    if word in ('-p', '--param'):
        name, text = _rule(_take(word, queue), '-p')
        node, _, short = name.rpartition(':')
        result.parameters.append((f'/**/{node.strip("/")}' if node else '/**', short, parse_value(text, f'-p {name}')))
    elif word == '--params-file':
        result.parameters += load_parameter_file(_take(word, queue))
    elif word in ('-r', '--remap'):
        result.remaps.append(_parse_remap(_take(word, queue)))
    elif word == '--log-level':
        _parse_log_level(_take(word, queue), result)
    elif word in ('-e', '--enclave'):
        result.enclave = _take(word, queue)
    elif word in ('--enable-rosout-logs', '--disable-rosout-logs'):
        result.rosout = word.startswith('--enable')
    elif word in ('--enable-stdout-logs', '--disable-stdout-logs'):
        result.stdout = word.startswith('--enable')
    elif word in ('--enable-external-lib-logs', '--disable-external-lib-logs'):
        pass
    elif word in ('--log-config-file', '--log-file-name'):
        _take(word, queue)
    else:
        raise UnknownROSArgsError(f'unknown ROS argument {word!r}')


def _parse_remap(text: str) -> Remap:
    left, right = _rule(text, '-r')
    node, sign, source = left.partition(':')
    if not sign or source.startswith('//'):  # rostopic:// and rosservice:// are not node names
        node, source = '', left
    if source in ('__node', '__name'):
        validate_node_name(right)
    elif source == '__ns':
        validate_namespace(right)
    return Remap(node or None, source, right)


def _parse_log_level(text: str, result: Arguments) -> None:
    name, sign, level = text.rpartition(':=')
    if level.lower() not in LEVELS:
        raise RCLInvalidROSArgsError(f'--log-level: expected one of {", ".join(LEVELS)}, found {level!r}')
    if sign:
        result.logger_levels[name] = LEVELS[level.lower()]
    else:
        result.log_level = LEVELS[level.lower()]
