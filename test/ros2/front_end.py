"""Contents of launch files that the XML front end of ROS 2's launch and launch_ros accepts, by release.

Written from the `parse` methods of the actions and the `expose_substitution` names of the releases Humble and Jazzy.
`ros2 launch` rejects every attribute and child that no action has requested; so does this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import yaml

HUMBLE, JAZZY = 'humble', 'jazzy'

CONDITIONS = {'if', 'unless'}
# Humble has on_exit since 2025 (ros2/launch#863).
PROCESS = {'cwd', 'output', 'respawn', 'respawn_delay', 'launch-prefix', 'shell', 'on_exit'}
PROCESS_SINCE_JAZZY = {'respawn_max_retries', 'sigkill_timeout', 'sigterm_timeout', 'emulate_tty'}
_SUBSTITUTIONS = """
anon and command dirname env eval exec-in-pkg filename find-exec find-pkg-prefix find-pkg-share not or param var
"""
_SINCE_JAZZY = 'all any equals not-equals if file-content launch_log_dir log_dir'
SUBSTITUTIONS = {HUMBLE: set(_SUBSTITUTIONS.split()), JAZZY: {*_SUBSTITUTIONS.split(), *_SINCE_JAZZY.split()}}
TYPES = {'int', 'float', 'bool', 'str', *(f'list_of_{name}' for name in ('int', 'float', 'bool', 'str'))}


@dataclass(frozen=True)
class Shape:
    """Permitted and required contents of an element."""

    required: set[str] = field(default_factory=set)
    optional: set[str] = field(default_factory=set)
    children: set[str] = field(default_factory=set)
    is_action: bool = True
    since_jazzy: set[str] = field(default_factory=set)


ANY_ACTION = {'*'}
ELEMENTS = {
    'launch': Shape(optional={'version'}, children=ANY_ACTION, is_action=False),
    'arg': Shape({'name'}, {'default', 'description'}, {'choice'}),
    'let': Shape({'name', 'value'}),
    'include': Shape({'file'}, children={'arg'}),
    'group': Shape(optional={'scoped', 'forwarding'}, children=ANY_ACTION | {'keep'}),
    'node': Shape(
        {'exec'},
        {'pkg', 'name', 'exec_name', 'namespace', 'args', 'ros_args'} | PROCESS,
        {'param', 'remap', 'env'},
        since_jazzy=PROCESS_SINCE_JAZZY,
    ),
    'executable': Shape({'cmd'}, {'name'} | PROCESS, {'env'}, since_jazzy=PROCESS_SINCE_JAZZY),
    'push_ros_namespace': Shape({'namespace'}),
    'push-ros-namespace': Shape({'namespace'}),
    'set_env': Shape({'name', 'value'}),
    'unset_env': Shape({'name'}),
    'append_env': Shape({'name', 'value'}, {'prepend', 'separator'}),
    'set_parameter': Shape({'name', 'value'}),
    'set_parameters_from_file': Shape({'filename'}),
    'set_remap': Shape({'from', 'to'}),
    'set_use_sim_time': Shape({'value'}),
    'log': Shape({'message'}),
    'shutdown': Shape(optional={'reason'}),
    'timer': Shape({'period'}, {'cancel_on_shutdown'}, ANY_ACTION),
    'ros_timer': Shape({'period'}, children=ANY_ACTION),
}
#: Children that are not actions, by their parent element.
PARTS = {
    ('arg', 'choice'): Shape({'value'}, is_action=False),
    ('include', 'arg'): Shape({'name', 'value'}, is_action=False),
    ('group', 'keep'): Shape({'name', 'value'}, is_action=False),
    ('node', 'remap'): Shape({'from', 'to'}, is_action=False),
    ('node', 'env'): Shape({'name', 'value'}, is_action=False),
    ('executable', 'env'): Shape({'name', 'value'}, is_action=False),
    ('node', 'param'): Shape(
        set(), {'name', 'value', 'type', 'from', 'allow_substs', 'value-sep'}, {'param'}, is_action=False
    ),
    ('param', 'param'): Shape({'name'}, {'value', 'type', 'value-sep'}, {'param'}, is_action=False),
}


def problems(path: Path, release: str = HUMBLE) -> list[str]:
    """Return the contents of a launch file that the front end of a release would reject."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        return [f'{path.name}: {error}']
    if root.tag != 'launch':
        return [f'{path.name}: the root is <{root.tag}>, expected <launch>']
    result: list[str] = []
    _check(root, ELEMENTS['launch'], release, path.name, result)
    return result


def _check(element: ElementTree.Element, shape: Shape, release: str, where: str, result: list[str]) -> None:
    location = f'{where}/{element.tag}'
    name = element.attrib.get('name') or element.attrib.get('exec')
    location += f'[{name}]' if name else ''
    allowed = shape.required | shape.optional | (CONDITIONS if shape.is_action else set())
    allowed |= shape.since_jazzy if release != HUMBLE else set()
    result += [f'{location}: unexpected attribute {key!r}' for key in element.attrib if key not in allowed]
    result += [f'{location}: attribute {key!r} is missing' for key in sorted(shape.required - set(element.attrib))]
    if set(element.attrib) >= CONDITIONS:
        result.append(f"{location}: 'if' and 'unless' exclude each other")
    for key, text in element.attrib.items():
        result += [f'{location}: {key}: {problem}' for problem in substitution_problems(text, release)]
    if element.tag == 'param':
        result += [f'{location}: {problem}' for problem in _parameter_problems(element)]
    for child in element:
        part = PARTS.get((element.tag, child.tag))
        if part is None and '*' in shape.children:
            part = ELEMENTS.get(child.tag)
        if part is None or not ('*' in shape.children or child.tag in shape.children):
            result.append(f'{location}: unexpected <{child.tag}>')
        else:
            _check(child, part, release, location, result)


def _parameter_problems(element: ElementTree.Element) -> list[str]:
    attributes, nested = element.attrib, element.find('param') is not None
    if ('from' in attributes) == ('name' in attributes):
        return ["expected either 'name' or 'from'"]
    if 'from' in attributes:
        return []
    if ('value' in attributes) == nested:
        return ["expected either 'value' or nested parameters"]
    kind = attributes.get('type')
    if kind is not None and kind not in TYPES:
        return [f'invalid type {kind!r}']
    value = attributes.get('value', '')
    if kind is None or '$(' in value or kind == 'str':
        return []
    read = yaml.safe_load(value) if value else value
    good = {'int': int, 'float': (int, float), 'bool': bool}.get(kind, list)
    return [] if isinstance(read, good) else [f'{value!r} is no {kind}']


def substitution_problems(text: str, release: str = HUMBLE) -> list[str]:
    """Return the faults of the substitutions in an attribute's text."""
    result = []
    for match in re.finditer(r'(?<!\\)\$\(\s*([^\s()]*)', text):
        name = match.group(1)
        if name not in SUBSTITUTIONS[release]:
            result.append(f'unknown substitution $({name} ...)')
        depth = 0
        for character in text[match.start() :]:
            depth += {'(': 1, ')': -1}.get(character, 0)
            if depth == 0 and character == ')':
                break
        else:
            result.append(f'$({name} is not closed')
    return result
