"""Load chart: the greatest safe payload against reach, swing angle and slope.

    chart = load_chart(machine, ChartSettings(slopes=(0.0, radians(5))))

Rated static payload (the rule of ISO 10567): the lesser of a share of the tipping load, 75 % by default, and a share of
the hydraulic lift capacity, 87 % by default. Tipping load: the payload at which the machine, at rest on rigid ground,
presses on nothing but one edge of its support polygon. Hydraulic lift capacity: the payload at which an actuator needs
its pump's relief pressure.

Dynamic payload: the greatest one at which no edge is relieved and no line relief opens while arm and slew stop with the
stated decelerations, in the worst combination of their signs, on top of the stated slew speed. The stop itself is the
margin, so no share is taken of it. The safe payload is the lesser of both, and of what the machine YAML accepts.

The ground also has to hold the machine by friction, at rest (the same share of that payload is rated) and in the stop:
where no admissible reactions exist below these payloads, sliding limits them. Postures are chosen without friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_statics import Demand, LoadChartError, LoadStatics
from dyn_nodes.model.machine import Machine

Array = NDArray[np.float64]
REASONS = (
    'tipping',
    'hydraulics',
    'dynamic tipping',
    'dynamic hydraulics',
    'payload limit',
    'sliding',
    'dynamic sliding',
    'out of reach',
)
TIPPING, HYDRAULICS, DYNAMIC_TIPPING, DYNAMIC_HYDRAULICS, LIMIT, SLIDING, DYNAMIC_SLIDING, OUT_OF_REACH = range(8)
GRID = 20_000  # postures that the family is chosen from
CANDIDATES = 200  # of them, the nearest ones to each reach
DIRECTIONS = 24  # headings on a slope, where the worst one counts
COARSE_SWING = 24  # swing angles that a posture is judged at
SNAP = 1e-6  # m, of a posture to the reach asked for
ROUNDS = 12
STARTS = 5  # of the search for the farthest posture
AS_GOOD = 0.98  # part of the best posture's payload
PAYLOADS = ('tipping', 'lifting', 'dynamic_tipping', 'dynamic_lifting', 'sliding', 'dynamic_sliding')


@dataclass(frozen=True)
class ChartSettings:
    """What a chart assumes.

    Attributes:
        slopes: of the ground, rad.
        downhill: heading of the downhill direction from the machine's front, counter-clockwise, rad; None: the
            worst one counts.
        height: of the payload's mount above the ground, m; None: the best posture at each reach.
        tipping_share, hydraulic_share: parts of tipping load and hydraulic lift capacity that are rated.
        arm_deceleration: of the load by the arm's joints, across its line from the first arm joint, m/s2.
        slew_deceleration: rad/s2.  slew_speed: rad/s.
        reach_step, swing_step: m and rad.
    """

    slopes: tuple[float, ...] = (0.0,)
    downhill: float | None = None
    height: float | None = None
    tipping_share: float = 0.75
    hydraulic_share: float = 0.87
    arm_deceleration: float = 1.0
    slew_deceleration: float = 0.2
    slew_speed: float = 0.3
    reach_step: float = 0.25
    swing_step: float = np.pi / 36


@dataclass(frozen=True, eq=False)
class LoadChart:
    """Payloads by slope, reach and swing angle, kg; NaN where the mount does not get there.

    Attributes:
        settings: what was assumed.  joints: names of the arm's joints.
        reaches: (r,) horizontal distance of the mount from the swing axis (from the first arm joint where nothing
            swings), m.  swings: (s,) position of the swing joint, rad.
        postures: (r, a) positions of the arm's joints, rad or m.  heights: (r,) of the mount above the ground, m.
        tipping: (k, r, s) tipping load; inf where no payload tips the machine there.
        lifting: (k, r, s) hydraulic lift capacity.
        sliding: (k, r, s) payload at which the machine slides at rest; inf where other limits come first.
        static, dynamic, safe: (k, r, s) rated static, dynamic, and the lesser of both.
        reason: (k, r, s) index into `REASONS` of what limits `safe`.
        swing_joint: its name, or None.  machine: its name.
        support_polygon: (n, 2) its corners, m, the swing axis at the origin.
        friction: (w,) static coefficients of the wheels; all 0 where sliding was not checked.
    """

    settings: ChartSettings
    joints: tuple[str, ...]
    reaches: Array
    swings: Array
    postures: Array
    heights: Array
    tipping: Array
    lifting: Array
    sliding: Array
    static: Array
    dynamic: Array
    safe: Array
    reason: NDArray[np.int64]
    swing_joint: str | None
    machine: str
    support_polygon: Array
    friction: Array

    def all_round(self, slope: int = 0) -> Array:
        """Return the safe payload (r,) that holds at every swing angle, kg."""
        return np.asarray(self.safe[slope].min(axis=1))


def load_chart(machine: Machine, settings: ChartSettings | None = None) -> LoadChart:
    """Compute the chart of a machine.

    Raises LoadChartError for a machine without payload or wheels, or where no posture has the height asked for.
    """
    settings = settings or ChartSettings()
    statics = LoadStatics(machine)
    grip = LoadGrip(statics)
    gravity = machine.gravity
    reaches, postures = _family(statics, settings)
    swings = _swings(statics, settings)
    shape = (len(settings.slopes), len(reaches), len(swings))
    usable = np.asarray(np.isfinite(postures).all(axis=1))
    arm = np.repeat(postures[usable], len(swings), axis=0)
    q = statics.arm_positions(arm, np.tile(swings, int(usable.sum())))
    parts = {name: np.full(shape, np.nan) for name in PAYLOADS}
    for k, slope in enumerate(settings.slopes):
        found = _payloads(statics, settings, q, slope, gravity)
        found |= _sliding(statics, grip, settings, q, slope, found)
        for name, values in found.items():
            parts[name][k, usable] = values.reshape(-1, len(swings))
    rated = np.stack(
        [*_rated(settings, parts), np.full(shape, statics.payload.limit), *_rated_sliding(settings, parts)]
    )
    reachable = np.broadcast_to(usable[np.newaxis, :, np.newaxis], shape)
    reason = np.where(reachable, np.argmin(np.where(np.isnan(rated), np.inf, rated), axis=0), OUT_OF_REACH)
    rated = np.where(reachable, np.maximum(rated, 0.0), np.nan)
    heights = np.full(len(reaches), np.nan)
    heights[usable] = statics.height(statics.arm_positions(postures[usable]))
    return LoadChart(
        settings,
        tuple(joint.name for joint in statics.arm),
        reaches,
        swings,
        postures,
        heights,
        parts['tipping'],
        parts['lifting'],
        parts['sliding'],
        rated[[TIPPING, HYDRAULICS, SLIDING]].min(axis=0),
        rated[[DYNAMIC_TIPPING, DYNAMIC_HYDRAULICS, DYNAMIC_SLIDING]].min(axis=0),
        rated.min(axis=0),
        reason,
        None if statics.swing is None else statics.swing.name,
        machine.name,
        statics.feet[:, :2] - (statics.axis if statics.swing is not None else 0.0),
        grip.friction,
    )


def slope_gravity(gravity: float, slope: float, downhill: float) -> Array:
    """Return gravity (3,) in axes of a ground plane inclined by `slope` (rad), downhill towards a heading (rad)."""
    pull = np.sin(slope)
    return np.asarray(gravity * np.array([pull * np.cos(downhill), pull * np.sin(downhill), -np.cos(slope)]))


def _swings(statics: LoadStatics, settings: ChartSettings) -> Array:
    joint = statics.swing
    if joint is None:
        return np.zeros(1)
    count = max(4, round(2.0 * np.pi / settings.swing_step))
    swings = -np.pi + 2.0 * np.pi / count * np.arange(1, count + 1)
    if np.isfinite([joint.lower, joint.upper]).all():
        swings = swings[(swings >= joint.lower) & (swings <= joint.upper)]
        swings = np.unique(np.concatenate([swings, [joint.lower, joint.upper]]))
    return np.asarray(swings)


def _headings(statics: LoadStatics, settings: ChartSettings, slope: float) -> Array:
    if slope == 0.0:
        return np.zeros(1)
    if settings.downhill is not None:
        return np.array([settings.downhill])
    if statics.machine.base.attachment == 'planar':
        return np.array([0.0, np.pi])
    return np.asarray(2.0 * np.pi / DIRECTIONS * np.arange(DIRECTIONS))


def _payloads(
    statics: LoadStatics, settings: ChartSettings, q: Array, slope: float, gravity: float
) -> dict[str, Array]:
    """Greatest payloads (N,) of states, before any share is taken, on the worst heading."""
    least = {name: np.full(len(q), np.inf) for name in ('tipping', 'lifting', 'dynamic_tipping', 'dynamic_lifting')}
    lifts, holds = statics.capacities(q, holding=False), statics.capacities(q, holding=True)
    stops = _stops(statics, settings, q)
    for heading in _headings(statics, settings, slope):
        pull = slope_gravity(gravity, slope, heading)
        rest = statics.demand(q, pull)
        _lower(least['tipping'], greatest_standing(rest))
        _lower(least['lifting'], greatest_lifted(rest, *lifts))
        for rate, acceleration in stops:
            stop = statics.demand(q, pull, rate, acceleration)
            _lower(least['dynamic_tipping'], greatest_standing(stop))
            _lower(least['dynamic_lifting'], greatest_lifted(stop, *holds))
    return least


def _sliding(
    statics: LoadStatics, grip: LoadGrip, settings: ChartSettings, q: Array, slope: float, others: dict[str, Array]
) -> dict[str, Array]:
    """Payloads (N,) at which states begin to slide, at rest and in a stop, on the worst heading; inf above `others`."""
    least = {name: np.full(len(q), np.inf) for name in ('sliding', 'dynamic_sliding')}
    if not grip.known:
        return least
    bound = np.minimum.reduce([*_rated(settings, others), np.full(len(q), statics.payload.limit)])
    bound = np.maximum(bound, 0.0)
    stops = _stops(statics, settings, q)
    for heading in _headings(statics, settings, slope):
        pull = slope_gravity(statics.machine.gravity, slope, heading)
        _lower(least['sliding'], grip.greatest_held(statics.demand(q, pull), bound / settings.tipping_share))
        for rate, acceleration in stops:
            _lower(least['dynamic_sliding'], grip.greatest_held(statics.demand(q, pull, rate, acceleration), bound))
    return least


def _lower(values: Array, others: Array) -> None:
    np.minimum(values, others, out=values)


def _stops(statics: LoadStatics, settings: ChartSettings, q: Array) -> list[tuple[Array, Array]]:
    """Rates and accelerations (N, c) of the chain in every combination of signs of the two decelerations."""
    first = statics.chain.index(statics.arm[0])
    lever = np.maximum(_lever_of_first_joint(statics, q, first), 0.1)
    result = []
    for arm_sign, slew_sign in product((-1.0, 1.0), (-1.0, 1.0) if statics.swing is not None else (0.0,)):
        rate, acceleration = np.zeros_like(q), np.zeros_like(q)
        acceleration[:, first] = arm_sign * settings.arm_deceleration / lever
        if statics.swing is not None:
            place = statics.chain.index(statics.swing)
            rate[:, place], acceleration[:, place] = settings.slew_speed, slew_sign * settings.slew_deceleration
        result.append((rate, acceleration))
    return result


def _lever_of_first_joint(statics: LoadStatics, q: Array, first: int) -> Array:
    """Distance (N,) that the mount moves per unit of the first arm joint, m/rad."""
    step = np.zeros(q.shape[1])
    step[first] = 1e-6
    return np.asarray(np.linalg.norm(statics.mount(q + step) - statics.mount(q - step), axis=1) / 2e-6)


def greatest_standing(demand: Demand) -> Array:
    """Return the payload (N,) at which the first edge is all that the machine stands on, kg.

    It is inf where payload relieves no edge, and 0 where the machine does not stand without payload.
    """
    with np.errstate(divide='ignore', invalid='ignore'):
        load = np.where(demand.pressing_per_kg < 0.0, -demand.pressing / demand.pressing_per_kg, np.inf)
    load[demand.pressing <= 0.0] = 0.0
    return np.asarray(load.min(axis=1))


def greatest_lifted(demand: Demand, low: Array, high: Array) -> Array:
    """Return the payload (N,) at which the first joint needs its least or greatest effort (N, c), kg; 0 for beyond."""
    slope, own = demand.effort_per_kg, demand.effort
    room = np.where(slope > 0.0, high - own, own - low)
    with np.errstate(divide='ignore', invalid='ignore'):
        load = np.where(np.abs(slope) > 1e-9, room / np.abs(slope), np.inf)
    load[(own > high) | (own < low)] = 0.0
    return np.asarray(load.min(axis=1))


# ------------------------------------------------------------------------------------------------ the posture family


def _family(statics: LoadStatics, settings: ChartSettings) -> tuple[Array, Array]:
    """Reaches (r,) and for each one posture of the arm (r, a), NaN where there is none."""
    grid = _grid(statics)
    distances = statics.reach(statics.arm_positions(grid))
    if settings.height is not None:
        heights = statics.height(statics.arm_positions(grid))
        near = np.abs(heights - settings.height) < 2.0 * settings.reach_step
        if not near.any():
            raise LoadChartError(
                f'{statics.machine.name}: the mount gets to {heights.min():.2f} to {heights.max():.2f} m above the '
                f'ground, not to {settings.height:g} m'
            )
        grid, distances = grid[near], distances[near]
    step = settings.reach_step
    farthest = _farthest(statics, settings, grid, distances)
    end = float(statics.reach(statics.arm_positions(farthest[np.newaxis]))[0])
    inner = step * np.arange(max(1, int(np.ceil(distances.min() / step))), int(np.ceil(end / step - 0.05)))
    reaches = np.append(inner, end)
    postures = np.full((len(reaches), grid.shape[1]), np.nan)
    postures[-1] = farthest
    previous = float(statics.height(statics.arm_positions(postures[-1:]))[0])
    for k in reversed(range(len(inner))):
        nearest = np.argsort(np.abs(distances - reaches[k]), kind='stable')[:CANDIDATES]
        found = _snap(statics, settings, grid[nearest], float(reaches[k]))
        if len(found):
            postures[k] = _choose(statics, settings, found, previous)
            previous = float(statics.height(statics.arm_positions(postures[k : k + 1]))[0])
    first = int(np.argmax(np.isfinite(postures[:, 0])))
    return reaches[first:], postures[first:]


def _farthest(statics: LoadStatics, settings: ChartSettings, grid: Array, distances: Array) -> Array:
    """Return the posture (a,) with the greatest reach (at the height asked for), started from postures of the grid."""

    def away(positions: Array) -> float:
        return -float(statics.reach(statics.arm_positions(positions[np.newaxis]))[0])

    def above(positions: Array) -> float:
        return float(statics.height(statics.arm_positions(positions[np.newaxis]))[0]) - (settings.height or 0.0)

    constraints = [] if settings.height is None else [{'type': 'eq', 'fun': above}]
    best: Array | None = None
    for start in grid[np.argsort(-distances, kind='stable')[: 8 * STARTS : 8]]:
        found = minimize(
            away,
            start,
            method='SLSQP',
            bounds=list(zip(*_limits(statics))),
            constraints=constraints,
            options={'ftol': 1e-14, 'maxiter': 200},
        ).x
        if (settings.height is None or abs(above(found)) < 1e-4) and (best is None or away(found) < away(best)):
            best = np.asarray(found)
    if best is None:
        raise LoadChartError(
            f'{statics.machine.name}: no posture holds the mount {settings.height:g} m above the ground'
        )
    return best


def _limits(statics: LoadStatics) -> tuple[Array, Array]:
    lower = np.array([joint.lower if np.isfinite(joint.lower) else -np.pi for joint in statics.arm])
    upper = np.array([joint.upper if np.isfinite(joint.upper) else np.pi for joint in statics.arm])
    return lower, upper


def _grid(statics: LoadStatics) -> Array:
    """Postures (N, a) over the whole range of the arm, its ends included."""
    lower, upper = _limits(statics)
    count = max(2, int(GRID ** (1.0 / len(lower))))
    return np.stack(np.meshgrid(*np.linspace(lower, upper, count).T), axis=-1).reshape(-1, len(lower))


def _snap(statics: LoadStatics, settings: ChartSettings, arm: Array, reach: float) -> Array:
    """Move postures by least-norm steps to a reach (and height); return those that get there within the limits."""
    lower, upper = _limits(statics)
    arm = arm.copy()
    for _ in range(ROUNDS):
        miss, slopes = _misses(statics, settings, arm, reach)
        if not len(arm) or np.abs(miss).max() < SNAP:
            break
        square = slopes @ np.swapaxes(slopes, 1, 2) + 1e-12 * np.eye(miss.shape[1])
        step = np.swapaxes(slopes, 1, 2) @ np.linalg.solve(square, miss[..., np.newaxis])
        arm = np.clip(arm - np.clip(step[..., 0], -0.2, 0.2), lower, upper)
    miss, _ = _misses(statics, settings, arm, reach)
    return arm[np.abs(miss).max(axis=1, initial=0.0) < 10.0 * SNAP]


def _misses(statics: LoadStatics, settings: ChartSettings, arm: Array, reach: float) -> tuple[Array, Array]:
    """Distances from reach (and height) (N, m), and their slopes by the arm's joints (N, m, a)."""

    def where(positions: Array) -> Array:
        q = statics.arm_positions(positions)
        columns = [statics.reach(q) - reach]
        if settings.height is not None:
            columns.append(statics.height(q) - settings.height)
        return np.column_stack(columns)

    steps = 1e-6 * np.eye(arm.shape[1])
    slopes = [(where(arm + step) - where(arm - step)) / 2e-6 for step in steps]
    return where(arm), np.stack(slopes, axis=-1)


def _choose(statics: LoadStatics, settings: ChartSettings, arm: Array, previous: float) -> Array:
    """Return one of the postures (N, a) with the greatest safe payload at the worst swing angle on level ground.

    Of those about as good as the best it is the one whose mount is nearest to `previous`, the height one reach further
    out, so that the family has no needless jumps.
    """
    swings = _swings(statics, settings)
    swings = swings[:: max(1, len(swings) // COARSE_SWING)]
    q = statics.arm_positions(np.repeat(arm, len(swings), axis=0), np.tile(swings, len(arm)))
    found = _payloads(statics, settings, q, 0.0, statics.machine.gravity)
    rated = np.minimum.reduce([*_rated(settings, found), np.full(len(q), statics.payload.limit)])
    worst = rated.reshape(len(arm), -1).min(axis=1)
    good = arm[worst >= AS_GOOD * worst.max()]
    heights = statics.height(statics.arm_positions(good))
    return np.asarray(good[int(np.argmin(np.abs(heights - previous)))])


def _rated(settings: ChartSettings, found: dict[str, Array]) -> list[Array]:
    """Payloads in the order of `REASONS` after shares are taken."""
    return [
        settings.tipping_share * found['tipping'],
        settings.hydraulic_share * found['lifting'],
        found['dynamic_tipping'],
        found['dynamic_lifting'],
    ]


def _rated_sliding(settings: ChartSettings, found: dict[str, Array]) -> list[Array]:
    """Payloads of sliding at rest and in a stop in the order of `REASONS` after shares are taken."""
    return [settings.tipping_share * found['sliding'], found['dynamic_sliding']]
