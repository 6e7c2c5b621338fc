"""Status `stability` of the dynamics node: when margins warn, and with which words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dyn_nodes.nodes.diagnostics import ERROR, OK, WARN
from dyn_nodes.nodes.dynamics_health import DynamicsHealth


class Balance:
    """Margins by name, all over one edge."""

    def __init__(self, **values: float) -> None:
        self.margins = {name: SimpleNamespace(value=value, valid=True) for name, value in values.items()}

    def critical_edge(self, name: str) -> str:
        return 'rear_left' if name == 'load_share' else 'front_right-front_left'


@pytest.fixture
def health():
    return DynamicsHealth(SimpleNamespace(node=SimpleNamespace(plant=SimpleNamespace())), None)


def said(health, **values):
    health.node.plant.balance = lambda: Balance(**values)
    found = health.stability()
    return found.level, found.text


def test_good_margins_are_stable(health):
    assert said(health, static=0.9, zmp=0.4, force_angle=500.0, load_share=0.2) == (OK, 'stable')


def test_a_margin_below_its_warning_level_warns_with_value_edge_and_level(health):
    expected = (WARN, 'zmp 0.12 over front_right-front_left, below 0.15')
    assert said(health, static=0.9, zmp=0.12, load_share=0.2) == expected


def test_a_wheel_that_carries_little_warns_before_other_margins(health):
    expected = (WARN, 'wheel rear_left carries 4.0 % of the load')
    assert said(health, zmp=0.12, load_share=0.04) == expected


def test_a_margin_at_zero_is_an_error_whatever_else_warns(health):
    level, text = said(health, zmp=0.12, static=-0.1, load_share=0.04)
    assert (level, text) == (ERROR, 'tipping: static over front_right-front_left')
