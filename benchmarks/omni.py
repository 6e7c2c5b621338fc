"""Vehicles on omnidirectional wheels: torques between limits, and forward dynamics, against the peers.

    python benchmarks/omni.py [--quick]

Prints JSON, in us. `bench.py` runs it.

Torques: the vehicle with six wheels on path 3 of saha-1991, wheel 2 limited to 0.01 and wheel 6 to 0.025 N m; the
wrenches of 64 instants one after the other, a call each from Python: `TorqueDistribution` against OSQP (set up once,
bounds updated, warm start) and quadprog. Dynamics: the same vehicles in space on the ground, `MinimalSystem` against
`pinocchio.constraintDynamics`, where a wheel is a hub, a roller at its foot and a 3-D contact. Results are compared
first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pinocchio_contacts import constrained_call, point_contact
from benchmarks.timing import best_of
from dyn_nodes.analysis.omni_config import OmniMachine, load_omni_machine
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.platform_path import LinesAndCurve
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.formulations.minimal_system import MinimalSystem
from dyn_nodes.studies.saha_1991.wheeled_vehicles import omni_vehicle

LIMITS = {'wheel_2': 0.01, 'wheel_6': 0.025}
INSTANTS = 64
ACCURACY = 1e-5  # accuracy of the peers' torques, N m: a thousandth of the lower limit
OSQP = {'eps_abs': 1e-5, 'eps_rel': 1e-5, 'verbose': False}  # the loosest powers of ten with that accuracy
ROLLER_INERTIA = 1e-10  # kg m2, of Pinocchio's rollers: must not be 0; the source's rollers belong to the hub
PROXIMAL = ((1e-10, 1e-8, 50), (1e-10, 1e-4, 50))  # accuracy, regularization, most iterations; the faster one counts
AGREEMENT = 1e-6


def machine(name: str) -> OmniMachine:
    """Return a vehicle of the source."""
    return load_omni_machine(find_resource(f'config/omni/{name}.yaml'))


def osqp_solver(L: np.ndarray, limit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return OSQP set up once for a loop in which only bounds change."""
    import osqp
    from scipy import sparse

    n, m = L.shape
    lower, upper = np.concatenate([np.zeros(m), -limit]), np.concatenate([np.zeros(m), limit])
    solver = osqp.OSQP()
    A = sparse.csc_matrix(np.vstack([L.T, np.eye(n)]))
    solver.setup(sparse.csc_matrix(np.eye(n)), np.zeros(n), A, lower, upper, **OSQP)

    def solve(wrench: np.ndarray) -> np.ndarray:
        lower[:m] = upper[:m] = wrench
        solver.update(l=lower, u=upper)
        return np.asarray(solver.solve(raise_error=True).x)

    return solve


def quadprog_solver(L: np.ndarray, limit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return quadprog (the dual active-set method in compiled code) with its arrays made once."""
    import quadprog

    n, m = L.shape
    limited = np.isfinite(limit)
    G, a = np.eye(n), np.zeros(n)
    C = np.ascontiguousarray(np.hstack([L, np.eye(n)[:, limited], -np.eye(n)[:, limited]]))
    b = np.concatenate([np.zeros(m), -limit[limited], -limit[limited]])

    def solve(wrench: np.ndarray) -> np.ndarray:
        b[:m] = wrench
        return np.asarray(quadprog.solve_qp(G, a, C, b, m)[0])

    return solve


def torques(rounds: int) -> dict[str, float]:
    """Return the times of a distribution and the number of instants with an active limit."""
    six = machine('six_wheels').with_limits(LIMITS)
    motion = LinesAndCurve()(np.linspace(0.3, 59.7, INSTANTS))
    wrenches = [six.vehicle.wrench(t, r) for t, r in zip(motion.twist, motion.twist_rate)]
    ours = six.distribution()
    L, limit = six.vehicle.L_driven, six.limits
    peers = {'osqp': osqp_solver(L, limit), 'quadprog': quadprog_solver(L, limit)}
    bound = 0
    for wrench in wrenches:
        expected = ours(wrench)
        bound += bool(ours.at_limit.any())
        for name, solve in peers.items():
            if np.abs(solve(wrench) - expected).max() > ACCURACY:
                raise ValueError(f'torques differ from {name}: nothing to compare')

    def swept(solve: Callable[[np.ndarray], np.ndarray]) -> Callable[[], None]:
        def run() -> None:
            for wrench in wrenches:
                solve(wrench)

        return run

    best = best_of([swept(ours), *(swept(solve) for solve in peers.values())], rounds, 1000.0)
    return {
        'ours': best[0] / INSTANTS,
        'osqp': best[1] / INSTANTS,
        'quadprog': best[2] / INSTANTS,
        'instants': INSTANTS,
        'bound': bound,
    }


def pinocchio_call(vehicle: OmniVehicle, torque: np.ndarray, proximal: tuple[float, float, int]) -> Callable[[], Any]:
    """Return a call of Pinocchio's constrained dynamics: [linear; angular; hub, roller, hub, roller, ...]."""
    import pinocchio as pin

    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'platform')
    rotational = vehicle.yaw_inertia * np.eye(3)
    model.appendBodyToJoint(base, pin.Inertia(vehicle.mass, np.zeros(3), rotational), pin.SE3.Identity())
    contacts = pin.StdVec_RigidConstraintModel()
    for k, wheel in enumerate(vehicle.wheels):
        hub_axis, roller_axis = (np.array([np.cos(g), np.sin(g), 0.0]) for g in (wheel.hub, wheel.hub + wheel.roller))
        centre = wheel.distance * np.array([np.cos(wheel.direction), np.sin(wheel.direction), 0.0])
        hub = model.addJoint(base, pin.JointModelRevoluteUnaligned(hub_axis), pin.SE3(np.eye(3), centre), f'hub {k}')
        inertia = wheel.diametral_inertia * np.eye(3)
        inertia += (wheel.axial_inertia - wheel.diametral_inertia) * np.outer(hub_axis, hub_axis)
        model.appendBodyToJoint(hub, pin.Inertia(wheel.mass, np.zeros(3), inertia), pin.SE3.Identity())
        foot = pin.SE3(np.eye(3), np.array([0.0, 0.0, wheel.roller_radius - wheel.radius]))
        roller = model.addJoint(hub, pin.JointModelRevoluteUnaligned(roller_axis), foot, f'roller {k}')
        light = pin.Inertia(0.0, np.zeros(3), ROLLER_INERTIA * np.eye(3))
        model.appendBodyToJoint(roller, light, pin.SE3.Identity())
        touching = (centre[0], centre[1], 0.0)
        contacts.append(point_contact(model, roller, (0.0, 0.0, -wheel.roller_radius), touching))
    return constrained_call(model, contacts, vehicle.wheels[0].radius, np.s_[6::2], torque, proximal)


def dynamics(name: str, rounds: int) -> dict[str, float]:
    """Return the times of the forward dynamics of a vehicle; ours, Pinocchio and the closed form are compared first."""
    vehicle = machine(name).vehicle
    torque = 0.1 * np.arange(1.0, len(vehicle.wheels) + 1)
    full = omni_vehicle(vehicle, 'free')
    system = MinimalSystem(f'omni_{name}', full.blocks, [full.rest], full.actuated)
    rhs, p = system.module.rhs, full.blocks.numbers(None)
    x = system.state(full.rest, np.zeros(full.blocks.tree.nv))
    out = np.empty(len(x))
    theirs = [pinocchio_call(vehicle, torque, settings) for settings in PROXIMAL]
    rhs(x, torque, p, out)
    a = out[full.blocks.tree.nq : -1]
    names = full.blocks.tree.velocity_names
    acceleration = a[[names.index(f'platform_{axis}') for axis in ('wz', 'vx', 'vy')]]
    hubs = a[[names.index(name) for name in full.actuated]]
    agree(name, acceleration, vehicle.twist_rate(np.zeros(3), torque))
    for call in theirs:
        expected = np.array(call())
        agree(name, acceleration, expected[[5, 0, 1]])
        agree(name, hubs, expected[6::2])
    best = best_of([lambda: rhs(x, torque, p, out), *theirs], rounds)
    return {'ours': best[0], 'pinocchio': min(best[1:])}


def agree(name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Raise ValueError if accelerations differ."""
    if not np.abs(ours - theirs).max() <= AGREEMENT * np.abs(theirs).max():
        raise ValueError(f'forward dynamics of {name}: {ours} differs from {theirs}: nothing to compare')


def measure(quick: bool) -> dict[str, Any]:
    """Return all times, us."""
    rounds = 100 if quick else 1000
    return {
        'torques': torques(rounds),
        'three': dynamics('three_wheels', rounds),
        'four': dynamics('four_wheels', rounds),
    }


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(measure(parser.parse_args().quick), indent=2))
