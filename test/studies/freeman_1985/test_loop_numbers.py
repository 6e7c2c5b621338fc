"""Single closed loops of freeman-1985: spatial slider-crank, Bricard linkage, planar five-bar (spec 7.6 to 7.8)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import yaml
from printed_numbers import matches, upper

from dyn_nodes.constraints import assemble
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import serial_model
from dyn_nodes.studies.formulations.transfer import close_loop
from dyn_nodes.studies.formulations.transfer.parallel import PLANE
from dyn_nodes.studies.freeman_1985.loops import dyad
from dyn_nodes.studies.freeman_1985.machines import bricard, five_bar, slider_crank

SIX = 1e-6
ROWS = Path(__file__).resolve().parents[3] / 'docs' / 'reference_numbers_freeman_1985.yaml'
EIGHT = 1e-7


@cache
def crank():
    """Mechanism and loop: kept spin of the coupler, free slide."""
    own = slider_crank()
    here = own.coefficients.at(own.q, 3)
    return own, close_loop(serial_model(here), here.frame(own.end), ['joint_5'], ['z'])


@pytest.mark.pins('freeman-1985/7.6/P', 'freeman-1985/7.6/condition', 'freeman-1985/7.6/slide', 'freeman-1985/7.6/spin')
def test_joints_of_the_slider_crank_by_its_slide_and_its_idle_spin():
    own, loop = crank()
    found = own.position.pose(own.end)[1]
    matches('7.6/P', 'slider-crank: end point', found, [-1.464350, -0.194249, 1.870511], SIX)
    matches('7.6/condition', 'slider-crank: condition of the first transfer', loop.condition, 19.36, 5e-3)
    matches('7.6/slide', 'slider-crank: joints by the slide', loop.motion.G[:, 1],
            [2.043993, -0.405768, 1.923068, -0.449818, 0, 0.487621, -0.690446], SIX)  # fmt: skip
    matches('7.6/spin', 'slider-crank: joints by the spin', loop.motion.G[:, 0],
            [0, 0.497134, 0.921061, 0.309023, 1, 0, 0], SIX)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.6/inertia_y', 'freeman-1985/7.6/power_y')
def test_model_of_the_slider_crank_in_spin_and_slide():
    _, loop = crank()
    matches('7.6/inertia_y', 'slider-crank: I* by spin and slide', loop.model.inertia,
            [[0.02, 0.007461], [0.007461, 6.543676]], SIX)  # fmt: skip
    matches('7.6/power_y', 'slider-crank: planes of P* by spin and slide', loop.model.power,
            [[[0, 0], [0, -0.034349]], [[0, 0], [0, -10.031098]]], SIX)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.6/output', 'freeman-1985/7.6/inertia_q', 'freeman-1985/7.6/power_q', 'freeman-1985/7.6/effort',
    'freeman-1985/7.6/slide_rates',
)  # fmt: skip
def test_slider_crank_by_crank_and_spin():
    own, loop = crank()
    y = loop.inputs(['joint_1', 'joint_5'])
    slide, model = y.rows(['z']), loop.model.by(y)
    matches('7.6/output', 'slider-crank: first and second derivative of the slide by the crank',
            [slide.G[0, 0], slide.H[0, 0, 0]], [0.489238408, 0.491958802], 1e-9)  # fmt: skip
    idle = [slide.G[0, 1], *slide.H[0, 1], *slide.H[0, :, 1], *slide.D[0, 1].ravel(), *slide.D[0, :, :, 1].ravel()]
    assert np.abs(idle).max() < 1e-12
    closed = closed_form_of_the_slide(own)
    assert [slide.G[0, 0], slide.H[0, 0, 0], slide.D[0, 0, 0, 0]] == pytest.approx(closed, abs=1e-9)
    matches('7.6/inertia_q', 'slider-crank: I* by crank and spin', model.inertia,
            [[1.566257, 0.003650], [0.003650, 0.02]], SIX)  # fmt: skip
    matches('7.6/power_q', 'slider-crank: planes of P* by crank and spin', model.power,
            [[[0.400311, 0], [0, 0]], [[-0.004551, 0], [0, 0]]], SIX)  # fmt: skip
    v, a = [2, 1], [0.5, -0.3]
    matches('7.6/effort', 'slider-crank: efforts of crank and spin', model.effort(v, a), [2.383278, -0.022380], SIX)
    matches('7.6/slide_rates', 'slider-crank: velocity and acceleration of the slide',
            [slide.velocity(v)[0], slide.acceleration(v, a)[0]], [0.978477, 2.212454], SIX)  # fmt: skip


def closed_form_of_the_slide(own):
    """Derivatives of Z = sqrt(9 - (X - cos t)^2 - (Y - sin t)^2) to third order, by automatic differentiation."""
    X, Y, _ = own.position.pose(own.end)[1]
    t = ca.SX.sym('t')
    Z = ca.sqrt(9 - (X - ca.cos(t)) ** 2 - (Y - ca.sin(t)) ** 2)
    slopes = [Z]
    for _ in range(3):
        slopes.append(ca.jacobian(slopes[-1], t))
    return np.array(ca.Function('slide', [t], [ca.vertcat(*slopes[1:])])(own.q[0])).ravel()


@pytest.mark.pins(
    'freeman-1985/7.7/angle', 'freeman-1985/7.7/singular_values', 'freeman-1985/7.7/first', 'freeman-1985/7.7/second',
    'freeman-1985/7.7/model',
)  # fmt: skip
def test_the_bricard_linkage_moves_though_its_jacobian_has_rank_five():
    own = bricard()
    here = own.coefficients.at(own.q, 3)
    end = here.frame(own.end)
    assert np.abs(np.column_stack(own.position.pose(own.end)) - np.eye(3, 4)).max() < 1e-15
    matches('7.7/angle', 'Bricard: second angle, deg', np.degrees(own.q[1]), 109.471221, SIX)
    values = np.linalg.svd(end.G, compute_uv=False)
    matches('7.7/singular_values', 'Bricard: singular values of G of the end', values,
            [2.070716, 1.761792, 1.383968, 1.181561, 0.923214, 0], SIX)  # fmt: skip
    loop = close_loop(serial_model(here), end, ['joint_6'])
    matches('7.7/first', 'Bricard: joints by joint 6', loop.motion.G[:, 0],
            [-2.449490, 1, -2.449490, 1, -2.449490, 1], SIX)  # fmt: skip
    matches('7.7/second', 'Bricard: second derivatives by joint 6', loop.motion.H[:, 0, 0],
            [-9.526279, 0, -9.526279, 0, -9.526279, 0], SIX)  # fmt: skip
    held = end.by(loop.motion)
    assert np.abs(held.G).max() < 1e-14
    assert np.abs(held.H).max() < 1e-13
    assert np.abs(held.D).max() < 1e-11
    found = [loop.model.inertia[0, 0], loop.model.power[0, 0, 0]]
    matches('7.7/model', 'Bricard: I* and P* by joint 6', found, [15.611111, 46.119076], SIX)
    # P* is half the slope of I* along the loop
    system, step, inertias = own.blocks(), 1e-5, []
    for side in (1, -1):
        guess = own.q + side * step * loop.motion.G[:, 0]
        there = own.coefficients.at(assemble(system, guess, held=['joint_6']), 2)
        inertias.append(close_loop(serial_model(there), there.frame(own.end), ['joint_6']).model.inertia[0, 0])
    assert (inertias[0] - inertias[1]) / (4 * step) == pytest.approx(loop.model.power[0, 0, 0], rel=1e-5)


@cache
def bar():
    """Mechanism, model of the open chain, end, loop with the crank angle kept and the end's angle free."""
    own = five_bar()
    here = own.coefficients.at(own.q, 3)
    opened, end = serial_model(here), here.frame(own.end).rows(PLANE)
    return own, opened, end, close_loop(opened, end, ['joint_1'], ['rz'])


@pytest.mark.pins('freeman-1985/7.8/open_inertia', 'freeman-1985/7.8/open_power', 'freeman-1985/7.8/joints')
def test_five_bar_open_and_its_joints_by_crank_and_end():
    _, opened, _, loop = bar()
    found = [opened.inertia[0, 0], opened.inertia[0, 1], opened.inertia[1, 1]]
    matches('7.8/open_inertia', 'five-bar: I* of the open chain', found, [2.77389125, 1.41800152, 0.80745342], EIGHT)
    matches('7.8/open_power', 'five-bar: P* 1;12 of the open chain', opened.power[0, 0, 1], 0.42751038, EIGHT)
    matches('7.8/joints', 'five-bar: joints 2 to 4 by crank and end', loop.joints.G[1:],
            [[-1.35900752, -0.01788074, 0.03834538, 0.21456891], [0.65021991, 0.05253861, -0.01407768, -0.63046331],
             [-0.29121239, -0.03465787, -0.02426770, 1.41589439]], EIGHT)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.8/inertia', 'freeman-1985/7.8/eigenvalues', 'freeman-1985/7.8/power_1', 'freeman-1985/7.8/power_2',
    'freeman-1985/7.8/power_3', 'freeman-1985/7.8/power_4', 'freeman-1985/7.8/loads',
)  # fmt: skip
def test_closed_five_bar():
    loop = bar()[3]
    model = loop.opened
    matches('7.8/inertia', 'five-bar: 1000 I* by crank and end, upper triangle', upper(1e3 * model.inertia),
            [411.02865, -5.73375, 12.29607, 68.80501, 0.25816, -0.55363, -3.09792, 1.18725, 6.64351, 37.17501],
            1e-5)  # fmt: skip
    values = np.linalg.eigvalsh(model.inertia)[::-1]
    matches('7.8/eigenvalues', 'five-bar: eigenvalues of I*', values, [0.42380, 0.02585, 0, 0], 1e-5)
    matches('7.8/power_1', 'five-bar: 1000 P*, plane 1, upper triangle', upper(1e3 * model.power[0]),
            [303.37532, -0.17906, -8.96473, 2.14871, -0.23635, -0.60575, 2.83625, 0.51997, 7.26900, -181.58782],
            1e-5)  # fmt: skip
    matches('7.8/power_2', 'five-bar: 1000 P*, plane 2, upper triangle', upper(1e3 * model.power[1]),
            [3.37607, 0.13162, 0.13865, -1.57949, 0.01680, 0.01408, -0.20155, 0.00489, -0.16891, 9.06211],
            1e-5)  # fmt: skip
    matches('7.8/power_3', 'five-bar: 1000 P*, plane 3, upper triangle', upper(1e3 * model.power[2]),
            [-7.24001, -0.28227, -0.29734, 3.38723, -0.03602, -0.03019, 0.43223, -0.01049, 0.36223, -19.43377],
            1e-5)  # fmt: skip
    matches('7.8/power_4', 'five-bar: 1000 P*, plane 4, upper triangle', upper(1e3 * model.power[3]),
            [-40.51284, -1.57949, -1.66384, 18.95389, -0.20155, -0.16891, 2.41861, -0.05869, 2.02695, -108.74536],
            1e-5)  # fmt: skip
    found = model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    matches('7.8/loads', 'five-bar: loads by crank and end', found,
            [0.05042658, 0.06882670, -0.14759934, -0.82592045], EIGHT)  # fmt: skip
    driving, bearing = loop.model.effort([2, 3], [1, 0.5]), loop.bearing_load([2, 3], [1, 0.5])
    assert [driving[0], *bearing, driving[1]] == pytest.approx(found, abs=1e-15)


@pytest.mark.pins('freeman-1985/7.8/links', 'freeman-1985/7.8/rod_force', 'freeman-1985/7.8/crank_force')
def test_links_and_pins_of_the_five_bar():
    own, _, _, loop = bar()
    here, v, a = own.coefficients.at(own.q, 3), [2, 3], [1, 0.5]
    coupler, rod = (here.rotation(Frame(k, np.eye(3), np.zeros(3))).rows(['rz']).by(loop.motion) for k in (1, 2))
    found = [[*link.velocity(v), *link.acceleration(v, a)] for link in (coupler, rod)]
    matches('7.8/links', 'five-bar: angular velocity and acceleration of coupler and rod', found,
            [[-0.0743, -3.4054], [-0.6653, -0.9465]], 5e-5)  # fmt: skip
    bearing = loop.bearing_load(v, a)
    matches('7.8/rod_force', 'five-bar: force of the rod on the coupler, lbf', bearing, [0.0688, -0.1476], 5e-5)
    centre = here.point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y']).by(loop.motion)
    inertial = own.tree.bodies[1].mass * centre.acceleration(v, a)
    matches('7.8/crank_force', 'five-bar: force of crank 1 on the coupler, lbf', inertial - bearing,
            [-0.0911, -0.2381], 5e-5)  # fmt: skip
    torques, force = dyad()
    assert loop.model.effort(v, a) == pytest.approx(torques, abs=1e-13)
    assert bearing == pytest.approx(force, abs=1e-14)


@pytest.mark.pins('freeman-1985/7.8/rates', 'freeman-1985/7.8/accelerations', 'freeman-1985/7.8/centre')
def test_motion_of_the_five_bar():
    own, _, _, loop = bar()
    v, a = [2, 3], [1, 0.5]
    matches('7.8/rates', 'five-bar: joint rates', loop.motion.velocity(v), [2, -2.0743, -0.5910, 3.6653], 5e-5)
    found = loop.motion.acceleration(v, a)
    matches('7.8/accelerations', 'five-bar: joint accelerations', found, [1, -4.4054, 2.4589, 1.4465], 5e-5)
    centre = own.coefficients.at(own.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    moved = centre.by(loop.motion)
    found = [*moved.velocity(v), *moved.acceleration(v, a)]
    matches('7.8/centre', 'five-bar: velocity and acceleration of the coupler centre', found,
            [-22.0412, 7.4780, -4.308359, -74.513653], 5e-5)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.8/force_open', 'freeman-1985/7.8/force_crank')
def test_a_force_on_the_coupler_loads_the_crank_through_the_loop():
    """(4-29): the load on the crank changes although its kinematics do not, by both routes."""
    own, opened, _, loop = bar()
    centre = own.coefficients.at(own.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    load = centre.G.T @ [1, -2]
    matches('7.8/force_open', 'five-bar: load of a force on the coupler, open', load, [-46.0274, -26.5426, 0, 0], 5e-5)
    matches('7.8/force_crank', 'five-bar: the same, on the crank of the closed loop',
            (loop.joints.G.T @ load)[0], -9.955814, SIX)  # fmt: skip
    assert opened.with_load(centre, [1, -2]).by(loop.joints).load[0] == pytest.approx(-9.955814, abs=SIX)


@pytest.mark.pins(
    'freeman-1985/7.8/second_inertia', 'freeman-1985/7.8/second_power', 'freeman-1985/7.8/other_inertia',
    'freeman-1985/7.8/other_power', 'freeman-1985/7.8/motion_energy',
)  # fmt: skip
def test_other_inputs_of_the_five_bar():
    own, opened, _, loop = bar()
    model = loop.model.by(loop.inputs(['joint_1', 'joint_2']))
    matches('7.8/second_inertia', 'five-bar: I* by joints 1, 2', model.inertia,
            [[2.773891, 1.418002], [1.418002, 0.807453]], SIX)  # fmt: skip
    matches('7.8/second_power', 'five-bar: planes of P* by joints 1, 2', model.power,
            [[[0, 0.42751], [0.42751, 0.42751]], [[-0.42751, 0], [0, 0]]], 1e-5)  # fmt: skip
    assert model.inertia == pytest.approx(opened.inertia[:2, :2], abs=1e-10)
    assert model.power == pytest.approx(opened.power[:2, :2, :2], abs=1e-10)
    model = loop.model.by(loop.inputs(['joint_2', 'joint_3']))
    matches('7.8/other_inertia', 'five-bar: I* by joints 2, 3', model.inertia,
            [[0.457737, 0.305159], [0.305159, 0.248220]], SIX)  # fmt: skip
    matches('7.8/other_power', 'five-bar: planes of P* by joints 2, 3', model.power,
            [[[-0.007388, 0.601387], [0.601387, 1.511780]], [[0.127913, 0.527430], [0.527430, 1.260816]]],
            SIX)  # fmt: skip
    energies = unforced_energies(own)
    matches('7.8/motion_energy', 'five-bar: energy of an unforced motion at 0 and 0.15 s', energies,
            [0.0907965891, 0.0907965901], 5e-9)  # fmt: skip


def unforced_energies(own):
    """Kinetic energies of the motion from rates (0.5, 0.8) of crank and end, by 60 Runge-Kutta steps."""

    def model(q):
        here = own.coefficients.at(q, 2)
        return close_loop(serial_model(here), here.frame(own.end).rows(PLANE), ['joint_1'], ['rz'])

    def rate(state):
        loop = model(state[:4])
        v = state[4:]
        return np.r_[loop.motion.velocity(v), loop.model.acceleration(v, np.zeros(2))]

    state, step = np.r_[own.q, 0.5, 0.8], 0.0025
    energies = [model(state[:4]).model.kinetic_energy(state[4:])]
    for _ in range(60):
        k1 = rate(state)
        k2 = rate(state + 0.5 * step * k1)
        k3 = rate(state + 0.5 * step * k2)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(state + step * k3))
    return [*energies, model(state[:4]).model.kinetic_energy(state[4:])]


@pytest.mark.pins(
    'freeman-1985/C-1/angles', 'freeman-1985/C-1/points', 'freeman-1985/C-1/rates', 'freeman-1985/C-1/accelerations',
)  # fmt: skip
def test_table_c_1_motion_of_the_dyad():
    """Corrected: y of B is +3.29 (printed -3.29)."""
    own, _, _, loop = bar()
    here, v, a = own.coefficients.at(own.q, 3), [2, 3], [1, 0.5]
    A, B, centre = (Frame(k, np.eye(3), np.array([x, 0.0, 0.0])) for k, x in ((0, 12.0), (2, 24.0), (1, 12.0)))
    turned = [here.pose(Frame(k, np.eye(3), np.zeros(3)))[0] for k in (0, 1, 3)]
    found = [np.arctan2(R[1, 0], R[0, 0]) / (np.pi / 36) for R in turned]
    matches('C-1/angles', 'table C-1: crank, coupler, end crank from B to H, units of pi/36', found,
            [14, 7, -18], 1e-12)  # fmt: skip
    found = [*here.pose(A)[1][:2], *here.pose(B)[1][:2], *here.pose(centre)[1][:2]]
    matches('C-1/points', 'table C-1: A, B, centre of the coupler, in', found,
            [4.10, 11.28, 33.9, 3.29, 13.93, 18.16],
            [0.01, 0.01, 0.1, 0.01, 0.01, 0.01])  # fmt: skip
    A, B, centre = (here.point(part).rows(['x', 'y']).by(loop.motion) for part in (A, B, centre))
    coupler = here.rotation(Frame(1, np.eye(3), np.zeros(3))).rows(['rz']).by(loop.motion)
    found = [*coupler.velocity(v), *A.velocity(v), *B.velocity(v)]
    matches('C-1/rates', 'table C-1: rates of coupler, A, B', found, [-0.074, -22.55, 8.21, -36.0, 0.0],
            [0.001, 0.01, 0.01, 0.1, 0.1])  # fmt: skip
    found = [*coupler.acceleration(v, a), *A.acceleration(v, a), *B.acceleration(v, a), *centre.acceleration(v, a)]
    matches('C-1/accelerations', 'table C-1: accelerations of coupler, A, B, centre', found,
            [-3.405, -27.69, -41.0, -6.0, -108.0, -4.31, -74.51],
            [0.001, 0.01, 0.1, 0.1, 0.1, 0.01, 0.01])  # fmt: skip


@pytest.mark.pins('freeman-1985/C-1/forces', 'freeman-1985/C-1/torques')
def test_table_c_1_forces_of_the_dyad():
    """Corrected: F_A is (-0.09, -0.24) (printed -0.009), T_2 is -0.83 (printed 0.83)."""
    own, _, _, loop = bar()
    v, a = [2, 3], [1, 0.5]
    bearing = loop.bearing_load(v, a)  # rod 3 and crank 4 have no mass: the same force at B and H
    centre = own.coefficients.at(own.q, 3).point(Frame(1, np.eye(3), np.array([12.0, 0, 0]))).rows(['x', 'y'])
    inertial = own.tree.bodies[1].mass * centre.by(loop.motion).acceleration(v, a)
    found = [*(inertial - bearing), *bearing]
    matches('C-1/forces', 'table C-1: forces at A, B, lbf', found, [-0.09, -0.24, 0.07, -0.15], 0.005)
    matches('C-1/torques', 'table C-1: torques of both cranks, in lbf', loop.model.effort(v, a), [0.05, -0.83], 0.005)


@pytest.mark.pins(
    'freeman-1985/C-2/G', 'freeman-1985/C-2/H_x', 'freeman-1985/C-2/H_y', 'freeman-1985/C-2/H_angle',
    'freeman-1985/C-2/inertia', 'freeman-1985/C-2/power_1', 'freeman-1985/C-2/power_2',
)  # fmt: skip
def test_table_c_2_the_open_chain():
    _, opened, end, _ = bar()
    matches('C-2/G', 'table C-2: G of the end, by rows', end.G,
            [[8.71, 19.98, 33.75, 12], [33.91, 29.80, 10.14, 0], [1, 1, 1, 1]], 0.01)  # fmt: skip
    matches('C-2/H_x', 'table C-2: H of x', end.H[0],
            [[-33.91, -29.80, -10.14, 0], [-29.80, -29.80, -10.14, 0], [-10.14, -10.14, -10.14, 0], [0, 0, 0, 0]],
            0.01)  # fmt: skip
    matches('C-2/H_y', 'table C-2: H of y', end.H[1],
            [[8.71, 19.98, 33.75, 12], [19.98, 19.98, 33.75, 12], [33.75, 33.75, 33.75, 12], [12, 12, 12, 12]],
            0.01)  # fmt: skip
    matches('C-2/H_angle', 'table C-2: H of the angle, a plane of zeros', np.abs(end.H[2]).max(), 0, 1e-12)
    matches('C-2/inertia', 'table C-2: I* 11, 12, 22', [opened.inertia[0, 0], *opened.inertia[1, :2]],
            [2.774, 1.418, 0.808], 0.001)  # fmt: skip
    found = [opened.power[0, 0, 1], *opened.power[0, 1, :2]]
    matches('C-2/power_1', 'table C-2: P* of plane 1: 12, 21, 22', found, [0.428, 0.428, 0.428], 0.001)
    matches('C-2/power_2', 'table C-2: P* of plane 2: 11', opened.power[1, 0, 0], -0.428, 0.001)
    rest = opened.power.copy()
    rest[0, :2, :2], rest[1, 0, 0] = 0.0, 0.0
    assert np.abs(rest).max() < 1e-12
    assert np.linalg.matrix_rank(opened.inertia) == 2


def of_table_c_3(numbers):
    """Tolerance: 0.1 % of every number, or 0.01 where that is more."""
    return np.maximum(0.01, 1e-3 * np.abs(numbers))


@pytest.mark.pins(
    'freeman-1985/C-3/inertia', 'freeman-1985/C-3/power_1', 'freeman-1985/C-3/power_2', 'freeman-1985/C-3/power_3',
    'freeman-1985/C-3/power_4', 'freeman-1985/C-3/loads',
)  # fmt: skip
def test_table_c_3_the_closed_model():
    """Corrected: (3,4) of plane 2 is -0.17, F_hy -147.60; the fourth load is illegible."""
    model = bar()[3].opened
    matches('C-3/inertia', 'table C-3: 1000 I*, upper triangle', upper(1e3 * model.inertia),
            [411.24, -5.73, 12.29, 68.79, 0.26, -0.55, -3.10, 1.19, 6.64, 37.17],
            of_table_c_3)  # fmt: skip
    matches('C-3/power_1', 'table C-3: 1000 P*, plane 1, upper triangle', upper(1e3 * model.power[0]),
            [303.35, -0.18, -8.96, 2.15, -0.24, -0.61, 2.84, 0.52, 7.27, -181.56],
            of_table_c_3)  # fmt: skip
    matches('C-3/power_2', 'table C-3: 1000 P*, plane 2, upper triangle', upper(1e3 * model.power[1]),
            [3.38, 0.13, 0.14, -1.58, 0.02, 0.01, -0.20, 0.005, -0.17, 9.06],
            of_table_c_3)  # fmt: skip
    matches('C-3/power_3', 'table C-3: 1000 P*, plane 3, upper triangle', upper(1e3 * model.power[2]),
            [-7.24, -0.28, -0.29, 3.38, -0.04, -0.03, 0.43, -0.01, 0.36, -19.43],
            of_table_c_3)  # fmt: skip
    matches('C-3/power_4', 'table C-3: 1000 P*, plane 4, upper triangle', upper(1e3 * model.power[3]),
            [-40.50, -1.58, -1.66, 18.95, -0.20, -0.17, 2.42, -0.06, 2.03, -108.7],
            of_table_c_3)  # fmt: skip
    found = 1e3 * model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    matches('C-3/loads', 'table C-3: 1000 times crank torque, forces at H, torque at H', found,
            [50.77, 68.83, -147.60, -825.9], [0.5, 0.01, 0.01, 0.05])  # fmt: skip


@pytest.mark.pins('freeman-1985/7.8/off_table', 'freeman-1985/7.8/off_loads')
def test_how_far_the_printed_table_c_3_is_off():
    model, rows = bar()[3].opened, yaml.safe_load(ROWS.read_text())
    off = [
        np.abs(upper(1e3 * found) - np.fromstring(rows[f'C-3/{name}'][1], sep=','))
        for name, found in zip(('inertia', *(f'power_{k}' for k in (1, 2, 3, 4))), (model.inertia, *model.power))
    ]
    matches('7.8/off_table', 'five-bar: greatest differences from table C-3: I* 11, rest of I*, planes of P*',
            [off[0][0], off[0][1:].max(), *(plane.max() for plane in off[1:])],
            [0.211, 0.015, 0.028, 0.004, 0.007, 0.045], 5e-4)  # fmt: skip
    loads = 1e3 * model.effort([2, 0, 0, 3], [1, 0, 0, 0.5])
    off = np.abs(loads - np.fromstring(rows['C-3/loads'][1], sep=','))[:3]
    matches('7.8/off_loads', 'five-bar: the same of the loads', off, [0.34, 0.003, 0.001], [0.005, 5e-4, 5e-4])
