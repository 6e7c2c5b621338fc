"""Reading joint states, periods, the order of valves, trajectories from messages: no node needed."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_testing import JOINTS, joint_state

from dyn_nodes.middleware import message
from dyn_nodes.nodes.commands import RejectedError, voltages
from dyn_nodes.nodes.exchange import LOCKSTEP_NOTICE, Every, announce_partner, valve_order
from dyn_nodes.nodes.joint_state_reader import JointStateReader
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.trajectory_messages import trajectory_of

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Duration = message('builtin_interfaces/msg/Duration')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
BY_ACTUATOR = ('boom_joint', 'stick_joint', 'swing_joint')
MACHINE = machine_of('log_loader', '')


def test_joints_are_found_by_name_in_any_order_and_others_passed_over() -> None:
    reader = JointStateReader(BY_ACTUATOR)
    names = ('grapple', 'stick_joint', 'boom_joint', 'swing_joint')
    positions, velocities = reader.read(joint_state(0.0, (9, 1, 2, 3), (9, 4, 5, 6), (9, 7, 8, 9), names))
    assert positions.tolist() == [2, 1, 3]
    assert velocities.tolist() == [5, 4, 6]
    assert reader.efforts(joint_state(0.0, (9, 1, 2, 3), (9, 4, 5, 6), (9, 7, 8, 9), names)).tolist() == [8, 7, 9]  # type: ignore[union-attr]


def test_an_order_that_changes_is_learnt_anew() -> None:
    reader = JointStateReader(BY_ACTUATOR)
    assert reader.read(joint_state(0.0, (1, 2, 3)))[0].tolist() == [2, 3, 1]
    assert reader.read(joint_state(0.0, (1, 2, 3), names=BY_ACTUATOR))[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ('kind', 'text', 'changes'),
    [
        ('missing joint', 'stick_joint', {'names': ('swing_joint', 'boom_joint', 'grapple')}),
        ('missing joint', 'found none', {'names': (), 'position': (), 'velocity': ()}),
        ('wrong size', 'expected 3 values of position, found 2', {'position': (1, 2)}),
        ('wrong size', 'expected 3 values of velocity, found 0', {'velocity': ()}),
        ('wrong size', 'named twice', {'names': ('boom_joint', 'boom_joint', 'swing_joint')}),
        ('not finite', "position of 'boom_joint'", {'position': (0, math.nan, 0)}),
        ('not finite', "velocity of 'stick_joint'", {'velocity': (0, 0, -math.inf)}),
    ],
)
def test_bad_joint_states_are_rejected_by_kind_and_place(kind: str, text: str, changes: dict[str, Any]) -> None:
    reader = JointStateReader(BY_ACTUATOR)
    with pytest.raises(RejectedError, match=text) as error:
        reader.read(joint_state(0.0, **changes))
    assert error.value.kind == kind
    assert reader.read(joint_state(0.0, (1, 2, 3)))[0].tolist() == [2, 3, 1]


def test_huge_but_finite_numbers_are_not_mistaken_for_infinite_ones() -> None:
    positions, _ = JointStateReader(BY_ACTUATOR).read(joint_state(0.0, (1.7e308, 1.7e308, 1.7e308)))
    assert positions.tolist() == [1.7e308] * 3


def test_efforts_may_be_absent_but_not_half_there() -> None:
    reader = JointStateReader(BY_ACTUATOR)
    reader.read(joint_state(0.0))
    assert reader.efforts(joint_state(0.0, effort=())) is None
    with pytest.raises(RejectedError, match='expected 3 values of effort, found 1'):
        reader.efforts(joint_state(0.0, effort=(1.0,)))
    with pytest.raises(RejectedError, match="effort of 'boom_joint'"):
        reader.efforts(joint_state(0.0, effort=(1.0, math.nan, 0.0)))


def test_a_period_that_is_no_whole_number_of_nanoseconds_keeps_its_grid() -> None:
    every = Every('command_period', 0.01, 0.01 / 3.0, exact=True)
    hits = [k for k in range(30) if every.at(round(k * 1e9 * 0.01 / 3.0))]
    assert hits == list(range(0, 30, 3))


def test_lockstep_needs_periods_that_fit() -> None:
    with pytest.raises(ParameterError, match=r"'command_period'.*multiple of the exchange period of 0\.003 s.*0\.01"):
        Every('command_period', 0.01, 0.003, exact=True)
    assert Every('command_period', 0.01, 0.003, exact=False).ticks == 3


def test_free_times_pass_each_multiple_once() -> None:
    every = Every('report_period', 0.02, 0.001, exact=False)
    times = [0, 7, 14, 21, 28, 35, 42, 90, 3]  # ms
    assert [every.passed(t * 1_000_000) for t in times] == [
        True, False, False, True, False, False, True, True, True,
    ]  # fmt: skip


def test_valves_are_named_by_actuator_or_joint_in_any_order() -> None:
    assert valve_order(MACHINE, ['']) == [0, 1, 2]
    assert valve_order(MACHINE, ['swing_joint', 'boom']) == [2, 0]


@pytest.mark.parametrize(
    ('names', 'text'),
    [
        (['bom'], "'bom' \\(did you mean 'boom'"),
        (['boom', 'boom_joint'], "each actuator once, found 'boom_joint' again"),
    ],
)
def test_a_wrong_order_of_valves_is_rejected(names: list[str], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        valve_order(MACHINE, names)


def test_messages_of_voltages_name_their_bound() -> None:
    with pytest.raises(RejectedError, match='expected at most 16, found -17'):
        voltages(Float64MultiArray(data=[0.0, -17.0]), ['boom', 'stick'], np.full(2, 8.0))


def trajectory(points: Any = ((1.0, (0.1, 0.9, -1.7)),), names: Any = JOINTS, stamp: float = 0.0, **rates: Any) -> Any:
    result = JointTrajectory(joint_names=list(names))
    result.header.stamp = stamp_of(stamp)
    for time, positions in points:
        point = Point(positions=list(positions), **rates)
        point.time_from_start = Duration(sec=int(time // 1), nanosec=round(time % 1 * 1e9))
        result.points.append(point)
    return result


def test_a_trajectory_counts_from_now_or_from_its_stamp() -> None:
    assert trajectory_of(trajectory(), JOINTS, MACHINE, 5.0).times.tolist() == [1.0]
    assert trajectory_of(trajectory(stamp=5.5), JOINTS, MACHINE, 5.0).times == pytest.approx([1.5])


def test_points_in_the_past_are_left_out() -> None:
    points = ((1.0, (0.1, 0.9, -1.7)), (3.0, (0.2, 0.8, -1.6)))
    late = trajectory_of(trajectory(points, stamp=3.0), JOINTS, MACHINE, 5.0)
    assert late.times == pytest.approx([1.0])
    assert late.positions.tolist() == [[0.2, 0.8, -1.6]]


@pytest.mark.parametrize(
    ('kind', 'text', 'changes'),
    [
        ('unknown joint', "unknown joint 'elbow'", {'names': ('swing_joint', 'boom_joint', 'elbow')}),
        ('missing joint', 'stick_joint not found', {'names': JOINTS[:2], 'points': ((1.0, (0.0, 0.9)),)}),
        ('bad trajectory', 'each once', {'names': (*JOINTS, 'boom_joint')}),
        ('bad trajectory', r'points\[0\].positions: expected 3 numbers, found 2', {'points': ((1.0, (0.0, 0.9)),)}),
        ('bad trajectory', r'points\[0\].positions: expected 3 numbers, found none', {'points': ((1.0, ()),)}),
        ('bad trajectory', 'expected finite numbers', {'points': ((1.0, (0.0, math.nan, -1.7)),)}),
        ('bad trajectory', 'at least one, found none', {'points': ()}),
        (
            'bad trajectory',
            r'points\[1\].time_from_start: .*after the point before',
            {'points': ((1.0, (0.0, 0.9, -1.7)), (1.0, (0.0, 0.8, -1.7)))},
        ),
        ('bad trajectory', 'expected zero at the last point', {'velocities': [0.1, 0.0, 0.0]}),
        (
            'out of range',
            r"points\[0\].positions of 'boom_joint': expected .* found 3",
            {'points': ((1.0, (0, 3, 0)),)},
        ),
        ('bad stamp', '1.000 s in the past', {'stamp': 3.0}),
        ('bad stamp', 'at most 60 s ahead', {'stamp': 1.7e9}),
    ],
)
def test_bad_trajectories_are_rejected_by_kind_and_place(kind: str, text: str, changes: dict[str, Any]) -> None:
    with pytest.raises(RejectedError, match=text) as error:
        trajectory_of(trajectory(**changes), JOINTS, MACHINE, 5.0)
    assert error.value.kind == kind


REST = np.zeros(3)


def test_a_point_at_time_0_is_where_the_joints_are_but_for_their_lag() -> None:
    points = ((0.0, (0.04, 0.9, -1.7)), (2.0, (0.1, 0.9, -1.7)))
    start = (np.array([0.0, 0.9, -1.7]), REST)
    assert trajectory_of(trajectory(points), JOINTS, MACHINE, 5.0, start).times[0] == 0.0
    turned = (np.array([-1.7, 0.9, 0.02]), REST)  # of other joints
    assert trajectory_of(trajectory(points), JOINTS[::-1], MACHINE, 5.0, turned).times[0] == 0.0
    with pytest.raises(RejectedError, match=r"points\[0\].*'swing_joint'.* at time 0, -0.02, found 0.04"):
        trajectory_of(trajectory(points), JOINTS, MACHINE, 5.0, (np.array([-0.02, 0.9, -1.7]), REST))


@pytest.mark.parametrize(
    ('points', 'rates', 'text'),
    [
        (((1.0, (2.7, 0.9, -1.7)),), {}, "'swing_joint' after 0 s: expected at most 2.5, found 2.7"),
        (((1.0, (2.0, 0.9, -1.7)),), {'velocities': [0.0] * 3}, 'found 3'),
        (((1.0, (1.5, 0.9, -1.7)),), {'velocities': [0.0] * 3, 'accelerations': [0.0] * 3}, 'found 2.81'),
        (
            ((1.0, (0.0, 0.9, -1.7)), (1.1, (0.0, 0.7, -1.7))),
            {},
            "'boom_joint' after 1 s: expected at most 1.5, found 2",
        ),
        (((0.0, (0.0, 0.9, -1.7)), (0.001, (0.04, 0.9, -1.7))), {}, 'found 40'),
    ],
)
def test_a_trajectory_that_is_faster_than_a_joint_anywhere_is_rejected(points: Any, rates: Any, text: str) -> None:
    with pytest.raises(RejectedError, match=text) as error:
        trajectory_of(trajectory(points, **rates), JOINTS, MACHINE, 5.0, (np.array([0.0, 0.9, -1.7]), REST))
    assert error.value.kind == 'out of range'


def test_the_way_to_the_first_point_may_make_up_for_lag_and_start_with_the_speed_that_is_there() -> None:
    points = ((0.01, (0.04, 0.9, -1.7)), (1.0, (2.0, 0.9, -1.7)))
    start = (np.array([0.0, 0.9, -1.7]), np.array([2.7, 0.0, 0.0]))
    assert len(trajectory_of(trajectory(points), JOINTS, MACHINE, 5.0, start).times) == 2
    stop = trajectory(((1.0, (1.0, 0.9, -1.7)),), velocities=[0.0] * 3)
    assert len(trajectory_of(stop, JOINTS, MACHINE, 5.0, start).times) == 1


@pytest.mark.parametrize(
    ('mode', 'partner', 'lines'),
    [
        ('realtime', 'auto', [LOCKSTEP_NOTICE]),
        ('realtime', 'external', []),
        ('lockstep', 'auto', []),
    ],
)
def test_in_real_time_a_node_logs_that_it_assumes_a_simulation(mode: str, partner: str, lines: list[str]) -> None:
    logged: list[str] = []
    node = SimpleNamespace(
        values={'mode': mode, 'partner': partner}, get_logger=lambda: SimpleNamespace(info=logged.append)
    )
    announce_partner(node)
    assert logged == lines
