"""`dyn-nodes rviz`: opens RViz with a layout generated from a machine or a team."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, add_out

if TYPE_CHECKING:
    from dyn_nodes.commands.rviz_layout import Layout


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'rviz',
        'Open RViz with a layout generated from a machine or a team, or write the layout.',
        'dyn-nodes rviz log_loader\ndyn-nodes rviz my_machine.urdf --config my_machine.yaml -o my_machine.rviz\n'
        'dyn-nodes rviz log_loader --ros-args -r __ns:=/left',
    )
    add_machine_and_config(parser, nargs='?', default='log_loader')
    parser.add_argument('--team', metavar='TEAM', help='show a team instead: its YAML, or its name in config/teams')
    parser.add_argument('--layout', metavar='FILE', default='', help='an existing layout of RViz')
    add_out(parser, 'write the layout, without RViz', 'FILE')
    parser.add_argument(
        '--ros-args', nargs=argparse.REMAINDER, metavar='...', help='arguments of RViz, up to the end of the line'
    )


def run(args: argparse.Namespace) -> int:
    """Replace this process by RViz; return 0 after writing a layout, or in a launch without RViz.

    Raises:
        CommandError: RViz is missing, the machine is unknown, or the layout can't be written.
    """
    if args.out is not None:
        print(f'layout in {_written(args)}')
        return 0
    program = _program()
    if program is None:
        text = 'rviz2 is not installed: it comes with ROS 2 (source its setup file first)'
        if args.ros_args is None:
            raise CommandError(text)
        print(f'rviz is skipped: {text}', file=sys.stderr)
        return 0
    words = [program, '-d', args.layout or str(_written(args))]
    return os.execv(program, words if args.ros_args is None else [*words, '--ros-args', *args.ros_args])


def _program() -> str | None:
    from dyn_nodes.common.share import ament_prefix

    prefix = ament_prefix('rviz2')
    directories = [] if prefix is None else [str(prefix / 'lib' / 'rviz2'), str(prefix / 'bin')]
    return shutil.which('rviz2', path=os.pathsep.join([*directories, os.environ.get('PATH', os.defpath)]))


def _written(args: argparse.Namespace) -> Path:
    """Write the layout to --out or to the user's folder; return its path."""
    import yaml

    name, layout = _made(args)
    name = ''.join(c if c.isalnum() or c in '_-' else '_' for c in name)
    file = args.out or Path.home() / '.dyn_nodes' / 'rviz' / f'{name}.rviz'
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f'.{file.name}.{os.getpid()}')
        draft.write_text(yaml.safe_dump(layout, sort_keys=False))
        draft.replace(file)
    except OSError as error:
        raise CommandError(f'{file}: expected a writable file for the layout; {error.strerror}') from None
    return Path(file)


def _made(args: argparse.Namespace) -> tuple[str, Layout]:
    """Return name and layout of the machine or the team."""
    from dyn_nodes.commands.rviz_layout import machine_layout, team_layout
    from dyn_nodes.model import load_machine
    from dyn_nodes.model.named import machine_files
    from dyn_nodes.model.problems import MachineError

    try:
        if args.team:
            from dyn_nodes.teams.team_file import load_team

            team = load_team(args.team)
            return team.name, team_layout(team)
        machine = load_machine(*machine_files(args.machine, args.config))
        return machine.name, machine_layout(machine)
    except (MachineError, ValueError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None
