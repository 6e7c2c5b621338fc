"""What a factor acts on: parameters of the compiled machine, keys of its YAML, the task, the start.

Only a key of the machine YAML that the compiled machine does not take as a parameter needs machine code for each value.
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
"""Keys of the machine YAML that the compiled machine takes at run time."""


@dataclass(frozen=True)
class Factor:
    """A column of the design.

    Attributes:
        name: of the column.
        target: what it acts on. `slope`: an angle of the ground, which is gravity's direction in the parameters.
        key: parameter, dotted key, `segment/actuator`, actuator, joint, or `roll` or `pitch`.
    """

    name: str
    target: Target
    key: str

    @property
    def structural(self) -> bool:
        """Each value has its own machine code."""
        return self.target == 'machine'

    @property
    def unit(self) -> str:
        """Unit of the values; empty: none, or that of the key."""
        if self.target == 'parameter':
            return 'kg' if self.key == 'payload_mass' else ''
        return {'slope': 'rad', 'volts': 'V', 'lever': 'V', 'timing': 's'}.get(self.target, '')

    @property
    def angle(self) -> bool:
        """The values are angles."""
        return self.target == 'slope'


def factor_of(name: str, target: Target, key: str) -> Factor:
    """Return the factor of an entry; keys of the machine YAML that are parameters become these."""
    if target == 'machine':
        if key in _AS_PARAMETERS:
            return Factor(name, *_AS_PARAMETERS[key])
        if key.startswith(JOINTS):
            return Factor(name, 'joint', key.removeprefix(JOINTS))
    return Factor(name, target, key)


@dataclass
class Case:
    """The values of one run by what they act on."""

    parameters: dict[str, float] = field(default_factory=dict)
    slope: dict[str, float] = field(default_factory=dict)
    joints: dict[str, float] = field(default_factory=dict)
    levers: dict[str, float] = field(default_factory=dict)
    level: tuple[float, ...] = ()
    profile: VoltageProfile | None = None


def case_of(factors: Sequence[Factor], values: Sequence[float], profile: VoltageProfile | None) -> Case:
    """Return the values of a run; those of the task come as a changed task.

    Raises:
        ValueError: a task that is none at these values.
    """
    case = Case(profile=profile, level=tuple(v for own, v in zip(factors, values) if own.structural))
    places = {'parameter': case.parameters, 'slope': case.slope, 'joint': case.joints, 'lever': case.levers}
    for factor, value in zip(factors, values):
        if factor.target in places:
            places[factor.target][factor.key] = value
        elif case.profile is not None and factor.target in OF_THE_TASK:
            case.profile = OF_THE_TASK[factor.target](case.profile, factor.key, value)
    return case


def _plateau(profile: VoltageProfile, key: str, value: float) -> VoltageProfile:
    name, _, actuator = key.rpartition('/')
    segments = [
        replace(own, volts={**own.volts, actuator: value}) if own.name == name else own for own in profile.segments
    ]
    return replace(profile, segments=tuple(segments))


def _scaled(profile: VoltageProfile, actuator: str, factor: float) -> VoltageProfile:
    segments = [
        replace(own, volts={name: factor * v if name == actuator else v for name, v in own.volts.items()})
        for own in profile.segments
    ]
    return replace(profile, segments=tuple(segments))


def _paced(profile: VoltageProfile, _: str, pace: float) -> VoltageProfile:
    """Return the task at another pace; the time after its last segment stays as long as it is."""
    if pace <= 0.0:
        raise ValueError(f'expected a pace above 0, found {pace:g}')
    segments = [
        replace(
            own,
            start=own.start / pace,
            end=own.end / pace,
            ramp=own.ramp / pace,
            volts={name: pace * v for name, v in own.volts.items()},
        )
        for own in profile.segments
    ]
    end = max((own.end for own in profile.segments), default=0.0)
    return replace(profile, duration=end / pace + profile.duration - end, segments=tuple(segments))


WAIT, LENGTH, RAMP = 'wait', 'length', 'ramp'
TIMES = (WAIT, LENGTH, RAMP)
"""What a factor of kind `timing` changes of a segment: the time between it and the one before, its own, its ramps."""


def _timed(profile: VoltageProfile, key: str, value: float) -> VoltageProfile:
    """Return the task with another time of a segment; later ones, and the end of the task, keep their distances."""
    name, _, what = key.rpartition('/')
    place = next(k for k, own in enumerate(profile.segments) if own.name == name)
    own = profile.segments[place]
    if what == RAMP:
        changed, moved = replace(own, ramp=value), 0.0
    elif what == LENGTH:
        moved = own.start + value - own.end
        changed = replace(own, end=own.start + value)
    else:
        before = profile.segments[place - 1].end if place else 0.0
        moved = before + value - own.start
        changed = replace(own, start=before + value, end=own.end + moved)
    later = [replace(own, start=own.start + moved, end=own.end + moved) for own in profile.segments[place + 1 :]]
    segments = (*profile.segments[:place], changed, *later)
    return replace(profile, duration=profile.duration + moved, segments=segments)


OF_THE_TASK: dict[str, Callable[[VoltageProfile, str, float], VoltageProfile]] = {
    'volts': _plateau,
    'volts_scale': _scaled,
    'pace': _paced,
    'timing': _timed,
}
"""Targets that change the task, by their names: of a task, a key and a value."""
