"""Actuator node of valves, cylinders and hydraulic motors: joint states and voltages in, joint efforts out.

    dyn-nodes run hydraulic_actuator_node --ros-args -p machine:=log_loader

A machine with valves and motors needs either this node or electric_actuator_node.
"""

from __future__ import annotations

import sys

from dyn_nodes.nodes.actuators import ActuatorNode
from dyn_nodes.nodes.parameters import node_parameters
from dyn_nodes.nodes.running import run_node
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem

PARAMETERS = node_parameters('hydraulic_actuator_node')


class HydraulicActuatorNode(ActuatorNode):
    """Answers joint states with the efforts of hydraulics and all other actuators of the machine."""

    node_name = 'hydraulic_actuator_node'
    declared = PARAMETERS
    status = 'hydraulics'
    content = 'the oil'
    neutral = 'spools to neutral'

    def _tune(self, system: ActuatorSystem) -> None:
        system.set_parameter('bulk_modulus_scale', float(self.values['bulk_modulus_scale']))


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('hydraulic_actuator_node', HydraulicActuatorNode, args)


if __name__ == '__main__':
    sys.exit(main())
