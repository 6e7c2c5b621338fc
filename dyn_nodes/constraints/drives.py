"""Check whether the driven joints of a machine with closed loops determine its motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.assembly import assemble, moved
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import AssemblyError
from dyn_nodes.constraints.linear import Subspaces

SINGULAR = 1e-9
"""Least ratio of singular values of the driven rates by the motions, if drives determine the motion."""
SHARE = 1e-3
"""Share of the greatest coefficient below which a drive is not part of a dependency."""
STEPS = (0.02, -0.05, 0.1)
"""Displacements along the loops at which the drives are checked again, rad or m."""


def dependent_drives(blocks: ConstraintBlocks, q: Array, driven: Sequence[str]) -> tuple[str, ...]:
    """Return the driven joints whose rates depend on each other here and at nearby positions; empty if independent.

    At a dead centre they depend on each other in one position only. The result is also empty if the number of drives
    differs from the number of freedoms.

    Args:
        blocks: blocks of the machine.
        q: (nq,) position that satisfies the constraints.
        driven: names of the driven joints.
    """
    motions = Subspaces(blocks.at(q).J).motions
    if not driven or motions.shape[1] != len(driven):
        return ()
    dependent = _dependency(blocks, motions, driven)
    if not dependent or any(not _dependent_at(blocks, q, motions, step, driven) for step in STEPS):
        return ()
    return dependent


def _dependency(blocks: ConstraintBlocks, motions: Array, driven: Sequence[str]) -> tuple[str, ...]:
    rates = motions[[blocks.tree.velocity_index(name) for name in driven]]
    vectors, values, _ = np.linalg.svd(rates)
    if values[-1] > SINGULAR * max(values[0], 1e-300) and values[0] > SINGULAR:
        return ()
    parts = np.abs(vectors[:, values <= max(SINGULAR * values[0], SINGULAR)]).max(axis=1)
    return tuple(name for name, part in zip(driven, parts) if part > SHARE * parts.max())


def _dependent_at(blocks: ConstraintBlocks, q: Array, motions: Array, step: float, driven: Sequence[str]) -> bool:
    """Return whether the drives also depend on each other a step along the loops from a position."""
    along = motions @ np.cos(np.arange(1.0, motions.shape[1] + 1.0))
    try:
        near = assemble(blocks, moved(blocks.tree, q, step * along / np.abs(along).max()))
    except AssemblyError:
        return True
    other = Subspaces(blocks.at(near).J).motions
    return other.shape[1] == motions.shape[1] and bool(_dependency(blocks, other, driven))
