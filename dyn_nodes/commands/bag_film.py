"""`dyn-nodes bag film`: renders bags side by side to an animated picture, without a browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out
from dyn_nodes.commands.option_types import between
from dyn_nodes.commands.recorded_machine import Recorded, add_machine_options, read_recorded

MOST_BAGS = 4
LARGEST, MOST_PICTURES = 4096, 5000
LENGTH = between(0.1, 3600.0)
"""Type of an option for the duration of a film, s."""
SAMPLES = 8
"""Number of pictures whose colours a GIF has."""


def add_parser(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'film',
        'Make a film of one bag or of several side by side: GIF, WebP or PNG.',
        'dyn-nodes bag film runs/latest/bag -o run.gif\n'
        'dyn-nodes bag film runs/latest/bag -o tipping.webp --from 7 --to 15 --speed 0.5\n'
        'dyn-nodes bag film runs/latest/bag -o slow.gif --length 180\n'
        'dyn-nodes bag film runs/first/bag runs/second/bag -o both.gif --camera Side',
    )
    parser.add_argument('bags', metavar='BAG', nargs='+', help='a bag directory, or one .mcap or .db3 file')
    add_out(parser, 'file to write; its suffix sets the format', 'FILE', required=True)
    instant = between(0.0, 1e6)
    parser.add_argument(
        '--from', dest='start', type=instant, default=0.0, metavar='S', help='start, from the first instant (0)'
    )
    parser.add_argument('--to', dest='stop', type=instant, metavar='S', help='end, from the first instant (the end)')
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument('--speed', type=between(0.01, 100.0), default=1.0, metavar='X', help='times real time (1)')
    pace.add_argument('--length', type=LENGTH, metavar='S', help='duration of the film, in place of --speed')
    parser.add_argument(
        '--rate', type=between(1.0, 50.0), default=12.0, metavar='HZ', help='frame rate of the film (12)'
    )
    parser.add_argument('--size', default='640x400', metavar='WxH', help='pixels of each machine (640x400)')
    parser.add_argument('--camera', default='Follow', metavar='NAME', help='Follow, Side, Front or Top (Follow)')
    parser.add_argument('--title', action='append', metavar='TEXT', help='title of each bag (name of the machine)')
    add_machine_options(parser)


def run_film(args: argparse.Namespace) -> int:
    """Make the film.

    Raises:
        CommandError: an option, a bag or the file can't be used.
    """
    from dyn_nodes.commands import tables
    from dyn_nodes.nodes.bag_snapshots import RATE
    from dyn_nodes.viewer.picture import save

    size = _check(args)
    runs = [read_recorded(bag, args) for bag in args.bags]
    stop = max(run.replay.duration for run in runs) if args.stop is None else args.stop
    speed = args.speed if args.length is None else max((stop - args.start) / args.length, 0.0)
    if args.rate > RATE * speed > 0.0:  # slow motion: read with an instant for each picture
        runs = [read_recorded(bag, args, args.rate / speed) for bag in args.bags]
    step = speed / args.rate
    count = int((stop - args.start) / step + 1e-9) + 1 if step > 0.0 else 0
    if not 1 <= count <= MOST_PICTURES:
        raise CommandError(
            f'expected 1 to {MOST_PICTURES} pictures, found {max(count, 0)}: --from, --to, --rate, --speed'
        )
    times = [args.start + step * k for k in range(count)]
    print(f'{args.out}: drawing {count} pictures', file=sys.stderr)
    try:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        samples = _beside(runs, times[:: max(1, count // SAMPLES)], size, args)
        with tables.progress() as bar:
            pictures = bar.track(_beside(runs, times, size, args), count, description=args.out.name)
            save(args.out, pictures, 1.0 / args.rate, samples)
    except OSError as error:
        raise CommandError(f'{args.out} cannot be written: {error.strerror or error}') from None
    print(f'{args.out}: {count} pictures, {count / args.rate:.1f} s, {args.out.stat().st_size / 1e6:.2f} MB')
    return 0


def write_film(bag: Path, out: Path, machine: str, length: float) -> None:
    """Make a film of a duration, s, of a bag of a machine with the defaults of the options. Raises as `run_film`."""
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    run_film(parser.parse_args(['film', str(bag), '-o', str(out), '--machine', machine, '--length', f'{length:g}']))


def _check(args: argparse.Namespace) -> tuple[int, int]:
    from dyn_nodes.viewer.camera import PRESETS
    from dyn_nodes.viewer.picture.film import FORMATS

    if len(args.bags) > MOST_BAGS:
        raise CommandError(f'expected at most {MOST_BAGS} bags, found {len(args.bags)}', 2)
    if args.out.suffix.lower() not in FORMATS:
        raise CommandError(f'--out: expected a name that ends in {", ".join(FORMATS)}, found {args.out}', 2)
    if args.camera not in PRESETS:
        raise CommandError(f'--camera: expected one of {", ".join(PRESETS)}, found {args.camera!r}', 2)
    width, _, height = args.size.partition('x')
    if not (width.isdecimal() and height.isdecimal() and all(64 <= int(n) <= LARGEST for n in (width, height))):
        raise CommandError(f'--size: expected WIDTHxHEIGHT, 64 to {LARGEST} pixels each, found {args.size!r}', 2)
    return int(width), int(height)


def _beside(runs: list[Recorded], times: list[float], size: tuple[int, int], args: argparse.Namespace) -> Iterator[Any]:
    """Yield the pictures of all runs side by side."""
    import numpy as np

    from dyn_nodes.viewer.picture import recorded_film

    titles = [run.robot.name.replace('_', ' ') for run in runs]
    chosen = (args.title or [])[: len(titles)]
    titles[: len(chosen)] = chosen
    films = (
        recorded_film(run.replay, run.robot, times, size, args.camera, run.load_link, title)
        for run, title in zip(runs, titles)
    )
    for pictures in zip(*films):
        yield np.concatenate(pictures, axis=1)
