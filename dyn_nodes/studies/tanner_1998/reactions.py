"""Studies of the ground reactions of RM-1: uniqueness, tipping, friction cone, circles (E6 to E8, E12)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.friction_cone import (
    cone_function,
    cone_hessian,
    greatest_drive_torque,
    lateral_chord,
    necessary_lateral_check,
)
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.robot import (
    ARM_LEFT,
    FRICTION,
    HEIGHT,
    POSTURES,
    S0_JOINTS,
    S0_LOAD,
    S0_TRACTION,
    WHEELS,
    load_in_a_circle,
    reactions,
)

FOUR = np.array([(0.35, 0.30), (0.35, -0.30), (-0.35, 0.30), (-0.35, -0.30)])
MASS, RADIUS = 60.0, 0.1
WHEEL_NAMES = ('left', 'right', 'castor')
RATES = (0.5, 1.0, -0.5, -1.0)
"""Turning rates of the circles, rad/s."""
RANDOM = 500


@study('tanner-1998/e6', 'RM-1: unique ground reactions, and ranges of the others')
def unique_reactions(s: StudyRun) -> None:
    """Check normal forces, least norm, chords, lateral forces and open directions at rest and at S0/T0."""
    rest = reactions(load_in_a_circle(S0_JOINTS), ranges=True)
    for name, force, expected in zip(WHEEL_NAMES, rest.split[:, 2], tabulated('tanner-1998/6.4/static')[0]):
        s.near(f'at rest: normal force of the {name} wheel, N', '6.4', expected, float(force), absolute=1e-6)
    spread = float(np.abs(rest.greatest[:, 2] - rest.least[:, 2]).max())
    s.near('three wheels: open range of the normal forces at rest, N', 'S12', 0.0, spread, absolute=1e-6)
    moving = _at_s0(ranges=True)
    least = tabulated('tanner-1998/6.4/S0')
    for name, lateral, expected in zip(WHEEL_NAMES, moving.split[:2, 1], least):
        label = f'S0: lateral force of the {name} wheel, least norm, N'
        s.near(label, '6.4', expected[1], float(lateral), absolute=1e-6)
    chords = lateral_chord(moving.split[:2, 2], S0_TRACTION[:2], FRICTION)
    ends, torques = tabulated('tanner-1998/6.4/chords')
    for name, chord, expected in zip(WHEEL_NAMES, chords, ends):
        s.near(f'S0: chord of the {name} wheel, N', '6.4, S16', expected, float(chord), absolute=1e-6)
    low, high = tabulated('tanner-1998/6.4/interval')
    s.near('S0: least lateral force of the left wheel, N', '6.4', low, float(moving.least[0, 1]), absolute=1e-6)
    s.near('S0: greatest lateral force of the left wheel, N', '6.4', high, float(moving.greatest[0, 1]), absolute=1e-6)
    s.holds('S0: lateral forces are open in one direction', 'S12', moving.freedom == 1, expected=1,
            value=int(moving.freedom))  # fmt: skip
    greatest = greatest_drive_torque(rest.split[:2, 2], RADIUS, FRICTION)
    for name, torque, expected in zip(WHEEL_NAMES, greatest, torques):
        label = f'at rest: greatest drive torque of the {name} wheel, N m'
        s.near(label, '6.4', expected, float(torque), absolute=1e-6)
    counts = [_open_directions(wheels) for wheels in (3, 4, 6)]
    s.holds('open directions of 3, 4, 6 wheels; with measured tractions', 'S11',
            counts == [(3, 1), (6, 3), (12, 7)], expected=[[3, 1], [6, 3], [12, 7]],
            value=[list(count) for count in counts])  # fmt: skip
    s.figure(
        'chords', 'RM-1 at S0: discs and chords of the friction cones, and the admissible lateral forces', _draw_s0
    )


def _at_s0(ranges: bool = False):  # type: ignore[no-untyped-def]
    return admissible_reactions(
        WHEELS, np.zeros(3), S0_LOAD[:3], S0_LOAD[3:], friction=(FRICTION, FRICTION, 0.0), traction=S0_TRACTION,
        ranges=ranges,
    )  # fmt: skip


def _open_directions(wheels: int) -> tuple[int, int]:
    """Return the open directions of wheels at random positions with all forces unknown, and with measured tractions."""
    rng = np.random.default_rng(wheels)
    points = np.column_stack([rng.normal(size=(wheels, 2)), np.full(wheels, -HEIGHT)])
    load = np.array((0.0, 0.0, -600.0))
    rolling = np.cross((0.0, 0.0, 1.0), points - (0.3, 5.0, 0.0))
    free = admissible_reactions(points, np.zeros(3), load, friction=FRICTION, ranges=False)
    driven = admissible_reactions(
        points, np.zeros(3), load, friction=FRICTION, rolling=rolling, traction=np.zeros(wheels), ranges=False
    )
    return int(free.freedom), int(driven.freedom)


def _draw_s0() -> drawing.Figure:
    reaction = _at_s0(ranges=True)
    figure, panels = drawing.panels(1, 3.6, 2)
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    for k, axes in enumerate(panels):
        disc = FRICTION * reaction.split[k, 2]
        axes.plot(disc * np.cos(turn), disc * np.sin(turn), color='0.5', linewidth=1.0, label='friction disc')
        chord = float(lateral_chord(reaction.split[k, 2], S0_TRACTION[k], FRICTION))
        axes.plot(2 * [S0_TRACTION[k]], (-chord, chord), linewidth=1.0, label='chord')
        ends = (reaction.least[k, 1], reaction.greatest[k, 1])
        axes.plot(2 * [S0_TRACTION[k]], ends, linewidth=3.0, label='admissible')
        axes.set(title=f'{WHEEL_NAMES[k]} wheel', xlabel='rolling force, N', ylabel='lateral force, N')
        axes.set_aspect('equal')
    panels[0].legend(loc='lower left')
    return figure


@study('tanner-1998/e7', 'Tipping limits: accelerations, arm and payload, against closed forms and the ZMP')
def tipping(s: StudyRun) -> None:
    """Check critical accelerations of a rigid vehicle, payloads of RM-1, and the ZMP test on random loads."""
    cases = (
        ('four wheels, ahead', FOUR, (1, 0), 0.35), ('four wheels, sideways', FOUR, (0, 1), 0.30),
        ('three wheels, braking', WHEELS[:, :2], (-1, 0), 0.35),
        ('three wheels, accelerating', WHEELS[:, :2], (1, 0), 0.15),
        ('three wheels, sideways', WHEELS[:, :2], (0, 1), 0.21),
    )  # fmt: skip
    for name, points, direction, arm in cases:
        limit = brentq(lambda a, p=points, d=direction: _rigid_margin(p, d, a), 1.0, 20.0, rtol=1e-12)
        s.near(f'{name}: acceleration at which a wheel lifts, m/s2', '6.6, C21', 9.81 * arm / HEIGHT, limit,
               relative=1e-4)  # fmt: skip
    static, loads = tabulated('tanner-1998/6.6/straight'), tabulated('tanner-1998/6.6/payload')
    for (name, joints), expected, load in zip(POSTURES.items(), static, loads):
        normal = reactions(load_in_a_circle(joints)).split[:, 2]
        miss = float(np.abs(normal - expected).max())
        s.near(f'arm {name}: normal forces at rest against the specification, N', '6.6', 0.0, miss, absolute=1e-6)
        s.near(f'arm {name}: payload at which a wheel lifts, kg', '6.6', load, _payload_limit(joints), relative=1e-4)
    agree, feasible = _zmp_agreement()
    s.holds(f'{RANDOM} random loads: reactions without friction limits exist where the ZMP is inside', 'C21, 6.6',
            agree == RANDOM, expected=RANDOM, value=agree)  # fmt: skip
    s.note(f'{feasible} of the {RANDOM} random loads can be carried; in the specification 243 of 500 others.')
    s.figure('payload', 'RM-1 at rest: normal forces over the payload, arm to the left', _draw_payload)


def _rigid_margin(points: Array, direction: tuple[int, int], acceleration: float) -> float:
    push = MASS * np.array((*(-acceleration * np.array(direction)), -9.81))
    below = np.column_stack([points, np.full(len(points), -HEIGHT)])
    return float(admissible_reactions(below, np.zeros(3), push, friction=1e6, ranges=False).margin)


def _payload_limit(joints: tuple[float, float, float]) -> float:
    return float(brentq(lambda load: float(reactions(load_in_a_circle(joints, payload=load)).margin), 0.0, 100.0))


def _zmp_agreement() -> tuple[int, int]:
    """Return the number of random loads on which both tests agree, and the number that can be carried."""
    rng = np.random.default_rng(21)
    force = rng.normal(size=(RANDOM, 3)) * (300.0, 300.0, 100.0) + (0.0, 0.0, -700.0)
    moment = rng.normal(size=(RANDOM, 3)) * (40.0, 40.0, 10.0)
    possible = admissible_reactions(WHEELS, np.zeros(3), force, moment, friction=1e6, ranges=False).possible
    need, turn = -force, -moment
    x = -(turn[:, 1] + HEIGHT * need[:, 0]) / need[:, 2]
    y = (turn[:, 0] - HEIGHT * need[:, 1]) / need[:, 2]
    inside = need[:, 2] > 0.0
    for k in range(3):
        (ax, ay), (bx, by) = WHEELS[(k + 1) % 3, :2], WHEELS[k, :2]
        inside &= (bx - ax) * (y - ay) - (by - ay) * (x - ax) <= 0.0
    return int((possible == inside).sum()), int(possible.sum())


def _draw_payload() -> drawing.Figure:
    payloads = np.linspace(0.0, 25.0, 51)
    normal = np.array([reactions(load_in_a_circle(ARM_LEFT, payload=load)).split[:, 2] for load in payloads])
    figure, (axes,) = drawing.panels(1, 2.8)
    for name, values in zip(WHEEL_NAMES, normal.T):
        axes.plot(payloads, values, label=name)
    axes.axhline(0.0, color='0.5', linewidth=0.8)
    axes.set(xlabel='payload, kg', ylabel='normal force, N')
    drawing.legend(axes)
    return figure


@study('tanner-1998/e8', 'The friction cone and its printed forms')
def friction_cone(s: StudyRun) -> None:
    """Check bounds of true and printed cones, and convexity of the cone and of the admissible set."""
    frictions, printed, _ = tabulated('tanner-1998/6.6/friction')
    for friction, four, seven in zip(frictions[:3], printed[:4], printed[4:]):
        bound = brentq(lambda x, mu=friction: float(cone_function((x, 0.0, 1.0), mu)), 0.0, 2.0)
        s.near(f'bound of F_t / F_z for a coefficient of {friction:g}', '5.4, F42', friction, bound, absolute=1e-12)
        s.near(f'the same by (5.4) as printed, {friction:g}', '6.6', four, float(np.sqrt(friction)), absolute=1e-6)
        s.near(f'the same by (5.7) as printed, {friction:g}', '6.6', seven, float(np.sqrt(1.0 + friction)),
               absolute=1e-6)  # fmt: skip
    eigenvalues = np.linalg.eigvalsh(cone_hessian((3.0, 4.0, 1.0)))
    s.near('eigenvalues of the Hessian at (3, 4): the greatest', '5.8, S13', 0.2, float(eigenvalues[-1]),
           absolute=1e-15)  # fmt: skip
    s.near('and the greatest of the others', '5.8, S13', 0.0, float(np.abs(eigenvalues[:-1]).max()), absolute=1e-15)
    s.near('midpoints of pairs of admissible reactions: violation of the cones, N', 'S13', 0.0,
           _convexity_defect(), absolute=1e-9)  # fmt: skip
    chords = np.full(3, 100.0)
    attainable = _greatest_yaw()
    s.holds('yaw moment of 100 N m, chords of 100 N: the lateral check passes', '6.5, F50',
            necessary_lateral_check(chords, 0.0))  # fmt: skip
    s.near('and the greatest yaw moment that reactions give, N m', '6.5', 50.0, attainable, absolute=1e-3)
    s.figure('cones', 'Bounds of the friction cone: true and as printed', _draw_cones)


def _convexity_defect() -> float:
    """Return the greatest violation of the cones by midpoints of admissible reactions of RM-1 at S0, N."""
    reaction = _at_s0(ranges=True)
    line = reaction.greatest - reaction.least
    points = reaction.least + np.linspace(0.0, 1.0, 21)[:, None, None] * np.sign(line) * np.abs(line)
    points[:, 1, 1] = reaction.split[:, 1].sum() - points[:, 0, 1]  # constant sum of both forces
    halves = 0.5 * (points[:, None] + points[None])
    return float(max(0.0, cone_function(halves[..., :2, :], FRICTION).max()))


def _greatest_yaw() -> float:
    points = WHEELS + np.array((0.0, 0.0, HEIGHT))

    def margin(moment: float) -> float:
        # one newton per wheel represents 100 N of chord
        load = (0.0, 0.0, -3.0)
        center = points.mean(axis=0)
        return float(
            admissible_reactions(
                points, center, load, (0.0, 0.0, -moment / 100.0), friction=1.0, traction=np.zeros(3), ranges=False
            ).margin
        )

    return float(brentq(margin, 10.0, 90.0, xtol=1e-6))


def _draw_cones() -> drawing.Figure:
    friction = np.linspace(0.0, 1.0, 51)
    figure, (axes,) = drawing.panels(1, 2.8)
    lines: tuple[tuple[str, Array], ...] = (
        ('Coulomb', friction), ('(5.4) as printed', np.sqrt(friction)), ('(5.7) as printed', np.sqrt(1.0 + friction)),
    )  # fmt: skip
    for name, values in lines:
        axes.plot(friction, values, label=name)
    axes.set(xlabel='friction coefficient', ylabel='bound of F_t / F_z')
    drawing.legend(axes)
    return figure


@study('tanner-1998/e12', 'RM-1 in a circle, arm to the left: it slides before a wheel lifts')
def circles(s: StudyRun) -> None:
    """Check the speeds at which contact becomes inadmissible, the mechanism, and higher speeds (S14)."""
    for rate, slides, lifts in zip(RATES, *tabulated('tanner-1998/6.6/E12')):
        sliding = brentq(_margin_at(rate), 0.5 * slides, 1.5 * slides, rtol=1e-10)
        lift = brentq(_lightest(rate), 0.5 * lifts, 1.5 * lifts, rtol=1e-10)
        s.near(f'{rate:+g} rad/s: speed at which it slides, m/s', '6.6, E12', slides, sliding, relative=1e-5)
        s.near(f'{rate:+g} rad/s: speed at which a wheel lifts, m/s', '6.6, E12', lifts, lift, relative=1e-5)
        s.holds(f'{rate:+g} rad/s: it slides before a wheel lifts', 'E12', sliding < lift)
        beyond = reactions(load_in_a_circle(ARM_LEFT, 1.05 * sliding, rate))
        s.holds(f'{rate:+g} rad/s: beyond it the balance still has solutions, and none is admissible', 'S14',
                beyond.mismatch < 1e-9 and not beyond.possible)  # fmt: skip
        s.holds(f'{rate:+g} rad/s: the right wheel slips by its traction, or the chords are exhausted', '6.6',
                _mechanism(sliding, rate) == ('chords' if rate > 0 else 'traction'),
                expected='chords' if rate > 0 else 'traction', value=_mechanism(sliding, rate))  # fmt: skip
    s.figure('circles', 'RM-1 in circles: margin of the admissible reactions over the speed', _draw_circles)


def _margin_at(rate: float) -> Callable[[float], float]:
    return lambda speed: float(reactions(load_in_a_circle(ARM_LEFT, speed, rate)).margin)


def _lightest(rate: float) -> Callable[[float], float]:
    return lambda speed: float(reactions(load_in_a_circle(ARM_LEFT, speed, rate)).split[:, 2].min())


def _mechanism(speed: float, rate: float) -> str:
    forces = reactions(load_in_a_circle(ARM_LEFT, speed, rate)).split[:2]
    used = np.abs(forces[:, 0]) / (FRICTION * forces[:, 2])
    return 'traction' if used.max() > 1.0 - 1e-6 else 'chords'


def _draw_circles() -> drawing.Figure:
    figure, (axes,) = drawing.panels(1, 3.0)
    for rate, slides in zip(RATES, tabulated('tanner-1998/6.6/E12')[0]):
        speeds = np.linspace(0.0, 1.3 * slides, 61)
        (line,) = axes.plot(speeds, [_margin_at(rate)(speed) for speed in speeds], label=f'{rate:+g} rad/s')
        axes.plot(slides, 0.0, 'o', color=line.get_color(), markersize=4)
    axes.axhline(0.0, color='0.5', linewidth=0.8)
    axes.set(xlabel='speed of the axle, m/s', ylabel='margin, N')
    drawing.legend(axes)
    return figure
