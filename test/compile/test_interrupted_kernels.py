"""A signal during machine code raises its exception after the call, and ends no process."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal

import numpy as np

from dyn_nodes import governor
from dyn_nodes.common.loops import kernels_of
from dyn_nodes.governor.stops import Stop

kernel = kernels_of(governor.__file__)


@kernel
def summed(count):
    total = 0.0
    for k in range(count):
        total += np.sin(total + k)
    return total


@kernel
def named(count):
    return Stop(summed(count), 0, 1.0, 2.0, 3.0, 4.0)


@kernel
def arrays(count):
    return summed(count), np.ones(3)


class Interrupted(Exception):
    pass


def interrupt(number, frame):
    raise Interrupted


signal.signal(signal.SIGALRM, interrupt)
for function in (summed, named, arrays):
    function(1)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        function(30_000_000)
    except Interrupted:
        print('interrupted', type(function(1)).__name__)
"""


def test_a_signal_while_a_kernel_runs_raises_its_exception_after_the_call(tmp_path):
    program = tmp_path / 'program.py'
    program.write_text(PROGRAM)
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=250, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ['interrupted float', 'interrupted Stop', 'interrupted tuple']
