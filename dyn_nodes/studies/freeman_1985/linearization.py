"""Linearized arms: slopes of efforts, state space with motors, and in hand coordinates (X4, X6, X9)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody import TreeState, inverse_dynamics
from dyn_nodes.multibody.influence import TreeCoefficients, serial_model
from dyn_nodes.simulation.linear import LinearModel
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.arms import (
    A6_A,
    A6_FORCE,
    A6_GRAVITY,
    A6_MOMENT,
    A6_Q,
    A6_V,
    arm_a6,
)
from dyn_nodes.studies.freeman_1985.consistency import spots
from dyn_nodes.studies.freeman_1985.influence_linearization import effort_slopes
from dyn_nodes.studies.freeman_1985.linear import MotorArm, tool_load
from dyn_nodes.studies.freeman_1985.traced_influence import traced_coefficients
from dyn_nodes.studies.reference import tabulated

PATTERNS = ('RRRRRR', 'RRPRRR', 'RPRRPR')
STEP = 1e-5
ALTERNATING = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])


@study('freeman-1985/linearization', 'Slopes of the efforts of serial arms against differences and traced slopes (X4)')
def linearization(s: StudyRun) -> None:
    """Check (2-225) with tool load and gravity."""
    differences: dict[str, dict[str, float | None]] = {}
    for kinds in PATTERNS:
        tree = arm_a6(kinds)
        here = TreeCoefficients(tree).at(A6_Q)
        closed = effort_slopes(here, A6_V, A6_A, A6_GRAVITY, [tool_load(here)])
        for name, other in _slopes_by_differences(kinds).items():
            off = float(np.abs(getattr(closed, name) - other).max())
            differences.setdefault(kinds, {})[f'{name.replace("_", " ")}, central differences'] = off
            s.near(f'{kinds}: slopes {name} differ from central differences', 'X4, eq. 2-225', 0.0, off, absolute=1e-7)
        for name, other in _traced_slopes(kinds).items():
            off = float(np.abs(getattr(closed, name) - other).max())
            differences[kinds][f'{name.replace("_", " ")}, traced'] = off
            s.near(f'{kinds}: slopes {name} differ from traced Newton-Euler', 'eq. 2-225', 0.0, off,
                   absolute=1e-11)  # fmt: skip
    s.figure('differences', 'Slopes of the efforts against central differences and traced slopes',
             lambda: spots(differences, 1e-7, 'greatest difference, N m and s'))  # fmt: skip


def _slopes_by_differences(kinds: str) -> dict[str, Array]:
    model = TreeCoefficients(arm_a6(kinds))

    def effort(q: Array, v: Array) -> Array:
        here = model.at(q, 2)
        return serial_model(here, A6_GRAVITY).with_load(*tool_load(here)).effort(v, A6_A)

    steps = STEP * np.eye(6)
    by_position = [(effort(A6_Q + h, A6_V) - effort(A6_Q - h, A6_V)) / (2 * STEP) for h in steps]
    by_velocity = [(effort(A6_Q, A6_V + h) - effort(A6_Q, A6_V - h)) / (2 * STEP) for h in steps]
    return {'by_position': np.column_stack(by_position), 'by_velocity': np.column_stack(by_velocity)}


def _traced_slopes(kinds: str) -> dict[str, Array]:
    tree = arm_a6(kinds)
    q, v, a = (ca.SX.sym(name, 6) for name in 'qva')
    state = TreeState(tree, q, v)
    hand = traced_coefficients(state, tree.frame('tool')).G
    load = ca.mtimes(hand.T, ca.SX([*A6_FORCE, *A6_MOMENT]))
    effort = inverse_dynamics(state, a, ca.SX(list(A6_GRAVITY))) - load
    outputs = [ca.densify(ca.jacobian(effort, by)) for by in (q, v, a)]
    slopes = ca.Function('slopes', [q, v, a], outputs)(A6_Q, A6_V, A6_A)
    return dict(zip(('by_position', 'by_velocity', 'by_acceleration'), (np.array(part) for part in slopes)))


@study('freeman-1985/state-space', 'Arm A6 with motors as a state space, against the nonlinear machine (X6)')
def state_space(s: StudyRun) -> None:
    """Check F and the propagation of small deviations against the nonlinear model."""
    arm = MotorArm()
    linear = arm.at(0.0)
    exact = _numerical_jacobian(arm, linear.state, linear.voltages)
    sizes = np.r_[np.ones(12), np.full(6, 0.1)]
    off = np.abs(linear.F - exact) * sizes / sizes[:, None]
    largest = np.abs(linear.F * sizes / sizes[:, None]).max(axis=1, keepdims=True)
    s.near('F differs from the numerical Jacobian, relative to its rows', 'X6, eq. 2-241', 0.0,
           float((off / largest).max()), absolute=1e-8)  # fmt: skip
    names = tuple(f'x{k}' for k in range(18))
    model = LinearModel(linear.F, linear.inputs, np.zeros((0, 18)), np.zeros((0, 6)), names, names[:6], ())
    s.near('rank of controllability', 'spec 7.4', 18, model.controllability().rank)
    start = np.r_[1e-3 * ALTERNATING, np.zeros(12)]
    defects = []
    for factor in (1.0, 0.5):
        off = arm.deviation(0.1, factor * start) - arm.linear_deviation(0.1, factor * start)
        defects.append(float(np.abs(off[:12]).max()))
    s.near('defect of the linear model along the path when the deviation is halved, ratio', 'X6: second order', 4.0,
           defects[0] / defects[1], relative=0.05)  # fmt: skip
    bound = 1e-3 * float(np.abs(arm.deviation(0.1, start)[:12]).max())
    s.holds('the defect is less than a thousandth of the deviation', 'X6', defects[0] < bound,
            expected=f'below {bound:.2g}', value=defects[0])  # fmt: skip
    s.figure('poles', 'Poles of arm A6 with motors at the start of its path', lambda: _pole_map(linear.F))


def _pole_map(F: Array) -> drawing.Figure:
    poles = np.linalg.eigvals(F)
    figure, (axes,) = drawing.panels(1, 3.0)
    axes.plot(poles.real, poles.imag, 'x', markersize=5)
    axes.set_xscale('symlog', linthresh=0.01)
    ticks = (-1000, -100, -10, -1, -0.1, -0.01, 0, 0.01, 0.1)
    axes.set_xticks(ticks, [f'{tick:g}' for tick in ticks])
    axes.set_xlim(-2000.0, 0.2)
    axes.axvline(0.0, color='0.5', linewidth=0.8)
    axes.set(xlabel='real part, 1/s', ylabel='imaginary part, 1/s')
    return figure


def _numerical_jacobian(arm: MotorArm, x: Array, volts: Array) -> Array:
    columns = []
    for k, size in enumerate(np.r_[np.ones(12), np.full(6, 0.1)]):
        unit = 1e-3 * size * np.eye(len(x))[k]
        near = arm.rate(x + unit, volts) - arm.rate(x - unit, volts)
        far = arm.rate(x + 2 * unit, volts) - arm.rate(x - 2 * unit, volts)
        columns.append((8 * near - far) / (12e-3 * size))
    return np.column_stack(columns)


@study('freeman-1985/transferred-state-space', 'The state space of arm A6 in hand coordinates (X9)')
def transferred_state_space(s: StudyRun) -> None:
    """Check (3-53) against the similarity transformation with W along the path."""
    arm = MotorArm()
    F, h = arm.at(0.0).F, 1e-3
    near, far = _to_hand(arm, h) - _to_hand(arm, -h), _to_hand(arm, 2 * h) - _to_hand(arm, -2 * h)
    W, rate = _to_hand(arm, 0.0), (8 * near - far) / (12 * h)
    exact = (rate + W @ F) @ np.linalg.inv(W)
    corrected, printed = arm.in_hand_coordinates(0.0)[0], arm.in_hand_coordinates(0.0, as_printed=True)[0]
    size = np.abs(exact).max(axis=1, keepdims=True)
    s.near('differs from (dW/dt + W F) W^-1, relative to its rows', 'X9', 0.0,
           float((np.abs(corrected - exact) / size).max()), absolute=1e-8)  # fmt: skip
    off = np.abs(printed - exact)
    turn = tabulated('freeman-1985/7.4/hand_turn')[2]
    s.near('defect of the printed first block', 'eq. 3-53 as printed', turn, float(off[:6].max()), absolute=1e-6)
    s.near('defect of its other blocks, relative to their rows', 'eq. 3-53', 0.0, float((off / size)[6:].max()),
           absolute=1e-8)  # fmt: skip
    moved, poles = np.linalg.eigvals(W @ F @ np.linalg.inv(W)), np.linalg.eigvals(F)
    apart = max(float(np.abs(moved - pole).min()) for pole in poles)
    s.near('poles of the frozen similarity differ from the poles of F, 1/s', 'X9', 0.0, apart, absolute=1e-5)
    s.figure('defects', 'Differences from the exact similarity transformation: corrected, and as printed',
             lambda: _defects(corrected - exact, printed - exact))  # fmt: skip


def _defects(corrected: Array, printed: Array) -> drawing.Figure:
    figure, panels = drawing.panels(1, 3.2, 2, share=False)
    for axes, (name, off) in zip(panels, (('corrected', corrected), ('as printed', printed))):
        shown = axes.imshow(np.log10(np.abs(off) + 1e-16), vmin=-16, vmax=1, cmap='viridis')
        axes.set(title=name, xticks=(2.5, 8.5, 14.5), yticks=(2.5, 8.5, 14.5))
        axes.set_xticklabels(('pose', 'rates', 'currents'))
        axes.set_yticklabels(('pose', 'rates', 'currents'), rotation=90, va='center')
        axes.grid(False)
    figure.colorbar(shown, ax=panels, label='log10 of the difference', shrink=0.8)
    return figure


def _to_hand(arm: MotorArm, t: float) -> Array:
    linear, hand = arm.at(t), arm.hand(t)
    none, rates = np.zeros((6, 6)), np.einsum('pmn,n->pm', hand.H, linear.v)
    return np.block([[hand.G, none, none], [rates, hand.G, none], [none, none, np.eye(6)]])
