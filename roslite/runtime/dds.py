"""Interface to Cyclone DDS: domain configuration, raw-CDR types, wait sets.

Loopback by default: sending sockets are bound to 127.0.0.1. Receiving sockets, which Cyclone binds to all addresses,
are bound to the loopback device: they receive no data from other machines.
"""

import ctypes
import html
import os
import socket
import sys
import threading
import time
from typing import Any

from cyclonedds.core import DDSException, Entity
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl import types as _types
from cyclonedds.internal import DDS, InvalidSample
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from rosbags.interfaces import Nodetype

from .signals import shielded
from .types import PLACEHOLDER, message, typestore

#: Maximum index of participants (processes) of a domain on one machine; the port mapping of DDS allows 119.
MAX_PARTICIPANT_INDEX = 99
#: Time after which a crashed process is removed from discovery, s.
LEASE_SECONDS = 5
#: Time for which a writer waits at its deletion for readers with missing samples, such as dead readers, ms.
LINGER_MILLISECONDS = 100
#: Maximum time between two heartbeats of a writer to readers without acknowledgement, ms. Cyclone's default of 8 s
#: could stop a lockstep exchange for seconds if the first sample arrived before the reader discovered its writer.
HEARTBEAT_MILLISECONDS = 200

_MANY = 100_000

idl_types: Any = _types  # its classes are generic only at run time

_IDL_BASE: dict[str, Any] = {
    'bool': bool,
    'byte': idl_types.byte,
    'octet': idl_types.byte,
    'char': idl_types.uint8,
    'string': str,
    **{name: getattr(idl_types, name) for name in ('float32', 'float64')},
    **{f'{sign}int{bits}': getattr(idl_types, f'{sign}int{bits}') for sign in ('', 'u') for bits in (8, 16, 32, 64)},
}

#: Maximum time at the end of a process for Cyclone to leave the domain and stop its threads, s.
FAREWELL_SECONDS = 1.0
#: After the deletion of a participant, Cyclone's threads still remove its types, and topics of these types cannot be
#: created meanwhile (docs/contributing/decisions): waiting time of the next participant, s; period, s, and
#: number of attempts to create a topic.
SETTLE_SECONDS, AGAIN_SECONDS, TRIES = 0.02, 0.05, 6

_domains: dict[int, Any] = {}
_leave, _left = threading.Event(), threading.Event()
_wire_types: dict[str, type[IdlStruct]] = {}
_idl_types: dict[str, type[IdlStruct]] = {}
_lock = threading.RLock()
_gone = -float('inf')
"""Time of deletion of the last participant of this process, s of `time.monotonic`."""


def is_network_wanted(environment: Any = os.environ) -> bool:
    """Return whether the user enabled the network.

    `ROS_AUTOMATIC_DISCOVERY_RANGE` is SUBNET or SYSTEM_DEFAULT, or it is not set and `ROS_LOCALHOST_ONLY=0`.
    """
    reach = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE', '').upper()
    if reach:
        return reach in ('SUBNET', 'SYSTEM_DEFAULT')
    return environment.get('ROS_LOCALHOST_ONLY', '') == '0'


def domain_configuration(environment: Any = os.environ) -> str | None:
    """Return Cyclone's configuration for a domain, or None if the user sets CYCLONEDDS_URI."""
    if environment.get('CYCLONEDDS_URI'):
        return None
    peers = [peer for peer in environment.get('ROS_STATIC_PEERS', '').split(';') if peer and peer.isprintable()]
    general = ''
    if not is_network_wanted(environment):
        peers = ['127.0.0.1']
        general = (
            '<General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>'
            '<AllowMulticast>false</AllowMulticast></General>'
        )
    elements = ''.join(f'<Peer address="{html.escape(peer)}"/>' for peer in peers)
    return (
        f'<CycloneDDS><Domain>{general}<Discovery><ParticipantIndex>auto</ParticipantIndex>'
        f'<MaxAutoParticipantIndex>{MAX_PARTICIPANT_INDEX}</MaxAutoParticipantIndex>'
        f'<LeaseDuration>{LEASE_SECONDS}s</LeaseDuration>'
        f'{f"<Peers>{elements}</Peers>" if peers else ""}</Discovery>'
        f'<Internal><WriterLingerDuration>{LINGER_MILLISECONDS}ms</WriterLingerDuration>'
        f'<HeartbeatInterval max="{HEARTBEAT_MILLISECONDS}ms">100ms</HeartbeatInterval></Internal>'
        '</Domain></CycloneDDS>'
    )


def open_domain(domain_id: int) -> None:
    """Configure a domain, once per process.

    Raises:
        RuntimeError: the domain cannot be opened, such as for lack of a free port.
    """
    with _lock:
        if domain_id in _domains:
            return
        is_first = not any(domain is not None for domain in _domains.values())
        configuration = domain_configuration()
        if configuration is None:
            _domains[domain_id] = None
            return
        before = _udp_sockets()
        try:
            _domains[domain_id] = Domain(domain_id, configuration)
        except DDSException as error:
            raise RuntimeError(
                f'DDS domain {domain_id} cannot be opened ({error}); are more than {MAX_PARTICIPANT_INDEX + 1} '
                'processes using it?'
            ) from None
        if not is_network_wanted():
            _tie_to_loopback(_udp_sockets() - before)
        if is_first:
            threading.Thread(target=_close_domains, name='dds_domains', daemon=True).start()


def _close_domains() -> None:
    """Wait for the end of the process, then delete the domains.

    This runs in a thread that is started early (late threads are not allowed from Python 3.12 on), because Cyclone may
    block for ever: its discovery writers linger for a busy peer, and the event thread that would end this has stopped.
    """
    _leave.wait()
    for domain in _domains.values():
        if domain is not None:
            delete_entity(domain)
    _left.set()


def close_domains() -> None:
    """Delete the domains at the end of the process, with a timeout after which the system frees them."""
    for domain in _domains.values():
        if domain is not None:
            Entity._entities.pop(domain._ref, None)  # prevents a second deletion by the garbage collector
    if any(domain is not None for domain in _domains.values()):
        _leave.set()
        _left.wait(FAREWELL_SECONDS)


def open_participant(domain_id: int, qos: Any) -> DomainParticipant:
    """Return a new participant in a domain, which is configured first."""
    open_domain(domain_id)
    left = _gone + SETTLE_SECONDS - time.monotonic()
    if left > 0.0:
        time.sleep(left)
    before = _udp_sockets()
    participant = DomainParticipant(domain_id, qos)
    if _domains[domain_id] is not None and not is_network_wanted():
        _tie_to_loopback(_udp_sockets() - before)
    return participant


def _udp_sockets() -> set[int]:
    """Return the file descriptors of the IPv4 UDP sockets of this process (Linux)."""
    descriptors = set()
    if not sys.platform.startswith('linux'):
        return descriptors
    for name in os.listdir('/proc/self/fd'):
        try:
            if os.readlink(f'/proc/self/fd/{name}').startswith('socket:'):
                with socket.socket(fileno=os.dup(int(name))) as handle:
                    if handle.family == socket.AF_INET and handle.type == socket.SOCK_DGRAM:
                        descriptors.add(int(name))
        except OSError:
            continue
    return descriptors


def _tie_to_loopback(descriptors: set[int]) -> None:
    """Bind sockets of all addresses to the loopback device (Linux 5.7 and newer need no privileges for it)."""
    for descriptor in descriptors:
        with socket.socket(fileno=os.dup(descriptor)) as handle:
            try:
                if handle.getsockname()[0] == '0.0.0.0':
                    handle.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo\0')
            except OSError:
                continue  # an old kernel: sending sockets are still bound to loopback


class RawSample:
    """One sample as CDR bytes. DDS calls `serialize` and `deserialize`, which pass the bytes unchanged."""

    __slots__ = ()

    def serialize(self, buffer: Any = None, endianness: Any = None, use_version_2: Any = None) -> bytes:
        """Return the bytes."""
        return self.cdr  # type: ignore[attr-defined]

    @classmethod
    def deserialize(cls, data: bytes, has_header: bool = True, use_version_2: Any = None) -> Any:
        """Wrap received bytes."""
        sample = object.__new__(cls)
        sample.cdr = data  # type: ignore[attr-defined]
        return sample

    @classmethod
    def deserialize_key(cls, data: bytes, has_header: bool = True, use_version_2: Any = None) -> Any:
        """Wrap the key of an invalid sample; keys are not used."""
        return cls.deserialize(data)


def dds_type_name(name: str) -> str:
    """Return the DDS name of a ROS type: `pkg/msg/Name` -> `pkg::msg::dds_::Name_`."""
    package, folder, short = name.split('/')
    return f'{package}::{folder}::dds_::{short}_'


def ros_type_name(name: str) -> str | None:
    """Return the ROS name of a DDS type, or None if it is not a ROS type."""
    parts = name.split('::')
    if len(parts) != 4 or parts[2] != 'dds_' or not parts[3].endswith('_'):
        return None
    return f'{parts[0]}/{parts[1]}/{parts[3][:-1]}'


def _idl_field(desc: Any) -> Any:
    kind, detail = desc
    if kind == Nodetype.NAME:
        return _idl_type(detail)
    if kind == Nodetype.BASE:
        name, bound = detail
        return idl_types.bounded_str[bound] if name == 'string' and bound else _IDL_BASE[name]
    inner, count = detail
    if kind == Nodetype.ARRAY:
        return idl_types.array[_idl_field(inner), count]
    return idl_types.sequence[_idl_field(inner), count] if count else idl_types.sequence[_idl_field(inner)]


def _idl_fields(name: str) -> dict[str, Any]:
    message(name)
    fields = typestore().fielddefs[name][1]
    return {field: _idl_field(desc) for field, desc in fields} or {PLACEHOLDER: idl_types.uint8}


def _idl_type(name: str) -> type[IdlStruct]:
    """Return the IDL structure of a ROS type. It is only used for discovery, not for payloads."""
    if name not in _idl_types:
        _idl_types[name] = make_idl_struct(f'{name.split("/")[-1]}_', dds_type_name(name), _idl_fields(name))
    return _idl_types[name]


def wire_type(name: str) -> Any:
    """Return the DDS type of a ROS type, with samples of type `RawSample`.

    Requests and responses of services start with the header of rmw_cyclonedds.
    """
    with _lock:
        if name not in _wire_types:
            fields = _idl_fields(name)
            if '/srv/' in name:
                fields = {'guid': idl_types.uint64, 'seq': idl_types.int64, **fields}
            base = make_idl_struct(f'{name.split("/")[-1]}_', dds_type_name(name), fields)
            for attribute in ('serialize', 'deserialize', 'deserialize_key'):
                setattr(base, attribute, RawSample.__dict__[attribute])
            _wire_types[name] = base
        return _wire_types[name]


def make_sample(data_type: Any, cdr: bytes) -> Any:
    """Return a sample of a wire type with encoded CDR."""
    return data_type.deserialize(cdr)


def create_topic(participant: DomainParticipant, name: str, type_name: str) -> Topic:
    """Return a new DDS topic for a ROS type.

    Raises:
        DDSException: all attempts failed.
    """
    kind = wire_type(type_name)
    for _ in range(TRIES - 1):
        try:
            return shielded(Topic, participant, name, kind)
        except DDSException as error:
            if error.code not in (DDSException.DDS_RETCODE_BAD_PARAMETER, DDSException.DDS_RETCODE_ERROR):
                raise
        time.sleep(AGAIN_SECONDS)
    return shielded(Topic, participant, name, kind)


def take(reader: DataReader, count: int) -> list[Any]:
    """Take up to `count` samples with data; samples without data, as at the end of a writer, are discarded."""
    return [sample for sample in shielded(reader.take, count) if not isinstance(sample, InvalidSample)]


def read_discovered(reader: Any, condition: Any) -> list[Any]:
    """Return all discovered samples of a reader under a condition."""
    samples = shielded(reader.read, _MANY, condition)
    return [sample for sample in samples if not isinstance(sample, InvalidSample)]


def take_discovered(reader: Any, condition: Any) -> None:
    """Remove all discovered samples of a reader under a condition."""
    shielded(reader.take, _MANY, condition)


def matched_subscription(writer: DataWriter, handle: int) -> Any:
    """Return the discovered data of a reader matched with a writer; None if it no longer exists."""
    try:
        return shielded(writer.get_matched_subscription_data, handle)
    except DDSException:
        return None


def matched_publication(reader: DataReader, handle: int) -> Any:
    """Return the discovered data of a writer matched with a reader; None if it no longer exists."""
    try:
        return shielded(reader.get_matched_publication_data, handle)
    except DDSException:
        return None


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of Cyclone's C library that releases the GIL while it blocks."""
    function = DDS._dll_handle[name]  # indexing returns a function object separate from the package's
    function.restype = result
    function.argtypes = arguments
    return function


_create_waitset = _function('dds_create_waitset', ctypes.c_int32, ctypes.c_int32)
_attach = _function('dds_waitset_attach', ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t)
_detach = _function('dds_waitset_detach', ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
_wait = _function('dds_waitset_wait', ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
_delete = _function('dds_delete', ctypes.c_int32, ctypes.c_int32)
_triggered = _function('dds_triggered', ctypes.c_int32, ctypes.c_int32)
_matched = _function('dds_get_matched_subscriptions', ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t)
_assert_liveliness = _function('dds_assert_liveliness', ctypes.c_int32, ctypes.c_int32)


class WaitSet:
    """A set of DDS entities to wait for.

    Args:
        participant: any participant of the domain.
    """

    def __init__(self, participant: DomainParticipant) -> None:
        self._handle = _create_waitset(participant._ref)
        if self._handle < 0:
            raise DDSException(self._handle, 'while creating a wait set')
        self._buffer: Any = (ctypes.c_ssize_t * 8)()
        self._attached: dict[int, int] = {}

    def attach(self, entity: Entity, key: int) -> None:
        """Add an entity; `wait` returns `key` when it triggers."""
        code = _attach(self._handle, entity._ref, key)
        if code < 0:
            raise DDSException(code, f'while attaching {entity!r} to a wait set')
        self._attached[key] = entity._ref
        if len(self._attached) > len(self._buffer):
            self._buffer = (ctypes.c_ssize_t * (2 * len(self._attached)))()

    def detach(self, key: int) -> None:
        """Remove the entity that was attached with `key`, if it is still attached."""
        reference = self._attached.pop(key, None)
        if reference is not None:
            _detach(self._handle, reference)  # fails for a deleted entity, which is already detached

    def wait(self, timeout: int) -> list[int]:
        """Block for at most `timeout` nanoseconds; return the keys of the triggered entities."""
        count = _wait(self._handle, self._buffer, len(self._buffer), timeout)
        if count < 0:
            raise DDSException(count, 'while waiting in a wait set')
        return self._buffer[: min(count, len(self._buffer))]

    def close(self) -> None:
        """Delete the wait set."""
        if self._handle > 0:
            _delete(self._handle)
            self._handle = -1


def delete_participant(participant: DomainParticipant) -> None:
    """Delete a participant now with all its entities."""
    global _gone
    delete_entity(participant)
    _gone = time.monotonic()


def delete_entity(entity: Entity) -> None:
    """Delete a DDS entity now instead of at its garbage collection."""
    if entity._ref > 0:
        Entity._entities.pop(entity._ref, None)
        _delete(entity._ref)
        entity._ref = 0


def count_matched(writer: Entity) -> int:
    """Return the current number of readers matched with a writer; faster than its status."""
    return max(0, _matched(writer._ref, None, 0))


def is_triggered(condition: Entity) -> bool:
    """Return whether a condition is triggered; faster than its property."""
    return _triggered(condition._ref) > 0


def assert_liveliness(writer: Entity) -> None:
    """Assert the liveliness of a writer with MANUAL_BY_TOPIC."""
    _assert_liveliness(writer._ref)


def gid(entity: Entity) -> bytes:
    """Return an entity's 16-byte GUID."""
    return entity.guid.bytes
