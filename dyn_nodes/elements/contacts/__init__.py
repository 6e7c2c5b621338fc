"""Kinds of contacts, one file each, and the contacts of a machine as elements: wheels and feet first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from dyn_nodes.elements.wheel import sprung_wheels
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.elements import ContactElement

KINDS: Mapping[str, Callable[[Any, Machine], ContactElement]] = kinds_of(
    sys.modules[__name__],
    ContactElement,  # type: ignore[type-abstract]
)
"""Class of the element of every `type` of contact in a machine file."""


def other_contacts(machine: Machine) -> tuple[ContactElement, ...]:
    """Return the contacts of a machine other than its wheels, in the machine's order."""
    return tuple(KINDS[record.kind](record, machine) for record in machine.contacts)


def contact_elements(machine: Machine) -> tuple[ContactElement, ...]:
    """Return all spring-supported contacts of a machine: wheels and feet, then other contacts."""
    return (*sprung_wheels(machine), *other_contacts(machine))
