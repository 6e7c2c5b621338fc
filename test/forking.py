"""Processes of nodes, forked from one process that has imported them: imports are most of the work of a short test.

`start_module` is equivalent to `subprocess.Popen` with `python -m module words`. On the embedded runtime a server, one
for each process of tests, has imported the dependencies of the module, and forks; the child runs the module like
`python -m`, and ends like an interpreter. On rclpy, and if the environment differs from the server's in a
variable that an import may read, `python -m` is started.

    tests ── requests, with the descriptors of output ──> server ── fork ──> keeper ── fork ──> node
      ^───────────────── process id, then exit status ─────────────────────────┘
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import IO, Any

READ_LATER = {
    'CYCLONEDDS_URI',
    'PYTEST_CURRENT_TEST',
    'PYTHONUNBUFFERED',
    'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'ROS_DOMAIN_ID',
    'ROS_LOCALHOST_ONLY',
}
"""Variables that no import reads: they may differ between node and server."""


def start_module(
    module: str, words: Sequence[str], environment: Mapping[str, str], **options: Any
) -> subprocess.Popen | ForkedProcess:
    """Start a module as a program.

    Args:
        module: dotted name.
        words: of its command line.
        environment: all variables of the process.
        options: `stdout` and `stderr` as of `subprocess.Popen`; `text` and `start_new_session` too.
    """
    if can_fork(environment):
        return ForkedProcess(module, words, environment, **options)
    return subprocess.Popen([sys.executable, '-m', module, *words], env=dict(environment), **options)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a server can fork a node with these variables."""
    from dyn_nodes.middleware import RUNTIME  # not in the server, before the fork

    if RUNTIME != 'embedded' or environment.get('DYN_NODES_MIDDLEWARE', RUNTIME) != RUNTIME or sys.platform != 'linux':
        return False
    return fixed_part(environment) == fixed_part(server().environment)


def fixed_part(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an import may read; the runtime is the same with and without its variable."""
    return {key: value for key, value in environment.items() if key not in {*READ_LATER, 'DYN_NODES_MIDDLEWARE'}}


# --- the side of the tests ------------------------------------------------------------------------------------------


class Server:
    """The process that forks."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env={**os.environ, 'PYTHONUNBUFFERED': ''})
        theirs.close()
        atexit.register(self.close)

    def close(self) -> None:
        self.control.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@cache
def server() -> Server:
    return Server()


class ForkedProcess:
    """The part of `subprocess.Popen` that tests use, for a process that is not a child of this one."""

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
        start_new_session: bool = False,
    ) -> None:
        self.args = [module, *words]
        self.returncode: int | None = None
        self._readers: dict[IO, threading.Thread] = {}
        self._texts: dict[IO | None, Any] = {}
        self.stdout, out = _end_of(stdout, text, 1)
        self.stderr, error = (None, os.dup(out)) if stderr == subprocess.STDOUT else _end_of(stderr, text, 2)
        request = {
            'module': module,
            'words': list(words),
            'environment': dict(environment),
            'directory': os.getcwd(),
            'new_session': start_new_session,
        }
        self._line, theirs = socket.socketpair()
        socket.send_fds(server().control, [b'start'], [theirs.fileno(), out, error])
        for descriptor in (theirs.detach(), out, error):
            os.close(descriptor)
        self._answers = self._line.makefile('r')
        self._line.sendall(json.dumps(request).encode() + b'\n')
        self.pid = int(self._answers.readline())

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Return the rest of standard output and error after the end of the process."""
        for stream in (self.stdout, self.stderr):
            if stream is not None and stream not in self._readers and not stream.closed:
                self._readers[stream] = reader = threading.Thread(target=self._read, args=[stream], daemon=True)
                reader.start()
        self.wait(timeout)
        for stream, reader in self._readers.items():
            reader.join()
            stream.close()
        return self._texts.get(self.stdout), self._texts.get(self.stderr)

    def _read(self, stream: IO) -> None:
        self._texts[stream] = stream.read()


def _end_of(stream: Any, text: bool, inherited: int) -> tuple[IO | None, int]:
    """Return this process's end of an output, if it has one, and a descriptor of the other end."""
    if stream == subprocess.PIPE:
        here, there = os.pipe()
        return open(here, 'r' if text else 'rb'), there
    if stream == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    if stream is None:
        return None, os.dup(inherited)
    return None, os.dup(stream if isinstance(stream, int) else stream.fileno())


# --- the side of the server -----------------------------------------------------------------------------------------


def serve(control: socket.socket) -> dict[str, Any]:
    """Fork until the tests have ended; in each node, return the module to run."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C is for the tests and the nodes
    while True:
        word, descriptors, *_ = socket.recv_fds(control, 16, 3)
        if not word:
            break
        with socket.socket(fileno=descriptors[0]) as line, line.makefile('r') as lines:
            request = json.loads(lines.readline())
            prepare(request['module'])
            if os.fork() == 0:
                control.close()
                return keep(request, line, descriptors[1:])
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        reap(os.WNOHANG)
    reap(0)
    os._exit(0)


def reap(options: int) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


@cache
def prepare(module: str) -> None:
    """Import the dependencies of a module; the module itself runs later as the main module."""
    with contextlib.suppress(Exception):  # the node reports the error
        importlib.import_module(module)
    sys.modules.pop(module, None)


def keep(request: dict[str, Any], line: socket.socket, outputs: list[int]) -> dict[str, Any]:
    """Start a node and report its end; return in the node."""
    node = os.fork()
    if node == 0:
        become(request, outputs)
        return request
    for descriptor in outputs:
        os.close(descriptor)
    line.sendall(b'%d\n' % node)
    status = os.waitstatus_to_exitcode(os.waitpid(node, 0)[1])
    with contextlib.suppress(OSError):
        line.sendall(b'%d\n' % status)
    os._exit(0)


def become(request: dict[str, Any], outputs: list[int]) -> None:
    """Set outputs, variables, directory, arguments and signals as in a new interpreter."""
    for target, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, target)
    if request['new_session']:
        os.setsid()
    os.environ.clear()
    os.environ.update(request['environment'])
    os.chdir(request['directory'])
    sys.path[0] = request['directory']
    sys.argv = [request['module'], *request['words']]
    sys.stdout.reconfigure(line_buffering=bool(os.environ.get('PYTHONUNBUFFERED')))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


if __name__ == '__main__':
    wanted = serve(socket.socket(fileno=int(sys.argv[1])))
    os.closerange(3, 256)  # descriptors of the tests, the server and the keeper
    runpy.run_module(wanted['module'], run_name='__main__', alter_sys=True)
