"""`dyn-nodes fit bag`: a bag of the simulated log-loader under random levers, to try `fit machine` on."""

from __future__ import annotations

import argparse
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'bag',
        'Write a bag of the simulated log-loader under random levers, with noisy sensors and a dead time.',
        'dyn-nodes fit bag tried --seconds 80',
    )
    parser.add_argument('directory', metavar='BAG', type=Path, help='directory to make')
    parser.add_argument('--seconds', metavar='S', type=float, default=80.0, help='of the log (80)')
    parser.add_argument('--seed', metavar='N', type=int, default=1, help='of levers, dead time, payload and noise (1)')


def run(args: argparse.Namespace) -> int:
    """Write the bag and print what is true of it; return 0.

    Raises:
        CommandError: a number out of range, or a directory that exists.
    """
    from dyn_nodes.analysis.fit_cases import CaseRig
    from dyn_nodes.analysis.log_bag import write_log
    from dyn_nodes.analysis.simulated_log import measured
    from dyn_nodes.model import load_machine
    from dyn_nodes.share import find_resource

    if not 20.0 <= args.seconds <= 600.0:
        raise CommandError(f'--seconds: expected 20 to 600, found {args.seconds:g}')
    if not 0 <= args.seed < 2**31:
        raise CommandError(f'--seed: expected 0 or more, found {args.seed}')
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    rig = CaseRig(machine, args.seconds)
    found = rig.run(args.seed)
    try:
        write_log(args.directory, measured(found, rig.sensors, args.seed), rig.machine)
    except FileExistsError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f'{error.filename or args.directory}: {error.strerror or error}') from None
    print(f'{args.directory}: {args.seconds:g} s, payload {found.payload:.1f} kg, dead time {found.dead_time:.3f} s')
    for own in rig.machine.actuators:
        friction = rig.machine.joint(own.joint).friction
        print(f'  {own.name}: dry friction {friction:.5g} at {own.joint}, leakage {own.leakage:.2g} m3/(s Pa)')  # type: ignore[union-attr]
    return 0
