"""Topics of the hydraulic actuator node: pressures, spool, flows and effort of every actuator."""

from __future__ import annotations

from typing import Any

from dyn_nodes.elements import actuator_elements
from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.exchange import set_stamp

FluidPressure = message('sensor_msgs/msg/FluidPressure')
Float64 = message('std_msgs/msg/Float64')


class HydraulicReports:
    """Publishers below `hydraulics/`, one for each quantity of each actuator.

    Args:
        node: the node.
        machine: the machine.
        qos: of the topics.
    """

    def __init__(self, node: Any, machine: Machine, qos: Any) -> None:
        self._pressures: list[tuple[str, Any, Any]] = []
        self._numbers: list[tuple[str, Any, Any]] = []
        for actuator in actuator_elements(machine):
            for quantity in actuator.reported:
                kind, into = (FluidPressure, self._pressures) if quantity.unit == 'Pa' else (Float64, self._numbers)
                name = f'{actuator.name}/{quantity.name}'
                into.append((name, node.create_publisher(kind, f'hydraulics/{name}', qos), kind()))

    def publish(self, stamp: int, outputs: dict[str, float]) -> None:
        """Publish the outputs of an instant (ns)."""
        for name, publisher, text in self._pressures:
            set_stamp(text, stamp)
            text.fluid_pressure = outputs[name]
            publisher.publish(text)
        for name, publisher, text in self._numbers:
            text.data = outputs[name]
            publisher.publish(text)
