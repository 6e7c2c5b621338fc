"""`dyn-nodes fit machine`: estimates valves, friction, masses and joint offsets of a machine from a bag."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from dyn_nodes.commands import CONFIG_HELP, CommandError, Subparsers, add_command, add_out, tables
from dyn_nodes.commands.machine_report import add_machine, sound_machine
from dyn_nodes.commands.option_types import at_least, between
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.machine_fit import MachineFit
    from dyn_nodes.analysis.mechanics_fit import Quantity

HOLD_HELP = 'part for the validation, s (the last quarter)'


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'machine',
        'Estimate valves, oil, friction, masses and joint offsets from a bag.',
        'dyn-nodes fit machine day_1 --machine log_loader --out fit\n'
        'dyn-nodes fit machine day_1 --machine my.urdf --config my.yaml --use 20 200 --hold 200 260',
    )
    parser.add_argument('bag', metavar='BAG', help='rosbag2 directory or file of can_bridge_node or `bag import`')
    add_machine(parser, f'{CONFIG_HELP}, with initial guesses')
    parser.add_argument(
        '--payload', metavar='KG', type=at_least(0, 'kg'), help='known payload (payload of the machine YAML)'
    )
    for name, text in (('use', 'part of the log to fit, s (all but its last quarter)'), ('hold', HOLD_HELP)):
        parser.add_argument(f'--{name}', metavar=('START', 'END'), type=between(0, 1e9, 's'), nargs=2, help=text)
    parser.add_argument('--namespace', metavar='NS', help="of the machine's topics, if the bag contains several")
    add_out(parser, 'directory for numbers, lines for the machine files and plots')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Fit and print; return 0 if everything was fitted.

    Raises:
        CommandError: the bag, the files or the parts can't be used.
    """
    from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
    from dyn_nodes.analysis.fit_output import as_json, write_fit
    from dyn_nodes.analysis.machine_fit import fit_machine
    from dyn_nodes.analysis.machine_log import log_of_bag

    machine = sound_machine(args)
    if machine is None:
        return 1
    _check(args, machine.payload.limit if machine.payload is not None else 0.0)
    try:
        log = log_of_bag(read_bag(args.bag, namespace=args.namespace), machine)
        part, held = (None if one is None else (one[0], one[1]) for one in (args.use, args.hold))
        fit = fit_machine(machine, log, args.payload, part, held)
    except (BagReadingError, ValueError) as error:
        raise CommandError(printable(str(error))) from None
    if args.out is not None:
        try:
            write_fit(fit, args.out)
        except OSError as error:
            raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    if args.json:
        tables.print_json(as_json(fit))
    else:
        print_fit(fit)
    for failure in fit.failures:
        print(f'dyn-nodes: {printable(failure)}', file=sys.stderr)
    return 1 if fit.failures else 0


def _check(args: argparse.Namespace, limit: float) -> None:
    if args.payload is not None and args.payload > limit:
        raise CommandError(f'--payload: expected 0 to {limit:g} kg, found {args.payload:g}', 2)
    for name in ('use', 'hold'):
        part = getattr(args, name)
        if part is not None and not part[0] < part[1]:
            raise CommandError(f'--{name}: expected a start before an end, s, found {part[0]:g} {part[1]:g}', 2)


def print_fit(fit: MachineFit) -> None:
    """Print tables, warnings and the lines for the machine files."""
    from dyn_nodes.analysis.fit_lines import offset_lines, urdf_lines, yaml_lines
    from dyn_nodes.model.assumptions import lines

    console = tables.console()
    for line in lines(fit.assumed):
        console.print(line, markup=False, soft_wrap=True)
    for title, rows in _tables(fit):
        tables.show(rows, COLUMNS, title=title)
    if fit.mechanics is not None:
        hidden = ', '.join(fit.mechanics.base.hidden) or 'none'
        console.print(f'not identifiable from any motion of these joints: {hidden}', markup=False)
        console.print(f'identifiable only in combinations: {", ".join(fit.mechanics.base.only_combined)}', markup=False)
    if fit.validation is not None:
        start, end = fit.validation.span
        console.print(f'on {start:.6g} to {end:.6g} s, which was not fitted:', style='bold')
        for name, joint in fit.validation.joints.items():
            text = (
                'at rest'
                if joint.nrmse != joint.nrmse
                else (
                    f'speed within {joint.error:.2g} rad/s or m/s, NRMSE {100 * joint.nrmse:.1f} %, '
                    f'measured {1e3 * joint.delay:+.0f} ms after simulated'
                )
            )
            console.print(f'  {name}: {text}', markup=False)
    for warning in fit.warnings:
        console.print(f'warning: {warning}', style='yellow', markup=False)
    for title, text in (
        ('for the machine YAML:', yaml_lines(fit)),
        ('for the URDF:', urdf_lines(fit)),
        ('for the mapping of the bus:', offset_lines(fit)),
    ):
        if text:
            console.print(title, style='bold')
            print(text)


Row = tuple[str, 'Quantity', bool]
COLUMNS: dict[str, Callable[[Row], str]] = {
    'parameter': lambda row: row[0],
    'estimate': lambda row: f'{row[1].value:.5g}' if row[2] else f'({row[1].value:.3g})',
    'interval of 95 %': lambda row: f'+- {row[1].half_width:.2g}',
    'machine files': lambda row: f'{row[1].before:.5g}',
}


def _tables(fit: MachineFit) -> list[tuple[str, list[Row]]]:
    from dyn_nodes.analysis.machine_fit import SEEN_COMBINATION, dry_is_seen, is_seen
    from dyn_nodes.analysis.mechanics_fit import Quantity
    from dyn_nodes.analysis.valve_fit import PARAMETERS, SENSORS

    sections: list[tuple[str, list[Row]]] = []
    for name, valve in fit.valves.items():
        rows: list[Row] = []
        for k, key in enumerate(PARAMETERS):
            if key not in SENSORS and key != 'joint_offset':
                one = Quantity(float(valve.values[k]), float(valve.half_widths[k]), float(valve.before[k]))
                rows.append((key, one, is_seen(key.partition('.')[0], one)))
        sections.append((f'{name}: flow left over {100 * valve.rest / max(valve.moved, 1e-12):.1f} %', rows))
    if fit.mechanics is not None:
        mechanics = fit.mechanics
        rows = [(f'{name} viscous', one, is_seen('viscous', one)) for name, one in mechanics.viscous.items()]
        rows += [(f'{name} dry friction', one, dry_is_seen(fit, name)) for name, one in mechanics.dry.items()]
        rows += [(f'{n} offset', one, one.half_width < abs(one.value)) for n, one in mechanics.offsets.items()]
        for k, one in enumerate(mechanics.combinations):
            seen = one.half_width < SEEN_COMBINATION * mechanics.base.scales[k]
            rows.append((mechanics.base.text(k), one, seen))
        left = ', '.join(f'{name} {value:.3g}' for name, value in mechanics.rest.items())
        sections.append((f'joints and links: effort left over, N m or N: {left}', rows))
    return sections
