"""`dyn-nodes monitor payload`: compares estimated and true payloads in simulated cases."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, add_jobs, add_machine_and_config, add_out, tables
from dyn_nodes.commands.option_types import SEED, count
from dyn_nodes.common.processes import LastingPool

if TYPE_CHECKING:
    from dyn_nodes.analysis.payload_check import PayloadResult
    from dyn_nodes.model.machine import Machine

MOST_CASES = 1_000_000
FILE = 'payload.jsonl'


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes monitor`."""
    verb = verbs.add_parser(
        'payload',
        help='Compare the estimated payload with the true payload.',
        description='Simulate a machine in random cases of work, measure pressures, joints and IMU with sensor '
        'errors, and estimate the payload with a model of wrong masses, friction and payload position. Without '
        '--steps the exit status is 1 if the 95 % interval contains the true payload in less than 93 or more than '
        '97 % of the cases, or if the error exceeds 1 % of the limit of the mount in more than 5 %; with --steps if a '
        'step of the load is detected later than after 0.5 s.',
    )
    add_machine_and_config(verb, '--machine', default='log_loader', help='its name, or its URDF (log_loader)')
    verb.add_argument('--cases', metavar='N', type=count(1, MOST_CASES), default=100, help='number of cases (100)')
    verb.add_argument('--seed', metavar='N', type=SEED, default=1, help='seed of the random numbers (1)')
    verb.add_argument('--steps', action='store_true', help='drop the load or grab another during the work')
    verb.add_argument(
        '--errors',
        action='store_true',
        help='all cases with each unmodelled error alone, with and without a tare; no bounds',
    )
    add_jobs(verb)
    add_out(verb, f'directory for {FILE}, a line for every case')
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Check the cases; return 0 if the bounds are met, else 1."""
    machine = _machine(args)
    if args.errors:
        return _errors(args, machine)
    try:
        results = _results(args, machine)
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    from dyn_nodes.analysis.payload_check import missed, summary

    assert machine.payload is not None
    result = summary(results, machine.payload.limit)
    result['missed'] = missed(result, args.steps)
    if args.json:
        tables.print_json(result)
    else:
        _print(result, machine.payload.limit)
    return 1 if result['missed'] else 0


def _machine(args: argparse.Namespace) -> Machine:
    """Return the machine. Raises CommandError if its payload cannot be estimated."""
    from dyn_nodes.monitor.payload_model import PayloadModel
    from dyn_nodes.nodes.machines import machine_of

    try:
        machine = machine_of(args.machine, args.config)
        PayloadModel(machine)
    except ValueError as error:
        text = str(error).replace("parameter 'config'", '--config').replace("parameter 'machine': ", '')
        raise CommandError(text) from None
    return machine


def _results(args: argparse.Namespace, machine: Machine) -> list[PayloadResult]:
    file = None
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        file = (args.out / FILE).open('w', encoding='utf-8')
    results = []
    try:
        for result in _checked(args, machine):
            results.append(result)
            if file is not None:
                file.write(json.dumps(asdict(result)) + '\n')
    finally:
        if file is not None:
            file.close()
    return results


def _checked(args: argparse.Namespace, machine: Machine) -> Iterator[PayloadResult]:
    from dyn_nodes.analysis.payload_check import check_in_worker, start_worker

    numbers = [(args.seed, number, args.steps) for number in range(args.cases)]
    start_worker(machine)  # compiles once
    if args.jobs == 1:
        yield from map(check_in_worker, numbers)
        return
    with LastingPool(args.jobs, start_worker, (machine,), 'ten cases') as pool:
        yield from pool.map(check_in_worker, numbers, together=10)


def _print(result: dict[str, Any], limit: float) -> None:
    rows = {
        'cases': f'{result["cases"]}',
        'interval of 95 % holds the truth': f'{100.0 * result["covered"]:.1f} %',
        f'within 1 % of {limit:g} kg': f'{100.0 * result["within_bound"]:.1f} %',
        'error: median, 95 %, greatest': ', '.join(
            f'{result[key]:.1f}' for key in ('median_error', 'error_95', 'greatest_error')
        )
        + ' kg',
        'greatest error where it is observed': _kilograms(result['greatest_error_observed']),
        'standard deviation reported, median': f'{result["median_deviation"]:.1f} kg',
        'rated payload at the end': f'{result["rated"]}',
        'steps noticed without a step': f'{result["false_steps"]}',
    }
    if result['stepped']:
        rows |= {
            'steps of the load noticed': f'{result["noticed"]} of {result["stepped"]}',
            'noticed: median, latest': f'{result["median_notice"]:.3f}, {result["latest_notice"]:.3f} s',
            'weighed anew: 99 %, latest': f'{result["settled_99"]:.3f}, {result["latest_settled"]:.3f} s',
        }
    tables.show(rows.items(), ('', 'found'))
    console = tables.console()
    for item in result['missed']:
        console.print(f'MISSED: {item}')


def _errors(args: argparse.Namespace, machine: Machine) -> int:
    """Print the effect of errors that the estimator does not model."""
    from dyn_nodes.analysis.payload_cases import CaseRig, rough_machine
    from dyn_nodes.analysis.payload_errors import WRONG, check_wrong, row

    rig = CaseRig(rough_machine(machine))
    rows = [
        row(wrong, tared, [check_wrong(rig, wrong, args.seed, number, tared) for number in range(args.cases)])
        for wrong in WRONG
        for tared in (False, True)
    ]
    tables.show(rows, ERRORS, args.json)
    return 0


def _kilograms(value: float | None) -> str:
    return '' if value is None else f'{value:.0f} kg'


ERRORS: dict[str, Callable[[dict[str, Any]], str]] = {
    'wrong quantity': lambda row: row['wrong'],
    'tared': lambda row: 'yes' if row['tared'] else '',
    'covered': lambda row: '' if row['covered'] is None else f'{100.0 * row["covered"]:.0f} %',
    'error: mean': lambda row: _kilograms(row['mean_error']),
    '95 %': lambda row: _kilograms(row['error_95']),
    'greatest': lambda row: _kilograms(row['greatest_error']),
    'steps noticed': lambda row: str(row['false_steps']),
    'rated': lambda row: str(row['rated']),
}
"""Functions of the cells of a kind of error by heading."""
