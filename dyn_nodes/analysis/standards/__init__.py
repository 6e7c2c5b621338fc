"""Calculations that standards prescribe for tipping and lift capacity: one module per standard, found by its file."""

from __future__ import annotations

import sys

from dyn_nodes.analysis.standards.standard import Certificate, CertifyError, CertifySettings, Standard
from dyn_nodes.common.printing import near
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.machine import Machine

__all__ = ['Certificate', 'CertifyError', 'CertifySettings', 'Standard', 'certify', 'standards']


def standards() -> dict[str, type[Standard]]:
    """Return the standards by kind, such as `iso10567`."""
    return kinds_of(sys.modules[__name__], Standard)


def certify(machine: Machine, standard: str, settings: CertifySettings | None = None) -> Certificate:
    """Return the calculation of a standard for a machine.

    Args:
        machine: the machine.
        standard: kind of the standard, such as `iso10567`.
        settings: settings; None: defaults.

    Raises:
        CertifyError: an unknown standard, or a machine that the standard does not cover.
        LoadChartError: a machine without payload, supports or equilibrium.
    """
    kinds = standards()
    if standard not in kinds:
        names = sorted(kinds)
        raise CertifyError(f'standard: expected {", ".join(names)}, found {standard!r}{near(standard, names)}')
    return kinds[standard]().certify(machine, settings or CertifySettings())
