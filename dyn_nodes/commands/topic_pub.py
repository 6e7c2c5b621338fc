"""`dyn-nodes topic pub`: publishes messages from YAML."""

from __future__ import annotations

import argparse
import time
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.option_types import at_least, count, positive
from dyn_nodes.commands.plain_messages import fill_message, message_class, parse_values
from dyn_nodes.commands.ros_graph import absolute, add_qos, add_spin_time, chosen_qos, find_topic_type, wait_until

WAIT = 10.0
"""Timeout of matching subscriptions, s."""
LAST_WORD = 0.1
"""Default time before the exit after the last message, s."""


def add_parser(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'pub',
        "Publish messages; 'now' is the present time, 'auto' a header with it.",
        "dyn-nodes topic pub --once /payload std_msgs/msg/Float64 '{data: 2500.0}'\n"
        "dyn-nodes topic pub -r 50 /valve_commands '{data: [0.0, 1.5, 0.0]}'",
    )
    parser.add_argument('topic', metavar='TOPIC')
    parser.add_argument('type', metavar='TYPE', nargs='?', help='its type (default: from discovery)')
    parser.add_argument('values', metavar='VALUES', nargs='?', help='fields as YAML; omitted fields are zero')
    parser.add_argument('-r', '--rate', type=positive(), default=1.0, metavar='HZ', help='default: %(default)s')
    until = parser.add_mutually_exclusive_group()
    until.add_argument('-1', '--once', dest='times', action='store_const', const=1, help='stop after one message')
    until.add_argument('-t', '--times', type=count(), metavar='N', help='stop after N messages')
    parser.add_argument('-p', '--print', type=count(), default=1, metavar='N', help='print every N-th message; 0: none')
    parser.add_argument(
        '-w',
        '--wait-matching-subscriptions',
        type=count(),
        metavar='N',
        help='wait for N subscriptions (--once, --times: 1; else 0)',
    )
    parser.add_argument(
        '--keep-alive',
        type=at_least(0.0),
        default=LAST_WORD,
        metavar='SECONDS',
        help='time before the exit after the last message',
    )
    add_qos(parser)
    add_spin_time(parser)


def run(node: Any, args: argparse.Namespace) -> int:
    """Publish messages.

    Raises:
        CommandError: values of wrong types, or too few subscriptions.
    """
    from dyn_nodes.middleware import QoSProfile

    topic, kind, text = absolute(args.topic), args.type, args.values
    if kind is not None and text is None and ('{' in kind or ':' in kind):
        kind, text = None, kind  # the type was left out
    values = parse_values(text)
    kind = message_class(kind or find_topic_type(node, topic, args.spin_time))
    fill_message(kind(), values)  # a mistake is reported before anything is published
    publisher = node.create_publisher(kind, topic, chosen_qos(QoSProfile(depth=10), args))
    wanted = args.wait_matching_subscriptions
    wanted = (1 if args.times else 0) if wanted is None else wanted
    if not wait_until(lambda: publisher.get_subscription_count() >= wanted, WAIT):
        subscriptions = publisher.get_subscription_count()
        raise CommandError(
            f"'{topic}': expected {wanted} subscriptions (-w 0: none), found {subscriptions} within {WAIT:g} s"
        )
    _publish(publisher, kind, values, args)
    publisher.wait_for_all_acked(_seconds(2.0))
    time.sleep(args.keep_alive)
    return 0


def _seconds(value: float) -> Any:
    from dyn_nodes.middleware import Duration

    return Duration(seconds=value)


def _publish(publisher: Any, kind: Any, values: Any, args: argparse.Namespace) -> None:
    started, count = time.monotonic(), 0
    while args.times is None or count < args.times:
        due = started + count / args.rate
        if due > time.monotonic():
            time.sleep(due - time.monotonic())
        message = fill_message(kind(), values)
        try:
            publisher.publish(message)
        except (TypeError, ValueError) as error:
            raise CommandError(f'VALUES: {error}') from None
        count += 1
        if args.print and (count - 1) % args.print == 0:
            print(f'publishing #{count}: {message}\n', flush=True)
