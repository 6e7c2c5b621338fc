"""Kernels that run as Python code while they have no machine code."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from dyn_nodes.commands.check import checked
from dyn_nodes.common.loops import NotInPythonError, PythonKernel, in_python, kernels_of, parts_of
from dyn_nodes.model import load_machine_report
from dyn_nodes.model.named import machine_files

POINT = np.dtype([('position', 'f8', (2,)), ('mass', 'f8')], align=True)


class Body(NamedTuple):
    points: np.ndarray
    moment: np.ndarray


@pytest.fixture
def package(tmp_path):
    """Return a file of a package without machine code."""
    (tmp_path / 'kernels').mkdir()
    file = tmp_path / 'kernels' / '__init__.py'
    file.write_text(f'"""{tmp_path}"""')
    return file


def of(package):
    """Return a decorated function with a helper and records, decorated within `in_python`."""
    part, kernel = parts_of(str(package)), kernels_of(str(package), label='tests')

    @part
    def lever(point):
        return math.hypot(point.position[0], point.position[1])

    @kernel
    def total(body, divisor):
        for k in range(body.points.shape[0]):
            body.points[k].mass *= 2.0
            body.moment[0] += body.points[k].mass * lever(body.points[k])
        mean = 0.0
        if divisor > 0.0:
            mean = divisor
        return 1.0 / float(mean)

    return total


def a_body():
    points = np.zeros(2, POINT)
    points['position'], points['mass'] = [[3.0, 4.0], [5.0, 12.0]], [1.0, 2.0]
    return Body(points, np.zeros(1))


@pytest.fixture
def plain(package):
    with in_python():
        kernel = of(package)
    assert isinstance(kernel, PythonKernel)
    return kernel


def test_a_kernel_without_machine_code_runs_as_python_code(plain):
    body = a_body()
    with in_python():
        assert plain(body, 4.0) == 0.25
    assert body.moment[0] == 2.0 * 5.0 + 4.0 * 13.0
    np.testing.assert_array_equal(body.points['mass'], [2.0, 4.0])
    assert plain.compiled.signatures == []


def test_a_call_that_python_code_cannot_do_changes_nothing(plain):
    body = a_body()
    with in_python(), pytest.raises(NotInPythonError, match='division by zero'):
        plain(body, 0.0)
    assert body.moment[0] == 0.0
    np.testing.assert_array_equal(body.points['mass'], [1.0, 2.0])


def test_afterwards_the_kernel_is_compiled_and_machine_code_calls_it(plain, package):
    calling = kernels_of(str(package))(lambda body: plain(body, 0.0))
    body = a_body()
    assert calling(body) == plain(body, 0.0) == np.inf
    np.testing.assert_array_equal(body.points['mass'], [4.0, 8.0])
    assert len(plain.compiled.signatures) == 1


def test_a_kernel_with_machine_code_on_disk_keeps_it(package):
    of(package)(a_body(), 1.0)
    with in_python():
        assert not isinstance(of(package), PythonKernel)


@pytest.mark.parametrize('name', ['log_loader', 'telehandler'])
def test_check_of_a_machine_without_loops_compiles_nothing_and_reports_the_same(name, tmp_path):
    environment = {**os.environ, 'DYN_NODES_CACHE': str(tmp_path)}
    command = [sys.executable, '-m', 'dyn_nodes', 'check', name, '--json']
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=True)
    assert run.stderr == ''
    assert list(tmp_path.rglob('*.nbc')) == []
    _, facts = checked(load_machine_report(*machine_files(name, None)))
    assert facts is not None
    assert json.loads(run.stdout)['machine']['static'] == _plain(facts['static'])


def _plain(values):
    return json.loads(json.dumps(values, default=float))
