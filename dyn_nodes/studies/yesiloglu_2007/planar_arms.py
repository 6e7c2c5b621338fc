"""Appendix A: two planar underactuated arms with a common load on a free-flying platform, 200 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks, analyse, constrained_dynamics
from dyn_nodes.simulation import Inputs, Settings, System, SystemRun
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import models
from dyn_nodes.studies.yesiloglu_2007.flexible import flexible_dynamics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DURATION, SAMPLE, STEP = 200.0, 0.25, 5e-3  # s
SPEC = 'spec 6.5'
# the specification's coordinates and energies: base angle, x, y; arms; load x, y; T; U
ROWS = {
    10.0: '-0.29148215 0.01963206 0.14568372 2.05736078 -1.95601797 2.88086498 2.09357584 0.76694030 3.26328431 '
    '-0.0349700 1.5866245 0.256835988 0.118202438',
    50.0: '-0.54393116 0.01029794 0.02641383 1.93918152 0.84528878 -2.70980103 1.98521649 0.69883934 0.53220609 '
    '-0.2624788 2.0843686 0.088767485 0.001868688',
    100.0: '-1.1263507 -0.0075298 0.3117031 1.9182731 3.2023729 -1.4825973 3.0352138 0.7008490 3.0435784 '
    '-0.311170 1.145288 0.06298051 4.95457e-5',
    200.0: '-0.549070 -0.057868 0.007958 1.926720 0.502464 -2.502036 1.852246 0.697925 0.518568 '
    '-0.033885 2.167456 0.05005322 2.3535e-4',
}
ORDER = [2, 0, 1, *range(3, 11)]


def ramp() -> Inputs:
    """Return the motor torques: a ramp of 5 s, then zero."""
    end = models.RAMP_END
    return Inputs([0.0, end, end], {name: [0.0, last, 0.0] for name, last in models.PLANAR_RAMP.items()})


def simulate(step: float = STEP, sample: float = SAMPLE) -> SystemRun:
    """Run the experiment."""
    model = models.planar_arms()
    system = System.of_blocks(model.name, model.blocks(), model.actuated)
    times = np.linspace(0.0, DURATION, round(DURATION / sample) + 1)
    return system.run(system.state(model.q, model.v), times, ramp(), settings=Settings(step=step))


def arm_condition(system: ConstraintBlocks, q: Array) -> float:
    """Return the condition number of J of base and joints at a position."""
    return float(np.linalg.cond(system.at(q).J[:, :9]))


@study('yesiloglu-2007/planar-arms', 'Planar underactuated arms on a free-flying platform with a common load (App. A)')
def planar_arms(s: StudyRun) -> None:
    """Check experiments A-1 to A-14 of the specification."""
    model = models.planar_arms()
    run = simulate()
    blocks = run.system.blocks
    _counts(s, model, blocks)
    _histories(s, run)
    wrench = np.zeros((len(run.times), 3))
    for name, arm in (('grasp_1', -0.2), ('grasp_2', 0.2)):
        torque, fx, fy = run.force(name).T
        lever = arm * np.column_stack([np.cos(run.q[:, 11]), np.sin(run.q[:, 11])])
        wrench += np.column_stack([fx, fy, torque + lever[:, 0] * fy - lever[:, 1] * fx])
    needed = run.a[:, 9:12] * (10.0, 10.0, 0.5)
    worst = float(np.abs(wrench - needed).max() / np.abs(needed).max())
    s.near('tip wrenches move the load: A^T F_t - M_c dV_c, relative', 'A-4', 0.0, worst, absolute=1e-10)
    condition = np.array([arm_condition(blocks, q) for q in run.q])
    low, high = tabulated('yesiloglu-2007/6.5/work')[1]
    s.near('least condition number of J in 200 s', 'A-12', low, float(condition.min()), absolute=1e-2)
    s.near('greatest condition number of J in 200 s', 'A-12', high, float(condition.max()), absolute=1e-2)
    _exponential(s, model, run)
    s.note(
        'The source prints no parameter and no number of this experiment; set P-A of its specification stands in. '
        'The legend of Fig. A.2 prints x, y, z for joints 1, 2, 3.'
    )
    _figures(s, run, condition)


def _counts(s: StudyRun, model: models.Model, blocks: ConstraintBlocks) -> None:
    report = analyse(blocks, model.q, actuated=model.actuated)
    s.holds('mobility 9 + 3 - 6', 'p. 54 to 56', report.mobility == 6, expected=6, value=report.mobility)
    s.holds('actuators', 'p. 56', report.actuators == 2, expected=2, value=report.actuators)
    tau = np.zeros(model.tree.nv)
    for name, torque in (('arm_1_joint_2', -0.25), ('arm_2_joint_3', 0.15)):
        tau[model.tree.velocity_index(name)] = torque
    solution = constrained_dynamics(blocks, model.q, model.v, tau, method='operator')
    reference = constrained_dynamics(blocks, model.q, model.v, tau, method='saddle')
    difference = float(np.abs(solution.acceleration - reference.acceleration).max())
    s.near('operator form against saddle point, accelerations', 'A-4', 0.0, difference, absolute=1e-12)
    accelerations, wrenches = tabulated('yesiloglu-2007/6.5/instant')
    s.near('instant: base, rad/s2', SPEC, accelerations[0], float(solution.acceleration[2]), absolute=1e-9)
    s.near(
        'instant: force of arm 1 on the load, x, N', SPEC, wrenches[1], float(solution.multipliers[1]), absolute=1e-9
    )


def _histories(s: StudyRun, run: SystemRun) -> None:
    for time, text in ROWS.items():
        expected = np.array(text.split(), dtype=float)
        k = int(np.argmin(np.abs(run.times - time)))
        values = np.append(run.q[k][ORDER], [run.kinetic[k], run.potential[k]])
        tolerance = 1e-6 if time <= 50 else 1e-4
        worst = float(np.abs(values - expected).max())
        s.near(f'coordinates and energies at {time:g} s, worst', 'A-2, ' + SPEC, 0.0, worst, absolute=tolerance)
    after = run.times >= models.RAMP_END
    idle = float(np.ptp(run.work[after]))
    s.near('work of the motors after 5 s, J', 'A-1', 0.0, idle, absolute=1e-12)
    s.near(
        'work of the motors, J', SPEC, tabulated('yesiloglu-2007/6.5/work')[0][0], float(run.work[-1]), absolute=1e-8
    )
    s.near('linear momentum, kg m/s', 'A-3', 0.0, float(np.abs(run.momentum[:, 3:]).max()), absolute=1e-7)
    s.near('angular momentum, kg m2/s', 'A-3', 0.0, float(np.abs(run.momentum[:, 2]).max()), absolute=1e-6)
    gaps = np.hypot(run.residual[:, [1, 4]], run.residual[:, [2, 5]])
    s.near('greatest gap between tips and load, m', 'A-5 to A-11', 0.0, float(gaps.max()), absolute=1e-7)
    balance = float(np.abs(run.energy_balance).max())
    s.near('energy plus heat less work, J', 'A-13', 0.0, balance, absolute=1e-8)


def _exponential(s: StudyRun, model: models.Model, run: SystemRun) -> None:
    k = int(np.argmin(np.abs(run.times - 10.0)))
    tau = np.zeros(model.tree.nv)
    indices = [model.tree.velocity_index(name) for name in models.PLANAR_FLEXIBLE]

    def at(step: float) -> Array:
        return flexible_dynamics(run.system.blocks, model.forces, run.q[k], run.v[k], tau, step).free[indices]

    direct = at(0.0)
    s.near('flexible joint of arm 1 at 10 s, direct, rad/s2', 'eq. 4.17', -0.42188988, float(direct[0]), absolute=1e-7)
    s.near('the same, exponential over 10 ms', 'eq. 4.17', -0.42354964, float(at(1e-2)[0]), absolute=1e-7)
    ratio = float(np.linalg.norm(at(1e-2) - direct) / np.linalg.norm(at(5e-3) - direct))
    s.near('exponential tends to direct in first order: ratio of deviations', 'A-14', 2.0, ratio, absolute=0.15)


def _figures(s: StudyRun, run: SystemRun, condition: Array) -> None:
    torques = ramp().at(run.times, models.PLANAR_ACTUATED)
    torques[run.times >= models.RAMP_END] = 0.0
    early = run.times <= 10.0
    s.figure(
        'torques',
        'Fig. A.1: torques of the motors',
        lambda: drawing.histories(
            run.times[early], {'torque, N m': dict(zip(('arm 1 joint 2', 'arm 2 joint 3'), torques[early].T))}
        ),
    )

    def joints() -> Figure:
        channels = {}
        for quantity, values in (('angle, rad', run.q), ('rate, rad/s', run.v), ('acceleration, rad/s2', run.a)):
            for arm, start in ((1, 3), (2, 6)):
                channels[f'arm {arm}\n{quantity}'] = {f'joint {k + 1}': values[:, start + k] for k in range(3)}
        return drawing.histories(run.times, channels, columns=2)

    s.figure('joints', 'Fig. A.2: joint angles, rates and accelerations', joints)
    s.figure(
        'platform',
        'Fig. A.3: motion of the platform',
        lambda: drawing.histories(
            run.times,
            {
                'position, m': {'x': run.q[:, 0], 'y': run.q[:, 1]},
                'angle, rad': {'angle': run.q[:, 2]},
                'velocity, m/s': {'x': run.v[:, 0], 'y': run.v[:, 1]},
                'rate, rad/s': {'rate': run.v[:, 2]},
            },
            columns=2,
        ),
    )
    s.figure(
        'wrenches',
        'Fig. A.4: torques and forces of the tips on the load',
        lambda: drawing.histories(
            run.times,
            {
                f'arm {arm}\n{label}': dict(zip(names, run.force(f'grasp_{arm}').T[rows]))
                for label, names, rows in (
                    ('torque, N m', ('torque',), slice(0, 1)),
                    ('force, N', ('x', 'y'), slice(1, 3)),
                )
                for arm in (1, 2)
            },
            columns=2,
        ),
    )
    times = np.arange(0.0, DURATION + 1, 5.0)
    s.figure(
        'snapshots',
        'Fig. A.5 to A.11: the arms every 5 s',
        lambda: drawing.snapshots(
            list(times), [_outline(run.q[round(time / SAMPLE)]) for time in times], rows=6, columns=7, span=5.0
        ),
    )
    s.figure(
        'condition',
        'Fig. A.12: condition number of J',
        lambda: drawing.histories(run.times, {'condition number': {'J': condition}}),
    )


def _outline(q: Array) -> dict[str, Array]:
    """Return base, arms and load as polylines (k, 2), m."""

    def along(angle: float, length: float) -> Array:
        return length * np.array([np.cos(angle), np.sin(angle)])

    def moved(angle: float, points: Array) -> Array:
        c, sine = np.cos(angle), np.sin(angle)
        return points @ np.array([[c, sine], [-sine, c]])

    corners = np.array([(-0.5, 0.3), (0.5, 0.3), (0.5, -0.3), (-0.5, -0.3), (-0.5, 0.3)])
    base = q[0:2] + moved(q[2], corners)
    lines = {'base': base}
    for arm, foot in ((1, 0), (2, 1)):
        points, angle = [base[foot]], q[2]
        for length, joint in zip(models.PLANAR_LENGTHS, q[3 * arm : 3 * arm + 3]):
            angle = angle + joint
            points.append(points[-1] + along(angle, length))
        lines[f'arm {arm}'] = np.array(points)
    lines['load'] = q[9:11] + moved(q[11], np.array([(-0.2, 0.0), (0.2, 0.0)]))
    return lines
