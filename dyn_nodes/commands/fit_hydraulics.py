"""`dyn-nodes fit hydraulics`: estimates valves and oil from recorded spools and supply pressures."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CONFIG_HELP, CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.machine_report import add_machine, sound_machine
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.hydraulic_fit import ActuatorFit
    from dyn_nodes.model.machine import Actuator, Machine

GROUPS = {'inlet_gain': 'valve', 'outlet_gain': 'valve', 'bypass_area': 'valve', 'bulk_modulus': 'supply'}


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    example = 'dyn-nodes fit hydraulics runs/latest/bag --machine log_loader'
    hydraulics = add_command(
        verbs, 'hydraulics', 'Estimate valve areas, bulk modulus and friction of hydraulic actuators.', example
    )
    hydraulics.description = (
        'Estimate valve areas, bulk modulus and viscous friction of every actuator from spool, pressures '
        'and joint motion: topics joint_states and hydraulics/<actuator>/spool, supply_pressure, head_pressure and '
        'rod_pressure (of a motor pressure_a and pressure_b), at 50 Hz or faster. Prints estimates with standard '
        'errors and the lines for the machine YAML. Volumes and areas of the cylinders, pump flow and dead zone are '
        'taken from the machine YAML.'
    )
    hydraulics.add_argument('bag', metavar='BAG', help='rosbag2 directory or file')
    add_machine(hydraulics, f'{CONFIG_HELP}, with initial guesses')
    hydraulics.add_argument('--actuator', metavar='NAME', nargs='+', help='actuators to fit (all that were recorded)')
    hydraulics.add_argument('--namespace', metavar='NS', help="of the machine's topics, if the bag contains several")
    hydraulics.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Fit and print; return 0 if every selected actuator, by default every one that moves, was fitted."""
    machine = sound_machine(args)
    if machine is None:
        return 1
    fits, failures, left_out = _fit(machine, args)
    if args.json:
        tables.print_json({'fits': [_as_json(fit) for fit in fits], 'failures': failures, 'left_out': left_out})
    else:
        _print(fits)
        for text in left_out:
            print(f'dyn-nodes: not fitted: {printable(text)}', file=sys.stderr)
        for failure in failures:
            print(f'dyn-nodes: {printable(failure)}', file=sys.stderr)
    return 0 if fits and not failures else 1


def _fit(machine: Machine, args: argparse.Namespace) -> tuple[list[ActuatorFit], list[str], list[str]]:
    """Return the fits, the reasons of failures, and the reasons why unselected actuators were left out."""
    from dyn_nodes.analysis.bag_reading import read_bag
    from dyn_nodes.analysis.hydraulic_fit import FitError, NothingToFitError, fit_actuator
    from dyn_nodes.analysis.hydraulic_recording import actuator_record, is_recorded
    from dyn_nodes.model.actuators import hydraulic, oil_actuators

    try:
        named = _chosen(machine, args.actuator)
        chosen = [hydraulic(actuator) for actuator in named] if args.actuator else oil_actuators(named)
    except ValueError as error:
        raise CommandError(str(error)) from None
    data = read_bag(args.bag, namespace=args.namespace)
    if not args.actuator:
        chosen = [actuator for actuator in chosen if is_recorded(data, actuator)]
        if not chosen:
            wanted = f'{data.namespace}/hydraulics/<actuator>/spool and pressures'
            topics = printable(', '.join(sorted(data.counts)))
            raise CommandError(f'{args.bag}: expected {wanted}, found {topics}')
    fits: list[ActuatorFit] = []
    failures: list[str] = []
    left_out: list[str] = []
    for actuator in chosen:
        try:
            fits.append(fit_actuator(machine, actuator, actuator_record(data, actuator)))
        except NothingToFitError as error:
            (failures if args.actuator else left_out).append(str(error))
        except ValueError as error:  # too few samples or invalid times
            failures.append(str(error) if isinstance(error, FitError) else f'{actuator.name}: {error}')
    if not fits:
        failures, left_out = [*failures, *left_out], []
    return fits, failures, left_out


def _chosen(machine: Machine, names: list[str] | None) -> list[Actuator]:
    if not machine.actuators:
        raise CommandError(f'{machine.name}: the machine YAML has no actuators')
    try:
        return [machine.actuator(name) for name in names] if names else list(machine.actuators)
    except KeyError as error:
        raise CommandError(f'--actuator: {error.args[0]}') from None


def _as_json(fit: ActuatorFit) -> dict[str, Any]:
    return {
        'actuator': fit.actuator,
        'seconds': fit.seconds,
        'estimates': {
            name: {
                'value': estimate.value,
                'standard_error': estimate.error,
                'before': estimate.before,
                'identified': bool(estimate.identified),
            }
            for name, estimate in fit.estimates.items()
        },
        'misfit': fit.misfit,
        'noise': fit.noise,
        'warnings': list(fit.warnings),
    }


def _print(fits: list[ActuatorFit]) -> None:
    console = tables.console()
    for fit in fits:
        noise = ', '.join(f'{value / 1e6:.3f}' for value in fit.noise)
        title = f'{fit.actuator}: {fit.seconds:.1f} s; noise of the pressures {noise} MPa'
        rows = []
        for name, estimate in fit.estimates.items():
            if not math.isfinite(estimate.value):
                rows.append((name, '-', '-', f'{estimate.before:.4g}', ''))
                continue
            share = 100.0 * estimate.error / abs(estimate.value) if estimate.value else math.inf
            change = f'{100.0 * (estimate.value / estimate.before - 1.0):+.1f} %' if estimate.before else ''
            shown = f'{estimate.value:.4g}' if estimate.identified else f'({estimate.value:.3g})'
            rows.append((name, shown, f'{estimate.error:.2g} ({share:.1f} %)', f'{estimate.before:.4g}', change))
        tables.show(rows, ('parameter', 'estimate', 'standard error', 'machine YAML', 'change'), title=title)
        for warning in fit.warnings:
            console.print(f'warning: {warning}', style='yellow')
    if fits:
        console.print('for the machine YAML:', style='bold')
        print(yaml_lines(fits))


def yaml_lines(fits: list[ActuatorFit]) -> str:
    """Return lines for a machine YAML with the parameters that the data determine."""
    lines = ['actuators:']
    for fit in fits:
        identified = {name: estimate for name, estimate in fit.estimates.items() if estimate.identified}
        if not identified:
            continue
        lines.append(f'  {fit.actuator}:')
        for group in ('valve', 'supply'):
            members = [name for name in identified if GROUPS.get(name) == group]
            if members:
                lines.append(f'    {group}:')
                lines += [f'      {name}: {_yaml_number(identified[name].value)}' for name in members]
        if 'viscous' in identified:
            lines.append(f'    viscous: {_yaml_number(identified["viscous"].value)}')
    return '\n'.join(lines)


def _yaml_number(value: float) -> str:
    """Return five digits with a point in the mantissa, because YAML 1.1 reads 1e9 as text."""
    mantissa, exponent = f'{value:.4e}'.split('e')
    return f'{mantissa}e{int(exponent):+d}'
