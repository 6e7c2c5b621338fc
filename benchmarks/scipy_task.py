"""The reference task as a user of Pinocchio and SciPy would write it: the peer of `task_against_scipy`.

Rigid bodies by `pinocchio.aba`; wheels, LuGre friction, valves, cylinders and motor in plain Python on floats, which is
faster than NumPy for so few numbers; `scipy.integrate.solve_ivp`. The equations are of the machine's elements
(abo-shanab-2003 with the corrections of its specification), written anew: nothing of ours is called while it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, exp, sin, sqrt
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.model import Machine
from dyn_nodes.model.machine import CylinderActuator, MotorActuator, Supply, Valve, Wheel

Array = np.ndarray
STOP_TRAVEL, STOP_DAMPING = 5e-3, 2.0  # end stops of the cylinders, m, s/m
VOID_ROOT = sqrt(1e5)  # Pa^(1/2)
POSITIONS, RATES, BRISTLES, OIL = slice(0, 10), slice(10, 19), 19, 27


def shared_flow(supply: Supply, inlet_area: float, bypass_area: float, pressure: float) -> float:
    """Return the flow of the constant-flow pump through the inlet orifice and its load check, m3/s."""
    flow, k = supply.flow, supply.orifice_coefficient
    inlet, bypass = k * inlet_area, k * bypass_area
    if inlet == 0.0:
        return 0.0
    load = pressure - supply.tank_pressure
    root = sqrt(max(flow * flow + (inlet * inlet - bypass * bypass) * load, 1e-24))
    entering = inlet * (flow * root - inlet * bypass * load) / (flow * bypass + inlet * root + 1e-24)
    headroom = max(supply.relief_pressure - pressure, 0.0)
    relieved = inlet * headroom / sqrt(headroom + supply.smoothing)
    return min(max(min(entering, relieved), 0.0), flow)


def valve_flows(valve: Valve, supply: Supply, spool: float, first: float, second: float) -> tuple[float, float]:
    """Return the flows into the two lines, m3/s."""
    displacement = abs(spool)
    opening = max(displacement - valve.dead_zone, 0.0)
    bypass = max(valve.bypass_area * (1.0 - displacement / valve.bypass_stroke), 0.0)
    fed, drained = (first, second) if spool >= 0.0 else (second, first)
    entering = shared_flow(supply, valve.inlet_gain * opening, bypass, fed)
    drop = drained - supply.tank_pressure
    leaving = supply.orifice_coefficient * valve.outlet_gain * opening * drop / sqrt(abs(drop) + supply.smoothing)
    return (entering, -leaving) if spool >= 0.0 else (-leaving, entering)


def makeup(supply: Supply, pressure: float) -> float:
    """Return the make-up flow from the tank into a line, m3/s."""
    if pressure >= supply.tank_pressure:
        return 0.0
    conductance = supply.orifice_coefficient * supply.makeup_area
    shortage = supply.tank_pressure - pressure
    void = conductance / VOID_ROOT * max(-pressure, 0.0)
    return conductance * shortage / sqrt(shortage + supply.smoothing) + void


def protection(supply: Supply, pressure: float) -> float:
    """Return the flow of a line, m3/s: in through its make-up check or, negative, out through its relief valve."""
    excess = pressure - supply.line_relief_pressure
    if excess <= 0.0:
        return makeup(supply, pressure)
    return -supply.orifice_coefficient * supply.line_relief_area * excess / sqrt(excess + supply.smoothing)


def spool_rate(valve: Valve, spool: float, volts: float) -> float:
    """Return the speed of the spool, m/s."""
    reach = min(valve.gain * valve.voltage_limit, valve.spool_limit)
    return (min(max(valve.gain * volts, -reach), reach) - spool) / valve.time_constant


def cylinder(
    actuator: CylinderActuator, head: float, rod: float, spool: float, q: float, qd: float
) -> tuple[float, float, float]:
    """Return the rates of both pressures, Pa/s, and the effort at the joint, N m."""
    pins, supply = actuator.linkage, actuator.supply
    angle = pins.angle + pins.direction * q
    length = sqrt(pins.a**2 + pins.b**2 - 2.0 * pins.a * pins.b * cos(angle))
    lever = pins.direction * pins.a * pins.b * sin(angle) / length
    piston, speed = length - pins.retracted_length, lever * qd
    first, second = valve_flows(actuator.valve, supply, spool, head, rod)
    head_flow, rod_flow = first + protection(supply, head), second + protection(supply, rod)
    beyond = piston - min(max(piston, 0.0), pins.stroke)
    stiffness = supply.line_relief_pressure * actuator.head_area / STOP_TRAVEL
    force = head * actuator.head_area - rod * actuator.rod_area - actuator.viscous * speed
    force -= stiffness * (beyond + STOP_DAMPING * speed * abs(beyond))
    head_rate = (head_flow - actuator.head_area * speed) / (actuator.head_volume + actuator.head_area * piston)
    rod_rate = (rod_flow + actuator.rod_area * speed) / (actuator.rod_volume - actuator.rod_area * piston)
    return supply.bulk_modulus * head_rate, supply.bulk_modulus * rod_rate, force * lever


def motor(actuator: MotorActuator, a: float, b: float, spool: float, qd: float) -> tuple[float, float, float]:
    """Return the rates of both pressures, Pa/s, and the torque at the joint, N m."""
    supply = actuator.supply
    first, second = valve_flows(actuator.valve, supply, spool, a, b)
    excess = (a - b) - min(max(a - b, -supply.line_relief_pressure), supply.line_relief_pressure)
    crossing = supply.orifice_coefficient * supply.line_relief_area * excess / sqrt(abs(excess) + supply.smoothing)
    swept = actuator.displacement * qd
    stiffness = supply.bulk_modulus / actuator.line_volume
    a_rate = stiffness * (first + makeup(supply, a) - crossing - swept)
    b_rate = stiffness * (second + makeup(supply, b) + crossing + swept)
    return a_rate, b_rate, actuator.displacement * (a - b) - actuator.viscous * qd


def lugre(wheel: Wheel, slip: float, bristle: float, load: float) -> tuple[float, float]:
    """Return the friction on the body, N, and the bristle's rate, m/s."""
    law: Any = wheel.friction
    speed = abs(slip)
    eta = law.kinetic + (law.static - law.kinetic) * exp(-(((speed + 1e-12) / law.stribeck_speed) ** 0.5))
    rate = slip - speed * law.bristle_stiffness * bristle / eta
    return -load * (law.bristle_stiffness * bristle + law.bristle_damping * rate + law.viscous * slip), rate


@dataclass
class Peer:
    """The log-loader with its payload in Pinocchio, with separately written elements.

    Attributes:
        pin: the module.  model: with a free-flyer base.  machine: source of the parameters.
        voltages: t -> volts of the actuators in the machine's order.
    """

    pin: Any
    model: Any
    machine: Machine
    voltages: Callable[[float], list[float]]

    def __post_init__(self) -> None:
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(j.name)] for j in self.machine.movable_joints]
        self.names = [joint.name for joint in self.machine.movable_joints]
        self.damping = [joint.damping for joint in self.machine.movable_joints]
        self.joint_of = [self.names.index(actuator.joint) for actuator in self.machine.actuators]
        self.order = np.array([3, 4, 5, 0, 1, 2, *(joint.idx_v for joint in self.joints)])
        self.calls = 0
        self._q, self._v, self._tau = np.zeros(self.model.nq), np.zeros(self.model.nv), np.zeros(self.model.nv)

    def add_payload(self) -> None:
        """Add the payload to the link that carries it."""
        payload: Any = self.machine.payload
        frame = self.model.frames[self.model.getFrameId(payload.link)]
        position = frame.placement.act(np.array(payload.position, dtype=float))
        self.model.inertias[frame.parentJoint] += self.pin.Inertia(payload.mass, position, np.zeros((3, 3)))
        self.data = self.model.createData()

    def ground(self, x: list[float], rates: list[float]) -> tuple[float, ...]:
        """Return force and moment of the ground in the frame of the base, and write the bristles' rates."""
        qx, qy, qz, qw = x[3:7]
        scale = 1.0 / sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
        qx, qy, qz, qw = qx * scale, qy * scale, qz * scale, qw * scale
        r00, r01, r02 = 1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qz * qw), 2 * (qx * qz + qy * qw)
        r10, r11, r12 = 2 * (qx * qy + qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qx * qw)
        r20, r21, r22 = 2 * (qx * qz - qy * qw), 2 * (qy * qz + qx * qw), 1 - 2 * (qx * qx + qy * qy)
        wx, wy, wz, vx, vy, vz = x[10:16]
        ox, oy = r00 * wx + r01 * wy + r02 * wz, r10 * wx + r11 * wy + r12 * wz  # angular velocity in the world
        norm = 1.0 / sqrt(max(r00 * r00 + r10 * r10, 1e-12))
        lx, ly = r00 * norm, r10 * norm  # heading on the plane; lateral is (-ly, lx)
        fx = fy = fz = mx = my = mz = 0.0
        for k, wheel in enumerate(self.machine.wheels):
            px, py, pz = wheel.position
            bx, by, bz = vx + wy * pz - wz * py, vy + wz * px - wx * pz, vz + wx * py - wy * px
            ax, ay = r00 * px + r01 * py + r02 * pz, r10 * px + r11 * py + r12 * pz
            az = r20 * px + r21 * py + r22 * pz
            sx, sy, sz = r00 * bx + r01 * by + r02 * bz, r10 * bx + r11 * by + r12 * bz, r20 * bx + r21 * by + r22 * bz
            height = x[2] + az
            along, across, arm = lx * sx + ly * sy, lx * sy - ly * sx, az
            if wheel.friction_point == 'ground':
                along -= height * (lx * oy - ly * ox)
                across += height * (lx * ox + ly * oy)
                arm -= height
            compression = wheel.free_length - height
            load = max(wheel.stiffness * compression - wheel.damping * sz, 0.0) if compression > 0.0 else 0.0
            forward, rates[BRISTLES + 2 * k] = lugre(wheel, along, x[BRISTLES + 2 * k], load)
            left, rates[BRISTLES + 2 * k + 1] = lugre(wheel, across, x[BRISTLES + 2 * k + 1], load)
            gx, gy = forward * lx - left * ly, forward * ly + left * lx
            fx, fy, fz = fx + gx, fy + gy, fz + load
            mx, my, mz = mx + ay * load - arm * gy, my + arm * gx - ax * load, mz + ax * gy - ay * gx
        rates[3] = 0.5 * (qw * wx + qy * wz - qz * wy)
        rates[4] = 0.5 * (qw * wy + qz * wx - qx * wz)
        rates[5] = 0.5 * (qw * wz + qx * wy - qy * wx)
        rates[6] = -0.5 * (qx * wx + qy * wy + qz * wz)
        rates[0], rates[1] = r00 * vx + r01 * vy + r02 * vz, r10 * vx + r11 * vy + r12 * vz
        rates[2] = r20 * vx + r21 * vy + r22 * vz
        self._q[:7] = x[0], x[1], x[2], qx, qy, qz, qw
        return (
            r00 * fx + r10 * fy + r20 * fz,
            r01 * fx + r11 * fy + r21 * fz,
            r02 * fx + r12 * fy + r22 * fz,
            r00 * mx + r10 * my + r20 * mz,
            r01 * mx + r11 * my + r21 * mz,
            r02 * mx + r12 * my + r22 * mz,
        )

    def rhs(self, t: float, state: Array) -> list[float]:
        """Return dx/dt. The order of the state equals ours, for comparison."""
        self.calls += 1
        x = state.tolist()
        rates = [0.0] * len(x)
        wrench = self.ground(x, rates)
        efforts = [-d * speed for d, speed in zip(self.damping, x[16:19])]
        volts = self.voltages(t)
        for k, (actuator, joint) in enumerate(zip(self.machine.actuators, self.joint_of)):
            index = OIL + 3 * k
            spool, first, second = x[index : index + 3]
            if isinstance(actuator, CylinderActuator):
                terms = cylinder(actuator, first, second, spool, x[7 + joint], x[16 + joint])
            else:
                terms = motor(actuator, first, second, spool, x[16 + joint])
            rates[index], rates[index + 1], rates[index + 2] = spool_rate(actuator.valve, spool, volts[k]), *terms[:2]
            efforts[joint] += terms[2]
        for joint, angle in zip(self.joints, x[7:10]):
            index = joint.idx_q
            if joint.nq == 1:
                self._q[index] = angle
            else:
                self._q[index], self._q[index + 1] = cos(angle), sin(angle)
        self._v[self.order] = state[RATES]
        # the wrench at the base is the effort of its free flyer: no external forces needed
        self._tau[:6], self._tau[self.order[6:]] = wrench, efforts
        acceleration = self.pin.aba(self.model, self.data, self._q, self._v, self._tau)
        rates[7:10] = x[16:19]
        rates[RATES] = acceleration[self.order].tolist()
        return rates

    def run(
        self, start: Array, times: Array, method: str, rtol: float, atol: Array, say: Callable[[str], None]
    ) -> tuple[Array, float]:
        """Return the states (t, n) at `times` and the processor time, s; report progress every five seconds."""
        self.calls = 0
        begun = reported = time.perf_counter()

        def watched(t: float, x: Array) -> list[float]:
            nonlocal reported
            if self.calls % 1024 == 0 and time.perf_counter() > reported + 5.0:
                reported = time.perf_counter()
                say(f'peer: {t:.1f} of {times[-1]:g} s simulated in {reported - begun:.0f} s')
            return self.rhs(t, x)

        used = time.process_time()
        span = (float(times[0]), float(times[-1]))
        answer = solve_ivp(watched, span, start, method=method, t_eval=times, rtol=rtol, atol=atol, max_step=0.1)
        seconds = time.process_time() - used
        if not answer.success:
            raise ValueError(f'the peer failed: {answer.message}')
        return answer.y.T, seconds


def build_peer(machine: Machine, urdf: str, knots: Array, volts: Array) -> Peer:
    """Return the peer. `volts` (k, n) at `knots` (k,), in the order of the machine's actuators, linear between them."""
    import pinocchio as pin

    columns = volts.T

    def voltages(t: float) -> list[float]:
        return [float(np.interp(t, knots, column)) for column in columns]

    peer = Peer(pin, pin.buildModelFromUrdf(urdf, pin.JointModelFreeFlyer()), machine, voltages)
    if machine.payload is not None and machine.payload.mass > 0.0:
        peer.add_payload()
    return peer
