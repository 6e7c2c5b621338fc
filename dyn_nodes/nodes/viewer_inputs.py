"""Subscriptions of the viewer: a snapshot of the newest message of each topic, so that a slow viewer does not lag."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dyn_nodes.measures import Levels, levels_of_values, measure_of
from dyn_nodes.middleware import DurabilityPolicy, Node, QoSProfile, ReliabilityPolicy, message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.stability_health import STATUS
from dyn_nodes.nodes.stamps import seconds_of_stamp
from dyn_nodes.nodes.transforms import TFMessage
from dyn_nodes.viewer.connection import Connection
from dyn_nodes.viewer.geometry import rotation_of
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.snapshot import GovernorState, Load, Margin, Snapshot

DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
FluidPressure = message('sensor_msgs/msg/FluidPressure')
Float64 = message('std_msgs/msg/Float64')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointState = message('sensor_msgs/msg/JointState')
Odometry = message('nav_msgs/msg/Odometry')
PointStamped = message('geometry_msgs/msg/PointStamped')
PolygonStamped = message('geometry_msgs/msg/PolygonStamped')
String = message('std_msgs/msg/String')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
EVERY = QoSProfile(depth=50)
CONTACT_SUFFIX = '_contact'
SKIPPED_CHAMBERS = ('supply_pressure',)
ODOM_TIMEOUT = 1.0
PRESSURE_AGE = 0.5
"""Wall-clock timeout of a pressure, s."""
DATA_AGE, MISSED = 1.0, 3.0
"""Time of the machine, s, and number of usual intervals after which a value without messages is out of date."""
LONGEST_INTERVAL = 60.0
"""Greatest usual interval between two messages of a topic, s."""
WARN = 1

WEIGHED = ('payload/interval', 'monitor/payload/interval')
"""Topics of an estimated payload: of a machine, and beside a simulation."""
LOAD_MOMENT = ('load_moment/state', 'monitor/load_moment/state')
"""Topics of the load moment, the preferred one first."""
ALLOWANCES = ('stability/allowance', 'monitor/stability/allowance')
"""Groups of topics of the remaining allowances."""


class ViewerInputs:
    """Subscriptions of the viewer.

    Args:
        node: the node.
        machine: the machine, or None: then /tf has the contact points of the wheels.
        on_description: called with the text of a robot description.
        connection: receives every joint state.

    Attributes:
        snapshot: newest values of all topics.
        handled: number of received messages.
        reset: whether time went back; cleared by the user.
        commanded: wall time of the last valve command of any node, s.
    """

    def __init__(
        self, node: Node, machine: Machine | None, on_description: Callable[[str], None], connection: Connection
    ) -> None:
        self.node, self.machine, self.connection = node, machine, connection
        self.snapshot = Snapshot()
        self.robot: Robot | None = None
        self.handled = 0
        self.reset = False
        self.commanded = -1e9
        self._on_description = on_description
        self._odom_received_at = -1e9
        self._pressure_at: dict[str, float] = {}
        self._kept: dict[str, tuple[float, float, Callable[[], object]]] = {}
        self._subscribed: set[str] = set()
        self._faults: dict[str, str] = {}
        self._levels: dict[str, Levels] = {}
        self._load_topic = ''
        self._guess_contacts_needed = True
        if machine is not None:
            self.snapshot.slope = machine.slope
            self.snapshot.payload = machine.payload.mass if machine.payload else None
        self.subscribe(String, 'robot_description', self._description, LATCHED)
        self.subscribe(JointState, 'joint_states', self._joints)
        self.subscribe(Odometry, 'odom', self._odom)
        if TFMessage is not None:
            self.subscribe(TFMessage, '/tf', self._transforms, QoSProfile(depth=20))
        self.subscribe(PolygonStamped, 'stability/support_polygon', self._polygon)
        self.subscribe(PointStamped, 'stability/center_of_mass', self._center_of_mass)
        self.subscribe(PointStamped, 'stability/zmp', self._zmp)
        self.subscribe(Float64, 'payload', self._payload, QoSProfile(depth=1))
        self.subscribe(Float64MultiArray, 'valve_commands', self._command)
        self.subscribe(DiagnosticStatus, 'events', self._event, EVERY)
        self.subscribe(DiagnosticArray, '/diagnostics', self._diagnostics, EVERY)
        self.subscribe(DiagnosticStatus, 'governor/state', self._governor, LATCHED)
        self.subscribe(JointState, 'governor/stop', self._stop)
        for topic in LOAD_MOMENT:
            self.subscribe(DiagnosticStatus, topic, self._load_moment(topic))

    @property
    def count(self) -> int:
        """Return the number of subscribed topics."""
        return len(self._subscribed)

    def subscribe(self, kind: Any, topic: str, callback: Callable[[Any], None], qos: Any = NEWEST) -> None:
        """Subscribe to a topic and count its messages."""

        def taken(msg: Any) -> None:
            self.handled += 1
            callback(msg)

        self._subscribed.add(self.node.resolve_topic_name(topic))
        self.node.create_subscription(kind, topic, taken, qos)

    def discover(self) -> bool:
        """Subscribe to new wheels, margins and chambers; return whether there are any."""
        before = len(self._subscribed)
        names = ('ground_reactions', 'friction_use', 'stability', 'hydraulics')
        wheels, uses, margins, oil = (self.node.resolve_topic_name(f'{name}/x')[:-1] for name in names)
        weighed = [self.node.resolve_topic_name(name) for name in WEIGHED]
        allowances = tuple(self.node.resolve_topic_name(f'{name}/x')[:-1] for name in ALLOWANCES)
        for topic, kinds in self.node.get_topic_names_and_types():
            if topic in self._subscribed:
                continue
            if topic.startswith(wheels) and 'geometry_msgs/msg/WrenchStamped' in kinds:
                self.subscribe(WrenchStamped, topic, self._wheel(topic.removeprefix(wheels)))
            elif topic.startswith(uses) and 'std_msgs/msg/Float64' in kinds:
                self.subscribe(Float64, topic, self._friction_use(topic.removeprefix(uses)))
            elif topic.startswith(allowances) and 'std_msgs/msg/Float64' in kinds:
                self.subscribe(Float64, topic, self._allowance(topic.rpartition('/')[2]))
            elif topic in weighed and 'std_msgs/msg/Float64MultiArray' in kinds:
                self.subscribe(Float64MultiArray, topic, self._payload_interval)
            elif topic.startswith(margins):
                self._discover_margin(topic, topic.removeprefix(margins), kinds)
            elif topic.startswith(oil) and 'sensor_msgs/msg/FluidPressure' in kinds:
                name = topic.removeprefix(oil)
                if not name.endswith(SKIPPED_CHAMBERS):
                    self.subscribe(FluidPressure, topic, self._pressure(name.removesuffix('_pressure')))
        return len(self._subscribed) > before

    def _discover_margin(self, topic: str, name: str, kinds: list[str]) -> None:
        measure, _, rest = name.partition('/')
        if not rest and 'std_msgs/msg/Float64' in kinds:
            self.subscribe(Float64, topic, self._margin(measure))
        elif rest == 'edges' and 'std_msgs/msg/Float64MultiArray' in kinds:
            self.subscribe(Float64MultiArray, topic, self._edges(measure))

    # -- the machine -------------------------------------------------------------------------------------------------

    def _description(self, msg: Any) -> None:
        self._on_description(msg.data)

    def _joints(self, msg: Any) -> None:
        stamp = seconds_of_stamp(msg.header.stamp)
        if self.connection.message(stamp, time.monotonic()):
            self.reset, self.snapshot.overturned = True, False
            self._kept = {key: (stamp, interval, forget) for key, (_, interval, forget) in self._kept.items()}
        self.snapshot.time = stamp
        for name, position in zip(msg.name, msg.position):
            if np.isfinite(position):
                self.snapshot.joints[name] = float(position)

    def _odom(self, msg: Any) -> None:
        self._odom_received_at = time.monotonic()
        self._set_base(msg.pose.pose.position, msg.pose.pose.orientation)

    def _set_base(self, position: Any, orientation: Any) -> None:
        point = (float(position.x), float(position.y), float(position.z))
        turn = (float(orientation.x), float(orientation.y), float(orientation.z), float(orientation.w))
        if np.isfinite(point).all() and np.isfinite(turn).all():
            self.snapshot.base_position, self.snapshot.base_quaternion = point, turn
            self._guess_contacts()

    def _transforms(self, msg: Any) -> None:
        root = self.robot.root if self.robot else None
        for item in msg.transforms:
            child, shift = item.child_frame_id, item.transform.translation
            if child.endswith(CONTACT_SUFFIX):
                self.snapshot.contacts[child.removesuffix(CONTACT_SUFFIX)] = (shift.x, shift.y, shift.z)
                self._guess_contacts_needed = False
            elif child == root and time.monotonic() - self._odom_received_at > ODOM_TIMEOUT:
                self._set_base(shift, item.transform.rotation)

    def _guess_contacts(self) -> None:
        """Set the contact points of wheels and tracks without a frame below their attachment in the ground plane."""
        if self.machine is None or self.robot is None or not self._guess_contacts_needed:
            return
        base = rotation_of(self.snapshot.base_quaternion)
        poses = None
        for contact in self.machine.ground_contacts:
            point = np.mean([spring.position for spring in contact.supports], axis=0)
            if contact.link != self.robot.root:
                poses = poses or self.robot.poses(self.snapshot.joints)
                origin, turn = poses[contact.link]
                point = origin + turn.apply(point)
            x, y, _ = base.apply(point) + self.snapshot.base_position
            self.snapshot.contacts[contact.name] = (float(x), float(y), 0.0)

    # -- stability, hydraulics ---------------------------------------------------------------------------------------

    def _keep(self, key: str, forget: Callable[[], object]) -> None:
        """Note that a value was received; `forget` removes it from the snapshot."""
        now = self.snapshot.time
        interval = now - self._kept[key][0] if key in self._kept else 0.0
        self._kept[key] = now, interval if 0.0 <= interval <= LONGEST_INTERVAL else 0.0, forget

    def forget_late(self) -> None:
        """Remove values whose messages have stopped while joint states continue: they are out of date."""
        for key, (at, interval, forget) in list(self._kept.items()):
            if self.snapshot.time - at > max(DATA_AGE, MISSED * interval):
                del self._kept[key]
                forget()

    def _forget(self, name: str) -> None:
        setattr(self.snapshot, name, None)

    def _wheel(self, name: str) -> Callable[[Any], None]:
        forget = partial(self.snapshot.forces.pop, name, None)

        def take(msg: Any) -> None:
            force = msg.wrench.force
            self.snapshot.forces[name] = (float(force.x), float(force.y), float(force.z))
            self._keep(f'force/{name}', forget)

        return take

    def _friction_use(self, name: str) -> Callable[[Any], None]:
        forget = partial(self.snapshot.friction_use.pop, name, None)

        def take(msg: Any) -> None:
            self.snapshot.friction_use[name] = float(msg.data)
            self._keep(f'friction_use/{name}', forget)

        return take

    def _margin(self, name: str) -> Callable[[Any], None]:
        margin = self.snapshot.margins.setdefault(name, Margin(levels=self._levels.get(name)))

        def forget() -> None:
            margin.value = float('nan')

        def take(msg: Any) -> None:
            margin.value = float(msg.data)
            self._keep(f'margin/{name}', forget)

        return take

    def _edges(self, name: str) -> Callable[[Any], None]:
        margin = self.snapshot.margins.setdefault(name, Margin(levels=self._levels.get(name)))

        def forget() -> None:
            margin.edges = margin.names = ()

        def take(msg: Any) -> None:
            self._keep(f'edges/{name}', forget)
            margin.edges = tuple(float(value) for value in msg.data)
            label = msg.layout.dim[0].label if msg.layout.dim else ''
            margin.names = tuple(label.split(',')) if label else ()

        return take

    def _pressure(self, name: str) -> Callable[[Any], None]:
        def take(msg: Any) -> None:
            if np.isfinite(msg.fluid_pressure):
                self.snapshot.pressures[name] = float(msg.fluid_pressure)
                self._pressure_at[name] = time.monotonic()

        return take

    def forget_old(self, now: float) -> None:
        """Remove pressures that have timed out at a wall time, s, from the snapshot: levers depend on them."""
        for name, at in list(self._pressure_at.items()):
            if now - at > PRESSURE_AGE:
                del self._pressure_at[name]
                self.snapshot.pressures.pop(name, None)

    def _polygon(self, msg: Any) -> None:
        self.snapshot.polygon = np.array([(p.x, p.y, p.z) for p in msg.polygon.points], dtype=np.float64)
        self._keep('polygon', partial(self._forget, 'polygon'))

    def _center_of_mass(self, msg: Any) -> None:
        self.snapshot.center_of_mass = (msg.point.x, msg.point.y, msg.point.z)
        self._keep('center_of_mass', partial(self._forget, 'center_of_mass'))

    def _zmp(self, msg: Any) -> None:
        self.snapshot.zmp = (msg.point.x, msg.point.y, msg.point.z)
        self._keep('zmp', partial(self._forget, 'zmp'))

    def _payload(self, msg: Any) -> None:
        if np.isfinite(msg.data):
            self.snapshot.payload = float(msg.data)

    def _payload_interval(self, msg: Any) -> None:
        if len(msg.data) >= 2 and np.isfinite(msg.data[:2]).all():
            self.snapshot.weighed = float(msg.data[0]), float(msg.data[1])
            self._keep('weighed', partial(self._forget, 'weighed'))

    def _load_moment(self, topic: str) -> Callable[[Any], None]:
        def take(msg: Any) -> None:
            if topic != LOAD_MOMENT[0] and self._load_topic == LOAD_MOMENT[0]:
                return
            self._load_topic, values = topic, {pair.key: pair.value for pair in msg.values}
            numbers = ('utilisation', 'rated load', 'payload', 'tipping load', 'rated share')
            percent, rated, mass, tipping, share = (_number(values.get(key, '')) for key in numbers)
            edge = values.get('edge', '').replace('_', ' ')
            self.snapshot.load = Load(percent / 100.0, rated, mass, edge, tipping, share)
            self._keep('load', partial(self._forget, 'load'))

        return take

    def _allowance(self, name: str) -> Callable[[Any], None]:
        forget = partial(self.snapshot.allowance.pop, name, None)

        def take(msg: Any) -> None:
            self.snapshot.allowance[name] = float(msg.data)
            self._keep(f'allowance/{name}', forget)

        return take

    def _governor(self, msg: Any) -> None:
        values = {pair.key: pair.value for pair in msg.values}
        held = tuple(name for name in values.get('held back', '').split(', ') if name)
        is_holding, is_override = (msg.message.startswith(text) for text in ('holding back', 'override: '))
        scale = _number(values.get('scale', ''))
        self.snapshot.governor = GovernorState(
            msg.message,
            not (is_holding or is_override) and _level(msg) >= WARN,
            held if is_holding else (),
            scale,
            is_override,
        )

    def _stop(self, msg: Any) -> None:
        self.snapshot.stop = {name: float(at) for name, at in zip(msg.name, msg.position) if np.isfinite(at)}
        self._keep('stop', self._forget_stop)

    def _forget_stop(self) -> None:
        self.snapshot.stop = {}

    def _command(self, msg: Any) -> None:
        self.commanded = time.monotonic()

    # -- events and diagnostics --------------------------------------------------------------------------------------

    def _event(self, msg: Any) -> None:
        kind = msg.name.rpartition(': ')[2]
        if kind in ('overturned', 'reset'):
            self.snapshot.overturned = kind == 'overturned'
        text = f'{kind}: {msg.message}'
        stamp = _number(next((pair.value for pair in msg.values if pair.key == 'time'), ''))
        self.connection.happened(text.replace('_', ' '), time.monotonic(), stamp if np.isfinite(stamp) else None)

    def _take_levels(self, status: Any, node: str) -> None:
        """Store the alarm levels of the margins: of the connected node, or of another one while it has none."""
        watched = node == self.connection.source.rpartition('/')[2]
        for name, levels in levels_of_values((pair.key, pair.value) for pair in status.values).items():
            topic = measure_of(name).topic
            if watched or topic not in self._levels:
                self._levels[topic] = levels
                if topic in self.snapshot.margins:
                    self.snapshot.margins[topic].levels = levels

    def _diagnostics(self, msg: Any) -> None:
        for status in msg.status:
            node, _, subject = status.name.partition(': ')
            if subject == STATUS:
                self._take_levels(status, node.rpartition('/')[2])
            if node.rpartition('/')[2] != self.connection.source.rpartition('/')[2]:
                continue
            level = _level(status)
            if subject == 'simulation' and status.message == 'paused':
                self.connection.pause(time.monotonic())
            if subject in ('simulation', 'commands'):
                self._faults[subject] = status.message if level >= WARN else ''
                self.connection.fault = next((text for text in self._faults.values() if text), '')


def _level(status: Any) -> int:
    """Return the level of a DiagnosticStatus as a number."""
    return status.level[0] if isinstance(status.level, bytes) else int(status.level)


def _number(text: str) -> float:
    """Return the number of a text; NaN for any other text."""
    try:
        return float(text)
    except ValueError:
        return float('nan')
