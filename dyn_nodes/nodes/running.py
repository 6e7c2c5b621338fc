"""Life cycle of a node's process: a one-line error at the start, a clean end on SIGINT and SIGTERM."""

from __future__ import annotations

import faulthandler
import gc
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from dyn_nodes.common.compiling import CompilationNotice
from dyn_nodes.common.garbage import seldom_collections
from dyn_nodes.common.leaving import accept_signals, leave
from dyn_nodes.common.printing import printable
from dyn_nodes.middleware import (
    ExternalShutdownException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    NotInitializedException,
    ParameterUninitializedException,
    RCLInvalidROSArgsError,
    get_default_context,
    get_logger,
    init,
    ok,
    spin,
)
from dyn_nodes.middleware.launching import recorded_life
from dyn_nodes.nodes.ending import EndWatch, OneInterrupt, ignore_signals
from dyn_nodes.nodes.stamps import LATEST_STAMP

START_ERRORS = (
    ValueError,
    OSError,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)


class RunOver(Exception):  # noqa: N818
    """The run is over; leaves `spin`."""


class RunFailed(RunOver):
    """The run cannot start or continue; leaves `spin`, with the reason as text. The exit status is 1."""


class NotNeeded(Exception):  # noqa: N818
    """The node has no task for the machine, with the reason as text. The exit status is 0."""


def is_interrupt(error: BaseException) -> bool:
    """Return whether an exception is a KeyboardInterrupt, or was caused by one in machine code.

    Machine code that calls Python, such as Numba's when it unpickles an argument, may raise a SystemError instead.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None


def run_node(
    name: str, make: Callable[[], Any], args: list[str] | None = None, loop: Callable[[Any], None] = spin
) -> int:
    """Create a node and spin it until SIGINT, SIGTERM or the end of its run.

    Args:
        name: of the program, for messages.
        make: creates the node.
        args: command line; None: `sys.argv`.
        loop: spins the node.

    Returns:
        Exit status: 0 after a signal, `RunOver` or `NotNeeded`; 1 after `RunFailed`, or if a parameter or the command
        line is wrong.
    """
    faulthandler.enable()  # prints the Python line of a crash in machine code
    faulthandler.register(signal.SIGQUIT, all_threads=True)  # `kill -QUIT` prints the lines of a node that hangs
    watch = EndWatch(name)
    interrupt, watch.starting = OneInterrupt(watch), True
    status = _run_node(name, make, args, loop, watch, interrupt)
    if args is None and interrupt.came:
        leave(status)  # the interpreter would destroy all objects of compilations first
    return status


def _run_node(
    name: str,
    make: Callable[[], Any],
    args: list[str] | None,
    loop: Callable[[Any], None],
    watch: EndWatch,
    interrupt: OneInterrupt,
) -> int:
    words = sys.argv if args is None else args
    with watch, interrupt, recorded_life(name, words) as note_end:
        accept_signals()
        try:
            with init(args=args):
                get_default_context().on_shutdown(watch.start)
                try:
                    return _live(name, make, loop, interrupt, note_end, watch)
                except (NotInitializedException, RuntimeError):
                    if ok():  # otherwise after a signal: rcl neither creates nor publishes anything after it
                        raise
                finally:
                    interrupt.ignore()
                    ignore_signals(args)
        except RCLInvalidROSArgsError as error:
            return print_failure(name, error)
        except BaseException as error:
            if not is_interrupt(error):
                raise
        finally:
            ignore_signals(args)  # rclpy has restored the default handlers
    return 0


def _live(
    name: str,
    make: Callable[[], Any],
    loop: Callable[[Any], None],
    interrupt: OneInterrupt,
    note_end: Callable[[str], None],
    watch: EndWatch,
) -> int:
    warn_of_wall_clock(name)
    try:
        with CompilationNotice(get_logger(name).info), seldom_collections():
            node = make()
    except START_ERRORS as error:
        note_end(f'{name}: {error}')
        return print_failure(name, error)
    except NotNeeded as reason:
        get_logger(name).info(f'not needed: {reason}')
        return 0
    finally:
        watch.starting = False
    keep_memory()
    try:
        loop(node)
    except RunFailed as error:
        note_end(f'{name}: {error}')
        return print_failure(name, error)
    except (ExternalShutdownException, RunOver):
        pass
    finally:
        interrupt.ignore()
        node.destroy_node()
    return 0


def keep_memory() -> None:
    """Exclude all present objects from later garbage collections.

    Compiled machines are hundreds of thousands of permanent objects. A full collection of them would block a process
    for a tenth of a second or more during a run in real time.
    """
    gc.collect()
    gc.freeze()


def warn_of_wall_clock(name: str) -> None:
    """Log a warning if the clock of the computer is beyond the latest stamp of ROS 2."""
    if time.time_ns() > LATEST_STAMP:
        get_logger(name).warn(
            f'the clock of this computer is beyond {LATEST_STAMP // 10**9} s (2038-01-19), the latest stamp of ROS 2: '
            'stamps of the wall clock remain at this value'
        )


def print_failure(name: str, error: Exception) -> int:
    """Print why a program cannot start; return its exit status 1."""
    lines = [printable(line) for line in str(error).split('\n')]
    print(f'{name}:', '\n'.join(lines), file=sys.stderr)
    return 1
