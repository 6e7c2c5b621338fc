"""Lever sequences against a governor, on machines of a box around its nominal machine.

    case = random_case(box, np.random.default_rng(1))
    profile = lever_profile(case, box.levers)

A case is plain data, so that a run can be recorded, repeated and replayed. For a search it is a vector of numbers
within -1 and 1 (`decoded`), one machine of the box and one lever sequence each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control import Segment, VoltageProfile
from dyn_nodes.governor.campaign.attacks import ATTACKS, PERIOD
from dyn_nodes.governor.campaign.json_lines import finite
from dyn_nodes.governor.campaign.troubles import TroubleBox, Troubles
from dyn_nodes.governor.drives import EffortDrives
from dyn_nodes.governor.neutral_loop import check_delay
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.stability.equilibrium.standing import check_pivots, gives_way

SETTLING = 0.5
"""Time with levers at neutral before the sequence, s: the filters of the monitor settle."""
ACCELERATION = 3.0
"""Greatest acceleration for which efforts are commanded, rad/s2 or m/s2."""
RAMP = 0.02
"""Time from neutral to a lever's position and back, s."""
SEGMENTS = 8
MOST_SEGMENTS = 50
"""Greatest number of segments of a neighbour; the shortest lasts a period."""
SHORTEST, LONGEST = 0.3, 5.0
"""Duration of a segment, s."""
KINDS = ('steps', 'switching', 'reach')
MOST = {
    'mass': 10.0,
    'center': 10.0,
    'roll': 1.0,
    'pitch': 1.0,
    'state_delay': 1.0,
    'command_delay': 1.0,
    'duration': 120.0,
}
"""Greatest magnitudes of fields of a case from a file."""


@dataclass(frozen=True)
class Box:
    """Machines that the governor has to keep from tipping, around its nominal machine, and the levers.

    Attributes:
        levers: names of the actuators, or of joints.
        limits: V, of each; rad/s2 or m/s2 if they are accelerations.
        payload: rated, kg.
        payload_limit: greatest payload of the mount, kg.
        reach: least and greatest position of the joint of each lever, rad or m.
        payload_error: relative error of the governor's payload.
        mass_error: relative error of the mass of all links, heavier or lighter than the nominal one.
        center_error: error of their common centre of mass, m.
        slope: steepest ground, rad, in any direction.
        delay: longest time from a measurement to the response of the valve, s.
        duration: of the lever sequence, s.
        stops: joints stop at their limits.
        imu: the governor gets an IMU, as in the chain of nodes; else it assumes level ground.
        any_start: runs start in any posture that the governor certifies at rest, else in the first one.
        troubles: additional deviations.
        planar: the machine moves in its plane, so that the ground slopes along it alone, and nothing is off the plane.
    """

    levers: tuple[str, ...]
    limits: tuple[float, ...]
    payload: float
    payload_limit: float
    reach: tuple[tuple[float, float], ...]
    payload_error: float = GovernorSettings.payload_error
    mass_error: float = GovernorSettings.mass_error
    center_error: float = 0.0
    slope: float = np.radians(5.0)
    delay: float = GovernorSettings.delay
    duration: float = 10.0
    stops: bool = True
    imu: bool = True
    any_start: bool = False
    troubles: TroubleBox = field(default_factory=TroubleBox)
    planar: bool = False


@dataclass(frozen=True)
class Case:
    """One machine of the box under one lever sequence.

    Attributes:
        segments: (duration, s; volts or accelerations of every lever) one after the other.
        payload, known_payload: the true one and the one of the governor, kg.
        mass: ratio of the mass of the links to the nominal one.
        center: displacement of their common centre of mass, ahead and to the left, m.
        roll, pitch: of the ground, rad.
        state_delay, command_delay: of measurements to the governor and from it to the valves, s.
        duration: of the levers, s.
        stops, imu: as in `Box`.
        start: positions of the levers' joints towards which the initial posture is moved, as far from the first posture
            as the governor certifies at rest, rad or m; empty: the run starts in the first posture.
        troubles: additional deviations.
        attack: of `ATTACKS`, whose parameters are the first segment; empty: the segments are the levers.
    """

    segments: tuple[tuple[float, tuple[float, ...]], ...]
    payload: float
    known_payload: float
    mass: float = 1.0
    center: tuple[float, float] = (0.0, 0.0)
    roll: float = 0.0
    pitch: float = 0.0
    state_delay: float = 0.0
    command_delay: float = 0.0
    duration: float = 10.0
    stops: bool = True
    imu: bool = True
    start: tuple[float, ...] = ()
    troubles: Troubles = field(default_factory=Troubles)
    attack: str = ''

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """Return the case of `as_dict`.

        Raises:
            ValueError: a number that is not finite, negative or beyond `MOST`; a segment of no duration; an unknown
                attack.
            KeyError, TypeError: another form.
        """
        segments = tuple((finite(duration), tuple(map(finite, volts))) for duration, volts in data['segments'])
        start = tuple(map(finite, data.get('start', ())))
        ahead, left = map(finite, data.get('center', (0.0, 0.0)))
        troubles = Troubles.from_dict(data.get('troubles', {}))
        case = cls(**{**data, 'segments': segments, 'start': start, 'troubles': troubles, 'center': (ahead, left)})
        if not (isinstance(case.stops, bool) and isinstance(case.imu, bool)):
            raise ValueError('stops or imu that is not true or false')
        if case.attack and case.attack not in ATTACKS:
            raise ValueError(f'attack {case.attack!r}: expected one of {", ".join(ATTACKS)}')
        for name in data.keys() - {'segments', 'stops', 'imu', 'start', 'troubles', 'center', 'attack'}:
            if abs(finite(data[name])) > MOST.get(name, np.inf):
                raise ValueError(f'{name} beyond {MOST[name]:g}')
        if max(abs(ahead), abs(left)) > MOST['center']:
            raise ValueError(f'center beyond {MOST["center"]:g}')
        if min([case.mass, case.duration, *(span for span, _ in segments)]) <= 0.0:
            raise ValueError('a mass, a duration or a segment of 0 or less')
        if min(case.payload, case.known_payload, case.state_delay, case.command_delay) < 0.0:
            raise ValueError('a negative payload or delay')
        return case


def box_of(machine: Machine, efforts: bool = False, **changes: Any) -> Box:
    """Return the box around a machine.

    Args:
        machine: with hydraulic actuators and a payload mount, on three wheels or more, on two tracks, or planar.
        efforts: the levers are accelerations of joints, produced by efforts; the machine has no actuators then.
        changes: fields of `Box`.

    Raises:
        ValueError: a machine that the governor does not support, such as one with joints that yield under it.
    """
    names, joints, limits = _efforts(machine) if efforts else _valves(machine)
    check_pivots(machine, 'tip-over governor')
    if gives_way(machine) and not changes.get('imu', True):
        raise ValueError(f'machine {machine.name!r}: expected an IMU on a base on pivots, found none')
    spatial = in_space(machine)
    corners = sum(spring.corner for spring in spatial.supports)
    if spatial.base.attachment != 'free' or corners < 3:
        raise ValueError(f'machine {machine.name!r}: expected a free base on three wheels or more, found {corners}')
    if machine.payload is None:
        raise ValueError(f'machine {machine.name!r}: expected a payload mount, found none')
    if efforts:
        check_delay(machine, changes.get('delay', Box.delay))
    planar, payload = machine.base.attachment == 'planar', machine.payload
    greatest = payload.mass or payload.limit
    return Box(names, limits, greatest, payload.limit, reach(machine, joints), planar=planar, **changes)


def _valves(machine: Machine) -> tuple[tuple[str, ...], list[str], tuple[float, ...]]:
    """Return levers of valves, their joints, and the limits, V."""
    if not machine.actuators:
        raise ValueError(f'machine {machine.name!r}: expected actuators that levers move, found none')
    try:
        for actuator in machine.actuators:
            hydraulic(actuator)
    except ValueError as error:
        raise ValueError(f'machine {machine.name!r}: {error}') from None
    names = tuple(actuator.name for actuator in machine.actuators)
    limits = tuple(actuator.command_limit for actuator in machine.actuators)
    return names, [actuator.joint for actuator in machine.actuators], limits


def _efforts(machine: Machine) -> tuple[tuple[str, ...], list[str], tuple[float, ...]]:
    """Return the driven joints, as levers and as joints, and the greatest commanded accelerations."""
    joints = EffortDrives(machine).joints
    return joints, list(joints), (ACCELERATION,) * len(joints)


def reach(machine: Machine, joints: Sequence[str]) -> tuple[tuple[float, float], ...]:
    """Return least and greatest positions of joints, rad or m; for a joint without limits one turn, half each way."""
    records = [machine.joint(name) for name in joints]
    return tuple((max(joint.lower, -np.pi), min(joint.upper, np.pi)) for joint in records)


def lever_profile(case: Case, levers: tuple[str, ...], name: str = 'adversary') -> VoltageProfile:
    """Return the lever sequence of a case as a task, which starts after `SETTLING`."""
    segments, start, end = [], SETTLING, SETTLING + case.duration
    for number, (duration, volts) in enumerate(case.segments, 1):
        stop = min(start + duration, end)
        if stop - start > 1e-6:
            ramp = min(RAMP, 0.5 * (stop - start))
            segments.append(Segment(f'throw {number}', start, stop, ramp, dict(zip(levers, volts))))
        start = stop
    return VoltageProfile(name, end, tuple(segments))


def random_case(box: Box, rng: np.random.Generator) -> Case:
    """Return a random lever sequence on a random machine of the box, half of them with the rated payload."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    sequence = {'steps': _steps, 'switching': _switching, 'reach': _reach}[kind](box, rng)
    nominal = box.payload if rng.random() < 0.5 else float(rng.uniform(0.0, box.payload))
    heading, steepness = rng.uniform(0.0, 2.0 * np.pi), box.slope * rng.random()
    slope = steepness * np.array([np.cos(heading), np.sin(heading)])
    mass = 1.0 + box.mass_error * float(rng.integers(-1, 2))
    delay, share = box.delay * rng.random(), rng.random()
    error = box.payload_error * rng.uniform(-1.0, 1.0)
    case = _case(box, sequence, nominal, error, mass, slope, delay, share)
    drop, seed = float(rng.random()), int(rng.integers(2**32))
    troubles = box.troubles.drawn(rng.uniform(-1.0, 1.0, 3), drop, seed, box.duration)
    start = _start(box, rng.random(len(box.reach)))
    return replace(case, troubles=troubles, start=start, center=_center(box, rng.random()))


def attack_cases(box: Box, count: int, seed: int) -> list[Case]:
    """Return random cases whose levers react to the machine, the kinds of `ATTACKS` in turn."""
    cases = []
    for number in range(count):
        rng = np.random.default_rng((seed, number, 1))
        signs = rng.choice([-1.0, 1.0], len(box.limits)) * rng.choice([1.0, 1.0, 0.5], len(box.limits))
        first = round(float(rng.uniform(0.2, 3.0)), 3), tuple((np.array(box.limits) * signs).tolist())
        case = random_case(box, rng)
        troubles = replace(case.troubles, seed=int(rng.integers(2**32)))
        name = tuple(ATTACKS)[number % len(ATTACKS)]
        cases.append(replace(case, segments=(first,), attack=name, troubles=troubles))
    return cases


def _center(box: Box, share: float) -> tuple[float, float]:
    """Return the centre of mass of a number from 0 to 1: nominal, or displaced to one of four sides.

    The number of positions is small because a plant is compiled for each.
    """
    if not box.center_error:
        return 0.0, 0.0
    sides = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    sides = [side for side in sides if not (box.planar and side[1])]
    ahead, left = sides[min(int(share * len(sides)), len(sides) - 1)]
    return box.center_error * ahead, box.center_error * left


def _start(box: Box, shares: Array) -> tuple[float, ...]:
    """Return positions at these fractions (m,), 0 to 1, of the reach of the joints; none in a box of one start."""
    if not box.any_start:
        return ()
    least, most = np.array(box.reach).T
    return tuple(np.round(least + shares * (most - least), 4).tolist())


def _case(
    box: Box,
    sequence: list[tuple[float, Array]],
    nominal: float,
    error: float,
    mass: float,
    slope: Array,
    delay: float,
    share: float,
) -> Case:
    return Case(
        segments=tuple((round(float(span), 4), tuple(np.round(volts, 4).tolist())) for span, volts in sequence),
        payload=round(min(nominal * (1.0 + float(error)), box.payload_limit), 3),
        known_payload=round(nominal, 3),
        mass=round(mass, 4),
        roll=0.0 if box.planar else round(float(slope[0]), 5),
        pitch=round(float(slope[1]), 5),
        state_delay=round(float(delay * share), 4),
        command_delay=round(float(delay * (1.0 - share)), 4),
        duration=box.duration,
        stops=box.stops,
        imu=box.imu,
    )


def _steps(box: Box, rng: np.random.Generator) -> list[tuple[float, Array]]:
    """Return segments with all levers at random positions, some at neutral, for random times."""
    limits, left, result = np.array(box.limits), box.duration, []
    while left > 0.0:
        span = float(rng.uniform(SHORTEST, 3.0))
        volts = rng.uniform(-limits, limits) * (rng.random(len(limits)) < 0.7)
        result.append((span, volts))
        left -= span
    return result


def _switching(box: Box, rng: np.random.Generator) -> list[tuple[float, Array]]:
    """Return segments in which levers alternate between their limits, each with its period; some rest."""
    limits = np.array(box.limits)
    half = rng.uniform(0.4, 4.0, len(limits))
    phase, size = rng.random(len(limits)), limits * rng.uniform(0.5, 1.0, len(limits))
    size = size * (rng.random(len(limits)) < 0.8)
    times = [0.0, box.duration]
    for span, first in zip(half, phase):
        times += np.arange(span * first, box.duration, span).tolist()
    edges = sorted({round(float(t), 3) for t in times})
    result = []
    for start, end in pairwise(edges):
        middle = 0.5 * (start + end)
        sign = np.where(np.floor(middle / half - phase) % 2 == 0, 1.0, -1.0)
        result.append((end - start, sign * size))
    return result


def _reach(box: Box, rng: np.random.Generator) -> list[tuple[float, Array]]:
    """Return segments with some levers held one way, then one of the others alternating in even times."""
    limits = np.array(box.limits)
    chosen = int(rng.integers(len(limits)))
    held = rng.choice([-1.0, 1.0], len(limits)) * limits * rng.uniform(0.4, 1.0, len(limits))
    held[chosen] = 0.0
    result = [(float(rng.uniform(1.0, 6.0)), held)]
    period, sign, left = float(rng.uniform(0.5, 3.0)), rng.choice([-1.0, 1.0]), box.duration - result[0][0]
    continues = bool(rng.random() < 0.5)
    while left > 0.0:
        volts = held.copy() if continues else np.zeros(len(limits))
        volts[chosen] = sign * limits[chosen]
        result.append((period, volts))
        sign, left = -sign, left - period
    return result


# -- vectors of a search ---------------------------------------------------------------------------------------------


def dimension(box: Box) -> int:
    """Return the number of elements of the vector of a case."""
    return SEGMENTS * (1 + len(box.levers)) + 11 + (len(box.reach) if box.any_start else 0) + bool(box.center_error)


def decoded(box: Box, vector: Array) -> Case:
    """Return the case of a vector (`dimension`,), clipped to -1 and 1.

    In half of the cases the governor's payload is the rated one. Numbers of quantities that the box fixes have no
    effect.
    """
    z = np.clip(vector, -1.0, 1.0)
    m = len(box.levers)
    spans = SHORTEST * (LONGEST / SHORTEST) ** (0.5 * (z[:SEGMENTS] + 1.0))
    volts = z[SEGMENTS : SEGMENTS * (1 + m)].reshape(SEGMENTS, m) * np.array(box.limits)
    error, mass, roll, pitch, delay, share, nominal, drop, *others = z[SEGMENTS * (1 + m) :].tolist()
    slope = box.slope * np.array([roll, pitch])
    slope /= max(1.0, float(np.hypot(roll, pitch)))
    case = _case(
        box,
        [(float(span), row) for span, row in zip(spans, volts)],
        box.payload * min(1.0 + nominal, 1.0),
        box.payload_error * error,
        1.0 + box.mass_error * float(np.clip(np.round(1.5 * mass), -1.0, 1.0)),
        slope,
        box.delay * 0.5 * (delay + 1.0),
        0.5 * (share + 1.0),
    )
    troubles = box.troubles.drawn(np.array(others[:3]), 0.5 * (drop + 1.0), crc32(z.tobytes()), box.duration)
    start = _start(box, 0.5 * (np.array(others[3 : 3 + len(box.reach)]) + 1.0))
    center = _center(box, 0.5 * (others[-1] + 1.0))
    return replace(case, troubles=troubles, start=start, center=center)


# -- neighbours of a case --------------------------------------------------------------------------------------------


def neighbour(box: Box, case: Case, rng: np.random.Generator) -> Case:
    """Return a case that differs from another one in some segments, and in every third draw in the machine as well.

    Both are in the box. Start, centre of mass and troubles stay.
    """
    segments = [(span, np.array(volts)) for span, volts in case.segments]
    for _ in range(1 + rng.poisson(1.0)):
        _change_segments(box, segments, rng)
    segments = [(span, volts) for span, volts in segments[:MOST_SEGMENTS] if span >= PERIOD] or segments[:1]
    changes: dict[str, Any] = _other_machine(box, case, rng) if rng.random() < 1.0 / 3.0 else {}
    return replace(
        case,
        segments=tuple((round(float(span), 4), tuple(np.round(volts, 4).tolist())) for span, volts in segments),
        **changes,
    )


def _change_segments(box: Box, segments: list[tuple[float, Array]], rng: np.random.Generator) -> None:
    """Stretch, shift, replace, insert or remove a segment, in place."""
    limits, index = np.array(box.limits), int(rng.integers(len(segments)))
    span, volts = segments[index]
    kind = rng.random()
    if kind < 0.4:
        segments[index] = float(np.clip(span * np.exp(rng.normal(0.0, 0.3)), PERIOD, box.duration)), volts
    elif kind < 0.5 and index:
        shift = rng.uniform(-0.5, 0.5) * min(span, segments[index - 1][0])
        segments[index - 1] = segments[index - 1][0] + shift, segments[index - 1][1]
        segments[index] = span - shift, volts
    elif kind < 0.8:
        chosen = rng.random(len(limits)) < max(0.4, 1.0 / len(limits))
        extreme = rng.choice([-1.0, 1.0, 1.0, -1.0, 0.0], len(limits))
        factors = extreme if rng.random() < 0.7 else rng.uniform(-1.0, 1.0, len(limits))
        segments[index] = span, np.where(chosen, limits * factors, volts)
    elif kind < 0.9 or len(segments) == 1:
        part = span * rng.uniform(0.2, 0.8)
        segments[index : index + 1] = [(part, volts), (span - part, limits * rng.choice([-1.0, 1.0], len(limits)))]
    else:
        del segments[index]


def _other_machine(box: Box, case: Case, rng: np.random.Generator) -> dict[str, Any]:
    """Return changed fields of a case: links, payload, ground or delays."""
    kind = int(rng.integers(4))
    if kind == 0:
        return {'mass': round(1.0 + box.mass_error * float(rng.integers(-1, 2)), 4)}
    if kind == 1:
        nominal = float(np.clip(case.known_payload + rng.normal(0.0, 0.1) * box.payload, 0.0, box.payload))
        error = box.payload_error * float(rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)]))
        return {
            'known_payload': round(nominal, 3),
            'payload': round(min(nominal * (1.0 + error), box.payload_limit), 3),
        }
    if kind == 2:
        slope = np.array([case.roll, case.pitch]) + rng.normal(0.0, 0.3, 2) * box.slope
        slope *= min(1.0, box.slope / max(float(np.hypot(*slope)), 1e-12))
        return {'roll': 0.0 if box.planar else round(float(slope[0]), 5), 'pitch': round(float(slope[1]), 5)}
    delay, share = box.delay * float(rng.choice([1.0, rng.random()])), float(rng.choice([0.0, 1.0, rng.random()]))
    return {'state_delay': round(delay * share, 4), 'command_delay': round(delay * (1.0 - share), 4)}
