"""How a node's process ends: once, quietly, and in bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from dyn_nodes.nodes import composition_node
from dyn_nodes.nodes.ending import EndWatch

START = """
    import ctypes, sys, time
    from dyn_nodes.nodes import running

    class Stub:
        def destroy_node(self):
            print('ending', flush=True)
            time.sleep(1.0)
            print('ended', flush=True)

    def wait(node):
        print('ready', flush=True)
        while True:
            time.sleep(0.05)
"""


@pytest.fixture
def program():
    started = []

    def start(text: str) -> subprocess.Popen:
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(1 + os.getpid() % 95)}
        code = textwrap.dedent(START) + textwrap.dedent(text)
        process = subprocess.Popen(
            [sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize('signals', [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)])
def test_a_second_signal_does_not_interrupt_the_end_that_the_first_one_began(program, signals):
    """Ctrl-C reaches a launched node twice: from the terminal and from the launcher."""
    loop = 'wait' if signals[0] == signal.SIGINT else 'running.spin'
    make = 'Stub' if signals[0] == signal.SIGINT else 'Spun'
    process = program(f"""
        from dyn_nodes.middleware import Node
        class Spun(Node):
            def __init__(self):
                super().__init__('spun')
                self.create_timer(0.05, lambda: print('ready', flush=True))
            def destroy_node(self):
                Stub.destroy_node(self)
                super().destroy_node()
        sys.exit(running.run_node('stub', {make}, ['stub'], {loop}))
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signals[0])
    while process.stdout.readline() != 'ending\n':
        pass
    process.send_signal(signals[1])
    out, errors = process.communicate(timeout=30)
    assert (out, errors, process.returncode) == ('ended\n', '', 0)


def test_an_interrupt_that_the_interpreter_drops_in_a_finalizer_ends_a_node_quietly(program):
    process = program("""
        class Slow:
            def __del__(self):
                print('ready', flush=True)
                time.sleep(2.0)

        def drop(node):
            slow = Slow()
            del slow
            while True:
                time.sleep(0.05)

        sys.exit(running.run_node('stub', Stub, ['stub'], drop))
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(timeout=30), process.returncode) == ('ending\nended\n', '', 0)


def test_an_interrupt_that_compiled_code_drops_ends_the_creation_of_composed_nodes(program):
    """LLVM calls Python by ctypes, which drops exceptions."""
    process = program("""
        from dyn_nodes.nodes import ending

        @ctypes.CFUNCTYPE(None)
        def call():
            print('ready', flush=True)
            time.sleep(0.2)
            for _ in range(10**5):
                pass

        watch = ending.EndWatch('stub', 30.0)
        watch.starting, ending.START_GRACE = True, 30.0
        with watch, ending.stop_signals(['stub'], watch) as signals:
            try:
                call()
                time.sleep(20.0)
            except KeyboardInterrupt:
                watch.starting = False
                print('ended', len(signals), flush=True)
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(timeout=30), process.returncode) == ('ended 2\n', '', 0)


def test_composed_nodes_end_at_once_if_a_signal_came_while_they_were_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before objects are collected, which takes seconds on a busy computer: launchers wait for 5 s."""
    signals: list[int] = []
    ends: list[str] = []

    def make_node(spec: str, shared: list[str]) -> SimpleNamespace:
        signals.append(signal.SIGINT)  # whose exception machine code has dropped
        return SimpleNamespace(destroy_node=lambda: ends.append(spec))

    def not_reached(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(composition_node, 'make_node', make_node)
    monkeypatch.setattr(composition_node, 'keep_memory', not_reached)
    monkeypatch.setattr(composition_node, 'run_all', not_reached)
    assert composition_node.live(['last'], [], signals, EndWatch('stub')) == 0
    assert ends == ['last']


@pytest.mark.parametrize('kind', ['node', 'composition'])
def test_an_interrupted_program_does_not_wait_for_the_end_of_the_interpreter(program, kind):
    """A composition that had compiled took more than 5 s to destroy its objects on a busy computer."""
    process = program(f"""
        import atexit
        from dyn_nodes.nodes import composition_node

        atexit.register(time.sleep, 60.0)
        if {kind!r} == 'node':
            sys.exit(running.run_node('stub', Stub, None, wait))
        composition_node.make_node = lambda *_: Stub()
        composition_node.run_all = lambda nodes, signals: wait_for(signals)

        def wait_for(signals):
            print('ready', flush=True)
            while not signals:
                time.sleep(0.05)
            return 0

        sys.argv = ['composition_node', 'log_loader']
        composition_node.nodes_of = lambda *_: ['stub']
        sys.exit(composition_node.main())
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(timeout=30), process.returncode) == ('ending\nended\n', '', 0)


def test_an_interrupt_that_machine_code_turns_into_another_error_ends_a_node_quietly(program):
    """Numba, in C, unpickles by a Python function: an exception in it comes back as a SystemError."""
    process = program("""
        from dyn_nodes.nodes.guarded import GuardedNode

        class Node(GuardedNode):
            def __init__(self):
                super().__init__('interrupted')
                self.create_timer(0.05, self.compute)

            def compute(self):
                print('ready', flush=True)
                try:
                    time.sleep(60)
                except KeyboardInterrupt as interrupt:
                    raise SystemError('returned a result with an exception set') from interrupt

        sys.exit(running.run_node('interrupted', Node, ['interrupted']))
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(timeout=30), process.returncode) == ('', '', 0)


STUCK = """
        import threading

        mutex = ctypes.create_string_buffer(64)

        def say_when_it_waits(contended=2):  # the first word of a mutex of the GNU C library with a waiter
            while ctypes.c_int.from_buffer(mutex).value != contended:
                time.sleep(0.01)
            print('ready', flush=True)

        def compute_for_a_minute(*_):  # machine code that no signal interrupts
            threading.Thread(target=say_when_it_waits, daemon=True).start()
            ctypes.CDLL(None).pthread_mutex_lock(mutex)
            ctypes.CDLL(None).pthread_mutex_lock(mutex)

        running.EndWatch.__init__.__defaults__ = (0.5,)
"""


def test_a_program_that_does_not_come_back_from_machine_code_ends_all_the_same(program):
    process = program(STUCK + "        sys.exit(running.run_node('stub', Stub, ['stub'], compute_for_a_minute))")
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert 'stub: still running 0.5 s after SIGINT: ended by force, in' in errors
    assert 'compute_for_a_minute' in errors


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('make', ['compute_for_a_minute', 'lambda: [wait(None)]'])
def test_a_node_that_compiles_ends_quietly_at_once(program, number, make):
    process = program(STUCK + f"        sys.exit(running.run_node('stub', {make}, ['stub'], wait))")
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(number)
    assert (*process.communicate(timeout=30), process.returncode) == ('', '', 0)


def test_a_node_that_hangs_prints_at_sigquit_where_it_is_and_continues(program):
    """Nothing else gets at a program whose thread waits in machine code and lets no other Python run."""
    process = program("""
        def hang(node):
            code = ctypes.PyDLL(None)  # which keeps the interpreter's lock
            print('ready', flush=True)
            code.sleep(2)

        sys.exit(running.run_node('stub', Stub, ['stub'], hang))
    """)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGQUIT)
    out, errors = process.communicate(timeout=60)
    assert (out, process.returncode) == ('ending\nended\n', 0)
    assert 'in hang' in errors


def test_a_running_node_does_not_collect_the_objects_of_its_machine(program):
    process = program("""
        import gc

        def count(node):
            node.kept = gc.get_freeze_count()
            print(node.kept > 1000 and all(o is not node for o in gc.get_objects()), flush=True)

        sys.exit(running.run_node('stub', Stub, ['stub'], count))
    """)
    out, errors = process.communicate(timeout=60)
    assert (out.split()[0], errors) == ('True', '')


TELEOP = ['--ros-args', '-p', 'machine:=log_loader']
PROGRAMS = {
    'recorder': ['dyn_nodes.nodes.recorder_node', '--ros-args', '-p', 'directory:=bag'],
    'composition': ['dyn_nodes.nodes.composition_node', 'teleop.launch.xml'],
    'teleop': ['dyn_nodes.nodes.teleop_node', *TELEOP],
    'dyn-nodes run': ['dyn_nodes.cli', 'run', 'teleop_node', *TELEOP],
    'dyn-nodes bag record': ['dyn_nodes.cli', 'bag', 'record', '-o', 'bag'],
}
"""Module with `main`, and the words of its command line."""


@pytest.mark.parametrize('name', PROGRAMS)
def test_a_signal_that_comes_while_the_interpreter_ends_does_not_change_the_exit_status(program, name, tmp_path):
    """The interpreter waits for threads, and on a busy computer for its turn, when the program has returned."""
    node = '<node pkg="dyn_nodes" exec="teleop_node"><param name="machine" value="log_loader"/></node>'
    (tmp_path / 'teleop.launch.xml').write_text(f'<launch><arg name="compose" default="false"/>{node}</launch>')
    process = program(f"""
        import importlib, os, threading
        from dyn_nodes.middleware import ok
        from dyn_nodes.nodes import ending

        class Watch(ending.EndWatch):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                watches.append(self)

        watches = []
        running.EndWatch = ending.EndWatch = Watch
        os.chdir({str(tmp_path)!r})
        sys.argv = {PROGRAMS[name]}
        module = importlib.import_module(sys.argv[0])

        def stay():
            while not (ok() or ended) or any(watch.starting for watch in watches):
                time.sleep(0.01)
            time.sleep(0.3)
            print('ready', flush=True)
            while not ended:
                time.sleep(0.01)
            print('ended', flush=True)
            time.sleep(1.0)

        ended = []
        threading.Thread(target=stay).start()
        try:
            sys.exit(module.main())
        finally:
            ended.append(True)
    """)
    assert process.stdout.readline() == 'ready\n'
    # the command reports SIGTERM while it works by its exit status, 143
    process.send_signal(signal.SIGINT if name == 'dyn-nodes run' else signal.SIGTERM)
    while process.stdout.readline() not in ('ended\n', ''):  # '': composed nodes leave at once
        pass
    for number in (signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert 'Traceback' not in errors
