"""Nodes that die, stop and return: joints stay within their speeds, no node prints a traceback or hangs."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dyn_nodes.middleware import Context, Node, SingleThreadedExecutor, init, message
from dyn_nodes.middleware.bags import BagError, bag_summary
from dyn_nodes.nodes.exchange import data_qos
from faults.files import scaled_timeout
from faults.setups import LOG_LOADER, Setup

TwistStamped = message('geometry_msgs/msg/TwistStamped')

ROOT = Path(__file__).resolve().parents[1]
MODES = ('lockstep', 'realtime')
WITHOUT_MODE = ('stability_monitor_node', 'recorder_node', 'viewer_node', 'teleop_node', 'can_bridge_node')
MOVING = 0.03
"""Greatest joint speed without failures, rad/s."""
TWIST_PERIOD = 0.1
"""Simulated time between two commands of the machine, s."""
AWAY = 2.0
"""Wall time without the node, s."""
TIMEOUT = 300.0
"""Timeout on an idle computer, s: the first start compiles."""


@dataclass
class Outcome:
    """Result of one case or of several: observations and faults."""

    name: str
    seen: str = ''
    faults: list[str] = field(default_factory=list)
    cases: int = 1

    @property
    def passed(self) -> bool:
        """Return whether there are no faults."""
        return not self.faults


class Machine:
    """The nodes of a machine as processes, and a node that monitors them.

    Args:
        mode: `lockstep` or `realtime`.
        domain: ROS_DOMAIN_ID of them all.
        setup: machine and nodes.
    """

    def __init__(self, mode: str, domain: int, setup: Setup = LOG_LOADER) -> None:
        self.mode, self.setup = mode, setup
        self.environment = {'DYN_NODES_MIDDLEWARE': 'embedded', **os.environ, 'ROS_DOMAIN_ID': str(domain)}
        # a shell starts background processes with SIGINT ignored, and children would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.errors: dict[str, IO[bytes]] = {}
        self.directory = tempfile.TemporaryDirectory()
        self.bags = 0
        self.context = Context()
        init(args=['watcher'], context=self.context, domain_id=domain)
        self.node = Node('watcher', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.count, self.time, self.fastest = 0, 0.0, 0.0
        kind = message('sensor_msgs/msg/JointState')
        self.node.create_subscription(kind, 'joint_states', self._on_joint_states, data_qos(mode == 'lockstep'))
        self.leader = self.node.create_publisher(TwistStamped, setup.twist, 10) if setup.twist else None
        self._led = 0.0

    def _lead(self) -> None:
        """Move the machine to and fro: half a second of simulated time forwards, half a second backwards."""
        if self.leader is None or not abs(self.time - self._led) >= TWIST_PERIOD:
            return
        self._led = self.time
        msg = TwistStamped()
        msg.header.frame_id = self.setup.frame
        msg.twist.linear.x = 0.2 if self.time % 1.0 < 0.5 else -0.2
        self.leader.publish(msg)

    def _on_joint_states(self, msg: Any) -> None:
        self.count += 1
        self.time = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
        speeds = [abs(value) for value in msg.velocity]
        self.fastest = max([self.fastest, *(value if math.isfinite(value) else math.inf for value in speeds)])
        self._lead()

    def start(self, name: str) -> None:
        """Start a node."""
        self.errors.setdefault(name, tempfile.TemporaryFile())  # noqa: SIM115
        words = ['--ros-args', *self.setup.words(name, Path(self.directory.name))]
        if name == 'recorder_node':
            self.bags += 1
            words += ['-p', f'directory:={self.directory.name}/bag_{self.bags}']
        else:
            words += ['-p', f'machine:={self.setup.machine}']
        if name not in WITHOUT_MODE:
            words += ['-p', f'mode:={self.mode}']
            if name != 'dynamics_node':  # which is the clock
                words += ['-p', 'use_sim_time:=true']
        command = [sys.executable, '-m', f'dyn_nodes.nodes.{name}', *words]
        self.processes[name] = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=self.errors[name]
        )

    def is_up(self, name: str) -> bool:
        """Return whether a node is in the graph."""
        return name in self.node.get_node_names()

    def until(self, condition: Callable[[], object], timeout: float | None = None) -> bool:
        """Spin until a condition holds; return False after `timeout` s, by default `TIMEOUT` scaled to the load."""
        start = time.monotonic()
        while not condition():
            if time.monotonic() - start > (scaled_timeout(TIMEOUT) if timeout is None else timeout):
                return False
            self.executor.spin_once(timeout_sec=0.05)
        return True

    def moves(self, seconds: float = 0.3) -> bool:
        """Spin until simulated time has moved on by `seconds`; a step back of time restarts the count."""
        start = [self.time]

        def moved() -> bool:
            start[0] = min(start[0], self.time)
            return self.time - start[0] > seconds

        return self.until(moved)

    def close(self) -> list[str]:
        """Stop all nodes; return the faults while they ran and at their end."""
        faults = []
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
        for name, process in self.processes.items():
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                faults.append(f'{name} did not end within 60 s of SIGINT')
                process.kill()
                process.wait()
        for name in self.errors:
            faults += self.tracebacks(name)
            self.errors[name].close()
        for bag in Path(self.directory.name).glob('bag_*'):
            try:
                bag_summary(bag)
            except BagError as error:
                faults.append(f'a bag of a recorder that failed: {error}')
        self.directory.cleanup()
        self.node.destroy_node()
        self.context.try_shutdown()
        return faults

    def tracebacks(self, name: str) -> list[str]:
        """Return and remove the traceback that a node has printed, if any."""
        file = self.errors[name]
        file.seek(0)
        text = file.read().decode(errors='replace')
        file.seek(0)
        file.truncate()
        return (
            [f'{name} printed a traceback: {text[text.index("Traceback") :][-300:]!r}'] if 'Traceback' in text else []
        )


def fail_node(machine: Machine, name: str, action: str) -> Outcome:
    """Make one node of a running machine fail and return."""
    outcome = Outcome(case_name(machine.setup, machine.mode, name, action))
    machine.fastest = 0.0
    victim = machine.processes[name]
    victim.send_signal({'kill': signal.SIGKILL, 'stop': signal.SIGSTOP, 'terminate': signal.SIGTERM}[action.split()[0]])
    before = machine.time
    machine.until(lambda: False, AWAY)
    outcome.seen = f'{machine.time - before:.2f} s of simulated time in {AWAY:g} s without it'
    if action.startswith('stop'):
        victim.send_signal(signal.SIGCONT)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(60.0)
        if victim.poll() is None:
            outcome.faults.append(f'{name} did not end')
            victim.kill()
            victim.wait()
        machine.until(lambda: not machine.is_up(name), 20.0)  # a killed node leaves the graph later
        machine.start(name)
        if not machine.until(lambda: machine.is_up(name)):
            outcome.faults.append(f'{name} does not come back')
    start = time.monotonic()
    if not machine.moves():
        outcome.faults.append('simulated time does not continue after its return')
    outcome.seen += (
        f', continues {time.monotonic() - start:.1f} s after its return; fastest joint {machine.fastest:.2f} rad/s'
    )
    for other, process in machine.processes.items():
        if process.poll() is not None:
            outcome.faults.append(f'{other} has ended with status {process.returncode}')
        outcome.faults += machine.tracebacks(other)
    if not machine.fastest < machine.setup.fastest:
        outcome.faults.append(f'a joint moved with {machine.fastest:g} rad/s')
    return outcome


def case_name(setup: Setup, mode: str, node: str, action: str) -> str:
    """Return the name of a case; without the machine for the machine with all nodes."""
    return f'{mode}: {"" if setup is LOG_LOADER else f"{setup.machine}: "}{node}: {action}'


def run(
    mode: str, chosen: Sequence[tuple[str, str]], domain: int | None = None, setup: Setup = LOG_LOADER
) -> Iterator[Outcome]:
    """Yield the outcomes of failures (node, action), one after another on one machine; after a fault on a new one.

    Args:
        mode: `lockstep` or `realtime`.
        chosen: failures.
        domain: ROS_DOMAIN_ID; None: of the environment, or 40.
        setup: the machine and its nodes.
    """
    number = int(os.environ.get('ROS_DOMAIN_ID', '40')) if domain is None else domain
    left = list(chosen)
    while left:
        machine = Machine(mode, number, setup)
        outcome = Outcome(f'{mode}: start')
        try:
            for name in setup.nodes:
                machine.start(name)
            is_running = machine.until(lambda made=machine: made.fastest > MOVING and all(map(made.is_up, setup.nodes)))
            while left and outcome.passed:
                name, action = left.pop(0)
                outcome = Outcome(case_name(setup, mode, name, action))
                if is_running:
                    outcome = fail_node(machine, name, action)
                else:
                    outcome.faults.append('the machine does not start')
                if left and outcome.passed:
                    yield outcome
        finally:
            outcome.faults += machine.close()
        yield outcome
