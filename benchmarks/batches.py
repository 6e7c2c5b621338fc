"""Batches on all cores: forward dynamics against MuJoCo's rollout, and the tip-over runs of a sweep.

    python benchmarks/batches.py [--quick] [--runs N]

Prints JSON. `bench.py` runs it. `dynamics`: forward dynamics of the free-base log-loader for random states, us a state;
ours `forward_dynamics_batch`, each thread with a part of the rows, MuJoCo's `rollout` of one step with the explicit
Euler method, contacts and limits off, as many threads as cores. The accelerations of the joints are compared first.
`runs`: the example sweep `config/sweeps/log_loader_tip_over.yaml`, runs of 16 s drawn at random with payload, slope and
swing, hydraulics inside, events, margins and outcomes; s of wall time for all of them by `dyn-nodes sweep`'s workers
on one core and on all, machine code there, processes started, and of processor time in this process for the former.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of
from dyn_nodes.analysis.sweeps.design import Design
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.analysis.sweeps.workers import LocalWorkers
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

URDF, CONFIG = find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')
SWEEP = find_resource('config/sweeps/log_loader_tip_over.yaml')
STATES, STEP = 20_000, 1e-3
CORES = os.cpu_count() or 1


class Rollout:
    """MuJoCo's log-loader with a free base, and one step of it for many states."""

    def __init__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        import mujoco
        from mujoco import rollout

        spec = mujoco.MjSpec.from_file(str(URDF))
        spec.body('base_link').add_freejoint()
        spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_EULER
        flags = mujoco.mjtDisableBit
        spec.option.disableflags = (
            flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_EULERDAMP | flags.mjDSBL_CONSTRAINT
        )
        spec.compiler.balanceinertia = True  # for the boom of the source, a rod; its inertia is set afterwards
        links = {body.name: (body.mass, body.ipos.copy(), body.fullinertia.copy()) for body in spec.bodies}
        self.model = spec.compile()
        self.model.dof_damping[:] = 0.0
        for k in range(1, self.model.nbody):
            mass, com, numbers = links[self.model.body(k).name]
            self._set_body(k, mass, com, numbers)
        mujoco.mj_setConst(self.model, mujoco.MjData(self.model))
        self.data = [mujoco.MjData(self.model) for _ in range(CORES)]
        turned = rotations(q[:, 3:7])
        linear = np.einsum('nij,nj->ni', turned, v[:, 3:6])
        position = np.column_stack([q[:, :3], q[:, 6], q[:, 3:6], q[:, 7:]])
        self.start = np.column_stack([np.zeros(len(q)), position, linear, v[:, :3], v[:, 6:]])
        self.control = np.ascontiguousarray(tau[:, None, :])
        self.kind = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        self.pool, self.rates = rollout.Rollout(nthread=CORES), self.start[:, -v.shape[1] :]
        self.state = np.empty((len(q), 1, self.start.shape[1]))
        self.sensors = np.empty((len(q), 1, self.model.nsensordata))

    def _set_body(self, k: int, mass: float, com: np.ndarray, numbers: np.ndarray) -> None:
        """Give a body its mass, centre of mass and inertia (xx, yy, zz, xy, xz, yz), or none."""
        from scipy.spatial.transform import Rotation

        self.model.body_mass[k] = mass
        if not mass > 0.0:
            self.model.body_inertia[k] = 0.0
            return
        xx, yy, zz, xy, xz, yz = numbers
        values, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        x, y, z, w = Rotation.from_matrix(axes).as_quat()
        self.model.body_ipos[k], self.model.body_inertia[k] = com, values
        self.model.body_iquat[k] = w, x, y, z

    def step(self) -> None:
        """Take the step from all states."""
        self.pool.rollout(
            self.model,
            self.data,
            self.start,
            self.control,
            control_spec=self.kind,
            nstep=1,
            skip_checks=False,
            state=self.state,
            sensordata=self.sensors,
        )

    def accelerations(self) -> np.ndarray:
        """Return the accelerations of the last step (n, nv)."""
        return np.asarray((self.state[:, 0, -self.rates.shape[1] :] - self.rates) / STEP)


def rotations(quaternions: np.ndarray) -> np.ndarray:
    """Return the matrices (n, 3, 3) of unit quaternions x, y, z, w (n, 4)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(quaternions).as_matrix())


def dynamics(rounds: int) -> dict[str, Any]:
    """Return the times of forward dynamics on all cores, us a state. Raises ValueError if both differ."""
    model = RigidBodyModel(load_machine(URDF, CONFIG))
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(STATES, model.nq)), rng.normal(size=(STATES, model.nv))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    tau = 1e5 * rng.normal(size=(STATES, model.nv))
    tau[:, :6] = 0.0
    p, a = np.tile(model.parameters(payload=0.0), (STATES, 1)), np.empty_like(v)
    cuts = np.linspace(0, STATES, CORES + 1).astype(int)
    parts = [slice(*pair) for pair in pairwise(cuts)]
    batch, peer = model.kernels.forward_dynamics_batch, Rollout(q, v, tau)
    with ThreadPoolExecutor(CORES) as pool:

        def ours() -> None:
            list(pool.map(lambda part: batch(q[part], v[part], tau[part], p[part], a[part]), parts))

        ours()
        peer.step()
        off = np.abs(peer.accelerations()[:, 6:] - a[:, 6:]) / np.abs(a[:, 6:]).max(axis=1, keepdims=True)
        if off.max() > 1e-6:
            raise ValueError(f'forward dynamics differs from MuJoCo by {off.max():.1e}: nothing to compare')
        mine, theirs = best_of([ours, peer.step], rounds, slice_us=1.0)
    return {'ours': mine / STATES, 'mujoco': theirs / STATES, 'cores': CORES, 'states': STATES}


def tip_over(runs: int) -> dict[str, Any]:
    """Return the wall times of `runs` runs on one core and on all cores, s, and the duration of a run."""
    sweep = replace(load_sweep(SWEEP), design=Design('monte_carlo', runs, 1))
    figures: dict[str, Any] = {'runs': runs, 'cores': CORES}
    spent = time.process_time()
    figures['one_core'] = runs / _rate(sweep, 1)
    figures['processor'] = time.process_time() - spent  # including the first parts
    figures['seconds'] = runs / _rate(sweep, CORES)
    return figures


def _rate(sweep: Any, jobs: int) -> float:
    """Return the number of runs per second, without the parts computed while the processes start."""
    done = []
    for part, _ in LocalWorkers(jobs).results(sweep, range(sweep.parts)):
        done.append((time.perf_counter(), len(sweep.runs_of(part))))
    settled = done[2 * jobs :]
    return float(sum(count for _, count in settled[1:]) / (settled[-1][0] - settled[0][0]))


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    parser.add_argument('--runs', type=int, default=10_000, help='of the sweep (%(default)s; with --quick 640)')
    options = parser.parse_args()
    quick = options.quick
    print(json.dumps({**dynamics(20 if quick else 100), 'tip_over': tip_over(640 if quick else options.runs)}))


if __name__ == '__main__':
    main()
