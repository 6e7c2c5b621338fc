"""composition_node: runs the nodes of a launch file in one process with one executor.

    dyn-nodes launch log_loader compose:=true

A launch file starts it as `<node pkg="dyn_nodes" exec="composition_node" args="$(filename) name:=$(var name) ..."/>`.
It reads that file with the same arguments and `compose:=false`, and creates in this process every node of this package
that the file would start as a process, with its name, namespace, parameters and remappings. Namespace, remappings and
parameters of this command line apply to all nodes. Programs of other packages and the cockpit, which has its own loop,
are started by the launch file.

Messages between these nodes are passed without serialization if the runtime supports it; nodes, topics and services
are the same for other processes. An exception in one node ends the process and all its nodes.
"""

from __future__ import annotations

import faulthandler
import functools
import importlib
import sys
import time
from pathlib import Path
from typing import Any

from dyn_nodes.common.compiling import CompilationNotice
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.leaving import leave
from dyn_nodes.middleware import RCLInvalidROSArgsError, SignalHandlerOptions, SingleThreadedExecutor, get_logger, init
from dyn_nodes.middleware.launching import ChildSpec, LaunchError, interpret, parse_launch_arguments
from dyn_nodes.nodes.ending import EndWatch, stop_signals
from dyn_nodes.nodes.machines import shared_machines
from dyn_nodes.nodes.running import (
    START_ERRORS,
    NotNeeded,
    RunFailed,
    RunOver,
    keep_memory,
    print_failure,
    warn_of_wall_clock,
)

NAME = 'composition_node'
SEPARATE = ('viewer_node', NAME)
"""Nodes that run as separate processes."""
LONGEST_WAIT = 0.1


def split_arguments(words: list[str]) -> tuple[str, list[str], str, list[str]]:
    """Split a command line.

    Returns:
        The launch file; its arguments; the namespace of the command line, or ''; other ROS arguments for every node.

    Raises:
        LaunchError: no launch file.
    """
    cut = words.index('--ros-args') if '--ros-args' in words else len(words)
    launch, ros = words[1:cut], [word for word in words[cut:] if word not in ('--ros-args', '--')]
    if not launch:
        raise LaunchError('expected a launch file and its arguments, found none')
    namespace, shared = '', []
    pairs = iter(ros)
    for flag in pairs:
        value = next(pairs, '')
        if flag in ('-r', '--remap') and value.startswith('__'):
            namespace = value.removeprefix('__ns:=') if value.startswith('__ns:=') else namespace
        else:
            shared += [flag, value]
    return launch[0], launch[1:], namespace, shared


def nodes_of(path: str, arguments: list[str], namespace: str) -> list[ChildSpec]:
    """Return the nodes of a launch file that this process creates.

    Raises:
        LaunchError: the file or its arguments are wrong, or it has no such node.
    """
    values = {**parse_launch_arguments(arguments), 'compose': 'false'}
    description = interpret(Path(path), values, namespace=namespace)
    specs = [spec for spec in description.children if spec.executable and spec.executable not in SEPARATE]
    if not specs:
        raise LaunchError('expected nodes of this package to compose, found none', path)
    return specs


def class_of(executable: str) -> Any:
    """Return the class of a node by the name of its program, `dynamics_node` -> `DynamicsNode`."""
    module = importlib.import_module(f'dyn_nodes.nodes.{executable}')
    return getattr(module, ''.join(part.capitalize() for part in executable.split('_')))


def make_node(spec: ChildSpec, shared: list[str]) -> Any:
    """Create a node as in a separate process.

    Raises:
        ValueError: it cannot start; the message starts with its name.
        NotNeeded: the node has no task for this machine.
    """
    words = list(spec.arguments)
    options = words[words.index('--ros-args') + 1 :] if '--ros-args' in words else []
    try:
        return class_of(spec.executable)(cli_args=['--ros-args', *shared, *options], use_global_arguments=False)
    except (*START_ERRORS, UserError, RCLInvalidROSArgsError) as error:
        raise ValueError(f'{spec.executable}: {error}') from error


def run_all(nodes: list[Any], signals: list[int]) -> int:
    """Spin nodes until a signal, the end of the run or a failure; return the exit status."""
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    try:
        while not (signals or any(_is_over(node) for node in nodes)):
            until = time.monotonic() + LONGEST_WAIT
            while not signals and time.monotonic() < until:
                executor.spin_once(timeout_sec=LONGEST_WAIT)
    except RunFailed as error:
        return print_failure(NAME, error)
    except RunOver:
        pass
    return 1 if any(getattr(node, 'failure', '') for node in nodes) else 0


def _is_over(node: Any) -> bool:
    return bool(getattr(node, 'failure', '') or getattr(node, 'finished_recording', False))


def live(specs: list[ChildSpec], shared: list[str], signals: list[int], watch: EndWatch) -> int:
    """Create the nodes, run and destroy them; return the exit status."""
    nodes: list[Any] = []
    are_made = False
    warn_of_wall_clock(NAME)
    watch.starting = True
    try:
        with CompilationNotice(get_logger(NAME).info), shared_machines():
            for spec in specs:
                if signals:
                    return 0
                try:
                    nodes.append(make_node(spec, shared))
                except NotNeeded as reason:
                    get_logger(NAME).info(f'{spec.executable} is not needed: {reason}')
        watch.starting, are_made = False, True  # from here on signals only end the loop
        if signals:
            return 0
        keep_memory()
        return run_all(nodes, signals)
    except ValueError as error:
        if are_made:
            raise
        return 0 if signals else print_failure(NAME, error)
    except BaseException as error:
        if signals and not are_made:  # a KeyboardInterrupt, or an error that compiled code raised instead
            return 0
        if not isinstance(error, Exception):
            raise
        names = ', '.join(spec.executable for spec in specs)
        print(f'{NAME}: an exception in one of its nodes ends all of them ({names})', file=sys.stderr, flush=True)
        raise
    finally:
        watch.starting = False
        for node in nodes:
            node.destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the nodes until SIGINT, SIGTERM, the end of the run or a failure; return exit status 1 after a failure."""
    faulthandler.enable()
    words = list(sys.argv if args is None else args)
    try:
        file, arguments, namespace, shared = split_arguments(words)
        specs = nodes_of(file, arguments, namespace)
    except LaunchError as error:
        print(f'{NAME}: {error.text}', file=sys.stderr)
        return 1
    watch, quiet = EndWatch(NAME), SignalHandlerOptions.NO
    context = functools.partial(init, args=words[:1], signal_handler_options=quiet, intra_process=True)
    with watch, stop_signals(args, watch) as signals, context():
        status = live(specs, shared, signals, watch)
    if args is None and signals:
        leave(status)  # the interpreter would destroy all objects of compilations first
    return status


if __name__ == '__main__':
    sys.exit(main())
