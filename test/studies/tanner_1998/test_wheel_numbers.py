"""One wheel in the plane: numbers of tanner-1998, section 6.1, and statements S1 and S2."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints.wheel_rank import wheel_rank
from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.robot import AXLE, WHEELS
from dyn_nodes.studies.tanner_1998.vehicle import RADIUS, S0, rm_1
from dyn_nodes.studies.tanner_1998.wheel_kinematics import (
    E1,
    E1_SPEEDS,
    E1_TORQUES,
    FIXED,
    HEADING,
    ackermann,
    e1,
)
from dyn_nodes.studies.tanner_1998.wheels import Wheel, axle_turn, bracket_determinant, row_rank

DIGITS = 1e-9


def test_lever_arms_of_the_wheel():
    lever_arms = [E1.D, E1.E]
    assert lever_arms == pytest.approx(tabulated('tanner-1998/6.1/D'), abs=DIGITS)
    step = 1e-6
    further = Wheel(E1.x, E1.y, RADIUS, E1.steering + step)
    assert (further.D - E1.D) / step == pytest.approx(-E1.E, abs=1e-6)


@pytest.mark.pins('tanner-1998/3.1/S1')
def test_the_rate_of_turning_leaves_no_skid():
    turn = E1.turning(*E1_SPEEDS)
    assert turn == pytest.approx(tabulated('tanner-1998/6.1/turning'), abs=DIGITS)
    assert E1.lateral((*E1_SPEEDS, turn)) == pytest.approx(0.0, abs=1e-16)


@pytest.mark.pins('tanner-1998/6.1/printed-sign')
def test_the_printed_rate_of_turning_skids():
    assert E1.lateral((*E1_SPEEDS, E1.printed_turning(*E1_SPEEDS))) == pytest.approx(
        tabulated('tanner-1998/6.1/skid'), abs=DIGITS
    )
    here, _ = reference()
    left = Wheel(WHEELS[0][0], WHEELS[0][1], RADIUS, heading=S0[2])
    assert abs(left.lateral((*here.u[:2], left.printed_turning(*here.u[:2])))) == pytest.approx(0.24)


def test_spin_of_a_wheel_that_does_not_slip():
    assert E1.spin((*E1_SPEEDS, E1.turning(*E1_SPEEDS))) == pytest.approx(tabulated('tanner-1998/6.1/spin'), abs=DIGITS)
    assert E1.closed_spin(*E1_SPEEDS) == pytest.approx(tabulated('tanner-1998/6.1/spin'), abs=DIGITS)


def test_generalized_forces_of_drive_and_steering():
    assert E1.forces(*E1_TORQUES) == pytest.approx(tabulated('tanner-1998/6.1/forces'), abs=DIGITS)


def test_generalized_forces_have_the_power_of_the_torques():
    assert E1.forces(*E1_TORQUES) @ E1_SPEEDS == pytest.approx(tabulated('tanner-1998/6.1/power'), abs=DIGITS)
    assert E1.power(*E1_SPEEDS, *E1_TORQUES) == pytest.approx(tabulated('tanner-1998/6.1/power'), abs=DIGITS)


def test_generalized_forces_as_printed_have_another_power():
    printed = E1.printed_forces(*E1_TORQUES)
    forces, power = tabulated('tanner-1998/6.1/printed')
    assert [*printed, printed @ E1_SPEEDS] == pytest.approx([*forces, power], abs=DIGITS)


def test_a_vehicle_steered_to_the_left_turns_left():
    assert Wheel(0.6, 0.0, RADIUS, 0.3).turning(1.0, 0.0) == pytest.approx(
        tabulated('tanner-1998/6.1/bicycle'), abs=DIGITS
    )


def test_the_rate_of_turning_changes_by_its_derivative():
    """F11: the full product rule, against differences along a motion."""
    rates, step = (0.4, -0.7), 1e-6
    turn = E1.turning(*E1_SPEEDS)

    def later(t):
        heading = HEADING + turn * t
        wheel = Wheel(E1.x, E1.y, RADIUS, E1.slope * heading + 0.1, E1.slope, heading)
        return wheel.turning(E1_SPEEDS[0] + rates[0] * t, E1_SPEEDS[1] + rates[1] * t)

    difference = (later(step) - later(-step)) / (2 * step)
    assert E1.turning_rate(E1_SPEEDS, rates) == pytest.approx(difference, rel=1e-7)


@pytest.mark.pins('tanner-1998/6.1/RM-1')
def test_wheels_of_the_reference_robot_spin_as_they_roll():
    here, _ = reference()
    tree = rm_1().blocks.tree
    assert [here.v[tree.velocity_index(name)] for name in ('left', 'right')] == pytest.approx([2.6, 7.4])


def test_wheel_rates_give_speed_turning_and_radii():
    assert axle_turn(4.0, 6.0, RADIUS, 0.3, AXLE) == pytest.approx(
        [0.5, 1 / 3, 1.5, tabulated('tanner-1998/6.1/axle')[2][1]], abs=DIGITS
    )


def test_ranks_of_wheel_sets():
    robot = rm_1()
    wheels = ('left_ground', 'right_ground', 'castor_ground')
    assert wheel_rank(robot.blocks, robot.position(S0), robot.blocks.tree.frame('axle'), wheels) == 1
    assert row_rank(FIXED) == 2
    steered = ackermann()
    assert [wheel.steering for wheel in steered[:2]] == pytest.approx(tabulated('tanner-1998/6.1/ranks')[3], abs=DIGITS)
    assert row_rank(steered) == 2
    assert row_rank(ackermann(left=0.3, right=0.3)) == 3


@pytest.mark.pins('tanner-1998/3.1/S2')
@pytest.mark.parametrize('slope', [0.0, 0.3, -1.0])
def test_a_wheel_is_nonholonomic_unless_it_keeps_its_direction(slope):
    determinant = bracket_determinant(0.4, 0.1, lambda heading: slope * heading + 0.1, HEADING)
    D = Wheel(0.4, 0.1, RADIUS, slope * HEADING + 0.1).D
    assert determinant == pytest.approx((1 + slope) / D**2, rel=1e-9, abs=1e-12)
    assert np.linalg.matrix_rank(np.array([[determinant]]), tol=1e-9) == (0 if slope == -1.0 else 1)


def test_claims_of_the_study_hold():
    result = run_study(Study('tanner-1998/e1', '', e1))
    assert [claim.claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) == 13
