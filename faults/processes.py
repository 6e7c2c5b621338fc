"""Nodes that die, stand still and come back: joints stay within their speeds, no node prints a traceback or hangs."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dyn_nodes.middleware import Context, Node, SingleThreadedExecutor, init, message
from dyn_nodes.nodes.exchange import data_qos

ROOT = Path(__file__).resolve().parents[1]
MACHINE = 'log_loader'
NODES = ('dynamics_node', 'hydraulic_actuator_node', 'controller_node')
ACTIONS = ('kill and start again', 'stop and continue', 'terminate and start again')
FASTEST = 3.0
"""No joint of the machine is faster, rad/s, whatever fails."""
PATIENCE = 180.0
"""Wall time in which a thing must happen, s: the computer may be busy, the first start compiles."""


@dataclass
class Outcome:
    """What came of one case: what was seen, and what went wrong."""

    name: str
    seen: str = ''
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True where nothing went wrong."""
        return not self.faults


class Machine:
    """The nodes of a machine as processes, and a node that watches them.

    Args:
        mode: `lockstep` or `realtime`.
        domain: ROS_DOMAIN_ID of them all.
    """

    def __init__(self, mode: str, domain: int) -> None:
        self.mode = mode
        self.environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'DYN_NODES_MIDDLEWARE': 'embedded'}
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.errors: dict[str, IO[bytes]] = {}
        self.context = Context()
        init(args=['watcher'], context=self.context)
        self.node = Node('watcher', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.count, self.time, self.fastest = 0, 0.0, 0.0
        kind = message('sensor_msgs/msg/JointState')
        self.node.create_subscription(kind, 'joint_states', self._on_joint_states, data_qos(mode == 'lockstep'))

    def _on_joint_states(self, msg: Any) -> None:
        self.count += 1
        self.time = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
        speeds = [abs(value) for value in msg.velocity]
        self.fastest = max([self.fastest, *(value if math.isfinite(value) else math.inf for value in speeds)])

    def start(self, name: str) -> None:
        """Start a node."""
        self.errors.setdefault(name, tempfile.TemporaryFile())  # noqa: SIM115
        words = ['--ros-args', '-p', f'machine:={MACHINE}', '-p', f'mode:={self.mode}']
        if name == 'dynamics_node':  # as the launch files do: it then notices a partner that comes back
            words += ['-p', f'wait_for:=[{", ".join(NODES[1:])}]']
        if name == 'controller_node':
            words += ['-p', 'task:=pick_and_place_recovery']
        command = [sys.executable, '-m', f'dyn_nodes.nodes.{name}', *words]
        self.processes[name] = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=self.errors[name]
        )

    def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> bool:
        """Spin until a condition holds; False where it does not in time."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.executor.spin_once(timeout_sec=0.05)
        return True

    def moves(self, seconds: float = 0.3) -> bool:
        """Spin until simulated time has moved on by `seconds`; time that goes back starts the count again."""
        start = [self.time]

        def moved() -> bool:
            start[0] = min(start[0], self.time)
            return self.time - start[0] > seconds

        return self.until(moved)

    def close(self) -> list[str]:
        """Stop all nodes; return what went wrong in their lives and at their end."""
        faults = []
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
        for name, process in self.processes.items():
            try:
                process.wait(30.0)
            except subprocess.TimeoutExpired:
                faults.append(f'{name} did not end within 30 s of SIGINT')
                process.kill()
                process.wait()
        for name, file in self.errors.items():
            file.seek(0)
            text = file.read().decode(errors='replace')
            if 'Traceback' in text:
                faults.append(f'{name} printed a traceback: {text[text.index("Traceback") :][-200:]!r}')
            file.close()
        self.node.destroy_node()
        self.context.try_shutdown()
        return faults


def fail_node(name: str, action: str, mode: str, domain: int) -> Outcome:
    """Let one node fail while the machine works, and come back."""
    outcome = Outcome(f'{mode}: {name}: {action}')
    machine = Machine(mode, domain)
    try:
        for other in NODES:
            machine.start(other)
        if not machine.moves():
            outcome.faults.append('the machine does not start')
            return outcome
        victim = machine.processes[name]
        victim.send_signal(
            {'kill': signal.SIGKILL, 'stop': signal.SIGSTOP, 'terminate': signal.SIGTERM}[action.split()[0]]
        )
        before = machine.time
        machine.until(lambda: False, 3.0)
        outcome.seen = f'{machine.time - before:.2f} s of simulated time in 3 s without it'
        if action.startswith('stop'):
            victim.send_signal(signal.SIGCONT)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                victim.wait(30.0)
            if victim.poll() is None:
                outcome.faults.append(f'{name} did not end')
                victim.kill()
            machine.start(name)
        if not machine.moves():
            outcome.faults.append('simulated time does not go on after it came back')
        for other, process in machine.processes.items():
            if process.poll() is not None:
                outcome.faults.append(f'{other} has ended with status {process.returncode}')
        outcome.seen += f'; fastest joint {machine.fastest:.2f} rad/s'
        if not machine.fastest < FASTEST:
            outcome.faults.append(f'a joint moved with {machine.fastest:g} rad/s')
    finally:
        outcome.faults += machine.close()
    return outcome


def cases() -> list[tuple[str, str, str]]:
    """Return (node, action, mode) of all cases."""
    return [(name, action, mode) for mode in ('lockstep', 'realtime') for name in NODES for action in ACTIONS]


def run(count: int, domain: int = 40) -> list[Outcome]:
    """Run the first `count` cases."""
    return [fail_node(name, action, mode, domain + k % 8) for k, (name, action, mode) in enumerate(cases()[:count])]
