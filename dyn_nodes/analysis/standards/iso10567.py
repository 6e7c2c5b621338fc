"""Lift capacity of hydraulic excavators and material handlers on a grid of reach and height.

The rated lift capacity of a cell is the lesser of 75 % of the tipping load and 87 % of the hydraulic lift capacity. The
two joints of the arm nearest to the base bring the lift point to the cell; all other joints keep their posture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.load_rest import RestLimits, rest_limits
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.analysis.standards.effects import effects_of
from dyn_nodes.analysis.standards.standard import (
    Certificate,
    CertifyError,
    CertifySettings,
    Effect,
    Input,
    ResultTable,
    Standard,
    posed_machine,
    quantity_values,
    supports_text,
)
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions

TIPPING_SHARE, HYDRAULIC_SHARE = 0.75, 0.87
FRONT, SIDE, ALL_ROUND = 'over front', 'over side', 'all round'
COARSE = np.radians(15.0)
"""Step of the slew angle of the least value all round, rad."""
GRID = 61
"""Number of positions of each joint from which a cell is reached."""
STARTS = 2
"""Number of starting postures of each bend of the arm."""
ROUNDS = 30
"""Number of Newton steps to a cell."""
REACHED = 1e-7
"""Greatest distance from a cell, m."""
REFINEMENTS = 6
"""Number of grids on which the greatest reach is searched."""
VARIED_CELLS = 8
"""Greatest number of cells for the effects of assumed values."""
ROUNDED = 10.0
"""Payloads are rounded down to multiples, kg."""
WHERE = {FRONT: 'the arm over the front', SIDE: 'the worse of left and right', ALL_ROUND: 'the worst slew angle'}

NOT_SHOWN = (
    'The verification of calculated values by a lift test on the real machine, and its measuring accuracy.',
    'Strength of boom, arm, bucket, pins, hook and lifting eye.',
    'Pressures and relief settings as measured; the calculation uses the settings of the machine file.',
    'Devices for lifting work: load-holding valves, overload warning, hook with safety latch, posted load chart.',
    'Masses of hook, sling and other lifting accessories: they are part of the load and are subtracted by the user.',
    'Ground that is not level, hard and plane; wind; swinging loads; stopping of the arm (see `dyn-nodes loadchart`).',
)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of the grid that the lift point reaches.

    Attributes:
        reach, height: (n,) m.
        arm: (n, a) positions of the arm's joints, rad or m.
        farthest: (n,) whether it is the cell of greatest reach at its height.
    """

    reach: Array
    height: Array
    arm: Array
    farthest: Array


class Iso10567(Standard):
    """Lift capacity of hydraulic excavators."""

    kind = 'iso10567'
    title = 'ISO 10567:2007, Earth-moving machinery - Hydraulic excavators - Lift capacity'

    def certify(self, machine: Machine, settings: CertifySettings) -> Certificate:
        """Return the lift capacities; see `Standard.certify`."""
        quantity_values(self.kind, (), settings.values)
        posed = posed_machine(machine, settings.posture)
        statics = LoadStatics(posed)
        _check(statics)
        cells = _cells(statics, settings.step)
        directions = _directions(statics)
        every = np.unique(np.concatenate(list(directions.values())))
        limits = {rigid: rest_limits(statics, cells.arm, every, rigid) for rigid in (True, False)}
        limits[False] = _bounded(limits[False], limits[True])
        records = _records(statics, cells, directions, limits[settings.rigid])
        others = _records(statics, cells, directions, limits[not settings.rigid])
        effects: tuple[Effect, ...] = ()
        unaffected = tuple(machine.assumed)
        if settings.vary:
            effects, unaffected = self._effects(posed, statics, cells, records, settings)
        return Certificate(
            self.kind,
            self.title,
            machine.name,
            machine.sources,
            _supports(statics, records, others, settings.rigid),
            _inputs(statics, settings),
            tuple(_table(cells, records, name) for name in directions),
            tuple(records),
            effects,
            unaffected,
            _notes(statics, records, settings),
            NOT_SHOWN,
        )

    def _effects(
        self,
        machine: Machine,
        statics: LoadStatics,
        cells: _Cells,
        records: list[dict[str, Any]],
        settings: CertifySettings,
    ) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
        """Return effects on the rated lift capacity in the cells with the extremes of each limit and direction."""
        directions = {name: swings for name, swings in _directions(statics).items() if name != ALL_ROUND}
        chosen = _chosen(records, directions)
        arm = cells.arm[sorted({cell for cell, _ in chosen})]

        def evaluate(changed: Machine, key: str) -> Array:
            posed = posed_machine(changed, settings.posture)
            alike = key.split('.')[0] in (
                '',
                'actuators',
                'contacts',
                'defaults',
                'feet',
                'gravity',
                'payload',
                'wheels',
            )
            other = LoadStatics(posed, statics if alike else None)
            return np.concatenate(
                [np.minimum(*_shares(other, arm, swings, settings.rigid)) for swings in directions.values()]
            )

        return effects_of(machine, evaluate, ('initial', 'payload.limit', 'payload.mass', 'slope'))


def _check(statics: LoadStatics) -> None:
    name = statics.machine.name
    if len(statics.arm) < 2:
        listed = ', '.join(joint.name for joint in statics.arm)
        raise CertifyError(f'{name}: iso10567: expected at least two joints that move the lift point, found {listed}')
    driven = {actuator.joint for actuator in statics.machine.actuators}
    without = [
        drive for joint, drive in zip(statics.chain, statics.drives) if joint in statics.arm and drive not in driven
    ]
    if without:
        raise CertifyError(
            f'{name}: iso10567: expected an arm with hydraulic actuators, found {", ".join(without)} without one'
        )


def _directions(statics: LoadStatics) -> dict[str, Array]:
    """Return slew angles (s,) by direction, as far as the arm slews there, rad."""
    if statics.swing is None:
        return {FRONT: np.zeros(1)}
    lower, upper = statics.swing.lower, statics.swing.upper
    around = np.arange(-np.pi + COARSE, np.pi + 1e-9, COARSE)
    angles = {FRONT: np.zeros(1), SIDE: np.array([np.pi / 2, -np.pi / 2])}
    angles[ALL_ROUND] = np.unique(np.append(around, [each for each in (lower, upper) if abs(each) < np.pi]))
    within = {name: swings[(swings >= lower) & (swings <= upper)] for name, swings in angles.items()}
    return {name: swings for name, swings in within.items() if len(swings)}


# ------------------------------------------------------------------------------------------------------------ the grid


def _cells(statics: LoadStatics, step: float) -> _Cells:
    """Return the cells at multiples of a step, and the farthest one at each height."""
    grid = _grid(statics)
    point, slopes = _points(statics, grid)
    bends = np.linalg.det(slopes)
    if np.abs(bends).max() < 1e-6:
        names = ', '.join(joint.name for joint in statics.arm[:2])
        raise CertifyError(f'{statics.machine.name}: iso10567: expected {names} to move the lift point in a plane')
    first, last = np.ceil(point[:, 1].min() / step - 1e-9), np.floor(point[:, 1].max() / step + 1e-9)
    heights = step * np.arange(first, last + 1.0)
    reaches = step * np.arange(1.0, np.floor(point[:, 0].max() / step + 1e-9) + 1.0)
    ends, end = _farthest(statics, grid, point, heights)
    targets = np.stack(np.meshgrid(reaches, heights), axis=-1).reshape(-1, 2)
    arm, reached = _postures(statics, grid, point, bends, targets)
    reached &= targets[:, 0] < np.repeat(end, len(reaches)) - 1e-6
    usable = end > 0.0
    if not reached.any() and not usable.any():
        raise CertifyError(
            f'{statics.machine.name}: iso10567: expected cells within reach, found none with a step of {step:g} m'
        )
    return _Cells(
        np.concatenate([targets[reached, 0], end[usable]]),
        np.concatenate([targets[reached, 1], heights[usable]]),
        np.concatenate([arm[reached], ends[usable]]),
        np.concatenate([np.zeros(int(reached.sum()), dtype=bool), np.ones(int(usable.sum()), dtype=bool)]),
    )


def _grid(statics: LoadStatics) -> Array:
    """Return postures (n, a) over the range of the first two joints; the others keep their initial positions."""
    rest, (lower, upper) = initial_positions(statics.machine), statics.arm_limits
    arm = np.tile(np.clip([rest[joint.name] for joint in statics.arm], lower, upper), (GRID * GRID, 1))
    ranges = [np.linspace(lower[k], upper[k], GRID) for k in range(2)]
    arm[:, :2] = np.stack(np.meshgrid(*ranges, indexing='ij'), axis=-1).reshape(-1, 2)
    return arm


def _points(statics: LoadStatics, arm: Array) -> tuple[Array, Array]:
    """Return reach and height (n, 2) of the lift point, m, and their derivatives (n, 2, 2) by the first two joints."""
    mount, slopes = statics.mount_slopes(statics.arm_positions(arm))
    away = mount[:, :2] - statics.axis
    reach = away[:, 0] if statics.swing is None else np.hypot(away[:, 0], away[:, 1])
    outward = np.array([1.0, 0.0]) if statics.swing is None else away / np.maximum(reach, 1e-9)[:, np.newaxis]
    radial = (outward[..., np.newaxis] * slopes[:, :2]).sum(axis=1)
    points = np.column_stack([reach, mount[:, 2] - statics.ground])
    return points, np.stack([radial[:, :2], slopes[:, 2, :2]], axis=1)


def _postures(
    statics: LoadStatics, grid: Array, point: Array, bends: Array, targets: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Return postures (m, a) at points (m, 2), and whether they are reached; the better of two bends."""
    starts = []
    for sign in (-1.0, 1.0):
        side = np.flatnonzero(sign * bends > 0.0)
        if len(side):
            distance = np.linalg.norm(point[side] - targets[:, np.newaxis], axis=2)
            starts.append(side[np.argsort(distance, axis=1, kind='stable')[:, :STARTS]])
    tried = grid[np.concatenate(starts, axis=1)]
    shape, goals = tried.shape[:2], np.repeat(targets, tried.shape[1], axis=0)
    tried = tried.reshape(-1, grid.shape[1])
    lower, upper = (limit[:2] for limit in statics.arm_limits)
    for _ in range(ROUNDS):
        at, slopes = _points(statics, tried)
        across = np.swapaxes(slopes, 1, 2)
        step = np.linalg.solve(across @ slopes + 1e-12 * np.eye(2), across @ (at - goals)[..., np.newaxis])[..., 0]
        tried[:, :2] = np.clip(tried[:, :2] - np.clip(step, -0.2, 0.2), lower, upper)
    there = np.linalg.norm(_points(statics, tried)[0] - goals, axis=1) < REACHED
    capacity = np.full(len(tried), -np.inf)
    if there.any():
        limits = rest_limits(statics, tried[there], np.zeros(1), rigid=True)
        capacity[there] = np.minimum(limits.tipping[:, 0], limits.lifting)
    best = capacity.reshape(shape).argmax(axis=1)
    rows = np.arange(len(targets))
    return tried.reshape(*shape, grid.shape[1])[rows, best], there.reshape(shape)[rows, best]


def _farthest(statics: LoadStatics, grid: Array, point: Array, heights: Array) -> tuple[Array, Array]:
    """Return postures (h, a) of greatest reach at heights (h,), and these reaches, m; -inf out of reach.

    The first joint takes positions of a grid that is refined around the best one; the second brings the height.
    """
    (lower, upper), posture = statics.arm_limits, grid[0]
    best, reach = np.tile(posture, (len(heights), 1)), np.full(len(heights), -np.inf)
    first = np.tile(np.linspace(lower[0], upper[0], GRID), (len(heights), 1))
    # the first and the last interval of the second joint in which the height is crossed
    above = point[:, 1].reshape(GRID, GRID) > heights[:, np.newaxis, np.newaxis]
    crossed = above[..., 1:] != above[..., :-1]
    index = np.stack([crossed.argmax(axis=2), GRID - 2 - crossed[..., ::-1].argmax(axis=2)], axis=2)
    second = lower[1] + (upper[1] - lower[1]) * (index + 0.5) / (GRID - 1)
    for _ in range(REFINEMENTS):
        shape = len(heights), first.shape[1], second.shape[2]
        arm = np.tile(posture, (*shape, 1))
        arm[..., 0], arm[..., 1] = first[:, :, np.newaxis], second
        arm, goal = arm.reshape(-1, len(posture)), np.repeat(heights, shape[1] * shape[2])
        for _ in range(ROUNDS // 2):
            at, slopes = _points(statics, arm)
            slope = slopes[:, 1, 1]
            step = (at[:, 1] - goal) * slope / (slope**2 + 1e-12)
            arm[:, 1] = np.clip(arm[:, 1] - np.clip(step, -0.3, 0.3), lower[1], upper[1])
        at, _ = _points(statics, arm)
        at = np.where(np.abs(at[:, 1] - goal) < REACHED, at[:, 0], -np.inf).reshape(len(heights), -1)
        index, rows = at.argmax(axis=1), np.arange(len(heights))
        better = at[rows, index] > reach
        chosen = arm.reshape(len(heights), -1, len(posture))[rows, index]
        best[better], reach[better] = chosen[better], at[rows, index][better]
        spacing = (first[:, -1] - first[:, 0]) / (first.shape[1] - 1)
        offsets = np.linspace(-1.0, 1.0, 21)
        first = np.clip(best[:, :1] + spacing[:, np.newaxis] * offsets, lower[0], upper[0])
        second = best[:, np.newaxis, 1:2]
    return best, reach


# --------------------------------------------------------------------------------------------------------- the results


def _bounded(yielding: RestLimits, rigid: RestLimits) -> RestLimits:
    """Return the limits on yielding supports with a tipping load of at most the balance on rigid supports.

    A load that hangs below the ground swings inward as the machine leans, so that equilibrium is lost late or never.
    """
    return yielding._replace(tipping=np.minimum(yielding.tipping, rigid.tipping))


def _shares(statics: LoadStatics, arm: Array, swings: Array, rigid: bool) -> tuple[Array, Array]:
    """Return the shares (n,) of tipping load, at the worst of slew angles (s,), and of hydraulic lift capacity, kg."""
    limits = rest_limits(statics, arm, swings, rigid)
    if not rigid:
        limits = _bounded(limits, rest_limits(statics, arm, swings, rigid=True))
    return TIPPING_SHARE * limits.tipping.min(axis=1), HYDRAULIC_SHARE * limits.lifting


def _records(
    statics: LoadStatics, cells: _Cells, directions: dict[str, Array], limits: RestLimits
) -> list[dict[str, Any]]:
    """Return the results of each direction and cell, kg, m, rad; limits at all slew angles of the directions."""
    every = np.unique(np.concatenate(list(directions.values())))
    records = []
    for name, swings in directions.items():
        columns = np.flatnonzero(np.isin(every, swings))
        for k in range(len(cells.reach)):
            worst = columns[int(np.argmin(limits.tipping[k, columns]))]
            tipping, lifting = float(limits.tipping[k, worst]), float(limits.lifting[k])
            shares = TIPPING_SHARE * tipping, HYDRAULIC_SHARE * lifting
            rated = min(shares)
            records.append(
                {
                    'direction': name,
                    'height': float(cells.height[k]),
                    'reach': float(cells.reach[k]),
                    'farthest': bool(cells.farthest[k]),
                    'swing': float(every[worst]),
                    'joints': {joint.name: float(q) for joint, q in zip(statics.arm, cells.arm[k])},
                    'tipping': tipping,
                    'lifting': lifting,
                    'lifting_drive': statics.drives[int(limits.lifting_drive[k])],
                    'rated': rated,
                    'limited_by': 'hydraulics' if shares[1] < shares[0] else 'tipping',
                    'tips_when_slewed': bool(rated > limits.tipping[k].min()),
                    'cell': k,
                }
            )
    return records


def _chosen(records: list[dict[str, Any]], directions: dict[str, Array]) -> list[tuple[int, str]]:
    """Return cells and directions with the least and the greatest rated capacity of each limit."""
    chosen: list[tuple[int, str]] = []
    for name in directions:
        for limit in ('tipping', 'hydraulics'):
            some = [each for each in records if each['direction'] == name and each['limited_by'] == limit]
            some = [each for each in some if 0.0 < each['rated'] < np.inf]
            if some:
                chosen += [(pick(some, key=lambda each: float(each['rated']))['cell'], name) for pick in (min, max)]
    return chosen[:VARIED_CELLS]


def _table(cells: _Cells, records: list[dict[str, Any]], direction: str) -> ResultTable:
    some = [each for each in records if each['direction'] == direction]
    reaches = sorted({each['reach'] for each in some if not each['farthest']})
    rows = []
    for height in sorted(set(cells.height.tolist()), reverse=True):
        here = [each for each in some if each['height'] == height]
        at = {each['reach']: each for each in here if not each['farthest']}
        cut = [_cell(at[reach]) if reach in at else '-' for reach in reaches]
        end = next((each for each in here if each['farthest']), None)
        cut += ['-', '-'] if end is None else [_cell(end), f'{end["reach"]:.2f}']
        rows.append((f'{height:.1f}', *cut))
    heads = ('height, m', *(f'reach {reach:.1f} m' for reach in reaches), 'greatest reach', 'at, m')
    title = f'Rated lift capacity, kg, {direction} ({WHERE[direction]})'
    return ResultTable(title, 'Rated lift capacity', heads, tuple(rows))


def _cell(record: dict[str, Any]) -> str:
    if not np.isfinite(record['rated']):
        return 'no limit'
    mark = ' H' if record['limited_by'] == 'hydraulics' else ' T'
    return f'{ROUNDED * np.floor(record["rated"] / ROUNDED):.0f}{mark}{"*" if record["tips_when_slewed"] else ""}'


def _supports(statics: LoadStatics, records: list[dict[str, Any]], others: list[dict[str, Any]], rigid: bool) -> str:
    """Return the state of the supports, and the change of the rated lift capacity with the other state."""
    machine, gear = statics.machine, statics.gear
    pairs = [(one['rated'], other['rated']) for one, other in zip(records, others)]
    raised = [support.name for support, carries in zip(machine.supports, gear.carrying) if not carries]
    return supports_text(rigid, 'rated lift capacity', pairs, gear.running.joints[gear.running.gear.base + 1 :], raised)


def _inputs(statics: LoadStatics, settings: CertifySettings) -> tuple[Input, ...]:
    machine = statics.machine
    moved = {joint.name for joint in statics.chain}
    rest = initial_positions(machine)
    assumed = machine.assumed

    def source(key: str) -> str:
        return f'machine file, assumed: {assumed[key]}' if key in assumed else 'machine file'

    point = ', '.join(f'{value:g}' for value in statics.payload.position)
    result = [
        Input('mass without payload', f'{machine.total_mass:,.0f} kg', 'URDF'),
        Input('gravity', f'{machine.gravity:g} m/s2', source('gravity')),
        Input('lift point', f'[{point}] m in {statics.payload.link}', source('payload.position')),
        Input(
            'tipping axes', f'{len(statics.edge_rows)} about {len(statics.gear.points)} loaded supports', 'machine file'
        ),
    ]
    for joint, drive in zip(statics.chain, statics.drives):
        actuator = next((each for each in machine.actuators if each.joint == drive), None)
        if actuator is None or joint is statics.swing:
            continue
        pressure = 1e-6 * machine.source_limit(actuator.name)
        result.append(
            Input(
                f'working pressure of {actuator.name}', f'{pressure:.1f} MPa', _pressure_source(machine, actuator.name)
            )
        )
    held = statics.arm[2:]
    others = {name: value for name, value in settings.posture.items() if name not in moved}
    for name in [*(joint.name for joint in held), *others]:
        kept = '--posture' if name in settings.posture else 'initial posture of the machine file'
        result.append(Input(f'{name}, kept', f'{rest[name]:.4g} rad or m', kept))
    return tuple(result)


def _pressure_source(machine: Machine, actuator: str) -> str:
    keys = (f'actuators.{actuator}.supply.relief_pressure', 'defaults.supply.relief_pressure')
    key = next((key for key in keys if key in machine.assumed), None)
    return 'machine file' if key is None else f'machine file, assumed: {machine.assumed[key]}'


def _notes(statics: LoadStatics, records: list[dict[str, Any]], settings: CertifySettings) -> tuple[str, ...]:
    names = [joint.name for joint in statics.arm]
    centre = 'the slew axis' if statics.swing is not None else f'the axis of {names[0]}'
    notes = [
        f'T: {100 * TIPPING_SHARE:g} % of the tipping load. H: {100 * HYDRAULIC_SHARE:g} % of the hydraulic lift '
        f'capacity. The lesser is rated, rounded down to {ROUNDED:g} kg. Level, hard ground.',
        f'Reach: horizontal distance of the lift point from {centre}; height above the ground. '
        f'{names[0]} and {names[1]} bring the lift point to a cell'
        + (
            f'; {", ".join(names[2:])} {"keeps its" if len(names) == 3 else "keep their"} posture.'
            if names[2:]
            else '.'
        ),
        'Tipping load: balance of moments about the tipping axes on rigid supports'
        + ('.' if settings.rigid else ', and at most the load at the first loss of equilibrium on yielding supports.'),
        'Hydraulic lift capacity: the first actuator of the arm reaches its working pressure, the other side at tank '
        'pressure. The true capacity is higher if other circuits hold a higher pressure than the lift circuit.',
        'The load includes hook, sling and accessories.',
    ]
    if any(each['tips_when_slewed'] for each in records):
        notes.append('*: above the tipping load of the worst slew angle; the machine tips if it slews with this load.')
    if settings.vary:
        notes.append(
            'Effect of assumed values: on the rated lift capacity over front and side in the cells with its least and '
            'greatest value by each limit, in the same postures.'
        )
    above = sum(each['rated'] > statics.payload.limit for each in records)
    if above:
        notes.append(
            f'{above} of {len(records)} values exceed the payload limit of the machine file, '
            f'{statics.payload.limit:g} kg, which nodes and load charts keep.'
        )
    return tuple(notes)
