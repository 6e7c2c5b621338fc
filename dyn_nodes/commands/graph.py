"""What the commands that look at a running system share: a node, patience with discovery, messages as YAML."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dyn_nodes.commands import CommandError

SPIN_TIME = 1.0
POLL_PERIOD = 0.02
ARRAY_LIMIT = 128


def add_spin_time(parser: argparse.ArgumentParser) -> None:
    """Add the option `--spin-time`."""
    parser.add_argument(
        '--spin-time',
        type=float,
        default=SPIN_TIME,
        metavar='SECONDS',
        help='how long to wait for discovery (default: %(default)s)',
    )


@contextmanager
def cli_node() -> Iterator[Any]:
    """A hidden node for the time of a command.

    Raises:
        CommandError: The domain can't be joined.
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
    """The condition's first true value, or its last one after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() >= deadline:
            return value
        time.sleep(POLL_PERIOD)


def wait_for_discovery(node: Any, seconds: float) -> None:
    """Give discovery its time; what is listed afterwards is all that there is."""
    node.get_node_names_and_namespaces()  # the runtime begins to listen when it is first asked
    time.sleep(seconds)


def is_hidden(name: str) -> bool:
    """Whether a part of a name starts with an underscore."""
    return any(part.startswith('_') for part in name.split('/'))


def absolute(name: str) -> str:
    """A name with its leading slash."""
    return name if name.startswith('/') else f'/{name}'


def full_name(name: str, namespace: str) -> str:
    """Fully qualified name of a node."""
    return f'{namespace.rstrip("/")}/{name}'


def find_node(node: Any, name: str, spin_time: float) -> tuple[str, str]:
    """Name and namespace of a running node.

    Raises:
        CommandError: There is none within the time.
    """
    wanted = absolute(name)

    def search() -> tuple[str, str] | None:
        for found, namespace in node.get_node_names_and_namespaces():
            if full_name(found, namespace) == wanted:
                return found, namespace
        return None

    found = wait_until(search, spin_time)
    if found is None:
        names = sorted({full_name(*entry) for entry in node.get_node_names_and_namespaces()})
        known = ', '.join(n for n in names if not is_hidden(n)) or 'none'
        raise CommandError(f"node '{wanted}' was not found; running: {known}")
    return found


def find_topic_type(node: Any, topic: str, spin_time: float) -> str:
    """Type of a topic.

    Raises:
        CommandError: Nobody publishes or subscribes to it within the time, or under several types.
    """

    def search() -> list[str]:
        return dict(node.get_topic_names_and_types()).get(topic, [])

    kinds = wait_until(search, spin_time)
    if not kinds:
        raise CommandError(f"topic '{topic}' does not appear to be published yet; could not determine its type")
    if len(kinds) > 1:
        raise CommandError(f"topic '{topic}' has several types: {', '.join(kinds)}; give one of them")
    return kinds[0]


def message_class(kind: str) -> Any:
    """A message class by its type.

    Raises:
        CommandError: The type is not known here.
    """
    from dyn_nodes.middleware import message

    try:
        return message(kind)
    except (ValueError, LookupError, ImportError, AttributeError) as error:
        raise CommandError(f'{error}') from None


def service_class(kind: str) -> Any:
    """A service class by its type.

    Raises:
        CommandError: The type is not known here.
    """
    from dyn_nodes.middleware import service

    try:
        return service(kind)
    except (ValueError, LookupError, ImportError, AttributeError) as error:
        raise CommandError(f'{error}') from None


def matching_qos(node: Any, topic: str) -> Any:
    """A profile that hears every publisher of a topic, and latched messages where all are latched."""
    from dyn_nodes.middleware import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    profiles = [info.qos_profile for info in node.get_publishers_info_by_topic(topic)]
    reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
    latched = bool(profiles) and all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


# --- messages --------------------------------------------------------------------------------------------------------


def to_plain(value: Any, limit: int | None = None) -> Any:
    """A message or a field as dictionaries, lists and scalars.

    Args:
        value: The message or field.
        limit: Longer arrays are cut, with '...' at their end; None cuts none.
    """
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: to_plain(getattr(value, name), limit) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return list(value) if len(value) != 1 else value[0]
    if hasattr(value, 'tolist'):
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [to_plain(item, limit) for item in (value if limit is None else value[:limit])]
        return items if limit is None or len(value) <= limit else [*items, '...']
    return value


def to_yaml(value: Any) -> str:
    """Plain values as YAML, laid out as `ros2 topic echo` does."""
    import yaml

    if not isinstance(value, dict | list):
        return f'{yaml.safe_dump(value, allow_unicode=True).removesuffix("...").strip().removesuffix("...").strip()}\n'
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=False)


def to_csv(value: Any) -> str:
    """All numbers and texts of a plain value, in order, separated by commas."""
    if isinstance(value, dict):
        return ','.join(to_csv(item) for item in value.values())
    if isinstance(value, list):
        return ','.join(to_csv(item) for item in value)
    return str(value)


def select_field(value: Any, path: str) -> Any:
    """A field of a message by its path, such as `pose.position.x` or `position[2]`.

    Raises:
        CommandError: There is no such field.
    """
    for part in path.split('.'):
        match = re.fullmatch(r'(\w+)((?:\[-?\d+\])*)', part)
        names = list(value.get_fields_and_field_types()) if hasattr(value, 'get_fields_and_field_types') else []
        if match is None or match.group(1) not in names:
            known = ', '.join(names) or 'none'
            raise CommandError(f"--field {path}: no field '{part}'; there are {known}")
        value = getattr(value, match.group(1))
        for index in re.findall(r'-?\d+', match.group(2)):
            try:
                value = value[int(index)]
            except (IndexError, TypeError):
                raise CommandError(f"--field {path}: '{part}' has no element {index}") from None
    return value


def fill_message(target: Any, values: Any, path: str = '') -> Any:
    """Set a message's fields from plain values, as of YAML.

    Raises:
        CommandError: A field doesn't exist, or a value doesn't fit.
    """
    fields = target.get_fields_and_field_types()
    if values is None:
        return target
    if not isinstance(values, dict):
        raise CommandError(f'{path or "message"}: expected field: value pairs, found {values!r}')
    for name, value in values.items():
        place = f'{path}.{name}' if path else str(name)
        if name not in fields:
            known = ', '.join(fields) or 'none'
            raise CommandError(f'{place}: no such field of {type(target).__name__}; there are {known}')
        setattr(target, name, _field_value(getattr(target, name), fields[name], value, place))
    return target


def _field_value(present: Any, label: str, value: Any, place: str) -> Any:
    """A plain value as what a field takes."""
    if hasattr(present, 'get_fields_and_field_types'):
        return fill_message(present, value, place)
    if isinstance(value, list):
        match = re.fullmatch(r'(?:sequence<)?(\w+/\w+)(?:>|\[\d+\]|, \d+>)', label)
        if match is not None:
            kind = message_class(match.group(1).replace('/', '/msg/'))
            return [fill_message(kind(), item, f'{place}[{k}]') for k, item in enumerate(value)]
        return value
    if isinstance(present, bool):
        if not isinstance(value, bool):
            raise CommandError(f'{place}: expected true or false, found {value!r}')
        return value
    if isinstance(present, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(present, int) and (not isinstance(value, int) or isinstance(value, bool)):
        raise CommandError(f'{place}: expected an integer, found {value!r}')
    if isinstance(present, float):
        raise CommandError(f'{place}: expected a number, found {value!r}')
    if isinstance(present, str):
        return value if isinstance(value, str) else str(value)
    if not isinstance(value, type(present)):
        raise CommandError(f'{place}: expected {label}, found {value!r}')
    return value


def call_service(node: Any, kind: str, name: str, request: Any, timeout: float) -> Any:
    """Call a service and wait for its answer.

    Args:
        node: This command's node.
        kind: Service type.
        name: Service name.
        request: The request message.
        timeout: Seconds for the service to appear and, again, for its answer.

    Raises:
        CommandError: It does not appear or does not answer in time.
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
