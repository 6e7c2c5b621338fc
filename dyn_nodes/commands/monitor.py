"""`dyn-nodes monitor`: runs the stability monitor on a bag or on a simulated machine with noisy sensors."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from dyn_nodes.commands import CommandError, Subparsers, add_command, monitor_payload, monitor_replay, tables
from dyn_nodes.commands.option_types import SEED, at_least, between

if TYPE_CHECKING:
    from dyn_nodes.analysis.measured_run import MeasuredRun


class Task(NamedTuple):
    """A run: its default payload, kg, and (roll, pitch) of the ground, rad."""

    payload: float
    slope: tuple[float, float] = (0.0, 0.0)


RUNS = {'work': Task(3000.0), 'tipping': Task(5100.0), 'slope': Task(2000.0, (0.05, -0.03)), 'levers': Task(3000.0)}


def add_parser(subparsers: Subparsers) -> None:
    """Add the `monitor` command to the command line."""
    example = (
        'dyn-nodes monitor replay day_1 --machine my_machine.urdf --config my_machine.yaml\n'
        'dyn-nodes monitor check --seeds 1 2 3\n'
        'dyn-nodes monitor bag noisy_bag --run tipping\n'
        'dyn-nodes monitor payload --cases 1000'
    )
    parser = add_command(
        subparsers,
        'monitor',
        'Run the stability monitor on a bag or on simulated measurements.',
        example,
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    check = verbs.add_parser(
        'check',
        help='Compare its margins with the true margins.',
        description='Simulate the log-loader, add the errors of encoders and an IMU, run the monitor on these '
        'measurements, and compare its margins with the true margins in % of their value on the unloaded machine in '
        'its initial posture. The exit status is 1 if a bound is exceeded: 5 % in steady phases, 15 % in motion, 5 % '
        'on the unsafe side in both; only the last from 0.02 s before a wheel touches down to 0.3 s after.',
    )
    check.add_argument(
        '--seeds', metavar='N', type=SEED, nargs='+', default=[1], help='seeds of the random numbers (1)'
    )
    check.add_argument(
        '--without',
        choices=('imu', 'velocities'),
        metavar='SENSOR',
        nargs='+',
        default=[],
        help='sensors to leave out: imu, velocities',
    )
    check.add_argument(
        '--stiffness',
        metavar='FACTOR',
        type=between(0.1, 10.0),
        default=1.0,
        help='stiffness of the suspension in the monitor over the true value (1)',
    )
    check.add_argument('--json', action='store_true', help='print JSON')
    errors = verbs.add_parser(
        'errors',
        help='Print the effect of model errors on its margins.',
        description='Run monitors whose stiffness, mass, centre of mass or payload is too large or too small on the '
        'measurements and print their greatest deviations from the true margins, in % as `check`.',
    )
    errors.add_argument(
        '--errors',
        metavar='%',
        type=between(0.01, 99.0, '%'),
        nargs='+',
        default=[5.0, 10.0, 20.0],
        help='errors (5 10 20)',
    )
    errors.add_argument('--seed', metavar='N', type=SEED, default=1, help='seed of the random numbers (1)')
    errors.add_argument('--json', action='store_true', help='print JSON')
    bag = verbs.add_parser(
        'bag',
        help='Write the measurements to a bag.',
        description='Write joint_states, imu and payload as measured, and the true margins as '
        'truth/stability/<measure>, to a new bag, which can be played to stability_monitor_node.',
    )
    bag.add_argument('directory', metavar='BAG', help='new directory')
    bag.add_argument('--seed', metavar='N', type=SEED, default=1, help='seed of the random numbers (1)')
    monitor_payload.add_verb(verbs)
    monitor_replay.add_verb(verbs)
    for verb in (check, errors, bag):
        verb.add_argument(
            '--run',
            choices=tuple(RUNS),
            metavar='RUN',
            nargs='+' if verb is check else None,
            default=['work', 'tipping', 'slope'] if verb is check else 'work',
            help='work: a cycle without tipping; tipping: the reference task with tip-over and recovery; '
            'slope: the cycle on ground that falls to the side and ahead; levers: all levers from end to end',
        )
        payloads = ', '.join(f'{run.payload:g} for {name}' for name, run in RUNS.items())
        rates = between(20.0, 1000.0, 'Hz')
        verb.add_argument('--rate', metavar='HZ', type=rates, default=200.0, help='rate of joint states and IMU (200)')
        verb.add_argument('--payload', metavar='KG', type=at_least(0.0, 'kg'), help=payloads)


def run(args: argparse.Namespace) -> int:
    """Run the verb; return its exit status, for `check` 0 if every bound is met."""
    runs = {
        'bag': _bag,
        'errors': _errors,
        'check': _check,
        'payload': monitor_payload.run,
        'replay': monitor_replay.run,
    }
    return runs[args.verb](args)


def _assumed(args: argparse.Namespace, *names: str) -> list[dict[str, Any]]:
    """Return payload and slope of the runs as plain assumptions."""
    from dyn_nodes.model.assumptions import Assumption, plain

    assumptions = []
    for name in names:
        if args.payload is None:
            assumptions.append(Assumption('payload', RUNS[name].payload, 'kg', f'of the run {name}; no --payload'))
        if any(RUNS[name].slope):
            assumptions.append(Assumption('slope', list(RUNS[name].slope), 'rad', f'roll and pitch, of the run {name}'))
    return plain(assumptions)


def _print_assumed(assumed: list[dict[str, Any]]) -> None:
    from dyn_nodes.model.assumptions import lines

    for line in lines(assumed):
        print(line)


def _measured(name: str, payload: float | None, seed: int, rate: float) -> MeasuredRun:
    from dyn_nodes.analysis.measured_run import measure, reference_task, thrown_levers, work_cycle
    from dyn_nodes.common.share import find_resource
    from dyn_nodes.model import load_machine
    from dyn_nodes.monitor.measured_samples import SensorModel

    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    mass = RUNS[name].payload if payload is None else payload
    if machine.payload is not None and mass > machine.payload.limit:
        raise CommandError(f'--payload: expected 0 to {machine.payload.limit:g} kg, found {mass:g}', 2)
    profiles = {'tipping': lambda _: reference_task(), 'levers': thrown_levers}
    profile = profiles.get(name, work_cycle)(machine)
    return measure(machine, profile, mass, SensorModel(rate=rate, seed=seed), RUNS[name].slope)


def _bag(args: argparse.Namespace) -> int:
    from pathlib import Path

    from dyn_nodes.analysis.measured_run import write_bag

    if Path(args.directory).exists():
        raise CommandError(f'{args.directory}: the bag directory exists; nothing is ever overwritten')
    measured = _measured(args.run, args.payload, args.seed, args.rate)
    write_bag(args.directory, measured)
    print(f'{args.directory}: {len(measured.time)} instants, {measured.time[-1]:g} s; {measured.sensors}')
    _print_assumed(_assumed(args, args.run))
    return 0


def _check(args: argparse.Namespace) -> int:
    from dyn_nodes.analysis.measured_run import full_scale
    from dyn_nodes.analysis.monitor_check import deviations, misjudged, replay

    results: list[dict[str, Any]] = []
    scale: dict[str, float] = {}
    for name in args.run:
        for seed in args.seeds:
            measured = _measured(name, args.payload, seed, args.rate)
            scale = scale or full_scale(measured.machine)
            believed, _ = misjudged(measured, 'stiffness', args.stiffness - 1.0)
            replayed = replay(measured, 'imu' not in args.without, 'velocities' not in args.without, machine=believed)
            for item in deviations(measured, *replayed):
                record = {'run': name, 'seed': seed, **vars(item), 'bound': item.bound, 'passed': item.passed}
                results.append(record)
            sensors = measured.sensors
    if args.json:
        facts = {'full_scale': scale, 'sensors': vars(sensors), 'deviations': results}
        tables.print_json({**facts, 'assumed': _assumed(args, *args.run)})
    else:
        _print(results, scale, sensors)
        _print_assumed(_assumed(args, *args.run))
    return 0 if all(record['passed'] for record in results) else 1


def _errors(args: argparse.Namespace) -> int:
    from dyn_nodes.analysis.monitor_check import CHECKED, QUANTITIES, deviations, misjudged, replay

    measured = _measured(args.run, args.payload, args.seed, args.rate)
    cases: list[tuple[str, float]] = [('none', 0.0)]
    cases += [(quantity, error) for quantity in QUANTITIES for error in args.errors]
    records: list[dict[str, Any]] = []
    for quantity, error in cases:
        for sign in (1.0, -1.0) if error else (1.0,):
            machine, payload = misjudged(measured, quantity if error else 'payload', 0.01 * sign * error)
            for item in deviations(measured, *replay(measured, machine=machine, payload=payload)):
                if item.measure in CHECKED:
                    records.append({'quantity': quantity, 'error': sign * error, **vars(item), 'passed': item.passed})
    if args.json:
        tables.print_json(records)
        return 0
    _print_errors(records, cases)
    _print_assumed(_assumed(args, args.run))
    for quantity, meaning in QUANTITIES.items():
        print(f'{quantity}: {meaning}')
    return 0


def _print_errors(records: list[dict[str, Any]], cases: list[tuple[str, float]]) -> None:
    """Print the worse result of positive and negative errors, a line for every quantity and error."""
    phases = list(dict.fromkeys((record['measure'], record['phase']) for record in records))
    rows = []
    for quantity, error in cases:
        matching = [r for r in records if r['quantity'] == quantity and abs(r['error']) == error]
        cells = []
        for measure, phase in phases:
            both = [r for r in matching if (r['measure'], r['phase']) == (measure, phase)]
            cells.append(f'{max(r["over"] for r in both):.1f} / {max(r["under"] for r in both):.1f}')
        rows.append((quantity, f'{error:g}' if error else '', *cells))
    tables.console().print('unsafe / safe side, %')
    tables.show(rows, ('wrong quantity', 'by %', *(f'{measure} {phase}' for measure, phase in phases)))


def _print(results: list[dict[str, Any]], scale: dict[str, float], sensors: Any) -> None:
    from dyn_nodes.analysis.monitor_check import CHECKED

    console = tables.console()
    console.print('100 %: ' + ', '.join(f'{name} {value:.6g}' for name, value in scale.items()))
    console.print(str(sensors))
    rows = []
    for record in results:
        bound = '' if record['bound'] == float('inf') else f'{record["bound"]:g}'
        verdict = '' if record['measure'] not in CHECKED else 'kept' if record['passed'] else 'MISSED'
        numbers = [f'{record[key]:.1f}' for key in ('over', 'under')] + [f'{record["median"]:.2f}', bound, verdict]
        rows.append([*(str(record[key]) for key in ('run', 'seed', 'measure', 'phase', 'count')), *numbers])
    headings = ('run', 'seed', 'measure', 'phase', 'instants', 'unsafe side %', 'safe side %', 'median %', 'bound %')
    tables.show(rows, (*headings, ''))
