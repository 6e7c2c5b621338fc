"""Running launches: processes, their output and their end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from timeouts import scaled_timeout

from roslite.launching import LaunchError, LaunchSession, finished

ROOT = Path(__file__).resolve().parents[2]


def wait_until(condition, timeout: float = 10.0) -> bool:
    deadline = time.monotonic() + scaled_timeout(timeout)
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_alive(pid: int) -> bool:
    """Return whether a process lives; a zombie does not."""
    try:
        state = Path(f'/proc/{pid}/stat').read_bytes().rpartition(b')')[2].split()[0]
    except OSError:
        return False
    return state not in (b'Z', b'X')


@pytest.fixture
def launch_file(tmp_path):
    def launch_file(body: str) -> Path:
        path = tmp_path / 'test.launch.xml'
        path.write_text(f'<launch>{body}</launch>')
        return path

    return launch_file


@pytest.fixture
def session(launch_file, tmp_path):
    """Make sessions whose lines are in `.lines`, and stop them at the end."""
    made = []

    def session(body: str, **options) -> LaunchSession:
        lines: list[str] = []
        new = LaunchSession.from_file(launch_file(body), log_directory=tmp_path / 'log', screen=lines.append, **options)
        new.lines = lines
        made.append(new)
        return new

    (tmp_path / 'log').mkdir()
    yield session
    for one in made:
        one.stop()


def shell(script: str, **attributes: str) -> str:
    path_safe = script.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')
    extra = ''.join(f' {key}="{value}"' for key, value in {'name': 'sh', **attributes}.items())
    return f'<executable shell="true" cmd="{path_safe}"{extra}/>'


def test_output_is_prefixed_on_the_screen_and_stored_in_files(session, tmp_path):
    one = session(
        '<log message="hello"/>' + shell('echo out; echo err >&2', output='screen') + shell('echo quiet; echo loud >&2')
    ).start()
    assert one.wait(scaled_timeout(10)) == 0
    assert '[INFO] [launch]: hello' in one.lines
    assert '[sh-1] out' in one.lines
    assert '[sh-1] err' in one.lines
    assert '[sh-2] loud' in one.lines
    assert '[sh-2] quiet' not in one.lines
    assert (tmp_path / 'log' / 'sh-1.log').read_text() == 'out\nerr\n'
    assert (tmp_path / 'log' / 'sh-2.log').read_text() == 'quiet\n'
    assert 'hello' in (tmp_path / 'log' / 'launch.log').read_text()


def test_states_and_pids_are_listed_by_name(session):
    one = session('<executable cmd="sleep 30" name="a"/><executable cmd="sleep 30" name="b"/>').start()
    assert is_alive(one.pid('a'))
    assert one.pid('b-2') == one.child('b').pid
    assert one.poll() is None
    with pytest.raises(KeyError, match='no process'):
        one.pid('c')
    pids = [state.pid for state in one.children]
    assert one.stop() == 0
    assert not any(is_alive(pid) for pid in pids)
    with pytest.raises(KeyError, match='not running'):
        one.pid('a')


def test_a_child_that_dies_makes_the_status_nonzero_and_is_named(session):
    one = session(shell('exit 3') + '<executable cmd="sleep 30"/>').start()
    assert wait_until(lambda: one.failures)
    assert one.poll() is None, 'the others continue'
    os.kill(one.pid('sleep'), signal.SIGKILL)
    assert one.wait(scaled_timeout(10)) == 1
    assert one.failures == ['sh-1: exit code 3', 'sleep-2: killed by SIGKILL']
    assert any('process has died' in line and 'SIGKILL' in line for line in one.lines)


def test_waiting_nodes_detect_ended_nodes_and_the_reasons(session, tmp_path):
    """From a file whose name is in the environment; a restarted node has not ended."""
    one = session(
        shell('echo first >&2; echo the task is wrong >&2; exit 3')
        + shell('exit 0', name='good')
        + shell('exit 1', respawn='true', respawn_delay='60')
        + shell(
            f'while ! grep -q good ${finished.VARIABLE}; do sleep 0.05; done; cat ${finished.VARIABLE}', output='screen'
        )
    )
    (tmp_path / 'log' / finished.FILE).write_text('["/old", "exit code 1"]\n')
    one.start()
    assert wait_until(lambda: one.child('sh-4').returncode == 0)
    assert '[sh-4] ["sh-1", "exit code 3: the task is wrong"]' in one.lines
    assert '[sh-4] ["good-2", "exit code 0"]' in one.lines
    assert not any('/old' in line or 'sh-3"' in line for line in one.lines)


def test_on_exit_shutdown_stops_the_others(session):
    one = session(shell('sleep 0.2', on_exit='shutdown') + '<executable cmd="sleep 30"/>').start()
    assert one.wait(scaled_timeout(10)) == 0
    assert one.stopping
    assert one.child('sleep').returncode == -signal.SIGINT


def test_shutdown_element_ends_the_launch(session):
    one = session(
        '<executable cmd="sleep 30"/><shutdown reason="enough"/><executable cmd="sleep 31" name="no"/>'
    ).start()
    assert one.wait(scaled_timeout(10)) == 0
    assert len(one.children) == 1
    assert '[INFO] [launch]: stopping: enough' in one.lines


def test_respawn_starts_again_after_the_delay_and_not_more_often_than_allowed(session):
    one = session(shell('exit 0', respawn='true', respawn_delay='0.1', respawn_max_retries='2')).start()
    assert one.wait(scaled_timeout(10)) == 0
    assert one.child('sh').starts == 3


def test_a_child_that_ignores_signals_gets_sigterm_then_sigquit_then_sigkill(session):
    script = "trap '' INT TERM QUIT; echo ready; while :; do sleep 0.1; done"
    one = session(shell(script, output='screen', sigterm_timeout='0.3', sigkill_timeout='0.3')).start()
    assert wait_until(lambda: '[sh-1] ready' in one.lines)
    started = time.monotonic()
    assert one.stop() == 1
    assert 0.6 <= time.monotonic() - started < 5
    sent = [line.split('sending ')[1] for line in one.lines if 'sending' in line]
    assert sent == ['SIGTERM', 'SIGQUIT', 'SIGKILL']


def test_a_second_request_does_not_wait(session):
    one = session(shell("trap '' INT; echo ready; while :; do sleep 0.1; done", output='screen')).start()
    assert wait_until(lambda: '[sh-1] ready' in one.lines)
    one.request_stop()
    time.sleep(0.2)
    one.request_stop()
    assert one.wait(3) is not None


def test_grandchildren_end_with_their_parent(session, tmp_path):
    pid_file = tmp_path / 'pid'
    one = session(shell(f'sleep 60 & echo $! > {pid_file}; wait')).start()
    assert wait_until(lambda: pid_file.exists() and pid_file.read_text().strip())
    grandchild = int(pid_file.read_text())
    assert is_alive(grandchild)
    one.stop()
    assert not is_alive(grandchild)


def test_a_program_that_cannot_be_started_stops_the_started_ones(session, tmp_path):
    program = tmp_path / 'broken'
    program.write_text('#!/no/such/interpreter\n')
    program.chmod(0o755)
    one = session(f'<executable cmd="sleep 30"/><executable cmd="{program}"/>')
    with pytest.raises(LaunchError, match='broken-2 cannot be started'):
        one.start()
    assert not any(state.running for state in one.children)


def test_session_is_a_context_manager(session):
    with session('<executable cmd="sleep 30"/>') as one:
        pid = one.pid('sleep')
        assert is_alive(pid)
    assert not is_alive(pid)


def test_a_killed_guard_is_replaced(session):
    one = session('<executable cmd="sleep 30"/>').start()
    first = one._guard.pid
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: one._guard.pid != first)
    assert is_alive(one._guard.pid)


# --- the launcher as a process ---------------------------------------------------------------------------------------

# with nohup SIGHUP is ignored, and the launcher keeps that: start from the default
LAUNCHER = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from roslite.launching import run_launch
sys.exit(run_launch(sys.argv[1]))
"""
TWO = '<executable cmd="sleep 60"/>' + shell(
    "trap 'echo bye; exit 0' INT; sleep 60 & echo ready $!; wait", output='screen'
)


@pytest.fixture
def launcher(launch_file, tmp_path):
    """Start launchers in separate processes; yield them with the pids of their children."""
    made = []

    def launcher(body: str = TWO):
        environment = {**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'ros'), 'PYTHONPATH': str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, '-c', LAUNCHER, str(launch_file(body))],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip
        made.append(process)
        text = ''
        while 'ready' not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
        pids = [int(pid) for pid in re.findall(r'started with pid \[(\d+)\]', text)]
        pids.append(int(re.search(r'ready (\d+)', text).group(1)))
        assert len(pids) == 3
        assert all(is_alive(pid) for pid in pids)
        return process, pids

    yield launcher
    for process in made:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_child_is_left_after_a_signal_to_the_launcher(launcher, number):
    process, pids = launcher()
    process.send_signal(number)
    output = process.communicate(timeout=scaled_timeout(10))[0]
    assert process.returncode == 0, output
    assert '[sh-2] bye' in output
    assert not any(is_alive(pid) for pid in pids)


def test_no_child_is_left_after_the_launcher_is_killed_and_they_could_finish(launcher, tmp_path):
    process, pids = launcher()
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(is_alive(pid) for pid in pids), 5)
    (log,) = (tmp_path / 'ros').glob('*/sh-2.log')
    assert log.read_text().endswith('bye\n'), 'it was informed by SIGINT'


def test_a_child_that_ignores_signals_does_not_survive_a_killed_launcher(launcher):
    deaf = shell("trap '' INT TERM; sleep 60 & echo ready $!; wait; sleep 60", output='screen',
                 sigterm_timeout='0.2', sigkill_timeout='0.2')  # fmt: skip
    process, pids = launcher('<executable cmd="sleep 60" sigterm_timeout="0.2" sigkill_timeout="0.2"/>' + deaf)
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(is_alive(pid) for pid in pids), 5)


def test_a_launcher_without_reader_continues(launcher):
    chatty = shell('sleep 60 & echo ready $!; while sleep 0.05; do echo more; done', output='screen')
    process, pids = launcher('<executable cmd="sleep 60"/>' + chatty)
    process.stdout.close()
    time.sleep(0.5)
    assert process.poll() is None
    assert all(is_alive(pid) for pid in pids)
    process.send_signal(signal.SIGINT)
    assert process.wait(scaled_timeout(10)) == 0
    process.stdout = open(os.devnull)  # noqa: SIM115 - closed by the fixture


def test_the_launcher_imports_nothing_heavy():
    heavy = ('numpy', 'cyclonedds', 'rosbags', 'casadi', 'scipy')
    code = f'import sys, roslite.launching; print([m for m in {heavy} if m in sys.modules])'
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.strip() == '[]'
