"""`dyn-nodes bag`: records, plays, compares and shows bags."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out, bag_film, bag_import, bag_play, bag_view
from dyn_nodes.commands.option_types import at_least


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(subparsers, 'bag', 'Record, play and inspect bags.', 'dyn-nodes bag info runs/latest/bag')
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    info = add_command(
        verbs,
        'info',
        'Print the contents of a bag, also of an unfinished one.',
        'dyn-nodes bag info runs/latest/bag\ndyn-nodes bag info other_0.mcap',
    )
    info.add_argument('bag', metavar='BAG', help='a bag directory, or one .mcap or .db3 file')
    record = add_command(
        verbs,
        'record',
        'Record topics until Ctrl-C; all topics by default.',
        'dyn-nodes bag record -o my_bag\n'
        'dyn-nodes bag record -o my_bag --use-sim-time /joint_states "/ground_reactions/*"',
    )
    record.add_argument('topics', metavar='TOPIC', nargs='*', help='by name or pattern')
    record.add_argument('-a', '--all', action='store_true', help='all topics, as without names')
    add_out(record, 'must not exist (default: rosbag2_ and the date)', type=str, default='')
    record.add_argument(
        '-x', '--exclude', nargs='+', default=[], metavar='TOPIC', help='topics to leave out, by name or pattern'
    )
    record.add_argument('-s', '--storage', default='mcap', choices=('mcap', 'sqlite3'), help='default: %(default)s')
    record.add_argument(
        '-d', '--max-duration', type=at_least(0.0), default=0.0, metavar='SECONDS', help='stop after this time'
    )
    record.add_argument('--use-sim-time', action='store_true', help='take log times from /clock')
    bag_play.add_parser(verbs)
    bag_import.add_parser(verbs)
    bag_view.add_parser(verbs)
    bag_film.add_parser(verbs)
    compare = add_command(
        verbs,
        'compare',
        'Compare two bags byte for byte, and show which messages differ.',
        'dyn-nodes bag compare runs/first/bag runs/second/bag',
    )
    compare.add_argument('first', metavar='BAG', help='a bag directory')
    compare.add_argument('second', metavar='BAG', help='another bag directory')


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    runs = {
        'info': _info,
        'record': _record,
        'play': bag_play.play,
        'compare': _compare,
        'import': bag_import.run_import,
        'view': bag_view.run_view,
        'film': bag_film.run_film,
    }
    return runs[args.verb](args)


def _record(args: argparse.Namespace) -> int:
    from dyn_nodes.nodes import recorder_node

    if args.all and args.topics:
        raise CommandError('--all: expected no names of topics', 2)

    def names(values: list[str]) -> str:
        return json.dumps(values or [''])

    parameters = {
        'directory': json.dumps(args.out),
        'topics': names(args.topics),
        'exclude': names(args.exclude),
        'storage': args.storage,
        'max_duration': args.max_duration,
        'use_sim_time': str(args.use_sim_time).lower(),
    }
    words = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
    sys.argv = ['recorder_node', '--ros-args', *words]
    return recorder_node.main()


def _compare(args: argparse.Namespace) -> int:
    """Compare two bags; return 0 if they are identical, else 1.

    Raises:
        CommandError: a bag can't be read.
    """
    from dyn_nodes.common.printing import printable
    from dyn_nodes.middleware.bag_reader import compare_bags

    comparison = compare_bags(args.first, args.second)
    total = sum(first for first, _ in comparison.counts.values())
    if comparison.identical:
        print(f'identical: {total} messages on {len(comparison.counts)} topics, every byte of every file')
        return 0
    for item in comparison.differences:
        counts = ' and '.join(str(count) for count in comparison.counts[item.topic])
        times = [f'{message[0] * 1e-9:.9f} s' if message else 'nothing' for message in (item.first, item.second)]
        first = f'the first difference is message {item.index}, at {" and ".join(times)}'
        print(f'{printable(item.topic)}: {counts} messages; {first}')
    if comparison.same_messages:
        print(f'the same {total} messages on {len(comparison.counts)} topics, but the files differ')
    return 1


def _info(args: argparse.Namespace) -> int:
    """Print the summary of a bag.

    Raises:
        CommandError: the bag does not exist or can't be read.
    """
    from dyn_nodes.common.printing import printable
    from dyn_nodes.middleware.bags import bag_summary

    summary = bag_summary(args.bag)
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
        f'Topic: {printable(topic.name)} | Type: {printable(topic.type)} | Count: {topic.count} | '
        f'Serialization Format: {printable(topic.serialization_format)}'
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
