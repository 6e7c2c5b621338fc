"""`dyn-nodes loadchart`: how much may this machine hold, where?"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import CONFIG_HELP, MACHINE_HELP, CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.machine_report import machine_report

if TYPE_CHECKING:
    from dyn_nodes.analysis.load_chart import ChartSettings, LoadChart
    from dyn_nodes.analysis.load_map import LoadMap
    from dyn_nodes.model.machine import Machine

HEADINGS = {'front': 0.0, 'left': 90.0, 'rear': 180.0, 'right': -90.0}
STEEPEST = 45.0  # degrees
MOST_POSITIONS = 1000  # of a joint in a map


def add_parser(subparsers: Subparsers) -> None:
    """Add the `loadchart` command to the command line."""
    parser = add_command(
        subparsers,
        'loadchart',
        'Compute the greatest safe payload against reach, swing angle and slope.',
        'dyn-nodes loadchart log_loader --slope 0 5 10 --out chart\n'
        'dyn-nodes loadchart my_machine.urdf --config my_machine.yaml --json',
    )
    parser.add_argument('urdf', metavar='MACHINE', help=MACHINE_HELP)
    parser.add_argument('--config', metavar='YAML', help=CONFIG_HELP)
    parser.add_argument(
        '--slope', type=float, nargs='+', metavar='DEG', help="slopes of the ground, degrees (the machine YAML's own)"
    )
    parser.add_argument(
        '--downhill',
        choices=['any', *HEADINGS],
        default='any',
        help='side of the machine that is downhill on a slope; any: the worst heading counts (any)',
    )
    parser.add_argument(
        '--height', type=float, metavar='M', help='height of the load above the ground (the best posture at each reach)'
    )
    parser.add_argument(
        '--tipping-share', type=float, default=0.75, metavar='X', help='rated part of the tipping load (0.75; 0.66)'
    )
    parser.add_argument(
        '--hydraulic-share', type=float, default=0.87, metavar='X', help='rated part of the lift capacity (0.87)'
    )
    parser.add_argument('--arm-deceleration', type=float, default=1.0, metavar='A', help='of the load, m/s2 (1.0)')
    parser.add_argument('--slew-deceleration', type=float, default=0.2, metavar='A', help='rad/s2 (0.2)')
    parser.add_argument('--slew-speed', type=float, default=0.3, metavar='V', help='rad/s (0.3)')
    parser.add_argument('--reach-step', type=float, default=0.25, metavar='M', help='m (0.25)')
    parser.add_argument('--swing-step', type=float, default=5.0, metavar='DEG', help='degrees (5)')
    parser.add_argument(
        '--rigid', action='store_true', help='take springs and tyres as rigid, as standards do for rigid tyres'
    )
    parser.add_argument(
        '--supports',
        type=float,
        metavar='KG',
        help='print the load of every support over the slew angle instead, with this payload (see --at)',
    )
    parser.add_argument(
        '--at', nargs='+', default=[], metavar='JOINT=VALUE', help='posture of --supports, rad or m (the initial one)'
    )
    parser.add_argument(
        '--map',
        type=int,
        metavar='N',
        help='judge every posture as well, N positions of each joint of the arm: load_map.png, .csv and .npz in --out',
    )
    parser.add_argument('--out', metavar='DIR', help='write load_chart.png, .svg, .csv and .txt there')
    parser.add_argument('--json', action='store_true', help='print the whole chart as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Compute, print and write the chart; return 0, or 1 for a machine with faults."""
    _check(args)
    report = machine_report(args.urdf, args.config)
    if report.machine is None:
        for problem in report.problems:
            print(problem, file=sys.stderr)
        return 1
    from dyn_nodes.analysis.load_chart import ChartSettings, load_chart
    from dyn_nodes.analysis.load_chart_output import as_json, write_all
    from dyn_nodes.model.assumptions import friction_of, lines, plain, slope_of

    machine = report.machine
    if args.supports is not None:
        from dyn_nodes.commands.support_loads import print_support_loads

        return print_support_loads(machine, args)
    own = math.acos(max(-1.0, min(1.0, math.cos(machine.slope[0]) * math.cos(machine.slope[1]))))
    settings = ChartSettings(
        slopes=tuple(math.radians(slope) for slope in args.slope) if args.slope else (own,),
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
    )
    chart = load_chart(machine, settings)
    found = None if args.map is None else _map(machine, settings, args.map)
    assumed = (*(() if args.slope else slope_of(machine, '--slope')), *friction_of(machine, 'friction of the ground'))
    if args.json:
        print(json.dumps({**as_json(chart), 'assumed': plain(assumed)}))
    else:
        _print(chart)
        for line in lines(assumed):
            tables.say(tables.console(), line)
    if args.out:
        out = Path(args.out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            paths = write_all(chart, out)
            if found is not None:
                from dyn_nodes.analysis.load_map import write_map

                paths += write_map(found, out)
        except OSError as error:
            raise CommandError(f'--out {out}: {error.strerror}') from None
        print('written: ' + ', '.join(str(path) for path in paths), file=sys.stderr)
    return 0


def _map(machine: Machine, settings: ChartSettings, count: int) -> LoadMap:
    """Compute the map, and print how long it took."""
    from dyn_nodes.analysis.load_map import load_map

    small = load_map(machine, settings, 2)  # machine code
    since = time.perf_counter()
    with tables.progress() as bar:
        task = bar.add_task('postures', total=len(settings.slopes) * count ** len(small.joints))
        found = load_map(machine, settings, count, lambda postures: bar.advance(task, postures))
    seconds = time.perf_counter() - since
    print(f'load map: {found.safe.size} states in {seconds:.2f} s', file=sys.stderr)
    return found


def _check(args: argparse.Namespace) -> None:
    """Refuse numbers that make no chart."""
    ranges = {
        '--tipping-share': (args.tipping_share, 0.0, 1.0, 'above 0, at most 1'),
        '--hydraulic-share': (args.hydraulic_share, 0.0, 1.0, 'above 0, at most 1'),
        '--reach-step': (args.reach_step, 0.009, 100.0, 'from 0.01 to 100 m'),
        '--swing-step': (args.swing_step, 0.09, 90.0, 'from 0.1 to 90 degrees'),
    }
    for name, (value, low, high, expected) in ranges.items():
        if not low < value <= high:
            raise CommandError(f'{name}: expected {expected}, found {value:g}', 2)
    for name in ('arm_deceleration', 'slew_deceleration', 'slew_speed'):
        value = getattr(args, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise CommandError(f'--{name.replace("_", "-")}: expected 0 or more, found {value:g}', 2)
    for slope in args.slope or ():
        if not 0.0 <= slope <= STEEPEST:
            raise CommandError(f'--slope: expected 0 to {STEEPEST:g} degrees, found {slope:g}', 2)
    if args.supports is not None and not (math.isfinite(args.supports) and args.supports >= 0.0):
        raise CommandError(f'--supports: expected 0 kg or more, found {args.supports:g}', 2)
    if args.at and args.supports is None:
        raise CommandError('--at: expected --supports KG beside it, found none', 2)
    if args.map is not None and not 2 <= args.map <= MOST_POSITIONS:
        raise CommandError(f'--map: expected 2 to {MOST_POSITIONS}, found {args.map}', 2)
    if args.map is not None and args.out is None:
        raise CommandError('--map: expected --out DIR beside it, found none', 2)
    if args.height is not None and not math.isfinite(args.height):
        raise CommandError(f'--height: expected a number of metres, found {args.height:g}', 2)


def _print(chart: LoadChart) -> None:
    from rich.table import Table

    from dyn_nodes.analysis.load_chart_output import SIDES, assumptions, joints_heading, slope_text, table_rows

    console = tables.console()
    for k in range(len(chart.settings.slopes)):
        title = f'{chart.machine}: safe payload, kg, {slope_text(chart, k)}'
        table = Table(title=title, title_justify='left', title_style='bold')
        for heading in ('reach, m', 'height, m', joints_heading(chart), *SIDES):
            table.add_column(heading, justify='right')
        for row in table_rows(chart, k):
            table.add_row(*row)
        console.print(table)
    for line in assumptions(chart):
        console.print(line, style='dim')
