"""Machines on pivoted axles, for tests of the governor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.constraint import JointClass
from dyn_nodes.model.locking import parked
from dyn_nodes.model.machine import Joint, Link, Machine

FRONT, REAR = ('front_left', 'front_right'), ('rear_left', 'rear_right')
AXLE_MASS, PIVOT_HEIGHT = 700.0, 0.7
"""Mass of an axle, kg; height of its pivot above the ground, m."""


def effort_machine(name: str) -> Machine:
    """Return a parked machine of the package without actuators."""
    machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    return parked(replace(machine, actuators=()))


def on_axles(machine: Machine, *axles: tuple[str, ...], limit: float = 0.2) -> Machine:
    """Return the log-loader with pairs of wheels on pivoted axles, whose masses are taken from its base."""
    base = machine.link(machine.base.link)
    wheels = {wheel.name: wheel for wheel in machine.wheels}
    links, joints, classes = [], [], []
    for pair in axles:
        name = f'{pair[0]}_axle'
        pivot = np.mean([wheels[wheel].position for wheel in pair], axis=0)
        pivot[2] = PIVOT_HEIGHT - 1.5
        origin = np.eye(4)
        origin[:3, 3] = pivot
        links.append(Link(name, AXLE_MASS, np.array([0.0, 0.0, -0.1]), np.diag([300.0, 50.0, 300.0])))
        joints.append(
            Joint(f'{name}_joint', 'revolute', base.name, name, origin, np.array([1.0, 0.0, 0.0]), -limit, limit)
        )
        classes.append(JointClass(joints[-1].name, 'free'))
        for wheel in pair:
            wheels[wheel] = replace(wheels[wheel], link=name, position=wheels[wheel].position - pivot)
    lighter = replace(base, mass=base.mass - AXLE_MASS * len(axles))
    return replace(
        machine,
        name=f'{machine.name}_on_axles',
        links=(lighter, *machine.links[1:], *links),
        joints=(*machine.joints, *joints),
        wheels=tuple(wheels.values()),
        joint_classes=(*machine.joint_classes, *classes),
    )
