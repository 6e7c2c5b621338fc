"""Draw the pictures of the pages of theory, of the research sources and of the glossary.

python docs/theory_drawings.py docs/images

Each drawing bears the name of its page. Curves and points of construction are computed; the machines are examples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from drawing_pen import AMBER, BLUE, DARK, GREEN, GREY, LEAF, LIGHT, LINE, RED, Pen, point, shift
from source_drawings import abo_shanab_2003, freeman_1985, saha_1991, tanner_1998, yesiloglu_2007

GRAVITY = 9.81


def multibody() -> Pen:
    """A tree of bodies: frames, unit motion, velocity, force; recursions outward and inward."""
    pen = Pen(18.0, 8.4)
    pen.ground(0.4, 11.0, 0.8)
    pen.title(0.4, 8.0, 'Bodies, joints, frames')
    base, parent, joint, child = point((4.2, 2.5)), point((5.3, 3.2)), point((6.7, 5.9)), point((10.1, 5.4))
    pen.box((2.6, 1.9), (6.0, 3.2))
    for x in (3.2, 5.4):
        pen.wheel((x, 1.4), 0.6)
    pen.link([(3.0, 3.2), (2.2, 4.8)], 0.16)
    pen.link([parent, joint], 0.24)
    pen.link([joint, child], 0.24, GREEN)
    pen.link([child, (10.7, 3.6)], 0.16)
    for at in ((3.0, 3.2), parent, joint, child):
        pen.pin(at)
    pen.mass(0.42 * joint + 0.58 * child)
    pen.text(8.75, 5.1, '$I_i$')
    pen.frame((0.9, 0.8), 0.0, 0.9, ('x', 'z'))
    pen.text(1.35, 0.3, 'world', AMBER, 10.0, bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.0})
    pen.frame(base, 0.0, 0.75, ('', ''))
    pen.line([(0.9, 0.8), base], LINE, 1.0, linestyle='--')
    pen.text(0.3, 3.5, '$q$ of the base:\nposition,\nquaternion', LINE, 10.0, ha='left')
    pen.text(3.35, 2.85, 'base', size=10.5)
    pen.frame(parent, 63.0, 0.9)
    pen.frame(joint, -8.4, 1.0)
    pen.text(6.65, 4.1, 'parent $p(i)$', size=10.5, ha='left')
    pen.text(8.6, 6.3, 'body $i$', size=10.5)
    pen.text(10.9, 4.5, 'child $c$', size=10.5, ha='left')
    pen.line([shift(parent, -0.3, 0.15), shift(joint, -0.3, 0.15)], LINE, 1.0, linestyle='--')
    pen.text(5.25, 4.85, '$X_i$', LINE)
    pen.arc(joint, 0.62, 100.0, 250.0, BLUE)
    pen.text(5.45, 6.15, r'$S_i\,\dot q_i$', BLUE)
    pen.vector(joint, (1.1, 1.35), BLUE)
    pen.text(7.9, 7.45, r'$V_i = [\omega;\ v]$', BLUE, ha='left')
    pen.vector(joint, (-0.95, 1.15), RED)
    pen.text(5.6, 7.35, r'$F_i$ = [moment; force]', RED, ha='right')
    pen.vector(child, (0.75, 1.0), RED)
    pen.text(10.95, 6.55, '$F_c$', RED, ha='left')
    pen.title(12.2, 8.0, 'The tree and its recursions')
    nodes = {'base': (14.6, 1.2), '$p(i)$': (14.6, 3.1), '$i$': (14.6, 5.0), '$c$': (14.6, 6.9), '': (16.2, 2.3)}
    pen.line([nodes['base'], nodes['$c$']], DARK, 1.4)
    pen.line([nodes['base'], nodes['']], DARK, 1.4)
    for name, at in nodes.items():
        pen.circle(at, 0.52, GREEN if name == '$i$' else LIGHT)
        pen.text(*at, name, size=10.5)
    pen.arrow((13.85, 1.4), (13.85, 6.8), BLUE)
    pen.text(13.65, 4.1, 'outward\n$V_i = X_i V_{p(i)} + S_i \\dot q_i$', BLUE, 10.0, rotation=90.0, ha='right')
    pen.arrow((15.4, 7.1), (15.4, 3.1), RED)
    pen.text(16.4, 5.3, 'inward\n$F_i = I_i A_i + V_i {\\times}^* I_i V_i + \\sum X_c^T F_c$', RED, 10.0, rotation=90.0)
    return pen


def contact() -> Pen:
    """A wheel on its suspension, a bristle of the LuGre law, friction over slip."""
    pen = Pen(18.0, 8.2)
    pen.title(0.4, 7.8, 'Normal force')
    pen.ground(0.4, 6.0, 1.2)
    pen.box((1.9, 6.1), (4.9, 6.7), GREY)
    pen.line([(2.6, 2.2), (4.2, 2.2), (4.2, 2.4)], DARK)
    pen.wheel((3.4, 2.2), 1.0)
    pen.box((2.5, 3.45), (4.3, 3.6), GREY)
    pen.line([(3.4, 2.2), (3.4, 3.45)], DARK, 2.2, zorder=4)
    pen.spring((2.9, 3.6), (2.9, 6.1))
    pen.damper((3.95, 3.6), (3.95, 6.1))
    pen.text(2.35, 4.85, '$k$')
    pen.text(4.45, 4.85, '$c$')
    pen.size((1.1, 1.2), (1.1, 6.1), '$h$')
    pen.line([(0.8, 6.1), (1.9, 6.1)], LINE, 0.9)
    pen.size((0.55, 1.2), (0.55, 7.2), '$l_o$', LINE, 0.62)
    pen.line([(0.3, 7.2), (5.3, 7.2)], LINE, 0.9, linestyle='--')
    pen.text(5.35, 7.2, 'contact\nis lost', LINE, 9.5, ha='left')
    pen.vector((5.2, 6.3), (0.0, -1.1), BLUE)
    pen.text(5.35, 5.75, r'$\dot h < 0$', BLUE, ha='left')
    pen.vector((3.4, 0.15), (0.0, 1.05), RED)
    pen.text(3.6, 0.45, '$N$', RED, ha='left')
    pen.vector((3.4, 1.2), (-1.3, 0.0), RED)
    pen.text(2.1, 1.5, '$F$', RED)
    pen.vector((3.4, 2.2), (1.7, 0.0), BLUE)
    pen.text(5.2, 2.5, '$v$', BLUE)
    pen.title(6.9, 7.8, 'Bristles (LuGre)')
    pen.box((6.9, 1.2), (11.7, 2.4), GREY, LINE)
    pen.text(7.9, 1.55, 'ground', size=10.0)
    pen.box((7.2, 4.5), (11.4, 5.6))
    pen.text(9.3, 5.1, 'contact patch', size=10.0)
    for x in np.linspace(7.6, 10.3, 6):
        heights = np.linspace(0.0, 1.0, 20)
        pen.line([(x + 0.75 * s**1.7, 2.4 + 2.1 * s) for s in heights], BLUE, 1.8)
    pen.line([(10.3, 2.4), (10.3, 4.5)], LINE, 0.9, linestyle='--')
    pen.size((10.3, 4.15), (11.05, 4.15), '')
    pen.text(11.3, 4.1, '$z$', ha='left')
    pen.vector((9.6, 6.0), (1.5, 0.0), BLUE)
    pen.text(11.3, 6.0, '$v$', BLUE, ha='left')
    pen.vector((7.2, 5.05), (-0.95, 0.0), RED)
    pen.text(6.6, 5.4, '$F$', RED)
    pen.vector((8.1, 6.9), (0.0, -1.3), RED)
    pen.text(8.3, 6.6, '$N$', RED, ha='left')
    pen.text(9.3, 0.75, r'$F = -N\,(\sigma_0 z + \sigma_1 \dot z + \sigma_2 v)$')
    pen.title(12.7, 7.8, 'Friction over slip, steady')
    static, kinetic, stribeck, viscous = 0.9, 0.6, 0.12, 0.12
    speed = np.linspace(0.0, 1.0, 200)
    eta = kinetic + (static - kinetic) * np.exp(-((speed / stribeck) ** 1.0))
    low, across, up = point((13.3, 1.2)), 4.0, 5.2

    def at(v: np.ndarray | float, value: np.ndarray | float) -> np.ndarray:
        return np.stack(np.broadcast_arrays(low[0] + across * np.asarray(v), low[1] + up * np.asarray(value)), -1)

    pen.plot(low, shift(low, 4.4, 5.6), '$v$', r'$-F / N$')
    for value, name in ((static, r'$\mu_s$'), (kinetic, r'$\mu_c$')):
        pen.line([at(0.0, value), at(1.0, value)], LINE, 0.9, linestyle='--')
        pen.text(low[0] - 0.12, low[1] + up * value, name, ha='right')
    pen.line(at(speed, eta), BLUE, 1.8, linestyle='--')
    pen.line(at(speed, eta + viscous * speed), RED, 2.4)
    pen.line([at(stribeck, 0.0), at(stribeck, eta[np.searchsorted(speed, stribeck)])], LINE, 0.9, linestyle='--')
    pen.text(low[0] + across * stribeck, low[1] - 0.35, '$v_s$')
    pen.text(15.9, 5.4, r'$\eta(v) + \sigma_2 v$', RED)
    pen.text(16.0, 3.85, r'$\eta(v)$', BLUE)
    return pen


def hydraulics() -> Pen:
    """An open-centre circuit with pump, valve, cylinder and reliefs; a d-c motor with its gear."""
    pen = Pen(18.0, 9.6)
    pen.title(0.4, 9.2, 'Pump, open-centre valve, cylinder')
    pen.line([(1.4, 0.9), (1.4, 3.4), (6.2, 3.4), (6.2, 4.3)], DARK, 1.8)
    pen.tank((1.4, 0.9))
    pen.circle((1.4, 2.0), 0.55)
    pen.area([(1.18, 2.25), (1.62, 2.25), (1.4, 2.52)], DARK, zorder=4)
    pen.text(0.55, 2.0, '$Q$')
    pen.text(2.0, 3.75, '$P_s$', AMBER)
    pen.relief((3.1, 3.4), 2.3)
    pen.text(4.25, 2.25, '$P_{relief}$', ha='left')
    pen.line([(7.0, 4.3), (7.0, 1.2)], DARK, 1.8)
    pen.tank((7.0, 1.2))
    pen.text(7.5, 1.45, '$P_T$', AMBER, ha='left')
    for x in (4.2, 5.8, 7.4):
        pen.box((x, 4.3), (x + 1.6, 5.9), 'white', zorder=2)
    for side in (3.4, 9.0):
        pen.box((side, 4.7), (side + 0.8, 5.5), 'white')
        pen.text(side + 0.4, 5.1, '$u$')
    pen.arrow((4.6, 4.35), (4.6, 5.85), DARK, 1.4)
    pen.arrow((5.4, 5.85), (5.4, 4.35), DARK, 1.4)
    pen.text(4.86, 5.3, '$a_i$')
    pen.text(5.12, 4.85, '$a_o$')
    pen.line([(6.2, 4.3), (6.2, 4.9), (7.0, 4.9), (7.0, 4.3)], DARK, 1.4, zorder=4)
    pen.text(6.6, 5.2, '$a_e$')
    for x in (6.2, 7.0):
        pen.line([(x, 5.9), (x, 5.65)], DARK, 1.4, zorder=4)
        pen.line([(x - 0.13, 5.65), (x + 0.13, 5.65)], DARK, 1.4, zorder=4)
    pen.arrow((7.8, 4.35), (8.6, 5.85), DARK, 1.4)
    pen.arrow((7.8, 5.85), (8.6, 4.35), DARK, 1.4)
    pen.size((4.8, 3.95), (5.8, 3.95), '')
    pen.text(5.3, 3.7, '$x$')
    pen.line([(6.2, 5.9), (6.2, 6.4), (2.9, 6.4), (2.9, 7.1)], DARK, 1.8)
    pen.line([(7.0, 5.9), (7.0, 6.4), (7.7, 6.4), (7.7, 7.1)], DARK, 1.8)
    pen.relief((1.6, 6.4), 2.0)
    pen.line([(1.6, 6.4), (2.9, 6.4)], DARK, 1.8)
    pen.text(0.5, 6.7, 'line relief', size=9.5, ha='left')
    pen.text(4.6, 6.65, '$Q_1$', size=10.5)
    pen.text(7.4, 6.65, '$Q_2$', size=10.5)
    pen.box((2.5, 7.1), (8.1, 8.3), 'white')
    pen.box((2.55, 7.15), (5.0, 8.25), '#f6e7cf', 'none')
    pen.box((5.3, 7.15), (8.05, 8.25), '#fbf4e8', 'none')
    pen.box((5.3, 7.56), (10.0, 7.84), GREY)
    pen.box((5.0, 7.1), (5.3, 8.3), GREY, zorder=3)
    pen.text(3.75, 7.7, '$P_1,\\ A_1,\\ V_1$', AMBER)
    pen.text(6.75, 8.05, '$P_2,\\ A_2,\\ V_2$', AMBER, 10.5)
    pen.size((2.5, 8.6), (5.0, 8.6), '$X(q)$')
    pen.vector((10.0, 7.7), (0.9, 0.0), RED)
    pen.text(10.5, 8.05, '$F$', RED)
    pen.title(11.7, 9.2, 'D-c motor with gear')
    pen.line([(12.2, 5.6), (12.2, 8.2), (12.9, 8.2)], DARK)
    zigzag = [(12.9 + 0.15 * k, 8.2 + (0.22 if k % 2 else -0.22)) for k in range(1, 8)]
    pen.line([(12.9, 8.2), *zigzag, (14.1, 8.2), (14.5, 8.2)], DARK)
    for k in range(4):
        pen.arc((14.7 + 0.4 * k, 8.2), 0.2, 180.0, 0.0, DARK, head=False, width=1.4)
    pen.line([(16.1, 8.2), (16.9, 8.2), (16.9, 5.6), (12.2, 5.6)], DARK)
    pen.text(13.5, 8.65, '$R$')
    pen.text(15.3, 8.65, '$L$')
    pen.circle((12.2, 6.9), 0.45)
    pen.text(12.2, 6.9, '$V$')
    pen.circle((16.9, 6.9), 0.55)
    pen.text(16.9, 6.9, 'M')
    pen.text(16.15, 6.9, '$n k w$', BLUE, ha='right')
    pen.arrow((13.2, 5.6), (12.6, 5.6), BLUE, 1.6)
    pen.arrow((12.35, 8.2), (12.85, 8.2), BLUE, 1.6)
    pen.text(12.6, 7.8, '$i$', BLUE)
    pen.line([(16.9, 5.6), (16.9, 4.05)], LINE, 1.0, linestyle='--')
    pen.box((15.9, 2.75), (17.4, 4.05), GREY)
    pen.text(16.65, 3.7, 'rotor $I$', size=10.0)
    pen.line([(14.6, 3.4), (15.9, 3.4)], DARK, 3.0)
    pen.text(15.25, 3.75, '$B$')
    pen.box((14.2, 3.1), (14.6, 3.7), GREY)
    pen.box((14.2, 0.9), (14.6, 3.1), GREY)
    pen.text(14.9, 2.5, '$n$', ha='left')
    pen.line([(12.9, 2.0), (14.2, 2.0)], DARK, 3.0)
    pen.link([(12.9, 2.0), (12.2, 3.6)], 0.2)
    pen.pin((12.9, 2.0))
    pen.arc((12.9, 2.0), 0.85, 195.0, 330.0, RED)
    pen.text(12.5, 0.85, r'$\tau,\ w$', RED)
    pen.text(14.7, 4.85, r'$\tau = n k i - n^2 B w$', RED)
    return pen


CORNERS = np.array([(1.6, -1.0), (1.6, 1.0), (-1.6, 0.95), (-1.6, -0.95)])
CENTER, HEIGHT, ACCELERATION = np.array([0.3, 0.32]), 1.6, np.array([-4.2, -1.2])
"""The machine that is seen from above: corners, centre of mass, its height, m, and its acceleration, m/s2."""


def edge_distances(at: np.ndarray) -> np.ndarray:
    """Return the distances of a point from all edges of the polygon, positive inside."""
    along = np.roll(CORNERS, -1, axis=0) - CORNERS
    offset = at - CORNERS
    return (along[:, 0] * offset[:, 1] - along[:, 1] * offset[:, 0]) / np.linalg.norm(along, axis=1)


def nearest_on_edge(at: np.ndarray, edge: int) -> np.ndarray:
    """Return the point of an edge that is nearest to a point inside."""
    start, along = CORNERS[edge], CORNERS[(edge + 1) % 4] - CORNERS[edge]
    return start + float((at - start) @ along / (along @ along)) * along


def largest_circle() -> tuple[np.ndarray, float]:
    """Return centre and radius of the largest circle in the polygon."""
    grid = [np.array([x, y]) for x in np.linspace(-0.7, 0.7, 57) for y in np.linspace(-0.2, 0.2, 41)]
    best = max(grid, key=lambda at: (round(float(edge_distances(at).min()), 9), -abs(float(at[0]))))
    return best, float(edge_distances(best).min())


def from_above(pen: Pen, middle: np.ndarray, scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """Draw polygon, wheels, body and centre of mass from above, the front at the right; return the map of points."""

    def at(place: np.ndarray) -> np.ndarray:
        return middle + scale * point(place)

    pen.area([at(corner) for corner in CORNERS], GREEN, RED, 2.4)
    for x, y in CORNERS:
        low, high = at((x - 0.3, y - 0.1)), at((x + 0.3, y + 0.1))
        pen.box(low, high, GREY, DARK, zorder=3)
        pen.circle(at((x, y)), 0.09, DARK, zorder=5)
    pen.mass(at(CENTER), 0.19)
    return at


def stability() -> Pen:
    """Support polygon and margins from above; force-angle about the front edge from the side."""
    pen = Pen(18.0, 8.2)
    pen.title(0.4, 7.8, 'From above')
    scale = 2.1
    at = from_above(pen, point((4.7, 4.0)), scale)
    moment_point = CENTER - HEIGHT / GRAVITY * ACCELERATION
    names = ((0.3, -0.5), (0.3, 0.5), (-0.3, 0.5), (-0.3, -0.5))
    for k, (corner, (dx, dy)) in enumerate(zip(CORNERS, names), 1):
        x, y = at(corner)
        pen.text(x + dx, y + dy, f'$p_{k}$')
    pen.arrow(at((1.6, -0.95)), at((1.6, -0.35)), RED, 2.4)
    pen.text(at((1.6, 0))[0] + 0.35, at((0, -0.3))[1], '$e_1$', RED)
    pen.text(at((1.6, 0))[0] + 0.3, at((0, 0.1))[1], 'front\nedge', RED, 10.0, ha='left')
    for spot, colour in ((CENTER, DARK), (moment_point, BLUE)):
        edge = int(edge_distances(spot).argmin())
        pen.arrow(at(spot), at(nearest_on_edge(spot, edge)), colour, 1.2, '<|-|>', mutation_scale=10.0)
    x, y = at((CENTER[0], 0.72))
    pen.text(x - 0.15, y - 0.05, 'static margin', size=10.0, ha='right')
    x, y = at((moment_point[0], 1.0))
    pen.text(x + 0.3, y + 0.3, 'distance of $r$', BLUE, 10.0, ha='right')
    x, y = at(CENTER)
    pen.text(x - 0.35, y - 0.1, '$c$', ha='right')
    pen.circle(at(moment_point), 0.13, BLUE, BLUE, zorder=6)
    x, y = at(moment_point)
    pen.text(x - 0.05, y - 0.42, '$r$ (ZMP)', BLUE)
    pen.arrow(at(CENTER), at(moment_point), LINE, 1.0, '->')
    center, radius = largest_circle()
    pen.circle(at(center), scale * radius, 'none', LINE, linestyle='--', linewidth=1.1)
    pen.text(*at(shift(center, -0.35, -0.62)), 'largest circle', LINE, 9.5)
    pen.text(4.7, 0.7, 'zmp = distance of $r$ from the edge / radius of the circle', BLUE, 10.5)
    pen.arrow((3.2, 7.05), (6.2, 7.05), DARK, 1.2)
    pen.text(4.7, 7.35, 'forward', size=9.5)
    pen.title(9.9, 7.8, 'From the side: force-angle')
    middle, scale = point((12.3, 2.2)), 2.5

    def side(place: np.ndarray) -> np.ndarray:
        return middle + scale * point(place)

    pen.ground(9.9, 17.7, 2.2)
    center, edge = np.array([CENTER[0], HEIGHT]), np.array([1.6, 0.0])
    for x in (-0.6, 1.6):
        pen.wheel(side((x, 0.26)), 0.65)
    pen.area([side((x, z)) for x, z in ((-0.85, 0.5), (1.75, 0.5), (1.75, 0.75), (-0.85, 0.75))])
    pen.mass(side(center), 0.22)
    x, z = side(center)
    pen.text(x - 0.4, z + 0.15, '$c$', ha='right')
    load = np.array([-ACCELERATION[0], -GRAVITY])
    unit, lever = load / np.linalg.norm(load), edge - center
    foot = edge + (-lever + float(lever @ unit) * unit)
    pen.arrow(side(center), side(edge), DARK, 1.8)
    pen.text(*shift(side(center + 0.45 * lever), 0.35, 0.2), '$l_i$')
    pen.line([side(center), side(foot), side(foot) + 0.5 * unit], RED, 1.0, linestyle='--')
    pen.vector(side(center), 2.5 * unit, RED, 2.6)
    pen.text(*shift(side(center) + 1.5 * unit, -0.45, -0.1), '$f_i^*$', RED)
    pen.arrow(side(edge), side(foot), BLUE, 2.0)
    pen.text(*shift(side(0.5 * (edge + foot)), 0.15, -0.45), '$d_i$', BLUE)
    angles = [float(np.degrees(np.arctan2(v[1], v[0]))) for v in (unit, lever)]
    x, y = pen.arc(side(center), 1.5, angles[0], angles[1], LEAF, head=False)
    pen.text(x + 0.12, y - 0.3, r'$\theta_i$', LEAF)
    pen.circle(side(edge), 0.14, RED, RED, zorder=7)
    white = {'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.0}
    pen.text(side(edge)[0] + 0.1, 1.75, 'edge $i$', RED, ha='left', bbox=white)
    x, z = side((moment_point[0], 0.0))
    pen.circle((x, z), 0.13, BLUE, BLUE, zorder=7)
    pen.text(x - 0.3, z - 0.4, '$r$', BLUE, bbox=white)
    pen.vector((10.4, 4.6), (0.0, 1.3), AMBER, 1.6)
    pen.text(10.65, 5.6, '$u$', AMBER, ha='left')
    pen.text(14.4, 6.2, r'$\theta_i\,\Vert d_i \Vert\,\Vert f \Vert$', size=12.0, ha='left')
    return pen


def stop_of(outputs: np.ndarray, step: float) -> np.ndarray:
    """Return the least load share over time on a machine that rocks: one mass on its suspension."""
    stand, rate, height, share = 0.62, 0.0, 0.0, []
    for output, acceleration in zip(outputs, np.gradient(outputs, step)):
        stand -= 0.27 * output * step
        rate += step * (-36.0 * height - 3.0 * rate + 36.0 * 0.11 * acceleration)
        height += step * rate
        share.append(stand + height)
    return np.array(share)


def led_to_neutral(times: np.ndarray, wanted: float, until: float) -> np.ndarray:
    """Return outputs that follow a command and are led to neutral after a time, at 1.7 of full output a second."""
    outputs, now, step = [], 0.25, float(times[1] - times[0])
    for t in times:
        goal = wanted if t < until else 0.0
        now += float(np.clip(goal - now, -1.7 * step, 1.7 * step))
        outputs.append(now)
    return np.array(outputs)


def braking() -> Pen:
    """The stop behind a command: outputs and least load share over time, the reserve."""
    pen = Pen(18.0, 10.2)
    left, across, step = 2.5, 6.2, 0.005
    period, late, reserve = 0.35, 0.25, 0.2
    times = np.arange(0.0, 2.25, step)
    commands = [
        (led_to_neutral(times, wanted, period + late), colour) for wanted, colour in ((0.42, LEAF), (0.85, RED))
    ]
    pen.title(0.4, 9.8, 'Outputs of two commands, each with its stop')
    pen.title(0.4, 5.3, 'Least load share of a wheel on the way')
    for t in (0.0, period, period + late):
        pen.line([(left + across * t, 0.9), (left + across * t, 8.5)], LINE, 0.9, linestyle=':')
    for low, high, name in ((6.4, 8.9, '$u$'), (0.9, 4.5, r'$N_i / \bar N$')):
        pen.plot((left, low), (17.4, high), '$t$', '')
        pen.text(left - 0.2, high - 0.2, name, ha='right')
    low, up = 0.9, 5.0
    pen.box((left, low), (17.0, low + up * reserve), '#fbe9e6', 'none', zorder=0.5)
    pen.line([(left, low + up * reserve), (17.0, low + up * reserve)], RED, 1.2)
    pen.text(left - 0.15, low + up * reserve, r'reserve $\rho$', RED, 10.5, ha='right')
    pen.text(left - 0.15, low, 'lift-off  0', size=10.5, ha='right')
    for (outputs, colour), words in zip(commands, (r'$m \geq \rho$: passes', r'$m < \rho$: held back')):
        share = stop_of(outputs, step)
        style, width = ('-', 2.6) if colour == LEAF else ('--', 2.0)
        pen.line(np.stack([left + across * times, 6.4 + 2.3 * outputs], -1), colour, width, linestyle=style)
        pen.line(np.stack([left + across * times, low + up * share], -1), colour, width, linestyle=style)
        k = int(share.argmin())
        x, y = left + across * times[k], low + up * share[k]
        pen.circle((x, y), 0.12, colour, colour, zorder=7)
        spot = (x + 0.3, 4.5) if colour == LEAF else (x + 1.5, y - 0.35)
        pen.text(*spot, words, colour, 10.5)
        if colour == LEAF:
            pen.line([(x, y), (x + 0.2, 4.2)], LEAF, 0.9)
    names = ((0.0, 'decision'), (period, 'next decision'))
    for t, name in names:
        pen.text(left + across * t + 0.1, 6.05, name, LINE, 10.0, ha='left')
    pen.size((left + across * period, 8.85), (left + across * (period + late), 8.85), r'$\tau$')
    x = left + across * (period + late) + 0.2
    pen.text(x, 8.85, r'measurements may be $\tau$ late: the output is kept until here', LINE, 10.0, ha='left')
    pen.text(x + 2.3, 7.5, 'led to neutral at ‘rate’', LINE, 10.0, ha='left')
    pen.text(14.6, 6.75, 'rest', LINE, 10.0)
    return pen


def weighing() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return times, load, estimate and half width of the interval of a filter that weighs a load which grows once."""
    random, step, limit = np.random.default_rng(3), 0.1, 1.0
    times = np.arange(0.0, 12.0, step)
    load = np.where(times < 7.0, 0.35, 0.75)
    estimate, variance, noise, rows = 0.0, limit**2 / 4.0, 0.28, []
    for t, truth in zip(times, load):
        if abs(t - 7.4) < 0.5 * step:
            variance = limit**2 / 4.0
        variance += step * 1e-4
        measured = truth + noise * random.normal()
        gain = variance / (variance + noise**2) if t > 1.8 else 0.0
        estimate, variance = estimate + gain * (measured - estimate), (1.0 - gain) * variance
        rows.append((estimate, 1.96 * np.sqrt(variance)))
    middle, half = np.array(rows).T
    return times, load, middle, half


def payload() -> Pen:
    """Draw the weighed arm with pressures and joints, and the interval of the mass over time."""
    pen = Pen(18.0, 8.4)
    pen.title(0.4, 8.0, 'What is measured')
    pen.ground(0.4, 9.6, 0.8)
    pen.box((0.9, 1.7), (4.4, 2.7))
    for x in (1.6, 3.7):
        pen.wheel((x, 1.3), 0.5)
    foot, elbow, tip = point((2.7, 3.3)), point((5.6, 6.3)), point((8.3, 5.1))
    pen.area([(2.1, 2.7), (3.3, 2.7), (3.0, 3.4), (2.4, 3.4)], GREY)
    pen.link([foot, elbow], 0.22)
    pen.link([elbow, tip], 0.2)
    for start, end in (((3.3, 2.6), (4.5, 4.75)), ((4.6, 6.0), (6.3, 6.25))):
        start, end = point(start), point(end)
        pen.link([start, 0.6 * start + 0.4 * end, 0.35 * start + 0.65 * end], 0.15, '#f6e7cf', AMBER)
        pen.line([0.35 * start + 0.65 * end, end], AMBER, 3.0, zorder=3)
        pen.pin(start, AMBER, 0.1)
        pen.pin(end, AMBER, 0.1)
    for at in (foot, elbow, tip):
        pen.pin(at)
    pen.text(4.75, 3.3, 'pressures $p$:\neffort $e$', AMBER, 10.5, ha='left')
    pen.text(2.15, 3.75, r'$q,\ \dot q$', BLUE, ha='right')
    pen.arc(foot, 0.55, 100.0, 215.0, BLUE)
    pen.arc(elbow, 0.75, 40.0, 130.0, BLUE)
    pen.text(5.7, 7.4, r'$q,\ \dot q$' + '   dry friction $F,\\ f_d,\\ f_s$', BLUE, 10.5, ha='left')
    pen.mass((4.1, 4.75), 0.17)
    pen.text(3.75, 5.15, r'$(1 + \epsilon_k)\ \times$ mass', size=10.5, ha='right')
    pen.line([tip, (8.3, 4.4)], DARK, 1.6)
    pen.area([(7.5, 4.4), (9.1, 4.4), (9.1, 3.1), (7.5, 3.1)], '#d9c3a5')
    pen.mass((8.2, 3.7), 0.17)
    pen.arrow(tip, (8.2, 3.8), LEAF, 1.4)
    pen.text(7.75, 4.75, '$c$', LEAF)
    pen.text(8.65, 3.7, '$m$')
    pen.vector((8.2, 3.6), (0.0, -1.5), RED)
    pen.text(8.4, 2.4, '$m g$', RED, ha='left')
    pen.box((1.1, 1.95), (1.9, 2.45), 'white', BLUE, zorder=4)
    pen.text(1.5, 2.2, 'IMU', BLUE, 9.0)
    pen.text(0.45, 3.2, r'$\omega,\ s$', BLUE, ha='left')
    pen.line([(0.9, 3.0), (1.4, 2.5)], BLUE, 0.9)
    pen.title(10.6, 8.0, 'Interval of the mass')
    low, across, up = point((11.3, 1.2)), 0.5, 5.2
    times, load, middle, half = weighing()
    top, bottom = np.clip(middle + half, 0.0, 1.0), np.clip(middle - half, 0.0, 1.0)

    def at(values: np.ndarray) -> np.ndarray:
        return np.stack([low[0] + across * times, low[1] + up * values], axis=-1)

    pen.plot(low, (17.7, 7.2), '', '$m$')
    pen.text(17.6, 0.85, '$t$')
    pen.area(np.concatenate([at(top), at(bottom)[::-1]]), '#d6e4f5', 'none', zorder=1)
    pen.line(at(middle)[times > 1.8], BLUE, 2.0)
    pen.line(at(load), DARK, 1.6, linestyle='--')
    pen.line([shift(low, 0.0, up), shift(low, 6.1, up)], RED, 1.0)
    pen.text(low[0] - 0.15, low[1] + up, 'limit', RED, 10.0, ha='right')
    pen.text(13.4, 4.9, 'interval of 95 %', BLUE, 10.0)
    pen.arrow((13.4, 4.7), (13.2, 3.6), BLUE, 1.0)
    pen.text(13.4, 2.0, 'load', size=10.0)
    pen.arrow((13.4, 2.2), (13.4, 2.95), DARK, 1.0)
    for start, end, words in ((0.0, 1.8, 'rated'), (1.8, 7.0, 'weighed'), (7.0, 12.0, 'weighed anew')):
        x0, x1 = low[0] + across * start, low[0] + across * end
        pen.line([(x1, 0.5), (x1, 1.2)], LINE, 0.9)
        pen.text(0.5 * (x0 + x1), 0.75, words, LINE, 9.5)
    return pen


def glossary_above() -> Pen:
    """Support polygon, tipping axis, centre of mass, ZMP and static margin from above."""
    pen = Pen(16.4, 7.6)
    scale = 2.5
    at = from_above(pen, point((7.6, 3.7)), scale)
    moment_point = CENTER - HEIGHT / GRAVITY * ACCELERATION
    edge = 1
    ends = CORNERS[edge], CORNERS[edge + 1]
    along = 0.22 * (ends[1] - ends[0])
    pen.line([at(ends[0] - along), at(ends[1] + along)], RED, 2.4, linestyle=(0, (6, 2, 1.5, 2)))
    pen.text(*shift(at(ends[1] + along), 0.0, 0.75), 'tipping axis\n(here: an edge)', RED)
    pen.text(*at((-0.75, -0.35)), 'support polygon', LEAF)
    spot = nearest_on_edge(CENTER, edge)
    pen.arrow(at(CENTER), at(spot), DARK, 1.3, '<|-|>', mutation_scale=11.0)
    x, y = at(0.5 * (CENTER + spot))
    pen.text(x - 0.2, y, 'static margin', ha='right')
    x, y = at(CENTER)
    pen.text(x - 0.35, y - 0.35, 'centre of mass', ha='right')
    pen.circle(at(moment_point), 0.15, BLUE, BLUE, zorder=6)
    pen.arrow(at(CENTER), at(moment_point), BLUE, 1.2, '->')
    x, y = at(moment_point)
    pen.text(x + 0.1, y - 0.45, 'ZMP', BLUE)
    x, y = at((1.6, -1.0))
    pen.text(x + 0.95, y, 'support (wheel)\nand its contact', ha='left')
    x, y = at((1.6, -0.1))
    pen.text(x + 0.3, y, 'edge', RED, ha='left')
    pen.arrow((13.6, 3.45), (15.4, 3.45), DARK, 1.2)
    pen.text(14.5, 3.8, 'forward', size=10.0)
    pen.text(7.6, 0.4, 'The machine brakes: the ZMP lies ahead of the centre of mass.', LINE, 10.0)
    return pen


def glossary_side() -> Pen:
    """Load, reach and the loads at which a machine lifts a support, tips and falls."""
    pen = Pen(18.0, 7.8)
    pen.ground(0.4, 11.2, 0.9)
    pen.box((1.0, 1.7), (5.2, 2.7))
    pen.wheel((1.9, 1.5), 0.6, lifted=True)
    pen.wheel((4.5, 1.5), 0.6)
    pen.area([(2.6, 2.7), (3.8, 2.7), (3.5, 3.5), (2.9, 3.5)], GREY)
    foot, elbow, tip = point((3.2, 3.4)), point((6.5, 6.4)), point((9.6, 5.3))
    pen.link([foot, elbow], 0.22)
    pen.link([elbow, tip], 0.2)
    for at in (foot, elbow, tip):
        pen.pin(at)
    pen.line([tip, (9.6, 4.3)], DARK, 1.6)
    pen.box((9.0, 3.1), (10.2, 4.3), '#d9c3a5')
    pen.text(9.6, 3.7, 'load')
    pen.line([(3.2, 3.4), (3.2, 7.4)], LINE, 1.0, linestyle=(0, (6, 2, 1.5, 2)))
    pen.line([(9.6, 5.5), (9.6, 7.4)], LINE, 1.0, linestyle=':')
    pen.text(3.0, 5.9, 'swing axis', LINE, 10.0, rotation=90.0)
    pen.size((3.2, 7.2), (9.6, 7.2), 'reach')
    pen.vector((9.6, 3.1), (0.0, -1.4), RED)
    pen.circle((4.5, 0.9), 0.14, RED, RED, zorder=7)
    pen.text(4.5, 0.4, 'tipping axis', RED, bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.0})
    pen.text(0.4, 3.75, 'first lift-off:\nthis wheel\ncarries nothing', BLUE, 10.0, ha='left')
    pen.line([(0.9, 3.1), (1.6, 2.0)], BLUE, 0.9, zorder=5)
    pen.arc((4.5, 0.9), 2.5, 62.0, 28.0, RED)
    pen.text(6.65, 3.0, 'tips', RED, 10.0, ha='left')
    left, low = 12.5, 0.9
    pen.arrow((left, low), (left, 7.4), DARK, 1.6)
    pen.text(left - 0.2, 7.4, 'load, kg', ha='right')
    lift, tipping, fall = 1.7, 4.0, 5.8
    rated = 0.75 * tipping
    pen.box((left - 0.45, low), (left, low + rated), GREEN, 'none')
    pen.box((left - 0.45, low + rated), (left, low + tipping), '#fff3d6', 'none')
    pen.box((left - 0.45, low + tipping), (left, low + fall), '#fbe9e6', 'none')
    for height, colour, words in (
        (fall, RED, 'fall: no equilibrium is left'),
        (tipping, RED, 'tipping load: first loss of\nequilibrium'),
        (rated, LEAF, 'rated load: 75 % of it at most'),
        (lift, BLUE, 'first lift-off of a support'),
    ):
        pen.line([(left - 0.45, low + height), (left + 0.25, low + height)], colour, 2.0)
        pen.text(left + 0.4, low + height, words, colour, 10.5, ha='left')
    return pen


DRAWINGS: dict[str, Callable[[], Pen]] = {
    'multibody': multibody,
    'contact': contact,
    'hydraulics': hydraulics,
    'stability': stability,
    'braking': braking,
    'payload': payload,
    'abo_shanab_2003': abo_shanab_2003,
    'yesiloglu_2007': yesiloglu_2007,
    'saha_1991': saha_1991,
    'freeman_1985': freeman_1985,
    'tanner_1998': tanner_1998,
    'glossary_above': glossary_above,
    'glossary_side': glossary_side,
}


def main() -> None:
    """Write the drawings, as SVG unless a second argument names another format."""
    folder, kind = Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else 'svg')
    for name, draw in DRAWINGS.items():
        draw().write(folder / f'{name}.{kind}')


if __name__ == '__main__':
    main()
