"""`dyn-nodes loadchart`: computes the greatest safe payload over reach, swing angle and slope."""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, add_out, tables
from dyn_nodes.commands.machine_report import sound_machine
from dyn_nodes.commands.option_types import at_least, between, count, finite, numbers_by_name, positive

if TYPE_CHECKING:
    from dyn_nodes.analysis.load_chart import ChartSettings, LoadChart
    from dyn_nodes.analysis.load_map import LoadMap
    from dyn_nodes.model.machine import Machine

HEADINGS = {'front': 0.0, 'left': 90.0, 'rear': 180.0, 'right': -90.0}
STEEPEST = 45.0  # degrees
MOST_POSITIONS = 1000  # of a joint in a map
OUTRIGGERS = ('raised', 'retracted', 'half', 'extended', 'down', 'left', 'right')


def add_parser(subparsers: Subparsers) -> None:
    """Add the `loadchart` command to the command line."""
    parser = add_command(
        subparsers,
        'loadchart',
        'Compute the greatest safe payload against reach, swing angle and slope.',
        'dyn-nodes loadchart log_loader --slope 0 5 10 --out chart\n'
        'dyn-nodes loadchart forwarder --outriggers down --telescope 0 50 100\n'
        'dyn-nodes loadchart my_machine.urdf --config my_machine.yaml --json',
    )
    add_machine_and_config(parser)
    parser.add_argument(
        '--slope',
        type=between(0.0, STEEPEST, 'degrees'),
        nargs='+',
        metavar='DEG',
        help='slopes of the ground, degrees (slope of the machine YAML)',
    )
    parser.add_argument(
        '--downhill',
        choices=['any', *HEADINGS],
        default='any',
        help='downhill side of the machine on a slope; any: the worst heading (any)',
    )
    for name, unit, kind, default, text in (
        ('height', 'M', finite, None, 'height of the load above the ground (the best posture at each reach)'),
        ('tipping-share', 'X', positive(1.0), 0.75, 'rated part of the tipping load (0.75; 0.66)'),
        ('hydraulic-share', 'X', positive(1.0), 0.87, 'rated part of the lift capacity (0.87)'),
        ('arm-deceleration', 'A', at_least(0.0), 1.0, 'deceleration of the load, m/s2 (1.0)'),
        ('slew-deceleration', 'A', at_least(0.0), 0.2, 'deceleration of slewing, rad/s2 (0.2)'),
        ('slew-speed', 'V', at_least(0.0), 0.3, 'slewing speed, rad/s (0.3)'),
        ('reach-step', 'M', between(0.01, 100.0, 'm'), 0.25, 'step of the reach, m (0.25)'),
        ('swing-step', 'DEG', between(0.1, 90.0, 'degrees'), 5.0, 'step of the swing angle, degrees (5)'),
    ):
        parser.add_argument(f'--{name}', type=kind, default=default, metavar=unit, help=text)
    parser.add_argument(
        '--rigid', action='store_true', help='assume rigid springs and tyres, as standards do for rigid tyres'
    )
    parser.add_argument(
        '--outriggers',
        choices=OUTRIGGERS,
        metavar='STATE',
        default='',
        help=f'outriggers: {", ".join(OUTRIGGERS)}; left, right: on this side only (the initial posture)',
    )
    parser.add_argument(
        '--telescope',
        type=between(0.0, 100.0, 'percent'),
        nargs='+',
        metavar='PERCENT',
        help='extension of the telescopes, of their travel; several: a table with one column each (the best extension)',
    )
    parser.add_argument(
        '--pad-area',
        type=at_least(0.0, 'm2'),
        metavar='M2',
        help='area of a pad of an outrigger: with --supports, also print the pressure under the pads',
    )
    parser.add_argument(
        '--supports',
        type=at_least(0.0, 'kg'),
        metavar='KG',
        help='print the load of every support over the slew angle instead, with this payload (see --posture)',
    )
    parser.add_argument(
        '--posture',
        type=numbers_by_name,
        action='extend',
        nargs='+',
        default=[],
        metavar='JOINT=VALUE',
        help='posture of --supports, rad or m (the initial posture)',
    )
    parser.add_argument(
        '--map',
        type=count(2, MOST_POSITIONS),
        metavar='N',
        help='also evaluate all postures with N positions of each arm joint: load_map.png, .csv and .npz in --out',
    )
    add_out(parser, 'directory for load_chart.png, .svg, .csv and .txt')
    parser.add_argument('--json', action='store_true', help='print the whole chart as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Compute, print and write the chart; return 0, or 1 for a machine with faults."""
    _check(args)
    machine = sound_machine(args)
    if machine is None:
        return 1
    from dyn_nodes.analysis.load_chart import ChartSettings, load_chart
    from dyn_nodes.analysis.load_chart_output import as_json, write_all
    from dyn_nodes.model.assumptions import friction_of, lines, plain, slope_of

    if args.supports is not None:
        from dyn_nodes.commands.support_loads import print_support_loads

        return print_support_loads(machine, args)
    tilt = math.acos(max(-1.0, min(1.0, math.cos(machine.slope[0]) * math.cos(machine.slope[1]))))
    settings = ChartSettings(
        slopes=tuple(math.radians(slope) for slope in args.slope) if args.slope else (tilt,),
        downhill=None if args.downhill == 'any' else math.radians(HEADINGS[args.downhill]),
        height=args.height,
        tipping_share=args.tipping_share,
        hydraulic_share=args.hydraulic_share,
        arm_deceleration=args.arm_deceleration,
        slew_deceleration=args.slew_deceleration,
        slew_speed=args.slew_speed,
        reach_step=args.reach_step,
        swing_step=math.radians(args.swing_step),
        rigid=args.rigid,
        outriggers=args.outriggers,
        extension=0.01 * args.telescope[0] if args.telescope else None,
    )
    if args.telescope and len(args.telescope) > 1:
        return _print_table(machine, settings, args)
    chart = load_chart(machine, settings)
    judged = None if args.map is None else _map(machine, settings, args.map)
    assumed = (*(() if args.slope else slope_of(machine, '--slope')), *friction_of(machine, 'friction of the ground'))
    if args.json:
        tables.print_json({**as_json(chart), 'assumed': plain(assumed)}, indent=None)
    else:
        _print(chart)
        for line in lines(assumed):
            tables.print_sentence(tables.console(), line)
    if args.out:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
            paths = write_all(chart, args.out)
            if judged is not None:
                from dyn_nodes.analysis.load_map import write_map

                paths += write_map(judged, args.out)
        except OSError as error:
            raise CommandError(f'--out {args.out}: {error.strerror}') from None
        print('written: ' + ', '.join(str(path) for path in paths), file=sys.stderr)
    return 0


def _print_table(machine: Machine, settings: ChartSettings, args: argparse.Namespace) -> int:
    """Compute, print and write the table over extensions of the telescopes; return 0."""
    from dyn_nodes.analysis import load_table as table_of

    table = table_of.load_table(machine, settings, [0.01 * share for share in args.telescope])
    if args.json:
        tables.print_json(table_of.as_json(table), indent=None)
    else:
        tables.show(table_of.rows(table), table_of.heads(table), title=table_of.title(table))
        for line in table_of.sentences(table):
            tables.print_sentence(tables.console(), line, style='dim')
    if args.out:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
            path = args.out / 'load_table.csv'
            table_of.write_csv(table, path)
        except OSError as error:
            raise CommandError(f'--out {args.out}: {error.strerror}') from None
        print(f'written: {path}', file=sys.stderr)
    return 0


def _map(machine: Machine, settings: ChartSettings, count: int) -> LoadMap:
    """Return the map; print the computing time."""
    from dyn_nodes.analysis.load_map import load_map

    small = load_map(machine, settings, 2)  # compiles
    since = time.perf_counter()
    with tables.progress() as bar:
        task = bar.add_task('postures', total=len(settings.slopes) * count ** len(small.joints))
        result = load_map(machine, settings, count, lambda postures: bar.advance(task, postures))
    seconds = time.perf_counter() - since
    print(f'load map: {result.safe.size} states in {seconds:.2f} s', file=sys.stderr)
    return result


def _check(args: argparse.Namespace) -> None:
    needs = (
        ('posture', 'supports', 'supports KG'),
        ('pad_area', 'supports', 'supports KG'),
        ('map', 'out', 'out DIR'),
    )
    for option, needed, text in needs:
        if getattr(args, option) and getattr(args, needed) is None:
            raise CommandError(f'--{option.replace("_", "-")}: expected --{text} with it, found none', 2)
    if args.map and (args.outriggers or args.telescope):
        raise CommandError('--map: expected no --outriggers and no --telescope with it, found one', 2)


def _print(chart: LoadChart) -> None:
    from dyn_nodes.analysis.load_chart_output import (
        SIDES,
        assumptions,
        joints_heading,
        slope_text,
        table_rows,
        warnings,
    )

    console = tables.console()
    for k in range(len(chart.settings.slopes)):
        title = f'{chart.machine}: safe payload, kg, {slope_text(chart, k)}'
        tables.show(table_rows(chart, k), ('reach, m', 'height, m', joints_heading(chart), *SIDES), title=title)
    for line in assumptions(chart):
        console.print(line, style='bold' if line in warnings(chart) else 'dim')
