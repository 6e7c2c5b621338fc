"""A node in real time that waits for a simulation logs how to serve a real machine."""

from __future__ import annotations

import pytest

from dyn_nodes.nodes.exchange import LOCKSTEP_NOTICE, announce_partner


class Node:
    def __init__(self, **values):
        self.values, self.lines = values, []

    def get_logger(self):
        return self

    def info(self, text):
        self.lines.append(text)


@pytest.mark.parametrize(
    ('mode', 'partner', 'lines'),
    [
        ('realtime', 'auto', [LOCKSTEP_NOTICE]),
        ('realtime', 'lockstep', [LOCKSTEP_NOTICE]),
        ('realtime', 'external', []),
        ('lockstep', 'auto', []),
    ],
)
def test_waiting_for_a_simulation_in_real_time_is_logged(mode, partner, lines):
    node = Node(mode=mode, partner=partner)
    announce_partner(node)
    assert node.lines == lines
    assert 'partner:=external' in LOCKSTEP_NOTICE


@pytest.mark.parametrize('name', ['controller_node', 'hydraulic_actuator_node'])
def test_nodes_that_may_serve_a_real_machine_log_it_at_the_start(name, start_node):
    process = start_node(name, machine='log_loader', mode='realtime')
    seen = []
    for line in process.stderr:
        seen.append(line)
        if LOCKSTEP_NOTICE in line:
            break
    assert LOCKSTEP_NOTICE in ''.join(seen)
