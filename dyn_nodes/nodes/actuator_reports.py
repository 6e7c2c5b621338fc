"""Topics of an actuator node: pressures, currents, flows and efforts of every actuator."""

from __future__ import annotations

from typing import Any

from dyn_nodes.elements import actuator_elements
from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.stamps import packed_stamp

FluidPressure = message('sensor_msgs/msg/FluidPressure')
Float64 = message('std_msgs/msg/Float64')


class ActuatorReports:
    """Publishers below `hydraulics/` or `motors/`, one for each quantity of each actuator.

    Args:
        node: the node.
        machine: the machine.
        qos: of the topics.

    Attributes:
        publishers: `<actuator>/<quantity>` and its publisher.
    """

    def __init__(self, node: Any, machine: Machine, qos: Any) -> None:
        self.publishers: list[tuple[str, PreparedPublisher]] = []
        for kind, field in ((FluidPressure, 'fluid_pressure'), (Float64, 'data')):
            for actuator in actuator_elements(machine):
                for quantity in actuator.reported:
                    if (quantity.unit == 'Pa') == (kind is FluidPressure):
                        name = f'{actuator.name}/{quantity.name}'
                        publisher = node.create_publisher(kind, f'{actuator.topic}/{name}', qos)
                        self.publishers.append((name, PreparedPublisher(publisher, kind(), field)))

    def publish(self, nanoseconds: int, outputs: dict[str, float]) -> None:
        """Publish the outputs of an instant."""
        stamp = packed_stamp(nanoseconds)
        for name, publisher in self.publishers:
            publisher.publish(stamp, (outputs[name],))
