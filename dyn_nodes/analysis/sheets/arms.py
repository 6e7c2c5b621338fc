"""Static moment of the arm of an excavator or crane in its plane, for the load points of a chart.

All moments are in the vertical plane of the arm, from the slewing axis, positive away from it. Cylinders and links of a
linkage are part of the segments: the centre of mass of a two-force member is a fixed weighted mean of its two ends, so
its mass can be divided over the two segments that it connects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.analysis.sheets.cases import Cases, SheetError, amount, column, option_of
from dyn_nodes.common.arrays import Array

POSTURES = 61
"""Number of postures that are compared if more than one reaches the load point."""
OUT_OF_LIMITS = 10.0
"""Relative penalty of the load for each radian beyond the limits of a joint."""


@dataclass(frozen=True, eq=False)
class ArmPostures:
    """Arm at n load points in k postures each.

    Attributes:
        mass: (n, 1) of the arm, kg.  moment: (n, k) static moment, kg m.
        penalty: (n, k) 0 within the limits of the joints, above outside.
        radius: (n,) of the load point, m.  head_mass: (n,) mass reduced to the head of a boom, kg.
        angles: (n, k, s) of the segments above the horizontal, rad.
    """

    mass: Array
    moment: Array
    penalty: Array
    radius: Array
    head_mass: Array
    angles: Array


@dataclass(frozen=True, eq=False)
class Segment:
    """Segment of n arms: length, mass, and position of the centre of mass along and across, (n,)."""

    length: Array
    mass: Array
    along: Array
    across: Array

    def moment(self, angle: Array) -> Array:
        """Return the static moment about the segment's first joint at angles (n, k), kg m."""
        return self.mass[:, None] * (self.along[:, None] * np.cos(angle) - self.across[:, None] * np.sin(angle))


def folding_arm(arm: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> ArmPostures:
    """Return the postures of an arm of two or three segments with rotary joints.

    Two segments reach a point in one posture, elbow up; if the point is farther than both, the arm is stretched toward
    it and the bucket swings out over the gap: its centre of mass, part of the last segment, moves outward by `swing`
    times the gap. Of three segments, the joint between the first two is free in its limits.
    """
    foot = [column(value, values, cases) for value in arm['foot']]
    segments = [_segment(name, options, values, cases) for name, options in arm['segments'].items()]
    hang = column(arm.get('hang', 0.0), values, cases)
    height = cases.number('height')
    radius = _radius(arm, values, cases, foot, height)
    line = (radius - foot[0])[:, None], (height + hang - foot[1])[:, None]
    angles, penalty = _angles(arm, segments, line, values, cases)
    joint, moment = foot[0][:, None], np.zeros_like(penalty)
    for segment, angle in zip(segments, angles, strict=True):
        moment = moment + segment.mass[:, None] * joint + segment.moment(angle)
        joint = joint + segment.length[:, None] * np.cos(angle)
    if 'bucket' in arm:
        reach = np.sum([segment.length for segment in segments], axis=0)[:, None]
        gap = np.maximum(np.hypot(*line) - reach, 0.0)
        swung = column(arm['bucket']['mass'], values, cases) * column(arm['bucket']['swing'], values, cases)
        moment = moment + swung[:, None] * gap * np.cos(angles[-1])
    mass = np.sum([segment.mass for segment in segments], axis=0)
    return ArmPostures(mass[:, None], moment, penalty, radius, np.zeros(cases.size), np.stack(angles, axis=-1))


def _segment(name: str, options: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> Segment:
    numbers = np.zeros((4, cases.size))
    labels = cases.label(name) if name in cases.labels else np.full(cases.size, 'default', dtype=object)
    for label in set(labels.tolist()):
        mask = labels == label
        try:
            option = option_of(options, label)
        except SheetError as error:
            raise SheetError(f'arm.segments.{name}: {error}') from None
        part = cases.part(mask)
        for row, value in enumerate((option['length'], option['mass'], *option['com'])):
            numbers[row, mask] = amount(value, values, part)
    return Segment(*numbers)


def _radius(arm: Mapping[str, Any], values: Mapping[str, Any], cases: Cases, foot: list[Array], height: Array) -> Array:
    """Return the radii of the load points (n,); `max` is the greatest reach at the height of the cell."""
    radius = cases.number('radius')
    missing = np.isnan(radius)
    if not missing.any():
        return radius
    if 'greatest_reach' not in arm:
        raise SheetError('radius: expected a number, or arm.greatest_reach for cells at `max`')
    reach = amount(arm['greatest_reach'], values, cases)
    along = np.sqrt(np.maximum(reach**2 - (height - foot[1]) ** 2, 1e-4))
    return np.where(missing, foot[0] + along, radius)


def _angles(
    arm: Mapping[str, Any],
    segments: list[Segment],
    line: tuple[Array, Array],
    values: Mapping[str, Any],
    cases: Cases,
) -> tuple[list[Array], Array]:
    """Return the angles (n, k) of the segments and the penalty (n, k)."""
    if len(segments) == 2:
        first, last, excess = _two_bars(segments[0].length[:, None], segments[1].length[:, None], line)
        return [first, last], np.zeros_like(excess)
    if len(segments) != 3:
        raise SheetError(f'arm.segments: expected two or three, found {len(segments)}')
    names = list(arm['segments'])
    limits = {
        name: [column(limit, values, cases)[:, None] for limit in pair]
        for name, pair in arm.get('joint_limits', {}).items()
    }
    if names[1] not in limits:
        raise SheetError(f'arm.joint_limits: expected limits of {names[1]!r}')
    least, greatest = limits[names[1]]
    bend = np.linspace(0.0, 1.0, POSTURES)[None] * (greatest - least) + least
    one, two = segments[0].length[:, None], segments[1].length[:, None]
    along, up = one + two * np.cos(bend), two * np.sin(bend)
    chord, last, excess = _two_bars(np.hypot(along, up), segments[2].length[:, None], line)
    first = chord - np.arctan2(up, along)
    second = first + bend
    penalty = 4.0 * OUT_OF_LIMITS * excess
    for name, angle in ((names[0], first), (names[2], (last - second + np.pi) % (2.0 * np.pi) - np.pi)):
        if name in limits:
            penalty = penalty + OUT_OF_LIMITS * np.maximum(limits[name][0] - angle, 0.0)
            penalty = penalty + OUT_OF_LIMITS * np.maximum(angle - limits[name][1], 0.0)
    return [first, second, last], penalty


def _two_bars(first: Array, second: Array, line: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Return the angles of two bars to a point, elbow up, and the excess of the cosine if the point is out of reach."""
    square = line[0] ** 2 + line[1] ** 2
    distance = np.sqrt(square)
    cosine = (first**2 + square - second**2) / (2.0 * first * distance)
    angle = np.arctan2(line[1], line[0]) + np.arccos(np.clip(cosine, -1.0, 1.0))
    last = np.arctan2(line[1] - first * np.sin(angle), line[0] - first * np.cos(angle))
    return angle, last, np.maximum(np.abs(cosine) - 1.0, 0.0)


def telescope(arm: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> ArmPostures:
    """Return the postures of a telescopic boom: its length and the radius of the load determine its angle."""
    foot = column(arm['foot'][0], values, cases)
    length, radius = cases.number('boom_length'), cases.number('radius')
    mass, along = column(arm['mass'], values, cases), column(arm['com'], values, cases)
    cosine = np.clip((radius - foot - amount(arm.get('head', 0.0), values, cases)) / length, -1.0, 1.0)
    moment = mass * (foot + along * cosine)
    shape = (cases.size, 1)
    angles = np.arccos(cosine)[:, None, None]
    head_mass = mass * along / length
    return ArmPostures(mass[:, None], moment[:, None], np.zeros(shape), radius, head_mass, angles)
