"""Motions from user input: positions, velocities and accelerations as rows, and the machine at rest in each posture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.vectors import Coordinates, together, whole
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.stability.equilibrium.standing import gives_way

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded
    from dyn_nodes.simulation.plant import Plant

STILL = 1e-3
"""Acceleration over gravity below which a machine counts as at rest; angular accelerations at a radius of 1 m."""


class Motion(NamedTuple):
    """Rows of a motion.

    Attributes:
        rows: number of rows; None: a single state.
        standing: the base rests on its wheels; otherwise its pose is in q.
        q, v, a: (t, nq), (t, nv), (t, nv).
    """

    rows: int | None
    standing: bool
    q: Array
    v: Array
    a: Array

    @property
    def moves(self) -> bool:
        """True if any velocity or acceleration is not zero."""
        return bool(self.v.any() or self.a.any())


def motion_of(
    machine: Loaded,
    q: ArrayLike | None,
    v: ArrayLike | None,
    a: ArrayLike | None,
    payload: float,
    slope: tuple[float, float],
) -> Motion:
    """Return positions, velocities and accelerations as rows of whole vectors.

    With joint coordinates alone, the base is level at the origin. Raises ValueError as `rows_of`.
    """
    owner, (positions, velocities) = machine.name, machine.coordinates
    level = positions.base
    if q is None:
        initial = machine.data.initial.joint_positions
        q = (
            machine.posture(payload=payload, slope=slope)
            if machine.data.loads
            else np.array([initial.get(name, 0.0) for name in machine.joints])
        )
    standing = bool(len(level)) and np.shape(q)[-1:] == (positions.joints,)
    coordinates, still = whole(owner, 'q', q, positions), np.zeros(len(velocities.names))
    if v is None and a is None and coordinates.ndim == 1:
        return Motion(None, standing, coordinates[np.newaxis], still[np.newaxis], still[np.newaxis])
    number, rows = together(
        owner,
        q=coordinates,
        v=still if v is None else whole(owner, 'v', v, velocities),
        a=still if a is None else whole(owner, 'a', a, velocities),
    )
    return Motion(number, standing, *rows)


def motion_coordinates(machine: MachineData, names: tuple[str, ...], rates: tuple[str, ...]) -> Any:
    """Return positions and velocities of a motion; with joint coordinates alone, the base is level at the origin.

    Args:
        machine: content of its files; one with loads accepts whole vectors alone.
        names: of the positions.
        rates: names of the velocities.
    """
    if machine.loads:
        return Coordinates(names, len(names), np.zeros(0)), Coordinates(rates, len(rates), np.zeros(0))
    joints = len(machine.movable_joints)
    level = np.zeros(len(names) - joints)
    if len(level) == 7:
        level[6] = 1.0
    return Coordinates(names, joints, level), Coordinates(rates, joints, np.zeros(len(rates) - joints))


def starts(system: Any, x: Array, u: Array, p: Array) -> bool:
    """Return whether a machine with zero velocities would start to move from a state."""
    rates = slice(system.nq, system.nq + system.nv)
    gravity = float(np.linalg.norm(p[:3]))
    return not x[rates].any() and bool(np.abs(system.rhs(x, u, p)[rates]).max(initial=0.0) > STILL * max(gravity, 1.0))


def at_rest(
    machine: Loaded, motion: Motion, payload: float, slope: tuple[float, float], measures: tuple[str, ...] = ()
) -> Iterator[Plant]:
    """Yield the same plant at rest in each posture of a motion, held by its drives.

    Compliant joints of the running gear come to rest from their positions in the machine YAML.

    Raises ValueError for a posture without a state at rest.
    """
    # compliant joints are not prescribed: at rest on an end stop they lie slightly beyond their limit
    loose = gives_way(machine.data)
    held = [name for name in machine.joints if name not in loose]
    indices = [machine.position_names.index(name) for name in held]
    idle = machine.idle_plants.setdefault(measures, [])
    plant: Plant | None = None
    rests = False  # a plant that has failed is not used again
    try:
        for q in motion.q:
            joints, rests = dict(zip(held, map(float, q[indices]))), False
            if plant is None and idle:
                machine.checked_joints(joints)
                plant = idle.pop()
                plant.p[:] = plant.system.parameters({'payload_mass': payload}, slope)
                if plant.observer is not None:
                    plant.observer.forget()
                plant.start = joints
                plant.reset()
            elif plant is None:
                plant = machine.plant(True, joints, payload, slope, measures=measures)
            else:
                plant.start = joints
                plant.reset()
            rests = True
            yield plant
    finally:
        if plant is not None and rests:
            idle.append(plant)
