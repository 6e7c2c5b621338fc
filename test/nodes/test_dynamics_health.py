"""Status `stability` of the dynamics node: when margins warn, and with which words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dyn_nodes.measures import MEASURES
from dyn_nodes.nodes.diagnostics import ERROR, OK, WARN
from dyn_nodes.nodes.dynamics_health import DynamicsHealth

EDGE, AT_REST = 'front_right-front_left', {'static': 1.0, 'force_angle': 1000.0}


class Balance:
    """Margins by name, all over one edge."""

    def __init__(self, **values: float) -> None:
        self.margins = {name: SimpleNamespace(value=value, valid=True) for name, value in values.items()}

    def critical_edge(self, name: str) -> str:
        return 'rear_left' if name == 'load_share' else EDGE


@pytest.fixture
def health():
    levels = {name: MEASURES[name].levels(4, AT_REST.get(name, 0.0)) for name in ('zmp', 'load_share', *AT_REST)}
    return DynamicsHealth(SimpleNamespace(node=SimpleNamespace(plant=SimpleNamespace())), None, levels)


def stability_status(health, **values):
    health.node.plant.balance = lambda: Balance(**values)
    status = health.stability()
    return status.level, status.text


def test_good_margins_are_stable(health):
    assert stability_status(health, static=0.9, zmp=0.5, force_angle=500.0, load_share=0.2) == (OK, 'stable')


@pytest.mark.parametrize(
    ('values', 'level', 'text'),
    [
        ({'zmp': 0.35}, WARN, f'caution: zero moment point 0.35 at {EDGE}, level 0.4'),
        ({'force_angle': 150.0}, ERROR, f'danger: force-angle 150 N m at {EDGE}, level 200 N m'),
        ({'load_share': 0.04}, WARN, 'caution: wheel-load share 4 % at rear_left, level 5 %'),
        ({'static': 0.3, 'zmp': 0.15}, ERROR, f'danger: zero moment point 0.15 at {EDGE}, level 0.2'),
    ],
)
def test_a_margin_at_a_level_is_named_with_value_place_and_level(health, values, level, text):
    assert stability_status(health, **{'static': 0.9, 'zmp': 0.5, 'load_share': 0.2, **values}) == (level, text)


def test_tipping_is_named_before_a_lifted_wheel(health):
    level, text = stability_status(health, zmp=0.12, load_share=0.0, static=-0.1)
    assert (level, text) == (ERROR, f'tipping: static margin over {EDGE}')
    assert stability_status(health, zmp=0.12, load_share=0.0) == (ERROR, 'lifted: wheel-load share over rear_left')


def test_a_run_that_is_inaccurate_warns_with_its_reason_and_is_one_event(health):
    events, node, reason = [], health.node, 'energy error 3 %, allowed 1 %'
    node.values = {'mode': 'effort'}
    node.plant = SimpleNamespace(overturned=False, guard=SimpleNamespace(failed=''), time=2.0, note=events.append)
    health.pacer = SimpleNamespace(node=node, started=True, paused=False, late=False)
    assert (health.simulation().level, events) == (OK, [])
    node.plant.guard.failed = reason
    for _ in range(2):
        status = health.simulation()
        assert (status.level, status.text) == (WARN, f'inaccurate: {reason}')
    assert [(event.kind, event.details['text']) for event in events] == [('inaccurate', reason)]
