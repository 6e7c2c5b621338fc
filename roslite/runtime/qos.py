"""Quality of service: rclpy's profiles and their mapping to DDS policies as in rmw_cyclonedds."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from cyclonedds.qos import Policy, Qos
from cyclonedds.util import duration as _dds_duration

from .time import Duration

_INFINITE = _dds_duration(infinite=True)
#: Timeout of a blocked write, ns; the publisher repeats it, and signals are handled in between.
MAX_BLOCKING_TIME = 50_000_000


class HistoryPolicy(IntEnum):
    """Number of stored samples."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3


class ReliabilityPolicy(IntEnum):
    """Retransmission of lost samples."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class DurabilityPolicy(IntEnum):
    """Delivery of earlier samples to late subscriptions."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class LivelinessPolicy(IntEnum):
    """Assertion of the liveliness of a publisher."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4
    BEST_AVAILABLE = 5


class QoSPolicyKind(IntEnum):
    """Policies, with the numbers of rmw."""

    INVALID = 1 << 0
    DURABILITY = 1 << 1
    DEADLINE = 1 << 2
    LIVELINESS = 1 << 3
    RELIABILITY = 1 << 4
    HISTORY = 1 << 5
    LIFESPAN = 1 << 6
    DEPTH = 1 << 7
    LIVELINESS_LEASE_DURATION = 1 << 8
    AVOID_ROS_NAMESPACE_CONVENTIONS = 1 << 9


class QoSProfile:
    """A set of policies, with rclpy's keyword arguments and defaults.

    Raises:
        ValueError: neither `history` nor `depth`.
    """

    __slots__ = (
        'avoid_ros_namespace_conventions',
        'deadline',
        'depth',
        'durability',
        'history',
        'lifespan',
        'liveliness',
        'liveliness_lease_duration',
        'reliability',
    )

    def __init__(
        self,
        *,
        history: HistoryPolicy | None = None,
        depth: int | None = None,
        reliability: ReliabilityPolicy = ReliabilityPolicy.RELIABLE,
        durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
        lifespan: Duration | None = None,
        deadline: Duration | None = None,
        liveliness: LivelinessPolicy = LivelinessPolicy.SYSTEM_DEFAULT,
        liveliness_lease_duration: Duration | None = None,
        avoid_ros_namespace_conventions: bool = False,
    ) -> None:
        if history is None:
            if depth is None:
                raise ValueError('History and/or depth settings are required.')
            history = HistoryPolicy.KEEP_LAST
        if history == HistoryPolicy.KEEP_LAST and depth is None:
            raise ValueError('History set to KEEP_LAST without a depth setting.')
        if depth is not None and depth < 0:
            raise ValueError(f'QoS depth must be zero or more, found {depth}')
        self.history = HistoryPolicy(history)
        self.depth = depth or 0
        self.reliability = ReliabilityPolicy(reliability)
        self.durability = DurabilityPolicy(durability)
        self.lifespan = lifespan or Duration()
        self.deadline = deadline or Duration()
        self.liveliness = LivelinessPolicy(liveliness)
        self.liveliness_lease_duration = liveliness_lease_duration or Duration()
        self.avoid_ros_namespace_conventions = avoid_ros_namespace_conventions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QoSProfile):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f'QoSProfile({", ".join(f"{name}={getattr(self, name)!s}" for name in self.__slots__)})'


qos_profile_system_default = QoSProfile(
    history=HistoryPolicy.SYSTEM_DEFAULT,
    depth=0,
    reliability=ReliabilityPolicy.SYSTEM_DEFAULT,
    durability=DurabilityPolicy.SYSTEM_DEFAULT,
)
qos_profile_sensor_data = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
qos_profile_services_default = QoSProfile(depth=10)
qos_profile_parameters = QoSProfile(depth=1000)
qos_profile_parameter_events = QoSProfile(depth=1000)
qos_profile_rosout_default = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)
qos_profile_clock = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def as_profile(qos: QoSProfile | int) -> QoSProfile:
    """Return the profile of a profile or a depth. Raises TypeError."""
    if isinstance(qos, QoSProfile):
        return qos
    if isinstance(qos, int) and not isinstance(qos, bool) and qos >= 0:
        return QoSProfile(depth=qos)
    raise TypeError(f'Expected QoSProfile or int >= 0, but received {qos!r}')


def to_dds(
    profile: QoSProfile, user_data: bytes, *, writer: bool, may_block: bool = True, ignore_local: bool = False
) -> Qos:
    """Return the DDS policies of an endpoint.

    Args:
        profile: the ROS profile.
        user_data: content of USER_DATA, such as the type hash.
        writer: True for a writer, False for a reader.
        may_block: a write waits for readers with full queues; otherwise it fails immediately.
        ignore_local: endpoints of the same participant are not matched.
    """
    if profile.history == HistoryPolicy.KEEP_ALL:
        history: Any = Policy.History.KeepAll
    else:
        history = Policy.History.KeepLast(max(profile.depth, 1))
    policies: list[Any] = [
        history,
        Policy.Reliability.BestEffort
        if profile.reliability == ReliabilityPolicy.BEST_EFFORT
        else Policy.Reliability.Reliable(max_blocking_time=MAX_BLOCKING_TIME if may_block else 0),
        # Only version 1 of the representation, which all ROS 2 releases use.
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
        Policy.Userdata(user_data),
    ]
    if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        policies.append(Policy.Durability.TransientLocal)
        # The depth of the durability service, not of the writer, limits Cyclone's history for late subscriptions.
        policies.append(Policy.DurabilityService(0, history, -1, -1, -1))
    else:
        policies.append(Policy.Durability.Volatile)
    if profile.deadline.nanoseconds:
        policies.append(Policy.Deadline(profile.deadline.nanoseconds))
    if profile.lifespan.nanoseconds and writer:
        policies.append(Policy.Lifespan(profile.lifespan.nanoseconds))
    lease = profile.liveliness_lease_duration.nanoseconds or _INFINITE
    if profile.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC:
        policies.append(Policy.Liveliness.ManualByTopic(lease))
    else:
        policies.append(Policy.Liveliness.Automatic(lease))
    if ignore_local:
        policies.append(Policy.IgnoreLocal.Participant)
    if writer:
        policies.append(Policy.WriterDataLifecycle(autodispose=False))
    return Qos(*policies)


def from_dds(qos: Qos) -> QoSProfile:
    """Return the ROS profile of a discovered endpoint (history and depth are not part of discovery)."""
    by_scope = {getattr(policy, '__scope__', ''): policy for policy in qos}
    reliability = by_scope.get('Reliability')
    durability = by_scope.get('Durability')
    profile = QoSProfile(history=HistoryPolicy.UNKNOWN, depth=0)
    is_reliable = isinstance(reliability, Policy.Reliability.Reliable)
    profile.reliability = ReliabilityPolicy.RELIABLE if is_reliable else ReliabilityPolicy.BEST_EFFORT
    is_volatile = durability is None or durability == Policy.Durability.Volatile
    profile.durability = DurabilityPolicy.VOLATILE if is_volatile else DurabilityPolicy.TRANSIENT_LOCAL
    for name in ('deadline', 'lifespan'):
        policy = by_scope.get(name.capitalize())
        value = getattr(policy, name, None)
        if value is not None and value < _INFINITE:
            setattr(profile, name, Duration(nanoseconds=value))
    profile.liveliness = LivelinessPolicy.AUTOMATIC
    return profile
