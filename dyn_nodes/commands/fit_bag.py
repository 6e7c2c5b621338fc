"""`dyn-nodes fit bag`: a log of the simulated log-loader under random levers, to try `fit machine` on."""

from __future__ import annotations

import argparse
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command, missing_package


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'bag',
        'Write a bag, or a log of CAN frames, of the simulated log-loader under random levers, with noisy sensors and '
        'a dead time.',
        'dyn-nodes fit bag tried --seconds 80\ndyn-nodes fit bag first.blf',
    )
    parser.add_argument(
        'log', metavar='BAG', type=Path, help='directory to make; or a file for the frames of its bus, .blf, .asc, .log'
    )
    parser.add_argument('--seconds', metavar='S', type=float, default=80.0, help='of the log (80)')
    parser.add_argument('--seed', metavar='N', type=int, default=1, help='of levers, dead time, payload and noise (1)')


def run(args: argparse.Namespace) -> int:
    """Write the log and print what is true of it; return 0.

    Raises:
        CommandError: a number out of range, a file or directory that exists, or a package that is missing.
    """
    from dyn_nodes.analysis.fit_cases import log_loader_rig
    from dyn_nodes.analysis.log_bag import write_log
    from dyn_nodes.analysis.log_frames import SUFFIXES, write_frames
    from dyn_nodes.analysis.simulated_log import measured
    from dyn_nodes.model.actuators import hydraulic

    if not 20.0 <= args.seconds <= 600.0:
        raise CommandError(f'--seconds: expected 20 to 600, found {args.seconds:g}')
    if not 0 <= args.seed < 2**31:
        raise CommandError(f'--seed: expected 0 or more, found {args.seed}')
    rig = log_loader_rig(args.seconds)
    found, count = rig.run(args.seed), ''
    log = measured(found, rig.sensors, args.seed)
    try:
        if args.log.suffix.lower() in SUFFIXES:
            from dyn_nodes.can.mapping_file import load_mapping

            count = f', {write_frames(args.log, log, rig.machine, load_mapping("log_loader")[0])} frames'
        else:
            write_log(args.log, log, rig.machine)
    except ImportError as error:
        raise missing_package(error, 'can') from None
    except FileExistsError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f'{error.filename or args.log}: {error.strerror or error}') from None
    facts = f'{args.seconds:g} s{count}, payload {found.payload:.1f} kg, dead time {found.dead_time:.3f} s'
    print(f'{args.log}: {facts}')
    for own in map(hydraulic, rig.machine.actuators):
        friction = rig.machine.joint(own.joint).friction
        print(f'  {own.name}: dry friction {friction:.5g} at {own.joint}, leakage {own.leakage:.2g} m3/(s Pa)')
    return 0
