"""Messages of ground reactions, margins, support polygon and markers of a machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import MEASURES, Levels
from dyn_nodes.middleware import message
from dyn_nodes.middleware.prepared import PreparedMessage
from dyn_nodes.model.rotations import quaternion_of_matrix
from dyn_nodes.nodes.arrays import labelled_array
from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.group_values import GroupPublisher
from dyn_nodes.nodes.markers import marker_array
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.stamps import packed_stamp, stamp_at
from dyn_nodes.nodes.transforms import Frame
from dyn_nodes.stability.balance import Balance

WrenchStamped = message('geometry_msgs/msg/WrenchStamped')
PolygonStamped = message('geometry_msgs/msg/PolygonStamped')
PointStamped = message('geometry_msgs/msg/PointStamped')
Point32 = message('geometry_msgs/msg/Point32')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
MarkerArray = message('visualization_msgs/msg/MarkerArray')

NO_MOMENT = [0.0, 0.0, 0.0]
MARGIN = 'margin'
"""Name of the least margin among the named values of a measure; the others are edges."""


class BalanceReports:
    """Publishers of a balance.

    Args:
        node: the node.
        wheels: their names.
        levels: alarm levels of the margins that are published, by measure.
        qos: of the topics.
        frame: of the balance.
        weight: of the machine, N.
        prefix: of the names of topics and contact frames, '' or `monitor`.
    """

    def __init__(
        self,
        node: Any,
        wheels: Sequence[str],
        levels: Mapping[str, Levels],
        qos: Any,
        frame: str,
        weight: float,
        prefix: str = '',
    ) -> None:
        self.frame, self.prefix, self.levels, self.weight = frame, prefix, levels, weight
        start = f'{prefix}/' if prefix else ''

        def create(kind: Any, topic: str) -> Any:
            return node.create_publisher(kind, start + topic, qos)

        self.reactions = {
            name: wrench_publisher(create(WrenchStamped, f'ground_reactions/{name}'), contact_frame(name, prefix))
            for name in wheels
        }
        self.margins = {
            name: PreparedPublisher(create(Float64, margin_topic(name)), Float64(), 'data') for name in levels
        }
        self.edges = {
            name: LabelledPublisher(create(Float64MultiArray, f'{margin_topic(name)}/edges')) for name in levels
        }
        self.uses = {
            name: PreparedPublisher(create(Float64, f'friction_use/{name}'), Float64(), 'data')
            for name in (wheels if any(MEASURES[name].of_friction for name in levels) else ())
        }
        self.polygon = PolygonPublisher(create(PolygonStamped, 'stability/support_polygon'), frame)
        self.com, self.zmp = (
            point_publisher(create(PointStamped, f'stability/{topic}'), frame) for topic in ('center_of_mass', 'zmp')
        )
        self.values = GroupPublisher(node, f'{start}stability/values', qos)
        self.markers = create(MarkerArray, 'markers')
        self._demands = {
            'margins': Demand(lambda: self.margins.values()),
            'edges': Demand(lambda: self.edges.values()),
            'reactions': Demand(lambda: self.reactions.values()),
            'shape': Demand(lambda: (self.polygon, self.com, self.zmp)),
            'values': Demand(lambda: (self.values,)),
            'markers': Demand(lambda: (self.markers,)),
        }
        if self.uses:
            self._demands['uses'] = Demand(lambda: self.uses.values())

    def publish(self, observe: Callable[[], Balance | None], now: int, with_markers: bool) -> None:
        """Publish the reports of one instant, ns, the margins first. Reports without a subscription are not made.

        Args:
            observe: returns the balance, or None; called only if a report is to be published.
            now: ns.
            with_markers: whether markers are published.
        """
        wanted = {
            name for name, demand in self._demands.items() if (name != 'markers' or with_markers) and demand.exists()
        }
        balance = observe() if wanted else None
        if balance is None:
            return
        stamp = packed_stamp(now)
        if 'margins' in wanted:
            for name, margin in balance.margins.items():
                self.margins[name].publish(stamp, (margin.value,))
        if 'edges' in wanted:
            for name, margin in balance.margins.items():
                self.edges[name].publish(balance.names(name), margin.edges.tolist())
        if 'values' in wanted:
            self.values.publish({name: _named(balance, name) for name in balance.margins}, now)
        if 'uses' in wanted:
            for name, use in zip(balance.wheels, balance.friction_use.tolist()):
                self.uses[name].publish(stamp, (use,))
        if 'reactions' in wanted:
            self._publish_reactions(balance, stamp)
        if 'shape' in wanted:
            self._publish_shape(balance, stamp)
        if 'markers' in wanted:
            self.markers.publish(marker_array(balance, self.levels, self.frame, stamp_at(now), self.weight))

    def withdraw(self) -> None:
        """Publish NaN for every margin and friction use: the last values are out of date."""
        for publisher in (*self.margins.values(), *self.uses.values()):
            publisher.publish(b'', (math.nan,))
        self.values.publish(dict.fromkeys(self.levels, ((MARGIN,), (math.nan,))))

    def _publish_reactions(self, balance: Balance, stamp: bytes) -> None:
        moments = [NO_MOMENT] * len(balance.wheels) if balance.moments is None else balance.moments.tolist()
        for name, force, moment in zip(balance.wheels, balance.forces.tolist(), moments):
            self.reactions[name].publish(stamp, force + moment)

    def _publish_shape(self, balance: Balance, stamp: bytes) -> None:
        self.polygon.publish(stamp, balance.corners)
        self.com.publish(stamp, balance.center_of_mass.tolist())
        x, y = balance.zmp.tolist()
        if math.isfinite(x) and math.isfinite(y):
            self.zmp.publish(stamp, (x, y, 0.0))


def _named(balance: Balance, measure: str) -> tuple[list[str], list[float]]:
    """Return names and values of the margin of a measure and of its edges."""
    margin = balance.margins[measure]
    return [MARGIN, *balance.names(measure)], [margin.value, *margin.edges.tolist()]


class LabelledPublisher:
    """A publisher of Float64MultiArray messages with the names of their values, see `arrays.labelled_array`."""

    def __init__(self, publisher: Any) -> None:
        self.publisher = publisher
        self._names: tuple[str, ...] = ()
        self._message: PreparedMessage | None = None

    def publish(self, names: Sequence[str], values: Sequence[float]) -> None:
        """Publish values; the message is rebuilt if the names change."""
        if self._message is None or self._names != names or self._message.count != len(values):
            self._names = tuple(names)
            self._message = PreparedMessage(labelled_array(names, values), ('data',) if values else ())
        self.publisher.publish(self._message.filled(b'', values))

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions to the published topics."""
        return int(self.publisher.get_subscription_count())


class PolygonPublisher:
    """A publisher of PolygonStamped messages in a frame."""

    def __init__(self, publisher: Any, frame: str) -> None:
        self.publisher, self.frame = publisher, frame
        self._message: PreparedMessage | None = None

    def publish(self, stamp: bytes, corners: Array) -> None:
        """Publish corners (n, 3), m."""
        numbers = corners.ravel().tolist()
        if self._message is None or self._message.count != len(numbers):
            prototype = PolygonStamped()
            prototype.header.frame_id = self.frame
            prototype.polygon.points = [Point32() for _ in corners]
            self._message = PreparedMessage(prototype, ('polygon.points',) if numbers else ())
        self.publisher.publish(self._message.filled(stamp, numbers))

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions to the published topics."""
        return int(self.publisher.get_subscription_count())


def wrench_publisher(publisher: Any, frame: str) -> PreparedPublisher:
    """Return a publisher of WrenchStamped messages in a frame: force x, y, z, torque x, y, z."""
    prototype = WrenchStamped()
    prototype.header.frame_id = frame
    return PreparedPublisher(publisher, prototype, 'wrench')


def point_publisher(publisher: Any, frame: str) -> PreparedPublisher:
    """Return a publisher of PointStamped messages in a frame: x, y, z."""
    prototype = PointStamped()
    prototype.header.frame_id = frame
    return PreparedPublisher(publisher, prototype, 'point')


def margin_topic(measure: str) -> str:
    """Return the topic of a measure's margin. `stability/zmp` is the point, so its degree has another name."""
    return f'stability/{MEASURES[measure].topic}'


def contact_frame(wheel: str, prefix: str = '') -> str:
    """Return the name of a wheel's contact frame: x in rolling direction, z normal to the ground (`Balance.axes`)."""
    return f'{prefix}_{wheel}_contact' if prefix else f'{wheel}_contact'


def contact_frames(parent: str, balance: Balance, prefix: str = '') -> list[Frame]:
    """Return the contact frames in the frame of a balance."""
    return [
        (parent, contact_frame(name, prefix), point, quaternion_of_matrix(axes).tolist())
        for name, point, axes in zip(balance.wheels, balance.points.tolist(), balance.axes)
    ]
