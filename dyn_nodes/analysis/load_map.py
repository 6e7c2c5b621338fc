"""Load map: the greatest safe payload in every posture of the arm at every slew angle.

    result = load_map(machine, ChartSettings(), count=50)

A load chart chooses one posture for each reach; the map contains all postures on a grid over the joints of the arm.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_chart import REASONS, ChartSettings, limits_of, rated_payloads, swings_of
from dyn_nodes.analysis.load_chart_output import WARNING
from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.analysis.plots import RESOLUTION, style
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STATES = 5_000_000
PIECES = {True: 1_000_000, False: 50_000}
"""Number of states per report of progress, on rigid supports or not: about a second of work."""


@dataclass(frozen=True, eq=False)
class LoadMap:
    """Payloads by slope, posture and swing angle, kg.

    Attributes:
        settings: settings of the map.  machine: its name.  joints: names of the arm's joints.
        postures: (n, a) positions of the arm's joints, rad or m, the last one fastest.
        reaches, heights: (n,) of the mount from the swing axis and above the ground, m.
        swings: (s,) position of the swing joint, rad.
        safe: (k, n, s) lesser of the rated static and the dynamic payload, kg.
        reason: (k, n, s) index into `REASONS` of the limit of `safe`.
        assumed: number of values of the machine YAML that are marked as assumed.
    """

    settings: ChartSettings
    machine: str
    joints: tuple[str, ...]
    postures: Array
    reaches: Array
    heights: Array
    swings: Array
    safe: Array
    reason: NDArray[np.int8]
    assumed: int

    def all_round(self, slope: int = 0) -> Array:
        """Return the safe payload (n,) for every swing angle, kg."""
        return np.asarray(self.safe[slope].min(axis=1))


def load_map(
    machine: Machine,
    settings: ChartSettings | None = None,
    count: int = 50,
    done: Callable[[int], None] = lambda _: None,
) -> LoadMap:
    """Return the map of a machine.

    Args:
        machine: machine as for a load chart.
        settings: settings; height and reach step have no effect.
        count: number of positions of each joint of the arm, including the ends of its range.
        done: called with the number of postures finished since the last call, over all slopes.

    Raises:
        LoadChartError: a machine without payload or wheels, or too many postures.
    """
    settings = settings or ChartSettings()
    statics = LoadStatics(machine)
    grip, swings = LoadGrip(statics), swings_of(statics, settings)
    states = count ** len(statics.arm) * len(swings) * len(settings.slopes)
    if states > MOST_STATES:
        raise LoadChartError(f'{machine.name}: expected a map of at most {MOST_STATES} states, found {states}')
    postures = statics.arm_grid(count)
    shape = len(settings.slopes), len(postures), len(swings)
    safe, reason = np.empty(shape), np.empty(shape, dtype=np.int8)
    step = max(1, PIECES[settings.rigid] // len(swings))
    for part in (slice(first, first + step) for first in range(0, len(postures), step)):
        limits = limits_of(statics, settings, postures[part], swings)
        for k, slope in enumerate(settings.slopes):
            _, rated = rated_payloads(limits, grip, settings, slope)
            safe[k, part], reason[k, part] = np.maximum(rated.min(axis=0), 0.0), rated.argmin(axis=0)
            done(len(postures[part]))
    q = statics.arm_positions(postures)
    names = tuple(joint.name for joint in statics.arm)
    where = statics.reach(q), statics.height(q), swings
    return LoadMap(settings, machine.name, names, postures, *where, safe, reason, len(machine.assumed))


def write_map(result: LoadMap, directory: Path) -> list[Path]:
    """Write load_map.png, .csv (one line per posture), .npz (all states). Raise OSError if writing fails."""
    paths = [directory / f'load_map.{ending}' for ending in ('png', 'csv', 'npz')]
    draw_map(result).savefig(paths[0])
    _write_csv(result, paths[1])
    with paths[2].open('wb') as file:
        np.savez(
            file,
            slopes=np.array(result.settings.slopes),
            joints=np.array(result.joints),
            postures=result.postures,
            reaches=result.reaches,
            heights=result.heights,
            swings=result.swings,
            safe=result.safe,
            reason=result.reason,
            reasons=np.array(REASONS),
        )
    return paths


def _write_csv(result: LoadMap, path: Path) -> None:
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(
            ['slope_deg', 'reach_m', 'height_m', *result.joints, 'all_round_kg', 'limited_by', 'worst_swing_deg']
        )
        for k, slope in enumerate(np.degrees(result.settings.slopes)):
            worst = result.safe[k].argmin(axis=1)
            for n, s in enumerate(worst):
                state = (slope, result.reaches[n], result.heights[n], *result.postures[n])
                numbers = [f'{value:.4f}' for value in state] + [f'{result.safe[k, n, s]:.1f}']
                writer.writerow([*numbers, REASONS[result.reason[k, n, s]], f'{np.degrees(result.swings[s]):.1f}'])


def draw_map(result: LoadMap) -> Figure:
    """Draw the safe payload at every swing angle over reach and height, for the best posture of each cell."""
    from matplotlib.figure import Figure

    slopes = result.settings.slopes
    bins = max(4, int(np.sqrt(len(result.reaches)) / 2))
    greatest = max(float(result.safe.min(axis=2).max()) / 1000.0, 1e-3)
    with style():
        width = 4.0 * float(np.ptp(result.reaches) / max(np.ptp(result.heights), 1e-3)) + 1.0
        figure = Figure(figsize=(max(3.0, width) * len(slopes) + 1.0, 4.8), dpi=RESOLUTION, layout='constrained')
        for k, (axes, slope) in enumerate(zip(np.ravel(figure.subplots(1, len(slopes))), slopes)):
            cells, reach, height = _best_of_cells(result, k, bins)
            mesh = axes.pcolormesh(reach, height, cells.T / 1000.0, vmin=0.0, vmax=greatest, cmap='viridis')
            axes.set_aspect('equal')
            axes.set_xlabel('reach, m')
            axes.set_ylabel('height above the ground, m')
            axes.set_title(f'{result.machine}, slope {np.degrees(slope):g}°')
        figure.colorbar(mesh, ax=axes, label='safe payload at every swing angle, t')
        if result.assumed:
            text = f'values of the machine file that are assumed: {result.assumed}'
            figure.supxlabel(text, x=0.01, ha='left', fontsize=8, color=WARNING)
    return figure


def _best_of_cells(result: LoadMap, slope: int, bins: int) -> tuple[Array, Array, Array]:
    """Return the greatest payload (bins, bins) per cell, NaN without postures, and edges of reach and height."""
    edges = [np.linspace(values.min(), values.max(), bins + 1) for values in (result.reaches, result.heights)]
    indices = [
        np.clip(np.searchsorted(edge, values, side='right') - 1, 0, bins - 1)
        for edge, values in zip(edges, (result.reaches, result.heights))
    ]
    cells = np.full((bins, bins), -np.inf)
    np.maximum.at(cells, tuple(indices), result.all_round(slope))
    return np.where(np.isfinite(cells), cells, np.nan), edges[0], edges[1]
