"""`dyn-nodes service`: services of a running system."""

from __future__ import annotations

import argparse
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.graph import (
    absolute,
    add_spin_time,
    call_service,
    cli_node,
    fill_message,
    is_hidden,
    service_class,
    to_plain,
    to_yaml,
    wait_for_discovery,
    wait_until,
)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers, 'service', 'Look at and call services.', 'dyn-nodes service call /dynamics_node/reset'
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    listing = add_command(verbs, 'list', 'List services.', 'dyn-nodes service list -t')
    listing.add_argument('-t', '--show-types', action='store_true', help='show their types too')
    listing.add_argument('--include-hidden-services', action='store_true', help='with names that start with _')
    call = add_command(
        verbs,
        'call',
        'Call a service.',
        "dyn-nodes service call /dynamics_node/pause std_srvs/srv/SetBool '{data: true}'",
    )
    call.add_argument('service', metavar='SERVICE')
    call.add_argument('type', metavar='TYPE', nargs='?', help='its type; found by discovery when left out')
    call.add_argument('values', metavar='VALUES', nargs='?', help='the request as YAML')
    call.add_argument('--timeout', type=float, default=10.0, metavar='SECONDS', help='default: %(default)s')
    for verb in (listing, call):
        add_spin_time(verb)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    with cli_node() as node:
        return _list(node, args) if args.verb == 'list' else _call(node, args)


def _list(node: Any, args: argparse.Namespace) -> int:
    wait_for_discovery(node, args.spin_time)
    for name, kinds in sorted(node.get_service_names_and_types()):
        if args.include_hidden_services or not is_hidden(name):
            print(f'{name} [{", ".join(kinds)}]' if args.show_types else name)
    return 0


def _call(node: Any, args: argparse.Namespace) -> int:
    import yaml

    name, kind, text = absolute(args.service), args.type, args.values
    if kind is not None and text is None and ('{' in kind or ':' in kind):
        kind, text = None, kind  # the type was left out
    try:
        values = yaml.safe_load(text) if text else None
    except yaml.YAMLError as error:
        raise CommandError(f'VALUES: expected YAML, found {text!r} ({str(error).splitlines()[0]})', 2) from None
    if kind is None:
        found = wait_until(lambda: dict(node.get_service_names_and_types()).get(name), args.spin_time)
        if not found:
            raise CommandError(f"service '{name}' is not available")
        kind = found[0]
    request = fill_message(service_class(kind).Request(), values)
    print(f'requester: making request: {request}\n')
    response = call_service(node, kind, name, request, args.timeout)
    print(f'response:\n{to_yaml(to_plain(response))}', end='')
    return 0
