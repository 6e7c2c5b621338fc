"""A demonstration stops after a wall time without progress; compilation counts as progress."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from domains import next_domain

from dyn_nodes.commands import demo_run
from dyn_nodes.commands.demo_run import STANDSTILL, DemoRun, _Watcher
from dyn_nodes.commands.live_state import LiveState

LINE = '[{}] [INFO] [1.0] [{}]: {}'


class Watched:
    """A watcher of two running nodes and a cockpit, with a simulated wall clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.now = 50.0
        monkeypatch.setattr(demo_run.time, 'monotonic', lambda: self.now)
        self.state = LiveState('m', 24.0)
        names = ('dynamics_node', 'controller_node', 'viewer_node')
        self.children = [self.child(name, k + 1) for k, name in enumerate(names)]
        self.session: Any = SimpleNamespace(stopping=False, children=self.children, request_stop=self.stop)
        self.watcher = _Watcher(self.session, self.state, DemoRun(tmp_path, tmp_path))

    @staticmethod
    def child(name: str, number: int) -> Any:
        log = Path('/nowhere')
        return SimpleNamespace(name=name, label=f'{name}-{number}', running=True, returncode=None, log=log)

    def stop(self, reason: str) -> None:
        self.session.stopping = True

    def print_line(self, label: str, text: str) -> None:
        self.state.add_line(LINE.format(label, label.rpartition('-')[0], text))

    def wait(self, seconds: float) -> str:
        for _ in range(10):
            self.now += 0.1 * seconds
            self.watcher.check()
        return self.watcher.failure


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Watched:
    return Watched(monkeypatch, tmp_path)


def test_compilation_has_no_timeout(watched: Watched) -> None:
    watched.print_line('dynamics_node-1', 'compiling log_loader, once, about 20 s')
    watched.print_line('controller_node-2', 'compiling log_loader, once, about 20 s')
    assert watched.wait(20 * STANDSTILL) == ''
    watched.print_line('controller_node-2', 'compiled in 700 s')
    assert watched.state.compiling
    assert watched.wait(20 * STANDSTILL) == ''
    watched.print_line('dynamics_node-1', 'compiled in 1400 s')
    assert watched.wait(0.9 * STANDSTILL) == ''
    assert 'has stood still for 180 s' in watched.wait(0.2 * STANDSTILL)


def test_the_timeout_applies_without_compilation_or_progress_of_time(watched: Watched) -> None:
    watched.print_line('dynamics_node-1', 'waiting: no node controller_node yet')
    assert watched.wait(0.95 * STANDSTILL) == ''
    watched.state.set_time(0.1, watched.now)
    assert watched.wait(0.95 * STANDSTILL) == ''
    assert 'at 0.10 s' in watched.wait(0.2 * STANDSTILL)


def test_a_cockpit_that_died_while_it_compiled_makes_no_progress(watched: Watched) -> None:
    watched.print_line('viewer_node-3', 'compiling log_loader, once, about 20 s')
    watched.children[2].running, watched.children[2].returncode = False, -9
    assert watched.wait(0.5 * STANDSTILL) == ''
    assert 'stood still' in watched.wait(0.6 * STANDSTILL)


def test_a_failed_demo_updates_latest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dyn_nodes.cli import main

    def failed(launch_file: str, machine: str, directory: Path, *rest: Any) -> DemoRun:
        (directory / 'bag').mkdir()
        return DemoRun(directory / 'bag', directory / 'log', failure='simulated time has stood still for 180 s')

    monkeypatch.setattr(demo_run, 'run_nodes', failed)
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    before = dict(os.environ)
    assert main(['demo', '--fast', '--out', str(tmp_path / 'runs')]) == 1
    assert dict(os.environ) == before
    assert (tmp_path / 'runs' / 'latest' / 'bag').is_dir()
    assert 'stood still' in capsys.readouterr().out
    assert main(['report', str(tmp_path / 'runs' / 'latest' / 'bag')]) == 1
    assert 'expected a bag directory' in capsys.readouterr().err


def test_a_demo_in_a_domain_with_a_machine_does_not_start_and_names_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its report would mix both machines."""
    from dyn_nodes.cli import main
    from dyn_nodes.middleware import Context, Node, init, message

    domain, context = next_domain(), Context()
    init(args=['other'], context=context, domain_id=domain)
    node = Node('sim', namespace='/yard', context=context)
    node.create_publisher(message('sensor_msgs/msg/JointState'), '/joint_states', 10)
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    try:
        assert main(['demo', '--fast', '--out', str(tmp_path / 'runs')]) == 1
    finally:
        node.destroy_node()
        context.try_shutdown()
    assert f'a machine runs in domain {domain} already: /yard/sim publishes joint_states' in capsys.readouterr().err
    assert not (tmp_path / 'runs').exists()
