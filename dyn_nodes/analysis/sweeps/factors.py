"""Factors of a sweep and their targets: parameters of the compiled machine, keys of its YAML, the task, the start.

Only a key of the machine YAML that is not a parameter of the compiled machine needs machine code for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dyn_nodes.control.voltage_profile import VoltageProfile

Target = Literal['parameter', 'machine', 'volts', 'volts_scale', 'pace', 'timing', 'joint', 'lever', 'slope']
JOINTS = 'initial.joint_positions.'
_AS_PARAMETERS: dict[str, tuple[Target, str]] = {
    'payload.mass': ('parameter', 'payload_mass'),
    'slope.roll': ('slope', 'roll'),
    'slope.pitch': ('slope', 'pitch'),
}
"""Keys of the machine YAML that are parameters of the compiled machine."""


@dataclass(frozen=True)
class Factor:
    """A column of the design.

    Attributes:
        name: name of the column.
        target: kind of quantity that the factor sets. `slope`: an angle of the ground, expressed as the direction of
            gravity in the parameters.
        key: parameter, dotted key, `segment/actuator`, actuator, joint, or `roll` or `pitch`.
    """

    name: str
    target: Target
    key: str

    @property
    def structural(self) -> bool:
        """Return whether each value needs separate machine code."""
        return self.target == 'machine'

    @property
    def unit(self) -> str:
        """Unit of the values; empty without a unit, or if the key defines it."""
        if self.target == 'parameter':
            return 'kg' if self.key == 'payload_mass' else ''
        return {'slope': 'rad', 'volts': 'V', 'lever': 'V', 'timing': 's'}.get(self.target, '')

    @property
    def angle(self) -> bool:
        """Return whether the values are angles."""
        return self.target == 'slope'


def factor_of(name: str, target: Target, key: str) -> Factor:
    """Return the factor of an entry; a key of the machine YAML that is a parameter becomes that parameter."""
    if target == 'machine':
        if key in _AS_PARAMETERS:
            return Factor(name, *_AS_PARAMETERS[key])
        if key.startswith(JOINTS):
            return Factor(name, 'joint', key.removeprefix(JOINTS))
    return Factor(name, target, key)


@dataclass
class Case:
    """The values of one run by target."""

    parameters: dict[str, float] = field(default_factory=dict)
    slope: dict[str, float] = field(default_factory=dict)
    joints: dict[str, float] = field(default_factory=dict)
    levers: dict[str, float] = field(default_factory=dict)
    level: tuple[float, ...] = ()
    profile: VoltageProfile | None = None


def case_of(factors: Sequence[Factor], values: Sequence[float], profile: VoltageProfile | None) -> Case:
    """Return the values of a run; the case has a changed task for factors of the task.

    Raises:
        ValueError: the values make the task invalid.
    """
    case = Case(profile=profile, level=tuple(v for factor, v in zip(factors, values) if factor.structural))
    targets = {'parameter': case.parameters, 'slope': case.slope, 'joint': case.joints, 'lever': case.levers}
    for factor, value in zip(factors, values):
        if factor.target in targets:
            targets[factor.target][factor.key] = value
        elif case.profile is not None and factor.target in OF_THE_TASK:
            case.profile = OF_THE_TASK[factor.target](case.profile, factor.key, value)
    return case


def _plateau(profile: VoltageProfile, key: str, value: float) -> VoltageProfile:
    name, _, actuator = key.rpartition('/')
    segments = [
        replace(segment, volts={**segment.volts, actuator: value}) if segment.name == name else segment
        for segment in profile.segments
    ]
    return replace(profile, segments=tuple(segments))


def _scaled(profile: VoltageProfile, actuator: str, factor: float) -> VoltageProfile:
    segments = [
        replace(segment, volts={name: factor * v if name == actuator else v for name, v in segment.volts.items()})
        for segment in profile.segments
    ]
    return replace(profile, segments=tuple(segments))


def _paced(profile: VoltageProfile, _: str, pace: float) -> VoltageProfile:
    """Return the task at another pace; the time after its last segment is unchanged."""
    if pace <= 0.0:
        raise ValueError(f'expected a pace above 0, found {pace:g}')
    segments = [
        replace(
            segment,
            start=segment.start / pace,
            end=segment.end / pace,
            ramp=segment.ramp / pace,
            volts={name: pace * v for name, v in segment.volts.items()},
        )
        for segment in profile.segments
    ]
    end = max((segment.end for segment in profile.segments), default=0.0)
    return replace(profile, duration=end / pace + profile.duration - end, segments=tuple(segments))


WAIT, LENGTH, RAMP = 'wait', 'length', 'ramp'
TIMES = (WAIT, LENGTH, RAMP)
"""Times of a segment that a factor of kind `timing` can set: time since the previous segment, length, ramps."""


def _timed(profile: VoltageProfile, key: str, value: float) -> VoltageProfile:
    """Return the task with another time of a segment; later segments and the end of the task are shifted."""
    name, _, time_kind = key.rpartition('/')
    index = next(k for k, segment in enumerate(profile.segments) if segment.name == name)
    segment = profile.segments[index]
    if time_kind == RAMP:
        changed, moved = replace(segment, ramp=value), 0.0
    elif time_kind == LENGTH:
        moved = segment.start + value - segment.end
        changed = replace(segment, end=segment.start + value)
    else:
        before = profile.segments[index - 1].end if index else 0.0
        moved = before + value - segment.start
        changed = replace(segment, start=before + value, end=segment.end + moved)
    later = [
        replace(later_segment, start=later_segment.start + moved, end=later_segment.end + moved)
        for later_segment in profile.segments[index + 1 :]
    ]
    segments = (*profile.segments[:index], changed, *later)
    return replace(profile, duration=profile.duration + moved, segments=segments)


OF_THE_TASK: dict[str, Callable[[VoltageProfile, str, float], VoltageProfile]] = {
    'volts': _plateau,
    'volts_scale': _scaled,
    'pace': _paced,
    'timing': _timed,
}
"""Functions that change the task, by target: of a task, a key and a value."""
