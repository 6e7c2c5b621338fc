"""Chapters 4 and 5: driven axle, caster vehicle, omnidirectional vehicles, isotropic layouts."""

from __future__ import annotations

from functools import partial

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.omni import NoTorquesError, drive_torques, simulate, wheel_motion
from dyn_nodes.analysis.plots import LINES
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.platform_path import LinesAndCurve, circle_path, straight_path
from dyn_nodes.control.torque_distribution import TorqueDistribution
from dyn_nodes.multibody.isotropic_design import condition_map
from dyn_nodes.multibody.isotropy import characteristic_length, condition_number, scaled, symmetric_layout
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.differential_drive import AxleMotion, CasterVehicle, DrivenAxle
from dyn_nodes.studies.saha_1991.machines import isotropic_vehicle, vehicle

TIMES = np.linspace(0.0, 60.0, 3001)
PATH_3 = LinesAndCurve()
CASES: tuple[tuple[str, int, tuple[int, ...] | None, dict[int, float]], ...] = (
    ('3 wheels, all driven', 3, None, {}),
    ('4 wheels, 1-3 driven', 4, (1, 2, 3), {}),
    ('4 wheels, all driven', 4, None, {}),
    ('4 wheels, wheel 4 limited', 4, None, {3: 0.01}),
    ('6 wheels, 1-3 driven', 6, (1, 2, 3), {}),
    ('6 wheels, 2-5 driven', 6, (2, 3, 4, 5), {}),
    ('6 wheels, 2-5, wheel 2 limited', 6, (2, 3, 4, 5), {0: 0.01}),
    ('6 wheels, all driven', 6, None, {}),
    ('6 wheels, wheels 2 and 6 limited', 6, None, {1: 0.01, 5: 0.025}),
)


def _limited(rates: Array, limits: dict[int, float]) -> TorqueDistribution:
    limit = np.full(len(rates), np.inf)
    for k, value in limits.items():
        limit[k] = value
    return TorqueDistribution(rates, -limit, limit)


@study('saha-1991/two-wheels', 'Driven axle on a circle (E1 to E4)')
def two_wheels(s: StudyRun) -> None:
    """Check rates, torques and energy on the circle."""
    axle, motion = DrivenAxle(), circle_path()(TIMES)
    yaw, growth = motion.velocity[:, 0], motion.acceleration[:, 0]
    plan = AxleMotion(TIMES, yaw, 5.0 * yaw, growth, 5.0 * growth)
    rates, torques = axle.rates(plan.yaw_rate, plan.speed), axle.torques(plan)
    accelerations = axle.rates(plan.yaw_acceleration, plan.acceleration)
    for k, expected in enumerate(tabulated('saha-1991/6.2/rates')):
        s.near(f'E2 rate of wheel {k + 1} at 30 s, rad/s', 'spec 6.2', expected, float(rates[1500, k]), absolute=1e-8)
    for k, expected in enumerate(tabulated('saha-1991/6.2/torques')):
        peak = float(np.abs(torques[:, k]).max())
        s.near(f'E3 peak torque of wheel {k + 1}, N m', 'spec 6.2', expected, peak, absolute=1e-7)
    constant = tabulated('saha-1991/6.2/ratio')
    moving = np.abs(accelerations).min(axis=1) > 1e-3
    for k in range(2):
        ratio = torques[moving, k] / accelerations[moving, k]
        spread = float(np.ptp(ratio))
        s.near(f'E3 torque over acceleration, wheel {k + 1}', 'p. 75', constant[k], float(ratio.mean()), absolute=1e-7)
        s.near(f'E3 its spread, wheel {k + 1}', 'p. 75', 0.0, spread, absolute=1e-12)
    energy = float(0.5 * rates[1500] @ axle.inertia @ rates[1500])
    s.near('kinetic energy at 30 s, J', 'spec 6.2', tabulated('saha-1991/6.2/energy')[0], energy, absolute=1e-8)
    channels = {
        'rates, rad/s': {'left': rates[:, 0], 'right': rates[:, 1]},
        'torques, mN m': {'left': 1e3 * torques[:, 0], 'right': 1e3 * torques[:, 1]},
    }
    s.figure('circle', 'Fig. 4.3: driven axle on the circle', lambda: drawing.histories(TIMES, channels))


@study('saha-1991/caster', 'Vehicle with a caster: circle, lines and curve (E6 to E11)')
def caster(s: StudyRun) -> None:
    """Check fork angle and torques."""
    car, motion = CasterVehicle(), LinesAndCurve(tangent=True)(TIMES)
    for angle in (0.0, 0.5, 2.0):
        determinant = float(np.linalg.det(car.loop_jacobian(angle)[1]))
        s.near(f'E6 det J_D at {angle:g} rad, m3', 'p. 82', -5e-4, determinant, absolute=1e-15)
    steady = tabulated('saha-1991/6.3/fork')[0]
    s.near('E7 fork angle on the circle, rad', 'spec 6.3', steady, car.steady_fork(5.0), absolute=1e-9)
    twist, growth = motion.twist, motion.twist_rate
    plan = AxleMotion(TIMES, twist[:, 0], twist[:, 2], growth[:, 0], growth[:, 2])
    fork = car.fork_angles(plan)
    rates, accelerations = (
        car.axle.rates(plan.yaw_rate, plan.speed),
        car.axle.rates(plan.yaw_acceleration, plan.acceleration),
    )
    torques = np.array([car.torques(f, v, a) for f, v, a in zip(fork, rates, accelerations)])
    greatest, (left, right) = tabulated('saha-1991/6.3/lines_peaks')
    for name, expected, value in (
        ('least', left, fork.min()),
        ('greatest', right, fork.max()),
        ('last', 0.0, fork[-1]),
    ):
        s.near(f'E10 {name} fork angle, rad', 'spec 6.3', expected, float(value), absolute=1e-5)
    for k, expected in enumerate(greatest[2:]):
        peak = float(np.abs(torques[:, k]).max())
        s.near(f'E10 peak torque of wheel {k + 1}, N m', 'spec 6.3', expected, peak, absolute=1e-6)
    straight = TIMES < 15.0
    apart = float(np.abs(rates[straight, 0] - rates[straight, 1]).max())
    s.near('E10 wheels differ on the straight, rad/s', 'p. 90', 0.0, apart, absolute=1e-9)
    channels = {
        'rates, rad/s': {'left': rates[:, 0], 'right': rates[:, 1]},
        'fork, rad': {'': fork},
        'torques, mN m': {'left': 1e3 * torques[:, 0], 'right': 1e3 * torques[:, 1]},
    }
    s.figure('lines', 'Figs 4.10, 4.11: caster vehicle on lines and curve', lambda: drawing.histories(TIMES, channels))


@study('saha-1991/omni', 'Omnidirectional vehicles: paths, torques with and without limits (E13 to E25)')
def omni(s: StudyRun) -> None:
    """Check peak torques of nine cases, orderings, limits, and a simulation of the plan."""
    motion = PATH_3(TIMES)
    peaks: dict[str, Array] = {}
    drawn: dict[str, Array] = {}
    for (name, count, driven, limits), expected in zip(CASES, tabulated('saha-1991/6.6/peaks')):
        platform = vehicle(count, driven)
        torques = drive_torques(platform, motion, _limited(platform.L_driven, limits))
        peaks[name], drawn[name] = np.abs(torques).max(axis=0), torques
        worst = float(np.abs(peaks[name] - expected).max())
        s.near(f'{name}: peak torques on path 3 differ by, N m', 'spec 6.6', 0.0, worst, absolute=2e-6)
    _orderings(s, peaks, drawn)
    idle = wheel_motion(vehicle(4), straight_path(0.5 * np.pi)(TIMES)).roller_rates
    s.near('E15 rollers turn along j, rad/s', 'p. 111', 0.0, float(np.abs(idle).max()), absolute=1e-12)
    four = vehicle(4)
    try:
        drive_torques(four, PATH_3(np.linspace(0.0, 60.0, 301)), TorqueDistribution(four.L_driven, -0.01, 0.01))
        missed = 0
    except NoTorquesError as error:
        missed = len(error.times)
    s.holds('E24 infeasible instants of 301', 'spec 6.6', missed == 211, expected=211, value=missed)
    six, times = vehicle(6), np.linspace(0.0, 60.0, 61)
    share = _limited(six.L_driven, {1: 0.01, 5: 0.025})
    run = simulate(
        six,
        lambda t: drive_torques(six, PATH_3([t]), share)[0],
        times,
        PATH_3([0.0]).pose[0],
        tolerance=1e-8,
        max_step=0.3,
    )
    away = float(np.abs(run.pose - PATH_3(times).pose).max())
    s.near('E23 simulated path against the plan, m and rad', 'E23', 0.0, away, absolute=1e-3)
    for name, torques in drawn.items():
        channels = {'torque, N m': {f'drive {k + 1}': column for k, column in enumerate(torques.T)}}
        slug = name.replace(' ', '_').replace(',', '')
        s.figure(slug, f'Path 3, {name}', partial(drawing.histories, TIMES, channels, height=2.6))


def _orderings(s: StudyRun, peaks: dict[str, Array], drawn: dict[str, Array]) -> None:
    all4, three4 = peaks['4 wheels, all driven'], peaks['4 wheels, 1-3 driven']
    s.holds('E17 four drives need smaller torques than three', 'p. 111', bool(np.all(all4[:3] < three4)))
    all6, three = peaks['6 wheels, all driven'], peaks['3 wheels, all driven']
    s.holds('E21 six drives need smaller torques than three wheels', 'p. 114', bool(np.all(all6[:3] < three)))
    carried = peaks['6 wheels, 1-3 driven']
    s.holds('E19 three more wheels need greater torques', 'p. 113', bool(np.all(carried > three)))
    limited = np.abs(drawn['4 wheels, wheel 4 limited'])
    first, last = TIMES < 15.0, TIMES > 45.0
    pairs = [limited[first][:, [2, 0]] - limited[first][:, [3, 1]], limited[last][:, [0, 1]] - limited[last][:, [3, 2]]]
    worst = max(float(np.abs(pair).max()) for pair in pairs)
    s.near('E18 pairs of equal torques on the lines, N m', 'p. 112', 0.0, worst, absolute=1e-9)
    four = vehicle(4)
    feathered = drive_torques(four, PATH_3(TIMES[::100]), _limited(four.L_driven, {3: 0.0}))
    same = float(np.abs(feathered[:, :3] - drawn['4 wheels, 1-3 driven'][::100]).max())
    s.near('E25 a feathered motor equals no motor, N m', 'p. 113', 0.0, same, absolute=1e-12)


@study('saha-1991/isotropy', 'Isotropic layouts of omnidirectional wheels (E26 to E31)')
def isotropy(s: StudyRun) -> None:
    """Check the conditions of chapter 5 and draw the map of the condition number."""
    three = vehicle(3).L
    length = characteristic_length(three)
    sigma = float(np.linalg.norm(scaled(three, length)[:, 0]))
    s.near('E27 characteristic length of three wheels, m', 'p. 130', 0.42426, length, absolute=1e-5)
    s.near('E27 sigma, 1/m', 'spec 6.4', tabulated('saha-1991/6.4/too_near')[0], sigma, absolute=1e-6)
    four = isotropic_vehicle().L
    length = characteristic_length(four)
    s.near('E28 characteristic length, m', 'p. 133', 0.3 * np.sqrt(2.0), length, absolute=1e-10)
    s.near('E28 condition number less 1', 'p. 133', 0.0, condition_number(scaled(four, length)) - 1, absolute=1e-12)
    six = vehicle(6).L
    value = condition_number(scaled(six, characteristic_length(six))) - 1
    s.near('E29 six wheels: condition number less 1', 'spec 6.4', 0.0, value, absolute=1e-12)
    near = OmniVehicle(symmetric_layout(3, 0.5 * np.pi, 0.0, 0.0, 0.5, 0.1, 0.01)).L
    value = condition_number(scaled(near, 1.0))
    s.near('E30 best of wheels too near', 'spec 6.4', float(np.sqrt(2.0)), value, absolute=1e-9)

    def chart() -> drawing.Figure:
        ratios, angles = np.linspace(0.3, 3.0, 109), np.radians(np.linspace(2.0, 90.0, 89))
        values = condition_map(ratios, angles)
        figure, (axes,) = drawing.panels(1, 4.2)
        levels = [1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0]
        filled = axes.contourf(ratios, np.degrees(angles), values, levels, cmap='cividis_r', extend='max')
        even = ratios[ratios > np.sqrt(0.5)]
        axes.plot(even, np.degrees(np.arctan2(1.0, np.sqrt(2 * even**2 - 1))), color=LINES[1], label='isotropic')
        figure.colorbar(filled, ax=axes, label='condition number')
        axes.set(xlabel='distance of the wheels / characteristic length', ylabel='xi, deg')
        axes.legend()
        return figure

    s.figure('map', 'Condition number of three wheels over the design space', chart)
