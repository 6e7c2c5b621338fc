"""Volts name the instant that they answer: a source with another period cannot fall behind the machine unnoticed."""

from __future__ import annotations

from collections import deque

import pytest
from node_testing import Outbox, statuses

from dyn_nodes.middleware import message
from dyn_nodes.nodes.arrays import stamp_of_volts, stamp_volts, volts_message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.electric_actuator_node import ElectricActuatorNode
from dyn_nodes.nodes.exchange import Every
from dyn_nodes.nodes.parameters import ParameterError

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Dimension = message('std_msgs/msg/MultiArrayDimension')
URDF = """<robot name="gate">
  <link name="post"/>
  <link name="leaf"><inertial><origin xyz="0.4 0 0"/><mass value="10"/>
    <inertia ixx="0.1" iyy="0.6" izz="0.6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="post"/><child link="leaf"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="100" velocity="2"/></joint>
</robot>
"""
YAML = """actuators:
  motor: {type: dc_motor, joint: hinge, torque_constant: 0.2, resistance: 0.8, inductance: 2.0e-3, gear_ratio: 50,
    rotor_inertia: 1.0e-4, rotor_damping: 1.0e-4, voltage_limit: 24, current_limit: 12}
"""
GOAL = 0.3


@pytest.fixture
def make(make_node, tmp_path):
    (tmp_path / 'gate.urdf').write_text(URDF)
    (tmp_path / 'gate.yaml').write_text(YAML)
    files = {'machine': str(tmp_path / 'gate.urdf'), 'config': str(tmp_path / 'gate.yaml')}

    def build(kind, command_period, **parameters):
        return make_node(kind, **{'exchange_period': 0.005, **files, **parameters, 'command_period': command_period})

    return build


class Exchange:
    """A dynamics node with its motors inside and a controller, in lockstep without a middleware between them."""

    def __init__(self, dynamics, controller):
        self.dynamics, self.controller = dynamics, controller
        self.states = dynamics.joint_states.publisher = Outbox()
        dynamics.pacer.start_clock()

    def run(self, end):
        """Take turns until a time, or until nothing is left to answer."""
        sent = deque(self.states.messages)
        while sent and self.dynamics.plant.time < end - 1e-9:
            before, self.controller.commands_out.messages = len(self.states.messages), []
            self.controller.receive('joint_states', sent.popleft())
            for command in self.controller.commands_out.messages:
                self.dynamics.receive('valve_commands', command)
            sent.extend(self.states.messages[before:])

    def raise_the_gate(self):
        first = self.states.messages[0]
        self.controller.receive('joint_states', first)
        goal = Point(positions=[GOAL], velocities=[0.0])
        goal.time_from_start.sec = 1
        self.controller.receive('joint_trajectory', JointTrajectory(joint_names=['hinge'], points=[goal]))
        for command in self.controller.commands_out.messages:
            self.dynamics.receive('valve_commands', command)
        self.states.messages.remove(first)
        self.run(1.3)


def test_a_controller_with_a_shorter_period_than_the_machine_does_not_fall_behind_it(make):
    dynamics = make(DynamicsNode, 0.01, actuation='monolithic', measures=[''])
    exchange = Exchange(dynamics, make(ControllerNode, 0.005))
    exchange.raise_the_gate()
    assert dynamics.plant.time == pytest.approx(1.3)
    assert dynamics.plant.positions == pytest.approx([GOAL], abs=0.01)
    assert dynamics.rejections.counts['wrong period'] > 100
    assert 'valve_commands: expected commands at multiples of command_period 0.01 s' in dynamics.rejections.last
    assert 'its source has another command_period or exchange_period' in dynamics.rejections.last
    dynamics.diagnostics.update(100.0, 0.0)
    assert 'wrong period' not in statuses(dynamics.diagnostics.publisher.last)['commands'].message
    assert dynamics.rejections.last in statuses(dynamics.diagnostics.publisher.last)['commands'].message


def test_a_controller_with_a_longer_period_stops_the_time_and_the_report_names_the_period(make):
    dynamics = make(DynamicsNode, 0.005, actuation='monolithic', measures=[''])
    exchange = Exchange(dynamics, make(ControllerNode, 0.01))
    exchange.run(1.0)
    assert dynamics.plant.time == pytest.approx(0.005)
    lines = []
    dynamics.get_logger = lambda: type('Log', (), {'error': staticmethod(lines.append)})
    dynamics.pacer._log_timeout(5.0)
    assert lines == ['no command for t = 0.0050 s (command_period: 0.005 s) since 5.00 s: simulated time stands still']


def test_volts_from_before_a_reset_do_not_answer_its_first_instant(make):
    dynamics = make(DynamicsNode, 0.005, actuation='monolithic', measures=[''])
    exchange = Exchange(dynamics, make(ControllerNode, 0.005))
    exchange.run(0.1)
    late = volts_message(['motor'])
    late.data = [3.0]
    stamp_volts(late, 100_000_000)
    assert dynamics.put_back() == ''
    dynamics.receive('valve_commands', late)
    assert dynamics.plant.time == 0.0
    stamp_volts(late, 0)
    dynamics.receive('valve_commands', late)
    assert dynamics.plant.time == pytest.approx(0.005)


def test_a_dynamics_node_rejects_a_command_period_that_is_no_multiple_of_its_exchanges(make):
    with pytest.raises(ParameterError, match="'command_period': in lockstep expected a multiple"):
        make(DynamicsNode, 0.0075, actuation='monolithic')


def test_motors_in_a_node_reject_volts_of_another_period(make):
    node = make(ElectricActuatorNode, 0.01)
    volts = volts_message(['motor'])
    volts.data = [3.0]
    stamp_volts(volts, 5_000_000)
    node.receive('valve_commands', volts)
    assert node.command_rejections.counts == {'wrong period': 1}
    assert node.voltages_received == 0
    stamp_volts(volts, 10_000_000)
    node.receive('valve_commands', volts)
    assert node.voltages_received == 1


def test_levers_and_other_software_may_command_when_they_like(make):
    node = make(ElectricActuatorNode, 0.01, command_source='asynchronous')
    volts = volts_message(['motor'])
    volts.data = [3.0]
    stamp_volts(volts, 5_000_000)
    node.receive('valve_commands', volts)
    node.receive('valve_commands', Float64MultiArray(data=[2.0]))
    assert node.voltages_received == 2


def test_the_controllers_stamp_their_volts_with_the_instant_that_they_answer(make):
    node = make(ControllerNode, 0.005)
    exchange = Exchange(make(DynamicsNode, 0.005, actuation='monolithic', measures=['']), node)
    exchange.run(0.02)
    assert stamp_of_volts(node.commands_out.last) == 15_000_000
    assert node.commands_out.last.layout.dim[0].label == 'motor'


@pytest.mark.parametrize(
    'label', ['', 'stamp_ns=', 'stamp_ns=-5', 'stamp_ns=1.5', 'stamp_ns=²', 'x', 'stamp_ns=' + 20 * '9']
)
def test_another_second_dimension_is_no_stamp(label):
    volts = Float64MultiArray(data=[1.0])
    assert stamp_of_volts(volts) is None
    volts.layout.dim = [Dimension(label='motor', size=1, stride=1), Dimension(label=label, size=1, stride=1)]
    assert stamp_of_volts(volts) is None


def test_a_stamp_is_on_the_grid_of_a_period_to_a_microsecond():
    every = Every('command_period', 0.01, 0.01 / 3.0, exact=True)
    every.check_answered('valve_commands', None)
    for k in (0, 1, 7, 10**9):
        every.check_answered('valve_commands', k * 10_000_000 + 900)
        with pytest.raises(RejectedError, match=r'multiples of command_period 0\.01 s'):
            every.check_answered('valve_commands', k * 10_000_000 + 3_333_333)
