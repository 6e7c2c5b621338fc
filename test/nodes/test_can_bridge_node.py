"""Both roles of can_bridge_node: in this process on a virtual bus, and as processes on a pair of serial ports."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import time
import tty

import numpy as np
import pytest
from timeouts import scaled_timeout

pytest.importorskip('cantools')
pytest.importorskip('can')

import can
from can_testing import (
    POSTURE,
    STEP,
    HeldTime,
    SetBool,
    Volts,
    Wires,
    arm_and_command,
    ask,
    bridge_on,
    mapping_in,
    run,
)
from node_testing import EFFORTS, JOINTS, NodeProcess, Outbox, endings, imu_message, joint_state, statuses

from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.sender import Sender
from dyn_nodes.middleware import Node, Parameter, message
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.can_bridge_node import GRAPH_PERIOD, HUNG, CanBridgeNode

FluidPressure, WrenchStamped = message('sensor_msgs/msg/FluidPressure'), message('geometry_msgs/msg/WrenchStamped')
STEPS = (1.8e-4, 8.4e-5, 3.6e-4)
"""rad, one step of the signals of swing, boom and stick (`dyn-nodes check config/can/log_loader.yaml`)."""


@pytest.fixture
def setup(context, request, held):
    wires = Wires(request.node.name, held)
    node = bridge_on(context, request.node.name)
    yield node, wires
    node.destroy_node()
    wires.bus.shutdown()


def wait_for(condition):
    end = time.monotonic() + scaled_timeout(20.0)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_bridge_only_listens_until_it_is_armed_then_limits_then_commands(setup):
    node, wires = setup
    run(node, wires, command=0.0)
    assert run(node, wires, command=6.0) == [], 'nothing is sent in shadow'
    assert node.commands_out.last.data[0] == pytest.approx(6.0), 'what active would send is published'
    assert not ask(node, 'arm').success, 'a command is there'
    run(node, wires, command=0.0)
    assert not ask(node, 'activate').success
    assert ask(node, 'arm').message == 'limit'
    assert run(node, wires, 0.3, command=6.0)[-1] == pytest.approx(0.3 * 8.0)
    assert not ask(node, 'activate').success, 'the command would grow at once'
    run(node, wires, command=0.0)
    assert ask(node, 'activate').message == 'active'
    assert run(node, wires, 0.3, command=6.0)[-1] == pytest.approx(6.0)
    assert node.state_out.last.data == 'active'


def test_a_bridge_publishes_the_levers_of_the_machine_and_sends_nothing(setup):
    node, wires = setup
    node.levers_out = Outbox()
    levers, frame = Sender(wires.mapping.commands), wires.mapping.commands[0]
    values = {('command', 'boom'): 2.0, ('command', 'stick'): -1.0, ('command', 'swing'): 0.5}
    for _ in range(3):
        raw = levers.encode(frame, values)
        wires.bus.send(can.Message(arbitration_id=raw[0], is_extended_id=raw[1], data=raw[2]))
        assert run(node, wires, 0.05) == []
    assert list(node.levers_out.last.data) == pytest.approx([2.0, -1.0, 0.5])
    assert 'another control unit sends ValveCommands' in ask(node, 'arm').message
    count = len(node.levers_out.messages)
    wires.bus.send(can.Message(arbitration_id=raw[0], is_extended_id=raw[1], data=raw[2]))  # frozen counter
    run(node, wires, 0.1)
    assert len(node.levers_out.messages) == count
    assert not node.arming.take_turn('ValveCommands', wires.time.now)


def test_a_simulated_machine_sends_the_levers_of_its_operator_until_they_end(context, request):
    channel = request.node.name
    values = {'mapping': 'log_loader', 'interface': 'virtual', 'channel': channel, 'role': 'machine'}
    wires = Wires(channel)
    node = CanBridgeNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
    node.commands_out, node.diagnostics.publisher = Outbox(), Outbox()
    try:
        assert wires.volts() is None
        seen, end = None, time.monotonic() + 30.0
        while seen is None and time.monotonic() < end:
            node.receive('levers', Volts(data=[1.5, 0.0, 0.0]))
            time.sleep(0.02)
            seen = wires.volts()
        assert seen == pytest.approx(1.5)
        assert list(node.commands_out.last.data) == [1.5, 0.0, 0.0]
        node.receive('levers', Volts(data=[np.nan, 0.0, 0.0]))
        assert list(node.commands_out.last.data) == [1.5, 0.0, 0.0], 'refused'
        time.sleep(0.3)
        wires.volts()
        time.sleep(0.1)
        assert wires.volts() is None
    finally:
        node.destroy_node()
        wires.bus.shutdown()


def test_arming_needs_every_signal(setup):
    node, wires = setup
    run(node, wires, skip='WheelLoads')
    answer = ask(node, 'arm')
    assert not answer.success
    assert 'WheelLoads' in answer.message


def test_arming_needs_a_measurement_of_every_commanded_joint(context, held, tmp_path):
    path = mapping_in(tmp_path)
    text = path.read_text()
    path.write_text(text.partition('joints:\n')[0] + 'wheel_loads:' + text.partition('wheel_loads:')[2])
    text = path.read_text()
    path.write_text(''.join(line for line in text.splitlines(keepends=True) if 'Alive' not in line or 'Valve' in line))
    node, wires = bridge_on(context, 'unmeasured', path), Wires('unmeasured', held, path)
    try:
        run(node, wires, command=0.0)
        assert node.receiver.fault(held.now) == '', 'wheel loads come'
        answer = ask(node, 'arm')
        assert not answer.success
        assert 'commands.boom: expected a signal of the position or velocity of boom_joint' in answer.message
        assert run(node, wires, command=0.0) == []
    finally:
        node.destroy_node()
        wires.bus.shutdown()


@pytest.mark.parametrize('lost', ['JointPositions', 'LinePressures'])
def test_a_stale_signal_disarms_sends_neutral_then_nothing_and_stays_so(setup, lost):
    node, wires = setup
    arm_and_command(node, wires)
    seen = run(node, wires, 0.35, command=1.0, skip=lost)
    assert seen[-1] == 0.0
    assert node.arming.state == 'shadow'
    assert lost in node.state_out.last.data
    assert run(node, wires, 0.3, command=1.0) == [], 'the signal is back, the state is not'
    assert any(lost in status.message for status in statuses(node.diagnostics.publisher.last).values())


def test_missing_commands_give_neutral_frames_within_one_timeout(setup):
    node, wires = setup
    arm_and_command(node, wires)
    assert run(node, wires, 0.2 + 0.08)[-1] == 0.0
    assert node.arming.state == 'limit'


def test_a_node_that_hangs_sends_neutral_although_its_writing_thread_lives(setup):
    node, wires = setup
    node.values['command_timeout'] = 60.0
    arm_and_command(node, wires)
    wires.time.pass_by(0.95 * HUNG, node)  # no turn of the node
    assert wires.volts() == pytest.approx(1.0)
    wires.time.pass_by(0.1 * HUNG, node)
    assert wires.volts() == 0.0


def test_a_command_of_another_size_is_rejected_and_the_last_good_one_stays(setup):
    node, _ = setup
    node.receive('valve_commands', Volts(data=[0.0, 0.0, 0.0]))
    node.receive('valve_commands', Volts(data=[1.0, 0.0, 0.0]))
    node.receive('valve_commands', Volts(data=[1.0]))
    other = volts_message(('stick', 'boom', 'swing'))
    other.data = [2.0, 0.0, 0.0]
    node.receive('valve_commands', other)
    assert node.rejections.counts == {'wrong size': 1, 'other actuators': 1}
    assert list(node.commands_out.last.data) == [1.0, 0.0, 0.0]
    assert node._command[1][0] == 1.0


def test_after_a_timeout_a_machine_starts_to_move_only_from_neutral(setup):
    """A lever that is held while the network or the node stands still would move it the moment that this ends."""
    node, wires = setup
    arm_and_command(node, wires)
    assert run(node, wires, 0.3)[-1] == 0.0
    assert run(node, wires, 1.5, command=1.0)[-1] == 0.0
    assert 'until valve_commands have been neutral' in statuses(node.diagnostics.publisher.last)['state'].message
    run(node, wires, 0.02, command=0.0)
    assert run(node, wires, 0.3, command=1.0)[-1] == pytest.approx(1.0)
    wires.time.pass_by(1.5 * HUNG, node)
    assert run(node, wires, 0.1, command=1.0)[-1] == 0.0, 'the node stood still'


def test_between_two_commands_of_a_slow_source_nothing_can_be_armed(setup, context):
    node, wires = setup
    source = Node('source', context=context)
    offered = source.create_publisher(Volts, 'valve_commands', 10)
    try:
        run(node, wires, 0.1, command=0.0)
        run(node, wires, 0.02, command=5.0)
        run(node, wires, 0.5)
        wait_for(lambda: node.count_publishers(node.resolve_topic_name('valve_commands')) == 1)
        assert 'found commands that would move the machine' in ask(node, 'arm').message
        second = source.create_publisher(Volts, 'valve_commands', 10)
        other = Node('other', context=context)
        third = other.create_publisher(Volts, 'valve_commands', 10)
        wait_for(lambda: node.count_publishers(node.resolve_topic_name('valve_commands')) == 3)
        run(node, wires, 0.1, command=0.0)
        assert 'several nodes publish valve_commands: /other, /source, /source' in ask(node, 'arm').message
        other.destroy_publisher(third)
        other.destroy_node()
        source.destroy_publisher(second)
        wait_for(lambda: node.count_publishers(node.resolve_topic_name('valve_commands')) == 1)
        run(node, wires, 0.1, command=0.0)
        assert ask(node, 'arm').success
    finally:
        source.destroy_publisher(offered)
        source.destroy_node()


@contextlib.contextmanager
def offering(context, *names):
    """Nodes of these names that offer commands, while it lasts."""
    nodes = [Node(name, context=context) for name in names]
    for node in nodes:
        node.create_publisher(Volts, 'valve_commands', 10)
    try:
        yield
    finally:
        for node in nodes:
            node.destroy_node()


def wait_for_sources(node, count):
    wait_for(lambda: node.count_publishers(node.resolve_topic_name('valve_commands')) == count)


def test_a_second_source_of_commands_disarms_an_armed_bridge_and_is_named(setup, context):
    node, wires = setup
    with offering(context, 'teleop_node'):
        wait_for_sources(node, 1)
        arm_and_command(node, wires)
        with offering(context, 'controller_node'):
            wait_for_sources(node, 2)
            assert run(node, wires, GRAPH_PERIOD + 0.05, command=1.0)[-1] == 0.0
            assert node.state_out.last.data == (
                'shadow: several nodes publish valve_commands: /controller_node, /teleop_node'
            )
        wait_for_sources(node, 1)
        run(node, wires, 0.2, command=0.0)
        assert ask(node, 'arm').success


def test_two_sources_of_one_name_are_two(setup, context):
    node, wires = setup
    with offering(context, 'teleop_node', 'teleop_node'):
        wait_for_sources(node, 2)
        run(node, wires, 0.25, command=0.0)
        assert 'several nodes publish valve_commands: /teleop_node, /teleop_node' in ask(node, 'arm').message


def test_a_bus_that_took_no_frames_gets_neutral_ones_when_it_does_again_and_can_be_armed(setup, monkeypatch):
    """A connector that is pulled: frames of before may wait in the controller, and no neutral one behind them."""
    node, wires = setup
    arm_and_command(node, wires)

    def fail(*_, **__):
        raise OSError('no buffer space available')

    with monkeypatch.context() as patch:
        patch.setattr(node.bus._bus, 'send', fail)
        run(node, wires, 5.0, command=0.0)
        assert node.arming.state == 'shadow'
        assert 'no buffer space' in ask(node, 'arm').message
    assert run(node, wires, 0.1, command=0.0)[-1] == 0.0
    assert node.fault() == ''
    run(node, wires, 2.0, command=0.0)
    assert run(node, wires, 0.1, command=0.0) == [], 'then none'
    assert ask(node, 'arm').success


def test_a_neutral_frame_follows_a_disarm_without_any_neutral_time(context, request, held):
    wires, node = Wires(request.node.name, held), bridge_on(context, request.node.name, neutral_time=0.0)
    try:
        arm_and_command(node, wires)
        assert ask(node, 'arm', False).success
        assert run(node, wires, 0.3, command=1.0) == [0.0]
    finally:
        node.destroy_node()
        wires.bus.shutdown()


def test_a_writing_thread_that_is_held_up_is_a_fault(setup):
    node, wires = setup
    arm_and_command(node, wires)
    node.bus.written -= 1.0
    node.run_cycle()
    assert node.state_out.last.data == 'shadow: the bus takes no frames for 0.5 s'


def test_a_bridge_that_ends_leaves_neutral_behind(context, request, tmp_path):
    """With its threads: the last frame to the machine is not a deflected lever."""
    mapping = mapping_in(tmp_path, timeout='9.0')
    wires, node = Wires(request.node.name, HeldTime(), mapping), bridge_on(context, request.node.name, mapping)
    node.values['command_timeout'] = 60.0

    def live(command, until):
        def turned():
            wires.time.now += 0.01
            wires.measure()
            node.receive('valve_commands', Volts(data=[command, 0.0, 0.0]))
            node.run_cycle()
            return until()

        wait_for(turned)

    try:
        live(0.0, lambda: ask(node, 'arm').success)
        live(1.0, lambda: wires.volts() == pytest.approx(1.0))
        node.destroy_node()
        assert wires.volts() == 0.0
    finally:
        wires.bus.shutdown()


@pytest.mark.parametrize('absurd', [np.nan, np.inf, -np.inf, 99.0])
def test_a_command_that_is_no_voltage_leads_to_neutral_at_once(setup, absurd):
    node, wires = setup
    node.values['command_timeout'] = 60.0
    arm_and_command(node, wires)
    assert run(node, wires, 0.3, command=absurd)[-1] == 0.0
    assert list(node.commands_out.last.data) == [0.0, 0.0, 0.0]
    assert 'volts of' in statuses(node.diagnostics.publisher.last)['state'].message
    assert node.arming.state == 'limit'


def test_frames_of_anything_end_nothing(setup):
    node, wires = setup
    dice = np.random.default_rng(3)
    identifiers = [frame.message.frame_id for frame in wires.mapping.frames]
    for k in range(3000):
        extended = bool(dice.integers(2))
        identifier = int(dice.choice(identifiers)) & (0x1FFFFFFF if extended else 0x7FF)
        data = dice.bytes(int(dice.integers(9)))
        wires.bus.send(can.Message(arbitration_id=identifier, is_extended_id=extended, data=data))
        if k % 100 == 0:
            wires.time.pass_by(STEP, node)
            node.run_cycle()
    fault = node.competing.fault(wires.time.now)
    assert 'another control unit sends ValveCommands' in fault, 'frames of anything, too'
    run(node, wires, 0.3)
    assert node.fault() == '', 'good frames are used again'
    assert ask(node, 'arm').success


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def line():
    """Two connected serial ports: bytes written at one end are read at the other."""
    masters, slaves = zip(*(pty.openpty() for _ in range(2)))
    for master, slave in zip(masters, slaves):
        tty.setraw(slave)
        os.set_blocking(master, False)
    closed = threading.Event()

    def relay():
        while not closed.is_set():
            for ready in select.select(masters, [], [], 0.05)[0]:
                with contextlib.suppress(BlockingIOError):  # without a reader at the other end the bytes are lost
                    os.write(masters[1 - masters.index(ready)], os.read(ready, 4096))

    thread = threading.Thread(target=relay)
    thread.start()
    yield [os.ttyname(slave) for slave in slaves]
    closed.set()
    thread.join()
    for end in (*masters, *slaves):
        os.close(end)


def test_other_bytes_on_a_serial_line_are_skipped_and_frames_after_them_are_used(line, context):
    values = {'mapping': 'log_loader', 'interface': 'slcan', 'channel': line[1]}
    node = CanBridgeNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
    node.diagnostics.publisher = Outbox()
    port = os.open(line[0], os.O_WRONLY | os.O_NOCTTY)
    try:
        for text in (
            b'\xff\xfe\r',
            b'tZZZ8\r',
            b't12\r',
            b'T\r',
            b't1208' + b'G' * 16 + b'\r',
            b't12080A000A000A000A00\r',
        ):
            os.write(port, text)
            time.sleep(0.1)
        end = time.monotonic() + scaled_timeout(10.0)
        while not node.receiver.taken and time.monotonic() < end:
            time.sleep(0.02)
            node.run_cycle()
        assert node.receiver.values['wheel_load', 'rear_left'] == pytest.approx(100.0)
        assert node.bus.unreadable == 5
        assert node.bus.fault == ''
    finally:
        os.close(port)
        node.destroy_node()


TRIES = 3


class Bridge(NodeProcess):
    """A can_bridge_node in a namespace."""

    def __init__(self, role: str, port: str, namespace: str) -> None:
        port_of = {'interface': 'slcan', 'channel': port}
        super().__init__('can_bridge_node', ['-r', f'__ns:=/{namespace}'], mapping='log_loader', role=role, **port_of)


@pytest.fixture
def pair(line):
    processes = [Bridge('machine', line[0], 'machine'), Bridge('bridge', line[1], 'bridge')]
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Simulation:
    """Publishes the topics of a simulated log-loader."""

    def __init__(self, tester) -> None:
        self.joints = tester.speak('sensor_msgs/msg/JointState', '/machine/joint_states', 10)
        self.imu = tester.speak('sensor_msgs/msg/Imu', '/machine/imu', 10)
        mapping = load_mapping('log_loader')[0]
        channels = [channel for frame in mapping.measurements for channel in frame.channels]
        self.lines = [
            tester.speak('sensor_msgs/msg/FluidPressure', f'/machine/hydraulics/{channel.name}', 10)
            for channel in channels
            if channel.kind == 'pressure'
        ]
        self.wheels = [
            tester.speak('geometry_msgs/msg/WrenchStamped', f'/machine/ground_reactions/{channel.name}', 10)
            for channel in channels
            if channel.kind == 'wheel_load'
        ]

    def publish(self) -> None:
        now = time.time()
        self.joints.publish(joint_state(now, POSTURE, (0.1, -0.05, 0.02), EFFORTS))
        self.imu.publish(imu_message(now))
        for k, publisher in enumerate(self.lines):
            publisher.publish(FluidPressure(fluid_pressure=1e6 * (k + 1)))
        load = WrenchStamped()
        load.wrench.force.z = 5.0e4
        for publisher in self.wheels:
            publisher.publish(load)


def test_two_processes_on_a_serial_line_carry_motion_one_way_and_commands_the_other(pair, line, tester):
    machine = pair[0]
    simulation = Simulation(tester)
    states = tester.listen('sensor_msgs/msg/JointState', '/bridge/joint_states')
    pressures = tester.listen('sensor_msgs/msg/FluidPressure', '/bridge/hydraulics/swing/pressure_b')
    loads = tester.listen('std_msgs/msg/Float64', '/bridge/wheel_loads/rear_left')
    valves = tester.listen('std_msgs/msg/Float64MultiArray', '/machine/valve_commands')
    arrivals = []
    tester.node.create_subscription(
        Volts, '/machine/valve_commands', lambda msg: arrivals.append((time.monotonic(), msg.data[0])), 10
    )
    health = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
    levers = tester.speak('std_msgs/msg/Float64MultiArray', '/bridge/valve_commands', 10)
    arm = tester.node.create_client(SetBool, '/bridge/can_bridge_node/arm')

    def until(condition, volts=0.0, seconds=20.0):
        end = time.monotonic() + scaled_timeout(seconds)
        while not condition():
            assert time.monotonic() < end, [status for array in health[-4:] for status in array.status]
            simulation.publish()
            if volts is not None:
                levers.publish(Volts(data=[volts, 0.0, 0.0]))
            tester.for_seconds(0.02)

    until(lambda: states and pressures and loads)
    assert list(states[-1].name) == list(JOINTS)
    assert all(
        abs(measured - wanted) <= 0.51 * step for measured, wanted, step in zip(states[-1].position, POSTURE, STEPS)
    )
    assert np.allclose(states[-1].velocity, (0.1, -0.05, 0.02), atol=1e-3)
    assert pressures[-1].fluid_pressure == pytest.approx(6e6, abs=500.0)
    assert loads[-1].data == pytest.approx(5.0e4, abs=5.0)
    assert not valves, 'shadow'

    def drive(volts):
        """Arm and command; again where this computer has stood still for longer than signals may be old."""
        for _ in range(20):
            answers = []

            def armed(answers=answers):
                if arm.service_is_ready() and (
                    not answers or (answers[-1].done() and not answers[-1].result().success)
                ):
                    answers.append(arm.call_async(SetBool.Request(data=True)))
                return any(answer.done() and answer.result().success for answer in answers)

            until(armed)
            end = time.monotonic() + 3.0
            until(lambda end=end: moved(volts) or time.monotonic() > end, volts=volts)
            if moved(volts):
                return
        raise AssertionError([status for array in health[-4:] for status in array.status])

    def moved(volts):
        return bool(valves) and valves[-1].data[0] == pytest.approx(volts)

    def neutral_in_time(start, timeout):
        """Tell whether the machine got neutral commands in time; nothing is measured finer than its messages come."""
        until(lambda: any(at > start and volts == 0.0 for at, volts in arrivals), volts=None, seconds=10.0)
        first = next(at for at, volts in arrivals if at > start and volts == 0.0)
        longest = max(np.diff([at for at, _ in arrivals if start - 1.0 < at <= start]), default=0.1)
        late = first - start - timeout - scaled_timeout(0.02) - 2.0 * longest
        lateness.append(late)
        return late <= 0.0

    def in_time(end_commands, timeout):
        """Try again where it took longer: on a busy computer frames may wait in the wire that this test is."""
        for _ in range(TRIES):
            if pair[-1].poll() is not None:
                pair.append(Bridge('bridge', line[1], 'bridge'))
            drive(1.5)
            end_commands()
            if neutral_in_time(time.monotonic(), timeout):
                return
            start = time.monotonic()
            until(lambda start=start: time.monotonic() > start + 0.5)
        raise AssertionError(lateness)

    def kill_bridge():
        pair[-1].kill()
        pair[-1].wait()

    lateness = []
    in_time(lambda: None, 0.2)  # command_timeout of the bridge
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 0.5)
    in_time(kill_bridge, 0.1)  # timeout of the mapping
    status, errors = machine.stop()
    assert status == 0
    assert 'Traceback' not in errors


WRONG = [
    ({}, "parameter 'mapping': expected"),
    ({'mapping': 'nothing'}, 'config/can/nothing.yaml'),
    ({'mapping': 'log_loader', 'interface': 'slcan', 'channel': '/nowhere'}, "slcan '/nowhere'"),
    ({'mapping': 'log_loader', 'interface': 'udp_multicast'}, 'one of socketcan'),
]


def test_a_wrong_parameter_is_one_line():
    for (status, errors), (_, text) in zip(
        endings('can_bridge_node', *(parameters for parameters, _ in WRONG)), WRONG, strict=True
    ):
        assert status == 1
        assert text in errors
        assert 'Traceback' not in errors
