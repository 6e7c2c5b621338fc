"""Functions of the commands for a running system: a node, waiting for discovery, QoS, service calls."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dyn_nodes.commands import CommandError
from dyn_nodes.commands.option_types import at_least, count
from dyn_nodes.commands.plain_messages import service_class
from dyn_nodes.common.printing import near

SPIN_TIME = 1.0
POLL_PERIOD = 0.02


def add_spin_time(parser: argparse.ArgumentParser) -> None:
    """Add the option `--spin-time`."""
    parser.add_argument(
        '--spin-time',
        type=at_least(0.0),
        default=SPIN_TIME,
        metavar='SECONDS',
        help='how long to wait for discovery (default: %(default)s)',
    )


@contextmanager
def cli_node() -> Iterator[Any]:
    """Yield a hidden node for the duration of a command.

    Raises:
        CommandError: the domain can't be joined.
    """
    from dyn_nodes.middleware import Node, SignalHandlerOptions, init, try_shutdown

    try:
        init(args=['dyn-nodes'], signal_handler_options=SignalHandlerOptions.NO)
    except (RuntimeError, ValueError) as error:
        raise CommandError(str(error)) from None
    try:
        yield Node(f'_dyn_nodes_cli_{os.getpid()}', enable_rosout=False, start_parameter_services=False)
    finally:
        try_shutdown()


def wait_until(condition: Callable[[], Any], seconds: float) -> Any:
    """Return the first true value of a condition, or its last value after the timeout, s."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() >= deadline:
            return value
        time.sleep(POLL_PERIOD)


def spin_until(node: Any, condition: Callable[[], Any], seconds: float) -> Any:
    """Return the first true value of a condition, or its last value after the timeout, s; process messages."""
    from dyn_nodes.middleware import spin_once

    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        spin_once(node, timeout_sec=POLL_PERIOD)
    return value


def wait_for_discovery(node: Any, seconds: float) -> None:
    """Wait for discovery, so that later listings are complete."""
    node.get_node_names_and_namespaces()  # starts discovery
    time.sleep(seconds)


def is_hidden(name: str) -> bool:
    """Return whether a part of a name starts with an underscore."""
    return any(part.startswith('_') for part in name.split('/'))


def absolute(name: str) -> str:
    """Return a name with a leading slash."""
    return name if name.startswith('/') else f'/{name}'


def full_name(name: str, namespace: str) -> str:
    """Return the fully qualified name of a node."""
    return f'{namespace.rstrip("/")}/{name}'


def print_names_of_type(node: Any, entries: Callable[[], Any], kind: str, folder: str, spin_time: float) -> int:
    """Print the topics or services of a type, as the verbs `find` do.

    Args:
        node: of this command.
        entries: returns pairs of name and types.
        kind: type, with or without its folder.
        folder: `msg` or `srv`.
        spin_time: time for discovery, s.
    """
    wait_for_discovery(node, spin_time)
    wanted = kind if kind.count('/') == 2 else kind.replace('/', f'/{folder}/', 1)
    for name, kinds in sorted(entries()):
        if wanted in kinds:
            print(name)
    return 0


def find_node(node: Any, name: str, spin_time: float) -> tuple[str, str]:
    """Return name and namespace of a running node.

    Raises:
        CommandError: the node was not discovered within the time.
    """
    wanted = absolute(name)

    def search() -> tuple[str, str] | None:
        for node_name, namespace in node.get_node_names_and_namespaces():
            if full_name(node_name, namespace) == wanted:
                return node_name, namespace
        return None

    result = wait_until(search, spin_time)
    if result is None:
        names = sorted({full_name(*entry) for entry in node.get_node_names_and_namespaces()})
        shown = [n for n in names if not is_hidden(n)]
        raise CommandError(f"node '{wanted}' was not found{near(wanted, shown)}; running: {', '.join(shown) or 'none'}")
    return result


def find_topic_type(node: Any, topic: str, spin_time: float) -> str:
    """Return the type of a topic.

    Raises:
        CommandError: no node publishes or subscribes to it within the time, or it has several types.
    """

    def search() -> list[str]:
        return dict(node.get_topic_names_and_types()).get(topic, [])

    kinds = wait_until(search, spin_time)
    if not kinds:
        hint = near(topic, [name for name, _ in node.get_topic_names_and_types()])
        raise CommandError(f"topic '{topic}' does not appear to be published yet{hint}; could not determine its type")
    if len(kinds) > 1:
        raise CommandError(f"topic '{topic}' has several types: {', '.join(kinds)}; give one of them")
    return kinds[0]


def matching_qos(node: Any, topic: str) -> Any:
    """Return a profile that receives from every publisher of a topic, and latched messages if all are latched."""
    from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    profiles = [info.qos_profile for info in node.get_publishers_info_by_topic(topic)]
    reliable = bool(profiles) and all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
    latched = bool(profiles) and all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def add_qos(parser: argparse.ArgumentParser) -> None:
    """Add the options `--qos-reliability`, `--qos-durability` and `--qos-depth`."""
    parser.add_argument('--qos-reliability', choices=('reliable', 'best_effort'), help='default: matching')
    parser.add_argument('--qos-durability', choices=('volatile', 'transient_local'), help='default: matching')
    parser.add_argument('--qos-depth', type=count(1), metavar='N', help='length of the queue')


def chosen_qos(profile: Any, args: argparse.Namespace) -> Any:
    """Return a profile changed by the options of `add_qos`."""
    from dyn_nodes.middleware import DurabilityPolicy, ReliabilityPolicy

    profile.depth = args.qos_depth or profile.depth
    if args.qos_reliability:
        profile.reliability = ReliabilityPolicy[args.qos_reliability.upper()]
    if args.qos_durability:
        profile.durability = DurabilityPolicy[args.qos_durability.upper()]
    return profile


def call_service(node: Any, kind: str, name: str, request: Any, timeout: float) -> Any:
    """Return the response of a service.

    Args:
        node: of this command.
        kind: service type.
        name: service name.
        request: request message.
        timeout: for the discovery of the service and, again, for its response, s.

    Raises:
        CommandError: the service was not discovered or did not respond in time.
    """
    from dyn_nodes.middleware import spin_until_future_complete

    client = node.create_client(service_class(kind), name)
    if not client.wait_for_service(timeout_sec=timeout):
        raise CommandError(f"service '{name}' is not available")
    future = client.call_async(request)
    spin_until_future_complete(node, future, timeout_sec=timeout)
    if not future.done():
        raise CommandError(f"service '{name}' did not answer within {timeout:g} s")
    return future.result()
