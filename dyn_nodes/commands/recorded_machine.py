"""Recorded runs with the shape of their machine, for the commands that show bags."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dyn_nodes.commands import MACHINE_HELP, CommandError, add_machine_and_config

if TYPE_CHECKING:
    from dyn_nodes.model import Machine
    from dyn_nodes.nodes.bag_snapshots import Replay
    from dyn_nodes.viewer.robot import Robot


class Recorded(NamedTuple):
    """A run and the shape of its machine.

    Attributes:
        load_link: link of the implement, '' if it is unknown.
    """

    replay: Replay
    robot: Robot
    machine: Machine | None
    load_link: str


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the machine of a bag."""
    add_machine_and_config(parser, '--machine', help=f'{MACHINE_HELP} (machine of robot_description in the bag)')
    parser.add_argument('--namespace', metavar='NS', help='of the machine, if a bag contains several')


def read_recorded(path: str, args: argparse.Namespace, rate: float = 0.0) -> Recorded:
    """Return the run in a bag, with at least `rate` instants a second.

    Raises:
        CommandError: the bag, the machine or its description can't be used.
    """
    from dyn_nodes.common.share import folders_above
    from dyn_nodes.middleware.bags import BagError
    from dyn_nodes.model import load_machine
    from dyn_nodes.model.named import machine_files
    from dyn_nodes.nodes.bag_snapshots import RATE, read_replay
    from dyn_nodes.viewer.robot import RobotError, load_robot

    try:
        machine = load_machine(*machine_files(args.machine, args.config)) if args.machine else None
        replay = read_replay(path, machine, args.namespace, max(rate, RATE))
        if machine is None:
            machine = _named_in(replay.description)
            if machine is not None:  # read again with its wheels and its load
                replay = read_replay(path, machine, args.namespace, max(rate, RATE))
        description = replay.description or (machine.urdf if machine is not None else '')
        if not description:
            raise CommandError(f'{path}: expected robot_description in the bag, or --machine; found neither')
        folders = list(folders_above(machine.sources[0])) if machine is not None else [Path(path).resolve().parent]
        robot = load_robot(description, folders)
    except (BagError, RobotError, OSError, ValueError) as error:
        raise CommandError(str(error).split('\n')[0]) from None
    for warning in robot.warnings:
        print(f'dyn-nodes: {warning}', file=sys.stderr)
    mount = machine.payload.link if machine is not None and machine.payload is not None else ''
    return Recorded(replay, robot, machine, mount if mount in robot.links else '')


def _named_in(description: str) -> Machine | None:
    """Return the machine of the package with this URDF, or None."""
    from dyn_nodes.model import load_machine
    from dyn_nodes.model.named import packaged_machines

    if not description:
        return None
    for urdf, yaml in packaged_machines().values():
        if urdf.read_text(encoding='utf-8').strip() == description.strip():
            return load_machine(urdf, yaml)
    return None
