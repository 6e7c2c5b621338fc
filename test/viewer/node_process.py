"""Nodes beside a viewer in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start(domain: int, node: str, *parameters: str) -> subprocess.Popen:
    """Start a node; parameters as name:=value."""
    arguments = [word for parameter in parameters for word in ('-p', parameter)]
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONPATH': str(ROOT)}
    return subprocess.Popen(
        [sys.executable, '-m', f'dyn_nodes.nodes.{node}', '--ros-args', *arguments], env=environment
    )
