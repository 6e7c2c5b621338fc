"""Signals of a hydraulic actuator from a bag of these nodes, or of a real machine with the same topics."""

from __future__ import annotations

import numpy as np

from dyn_nodes.analysis.bag_reading import BagData, Table
from dyn_nodes.analysis.hydraulic_fit import ActuatorRecord, FitError, Signal
from dyn_nodes.model.hydraulic import HydraulicRecord


def topics_of(actuator: HydraulicRecord) -> tuple[str, ...]:
    """Return the topics of spool, two line pressures and supply pressure, relative to the machine's namespace."""
    return tuple(f'hydraulics/{actuator.name}/{name}' for name in ('spool', *actuator.lines, 'supply_pressure'))


def is_recorded(data: BagData, actuator: HydraulicRecord) -> bool:
    """Return whether a bag has any signal of an actuator."""
    return any(topic in data.tables for topic in topics_of(actuator))


def actuator_record(data: BagData, actuator: HydraulicRecord) -> ActuatorRecord:
    """Return the signals of an actuator and of its joint.

    Raises:
        FitError: a topic is missing, `joint_states` lacks the joint, or its velocity is not measured.
    """
    missing = [topic for topic in (*topics_of(actuator), 'joint_states') if topic not in data.tables]
    if missing:
        prefix = f'{data.namespace}/'
        raise FitError(f'{actuator.name}: not in the bag: {", ".join(prefix + topic for topic in missing)}')
    joints = data.tables['joint_states']
    if f'{actuator.joint}/position' not in joints.columns:
        names = ', '.join(name.rpartition('/')[0] for name in joints.columns if name.endswith('/position'))
        raise FitError(f'{actuator.name}: joint_states has no {actuator.joint!r}, only {names}')
    position, velocity, effort = (
        _signal(joints, f'{actuator.joint}/{field}') for field in ('position', 'velocity', 'effort')
    )
    if not np.isfinite(velocity.values).all():
        raise FitError(f'{actuator.name}: joint_states has no velocity of {actuator.joint!r}')
    spool, first, second, supply = (
        _signal(data.tables[topic], 'data' if topic.endswith('/spool') else 'pressure') for topic in topics_of(actuator)
    )
    measured = effort if np.isfinite(effort.values).all() else None
    return ActuatorRecord(position, velocity, measured, spool, first, second, supply)


def _signal(table: Table, column: str) -> Signal:
    """Return one column over increasing times, with the first of several messages with the same stamp."""
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(table.time)) > 0.0])
    return Signal(table.time[rising], table[column][rising])
