"""Programs of the package run linear algebra on one thread, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
import dyn_nodes.entry
assert 'numpy' not in sys.modules
sys.argv = ['dyn-nodes', '--version']
try:
    dyn_nodes.entry.command()
except SystemExit:
    pass
print(os.environ['OPENBLAS_NUM_THREADS'])
"""


@pytest.mark.parametrize(('threads', 'expected'), [(None, '1'), ('2', '2')])
def test_one_thread_is_the_default_and_the_environment_overrides_it(threads: str | None, expected: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != 'OPENBLAS_NUM_THREADS'}
    if threads is not None:
        environment['OPENBLAS_NUM_THREADS'] = threads
    run = subprocess.run([sys.executable, '-c', CODE], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split()[-1] == expected
