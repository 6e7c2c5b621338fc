"""`dyn-nodes sweep report`: prints results of a sweep and writes its table and pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import finite

if TYPE_CHECKING:
    from dyn_nodes.analysis.sweeps.report import Results

BOUNDARY = 'boundary.csv'


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'report',
        'Print results of a sweep, and write its table and pictures.',
        'dyn-nodes sweep report runs/tip_over --outcome overturned',
    )
    parser.add_argument('directory', metavar='DIR', type=Path, help='of a sweep')
    parser.add_argument('--outcome', metavar='NAME', help='column (the first outcome)')
    parser.add_argument(
        '--where',
        metavar='CONDITION',
        action='append',
        help='condition on the first run of a point for trends: a flag, NAME>NUMBER or NAME<NUMBER',
    )
    parser.add_argument('--factors', metavar=('X', 'Y'), nargs=2, help='factors of the map (the two strongest)')
    parser.add_argument(
        '--limit', metavar='VALUE', type=finite, help='value of the boundary in the map (for a flag: half of the runs)'
    )


def report(args: argparse.Namespace) -> int:
    """Print results of a sweep; write its table and pictures to its directory; return 0."""
    from dyn_nodes.analysis.sweeps.report import CSV, outcome_of, read_results, summary, write_csv

    try:
        results = read_results(args.directory)
        outcome = outcome_of(results, args.outcome)
        result = {**summary(results), 'outcome': outcome}
        write_csv(results, args.directory / CSV)
        result.update(_sensitivity(results, outcome, args.directory))
        result['trends'] = _trends(args, results, outcome)
        result['boundary'] = _map(args, results, outcome, [*result['effects']])
    except OSError as error:
        raise CommandError(f'{error.filename or args.directory}: {error.strerror or error}') from None
    if args.json:
        tables.print_json(result)
    else:
        _print(result, args.directory)
    return 0


def _sensitivity(results: Results, outcome: str, directory: Path) -> dict[str, Any]:
    """Return and draw effects, swings and indices; `no_indices` is the reason if there are no indices."""
    from dyn_nodes.analysis.sweeps.pictures import INDICES, TORNADO, draw_indices, draw_tornado
    from dyn_nodes.analysis.sweeps.sensitivity import NoIndicesError, effects, indices, swings

    apart = results.independent()
    widths = swings(apart, outcome)
    draw_tornado(apart, outcome, widths, directory / TORNADO)
    (directory / INDICES).unlink(missing_ok=True)
    result: dict[str, Any] = {
        'effects': effects(apart, outcome),
        'swings': {name: swing._asdict() for name, swing in widths.items()},
        'indices': {},
        'no_indices': '',
    }
    try:
        shares = indices(results, outcome)
    except NoIndicesError as error:
        return {**result, 'no_indices': str(error)}
    except ImportError:
        return {**result, 'no_indices': "they need SALib: pip install 'dyn_nodes[sweep]'"}
    draw_indices(results, outcome, shares, directory / INDICES)
    return {**result, 'indices': {name: share._asdict() for name, share in shares.items()}}


def _trends(args: argparse.Namespace, results: Results, outcome: str) -> list[dict[str, Any]]:
    """Return and draw the trends of factors that vary one at a time."""
    from dyn_nodes.analysis.sweeps.pictures import TRENDS, draw_trends
    from dyn_nodes.analysis.sweeps.trends import ConditionError, trends

    (args.directory / TRENDS).unlink(missing_ok=True)
    try:
        result = trends(results, outcome, args.where or ())
    except ConditionError as error:
        raise CommandError(f'--where: {error}') from None
    if any(trend.points for trend in result):
        draw_trends(results, outcome, [trend for trend in result if trend.points], args.directory / TRENDS)
    return [trend._asdict() for trend in result]


def _map(args: argparse.Namespace, results: Results, outcome: str, strongest: list[str]) -> list[list[list[float]]]:
    """Draw the map over two factors, by default the strongest; return the curves of its boundary."""
    from dyn_nodes.analysis.sweeps.maps import boundary, limit_of, map_of, write_boundary
    from dyn_nodes.analysis.sweeps.pictures import MAP, draw_map

    for name in args.factors or ():
        if name not in strongest:
            raise CommandError(f'--factors: expected two of {", ".join(strongest)}, found {name!r}')
    names = args.factors or strongest[:2]
    for stale in (MAP, BOUNDARY):
        (args.directory / stale).unlink(missing_ok=True)
    if len(set(names)) < 2:
        if args.factors:
            raise CommandError(f'--factors: expected two different factors, found {names[0]!r} twice')
        return []
    grid = map_of(results, outcome, *names)
    limit = args.limit if args.limit is not None else limit_of(results, outcome)
    curves = [] if limit is None else boundary(grid, limit)
    draw_map(results, grid, curves, limit, args.directory / MAP)
    write_boundary(grid, curves, args.directory / BOUNDARY)
    return [curve.tolist() for curve in curves]


def _text(interval: tuple[float, float]) -> str:
    return f'{interval[0]:.3g} to {interval[1]:.3g}'


def _print(result: dict[str, Any], directory: Path) -> None:
    from dyn_nodes.analysis.sweeps.pictures import INDICES, MAP, TORNADO, TRENDS
    from dyn_nodes.analysis.sweeps.report import CSV

    print_summary(result)
    for name, swing in result['swings'].items():
        low, high = (f'{swing[key]:.4g} ({_text(swing[f"{key}_interval"])})' for key in ('low', 'high'))
        print(f'{result["outcome"]} over {name}: {low} to {high}, rank correlation {result["effects"][name]:.2f}')
    for name, index in result['indices'].items():
        first, total = (f'{index[key]:.3f} +- {index[f"{key}_error"]:.3f}' for key in ('first', 'total'))
        print(f'Sobol indices of {name}: first order {first}, total {total}')
    for trend in result['trends']:
        shares = f'higher in {trend["higher"]:.3f} ({_text(trend["higher_interval"])}), lower in {trend["lower"]:.3f}'
        change = f'{trend["factor"]} {trend["first"]:g} to {trend["value"]:g}'
        print(f'{change}: {shares} of {trend["points"]} points, median change {100.0 * trend["median"]:+.1f} %')
    if result['no_indices']:
        print(f'no Sobol indices: {result["no_indices"]}')
    names = [name for name in (CSV, MAP, BOUNDARY, TORNADO, INDICES, TRENDS) if (directory / name).exists()]
    print('written: ' + ', '.join(str(directory / name) for name in names))


def print_summary(result: dict[str, Any]) -> None:
    """Print the table of `summary`."""
    states = ', '.join(f'{count} {status}' for status, count in result['status'].items())
    rows = []
    for name, column in {**result['factors'], **result['numbers']}.items():
        cells = ['-' if column[key] is None else f'{column[key]:.4g}' for key in ('least', 'mean', 'greatest')]
        rows.append((name, *cells, str(column['count'])))
    for name, flag in result['flags'].items():
        rows.append((name, '', f'{100.0 * flag["share"]:.1f} %', '', str(flag['count'])))
    title = f'{result["name"]}: {result["runs"]} of {result["planned"]} runs: {states}'
    tables.show(rows, ('', 'least', 'mean', 'greatest', 'runs'), title=title)
