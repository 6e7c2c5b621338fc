"""Nodes in separate processes: topics both ways, signals, late joiners, latency."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from roslite.runtime.api import HistoryPolicy, QoSProfile, message

JointState = message('sensor_msgs/msg/JointState')
Float64 = message('std_msgs/msg/Float64')


PROBE = JointState(name=['probe'])


def connect(node, spinner, callback):
    """Return a publisher whose messages return: both ends have matched, which happens at different times."""
    answered = []

    def on_pong(msg):
        (answered.append if msg.name == PROBE.name else callback)(msg)

    publisher = node.create_publisher(JointState, 'ping', 10)
    subscription = node.create_subscription(JointState, 'pong', on_pong, 10)
    spinner.until(lambda: publisher.get_subscription_count() and subscription.get_publisher_count())
    spinner.until(lambda: answered or publisher.publish(PROBE))  # messages are lost until the other end has matched
    return publisher


def test_topics_work_both_ways_between_processes(node, spinner, start):
    child = start('echo.py', '--ros-args', '-p', 'gain:=2.0')
    child.wait_for_line('ready')
    got = []
    publisher = connect(node, spinner, got.append)
    for value in range(5):
        publisher.publish(JointState(name=['boom'], position=[float(value)]))
    spinner.until(lambda: len(got) == 5)
    assert [msg.position[0] for msg in got] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert got[0].name == ['boom']


def test_messages_and_answers_alternate_between_processes(node, spinner, start):
    child = start('echo.py')
    child.wait_for_line('ready')
    names, got = ['swing', 'boom', 'stick', 'grapple'], []

    def send():
        four = [float(len(got)), 2.0, 3.0, 4.0]
        publisher.publish(JointState(name=names, position=four, velocity=four, effort=four))

    def on_pong(msg):
        got.append(msg.position[0])
        send()

    publisher = connect(node, spinner, on_pong)
    send()
    spinner.until(lambda: len(got) >= 1500)
    assert got[:1500] == list(range(1500)), 'each once, in their order; benchmarks/middleware_latency.py has the times'


@pytest.mark.parametrize(
    ('number', 'line'), [(signal.SIGINT, 'KeyboardInterrupt'), (signal.SIGTERM, 'ExternalShutdownException')]
)
def test_a_plain_node_ends_cleanly_on_a_signal(node, spinner, start, number, line):
    child = start('plain.py')
    child.wait_for_line('ready')
    spinner.until(lambda: ('plain', '/') in node.get_node_names_and_namespaces())
    start_time = time.monotonic()
    child.send_signal(number)
    assert line in child.wait_for_line(line)
    code = child.wait(timeout=2.0)
    _, errors = child.communicate()
    assert code == 0
    assert errors == ''
    assert time.monotonic() - start_time < 2.0
    spinner.until(lambda: ('plain', '/') not in node.get_node_names_and_namespaces(), timeout=2.0)


def test_a_node_under_the_context_manager_ends_cleanly(start):
    child = start('echo.py')
    child.wait_for_line('ready')
    code, errors, seconds = child.stop(signal.SIGTERM)
    assert (code, errors) == (0, '')
    assert seconds < 2.0


def test_a_process_that_is_killed_disappears_after_its_lease(node, spinner, start):
    child = start('plain.py')
    child.wait_for_line('ready')
    spinner.until(lambda: ('plain', '/') in node.get_node_names_and_namespaces())
    child.kill()
    spinner.until(lambda: ('plain', '/') not in node.get_node_names_and_namespaces(), timeout=8.0)


def test_a_process_that_starts_late_gets_the_latched_message(node, spinner, start):
    from roslite.runtime.api import DurabilityPolicy, QoSProfile

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(message('std_msgs/msg/String'), 'robot_description', latched)
    publisher.publish(message('std_msgs/msg/String')(data='<robot/>'))
    child = start('latched.py')
    assert child.wait_for_line('got') == 'got <robot/>\n'


def test_arguments_reach_a_process(node, spinner, start):
    child = start('plain.py', '--ros-args', '-r', '__node:=other', '-r', '__ns:=/yard', '-r', 'value:=/renamed')
    child.wait_for_line('ready')
    spinner.until(lambda: ('other', '/yard') in node.get_node_names_and_namespaces())
    got = []
    node.create_subscription(Float64, '/renamed', got.append, 10)
    spinner.until(lambda: got)


#: Configuration by rmw_cyclonedds_cpp for ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST: it keeps the default interface.
RMW_LOCALHOST = (
    '<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General><Discovery>'
    '<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>'
    '<Peers><Peer address="localhost"/></Peers></Discovery></Domain></CycloneDDS>'
)


def test_a_process_with_the_localhost_configuration_of_ros_sends_and_receives(node, spinner, start):
    child = start('echo.py', CYCLONEDDS_URI=RMW_LOCALHOST)
    child.wait_for_line('ready')
    got = []
    publisher = connect(node, spinner, got.append)
    publisher.publish(JointState(name=['boom'], position=[1.0]))
    spinner.until(lambda: got)
    assert got[0].position[0] == 1.0


def test_a_publisher_that_keeps_all_waits_for_a_stopped_reader_and_loses_nothing(node, spinner, start):
    String = message('std_msgs/msg/String')
    child = start('counter.py')
    child.wait_for_line('ready')
    publisher = node.create_publisher(String, 'stream', QoSProfile(history=HistoryPolicy.KEEP_ALL))
    spinner.until(publisher.get_subscription_count)
    child.send_signal(signal.SIGSTOP)
    resumed = []

    def resume():
        resumed.append(time.monotonic())
        child.send_signal(signal.SIGCONT)

    timer = threading.Timer(0.5, resume)
    timer.start()
    padding = 'x' * 1000
    for number in range(5000):
        publisher.publish(String(data=f'{number} {padding}'))
    finished = time.monotonic()
    publisher.publish(String(data='end'))
    assert child.wait_for_line('counted') == 'counted 5000 True\n'
    timer.join()
    assert finished > resumed[0]  # it had to wait, and the thread of the timer could run meanwhile


def test_interrupts_do_no_harm_in_the_machine_code_of_dds(start):
    child = start('interrupted.py', '2.0')
    line = child.wait_for_line('finished after')
    assert child.wait(timeout=10.0) == 0
    assert int(line.split()[2]) > 50, line


def test_the_earlier_handler_is_restored_after_the_last_context(make_context):
    before = signal.getsignal(signal.SIGINT)
    first, second = make_context(), make_context()
    assert signal.getsignal(signal.SIGINT) is not before
    first.try_shutdown()
    assert signal.getsignal(signal.SIGINT) is not before
    second.try_shutdown()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_ends_even_if_the_domain_does_not(start):
    child = start('stuck.py')
    child.wait_for_line('ready')
    assert child.wait(timeout=10.0) == 0
    assert child.communicate()[1] == ''
