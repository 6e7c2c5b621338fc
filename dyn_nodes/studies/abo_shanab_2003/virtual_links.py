"""Studies E1 and E2: virtual links, for a joint of three degrees of freedom and for a reaction (chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation import Inputs, JointReaction, Settings
from dyn_nodes.studies.abo_shanab_2003 import figures, lagrange_euler, three_links
from dyn_nodes.studies.abo_shanab_2003.dh_machines import GRAVITY, spherical_joint
from dyn_nodes.studies.abo_shanab_2003.three_links import CHAIN
from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import spherical_joint_torque
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated

SPHERICAL = {'mass': 5.0, 'com_height': 0.3, 'inertia': 2.0, 'axial_inertia': 0.7, 'length': 0.4}
STATES = 200
STEPS = (1e-3, 2e-3, 5e-3)  # s
DURATION = 10.0  # s
RELEASED = (1.0, 0.5, -0.5)  # rad


@study('abo-shanab-2003/e1', 'Spherical joint by virtual links against the closed form')
def e1(s: StudyRun) -> None:
    """Check torques of the z-y-z angles at random states."""
    chain = spherical_joint(**SPHERICAL)
    generator = np.random.default_rng(1)
    by_chain, by_newton, closed = (np.empty((STATES, 3)) for _ in range(3))
    for k in range(STATES):
        q, qd, qdd = generator.uniform(-np.pi, np.pi, 3), generator.normal(size=3), generator.normal(size=3)
        by_chain[k] = lagrange_euler.inverse_dynamics(chain, q, qd, qdd)
        by_newton[k] = lagrange_euler.newton_euler(chain, q, qd, qdd).torque
        closed[k] = spherical_joint_torque(q, qd, qdd, **SPHERICAL)
    size = np.abs(closed).max()
    for k in range(3):
        difference = float(np.abs(by_chain[:, k] - closed[:, k]).max() / size)
        s.near(
            f'torque {k + 1}: virtual links against first principles, {STATES} states',
            'p. 25 to 32',
            0.0,
            difference,
            absolute=1e-12,
        )
    s.near(
        'recursive Newton-Euler against first principles',
        'spec 6.2',
        0.0,
        float(np.abs(by_newton - closed).max() / size),
        absolute=1e-12,
    )
    torque = lagrange_euler.inverse_dynamics(chain, (0.3, 0.8, -0.5), (1.0, -0.6, 2.0), (0.5, 1.5, -1.0))
    for k, expected in enumerate(tabulated('abo-shanab-2003/6.2/spherical')):
        s.near(f'torque {k + 1} at the reference state, N m', 'spec 6.2', expected, float(torque[k]), relative=1e-11)

    def draw() -> figures.Figure:
        figure, (axes,) = figures.panels(1, 3.2)
        for k, colour in zip(range(3), figures.LINES):
            error = np.abs(by_chain[:, k] - closed[:, k]) / size
            axes.semilogy(np.maximum(error, 1e-18), '.', color=colour, label=f'torque {k + 1}')
        axes.axhline(1e-12, color=figures.GREY, linewidth=1.0)
        axes.annotate('tolerance', (0, 1e-12), xytext=(0, 4), textcoords='offset points', color='#555555')
        axes.set(xlabel='random state', ylabel='relative difference', ylim=(1e-18, 1e-11))
        figures.legend(axes)
        return figure

    s.figure(
        'difference',
        'Virtual links against the closed form, relative to the greatest torque (equal values at the bottom)',
        draw,
    )


@dataclass(frozen=True, eq=False)
class Swing:
    """A free swing of the three-link chain.

    Attributes:
        time: (t,) s.  angles: (t, 3) rad.  energy: (t,) J; NaN for the constrained form.
        drift: (t,) opening of joint A, m.
        reaction: (t,) size of the force at A, N.
    """

    time: Array
    angles: Array
    energy: Array
    drift: Array
    reaction: Array


def swing(case: tuple[str, float]) -> Swing:
    """Run a free swing of 10 s by the method `virtual_links` or `constrained` (DAE) with a step, s."""
    method, step = case
    return free_swing(step) if method == 'virtual_links' else constrained_swing(step)


def free_swing(step: float) -> Swing:
    """Return a swing of the chain's system, with the reaction at A from virtual links."""
    system = three_links.chain_system()
    # the reaction has sharp peaks: keep every step if it is checked, else every 0.01 s
    spacing = step if step == STEPS[0] else 0.01
    times: Array = np.asarray(np.arange(round(DURATION / spacing) + 1) * spacing, dtype=np.float64)
    run = system.run(
        three_links.state_of(RELEASED, np.zeros(3)), times, Inputs.constant(), settings=Settings(step=step)
    )
    angles = np.cumsum(run.states[:, :3], axis=1)
    force = JointReaction(system, (three_links.OPENED,)).of_run(run)[:, 0, :3]
    energy = run.output('kinetic_energy') + run.output('potential_energy')
    size = np.linalg.norm(three_links.in_world(force, angles[:, 1]), axis=1)
    center = np.stack([run.output('center_of_mass_x'), run.output('center_of_mass_z')])
    # an opening of A would shift the common centre of mass by this share
    share = sum(CHAIN.mass[1:]) / sum(CHAIN.mass)
    drift = np.linalg.norm(center - _closed_center(angles), axis=0) / share
    return Swing(run.times, angles, energy, drift, size)


def _closed_center(angles: Array) -> Array:
    """Return the centre of mass (2, t) of the closed chain at absolute angles (t, 3): x, up."""
    (l1, l2, _), (d1, d2, d3), (m1, m2, m3) = CHAIN.length, CHAIN.com, CHAIN.mass
    arms = np.array([m1 * d1 + (m2 + m3) * l1, m2 * d2 + m3 * l2, m3 * d3]) / sum(CHAIN.mass)
    return np.stack([np.sin(angles) @ arms, -np.cos(angles) @ arms])


def constrained_swing(step: float) -> Swing:
    """Return a swing by the constrained Lagrange equations without stabilization."""
    count, keep = round(DURATION / step), round(0.01 / step)
    q = np.append(RELEASED, _second_center(np.array(RELEASED)))
    rows = np.empty((count + 1, 10))
    rows[0] = np.concatenate([q, np.zeros(5)])
    for k in range(count):
        rows[k + 1] = _rk4_step(rows[k], step)
    time: Array = np.asarray(np.arange(count + 1)[::keep] * step, dtype=np.float64)
    rows = rows[::keep]
    angles, rates = rows[:, :3], rows[:, 5:8]
    drift = np.array([np.linalg.norm(row[3:5] - _second_center(row[:3])) for row in rows])
    size = [np.linalg.norm(CHAIN.constrained_motion(*pair, np.zeros(3)).multiplier) for pair in zip(angles, rates)]
    return Swing(time, angles.copy(), np.full(len(time), np.nan), drift, np.array(size))


def _second_center(angles: Array) -> Array:
    """Return the mass centre of link 2 with joint A closed: x, y."""
    l1, d2 = CHAIN.length[0], CHAIN.com[1]
    return np.array(
        [
            l1 * np.sin(angles[0]) + d2 * np.sin(angles[1]),
            -l1 * np.cos(angles[0]) - d2 * np.cos(angles[1]),
        ]
    )


def _rk4_step(y: Array, h: float) -> Array:
    def rate(x: Array) -> Array:
        return np.concatenate([x[5:], CHAIN.constrained_motion(x[:3], x[5:8], np.zeros(3)).acceleration])

    k1 = rate(y)
    k2 = rate(y + 0.5 * h * k1)
    k3 = rate(y + 0.5 * h * k2)
    k4 = rate(y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)


@study('abo-shanab-2003/e2', 'Reaction in a three-link chain: virtual links, Newton-Euler, constrained Lagrange')
def e2(s: StudyRun) -> None:
    """Reaction at the joint between links 1 and 2, and free swings with both methods."""
    angles, rates, torques = (0.3, 0.7, -0.4), (1.2, -0.8, 2.0), (20.0, -5.0, 3.0)
    acceleration = three_links.accelerations(angles, rates, torques)
    for k, expected in enumerate(tabulated('abo-shanab-2003/6.1/accelerations')):
        s.near(f'acceleration of link {k + 1}, rad/s2', 'spec 6.1', expected, float(acceleration[k]), relative=1e-10)
    reaction = tabulated('abo-shanab-2003/6.1/reaction')[0]
    for axis, expected, value in zip('xy', reaction, three_links.reaction(angles, rates, torques)):
        s.near(f'reaction F_{axis}, N', 'spec 6.1', expected, float(value), relative=1e-10)
    _claim_equality(s)
    cases = [(method, step) for method in ('virtual_links', 'constrained') for step in STEPS]
    runs = dict(zip(cases, s.map(swing, cases, 'free swings')))
    _claim_swings(s, runs)

    def draw() -> figures.Figure:
        figure, axes = figures.panels(2, 5.2)
        for step, colour in zip(STEPS, figures.LINES):
            run = runs['constrained', step]
            axes[0].semilogy(
                run.time[1:],
                np.maximum(run.drift[1:], 1e-18),
                color=colour,
                label=f'constrained, {1e3 * step:g} ms',
            )
        run = runs['virtual_links', STEPS[0]]
        worst = np.maximum(np.maximum.accumulate(run.drift), 1e-17)
        axes[0].semilogy(run.time, worst, color=figures.BLACK, linestyle='--', linewidth=1.1, label='virtual links')
        axes[0].set_ylabel('opening of the joint, m')
        axes[0].set_ylim(1e-17, 1e-2)
        figures.legend(axes[0])
        axes[1].plot(run.time, run.reaction, color=figures.BLUE)
        axes[1].set_ylabel('reaction by virtual links, N')
        axes[-1].set_xlabel('time, s')
        axes[-1].set_xlim(0.0, DURATION)
        return figure

    s.figure('drift', 'The constraint drifts in the constrained form; with virtual links there is none', draw)


def _claim_equality(s: StudyRun) -> None:
    generator = np.random.default_rng(2)
    worst_force, worst_acceleration, worst_newton = 0.0, 0.0, 0.0
    for _ in range(STATES):
        q, qd, torque = generator.uniform(-np.pi, np.pi, 3), generator.normal(size=3), generator.normal(size=3) * 20.0
        acceleration = three_links.accelerations(q, qd, torque)
        reaction = three_links.reaction(q, qd, torque)
        reference = CHAIN.constrained_motion(q, qd, torque)
        size = max(1.0, float(np.abs(reaction).max()))
        worst_force = max(worst_force, float(np.abs(reaction - reference.multiplier).max()) / size)
        change = np.abs(acceleration - reference.acceleration[:3]).max() / max(1.0, np.abs(acceleration).max())
        worst_acceleration = max(worst_acceleration, float(change))
        worst_newton = max(worst_newton, float(np.abs(reaction - _newton(q, qd, acceleration)).max()) / size)
    for name, value in (
        ('reaction by virtual links against the DAE multiplier', worst_force),
        ('reaction by virtual links against Newton-Euler', worst_newton),
        ('accelerations of both methods', worst_acceleration),
    ):
        s.near(f'{name}, {STATES} states', 'p. 37 to 42', 0.0, value, absolute=1e-10)


def _newton(q: Array, qd: Array, acceleration: Array) -> Array:
    """Return the force on link 2 at A: mass times acceleration of links 2 and 3, less their weight."""
    sine, cosine = np.sin(q), np.cos(q)
    along, across = np.array([cosine, sine]), np.array([-sine, cosine])  # of d(sin, -cos) by the angle, and twice

    def point(lengths: tuple[float, float, float]) -> Array:
        return np.asarray((along * acceleration + across * qd**2) @ np.array(lengths))

    (l1, l2, _), (_, d2, d3), (_, m2, m3) = CHAIN.length, CHAIN.com, CHAIN.mass
    weight = np.array([0.0, (m2 + m3) * GRAVITY])
    return m2 * point((l1, d2, 0.0)) + m3 * point((l1, l2, d3)) + weight


def _claim_swings(s: StudyRun, runs: dict[tuple[str, float], Swing]) -> None:
    fine = runs['virtual_links', 1e-3]
    energy, (ends, greatest) = (
        tabulated('abo-shanab-2003/6.1/swing_energy')[0],
        tabulated('abo-shanab-2003/6.1/swing_end'),
    )
    s.near('energy of the swing, J', 'spec 6.1', energy, float(fine.energy[0]), relative=1e-6)
    for k, expected in enumerate(ends):
        s.near(
            f'angle {k + 1} after 10 s, step 1 ms, rad', 'spec 6.1', expected, float(fine.angles[-1, k]), absolute=1e-6
        )
    s.near('greatest reaction, N', 'spec 6.1', greatest, float(fine.reaction.max()), relative=1e-3)
    error = float(np.abs(fine.energy - fine.energy[0]).max())
    s.holds('energy error at a step of 1 ms, J', 'spec 6.1: 5.4e-7', error < 1e-6, expected='< 1e-6', value=error)
    drifts = [float(runs['constrained', step].drift.max()) for step in STEPS]
    opening = max(float(runs['virtual_links', h].drift.max()) for h in STEPS)
    s.holds(
        'virtual links: the joint does not open, to round-off, m',
        'p. 42',
        opening < 1e-13,
        expected='< 1e-13',
        value=opening,
    )
    s.holds('constrained form: the joint opens, m', 'p. 42', drifts[0] > 0.0, expected='> 0', value=drifts[0])
    s.rising('the drift grows with the step (1, 2, 5 ms), m', 'p. 42', drifts)
    s.near('drift at a step of 1 ms, m', 'spec 6.1', 1.7e-7, drifts[0], relative=0.05)
    s.near('drift at a step of 5 ms, m', 'spec 6.1', 1.07e-4, drifts[-1], relative=0.05)
