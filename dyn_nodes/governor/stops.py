"""Between a tip-over governor and what predicts how a machine comes to rest after an output."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dyn_nodes.common.arrays import Array


class Stop(NamedTuple):
    """A predicted stop.

    Attributes:
        least: least push of the ground on a wheel over its mean push, less what the errors of the box may take.
        contact: index of that wheel.
        ahead: when, s from now.
        standing: the least of all wheels at rest where the machine comes to a stand.
    """

    least: float
    contact: int
    ahead: float
    standing: float


class Decision(NamedTuple):
    """What is let through of a command.

    Attributes:
        output: (m,) V.
        parts: (m,) which part of its command a held lever gets; NaN where it is not held.
        stop: behind the output.
    """

    output: Array
    parts: Array
    stop: Stop


class Stops(Protocol):
    """Predicts stops from what is known of the machine now, and decides by `law`.

    Attributes:
        contacts: names of the wheels.
        degree: stability degree at rest in the present posture; not finite where the machine stands on nothing.
    """

    contacts: tuple[str, ...]
    degree: float

    @property
    def has_lifted(self) -> bool:
        """Whether a wheel carries nothing now."""
        ...

    def way_down(self, command: Array, before: Array) -> tuple[Array, Stop] | None:
        """Return outputs (m,) to which to lead the levers so that a wheel comes down, V, and what follows.

        None where a plain stop is better, or the command (m,) leads to a better stand by itself.
        """
        ...

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return what is let through of a command (m,) for a step, s; arguments as in `law.decide`.

        The output may last for so many s before there is another.
        """
        ...

    def pass_by(self, step: float) -> None:
        """Let a time pass, s, in which the valves got what was issued last."""
        ...

    def see(self) -> None:
        """Take over what is known of the machine now."""
        ...

    def issued(self, volts: Array) -> None:
        """Take outputs (m,) that go to the valves from now on."""
        ...

    def reset(self) -> None:
        """Take the machine to be at rest with all valves at neutral."""
        ...
