"""State of a machine in a few words: kind, edge, wheels in the air, angle and seconds.

    tracker = SituationTracker()
    situation = tracker.update(snapshot)  # for each instant, in order of time
    situation.words, situation.figures    # 'TIPPING over the front', '2 wheels in the air, 8.5 degrees, 2.1 s'

The words are the bands of the margins and the states at zero of `measures`, as in diagnostics and reports. The first
of these that applies is the state:

- `overturned`: the event
- `in the air`: no support carries load
- `tipping`: a margin with motion is zero, or the loaded supports lie on one line; `recovering` while the tilt decreases
- `lifted`: a support that has carried load carries none
- `override`: a held key passes levers without the governor
- `held`: the governor holds a lever
- `danger`, `caution`, `ok`: the worst band of margins, friction use and load moment
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import (
    BAND_OF_STAGE,
    BANDS,
    CAUTION,
    DANGER,
    OK,
    friction_levels,
    in_order,
    measure_of,
    stage_of,
)
from dyn_nodes.viewer.geometry import rotation_of
from dyn_nodes.viewer.snapshot import Situation, Snapshot

OVERTURNED, AIRBORNE, TIPPING, RECOVERING, LIFTED, OVERRIDE, HELD = (
    'overturned',
    'in the air',
    'tipping',
    'recovering',
    'lifted',
    'override',
    'held',
)
NOT_AT_REST = (OVERTURNED, AIRBORNE, TIPPING, RECOVERING)
"""States in which the load and the reach that are left at rest do not apply."""
WORDS = {OK: 'STABLE'}
TURN = math.radians(0.15)
"""Change of the tilt after which its direction counts as changed, rad."""
ON_LINE = 0.02
"""Least width of the loaded supports over the width of all supports, below which they lie on one line."""
ROUND_OFF = 1e-6
"""Margin over its full scale below which it counts as zero."""
FRICTION = friction_levels()


@dataclass(frozen=True)
class _Cause:
    """A value in a band: severity 0 at the limit, 1 at full scale; edge or wheel; text."""

    band: str
    severity: float
    edge: str
    wheel: str
    text: str
    is_margin: bool = False


class SituationTracker:
    """Determines the situations of a run, from instants in order of time; a step back of time restarts it."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the run."""
        self._carried: set[str] = set()
        self._time = -math.inf
        self._since: float | None = None
        self._extreme, self._rises = 0.0, True

    def update(self, snapshot: Snapshot) -> Situation:
        """Return the situation of an instant."""
        return replace(self._update(snapshot), margin=_least_margin(snapshot))

    def _update(self, snapshot: Snapshot) -> Situation:
        if snapshot.time < self._time:
            self.restart()
        self._time = snapshot.time
        self._carried |= {name for name, force in snapshot.forces.items() if force[2] > 0.0}
        lifted, tilt = self._lifted(snapshot), tilt_of(snapshot)
        is_tipping = _is_at_zero(snapshot) or (bool(lifted) and _on_one_line(snapshot, lifted))
        if not lifted and not is_tipping and not snapshot.overturned:
            self._since, self._extreme, self._rises = None, tilt, True
            return _standing(snapshot)
        self._since = snapshot.time if self._since is None else self._since
        self._follow(tilt)
        figures = f'{math.degrees(tilt):.1f} degrees, {snapshot.time - self._since:.1f} s'
        if lifted:
            figures = f'{len(lifted)} wheel{"s" if len(lifted) > 1 else ""} in the air, {figures}'
        edge = tipping_edge(snapshot, lifted)
        over = f' over the {edge}' if edge else ''
        if snapshot.overturned:
            return Situation(OVERTURNED, DANGER, f'OVERTURNED{over}', figures)
        if lifted and not any(force[2] > 0.0 for force in snapshot.forces.values()) and snapshot.forces:
            return Situation(AIRBORNE, DANGER, 'IN THE AIR: no wheel carries load', figures)
        if not is_tipping:
            return Situation(LIFTED, DANGER, f'LIFTED: {_names(lifted)}', figures)
        if self._rises:
            return Situation(TIPPING, DANGER, f'TIPPING{over}', figures)
        return Situation(RECOVERING, DANGER, f'RECOVERING{over}', figures)

    def _lifted(self, snapshot: Snapshot) -> list[str]:
        """Return the supports that have carried load and carry none."""
        lifted = {name for name, force in snapshot.forces.items() if not force[2] > 0.0} & self._carried
        share = snapshot.margins.get('load_share')
        if share is not None and len(share.names) == len(share.edges):
            lifted |= {name for name, value in zip(share.names, share.edges) if value <= 0.0}
        return sorted(lifted - {name for name, force in snapshot.forces.items() if force[2] > 0.0})

    def _follow(self, tilt: float) -> None:
        """Update the direction of the tilt."""
        if self._rises:
            self._extreme = max(self._extreme, tilt)
        else:
            self._extreme = min(self._extreme, tilt)
        if abs(tilt - self._extreme) > TURN:
            self._rises, self._extreme = not self._rises, tilt


def with_situations(snapshots: Iterable[Snapshot]) -> None:
    """Set the situation of each instant of a run, in order of time."""
    tracker = SituationTracker()
    for snapshot in snapshots:
        snapshot.situation = tracker.update(snapshot)


def tipping_edge(snapshot: Snapshot, lifted: Iterable[str] = ()) -> str:
    """Return the edge over which a machine tips: of the least margin, or opposite the supports in the air; ''."""
    for name in sorted(snapshot.margins, key=lambda name: (not measure_of(name).with_motion, name != 'net_moment')):
        margin = snapshot.margins[name]
        if measure_of(name).per == 'edge' and margin.critical_name:
            return margin.critical_name.replace('_', ' ')
    up = [name for name in lifted if name in snapshot.contacts]
    down = [name for name in snapshot.contacts if name not in up]
    if not up or not down:
        return ''
    away = _mean(snapshot, down) - _mean(snapshot, up)
    ahead, left, _ = rotation_of(snapshot.base_quaternion).inv().apply(away)
    if abs(ahead) >= abs(left):
        return 'front' if ahead > 0.0 else 'rear'
    return 'left' if left > 0.0 else 'right'


def _mean(snapshot: Snapshot, names: Iterable[str]) -> Array:
    return np.asarray(np.mean([snapshot.contacts[name] for name in names], axis=0))


def tilt_of(snapshot: Snapshot) -> float:
    """Return the angle between the base's z axis and the normal of the ground, rad."""
    return float(np.arccos(np.clip(rotation_of(snapshot.base_quaternion).apply((0.0, 0.0, 1.0))[2], -1.0, 1.0)))


def _is_at_zero(snapshot: Snapshot) -> bool:
    """Return whether a margin that includes motion is zero at an edge."""
    for name, margin in snapshot.margins.items():
        measure = measure_of(name)
        is_judge = measure.with_motion and measure.at_zero == 'tipping' and measure.per == 'edge'
        full = margin.levels_of(name).full
        is_nothing = margin.value <= ROUND_OFF * full if math.isfinite(full) else measure.is_zero(margin.value)
        if is_judge and (is_nothing or margin.value <= 0.0):
            return True
    return False


def _on_one_line(snapshot: Snapshot, lifted: Iterable[str]) -> bool:
    """Return whether the loaded supports lie on one line, so that they cannot hold the machine."""
    raised = set(lifted)
    down = [name for name, force in snapshot.forces.items() if force[2] > 0.0 and name not in raised]
    if len(down) <= 2:
        return True
    points = {name: np.asarray(point[:2]) for name, point in snapshot.contacts.items()}
    if not all(name in points for name in down):
        return False
    return _width([points[name] for name in down]) < ON_LINE * _width(list(points.values()))


def _width(points: list[Array]) -> float:
    """Return the lesser extent of points in the plane: their least singular value about the mean."""
    centred = np.array(points) - np.mean(points, axis=0)
    return float(np.linalg.svd(centred, compute_uv=False)[-1])


def _standing(snapshot: Snapshot) -> Situation:
    """Return the situation of a machine on all its supports."""
    causes = [*_margin_causes(snapshot), *_friction_causes(snapshot), *_load_causes(snapshot)]
    band = max((cause.band for cause in causes), key=BANDS.index, default=OK)
    governor = snapshot.governor
    if governor is not None and governor.is_override:
        return Situation(OVERRIDE, DANGER, 'OVERRIDE', governor.message.partition(': ')[2])
    if governor is not None and governor.held:
        names = ', '.join(governor.held)
        return Situation(HELD, max(band, CAUTION, key=BANDS.index), f'HELD: {names}', governor.reason)
    if band == OK and not snapshot.margins:
        return Situation(OK, OK, 'NO MARGINS YET')
    finite = [cause for cause in causes if cause.band == band and not math.isnan(cause.severity)]
    if not finite:
        return Situation(band, band, 'UNKNOWN MARGINS', ', '.join(cause.text for cause in causes if cause.band == band))
    worst = min(finite, key=lambda cause: (not cause.edge, cause.severity))  # an edge is more than a wheel
    where = f' over the {worst.edge}' if worst.edge else f': {worst.wheel}' if worst.wheel else ''
    words = WORDS[OK] if band == OK else f'{band.upper()}{where}'
    return Situation(band, band, words, worst.text if band != OK and not worst.is_margin else '')


def _least_margin(snapshot: Snapshot) -> str:
    """Return the name, value and edge of the least margin over its full scale; '' if none is known."""
    causes = [cause for cause in _margin_causes(snapshot) if not math.isnan(cause.severity)]
    if not causes:
        return ''
    least = min(causes, key=lambda cause: cause.severity)
    return ', '.join(text for text in (least.text, least.edge or least.wheel) if text)


def _margin_causes(snapshot: Snapshot) -> list[_Cause]:
    causes = []
    for name in in_order(snapshot.margins):
        margin, measure = snapshot.margins[name], measure_of(name)
        levels, where = margin.levels_of(name), margin.critical_name.replace('_', ' ')
        full = levels.full if math.isfinite(levels.full) else math.inf
        severity = margin.value / full if math.isfinite(margin.value) else -math.inf
        if math.isnan(margin.value):
            causes.append(_Cause(DANGER, math.nan, '', '', f'{measure.label}: unknown'))
            continue
        is_edge = measure.per == 'edge'
        text = f'{measure.label} {measure.display(margin.value)}' if math.isfinite(margin.value) else measure.label
        edge, wheel = (where, '') if is_edge else ('', where)
        causes.append(_Cause(margin.band(name), severity, edge, wheel, text, True))
    return causes


def _friction_causes(snapshot: Snapshot) -> list[_Cause]:
    return [
        _Cause(
            FRICTION.band(1.0 - use),
            1.0 - use if math.isfinite(use) else -math.inf,
            '',
            wheel.replace('_', ' '),
            f'friction use {use:.2f}' if math.isfinite(use) else 'friction use: no load',
        )
        for wheel, use in snapshot.friction_use.items()
    ]


def _load_causes(snapshot: Snapshot) -> list[_Cause]:
    load = snapshot.load
    if load is None or math.isnan(load.utilisation):
        return []
    band = BAND_OF_STAGE[stage_of(load.utilisation)]
    is_finite = math.isfinite(load.utilisation)
    text = f'load {percent_of(load.utilisation)} % of rated' if is_finite else 'load: no rated load'
    return [_Cause(band, 1.0 - load.utilisation, load.edge, '', text)]


def _names(supports: Iterable[str]) -> str:
    return ', '.join(name.replace('_', ' ') for name in supports)
