"""Interpreter from an XML tree to the list of processes, with one function per element of ROS 2's front end.

Elements and attributes that `ros2 launch` does not support are errors with their line. Elements that only `ros2 launch`
supports (timers, containers, lifecycle) are rejected by name.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

from roslite.launching import processes
from roslite.launching.budget import BudgetError
from roslite.launching.context import LaunchContext
from roslite.launching.description import Argument, LaunchDescription, LogMessage, Stop
from roslite.launching.errors import LaunchError, SubstitutionError
from roslite.launching.parameters import guess, to_yaml
from roslite.launching.substitutions import expand
from roslite.launching.xmltree import Element, parse_xml
from roslite.printing import near

CONFIGURATION = ('sigterm_timeout', 'sigkill_timeout', 'launch-prefix')
_CONDITION = ('if', 'unless')
_NEEDS_ROS = ('timer', 'ros_timer', 'node_container', 'composable_node', 'load_composable_node', 'lifecycle_node',
              'set_parameters_from_file', 'set_ros_log_dir', 'reset', 'reset_env', 'append_env', 'event_handler',
              'for', 'test')  # fmt: skip

Interpret = Callable[[Element, LaunchContext, LaunchDescription], None]


def _check_shape(element: Element) -> None:
    """Check that the front end supports the attributes and children of an element. Raises LaunchError."""
    attributes, children = _SHAPES[element.tag]
    for name in element.attributes:
        if name not in attributes:
            close = difflib.get_close_matches(name, attributes, 1)
            hint = f' (did you mean {close[0]!r}?)' if close else ''
            raise element.error(f'expected one of {", ".join(sorted(attributes))}; found {name!r}{hint}', name)
    if children is None:
        return
    for child in element.children:
        if child.tag not in children:
            expected = ', '.join(f'<{tag}>' for tag in sorted(children)) or 'no child elements'
            raise child.error(f'expected {expected} in <{element.tag}>, found <{child.tag}>')
        _check_shape_of_part(child)


def _check_shape_of_part(element: Element) -> None:
    """Check parts of an element, such as `<param>`, `<remap>`, `<env>` and `<choice>`. Raises LaunchError."""
    attributes, children = _PART_SHAPES.get(element.tag, _SHAPES.get(element.tag, ((), None)))
    for name in element.attributes:
        if name not in attributes:
            raise element.error(f'expected one of {", ".join(sorted(attributes))}; found {name!r}', name)
    for child in element.children:
        if child.tag not in (children or ()):
            raise child.error(f'expected no <{child.tag}> in <{element.tag}>')
        _check_shape_of_part(child)


def _run(elements: list[Element], context: LaunchContext, description: LaunchDescription) -> None:
    for element in elements:
        context.take(element, context.budget.check_time)
        if element.tag in _NEEDS_ROS:
            raise element.error(f'<{element.tag}> is not supported without ROS 2: use ros2 launch for this file')
        if element.tag not in _ACTIONS:
            close = difflib.get_close_matches(element.tag, _ACTIONS, 1)
            hint = f' (did you mean <{close[0]}>?)' if close else ''
            supported = ', '.join(f'<{tag}>' for tag in _ACTIONS)
            raise element.error(f'expected one of {supported}{hint}')
        _check_shape(element)
        if context.condition(element):
            with context.under_condition('if' in element.attributes or 'unless' in element.attributes):
                _ACTIONS[element.tag](element, context, description)


# --- the elements ----------------------------------------------------------------------------------------------------


def _argument_of(element: Element) -> Argument:
    name = element.attributes.get('name')
    if not name:
        raise element.error("expected the attribute 'name'")
    choices = []
    for choice in element.find_all('choice'):
        if 'value' not in choice.attributes:
            raise choice.error("expected the attribute 'value'")
        choices.append(choice.attributes['value'])
    default = element.attributes.get('default')
    return Argument(name, default, element.attributes.get('description', ''), tuple(choices))


def _arg(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    argument = _argument_of(element)
    context.declared.setdefault(argument.name, argument)
    if argument.name not in context.variables:
        default = context.optional(element, 'default')
        if default is None:
            about = f' ({argument.description})' if argument.description else ''
            raise element.error(f"the argument '{argument.name}'{about} is required: give {argument.name}:=value")
        context.variables[argument.name] = default
    value = context.variables[argument.name]
    if argument.choices and value not in argument.choices:
        choices = ', '.join(argument.choices)
        hint = near(value, argument.choices)
        raise element.error(f"the argument '{argument.name}' expected one of {choices}; found {value!r}{hint}")


def _let(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    name, value = context.required(element, 'name'), context.required(element, 'value')
    context.variables[name] = value


def _group(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    actions = [child for child in element.children if child.tag != 'keep']
    if not context.flag(element, 'scoped', default=True):
        with context.inside(element):
            _run(actions, context, description)
        return
    forwarding = context.flag(element, 'forwarding', default=True)
    keeps = {context.required(k, 'name'): context.required(k, 'value') for k in element.find_all('keep')}
    with context.scope(), context.inside(element):
        if not forwarding:
            context.variables = {}
            context.namespace, context.parameters, context.remappings = '', [], []
        context.variables.update(keeps)
        _run(actions, context, description)


def _include(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    path = Path(context.required(element, 'file'))
    for child in element.children:
        context.variables[context.required(child, 'name')] = context.required(child, 'value')
    if path.suffix != '.xml':
        raise element.error(f'expected an XML launch file, found {str(path)!r}: other kinds need ros2 launch', 'file')
    if not path.is_file():
        raise element.error(f'expected a launch file, found no file {str(path)!r}', 'file')
    with context.within(path, element):
        _run(_root_of(path, element, context).children, context, description)


def _set_env(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.environment[context.required(element, 'name')] = context.required(element, 'value')


def _unset_env(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.environment.pop(context.required(element, 'name'), None)


def _push_ros_namespace(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.namespace = context.resolve_namespace(context.required(element, 'namespace'), element)


def _set_parameter(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    name, value = context.required(element, 'name'), context.required(element, 'value')
    context.parameters.append((name, to_yaml(guess(value))))


def _set_use_sim_time(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.parameters.append(('use_sim_time', to_yaml(context.flag(element, 'value'))))


def _set_remap(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.remappings.append((context.required(element, 'from'), context.required(element, 'to')))


def _log(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.take(element, lambda: context.budget.take_step(False))
    description.steps.append(LogMessage(context.required(element, 'message')))


def _shutdown(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    context.take(element, lambda: context.budget.take_step(False))
    description.steps.append(Stop(context.optional(element, 'reason') or ''))


_ACTIONS: dict[str, Interpret] = {
    'arg': _arg,
    'let': _let,
    'node': processes.add_node,
    'executable': processes.add_executable,
    'group': _group,
    'include': _include,
    'push_ros_namespace': _push_ros_namespace,
    'push-ros-namespace': _push_ros_namespace,
    'set_env': _set_env,
    'unset_env': _unset_env,
    'set_parameter': _set_parameter,
    'set_use_sim_time': _set_use_sim_time,
    'set_remap': _set_remap,
    'log': _log,
    'shutdown': _shutdown,
}
_PROCESS = (*_CONDITION, 'name', 'cwd', 'output', 'respawn', 'respawn_delay', 'respawn_max_retries', 'on_exit',
            'launch-prefix', 'sigterm_timeout', 'sigkill_timeout', 'emulate_tty')  # fmt: skip
# Attributes, and children; None: any action.
_SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    'arg': ((*_CONDITION, 'name', 'default', 'description'), ('choice',)),
    'let': ((*_CONDITION, 'name', 'value'), ()),
    'node': ((*_PROCESS, 'pkg', 'exec', 'exec_name', 'namespace', 'args', 'ros_args'), ('param', 'remap', 'env')),
    'executable': ((*_PROCESS, 'cmd', 'shell'), ('env',)),
    'group': ((*_CONDITION, 'scoped', 'forwarding'), None),
    'include': ((*_CONDITION, 'file'), ('arg',)),
    'push_ros_namespace': ((*_CONDITION, 'namespace'), ()),
    'push-ros-namespace': ((*_CONDITION, 'namespace'), ()),
    'set_env': ((*_CONDITION, 'name', 'value'), ()),
    'unset_env': ((*_CONDITION, 'name'), ()),
    'set_parameter': ((*_CONDITION, 'name', 'value'), ()),
    'set_use_sim_time': ((*_CONDITION, 'value'), ()),
    'set_remap': ((*_CONDITION, 'from', 'to'), ()),
    'log': ((*_CONDITION, 'message'), ()),
    'shutdown': ((*_CONDITION, 'reason'), ()),
}
_PART_SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    'arg': (('name', 'value'), ()),  # inside an <include>
    'param': (('name', 'value', 'type', 'value-sep', 'from', 'allow_substs'), ('param',)),
    'remap': (('from', 'to'), ()),
    'env': (('name', 'value'), ()),
    'choice': (('value',), ()),
    'keep': (('name', 'value'), ()),
}


def _root(path: Path) -> Element:
    root = parse_xml(path)
    if root.tag != 'launch':
        raise root.error(f'expected <launch> as the root element, found <{root.tag}>')
    for name in root.attributes:
        if name != 'version':
            raise root.error(f'expected no attribute but version, found {name!r}', name)
    return root


def _root_of(path: Path, element: Element, context: LaunchContext) -> Element:
    """Return the root of an included file; its size counts as text."""
    context.take(element, lambda: context.budget.take_text(path.stat().st_size if path.is_file() else 0))
    return _root(path)


def interpret(
    path: Path | str,
    arguments: Mapping[str, str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    log_directory: Path | None = None,
    namespace: str = '',
) -> LaunchDescription:
    """Evaluate a launch file completely without starting processes.

    Args:
        path: XML launch file.
        arguments: values of its arguments by name.
        environment: environment of the processes; None: environment of this process.
        log_directory: directory for `$(log_dir)` and for parameter files with substitutions.
        namespace: initial namespace, empty or absolute.

    Returns:
        The processes, messages and stops in order, and the declared arguments.

    Raises:
        LaunchError: a fault of the file, of an included file, or of the arguments.
    """
    path = Path(path).absolute()
    context = LaunchContext(path, dict(arguments or {}), log_directory=log_directory, namespace=namespace)
    if environment is not None:
        context.environment = dict(environment)
    description = LaunchDescription(path)
    _run(_root(path).children, context, description)
    description.arguments = context.declared
    unknown = [name for name in arguments or {} if name not in context.declared and name not in CONFIGURATION]
    if unknown:
        declared = ', '.join(context.declared) or 'none'
        close = difflib.get_close_matches(unknown[0], context.declared, 1)
        hint = f' (did you mean {close[0]}:=?)' if close else ''
        raise LaunchError(f"unknown argument '{unknown[0]}'{hint}; the file declares {declared}", path)
    return description


def declared_arguments(path: Path | str) -> list[Argument]:
    """Return the arguments declared by a launch file and its included files, for `--show-args`.

    A default whose substitutions cannot be performed without the other arguments is returned unchanged.

    Raises:
        LaunchError: the file cannot be read, is not a launch file, or exceeds a limit.
    """
    path = Path(path).absolute()
    context = LaunchContext(path)
    arguments: dict[str, Argument] = {}
    _collect(_root(path), context, arguments)
    return list(arguments.values())


def _collect(element: Element, context: LaunchContext, arguments: dict[str, Argument]) -> None:
    for child in element.children:
        context.take(child, context.budget.check_time)
        if child.tag == 'arg':
            argument = _argument_of(child)
            default = argument.default
            if default is not None and argument.name not in context.variables:
                default = _expanded(child, argument.name, default, context)
            arguments.setdefault(
                argument.name, Argument(argument.name, default, argument.description, argument.choices)
            )
        elif child.tag == 'group':
            with context.inside(child):
                _collect(child, context, arguments)
        elif child.tag == 'include':
            _collect_included(child, context, arguments)


def _expanded(element: Element, name: str, default: str, context: LaunchContext) -> str:
    """Return a default with its substitutions performed, or unchanged if they fail."""
    try:
        default = context.variables[name] = expand(default, context)
    except BudgetError as error:
        raise element.error(str(error), 'default') from None
    except SubstitutionError:
        pass
    return default


def _collect_included(element: Element, context: LaunchContext, arguments: dict[str, Argument]) -> None:
    """Add the arguments of an included file that the including file does not set."""
    try:
        path = Path(context.required(element, 'file'))
        root = _root_of(path, element, context)
    except LaunchError:
        if context.budget.exceeded:
            raise
        return
    preset = {child.attributes.get('name', '') for child in element.children}
    inner: dict[str, Argument] = {}
    with context.within(path, element):
        _collect(root, context, inner)
    for name, argument in inner.items():
        if name not in preset:
            arguments.setdefault(name, argument)
