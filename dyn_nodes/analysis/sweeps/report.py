"""The results of a sweep: counts, ranges, a CSV file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from dyn_nodes.analysis.sweeps.design import block_of
from dyn_nodes.analysis.sweeps.store import StoreError, read_note, read_parts
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import near
from dyn_nodes.common.textfile import replacing

CSV = 'results.csv'


class Results(NamedTuple):
    """Runs of the directory of a sweep.

    Attributes:
        note: note of the sweep.  table: runs of the finished parts.
    """

    note: Mapping[str, Any]
    table: pa.Table

    @property
    def factors(self) -> list[str]:
        """Names of the columns of factors that vary."""
        return [name for name in self.note['factors'] if len(np.unique(self.column(name))) > 1]

    @property
    def units(self) -> Mapping[str, str]:
        """Name -> unit of the columns of factors with a unit."""
        return dict(self.note.get('units', {}))

    @property
    def outcomes(self) -> dict[str, str]:
        """Name -> kind of the columns of outcomes."""
        excluded = {'run', 'status', 'detail', *self.note['factors']}
        return {name: kind for name, kind in self.note['columns'].items() if name not in excluded}

    def independent(self) -> Results:
        """Return the runs that are independent of each other.

        For a design for Sobol indices these are two runs of each base point; for a design that varies factors one at a
        time, the first run of each point.
        """
        varied = self.note.get('varied', {})
        if self.note['design'] == 'saltelli':
            block = len(self.note['factors']) + 2
            kept = {0, block - 1}
        elif varied:
            block, kept = block_of(list(varied.values())), {0}
        else:
            return self
        positions = self.column('run').astype(np.int64) % block
        return self._replace(table=self.table.filter(pa.array(np.isin(positions, list(kept)))))

    def column(self, name: str) -> Array:
        """Return a column (n,) of numbers; flags are 0 and 1."""
        return np.asarray(self.table.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)


def read_results(directory: Path) -> Results:
    """Return the runs of a sweep's directory, also of an unfinished sweep.

    Raises:
        StoreError: no sweep, no finished part, or a damaged part.
    """
    note = read_note(directory)
    parts = list(read_parts(directory, note))
    if not parts:
        raise StoreError(f'{directory}: expected finished parts, found none yet')
    return Results(note, pa.concat_tables([part.replace_schema_metadata(None) for part in parts]))


def outcome_of(results: Results, name: str | None) -> str:
    """Return the column of a report: `name`, by default the first outcome.

    Raises:
        StoreError: there is no such outcome.
    """
    if name is None:
        return [*results.outcomes, 'end_time'][1]  # the first column is end_time
    if name not in results.outcomes:
        raise StoreError(
            f'--outcome: expected one of {", ".join(results.outcomes)}, found {name!r}{near(name, results.outcomes)}'
        )
    return name


def summary(results: Results) -> dict[str, Any]:
    """Return counts of the status and of flags, and ranges of numbers, as plain data for JSON."""
    content: dict[str, Any] = {
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
            content['flags'][name] = {'count': int(values.sum()), 'share': float(values.mean())}
        else:
            content['numbers'][name] = _range(values)
    return content


def _range(values: Array) -> dict[str, Any]:
    """Return least, mean, greatest and number of the finite values; None without finite values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return {'least': None, 'mean': None, 'greatest': None, 'count': 0}
    least, mean, greatest = float(finite.min()), float(finite.mean()), float(finite.max())
    return {'least': least, 'mean': mean, 'greatest': greatest, 'count': len(finite)}


def write_csv(results: Results, path: Path) -> None:
    """Write all runs as a table. Raise OSError if it cannot be written."""
    with replacing(path) as file:
        pcsv.write_csv(results.table, file)
