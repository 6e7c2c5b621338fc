"""A path through waypoints, and its files: CSV or YAML with `time`, `x`, `y` and, if it turns, `yaw`.

The path is the quintic spline with continuous accelerations and jerks that starts and ends at rest and without
acceleration; through two waypoints it is the rest-to-rest motion of least jerk.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.platform_path import PlanarMotion
from dyn_nodes.model.problems import MachineError, Report
from dyn_nodes.model.schema import Key
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.xml_source import read_text
from dyn_nodes.model.yaml_source import Entry, read_yaml

LARGEST_CSV = 20_000_000  # bytes
MOST_FAULTS = 20
"""Number of faults after which a CSV file is not read further."""
SHORTEST = 1e-6
"""Least time between two waypoints, s."""
GREATEST = 1e9
"""Greatest time, position or heading, s, m or rad."""
COLUMNS = ('time', 'x', 'y', 'yaw')
WAYPOINT = (
    Key('time', 'number', 'when the platform is there, s'),
    Key('x', 'number', 'of the reference point in the fixed frame', 'm'),
    Key('y', 'number', 'of the reference point in the fixed frame', 'm'),
    Key('yaw', 'number', 'heading in the fixed frame; may go beyond a turn', '', 0.0),
)


Rows = list[tuple[int, tuple[float, ...]]]
"""Line and numbers of every row."""


class WaypointPath:
    """A path through waypoints.

    Args:
        times: (n,) increasing, s; two or more.
        poses: (n, 3) [yaw, x, y], rad and m.

    Attributes:
        start, duration: first time, and last less first, s.

    Raises:
        ValueError: shapes that do not match, times that do not increase, numbers that are not finite.
    """

    def __init__(self, times: ArrayLike, poses: ArrayLike) -> None:
        t, pose = np.asarray(times, dtype=float), np.asarray(poses, dtype=float)
        if t.ndim != 1 or len(t) < 2 or pose.shape != (len(t), 3):
            raise ValueError(f'expected two or more times (n,) and poses (n, 3), found {t.shape} and {pose.shape}')
        if not (np.isfinite(t).all() and np.isfinite(pose).all()):
            raise ValueError('expected finite times and poses')
        if not np.all(np.diff(t) > 0.0):
            index = int(np.argmin(np.diff(t) > 0.0)) + 1
            raise ValueError(f'waypoint {index + 1}: expected a time after {t[index - 1]:g} s, found {t[index]:g} s')
        self.start, self.duration = float(t[0]), float(t[-1] - t[0])
        rest = [(1, np.zeros(3)), (2, np.zeros(3))]
        splines = [make_interp_spline(t, pose, k=5, bc_type=(rest, rest))]
        for _ in range(2):
            splines.append(splines[-1].derivative())
        self._splines = splines

    def __call__(self, times: ArrayLike) -> PlanarMotion:
        """Return the motion; before the first waypoint and after the last one the platform rests."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        within = np.clip(t, self.start, self.start + self.duration)
        outside = within != t
        pose, velocity, acceleration = (np.asarray(spline(within)) for spline in self._splines)
        velocity[outside], acceleration[outside] = 0.0, 0.0
        return PlanarMotion(t, pose, velocity, acceleration)


def load_waypoints(path: str | Path) -> WaypointPath:
    """Return the path of a CSV file with a header line (columns of other names are skipped) or of a YAML file.

    Raises:
        MachineError: with file, line, key or column, expected and found, for every fault; after
            `MOST_FAULTS` of a CSV file the rest is not read.
    """
    report = Report(str(path))
    if Path(path).suffix in ('.yaml', '.yml'):
        rows = _rows_of_yaml(Path(path), report)
    else:
        rows = _rows_of_csv(Path(path), COLUMNS[:3], COLUMNS[3:], report)
    _check_rising(rows, 'time', report, SHORTEST)
    _check_size(rows, report)
    if report.failed:
        raise MachineError(report.sorted_problems())
    table = np.array([row for _, row in rows])
    return WaypointPath(table[:, 0], table[:, [3, 1, 2]])


def _check_size(rows: Rows, report: Report) -> None:
    for line, row in rows:
        for name, value in zip(COLUMNS, row):
            if abs(value) > GREATEST:
                report.add(line, name, f'a number up to {GREATEST:g}', f'{value:g}')
        if len(report.problems) >= MOST_FAULTS:
            break


def _rows_of_yaml(path: Path, report: Report) -> Rows:
    root = read_yaml(path, report)
    if root is None:
        return []
    reader = SchemaReader(report)
    listed = reader.table(root, (Key('waypoints', 'named', 'a list of mappings'),)).get('waypoints')
    if not isinstance(listed, Entry):
        return []
    if listed.kind != 'list':
        report.add(listed.line, listed.path, 'a list of mappings with time, x, y and yaw', listed.describe())
        return []
    rows: Rows = []
    for item in listed.items:
        numbers = [value for value in reader.table(item, WAYPOINT).values() if isinstance(value, float)]
        if len(numbers) == len(WAYPOINT):
            rows.append((item.line, tuple(numbers)))
    return rows


def read_columns(path: str | Path, names: Sequence[str]) -> Array:
    """Return the columns (n, k) of a CSV file with a header line; the first one must increase.

    Raises:
        MachineError: with file, line, column, expected and found, for every fault.
    """
    report = Report(str(path))
    rows = _rows_of_csv(Path(path), names, (), report)
    _check_rising(rows, names[0], report)
    if report.failed:
        raise MachineError(report.sorted_problems())
    return np.array([row for _, row in rows])


def _check_rising(rows: Rows, name: str, report: Report, least: float = 0.0) -> None:
    """Check that the first column increases, by `least` at least."""
    if not report.failed and len(rows) < 2:
        report.add(0, 'rows', 'two or more', f'{len(rows)}')
    for (_, before), (line, row) in itertools.pairwise(rows):
        if row[0] <= before[0]:
            report.add(line, name, f'more than {before[0]:g}, the one before', f'{row[0]:g}')
        elif row[0] - before[0] < least:
            report.add(line, name, f'at least {least:g} more than {before[0]:g}, the one before', f'{row[0]:g}')
        if len(report.problems) >= MOST_FAULTS:
            break


def _rows_of_csv(path: Path, needed: Sequence[str], optional: Sequence[str], report: Report) -> Rows:
    """Return line and numbers of every row; a missing optional column is zero."""
    text = read_text(path, report, LARGEST_CSV)
    if text is None:
        return []
    lines = csv.reader(io.StringIO(text, newline=None))
    try:
        return _numbers(lines, needed, optional, report)
    except csv.Error as error:
        report.add(lines.line_num, 'row', 'cells with commas between them', str(error))
        return []


def _numbers(lines: Any, needed: Sequence[str], optional: Sequence[str], report: Report) -> Rows:
    head = [name.strip() for name in next(lines, [])]
    missing = [name for name in needed if name not in head]
    if missing:
        actual = f'no {" and no ".join(missing)} among {", ".join(head)}' if any(head) else 'an empty file'
        also = f', and {", ".join(optional)} where it is not 0' if optional else ''
        report.add(1, 'head line', f'the columns {", ".join(needed)}{also}', actual)
        return []
    rows: Rows = []
    for cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        numbers = [_cell(cells, head, name, lines.line_num, report) for name in (*needed, *optional)]
        if all(math.isfinite(number) for number in numbers):
            rows.append((lines.line_num, tuple(numbers)))
        if len(report.problems) >= MOST_FAULTS:
            report.add(lines.line_num, 'rows', 'numbers', f'{len(report.problems)} faults: the rest is not read')
            break
    return rows


def _cell(cells: list[str], head: list[str], name: str, line: int, report: Report) -> float:
    if name not in head:
        return 0.0
    column = head.index(name)
    text = cells[column].strip() if column < len(cells) else ''
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        report.add(line, f'column {name}', 'a finite number', repr(text) if text else 'nothing')
    return value
