"""The actuators of the assumed hydraulics HYD-A of the specification (G2 to G6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hyd_a import make_supply, make_valve

from dyn_nodes.model.machine import CylinderActuator, MotorActuator, PinTriangle, SlidingRod, Supply, Valve


@pytest.fixture
def supply() -> Supply:
    return make_supply()


@pytest.fixture
def valve() -> Valve:
    return make_valve()


@pytest.fixture
def boom() -> CylinderActuator:
    triangle = PinTriangle(a=0.80, b=2.20, angle=0.95, direction=1.0, retracted_length=1.30, stroke=1.45)
    return CylinderActuator(
        'boom', 'boom_joint', triangle, 2.261947e-2, 1.127046e-2, 3.0e-3, 1.821513e-2, 8e4, make_valve(), make_supply()
    )


@pytest.fixture
def stick() -> CylinderActuator:
    triangle = PinTriangle(a=2.1, b=0.7, angle=0.60, direction=-1.0, retracted_length=1.45, stroke=1.34)
    return CylinderActuator(
        'stick',
        'stick_joint',
        triangle,
        1.539380e-2,
        7.539822e-3,
        2.0e-3,
        1.217876e-2,
        4e4,
        make_valve(),
        make_supply(2.0e-3),
    )


@pytest.fixture
def rod(boom) -> CylinderActuator:
    """Return the boom's cylinder as a body: its joint is the rod in the barrel."""
    return replace(boom, name='rod', joint='rod_joint', linkage=SlidingRod(stroke=1.45, retracted_position=0.2))


@pytest.fixture
def swing() -> MotorActuator:
    return MotorActuator(
        'swing', 'swing_joint', 2.9e-3, 3e-3, 2000.0, make_valve(2e-2, 2e-2), make_supply(line_relief=22e6)
    )
