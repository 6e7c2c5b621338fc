"""Two 6R arms on a free-flying platform that hold one rigid load (C6, C7; experiment E-5 of the specification)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import (
    METHODS,
    ConstraintBlocks,
    ForceObserver,
    analyse,
    constrained_dynamics,
    projected_velocity,
)
from dyn_nodes.simulation import Inputs, Settings, System
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import models

SPEC = 'spec 6.4'


def motion(model: models.Model, system: ConstraintBlocks) -> Array:
    """Return the velocities of the experiment: specified for base and load, joints by closure."""
    names = model.tree.velocity_names
    R = Rotation.from_quat(model.q[3:7]).as_matrix()
    wanted = np.zeros(model.tree.nv)
    wanted[0:3], wanted[3:6] = R.T @ (0.05, -0.1, 0.08), R.T @ (0.1, 0.02, -0.05)
    wanted[18:24] = 0.2, -0.1, 0.15, 0.05, 0.1, -0.08
    return projected_velocity(system, model.q, wanted, held=[*names[:6], *names[18:]])


@study('yesiloglu-2007/spatial-arms', 'Two 6R arms on a free-flying platform with a common rigid load')
def spatial_arms(s: StudyRun) -> None:
    """Check the instant and 1 s of motion, free and driven."""
    model = models.spatial_arms()
    blocks = model.blocks()
    v = motion(model, blocks)
    tau = np.zeros(model.tree.nv)
    tau[6:18] = models.SPATIAL_TORQUES
    solutions = {method: constrained_dynamics(blocks, model.q, v, tau, method=method) for method in METHODS}
    reference = solutions['saddle']
    for method in (name for name in METHODS if name != 'saddle'):
        difference = float(np.abs(solutions[method].acceleration - reference.acceleration).max())
        s.near(f'accelerations, {method} against saddle point', 'E-5', 0.0, difference, absolute=1e-12)
    wrenches = float(np.abs(reference.multipliers - tabulated('yesiloglu-2007/6.4/tip_wrenches')).max())
    s.near('tip wrenches, worst, N or N m', SPEC, 0.0, wrenches, absolute=1e-9)
    joints = float(np.abs(reference.acceleration[6:18] - tabulated('yesiloglu-2007/6.4/accelerations')[1]).max())
    s.near('joint accelerations, worst, rad/s2', SPEC, 0.0, joints, absolute=1e-9)
    report = analyse(blocks, model.q, actuated=model.actuated)
    counts = [report.rank, report.mobility, report.underactuation]
    s.holds('rank, mobility, degree of underactuation', 'C1', counts == [12, 12, 6], expected=[12, 12, 6], value=counts)
    system = System.of_blocks(model.name, blocks, model.actuated)
    times = np.linspace(0.0, 1.0, 101)
    free = system.run(system.state(model.q, v), times, settings=Settings(step=5e-3, stabilization=None))
    s.near(
        'kinetic energy, J',
        SPEC,
        tabulated('yesiloglu-2007/6.4/unforced_run')[0],
        float(free.kinetic[0]),
        absolute=1e-8,
    )
    s.near('its change in 1 s without forces, J', SPEC, 0.0, float(np.abs(free.energy_balance).max()), absolute=1e-11)
    lost = float(np.abs(free.momentum - free.momentum[0]).max())
    s.near('change of momentum without forces', SPEC, 0.0, lost, absolute=1e-10)
    run = system.run(
        system.state(model.q, v),
        times,
        Inputs.constant(dict(zip(model.actuated, models.SPATIAL_TORQUES))),
        settings=Settings(step=5e-3, stabilization=None),
    )
    energy, work, joints_at_end, _ = tabulated('yesiloglu-2007/6.4/forced_run')
    s.near('energy after 1 s of constant torques, J', SPEC, energy, float(run.kinetic[-1]), absolute=1e-6)
    s.near('work of the torques, J', SPEC, work, float(run.work[-1]), absolute=1e-6)
    s.near('energy less work, J', SPEC, 0.0, float(np.abs(run.energy_balance).max()), absolute=2e-8)
    lost = float(np.abs(run.momentum - run.momentum[0]).max())
    s.near('change of momentum under torques', SPEC, 0.0, lost, absolute=4e-8)
    s.near('drift of the grasps, m or rad', SPEC, 0.0, float(np.abs(run.residual).max()), absolute=1e-9)
    end = float(np.abs(run.q[-1][7:19] - joints_at_end).max())
    s.near('joint angles after 1 s, worst, rad', SPEC, 0.0, end, absolute=1e-7)
    efforts = np.tile(tau, (len(times), 1))
    forces = ForceObserver(blocks).forces(run.q, run.v, run.a, run.multipliers, efforts, run.p, run.times)
    s.near('Newton-Euler residual of every body and joint, N or N m', 'C19', 0.0, forces.residual, absolute=1e-9)
    s.figure(
        'joints',
        'Joint angles and rates under constant torques',
        lambda: drawing.histories(
            run.times,
            {
                f'arm {arm}\n{label}': {f'joint {k + 1}': values[:, start + k] for k in range(6)}
                for label, values, shift in (('angle, rad', run.q, 1), ('rate, rad/s', run.v, 0))
                for arm, start in ((1, 6 + shift), (2, 12 + shift))
            },
            columns=2,
            height=2.4,
        ),
    )
    s.figure(
        'wrenches',
        'Wrenches of the tips on the load, in world axes',
        lambda: drawing.histories(
            run.times,
            {
                f'arm {arm}\n{label}': dict(zip('xyz', run.force(f'grasp_{arm}').T[rows]))
                for label, rows in (('torque, N m', slice(0, 3)), ('force, N', slice(3, 6)))
                for arm in (1, 2)
            },
            columns=2,
        ),
    )
