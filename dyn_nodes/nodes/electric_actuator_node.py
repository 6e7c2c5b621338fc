"""Actuator node of electric motors with their gears: joint states and voltages in, joint efforts out.

    dyn-nodes run electric_actuator_node --ros-args -p machine:=stewart_platform

A machine with valves and motors needs either this node or hydraulic_actuator_node.
"""

from __future__ import annotations

import sys

from dyn_nodes.model.actuators import electric_motors
from dyn_nodes.nodes.actuators import ActuatorNode
from dyn_nodes.nodes.parameters import ParameterError, node_parameters
from dyn_nodes.nodes.running import run_node

PARAMETERS = node_parameters('electric_actuator_node')


class ElectricActuatorNode(ActuatorNode):
    """Answers joint states with the efforts of motors and all other actuators of the machine."""

    node_name = 'electric_actuator_node'
    declared = PARAMETERS
    status = 'motors'
    content = 'the current'
    neutral = 'motors to 0 V'

    def _check_machine(self) -> None:
        if not electric_motors(self.machine.actuators):
            raise ParameterError(f'machine {self.machine.name!r} has no electric motors')


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('electric_actuator_node', ElectricActuatorNode, args)


if __name__ == '__main__':
    sys.exit(main())
