"""`dyn-nodes bag`: what is in a bag."""

from __future__ import annotations

import argparse
from datetime import datetime

from dyn_nodes.commands import CommandError, Subparsers, add_command


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(subparsers, 'bag', 'Look into bags.', 'dyn-nodes bag info runs/latest/bag')
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    info = add_command(
        verbs,
        'info',
        'Print what a bag holds, also one whose recorder was killed.',
        'dyn-nodes bag info runs/latest/bag\ndyn-nodes bag info other_0.mcap',
    )
    info.add_argument('bag', metavar='BAG', help='a bag directory, or one .mcap or .db3 file')


def run(args: argparse.Namespace) -> int:
    """Print the summary.

    Raises:
        CommandError: There is no bag, or it can't be read.
    """
    from dyn_nodes.recording import BagError, bag_summary

    try:
        summary = bag_summary(args.bag)
    except BagError as error:
        raise CommandError(str(error)) from None
    files = [file.name for file in summary.files]
    rows = [
        ('Files:', ('\n' + ' ' * 19).join(files)),
        ('Bag size:', _size(summary.size)),
        ('Storage id:', summary.storage),
        ('ROS Distro:', summary.distro or 'unknown'),
        ('Duration:', f'{summary.duration / 1e9:.9f}s'),
        ('Start:', _time(summary.start)),
        ('End:', _time(summary.end)),
        ('Messages:', str(summary.message_count)),
    ]
    if not summary.finished:
        rows.append(('State:', 'unfinished: its recorder still runs, or was killed'))
    topics = [
        f'Topic: {topic.name} | Type: {topic.type} | Count: {topic.count} | '
        f'Serialization Format: {topic.serialization_format}'
        for topic in summary.topics
    ]
    rows.append(('Topic information:', ('\n' + ' ' * 19).join(topics)))
    print()
    for label, value in rows:
        print(f'{label:<19}{value}'.rstrip())
    print()
    return 0


def _size(size: int) -> str:
    value = float(size)
    for unit in ('B', 'KiB', 'MiB', 'GiB'):
        if value < 1024 or unit == 'GiB':
            break
        value /= 1024
    return f'{value:.1f} {unit}'


def _time(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return 'no messages'
    seconds, rest = divmod(nanoseconds, 10**9)
    return f'{datetime.fromtimestamp(seconds):%b %e %Y %H:%M:%S}.{rest:09d} ({seconds}.{rest:09d})'
