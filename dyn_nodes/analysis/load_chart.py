"""Load chart: the greatest safe payload against reach, swing angle and slope.

    chart = load_chart(machine, ChartSettings(slopes=(0.0, radians(5))))

Rated static payload (the rule of ISO 10567): the lesser of a share of the tipping load, 75 % by default, and a share of
the hydraulic lift capacity, 87 % by default. Tipping load: the payload at which the machine at rest on firm ground
first loses its equilibrium, with compliant springs and tyres and with passive joints that move
(`stability.equilibrium`); optionally on rigid supports. Hydraulic lift capacity: the payload at which an actuator needs
its pump's relief pressure.

Dynamic payload: the greatest payload at which no edge is unloaded and no line relief opens while arm and slew stop with
the specified decelerations, in the worst combination of their signs, in addition to the slew speed. The stop itself is
the margin, so no share is applied. The safe payload is the least of the static payload, the dynamic payload, and the
limit of the machine YAML.

Friction of the ground must also hold the machine, at rest (the same share of that payload is rated) and in the stop: if
no admissible reactions exist below these payloads, sliding limits them. Postures are chosen without friction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_limits import LoadLimits, Stops
from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.analysis.outriggers import with_extension, with_outriggers
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

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
GRID = 20_000  # number of postures from which the family is chosen
CANDIDATES = 200  # number of postures considered for each reach, the nearest ones
DIRECTIONS = 24  # number of headings on a slope; the worst one counts
COARSE_SWING = 24  # number of swing angles for the choice of a posture
SNAP, SNAPPED = 1e-5, 1e-10  # m; errors of the reach: accepted, and at which the iteration stops
ROUNDS = 12
STARTS = 5  # number of starts of the search for the farthest posture
AS_GOOD = 0.98  # part of the best posture's payload
PAYLOADS = (
    'tipping',
    'lifting',
    'dynamic_tipping',
    'dynamic_lifting',
    'sliding',
    'dynamic_sliding',
    'lift_off',
    'fall',
)


@dataclass(frozen=True)
class ChartSettings:
    """Settings of a chart.

    Attributes:
        slopes: slopes of the ground, rad.
        downhill: heading of the downhill direction from the machine's front, counter-clockwise, rad; None: the worst
            one counts.
        height: height of the payload's mount above the ground, m; None: the best posture at each reach.
        tipping_share, hydraulic_share: rated shares of tipping load and hydraulic lift capacity.
        arm_deceleration: deceleration of the load by the arm's joints, perpendicular to its line from the first arm
            joint, m/s2.
        slew_deceleration: rad/s2.  slew_speed: rad/s.
        reach_step, swing_step: m and rad.
        rigid: springs and tyres are rigid; passive joints still move.
        outriggers: state of the outriggers, one of `outriggers.SHORT`; empty: as in the initial posture.
        extension: part of the travel that the telescopes of the arm are extended; None: they move with the arm.
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
    rigid: bool = False
    outriggers: str = ''
    extension: float | None = None


@dataclass(frozen=True, eq=False)
class LoadChart:
    """Payloads by slope, reach and swing angle, kg; NaN where the mount cannot reach.

    Attributes:
        settings: settings of the chart.  joints: names of the arm's joints.
        reaches: (r,) horizontal distance of the mount from the swing axis (from the first arm joint without a swing
            joint), m.  swings: (s,) position of the swing joint, rad.
        postures: (r, a) positions of the arm's joints, rad or m.  heights: (r,) of the mount above the ground, m.
        tipping: (k, r, s) tipping load; inf if no payload tips the machine.
        lift_off: (k, r, s) payload at which the first loaded support lifts; NaN on rigid supports.
        fall: (k, r, s) payload at which the machine overturns if the load grows slowly; NaN on rigid supports.
        lifting: (k, r, s) hydraulic lift capacity.
        sliding: (k, r, s) payload at which the machine slides at rest; inf where other limits are lower.
        static, dynamic, safe: (k, r, s) rated static, dynamic, and the lesser of both.
        reason: (k, r, s) index into `REASONS` of the limit of `safe`.
        swing_joint: its name, or None.  machine: its name.
        support_polygon: (n, 2) its corners, m, the swing axis at the origin.
        friction: (w,) static coefficients of the wheels; all 0, or empty, if sliding was not checked.
        sliding_checked: False if passive joints below the machine move or it has tracks.
        sliding_joints: (a,) whether a joint of the arm is prismatic.
        held: driven joints between base and payload that move supports: they stay in the initial posture.
        loose: passive joints below the machine.
        raised: names of supports without load.
        assumed: keys of the machine YAML whose values are marked as assumed.
    """

    settings: ChartSettings
    joints: tuple[str, ...]
    reaches: Array
    swings: Array
    postures: Array
    heights: Array
    tipping: Array
    lift_off: Array
    fall: Array
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
    sliding_checked: bool
    sliding_joints: NDArray[np.bool_]
    held: tuple[str, ...]
    loose: tuple[str, ...]
    raised: tuple[str, ...]
    assumed: tuple[str, ...]

    def tips_when_slewed(self, slope: int = 0) -> NDArray[np.bool_]:
        """Return (r, s) True where the safe payload exceeds the tipping load of the worst swing angle at this reach."""
        safe, tipping = self.safe[slope], self.tipping[slope]
        return np.asarray(safe > tipping.min(axis=1, keepdims=True))

    def all_round(self, slope: int = 0) -> Array:
        """Return the safe payload (r,) for every swing angle, kg."""
        return np.asarray(self.safe[slope].min(axis=1))


def load_chart(machine: Machine, settings: ChartSettings | None = None) -> LoadChart:
    """Return the chart of a machine.

    Raise LoadChartError for a machine without payload or wheels, or if no posture has the specified height; raise
    OutriggerError for a machine without the outriggers or telescopes of the settings.
    """
    settings = settings or ChartSettings()
    machine = with_extension(with_outriggers(machine, settings.outriggers), settings.extension)
    statics = LoadStatics(machine)
    grip = LoadGrip(statics)
    reaches, postures = _family(statics, settings)
    swings = swings_of(statics, settings)
    shape = (len(settings.slopes), len(reaches), len(swings))
    usable = np.asarray(np.isfinite(postures).all(axis=1))
    limits = limits_of(statics, settings, postures[usable], swings)
    parts = {name: np.full(shape, np.nan) for name in PAYLOADS}
    rated, reason = np.full((OUT_OF_REACH, *shape), np.nan), np.full(shape, OUT_OF_REACH)
    for k, slope in enumerate(settings.slopes):
        payloads, each = rated_payloads(limits, grip, settings, slope, to_the_fall=True)
        for name, values in payloads.items():
            parts[name][k, usable] = values
        rated[:, k, usable], reason[k, usable] = np.maximum(each, 0.0), np.argmin(each, axis=0)
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
        parts['lift_off'],
        parts['fall'],
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
        grip.checked,
        np.array([joint.type == 'prismatic' for joint in statics.arm]),
        statics.held,
        statics.gear.running.joints[statics.gear.running.gear.base + 1 :],
        tuple(support.name for support, carries in zip(machine.supports, statics.gear.carrying) if not carries),
        tuple(machine.assumed),
    )


def slope_gravity(gravity: float, slope: float, downhill: float) -> Array:
    """Return gravity (3,) in axes of a ground plane inclined by `slope` (rad), downhill towards a heading (rad)."""
    pull = np.sin(slope)
    return np.asarray(gravity * np.array([pull * np.cos(downhill), pull * np.sin(downhill), -np.cos(slope)]))


def swings_of(statics: LoadStatics, settings: ChartSettings) -> Array:
    """Return the positions (s,) of the swing joint, rad; 0 alone without a swing joint."""
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


def _gravities(statics: LoadStatics, settings: ChartSettings, slope: float) -> Array:
    """Return gravity (h, 3) in base axes for each relevant heading on a slope."""
    headings = _headings(statics, settings, slope)
    return np.array([slope_gravity(statics.machine.gravity, slope, heading) for heading in headings])


def limits_of(statics: LoadStatics, settings: ChartSettings, arm: Array, swings: Array) -> LoadLimits:
    """Return the limits of postures of the arm (n, a) at swing angles (s,)."""
    stops = Stops(settings.arm_deceleration, settings.slew_deceleration, settings.slew_speed)
    return LoadLimits(statics, arm, swings, stops)


def rated_payloads(
    limits: LoadLimits, grip: LoadGrip, settings: ChartSettings, slope: float, to_the_fall: bool = False
) -> tuple[dict[str, Array], Array]:
    """Return payloads (n, s) by the names of `PAYLOADS`, and their rated values (7, n, s) by `REASONS`, kg."""
    statics = limits.statics
    gravities = _gravities(statics, settings, slope)
    payloads = limits.payloads(gravities)._asdict()
    payloads['lift_off'] = payloads['fall'] = np.full(payloads['tipping'].shape, np.nan)
    if not settings.rigid:
        payloads['lift_off'], payloads['tipping'], payloads['fall'] = limits.equilibria(gravities, to_the_fall)
        payloads['dynamic_tipping'] = np.minimum(payloads['dynamic_tipping'], payloads['tipping'])
    rated = [*_rated(settings, payloads), np.full(payloads['tipping'].shape, statics.payload.limit)]
    bound = np.maximum(np.minimum.reduce(rated), 0.0)
    at_rest, in_stop = limits.sliding(grip, gravities, bound / settings.tipping_share, bound)
    payloads |= {'sliding': at_rest, 'dynamic_sliding': in_stop}
    return payloads, np.stack([*rated, settings.tipping_share * at_rest, in_stop])


# ------------------------------------------------------------------------------------------------ the posture family


def _family(statics: LoadStatics, settings: ChartSettings) -> tuple[Array, Array]:
    """Return reaches (r,) and one posture of the arm for each (r, a), NaN without a posture."""
    lower, upper = statics.arm_limits
    grid = statics.arm_grid(max(2, int(GRID ** (1.0 / max(1, int((upper > lower).sum()))))))
    distances = statics.reach(statics.arm_positions(grid))
    if settings.height is not None:
        heights = statics.height(statics.arm_positions(grid))
        near = np.abs(heights - settings.height) < 2.0 * settings.reach_step
        if not near.any():
            raise LoadChartError(
                f'{statics.machine.name}: the mount can reach {heights.min():.2f} to {heights.max():.2f} m above the '
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
    nearest = np.argsort(np.abs(distances - inner[:, np.newaxis]), axis=1, kind='stable')[:, :CANDIDATES]
    snapped, there = _snap(statics, settings, grid[nearest.ravel()], np.repeat(inner, nearest.shape[1]))
    worst, heights = np.full(len(snapped), np.nan), statics.height(statics.arm_positions(snapped))
    worst[there] = _worst_payloads(statics, settings, snapped[there])
    for k in reversed(range(len(inner))):
        indices = k * nearest.shape[1] + np.flatnonzero(there.reshape(nearest.shape)[k])
        if len(indices):
            chosen = _choose(indices, worst, heights, previous)
            postures[k], previous = snapped[chosen], float(heights[chosen])
    first = int(np.argmax(np.isfinite(postures[:, 0])))
    return reaches[first:], postures[first:]


def _farthest(statics: LoadStatics, settings: ChartSettings, grid: Array, distances: Array) -> Array:
    """Return the posture (a,) with the greatest reach (at the specified height), from starts on the grid."""

    def away(positions: Array) -> float:
        return -float(statics.reach(statics.arm_positions(positions[np.newaxis]))[0])

    def above(positions: Array) -> float:
        return float(statics.height(statics.arm_positions(positions[np.newaxis]))[0]) - (settings.height or 0.0)

    constraints = [] if settings.height is None else [{'type': 'eq', 'fun': above}]
    best: Array | None = None
    for start in grid[np.argsort(-distances, kind='stable')[: 8 * STARTS : 8]]:
        solution = minimize(
            away,
            start,
            method='SLSQP',
            bounds=list(zip(*statics.arm_limits)),
            constraints=constraints,
            options={'ftol': 1e-14, 'maxiter': 200},
        ).x
        if (settings.height is None or abs(above(solution)) < 1e-4) and (best is None or away(solution) < away(best)):
            best = np.asarray(solution)
    if best is None:
        raise LoadChartError(
            f'{statics.machine.name}: no posture holds the mount {settings.height:g} m above the ground'
        )
    return best


def _snap(statics: LoadStatics, settings: ChartSettings, arm: Array, reach: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return postures (N, a), moved by least-norm steps to their reaches (N,) and the height, and their success.

    The postures stay within the limits of the joints.
    """
    lower, upper = statics.arm_limits
    arm, away = arm.copy(), np.arange(len(arm))
    for _ in range(ROUNDS):
        miss, slopes = _misses(statics, settings, arm[away], reach[away])
        slopes = slopes * (upper > lower)
        going = np.abs(miss).max(axis=1, initial=0.0) > SNAPPED
        miss, slopes, away = miss[going], slopes[going], away[going]
        square = slopes @ np.swapaxes(slopes, 1, 2) + 1e-12 * np.eye(miss.shape[1])
        step = np.swapaxes(slopes, 1, 2) @ np.linalg.solve(square, miss[..., np.newaxis])
        arm[away] = np.clip(arm[away] - np.clip(step[..., 0], -0.2, 0.2), lower, upper)
    miss, _ = _misses(statics, settings, arm, reach)
    return arm, np.abs(miss).max(axis=1, initial=0.0) < SNAP


def _misses(statics: LoadStatics, settings: ChartSettings, arm: Array, reach: Array) -> tuple[Array, Array]:
    """Return errors of reach (and height) (N, m), and their derivatives by the arm's joints (N, m, a)."""
    q = statics.arm_positions(arm)
    mount, slopes = statics.mount_slopes(q)
    away = mount[:, :2] - statics.axis
    distance = away[:, 0] if statics.swing is None else np.hypot(away[:, 0], away[:, 1])
    outward = np.array([1.0, 0.0]) if statics.swing is None else away / np.maximum(distance, 1e-9)[:, np.newaxis]
    misses, rows = [distance - reach], [(outward[..., np.newaxis] * slopes[:, :2]).sum(axis=1)]
    if settings.height is not None:
        misses.append(mount[:, 2] - statics.ground - settings.height)
        rows.append(slopes[:, 2])
    return np.column_stack(misses), np.stack(rows, axis=1)


def _worst_payloads(statics: LoadStatics, settings: ChartSettings, arm: Array) -> Array:
    """Return the safe payload (N,) of postures on level ground at the worst swing angle, without friction."""
    swings = swings_of(statics, settings)
    swings = swings[:: max(1, len(swings) // COARSE_SWING)]
    limits = limits_of(statics, settings, arm, swings)
    payloads = limits.payloads(_gravities(statics, settings, 0.0))._asdict()
    return np.asarray(np.minimum(np.minimum.reduce(_rated(settings, payloads)), statics.payload.limit).min(axis=1))


def _choose(indices: NDArray[np.intp], worst: Array, heights: Array, previous: float) -> int:
    """Return the index of one of the postures with the greatest payload.

    Among the postures about as good as the best, it is the posture with the mount nearest to `previous`, the height at
    the next greater reach. This avoids needless jumps in the family.
    """
    good = indices[worst[indices] >= AS_GOOD * worst[indices].max()]
    return int(good[int(np.argmin(np.abs(heights[good] - previous)))])


def _rated(settings: ChartSettings, payloads: dict[str, Array]) -> list[Array]:
    """Return payloads in the order of `REASONS` with shares applied."""
    return [
        settings.tipping_share * payloads['tipping'],
        settings.hydraulic_share * payloads['lifting'],
        payloads['dynamic_tipping'],
        payloads['dynamic_lifting'],
    ]
