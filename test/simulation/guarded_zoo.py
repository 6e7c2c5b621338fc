"""Run machines of this package for a few steps with guarded machine code: `python guarded_zoo.py NAME...`."""

from __future__ import annotations

import sys

import numpy as np

from dyn_nodes.common.loops import guarded
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation.plant import Plant

STEPS = 5


def exercise(name: str) -> None:
    """Start a machine like dynamics_node, let it move, and read all outputs."""
    machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    plant = Plant(machine, 'effort', 2e-3, 1e-3)
    plant.warm_up()
    plant.set_efforts(plant.holding_efforts())
    for _ in range(STEPS):
        plant.advance()
        assert np.isfinite(plant.positions).all(), name
        assert np.isfinite(plant.outputs()).any(), name
    plant.servo_efforts(plant.positions, np.zeros(len(plant.joints)))
    if machine.actuators:
        from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem

        oil = ActuatorSystem(machine)
        n = len(oil.names)
        q = np.array([machine.initial.joint_positions.get(joint, 0.0) for joint in oil.joints])
        oil.start(q, np.zeros(n))
        oil.advance(2e-3, q, np.zeros(n), np.zeros(n), np.full(n, 0.5))


if __name__ == '__main__':
    assert guarded()
    for machine_name in sys.argv[1:]:
        exercise(machine_name)
        print(machine_name, flush=True)
