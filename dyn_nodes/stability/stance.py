"""Base, wheels and other contacts of a machine with constraints, for its balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.machine import Base, Machine


@dataclass(frozen=True)
class StandingWheel:
    """A wheel on a spring or by constraint.

    Attributes:
        name: of the wheel.
        friction: law of a wheel on a spring, static coefficient of a wheel by constraint; None: unknown.
        rolling: rolling data of a wheel on a spring.
        corner: the wheel may be a corner of the support polygon.
    """

    name: str
    friction: Any = None
    rolling: Any = None
    corner: bool = True


@dataclass(frozen=True)
class Stance:
    """The base of a machine and its supports: wheels on springs, wheels by constraint, then other contacts."""

    name: str
    base: Base
    wheels: tuple[StandingWheel, ...]
    contacts: tuple[ContactRecord, ...]

    @property
    def ground_contacts(self) -> tuple[Any, ...]:
        """Wheels, then other contacts."""
        return (*self.wheels, *self.contacts)

    @property
    def supports(self) -> tuple[Any, ...]:
        """Wheels, and the springs of other contacts."""
        return (*self.wheels, *(support for contact in self.contacts for support in contact.supports))


def stance_of(machine: Machine) -> Stance:
    """Return the stance of a machine."""
    wheels = [StandingWheel(wheel.name, wheel.friction, wheel.rolling) for wheel in machine.wheels]
    wheels += [StandingWheel(wheel.name, wheel.friction) for wheel in machine.rigid_wheels]
    return Stance(machine.name, machine.base, tuple(wheels), machine.contacts)
