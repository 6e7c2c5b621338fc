"""Interface between a tip-over governor and the prediction of how a machine comes to rest after an output."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dyn_nodes.common.arrays import Array


class Stop(NamedTuple):
    """A predicted stop.

    Attributes:
        least: least ground force on a wheel over its mean force, less the effect of the assumed errors.
        contact: index of that wheel.
        ahead: time of that instant, s from now.
        standing: the least of all wheels at rest when the machine has stopped.
        pushes, rest: `least` and `standing` without the limit of the rated load.
    """

    least: float
    contact: int
    ahead: float
    standing: float
    pushes: float
    rest: float


class Decision(NamedTuple):
    """Permitted part of a command.

    Attributes:
        output: (m,) V.
        parts: (m,) fraction of its command that a held lever gets; NaN if it is not held.
        stop: that follows the output.
    """

    output: Array
    parts: Array
    stop: Stop


class Stops(Protocol):
    """Predicts stops from the present state of the machine, and decides by `law`.

    Attributes:
        contacts: names of the wheels.
        degree: stability degree at rest in the present posture; not finite if the machine has no support.
    """

    contacts: tuple[str, ...]
    degree: float

    @property
    def has_lifted(self) -> bool:
        """Whether a wheel carries no load now."""
        ...

    def way_down(self, command: Array, before: Array) -> tuple[Array, Stop] | None:
        """Return outputs (m,), V, to which to lead the levers so that a wheel comes down, and the resulting stop.

        None if a plain stop is better, or if the command (m,) improves stability by itself.
        """
        ...

    def decide(self, command: Array, before: Array, step: float, since: Array, lasting: float) -> Decision:
        """Return the permitted part of a command (m,) for a step, s; arguments as in `law.decide`.

        The output may last for `lasting` s before the next one.
        """
        ...

    def stop(self, volts: Array) -> Stop:
        """Return the stop after outputs (m,), V."""
        ...

    def pass_by(self, step: float) -> None:
        """Advance by a time step, s, with the outputs issued last."""
        ...

    def see(self) -> None:
        """Update from the present measurements."""
        ...

    def issued(self, volts: Array) -> None:
        """Accept the outputs (m,) that go to the valves from now on."""
        ...

    def reset(self) -> None:
        """Assume that the machine is at rest with all valves at neutral."""
        ...
