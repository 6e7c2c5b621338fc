"""The platform with four driven and steered wheels: constrained dynamics and whole steps against the peers.

    python benchmarks/rolling_platform.py [--quick]

Prints JSON, in us: a call of the constrained forward dynamics from Python, ours (elimination unrolled) against
`pinocchio.constraintDynamics` with a 3-D contact a wheel; and a Runge-Kutta step, ours against MuJoCo's with elliptic
cones and one contact a wheel. `bench.py` runs it. The contacts of ours roll exactly; Pinocchio's are held points, the
same equations at rest, where the two are compared; MuJoCo's are soft and slip a little.
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
from dyn_nodes.simulation import Inputs
from dyn_nodes.studies.formulations.minimal_run import run_minimal
from dyn_nodes.studies.formulations.minimal_system import MinimalSystem
from dyn_nodes.studies.yesiloglu_2007.wheeled import CORNERS, platform

TORQUE = 1.5  # N m of each drive
STEP, STEPS = 1e-3, 20
PROXIMAL = (1e-10, 1e-4, 50)  # accuracy, regularization, most iterations: Pinocchio's fastest that is exact to 1e-9


def pinocchio_call() -> Callable[[], Any]:
    """Return a call of Pinocchio's constrained dynamics: accelerations [linear; angular; steer, drive, ...]."""
    import pinocchio as pin

    model = pin.Model()

    def add(parent: int, joint: Any, p: list[float], mass: float, com: list[float], inertia: list[float]) -> int:
        index = model.addJoint(parent, joint, pin.SE3(np.eye(3), np.array(p)), f'joint {model.njoints}')
        body = pin.Inertia(mass, np.array(com), np.diag(inertia))
        model.appendBodyToJoint(index, body, pin.SE3.Identity())
        return int(index)

    base = add(0, pin.JointModelFreeFlyer(), [0.0, 0.0, 0.0], 80.0, [0.0, 0.0, 0.0], [4.0, 2.5, 6.0])
    contacts = pin.StdVec_RigidConstraintModel()
    for side, end in CORNERS.values():
        position, com = [0.25 * side, 0.35 * end, -0.1], [0.04 * side, 0.0, 0.0]
        steer = add(base, pin.JointModelRZ(), position, 2.0, com, [0.01, 0.01, 0.005])
        wheel = add(steer, pin.JointModelRX(), [0.08 * side, 0.0, 0.0], 4.0, [0.0] * 3, [0.045, 0.025, 0.025])
        contacts.append(point_contact(model, wheel, (0.0, 0.0, -0.15), (0.33 * side, 0.35 * end, 0.0)))
    return constrained_call(model, contacts, 0.25, np.s_[7::2], -TORQUE, PROXIMAL)


def mujoco_model() -> Any:
    """Return MuJoCo's model of the same machine: spheres as wheels, so that each has one contact."""
    import mujoco

    legs = ''.join(
        f'<body pos="{0.25 * side} {0.35 * end} -0.1"><joint type="hinge" axis="0 0 1" damping="50"/>'
        f'<inertial pos="{0.04 * side} 0 0" mass="2" diaginertia="0.01 0.01 0.005"/>'
        f'<body pos="{0.08 * side} 0 0"><joint type="hinge" axis="1 0 0"/>'
        '<inertial pos="0 0 0" mass="4" diaginertia="0.045 0.025 0.025"/>'
        '<geom type="sphere" size="0.15"/></body></body>'
        for side, end in CORNERS.values()
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" integrator="RK4" cone="elliptic"/><worldbody>'
        '<geom type="plane" size="50 50 1"/><body pos="0 0 0.25"><freejoint/>'
        f'<inertial pos="0 0 0" mass="80" diaginertia="4 2.5 6"/>{legs}</body></worldbody></mujoco>'
    )


def compare(rounds: int) -> dict[str, float]:
    """Return the times, us."""
    import mujoco

    model = platform('contact')
    blocks = model.blocks()
    system = MinimalSystem('platform_4x4x4', blocks, [model.q], model.actuated)
    x, u, p = system.state(model.q, model.v), np.array([0.0, -TORQUE] * 4), blocks.numbers(None)
    out, rhs = np.empty(len(x)), system.module.rhs
    theirs = pinocchio_call()
    rhs(x, u, p, out)
    a = out[model.tree.nq : -1]
    expected = np.array(theirs())
    if abs(a[4] - expected[1]) > 1e-9 or np.abs(a[6:] - expected[6:]).max() > 1e-8:
        raise ValueError('constrained dynamics of the platform differs from Pinocchio: nothing to compare')
    calls = best_of([lambda: rhs(x, u, p, out), theirs], rounds)
    locked = platform('contact', locked=True)
    driven = MinimalSystem('platform_4x4x4_locked', locked.blocks(), [locked.q], locked.actuated)
    inputs = Inputs.constant({f'{corner}_drive': -TORQUE for corner in CORNERS})
    peer = mujoco_model()
    state = mujoco.MjData(peer)
    mujoco.mj_step(peer, state, 100 * STEPS)  # settled on its contacts
    steps = best_of(
        [
            lambda: run_minimal(driven, locked.q, locked.v, STEPS * STEP, inputs, STEP, STEPS),
            lambda: mujoco.mj_step(peer, state, STEPS),
        ],
        rounds,
    )
    return {'ours': calls[0], 'pinocchio': calls[1], 'our_step': steps[0] / STEPS, 'mujoco_step': steps[1] / STEPS}


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(compare(100 if parser.parse_args().quick else 1000)))


if __name__ == '__main__':
    main()
