"""`dyn-nodes param`: parameters of running nodes."""

from __future__ import annotations

import argparse
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command
from dyn_nodes.commands.plain_messages import message_class, service_class, to_plain, to_yaml
from dyn_nodes.commands.ros_graph import (
    add_spin_time,
    call_service,
    cli_node,
    find_node,
    full_name,
    is_hidden,
    wait_for_discovery,
)

TIMEOUT = 5.0
TYPE_LABELS = (
    'Not set', 'Boolean', 'Integer', 'Double', 'String', 'Byte array', 'Boolean array', 'Integer array',
    'Double array', 'String array',
)  # fmt: skip
TYPE_NAMES = (
    'not set', 'boolean', 'integer', 'double', 'string', 'byte array', 'boolean array', 'integer array',
    'double array', 'string array',
)  # fmt: skip
FIELDS = (
    '', 'bool_value', 'integer_value', 'double_value', 'string_value', 'byte_array_value', 'bool_array_value',
    'integer_array_value', 'double_array_value', 'string_array_value',
)  # fmt: skip


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'param',
        'Inspect and change parameters of nodes.',
        'dyn-nodes param set /dynamics_node payload 5100.0',
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    made = {
        'list': add_command(verbs, 'list', 'List parameters, of one node or of all.', 'dyn-nodes param list'),
        'get': add_command(verbs, 'get', 'Print a value.', 'dyn-nodes param get /dynamics_node use_sim_time'),
        'set': add_command(verbs, 'set', 'Set a value (YAML).', 'dyn-nodes param set /dynamics_node payload 5100.0'),
        'describe': add_command(
            verbs, 'describe', 'Print type, description and range.', 'dyn-nodes param describe /dynamics_node payload'
        ),
        'dump': add_command(
            verbs, 'dump', 'Print all values as a parameter file.', 'dyn-nodes param dump /dynamics_node > saved.yaml'
        ),
        'load': add_command(
            verbs, 'load', 'Set the values of a parameter file.', 'dyn-nodes param load /dynamics_node saved.yaml'
        ),
    }
    for verb, sub in made.items():
        sub.add_argument('node', metavar='NODE', nargs='?' if verb == 'list' else None)
        if verb in ('get', 'set', 'describe'):
            sub.add_argument('name', metavar='NAME', nargs='+' if verb == 'describe' else None)
        if verb == 'get':
            sub.add_argument('--hide-type', action='store_true', help='print the value only')
        if verb == 'set':
            sub.add_argument('value', metavar='VALUE')
        if verb == 'load':
            sub.add_argument('file', metavar='FILE', help='output of `param dump`; read-only parameters are left out')
        add_spin_time(sub)


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    verbs = {'list': _list, 'get': _get, 'set': _set, 'describe': _describe, 'dump': _dump, 'load': _load}
    with cli_node() as node:
        return verbs[args.verb](node, args)


def _call(node: Any, target: str, service: str, **fields: Any) -> Any:
    kind = f'rcl_interfaces/srv/{service}'
    request = service_class(kind).Request()
    for name, value in fields.items():
        setattr(request, name, value)
    return call_service(node, kind, f'{target}/{_SERVICE_NAMES[service]}', request, TIMEOUT)


_SERVICE_NAMES = {
    'ListParameters': 'list_parameters',
    'GetParameters': 'get_parameters',
    'SetParameters': 'set_parameters',
    'DescribeParameters': 'describe_parameters',
}


def _target(node: Any, args: argparse.Namespace) -> str:
    return full_name(*find_node(node, args.node, args.spin_time))


def _names(node: Any, target: str) -> list[str]:
    return sorted(_call(node, target, 'ListParameters').result.names)


def _value(value: Any) -> Any:
    """Return the Python value of a ParameterValue."""
    return to_plain(getattr(value, FIELDS[value.type])) if value.type else None


def _values(node: Any, target: str, names: list[str]) -> list[Any]:
    values = list(_call(node, target, 'GetParameters', names=names).values)
    if len(values) != len(names):  # rclpy's answer when one is not declared
        raise CommandError(f"node '{target}' has no such parameter: {', '.join(names)}")
    return values


def _list(node: Any, args: argparse.Namespace) -> int:
    if args.node is not None:
        for name in _names(node, _target(node, args)):
            print(f'  {name}')
        return 0
    wait_for_discovery(node, args.spin_time)
    entries = sorted(full_name(*entry) for entry in node.get_node_names_and_namespaces())
    services = {name for name, _ in node.get_service_names_and_types()}
    for target in entries:
        if is_hidden(target) or f'{target}/list_parameters' not in services:
            continue
        print(f'{target}:')
        for name in _names(node, target):
            print(f'  {name}')
    return 0


def _get(node: Any, args: argparse.Namespace) -> int:
    target = _target(node, args)
    (value,) = _values(node, target, [args.name])
    if not value.type:
        if args.name not in _names(node, target):
            raise CommandError(f"node '{target}' has no parameter '{args.name}'")
        print('Parameter not set.')
        return 0
    text = to_yaml(_value(value)).strip() if value.type >= 5 else str(_value(value))
    if args.hide_type:
        print(text)
    elif value.type >= 5:
        print(f'{TYPE_LABELS[value.type]} values are:\n{text}')
    else:
        print(f'{TYPE_LABELS[value.type]} value is: {text}')
    return 0


def _set(node: Any, args: argparse.Namespace) -> int:
    from dyn_nodes.middleware import get_parameter_value

    target = _target(node, args)
    parameter = message_class('rcl_interfaces/msg/Parameter')(name=args.name)
    parameter.value = get_parameter_value(args.value)
    (result,) = _call(node, target, 'SetParameters', parameters=[parameter]).results
    if not result.successful:
        raise CommandError(f"setting parameter '{args.name}' of '{target}' failed: {result.reason}")
    print('Set parameter successful' + (f': {result.reason}' if result.reason else ''))
    return 0


def _describe(node: Any, args: argparse.Namespace) -> int:
    target = _target(node, args)
    names = _names(node, target)
    missing = [name for name in args.name if name not in names]
    if missing:
        raise CommandError(f"node '{target}' has no parameter '{missing[0]}'; it has {', '.join(names)}")
    for item in _call(node, target, 'DescribeParameters', names=args.name).descriptors:
        print(f'Parameter name: {item.name}\n  Type: {TYPE_NAMES[item.type]}')
        if item.description:
            print(f'  Description: {item.description}')
        print('  Constraints:')
        if item.read_only:
            print('    Read only: true')
        for bounds in (*item.floating_point_range, *item.integer_range):
            print(f'    Min value: {bounds.from_value}\n    Max value: {bounds.to_value}\n    Step: {bounds.step}')
        if item.additional_constraints:
            print(f'    Additional constraints: {item.additional_constraints}')
    return 0


def _dump(node: Any, args: argparse.Namespace) -> int:
    target = _target(node, args)
    names = _names(node, target)
    parameters: dict[str, Any] = {}
    for name, value in zip(names, _values(node, target, names)):
        if not value.type:
            continue
        branch = parameters
        *groups, last = name.split('.')
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = _value(value)
    print(to_yaml({target: {'ros__parameters': parameters}}), end='')
    return 0


def _load(node: Any, args: argparse.Namespace) -> int:
    """Set the parameters of a file; print parameters that are read-only or rejected by the node."""
    target = _target(node, args)
    wanted = _values_of_file(args.file, target)
    names = _names(node, target)
    missing = [name for name in wanted if name not in names]
    if missing:
        raise CommandError(f"{args.file}: node '{target}' has no parameter '{missing[0]}'; it has {', '.join(names)}")
    descriptors = _call(node, target, 'DescribeParameters', names=list(wanted)).descriptors
    fixed = {item.name for item in descriptors if item.read_only}
    present = dict(zip(wanted, _values(node, target, list(wanted))))
    rejected = 0
    for name, value in wanted.items():
        if name in fixed:
            if _value(present[name]) != value:
                print(f'{name}: read-only, remains {_value(present[name])!r}')
            continue
        (result,) = _call(node, target, 'SetParameters', parameters=[_parameter(name, value)]).results
        print(f'{name}: set to {value!r}' if result.successful else f'{name}: rejected: {result.reason}')
        rejected += not result.successful
    if rejected:
        raise CommandError(f"{rejected} of {len(wanted)} parameters of '{target}' were rejected")
    return 0


def _parameter(name: str, value: Any) -> Any:
    from dyn_nodes.middleware import Parameter

    return Parameter(name, value=value).to_parameter_msg()


def _values_of_file(path: str, target: str) -> dict[str, Any]:
    """Return the values for a node in a parameter file by name.

    Raises:
        CommandError: the file does not exist or has no values for the node.
    """
    from dyn_nodes.middleware.parameter_files import RCLInvalidROSArgsError, load_parameter_file, matches_node

    try:
        entries = load_parameter_file(path)
    except RCLInvalidROSArgsError as error:
        raise CommandError(str(error)) from None
    values = {name: value for pattern, name, value in entries if matches_node(pattern, target)}
    if not values:
        raise CommandError(f"{path}: expected parameters of node '{target}', found none")
    return values
