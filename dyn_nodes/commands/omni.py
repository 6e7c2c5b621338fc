"""`dyn-nodes omni`: motion and torques of the wheels of an omnidirectional vehicle along a path."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import numbers_by_name, positive
from dyn_nodes.common.printing import near

if TYPE_CHECKING:
    from dyn_nodes.analysis.omni_config import OmniMachine
    from dyn_nodes.analysis.omni_levels import OmniRun
    from dyn_nodes.control.platform_path import Path as PlannedPath

VERBS = {
    'rates': 'Level 1: compute rates and accelerations of wheels and rollers along a path.',
    'angles': 'Level 2: compute level 1 and the angles of the wheels.',
    'torques': 'Level 3: compute level 2 and the torques of least effort within the limits.',
    'simulate': 'Level 4: compute level 3 and compare the motion by these torques with the plan.',
}
MOST_SAMPLES = 200_000


def add_parser(subparsers: Subparsers) -> None:
    """Add the `omni` command to the command line."""
    parser = add_command(
        subparsers,
        'omni',
        'Compute wheel motions and torques of an omnidirectional vehicle along a path.',
        'dyn-nodes omni torques four_wheels path_3 --limit wheel_4=0.01 --plot torques.png\n'
        'dyn-nodes omni rates my_vehicle.yaml my_waypoints.csv --csv rates.csv\n'
        'dyn-nodes omni simulate six_wheels path_3 --json',
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    for verb, text in VERBS.items():
        _add_verb(add_command(verbs, verb, text, f'dyn-nodes omni {verb} four_wheels path_3'), verb)


def _add_verb(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument('vehicle', metavar='VEHICLE', help='vehicle YAML, or the name of one in config/omni')
    parser.add_argument(
        'path', metavar='PATH', help='path_1 (along x), path_2 (along y), path_3, circle; or a CSV or YAML of waypoints'
    )
    parser.add_argument('--step', type=positive(), default=0.02, metavar='S', help='time between samples, s (0.02)')
    parser.add_argument('--driven', nargs='+', metavar='WHEEL', help='driven wheels (default: as in the file)')
    if verb in ('torques', 'simulate'):
        for name, meaning in (
            ('limit', 'torque limit of a wheel, N m, in both directions'),
            ('weight', 'weight of a torque in the effort'),
        ):
            text = f'{meaning}; WHEEL may be `all`'
            parser.add_argument(f'--{name}', action='append', type=numbers_by_name, metavar='WHEEL=X', help=text)
    if verb == 'simulate':
        parser.add_argument(
            '--torques',
            metavar='CSV',
            help='torques over time, as written by `omni torques --csv` (the torques of level 3)',
        )
    parser.add_argument('--csv', metavar='FILE', help='file for all histories')
    parser.add_argument('--plot', metavar='FILE', help='plot of path and histories: PNG, SVG or PDF')
    parser.add_argument('--json', action='store_true', help='print summary and histories as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Compute, print and write; return 0, or 1 if a file has faults or the limits are too low."""
    from dyn_nodes.analysis.omni_levels import run_levels
    from dyn_nodes.model import MachineError

    try:
        machine = _vehicle(args)
        name, path, span = _path(args.path)
        times = _times(span, args.step)
        torques = _torques(args.torques, machine) if getattr(args, 'torques', None) else None
        result = run_levels(machine, name, path, times, args.verb, torques)
    except MachineError as error:
        print(error, file=sys.stderr)
        return 1
    if args.json:
        from dyn_nodes.analysis.omni_output import as_json

        tables.print_json(as_json(result), indent=None)
    else:
        _print(result)
    _write(result, args)
    return 0


def _vehicle(args: argparse.Namespace) -> OmniMachine:
    from dyn_nodes.analysis.omni_config import load_omni_machine

    machine = load_omni_machine(_file(args.vehicle, 'vehicle', 'config/omni'))
    try:
        if args.driven:
            machine = machine.with_drives(args.driven)
        if getattr(args, 'limit', None):
            machine = machine.with_limits(_by_wheel('--limit', args.limit, machine, 0.0))
        if getattr(args, 'weight', None):
            machine = machine.with_weights(_by_wheel('--weight', args.weight, machine, sys.float_info.min))
    except ValueError as error:
        raise CommandError(str(error)) from None
    return machine


def _file(name: str, kind: str, folder: str) -> Path:
    """Return the file of a path, or of a name in a folder of the share directory."""
    from dyn_nodes.common.share import find_resource, share_directory

    if Path(name).exists() or '/' in name or Path(name).suffix:
        return Path(name)
    try:
        return find_resource(f'{folder}/{name}.yaml')
    except FileNotFoundError:
        names = sorted(file.stem for file in (share_directory() / folder).glob('*.yaml'))
        actual = f'{name!r}{near(name, names)}'
        raise CommandError(f'{kind}: expected a file, or one of {", ".join(names)}; found {actual}') from None


def _by_wheel(option: str, options: list[dict[str, float]], machine: OmniMachine, least: float) -> dict[str, float]:
    """Return the numbers by wheel from the values of an option."""
    result: dict[str, float] = {}
    for name, value in (item for group in options for item in group.items()):
        if value < least:
            expected = 'WHEEL=X with X a number ' + ('>= 0' if least == 0.0 else '> 0')
            raise CommandError(f"{option}: expected {expected}, found '{name}={value:g}'", 2)
        result.update(dict.fromkeys(machine.wheels, value) if name == 'all' else {name: value})
    return result


def _path(source: str) -> tuple[str, PlannedPath, tuple[float, float]]:
    """Return name, path, and its first and last time, s."""
    from dyn_nodes.analysis.omni_levels import NAMED_DURATION, NAMED_PATHS
    from dyn_nodes.control.waypoint_path import load_waypoints

    if source in NAMED_PATHS:
        return source, NAMED_PATHS[source][1](), (0.0, NAMED_DURATION)
    if not (Path(source).exists() or Path(source).suffix):
        names = '; '.join(f'{name}: {text}' for name, (text, _) in NAMED_PATHS.items())
        raise CommandError(
            f'path: expected a file of waypoints, or a name ({names}); found {source!r}{near(source, NAMED_PATHS)}'
        )
    path = load_waypoints(source)
    return Path(source).name, path, (path.start, path.start + path.duration)


def _times(span: tuple[float, float], step: float) -> Any:
    import numpy as np

    count = max(round((span[1] - span[0]) / step), 2) + 1
    if count > MOST_SAMPLES:
        raise CommandError(f'--step: expected at most {MOST_SAMPLES} samples, found {count}', 2)
    return np.linspace(*span, count)


def _torques(file: str, machine: OmniMachine) -> Callable[[float], Any]:
    from dyn_nodes.analysis.omni_levels import torque_history
    from dyn_nodes.control.waypoint_path import read_columns

    table = read_columns(file, ('time', *(f'{name}_torque' for name in machine.drives)))
    return torque_history(table[:, 0], table[:, 1:])


def _print(result: OmniRun) -> None:
    from dyn_nodes.analysis.omni_output import headings, remarks, table_rows

    console = tables.console(140)
    console.print(tables.table(table_rows(result), headings(result), f'{result.machine.name} along {result.path}'))
    for line in remarks(result):
        console.print(line, style='dim')


def _write(result: OmniRun, args: argparse.Namespace) -> None:
    from dyn_nodes.analysis.omni_output import draw, write_csv

    try:
        if args.csv:
            write_csv(result, Path(args.csv))
            print(f'written: {args.csv}', file=sys.stderr)
        if args.plot:
            draw(result).savefig(args.plot)
            print(f'written: {args.plot}', file=sys.stderr)
    except OSError as error:
        raise CommandError(f'{error.filename or args.plot}: {error.strerror or error}') from None
    except ValueError as error:  # unknown suffix of the picture
        raise CommandError(f'--plot: {error}', 2) from None
