"""Discovered ROS graph: nodes, topics, services and their endpoints."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.qos import Policy
from cyclonedds.sub import DataReader

from . import dds
from .codec import DecodeError
from .names import DISCOVERY_TOPIC, DISCOVERY_TYPE, full_node_name, split_full_name
from .qos import DurabilityPolicy, HistoryPolicy, QoSProfile, from_dds, to_dds
from .types import codec, type_hash

_ALIVE = SampleState.Any | ViewState.Any | InstanceState.Alive
_GONE = SampleState.Any | ViewState.Any | InstanceState.NotAliveDisposed | InstanceState.NotAliveNoWriters
_CHANGED = SampleState.NotRead | ViewState.Any | InstanceState.Any
_MANY = 100_000
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'


class TopicEndpointTypeEnum(IntEnum):
    """Kind of an endpoint."""

    INVALID = 0
    PUBLISHER = 1
    SUBSCRIPTION = 2


@dataclass
class TopicEndpointInfo:
    """A discovered publisher or subscription of a topic."""

    node_name: str
    node_namespace: str
    topic_type: str
    topic_type_hash: str
    endpoint_type: TopicEndpointTypeEnum
    endpoint_gid: list[int]
    qos_profile: QoSProfile


@dataclass
class _Endpoint:
    gid: bytes
    topic: str
    type_name: str
    qos: Any

    @cached_property
    def ros_topic(self) -> tuple[str, str] | None:
        """ROS topic name and type; None if the endpoint does not belong to a topic."""
        kind = dds.ros_type_name(self.type_name)
        return (self.topic[2:], kind) if self.topic.startswith('rt/') and kind else None


@dataclass
class _NodeEntry:
    name: str
    namespace: str
    readers: set[bytes] = field(default_factory=set)
    writers: set[bytes] = field(default_factory=set)


class Graph:
    """Reads discovery on demand."""

    def __init__(self, context: Any) -> None:
        participant = context.participant
        self._readers = {
            'participants': BuiltinDataReader(participant, BuiltinTopicDcpsParticipant),
            'writers': BuiltinDataReader(participant, BuiltinTopicDcpsPublication),
            'readers': BuiltinDataReader(participant, BuiltinTopicDcpsSubscription),
        }
        self._alive_ones, self._gone_ones, self._changes = (
            {name: ReadCondition(reader, mask) for name, reader in self._readers.items()}
            for mask in (_ALIVE, _GONE, _CHANGED)
        )
        self._samples: dict[str, list[Any]] = {}
        self._endpoints_of: dict[str, list[_Endpoint]] = {}
        profile = QoSProfile(history=HistoryPolicy.KEEP_ALL, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        topic = context.topic(DISCOVERY_TOPIC, DISCOVERY_TYPE)
        user_data = f'typehash={type_hash(DISCOVERY_TYPE)};'.encode()
        self._discovery = DataReader(participant, topic, to_dds(profile, user_data, writer=False))
        self._codec = codec(DISCOVERY_TYPE)
        self._nodes: dict[bytes, list[_NodeEntry]] = {}

    def close(self) -> None:
        """Stop reading discovery."""
        conditions = (*self._alive_ones.values(), *self._gone_ones.values(), *self._changes.values())
        for entity in (*conditions, *self._readers.values(), self._discovery):
            dds.delete_entity(entity)

    def _alive(self, kind: str) -> list[Any]:
        """Return the current samples of a kind; read only after a change, because each QoS takes about 0.2 ms."""
        if kind not in self._samples or self._changes[kind].triggered:
            dds.take_discovered(self._readers[kind], self._gone_ones[kind])  # they would count as changes
            self._samples[kind] = dds.read_discovered(self._readers[kind], self._alive_ones[kind])
            self._endpoints_of.pop(kind, None)
        return self._samples[kind]

    def _endpoints(self, kind: str) -> list[_Endpoint]:
        alive = self._alive(kind)  # clears the endpoints after a change
        endpoints = self._endpoints_of.get(kind)
        if endpoints is None:
            endpoints = [
                _Endpoint(item.key.bytes, item.topic_name, item.type_name, item.qos)
                for item in alive
                if isinstance(item.key, uuid.UUID)
            ]
            self._endpoints_of[kind] = endpoints
        return endpoints

    def publishers(self) -> list[_Endpoint]:
        """Return all writers."""
        return self._endpoints('writers')

    def subscriptions(self) -> list[_Endpoint]:
        """Return all readers."""
        return self._endpoints('readers')

    def nodes(self) -> list[_NodeEntry]:
        """Return all nodes of live participants."""
        for sample in dds.take(self._discovery, _MANY):
            try:
                info = self._codec.decode(sample.cdr)
            except DecodeError:
                continue
            self._nodes[bytes(info.gid.data)] = [
                _NodeEntry(
                    entry.node_name,
                    entry.node_namespace,
                    {bytes(gid.data) for gid in entry.reader_gid_seq},
                    {bytes(gid.data) for gid in entry.writer_gid_seq},
                )
                for entry in info.node_entities_info_seq
            ]
        alive = {item.key.bytes for item in self._alive('participants')}
        self._nodes = {gid: entries for gid, entries in self._nodes.items() if gid in alive}
        return [entry for entries in self._nodes.values() for entry in entries]


def _type_hash(qos: Any) -> str:
    data = qos[Policy.Userdata].data if Policy.Userdata in qos else b''
    for part in data.split(b';'):
        if part.startswith(b'typehash='):
            return part[9:].decode(errors='replace')
    return 'INVALID'


def _service(endpoint: _Endpoint, prefix: str = 'rq', suffix: str = 'Request') -> tuple[str, str] | None:
    """Return ROS service name and type of an endpoint; None if it does not belong to a service."""
    kind = dds.ros_type_name(endpoint.type_name)
    if not endpoint.topic.startswith(f'{prefix}/') or not endpoint.topic.endswith(suffix) or not kind:
        return None
    half = '_Request' if suffix == 'Request' else '_Response'
    return endpoint.topic[2 : -len(suffix)], kind.removesuffix(half)


def _collect(pairs: Any) -> list[tuple[str, list[str]]]:
    types: dict[str, set[str]] = {}
    for pair in pairs:
        if pair is not None:
            types.setdefault(pair[0], set()).add(pair[1])
    return [(name, sorted(kinds)) for name, kinds in sorted(types.items())]


class GraphNode:
    """Methods of Node for the graph. Discovery takes time: repeat a call if something is missing."""

    _context: Any

    def get_fully_qualified_name(self) -> str:
        """Return namespace and name."""
        raise NotImplementedError

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """Return the fully qualified form of a topic name."""
        raise NotImplementedError

    def get_topic_names_and_types(self, no_demangle: bool = False) -> list[tuple[str, list[str]]]:
        """Return all topics with their types; with `no_demangle`, all DDS topics with DDS types."""
        endpoints = self._context.graph.publishers() + self._context.graph.subscriptions()
        return _collect((item.topic, item.type_name) if no_demangle else item.ros_topic for item in endpoints)

    def get_service_names_and_types(self) -> list[tuple[str, list[str]]]:
        """Return all services with their types."""
        return _collect(_service(item) for item in self._context.graph.subscriptions())

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """Return name and namespace of all nodes."""
        return [(entry.name, entry.namespace) for entry in self._context.graph.nodes()]

    def get_node_names_and_namespaces_with_enclaves(self) -> list[tuple[str, str, str]]:
        """Return name, namespace and enclave of all nodes."""
        return [(name, namespace, '/') for name, namespace in self.get_node_names_and_namespaces()]

    def get_node_names(self) -> list[str]:
        """Return the names of all nodes."""
        return [name for name, _ in self.get_node_names_and_namespaces()]

    def get_fully_qualified_node_names(self) -> list[str]:
        """Return namespace and name of all nodes, joined."""
        return [full_node_name(*entry) for entry in self.get_node_names_and_namespaces()]

    def _entry(self, name: str, namespace: str) -> _NodeEntry:
        full = full_node_name(name, namespace)
        for entry in self._context.graph.nodes():
            if full_node_name(entry.name, entry.namespace) == full:
                return entry
        raise RuntimeError(f"Cannot get endpoints of node '{full}': no such node")

    def get_publisher_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> list[tuple[str, list[str]]]:
        """Return the topics that a node publishes.

        Raises:
            RuntimeError: no such node.
        """
        gids = self._entry(node_name, node_namespace).writers
        mine = [item for item in self._context.graph.publishers() if item.gid in gids]
        return _collect((item.topic, item.type_name) if no_demangle else item.ros_topic for item in mine)

    def get_subscriber_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> list[tuple[str, list[str]]]:
        """Return the topics that a node subscribes to.

        Raises:
            RuntimeError: no such node.
        """
        gids = self._entry(node_name, node_namespace).readers
        mine = [item for item in self._context.graph.subscriptions() if item.gid in gids]
        return _collect((item.topic, item.type_name) if no_demangle else item.ros_topic for item in mine)

    def get_service_names_and_types_by_node(self, node_name: str, node_namespace: str) -> list[tuple[str, list[str]]]:
        """Return the services that a node offers.

        Raises:
            RuntimeError: no such node.
        """
        gids = self._entry(node_name, node_namespace).readers
        return _collect(_service(item) for item in self._context.graph.subscriptions() if item.gid in gids)

    def get_client_names_and_types_by_node(self, node_name: str, node_namespace: str) -> list[tuple[str, list[str]]]:
        """Return the services that a node uses as a client.

        Raises:
            RuntimeError: no such node.
        """
        gids = self._entry(node_name, node_namespace).readers
        mine = [item for item in self._context.graph.subscriptions() if item.gid in gids]
        return _collect(_service(item, 'rr', 'Reply') for item in mine)

    def _infos(self, topic: str, *, publishers: bool, mangled: bool) -> list[TopicEndpointInfo]:
        name = topic if mangled else f'rt{self.resolve_topic_name(topic, only_expand=True)}'
        graph = self._context.graph
        nodes = graph.nodes()

        def owner(gid: bytes) -> tuple[str, str]:
            for entry in nodes:
                if gid in (entry.writers if publishers else entry.readers):
                    return entry.name, entry.namespace
            return UNKNOWN_NODE, '_NODE_NAMESPACE_UNKNOWN_'

        endpoints = graph.publishers() if publishers else graph.subscriptions()
        kind = TopicEndpointTypeEnum.PUBLISHER if publishers else TopicEndpointTypeEnum.SUBSCRIPTION
        return [
            TopicEndpointInfo(
                *owner(item.gid),
                item.type_name if mangled else dds.ros_type_name(item.type_name) or item.type_name,
                _type_hash(item.qos),
                kind,
                list(item.gid),
                from_dds(item.qos),
            )
            for item in endpoints
            if item.topic == name
        ]

    def get_publishers_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """Return the publishers of a topic."""
        return self._infos(topic_name, publishers=True, mangled=no_mangle)

    def get_subscriptions_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """Return the subscriptions of a topic."""
        return self._infos(topic_name, publishers=False, mangled=no_mangle)

    def count_publishers(self, topic_name: str) -> int:
        """Return the number of publishers of a topic."""
        return len(self.get_publishers_info_by_topic(topic_name))

    def count_subscribers(self, topic_name: str) -> int:
        """Return the number of subscriptions of a topic."""
        return len(self.get_subscriptions_info_by_topic(topic_name))

    def count_services(self, service_name: str) -> int:
        """Return the number of servers of a service."""
        return self._count_service(service_name, 'rr', 'Reply')

    def count_clients(self, service_name: str) -> int:
        """Return the number of clients of a service."""
        return self._count_service(service_name, 'rq', 'Request')

    def _count_service(self, name: str, prefix: str, suffix: str) -> int:
        full = self.resolve_topic_name(name, only_expand=True)
        return sum(item.topic == f'{prefix}{full}{suffix}' for item in self._context.graph.publishers())

    def wait_for_node(self, fully_qualified_node_name: str, timeout: float) -> bool:
        """Block until a node is discovered; return False after `timeout` seconds."""
        import time

        name, namespace = split_full_name(fully_qualified_node_name)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if (name, namespace) in self.get_node_names_and_namespaces():
                return True
            time.sleep(0.01)
        return False
