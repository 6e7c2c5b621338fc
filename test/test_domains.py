"""Concurrent suites use different DDS domains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import domains

HERE = Path(__file__).parent
SCRIPT = 'import domains, sys; print(*[domains.next_domain() for _ in range(30)], flush=True); sys.stdin.read()'


def test_processes_at_the_same_time_share_no_domain():
    command = [sys.executable, '-c', SCRIPT]
    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True, 'cwd': HERE}
    processes = [subprocess.Popen(command, **pipes) for _ in range(3)]
    try:
        mine = {domains.next_domain() for _ in range(30)}
        sets = [mine, *({int(word) for word in process.stdout.readline().split()} for process in processes)]
    finally:
        for process in processes:
            process.communicate('')
    assert all(sets)
    assert len(set.union(*sets)) == sum(map(len, sets))
    assert set.union(*sets) <= set(range(1, 101))


def test_a_process_takes_its_domains_in_turn():
    numbers = [domains.next_domain() for _ in range(3)]
    assert len(set(numbers)) == 3
