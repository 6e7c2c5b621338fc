"""`dyn-nodes service`: services of a running system."""

from __future__ import annotations

import argparse
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.option_types import at_least
from dyn_nodes.commands.plain_messages import fill_message, parse_values, service_class, to_plain, to_yaml
from dyn_nodes.commands.ros_graph import (
    absolute,
    add_spin_time,
    call_service,
    cli_node,
    is_hidden,
    print_names_of_type,
    wait_for_discovery,
    wait_until,
)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers, 'service', 'Inspect and call services.', 'dyn-nodes service call /dynamics_node/reset'
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    listing = add_command(verbs, 'list', 'List services.', 'dyn-nodes service list -t')
    listing.add_argument('-t', '--show-types', action='store_true', help='show types')
    listing.add_argument('--include-hidden-services', action='store_true', help='include names that start with _')
    call = add_command(
        verbs,
        'call',
        'Call a service.',
        "dyn-nodes service call /dynamics_node/pause std_srvs/srv/SetBool '{data: true}'",
    )
    call.add_argument('service', metavar='SERVICE')
    call.add_argument('type', metavar='TYPE', nargs='?', help='its type (default: from discovery)')
    call.add_argument('values', metavar='VALUES', nargs='?', help='the request as YAML')
    call.add_argument('--timeout', type=at_least(0.0), default=10.0, metavar='SECONDS', help='default: %(default)s')
    kind = add_command(verbs, 'type', 'Print the type of a service.', 'dyn-nodes service type /dynamics_node/reset')
    kind.add_argument('service', metavar='SERVICE')
    find = add_command(verbs, 'find', 'List the services of a type.', 'dyn-nodes service find std_srvs/srv/Trigger')
    find.add_argument('type', metavar='TYPE')
    for verb in (listing, call, kind, find):
        add_spin_time(verb)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    with cli_node() as node:
        return {'list': _list, 'call': _call, 'type': _type, 'find': _find}[args.verb](node, args)


def _list(node: Any, args: argparse.Namespace) -> int:
    wait_for_discovery(node, args.spin_time)
    for name, kinds in sorted(node.get_service_names_and_types()):
        if args.include_hidden_services or not is_hidden(name):
            print(f'{name} [{", ".join(kinds)}]' if args.show_types else name)
    return 0


def _service_type(node: Any, name: str, spin_time: float) -> str:
    types = wait_until(lambda: dict(node.get_service_names_and_types()).get(name), spin_time)
    if not types:
        raise CommandError(f"service '{name}' is not available")
    return types[0]


def _type(node: Any, args: argparse.Namespace) -> int:
    print(_service_type(node, absolute(args.service), args.spin_time))
    return 0


def _find(node: Any, args: argparse.Namespace) -> int:
    return print_names_of_type(node, node.get_service_names_and_types, args.type, 'srv', args.spin_time)


def _call(node: Any, args: argparse.Namespace) -> int:
    name, kind, text = absolute(args.service), args.type, args.values
    if kind is not None and text is None and ('{' in kind or ':' in kind):
        kind, text = None, kind  # the type was left out
    values = parse_values(text)
    kind = kind or _service_type(node, name, args.spin_time)
    request = fill_message(service_class(kind).Request(), values)
    print(f'requester: making request: {request}\n')
    response = call_service(node, kind, name, request, args.timeout)
    print(f'response:\n{to_yaml(to_plain(response))}', end='')
    return 0
