"""A planar arm of two joints on electric motors, and its motion under held voltages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.assembly import Assembly

URDF = """<robot name="reacher">
  <link name="post"/>
  <link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="6"/>
    <inertia ixx="0.02" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>
    <inertia ixx="0.01" iyy="0.06" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="post"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="3"/></joint>
  <joint name="wrist" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0.5 0 0"/></joint>
</robot>
"""
MOTOR = """{type: dc_motor, joint: %s, torque_constant: 0.1, resistance: 0.6, inductance: %g, gear_ratio: %s,
    rotor_inertia: 5.0e-5, rotor_damping: 2.0e-5, voltage_limit: 48, current_limit: 15}"""
HOLD, STEPS = 0.01, 40
START = {'shoulder': -0.5, 'elbow': 1.0}


def reacher(folder: Path, inductance: float = 6e-4, motors: tuple[str, ...] = ('second', 'first')) -> Machine:
    """Write the files of the arm and return it; the first motor moves the shoulder, the second one the elbow."""
    lines = {
        'first': f'  first: {MOTOR % ("shoulder", inductance, 100)}\n',
        'second': f'  second: {MOTOR % ("elbow", inductance, 60)}\n',
    }
    start = ', '.join(f'{name}: {value}' for name, value in START.items())
    (folder / 'reacher.urdf').write_text(URDF)
    (folder / 'reacher.yaml').write_text(
        f'initial: {{joint_positions: {{{start}}}}}\nactuators:\n' + ''.join(lines[name] for name in motors)
    )
    return load_machine(folder / 'reacher.urdf', folder / 'reacher.yaml')


def advance_of(machine: Machine) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the step of positions and rates of shoulder and elbow and of the currents over one hold of voltages."""
    plant = Assembly(machine, 'hydraulic')
    rhs = ca.Function('rhs', [plant.x, plant.u], [ca.substitute(plant.rhs, plant.p, plant.default_parameters())])
    x, u, h = ca.SX.sym('x', plant.x.numel()), ca.SX.sym('u', plant.u.numel()), HOLD / STEPS
    k1 = rhs(x, u)
    k2 = rhs(x + h / 2 * k1, u)
    k3 = rhs(x + h / 2 * k2, u)
    k4 = rhs(x + h * k3, u)
    step = ca.Function('step', [x, u], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])

    def run(state: np.ndarray, volts: np.ndarray) -> np.ndarray:
        for _ in range(STEPS):
            state = np.array(step(state, volts)).ravel()
        return state

    return run
