"""What the hydraulic actuator node tells of every actuator: pressures, spool, flows, efforts."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.model.machine import CylinderActuator
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
        for actuator in machine.actuators:
            is_cylinder = isinstance(actuator, CylinderActuator)
            lines = ('head_pressure', 'rod_pressure') if is_cylinder else ('pressure_a', 'pressure_b')
            for quantity in (*lines, 'supply_pressure'):
                name = f'{actuator.name}/{quantity}'
                publisher = node.create_publisher(FluidPressure, f'hydraulics/{name}', qos)
                self._pressures.append((name, publisher, FluidPressure()))
            for quantity in ('spool', 'flow_a', 'flow_b', 'effort', *(('force',) if is_cylinder else ())):
                name = f'{actuator.name}/{quantity}'
                publisher = node.create_publisher(Float64, f'hydraulics/{name}', qos)
                self._numbers.append((name, publisher, Float64()))

    def publish(self, stamp: int, outputs: dict[str, float]) -> None:
        """Publish the outputs of an instant (ns)."""
        for name, publisher, text in self._pressures:
            set_stamp(text, stamp)
            text.fluid_pressure = outputs[name]
            publisher.publish(text)
        for name, publisher, text in self._numbers:
            text.data = outputs[name]
            publisher.publish(text)
