"""`dyn-nodes bag view`: replays one or two bags on the page of the cockpit."""

from __future__ import annotations

import argparse
import contextlib
import webbrowser
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.option_types import PORT, at_least
from dyn_nodes.commands.recorded_machine import add_machine_options, read_recorded


def add_parser(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'view',
        'Replay one bag or two side by side on the page of the cockpit.',
        'dyn-nodes bag view runs/latest/bag\n'
        'dyn-nodes bag view runs/first/bag runs/second/bag\n'
        'dyn-nodes bag view day_1 --machine my_machine.urdf --config my_machine.yaml',
        'Replay a bag on the page of the cockpit, on this computer only (127.0.0.1), until Ctrl-C: with a time line to '
        'play, pause and drag, speeds, and the events one by one. Two bags are shown side by side.',
    )
    parser.add_argument('bags', metavar='BAG', nargs='+', help='one or two bag directories, .mcap or .db3 files')
    parser.add_argument('--port', type=PORT, default=8080, metavar='N', help='port of the page; 0: a free one (8080)')
    parser.add_argument('--duration', type=at_least(0.0), metavar='S', help='stop after this time')
    parser.add_argument('--no-shadows', dest='shadows', action='store_false', help='for browsers without a GPU')
    add_machine_options(parser)


def run_view(args: argparse.Namespace) -> int:
    """Show the page until Ctrl-C.

    Raises:
        CommandError: a bag, a machine or the port can't be used.
    """
    from dyn_nodes.commands.demo_cockpit import has_display
    from dyn_nodes.viewer.replay import ReplayPage, ReplayRun
    from dyn_nodes.viewer.time_line import play

    if len(args.bags) > 2:
        raise CommandError(f'expected one bag or two, found {len(args.bags)}', 2)
    runs = []
    for name, bag in zip(_names(args.bags), args.bags):
        recorded = read_recorded(bag, args)
        mount = recorded.machine.payload if recorded.machine is not None and recorded.load_link else None
        x, y, z = mount.position if mount is not None else (0.0, 0.0, 0.0)
        runs.append(
            ReplayRun(name, recorded.replay, recorded.robot, recorded.load_link, (float(x), float(y), float(z)))
        )
    try:
        page = ReplayPage(runs, port=args.port)
    except (OSError, OverflowError) as error:
        raise CommandError(str(error)) from None
    page.cockpit.set_shadows(args.shadows)
    print(f'{" and ".join(args.bags)} on {page.cockpit.address}; Ctrl-C ends', flush=True)
    if has_display():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(page.cockpit.address)
    play(page, args.duration)
    return 0


def _names(bags: list[str]) -> list[str]:
    """Return a short, unique name of every bag."""
    from dyn_nodes.common.printing import printable

    paths = [Path(bag).resolve() for bag in bags]
    short = [path.parent.name if path.name == 'bag' else path.stem for path in paths]
    return [printable(name) for name in (short if len(set(short)) == len(short) else bags)]
