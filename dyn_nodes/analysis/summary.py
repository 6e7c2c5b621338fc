"""Summary of a run in numbers: tipping, recovery, least margins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.analysis.run_record import MarginHistory, RunRecord
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.json_text import json_text
from dyn_nodes.measures import stage_of
from dyn_nodes.model.assumptions import plain
from dyn_nodes.simulation.assembly import gravity_vector

RECOVERED_TILT = math.radians(2.0)
"""Greatest tilt of a recovered machine, rad."""
ROUND_OFF = 1e-9
"""Round-off of a margin over its greatest value in the run."""
MOST_INSTANTS = 2000
"""Greatest number of instants whose states are compared."""
DEFAULT_OVERTURN_ANGLE = math.radians(75.0)


def summarize(record: RunRecord, wall_time: float | None = None) -> dict[str, Any]:
    """Return the summary of a run.

    Args:
        record: the run.
        wall_time: wall time of the simulation, s; None: span of the bag's log times, if they are wall time.

    Returns:
        Plain numbers, None for data that the bag lacks. `recovered`: wheels had lifted, and at the end all carry load
            and the base is tilted by less than 2 degrees.
    """
    loads = {wheel: values for wheel, (_, values) in record.wheel_loads.items() if len(values)}
    lift_off, touch_down = contact_times(record)
    overturned = has_overturned(record)
    tilt = record.attitude.tilt
    peak = int(np.argmax(tilt)) if len(tilt) else None
    final_loads = {wheel: float(values[-1]) for wheel, values in loads.items()}
    final_tilt = float(tilt[-1]) if len(tilt) else None
    loaded = bool(final_loads) and all(load > 0.0 for load in final_loads.values())
    upright = final_tilt is not None and final_tilt < RECOVERED_TILT
    weight, source = ground_weight(record)
    load_sum = sum(final_loads.values()) if final_loads else None
    wall_time = record.data.log_span if wall_time is None else wall_time
    return {
        'recovered': lift_off is not None and loaded and upright and not overturned,
        'overturned': overturned,
        'max_base_rotation_deg': None if peak is None else math.degrees(tilt[peak]),
        'max_base_rotation_time_s': None if peak is None else float(record.attitude.time[peak]),
        'final_base_rotation_deg': None if final_tilt is None else math.degrees(final_tilt),
        'lift_off_time_s': lift_off,
        'touch_down_time_s': touch_down,
        'final_wheel_loads_n': final_loads,
        'final_wheel_load_sum_n': load_sum,
        'weight_n': weight,
        'weight_source': source,
        'final_wheel_load_sum_error': None if not weight or load_sum is None else load_sum / weight - 1.0,
        'min_margins': {name: least_margin(history) for name, history in record.margins.items()},
        'max_utilisation': greatest_utilisation(record),
        'max_friction_use': {wheel: greatest_use(*history) for wheel, history in record.friction_use.items()},
        'phases': [{'name': p.name, 'start_s': p.start, 'end_s': p.end} for p in record.phases],
        'events': [{'time_s': e.time, 'name': e.name, 'text': e.text} for e in record.events],
        'duration_s': record.duration,
        'wall_time_s': wall_time,
        'speed': record.duration / wall_time if wall_time else None,
        'messages': dict(sorted(record.data.counts.items())),
        'bag': str(record.data.path),
        'storage': record.data.storage,
        'machine': record.machine.name if record.machine else None,
        'machine_mass_kg': record.machine.total_mass if record.machine else None,
        'payload_kg': record.payload,
        'payload_interval_kg': weighed_at_end(record),
        'assumed': plain(record.assumed),
    }


def states_of(record: RunRecord, namespace: str | None = None) -> list[dict[str, Any]] | None:
    """Return the changes of the state of the machine in the words of the cockpit; None if the bag lacks joint states.

    Each has its time, s, the words and their figures at that time. Of a long run at most `MOST_INSTANTS` are compared.
    """
    from dyn_nodes.middleware.bags import BagError
    from dyn_nodes.nodes.bag_snapshots import RATE, read_replay

    rate = min(RATE, MOST_INSTANTS / max(record.duration, 1e-3))
    try:
        replay = read_replay(record.data.path, record.machine, namespace, rate)
    except BagError:
        return None
    states: list[dict[str, Any]] = []
    for time, snapshot in zip(replay.times, replay.snapshots):
        situation = snapshot.situation
        if situation is not None and (not states or states[-1]['words'] != situation.words):
            states.append({'time_s': time, 'words': situation.words, 'figures': situation.figures})
    return states


def greatest_utilisation(record: RunRecord) -> dict[str, Any] | None:
    """Return the greatest utilisation of the rated load, its first time, s, and its stage; None if it is unknown."""
    if record.utilisation is None or np.isnan(record.utilisation[1]).all():
        return None
    time, values = record.utilisation
    index = int(np.nanargmax(values))
    value = float(values[index])
    return {
        'value': value if math.isfinite(value) else None,
        'time_s': float(time[index]),
        'stage': stage_of(value),
    }


def weighed_at_end(record: RunRecord) -> list[float] | None:
    """Return the last interval of 95 % of an estimated payload, kg; None without an estimate."""
    if record.weighed is None or not len(record.weighed[0]):
        return None
    _, lower, upper = record.weighed
    return [float(lower[-1]), float(upper[-1])]


def contact_times(record: RunRecord) -> tuple[float | None, float | None]:
    """Return the times at which the first wheel lost contact, and the last wheel regained it, s; None if it did not."""
    lifted = [(time, load <= 0.0) for time, load in record.wheel_loads.values() if len(time)]
    starts = [float(time[np.argmax(off)]) for time, off in lifted if off.any()]
    if not starts:
        return None, None
    if any(off[-1] for _, off in lifted):
        return min(starts), None
    return min(starts), max(float(time[np.flatnonzero(off)[-1] + 1]) for time, off in lifted if off.any())


def has_overturned(record: RunRecord) -> bool:
    """Return whether the machine overturned, by an event of the dynamics node or by the tilt limit of the machine."""
    if record.first_event('overturned') is not None:
        return True
    limit = record.machine.overturn_angle if record.machine else DEFAULT_OVERTURN_ANGLE
    return bool(len(record.attitude.tilt) and record.attitude.tilt.max() >= limit)


def ground_weight(record: RunRecord) -> tuple[float | None, str]:
    """Return the weight along the ground's normal, N, and its source."""
    machine = record.machine
    if machine is not None:
        mass = machine.total_mass + (record.payload or 0.0)
        return -mass * float(gravity_vector(machine.gravity, machine.slope)[2]), 'machine'
    first = [values[0] for _, values in record.wheel_loads.values() if len(values)]
    return (float(sum(first)), 'wheel loads at the start') if first else (None, '')


def least_margin(history: MarginHistory) -> dict[str, Any]:
    """Return the least value of a margin, its first time, its edge (or wheel), and its band.

    Values that differ only by round-off count as equal: on a plateau at zero the time is the start of the plateau.
    """
    if not len(history.value) or np.isnan(history.value).all():
        return {'value': None, 'time_s': None, 'edge': None, 'band': None}
    least = float(np.nanmin(history.value))
    finite = history.value[np.isfinite(history.value)]
    roundoff = ROUND_OFF * float(np.abs(finite).max()) if len(finite) else 0.0
    index = int(np.argmax(history.value <= least + roundoff))
    value = 0.0 if abs(least) <= roundoff else least
    row = {name: values[index] for name, values in history.edges.items() if not math.isnan(values[index])}
    return {
        'value': value if math.isfinite(value) else None,
        'time_s': float(history.time[index]),
        'edge': min(row, key=lambda name: row[name]) if row else None,
        'band': history.levels.band(value),
    }


def greatest_use(time: Array, use: Array) -> dict[str, Any]:
    """Return the greatest friction use of a wheel, its first time, s, and the share of invalid values.

    A value is invalid if the node could not determine it, or if a wheel without normal force slides.
    """
    valid = np.isfinite(use)
    if not valid.any():
        return {'value': None, 'time_s': None, 'end': None, 'unknown_share': 1.0 if len(use) else None}
    index = int(np.argmax(np.where(valid, use, -np.inf)))
    return {
        'value': float(use[index]),
        'time_s': float(time[index]),
        'end': float(use[-1]) if valid[-1] else None,
        'unknown_share': float(np.mean(~valid)),
    }


def tightest_wheel(uses: dict[str, dict[str, Any]]) -> str | None:
    """Return the wheel with the greatest friction use of `max_friction_use`; None without a valid value."""
    values = {wheel: use['value'] for wheel, use in uses.items() if use['value'] is not None}
    return max(values, key=lambda wheel: values[wheel]) if values else None


def verdict(summary: dict[str, Any]) -> str:
    """Return the outcome in one line; `failure` and `interrupted` take precedence."""
    if summary.get('failure'):
        return f'Failed at {summary["duration_s"]:.2f} s: {summary["failure"]}'
    if summary.get('interrupted') and not summary['overturned']:
        return f'Interrupted at {summary["duration_s"]:.2f} s'
    peak, time = summary['max_base_rotation_deg'], summary['max_base_rotation_time_s']
    rotation = '' if peak is None else f'peak base rotation {peak:.2f} deg at {time:.2f} s'
    if summary['overturned']:
        event = next((e for e in summary['events'] if e['name'] == 'overturned'), None)
        when = event['time_s'] if event else time
        return f'Overturned at {when:.2f} s'
    if summary['recovered']:
        return f'Recovered: {rotation}'
    if summary['lift_off_time_s'] is None:
        return f'Stable: no wheel lifted, {rotation}' if rotation else 'Stable: no wheel lifted'
    return f'Tipping at the end of the run: {rotation}'


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write a summary as JSON."""
    path.write_text(json_text(summary) + '\n', encoding='utf-8')
