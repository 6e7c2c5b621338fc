"""Load map: the greatest safe payload in every posture of the arm at every slew angle.

    found = load_map(machine, ChartSettings(), count=50)

A load chart chooses one posture for each reach; the map judges all of them, on a grid over the joints of the arm.
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
from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.analysis.plots import RESOLUTION, style
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STATES = 5_000_000
PIECES = {True: 1_000_000, False: 50_000}
"""States after which progress is reported: about a second of work, on rigid supports or not."""


@dataclass(frozen=True, eq=False)
class LoadMap:
    """Payloads by slope, posture and swing angle, kg.

    Attributes:
        settings: what was assumed.  machine: its name.  joints: names of the arm's joints.
        postures: (n, a) positions of the arm's joints, rad or m, the last one fastest.
        reaches, heights: (n,) of the mount from the swing axis and above the ground, m.
        swings: (s,) position of the swing joint, rad.
        safe: (k, n, s) lesser of the rated static and the dynamic payload, kg.
        reason: (k, n, s) index into `REASONS` of what limits it.
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

    def all_round(self, slope: int = 0) -> Array:
        """Return the safe payload (n,) that holds at every swing angle, kg."""
        return np.asarray(self.safe[slope].min(axis=1))


def load_map(
    machine: Machine,
    settings: ChartSettings | None = None,
    count: int = 50,
    done: Callable[[int], None] = lambda _: None,
) -> LoadMap:
    """Compute the map of a machine.

    Args:
        machine: as that of a load chart.
        settings: its height and its reach step play no part.
        count: positions of each joint of the arm, the ends of its range among them.
        done: called with the number of postures that were finished since, over all slopes.

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
    return LoadMap(settings, machine.name, names, postures, statics.reach(q), statics.height(q), swings, safe, reason)


def write_map(found: LoadMap, directory: Path) -> list[Path]:
    """Write load_map.png, .csv (a line for each posture) and .npz (all states). Raises OSError."""
    paths = [directory / f'load_map.{ending}' for ending in ('png', 'csv', 'npz')]
    draw_map(found).savefig(paths[0])
    _write_csv(found, paths[1])
    with paths[2].open('wb') as file:
        np.savez(
            file,
            slopes=np.array(found.settings.slopes),
            joints=np.array(found.joints),
            postures=found.postures,
            reaches=found.reaches,
            heights=found.heights,
            swings=found.swings,
            safe=found.safe,
            reason=found.reason,
            reasons=np.array(REASONS),
        )
    return paths


def _write_csv(found: LoadMap, path: Path) -> None:
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(
            ['slope_deg', 'reach_m', 'height_m', *found.joints, 'all_round_kg', 'limited_by', 'worst_swing_deg']
        )
        for k, slope in enumerate(np.degrees(found.settings.slopes)):
            worst = found.safe[k].argmin(axis=1)
            for n, s in enumerate(worst):
                state = (slope, found.reaches[n], found.heights[n], *found.postures[n])
                numbers = [f'{value:.4f}' for value in state] + [f'{found.safe[k, n, s]:.1f}']
                writer.writerow([*numbers, REASONS[found.reason[k, n, s]], f'{np.degrees(found.swings[s]):.1f}'])


def draw_map(found: LoadMap) -> Figure:
    """Draw what is safe at every swing angle over reach and height, of each cell its best posture, a plot a slope."""
    from matplotlib.figure import Figure

    slopes = found.settings.slopes
    bins = max(4, int(np.sqrt(len(found.reaches)) / 2))
    greatest = max(float(found.safe.min(axis=2).max()) / 1000.0, 1e-3)
    with style():
        width = 4.0 * float(np.ptp(found.reaches) / max(np.ptp(found.heights), 1e-3)) + 1.0
        figure = Figure(figsize=(max(3.0, width) * len(slopes) + 1.0, 4.8), dpi=RESOLUTION, layout='constrained')
        for k, (axes, slope) in enumerate(zip(np.ravel(figure.subplots(1, len(slopes))), slopes)):
            cells, reach, height = _best_of_cells(found, k, bins)
            mesh = axes.pcolormesh(reach, height, cells.T / 1000.0, vmin=0.0, vmax=greatest, cmap='viridis')
            axes.set_aspect('equal')
            axes.set_xlabel('reach, m')
            axes.set_ylabel('height above the ground, m')
            axes.set_title(f'{found.machine}, slope {np.degrees(slope):g}°')
        figure.colorbar(mesh, ax=axes, label='safe payload at every swing angle, t')
    return figure


def _best_of_cells(found: LoadMap, slope: int, bins: int) -> tuple[Array, Array, Array]:
    """Greatest payload (bins, bins) of the postures in each cell, NaN without any, and edges of reach and height."""
    edges = [np.linspace(values.min(), values.max(), bins + 1) for values in (found.reaches, found.heights)]
    places = [
        np.clip(np.searchsorted(own, values, side='right') - 1, 0, bins - 1)
        for own, values in zip(edges, (found.reaches, found.heights))
    ]
    cells = np.full((bins, bins), -np.inf)
    np.maximum.at(cells, tuple(places), found.all_round(slope))
    return np.where(np.isfinite(cells), cells, np.nan), edges[0], edges[1]
