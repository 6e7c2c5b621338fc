"""Messages, stand-ins and processes for the tests of the nodes."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from asking import Question
from forking import start_module
from timeouts import scaled_timeout

from dyn_nodes.middleware import RUNTIME, Context, Node, SingleThreadedExecutor, deserialize_message, message
from dyn_nodes.nodes.stamps import stamp_of

JointState = message('sensor_msgs/msg/JointState')
Imu = message('sensor_msgs/msg/Imu')
JOINTS = ('swing_joint', 'boom_joint', 'stick_joint')
POSTURE = (0.0, 0.96, -1.83)
EFFORTS = (0.0, 2.0e5, -3.0e4)


class Outbox:
    """Stands where a publisher was; keeps copies, as nodes use one message again and again."""

    def __init__(self, kind: Any = None) -> None:
        self.messages: list[Any] = []
        self.msg_type = kind

    @classmethod
    def behind(cls, prepared: Any) -> Outbox:
        """Return a publisher that decodes the serialized messages of another one."""
        prepared.publisher = cls(prepared.publisher.msg_type)
        return prepared.publisher

    def publish(self, msg: Any) -> None:
        is_serialized = isinstance(msg, bytes)
        self.messages.append(deserialize_message(msg, self.msg_type) if is_serialized else copy.deepcopy(msg))

    def get_subscription_count(self) -> int:
        return 1

    @property
    def last(self) -> Any:
        return self.messages[-1]


def joint_state(
    time: float,
    position: Any = POSTURE,
    velocity: Any = (0.0, 0.0, 0.0),
    effort: Any = EFFORTS,
    names: Any = JOINTS,
) -> Any:
    """Return the joint states of a log-loader."""
    result = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    result.header.stamp = stamp_of(time)
    return result


def imu_message(
    at: float,
    omega: Any = (0.0, 0.0, 0.0),
    force: Any = (0.0, 0.0, 9.81),
    orientation: Any = (0.0, 0.0, 0.0, 1.0),
) -> Any:
    """Return an IMU message; `orientation` None: marked as absent."""
    msg = Imu()
    msg.header.stamp = stamp_of(at)
    for target, values in ((msg.angular_velocity, omega), (msg.linear_acceleration, force)):
        target.x, target.y, target.z = values
    if orientation is None:
        msg.orientation_covariance[0] = -1.0
    else:
        o = msg.orientation
        o.x, o.y, o.z, o.w = orientation
    return msg


class Status(NamedTuple):
    """A DiagnosticStatus with its level as a number: rclpy has a `bytes` of length one there."""

    level: int
    message: str
    values: list[Any]


def level_of(status: Any) -> int:
    """Return the level of a DiagnosticStatus on either runtime."""
    return status.level[0] if isinstance(status.level, bytes) else int(status.level)


def statuses(array: Any) -> dict[str, Status]:
    """Return the statuses of a DiagnosticArray by their subject."""
    return {
        status.name.partition(': ')[2]: Status(level_of(status), status.message, list(status.values))
        for status in array.status
    }


def values_of(status: Any) -> dict[str, str]:
    """Return the key-value pairs of a status."""
    return {pair.key: pair.value for pair in status.values}


class NodeProcess:
    """Runs a node of this package as a process, with the methods and attributes of `subprocess.Popen`."""

    def __init__(self, name: str, words: Sequence[str] = (), **parameters: Any) -> None:
        self.name = name
        environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': RUNTIME, 'PYTHONUNBUFFERED': '1'}
        outputs = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
        self.process = start_module(f'dyn_nodes.nodes.{name}', [*words_of(parameters), *words], environment, **outputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.process, name)

    def stop(self, number: int = signal.SIGINT, timeout: float = 10.0) -> tuple[int, str]:
        """Send a signal; return exit status and standard error."""
        self.send_signal(number)
        return self.finish(timeout)

    def finish(self, timeout: float = 60.0) -> tuple[int, str]:
        """Wait for the end; return exit status and standard error."""
        _, errors = self.communicate(timeout=scaled_timeout(timeout))
        return self.returncode, errors


ENDINGS = """
import importlib, json, os, sys, tempfile
main, ended = importlib.import_module(sys.argv[1]).main, []
for words in json.loads(sys.argv[2]):
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            status = main(words)
            sys.stderr.flush()
            os._exit(status)  # libraries end threads at exit that a fork has not
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        ended.append((os.waitstatus_to_exitcode(status), errors.read().decode()))
print(json.dumps(ended))
"""


def words_of(parameters: dict[str, Any]) -> list[str]:
    """Return the words of a command line that set the parameters of a node."""
    settings = [f'{key.replace("__", ".")}:={value}' for key, value in parameters.items()]
    return ['--ros-args', *(word for item in settings for word in ('-p', item))]


def endings(name: str, *cases: dict[str, Any]) -> list[tuple[int, str]]:
    """Return exit status and standard error of a node that ends by itself, for each case of its parameters.

    Each case has a process, forked from one that has imported the node, which is most of the work of such a start.
    """
    command = [sys.executable, '-c', ENDINGS, f'dyn_nodes.nodes.{name}', json.dumps([words_of(case) for case in cases])]
    environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': RUNTIME}
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=scaled_timeout(120), check=False
    )
    assert run.returncode == 0, run.stderr
    return [(status, errors) for status, errors in json.loads(run.stdout)]


class Tester:
    """A node of the test and the executor that spins it.

    Attributes:
        received: messages by topic, in the order of their arrival.
    """

    __test__ = False

    def __init__(self, context: Context) -> None:
        self.node = Node('tester', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.received: dict[str, list[Any]] = {}

    def listen(self, kind: str, topic: str, qos: Any = 100) -> list[Any]:
        """Subscribe; return the list that fills."""
        box = self.received.setdefault(topic, [])
        self.node.create_subscription(message(kind), topic, box.append, qos)
        return box

    def speak(self, kind: str, topic: str, qos: Any = 100) -> Any:
        """Return a publisher."""
        return self.node.create_publisher(message(kind), topic, qos)

    def until(self, condition: Callable[[], object], timeout: float = 20.0) -> None:
        """Spin until a condition holds."""
        deadline = time.monotonic() + scaled_timeout(timeout)
        while not condition():
            assert time.monotonic() < deadline, 'it did not happen in time'
            self.executor.spin_once(timeout_sec=0.01)

    def ask(self, kind: Any, name: str, request: Any = None, timeout: float = 200.0) -> Any:
        """Return the answer of a service; `kind` is its class. The request does no harm twice."""
        client = self.node.create_client(kind, name)
        question = Question(client, kind.Request() if request is None else request)
        self.until(question.is_answered, timeout)
        self.node.destroy_client(client)
        return question.answer

    def for_seconds(self, seconds: float) -> None:
        """Spin for a while."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)
