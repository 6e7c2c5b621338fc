"""What came of a sweep: counts, ranges, a CSV file, a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
from numpy.typing import NDArray

from dyn_nodes.sweeps.store import StoreError, read_note, read_parts

Array = NDArray[np.float64]
CSV, PICTURE = 'results.csv', 'sweep.png'
MOST_CELLS = 40
"""Of a map, along one side."""


class Results(NamedTuple):
    """The runs of a directory.

    Attributes:
        note: of the sweep.  table: of the parts that are there.
    """

    note: Mapping[str, Any]
    table: pa.Table

    @property
    def factors(self) -> list[str]:
        """Names of the columns of factors that vary."""
        return [name for name in self.note['factors'] if len(np.unique(self.column(name))) > 1]

    @property
    def outcomes(self) -> dict[str, str]:
        """Name -> kind of the columns of outcomes."""
        known = {'run', 'status', *self.note['factors']}
        return {name: kind for name, kind in self.note['columns'].items() if name not in known}

    def column(self, name: str) -> Array:
        """Return a column (n,) of numbers; flags are 0 and 1."""
        return np.asarray(self.table.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)


def read_results(directory: Path) -> Results:
    """Return the runs of a sweep's directory, of one that is not finished as well.

    Raises:
        StoreError: no sweep, no part that is whole, a damaged part.
    """
    note, parts = read_note(directory), list(read_parts(directory))
    if not parts:
        raise StoreError(f'{directory}: expected finished parts, found none yet')
    try:
        return Results(note, pa.concat_tables([own.replace_schema_metadata(None) for own in parts]))
    except pa.ArrowInvalid as error:
        raise StoreError(f'{directory}: expected parts with the same columns, found {error}') from None


def summary(results: Results) -> dict[str, Any]:
    """Return counts of the status and of flags, and ranges of numbers, as plain data for JSON."""
    found: dict[str, Any] = {
        'name': results.note['name'],
        'runs': results.table.num_rows,
        'planned': results.note['runs'],
        'status': dict(sorted(Counter(results.table.column('status').to_pylist()).items())),
        'factors': {name: _range(results.column(name)) for name in results.note['factors']},
        'flags': {},
        'numbers': {},
    }
    for name, kind in results.outcomes.items():
        values = results.column(name)
        if kind == 'flag':
            found['flags'][name] = {'count': int(values.sum()), 'share': float(values.mean())}
        else:
            found['numbers'][name] = _range(values)
    return found


def _range(values: Array) -> dict[str, Any]:
    """Return least, mean, greatest and number of the finite values; None where there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return {'least': None, 'mean': None, 'greatest': None, 'count': 0}
    least, mean, greatest = float(finite.min()), float(finite.mean()), float(finite.max())
    return {'least': least, 'mean': mean, 'greatest': greatest, 'count': len(finite)}


def effects(results: Results, outcome: str) -> dict[str, float]:
    """Return the rank correlation of every factor that varies with an outcome, the strongest first.

    Runs without a finite value are left out. NaN: no correlation is defined, as of an outcome that is the same for all.
    """
    from scipy.stats import spearmanr

    values = results.column(outcome)
    good = np.isfinite(values)
    found = {}
    for name in results.factors:
        column = results.column(name)[good]
        constant = len(column) < 3 or np.ptp(column) == 0.0 or np.ptp(values[good]) == 0.0
        found[name] = math.nan if constant else float(spearmanr(column, values[good])[0])
    return dict(sorted(found.items(), key=lambda item: -abs(item[1]) if math.isfinite(item[1]) else 1.0))


def write_csv(results: Results, path: Path) -> None:
    """Write all runs as a table. Raises OSError."""
    pcsv.write_csv(results.table, path)


def draw(results: Results, outcome: str, path: Path) -> None:
    """Draw the mean of an outcome over the two strongest factors, and the effect of every factor beside it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    strength = effects(results, outcome)
    figure = Figure(figsize=(11.0, 4.5), layout='constrained')
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    names = list(strength)[:2]
    if len(names) == 2:
        _map(figure, left, results, outcome, names[0], names[1])
    elif names:
        left.plot(results.column(names[0]), results.column(outcome), '.')
        left.set(xlabel=names[0], ylabel=outcome)
    places = np.arange(len(strength))[::-1]
    right.barh(places, [0.0 if math.isnan(own) else own for own in strength.values()])
    right.set_yticks(places, list(strength))
    right.set(xlim=(-1.0, 1.0), xlabel=f'rank correlation with {outcome}')
    right.axvline(0.0, color='0.3', linewidth=0.8)
    figure.suptitle(f'{results.note["name"]}: {outcome}, {results.table.num_rows} runs')
    figure.savefig(path, dpi=120)


def _map(figure: Any, axes: Any, results: Results, outcome: str, across: str, up: str) -> None:
    """Draw the mean of an outcome in cells over two factors; over their levels, where they have few."""
    x, y, z = results.column(across), results.column(up), results.column(outcome)
    good = np.isfinite(z)
    edges = [_edges(x), _edges(y)]
    counts = np.histogram2d(x[good], y[good], edges)[0]
    sums = np.histogram2d(x[good], y[good], edges, weights=z[good])[0]
    with np.errstate(invalid='ignore'):
        means = np.where(counts > 0, sums / counts, np.nan)
    mesh = axes.pcolormesh(*edges, means.T, cmap='viridis')
    figure.colorbar(mesh, ax=axes, label=f'mean of {outcome}')
    axes.set(xlabel=across, ylabel=up)


def _edges(values: Array) -> Array:
    levels = np.unique(values)
    if len(levels) > MOST_CELLS or len(levels) < 2:
        cells = max(2, min(MOST_CELLS, int(np.sqrt(len(values)) / 2.0)))
        return np.linspace(levels[0], levels[-1] + 1e-9 * (1.0 + abs(levels[-1])), cells + 1)
    middle = 0.5 * (levels[1:] + levels[:-1])
    return np.concatenate([[levels[0] - (middle[0] - levels[0])], middle, [levels[-1] + (levels[-1] - middle[-1])]])
