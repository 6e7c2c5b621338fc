"""Compiled runs of constrained systems against yesiloglu-2007, 6.4 and 6.5, and the events that end a run."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.constraints import (
    ConstraintBlocks,
    ForceObserver,
    Lock,
    Loop,
    Prescribed,
    constrained_dynamics,
    projected_velocity,
    world_frame,
)
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.simulation import Inputs, Settings, System
from dyn_nodes.simulation.settings import Stabilization
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import models
from dyn_nodes.studies.yesiloglu_2007.deficient import hold_pseudo_joints
from dyn_nodes.studies.yesiloglu_2007.flexible import exponential, flexible_dynamics

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'constraints'))

from derivatives import differences
from random_systems import random_system
from test_arms_of_yesiloglu import spatial_motion

Z = (0.0, 0.0, 1.0)
RAMP = Inputs([0, 5, 5], {name: [0, end, 0] for name, end in models.PLANAR_RAMP.items()})
PLANAR_ORDER = (2, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10)
# t; base angle, x, y; arm 1; arm 2; load x, y; T; U; cond J
TABLE = """
5 0.17735903 -0.02439578 0.05637025 1.90841303 -1.53490453 0.16448091 0.97256045 0.70305907 2.00396254 0.1675079
  1.98512038 0.472140389 0.000776810 6.4095
10 -0.29148215 0.01963206 0.14568372 2.05736078 -1.95601797 2.88086498 2.09357584 0.76694030 3.26328431 -0.0349700
  1.5866245 0.256835988 0.118202438 5.9078
20 -0.77725578 0.02899659 0.08354440 1.87079610 1.01118477 2.23982831 2.64715785 0.67526274 4.94098124 -0.3464000
  1.9305787 0.099894888 0.014652344 9.3022
50 -0.54393116 0.01029794 0.02641383 1.93918152 0.84528878 -2.70980103 1.98521649 0.69883934 0.53220609 -0.2624788
  2.0843686 0.088767485 0.001868688 10.1629
100 -1.1263507 -0.0075298 0.3117031 1.9182731 3.2023729 -1.4825973 3.0352138 0.7008490 3.0435784 -0.311170
  1.145288 0.06298051 4.95457e-5 5.3756
150 -0.490742 -0.047120 0.043861 1.893726 -0.544919 2.874624 2.208710 0.692980 4.463333 0.059036
  2.007991 0.05084574 0.0035483 6.9252
200 -0.549070 -0.057868 0.007958 1.926720 0.502464 -2.502036 1.852246 0.697925 0.518568 -0.033885
  2.167456 0.05005322 2.3535e-4 10.4229
"""
exactly = partial(Settings, stabilization=None)  # the equations of the source, without a return to the constraints
ROWS = np.array(TABLE.split(), dtype=float).reshape(7, 15)


@pytest.fixture(scope='module')
def planar():
    model = models.planar_arms()
    return model, System.of_blocks('planar_arms', model.blocks(), model.actuated)


@pytest.fixture(scope='module')
def long_runs(planar):
    model, system = planar
    times = np.linspace(0, 200, 401)
    return {
        step: system.run(system.state(model.q, model.v), times, RAMP, settings=exactly(step=step))
        for step in (5e-3, 1e-2, 2e-2)
    }


def row_of(run, time):
    return int(np.argmin(np.abs(run.times - time)))


@pytest.mark.pins('yesiloglu-2007/6.5/run')
@pytest.mark.parametrize('step', [5e-3, 1e-2])
@pytest.mark.parametrize('row', range(7))
def test_planar_arms_run_as_tabled(long_runs, step, row):
    """Absolute 1e-6 up to 50 s and 1e-4 up to 200 s, as specified for steps up to 0.01 s."""
    run, expected = long_runs[step], ROWS[row]
    k = row_of(run, expected[0])
    assert run.status == 'done'
    tolerance = 1e-6 if expected[0] <= 50 else 1e-4
    assert run.q[k][list(PLANAR_ORDER)] == pytest.approx(expected[1:12], abs=tolerance)
    assert run.kinetic[k] == pytest.approx(expected[12], abs=tolerance)
    assert run.potential[k] == pytest.approx(expected[13], abs=tolerance)
    J = run.system.blocks.at(run.q[k]).J[:, :9]
    assert np.linalg.cond(J) == pytest.approx(expected[14], abs=2e-4)


@pytest.mark.pins('yesiloglu-2007/6.5/invariants')
@pytest.mark.parametrize(
    ('step', 'energy', 'linear', 'angular', 'gap'),
    [
        (5e-3, 2.2e-10, 3e-10, 1.1e-8, 3.2e-9),
        (1e-2, 3.5e-9, 5e-9, 1.8e-7, 5.2e-8),
        (2e-2, 5.4e-8, 8e-8, 2.8e-6, 8.3e-7),
    ],
)
def test_planar_arms_keep_energy_momentum_and_loops(long_runs, step, energy, linear, angular, gap):
    """Errors without stabilization are as small as in the specification, up to the rounding of its digits."""
    run = long_runs[step]
    assert np.abs(run.energy_balance).max() < 1.3 * energy
    assert np.abs(run.momentum[:, 3:]).max() < 1.3 * linear
    assert np.abs(run.momentum[:, 2]).max() < 1.3 * angular
    gaps = np.hypot(run.residual[:, [1, 4]], run.residual[:, [2, 5]])
    assert gaps.max() < 1.3 * gap


def test_planar_arms_work_heat_condition_and_wrenches(long_runs):
    run = long_runs[5e-3]
    assert run.work[-1] == pytest.approx(tabulated('yesiloglu-2007/6.5/work')[0][0], abs=1e-9)
    assert np.ptp(run.work[run.times >= 5]) < 1e-12
    assert run.heat[-1] == pytest.approx(tabulated('yesiloglu-2007/6.5/work')[0][1], abs=1e-8)
    condition = [np.linalg.cond(run.system.blocks.at(q).J[:, :9]) for q in run.q]
    assert min(condition) > tabulated('yesiloglu-2007/6.5/work')[1][0] - 1e-2
    assert max(condition) == pytest.approx(10.5482, abs=1e-2)
    at_10 = row_of(run, 10)
    assert run.multipliers[at_10] == pytest.approx(
        [0.15107848, 2.2184243, -0.5486524, -0.20204497, -1.9709458, 1.6177178], abs=1e-7
    )


def test_the_ramp_ends_exactly_and_only_two_joints_are_driven(planar, long_runs):
    """A-1: after 5 s no motor works, in any stage of any step."""
    model, system = planar
    run = long_runs[1e-2]
    assert system.constraints.actuated == models.PLANAR_ACTUATED
    after = row_of(run, 5)
    instant = constrained_dynamics(system.blocks, run.q[after], run.v[after], np.zeros(model.tree.nv))
    assert run.a[after] == pytest.approx(instant.acceleration, abs=1e-12)


@pytest.mark.pins('yesiloglu-2007/6.5/exponential')
def test_flexible_joints_direct_and_exponential(planar, long_runs):
    model, system = planar
    run = long_runs[5e-3]
    k = row_of(run, 10)
    indices = [model.tree.velocity_index(name) for name in models.PLANAR_FLEXIBLE]
    tau = np.zeros(model.tree.nv)
    direct = flexible_dynamics(system.blocks, model.forces, run.q[k], run.v[k], tau)
    one, both, other = tabulated('yesiloglu-2007/6.5/flexible')[0]
    assert direct.M_star.ravel() == pytest.approx([one, both, both, other], abs=2e-8)
    inverse = np.linalg.inv(system.blocks.at(run.q[k]).M)[np.ix_(indices, indices)]
    assert inverse @ direct.M_star == pytest.approx(np.eye(2), abs=1e-14)
    roots = sorted(np.linalg.eigvals(direct.decay), key=lambda root: (root.real, root.imag))
    assert [roots[1].real, roots[1].imag] == pytest.approx([0.1683104, 1.8269865], abs=2e-7)
    assert [roots[3].real, roots[3].imag] == pytest.approx([0.8668007, 4.0724281], abs=2e-7)
    assert direct.free[indices] == pytest.approx([-0.42188988, -1.08870494], abs=2e-8)
    printed = {
        1e-3: (-0.42205624, -1.08787015),
        5e-3: (-0.42272088, -1.08436542),
        1e-2: (-0.42354964, -1.07961534),
        5e-2: (-0.43003215, -1.02752832),
    }
    for step, expected in printed.items():
        later = flexible_dynamics(system.blocks, model.forces, run.q[k], run.v[k], tau, step)
        assert later.free[indices] == pytest.approx(expected, abs=4e-8)
        blocks = system.blocks.at(run.q[k], run.v[k])
        assert blocks.J @ later.acceleration == pytest.approx(blocks.gamma, abs=1e-12)
    orders = [exponential(-direct.decay * step, 1e-12)[1] for step in (5e-3, 1e-2, 5e-2)]
    assert orders == [5, 6, 9]


@pytest.mark.pins('yesiloglu-2007/6.5/exponential_order')
def test_the_exponential_form_tends_to_the_direct_one_in_first_order(planar, long_runs):
    model, system = planar
    run = long_runs[5e-3]
    k = row_of(run, 10)
    tau = np.zeros(model.tree.nv)

    def at(step):
        return flexible_dynamics(system.blocks, model.forces, run.q[k], run.v[k], tau, step).acceleration

    ratio = np.linalg.norm(at(1e-2) - at(0.0)) / np.linalg.norm(at(5e-3) - at(0.0))
    assert ratio == pytest.approx(2, abs=0.15)


@pytest.mark.pins('yesiloglu-2007/6.4/unforced_run')
def test_spatial_arms_float_freely(spatial):
    model, system, v, _ = spatial
    run = system.run(system.state(model.q, v), np.linspace(0, 1, 21), settings=exactly(step=5e-3))
    assert run.kinetic[0] == pytest.approx(1.01811023, abs=1e-8)
    assert np.abs(run.energy_balance).max() < 1e-11
    start = (-26.1557443418, 36.6388879428, -14.3509953922, 9.8240903591, 4.1372937246, -5.5794115918)
    assert run.momentum[0] == pytest.approx(start, abs=1e-9)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-10
    assert np.abs(run.residual).max() < 1e-11


def test_spatial_arms_under_torques(spatial):
    model, system, v, tau = spatial
    torques = Inputs.constant(dict(zip(model.actuated, tau[6:18])))
    run = system.run(system.state(model.q, v), np.linspace(0, 1, 21), torques, settings=exactly(step=5e-3))
    energy, work, joints, final_position = tabulated('yesiloglu-2007/6.4/forced_run')
    assert run.kinetic[-1] == pytest.approx(energy, abs=2e-7)
    assert run.work[-1] == pytest.approx(work, abs=2e-7)
    assert np.abs(run.energy_balance).max() < 2e-8
    assert np.abs(run.momentum - run.momentum[0]).max() < 4e-8
    assert np.abs(run.residual).max() < 2e-9
    assert run.q[-1][7:19] == pytest.approx(joints, abs=3e-8)
    assert run.q[-1][19:22] == pytest.approx(final_position, abs=2e-8)


@pytest.fixture(scope='module')
def spatial():
    model = models.spatial_arms()
    return model, System.of_blocks('spatial_arms', model.blocks(), model.actuated), *spatial_motion(model)


def test_momentum_of_the_free_flying_system_is_kept_to_1e_9(spatial):
    """Done-when 3 of the specification of the engine: for any motion of the joints, with closed loops."""
    model, system, v, tau = spatial
    knots = np.linspace(0, 1, 6)
    waves = {name: torque * np.sin(4 * knots + k) for k, (name, torque) in enumerate(zip(model.actuated, tau[6:18]))}
    run = system.run(system.state(model.q, v), [0.0, 0.5, 1.0], Inputs(knots, waves), settings=exactly(step=1e-3))
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9


# -- the compiled step against the reference, forces, options


@pytest.mark.parametrize('method', ['operator', 'reduced'])
def test_the_compiled_step_equals_the_reference(method):
    """Accelerations and multipliers of the machine code for a random system with loops, springs and gravity."""
    blocks, q, v, tau = random_system(1)
    joints = tuple(name for name in blocks.tree.velocity_names if name.startswith('b'))
    indices = [blocks.tree.velocity_index(name) for name in joints]
    efforts = np.zeros(blocks.tree.nv)
    efforts[indices] = tau[indices]
    inputs = Inputs.constant(dict(zip(joints, tau[indices])))
    system = System.of_blocks('random', blocks, joints)
    run = system.run(system.state(q, v), [0.0], inputs, settings=exactly(solve=method))
    reference = constrained_dynamics(blocks, q, v, efforts, method='saddle')
    size = np.abs(reference.acceleration).max(), np.abs(reference.multipliers).max()
    assert np.abs(run.a[0] - reference.acceleration).max() < 1e-10 * size[0]
    assert np.abs(run.multipliers[0] - reference.multipliers).max() < 1e-10 * size[1]


def test_dependent_rows_give_the_multipliers_of_least_norm():
    model = models.four_bar(planar=False)
    blocks = model.blocks()
    system = System.of_blocks('four_bar_space', blocks, ('crank_1',))
    run = system.run(
        system.state(model.q, model.v),
        np.linspace(0, 1, 11),
        Inputs.constant({'crank_1': 4.0}),
        settings=exactly(step=1e-3),
    )
    tau = np.zeros(blocks.tree.nv)
    tau[0] = 4.0
    for k in (0, 5, 10):
        reference = constrained_dynamics(blocks, run.q[k], run.v[k], tau)
        assert run.a[k] == pytest.approx(reference.acceleration, abs=1e-9)
        assert run.multipliers[k] == pytest.approx(reference.multipliers, abs=1e-8)
    assert np.abs(run.energy_balance).max() < 1e-9


def test_forces_of_every_joint_balance_every_body(spatial):
    """C19: differentiated momentum against all wrenches, and efforts along every freedom, through a run."""
    model, system, v, tau = spatial
    torques = Inputs.constant(dict(zip(model.actuated, tau[6:18])))
    run = system.run(system.state(model.q, v), np.linspace(0, 0.5, 6), torques, settings=exactly(step=5e-3))
    forces = ForceObserver(system.blocks).forces(
        run.q, run.v, run.a, run.multipliers, np.tile(tau, (6, 1)), run.p, run.times
    )
    assert forces.joint.shape == (6, 14, 6)
    assert np.abs(forces.wrench('arm_1_joint_1')).max() > 1
    assert forces.residual < 1e-10
    # an error in a multiplier shows
    wrong = ForceObserver(system.blocks).forces(run.q[0], run.v[0], run.a[0], run.multipliers[0] + 0.1, tau, run.p)
    assert wrong.residual > 0.01
    with pytest.raises(KeyError, match='unknown joint'):
        forces.wrench('elbow')


def pendulum(length=1.0):
    """Return a point mass on a rod, as a free body: a constraint that drifts."""
    builder = TreeBuilder()
    builder.add_free('bob', 1.0, inertia=0.01 * np.eye(3))
    builder.add_frame('eye', 0, p=(0, 0, length))
    tree = builder.build()
    blocks = ConstraintBlocks(tree, [Loop.point('pivot', tree.frame('eye'), world_frame())], gravity=(0, 0, -9.81))
    q = tree.neutral
    q[2] = -length
    q[3:7] = 0, np.sin(0.6), 0, np.cos(0.6)
    q[0:3] = -length * np.sin(1.2), 0, -length * np.cos(1.2)
    return System.of_blocks('pendulum', blocks), q


def test_runs_are_stabilized_unless_this_is_turned_off():
    system, q = pendulum()
    apart = q.copy()
    apart[0] += 1e-3
    times = np.linspace(0, 2, 5)
    drifting = system.run(system.state(apart, np.zeros(6)), times, settings=exactly(step=5e-3))
    held = system.run(system.state(apart, np.zeros(6)), times, settings=Settings(step=5e-3))
    assert np.abs(drifting.residual[-1]).max() > 5e-4
    assert np.abs(held.residual[-1]).max() < 1e-7


@pytest.mark.parametrize(('step', 'omega'), [(1e-3, 20.0), (5e-3, 10.0), (5e-2, 1.0)])
def test_long_steps_bound_the_frequency_of_a_stabilization(step, omega):
    assert Stabilization().bounded(step).omega == omega


def test_steps_are_of_fourth_order_and_jumps_do_not_spoil_it():
    model = models.four_bar()
    system = System.of_blocks('four_bar', model.blocks(), ('crank_1',))
    jumps = Inputs([0, 0.137, 0.137, 0.613, 0.613], {'crank_1': [4, 4, -3, 5, 0]})

    def end(step):
        return system.run(system.state(model.q, model.v), [0.0, 1.0], jumps, settings=exactly(step=step)).q[-1]

    exact = end(1e-4)
    ratio = np.abs(end(4e-2) - exact).max() / np.abs(end(2e-2) - exact).max()
    assert 11 < ratio < 23


def test_work_of_a_moving_constraint_is_counted():
    system = System.of_blocks('driven', driven_arm())
    run = system.run(system.state([0, 0.2], [1.6, 0.0]), np.linspace(0, 3, 31), settings=exactly(step=2e-3))
    assert run.position('arm') == pytest.approx(0.8 * np.sin(2 * run.times), abs=1e-9)
    assert np.abs(run.work).max() > 1
    assert np.abs(run.energy_balance).max() < 1e-8


def test_a_change_of_rank_ends_the_run_with_the_reason():
    """Crank and rod of equal length, folded: there the piston may slide or stay, elsewhere it slides."""
    builder = TreeBuilder()
    a = builder.add_joint('crank', -1, 'revolute', Z, mass=1.0, com=(0.2, 0, 0), inertia=0.02 * np.eye(3))
    b = builder.add_joint('rod', a, 'revolute', Z, p=(0.4, 0, 0), mass=1.0, com=(0.2, 0, 0), inertia=0.02 * np.eye(3))
    builder.add_joint('piston', -1, 'prismatic', (1, 0, 0), mass=2.0)
    builder.add_frame('tip', b, p=(0.4, 0, 0))
    tree = builder.build()
    blocks = ConstraintBlocks(tree, [Loop.planar('pin', tree.frame('tip'), tree.frame('piston'), rotation=False)])
    system = System.of_blocks('folded', blocks)
    folded = [np.pi / 2, -np.pi, 0.0]
    assert Subspaces(blocks.at(folded).J).rank == 1
    run = system.run(system.state(folded, [1.0, -2.0, -0.8]), [0.0, 1.0], settings=exactly(step=5e-3))
    assert run.status == 'rank changed'
    assert run.end_time < 0.01
    assert 'from 1 to 2' in run.detail
    # the run continues beside the fold
    beside = [np.pi / 2 - 0.3, -np.pi + 0.6, 0.8 * np.sin(0.3)]
    assert (
        system.run(
            system.state(beside, [1.0, -2.0, -0.8 * np.cos(0.3)]), [0.0, 0.2], settings=exactly(step=5e-3)
        ).status
        == 'done'
    )


@pytest.mark.parametrize('method', ['operator', 'reduced'])
def test_a_wider_tolerance_stops_before_rows_depend(method):
    """A parallelogram passes its flat position between two steps, unless the tolerance ends the run before."""
    model = models.four_bar()
    system = System.of_blocks('four_bar', model.blocks(), ('crank_1',))
    torque = Inputs.constant({'crank_1': 4.0})
    times = np.linspace(0, 0.7, 71)
    through = system.run(system.state(model.q, model.v), times, torque, settings=exactly(step=1e-3, solve=method))
    assert through.status == 'done'
    assert through.condition.max() > 20 * through.condition[0]
    kept = system.run(
        system.state(model.q, model.v),
        times,
        torque,
        settings=exactly(step=1e-3, solve=method, rank_tolerance=2e-2),
    )
    assert kept.status == 'rank changed'
    assert 0.5 < kept.end_time < 0.61
    assert 'from 6 to 5' in kept.detail
    assert kept.condition.max() < through.condition.max()


def test_a_contact_with_tension_ends_the_run():
    """A ball lies on a table that moves down with more than g."""
    builder = TreeBuilder()
    builder.add_joint('ball', -1, 'prismatic', Z, mass=1.0)
    tree = builder.build()
    contact = Loop.on_plane('table', tree.frame('ball'), world_frame())
    blocks = ConstraintBlocks(tree, [Prescribed(contact, lambda t: -20 * t**3 / 6)], gravity=(0, 0, -9.81))
    system = System.of_blocks('table', blocks, unilateral=['table/z'])
    run = system.run(system.state([0.0], [0.0]), np.linspace(0, 1, 11), settings=exactly(step=5e-3))
    assert run.status == 'contact opened'
    assert run.end_time == pytest.approx(9.81 / 20, abs=1e-12)  # located within the step
    assert run.detail == 'at t = 0.4905 s; table/z would pull'
    assert run.times[-1] == pytest.approx(0.4)


def driven_arm():
    """Return two joints, the first with a prescribed motion: its rows do work and depend on time."""
    builder = TreeBuilder()
    arm = builder.add_joint('arm', -1, 'revolute', (0, 1, 0), mass=2.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3))
    builder.add_joint(
        'elbow', arm, 'revolute', (0, 1, 0), p=(1, 0, 0), mass=1.0, com=(0.3, 0, 0), inertia=0.05 * np.eye(3)
    )
    motion = Prescribed(Lock('drive', 'arm'), lambda t: 0.8 * ca.sin(2 * t))
    return ConstraintBlocks(builder.build(), [motion], gravity=(0, 0, -9.81))


@pytest.mark.parametrize('kind', ['independent rows', 'dependent rows', 'moving rows'])
def test_jacobians_are_the_derivatives_of_the_rates(planar, kind):
    """By states and by inputs, including Baumgarte terms; for dependent rows those that the solver keeps."""
    if kind == 'moving rows':
        system, q = System.of_blocks('driven', driven_arm(), ('elbow',)), np.array([0.1, 0.2])
    else:
        model = planar[0] if kind == 'independent rows' else models.four_bar(planar=False)
        q = model.q
        system = planar[1] if kind == 'independent rows' else System.of_blocks('bar', model.blocks(), ('crank_1',))
    rng, blocks = np.random.default_rng(1), system.blocks
    v = projected_velocity(blocks, q, rng.standard_normal(blocks.tree.nv), {'time': 0.05})
    x, u = system.state(q, v), rng.standard_normal(len(system.input_names))
    x[system.time_index], p = 0.05, system.parameters()
    solver = system.constraints.solver(
        system.constraints.blocks_at(x, u, p), stabilization=Stabilization(1.0, 10.0), tolerance=1e-2, implicit=True
    )
    by_state, by_input = solver.jacobians(x, u, p)
    expected = differences(lambda at: solver.rates(at, u, p), x, np.maximum(1.0, abs(x)))
    assert by_state == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())
    assert by_input == pytest.approx(differences(lambda at: solver.rates(x, at, p), u, np.ones(len(u))), abs=1e-9)
    assert np.abs(by_state).max() > 1


@pytest.mark.parametrize('method', ['dopri5', 'adams', 'rodas3'])
def test_adaptive_methods_integrate_constraints(planar, method):
    model, system = planar
    times = np.linspace(0.0, 6.0, 4)
    exact = system.run(system.state(model.q, model.v), times, RAMP, settings=exactly(step=5e-3))
    settings = exactly(method, step=1e-2, rtol=1e-7, atol=1e-7)
    run = system.run(system.state(model.q, model.v), times, RAMP, settings=settings)
    assert run.status == 'done'
    assert run.times == pytest.approx(times)
    assert run.q == pytest.approx(exact.q, abs=1e-5)
    assert run.multipliers == pytest.approx(exact.multipliers, abs=1e-4)
    assert run.counts['accepted'] > 10
    assert np.abs(run.energy_balance).max() < 1e-5


@pytest.mark.parametrize('method', ['rk4', 'dopri5', 'adams', 'rodas3'])
def test_every_method_ends_at_the_opening_of_a_contact(method):
    """A ball lies on a table that sinks with jerk: the run ends within the step at the last state with a force."""
    builder = TreeBuilder()
    builder.add_joint('ball', -1, 'prismatic', Z, mass=1.0)
    tree = builder.build()
    contact = Loop.on_plane('table', tree.frame('ball'), world_frame())
    blocks = ConstraintBlocks(tree, [Prescribed(contact, lambda t: -20 * t**3 / 6)], gravity=(0, 0, -9.81))
    system = System.of_blocks('table', blocks, unilateral=['table/z'])
    run = system.run(system.state([0.0], [0.0]), [0.0, 0.4, 1.0], settings=exactly(method, step=5e-2))
    assert run.status == 'contact opened'
    assert run.end_time == pytest.approx(9.81 / 20, abs=1e-9)
    assert run.times == pytest.approx([0.0, 0.4])


def test_invalid_arguments_of_a_run_are_rejected(planar):
    model, system = planar
    with pytest.raises(ValueError, match='rising times'):
        system.run(system.state(model.q, model.v), [0.0, 0.0], settings=exactly(step=5e-3))
    with pytest.raises(ValueError, match='step above zero'):
        system.run(system.state(model.q, model.v), [0.0, 1.0], settings=exactly(step=0.0))
    with pytest.raises(ValueError, match='expected 12 positions'):
        system.run(system.state(model.q[:4], model.v), [0.0, 1.0], settings=exactly(step=5e-3))
    with pytest.raises(KeyError, match='unknown input'):
        system.run(system.state(model.q, model.v), [0.0], Inputs.constant({'knee': 1.0}))
    with pytest.raises(KeyError, match='unknown constraint'):
        system.run(system.state(model.q, model.v), [0.0]).force('grip')
    space = models.four_bar(planar=False)
    bar = System.of_blocks('bar', space.blocks())
    with pytest.raises(ValueError, match='found rank 9'):
        bar.run(bar.state(space.q, space.v), [0.0], settings=exactly(solve='operator'))


def test_a_run_in_pieces_equals_the_whole_run(planar):
    """Efforts in pieces of 50 ms against the table of the whole ramp, with the same steps."""
    model, system = planar
    whole = system.run(system.state(model.q, model.v), [0.0, 1.0], RAMP, settings=exactly(step=1e-2))
    q, v, work = model.q, model.v, 0.0
    for k in range(20):
        times = [0.05 * k, 0.05 * (k + 1)]
        ramp = {name: [models.PLANAR_RAMP[name] * time / 5 for time in times] for name in system.constraints.actuated}
        piece = system.run(system.state(q, v), times, Inputs(times, ramp), settings=exactly(step=1e-2))
        q, v, work = piece.q[-1], piece.v[-1], work + piece.work[-1]
    assert q == pytest.approx(whole.q[-1], abs=1e-13)
    assert v == pytest.approx(whole.v[-1], abs=1e-13)
    assert work == pytest.approx(whole.work[-1], abs=1e-15)
    assert piece.a[-1] == pytest.approx(whole.a[-1], abs=1e-11)
    assert piece.multipliers[-1] == pytest.approx(whole.multipliers[-1], abs=1e-11)


def test_a_run_accepts_parameters_by_name(planar):
    model, system = planar
    run = system.run(system.state(model.q, model.v), [0.0, 0.5], p={'gravity_y': -1.0}, settings=exactly(step=5e-3))
    assert run.velocity(system.blocks.tree.velocity_names[1])[-1] == pytest.approx(-0.5, abs=0.1)
    assert run.momentum[-1, 4] == pytest.approx(-0.5 * 80, rel=1e-9)
    with pytest.raises(KeyError, match=r"unknown parameter 'luck'"):
        system.run(system.state(model.q, model.v), [0.0], p={'luck': 1.0})
    with pytest.raises(ValueError, match='expected a parameter vector of 10'):
        system.run(system.state(model.q, model.v), [0.0], p=[1.0])


def test_a_pseudo_joint_is_a_lock_whose_multiplier_is_its_effort():
    names = ('slider_1', 'slider_2')
    model = models.four_bar(pseudo=names)
    tau = np.zeros(model.tree.nv)
    tau[model.tree.velocity_index('crank_1')] = models.CRANK_TORQUE
    held = hold_pseudo_joints(model.blocks(), model.q, model.v, tau, names)
    locks = [Lock(f'{name}_lock', name) for name in names]
    locked = ConstraintBlocks(model.tree, [*model.constraints, *locks], (), model.gravity)
    solution = constrained_dynamics(locked, model.q, model.v, tau)
    for name in names:
        assert solution.force(f'{name}_lock')[0] == pytest.approx(held.efforts[name], rel=1e-10)
    assert solution.acceleration == pytest.approx(held.acceleration, abs=1e-10)
