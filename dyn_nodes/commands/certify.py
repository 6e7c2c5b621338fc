"""`dyn-nodes certify`: computes what a standard asks about tipping and lift capacity."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, add_out, tables
from dyn_nodes.commands.machine_report import sound_machine
from dyn_nodes.commands.option_types import between, numbers_by_name

if TYPE_CHECKING:
    from dyn_nodes.analysis.standards import Certificate


def add_parser(subparsers: Subparsers) -> None:
    """Add the `certify` command to the command line."""
    parser = add_command(
        subparsers,
        'certify',
        'Compute what a standard asks about tipping and lift capacity, with the effect of assumed values.',
        'dyn-nodes certify excavator --standard iso10567 --out certificate\n'
        'dyn-nodes certify my_machine.urdf --config my_machine.yaml --standard iso10567 --json',
    )
    add_machine_and_config(parser)
    parser.add_argument(
        '--standard',
        required=True,
        metavar='NAME',
        help='standard, such as iso10567 (excavators), iso14397_1 (loaders), iso22915_14 (telehandlers), en13000',
    )
    parser.add_argument(
        '--step', type=between(0.1, 10.0, 'm'), default=1.5, metavar='M', help='step of reach and height, m (1.5)'
    )
    parser.add_argument(
        '--posture',
        type=numbers_by_name,
        action='extend',
        nargs='+',
        default=[],
        metavar='JOINT=VALUE',
        help='positions of joints that the calculation keeps, such as of bucket or legs, rad or m (initial posture)',
    )
    parser.add_argument(
        '--set',
        dest='values',
        type=numbers_by_name,
        action='extend',
        nargs='+',
        default=[],
        metavar='NAME=VALUE',
        help='numbers that a standard needs beside the machine files, such as rated_load=2500 (see its inputs)',
    )
    parser.add_argument('--rigid', action='store_true', help='assume rigid springs, tyres and tracks')
    parser.add_argument('--no-effects', action='store_true', help='skip the effect of each assumed value')
    add_out(parser, 'directory for NAME.html, .json, .csv and .txt')
    parser.add_argument('--json', action='store_true', help='print the result as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Compute, print and write the certificate; return 0, or 1 for a machine with faults."""
    machine = sound_machine(args)
    if machine is None:
        return 1
    from dyn_nodes.analysis.certificate_output import as_json, write_all
    from dyn_nodes.analysis.standards import CertifySettings, certify

    posture, values = (
        {name: value for entry in entries for name, value in entry.items()} for entries in (args.posture, args.values)
    )
    settings = CertifySettings(
        step=args.step, posture=posture, rigid=args.rigid, vary=not args.no_effects, values=values
    )
    certificate = certify(machine, args.standard, settings)
    if args.json:
        tables.print_json(as_json(certificate), indent=None)
    else:
        _print(certificate)
    if args.out:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
            paths = write_all(certificate, args.out, _command(args))
        except OSError as error:
            raise CommandError(f'--out {args.out}: {error.strerror}') from None
        print('written: ' + ', '.join(str(path) for path in paths), file=sys.stderr)
    return 0


def _command(args: argparse.Namespace) -> str:
    """Return the command line of the options that determine the result."""
    words = ['dyn-nodes', 'certify', str(args.machine), '--standard', args.standard, '--step', f'{args.step:g}']
    words += ['--config', str(args.config)] if args.config else []
    for option, entries in (('--posture', args.posture), ('--set', args.values)):
        for entry in entries:
            words += [option, *(f'{name}={value:g}' for name, value in entry.items())]
    return shlex.join([*words, *(['--rigid'] if args.rigid else [])])


def _print(certificate: Certificate) -> None:
    from dyn_nodes.analysis.certificate_output import EFFECT_HEADS, effect_rows, statements

    console = tables.console()
    for table in certificate.tables:
        tables.show(table.rows, table.heads, title=f'{certificate.machine}: {table.title}')
    if certificate.effects:
        tables.show(effect_rows(certificate), EFFECT_HEADS, title='effect of assumed values')
    for line in (certificate.standard, certificate.supports, *certificate.notes, *statements(certificate)):
        tables.print_sentence(console, line, style='dim')
    tables.print_sentence(console, f'Not shown by a model: {" ".join(certificate.not_shown)}', style='dim')
