"""`dyn-nodes topic`: topics of a running system."""

from __future__ import annotations

import argparse
import math
import time
from collections import deque
from itertools import pairwise
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.graph import (
    ARRAY_LIMIT,
    absolute,
    add_spin_time,
    cli_node,
    find_topic_type,
    is_hidden,
    matching_qos,
    message_class,
    select_field,
    to_csv,
    to_plain,
    to_yaml,
    wait_for_discovery,
)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(subparsers, 'topic', 'Look at topics.', 'dyn-nodes topic echo /joint_states --once')
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)

    listing = add_command(verbs, 'list', 'List topics.', 'dyn-nodes topic list -t')
    listing.add_argument('-t', '--show-types', action='store_true', help='show their types too')
    listing.add_argument('-c', '--count-topics', action='store_true', help='print their number only')
    listing.add_argument('--include-hidden-topics', action='store_true', help='with names that start with _')

    echo = add_command(
        verbs,
        'echo',
        'Print the messages of a topic as YAML.',
        'dyn-nodes topic echo /joint_states --once\ndyn-nodes topic echo /odom --field pose.pose.position.x --csv',
    )
    echo.add_argument('topic', metavar='TOPIC')
    echo.add_argument('type', metavar='TYPE', nargs='?', help='its type, when nobody publishes it yet')
    echo.add_argument('--once', action='store_true', help='stop after one message')
    echo.add_argument('--csv', action='store_true', help='one line of values for each message')
    echo.add_argument('--field', metavar='F', help='one field only, such as header.stamp or position[0]')
    echo.add_argument('-f', '--full-length', action='store_true', help='do not cut long arrays')
    echo.add_argument('--timeout', type=float, metavar='SECONDS', help='give up when no message comes for so long')

    rate = add_command(verbs, 'hz', 'Print the rate of a topic, every second.', 'dyn-nodes topic hz /joint_states')
    rate.add_argument('topic', metavar='TOPIC')
    rate.add_argument('--window', '-w', type=int, default=10000, metavar='N', help='messages to average over')
    rate.add_argument('--count', type=int, metavar='N', help='stop after so many lines')

    info = add_command(verbs, 'info', 'Print type and numbers of a topic.', 'dyn-nodes topic info /joint_states -v')
    info.add_argument('topic', metavar='TOPIC')
    info.add_argument('-v', '--verbose', action='store_true', help='also nodes and QoS')
    for verb in (listing, echo, rate, info):
        add_spin_time(verb)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    verbs = {'list': _list, 'echo': _echo, 'hz': _hz, 'info': _info}
    with cli_node() as node:
        return verbs[args.verb](node, args)


def _list(node: Any, args: argparse.Namespace) -> int:
    wait_for_discovery(node, args.spin_time)
    topics = [
        (name, kinds)
        for name, kinds in node.get_topic_names_and_types()
        if args.include_hidden_topics or not is_hidden(name)
    ]
    if args.count_topics:
        print(len(topics))
        return 0
    for name, kinds in sorted(topics):
        print(f'{name} [{", ".join(kinds)}]' if args.show_types else name)
    return 0


def _echo(node: Any, args: argparse.Namespace) -> int:
    from dyn_nodes.middleware import spin_once

    topic = absolute(args.topic)
    kind = message_class(args.type or find_topic_type(node, topic, args.spin_time))
    limit = None if args.full_length else ARRAY_LIMIT
    seen = []

    def on_message(message: Any) -> None:
        seen.append(time.monotonic())
        if args.once and len(seen) > 1:
            return
        value = to_plain(select_field(message, args.field) if args.field else message, limit)
        print(to_csv(value) if args.csv else to_yaml(value) + '---', flush=True)

    node.create_subscription(kind, topic, on_message, matching_qos(node, topic))
    last = time.monotonic()
    while not (args.once and seen):
        spin_once(node, timeout_sec=0.1)
        if args.timeout is not None and time.monotonic() - (seen[-1] if seen else last) > args.timeout:
            raise CommandError(f"no message on '{topic}' for {args.timeout:g} s")
    return 0


def _hz(node: Any, args: argparse.Namespace) -> int:
    from dyn_nodes.middleware import spin_once

    if args.window < 2:
        raise CommandError(f'--window: expected at least 2, found {args.window}', 2)
    topic = absolute(args.topic)
    kind = message_class(find_topic_type(node, topic, args.spin_time))
    times: deque[float] = deque(maxlen=args.window)
    node.create_subscription(
        kind, topic, lambda data: times.append(time.monotonic()), matching_qos(node, topic), raw=True
    )
    lines, printed_at, printed = 0, time.monotonic(), 0.0
    while args.count is None or lines < args.count:
        spin_once(node, timeout_sec=0.1)
        now = time.monotonic()
        if now - printed_at < 1.0:
            continue
        printed_at = now
        if len(times) < 2 or times[-1] == printed:
            print('no new messages', flush=True)
        else:
            printed = times[-1]
            print(_statistics(list(times)), flush=True)
        lines += 1
    return 0


def _statistics(times: list[float]) -> str:
    gaps = [later - earlier for earlier, later in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    rate = 1.0 / mean if mean > 0 else math.inf
    return (
        f'average rate: {rate:.3f}\n\tmin: {min(gaps):.3f}s max: {max(gaps):.3f}s '
        f'std dev: {deviation:.5f}s window: {len(gaps)}'
    )


def _info(node: Any, args: argparse.Namespace) -> int:
    topic = absolute(args.topic)
    find_topic_type(node, topic, args.spin_time)
    kinds = dict(node.get_topic_names_and_types()).get(topic, [])
    publishers = node.get_publishers_info_by_topic(topic)
    subscriptions = node.get_subscriptions_info_by_topic(topic)
    print(f'Type: {", ".join(kinds)}\n')
    for label, endpoints in (('Publisher', publishers), ('Subscription', subscriptions)):
        print(f'{label} count: {len(endpoints)}')
        if args.verbose:
            for endpoint in endpoints:
                qos = endpoint.qos_profile
                print(
                    f'\n  Node name: {endpoint.node_name}\n  Node namespace: {endpoint.node_namespace}\n'
                    f'  Topic type: {endpoint.topic_type}\n  Topic type hash: {endpoint.topic_type_hash}\n'
                    f'  Reliability: {qos.reliability.name}\n  Durability: {qos.durability.name}'
                )
            print()
    return 0
