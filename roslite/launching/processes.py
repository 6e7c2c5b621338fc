"""Command lines of the elements `<node>` and `<executable>`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from roslite.launching.context import LaunchContext
from roslite.launching.description import ChildSpec, LaunchDescription, LogMessage
from roslite.launching.packages import ament_prefix, registered
from roslite.launching.parameters import parameter_arguments
from roslite.launching.xmltree import Element

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_OUTPUTS = {'screen': True, 'both': True, 'full': True, 'log': False, 'own_log': False}


def _node_program(element: Element, context: LaunchContext) -> list[str] | None:
    """Return the program of a `<node>`; None if its package is not installed and the node is optional."""
    executable = context.required(element, 'exec')
    package = context.optional(element, 'pkg')
    python_package = registered(package)
    if python_package is not None:
        if executable in python_package.commands:
            return [sys.executable, '-m', python_package.commands[executable]]
        nodes = python_package.nodes()
        if executable not in nodes:
            names = ', '.join(sorted(nodes)) or 'none'
            raise element.error(f'expected a node of {package} ({names}), found {executable!r}', 'exec')
        return [sys.executable, '-m', nodes[executable]]
    if package is None:
        path = shutil.which(executable, path=context.environment.get('PATH'))
        if path is None:
            raise element.error(f'expected a program on PATH, found no {executable!r}', 'exec')
        return [path]
    prefix = ament_prefix(package)
    program = prefix / 'lib' / package / executable if prefix is not None else None
    if program is not None and os.access(program, os.X_OK):
        return [str(program)]
    if context.conditional:
        return None
    missing = f'{package}/{executable}'
    problem = (
        f'{missing} needs a ROS 2 installation with it; start this file with ros2 launch, or make the node optional'
    )
    raise element.error(f'{problem} with an if', 'pkg')


def _child(
    element: Element, context: LaunchContext, label: str, command: list[str], node: str = '', shell: bool = False
) -> ChildSpec:
    """Return the process of a `<node>` or `<executable>` from their common attributes."""
    context.take(element, lambda: context.budget.take_step(True))
    output = context.optional(element, 'output') or 'log'
    if output not in _OUTPUTS:
        raise element.error(f'expected one of {", ".join(_OUTPUTS)}; found {output!r}', 'output')
    on_exit = context.optional(element, 'on_exit')
    if on_exit not in (None, 'shutdown'):
        raise element.error(f"expected 'shutdown', found {on_exit!r}", 'on_exit')
    retries = context.optional(element, 'respawn_max_retries') or '-1'
    if not re.fullmatch(r'-?\d+', retries):
        raise element.error(f'expected an integer, found {retries!r}', 'respawn_max_retries')
    context.flag(element, 'emulate_tty')
    environment = dict(context.environment)
    for child in element.find_all('env'):
        environment[context.required(child, 'name')] = context.required(child, 'value')
    prefix = context.words(element, 'launch-prefix') or context.variables.get('launch-prefix', '').split()
    cwd = context.optional(element, 'cwd')
    if cwd is not None and not Path(cwd).is_dir():
        raise element.error(f'expected a directory, found {cwd!r}', 'cwd')
    return ChildSpec(
        name=label,
        command=(*prefix, *command),
        environment=environment,
        node=node,
        cwd=cwd,
        shell=shell,
        to_screen=_OUTPUTS[output],
        respawn=context.flag(element, 'respawn'),
        respawn_delay=context.seconds(element, 'respawn_delay', 0.0),
        respawn_max_retries=int(retries),
        shutdown_on_exit=on_exit == 'shutdown',
        sigterm_timeout=_timeout(element, context, 'sigterm_timeout'),
        sigkill_timeout=_timeout(element, context, 'sigkill_timeout'),
        origin=f'{element.path}:{element.line}',
    )


def _timeout(element: Element, context: LaunchContext, name: str) -> float:
    """Return a shutdown timeout, s: the attribute of the element, else the launch variable of that name, else 5 s."""
    if name in element.attributes or name not in context.variables:
        return context.seconds(element, name, 5.0)
    probe = Element(element.tag, {name: context.variables[name]}, element.line, element.path)
    return context.seconds(probe, name, 5.0)


def _remappings(element: Element, context: LaunchContext) -> list[str]:
    arguments = []
    pairs = list(context.remappings)
    pairs += [(context.required(r, 'from'), context.required(r, 'to')) for r in element.find_all('remap')]
    for source, target in pairs:
        context.take(element, lambda: context.budget.take_text(len(source) + len(target)))  # noqa: B023 - called at once
        arguments += ['-r', f'{source}:={target}']
    return arguments


def add_node(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    """Add a `<node>` with the same command line as in `ros2 launch`.

    A node of another package is started from its ROS 2 installation. Without it the launch fails, unless the node, or a
    group or include around it, has a condition. Such a node is optional and skipped with a warning: the same file works
    on computers with and without RViz.
    """
    program = _node_program(element, context)
    executable = context.required(element, 'exec')
    if program is None:
        package = context.required(element, 'pkg')
        text = f'{element.path}:{element.line}: {package}/{executable} is skipped: it needs ROS 2 with {package}'
        context.take(element, lambda: context.budget.take_step(False))
        description.steps.append(LogMessage(text, 'WARN'))
        return
    name = context.optional(element, 'name')
    if name is not None and not _NAME.fullmatch(name):
        raise element.error(f'expected a node name of letters, digits and underscores, found {name!r}', 'name')
    namespace = context.resolve_namespace(context.optional(element, 'namespace'), element)
    arguments = context.words(element, 'args')
    ros_arguments = context.words(element, 'ros_args')
    if name is not None:
        ros_arguments += ['-r', f'__node:={name}']
    if namespace:
        ros_arguments += ['-r', f'__ns:={namespace}']
    ros_arguments += parameter_arguments(element, context)
    ros_arguments += _remappings(element, context)
    if ros_arguments:
        arguments += ['--ros-args', *ros_arguments]
    label = context.optional(element, 'exec_name') or executable
    node = f'{namespace.rstrip("/")}/{name}' if name else ''
    spec = _child(element, context, label, program + arguments, node)
    python_package = registered(context.optional(element, 'pkg'))
    if python_package is not None and executable not in python_package.commands:
        accepts = python_package.accepts_signals and spec.command == tuple(program + arguments)  # no launch-prefix
        spec = replace(spec, executable=executable, arguments=tuple(arguments), accepts_signals=accepts)
    description.steps.append(spec)


def add_executable(element: Element, context: LaunchContext, description: LaunchDescription) -> None:
    """Add an `<executable>`: any program."""
    shell = context.flag(element, 'shell')
    text = context.required(element, 'cmd')
    command = [text] if shell else context.words(element, 'cmd')
    if not command or not command[0]:
        raise element.error('expected a command, found none', 'cmd')
    if not shell and shutil.which(command[0], path=context.environment.get('PATH')) is None:
        raise element.error(f'expected a program, found no executable {command[0]!r}', 'cmd')
    label = context.optional(element, 'name') or os.path.basename(command[0].split()[0])
    description.steps.append(_child(element, context, label, command, shell=shell))
