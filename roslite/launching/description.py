"""Content of an evaluated launch file. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Argument:
    """A declared launch argument.

    Attributes:
        name: name, as in `name:=value`.
        default: default with its substitutions performed if possible; None: required argument.
        description: description.
        choices: valid values; empty: any.
    """

    name: str
    default: str | None = None
    description: str = ''
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChildSpec:
    """One process to start.

    Attributes:
        name: label; the session adds a number (`dynamics_node-1`).
        command: program and arguments; one string if `shell`.
        environment: complete environment.
        executable: name of the node's program if it is from a registered package, else empty.
        arguments: command-line arguments of a program from a registered package.
        accepts_signals: the program starts with SIGINT and SIGTERM blocked, and unblocks them.
        node: fully qualified node name if the launch file specifies one, else empty.
        cwd: working directory; None: the launcher's.
        shell: run the command in a shell.
        to_screen: show standard output; standard error is always shown, as in `ros2 launch`.
        respawn: restart the process when it ends.
        respawn_delay: delay of a restart, s.
        respawn_max_retries: maximum number of restarts; negative: no limit.
        shutdown_on_exit: the end of the process ends the whole launch.
        sigterm_timeout: time from SIGINT to SIGTERM, s.
        sigkill_timeout: time from SIGTERM to SIGKILL, s.
        origin: `file:line` of the element, for messages.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    node: str = ''
    executable: str = ''
    arguments: tuple[str, ...] = ()
    accepts_signals: bool = False
    cwd: str | None = None
    shell: bool = False
    to_screen: bool = False
    respawn: bool = False
    respawn_delay: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    sigterm_timeout: float = 5.0
    sigkill_timeout: float = 5.0
    origin: str = ''


@dataclass(frozen=True)
class LogMessage:
    """A line to print in the order of the file."""

    text: str
    level: str = 'INFO'


@dataclass(frozen=True)
class Stop:
    """A `<shutdown>`: the launch ends at this step."""

    reason: str = ''


@dataclass
class LaunchDescription:
    """The evaluated launch file.

    Attributes:
        path: launch file.
        steps: processes, messages and stops, in the order of the file.
        arguments: all declared arguments by name.
    """

    path: Path
    steps: list[ChildSpec | LogMessage | Stop] = field(default_factory=list)
    arguments: dict[str, Argument] = field(default_factory=dict)

    @property
    def children(self) -> list[ChildSpec]:
        """Processes to start, in order."""
        return [step for step in self.steps if isinstance(step, ChildSpec)]
