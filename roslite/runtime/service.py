"""Services and clients with the wire format of rmw_cyclonedds.

A request is `uint64 guid, int64 number`, followed by the request message. The server returns both before the response,
and the client takes responses with its guid. USER_DATA identifies the reader and writer that belong together.

rmw_fastrtps sends both beside the message instead, where the Python package of Cyclone DDS does not reach them. Its
clients regard a service as unavailable if the numbers of its request readers and reply writers differ, so that each
service has a second request reader, in a partition without writers.
"""

from __future__ import annotations

import inspect
import itertools
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from cyclonedds.core import DDSException, ReadCondition
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader

from . import dds
from .codec import DecodeError
from .context import Context
from .qos import QoSProfile, to_dds
from .subscription import ANY_STATE, take_one
from .task import Future
from .types import codec, type_hash

_HEADER = struct.Struct('<Qq')
#: Maximum time for which a response waits for the discovery of the client's reader, without blocking the executor, s.
_MATCH_TIMEOUT = 1.0
#: Maximum number of waiting responses of a service, for clients that never read.
_MOST_WAITING = 200
#: Partition of the second request reader of a service.
_UNUSED = '_not_for_rmw_fastrtps'
#: Period of checks of waiting responses, s.
MATCH_PERIOD = 0.002


def _user_data_value(endpoint: Any, key: str) -> str | None:
    """Return the value of a key in the USER_DATA of a discovered endpoint; None: not found."""
    if endpoint is None or Policy.Userdata not in endpoint.qos:
        return None
    for part in endpoint.qos[Policy.Userdata].data.split(b';'):
        name, sign, value = part.partition(b'=')
        if sign and name == key.encode():
            return value.decode(errors='replace')
    return None


class _Endpoint:
    """The writer and the reader of a service or client."""

    def __init__(
        self, context: Context, srv_type: Any, name: str, qos: QoSProfile, logger: Any, *, is_server: bool
    ) -> None:
        request, response = f'{srv_type.__srvtype__}_Request', f'{srv_type.__srvtype__}_Response'
        request_topic = context.topic(f'rq{name}Request', request)
        response_topic = context.topic(f'rr{name}Reply', response)
        identity = '.'.join(f'{byte:02x}' for byte in context.next_service_id())
        key = 'serviceid' if is_server else 'clientid'
        written, read = (response, request) if is_server else (request, response)
        written_topic, read_topic = (response_topic, request_topic) if is_server else (request_topic, response_topic)

        def policies(type_name: str, writer: bool) -> Any:
            user_data = f'{key}={identity};typehash={type_hash(type_name)};'.encode()
            return to_dds(qos, user_data, writer=writer, may_block=not is_server)

        self.srv_type = srv_type
        self.srv_name = name
        self.service_name = name
        self.qos_profile = qos
        self.decode_errors = 0
        self._logger = logger
        self._context = context
        self._entities: list[Any] = []
        if is_server:  # announced before the other reader: no instant with one of each
            hidden = Qos(Policy.Partition([_UNUSED]), base=policies(read, False))
            self._entities.append(DataReader(context.participant, read_topic, hidden))
        self._writer = DataWriter(context.participant, written_topic, policies(written, True))
        self._reader = DataReader(context.participant, read_topic, policies(read, False))
        self._condition = ReadCondition(self._reader, ANY_STATE)
        self._entities += [self._condition, self._reader, self._writer]
        self.reader_gid = dds.gid(self._reader)
        self.writer_gid = dds.gid(self._writer)
        self._written, self._read = written, read
        self._destroyed = False

    @property
    def name(self) -> str:
        """Name of the service."""
        return self.srv_name

    @property
    def condition(self) -> Any:
        """DDS condition that triggers when samples are available."""
        return self._condition

    def _send(self, guid: int, number: int, content: Any) -> None:
        cdr = codec(self._written).encode(content, _HEADER.pack(guid, number))
        self._writer.write(dds.make_sample(self._writer.data_type, cdr))

    def _take(self) -> tuple[int, int, Any, Any] | None:
        if self._destroyed:
            return None
        sample = take_one(self._reader)
        if sample is None or not self._accepts(sample.sample_info.publication_handle):
            return None
        try:
            content = codec(self._read).decode(sample.cdr, _HEADER.size)
            little = sample.cdr[1] == 1
            guid, number = struct.unpack_from('<Qq' if little else '>Qq', sample.cdr, 4)
        except DecodeError as error:
            self.decode_errors += 1
            if self.decode_errors == 1:
                self._logger.error(f"dropping data of service '{self.srv_name}' that cannot be decoded: {error}")
            return None
        return guid, number, content, sample.sample_info

    def _accepts(self, publication: int) -> bool:
        """Return whether samples of a writer have the header."""
        return True

    def destroy(self) -> None:
        """Destroy readers and writers."""
        if not self._destroyed:
            self._destroyed = True
            for entity in self._entities:
                dds.delete_entity(entity)


class _Waiting(NamedTuple):
    """A response to a client whose reader is not discovered yet."""

    until: float
    publication: int
    guid: int
    number: int
    response: Any


class Service(_Endpoint):
    """Server of a service; created by `Node.create_service`. The callback takes (request, response).

    A response never blocks the executor. A response to a client that cannot receive it yet waits for at most
    `_MATCH_TIMEOUT`. A response that cannot be delivered (no reader, or a client that does not read) is dropped and
    counted.

    Attributes:
        dropped: number of responses that could not be delivered.
    """

    def __init__(
        self,
        context: Context,
        srv_type: Any,
        name: str,
        callback: Callable[[Any, Any], Any],
        qos: QoSProfile,
        logger: Any,
    ) -> None:
        super().__init__(context, srv_type, name, qos, logger, is_server=True)
        self.callback = callback
        self.dropped = 0
        self._clients: set[int] = set()
        self._reachable: set[int] = set()
        self._waiting: deque[_Waiting] = deque()

    def run(self) -> Any:
        """Take a request, run the callback and respond; return a coroutine if the callback is one."""
        taken = self._take()
        if taken is None:
            return None
        guid, number, request, info = taken
        result = self.callback(request, self.srv_type.Response())
        if inspect.isawaitable(result):

            async def answer() -> None:
                self._answer(guid, number, await result, info)

            return answer()
        self._answer(guid, number, result, info)
        return None

    @property
    def has_waiting(self) -> bool:
        """True if there are waiting responses."""
        return bool(self._waiting)

    def send_waiting(self) -> None:
        """Send waiting responses to clients that can receive them now; drop those after their timeout."""
        if self._destroyed:
            self._waiting.clear()
        now = time.monotonic()
        can_receive: dict[int, bool] = {}
        for _ in range(len(self._waiting)):
            item = self._waiting.popleft()
            if item.publication not in can_receive:
                can_receive[item.publication] = self._can_receive(item.publication)
            if can_receive[item.publication]:
                self._send_or_drop(item.guid, item.number, item.response)
            elif now < item.until:
                self._waiting.append(item)
            else:
                self._drop('its client has no reader')
        if not self._waiting:
            self._context.waiting_services.discard(self)

    def destroy(self) -> None:
        """Destroy reader and writer."""
        self._context.waiting_services.discard(self)
        super().destroy()

    def _accepts(self, publication: int) -> bool:
        """Return whether requests have the header; a request of another rmw would be decoded with a wrong offset."""
        if publication in self._clients:
            return True
        client = dds.matched_publication(self._reader, publication)
        if client is None or _user_data_value(client, 'clientid') is not None:
            self._clients.add(publication)
            return True
        self._drop('its client has another DDS implementation; start it with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp')
        return False

    def _answer(self, guid: int, number: int, response: Any, info: Any) -> None:
        if not isinstance(response, self.srv_type.Response):
            raise TypeError(
                f'service {self.srv_name}: the callback must return {self.srv_type.__srvtype__}_Response, '
                f'found {type(response)}'
            )
        publication = info.publication_handle
        if self._can_receive(publication):
            self._send_or_drop(guid, number, response)
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft()
            self._drop('its client has no reader')
        self._context.waiting_services.add(self)
        self._waiting.append(_Waiting(time.monotonic() + _MATCH_TIMEOUT, publication, guid, number, response))

    def _send_or_drop(self, guid: int, number: int, response: Any) -> None:
        try:
            self._send(guid, number, response)
        except DDSException as error:
            if error.code != DDSException.DDS_RETCODE_TIMEOUT:
                raise
            self._drop('its client does not read')

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            self._logger.warn(f"a request of service '{self.srv_name}' has no response: {why}")

    def _can_receive(self, publication: int) -> bool:
        """Return whether the client's reader is discovered, which may be later than its writer."""
        if publication in self._reachable:
            return True
        client = _user_data_value(dds.matched_publication(self._reader, publication), 'clientid')
        readers = [dds.matched_subscription(self._writer, handle) for handle in _subscriptions(self._writer)]
        if client is None or any(_user_data_value(reader, 'clientid') == client for reader in readers):
            self._reachable.add(publication)
            return True
        return False


class Client(_Endpoint):
    """Client of a service; created by `Node.create_client`."""

    def __init__(self, context: Context, srv_type: Any, name: str, qos: QoSProfile, logger: Any) -> None:
        super().__init__(context, srv_type, name, qos, logger, is_server=False)
        self._guid = self._writer.get_instance_handle() & 0xFFFFFFFFFFFFFFFF
        self._numbers = itertools.count(1)
        self._pending: dict[int, Future] = {}

    def service_is_ready(self) -> bool:
        """Return whether a server is matched in both directions."""
        servers = {
            _user_data_value(dds.matched_subscription(self._writer, handle), 'serviceid')
            for handle in _subscriptions(self._writer)
        } - {None}  # of another rmw, which does not understand the requests
        return any(
            _user_data_value(dds.matched_publication(self._reader, handle), 'serviceid') in servers
            for handle in _publications(self._reader)
        )

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Block until a server is ready; return False after `timeout_sec` or at shutdown."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        while self._context.ok():
            if self.service_is_ready():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return False

    def call_async(self, request: Any) -> Future:
        """Send a request and return the future of its response.

        Raises:
            TypeError: not a request of this service.
        """
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(
                f'service {self.srv_name}: expected {self.srv_type.__srvtype__}_Request, found {type(request)}'
            )
        number = next(self._numbers)
        future = Future()
        self._pending[number] = future
        try:
            self._send(self._guid, number, request)
        except BaseException:
            del self._pending[number]
            raise
        return future

    def remove_pending_request(self, future: Future) -> None:
        """Remove a request whose response is no longer needed."""
        for number, pending in list(self._pending.items()):
            if pending is future:
                self._pending.pop(number, None)

    def call(self, request: Any, timeout_sec: float | None = None) -> Any:
        """Send a request and block for the response; None after `timeout_sec`. Another thread must spin the node."""
        future = self.call_async(request)
        if not future.wait(timeout_sec):
            self.remove_pending_request(future)
            return None
        return future.result()

    def run(self) -> None:
        """Take a response and set the result of its future."""
        taken = self._take()
        if taken is not None and taken[0] == self._guid:
            future = self._pending.pop(taken[1], None)
            if future is not None and not future.done():
                future.set_result(taken[2])


def _subscriptions(writer: DataWriter) -> list[int]:
    return writer.get_matched_subscriptions()


def _publications(reader: DataReader) -> list[int]:
    return reader.get_matched_publications()
