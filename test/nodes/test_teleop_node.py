"""The gamepad node as a process, and the keyboard node in a terminal."""

from __future__ import annotations

import os
import pty
import sys
import time

import pytest
from node_testing import endings
from timeouts import scaled_timeout

from dyn_nodes.middleware import message

Joy = message('sensor_msgs/msg/Joy')
REST = [0.0] * 6


def joy(right_y: float = 0.0, held: bool = True):
    axes = list(REST)
    axes[4] = right_y
    return Joy(axes=axes, buttons=[0, 0, 0, 0, 0, int(held)])


def volts(box) -> list[list[float]]:
    return [list(msg.data) for msg in box]


def test_a_gamepad_drives_valves_and_its_timeout_leads_to_neutral(start_node, tester):
    commands = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    health = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
    gamepad = tester.speak('sensor_msgs/msg/Joy', 'joy', 10)
    process = start_node('teleop_node', machine='log_loader')
    tester.until(lambda: gamepad.get_subscription_count() > 0 and health)
    assert commands == [], 'nothing is sent before the button is held'
    gamepad.publish(joy())
    tester.until(lambda: any('release the dead-man button' in s.message for array in health for s in array.status))
    assert commands == [], 'a button that was down from the beginning is one that is stuck'
    gamepad.publish(joy(held=False))
    gamepad.publish(joy())
    tester.until(lambda: commands)
    for _ in range(10):
        gamepad.publish(joy(right_y=-1.0))
        tester.for_seconds(0.05)
    assert volts(commands)[-1] == pytest.approx([6.0, 0.0, 0.0])
    tester.until(lambda: volts(commands)[-1] == [0.0, 0.0, 0.0], 3.0)
    tester.for_seconds(0.8)
    count = len(commands)
    tester.for_seconds(0.4)
    assert len(commands) == count, 'after neutral it sends nothing'
    tester.until(lambda: any('no joy message' in status.message for array in health for status in array.status))
    status, errors = process.stop()
    assert status == 0
    assert 'Traceback' not in errors


def test_a_second_held_button_overrides_the_governor(start_node, tester):
    keys = tester.listen('std_msgs/msg/Bool', 'governor/override')
    tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands_in')
    gamepad = tester.speak('sensor_msgs/msg/Joy', 'joy', 10)
    process = start_node('teleop_node', machine='log_loader')
    tester.until(lambda: gamepad.get_subscription_count() > 0)

    def send(dead_man, override):
        gamepad.publish(Joy(axes=list(REST), buttons=[0, 0, 0, 0, int(override), int(dead_man)]))

        tester.for_seconds(0.05)

    def is_overridden():
        for buttons in ((False, False), (True, False), (True, True), (True, True)):
            send(*buttons)
        return any(key.data for key in keys)

    tester.until(is_overridden)
    send(False, True)
    tester.until(lambda: not keys[-1].data)
    process.stop()


def test_a_governor_between_levers_and_valves_is_not_passed_by_also_when_it_has_gone(start_node, tester):
    commands = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    gamepad = tester.speak('sensor_msgs/msg/Joy', 'joy', 10)
    process = start_node('teleop_node', machine='log_loader')
    tester.until(lambda: gamepad.get_subscription_count() > 0)

    gamepad.publish(joy(held=False))

    def drive_until(condition):
        end = time.monotonic() + scaled_timeout(20.0)
        while not condition():
            assert time.monotonic() < end
            gamepad.publish(joy(right_y=-1.0 if commands else 0.0))
            tester.for_seconds(0.05)

    drive_until(lambda: commands)
    governed = []
    governor = tester.node.create_subscription(
        message('std_msgs/msg/Float64MultiArray'), 'valve_commands_in', governed.append, 10
    )
    drive_until(lambda: governed)
    count = len(commands)
    drive_until(lambda: volts(governed)[-1][0] == pytest.approx(6.0))
    tester.node.destroy_subscription(governor)
    for _ in range(20):
        gamepad.publish(joy(right_y=-1.0))
        tester.for_seconds(0.05)
    assert len(commands) == count, 'nothing reaches the valves past a governor'
    assert tester.node.count_publishers('valve_commands') == 0
    _, errors = process.stop()
    assert 'valve_commands_in' in errors


WRONG = [
    ({}, "parameter 'machine': expected"),
    ({'machine': 'log_loader', 'levers': 'nothing'}, "parameter 'levers': config/nothing.yaml was not found"),
    ({'machine': 'log_loader', 'levers': '/nowhere/levers.yaml'}, '/nowhere/levers.yaml'),
]


def test_a_wrong_parameter_is_one_line():
    for (status, errors), (_, text) in zip(
        endings('teleop_node', *(parameters for parameters, _ in WRONG)), WRONG, strict=True
    ):
        assert status == 1
        assert text in errors
        assert len(errors.splitlines()) == 1


def test_keys_in_a_terminal_move_a_valve(tester):
    commands = tester.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, '-m', 'dyn_nodes.cli', 'teleop', '--throw', '0.5'])
    try:
        shown = b''
        while b'boom' not in shown or b'throw' not in shown or b' V' not in shown:
            shown += os.read(terminal, 4096)
        deadline = time.monotonic() + scaled_timeout(20.0)
        while not any(values[0] > 0.0 for values in volts(commands)):
            assert time.monotonic() < deadline, volts(commands)[-3:]
            os.write(terminal, b'k')
            tester.for_seconds(0.1)
        assert max(values[0] for values in volts(commands)) == pytest.approx(3.0)
        os.write(terminal, b' ')
        tester.until(lambda: volts(commands)[-1] == [0.0, 0.0, 0.0], 5.0)
        os.write(terminal, b'q')
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    except BaseException:
        os.kill(child, 9)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(terminal)


def test_teleop_without_a_terminal_prints_the_reason():
    import subprocess

    command = [sys.executable, '-m', 'dyn_nodes.cli', 'teleop']
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == 'dyn-nodes: teleop reads keys: run it in a terminal\n'
