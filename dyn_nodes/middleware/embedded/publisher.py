"""Publishers."""

from __future__ import annotations

from typing import Any

from cyclonedds.core import DDSException, DDSStatus
from cyclonedds.pub import DataWriter

from . import dds
from .clock import Clock
from .context import Context
from .exceptions import InvalidHandle
from .qos import QoSProfile, to_dds
from .time import Duration
from .types import codec, type_hash

#: DDS policy id -> name, for the report of incompatible endpoints.
POLICY_NAMES = {2: 'DURABILITY', 4: 'DEADLINE', 5: 'LATENCY_BUDGET', 8: 'LIVELINESS', 11: 'RELIABILITY', 12: 'HISTORY'}


def policy_name(number: int) -> str:
    """Return the name of a DDS policy id."""
    return POLICY_NAMES.get(number, f'policy {number}')


class Publisher:
    """Writes messages of one type to one topic; made by `Node.create_publisher`.

    While the node's clock runs on simulated time, samples carry that time as their DDS source timestamp, so that a
    recorder that stores source timestamps makes the same bag from the same run, bit for bit.

    Attributes:
        gid: the writer's GUID.
    """

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
        self._writer = DataWriter(context.participant, dds_topic, to_dds(qos, user_data, writer=True))
        self._writer.set_status_mask(DDSStatus.OfferedIncompatibleQos)
        self._data_type = self._writer.data_type
        self._write = self._writer.write
        self.gid = dds.gid(self._writer)
        self._destroyed = False

    @property
    def status_entity(self) -> Any:
        """The DDS entity whose status tells of incompatible readers."""
        return self._writer

    def publish(self, msg: Any) -> None:
        """Send a message, or ready-made CDR bytes with their encapsulation header.

        Raises:
            TypeError: not of the publisher's type, or a field that does not hold what its type says.
            ValueError: bytes that are no CDR.
            InvalidHandle: the publisher was destroyed.
        """
        if isinstance(msg, self.msg_type):
            data = self._codec.encode(msg)
        elif isinstance(msg, (bytes, bytearray, memoryview)):
            data = bytes(msg)
            if len(data) < 4 or data[0] != 0 or data[1] > 1:
                raise ValueError(f'{self.topic_name}: raw messages start with a CDR header, found {data[:4].hex()!r}')
        else:
            raise TypeError(f'{self.topic_name}: expected {self.msg_type.__msgtype__} or bytes, found {type(msg)}')
        sample = object.__new__(self._data_type)
        sample.cdr = data
        clock = self._clock
        self.write_sample(sample, clock.nanoseconds() if clock.is_driven else None)

    def write_sample(self, sample: Any, stamp: int | None) -> None:
        """Write a sample; a writer that keeps everything waits here for slow readers, and for shutdown."""
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
        """Warn of readers whose QoS does not fit."""
        if self._destroyed:
            return
        status = self._writer.get_offered_incompatible_qos_status()
        if status.total_count_change > 0:
            self._logger.warn(
                f"New subscription discovered on topic '{self.topic_name}', requesting incompatible QoS. No messages "
                f'will be sent to it. Last incompatible policy: {policy_name(status.last_policy_id)}'
            )

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions that get what is published."""
        return int(self._writer.get_publication_matched_status().current_count)

    def wait_for_all_acked(self, timeout: Duration | None = None) -> bool:
        """Block until all reliable subscriptions have got everything; False after `timeout`."""
        limit = 3_600_000_000_000 if timeout is None else timeout.nanoseconds
        return bool(self._writer.wait_for_acks(limit))

    def assert_liveliness(self) -> None:
        """Say that the publisher lives (MANUAL_BY_TOPIC)."""
        dds.assert_liveliness(self._writer)

    def destroy(self) -> None:
        """Withdraw the publisher."""
        if not self._destroyed:
            self._destroyed = True
            dds.delete_entity(self._writer)
