"""`dyn-nodes fit`: estimates parameters of a machine from recorded data."""

from __future__ import annotations

import argparse

from dyn_nodes.commands import (
    Subparsers,
    add_command,
    fit_apply,
    fit_bag,
    fit_check,
    fit_hydraulics,
    fit_machine,
    fit_plan,
    fit_speeds,
)

VERBS = {
    'machine': fit_machine,
    'apply': fit_apply,
    'plan': fit_plan,
    'speeds': fit_speeds,
    'hydraulics': fit_hydraulics,
    'check': fit_check,
    'bag': fit_bag,
}


def add_parser(subparsers: Subparsers) -> None:
    """Add the `fit` command to the command line."""
    example = (
        'dyn-nodes fit machine day_1 --machine log_loader --out fit\n'
        'dyn-nodes fit apply fit --machine log_loader -o fitted\n'
        'dyn-nodes fit plan --machine log_loader -o plan.yaml\n'
        'dyn-nodes fit speeds day_1 --pair boom=boom_joint\n'
        'dyn-nodes fit hydraulics runs/latest/bag --machine log_loader\n'
        'dyn-nodes fit check --cases 200'
    )
    parser = add_command(subparsers, 'fit', 'Estimate parameters of a machine from a bag.', example)
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    for verb in VERBS.values():
        verb.add_verb(verbs)


def run(args: argparse.Namespace) -> int:
    """Run the verb; return its exit status."""
    return VERBS[args.verb].run(args)
