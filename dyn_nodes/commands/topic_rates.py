"""`dyn-nodes topic hz`, `bw` and `delay`: print rate, bandwidth and delay of a topic every second."""

from __future__ import annotations

import argparse
import math
import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.option_types import count
from dyn_nodes.commands.plain_messages import message_class
from dyn_nodes.commands.ros_graph import absolute, add_spin_time, find_topic_type, matching_qos, spin_until

PERIOD = 1.0
CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
UNITS = ('B', 'KB', 'MB', 'GB')


def add_parsers(verbs: Subparsers) -> None:
    """Add the verbs."""
    rate = add_command(verbs, 'hz', 'Print the rate of a topic, every second.', 'dyn-nodes topic hz /joint_states')
    width = add_command(verbs, 'bw', 'Print the bandwidth of a topic, every second.', 'dyn-nodes topic bw /markers')
    delay = add_command(
        verbs,
        'delay',
        'Print the age of the stamps of a topic on arrival, every second.',
        'dyn-nodes topic delay /odom',
    )
    for verb, window in ((rate, 10000), (width, 100), (delay, 10000)):
        verb.add_argument('topic', metavar='TOPIC')
        verb.add_argument(
            '-w', '--window', type=count(2), default=window, metavar='N', help='messages to average over (%(default)s)'
        )
        verb.add_argument('--count', type=count(), metavar='N', help='stop after N lines')
        add_spin_time(verb)
    delay.add_argument(
        '-s', '--use-sim-time', nargs='?', const='/clock', metavar='TOPIC', help='compare with this clock (%(const)s)'
    )


Entry = tuple[float, Any]


def _watch(
    node: Any, args: argparse.Namespace, raw: bool, entry: Callable[[Any], Any], text: Callable[[list[Entry]], str]
) -> int:
    """Print a line about the newest messages every second.

    Args:
        node: of this command.
        args: the command line.
        raw: receive messages as CDR.
        entry: returns the value to store for a message.
        text: returns the line for two or more pairs of arrival time and stored value.
    """
    from dyn_nodes.middleware import spin_once

    topic = absolute(args.topic)
    kind = message_class(find_topic_type(node, topic, args.spin_time))
    entries: deque[Entry] = deque(maxlen=args.window)

    def on_message(message: Any) -> None:
        entries.append((time.monotonic(), entry(message)))

    node.create_subscription(kind, topic, on_message, matching_qos(node, topic), raw=raw)
    lines, printed_at, newest = 0, time.monotonic(), 0.0
    while args.count is None or lines < args.count:
        spin_once(node, timeout_sec=0.1)
        now = time.monotonic()
        if now - printed_at < PERIOD:
            continue
        printed_at = now
        if len(entries) < 2 or entries[-1][0] == newest:
            print('no new messages', flush=True)
        else:
            newest = entries[-1][0]
            print(text(list(entries)), flush=True)
        lines += 1
    return 0


def _spread(values: list[float]) -> tuple[float, float]:
    """Return mean and standard deviation."""
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def _hz(node: Any, args: argparse.Namespace) -> int:
    def text(entries: list[Entry]) -> str:
        gaps = [later[0] - earlier[0] for earlier, later in pairwise(entries)]
        mean, deviation = _spread(gaps)
        rate = 1.0 / mean if mean > 0 else math.inf
        return (
            f'average rate: {rate:.3f}\n\tmin: {min(gaps):.3f}s max: {max(gaps):.3f}s '
            f'std dev: {deviation:.5f}s window: {len(gaps)}'
        )

    return _watch(node, args, True, lambda data: None, text)


def _size(size: float) -> str:
    for unit in UNITS:
        if size < 1000.0 or unit == UNITS[-1]:
            break
        size /= 1000.0
    return f'{size:.2f} {unit}'


def _bw(node: Any, args: argparse.Namespace) -> int:
    def text(entries: list[Entry]) -> str:
        sizes = [size for _, size in entries]
        span = max(time.monotonic() - entries[0][0], 1e-9)
        return (
            f'{_size(sum(sizes) / span)}/s from {len(sizes)} messages\n'
            f'\tMessage size mean: {_size(sum(sizes) / len(sizes))} min: {_size(min(sizes))} max: {_size(max(sizes))}'
        )

    return _watch(node, args, True, len, text)


def _delay(node: Any, args: argparse.Namespace) -> int:
    clock: list[Any] = []
    if args.use_sim_time:
        name = absolute(args.use_sim_time)
        node.create_subscription(message_class(CLOCK_TYPE), name, clock.append, matching_qos(node, name))
        if not spin_until(node, lambda: bool(clock), args.spin_time):
            raise CommandError(f"no time on '{name}' within {args.spin_time:g} s")

    def seconds(stamp: Any) -> float:
        return stamp.sec + stamp.nanosec * 1e-9

    def age(message: Any) -> float:
        stamp = getattr(getattr(message, 'header', None), 'stamp', None)
        if stamp is None:
            raise CommandError(f"topic '{absolute(args.topic)}' has no header with a stamp")
        del clock[:-1]
        return (seconds(clock[-1].clock) if clock else time.time()) - seconds(stamp)

    def text(entries: list[Entry]) -> str:
        ages = [value for _, value in entries]
        mean, deviation = _spread(ages)
        return (
            f'average delay: {mean:.3f}\n\tmin: {min(ages):.3f}s max: {max(ages):.3f}s '
            f'std dev: {deviation:.5f}s window: {len(ages)}'
        )

    return _watch(node, args, False, age, text)


VERBS: dict[str, Callable[[Any, argparse.Namespace], int]] = {'hz': _hz, 'bw': _bw, 'delay': _delay}
