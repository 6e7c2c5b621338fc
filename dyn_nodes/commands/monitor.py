"""`dyn-nodes monitor`: the stability monitor on a simulated machine with noisy sensors."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command

if TYPE_CHECKING:
    from dyn_nodes.studies.measured_run import MeasuredRun

RUNS = {'work': 3000.0, 'tipping': 5100.0}
"""Payload of each run where none is given, kg."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the `monitor` command to the command line."""
    example = 'dyn-nodes monitor check --seeds 1 2 3\ndyn-nodes monitor bag noisy_bag --run tipping'
    parser = add_command(subparsers, 'monitor', 'Try the stability monitor on a machine with noisy sensors', example)
    verbs = parser.add_subparsers(title='what', metavar='WHAT', dest='verb', required=True)
    check = verbs.add_parser(
        'check',
        help='compare its margins with the truth',
        description='Simulate the log-loader, add the errors of encoders and an IMU, give the measurements to the '
        'monitor, and compare its margins with the true ones in % of their value on the unloaded machine in its first '
        'posture. The exit status is 1 where a bound is missed: 5 % in steady phases, 15 % in motion, 5 % on the '
        'unsafe side in both; nothing is promised from 0.02 s before a wheel comes down to 0.3 s after.',
    )
    check.add_argument('--seeds', metavar='N', type=int, nargs='+', default=[1], help='of the random numbers (1)')
    check.add_argument('--without', choices=('imu', 'velocities'), nargs='+', default=[], help='leave out sensors')
    check.add_argument(
        '--stiffness',
        metavar='FACTOR',
        type=float,
        default=1.0,
        help='what the monitor believes of the suspension, times the truth (1)',
    )
    check.add_argument('--json', action='store_true', help='print JSON')
    bag = verbs.add_parser(
        'bag',
        help='write the measurements to a bag',
        description='Write joint_states, imu and payload as measured, and the true margins as '
        'truth/stability/<measure>, to a new bag, to be played to stability_monitor_node.',
    )
    bag.add_argument('directory', metavar='BAG', help='directory to make')
    bag.add_argument('--seed', metavar='N', type=int, default=1, help='of the random numbers (1)')
    for verb in (check, bag):
        verb.add_argument(
            '--run',
            choices=tuple(RUNS),
            nargs='+' if verb is check else None,
            default=list(RUNS) if verb is check else 'work',
            help='work: a cycle within what the machine can do; tipping: the reference task, tipped and recovered',
        )
        verb.add_argument('--payload', metavar='KG', type=float, help='3000 for work, 5100 for tipping')


def run(args: argparse.Namespace) -> int:
    """Do what was asked; the exit status of `check` is 0 where every bound is kept."""
    return _bag(args) if args.verb == 'bag' else _check(args)


def _measured(name: str, payload: float | None, seed: int) -> MeasuredRun:
    from dyn_nodes.model import load_machine
    from dyn_nodes.share import find_resource
    from dyn_nodes.studies.measured_run import SensorModel, measure, reference_task, work_cycle

    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    mass = RUNS[name] if payload is None else payload
    if machine.payload is not None and not 0.0 <= mass <= machine.payload.limit:
        raise CommandError(f'--payload: expected 0 to {machine.payload.limit:g} kg, found {mass:g}')
    profile = work_cycle(machine) if name == 'work' else reference_task()
    return measure(machine, profile, mass, SensorModel(seed=seed))


def _bag(args: argparse.Namespace) -> int:
    from pathlib import Path

    from dyn_nodes.studies.measured_run import write_bag

    if Path(args.directory).exists():
        raise CommandError(f'{args.directory}: the bag directory exists; nothing is ever overwritten')
    measured = _measured(args.run, args.payload, args.seed)
    write_bag(args.directory, measured)
    print(f'{args.directory}: {len(measured.time)} instants, {measured.time[-1]:g} s; {measured.sensors}')
    return 0


def _check(args: argparse.Namespace) -> int:
    from dyn_nodes.studies.measured_run import full_scale
    from dyn_nodes.studies.monitor_check import deviations, replay

    if not 0.1 <= args.stiffness <= 10.0:
        raise CommandError(f'--stiffness: expected 0.1 to 10, found {args.stiffness:g}')
    results: list[dict[str, Any]] = []
    scale: dict[str, float] = {}
    for name in args.run:
        for seed in args.seeds:
            measured = _measured(name, args.payload, seed)
            scale = scale or full_scale(measured.machine)
            found = replay(
                measured, 'imu' not in args.without, 'velocities' not in args.without, stiffness=args.stiffness
            )
            for item in deviations(measured, *found):
                record = {'run': name, 'seed': seed, **vars(item), 'bound': item.bound, 'passed': item.passed}
                results.append(record)
            sensors = measured.sensors
    if args.json:
        for record in results:
            record['bound'] = None if record['bound'] == float('inf') else record['bound']
        print(json.dumps({'full_scale': scale, 'sensors': vars(sensors), 'deviations': results}, indent=2))
    else:
        _print(results, scale, sensors)
    return 0 if all(record['passed'] for record in results) else 1


def _print(results: list[dict[str, Any]], scale: dict[str, float], sensors: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, emoji=False, width=max(console.width, 120))
    console.print('100 %: ' + ', '.join(f'{name} {value:.6g}' for name, value in scale.items()))
    console.print(str(sensors))
    table = Table()
    for heading in ('run', 'seed', 'measure', 'phase'):
        table.add_column(heading)
    for heading in ('instants', 'unsafe side %', 'safe side %', 'median %', 'bound %'):
        table.add_column(heading, justify='right')
    table.add_column('')
    for record in results:
        bound = '' if record['bound'] == float('inf') else f'{record["bound"]:g}'
        verdict = '' if not bound else 'kept' if record['passed'] else 'MISSED'
        numbers = [f'{record[key]:.1f}' for key in ('over', 'under')] + [f'{record["median"]:.2f}', bound, verdict]
        first = [record['run'], str(record['seed']), record['measure'], record['phase'], str(record['count'])]
        table.add_row(*first, *numbers)
    console.print(table)
