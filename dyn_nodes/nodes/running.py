"""The life of a node's process: one clear line for what it cannot start with, a quiet end on SIGINT and SIGTERM."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable
from typing import Any

from dyn_nodes.middleware import (
    ExternalShutdownException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    NotInitializedException,
    ParameterUninitializedException,
    RCLInvalidROSArgsError,
    init,
    ok,
    spin,
)

REFUSED = (
    ValueError,
    OSError,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)


def run_node(
    name: str, make: Callable[[], Any], args: list[str] | None = None, loop: Callable[[Any], None] = spin
) -> int:
    """Make a node and spin it until it is told to stop.

    Args:
        name: of the program, for messages.
        make: makes the node.
        args: command line; None takes `sys.argv`.
        loop: what the node does until it is told to stop.

    Returns:
        Exit status: 0 after a stop by a signal, 1 where a parameter or the command line is wrong.
    """
    faulthandler.enable()  # a crash in a library's machine code then names the line that led there
    try:
        with init(args=args):
            try:
                return _live(name, make, loop)
            except (NotInitializedException, RuntimeError):
                if ok():  # otherwise a signal has come: rcl neither makes nor publishes anything after it
                    raise
    except KeyboardInterrupt:
        pass
    except RCLInvalidROSArgsError as error:
        return _refuse(name, error)
    return 0


def _live(name: str, make: Callable[[], Any], loop: Callable[[Any], None]) -> int:
    try:
        node = make()
    except REFUSED as error:
        return _refuse(name, error)
    try:
        loop(node)
    except ExternalShutdownException:
        pass
    finally:
        node.destroy_node()
    return 0


def _refuse(name: str, error: Exception) -> int:
    print(f'{name}: {error}', file=sys.stderr)
    return 1
