"""`dyn-nodes node`: nodes of a running system."""

from __future__ import annotations

import argparse

from dyn_nodes.commands import Subparsers, add_command
from dyn_nodes.commands.ros_graph import add_spin_time, cli_node, find_node, full_name, is_hidden, wait_for_discovery


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(subparsers, 'node', 'Inspect nodes.', 'dyn-nodes node list')
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    listing = add_command(verbs, 'list', 'List the running nodes.', 'dyn-nodes node list')
    listing.add_argument('-a', '--all', action='store_true', help='include hidden nodes')
    listing.add_argument('-c', '--count-nodes', action='store_true', help='print the number only')
    info = add_command(verbs, 'info', "Print a node's topics and services.", 'dyn-nodes node info /dynamics_node')
    info.add_argument('node', metavar='NODE')
    for verb in (listing, info):
        add_spin_time(verb)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    with cli_node() as node:
        if args.verb == 'list':
            wait_for_discovery(node, args.spin_time)
            names = sorted(full_name(*entry) for entry in node.get_node_names_and_namespaces())
            names = [name for name in names if args.all or not is_hidden(name)]
            for line in [str(len(names))] if args.count_nodes else names:
                print(line)
            return 0
        name, namespace = find_node(node, args.node, args.spin_time)
        sections = (
            ('Subscribers', node.get_subscriber_names_and_types_by_node),
            ('Publishers', node.get_publisher_names_and_types_by_node),
            ('Service Servers', node.get_service_names_and_types_by_node),
            ('Service Clients', node.get_client_names_and_types_by_node),
        )
        print(full_name(name, namespace))
        for label, query in sections:
            print(f'  {label}:')
            for topic, kinds in query(name, namespace):
                print(f'    {topic}: {", ".join(kinds)}')
    return 0
