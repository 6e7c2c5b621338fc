"""Publishers."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from cyclonedds.core import DDSException, DDSStatus
from cyclonedds.pub import DataWriter

from . import dds
from .clock import Clock
from .context import Context
from .exceptions import InvalidHandle
from .local import LocalSubscription
from .qos import DurabilityPolicy, HistoryPolicy, QoSProfile, to_dds
from .time import Duration
from .types import codec, type_hash

#: Names of DDS policies by id, for reports of incompatible endpoints.
POLICY_NAMES = {2: 'DURABILITY', 4: 'DEADLINE', 5: 'LATENCY_BUDGET', 8: 'LIVELINESS', 11: 'RELIABILITY', 12: 'HISTORY'}


#: Time for which a publisher in a context with `intra_process` caches its number of readers in other processes, ns. The
#: executor reports changes immediately (`report_status`); this period is for nodes without a spinning executor.
MATCHED_PERIOD = 50_000_000


def policy_name(number: int) -> str:
    """Return the name of a DDS policy id."""
    return POLICY_NAMES.get(number, f'policy {number}')


class Publisher:
    """Writes messages of one type to one topic; created by `Node.create_publisher`.

    With simulated time, samples have that time as DDS source timestamp. A recorder that stores source timestamps then
    writes identical bags for identical runs.

    In a context with `intra_process` a message is written to DDS only if another process has a subscription; latched
    messages (transient local) are stored until then.

    Attributes:
        gid: GUID of the writer.
        receivers: subscriptions of this context that receive the messages.
    """

    receivers: tuple[LocalSubscription, ...] = ()

    def __init__(
        self,
        context: Context,
        msg_type: Any,
        topic: str,
        qos: QoSProfile,
        clock: Clock,
        logger: Any,
    ) -> None:
        self.msg_type = msg_type
        self.topic_name = topic
        self.topic = topic
        self.qos_profile = qos
        self._context = context
        self._clock = clock
        self._logger = logger
        name = msg_type.__msgtype__
        self._codec = codec(name)
        self._codec.prepare_to_encode()
        user_data = f'typehash={type_hash(name)};'.encode()
        dds_topic = context.topic(f'rt{topic}', name)
        self._local = context.local
        policies = to_dds(qos, user_data, writer=True, ignore_local=self._local is not None)
        self._writer = DataWriter(context.participant, dds_topic, policies)
        matched = DDSStatus.PublicationMatched if self._local is not None else 0
        self._writer.set_status_mask(DDSStatus.OfferedIncompatibleQos | matched)
        self._data_type = self._writer.data_type
        self._write = self._writer.write
        self.gid = dds.gid(self._writer)
        self._destroyed = False
        self._kept: deque[tuple[bytes, int | None]] | None = None
        self._unwritten = 0
        self._matched, self._matched_at = 0, -MATCHED_PERIOD
        if self._local is not None:
            if qos.durability == DurabilityPolicy.TRANSIENT_LOCAL:
                self._kept = deque(maxlen=None if qos.history == HistoryPolicy.KEEP_ALL else max(qos.depth, 1))
            self._local.add_publisher(self)

    @property
    def status_entity(self) -> Any:
        """DDS entity whose status counts incompatible readers."""
        return self._writer

    def publish(self, msg: Any) -> None:
        """Publish a message, or CDR bytes with encapsulation header.

        Raises:
            TypeError: another message type, or an invalid value of a field.
            ValueError: bytes that are not CDR.
            InvalidHandle: the publisher was destroyed.
        """
        clock = self._clock
        stamp = clock.nanoseconds() if clock.is_driven else None
        if self._local is None:
            self._send(self._encoded(msg), stamp)
        elif self._destroyed:
            raise InvalidHandle(f'publisher of {self.topic_name} was destroyed')
        else:
            self._hand_over(msg, stamp)

    def _encoded(self, msg: Any) -> bytes:
        if type(msg) is not bytes and isinstance(msg, self.msg_type):
            data = self._codec.encode(msg)
            return data + bytes(-len(data) & 3) if len(data) & 3 else data  # padded as in DDS
        if type(msg) is bytes or isinstance(msg, (bytes, bytearray, memoryview)):
            data = bytes(msg)
            if len(data) < 4 or data[0] or data[1] > 1:
                raise ValueError(f'{self.topic_name}: raw messages start with a CDR header, found {data[:4].hex()!r}')
            return data
        raise TypeError(f'{self.topic_name}: expected {self.msg_type.__msgtype__} or bytes, found {type(msg)}')

    def _send(self, data: bytes, stamp: int | None) -> None:
        sample = object.__new__(self._data_type)
        sample.cdr = data
        self.write_sample(sample, stamp)

    def _hand_over(self, msg: Any, stamp: int | None) -> None:
        """Deliver copies to the subscriptions of this context, and bytes to raw subscriptions and DDS."""
        now = time.monotonic_ns()
        if now - self._matched_at > MATCHED_PERIOD:
            self._count_matched(now)
        is_message = type(msg) is not bytes and isinstance(msg, self.msg_type)
        data = None
        if not is_message or self._matched or self._kept is not None:
            data = self._encoded(msg)
        for subscription in self.receivers:
            if subscription.raw:
                if data is None:
                    data = self._encoded(msg)
                subscription.deliver(data, stamp)
            else:
                subscription.deliver(self._codec.copy(msg) if is_message else data, stamp)
        if data is not None:
            self._send_elsewhere(data, stamp)

    def _send_elsewhere(self, data: bytes, stamp: int | None) -> None:
        """Write bytes to DDS if other processes have readers; a latched publisher stores them until then."""
        if self._kept is not None:
            self._kept.append((data, stamp))
            self._unwritten = min(self._unwritten + 1, len(self._kept))
            if self._matched:
                self._write_kept()
        elif self._matched:
            self._send(data, stamp)

    def _write_kept(self) -> None:
        """Write the stored messages that DDS does not have yet; DDS then stores them for late readers."""
        if self._kept is not None and self._unwritten:
            count, self._unwritten = self._unwritten, 0
            for data, stamp in list(self._kept)[-count:]:
                self._send(data, stamp)

    def give_kept(self, subscription: LocalSubscription) -> None:
        """Deliver the stored messages to a late latched subscription."""
        if self._kept is not None and subscription.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
            for data, stamp in list(self._kept):
                subscription.deliver(data, stamp)

    def write_sample(self, sample: Any, stamp: int | None) -> None:
        """Write a sample; a writer with KEEP_ALL blocks for slow readers until shutdown."""
        if self._destroyed:
            raise InvalidHandle(f'publisher of {self.topic_name} was destroyed')
        while True:
            try:
                return self._write(sample, stamp)
            except DDSException as error:
                if error.code == DDSException.DDS_RETCODE_BAD_PARAMETER:  # Cyclone checks the bytes against the type
                    raise ValueError(
                        f'{self.topic_name}: not a valid {self.msg_type.__msgtype__}: raw bytes are not its encoding, '
                        'or a sequence or string is longer than its bound'
                    ) from None
                if error.code != DDSException.DDS_RETCODE_TIMEOUT:
                    raise
                if not self._context.ok():
                    return None

    def report_status(self) -> None:
        """Warn of readers with incompatible QoS; write stored messages for the first reader in another process."""
        if self._destroyed:
            return
        self._count_matched(time.monotonic_ns())
        if self._local is not None and self._writer.get_publication_matched_status().current_count:
            self._write_kept()
        status = self._writer.get_offered_incompatible_qos_status()
        if status.total_count_change > 0:
            self.warn_of_incompatible(policy_name(status.last_policy_id))

    def warn_of_incompatible(self, policy: str) -> None:
        """Warn of an incompatible subscription."""
        self._logger.warn(
            f"New subscription discovered on topic '{self.topic_name}', requesting incompatible QoS. No messages "
            f'will be sent to it. Last incompatible policy: {policy}'
        )

    def get_subscription_count(self) -> int:
        """Return the number of matched subscriptions."""
        self._count_matched(time.monotonic_ns())
        return self._matched + len(self.receivers)

    def _count_matched(self, now: int) -> None:
        self._matched, self._matched_at = dds.count_matched(self._writer), now

    def wait_for_all_acked(self, timeout: Duration | None = None) -> bool:
        """Block until all reliable subscriptions have received all messages; return False after `timeout`."""
        limit = 3_600_000_000_000 if timeout is None else timeout.nanoseconds
        return bool(self._writer.wait_for_acks(limit))

    def assert_liveliness(self) -> None:
        """Assert the liveliness of the publisher (MANUAL_BY_TOPIC)."""
        dds.assert_liveliness(self._writer)

    def destroy(self) -> None:
        """Destroy the publisher."""
        if not self._destroyed:
            self._destroyed = True
            if self._local is not None:
                self._local.remove_publisher(self)
            dds.delete_entity(self._writer)
