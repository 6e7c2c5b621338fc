"""The drawings of the research sources; `theory_drawings.py` writes them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from drawing_pen import AMBER, BLUE, DARK, GREEN, GREY, LEAF, LIGHT, LINE, RED, Pen, point, polar, shift


def _planar(pen: Pen, front: tuple[float, float], degrees: float, lifted: tuple[bool, bool]) -> dict[str, np.ndarray]:
    """Draw a planar machine on two feet, turned about its front foot; return its points."""
    turn = np.radians(-degrees)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])

    def at(x: float, z: float) -> np.ndarray:
        return point(front) + 0.88 * rotation @ np.array([x, z])

    pen.area([at(x, z) for x, z in ((-3.0, 0.5), (0.3, 0.5), (0.3, 1.3), (-3.0, 1.3))])
    for x, off in ((0.0, lifted[1]), (-2.7, lifted[0])):
        pen.area([at(x - 0.28, 0.5), at(x + 0.28, 0.5), at(x, 0.0)], 'white' if off else GREY)
    pen.link([at(-1.3, 1.5), at(0.2, 3.1), at(1.6, 2.7)], 0.15)
    pen.area([at(-1.7, 1.3), at(-0.9, 1.3), at(-1.1, 1.7), at(-1.5, 1.7)], GREY)
    hook = at(1.6, 2.7)
    pen.line([hook, shift(hook, 0.0, -0.5)])
    pen.box(shift(hook, -0.35, -1.1), shift(hook, 0.35, -0.5), '#d9c3a5')
    for x, z in ((-1.3, 1.5), (0.2, 3.1), (1.6, 2.7)):
        pen.pin(at(x, z), radius=0.1)
    pen.mass(at(-0.9, 0.95), 0.17)
    return {'front': at(0.0, 0.0), 'rear': at(-2.7, 0.0), 'mass': at(-0.9, 0.95)}


def abo_shanab_2003() -> Pen:
    """The modes of a planar machine on rigid ground: standing, about the front wheel, flight."""
    pen = Pen(18.0, 7.4)
    pen.ground(0.4, 17.6, 1.6)
    for front, degrees, lifted, name in (
        ((3.4, 1.6), 0.0, (False, False), 'standing'),
        ((9.6, 1.6), 16.0, (True, False), 'front wheel'),
        ((15.3, 2.1), 12.0, (True, True), 'flight'),
    ):
        at = _planar(pen, front, degrees, lifted)
        pen.text(front[0] - 0.9, 7.0, name, size=11.5, fontweight='bold')
        if not lifted[0]:
            pen.vector(shift(at['rear'], 0.0, -1.0), (0.0, 1.0), RED)
            pen.text(at['rear'][0] + 0.2, 0.75, r'$\lambda_n \geq 0$', RED, ha='left')
            pen.text(0.5, 5.2, '$M_f \\leq 0$\nabout the\nfront edge', LEAF, 10.0, ha='left')
        if not lifted[1]:
            pen.vector(shift(at['front'], 0.0, -1.0), (0.0, 1.0), RED)
            pen.vector(at['front'], (-0.9, 0.0), RED)
            pen.circle(at['front'], 0.12, RED, RED, zorder=7)
            pen.text(at['front'][0] + 0.2, 0.75, r'$\lambda$', RED, ha='left')
        if lifted == (True, False):
            pen.arc(at['front'], 3.0, 172.0, 154.0, BLUE)
            pen.size((at['rear'][0], 1.6), at['rear'], '', LEAF)
            pen.text(at['rear'][0] + 0.2, 1.95, '$g_k > 0$', LEAF, 10.5, ha='left')
    for x, up, down in (
        (5.6, '$M_f = 0$: lift-off', r'impact: $v^- \to v^+$'),
        (11.6, r'$\lambda_n = 0$: lift-off', r'impact: impulse $\Lambda$'),
    ):
        pen.arrow((x - 1.0, 6.2), (x + 1.0, 6.2), DARK, 1.6)
        pen.text(x, 6.5, up, size=10.0)
        pen.arrow((x + 1.0, 5.7), (x - 1.0, 5.7), DARK, 1.6)
        pen.text(x, 5.35, down, size=10.0)
    words = 'In a mode the rows of its closed contacts hold, $J a = \\gamma$.'
    pen.text(9.0, 0.25, words, LINE, 10.0)
    return pen


def yesiloglu_2007() -> Pen:
    """A branched chain of links: velocities propagate to the tips, forces and inertias to the base."""
    pen = Pen(18.0, 7.6)
    joints = [point(at) for at in ((2.4, 2.4), (5.2, 4.1), (8.5, 3.2), (11.8, 4.6), (14.9, 4.0))]
    branch = [joints[1], point((6.9, 6.4)), point((9.4, 6.9))]
    pen.box((0.7, 1.3), (3.0, 2.6), GREY)
    pen.text(1.5, 1.95, 'base', size=10.5)
    for start, end in pairwise(branch):
        pen.link([start, end], 0.18)
    for k, (start, end) in enumerate(pairwise(joints)):
        pen.link([start, end], 0.2, GREEN if k == 2 else LIGHT)
    for at in (*joints[:-1], *branch[1:-1]):
        pen.pin(at)
    for at, name in ((joints[-1], 'tip'), (branch[-1], 'tip')):
        pen.circle(at, 0.14, DARK)
        pen.text(at[0] + 0.35, at[1] + 0.05, name, size=10.5, ha='left')
    parent, here = joints[1], joints[2]
    pen.text(parent[0] - 0.2, parent[1] + 0.5, '$O_p$')
    pen.text(here[0] - 0.3, here[1] - 0.55, '$O_k$')
    pen.arrow(shift(parent, 0.0, -0.45), shift(here, -0.05, -0.35), AMBER, 1.6)
    pen.text(6.9, 2.95, r'$\ell_k$', AMBER)
    pen.text(10.2, 4.45, 'link $k$', size=10.5)
    pen.mass(0.5 * (joints[2] + joints[3]), 0.16)
    pen.arc(here, 0.6, 70.0, 190.0, BLUE)
    pen.text(7.9, 4.3, r'$\mathbf{H}\,\dot\theta_k$', BLUE)
    pen.vector(here, (0.9, -1.15), BLUE)
    pen.text(9.6, 2.1, r'$V_k = \Phi_{k,p} V_p + H_k\,\dot\theta_k$', BLUE, ha='left')
    pen.vector(joints[-1], (1.0, -0.9), BLUE)
    pen.text(15.9, 2.8, r'$\Phi_t \Phi \mathbf{H} \dot\theta$', BLUE)
    pen.arrow((3.6, 1.1), (16.4, 1.1), BLUE, 2.0)
    pen.text(10.0, 0.65, r'velocities, to the tips:  $V = \Phi \mathbf{H} \dot\theta$', BLUE)
    pen.arrow((17.2, 5.4), (10.6, 5.4), RED, 2.0)
    pen.text(13.9, 5.85, r'forces and $\mathcal{I}_{AB}$, to the base:  $\Phi^T$', RED)
    pen.text(5.75, 2.75, r'$\Phi_{k,p}$', LINE)
    return pen


def saha_1991() -> Pen:
    """A platform on wheels with rollers, seen from above, and a rolling disk."""
    pen = Pen(18.0, 8.4)
    pen.title(0.4, 8.0, 'Platform on wheels with rollers, from above')
    middle, distance = point((4.6, 3.7)), 2.5
    pen.area([polar(middle, 1.9, angle) for angle in np.linspace(0.0, 360.0, 73)])
    directions = (30.0, 150.0, 270.0)
    for direction in directions:
        center, hub = polar(middle, distance, direction), direction
        along = polar((0.0, 0.0), 1.0, hub)
        across = polar((0.0, 0.0), 1.0, hub + 90.0)
        corners = [center + 0.26 * a * along + 0.7 * b * across for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        pen.line([middle, center], LINE, 1.0, linestyle='--')
        pen.area(corners, GREY)
        roller = polar((0.0, 0.0), 1.0, hub + 90.0)
        for s in (-0.45, 0.0, 0.45):
            spot = center + s * across
            pen.line([spot - 0.14 * roller, spot + 0.14 * roller], DARK, 4.0 if s == 0.0 else 2.5, zorder=5)
    center = polar(middle, distance, 30.0)
    pen.arrow(polar(center, 0.0, 30.0), polar(center, 1.9, 30.0), BLUE, 1.5)
    pen.text(*shift(polar(center, 2.15, 30.0), 0.1, 0.1), 'hub axis', BLUE, 10.0, ha='center')
    pen.arrow(center, polar(center, 1.7, 120.0), RED, 1.5)
    pen.text(*shift(polar(center, 1.95, 120.0), -0.1, 0.1), 'roller axis', RED, 10.0)
    pen.arc(center, 0.95, 30.0, 120.0, RED)
    pen.text(*polar(center, 1.25, 78.0), r'$\alpha_i$', RED)
    pen.line([center, shift(center, 2.2, 0.0)], LINE, 0.9, linestyle=':')
    pen.arc(center, 1.25, 0.0, 30.0, BLUE)
    pen.text(*polar(center, 1.65, 13.0), r'$\beta_i$', BLUE)
    pen.line([middle, shift(middle, 2.0, 0.0)], LINE, 0.9, linestyle=':')
    pen.arc(middle, 1.1, 0.0, 30.0, LEAF)
    pen.text(*polar(middle, 1.4, 14.0), r'$\delta_i$', LEAF)
    pen.text(*shift(polar(middle, 1.45, 30.0), -0.1, 0.32), '$d_i$', LINE)
    pen.vector(middle, (1.2, -0.0), AMBER, 1.8)
    pen.vector(middle, (0.0, 1.2), AMBER, 1.8)
    pen.text(middle[0] + 0.9, middle[1] - 0.33, r'$\dot x$', AMBER)
    pen.text(middle[0] + 0.3, middle[1] + 1.3, r'$\dot y$', AMBER)
    pen.arc(middle, 0.7, 130.0, 260.0, AMBER)
    pen.text(middle[0] - 1.05, middle[1] - 0.15, r'$\dot\psi$', AMBER)
    pen.circle(middle, 0.1, DARK, DARK, zorder=7)
    pen.text(
        0.4,
        0.35,
        r'$t = [\dot\psi;\ \dot x;\ \dot y]$    hub rates $L t$    roller rates $L^\prime t$',
        ha='left',
        size=10.5,
    )
    pen.title(10.6, 8.0, 'Rolling disk')
    origin, scale = point((13.6, 2.4)), 1.0
    axes = np.array([[0.8, 0.58, 0.0], [-0.36, 0.36, 1.0]])

    def view(place: np.ndarray) -> np.ndarray:
        return origin + scale * axes @ np.asarray(place, dtype=float)

    heading, tilt, radius = np.radians(75.0), np.radians(22.0), 2.1
    forward = np.array([np.cos(heading), np.sin(heading), 0.0])
    left = np.array([-np.sin(heading), np.cos(heading), 0.0])
    up = np.cos(tilt) * np.array([0.0, 0.0, 1.0]) + np.sin(tilt) * left
    axle = np.cross(forward, up)
    corners = [view(3.1 * np.array(c)) for c in ((-0.95, -0.9, 0), (0.95, -0.9, 0), (0.95, 0.9, 0), (-0.95, 0.9, 0))]
    pen.area(corners, LIGHT, 'none', zorder=0.5)
    rim = [radius * (up + np.cos(s) * forward + np.sin(s) * up) for s in np.linspace(0.0, 2.0 * np.pi, 91)]
    pen.area([view(place) for place in rim], '#d6e4f5', DARK, 1.8)
    center = radius * up
    pen.line([view(np.zeros(3)), view(center)], DARK, 1.2, zorder=4)
    spin = np.radians(125.0)
    mark = center + radius * (-np.sin(spin) * forward - np.cos(spin) * up)
    pen.line([view(center), view(mark)], BLUE, 1.8, zorder=4)
    arc = [center + 0.9 * (-np.sin(s) * forward - np.cos(s) * up) for s in np.linspace(0.0, spin, 40)]
    pen.line([view(place) for place in arc], BLUE, 1.4, zorder=4)
    pen.text(*view(center + 1.35 * (-np.sin(0.5 * spin) * forward - np.cos(0.5 * spin) * up)), r'$\psi$', BLUE)
    pen.circle(view(center), 0.1, DARK, DARK, zorder=7)
    pen.arrow(view(center), view(center + 1.9 * axle), RED, 1.6)
    pen.text(*shift(view(center + 1.5 * axle), 0.0, -0.32), 'axle', RED, 10.0)
    pen.line([view(np.zeros(3)), view((0.0, 0.0, 2.9))], LINE, 1.0, linestyle='--', zorder=4)
    arc = [1.9 * (np.cos(s) * np.array([0.0, 0.0, 1.0]) + np.sin(s) * left) for s in np.linspace(0.0, tilt, 20)]
    pen.line([view(place) for place in arc], LEAF, 1.8, zorder=5)
    s = 0.5 * tilt
    pen.text(*(view(2.25 * (np.cos(s) * np.array([0, 0, 1]) + np.sin(s) * left))), r'$\theta$', LEAF)
    pen.arrow(view((-2.6, 0, 0)), view((3.0, 0, 0)), LINE, 1.0)
    pen.text(*view((3.25, 0, 0)), '$x$', LINE)
    pen.arrow(view(np.zeros(3)), view(3.0 * forward), AMBER, 1.8)
    arc = [1.8 * np.array([np.cos(s), np.sin(s), 0.0]) for s in np.linspace(0.0, heading, 20)]
    pen.line([view(place) for place in arc], AMBER, 1.6, zorder=5)
    s = 0.5 * heading
    pen.text(*view(2.15 * np.array([np.cos(s), np.sin(s), 0.0])), r'$\phi$', AMBER)
    pen.circle(view(np.zeros(3)), 0.1, RED, RED, zorder=7)
    pen.text(14.2, 0.35, r'tilt $\theta$, heading $\phi$, spin $\psi$', size=10.5)
    return pen


def freeman_1985() -> Pen:
    """The planar five-bar and the Stewart platform with two sets of coordinates each."""
    pen = Pen(18.0, 8.6)
    pen.title(0.4, 8.2, 'Planar five-bar (appendix C)')
    scale, angles = 0.125, np.cumsum([70.0, -35.0, -100.0, -25.0])
    joints = [point((1.9, 3.2))]
    for length, angle in zip((12.0, 24.0, 24.0, 12.0), angles):
        joints.append(polar(joints[-1], scale * length, angle))
    pen.link([joints[0], joints[-1]], 0.12, GREY)
    for k, (start, end) in enumerate(pairwise(joints)):
        pen.link([start, end], 0.17, GREEN if k == 1 else LIGHT)
    for k, at in enumerate(joints):
        pen.pin(at, BLUE if k < 2 else DARK)
    for at in (joints[0], joints[-1]):
        pen.area([at, shift(at, -0.35, -0.55), shift(at, 0.35, -0.55)], 'white')
    pen.ground(1.0, 2.5, joints[0][1] - 0.55)
    pen.ground(joints[-1][0] - 0.75, joints[-1][0] + 0.75, joints[-1][1] - 0.55)
    pen.arc(joints[0], 0.75, 0.0, 70.0, BLUE)
    pen.text(*polar(joints[0], 1.1, 30.0), r'$\varphi_1$', BLUE)
    pen.line([joints[1], polar(joints[1], 1.1, 70.0)], LINE, 0.9, linestyle=':')
    pen.arc(joints[1], 0.8, 70.0, 35.0, BLUE)
    pen.text(*polar(joints[1], 1.15, 55.0), r'$\varphi_2$', BLUE)
    pen.text(*shift(joints[2], 0.0, 0.45), r'$\varphi_3$')
    pen.text(*shift(joints[3], 0.5, 0.15), r'$\varphi_4$')
    middle = 0.5 * (joints[1] + joints[2])
    pen.mass(middle, 0.16)
    pen.arrow(middle, shift(middle, -0.55, 1.15), RED, 1.6)
    pen.text(*shift(middle, -0.6, 1.45), r'$\dot u = G\,\dot\varphi$', RED)
    pen.text(*shift(joints[-1], 0.55, 0.2), 'H')
    pen.text(4.2, 0.75, r'inputs $q = (\varphi_1, \varphi_2)$;   $w = (q, x_H, y_H)$', size=10.5)
    pen.text(4.2, 0.25, 'the held end H takes two of four coordinates', LINE, 10.0)
    pen.title(9.6, 8.2, 'Stewart platform: six legs in parallel')
    origin = point((13.6, 2.4))
    axes = np.array([[0.95, -0.25, 0.0], [0.18, 0.38, 1.0]])

    def view(place: np.ndarray) -> np.ndarray:
        return origin + axes @ np.asarray(place, dtype=float)

    def ring(radius: float, height: float, half: float, start: float, turn: float = 0.0) -> list[np.ndarray]:
        angles = [np.radians(start + 120.0 * k + sign * half + turn) for k in range(3) for sign in (-1.0, 1.0)]
        return [np.array([radius * np.cos(a), radius * np.sin(a), height]) for a in angles]

    low, high = ring(2.7, 0.0, 46.0, 30.0), ring(1.7, 3.6, 14.0, 30.0, 5.0)
    high = [place + np.array([0.25, 0.1, 0.16 * place[0]]) for place in high]
    pen.area([view(place) for place in low], LIGHT, LINE, 1.2, zorder=0.5)
    for k, (foot, top) in enumerate(zip(low, high)):
        start, end = view(foot), view(top)
        pen.link([start, 0.45 * start + 0.55 * end], 0.1, '#f6e7cf', AMBER)
        pen.line([0.45 * start + 0.55 * end, end], AMBER, 2.4)
        pen.pin(start, AMBER, 0.09)
        pen.pin(end, AMBER, 0.09)
        if k == 0:
            pen.text(*shift(0.5 * (start + end), 0.45, 0.0), '$q_k$', AMBER)
    pen.area([view(place) for place in high], GREEN, DARK, 1.6, zorder=4)
    center = view(np.mean(high, axis=0))
    pen.arrow(center, shift(center, 0.95, 0.15), BLUE, 1.6)
    pen.arrow(center, shift(center, 0.0, 1.1), BLUE, 1.6)
    pen.arrow(center, shift(center, -0.5, 0.45), BLUE, 1.6)
    pen.text(center[0], center[1] + 1.4, r'$y$: x y z rx ry rz', BLUE)
    pen.text(13.6, 0.75, r'$q$ to $y$:  $G^q_y$ from each leg, by $\varphi$ of its joints', size=10.5)
    pen.text(13.6, 0.25, r'$I^*_{qq} = A^T I^* A$,   $T^L_q = A^T T^L$', LINE, 10.5)
    return pen


def _robot(pen: Pen, mount: tuple[float, float], side: float, hand: np.ndarray) -> None:
    """Draw a vehicle from its side with an arm of two links to its hand."""
    x, z = mount
    pen.box((x - 1.5, z - 0.75), (x + 1.5, z), LIGHT)
    pen.wheel((x - 0.9 * side, z - 0.95), 0.55)
    pen.wheel((x + 1.05 * side, z - 1.15), 0.35)
    start = shift(mount, 0.0, 0.35)
    reach, across = hand - start, np.array([-(hand - start)[1], (hand - start)[0]])
    elbow = start + 0.42 * reach + 0.42 * side * across
    pen.box(shift(start, -0.3, -0.35), shift(start, 0.3, 0.05), GREY)
    pen.link([start, elbow], 0.15)
    pen.link([elbow, hand], 0.13)
    for at in (start, elbow):
        pen.pin(at, radius=0.1)


def tanner_1998() -> Pen:
    """Two vehicles with arms that carry an object."""
    pen = Pen(18.0, 8.0)
    pen.ground(0.4, 17.6, 1.5)
    hands = point((6.7, 4.4)), point((11.3, 4.4))
    _robot(pen, (3.3, 3.0), 1.0, hands[0])
    _robot(pen, (14.7, 3.0), -1.0, hands[1])
    pen.box((6.7, 4.15), (11.3, 4.65), '#d9c3a5', zorder=1.5)
    pen.spring((7.7, 4.4), (10.3, 4.4), 6, 0.17)
    pen.line([hands[0], (7.7, 4.4)])
    pen.line([(10.3, 4.4), hands[1]])
    pen.text(9.0, 3.75, 'object, as a rod', size=10.0)
    for hand, sign, name in ((hands[0], 1.0, '1'), (hands[1], -1.0, '2')):
        pen.circle(hand, 0.13, RED, RED, zorder=7)
        pen.vector(hand, (0.75 * sign, 1.35), RED)
        pen.text(hand[0] + 0.95 * sign, hand[1] + 1.6, f'$f_{name}$', RED)
        pen.text(hand[0] - 0.3 * sign, hand[1] - 0.6, 'hand', size=10.0)
    pen.arrow((7.6, 7.0), (10.4, 7.0), BLUE, 2.0)
    pen.text(9.0, 7.4, r'path $y(s)$,  speed $\dot s$', BLUE)
    pen.vector((3.3, 3.1), (-1.35, 1.25), LEAF)
    pen.arc((3.3, 3.35), 0.75, 120.0, 225.0, LEAF)
    pen.text(1.9, 4.75, r'$F^{mm},\ T^{mm}$' + '\nat the mount', LEAF, 10.5)
    pen.vector((3.3, 2.4), (1.2, 0.0), BLUE, 1.8)
    pen.text(4.2, 2.7, r'$V,\ \omega$', BLUE, 10.0)
    pen.text(15.1, 5.2, '$u$: rates of\nwheels and arm', BLUE, 10.5, ha='left')
    pen.text(15.1, 4.25, r'$\dot y = J u$', BLUE, ha='left')
    for x, radius in ((2.4, 1.0), (15.6, 1.0)):
        half = 0.55 * radius
        pen.area([(x, 1.5), (x - half, 0.45), (x + half, 0.45)], '#fbe9e6', 'none', zorder=1.2)
        pen.vector((x + 0.3, 0.45), (-0.3, 1.05), RED)
    pen.text(3.15, 0.6, 'ground force within\nits friction cone', RED, 9.5, ha='left')
    return pen
