"""ROS 2's rules for names: validation, expansion, remapping."""

from __future__ import annotations

import re

from .exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    NameValidationException,
)

#: Topic on which the participants of ROS 2 announce their nodes with their endpoints.
DISCOVERY_TOPIC = 'ros_discovery_info'
DISCOVERY_TYPE = 'rmw_dds_common/msg/ParticipantEntitiesInfo'

_SUBSTITUTIONS = ('node', 'ns', 'namespace')


def _first_bad(name: str, allowed: str) -> int:
    match = re.search(f'[^{allowed}]', name)
    return match.start() if match else -1


def validate_node_name(name: str) -> str:
    """Return `name`, or raise InvalidNodeNameException: letters, digits, underscores, no digit first."""
    if not name:
        raise InvalidNodeNameException('node name', name, 'node name must not be empty', 0)
    bad = _first_bad(name, 'A-Za-z0-9_')
    if bad >= 0:
        reason = "node name must not contain characters other than alphanumerics or '_'"
        raise InvalidNodeNameException('node name', name, reason, bad)
    if name[0].isdigit():
        raise InvalidNodeNameException('node name', name, 'node name must not start with a number', 0)
    return name


def _check_tokens(name: str, kind: str, error: type[NameValidationException]) -> None:
    position = 0
    for token in name.split('/'):
        if token and token[0].isdigit():
            raise error(kind, name, f'{kind} token must not start with a number', position)
        position += len(token) + 1
    if '//' in name:
        raise error(kind, name, f'{kind} must not contain repeated slashes', name.index('//'))
    if len(name) > 1 and name.endswith('/'):
        raise error(kind, name, f'{kind} must not end with a forward slash', len(name) - 1)


def validate_namespace(namespace: str) -> str:
    """Return `namespace`, absolute and without a trailing slash, or raise InvalidNamespaceException."""
    full = namespace if namespace.startswith('/') else f'/{namespace}'
    if len(full) > 1:
        full = full.rstrip('/') if not full.endswith('//') else full
    bad = _first_bad(full, 'A-Za-z0-9_/')
    if bad >= 0:
        reason = "namespace must not contain characters other than alphanumerics, '_', or '/'"
        raise InvalidNamespaceException('namespace', full, reason, bad)
    _check_tokens(full, 'namespace', InvalidNamespaceException)
    return full


def expand_name(name: str, node: str, namespace: str, *, is_service: bool = False) -> str:
    """Return the fully qualified form of a topic or service name.

    Args:
        name: relative (`joint_states`), absolute (`/clock`) or private (`~/reset`) name, optionally with `{node}` and
            `{ns}`.
        node: node name.
        namespace: absolute namespace of the node.
        is_service: raise InvalidServiceNameException instead of InvalidTopicNameException.

    Raises:
        InvalidTopicNameException, InvalidServiceNameException: an invalid name.
    """
    kind = 'service name' if is_service else 'topic name'
    error = InvalidServiceNameException if is_service else InvalidTopicNameException
    if not name:
        raise error(kind, name, f'{kind} must not be empty', 0)
    for match in re.finditer(r'\{([^{}]*)\}', name):
        if match.group(1) not in _SUBSTITUTIONS:
            raise error(kind, name, f'unknown substitution {match.group(0)}', match.start())
    base = namespace.rstrip('/')
    full = name.replace('{node}', node).replace('{namespace}', namespace).replace('{ns}', namespace)
    if full.startswith('~'):
        if len(full) > 1 and full[1] != '/':
            raise error(kind, name, f"{kind} has a '~' that is not followed by '/'", 1)
        full = f'{base}/{node}{full[1:]}'
    elif not full.startswith('/'):
        full = f'{base}/{full}'
    bad = _first_bad(full, 'A-Za-z0-9_/')
    if bad >= 0:
        wrong = full[bad]
        position = max(name.find(wrong), 0)
        raise error(kind, name, f"{kind} must not contain characters other than alphanumerics, '_', '~', '/'", position)
    _check_tokens(full, kind, error)
    if full == '/':
        raise error(kind, name, f'{kind} must have at least one token', 0)
    return full


def split_full_name(full: str) -> tuple[str, str]:
    """Return `/ns/node` split into (`node`, `/ns`)."""
    namespace, _, node = full.rpartition('/')
    return node, namespace or '/'


def full_node_name(node: str, namespace: str) -> str:
    """Return the fully qualified node name."""
    return f'{namespace.rstrip("/")}/{node}'


def is_parameter_name(name: str) -> bool:
    """Return whether rclpy accepts `name` as a parameter name."""
    return bool(name) and all(name.split('.')) and ' ' not in name


def is_hidden(name: str) -> bool:
    """Return whether a topic or service name is hidden: a token that starts with an underscore."""
    return any(token.startswith('_') for token in name.split('/'))
