"""The car: reduced vertical model against the quarter-car and ride models, and its steering (yesiloglu-2007, 6.11)."""

from __future__ import annotations

import numpy as np
import pytest
from runge_kutta import runge_kutta
from scipy.linalg import expm

from dyn_nodes.constraints import analyse, constrained_dynamics
from dyn_nodes.simulation import Settings, System
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007.car import (
    CORNERS,
    GRAVITY,
    STATIC_LOAD,
    ackermann,
    bump,
    quarter_car,
    reduced_car,
    ride,
    trapezoid,
)
from dyn_nodes.studies.yesiloglu_2007.models import Model

FRONT = ('front_left', 'front_right')


def run(model: Model, step: float, seconds: float, stride: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Return time, q and v at every `stride`-th Runge-Kutta step, without the first state."""
    system, tau = model.blocks(), np.zeros(model.tree.nv)

    def acceleration(t, q, v):
        return constrained_dynamics(system, q, v, tau, {'time': t}, method='reduced').acceleration

    states = runge_kutta(system, model.q, model.v, acceleration, step, round(seconds / step))
    return [state for k, state in enumerate(states) if k and k % stride == 0]


def test_the_car_is_at_rest_on_equal_loads():
    model = reduced_car()
    solution = constrained_dynamics(model.blocks(), model.q, model.v, np.zeros(model.tree.nv))
    assert np.abs(solution.acceleration).max() < 8e-12
    loads = [solution.forces[f'{corner}_ground'][5] for corner in CORNERS]
    assert loads == pytest.approx([tabulated('yesiloglu-2007/6.11/static')] * 4, abs=1e-8)
    assert pytest.approx(tabulated('yesiloglu-2007/6.11/static')) == STATIC_LOAD


@pytest.mark.pins('yesiloglu-2007/6.11/quarter_car')
def test_the_quarter_car_has_the_modes_of_the_specification():
    values = np.linalg.eigvals(quarter_car())
    slow, fast = sorted((value for value in values if value.imag > 0), key=abs)
    assert slow == pytest.approx(-2.017881925 + 8.481844644j, abs=1e-8)
    assert fast == pytest.approx(-24.76783236 + 75.173817846j, abs=1e-7)
    assert abs(slow) / (2 * np.pi) == pytest.approx(1.38760418, abs=1e-8)
    assert -slow.real / abs(slow) == pytest.approx(0.23145, abs=1e-5)
    assert [abs(fast) / (2 * np.pi), -fast.real / abs(fast)] == pytest.approx([12.59693871, 0.31293], abs=1e-5)


@pytest.mark.pins('yesiloglu-2007/6.11/heave')
def test_the_body_released_below_its_height_heaves_like_the_quarter_car():
    model = reduced_car(drop=0.03)
    system = model.blocks()
    states = {round(t, 6): (q, v) for t, q, v in run(model, 0.002, 1.0, 25)}
    rows = {0.1: (-0.0216653939, 3559.673), 0.25: (0.0047567965, 2995.598), 0.5: (0.0078798307, 3210.653)}
    rows[1.0] = (0.0013574497, 3217.271)
    for time, (height, load) in rows.items():
        q, v = states[time]
        exact = expm(quarter_car() * time) @ [-0.03, 0, 0, 0]
        assert q[2] - 0.55 == pytest.approx(height, abs=3e-10)
        assert q[2] - 0.55 == pytest.approx(exact[0], abs=1e-8)
        solution = constrained_dynamics(system, q, v, np.zeros(30))
        assert solution.forces['front_left_ground'][5] == pytest.approx(load, abs=1e-3)


@pytest.mark.pins('yesiloglu-2007/6.11/front_bump')
def test_a_bump_under_the_front_axle_moves_the_car_like_the_ride_model():
    model = reduced_car(dict.fromkeys(FRONT, bump))
    states = {round(t, 6): q for t, q, _ in run(model, 0.002, 1.0, 25)}
    times = np.array([0.1, 0.15, 0.2, 0.3, 0.5, 1.0])
    linear = ride(FRONT, np.r_[0.0, times])
    heave = [states[t][2] - 0.55 for t in times]
    pitch = [2 * np.arcsin(states[t][3]) for t in times]
    assert heave == pytest.approx([0.0015244, 0.0046588, 0.0053455, 0.0037894, -0.0019712, 0.0010751], abs=1e-7)
    assert pitch == pytest.approx([0.0013029, 0.0039298, 0.0043725, 0.0027681, -0.0017563, 0.0006000], abs=1e-7)
    expected = [0.001524445, 0.004659026, 0.005346096, 0.003790391, -0.001971467, 0.001075268]
    assert linear['heave'][1:] == pytest.approx(expected, abs=1e-9)
    expected = [0.001308719, 0.003940424, 0.004361744, 0.002684694, -0.001810644, 0.000541621]
    assert linear['pitch'][1:] == pytest.approx(expected, abs=1e-9)
    assert heave == pytest.approx(linear['heave'][1:], abs=1e-5)
    assert pitch[:3] == pytest.approx(linear['pitch'][1:4], rel=0.02)


@pytest.mark.pins('yesiloglu-2007/6.11/one_wheel_bump')
def test_a_bump_under_one_wheel_rolls_the_car_with_lateral_tyre_compliance():
    model = reduced_car({'front_left': bump}, lateral=True)
    states = {round(t, 6): q for t, q, _ in run(model, 0.001, 0.15, 50)}
    times = np.array([0.1, 0.15, 0.2, 0.3])
    linear = ride(('front_left',), np.r_[0.0, times])
    assert linear['roll'][1:] == pytest.approx([0.001629994, 0.004597043, 0.004309544, 0.00110992], abs=1e-9)
    assert [states[t][2] - 0.55 for t in times[:2]] == pytest.approx(linear['heave'][1:3], abs=1e-5)
    roll = np.array([2 * np.arcsin(states[t][4]) for t in times[:2]])
    # the ride model rolls about the centre of mass; with tyres on the ground the body rolls about them, more slowly
    assert np.all((roll > 0.5 * linear['roll'][1:3]) & (roll < linear['roll'][1:3]))


@pytest.mark.pins('yesiloglu-2007/6.11/one_wheel_bump')
@pytest.mark.slow
def test_rigid_lateral_contacts_lock_the_roll_and_raise_the_rank():
    model = reduced_car({'front_left': bump})
    system = model.blocks()
    assert analyse(system, model.q).rank == 22
    states = {round(t, 6): (q, v) for t, q, v in run(model, 0.002, 0.15, 25)}
    linear = ride(('front_left',), np.array([0.0, 0.1, 0.15]))
    for time, bound, heave in ((0.1, 4e-7, linear['heave'][1]), (0.15, 2.9e-6, linear['heave'][2])):
        q, _ = states[time]
        assert abs(2 * np.arcsin(q[4])) <= bound
        assert q[2] - 0.55 == pytest.approx(heave, abs=1e-6)
        # one wheel is higher: the lateral rows of its axle are no longer dependent
        assert analyse(system, q).rank == 23
    compilable = System.of_blocks('car_on_one_bump', system)
    compiled = compilable.run(
        compilable.state(model.q, model.v), np.linspace(0.0, 0.1, 11), settings=Settings(step=5e-3)
    )
    assert compiled.status == 'rank changed'
    assert 'from 22 to 23' in compiled.detail


@pytest.mark.parametrize(
    ('inner', 'outer', 'ideal', 'radius'),
    [(inner, *row) for inner, row in zip((5, 10, 20, 30, 40), tabulated('yesiloglu-2007/6.11/trapezoid'))],
)
def test_the_trapezoid_steers_within_two_degrees_of_ackermann(inner, outer, ideal, radius):
    angle = np.radians(inner)
    assert np.degrees(trapezoid(angle)) == pytest.approx(outer, abs=1e-6)
    assert np.degrees(ackermann(angle)) == pytest.approx(ideal, abs=1e-6)
    assert abs(trapezoid(angle) - ackermann(angle)) < np.radians(2)
    assert 2.6 / np.tan(angle) + 0.7 == pytest.approx(radius, abs=5e-5)


def test_straight_wheels_stay_straight_and_an_open_trapezoid_is_rejected():
    assert trapezoid(0.0) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match='does not close at -100 degrees'):
        trapezoid(np.radians(-100))


def test_the_load_on_the_wheels_is_weight_and_inertia_of_the_heaving_car():
    model = reduced_car(drop=0.03)
    system = model.blocks()
    solution = constrained_dynamics(system, model.q, model.v, np.zeros(30))
    load = sum(solution.forces[f'{corner}_ground'][5] for corner in CORNERS)
    wheels = sum(solution.acceleration[model.tree.velocity_index(f'{c}_suspension')] for c in CORNERS)
    body = solution.acceleration[5]
    assert load == pytest.approx(4 * STATIC_LOAD + 1200 * body + 35 * (4 * body + wheels), rel=1e-12)
    assert body == pytest.approx(4 * 25e3 * 0.03 / 1200, rel=1e-9)
    assert pytest.approx(9.81) == GRAVITY
