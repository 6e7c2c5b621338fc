"""`dyn-nodes topic`: topics of a running system."""

from __future__ import annotations

import argparse
import time
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, topic_pub, topic_rates
from dyn_nodes.commands.option_types import at_least
from dyn_nodes.commands.plain_messages import ARRAY_LIMIT, message_class, select_field, to_csv, to_plain, to_yaml
from dyn_nodes.commands.ros_graph import (
    absolute,
    add_qos,
    add_spin_time,
    chosen_qos,
    cli_node,
    find_topic_type,
    is_hidden,
    matching_qos,
    print_names_of_type,
    wait_for_discovery,
    wait_until,
)

UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'
"""Name of a node that discovery has not resolved yet, in both runtimes."""
INFINITE = 9_000_000_000_000_000_000


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers, 'topic', 'Inspect topics, and publish.', 'dyn-nodes topic echo /joint_states --once'
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)

    listing = add_command(verbs, 'list', 'List topics.', 'dyn-nodes topic list -t')
    listing.add_argument('-t', '--show-types', action='store_true', help='show types')
    listing.add_argument('-c', '--count-topics', action='store_true', help='print the number only')
    listing.add_argument('--include-hidden-topics', action='store_true', help='include names that start with _')

    echo = add_command(
        verbs,
        'echo',
        'Print the messages of a topic as YAML.',
        'dyn-nodes topic echo /joint_states --once\ndyn-nodes topic echo /odom --field pose.pose.position.x --csv',
    )
    echo.add_argument('topic', metavar='TOPIC')
    echo.add_argument('type', metavar='TYPE', nargs='?', help='its type (default: from discovery)')
    echo.add_argument('--once', action='store_true', help='stop after one message')
    echo.add_argument('--csv', action='store_true', help='print one line of values for each message')
    echo.add_argument('--field', metavar='F', help='print one field only, such as header.stamp or position[0]')
    echo.add_argument('-f', '--full-length', action='store_true', help='do not cut long arrays')
    echo.add_argument('--timeout', type=at_least(0.0), metavar='SECONDS', help='stop after this time without messages')

    info = add_command(verbs, 'info', 'Print type and numbers of a topic.', 'dyn-nodes topic info /joint_states -v')
    info.add_argument('topic', metavar='TOPIC')
    info.add_argument('-v', '--verbose', action='store_true', help='include nodes and QoS')

    kind = add_command(verbs, 'type', 'Print the type of a topic.', 'dyn-nodes topic type /joint_states')
    kind.add_argument('topic', metavar='TOPIC')
    find = add_command(verbs, 'find', 'List the topics of a type.', 'dyn-nodes topic find sensor_msgs/msg/JointState')
    find.add_argument('type', metavar='TYPE')
    add_qos(echo)
    for verb in (listing, echo, info, kind, find):
        add_spin_time(verb)
    topic_rates.add_parsers(verbs)
    topic_pub.add_parser(verbs)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    verbs = {
        'list': _list,
        'echo': _echo,
        'info': _info,
        'type': _type,
        'find': _find,
        'pub': topic_pub.run,
        **topic_rates.VERBS,
    }
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
    wait_until(lambda: node.get_publishers_info_by_topic(topic), args.spin_time if args.type else 0.0)
    limit = None if args.full_length else ARRAY_LIMIT
    seen = []

    def on_message(message: Any) -> None:
        seen.append(time.monotonic())
        if args.once and len(seen) > 1:
            return
        value = to_plain(select_field(message, args.field) if args.field else message, limit)
        print(to_csv(value) if args.csv else to_yaml(value) + '---', flush=True)

    node.create_subscription(kind, topic, on_message, chosen_qos(matching_qos(node, topic), args))
    last = time.monotonic()
    while not (args.once and seen):
        spin_once(node, timeout_sec=0.1)
        if args.timeout is not None and time.monotonic() - (seen[-1] if seen else last) > args.timeout:
            raise CommandError(f"no message on '{topic}' for {args.timeout:g} s")
    return 0


def _info(node: Any, args: argparse.Namespace) -> int:
    topic = absolute(args.topic)
    find_topic_type(node, topic, args.spin_time)
    publishers, subscriptions = endpoints_of(node, topic, args.spin_time)
    kinds = dict(node.get_topic_names_and_types()).get(topic, [])
    print(f'Type: {", ".join(kinds)}\n')
    for label, endpoints in (('Publisher', publishers), ('Subscription', subscriptions)):
        print(f'{label} count: {len(endpoints)}')
        if args.verbose:
            for endpoint in endpoints:
                _describe(endpoint)
            print()
    return 0


def endpoints_of(node: Any, topic: str, spin_time: float) -> tuple[list[Any], list[Any]]:
    """Return the publishers and subscriptions of a topic, when discovery has resolved the names of their nodes.

    Args:
        node: of the command.
        topic: its full name.
        spin_time: timeout of the names, s.
    """
    result: tuple[list[Any], list[Any]] = ([], [])

    def complete() -> bool:
        nonlocal result
        result = node.get_publishers_info_by_topic(topic), node.get_subscriptions_info_by_topic(topic)
        return all(end.node_name != UNKNOWN_NODE for ends in result for end in ends)

    wait_until(complete, spin_time)
    return result


def _describe(endpoint: Any) -> None:
    qos = endpoint.qos_profile

    def duration(value: Any) -> str:
        return f'{value.nanoseconds} nanoseconds' if 0 < value.nanoseconds < INFINITE else 'Infinite'

    gid = '.'.join(f'{byte:02x}' for byte in endpoint.endpoint_gid)
    rows = {
        'Node name': endpoint.node_name,
        'Node namespace': endpoint.node_namespace,
        'Topic type': endpoint.topic_type,
        'Topic type hash': getattr(endpoint, 'topic_type_hash', 'unknown'),
        'Endpoint type': endpoint.endpoint_type.name,
        'GID': gid,
        'Reliability': qos.reliability.name,
        'Durability': qos.durability.name,
        'Lifespan': duration(qos.lifespan),
        'Deadline': duration(qos.deadline),
        'Liveliness': qos.liveliness.name,
    }
    print()
    for label, value in rows.items():
        print(f'  {label}: {value}')


def _type(node: Any, args: argparse.Namespace) -> int:
    print(find_topic_type(node, absolute(args.topic), args.spin_time))
    return 0


def _find(node: Any, args: argparse.Namespace) -> int:
    return print_names_of_type(node, node.get_topic_names_and_types, args.type, 'msg', args.spin_time)
