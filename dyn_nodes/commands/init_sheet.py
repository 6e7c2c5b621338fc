"""`dyn-nodes init --from-sheet`: fits the unknown masses of a data sheet and writes the machine, or predicts cells."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, tables

if TYPE_CHECKING:
    from dyn_nodes.analysis.sheets.residuals import Residuals
    from dyn_nodes.library.data_sheet import DataSheet


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of data sheets."""
    group = parser.add_argument_group('data sheets')
    group.add_argument(
        '--from-sheet',
        metavar='SHEET',
        help='data sheet of a machine (YAML), or the name of one of this package: fit its unknown quantities to its '
        'published loads, write URDF and machine YAML',
    )
    group.add_argument(
        '--cell',
        metavar='COLUMN=VALUE',
        nargs='+',
        action='extend',
        default=[],
        help='cell that determines configuration and posture, such as chart=NAME radius_m=6 (the first cell)',
    )
    group.add_argument(
        '--predict', metavar='CELLS', type=Path, help='print the loads of the cells of this YAML instead'
    )
    group.add_argument(
        '--validate', action='store_true', help='also predict each half of the points from the other half'
    )
    group.add_argument('--json', action='store_true', help='print fit or predictions as JSON, kg')


def run(args: argparse.Namespace) -> int:
    """Fit the sheet; write the machine or print predictions; return 0."""
    from dyn_nodes.analysis.sheets.prediction import read_cells
    from dyn_nodes.library.data_sheet import read_sheet

    try:
        sheet = read_sheet(args.from_sheet)
    except FileNotFoundError as error:
        raise CommandError(str(error)) from None
    if args.predict:
        _print_predictions(sheet, read_cells(args.predict), args.json)
        return 0
    validation = sheet.validate() if args.validate else None
    if args.json:
        _print_json(sheet, validation)
    else:
        _print_fit(sheet, validation)
    _write(sheet, args)
    return 0


def _print_predictions(sheet: DataSheet, cells: list[dict[str, Any]], as_json: bool) -> None:
    predictions = sheet.predict(cells)
    if as_json:
        tables.print_json([asdict(prediction) for prediction in predictions])
        return
    columns = {
        'chart': lambda p: p.chart,
        'cell': lambda p: ', '.join(f'{_text(value)}' for key, value in p.cell.items() if key != 'chart'),
        'load by stability, kg': lambda p: f'{p.value:.0f}',
        '+-': lambda p: f'{p.deviation:.0f}',
        'tipping load, kg': lambda p: f'{p.tipping_load:.0f}',
        'limit': lambda p: p.limit,
        'load, kg': lambda p: f'{p.load:.0f}',
    }
    tables.show(predictions, columns, title=sheet.content.machine)


def _text(value: object) -> str:
    return f'{value:g}' if isinstance(value, float) else str(value)


def _print_fit(sheet: DataSheet, validation: Residuals | None) -> None:
    from dyn_nodes.analysis.sheets.residuals import undetermined

    fitted, quantities = sheet.fitted, sheet.content.quantities
    columns = {
        'quantity': lambda name: name,
        'fitted': lambda name: f'{fitted.values[name]:.4g}',
        '+-': lambda name: f'{fitted.deviations[name]:.2g}',
        'unit': lambda name: quantities[name].unit,
        'before': lambda name: f'{quantities[name].start:g} +- {quantities[name].spread:g}',
        'kind': lambda name: 'unknown' if quantities[name].unknown else 'published',
    }
    tables.show(fitted.names, columns, title=f'{sheet.content.machine}: quantities')
    rows = sheet.residuals()
    validated = [] if validation is None else [validation]
    names = [row.name for row in rows[:-1]] + ['all charts', 'each half from the other']
    residual_columns = {
        'chart': lambda pair: pair[0],
        'cells by stability': lambda pair: str(pair[1].targets),
        'rms, %': lambda pair: f'{100 * pair[1].rms:.2f}',
        'worst, %': lambda pair: f'{100 * pair[1].worst:.2f}',
        'rms by rounding, %': lambda pair: f'{100 * pair[1].rounding:.2f}',
        'bounds': lambda pair: str(pair[1].bounds),
        'not met': lambda pair: str(pair[1].broken),
    }
    tables.show(list(zip(names, [*rows, *validated])), residual_columns, title='residuals')
    console = tables.console()
    published = sum(not quantities[name].unknown for name in fitted.names)
    tables.print_sentence(
        console,
        f'{len(fitted.names) - published} unknown and {published} published quantities with a tolerance; '
        f'{rows[-1].targets} cells determine {fitted.effective_number:.1f} of them.',
    )
    for measurement in sheet.next_measurements():
        tables.print_sentence(
            console,
            f'Measure next: {measurement.name} ({measurement.deviation:.2g} {measurement.unit}): '
            f'{100 * measurement.share:.0f} % of the variance of the loads.',
        )
    remaining = undetermined(fitted)
    if remaining:
        tables.print_sentence(console, f'Estimates that these loads do not determine: {", ".join(remaining)}.')


def _print_json(sheet: DataSheet, validation: Residuals | None) -> None:
    fitted, quantities = sheet.fitted, sheet.content.quantities
    result: dict[str, Any] = {
        'machine': sheet.content.machine,
        'quantities': {
            name: {'value': value, 'deviation': fitted.deviations.get(name, 0.0), 'unknown': quantities[name].unknown}
            for name, value in fitted.values.items()
        },
        'effective_number': fitted.effective_number,
        'residuals': [asdict(row) for row in sheet.residuals()],
        'next_measurements': [asdict(row) for row in sheet.next_measurements()],
    }
    if validation is not None:
        result['validation'] = asdict(validation)
    tables.print_json(result)


def _write(sheet: DataSheet, args: argparse.Namespace) -> None:
    config = Path(args.out or f'{sheet.content.name}.yaml')
    if str(config) == '-':
        return
    urdf = config.with_suffix('.urdf')
    for path in (urdf, config):
        if path.exists() and not args.force:
            raise CommandError(f'{path} exists; --force overwrites it')
    try:
        sheet.write(urdf, config, _cell(args.cell))
    except OSError as error:
        raise CommandError(f'{config} cannot be written: {error.strerror}') from None
    if not args.json:
        print(f'written: {urdf}, {config}; next')
        print(f'  dyn-nodes check {shlex.quote(str(urdf))} --config {shlex.quote(str(config))}')
        print(f'  dyn-nodes loadchart {shlex.quote(str(urdf))} --config {shlex.quote(str(config))}')


def _cell(words: list[str]) -> Mapping[str, Any]:
    """Return the columns of `--cell`."""
    cell: dict[str, Any] = {}
    for word in words:
        column, sign, value = word.partition('=')
        if not sign or not column:
            raise CommandError(f'--cell: expected COLUMN=VALUE, found {word!r}', 2)
        try:
            cell[column] = float(value)
        except ValueError:
            cell[column] = value
    return cell
