"""Both nodes as processes, against a small stand-in for the dynamics: joints on a prescribed motion."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from node_testing import EFFORTS, JOINTS, POSTURE, NodeProcess, Tester, endings, joint_state, statuses, values_of
from timeouts import scaled_timeout

from dyn_nodes.middleware import message, service
from dyn_nodes.nodes.exchange import command_qos, data_qos
from dyn_nodes.nodes.stamps import nanoseconds_of, nanoseconds_of_stamp

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Duration = message('builtin_interfaces/msg/Duration')
Trigger = service('std_srvs/srv/Trigger')


def moving(time: float) -> Any:
    """Joint states of a slow wave."""
    rate, amplitude = 2.0 * math.pi, 0.02
    position = [q + amplitude * (1.0 - math.cos(rate * time)) for q in POSTURE]
    return joint_state(time, position, [amplitude * rate * math.sin(rate * time)] * 3)


class FakeDynamics:
    """Publishes joint states and waits for their efforts, as the dynamics does in lockstep."""

    def __init__(self, tester: Tester, lockstep: bool = True, efforts: bool = True, nodes: int = 1) -> None:
        self.tester, self.nodes = tester, nodes
        self.states = tester.speak('sensor_msgs/msg/JointState', 'joint_states', data_qos(lockstep))
        self.health = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
        self.replies: list[Any] = []
        if efforts:
            self.replies = tester.listen('sensor_msgs/msg/JointState', 'joint_command', command_qos(lockstep))

    def wait_for_listeners(self) -> None:
        """A first start compiles: be patient."""
        self.tester.until(lambda: self.states.get_subscription_count() == self.nodes, 120.0)

    def exchange(self, state: Any) -> Any:
        """Publish joint states; return the reply of their stamp."""
        count = len(self.replies)
        self.states.publish(state)
        self.tester.until(lambda: len(self.replies) > count)
        assert len(self.replies) == count + 1
        assert self.replies[-1].header.stamp == state.header.stamp
        return self.replies[-1]

    def status(self, subject: str, level: int) -> Any:
        """Wait until a status has a level; return it."""

        def is_reported() -> bool:
            return any(
                statuses(a).get(subject) is not None and statuses(a)[subject].level == level for a in self.health
            )

        self.tester.until(is_reported)
        return [
            statuses(a)[subject] for a in self.health if subject in statuses(a) and statuses(a)[subject].level == level
        ][-1]


def volts(*values: float) -> Any:
    return Float64MultiArray(data=list(values))


def log_loader(**parameters: Any) -> dict[str, Any]:
    return {'machine': 'log_loader', 'mode': 'lockstep', **parameters}


class TestHydraulicActuatorNode:
    def test_a_lockstep_conversation(self, tester: Tester, start_node: Callable[..., NodeProcess]) -> None:
        valves = tester.speak('std_msgs/msg/Float64MultiArray', 'valve_commands', command_qos(True))
        pressures = tester.listen('sensor_msgs/msg/FluidPressure', 'hydraulics/boom/head_pressure', data_qos(True))
        dynamics = FakeDynamics(tester)
        valves.publish(volts(-3.0, 2.0, 1.0))  # before anybody listens: it is latched
        process = start_node('hydraulic_actuator_node', **log_loader())
        dynamics.wait_for_listeners()

        def run() -> list[bytes]:
            replies = []
            for k in range(100):
                if k % 10 == 0 and k:
                    valves.publish(volts(-3.0, 2.0, 1.0))
                replies.append(np.asarray(dynamics.exchange(moving(k * 1e-3)).effort).tobytes())
            return replies

        first = run()
        assert np.frombuffer(first[0]) == pytest.approx(EFFORTS, rel=1e-3, abs=1.0)
        assert len(set(first)) == 100
        assert dynamics.exchange(moving(0.099)) == dynamics.replies[-2]  # the same instant, the same answer

        # No answer to what cannot be used.
        count = len(dynamics.replies)
        dynamics.states.publish(joint_state(0.1, (0.0, math.nan, 0.0)))
        dynamics.states.publish(joint_state(0.1, names=('a', 'b', 'c')))
        valves.publish(volts(1.0))
        valves.publish(volts(1.0, math.inf, 0.0))
        dynamics.states.publish(moving(0.1))
        tester.for_seconds(0.3)
        assert len(dynamics.replies) == count
        status = dynamics.status('valve_commands', 1)
        assert {'rejected: wrong size', 'rejected: not finite'} & set(values_of(status))
        assert dynamics.status('joint_states', 1).message.startswith('rejected: joint_states: ')
        valves.publish(volts(0.0, 0.0, 0.0))
        tester.until(lambda: len(dynamics.replies) > count)

        # Time goes back: the very same answers again.
        valves.publish(volts(-3.0, 2.0, 1.0))
        assert run() == first
        tester.until(lambda: len(pressures) >= 11)
        stamps = [nanoseconds_of_stamp(m.header.stamp) for m in pressures]
        assert stamps == [nanoseconds_of(0.02 * k) for k in (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4)]
        assert all(1e5 < m.fluid_pressure < 3.6e7 for m in pressures)
        assert process.stop(signal.SIGINT)[0] == 0

    def test_realtime_timeout_neutral_recovery_and_reset(
        self, tester: Tester, start_node: Callable[..., NodeProcess]
    ) -> None:
        valves = tester.speak('std_msgs/msg/Float64MultiArray', 'valve_commands', 10)
        spool = tester.listen('std_msgs/msg/Float64', 'hydraulics/boom/spool')
        dynamics = FakeDynamics(tester, lockstep=False)
        process = start_node('hydraulic_actuator_node', **log_loader(mode='realtime', partner='external'))
        dynamics.wait_for_listeners()
        clock = [0]

        def go_until(condition: Callable[[], bool], command: Any = None) -> None:
            deadline = time.monotonic() + scaled_timeout(20.0)
            while not condition():
                assert time.monotonic() < deadline, 'it did not happen in time'
                dynamics.states.publish(joint_state(0.02 * clock[0]))
                if command is not None:
                    valves.publish(command)
                clock[0] += 1
                tester.for_seconds(0.02)

        def is_reported(subject: str, level: int) -> bool:
            return any(subject in statuses(a) and statuses(a)[subject].level == level for a in dynamics.health)

        go_until(lambda: is_reported('valve_commands', 1))
        assert 'no valve_commands yet' in dynamics.status('valve_commands', 1).message
        go_until(lambda: len(spool) > 0 and spool[-1].data < -4.5e-3, volts(-5.0, 0.0, 0.0))
        go_until(lambda: is_reported('valve_commands', 0), volts(-5.0, 0.0, 0.0))
        dynamics.health.clear()
        go_until(lambda: abs(spool[-1].data) < 1e-4)  # neutral after the timeout
        assert 'spools to neutral' in dynamics.status('valve_commands', 1).message
        go_until(lambda: spool[-1].data < -4.5e-3, volts(-5.0, 0.0, 0.0))
        go_until(lambda: abs(spool[-1].data) < 1e-4)
        assert abs(dynamics.replies[-1].effort[1] - EFFORTS[1]) > 1e4  # oil has gone

        assert tester.ask(Trigger, 'hydraulic_actuator_node/reset').success
        count = len(dynamics.replies)
        go_until(lambda: len(dynamics.replies) >= count + 2)
        assert np.asarray(dynamics.replies[-1].effort) == pytest.approx(EFFORTS, rel=1e-3, abs=1.0)

        dynamics.health.clear()
        assert 'no joint_states for 0.2 s' in dynamics.status('joint_states', 2).message
        assert process.stop(signal.SIGTERM)[0] == 0


class TestControllerNode:
    def test_a_lockstep_task_and_a_trajectory(self, tester: Tester, start_node: Callable[..., NodeProcess]) -> None:
        commands = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands', command_qos(True))
        phases = tester.listen('std_msgs/msg/String', 'task_phase', command_qos(True))
        trajectories = tester.speak('trajectory_msgs/msg/JointTrajectory', 'joint_trajectory', 10)
        dynamics = FakeDynamics(tester, efforts=False)
        parameters = log_loader(task='pick_and_place_recovery', exchange_period=0.01)
        process = start_node('controller_node', **parameters)
        dynamics.wait_for_listeners()
        tester.until(lambda: trajectories.get_subscription_count() == 1)

        def tick(k: int) -> list[float]:
            count = len(commands)
            dynamics.states.publish(joint_state(0.01 * k))
            tester.until(lambda: len(commands) > count)
            assert len(commands) == count + 1
            return np.asarray(commands[-1].data).tolist()

        first = [tick(k) for k in range(900)]
        assert first[0] == [0.0, 0.0, 0.0]
        assert first[700] == pytest.approx([-5.0, -5.5, 0.0])
        assert first[899] == pytest.approx([4.5 * 0.195 / 0.6, 4.0 * 0.195 / 0.6, 0.0])
        tester.until(lambda: len(phases) == 3)
        assert [m.data for m in phases] == ['wait', 'reach', 'recover']

        goal = Point(positions=[0.1, 0.9, -1.7], time_from_start=Duration(sec=2))
        trajectories.publish(JointTrajectory(joint_names=['a', 'b', 'c'], points=[goal]))
        status = dynamics.status('commands', 1)
        assert values_of(status)['rejected: unknown joint'] == '1'
        assert tick(900)[0] > first[899][0]  # the task went on
        trajectories.publish(JointTrajectory(joint_names=list(JOINTS), points=[goal]))
        tester.until(lambda: phases[-1].data == 'track')
        lower, unfold, turn = [tick(k) for k in range(901, 950)][-1]
        assert lower < 0.0
        assert unfold < 0.0  # the stick's cylinder folds it in
        assert turn > 0.0

        tester.for_seconds(0.2)
        assert [tick(k) for k in range(3)] == first[:3]  # time went back: the task again
        assert process.stop(signal.SIGINT)[0] == 0

    def test_timeout_of_joint_states_in_realtime(self, tester: Tester, start_node: Callable[..., NodeProcess]) -> None:
        commands = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
        dynamics = FakeDynamics(tester, lockstep=False, efforts=False)
        parameters = log_loader(mode='realtime', partner='external', task='pick_and_place_recovery')
        process = start_node('controller_node', **parameters)
        dynamics.wait_for_listeners()
        for k in range(10):
            dynamics.states.publish(joint_state(7.0 + 0.02 * k))
            tester.for_seconds(0.02)
        tester.until(lambda: any(np.allclose(m.data, [-5.0, -5.5, 0.0]) for m in commands))
        assert 'neutral commands' in dynamics.status('joint_states', 2).message
        count = len(commands)
        tester.until(lambda: len(commands) >= count + 3)
        assert all(np.asarray(m.data).tolist() == [0.0, 0.0, 0.0] for m in commands[count:])
        assert process.stop(signal.SIGTERM)[0] == 0


def test_both_nodes_answer_the_same_twice(tester: Tester, start_node: Callable[..., NodeProcess]) -> None:
    dynamics = FakeDynamics(tester, nodes=2)
    start_node('hydraulic_actuator_node', **log_loader())
    start_node('controller_node', **log_loader(task='pick_and_place_recovery'))
    dynamics.wait_for_listeners()
    tester.until(lambda: tester.node.count_publishers('valve_commands') == 1)

    def run() -> list[bytes]:
        return [np.asarray(dynamics.exchange(moving(k * 1e-3)).effort).tobytes() for k in range(300)]

    first = run()
    assert run() == first


BAD = [
    ('controller_node', {'machine': 'no_such'}, "parameter 'machine': urdf/no_such.urdf was not found"),
    ('controller_node', log_loader(task='no_such'), "parameter 'task': config/tasks/no_such.yaml was not found"),
    ('controller_node', log_loader(command_period='5.0'), 'command_period'),
    ('hydraulic_actuator_node', {'machine': '/no/such.urdf'}, "parameter 'machine': no such file: /no/such.urdf"),
    ('hydraulic_actuator_node', log_loader(joints='[boom, arm]'), "parameter 'joints': expected actuators"),
    ('hydraulic_actuator_node', log_loader(integration_step='fine'), 'integration_step'),
    ('hydraulic_actuator_node', log_loader(mode='slow'), "parameter 'mode': expected one of realtime, lockstep"),
]


def test_a_bad_parameter_ends_a_process_with_one_clear_line(start_node: Callable[..., NodeProcess]) -> None:
    node, parameters, text = BAD[0]
    assert_one_line(start_node(node, **parameters).finish(), node, text)


@pytest.mark.parametrize('node', ['controller_node', 'hydraulic_actuator_node'])
def test_bad_parameters_end_the_process_with_one_clear_line(node: str) -> None:
    cases = [(parameters, text) for name, parameters, text in BAD if name == node]
    for outcome, (_, text) in zip(endings(node, *(parameters for parameters, _ in cases)), cases, strict=True):
        assert_one_line(outcome, node, text)


def assert_one_line(outcome: tuple[int, str], node: str, text: str) -> None:
    status, errors = outcome
    assert status == 1, errors
    lines = [line for line in errors.splitlines() if line]
    assert len(lines) == 1, errors
    assert lines[0].startswith(f'{node}: ')
    assert text in lines[0]
