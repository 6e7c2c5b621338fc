"""Shared parts of the methods of a loaded machine: compiled systems, checks of arguments, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.library.carried import Conditions, conditions_of, warn
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import by_name, number, rows_of
from dyn_nodes.model.machine import Machine as MachineData

if TYPE_CHECKING:
    from dyn_nodes.simulation import System
    from dyn_nodes.simulation.plant import Plant

Slope = float | tuple[float, float]
Joints = Mapping[str, float] | ArrayLike
PERIOD, STEP = 0.01, 1e-3
KEPT_PLANTS = 32
"""Number of plants at rest that a machine keeps for `simulate`."""


class LoadedMachine:
    """Base of `dyn_nodes.library.machine.Machine`.

    Args:
        data: validated content of the files.
        conditions: None: as in the machine YAML.
    """

    def __init__(self, data: MachineData, conditions: Conditions | None = None) -> None:
        self.data, self.name = data, data.name
        self.conditions = conditions or conditions_of_files(data)
        self.joints = tuple(joint.name for joint in data.movable_joints)
        self.driven = tuple(joint.name for joint in data.actuated_joints)
        self.actuators = tuple(actuator.name for actuator in data.actuators)
        self._resting: dict[tuple[Any, ...], Plant] = {}

    def system(self, torque: bool = False) -> System:
        """Return the compiled system that runs and linear models use.

        Args:
            torque: without actuators; efforts of the driven joints are inputs.
        """
        return self._systems('effort' if torque or not self.actuators else 'hydraulic')

    @cached_property
    def _systems(self) -> Any:
        from dyn_nodes.simulation import System

        @lru_cache
        def make(actuation: Any) -> System:
            with shown('equations of motion'):
                return System(self.data, actuation)

        return make

    @property
    def _system(self) -> System:
        return self.system()

    def gravity_vector(self, slope: Slope | None = None) -> tuple[float, float, float]:
        """Return gravity (3,) in the ground frame, m/s2. Raises ValueError unless the slope is two numbers."""
        from dyn_nodes.simulation.assembly import gravity_vector

        return gravity_vector(self.data.gravity, self._slope(slope))

    def checked_payload(self, payload: float | None) -> float:
        """Return the payload, kg. Raises ValueError for one that the machine cannot carry."""
        mount = self.data.payload
        if payload is None:
            return self.conditions.payload
        mass = payload if type(payload) is float and isfinite(payload) else number(self.name, 'payload', payload)
        if mount is None:
            if mass == 0.0:
                return mass
            raise ValueError(
                f'{self.name}: payload: expected none, as the machine YAML has no `payload`; found {mass:g} kg'
            )
        if not 0.0 <= mass <= mount.limit:
            raise ValueError(f'{self.name}: payload: expected 0 to {mount.limit:g} kg, found {mass:g}')
        return mass

    def conditions_for(self, payload: float | None, slope: Slope | None, *arrays: Any) -> Conditions:
        """Return payload and slope from the arguments, else from the first state with conditions, else the machine's.

        A state computed with other changes to the machine YAML causes a warning.

        Args:
            payload: kg, or None.
            slope: of the ground, rad, or None.
            *arrays: states and positions.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        carried = conditions_of(*arrays)
        if payload is None and slope is None and carried in (None, self.conditions):
            return self.conditions
        if carried is None:
            return Conditions(self.checked_payload(payload), self._slope(slope), self.conditions.changes)
        if carried.changes != self.conditions.changes:
            warn(f'{self.name}: {self.conditions}; found a state with: {carried}')
        return Conditions(
            self.checked_payload(carried.payload if payload is None else payload),
            self._slope(carried.slope if slope is None else slope),
            self.conditions.changes,
        )

    def _slope(self, slope: Slope | None) -> tuple[float, float]:
        if slope is None:
            return self.conditions.slope
        if np.ndim(slope) == 0:
            return 0.0, number(self.name, 'slope', slope)
        if (
            type(slope) is tuple
            and len(slope) == 2
            and all(type(angle) is float and isfinite(angle) for angle in slope)
        ):
            return slope
        roll, pitch = rows_of(self.name, 'slope', slope, ('roll', 'pitch'))
        return float(roll), float(pitch)

    def plant(
        self,
        torque: bool = False,
        joints: Joints | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        period: float = PERIOD,
        step: float = STEP,
        measures: tuple[str, ...] = (),
    ) -> Plant:
        """Return the machine at rest as a plant for simulation step by step (`dyn_nodes.simulation.plant.Plant`).

        Args:
            torque: without actuators; efforts of the driven joints are inputs.
            joints: positions by name, others from the machine YAML, or an array (nj,), rad or m.
            payload: kg.
            slope: of the ground, rad.
            period: of `Plant.advance`, s.
            step: maximum step of the integrator, s.
            measures: stability measures to compute.

        Raises:
            KeyError: no such joint.
            ValueError: no state at rest, or invalid numbers.
        """
        from dyn_nodes.simulation.plant import Plant

        positions = self.checked_joints(joints)
        values = {'payload_mass': self.checked_payload(payload)}
        system = self.system(torque)
        with shown('state at rest'):
            return Plant(self.data, system.actuation, period, step, measures, positions, values, self._slope(slope))

    def resting_plant(
        self,
        torque: bool,
        joints: Joints | None,
        payload: float,
        slope: tuple[float, float],
        period: float,
        step: float,
    ) -> Plant:
        """Return a plant at rest, not to be changed; the last KEPT_PLANTS of them are kept. Errors: see `plant`."""
        key = (torque, tuple(sorted(self.checked_joints(joints).items())), payload, slope, period, step)
        kept = self._resting.pop(key, None) or self.plant(torque, joints, payload, slope, period, step)
        self._resting[key] = kept  # the last one used is the last to be dropped
        while len(self._resting) > KEPT_PLANTS:
            self._resting.pop(next(iter(self._resting)), None)
        return kept

    def checked_joints(self, joints: Joints | None, others: Mapping[str, float] = {}) -> dict[str, float]:
        """Return positions by name.

        Args:
            joints: by name, or an array (nj,), rad or m.
            others: by name, in addition.

        Raises:
            KeyError: no such joint.
            ValueError: a joint beyond its limits, another shape, a number that is not finite.
        """
        if joints is not None and not isinstance(joints, Mapping):
            values = rows_of(self.name, 'joints', joints, self.joints)
            if values.ndim != 1:
                raise ValueError(f'{self.name}: joints: expected shape ({len(self.joints)},); found {values.shape}')
            joints = dict(zip(self.joints, values.tolist()))
        positions = by_name(self.name, 'joints', {**(joints or {}), **others}, self.joints, 'joint')
        for name, value in positions.items():
            joint = self.data.joint(name)
            if not joint.lower <= value <= joint.upper:
                raise ValueError(
                    f'{self.name}: joints[{name!r}]: expected {joint.lower:g} to {joint.upper:g}, found {value:g}'
                )
        return positions


def conditions_of_files(data: MachineData) -> Conditions:
    """Return payload and slope of the machine YAML."""
    return Conditions(0.0 if data.payload is None else data.payload.mass, data.slope, {})
