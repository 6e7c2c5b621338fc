"""Topics of the hands of the dynamics node: states and mobility out, wrenches of the held objects in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.exchange import command_qos
from dyn_nodes.nodes.grasp_messages import (
    Float64MultiArray,
    Odometry,
    WrenchStamped,
    mobility_message,
    read_wrench,
    state_message,
    write_mobility,
    write_state,
)
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of, nanoseconds_of_stamp
from dyn_nodes.simulation.plant import Plant


class GraspExchange:
    """Topics of the hands of a machine.

    An instant is answered when the wrenches on all hands that hold an object in lockstep (`held`) were received.
    Wrenches on other hands act from their receipt until the next one.

    Args:
        node: the node.
        plant: the machine.
        held: names of the hands that wait for the wrench of every instant.
        world: frame of the ground plane.
        answered: called when all wrenches of the present instant were received.
        fixed: names of the hands with a fixed grasp, which transmit torques.

    Raises:
        ParameterError: the machine has no such hand.
    """

    def __init__(
        self,
        node: Any,
        plant: Plant,
        held: Sequence[str],
        world: str,
        answered: Callable[[], None],
        fixed: Sequence[str] = (),
    ) -> None:
        self.node, self.plant, self.world, self.answered = node, plant, world, answered
        self.held = tuple(name for name in held if name)
        hands = [hand.name for hand in plant.machine.grasps]
        for name in self.held:
            if name not in hands:
                text = (
                    f"parameter 'held': expected hands of {plant.machine.name!r} ({', '.join(hands)}), found {name!r}"
                )
                raise ParameterError(text)
        qos, last = command_qos(bool(self.held)), command_qos(True)
        self._states = {name: node.create_publisher(Odometry, f'grasp_states/{name}', last) for name in hands}
        self._mobilities = {
            name: node.create_publisher(Float64MultiArray, f'grasp_mobility/{name}', last) for name in self._states
        }
        self._messages = {hand.name: state_message(world, hand.link) for hand in plant.machine.grasps}
        self._sizes = {name: 6 if name in fixed else 3 for name in self._states}
        self._mobility = {name: mobility_message(size) for name, size in self._sizes.items()}
        for name in self._states:
            node.create_subscription(WrenchStamped, f'grasp_wrenches/{name}', self._reader(name), qos)
        self.topics = tuple(node.resolve_topic_name(f'grasp_wrenches/{name}') for name in self.held)
        self._waiting: set[str] = set()

    def start_instant(self) -> None:
        """Publish the present motion of the hands and wait for the wrenches of this instant."""
        self._waiting = set(self.held)
        self.publish_states()

    def publish_states(self) -> None:
        """Publish the present motion of the hands."""
        now = nanoseconds_of(self.plant.time)
        for name, publisher in self._states.items():
            write_state(self._messages[name], self.plant.hands.state(name), now)
            publisher.publish(self._messages[name])

    def publish_mobility(self) -> None:
        """Publish the mobility of the hands under the efforts of this instant."""
        now = nanoseconds_of(self.plant.time)
        for name, publisher in self._mobilities.items():
            if name in self.held or publisher.get_subscription_count():
                write_mobility(self._mobility[name], self.plant.hands.mobility(name, self._sizes[name]), now)
                publisher.publish(self._mobility[name])

    def _reader(self, name: str) -> Callable[[Any], None]:
        topic = f'grasp_wrenches/{name}'

        def read(msg: Any) -> None:
            try:
                wrench = read_wrench(topic, msg, self.world)
                if name in self.held and not self._is_of_now(topic, msg):
                    return
            except RejectedError as error:
                self.node.reject(error)
                return
            if name not in self.held:
                self.plant.hands.set_wrench(name, wrench)
            elif name in self._waiting:
                self.plant.hands.set_wrench(name, wrench)
                self._waiting.discard(name)
                if not self._waiting:
                    self.answered()

        return read

    def _is_of_now(self, topic: str, msg: Any) -> bool:
        """Return whether a wrench answers the present instant. Raises RejectedError for a later instant."""
        stamp, now = nanoseconds_of_stamp(msg.header.stamp), nanoseconds_of(self.plant.time)
        if stamp > now:
            text = f'{topic}: expected the stamp of grasp_states, {now / NANO:.6f} s, found {stamp / NANO:.6f} s'
            raise RejectedError('stamp', text)
        return stamp == now
