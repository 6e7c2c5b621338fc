"""The full car in motion: counts, equilibrium, and comparison with its linear models; the whole study is slow."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints import assemble, constrained_dynamics
from dyn_nodes.studies.framework import load_studies, run_study
from dyn_nodes.studies.yesiloglu_2007 import car, driven_car, driven_cars, single_track


@pytest.mark.slow
def test_every_claim_of_the_driven_car_holds():
    result = run_study(load_studies()['yesiloglu-2007/car-driven'], plot=True)
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) > 30
    assert {figure.name for figure in result.figures} == {'bump', 'lane_change'}


def test_at_rest_the_car_stands_in_equilibrium_on_its_static_loads():
    model, vehicle = driven_cars.system()
    solution = constrained_dynamics(vehicle.blocks, model.q, np.zeros(model.tree.nv), np.zeros(model.tree.nv))
    assert np.abs(solution.acceleration).max() < 1e-11
    for name in car.CORNERS:
        expected = driven_car.static_loads(name)[1] + driven_car.TREAD * car.GRAVITY
        assert solution.forces[f'{name}_ground'] == pytest.approx([expected], rel=1e-12)


def test_a_car_that_only_rolls_straight_on_keeps_its_speed_and_its_height():
    run = driven_cars.drive(20.0, 0.5, {})
    assert run.status == 'done'
    assert run.q[-1][:3] == pytest.approx([0.0, 10.0, car.COM_HEIGHT], abs=1e-9)
    assert np.abs(run.energy_balance).max() < 1e-6
    assert np.abs(run.residual).max() < 1e-12


def test_a_small_step_of_the_steering_turns_the_car_as_the_linear_model_with_roll():
    """The transient within 0.8 s: yaw rate and roll, each within 2 % of its greatest value."""
    speed = 20.0
    numbers = {'steering/angle': 0.002, 'steering/start': 0.05, 'steering/period': 0.3}
    run = driven_cars.drive(speed, 0.8, numbers, step=1e-3)
    angles = driven_cars.steering_angle(run)
    linear = single_track.with_roll(lambda t: float(np.interp(t, run.times, angles)), speed, run.times)
    _, roll = driven_cars.attitude(run)
    assert driven_cars.worst(run.v[:, 2], linear['yaw rate']) < 0.02
    assert driven_cars.worst(roll, linear['roll']) < 0.02
    assert angles[-1] == pytest.approx(0.002, abs=1e-9)


def test_softer_tyres_in_front_make_the_linear_car_understeer():
    """By half a degree per g; at walking speed it follows the direction of its wheels."""
    assert np.degrees(single_track.UNDERSTEER * 9.81) == pytest.approx(0.54, abs=0.01)
    assert single_track.yaw_gain(20.0) < 20.0 / car.WHEELBASE
    assert single_track.yaw_gain(0.1) == pytest.approx(0.1 / car.WHEELBASE, rel=1e-5)


def test_the_trapezoid_of_the_car_is_that_of_the_plane():
    """Steered slowly to 10 degrees inside, the outer wheel takes the angle of the closed form."""
    model, vehicle = driven_cars.system()
    inner = np.radians(10.0)
    mean = 0.5 * (inner + car.trapezoid(inner))
    numbers = {'steering/angle': mean, 'steering/start': -2.0, 'steering/period': 1.0}
    q = assemble(vehicle.blocks, model.q, {f'{key}': value for key, value in numbers.items()})
    names = model.tree.position_names
    left, right = (q[names.index(name)] for name in driven_car.STEERED)
    # level suspensions: the least motion that closes the rod moves them negligibly
    assert left == pytest.approx(inner, abs=1e-4)
    assert right == pytest.approx(car.trapezoid(inner), abs=1e-4)
