"""Calculations of standards for tipping and lift capacity."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.library.machine import Machine
from dyn_nodes.library.named import load
from dyn_nodes.library.notice import shown

if TYPE_CHECKING:
    from dyn_nodes.analysis.standards import Certificate


def certify(
    machine: Machine | str | Path,
    standard: str,
    *,
    step: float = 1.5,
    posture: Mapping[str, float] | None = None,
    rigid: bool = False,
    vary: bool = True,
    values: Mapping[str, float] | None = None,
) -> Certificate:
    """Return the calculation of a standard for a machine on level ground.

    Args:
        machine: a loaded machine, or a name or path for `load`.
        standard: name of the standard, such as `iso10567`.
        step: step of reach and height of a grid, m.
        posture: positions of joints that the calculation keeps, in place of the initial ones, rad or m.
        rigid: springs, tyres and tracks are rigid.
        vary: also compute the effect of each assumed value.
        values: numbers that a standard needs beside the machine files, by name, such as `rated_load`.

    Raises:
        ValueError: an unknown standard, or a machine that it does not cover.
    """
    from dyn_nodes.analysis.standards import CertifySettings, certify

    loaded = machine if isinstance(machine, Machine) else load(machine)
    with shown('certify'):
        return certify(
            loaded.data, standard, CertifySettings(step, dict(posture or {}), rigid, vary, dict(values or {}))
        )
