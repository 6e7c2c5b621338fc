"""The log-loader's reference tasks (specification, section 3) and functions to run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.simulation import Inputs, Settings, initial_state

ROOT = Path(__file__).resolve().parents[1]
URDF, CONFIG = ROOT / 'urdf' / 'log_loader.urdf', ROOT / 'config' / 'log_loader.yaml'
PAYLOAD = 5100.0
WEIGHT = 9.81 * (17481.0 + PAYLOAD)
WHEELS = ('front_right', 'front_left', 'rear_right', 'rear_left')


def trapezoids(*pulses):
    """Return times and values of successive pulses (start, end, height, ramp): `trap` in the specification."""
    points = [(0.0, 0.0)]
    for start, end, height, ramp in pulses:
        for point in ((start, 0.0), (start + ramp, height), (end - ramp, height), (end, 0.0)):
            if point != points[-1]:
                points.append(point)
    return np.array(points).T


def voltages(boom, stick):
    """Return the inputs of two sequences of pulses; the swing valve stays neutral."""
    profiles = {'boom/voltage': trapezoids(*boom), 'stick/voltage': trapezoids(*stick)}
    knots = np.union1d(*(times for times, _ in profiles.values()))
    return Inputs(knots, {name: np.interp(knots, *profile) for name, profile in profiles.items()})


REACH, RECOVER = ((5.0, 8.8, -5.0, 0.6), (5.0, 8.8, -5.5, 0.6)), ((8.8, 11.8, 4.5, 0.6), (8.8, 11.8, 4.0, 0.6))
FAST_REACH, FAST_RECOVER = (
    ((5.0, 7.2, -5.5, 0.3), (5.0, 7.2, -6.0, 0.3)),
    ((7.4, 10.4, 4.5, 0.3), (7.4, 10.4, 5.0, 0.3)),
)
P3D = voltages((REACH[0], RECOVER[0]), (REACH[1], RECOVER[1]))
P3D_NO_RECOVERY = voltages((REACH[0],), (REACH[1],))
P3D_FAST = voltages((FAST_REACH[0], FAST_RECOVER[0]), (FAST_REACH[1], FAST_RECOVER[1]))
P3D_FAST_NO_RECOVERY = voltages((FAST_REACH[0],), (FAST_REACH[1],))
STILL = Inputs.constant()


def run(system, inputs, end, values=None, spacing=0.01, settings=None):
    """Settle, then run to `end`; return the run."""
    p = system.parameters(values)
    times = np.linspace(0.0, end, round(end / spacing) + 1)
    return system.run(initial_state(system, p), times, inputs, p, settings or Settings(step=5e-4))


def peak_tilt(system, inputs, end, values=None):
    """Return the greatest tilt in degrees, or None if the machine overturned."""
    result = run(system, inputs, end, values)
    return None if result.overturned else float(np.rad2deg(result.output('tilt').max()))


def wheel_loads(result):
    """Return the normal forces (4, t), N."""
    return np.array([result.output(f'{wheel}/normal_force') for wheel in WHEELS])


def locked(machine, name, positions=None):
    """Return the machine as one rigid body: every joint fixed at a position (rad)."""
    joints = []
    for joint in machine.joints:
        turn = np.eye(4)
        turn[:3, :3] = Rotation.from_rotvec(joint.axis * (positions or {}).get(joint.name, 0.0)).as_matrix()
        joints.append(replace(joint, type='fixed', origin=joint.origin @ turn))
    return replace(machine, name=name, joints=tuple(joints), actuators=())
