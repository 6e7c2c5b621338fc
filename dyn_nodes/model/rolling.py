"""Rolling of a wheel about its axle, on a tyre or on rollers: record and checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dyn_nodes.model.friction.lugre import LuGre
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import number, unit_tuple, vector

PARALLEL = 1e-6
"""Greatest sine of the angle between an axle and the axis of its joint (round-off of files); also of an offset, m."""


@dataclass(frozen=True)
class Rolling:
    """A wheel that turns with its link; a positive turn about the axle moves it forward, along axle x up."""

    axis: Annotated[
        tuple[float, float, float],
        vector('axle in the frame of the link; forward: axle x up', default=(0.0, 1.0, 0.0), read=unit_tuple),
    ]
    roller_angle: Annotated[
        float | None,
        number(
            'omnidirectional wheel: from the rolling direction to the axis of the roller on the ground, about the '
            'upward normal; 0: free sideways, +-pi/4: Mecanum; absent: a tyre',
            'rad',
        ),
    ] = None
    relaxation_length: Annotated[
        float, number('of a tyre: distance rolled in which a deflection fades to 1/e', 'm', 'positive')
    ] = 0.1


def check_rolling(name: str, wheel: Any, joints: Mapping[str, Any], config: Any, report: Report) -> None:
    """Check that the link of a rolling wheel turns about its axle and that its friction law is LuGre."""
    where = f'wheels.{name}.rolling'
    line, written = config.line(where), config.written(where)
    if not isinstance(wheel.friction, LuGre):
        report.add(line, written, 'friction of model lugre for a wheel that rolls', 'another, or none')
    if wheel.friction_point != 'ground':
        where = f'wheels.{name}.friction_point'
        report.add(config.line(where), config.written(where), 'ground for a wheel that rolls', wheel.friction_point)
    joint = next((joint for joint in joints.values() if joint.child == wheel.link), None)
    if joint is None or joint.type not in ('continuous', 'revolute'):
        actual = f'link {wheel.link!r}, which no joint moves'
        if joint is not None:
            actual = f'link {wheel.link!r}, which the {joint.type} joint {joint.name!r} moves'
        report.add(config.line(f'wheels.{name}.link'), written, 'a link that a continuous joint turns', actual)
        return
    axle = np.asarray(wheel.rolling.axis)
    if np.linalg.norm(np.cross(joint.axis, axle)) > PARALLEL or not axle.any():
        expected = f'the axis of joint {joint.name}, {_text(joint.axis)}, or its reverse'
        report.add(config.line(f'{where}.axis'), f'{written}.axis', expected, _text(axle))
    offset = np.linalg.norm(np.cross(joint.axis, wheel.position))
    if offset > PARALLEL:
        where = f'wheels.{name}.position'
        expected = f'a point on the axis of joint {joint.name}'
        report.add(config.line(where), config.written(where), expected, f'one {offset:.4g} m beside it')


def _text(vector: Any) -> str:
    return '[' + ', '.join(f'{value:g}' for value in vector) + ']'
