"""`dyn-nodes fit bag`: writes a log of the simulated log-loader under random levers for `fit machine`."""

from __future__ import annotations

import argparse
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command, missing_package
from dyn_nodes.commands.option_types import SEED, between


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'bag',
        'Write a bag, or a log of CAN frames, of the simulated log-loader under random levers, with noisy sensors and '
        'a dead time.',
        'dyn-nodes fit bag tried --duration 80\ndyn-nodes fit bag first.blf',
    )
    parser.add_argument(
        'log', metavar='BAG', type=Path, help='new directory; or a file for CAN frames, .blf, .asc, .log'
    )
    parser.add_argument('--duration', metavar='S', type=between(20, 600), default=80.0, help='length of the log (80)')
    parser.add_argument(
        '--seed', metavar='N', type=SEED, default=1, help='seed of levers, dead time, payload and noise (1)'
    )


def run(args: argparse.Namespace) -> int:
    """Write the log and print its true parameters; return 0.

    Raises:
        CommandError: an existing file or directory, or a missing package.
    """
    from dyn_nodes.analysis.fit_cases import log_loader_rig
    from dyn_nodes.analysis.log_bag import write_log
    from dyn_nodes.analysis.log_frames import SUFFIXES, write_frames
    from dyn_nodes.analysis.simulated_log import measured
    from dyn_nodes.model.actuators import hydraulic

    rig = log_loader_rig(args.duration)
    simulated, count = rig.run(args.seed), ''
    log = measured(simulated, rig.sensors, args.seed)
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
    facts = f'{args.duration:g} s{count}, payload {simulated.payload:.1f} kg, dead time {simulated.dead_time:.3f} s'
    print(f'{args.log}: {facts}')
    for actuator in map(hydraulic, rig.machine.actuators):
        friction = rig.machine.joint(actuator.joint).friction
        leakage = f'leakage {actuator.leakage:.2g} m3/(s Pa)'
        print(f'  {actuator.name}: dry friction {friction:.5g} at {actuator.joint}, {leakage}')
    return 0
