"""Launches whose nodes cannot start or have no task: each starts or ends with a reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from harness import launched

from dyn_nodes.common.share import find_resource


def failed(domain: int, *words: str) -> str:
    """Return the output of a launch that must fail and end by itself."""
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', *words]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    text = run.stdout + run.stderr
    assert run.returncode == 1, text
    assert 'Traceback' not in text
    return text


@pytest.fixture(scope='module')
def platform(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the mobile base of the tutorial, made by `init`: wheels without driven joints."""
    urdf, config = find_resource('urdf/tutorial_platform.urdf'), tmp_path_factory.mktemp('init') / 'platform.yaml'
    made = [sys.executable, '-m', 'dyn_nodes.cli', 'init', str(urdf), '-o', str(config)]
    subprocess.run(made, check=True, capture_output=True)
    return f'machine:={urdf}', f'config:={config}'


@pytest.mark.parametrize('compose', ['false', 'true'])
def test_a_mobile_base_without_driven_joints_runs_as_the_readme_launches_it(domain, platform, compose):
    text = launched(domain, 'machine', *platform, 'mode:=lockstep', 'duration:=0.5', f'compose:={compose}')
    assert 'no driven joint, there is nothing to control' in text
    assert 'the run of 0.5 s is over' in text


def test_a_mistyped_task_ends_the_launch_with_its_message(domain):
    text = failed(domain, 'log_loader', 'task:=pick_and_plce', 'mode:=lockstep', 'duration:=0.5')
    assert "controller_node, which is waited for, has ended: exit code 1: controller_node: parameter 'task'" in text


def test_a_governor_without_joints_ends_the_launch_with_its_message(domain, platform):
    text = failed(domain, 'machine', *platform, 'governor:=true', 'duration:=0.5')
    assert 'tip_over_governor_node, which is waited for, has ended: exit code 1' in text


def test_a_machine_that_falls_over_at_its_start_has_not_finished_cleanly(domain, platform):
    twist = 'initial_twist:=0,0,1,9,0,0'
    text = failed(domain, 'machine', *platform, 'mode:=lockstep', 'duration:=5.0', twist)
    assert 'after the start: no stable initial posture' in text
