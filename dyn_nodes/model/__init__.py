"""Machine data: links, joints, wheels, actuators and payload, read from files into one validated `Machine`."""

from dyn_nodes.model.load import LoadReport, load_machine, load_machine_report
from dyn_nodes.model.machine import (
    Actuator,
    Base,
    CylinderActuator,
    InitialState,
    Joint,
    Link,
    LuGre,
    Machine,
    MotorActuator,
    Payload,
    PinTriangle,
    SharedPump,
    SlidingRod,
    Supply,
    Valve,
    Wheel,
)
from dyn_nodes.model.problems import MachineError, Problem

__all__ = [
    'load_machine',
    'load_machine_report',
    'LoadReport',
    'Machine',
    'MachineError',
    'Problem',
    'Link',
    'Joint',
    'Base',
    'Wheel',
    'LuGre',
    'Actuator',
    'CylinderActuator',
    'MotorActuator',
    'PinTriangle',
    'SlidingRod',
    'SharedPump',
    'Valve',
    'Supply',
    'Payload',
    'InitialState',
]
