"""Data sheets of machines: read, fit, predict, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.common.share import named_file

if TYPE_CHECKING:
    from dyn_nodes.analysis.sheets.fit import FittedSheet
    from dyn_nodes.analysis.sheets.prediction import Prediction
    from dyn_nodes.analysis.sheets.residuals import Measurement, Residuals
    from dyn_nodes.analysis.sheets.sheet import Sheet


class DataSheet:
    """Data sheet of a machine; the first use of a result fits its unknown quantities, which takes seconds.

    Attributes:
        content: content of the file.
    """

    def __init__(self, content: Sheet) -> None:
        self.content = content

    @cached_property
    def fitted(self) -> FittedSheet:
        """The sheet with fitted quantities: `values`, `deviations` and `covariance`."""
        from dyn_nodes.analysis.sheets.fit import fit_sheet

        return fit_sheet(self.content)

    def predict(self, cells: Sequence[Mapping[str, Any]]) -> list[Prediction]:
        """Return `value` (rated load, kg), `tipping_load`, `deviation`, `limit` and `load` of each cell.

        Args:
            cells: columns by name, as in the charts of the sheet, with the chart in `chart`, such as
                `{'chart': 'lift', 'height_m': 1, 'radius_m': 3, 'direction': 'across'}`.

        Raises:
            ValueError: an unknown chart or label, or a missing column.
        """
        from dyn_nodes.analysis.sheets.prediction import predict

        return predict(self.fitted, cells)

    def residuals(self) -> list[Residuals]:
        """Return the residuals of each chart, and of all together as the last."""
        from dyn_nodes.analysis.sheets.residuals import residuals_of

        cells = self.fitted.cells()
        return [residuals_of(cell.chart.name, [cell]) for cell in cells] + [residuals_of(self.content.machine, cells)]

    def validate(self, parts: int = 2, seed: int = 5) -> Residuals:
        """Return the residuals of each part of the points, predicted by a fit to the other parts.

        Args:
            parts: number of random parts of equal size.
            seed: of the random parts.
        """
        from dyn_nodes.analysis.sheets.residuals import validate

        return validate(self.content, parts, seed)

    def next_measurements(self, count: int = 3) -> list[Measurement]:
        """Return the quantities whose measurement reduces the uncertainty of the loads most.

        Args:
            count: their number.
        """
        from dyn_nodes.analysis.sheets.residuals import next_measurements

        return next_measurements(self.fitted, count)

    def write(self, urdf: str | Path, config: str | Path, cell: Mapping[str, Any] | None = None) -> None:
        """Write URDF and machine YAML in the configuration and posture of a cell.

        Args:
            urdf: file to write.
            config: machine YAML to write.
            cell: columns by name; missing columns are taken from the first cell of its chart.

        Raises:
            ValueError: an unknown chart or label.
            OSError: the files cannot be written.
        """
        from dyn_nodes.analysis.sheets.machine_files import write_machine

        write_machine(self.fitted, Path(urdf), Path(config), cell or {})


def read_sheet(path: str | Path) -> DataSheet:
    """Read a data sheet.

    Args:
        path: of the YAML file, or name of a sheet of this package, such as `cat_m318d`.

    Raises:
        FileNotFoundError: no sheet of this name.
        ValueError: the file has faults; one line for each with file, line and key.
    """
    from dyn_nodes.analysis.sheets.sheet import read_sheet

    return DataSheet(read_sheet(named_file(path, 'config/sheets')))
