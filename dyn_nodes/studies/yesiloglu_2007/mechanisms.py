"""Closed mechanisms and deficient arms: four-bar with pseudo joints, slider-crank, one link with a load (C11, C12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import METHODS, MethodError, analyse, constrained_dynamics
from dyn_nodes.simulation import Inputs, Settings, System, SystemRun
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import models
from dyn_nodes.studies.yesiloglu_2007.deficient import hold_pseudo_joints, subspace_dynamics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

G = 9.81
OUT_OF_PLANE = tuple(f'arm_{arm}_{suffix}' for arm in (1, 2) for suffix, _, _ in models.OUT_OF_PLANE)


def parallelogram_acceleration(angle: float, coupler: float = models.COUPLER_MASS) -> float:
    """Return the crank acceleration in closed form, rad/s2: the coupler translates, both cranks turn equally."""
    L, crank = models.BAR_CRANK, models.CRANK_MASS
    moment = models.CRANK_TORQUE - (crank + coupler) * G * L * np.cos(angle)
    return float(moment / (2 / 3 * crank * L**2 + coupler * L**2))


def drive(model: models.Model, torque: float) -> Array:
    """Return generalized forces (nv,) with a torque on the first actuated joint, N m."""
    tau = np.zeros(model.tree.nv)
    tau[model.tree.velocity_index(model.actuated[0])] = torque
    return tau


@study('yesiloglu-2007/four-bar', 'Parallelogram four-bar: redundant rows, pseudo joints and the rank theorem')
def four_bar(s: StudyRun) -> None:
    """Check the variants of section 6.6 and a run against the closed form."""
    exact = parallelogram_acceleration(models.CRANK_ANGLE)
    s.near('closed form, rad/s2', 'spec 6.6', tabulated('yesiloglu-2007/6.6/closed_form'), exact, absolute=1e-10)
    for planar, rows, rank in ((True, 6, 6), (False, 12, 9)):
        model = models.four_bar(planar)
        system = model.blocks()
        where = 'plane' if planar else 'space'
        solution = constrained_dynamics(system, model.q, model.v, drive(model, models.CRANK_TORQUE), method='saddle')
        report = analyse(system, model.q, actuated=model.actuated)
        counts = [report.rows, report.rank, report.mobility]
        s.holds(
            f'{where}: rows, rank, mobility',
            'spec 6.6',
            counts == [rows, rank, 1],
            expected=[rows, rank, 1],
            value=counts,
        )
        s.near(f'{where}: acceleration, rad/s2', 'spec 6.6', exact, float(solution.acceleration[0]), relative=1e-11)
        force = solution.force('grasp_1')[1 if planar else 3]
        pull = tabulated('yesiloglu-2007/6.6/planar')[1]
        s.near(f'{where}: force of arm 1 on the coupler, x, N', 'spec 6.6', pull, float(force), absolute=1e-9)
    _pseudo_joints(s)
    _four_bar_run(s)


def _pseudo_joints(s: StudyRun) -> None:
    names: tuple[str, ...] = ('slider_1', 'slider_2')
    model = models.four_bar(pseudo=names)
    held = hold_pseudo_joints(model.blocks(), model.q, model.v, drive(model, models.CRANK_TORQUE), names)
    for name, expected in zip(names, tabulated('yesiloglu-2007/6.6/sliders')[1]):
        s.near(f'axial force of crank {name[-1]}, N', 'Fig. 4.5, spec 6.6', expected, held.efforts[name], absolute=1e-9)
    s.holds('sliders: case', 'C12', held.case == 'regular', expected='regular', value=held.case)
    cases = ((OUT_OF_PLANE[:3], 12, 0), ((OUT_OF_PLANE[0], OUT_OF_PLANE[2]), 11, 0), (OUT_OF_PLANE, 12, 3))
    for (names, rows, rank), printed in zip(cases, tabulated('yesiloglu-2007/6.6/pseudo_masses')):
        model = models.four_bar(planar=False, pseudo=names, pseudo_mass=0.05)
        held = hold_pseudo_joints(model.blocks(), model.q, model.v, drive(model, models.CRANK_TORQUE), names)
        ranks = [held.rows_rank, held.rank]
        label = f'{len(names)} pseudo joints out of the plane'
        s.holds(
            f'{label}: rank of [J A], of d4', 'rank theorem', ranks == [rows, rank], expected=[rows, rank], value=ranks
        )
        s.near(f'{label}: acceleration, rad/s2', 'spec 6.6', printed, float(held.acceleration[0]), absolute=5e-6)


def _four_bar_run(s: StudyRun) -> None:
    def rate(_: float, x: Array) -> list[float]:
        return [float(x[1]), parallelogram_acceleration(float(x[0]))]

    # a flat parallelogram could fold over and has dependent rows; the run ends before
    start = [models.CRANK_ANGLE, models.CRANK_RATE]
    times = np.linspace(0.0, 2.0, 201)
    witness = solve_ivp(rate, (0.0, 2.0), start, 'DOP853', times, rtol=1e-12, atol=1e-12).y
    flat = np.flatnonzero(np.abs(np.sin(witness[0])) < 0.05)
    until = int(flat[0]) if len(flat) else len(times)
    model = models.four_bar()
    system = System.of_blocks(model.name, model.blocks(), model.actuated)
    torque = Inputs.constant({'crank_1': models.CRANK_TORQUE})
    run = system.run(system.state(model.q, model.v), times[:until], torque, settings=Settings(step=1e-3))
    apart = float(np.abs(run.position('crank_1') - witness[0][:until]).max())
    s.near('crank angle before it lies flat, against the closed form, rad', 'spec 6.6', 0.0, apart, absolute=1e-9)
    s.near('energy less work, J', 'C19', 0.0, float(np.abs(run.energy_balance).max()), absolute=1e-9)
    s.rising('condition number of the rows, towards the flat position', 'C1', list(run.condition[-5:]))
    s.note(
        f'The run ends at {run.end_time:.2f} s, shortly before the crank lies flat: there a parallelogram can fold '
        'over, '
        'rows depend on each other, and the axial force of the coupler grows without bound.'
    )
    s.figure('motion', 'Crank and forces on the coupler', lambda: _motion(run, 'crank_1', ('grasp_1', 'grasp_2')))


def _motion(run: SystemRun, crank: str, loops: tuple[str, ...]) -> Figure:
    channels = {
        'angle, rad': {crank: run.position(crank)},
        'rate, rad/s': {crank: run.velocity(crank)},
        'acceleration, rad/s2': {crank: run.acceleration(crank)},
    }
    for loop in loops:
        force = run.force(loop).T[-2:]
        channels[f'{loop}\nforce, N'] = {'x': force[0], 'y': force[1]}
    return drawing.histories(run.times, channels)


def slider_terms(angle: float) -> tuple[float, float, float]:
    """Return I, dI/dangle and dU/dangle of the slider-crank as a system of one freedom: T = I rate^2 / 2.

    I follows from the velocities of the three bodies; its derivative and the derivative of U are derived by hand.
    """
    r, length = models.SLIDER_CRANK, models.SLIDER_ROD
    crank, rod, piston = models.SLIDER_MASSES
    s, c = np.sin(angle), np.cos(angle)
    sine = r / length * s
    cosine = np.sqrt(1 - sine**2)
    k = r * c / (length * cosine)  # rate of the rod's lean per rate of the crank
    dk = (-r * s * cosine + r * c * sine * k) / (length * cosine**2)
    x1, y1 = -r * s - 0.5 * length * sine * k, r * c - 0.5 * length * cosine * k  # of the rod's centre
    dx1 = -r * c - 0.5 * length * (cosine * k**2 + sine * dk)
    dy1 = -r * s + 0.5 * length * (sine * k**2 - cosine * dk)
    x2 = -r * s - length * sine * k  # of the piston
    dx2 = -r * c - length * (cosine * k**2 + sine * dk)
    inertia = crank * r**2 / 3 + rod * (x1**2 + y1**2) + rod * length**2 / 12 * k**2 + piston * x2**2
    slope = 2 * (rod * (x1 * dx1 + y1 * dy1) + rod * length**2 / 12 * k * dk + piston * x2 * dx2)
    weight = G * (crank * 0.5 * r * c + rod * y1)
    return float(inertia), float(slope), float(weight)


@study('yesiloglu-2007/slider-crank', 'Slider-crank: one loop, one freedom, against its closed equation')
def slider_crank(s: StudyRun) -> None:
    """Compare every method and a run with the Lagrange equation of the crank's angle."""
    model = models.slider_crank()
    blocks = model.blocks()
    inertia, slope, weight = slider_terms(models.SLIDER_ANGLE)
    exact = (models.SLIDER_TORQUE - weight - 0.5 * slope * models.SLIDER_RATE**2) / inertia
    tau = drive(model, models.SLIDER_TORQUE)
    for method in METHODS:
        solution = constrained_dynamics(blocks, model.q, model.v, tau, method=method)
        s.near(
            f'crank acceleration, {method}, rad/s2',
            'closed form',
            exact,
            float(solution.acceleration[0]),
            relative=1e-12,
        )
    solution = constrained_dynamics(blocks, model.q, model.v, tau)
    push = models.SLIDER_MASSES[2] * solution.acceleration[2]
    s.near('force of the rod on the piston, N', 'Newton', float(push), float(solution.force('pin')[0]), relative=1e-12)
    report = analyse(blocks, model.q, actuated=model.actuated)
    counts = [report.mobility, report.underactuation]
    s.holds('mobility, degree of underactuation', 'C1', counts == [1, 0], expected=[1, 0], value=counts)
    system = System.of_blocks(model.name, blocks, model.actuated)
    times = np.linspace(0.0, 1.0, 401)
    run = system.run(
        system.state(model.q, model.v),
        times,
        Inputs.constant({'crank': models.SLIDER_TORQUE}),
        settings=Settings(step=1.25e-4),
    )

    def rate(_: float, x: Array) -> list[float]:
        inertia, slope, weight = slider_terms(float(x[0]))
        return [float(x[1]), (models.SLIDER_TORQUE - weight - 0.5 * slope * x[1] ** 2) / inertia]

    start = [models.SLIDER_ANGLE, models.SLIDER_RATE]
    witness = solve_ivp(rate, (0.0, 1.0), start, 'DOP853', times, rtol=1e-12, atol=1e-12)
    apart = float(np.abs(run.position('crank') - witness.y[0]).max())
    s.near('crank angle over 1 s against the closed equation, rad', 'closed form', 0.0, apart, absolute=1e-6)
    s.near('energy less work, J', 'C19', 0.0, float(np.abs(run.energy_balance).max()), absolute=1e-6)
    s.near('gap of the pin, m', 'C4', 0.0, float(np.abs(run.residual).max()), absolute=1e-8)
    s.figure('motion', 'Crank and force of the rod on the piston', lambda: _motion(run, 'crank', ('pin',)))


@study('yesiloglu-2007/deficient-arm', 'One link that holds a load in space: the subspace form fails its check')
def deficient_arm(s: StudyRun) -> None:
    """Check section 6.7: the full closure is right, and the source's reduction is wrong and rejected."""
    model = models.deficient_arm()
    blocks = model.blocks()
    tau = drive(model, models.LINK_TORQUE)
    report = analyse(blocks, model.q, actuated=model.actuated)
    s.holds('rank of the closure, although J has rank 1', 'spec 6.7', report.rank == 6, expected=6, value=report.rank)
    right = constrained_dynamics(blocks, model.q, model.v, tau)
    expected, wrongly = tabulated('yesiloglu-2007/6.7/acceleration'), tabulated('yesiloglu-2007/6.7/reduction')[0]
    s.near('acceleration, full closure, rad/s2', 'spec 6.7', expected, float(right.acceleration[0]), absolute=1e-9)
    wrong = subspace_dynamics(blocks, model.q, model.v, tau, {'grasp': ['hinge']}, strict=False)
    s.near('acceleration, subspace form (wrong)', 'spec 6.7', wrongly, float(wrong.acceleration[0]), absolute=1e-9)
    s.holds('its residual check fails', 'F24', not wrong.valid, expected=False, value=wrong.valid)
    message = ''
    try:
        subspace_dynamics(blocks, model.q, model.v, tau, {'grasp': ['hinge']})
    except MethodError as error:
        message = str(error)
    s.holds('it is rejected unless requested', 'F24', 'can not move' in message, expected=True)
    system = System.of_blocks(model.name, blocks, model.actuated)
    times = np.linspace(0.0, 2.0, 201)
    run = system.run(
        system.state(model.q, model.v),
        times,
        Inputs.constant({'hinge': models.LINK_TORQUE}),
        settings=Settings(step=2e-3),
    )
    s.near('energy less work over 2 s, J', 'C19', 0.0, float(np.abs(run.energy_balance).max()), absolute=1e-6)
    s.figure(
        'motion',
        'Hinge, and wrench of the link on the load',
        lambda: drawing.histories(
            run.times,
            {
                'angle, rad': {'hinge': run.position('hinge')},
                'force, N': dict(zip('xyz', run.force('grasp').T[3:])),
                'moment, N m': dict(zip('xyz', run.force('grasp').T[:3])),
            },
        ),
    )
