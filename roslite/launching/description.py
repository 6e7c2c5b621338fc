"""What a launch file asks for once everything in it is evaluated. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Argument:
    """A launch argument that a file declares.

    Attributes:
        name: Its name, as in `name:=value`.
        default: The default, with its substitutions performed where that was possible; None when it is required.
        description: What it is for.
        choices: The values allowed; empty when any is.
    """

    name: str
    default: str | None = None
    description: str = ''
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChildSpec:
    """One process to start.

    Attributes:
        name: Its label; the session adds a number (`dynamics_node-1`).
        command: Program and arguments; one string when `shell`.
        environment: Its whole environment.
        executable: Name of the node's program when it is one of this package, else empty.
        arguments: Its command line behind the program, when it is one of this package.
        node: Fully qualified node name when it is a node with a given name, else empty.
        cwd: Working directory, None for the launcher's.
        shell: Whether the command goes through the shell.
        to_screen: Whether standard output is shown; standard error always is, as `ros2 launch` does.
        respawn: Whether it is started again when it ends.
        respawn_delay: Seconds before that.
        respawn_max_retries: How often at most; negative for no limit.
        shutdown_on_exit: Whether its end ends the whole launch.
        sigterm_timeout: Seconds from SIGINT to SIGTERM.
        sigkill_timeout: Seconds from SIGTERM to SIGKILL.
        origin: `file:line` of the element, for messages.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    node: str = ''
    executable: str = ''
    arguments: tuple[str, ...] = ()
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
    """A line to print when its turn comes."""

    text: str
    level: str = 'INFO'


@dataclass(frozen=True)
class Stop:
    """A `<shutdown>` reached in order: the launch ends there."""

    reason: str = ''


@dataclass
class LaunchDescription:
    """The evaluated launch file.

    Attributes:
        path: The file.
        steps: Processes, messages and stops, in the file's order.
        arguments: Every argument declared on the way, by name.
    """

    path: Path
    steps: list[ChildSpec | LogMessage | Stop] = field(default_factory=list)
    arguments: dict[str, Argument] = field(default_factory=dict)

    @property
    def children(self) -> list[ChildSpec]:
        """The processes to start, in order."""
        return [step for step in self.steps if isinstance(step, ChildSpec)]
