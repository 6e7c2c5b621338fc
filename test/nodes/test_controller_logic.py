"""The controller node, callback by callback, and its motions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_testing import JOINTS, POSTURE, Outbox, joint_state, statuses, values_of

from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import NotNeeded
from dyn_nodes.nodes.stamps import seconds_of_stamp, stamp_of

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Float64 = message('std_msgs/msg/Float64')
Duration = message('builtin_interfaces/msg/Duration')
TwistStamped = message('geometry_msgs/msg/TwistStamped')

TASK = """
name: short
duration: 0.4
segments:
  - {name: reach, start: 0.05, end: 0.15, ramp: 0.02, volts: {boom: -4.0, stick: 2.0}}
  - {name: recover, start: 0.2, end: 0.3, ramp: 0.02, volts: {boom: 3.0}, recovery: true}
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    path = tmp_path / 'short.yaml'
    path.write_text(TASK)
    return str(path)


@pytest.fixture
def make(make_node: Callable[..., Any]) -> Callable[..., Any]:
    def build(**parameters: Any) -> Any:
        node = make_node(ControllerNode, **parameters)
        node.phase_out = Outbox()
        return node

    return build


def play(node: Any, start: float, end: float, position: Any = POSTURE, step: float = 1e-3) -> None:
    for k in range(round(start / step), round(end / step)):
        node.receive('joint_states', joint_state(k * step, position))


def sent(node: Any) -> list[list[float]]:
    return [np.asarray(m.data).tolist() for m in node.commands_out.messages]


def phases(node: Any) -> list[str]:
    return [m.data for m in node.phase_out.messages]


def trajectory(goal: Any, duration: float = 1.0, stamp: float = 0.0, names: Any = JOINTS) -> Any:
    point = Point(positions=list(goal), time_from_start=Duration(sec=int(duration), nanosec=round(duration % 1 * 1e9)))
    result = JointTrajectory(joint_names=list(names), points=[point])
    result.header.stamp = stamp_of(stamp)
    return result


def command_status(node: Any) -> Any:
    return statuses(node.diagnostics.publisher.last)['commands']


class TestTask:
    def test_each_period_gets_one_command_with_the_voltage_at_its_middle(self, make: Any, task: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.1)
        expected = [
            [float(np.interp(0.01 * k + 0.005, [0.05, 0.07], [0.0, volts])) for volts in (-4.0, 2.0, 0.0)]
            for k in range(10)
        ]
        assert np.array(sent(node)) == pytest.approx(np.array(expected), abs=1e-12)

    def test_the_phase_is_published_when_it_changes(self, make: Any, task: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.5)
        assert phases(node) == ['wait', 'reach', 'hold', 'recover', 'settle', 'done']

    def test_without_recovery_nobody_pulls_back(self, make: Any, task: str) -> None:
        node = make(task=task, recovery=False)
        play(node, 0.0, 0.5)
        assert phases(node) == ['wait', 'reach', 'settle', 'done']
        assert sent(node)[15:] == [[0.0, 0.0, 0.0]] * 35

    def test_voltages_follow_the_order_of_the_parameter(self, make: Any, task: str) -> None:
        node = make(task=task, joints=['swing', 'stick_joint', 'boom'])
        play(node, 0.0, 0.1)
        assert sent(node)[-1] == pytest.approx([0.0, 2.0, -4.0])
        assert node.commands_out.last.layout.dim[0].label == 'swing,stick,boom'

    def test_a_repeated_instant_gets_no_second_command(self, make: Any, task: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.011)
        node.receive('joint_states', joint_state(0.01))
        node.receive('joint_states', joint_state(0.01))
        assert len(sent(node)) == 2

    def test_time_that_goes_back_starts_the_task_again(self, make: Any, task: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.1)
        play(node, 0.0, 0.1)
        assert sent(node)[:10] == sent(node)[10:]
        assert phases(node) == ['wait', 'reach', 'wait', 'reach']

    def test_in_realtime_the_stamps_need_not_lie_on_the_grid(self, make: Any, task: str) -> None:
        node = make(task=task, mode='realtime', partner='external')
        for stamp in (0.0003, 0.0071, 0.0132, 0.0198, 0.0207, 0.0551):
            node.receive('joint_states', joint_state(stamp))
        assert len(sent(node)) == 4

    def test_in_realtime_a_constant_stamp_is_a_timeout(self, make: Any, task: str) -> None:
        node = make(task=task, mode='realtime', partner='external')
        node.receive('joint_states', joint_state(0.01))
        node.received_at -= 100.0
        node.receive('joint_states', joint_state(0.01))
        assert node.health.states_timed_out()
        node.receive('joint_states', joint_state(0.02))
        assert not node.health.states_timed_out()

    def test_a_task_of_the_package_is_loaded_by_its_name(self, make: Any) -> None:
        assert make(task='pick_and_place_recovery').motion.profile.duration > 11.8


class TestWithoutTask:
    def test_the_spools_stay_at_neutral(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.05)
        assert sent(node) == [[0.0, 0.0, 0.0]] * 5
        assert phases(node) == ['idle']


class TestTrajectory:
    def test_it_takes_over_from_the_task_and_holds_at_the_end(self, make: Any, task: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 0.05))
        play(node, 0.1, 0.13)
        assert sent(node)[-1][0] > 1.0  # up, where the task would go down
        assert sent(node)[-1][1] == 0.0
        assert phases(node)[-1] == 'track'
        play(node, 0.13, 0.4, (0.0, 1.06, -1.83))
        assert phases(node)[-1] == 'hold'
        assert sent(node)[-1] == [0.0, 0.0, 0.0]
        play(node, 0.4, 0.45, (0.0, 0.96, -1.83))  # pushed away from the goal
        assert sent(node)[-1][0] > 0.5
        assert 'recover' not in phases(node)

    @pytest.mark.parametrize(
        ('bad', 'kind'),
        [
            (trajectory((0.0, 0.9, -1.7), names=('a', 'b', 'c')), 'unknown joint'),
            (trajectory((0.0, 0.9)), 'bad trajectory'),
            (trajectory((0.0, math.nan, -1.7)), 'bad trajectory'),
            (trajectory((0.0, 9.0, -1.7)), 'out of range'),
            (trajectory((0.0, 0.9, -1.7), -1.0), 'bad trajectory'),
        ],
    )
    def test_a_bad_one_is_rejected_and_the_motion_continues(self, make: Any, task: str, bad: Any, kind: str) -> None:
        node = make(task=task)
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', bad)
        status = command_status(node)
        assert status.level == 1
        assert values_of(status)[f'rejected: {kind}'] == '1'
        play(node, 0.1, 0.11)
        assert sent(node)[-1][0] == pytest.approx(-4.0)
        assert node.trajectories == 0

    @pytest.mark.parametrize(
        ('goal', 'duration', 'kind', 'text'),
        [
            (
                (1.5, 0.96, -1.83),
                0.0,
                'bad trajectory',
                "'swing_joint': expected the position of the joint at time 0",
            ),
            (
                (0.0, 0.96, -0.33),
                0.05,
                'out of range',
                "'stick_joint' after 0 s: expected at most 2.5, found 30",
            ),
        ],
    )
    def test_a_step_is_rejected_and_the_valves_stay_at_neutral(
        self, make: Any, goal: Any, duration: float, kind: str, text: str
    ) -> None:
        node = make()
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory(goal, duration))
        assert node.rejections.counts == {kind: 1}
        assert text in node.rejections.last
        play(node, 0.1, 0.12)
        assert sent(node)[-1] == [0.0, 0.0, 0.0]

    def test_it_needs_joint_states_to_start_from(self, make: Any) -> None:
        node = make()
        node.receive('joint_trajectory', trajectory((0.0, 0.9, -1.7)))
        assert values_of(command_status(node))['rejected: no joint_states'] == '1'

    def test_it_may_start_later(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 0.5, stamp=2.0))
        assert node.motion.tracker.trajectory.times == pytest.approx([0.0, 2.0 - 0.099 + 0.5])

    def test_a_reset_forgets_it(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83)))
        play(node, 0.0, 0.1)
        assert phases(node) == ['idle', 'track', 'idle']
        assert sent(node)[-1] == [0.0, 0.0, 0.0]


class TestJointCommand:
    def test_it_gives_positions_and_velocities_at_every_exchange_of_a_lockstep(self, make: Any) -> None:
        node = make(output='joint_command')
        play(node, 0.0, 0.1)
        assert len(node.commands_out.messages) == 100
        assert np.asarray(node.commands_out.last.position) == pytest.approx(POSTURE)
        node.receive('joint_trajectory', trajectory((0.2, 0.96, -1.83), 0.1))
        play(node, 0.1, 0.15)
        last = node.commands_out.last
        assert list(last.name) == list(JOINTS)
        assert seconds_of_stamp(last.header.stamp) == pytest.approx(0.149)
        # at rest at first, and a goal without velocity: a straight line
        assert last.position[0] == pytest.approx(0.2 * 0.5, abs=1e-9)
        assert last.velocity[0] == pytest.approx(2.0)
        play(node, 0.15, 0.3)
        assert node.commands_out.last.position[0] == pytest.approx(0.2)
        assert np.asarray(node.commands_out.last.velocity).tolist() == [0.0, 0.0, 0.0]

    def test_a_repeated_instant_gets_the_same_answer(self, make: Any) -> None:
        node = make(output='joint_command')
        play(node, 0.0, 0.002)
        node.receive('joint_states', joint_state(0.001))
        assert len(node.commands_out.messages) == 3
        assert node.commands_out.messages[-1] == node.commands_out.messages[-2]

    def test_a_task_of_voltages_does_not_go_with_it(self, make: Any, task: str) -> None:
        with pytest.raises(ParameterError, match=r"'task'.*valve_commands"):
            make(output='joint_command', task=task)

    def test_joints_are_checked(self, make: Any) -> None:
        with pytest.raises(ParameterError, match=r"'joints': expected joints of swing_joint.*found elbow"):
            make(output='joint_command', joints=['elbow'])

    def test_a_machine_without_driven_joints_needs_no_controller(self, make: Any, tmp_path: Path) -> None:
        urdf = tmp_path / 'box.urdf'
        inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        urdf.write_text(
            f'<robot name="box"><link name="a"><inertial><mass value="9"/>{inertia}</inertial></link></robot>'
        )
        with pytest.raises(NotNeeded, match=r"machine 'box' has no driven joint"):
            make(output='joint_command', machine=str(urdf), config='')


class TestAntiSway:
    def test_a_trajectory_takes_longer_and_a_held_one_does_not(self, make: Any) -> None:
        """By half a period of both modes, 1.81 and 1.51 s; joints that are held are held at once."""
        node = make(machine='log_loader_grapple', anti_sway='zv', mode='realtime', partner='external')
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83)))
        assert node.motion.tracker.trajectory.duration == pytest.approx(1.0 + 0.5 * (1.81 + 1.51), abs=0.01)
        assert node.phase == 'track'
        assert node.motion.interrupt(0.2, np.array(POSTURE)[[1, 2, 0]])
        assert node.motion.tracker.trajectory.duration == 0.0

    def test_the_periods_are_those_of_the_payload_that_hangs_now(self, make: Any) -> None:
        """An empty grapple swings more slowly; 1.87 s instead of 1.66."""
        node = make(machine='log_loader_grapple', anti_sway='zv', mode='realtime', partner='external')
        play(node, 0.0, 0.1)
        durations = []
        for payload in (0.0, 2000.0, 1e9):
            node.receive('payload', Float64(data=payload))
            node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83)))
            durations.append(node.motion.tracker.trajectory.duration)
        assert durations == pytest.approx([2.87, 2.66, 2.66], abs=0.01)
        assert node.rejections.counts == {'payload': 1}

    def test_a_machine_from_which_nothing_hangs_is_rejected(self, make: Any) -> None:
        with pytest.raises(ParameterError, match="'anti_sway': log_loader: expected passive joints that a load hangs"):
            make(anti_sway='zv')


class TestTimeouts:
    def test_a_timeout_of_joint_states_gives_neutral_commands_and_an_error(
        self, make: Any, task: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = make(task=task, mode='realtime', partner='external')
        play(node, 0.0, 0.1)
        node.check_timeouts()
        assert len(sent(node)) == 10
        now = time.monotonic()
        monkeypatch.setattr(time, 'monotonic', lambda: now + 0.25)
        node.check_timeouts()
        node.check_timeouts()
        assert sent(node)[10:] == [[0.0, 0.0, 0.0]] * 2
        status = statuses(node.diagnostics.publisher.last)['joint_states']
        assert (status.level, status.message) == (2, 'no joint_states for 0.2 s: neutral commands')
        monkeypatch.undo()
        play(node, 0.1, 0.11)
        node.check_timeouts()
        assert sent(node)[-1][0] == pytest.approx(-4.0)
        assert statuses(node.diagnostics.publisher.last)['joint_states'].level == 0

    @pytest.mark.parametrize(('back', 'phase'), [(0.101, 'track'), (0.6, 'hold')])
    def test_a_trajectory_continues_after_a_pause_of_time_but_not_after_lost_time(
        self, make: Any, monkeypatch: pytest.MonkeyPatch, back: float, phase: str
    ) -> None:
        node = make(mode='realtime', partner='external')
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 3.0))
        now = time.monotonic()
        monkeypatch.setattr(time, 'monotonic', lambda: now + 0.25)
        node.check_timeouts()
        monkeypatch.undo()
        play(node, back, back + 0.02)
        assert phases(node)[-1] == phase

    def test_after_lost_time_a_task_is_given_up_and_the_joints_are_held(
        self, make: Any, task: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = make(task=task, mode='realtime', partner='external')
        play(node, 0.0, 0.1)
        assert sent(node)[-1][0] == pytest.approx(-4.0)
        now = time.monotonic()
        monkeypatch.setattr(time, 'monotonic', lambda: now + 0.25)
        node.check_timeouts()
        monkeypatch.undo()
        count = len(sent(node))
        play(node, 0.35, 0.5)  # the recovery by the times of the task would have started before
        assert sent(node)[count:] == [[0.0, 0.0, 0.0]] * 15
        assert phases(node)[-1] == 'hold'
        play(node, 0.5, 0.55, (POSTURE[0], POSTURE[1] + 0.1, POSTURE[2]))
        assert sent(node)[-1][0] < -0.5  # back to where it was held

    def test_the_task_continues_with_simulated_time_after_a_pause_of_the_controller(
        self, make: Any, task: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Or a busy computer would end it; `use_sim_time` declares that it is one."""
        node = make(task=task, mode='realtime', use_sim_time=True)
        play(node, 0.0, 0.1)
        now = time.monotonic()
        monkeypatch.setattr(time, 'monotonic', lambda: now + LOCKSTEP_TIMEOUT + 1.0)
        node.check_timeouts()
        monkeypatch.undo()
        assert node.timed_out
        play(node, 6.0, 6.05)
        assert node.motion.plays_task

    def test_in_lockstep_a_timeout_is_reported_and_nothing_is_sent(
        self, make: Any, task: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = make(task=task)
        play(node, 0.0, 0.1)
        now = time.monotonic()
        monkeypatch.setattr(time, 'monotonic', lambda: now + LOCKSTEP_TIMEOUT + 1.0)
        node.check_timeouts()
        assert len(sent(node)) == 10
        assert statuses(node.diagnostics.publisher.last)['joint_states'].level == 2


class TestPartnerAutoInRealTime:
    """A machine is real unless a simulation is declared."""

    @staticmethod
    def wait(node: Any, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        """Let wall time pass without joint states."""
        now = node.received_at = time.monotonic()
        with monkeypatch.context() as patch:
            patch.setattr(time, 'monotonic', lambda: now + seconds)
            node.check_timeouts()

    @pytest.fixture
    def tracking(self, make: Any) -> Any:
        def build(**parameters: Any) -> Any:
            node = make(mode='realtime', **parameters)
            play(node, 0.0, 0.1)
            node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 10.0))
            play(node, 0.1, 0.12)
            return node

        return build

    def test_of_a_real_machine_lost_joint_states_lead_to_neutral_and_a_trajectory_is_given_up(
        self, tracking: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = tracking()
        self.wait(node, monkeypatch, 4.0)
        assert sent(node)[-1] == [0.0, 0.0, 0.0]
        assert statuses(node.diagnostics.publisher.last)['joint_states'].message.endswith('0.2 s: neutral commands')
        play(node, 4.12, 4.16)
        assert phases(node)[-1] == 'hold'
        assert sent(node)[-1] == [0.0, 0.0, 0.0]

    @pytest.mark.parametrize('parameters', [{'use_sim_time': True}, {'partner': 'lockstep'}])
    def test_a_paused_simulation_continues_where_it_was(
        self, tracking: Any, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]
    ) -> None:
        node = tracking(**parameters)
        count = len(sent(node))
        self.wait(node, monkeypatch, 4.0)
        assert len(sent(node)) == count
        play(node, 0.12, 0.16)
        assert phases(node)[-1] == 'track'

    def test_of_a_real_machine_stamps_that_jump_are_no_part_of_a_trajectory(self, tracking: Any) -> None:
        node = tracking()
        play(node, 4.12, 4.16)
        assert phases(node)[-1] == 'hold'

    @pytest.mark.parametrize(('simulated', 'phase'), [(False, 'hold'), (True, 'idle')])
    def test_only_a_simulation_is_reset_by_stamps_that_go_back(
        self, tracking: Any, simulated: bool, phase: str
    ) -> None:
        node = tracking(command_timeout=0.05, use_sim_time=simulated)
        play(node, 0.0, 0.02)
        assert phases(node)[-1] == phase

    @pytest.mark.parametrize('simulated', [False, True])
    def test_a_clock_in_the_graph_declares_no_simulation_and_is_a_warning(
        self, make: Any, tester: Any, simulated: bool
    ) -> None:
        node = make(mode='realtime', use_sim_time=simulated)
        tester.speak('rosgraph_msgs/msg/Clock', '/clock')
        tester.until(lambda: node.count_publishers('/clock'))
        node.check_timeouts()
        node.neighbours.check()
        assert node.live != simulated
        health = node.neighbours.health()
        assert (health is None) == simulated
        if health is not None:
            assert health.level == 1
            assert health.text.startswith('/clock is published, and time counts as real: ')

    def test_an_external_partner_is_no_simulation(self, tracking: Any) -> None:
        assert tracking(partner='external', use_sim_time=True).live


class TestStampsThatGoBack:
    """In real time they are of messages that were overtaken or of a clock that was set, and of no simulation."""

    @pytest.fixture
    def real(self, make: Any) -> Any:
        return lambda **parameters: make(mode='realtime', partner='external', **parameters)

    def test_joint_states_that_were_overtaken_are_rejected_and_the_trajectory_continues(
        self, real: Any, task: str
    ) -> None:
        node = real(task=task)
        play(node, 0.0, 0.1)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 3.0))
        play(node, 0.1, 0.12)
        count, before = len(sent(node)), node.motion.tracker.trajectory
        node.receive('joint_states', joint_state(0.118, (0.0, 0.5, -1.83)))
        assert node.state_rejections.counts == {'out of order': 1}
        assert 'found one 0.001 s before the last' in node.state_rejections.last
        assert (len(sent(node)), node.time) == (count, pytest.approx(0.119))
        play(node, 0.12, 0.14)
        assert phases(node)[-1] == 'track'
        assert node.motion.tracker.trajectory is before

    def test_joint_states_that_were_overtaken_are_no_sign_of_life(self, real: Any) -> None:
        node = real()
        play(node, 0.0, 0.1)
        node.received_at -= 100.0
        node.receive('joint_states', joint_state(0.098))
        assert node.health.states_timed_out()

    def test_a_clock_that_is_set_back_neither_starts_the_task_again_nor_returns_to_it(
        self, real: Any, task: str
    ) -> None:
        node = real(task=task)
        play(node, 0.0, 0.4)
        node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 3.0))
        play(node, 0.4, 0.5)
        play(node, 0.0, 0.3)
        assert phases(node)[-2:] == ['track', 'hold']
        assert sent(node)[-1] == [0.0, 0.0, 0.0]

    def test_a_clock_that_is_set_back_ends_the_task(self, real: Any, task: str) -> None:
        node = real(task=task)
        play(node, 0.0, 0.4)
        play(node, 0.1, 0.3)
        assert phases(node)[-1] == 'hold'
        assert sent(node)[-20:] == [[0.0, 0.0, 0.0]] * 20

    def test_a_clock_that_is_set_back_leaves_valves_at_neutral_where_nothing_moved(self, real: Any) -> None:
        node = real()
        play(node, 1.0, 1.1)
        play(node, 0.0, 0.1, (0.0, 0.9, -1.83))
        assert phases(node) == ['idle']
        assert sent(node)[-1] == [0.0, 0.0, 0.0]


class TestRejections:
    def test_a_braked_base_rejects_cmd_vel(self, make: Any) -> None:
        node = make()
        node.receive('cmd_vel', TwistStamped())
        status = command_status(node)
        assert status.level == 1
        assert 'no driven base' in status.message

    def test_bad_joint_states_are_not_used(self, make: Any, task: str) -> None:
        node = make(task=task)
        node.receive('joint_states', joint_state(0.0, (0.0, math.nan, 0.0)))
        assert sent(node) == []
        assert statuses(node.diagnostics.publisher.last)['joint_states'].level == 1
        play(node, 0.0, 0.001)
        assert len(sent(node)) == 1

    @pytest.mark.parametrize(
        ('parameters', 'text'),
        [
            ({'task': 'no_such_task'}, "parameter 'task': .*no_such_task"),
            ({'task': '/no/such/file.yaml'}, 'file.yaml'),
            ({'joints': ['boom'], 'task': 'pick_and_place_recovery'}, 'stick'),
            ({'machine': 'no_such_machine'}, "'machine'.*no_such_machine"),
            ({'machine': ''}, "'machine'.*found nothing"),
            ({'output': 'torque'}, "'output': expected one of valve_commands, joint_command; found 'torque'"),
            ({'mode': 'fast'}, "'mode': expected one of realtime, lockstep; found 'fast'"),
        ],
    )
    def test_bad_parameters_are_rejected_at_the_start(self, make: Any, parameters: dict[str, Any], text: str) -> None:
        with pytest.raises(ValueError, match=text):
            make(**parameters)


class TestGains:
    def test_they_are_set_for_each_joint_while_it_runs(self, make: Any) -> None:
        node = make()
        results = node.set_parameters(
            [
                Parameter('gains.boom_joint.p', value=3.0),
                Parameter('gains.stick_joint.ff_velocity_scale', value=0.5),
                Parameter('dead_band', value=0.01),
                Parameter('gains.boom_joint.i', value=1000.0),
            ]
        )
        assert [result.successful for result in results] == [True, True, True, False]
        boom, stick, swing = node.motion.tracker.gains
        assert (boom.position, stick.position, swing.position) == (3.0, 1.5, 1.5)
        assert (boom.feedforward, stick.feedforward) == (1.0, 0.5)
        assert (boom.dead_band, swing.dead_band) == (0.01, 0.01)
        assert boom.integral == 0.4

    def test_a_larger_gain_commands_more(self, make: Any) -> None:
        volts = []
        for gain in (0.5, 3.0):
            node = make()
            node.set_parameters([Parameter('gains.boom_joint.p', value=gain)])
            play(node, 0.0, 0.1)
            node.receive('joint_trajectory', trajectory((0.0, 1.06, -1.83), 0.05))
            play(node, 0.1, 0.2)
            volts.append(sent(node)[-1][0])
        assert volts[1] > volts[0] > 0.0
