"""Single closed loops: five-bar, slider-crank, Bricard linkage (experiments X10 to X13, X15, X16 of the spec)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import constrained_dynamics
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import Coefficients, TransferredModel, serial_model
from dyn_nodes.studies.formulations.transfer import ClosedLoop, close_loop
from dyn_nodes.studies.formulations.transfer.parallel import PLANE, SPACE
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.consistency import christoffel_defect, sketch
from dyn_nodes.studies.freeman_1985.machines import Mechanism, bricard, five_bar, slider_crank
from dyn_nodes.studies.reference import tabulated

RATES, ACCELERATIONS = (2.0, 3.0), (1.0, 0.5)
"""Rates and accelerations of crank and end of the five-bar (p. 159), rad/s and rad/s2."""
LINK_ANGLES = np.radians([70.0, 35.0, -65.0, -90.0])
LENGTHS = np.array([12.0, 24.0, 24.0, 12.0])
COUPLER = 2 / 386.4
PRINTED = {
    'crank torque, 0.001 in lbf': 0.5,
    'force x at H, 0.001 lbf': 0.01,
    'force y at H, 0.001 lbf': 0.01,
    'torque at H, 0.001 in lbf (illegible in print)': 0.05,
}
"""Tolerance of the loads of table C-3."""


def closed(mechanism: Mechanism, directions: tuple[str, ...], kept: str, free: tuple[str, ...], q: Array) -> ClosedLoop:
    """Return the loop of a mechanism at joint positions q."""
    here = mechanism.coefficients.at(q, 3)
    return close_loop(serial_model(here), here.frame(mechanism.end).rows(directions), [kept] if kept else [], free)


def dyad() -> tuple[Array, Array]:
    """Return torques of both cranks and the force at H of the five-bar, by loop rates and Newton-Euler (App. C)."""
    e = np.column_stack([np.cos(LINK_ANGLES), np.sin(LINK_ANGLES)])
    n = np.column_stack([-e[:, 1], e[:, 0]])
    # closure: l1 e1 + l2 e2 + l3 e3 + l4 e4 = const; cranks 1 and 4 are specified
    M = np.column_stack([LENGTHS[1] * n[1], LENGTHS[2] * n[2]])
    w = np.array([RATES[0], 0.0, 0.0, RATES[1]])
    w[1:3] = np.linalg.solve(M, -(LENGTHS[0] * w[0] * n[0] + LENGTHS[3] * w[3] * n[3]))
    a = np.array([ACCELERATIONS[0], 0.0, 0.0, ACCELERATIONS[1]])
    centripetal = (LENGTHS * w**2) @ e
    a[1:3] = np.linalg.solve(M, centripetal - LENGTHS[0] * a[0] * n[0] - LENGTHS[3] * a[3] * n[3])
    at_a = LENGTHS[0] * (a[0] * n[0] - w[0] ** 2 * e[0])
    centre = at_a + 12 * (a[1] * n[1] - w[1] ** 2 * e[1])
    # the massless link 3 carries an axial force, by the moment about A of the coupler
    moment = 12 * COUPLER * a[1] + 12 * COUPLER * (e[1, 0] * centre[1] - e[1, 1] * centre[0])
    pull = moment / (24 * (e[1, 0] * e[2, 1] - e[1, 1] * e[2, 0]))
    from_rod = pull * e[2]
    from_crank = COUPLER * centre - from_rod
    first = LENGTHS[0] * (e[0, 0] * from_crank[1] - e[0, 1] * from_crank[0])
    # crank 4 turns about H: the rod end B is at -12 e4 from H
    last = -LENGTHS[3] * (e[3, 0] * from_rod[1] - e[3, 1] * from_rod[0])
    return np.array([first, last]), from_rod


MOTION = {
    'coupler': ((-0.074, 0.001), (-3.405, 0.001)),
    'x of A': ((-22.55, 0.01), (-27.69, 0.01)),
    'y of A': ((8.21, 0.01), (-41.0, 0.1)),
    'x of B': ((-36.0, 0.1), (-6.0, 0.1)),
    'y of B': ((0.0, 0.1), (-108.0, 0.1)),
}
"""Table C-1: rate and acceleration, in and rad, each with one unit of its last digit."""
OPEN_CHAIN = {
    'G': [[8.71, 19.98, 33.75, 12], [33.91, 29.80, 10.14, 0], [1, 1, 1, 1]],
    'H of x': [[-33.91, -29.80, -10.14, 0], [-29.80, -29.80, -10.14, 0], [-10.14, -10.14, -10.14, 0], [0, 0, 0, 0]],
    'H of y': [[8.71, 19.98, 33.75, 12], [19.98, 19.98, 33.75, 12], [33.75, 33.75, 33.75, 12], [12, 12, 12, 12]],
}
"""Table C-2, in."""


def _claims_of_motion(s: StudyRun, mechanism: Mechanism, loop: ClosedLoop) -> None:
    """Check table C-1 as corrected."""
    here = mechanism.coefficients.at(mechanism.q, 3)
    turn = here.rotation(Frame(1, np.eye(3), np.zeros(3))).rows(['rz'])
    A, B = (
        here.point(Frame(k, np.eye(3), np.array([x, 0.0, 0.0]))).rows(['x', 'y']) for k, x in ((0, 12.0), (2, 24.0))
    )
    moved = [part.by(loop.motion) for part in (turn, A, B)]
    rates = np.concatenate([part.velocity(RATES) for part in moved])
    accelerations = np.concatenate([part.acceleration(RATES, ACCELERATIONS) for part in moved])
    for (quantity, (rate, acceleration)), *values in zip(MOTION.items(), rates, accelerations):
        for kind, (expected, digit), value in zip(('rate', 'acceleration'), (rate, acceleration), values):
            s.near(f'X10 {kind} of {quantity}', 'table C-1, corrected', expected, float(value), absolute=digit)


def _claims_of_open_chain(s: StudyRun, mechanism: Mechanism) -> None:
    """Check table C-2."""
    end, opened = mechanism.position.frame(mechanism.end).rows(PLANE), serial_model(mechanism.position)
    for (quantity, table), coefficients in zip(OPEN_CHAIN.items(), (end.G, end.H[0], end.H[1])):
        off = float(np.abs(coefficients - np.array(table)).max())
        s.near(f'X11 {quantity} of the end differs from the table, in', 'table C-2', 0.0, off, absolute=0.01)
    inertias = (('11', 2.774, opened.inertia[0, 0]), ('12', 1.418, opened.inertia[0, 1]),
                ('22', 0.808, opened.inertia[1, 1]))  # fmt: skip
    for quantity, expected, value in inertias:
        s.near(f'X11 I* {quantity}, in lbf s2', 'table C-2', expected, float(value), absolute=1e-3)
    for quantity, expected, value in (('1;12', 0.428, opened.power[0, 0, 1]), ('2;11', -0.428, opened.power[1, 0, 0])):
        s.near(f'X11 P* {quantity}, in lbf s2', 'table C-2', expected, float(value), absolute=1e-3)


@study('freeman-1985/five-bar', 'Planar five-bar: closed by its free end, other inputs, dyad analysis (X10 to X13)')
def planar_five_bar(s: StudyRun) -> None:
    """Check the printed loads, the dyad, the bearing, and the second stage."""
    mechanism = five_bar()
    loop = closed(mechanism, PLANE, 'joint_1', ('rz',), mechanism.q)
    _claims_of_motion(s, mechanism, loop)
    _claims_of_open_chain(s, mechanism)
    loads = loop.opened.effort([RATES[0], 0, 0, RATES[1]], [ACCELERATIONS[0], 0, 0, ACCELERATIONS[1]])
    for (quantity, tolerance), expected, value in zip(
        PRINTED.items(), tabulated('freeman-1985/C-3/loads'), 1e3 * loads
    ):
        s.near(f'X12 {quantity}', 'table C-3, corrected', expected, value, absolute=tolerance)
    torques, force = dyad()
    driving, bearing = loop.model.effort(RATES, ACCELERATIONS), loop.bearing_load(RATES, ACCELERATIONS)
    for quantity, expected, value in zip(('crank 1', 'crank 4'), torques, driving):
        s.near(f'X12 torque of {quantity} equals the dyad torque, in lbf', 'App. C', expected, value, absolute=1e-12)
    for axis, expected, value in zip('xy', force, bearing):
        s.near(f'X12 bearing force {axis} at H equals the dyad force, lbf', 'eq. 4-31', expected, value, absolute=1e-12)
    rank = int(np.linalg.matrix_rank(loop.opened.inertia))
    s.holds('X12 rank of I*: one body moves it', 'spec 3.2', rank == 2, expected=2, value=rank)
    opened = serial_model(mechanism.position)
    second = loop.model.by(loop.inputs(['joint_1', 'joint_2']))
    for quantity, array, exact in (('I*', second.inertia, opened.inertia[:2, :2]),
                                  ('P*', second.power, opened.power[:2, :2, :2])):  # fmt: skip
        s.near(f'X13 {quantity} by joints 1 and 2 differs from the open chain', 'eq. 4-39 to 4-41', 0.0,
               float(np.abs(array - exact).max()), absolute=1e-10)  # fmt: skip
    names = ('joint_2', 'joint_3')

    def model(q: Array) -> tuple[TransferredModel, Coefficients]:
        here = closed(mechanism, PLANE, 'joint_1', ('rz',), q)
        y = here.inputs(names)
        return here.model.by(y), here.motion.by(y)

    defect, size = christoffel_defect(mechanism, model, names)
    s.near('X13 P* by joints 2 and 3 differs from the slopes of I*, relative', 'spec 7.8', 0.0, defect / size,
           absolute=1e-6)  # fmt: skip
    s.figure('mechanism', 'The five-bar with its end pinned', lambda: sketch(mechanism))


@study('freeman-1985/slider-crank', 'Spatial slider-crank with an idle spin of its coupler (X16)')
def spatial_slider_crank(s: StudyRun) -> None:
    """Check the slide against its closed form, its independence of the spin, and the model."""
    mechanism = slider_crank()
    loop = closed(mechanism, SPACE, 'joint_5', ('z',), mechanism.q)
    y = loop.inputs(['joint_1', 'joint_5'])
    slide = y.rows(['z'])
    for order, expected, value in zip((1, 2, 3), _slide(mechanism), (slide.G[0, 0], slide.H[0, 0, 0], _third(slide))):
        s.near(f'derivative {order} of the slide by the crank', 'closed form, spec 7.6', expected, value, absolute=1e-9)
    first = tabulated('freeman-1985/7.6/output')[0]
    s.near('first derivative of the slide by the crank', 'spec 7.6', first, slide.G[0, 0], absolute=1e-9)
    idle = max(abs(slide.G[0, 1]), np.abs(slide.H[0, 1]).max(), np.abs(slide.H[0, :, 1]).max())
    s.near('derivatives of the slide by the spin', 'p. 165', 0.0, float(idle), absolute=1e-12)

    def model(q: Array) -> tuple[TransferredModel, Coefficients]:
        here = closed(mechanism, SPACE, 'joint_5', ('z',), q)
        inputs = here.inputs(['joint_1', 'joint_5'])
        return here.model.by(inputs), here.motion.by(inputs)

    defect, _ = christoffel_defect(mechanism, model, ('joint_1', 'joint_5'))
    s.near('P* by crank and spin differs from the slopes of I*', 'X16', 0.0, defect, absolute=1e-6)
    effort = loop.model.by(y).effort([2, 1], [0.5, -0.3])
    for quantity, expected, value in zip(('crank', 'spin'), tabulated('freeman-1985/7.6/effort'), effort):
        s.near(f'effort of the {quantity}', 'spec 7.6', expected, value, absolute=1e-6)
    s.figure('mechanism', 'Crank, coupler and slide', lambda: sketch(mechanism))


def _third(slide: Coefficients) -> float:
    return float(slide.D[0, 0, 0, 0]) if slide.D is not None else float('nan')


def _slide(mechanism: Mechanism) -> Array:
    """Return the exact first to third derivative of Z = sqrt(9 - (X - cos t)^2 - (Y - sin t)^2)."""
    X, Y, _ = mechanism.position.pose(mechanism.end)[1]
    t = ca.SX.sym('t')
    slopes = [ca.sqrt(9 - (X - ca.cos(t)) ** 2 - (Y - ca.sin(t)) ** 2)]
    for _ in range(3):
        slopes.append(ca.jacobian(slopes[-1], t))
    return np.array(ca.Function('slide', [t], [ca.vertcat(*slopes[1:])])(mechanism.q[0])).ravel()


@study('freeman-1985/bricard', 'Bricard linkage: movable with as many rows as joints (X15)')
def movable_bricard(s: StudyRun) -> None:
    """Check the rank, the motion to second order, and the model against the closed loop and the engine."""
    mechanism = bricard()
    end = mechanism.position.frame(mechanism.end)
    rank = int(np.linalg.matrix_rank(end.G, tol=1e-9))
    s.holds('rank of G of the closing end', 'eq. D-1', rank == 5, expected=5, value=rank)
    loop = closed(mechanism, SPACE, 'joint_6', (), mechanism.q)
    held = end.by(Coefficients(loop.motion.parameters, loop.motion.coordinates, loop.motion.G, loop.motion.H))
    for order, value in (('first', held.G), ('second', held.H)):
        s.near(f'{order} derivative of the closure along the motion', 'eq. D-1, D-2', 0.0, float(np.abs(value).max()),
               absolute=1e-9)  # fmt: skip
    s.near('joint 1 by joint 6: -sqrt 6', 'spec 7.7', -np.sqrt(6), loop.motion.G[0, 0], absolute=1e-12)

    def model(q: Array) -> tuple[TransferredModel, Coefficients]:
        here = closed(mechanism, SPACE, 'joint_6', (), q)
        return here.model, here.motion

    defect, size = christoffel_defect(mechanism, model, ('joint_6',))
    s.near('P* differs from half the slope of I*, relative', 'spec 7.7', 0.0, defect / size, absolute=1e-5)
    v = loop.motion.velocity([1.3])
    tau = np.zeros(6)
    tau[5] = 2.0
    accelerations = loop.motion.acceleration([1.3], loop.model.acceleration([1.3], [2.0]))
    expected = constrained_dynamics(mechanism.blocks(), mechanism.q, v, tau, method='saddle').acceleration
    off = float(np.abs(accelerations - expected).max() / np.abs(expected).max())
    s.near('accelerations differ from the constraint engine, relative', 'ch. 4', 0.0, off, absolute=1e-9)
    s.figure('mechanism', 'The Bricard linkage at 60 degrees', lambda: sketch(mechanism))
