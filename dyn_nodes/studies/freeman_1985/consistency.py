"""Shared checks of inertia-power arrays against slopes of the inertia, and shared figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import assemble
from dyn_nodes.multibody.influence import Coefficients, TransferredModel
from dyn_nodes.multibody.influence.algebra import transposed
from dyn_nodes.studies.freeman_1985.machines import Mechanism

Model = Callable[[Array], tuple[TransferredModel, Coefficients]]
"""Function from joint positions to a model in some joints and to all joints of the tree by them, in any order."""


def christoffel_defect(
    mechanism: Mechanism, model: Model, names: Sequence[str], step: float = 1e-5
) -> tuple[float, float]:
    """Return the greatest difference between the symmetric part of P* and the Christoffel symbols of I*, and max |P*|.

    Args:
        mechanism: of the machine.
        model: in joints `names`, as a function of the positions of the tree.
        names: joints that are its coordinates: true coordinates.
        step: of the central differences along the closed loops.
    """
    here, joints = model(mechanism.q)
    order = [joints.parameters.index(name) for name in mechanism.tree.velocity_names]
    system, size = mechanism.blocks(), len(names)
    slopes = np.zeros((size,) * 3)
    indices = [mechanism.tree.velocity_index(name) for name in names]
    for n in range(size):
        inertias = []
        for side in (1, -1):
            guess = mechanism.q + side * step * joints.G[order, n]
            guess[indices] = mechanism.q[indices] + side * step * np.eye(size)[n]
            inertias.append(model(assemble(system, guess, held=tuple(names)))[0].inertia)
        slopes[:, :, n] = (inertias[0] - inertias[1]) / (2 * step)
    expected = 0.5 * (slopes + np.swapaxes(slopes, 1, 2) - np.einsum('mnk->kmn', slopes))
    symmetric = 0.5 * (here.power + transposed(here.power))
    return float(np.abs(symmetric - expected).max()), float(np.abs(here.power).max())


def sketch(mechanism: Mechanism) -> drawing.Figure:
    """Return a figure of the joints and links of a mechanism from above and, if it is spatial, from the side."""
    R, origins, _ = (part[0] for part in mechanism.position.poses)
    views = [('x', 'y', 0, 1)] if np.ptp(origins[:, 2]) < 1e-9 else [('x', 'y', 0, 1), ('x', 'z', 0, 2)]
    figure, panels = drawing.panels(1, 3.2, len(views), share=False)
    ends = [leg.end for leg in mechanism.legs] or [mechanism.end]
    for axes, (across, up, i, j) in zip(panels, views):
        for end in ends:
            chain, body = [], end.body
            while body >= 0:
                chain.append(origins[body])
                body = mechanism.tree.bodies[body].parent
            line = np.array([origins[end.body] + R[end.body] @ end.p, *chain])
            if mechanism.legs:  # from the last joint of a leg to the centre of the platform
                axes.plot(line[:2, i], line[:2, j], color='0.6', linewidth=1.0, zorder=1)
                line = line[1:]
            axes.plot(line[:, i], line[:, j], marker='o', markersize=3, linewidth=1.4)
        axes.set(xlabel=f'{across}, {mechanism.length}', ylabel=f'{up}, {mechanism.length}')
        axes.set_aspect('equal')
    return figure


def spots(results: Mapping[str, Mapping[str, float | None]], bound: float, label: str) -> drawing.Figure:
    """Return a figure of small numbers on a logarithmic scale: one line per row, one marker per kind, one bound."""
    figure, (axes,) = drawing.panels(1, 1.2 + 0.24 * len(results))
    kinds = list(dict.fromkeys(kind for row in results.values() for kind in row))
    for kind, mark in zip(kinds, 'os^xDv'):
        values = [row.get(kind) or np.nan for row in results.values()]
        axes.semilogx(values, range(len(results)), mark, markersize=4, label=kind)
    axes.axvline(bound, color='0.5', linewidth=0.8)
    axes.set(xlabel=label, yticks=range(len(results)), yticklabels=list(results))
    axes.set_ylim(len(results) - 0.5, -0.5)
    drawing.legend(axes)
    return figure
