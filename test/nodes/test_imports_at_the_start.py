"""Imports of a node at its start, which every process and test pays for."""

from __future__ import annotations

import subprocess
import sys

SLOW = ('scipy.optimize', 'scipy.spatial', 'scipy.interpolate', 'matplotlib', 'dyn_nodes.constraints', 'viser')


def test_the_nodes_of_a_machine_on_wheels_import_neither_scipy_nor_constraints() -> None:
    nodes = 'dynamics_node, hydraulic_actuator_node, controller_node, recorder_node'
    code = f'import sys; from dyn_nodes.nodes import {nodes}; print([m for m in {SLOW} if m in sys.modules])'
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, '[]', '')


def test_machine_code_is_loaded_without_linear_algebra_of_scipy_and_a_kernel_that_needs_it_still_compiles() -> None:
    code = """
import sys
import numba, numpy
from dyn_nodes.compile.calls import compiled
from dyn_nodes.nodes import dynamics_node
compiled(1)(0, numpy.empty((0, 1)))
print('numba.np.arraymath' in sys.modules, 'scipy.linalg' in sys.modules)
print(numba.njit(lambda a: numpy.dot(a, a))(numpy.array([3.0, 4.0])), 'scipy.linalg' in sys.modules)
"""
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, check=False)
    assert (run.stdout.split(), run.stderr) == (['True', 'False', '25.0', 'True'], '')
