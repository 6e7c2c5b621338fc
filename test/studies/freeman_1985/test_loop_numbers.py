"""Single closed loops of freeman-1985: spatial slider-crank, Bricard linkage, planar five-bar (spec 7.6 to 7.8)."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from printed_numbers import matches, upper

from dyn_nodes.constraints import assemble
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import serial_model
from dyn_nodes.studies.formulations.transfer import close_loop
from dyn_nodes.studies.formulations.transfer.parallel import PLANE
from dyn_nodes.studies.freeman_1985.loops import dyad
from dyn_nodes.studies.freeman_1985.machines import bricard, five_bar, slider_crank
from dyn_nodes.studies.reference import tabulated

SIX = 1e-6
EIGHT = 1e-7


@cache
def crank():
    """Mechanism and loop: kept spin of the coupler, free slide."""
    mechanism = slider_crank()
    here = mechanism.coefficients.at(mechanism.q, 3)
    return mechanism, close_loop(serial_model(here), here.frame(mechanism.end), ['joint_5'], ['z'])


def test_joints_of_the_slider_crank_by_its_slide_and_its_idle_spin():
    mechanism, loop = crank()
    point = mechanism.position.pose(mechanism.end)[1]
    matches('freeman-1985/7.6/P', point, SIX)
    matches('freeman-1985/7.6/condition', loop.condition, 5e-3)
    matches('freeman-1985/7.6/slide', loop.motion.G[:, 1], SIX)
    matches('freeman-1985/7.6/spin', loop.motion.G[:, 0], SIX)


def test_model_of_the_slider_crank_in_spin_and_slide():
    _, loop = crank()
    matches('freeman-1985/7.6/inertia_y', loop.model.inertia, SIX)
    matches('freeman-1985/7.6/power_y', loop.model.power, SIX)


def test_slider_crank_by_crank_and_spin():
    mechanism, loop = crank()
    y = loop.inputs(['joint_1', 'joint_5'])
    slide, model = y.rows(['z']), loop.model.by(y)
    matches('freeman-1985/7.6/output', [slide.G[0, 0], slide.H[0, 0, 0]], 1e-9)
    idle = [slide.G[0, 1], *slide.H[0, 1], *slide.H[0, :, 1], *slide.D[0, 1].ravel(), *slide.D[0, :, :, 1].ravel()]
    assert np.abs(idle).max() < 1e-12
    closed = closed_form_of_the_slide(mechanism)
    assert [slide.G[0, 0], slide.H[0, 0, 0], slide.D[0, 0, 0, 0]] == pytest.approx(closed, abs=1e-9)
    matches('freeman-1985/7.6/inertia_q', model.inertia, SIX)
    matches('freeman-1985/7.6/power_q', model.power, SIX)
    v, a = [2, 1], [0.5, -0.3]
    matches('freeman-1985/7.6/effort', model.effort(v, a), SIX)
    matches('freeman-1985/7.6/slide_rates', [slide.velocity(v)[0], slide.acceleration(v, a)[0]], SIX)


def closed_form_of_the_slide(mechanism):
    """Return the derivatives of sqrt(9 - (X - cos t)^2 - (Y - sin t)^2) to third order by automatic differentiation."""
    X, Y, _ = mechanism.position.pose(mechanism.end)[1]
    t = ca.SX.sym('t')
    Z = ca.sqrt(9 - (X - ca.cos(t)) ** 2 - (Y - ca.sin(t)) ** 2)
    slopes = [Z]
    for _ in range(3):
        slopes.append(ca.jacobian(slopes[-1], t))
    return np.array(ca.Function('slide', [t], [ca.vertcat(*slopes[1:])])(mechanism.q[0])).ravel()


def test_the_bricard_linkage_moves_though_its_jacobian_has_rank_five():
    mechanism = bricard()
    here = mechanism.coefficients.at(mechanism.q, 3)
    end = here.frame(mechanism.end)
    assert np.abs(np.column_stack(mechanism.position.pose(mechanism.end)) - np.eye(3, 4)).max() < 1e-15
    matches('freeman-1985/7.7/angle', np.degrees(mechanism.q[1]), SIX)
    values = np.linalg.svd(end.G, compute_uv=False)
    matches('freeman-1985/7.7/singular_values', values, SIX)
    loop = close_loop(serial_model(here), end, ['joint_6'])
    matches('freeman-1985/7.7/first', loop.motion.G[:, 0], SIX)
    matches('freeman-1985/7.7/second', loop.motion.H[:, 0, 0], SIX)
    held = end.by(loop.motion)
    assert np.abs(held.G).max() < 1e-14
    assert np.abs(held.H).max() < 1e-13
    assert np.abs(held.D).max() < 1e-11
    entries = [loop.model.inertia[0, 0], loop.model.power[0, 0, 0]]
    matches('freeman-1985/7.7/model', entries, SIX)
    # P* is half the slope of I* along the loop
    system, step, inertias = mechanism.blocks(), 1e-5, []
    for side in (1, -1):
        guess = mechanism.q + side * step * loop.motion.G[:, 0]
        there = mechanism.coefficients.at(assemble(system, guess, held=['joint_6']), 2)
        inertias.append(close_loop(serial_model(there), there.frame(mechanism.end), ['joint_6']).model.inertia[0, 0])
    assert (inertias[0] - inertias[1]) / (4 * step) == pytest.approx(loop.model.power[0, 0, 0], rel=1e-5)


@cache
def bar():
    """Mechanism, model of the open chain, end, loop with the crank angle kept and the end's angle free."""
    mechanism = five_bar()
    here = mechanism.coefficients.at(mechanism.q, 3)
    opened, end = serial_model(here), here.frame(mechanism.end).rows(PLANE)
    return mechanism, opened, end, close_loop(opened, end, ['joint_1'], ['rz'])


def test_five_bar_open_and_its_joints_by_crank_and_end():
    _, opened, _, loop = bar()
    entries = [opened.inertia[0, 0], opened.inertia[0, 1], opened.inertia[1, 1]]
    matches('freeman-1985/7.8/open_inertia', entries, EIGHT)
    matches('freeman-1985/7.8/open_power', opened.power[0, 0, 1], EIGHT)
    matches('freeman-1985/7.8/joints', loop.joints.G[1:], EIGHT)


def test_closed_five_bar():
    loop = bar()[3]
    model = loop.opened
    matches('freeman-1985/7.8/inertia', upper(1e3 * model.inertia), 1e-5)
    values = np.linalg.eigvalsh(model.inertia)[::-1]
    matches('freeman-1985/7.8/eigenvalues', values, 1e-5)
    matches('freeman-1985/7.8/power_1', upper(1e3 * model.power[0]), 1e-5)
    matches('freeman-1985/7.8/power_2', upper(1e3 * model.power[1]), 1e-5)
    matches('freeman-1985/7.8/power_3', upper(1e3 * model.power[2]), 1e-5)
    matches('freeman-1985/7.8/power_4', upper(1e3 * model.power[3]), 1e-5)
    loads = model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    matches('freeman-1985/7.8/loads', loads, EIGHT)
    driving, bearing = loop.model.effort([2, 3], [1, 0.5]), loop.bearing_load([2, 3], [1, 0.5])
    assert [driving[0], *bearing, driving[1]] == pytest.approx(loads, abs=1e-15)


def test_links_and_pins_of_the_five_bar():
    mechanism, _, _, loop = bar()
    here, v, a = mechanism.coefficients.at(mechanism.q, 3), [2, 3], [1, 0.5]
    coupler, rod = (here.rotation(Frame(k, np.eye(3), np.zeros(3))).rows(['rz']).by(loop.motion) for k in (1, 2))
    motions = [[*link.velocity(v), *link.acceleration(v, a)] for link in (coupler, rod)]
    matches('freeman-1985/7.8/links', motions, 5e-5)
    bearing = loop.bearing_load(v, a)
    matches('freeman-1985/7.8/rod_force', bearing, 5e-5)
    centre = here.point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y']).by(loop.motion)
    inertial = mechanism.tree.bodies[1].mass * centre.acceleration(v, a)
    matches('freeman-1985/7.8/crank_force', inertial - bearing, 5e-5)
    torques, force = dyad()
    assert loop.model.effort(v, a) == pytest.approx(torques, abs=1e-13)
    assert bearing == pytest.approx(force, abs=1e-14)


def test_motion_of_the_five_bar():
    mechanism, _, _, loop = bar()
    v, a = [2, 3], [1, 0.5]
    matches('freeman-1985/7.8/rates', loop.motion.velocity(v), 5e-5)
    accelerations = loop.motion.acceleration(v, a)
    matches('freeman-1985/7.8/accelerations', accelerations, 5e-5)
    centre = (
        mechanism.coefficients.at(mechanism.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    )
    moved = centre.by(loop.motion)
    centre_motion = [*moved.velocity(v), *moved.acceleration(v, a)]
    matches('freeman-1985/7.8/centre', centre_motion, 5e-5)


def test_a_force_on_the_coupler_loads_the_crank_through_the_loop():
    """(4-29): the load on the crank changes although its kinematics do not, by both methods."""
    mechanism, opened, _, loop = bar()
    centre = (
        mechanism.coefficients.at(mechanism.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    )
    load = centre.G.T @ [1, -2]
    matches('freeman-1985/7.8/force_open', load, 5e-5)
    matches('freeman-1985/7.8/force_crank', (loop.joints.G.T @ load)[0], SIX)
    assert opened.with_load(centre, [1, -2]).by(loop.joints).load[0] == pytest.approx(
        tabulated('freeman-1985/7.8/force_crank'), abs=SIX
    )


def test_other_inputs_of_the_five_bar():
    mechanism, opened, _, loop = bar()
    model = loop.model.by(loop.inputs(['joint_1', 'joint_2']))
    matches('freeman-1985/7.8/second_inertia', model.inertia, SIX)
    matches('freeman-1985/7.8/second_power', model.power, 1e-5)
    assert model.inertia == pytest.approx(opened.inertia[:2, :2], abs=1e-10)
    assert model.power == pytest.approx(opened.power[:2, :2, :2], abs=1e-10)
    model = loop.model.by(loop.inputs(['joint_2', 'joint_3']))
    matches('freeman-1985/7.8/other_inertia', model.inertia, SIX)
    matches('freeman-1985/7.8/other_power', model.power, SIX)
    energies = unforced_energies(mechanism)
    matches('freeman-1985/7.8/motion_energy', energies, 5e-9)


def unforced_energies(mechanism):
    """Kinetic energies of the motion from rates (0.5, 0.8) of crank and end, by 60 Runge-Kutta steps."""

    def model(q):
        here = mechanism.coefficients.at(q, 2)
        return close_loop(serial_model(here), here.frame(mechanism.end).rows(PLANE), ['joint_1'], ['rz'])

    def rate(state):
        loop = model(state[:4])
        v = state[4:]
        return np.r_[loop.motion.velocity(v), loop.model.acceleration(v, np.zeros(2))]

    state, step = np.r_[mechanism.q, 0.5, 0.8], 0.0025
    energies = [model(state[:4]).model.kinetic_energy(state[4:])]
    for _ in range(60):
        k1 = rate(state)
        k2 = rate(state + 0.5 * step * k1)
        k3 = rate(state + 0.5 * step * k2)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(state + step * k3))
    return [*energies, model(state[:4]).model.kinetic_energy(state[4:])]


def test_table_c_1_motion_of_the_dyad():
    """Corrected: y of B is +3.29 (printed -3.29)."""
    mechanism, _, _, loop = bar()
    here, v, a = mechanism.coefficients.at(mechanism.q, 3), [2, 3], [1, 0.5]
    A, B, centre = (Frame(k, np.eye(3), np.array([x, 0.0, 0.0])) for k, x in ((0, 12.0), (2, 24.0), (1, 12.0)))
    turned = [here.pose(Frame(k, np.eye(3), np.zeros(3)))[0] for k in (0, 1, 3)]
    angles = [np.arctan2(R[1, 0], R[0, 0]) / (np.pi / 36) for R in turned]
    matches('freeman-1985/C-1/angles', angles, 1e-12)
    points = [*here.pose(A)[1][:2], *here.pose(B)[1][:2], *here.pose(centre)[1][:2]]
    matches('freeman-1985/C-1/points', points, [0.01, 0.01, 0.1, 0.01, 0.01, 0.01])
    A, B, centre = (here.point(part).rows(['x', 'y']).by(loop.motion) for part in (A, B, centre))
    coupler = here.rotation(Frame(1, np.eye(3), np.zeros(3))).rows(['rz']).by(loop.motion)
    rates = [*coupler.velocity(v), *A.velocity(v), *B.velocity(v)]
    matches('freeman-1985/C-1/rates', rates, [0.001, 0.01, 0.01, 0.1, 0.1])
    accelerations = [
        *coupler.acceleration(v, a),
        *A.acceleration(v, a),
        *B.acceleration(v, a),
        *centre.acceleration(v, a),
    ]
    matches('freeman-1985/C-1/accelerations', accelerations, [0.001, 0.01, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_table_c_1_forces_of_the_dyad():
    """Corrected: F_A is (-0.09, -0.24) (printed -0.009), T_2 is -0.83 (printed 0.83)."""
    mechanism, _, _, loop = bar()
    v, a = [2, 3], [1, 0.5]
    bearing = loop.bearing_load(v, a)  # rod 3 and crank 4 have no mass: the same force at B and H
    centre = (
        mechanism.coefficients.at(mechanism.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    )
    inertial = mechanism.tree.bodies[1].mass * centre.by(loop.motion).acceleration(v, a)
    forces = [*(inertial - bearing), *bearing]
    matches('freeman-1985/C-1/forces', forces, 0.005)
    matches('freeman-1985/C-1/torques', loop.model.effort(v, a), 0.005)


def test_table_c_2_the_open_chain():
    _, opened, end, _ = bar()
    matches('freeman-1985/C-2/G', end.G, 0.01)
    matches('freeman-1985/C-2/H_x', end.H[0], 0.01)
    matches('freeman-1985/C-2/H_y', end.H[1], 0.01)
    matches('freeman-1985/C-2/H_angle', np.abs(end.H[2]).max(), 1e-12)
    matches('freeman-1985/C-2/inertia', [opened.inertia[0, 0], *opened.inertia[1, :2]], 0.001)
    entries = [opened.power[0, 0, 1], *opened.power[0, 1, :2]]
    matches('freeman-1985/C-2/power_1', entries, 0.001)
    matches('freeman-1985/C-2/power_2', opened.power[1, 0, 0], 0.001)
    rest = opened.power.copy()
    rest[0, :2, :2], rest[1, 0, 0] = 0.0, 0.0
    assert np.abs(rest).max() < 1e-12
    assert np.linalg.matrix_rank(opened.inertia) == 2


def of_table_c_3(numbers):
    """Return the tolerance: 0.1 % of every number, at least 0.01."""
    return np.maximum(0.01, 1e-3 * np.abs(numbers))


def test_table_c_3_the_closed_model():
    """Corrected: (3,4) of plane 2 is -0.17, F_hy negative; the fourth load is illegible."""
    model = bar()[3].opened
    matches('freeman-1985/C-3/inertia', upper(1e3 * model.inertia), of_table_c_3)
    matches('freeman-1985/C-3/power_1', upper(1e3 * model.power[0]), of_table_c_3)
    matches('freeman-1985/C-3/power_2', upper(1e3 * model.power[1]), of_table_c_3)
    matches('freeman-1985/C-3/power_3', upper(1e3 * model.power[2]), of_table_c_3)
    matches('freeman-1985/C-3/power_4', upper(1e3 * model.power[3]), of_table_c_3)
    loads = 1e3 * model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    matches('freeman-1985/C-3/loads', loads, [0.5, 0.01, 0.01, 0.05])


def test_how_far_the_printed_table_c_3_is_off():
    model = bar()[3].opened
    off = [
        np.abs(upper(1e3 * array) - tabulated(f'freeman-1985/C-3/{name}'))
        for name, array in zip(('inertia', *(f'power_{k}' for k in (1, 2, 3, 4))), (model.inertia, *model.power))
    ]
    matches('freeman-1985/7.8/off_table', [off[0][0], off[0][1:].max(), *(plane.max() for plane in off[1:])], 5e-4)
    loads = 1e3 * model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    off = np.abs(loads - tabulated('freeman-1985/C-3/loads'))[:3]
    matches('freeman-1985/7.8/off_loads', off, [0.005, 5e-4, 5e-4])
