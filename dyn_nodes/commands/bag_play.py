"""`dyn-nodes bag play`: publishes the messages of a bag with their types, QoS and timing."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.option_types import at_least, between, positive
from dyn_nodes.commands.ros_graph import absolute, cli_node, wait_until
from dyn_nodes.common.printing import printable

CLOCK, CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'
QUEUE = 1000
FASTEST_CLOCK = 1e6
"""Greatest rate of /clock, Hz."""
LONGEST_SPAN = 4e9
"""Greatest offset, duration and delay, s: log times of 64 bits can hold two of them."""
TOPIC_NAME = re.compile(r'(/[A-Za-z_][A-Za-z0-9_]*)+')
LAST_WORDS = 10.0
"""Timeout of the acknowledgement of the last messages, s."""
LONGEST_SLEEP = 3600.0
"""Longest single sleep, s; the system limits the argument of sleep."""
Entry = tuple[int, Any, bytes]
"""Log time in nanoseconds, publisher (None: a tick of the clock), CDR."""


def add_parser(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'play',
        'Publish the messages of a bag with their types, QoS and timing.',
        'dyn-nodes bag play runs/latest/bag --clock\n'
        'dyn-nodes bag play my_bag --rate 0.5 --start-offset 12 --topics /joint_states "/ground_reactions/*"',
    )
    parser.add_argument('bag', metavar='BAG', help='a bag directory, or one .mcap or .db3 file')
    parser.add_argument(
        '-r', '--rate', type=positive(), default=1.0, metavar='FACTOR', help='speed (default: %(default)s)'
    )
    parser.add_argument(
        '--clock',
        nargs='?',
        type=positive(FASTEST_CLOCK),
        const=40.0,
        metavar='HZ',
        help="publish the bag's time on /clock (%(const)s Hz)",
    )
    parser.add_argument('--topics', nargs='+', metavar='TOPIC', help='topics to play, by name or pattern')
    parser.add_argument(
        '--exclude', nargs='+', default=[], metavar='TOPIC', help='topics to leave out, by name or pattern'
    )
    parser.add_argument('-m', '--remap', nargs='+', default=[], metavar='OLD:=NEW', help='publish under other names')
    parser.add_argument('-l', '--loop', action='store_true', help='repeat until Ctrl-C')
    for names, default, text in (
        (('--start-offset',), 0.0, 'skip the start of the bag'),
        (('--playback-duration',), None, 'stop after this bag time'),
        (('-d', '--delay'), 0.0, 'wait before playing'),
    ):
        parser.add_argument(*names, type=between(0.0, LONGEST_SPAN), default=default, metavar='SECONDS', help=text)
    parser.add_argument(
        '--wait-for-subscribers',
        nargs='?',
        type=at_least(0.0),
        const=30.0,
        metavar='SECONDS',
        help='wait until every topic has a subscriber, at most this time (%(const)s)',
    )


def play(args: argparse.Namespace) -> int:
    """Play the bag.

    Raises:
        CommandError: the bag does not exist or can't be read, or an option is wrong.
    """
    from dyn_nodes.middleware.bag_reader import BagReader

    with BagReader(args.bag) as reader, cli_node() as node:
        return _play(reader, node, args)


def _play(reader: Any, node: Any, args: argparse.Namespace) -> int:
    from dyn_nodes.middleware.bags import LATEST

    connections = _wanted(reader.connections, args)
    publishers = _publishers(node, connections, _renamed(args.remap))
    clock = _Clock(node, args.clock, args.bag) if args.clock is not None else None
    _wait(list(publishers.values()), args)
    start = min(reader.start_time + round(args.start_offset * 1e9), LATEST)
    stop = None if args.playback_duration is None else min(start + round(args.playback_duration * 1e9), LATEST)
    count = 0
    while True:
        messages = ((at, publishers[item.topic], data) for item, at, data in reader.messages(connections, start, stop))
        count += _run(clock.among(messages, start) if clock else messages, start, args.rate, clock)
        if not args.loop:
            break
    for publisher in publishers.values():
        _finish(publisher)
    print(f'{count} messages on {len(publishers)} topics')
    return 0


def _wanted(connections: Iterable[Any], args: argparse.Namespace) -> list[Any]:
    def is_wanted(topic: str) -> bool:
        if args.clock is not None and topic == CLOCK:
            return False  # this command publishes /clock
        if any(fnmatchcase(topic, absolute(pattern)) for pattern in args.exclude):
            return False
        return args.topics is None or any(fnmatchcase(topic, absolute(pattern)) for pattern in args.topics)

    chosen = [item for item in connections if is_wanted(item.topic)]
    if not chosen:
        topics = ', '.join(sorted({item.topic for item in connections})) or 'none'
        raise CommandError(f'{args.bag}: expected a topic to play, found {topics}')
    return chosen


def _renamed(rules: list[str]) -> dict[str, str]:
    names = {}
    for rule in rules:
        old, sign, new = rule.partition(':=')
        if not sign or not old or not new:
            raise CommandError(f'--remap: expected OLD:=NEW, found {rule!r}', 2)
        names[absolute(old)] = absolute(new)
    return names


def _publishers(node: Any, connections: list[Any], names: dict[str, str]) -> dict[str, Any]:
    """Return a publisher for every topic by its name in the bag."""
    by_topic: dict[str, list[Any]] = {}
    for item in connections:
        by_topic.setdefault(item.topic, []).append(item)
    result = {}
    for topic, group in by_topic.items():
        kinds = sorted({item.msgtype for item in group})
        if len(kinds) > 1:
            raise CommandError(f"topic '{topic}' has several types in the bag: {', '.join(kinds)}")
        profiles = [profile for item in group for profile in item.ext.offered_qos_profiles]
        name = names.get(topic, topic)
        if not TOPIC_NAME.fullmatch(name):
            raise CommandError(f'expected the name of a topic, found {printable(name)!r:.300}')
        result[topic] = node.create_publisher(_class(group[0]), name, recorded_qos(profiles))
    return result


def _class(connection: Any) -> Any:
    """Return the class of a recorded type, generated from its definition in the bag if it is unknown."""
    from dyn_nodes.middleware import register_message

    try:
        return register_message(connection.msgtype, connection.msgdef.data)
    except (ValueError, LookupError) as error:
        raise CommandError(f'topic {printable(connection.topic)!r}: {error}') from None


def recorded_qos(profiles: list[Any]) -> Any:
    """Return the QoS that all publishers of a recorded topic offered, with a deep queue for slow subscribers."""
    from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    reliable = all(profile.reliability.name != 'BEST_EFFORT' for profile in profiles)
    latched = bool(profiles) and all(profile.durability.name == 'TRANSIENT_LOCAL' for profile in profiles)
    depth = max([profile.depth for profile in profiles], default=0)
    return QoSProfile(
        depth=max(depth, 1) if latched else QUEUE,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class _Clock:
    """Publishes the bag's time on /clock and sets it as the time of this command's node."""

    def __init__(self, node: Any, rate: float, bag: str) -> None:
        from dyn_nodes.middleware import message

        self.node, self.period, self.bag = node, round(1e9 / rate), bag
        self.kind = message(CLOCK_TYPE)
        self.publisher = node.create_publisher(self.kind, CLOCK, 10)

    def set(self, nanoseconds: int) -> None:
        """Set the time that later messages carry, ns."""
        from dyn_nodes.middleware import drive_clock

        drive_clock(self.node, nanoseconds)

    def tick(self, nanoseconds: int) -> None:
        """Publish the time, ns, on /clock."""
        now = self.kind()
        now.clock.sec, now.clock.nanosec = divmod(nanoseconds, 10**9)
        self.publisher.publish(now)

    def among(self, messages: Iterable[Entry], start: int) -> Iterator[Entry]:
        """Yield the messages with clock ticks between them; a tick precedes messages of the same time."""
        from dyn_nodes.nodes.stamps import LATEST_STAMP

        due = start
        for entry in messages:
            if entry[0] > LATEST_STAMP:
                limit, logged = LATEST_STAMP // 10**9, entry[0] // 10**9
                text = f'expected log times up to {limit} s, the latest that /clock can hold, found {logged} s'
                raise CommandError(f'{self.bag}: --clock: {text}')
            while due <= entry[0]:
                yield due, None, b''
                due += self.period
            yield entry


def _wait(publishers: list[Any], args: argparse.Namespace) -> None:
    if args.wait_for_subscribers is not None:
        seconds = args.wait_for_subscribers
        if not wait_until(lambda: all(item.get_subscription_count() for item in publishers), seconds):
            alone = ', '.join(item.topic_name for item in publishers if not item.get_subscription_count())
            raise CommandError(f'no node subscribed within {seconds:g} s to {alone}')
    until = time.monotonic() + args.delay
    while (left := until - time.monotonic()) > 0.0:
        time.sleep(min(left, LONGEST_SLEEP))


def _run(entries: Iterable[Entry], start: int, rate: float, clock: _Clock | None) -> int:
    """Publish every entry at its time; return the number of messages."""
    started, count = time.monotonic(), 0
    for at, publisher, data in entries:
        due = started + (at - start) * 1e-9 / rate
        while (left := due - time.monotonic()) > 0.0:
            time.sleep(min(left, LONGEST_SLEEP))
        if clock is not None:
            clock.set(at)
        if publisher is None and clock is not None:
            clock.tick(at)
        else:
            publisher.publish(data)
            count += 1
    return count


def _finish(publisher: Any) -> None:
    """Wait until all subscribers have acknowledged all messages."""
    from dyn_nodes.middleware import Duration

    publisher.wait_for_all_acked(Duration(seconds=LAST_WORDS))
