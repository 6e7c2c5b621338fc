"""Clocks that jump, and compiled code that is damaged."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dyn_nodes.middleware import message, service
from faults import computer
from faults.processes import MOVING, Machine, Outcome
from faults.setups import ALONE

JUMPING = """
import runpy, sys, time
jump, start = float(sys.argv.pop(1)), time.monotonic()
for name, unit in (('time', 1.0), ('time_ns', 1_000_000_000)):
    def jumped(real=getattr(time, name), unit=unit):
        return real() + type(unit)(jump * unit) if time.monotonic() - start > 3.0 else real()
    setattr(time, name, jumped)
sys.argv[0] = sys.argv[1]
runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)
"""
"""Runs a module whose wall clock jumps by a number of seconds, 3 s after the start."""


def wall_clock() -> Iterator[Outcome]:
    """Make the wall clock jump while a node runs in real time."""
    words = [word for word in computer.DYNAMICS[1:] if word != 'mode:=lockstep' and not word.startswith('duration')]
    for jump in (3600.0, -3600.0, 3e8):
        mode = ['mode:=realtime', '-p', 'duration:=2.0']
        index = words.index('machine:=log_loader') + 2
        command = ['-c', JUMPING, str(jump), *words[:index], *mode, *words[index:-1]]
        yield computer.run_command(f'wall clock jumps by {jump:g} s', command, computer.environment(), (0,))


@contextlib.contextmanager
def _running(mode: str, outcome: Outcome) -> Iterator[Machine]:
    machine = Machine(mode, int(os.environ.get('ROS_DOMAIN_ID', '46')), ALONE)
    try:
        for name in ALONE.chain:
            machine.start(name)
        if not machine.until(lambda: machine.fastest > MOVING):
            outcome.faults.append('the machine does not start')
        yield machine
        if not machine.moves():
            outcome.faults.append('simulated time does not continue')
        for name, process in machine.processes.items():
            if process.poll() is not None:
                outcome.faults.append(f'{name} has ended with status {process.returncode}')
        outcome.seen += f'fastest joint {machine.fastest:.2f} rad/s'
        if not machine.fastest < ALONE.fastest:
            outcome.faults.append(f'a joint moved with {machine.fastest:g} rad/s')
    finally:
        outcome.faults += machine.close()


def simulated_clock() -> Iterator[Outcome]:
    """Set simulated time back by a reset; publish a wrong clock by another node."""
    for mode in ('lockstep', 'realtime'):
        outcome = Outcome(f'{mode}: simulated time goes back')
        with _running(mode, outcome) as machine:
            client = machine.node.create_client(service('std_srvs/srv/Trigger'), 'dynamics_node/reset')
            machine.until(client.service_is_ready)
            before = machine.time
            client.call_async(service('std_srvs/srv/Trigger').Request())
            if not machine.until(lambda before=before, made=machine: made.time < before):
                outcome.faults.append('no reset')
        yield outcome
        outcome = Outcome(f'{mode}: another clock, an hour ahead and back')
        with _running(mode, outcome) as machine:
            kind = message('rosgraph_msgs/msg/Clock')
            publisher = machine.node.create_publisher(kind, '/clock', 10)
            for seconds in (3600, 0, 2**31 - 1, 1):
                wrong = kind()
                wrong.clock.sec = seconds
                publisher.publish(wrong)
                machine.until(lambda: False, 0.5)
        yield outcome


def damaged_cache() -> Iterator[Outcome]:
    """Damage every file of compiled code, in several ways, and start a node with it."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as directory:
        environment = computer.environment(DYN_NODES_CACHE=directory)
        yield computer.run_command('an empty cache of compiled code', computer.DYNAMICS, environment, (0,))
        for damage in ('cut', 'changed', 'emptied', 'not readable'):
            for path in sorted(Path(directory).rglob('*')):
                if path.is_file():
                    _damage(path, damage, rng)
            name = f'compiled code that is {damage}'
            yield computer.run_command(name, computer.DYNAMICS, environment, (0,))


def _damage(path: Path, damage: str, rng: random.Random) -> None:
    data = path.read_bytes()
    if damage == 'cut':
        path.write_bytes(data[: len(data) // 2])
    elif damage == 'changed' and data:
        k = rng.randrange(len(data))
        path.write_bytes(data[:k] + bytes([data[k] ^ 0x55]) + data[k + 1 :])
    elif damage == 'emptied':
        path.write_bytes(b'')
    elif damage == 'not readable':
        path.unlink()
        path.mkdir()


PARTS = (wall_clock, simulated_clock, damaged_cache)
"""Functions that yield outcomes."""
