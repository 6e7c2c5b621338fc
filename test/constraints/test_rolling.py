"""Rolling wheels: disc, cart and platform against the numbers of yesiloglu-2007's specification (6.8 to 6.10)."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from runge_kutta import runge_kutta
from scipy.integrate import solve_ivp

from dyn_nodes.constraints import (
    ConstraintBlocks,
    Loop,
    RollingArm,
    RollingWheel,
    analyse,
    constrained_dynamics,
    world_frame,
)
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.simulation import Settings, System
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007.models import Model
from dyn_nodes.studies.yesiloglu_2007.wheeled import (
    CORNERS,
    DISC_AXIAL,
    DISC_DIAMETRAL,
    DISC_MASS,
    DISC_RADIUS,
    cart,
    disc,
    forward,
    platform,
    turning_angles,
)

FORMS = ('arm', 'contact')
STEP = 0.01
Rates = Callable[[np.ndarray, np.ndarray], np.ndarray]


def run(model: Model, acceleration: Rates, step: float, steps: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the states of a model at Runge-Kutta steps, including the first one."""
    rates = runge_kutta(model.blocks(), model.q, model.v, lambda t, q, v: acceleration(q, v), step, steps)
    return [(q, v) for _, q, v in rates]


def held(system: ConstraintBlocks, tau: np.ndarray) -> Rates:
    return lambda q, v: constrained_dynamics(system, q, v, tau, method='saddle').acceleration


def on_outside(model: Model, multipliers: np.ndarray) -> np.ndarray:
    """Return the wrenches of the tips on the ground, one row each."""
    assert isinstance(model.constraints[0], RollingArm)
    return -multipliers[: 6 * sum(isinstance(c, RollingArm) for c in model.constraints)].reshape(-1, 6)


# --- disc -----------------------------------------------------------------------------------------------------------


def test_an_upright_disc_agrees_with_the_closed_form():
    model = disc()
    system = model.blocks()
    tau = np.zeros(9)
    tau[0] = -2.0
    ahead, spin, force, rank = tabulated('yesiloglu-2007/6.8/upright')
    for method in ('saddle', 'reduced'):
        solution = constrained_dynamics(system, model.q, model.v, tau, method=method)
        assert solution.acceleration[4] == pytest.approx(ahead, abs=1e-10)
        assert solution.acceleration[0] == pytest.approx(spin, abs=1e-10)
        assert on_outside(model, solution.multipliers)[0] == pytest.approx(force, abs=1e-9)
        assert solution.rank == rank
    assert np.linalg.matrix_rank(system.at(model.q).M) == rank
    short = disc(form='contact')
    solution = constrained_dynamics(short.blocks(), short.q, short.v, tau[:6])
    assert solution.forces['wheel_ground'] == pytest.approx([-force[4], 0, -force[5]], abs=1e-9)


@pytest.mark.pins('yesiloglu-2007/6.8/massless')
def test_small_inertias_on_the_massless_links_trade_error_for_conditioning():
    cases = ((1e-2, 2.96e-3, 1e3), (1e-4, 2.96e-5, 1e5), (1e-6, 2.96e-7, 1e7), (1e-8, 2.96e-9, 1e9))
    for epsilon, error, condition in cases:
        model = disc(helper=epsilon)
        b = model.blocks().at(model.q, model.v)
        tau = np.zeros(9)
        tau[0] = -2.0
        inverse = np.linalg.inv(b.M)
        Omega = b.J @ inverse @ b.J.T
        a = inverse @ (tau - b.h + b.J.T @ np.linalg.solve(Omega, b.gamma - b.J @ inverse @ (tau - b.h)))
        assert abs(a[0] + 2.0 / 1.35) == pytest.approx(error, rel=0.005)
        assert np.linalg.cond(Omega) == pytest.approx(condition, rel=0.005)


@pytest.fixture(scope='module')
def free_rolling():
    model = disc(0.2, 0.1, 0.7, 8.0)
    system = model.blocks()
    # in the wheel's axes, which spin, Runge-Kutta needs smaller steps than in fixed axes
    compiled = System.of_blocks('rolling_disc', system)
    done = compiled.run(
        compiled.state(model.q, model.v), np.arange(0.0, 2.0 + 0.5 * STEP, STEP), settings=Settings(step=5e-4)
    )
    assert done.status == 'done'
    return model, system, list(zip(done.q, done.v))


def test_a_leaning_disc_passes_the_states_of_the_specification(free_rolling):
    model, system, states = free_rolling
    contact = ca.Function('p', [system.q], [system.state.frame_pose(model.tree.frame('wheel_pivot')).p])
    rows = [*zip((0.05, 0.1, 0.2, 0.3, 0.4), tabulated('yesiloglu-2007/6.8/nutation'))]
    rows += zip((0.5, 1.0, 1.5, 2.0), tabulated('yesiloglu-2007/6.8/free_rolling'))
    for time, expected in rows:
        q, v = states[round(time / STEP)]
        assert [-q[8], -q[9], v[6]] == pytest.approx(expected[:3], abs=2e-8)
        if len(expected) > 3:
            assert [-v[7], -v[8]] == pytest.approx(expected[3:5], abs=3e-8)
            assert np.array(contact(q)).ravel()[:2] == pytest.approx(expected[5:7], abs=1e-7)
            multipliers = constrained_dynamics(system, q, v, np.zeros(9)).multipliers
            assert on_outside(model, multipliers)[0, 3:] == pytest.approx(expected[7:], abs=1e-5)


def test_energy_is_constant_and_the_classical_disc_equations_agree(free_rolling):
    _, system, states = free_rolling
    energy = [sum(system.energies(q, v)) for q, v in states]
    assert energy[0] == pytest.approx(tabulated('yesiloglu-2007/6.8/classical')[1], abs=1e-9)
    assert np.abs(np.array(energy) - energy[0]).max() < 2e-8
    m, r, axial, across = DISC_MASS, DISC_RADIUS, DISC_AXIAL, DISC_DIAMETRAL

    def classical(_, state):
        theta, _psi, rate, yaw_rate, spin = state
        s, c = np.sin(theta), np.cos(theta)
        first = (across * yaw_rate**2 * s * c - (axial + m * r * r) * spin * yaw_rate * s - m * 9.81 * r * c) / (
            across + m * r * r
        )
        turn = (axial * spin * rate / across - 2 * yaw_rate * rate * c) / s
        return [rate, yaw_rate, first, turn, m * r * r * rate * yaw_rate / (axial + m * r * r) * s]

    theta = 0.5 * np.pi + 0.2
    start = [theta, 0.0, 0.1, 0.7, -8.0 + 0.7 * np.cos(theta)]
    times = np.array([0.5, 1.0, 1.5, 2.0])
    solution = solve_ivp(classical, (0.0, 2.0), start, t_eval=times, rtol=1e-11, atol=1e-12).y
    positions = np.array([states[round(t / STEP)][0] for t in times])
    assert 0.5 * np.pi - positions[:, 8] == pytest.approx(solution[0], abs=2e-8)
    assert -positions[:, 9] == pytest.approx(solution[1], abs=2e-8)


@pytest.mark.parametrize(
    ('lean', 'yaw_rate', 'leg_rate', 'radius'),
    [(*start, *row) for start, row in zip(((0.2, -0.7), (0.1, -0.5)), tabulated('yesiloglu-2007/6.8/steady_turns'))],
)
def test_a_disc_turns_steadily_at_the_rates_of_the_specification(lean, yaw_rate, leg_rate, radius):
    model = disc(lean, 0.0, yaw_rate, leg_rate)
    a = constrained_dynamics(model.blocks(), model.q, model.v, np.zeros(9)).acceleration
    # of leg, lean and yaw; the contact moves by the rolled arc
    assert a[6:9] == pytest.approx([0.0, 0.0, 0.0], abs=2e-8)
    assert leg_rate * DISC_RADIUS / abs(yaw_rate) == pytest.approx(radius, abs=1e-8)


@pytest.mark.pins('yesiloglu-2007/6.8/printed')
def test_the_printed_five_rows_let_the_wheel_slide_sideways():
    model = disc(0.2, 0.1, 0.7, 8.0)
    system = model.blocks()

    def axle(q):
        x, y, z, w = q[3:7]
        return np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])

    def five_rows(q, v):
        b = system.at(q, v)
        A = np.eye(6)[[0, 1, 2, 4, 5]].copy()
        x1 = axle(q)
        # rows of A: the directions other than the axle's (eq. 4.42), instead of the lateral one
        y1 = np.cross([0.0, 0.0, 1.0], x1)
        y1 /= np.linalg.norm(y1)
        A[3, 3:], A[4, 3:] = y1, np.cross(x1, y1)
        J, gamma = A @ b.J, A @ b.gamma
        saddle = np.block([[b.M, -J.T], [J, np.zeros((5, 5))]])
        return np.linalg.solve(saddle, np.r_[-b.h, gamma])[:9]

    states = run(model, five_rows, 0.005, 400)
    for time, slip, energy in (
        (0.5, 1.04, 72.915),
        (1.0, 2.38, 72.023),
        (1.5, 3.50, 69.369),
        (2.0, 4.45, 64.201),
    ):
        q, v = states[round(time / 0.005)]
        b = system.at(q, v)
        x1 = axle(q)
        assert (b.J @ v)[3:5] @ x1[:2] / np.linalg.norm(x1[:2]) == pytest.approx(slip, abs=0.005)
        assert sum(system.energies(q, v)) == pytest.approx(energy, abs=6e-4)
    assert b.residual[5] == pytest.approx(-1.2, abs=0.05)  # the contact has sunk into the ground


def test_both_forms_have_the_same_accelerations_and_forces_in_any_state():
    rng = np.random.default_rng(5)
    for _ in range(20):
        rates = (rng.uniform(-0.6, 0.6), rng.normal(), rng.normal(), 8 * rng.normal())
        arm, short = disc(*rates), disc(*rates, form='contact')
        torque = np.r_[rng.normal(size=6), 0, 0, 0]
        one = constrained_dynamics(arm.blocks(), arm.q, arm.v, torque)
        two = constrained_dynamics(short.blocks(), short.q, short.v, torque[:6])
        assert two.acceleration == pytest.approx(one.acceleration[:6], rel=1e-9, abs=1e-9)
        # travel direction is y, the axle's horizontal is -x at zero yaw
        x, y, z = one.multipliers[3:6]
        assert two.forces['wheel_ground'] == pytest.approx([y, -x, z], rel=1e-9, abs=1e-9)


# --- cart -----------------------------------------------------------------------------------------------------------

CART = ((0.5, 0.5), (-0.5, 0.5), (0.25, 0.5))


@pytest.mark.pins('yesiloglu-2007/6.9/rank')
def test_the_two_wheels_of_a_cart_share_one_lateral_row():
    model = cart()
    system = model.blocks()
    report = analyse(system, model.q, actuated=model.actuated)
    assert (report.rows, report.rank, report.mobility, report.underactuation) == (12, 11, 3, 1)
    J = system.at(model.q).J
    squeeze = np.zeros(12)
    squeeze[3], squeeze[9] = 1.0, -1.0  # along the axle
    assert np.abs(J.T @ squeeze).max() < 1e-12


@pytest.mark.parametrize(('case', 'torques'), enumerate(CART))
def test_accelerations_and_forces_of_the_cart_agree_with_the_closed_form(case, torques):
    expected = tabulated('yesiloglu-2007/6.9/cases')
    model = cart()
    tau = forward(model, dict(zip(model.actuated, torques)))
    solution = constrained_dynamics(model.blocks(), model.q, model.v, tau)
    assert solution.acceleration[[4, 2, 0]] == pytest.approx(expected[case], abs=1e-9)
    forces = np.array([(0.0, lateral, -68.67) for lateral in expected[3 + case]])
    assert on_outside(model, solution.multipliers)[:, 3:] == pytest.approx(forces, abs=1e-8)


@pytest.mark.parametrize('torques', CART)
def test_the_cart_reaches_the_specified_state_after_two_seconds(torques):
    model = cart('contact')
    system = model.blocks()
    tau = forward(model, dict(zip(model.actuated, torques)))
    states = run(model, held(system, tau), 0.004, 500)
    q, v = states[-1]
    w = [np.linalg.norm(v[3:6]), v[1] * np.sin(pitch_of(q)) + v[2] * np.cos(pitch_of(q))]
    if torques == (0.5, 0.5):
        assert w == pytest.approx([0.625, 0.0], abs=1e-9)
        assert [q[0], q[1]] == pytest.approx([0.0, 0.625], abs=1e-8)
        assert v[0] == pytest.approx(5.0, abs=1e-8)
    elif torques == (-0.5, 0.5):
        assert w == pytest.approx([0.0, 2.777777778], abs=1e-8)
        assert np.abs(q[:2]).max() < 1e-9
    else:
        *_, position, speeds = tabulated('yesiloglu-2007/6.9/cases')
        assert w == pytest.approx(speeds, abs=1e-8)
        assert q[:2] == pytest.approx(position, abs=1e-8)
        assert w[0] / w[1] == pytest.approx(0.675, abs=1e-8)
    work = sum(
        -t * q[model.tree.position_names.index(joint)] for joint, t in zip(('left_drive', 'right_drive'), torques)
    )
    kinetic, potential = system.energies(q, v)
    assert kinetic == pytest.approx(work, abs=5e-9)
    assert potential == pytest.approx(system.energies(*states[0])[1], abs=1e-8)
    assert np.abs(system.at(q, v).J @ v).max() < 1e-8


def pitch_of(q: np.ndarray) -> float:
    """Return the pitch of the rod about its axle, rad: the axle stays level."""
    x, y, z, w = q[3:7]
    return float(np.arctan2(2 * (y * z + w * x), 1 - 2 * (x * x + y * y)))


def cart_in_a_turn() -> Model:
    """Return the cart at 0.3 m/s and 0.5 rad/s with its rod at constant pitch."""
    model = cart()
    v, yaw = 0.3, 0.5
    model.v[2], model.v[4] = yaw, v
    for name, side in (('left', -1), ('right', 1)):
        spin = -(v + side * 0.3 * yaw) / 0.2
        model.v[model.tree.velocity_index(f'{name}_drive')] = spin
        model.v[model.tree.velocity_index(f'{name}_leg')] = -spin
        model.v[model.tree.velocity_index(f'{name}_pivot')] = -yaw
    return model


def test_a_moving_cart_has_lateral_forces_and_load_transfer():
    model = cart_in_a_turn()
    system = model.blocks()
    assert np.abs(system.at(model.q, model.v).J @ model.v).max() < 1e-12
    solution = constrained_dynamics(system, model.q, model.v, forward(model, {'left_drive': 0.25, 'right_drive': 0.5}))
    a = solution.acceleration
    # components in the rod's axes turn with it: to the fixed frame by w x v
    linear = a[3:6] + np.cross(model.v[:3], model.v[3:6])
    accelerations, *forces = tabulated('yesiloglu-2007/6.9/instant')
    assert np.r_[a[:3], linear] == pytest.approx(accelerations, abs=1e-9)
    assert on_outside(model, solution.multipliers)[:, 3:] == pytest.approx(np.array(forces), abs=1e-8)


@pytest.mark.pins('yesiloglu-2007/6.9/massless')
def test_small_inertias_in_the_carts_arms_cause_proportional_errors():
    for epsilon, error in ((1e-3, 2.6e-3), (1e-5, 2.6e-5), (1e-7, 2.6e-7)):
        model = cart(helper=epsilon)
        system = model.blocks()
        tau = forward(model, {'left_drive': 0.25, 'right_drive': 0.5})
        a = constrained_dynamics(system, model.q, model.v, tau, method='pseudo_inverse').acceleration
        exact = constrained_dynamics(cart().blocks(), cart().q, cart().v, tau).acceleration
        assert np.abs(a - exact).max() == pytest.approx(error, rel=0.019)  # the printed digits


def frame_rows(model: Model) -> ConstraintBlocks:
    """Return the system with fixed instead of rolling contacts: J and dJ/dt v of the tips alone."""
    held_tips = [Loop.frame(c.name, c.tip, world_frame()) for c in model.constraints]
    return ConstraintBlocks(model.tree, held_tips, gravity=model.gravity)


@pytest.mark.pins('yesiloglu-2007/6.9/printed')
def test_the_printed_rolling_column_reverses_the_motion_and_without_bias_lateral_forces_vanish():
    model = cart()
    rolling, held_tips = model.blocks().at(model.q), frame_rows(model).at(model.q)
    column = held_tips.J - rolling.J  # the rolling terms

    def solve(b, J, gamma, tau):
        saddle = np.block([[b.M, -J.T], [J, np.zeros((12, 12))]])
        return np.linalg.lstsq(saddle, np.r_[tau - b.h, gamma], rcond=1e-12)[0]

    tau = forward(model, {'left_drive': 0.5, 'right_drive': 0.5})
    assert solve(rolling, rolling.J, rolling.gamma, tau)[4] == pytest.approx(0.3125, abs=1e-9)
    assert solve(rolling, held_tips.J + column, rolling.gamma, tau)[4] == pytest.approx(-0.3125, abs=1e-9)
    moving = cart_in_a_turn()
    tau = forward(moving, {'left_drive': 0.25, 'right_drive': 0.5})
    b = moving.blocks().at(moving.q, moving.v)
    without_bias = frame_rows(moving).at(moving.q, moving.v).gamma
    lateral = solve(b, b.J, without_bias, tau)[[14 + 3, 14 + 9]]
    assert lateral == pytest.approx([0.0, 0.0], abs=1e-9)


# --- platform -------------------------------------------------------------------------------------------------------


@pytest.mark.pins('yesiloglu-2007/6.10/ranks')
def test_the_rank_of_the_platforms_rows_depends_on_its_steering():
    steerings = [None, dict.fromkeys(CORNERS, 0.2), turning_angles(1.5)]
    steerings += [dict(zip(CORNERS, angles)) for angles in ((0.1, 0.25, -0.15, 0.3), (0.2, -0.2, 0.2, -0.2))]
    for steering, rank in zip(steerings, (21, 21, 21, 22, 22)):
        model = platform(steering=steering)
        assert model.tree.nv == 26
        assert analyse(model.blocks(), model.q).rank == rank
        short = platform('contact', steering=steering)
        assert analyse(short.blocks(), short.q).rank == rank - 12  # without the three hinges of each arm


@pytest.mark.pins('yesiloglu-2007/6.10/redundancy')
def test_three_relations_of_the_straight_platform_are_redundant_and_the_printed_third_is_not():
    model = platform()
    J = model.blocks().at(model.q).J
    x, z = [3, 9, 15, 21], [5, 11, 17, 23]

    def residual(**weights):
        combination = np.zeros(24)
        for row, weight in weights.items():
            combination[(x if row[0] == 'x' else z)[int(row[1]) - 1]] = weight
        return float(np.abs(J.T @ combination).max())

    assert residual(x1=1, x2=-1) < 1e-12
    assert residual(x3=1, x4=-1) < 1e-12
    assert residual(z1=1, z2=-1, z3=-1, z4=1) < 1e-12
    assert residual(z3=1, z4=-1) == pytest.approx(0.66, abs=1e-9)


def drive(torque: float) -> dict[str, float]:
    return {f'{corner}_drive': torque for corner in CORNERS}


@pytest.mark.parametrize('form', FORMS)
def test_driving_with_locked_steering_shifts_load_and_loads_the_locks(form):
    model = platform(form, locked=True)
    system = model.blocks()
    solution = constrained_dynamics(system, model.q, model.v, forward(model, drive(1.5)))
    acceleration, traction, loads, ends = tabulated('yesiloglu-2007/6.10/driving')
    assert solution.acceleration[4] == pytest.approx(acceleration, abs=1e-9)
    for corner, (side, end) in CORNERS.items():
        force = solution.forces[f'{corner}_ground'][-3:]
        pull = force[1] if form == 'arm' else force[0]
        assert [pull, force[2]] == pytest.approx([traction, loads[0 if end > 0 else 1]], abs=1e-8)
        assert solution.forces[f'{corner}_lock'] == pytest.approx([-0.6 * side], abs=1e-9)
    if form == 'arm':
        assert solution.rank == 25
        return
    q, v = run(model, held(system, forward(model, drive(1.5))), 0.02, 100)[-1]
    assert [v[4], q[1], v[7]] == pytest.approx(ends, abs=1e-7)


@pytest.mark.parametrize('form', FORMS)
def test_driving_with_free_steering_swings_the_legs(form):
    model = platform(form)
    solution = constrained_dynamics(model.blocks(), model.q, model.v, forward(model, drive(1.5)))
    acceleration, steering, loads = tabulated('yesiloglu-2007/6.10/free_steering')
    assert solution.acceleration[4] == pytest.approx(acceleration, abs=1e-8)
    for corner, (side, end) in CORNERS.items():
        steer = model.tree.velocity_index(f'{corner}_steer')
        assert solution.acceleration[steer] == pytest.approx(side * steering, abs=1e-8)
        load = loads[0 if end > 0 else 1]
        assert solution.forces[f'{corner}_ground'][-1] == pytest.approx(load, abs=1e-7)


def test_equal_steering_of_all_legs_does_not_move_the_body():
    tau = {f'{corner}_steer': 0.8 for corner in CORNERS}
    model = platform()
    solution = constrained_dynamics(model.blocks(), model.q, model.v, forward(model, tau))
    assert solution.acceleration[:6] == pytest.approx(np.zeros(6), abs=1e-10)
    acceleration, (pull, side, load), ends = tabulated('yesiloglu-2007/6.10/crab')
    assert solution.acceleration[6] == pytest.approx(acceleration, abs=1e-9)
    wrenches = on_outside(model, solution.multipliers)
    expected = [(pull, -side), (pull, side), (-pull, -side), (-pull, side)]
    assert wrenches[:, 3:5] == pytest.approx(np.array(expected), abs=1e-8)
    assert -wrenches[:, 5] == pytest.approx([load] * 4, abs=1e-8)
    short = platform('contact')
    system = short.blocks()
    q, v = run(short, held(system, forward(short, tau)), 0.01, 50)[-1]
    assert [q[7], v[6]] == pytest.approx(ends, abs=1e-9)
    assert np.abs(v[:6]).max() < 1e-9


def test_the_platform_drives_in_a_circle_about_the_common_point_of_its_axles():
    angles = turning_angles(1.5)
    steering, (near, far), inertia, acceleration, (turning, *spins) = tabulated('yesiloglu-2007/6.10/circle')
    assert list(angles.values()) == pytest.approx(steering, abs=1e-10)
    model = platform('contact', locked=True, steering=angles)
    system = model.blocks()
    tau = forward(model, drive(1.5))
    solution = constrained_dynamics(system, model.q, model.v, tau)
    assert solution.acceleration[2] == pytest.approx(acceleration, abs=1e-9)
    reduced = 1.5 * 2 * (near + far) / 0.15 / -acceleration
    assert reduced == pytest.approx(inertia, abs=1e-6)
    q, v = run(model, held(system, tau), 0.02, 100)[-1]
    assert v[2] == pytest.approx(turning, abs=1e-8)
    assert np.hypot(q[0] - 1.5, q[1]) == pytest.approx(1.5, abs=1e-8)
    drives = [v[model.tree.velocity_index(f'front_{side}_drive')] for side in ('left', 'right')]
    assert drives == pytest.approx(spins, abs=1e-7)


# --- errors, and moving ground ----------------------------------------------------------------------------------------


def test_an_invalid_wheel_is_rejected():
    tree = TreeBuilder()
    tree.add_free('wheel', mass=1.0, inertia=np.eye(3))
    frame = tree.build().frame('wheel')
    with pytest.raises(ValueError, match=r'front: expected a radius above zero, found -0\.1'):
        RollingWheel('front', frame, (1, 0, 0), -0.1)
    with pytest.raises(ValueError, match='front: expected a unit axle'):
        RollingWheel('front', frame, (1, 1, 0), 0.1)


def test_a_wheel_follows_a_rising_ground():
    model = disc(form='contact')
    wheel = RollingWheel('wheel_ground', model.tree.frame('wheel_centre'), (-1, 0, 0), DISC_RADIUS, 'parameters')
    system = ConstraintBlocks(model.tree, [wheel], gravity=model.gravity)
    p = {'wheel_ground/ground_height_acceleration': 2.0, 'wheel_ground/ground_height_rate': 0.3}
    model.v[5] = 0.3
    assert system.at(model.q, model.v, p).J @ model.v == pytest.approx(system.at(model.q, model.v, p).sigma)
    solution = constrained_dynamics(system, model.q, model.v, np.zeros(6), p)
    assert solution.acceleration[5] == pytest.approx(2.0, abs=1e-12)
    assert solution.forces['wheel_ground'][2] == pytest.approx(DISC_MASS * 11.81, abs=1e-9)
