"""The electric actuator node, callback by callback: efforts, voltages, limits, timeouts, rejections, reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses

from dyn_nodes.middleware import message
from dyn_nodes.nodes import actuator_health
from dyn_nodes.nodes.electric_actuator_node import ElectricActuatorNode
from dyn_nodes.nodes.parameters import ParameterError

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
URDF = """<robot name="door">
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
PERIOD = 1e-3
GAIN, FRICTION = 10.0, 0.25
"""N m/A and N m s/rad at the hinge."""


@pytest.fixture(scope='module')
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp('door')
    (folder / 'door.urdf').write_text(URDF)
    (folder / 'door.yaml').write_text(YAML)
    return {'machine': str(folder / 'door.urdf'), 'config': str(folder / 'door.yaml')}


@pytest.fixture
def node(make_node: Callable[..., Any], files: dict[str, str]) -> Any:
    return make_node(ElectricActuatorNode, **files)


@pytest.fixture
def realtime(make_node: Callable[..., Any], files: dict[str, str]) -> Any:
    return make_node(ElectricActuatorNode, **files, mode='realtime', partner='external')


def hinge(time: float, rate: float = 0.0, effort: float = -39.24, position: float = 0.0) -> Any:
    return joint_state(time, (position,), (rate,), (effort,), ('hinge',))


def volts(value: float) -> Any:
    return Float64MultiArray(data=[value])


def reported(node: Any, status: str) -> str:
    """Message of a status now."""
    node.update_diagnostics()
    return str(statuses(node.diagnostics.publisher.last)[status].message)


def effort(node: Any) -> float:
    return float(node.commands_out.last.effort[0])


def test_the_first_answer_holds_the_measured_effort_by_its_current(node: Any) -> None:
    node.receive('valve_commands', volts(0.8 * -3.924))
    node.receive('joint_states', hinge(0.0))
    assert node.exchange.system.oil.tolist() == pytest.approx([-3.924])
    assert list(node.commands_out.last.name) == ['hinge']
    assert effort(node) == pytest.approx(-39.24, rel=1e-4)


def test_a_voltage_drives_a_stalled_motor_to_its_current(node: Any) -> None:
    for k in range(40):
        if k % 10 == 0:
            node.receive('valve_commands', volts(4.0))
        node.receive('joint_states', hinge(k * PERIOD, effort=effort(node) if k else 0.0))
    assert node.exchange.system.oil[0] == pytest.approx(5.0, rel=1e-5)
    assert effort(node) == pytest.approx(50.0, rel=1e-2)


def test_a_voltage_beyond_the_source_ends_at_the_limit_of_current(node: Any) -> None:
    for k in range(60):
        if k % 10 == 0:
            node.receive('valve_commands', volts(40.0))
        node.receive('joint_states', hinge(k * PERIOD, effort=0.0))
    assert node.exchange.system.oil[0] == pytest.approx(12.0, rel=1e-4)
    assert node.exchange.system.oil[0] <= 12.0


def test_reports_are_current_voltage_heat_and_effort_below_motors(node: Any) -> None:
    boxes = {name: Outbox.behind(publisher) for name, publisher in node.reports.publishers}
    assert list(boxes) == ['motor/current', 'motor/terminal_voltage', 'motor/winding_power', 'motor/effort']
    node.receive('valve_commands', volts(0.8 * -3.924))
    node.receive('joint_states', hinge(0.0))
    values = {name: box.last.data for name, box in boxes.items()}
    assert values['motor/current'] == pytest.approx(-3.924)
    assert values['motor/winding_power'] == pytest.approx(0.8 * 3.924**2)
    assert values['motor/terminal_voltage'] == pytest.approx(0.8 * -3.924)
    assert values['motor/effort'] == pytest.approx(-39.24)


@pytest.mark.parametrize('wrong', [[float('nan')], [1.0, 2.0], [100.0], []])
def test_a_rejected_command_is_counted_and_changes_nothing(realtime: Any, wrong: list[float]) -> None:
    realtime.receive('valve_commands', Float64MultiArray(data=wrong))
    assert sum(realtime.command_rejections.counts.values()) == 1
    for k in range(30):
        realtime.receive('joint_states', hinge(k * PERIOD, effort=0.0))
    assert realtime.exchange.system.oil[0] == pytest.approx(0.0, abs=1e-12)
    assert 'rejected' in reported(realtime, 'valve_commands')


def test_a_late_command_leaves_the_motor_at_zero_volts(realtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    realtime.receive('valve_commands', volts(4.0))
    for k in range(30):
        realtime.receive('joint_states', hinge(k * PERIOD, effort=0.0))
    assert realtime.exchange.system.oil[0] == pytest.approx(5.0, rel=1e-3)
    now = realtime.commanded
    monkeypatch.setattr(actuator_health.time, 'monotonic', lambda: now + 0.25)
    for k in range(30, 60):
        realtime.receive('joint_states', hinge(k * PERIOD, effort=0.0))
    assert realtime.exchange.system.oil[0] == pytest.approx(0.0, abs=0.01)
    assert reported(realtime, 'valve_commands') == 'no valve_commands for 0.2 s: motors to 0 V'


def test_a_motor_at_zero_volts_brakes_by_its_back_emf(node: Any) -> None:
    for k in range(60):
        if k % 10 == 0:
            node.receive('valve_commands', volts(0.0))
        node.receive('joint_states', hinge(k * PERIOD, rate=0.2, effort=0.0, position=0.2 * k * PERIOD))
    assert effort(node) == pytest.approx(-(GAIN**2) / 0.8 * 0.2 - FRICTION * 0.2, rel=0.02)


def test_time_that_goes_back_starts_the_currents_again(node: Any) -> None:
    node.receive('valve_commands', volts(0.0))
    node.receive('joint_states', hinge(0.0))
    node.receive('joint_states', hinge(PERIOD))
    node.receive('valve_commands', volts(0.0))
    node.receive('joint_states', hinge(0.0, effort=20.0))
    assert node.restarts == 1
    assert node.exchange.system.oil.tolist() == pytest.approx([2.0])


def test_an_effort_that_no_current_holds_is_reported(node: Any) -> None:
    node.receive('valve_commands', volts(0.0))
    node.receive('joint_states', hinge(0.0, effort=150.0))
    assert node.commands_out.messages == []
    assert 'the current cannot hold the joints' in reported(node, 'motors')
    assert 'takes 15 A, expected at most the limit of 12 A' in reported(node, 'motors')


def test_a_machine_without_motors_is_rejected(make_node: Callable[..., Any]) -> None:
    with pytest.raises(ParameterError, match="machine 'log_loader' has no electric motors"):
        make_node(ElectricActuatorNode)


def test_the_node_has_the_parameters_of_its_kin(node: Any) -> None:
    assert node.values['command_period'] == 0.01
    assert 'bulk_modulus_scale' not in node.values
    assert np.allclose(node._limits, [24.0])
