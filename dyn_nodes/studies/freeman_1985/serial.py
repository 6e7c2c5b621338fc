"""Serial arms: coefficients, dynamics, hand coordinates (experiments X1, X2, X3, X7, X8 of the spec)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody import Frame, TreeState, inverse_dynamics
from dyn_nodes.multibody.influence import Coefficients, TreeCoefficients, TreePosition, serial_model
from dyn_nodes.multibody.influence.algebra import cross_columns, transposed
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.arms import (
    A3_Q,
    A6_A,
    A6_GRAVITY,
    A6_JERK,
    A6_Q,
    A6_V,
    arm_a3,
    arm_a6,
)
from dyn_nodes.studies.freeman_1985.consistency import spots

PATTERNS = ('RRRRRR', 'RRPRRR', 'RPRRPR', 'PRRPRR')
STEP = 1e-5


def _position(kinds: str) -> tuple[TreePosition, Coefficients]:
    """Return the arm at the reference position, and its hand."""
    tree = arm_a6(kinds)
    here = TreeCoefficients(tree).at(A6_Q)
    return here, here.frame(tree.frame('tool'))


def _path(t: float) -> Array:
    return A6_Q + A6_V * t + A6_A * t**2 / 2 + A6_JERK * t**3 / 6


@study('freeman-1985/coefficients', 'G, H, D of serial arms against differences of position, G and H (X1, X3)')
def coefficients(s: StudyRun) -> None:
    """Check the closed forms against central differences, symmetries, and the identity (2-178)."""
    differences: dict[str, dict[str, float | None]] = {}
    for kinds in PATTERNS:
        _, hand = _position(kinds)
        slopes, differences[kinds] = _differences(kinds), {}
        for name, exact in slopes.items():
            differences[kinds][name] = off = float(np.abs(getattr(hand, name) - exact).max())
            s.near(f'{kinds}: {name} of the hand differs from central differences', 'X1, tables 2-3 to 2-5', 0.0, off,
                   absolute=1e-8)  # fmt: skip
        point, turn = hand.rows(['x', 'y', 'z']), hand.rows(['rx', 'ry', 'rz'])
        s.near(f'{kinds}: asymmetry of translational H', 'table 2-4', 0.0,
               float(np.abs(point.H - transposed(point.H)).max()), absolute=1e-15)  # fmt: skip
        left = np.einsum('n,pmn->pm', A6_V, turn.H) - cross_columns(turn.G, turn.G @ A6_V)
        off = float(np.abs(left - np.einsum('m,pmn->pn', A6_V, turn.H)).max())
        s.near(f'{kinds}: residual of the identity left to the reader', 'eq. 2-178', 0.0, off, absolute=1e-13)
    _, hand = _position('RRRRRR')
    asymmetry = np.abs(hand.H - transposed(hand.H)).max()
    s.near('asymmetry of rotational H', 'spec 7.1', 0.955, asymmetry, absolute=5e-4)
    s.figure('differences', 'Coefficients of the hand against central differences, by joint pattern',
             lambda: spots(differences, 1e-8, 'greatest difference'))  # fmt: skip


def _differences(kinds: str) -> dict[str, Array]:
    """Return G, H, D by central differences of pose, G and H."""
    tree = arm_a6(kinds)
    model, tool = TreeCoefficients(tree), tree.frame('tool')
    slopes: dict[str, list[Array]] = {'G': [], 'H': [], 'D': []}
    R = model.at(A6_Q).pose(tool)[0]
    for unit in STEP * np.eye(6):
        forth, back = model.at(A6_Q + unit), model.at(A6_Q - unit)
        (R1, p1), (R2, p2) = forth.pose(tool), back.pose(tool)
        spin = (R1 - R2) @ R.T / (2 * STEP)
        slopes['G'].append(np.r_[(p1 - p2) / (2 * STEP), spin[2, 1], spin[0, 2], spin[1, 0]])
        one, two = forth.frame(tool), back.frame(tool)
        slopes['H'].append((one.G - two.G) / (2 * STEP))
        slopes['D'].append((one.H - two.H) / (2 * STEP))
    return {name: np.stack(parts, axis=1) for name, parts in slopes.items()}


@study('freeman-1985/serial-dynamics', 'Inertia-power arrays of serial arms against recursive Newton-Euler (X2)')
def serial_dynamics(s: StudyRun) -> None:
    """Check efforts, kinetic energy and the Christoffel symbols."""
    for kinds in PATTERNS:
        here, _ = _position(kinds)
        model = serial_model(here, A6_GRAVITY)
        symbols = [ca.SX.sym(name, 6) for name in 'qva']
        state = TreeState(here.model.tree, symbols[0], symbols[1])
        outputs = [inverse_dynamics(state, symbols[2], ca.SX(list(A6_GRAVITY))), state.kinetic_energy]
        efforts, energy = (np.array(part).ravel() for part in ca.Function('arm', symbols, outputs)(A6_Q, A6_V, A6_A))
        off = float(np.abs(model.effort(A6_V, A6_A) - efforts).max() / np.abs(efforts).max())
        s.near(f'{kinds}: efforts differ from Newton-Euler, relative', 'X2', 0.0, off, absolute=1e-10)
        s.near(f'{kinds}: kinetic energy, J', 'eq. 2-140', float(energy[0]), model.kinetic_energy(A6_V), relative=1e-12)
        s.near(f'{kinds}: symmetric part of P* differs from the Christoffel symbols', 'X2', 0.0, _christoffel(here),
               absolute=1e-7)  # fmt: skip
    s.figure('efforts', 'Arm A6 on the path of spec 7.1: efforts with gravity, N m', _efforts_on_the_path)


def _efforts_on_the_path() -> drawing.Figure:
    model, times = TreeCoefficients(arm_a6()), np.linspace(0.0, 1.0, 41)
    efforts = np.array([
        serial_model(model.at(_path(t), 2), A6_GRAVITY).effort(A6_V + A6_A * t + A6_JERK * t**2 / 2, A6_A + A6_JERK * t)
        for t in times
    ])  # fmt: skip
    arm, wrist = ({f'joint {k + 1}': efforts[:, k] for k in part} for part in (range(3), range(3, 6)))
    return drawing.histories(times, {'arm, N m': arm, 'wrist, N m': wrist}, columns=2)


def _christoffel(here: TreePosition) -> float:
    slopes = np.zeros((6, 6, 6))
    for n, unit in enumerate(STEP * np.eye(6)):
        forth, back = (serial_model(here.model.at(here.q + side * unit, 2)).inertia for side in (1, -1))
        slopes[:, :, n] = (forth - back) / (2 * STEP)
    expected = 0.5 * (slopes + np.swapaxes(slopes, 1, 2) - np.einsum('mnk->kmn', slopes))
    power = serial_model(here).power
    return float(np.abs(0.5 * (power + transposed(power)) - expected).max())


@study('freeman-1985/hand-coordinates', 'Arms in the coordinates of the hand, to third order (X7, X8)')
def hand_coordinates(s: StudyRun) -> None:
    """Check the transfer of kinematics and dynamics, there and back, and the closed form of Appendix B."""
    here, hand = _position('RRRRRR')
    joints, model = hand.inverse(), serial_model(here)
    there = model.by(joints)
    rates, accelerations = hand.velocity(A6_V), hand.acceleration(A6_V, A6_A)
    s.near('condition number of G of the hand', 'spec 7.2', 28.3, hand.condition, absolute=0.05)
    off = hand.G.T @ there.effort(rates, accelerations) - model.effort(A6_V, A6_A)
    s.near('G^T T_q - T_phi', 'eq. 3-29', 0.0, float(np.abs(off).max()), absolute=1e-10)
    off = joints.acceleration(rates, accelerations) - A6_A
    s.near('joint accelerations from hand accelerations, difference', 'eq. 3-19', 0.0, float(np.abs(off).max()),
           absolute=1e-10)  # fmt: skip
    off = joints.jerk(rates, accelerations, hand.jerk(A6_V, A6_A, A6_JERK)) - A6_JERK
    s.near('joint jerk from hand jerk, difference', 'eq. 3-46, 3-47', 0.0, float(np.abs(off).max()),
           absolute=1e-10)  # fmt: skip
    tree = here.model.tree
    slope = _third_derivative(tree.frame('tool'), here.model)
    point = hand.rows(['x', 'y', 'z'])
    off = point.jerk(A6_V, A6_A, A6_JERK) - slope
    s.near('jerk of the tool point differs from the third difference along a path', 'X1', 0.0,
           float(np.abs(off).max()), absolute=1e-5)  # fmt: skip
    arm = arm_a3()
    wrist = TreeCoefficients(arm).at(A3_Q).point(arm.frame('wrist'))
    one, radius = A3_Q[0], 10 * np.cos(A3_Q[1]) + 8 * np.cos(A3_Q[1] + A3_Q[2])
    closed = np.zeros((3, 3))
    closed[:2, :2] = np.array([[np.sin(2 * one), -np.cos(2 * one)], [-np.cos(2 * one), -np.sin(2 * one)]]) / radius**2
    off = wrist.inverse().H[0] - closed
    s.near('H of joint 1 of arm A3 differs from its closed form', 'eq. B-8', 0.0, float(np.abs(off).max()),
           absolute=1e-12)  # fmt: skip
    s.figure('tool', 'Arm A6: the tool point on its path, to third order', lambda: _tool_on_the_path(here.model))


def _tool_on_the_path(model: TreeCoefficients) -> drawing.Figure:
    times, tool = np.linspace(0.0, 1.0, 41), model.tree.frame('tool')
    rates: list[list[Array]] = [[], [], []]
    for t in times:
        point, v, a = model.at(_path(t)).point(tool), A6_V + A6_A * t + A6_JERK * t**2 / 2, A6_A + A6_JERK * t
        for curve, value in zip(rates, (point.velocity(v), point.acceleration(v, a), point.jerk(v, a, A6_JERK))):
            curve.append(value)
    labels = ('velocity, m/s', 'acceleration, m/s²', 'jerk, m/s³')
    lines = {label: dict(zip('xyz', np.array(curve).T)) for label, curve in zip(labels, rates)}
    return drawing.histories(times, lines, columns=3)


def _third_derivative(tool: Frame, model: TreeCoefficients) -> Array:
    """Return the third derivative of the tool point along the path by differences of fourth order."""
    h = 1e-2
    weights = {-3: 1, -2: -8, -1: 13, 1: -13, 2: 8, 3: -1}
    parts = [weight * model.at(_path(k * h)).pose(tool)[1] for k, weight in weights.items()]
    return np.asarray(np.sum(parts, axis=0) / (8 * h**3))
