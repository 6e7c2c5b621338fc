"""Calls with a mistake: arguments of the library, parameters of nodes, killed processes of a pool, a crowd at the page.

A call of the library ends in finite numbers or in a ValueError that names the expected value; a node is created or
rejects its parameters in printable lines; a pool returns the results of one process; a page accepts its operator.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import os
import random
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from unittest import mock

import numpy as np

from faults.files import VALUES, Journal, scaled_timeout

MOST_MEMORY = 1.0e6
"""Greatest growth of resident memory by a case, KiB."""
MACHINES = ('log_loader', 'excavator', 'arm_4r')
CALLS = {
    'mass_matrix': 1, 'gravity': 1, 'center_of_mass': 1, 'bias': 2, 'energy': 2, 'momentum': 2, 'inverse': 3,
    'forward': 3,
}  # fmt: skip
"""Methods of the dynamics, and the number of arrays of each."""
KINDS_OF_NUMBERS = ('complex', 'S4', 'object', 'float16', 'bool', 'datetime64[s]')
PIECES = 12


def wrong(rng: random.Random, count: int, depth: int = 0) -> Any:
    """Return a value that is no array of `count` finite numbers, or an array of absurd ones."""
    scalars = (None, True, 1j, '1', b'1', 10**400, float('nan'), float('inf'), -1e308, 5e-324, object(), {}, 'x' * 5000)
    choice = rng.randrange(6 if depth < 2 else 2)
    if choice < 2:
        return rng.choice(scalars)
    length = rng.choice((0, 1, count - 1, count, count, count + 1, 1000))
    if choice == 2:
        return [wrong(rng, count, depth + 1) for _ in range(min(length, 20))]
    numbers = np.array([rng.gauss(0.0, 10.0 ** rng.choice((0, 3, 100, 300))) for _ in range(length)])
    if choice == 3:
        return numbers.astype(
            rng.choice(('complex', 'S4', 'object', 'float16', 'bool', 'datetime64[s]')), 'K', 'unsafe'
        )
    return numbers.reshape((rng.choice((1, -1)), max(length, 1)) if rng.random() < 0.5 and length else -1)


@functools.cache
def _dynamics(name: str) -> Any:
    import dyn_nodes.library as dn

    return dn.load(name).dynamics()


def _library(rng: random.Random) -> Iterator[str]:
    dynamics = _dynamics(rng.choice(MACHINES))
    count = len(dynamics._machine.movable_joints)
    call = rng.choice(list(CALLS))
    arguments = [np.full(count, 0.1) for _ in range(CALLS[call])]
    with np.errstate(all='ignore'):
        arguments[rng.randrange(len(arguments))] = wrong(rng, count)
        try:
            result = getattr(dynamics, call)(*arguments)
        except ValueError as error:
            if 'expected' not in str(error) or not str(error).isprintable():
                yield f'{call}: an error without expectation: {str(error)!r}'
            return
    if not np.isfinite(np.asarray(result, dtype=float)).all():
        yield f'{call}: a result that is not finite'


def _parameter(rng: random.Random) -> Iterator[str]:
    """Create a node with one parameter of another type, misspelt or absurd."""
    from dyn_nodes.nodes.parameters import node_parameters
    from dyn_nodes.nodes.running import START_ERRORS, NotNeeded
    from faults.messages import NODES, node_of
    from faults.starts import misspelt

    name = rng.choice(list(NODES))
    module, _, values = NODES[name]
    key = rng.choice(sorted(values) + [parameter.name for parameter in node_parameters(module)])
    text = str(values.get(key, ''))
    value = rng.choice((*VALUES, 1, -1, 0.0, 1e308, float('nan'), True, ['a', ''], [1.0, -1.0], [b'1']))
    value = misspelt(text, rng) if len(text) > 3 and rng.random() < 0.5 else value
    try:
        with contextlib.redirect_stderr(io.StringIO()), node_of(name, changes={key: value}):
            pass
    except (*START_ERRORS, NotNeeded) as error:
        if not all(line.isprintable() for line in str(error).split('\n')):
            yield f'{name}: {key}: an error that is no line: {str(error)[:100]!r}'


def piece(work: tuple[str, int]) -> int:
    """Return the square of a number; the first time, if the folder requests it, the process is killed meanwhile."""
    folder, number = work
    mark = Path(folder) / str(number)
    if mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def _pool(rng: random.Random) -> Iterator[str]:
    from dyn_nodes.common.processes import LastingPool

    with tempfile.TemporaryDirectory() as folder:
        for number in rng.sample(range(PIECES), rng.choice((1, 1, 2, 3))):
            (Path(folder) / str(number)).touch()
        with LastingPool(rng.choice((1, 2))) as pool:
            results = list(pool.map(piece, [(folder, number) for number in range(PIECES)], rng.choice((1, 2, 5))))
    if results != [number * number for number in range(PIECES)]:
        yield f'other results: {results}'


@functools.cache
def _cockpit() -> Any:
    from dyn_nodes.viewer.cockpit import Cockpit

    return Cockpit('127.0.0.1', 0, 'faults')


def _request(rng: random.Random, token: str) -> bytes:
    """Return the websocket request of a browser with this token."""
    import viser

    address = f'127.0.0.1:{_cockpit().port}'
    key = base64.b64encode(rng.randbytes(16)).decode()
    return (
        f'GET /?token={token} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
        f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: viser-v{viser.__version__}'
        f'\r\nOrigin: http://{address}\r\n\r\n'
    ).encode()


def _answer(connection: socket.socket) -> str:
    try:
        return connection.recv(12).decode(errors='replace')
    except OSError as error:
        return type(error).__name__


def _page(rng: random.Random) -> Iterator[str]:
    """Open the page many times without the token, then as the operator."""
    page, wrong = _cockpit(), rng.randbytes(12).hex()
    whole = _request(rng, '').replace(b'?token=', b'')
    crowd = (b'', whole[: rng.randrange(len(whole))], _request(rng, wrong), whole, whole, rng.randbytes(300))
    with contextlib.ExitStack() as stack:

        def opened(request: bytes) -> socket.socket:
            made = stack.enter_context(socket.create_connection(('127.0.0.1', page.port), scaled_timeout(10.0)))
            made.settimeout(scaled_timeout(10.0))
            made.sendall(request)
            return made

        for request in [rng.choice(crowd) for _ in range(rng.choice((1, 20, 40, 100)))]:
            made = opened(request)
            if request == crowd[2] and not (answer := _answer(made)).endswith('403'):
                yield f'a wrong token: {answer!r}'
        if not (answer := _answer(opened(_request(rng, page.gate.access.token)))).endswith('101'):
            yield f'the operator is kept out: {answer!r}'


def _wait(rng: random.Random) -> Iterator[str]:
    """Make a demonstration compile, advance and stop: it ends after its limit without progress, not before."""
    from dyn_nodes.commands import demo_run
    from dyn_nodes.commands.live_state import LiveState

    now, idle, simulated = 0.0, 0.0, 0.0
    labels = [f'{name}-{k}' for k, name in enumerate(('controller_node', 'dynamics_node', 'viewer_node'))]
    nodes = [SimpleNamespace(name=node.partition('-')[0], label=node, running=True, returncode=None) for node in labels]
    session: Any = SimpleNamespace(stopping=False, children=nodes, request_stop=lambda reason: None)
    with mock.patch.object(demo_run, 'time', SimpleNamespace(monotonic=lambda: now)):
        state = LiveState('m', 24.0)
        watcher = demo_run._Watcher(session, state, demo_run.DemoRun(Path(), Path()))
        busy: set[str] = set()
        while now < 3000.0 and idle <= demo_run.STANDSTILL:
            event, label, step = (
                rng.choice(('compile', 'done', 'time', 'nothing')),
                rng.choice(labels),
                rng.choice((5.0, 50.0)),
            )
            if event == 'compile' or (event == 'done' and label in busy):
                text = 'compiling m, once, about 20 s' if event == 'compile' else 'compiled in 7 s'
                state.add_line(f'[{label}] [INFO] [1.0] [{label.partition("-")[0]}]: {text}')
                (busy.add if event == 'compile' else busy.discard)(label)
            now, moved = now + step, event == 'time' and rng.random() < 0.2
            if moved:
                simulated += 0.1
                state.set_time(simulated, now)
            idle = 0.0 if moved or busy else idle + step
            watcher.check()
            if bool(watcher.failure) != (idle > demo_run.STANDSTILL):
                yield f'{idle:g} s without progress, {sorted(busy)} compile: {watcher.failure!r}'
                return


KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    'library': _library,
    'parameter': _parameter,
    'pool': _pool,
    'page': _page,
    'wait': _wait,
}


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Make the calls from `start` to `end`; print a line at each start and one for each fault."""
    for name in MACHINES:
        _dynamics(name)
    journal = Journal(out, MOST_MEMORY)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for number in range(start, end):
            kind = list(KINDS)[number % len(KINDS)]
            journal.enter(number, kind, KINDS[kind](random.Random(f'call {seed} {number}')))
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
