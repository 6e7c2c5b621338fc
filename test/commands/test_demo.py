"""Tests of the demonstration with its processes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from domains import next_domain
from rosbags.highlevel import AnyReader
from timeouts import scaled_timeout

from dyn_nodes.commands import demo_cockpit

UNDER_WAY = r'\n +(?!0\.0 )[\d.]+ of 600 s'
"""Pattern of a line of progress with simulated time above zero."""


class Demo:
    """A running `dyn-nodes demo`, by default with `--fast`."""

    def __init__(self, folder: Path, *arguments: str, fast: bool = True) -> None:
        self.out, self.log = folder / 'runs', folder / 'demo.log'
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(next_domain())}
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'demo', *(['--fast'] if fast else []), '--out']
        command += [str(self.out), *arguments]
        for name in ('DISPLAY', 'WAYLAND_DISPLAY'):
            environment.pop(name, None)
        with self.log.open('w') as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def wait(self, timeout: float = 40.0) -> int:
        return self.process.wait(scaled_timeout(timeout))

    def wait_for(self, pattern: str, timeout: float = 80.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        while not re.search(pattern, self.text):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < end, self.text
            time.sleep(0.1)

    @property
    def text(self) -> str:
        return self.log.read_text()

    @property
    def folder(self) -> Path:
        return (self.out / 'latest').resolve()

    @property
    def summary(self) -> dict:
        return json.loads((self.folder / 'summary.json').read_text())

    def node_pids(self) -> dict[str, int]:
        (log,) = self.out.glob('2*/log/launch.log')
        started = re.findall(r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', log.read_text())
        return {name: int(pid) for name, pid in started}

    def assert_no_node_is_left(self) -> None:
        for pid in self.node_pids().values():
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


@pytest.fixture
def demo(tmp_path):
    started = []

    def start(*arguments: str) -> Demo:
        started.append(Demo(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(30)


def test_a_short_demo_leaves_bag_summary_plots_and_report(demo):
    run = demo('--duration', '0.5', '--film', '1')
    assert run.wait() == 0, run.text
    assert 'film.gif: 13 pictures, 1.1 s' in run.text
    names = {path.name for path in run.folder.iterdir()}
    assert names >= {'bag', 'log', 'summary.json', 'report.html', 'film.gif', 'base_rotation.png', 'wheel_loads.png'}
    summary = run.summary
    assert summary['duration_s'] == 0.5
    assert (summary['recovered'], summary['overturned']) == (False, False)
    assert abs(summary['final_wheel_load_sum_error']) < 1e-5
    assert summary['wall_time_s'] > 0.0
    assert re.search(r'took [\d.]+ s in all, [\d.]+ s of it from the first simulated instant to the last', run.text)
    assert 'cockpit: ' not in run.text  # --fast has none
    assert 'viewer_node' not in run.node_pids()
    with AnyReader([run.folder / 'bag']) as reader:
        assert {topic: info.msgcount for topic, info in reader.topics.items()} == summary['messages']
    run.assert_no_node_is_left()


def test_ctrl_c_stops_everything_and_reports_the_part_that_ran(demo):
    run = demo('--duration', '600')
    run.wait_for(UNDER_WAY)
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 130, run.text
    assert run.summary['interrupted'] is True
    assert 0.0 < run.summary['duration_s'] < 600.0
    assert 'Interrupted at' in run.text
    assert 'Traceback' not in run.text
    run.assert_no_node_is_left()


@pytest.mark.slow
def test_a_node_that_dies_is_reported_and_all_others_are_stopped(demo):
    run = demo('--separate', '--duration', '600')
    run.wait_for(UNDER_WAY)
    os.kill(run.node_pids()['hydraulic_actuator_node'], signal.SIGKILL)
    assert run.wait() == 1, run.text
    assert 'failed: hydraulic_actuator_node was killed by SIGKILL at' in run.text
    assert run.summary['failure'].startswith('hydraulic_actuator_node was killed by SIGKILL')
    run.assert_no_node_is_left()


@pytest.mark.parametrize('duration', ['0', '-3', 'nan', '1e9'])
def test_an_invalid_duration_is_rejected(demo, duration):
    run = demo('--duration', duration)
    assert run.wait() == 2
    assert '--duration: expected more than 0 and at most 3600 s' in run.text
    assert not run.out.exists()


@pytest.mark.slow
def test_the_whole_demo_recovers(demo):
    run = demo()
    assert run.wait(95) == 0, run.text
    summary = run.summary
    assert summary['recovered'] is True
    assert summary['max_base_rotation_deg'] == pytest.approx(8.55, rel=0.05)
    assert all(load > 0.0 for load in summary['final_wheel_loads_n'].values())
    assert abs(summary['final_wheel_load_sum_error']) < 1e-3
    assert {phase['name'] for phase in summary['phases']} >= {'reach', 'recover', 'settle'}


@pytest.mark.slow
def test_the_whole_demo_without_recovery_overturns(demo):
    run = demo('--no-recovery')
    assert run.wait(95) == 0, run.text
    assert (run.summary['recovered'], run.summary['overturned']) == (False, True)
    assert re.search(r'\nOverturned at 1[23]\.\d\d s', run.text)


# --- the cockpit ---------------------------------------------------------------------------------------------------


def page_of(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read().decode(errors='replace')


@pytest.mark.slow
def test_the_cockpit_answers_only_during_the_run(tmp_path):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = min(taken.getsockname()[1], 64900)
        run = Demo(tmp_path, '--duration', '600', '--port', str(port), fast=False)
        try:
            run.wait_for(r'cockpit: http://127\.0\.0\.1:(\d+)')
            address = re.search(r'cockpit: (http://127\.0\.0\.1:(\d+))', run.text)
            assert int(address.group(2)) > port
            assert f'(port {port} is taken): open it in a browser while the run lasts' in run.text
            run.wait_for(UNDER_WAY)
            wait_until(lambda: 'viewer_node' in run.node_pids())
            wait_until(lambda: answers(address.group(1)))
            assert '<html' in page_of(address.group(1)).lower()
            os.kill(run.node_pids()['viewer_node'], signal.SIGKILL)  # a run continues without its cockpit
            time.sleep(1.0)
            assert run.process.poll() is None
        finally:
            run.process.send_signal(signal.SIGINT)
            assert run.wait() == 130, run.text
    assert not answers(address.group(1))
    assert run.summary['interrupted'] is True
    run.assert_no_node_is_left()


def wait_until(condition, timeout: float = 20.0) -> None:
    end = time.monotonic() + scaled_timeout(timeout)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(address: str) -> bool:
    try:
        return bool(page_of(address))
    except OSError:
        return False


@pytest.mark.parametrize(
    ('environment', 'shown'), [({}, False), ({'DISPLAY': ':0'}, True), ({'WAYLAND_DISPLAY': 'wayland-0'}, True)]
)
@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere there is always a display')
def test_the_browser_is_opened_on_a_display_once_the_page_answers(monkeypatch, environment, shown):
    for name in ('DISPLAY', 'WAYLAND_DISPLAY'):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    opened = []
    monkeypatch.setattr(demo_cockpit.webbrowser, 'open', opened.append)
    cockpit = demo_cockpit.make_cockpit(20000 + os.getpid() % 20000)
    cockpit.open_when_ready()
    assert opened == []
    with socket.socket() as page:
        page.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        page.bind(('127.0.0.1', cockpit.port))
        page.listen()
        cockpit.open_when_ready()
        cockpit.open_when_ready()
    assert opened == ([cockpit.address] if shown else [])
