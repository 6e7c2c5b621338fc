"""What a node imports, every process and every test pays at its start."""

from __future__ import annotations

import subprocess
import sys

SLOW = ('scipy.optimize', 'scipy.spatial', 'scipy.interpolate', 'matplotlib', 'dyn_nodes.constraints', 'viser')


def test_the_nodes_of_a_machine_on_wheels_import_neither_scipy_nor_constraints() -> None:
    nodes = 'dynamics_node, hydraulic_actuator_node, controller_node, recorder_node'
    code = f'import sys; from dyn_nodes.nodes import {nodes}; print([m for m in {SLOW} if m in sys.modules])'
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, '[]', '')
