"""Motion of a plant on compliant ground, or without ground, through its periods in fixed steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import integrators
from dyn_nodes.compile.integrators import run_rk4_watched
from dyn_nodes.compile.integrators.tables import stretches
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.base_motion import base_tilt
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.endings import beyond
from dyn_nodes.simulation.guards.fastest_motion import Linearization
from dyn_nodes.simulation.period import MOST_EVENTS_OF_A_PERIOD, Period, PlantDivergedError, Reached
from dyn_nodes.simulation.reaction import JointReaction
from dyn_nodes.simulation.start import Start, start_of
from dyn_nodes.simulation.system import System

NO_LIMIT = -2.0
"""Limit of the cosine of the tilt that is never reached."""


class CompliantGround:
    """Compliant ground of a plant without constraints; without ground if the base is fixed or flies.

    Args:
        machine: the machine.
        system: that is integrated.
    """

    carries_the_base_alone = False
    """Whether no joint is part of a leg, so that servos treat the base as fixed."""

    def __init__(self, machine: Machine, system: System) -> None:
        self.machine, self.system = machine, system
        self.state_names: Sequence[str] = system.state_names
        self.scales = system.scales
        self._trace = np.zeros((1, len(system.state_names)))

    def at_rest(self, p: Array, joints: Mapping[str, float]) -> Start:
        """Return the start: at rest with the joints at given positions, then with the velocities of the file.

        Raises:
            NoEquilibriumError: the machine cannot rest there.
        """
        return start_of(self.system, p, joints)

    def start(self, x: Array, u: Array, p: Array, guarded: bool, step: float) -> None:
        """Start from a state with steps, s; a guarded plant stops when it overturns."""
        self._tilt_at_rest = self._tilt(x)
        self._watcher = self.system.watcher(x, u, p, MOST_EVENTS_OF_A_PERIOD)
        self._limit = float(np.cos(self.machine.overturn_angle)) if guarded else NO_LIMIT

    @property
    def codes(self) -> NDArray[np.int64]:
        """Addresses of the kernels."""
        return self.system.codes

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,); NaN if it is undefined."""
        return self.system.rhs(x, u, p)

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state."""
        return self.system.outputs(x, u, p)

    def joint_reactions(self, x: Array, u: Array, p: Array, y: Array) -> Array:
        """Return the wrenches (joints, 6) at the joints `reactions` of the machine; y are the outputs."""
        return np.asarray(self._reaction.of_outputs(x, y, p))

    @cached_property
    def _reaction(self) -> JointReaction:
        return JointReaction(self.system, self.machine.reactions)

    def linearization(self, x: Array, u: Array, p: Array) -> Linearization:
        """Return the linearized system about a state."""
        stiff = self.system.module.meta.get('stiff', ())
        return Linearization.of(self.state_names, self.scales, lambda near: self.rhs(near, u, p), x, stiff)

    def advance(self, x: Array, p: Array, period: Period) -> Reached:
        """Advance by a period, in two parts if the payload is released within it.

        Raises:
            PlantStoppedError: the motion cannot continue.
            PlantDivergedError: the integration diverged.
        """
        start, self._departed = period.start, self._watcher.positive.copy()
        drop = self._drop_within(x, p, period)
        events: list[Event] = []
        x, guarded = x.copy(), False
        try:
            if drop is not None:
                if drop > start:
                    guarded = self._integrate(x, p, period, start, drop, events)
                start, payload = drop, self.system.index('parameter', 'payload_mass')
                details = {'mass': float(p[payload]), 'mass_after': 0.0, 'tilt': self._tilt(x)}
                events.append(Event(drop, 'payload_drop', details=details))
                p = p.copy()
                p[payload] = 0.0
            if start < period.end:
                guarded = self._integrate(x, p, period, start, period.end, events) or guarded
        except PlantDivergedError:
            self.go_back()
            raise
        return Reached(x, p, events, guarded)

    def go_back(self) -> None:
        """Restore the signs of the watched values to the start of the last period."""
        self._watcher.positive[:] = self._departed

    def _integrate(self, x: Array, p: Array, period: Period, start: float, end: float, events: list[Event]) -> bool:
        """Advance x in place and append the events; return whether the base has overturned."""
        status = self._run(x, p, period, start, end, self._limit, self._watcher.positive, events)
        if status == integrators.DIVERGED:
            where = f'{self.machine.name}: the simulation diverged at t = {period.start:.4f} s'
            raise PlantDivergedError(f'{where}: {beyond(self.state_names, x)} left the range of numbers')
        if status < 0:
            raise self.stopped(status, x, p)
        return status == integrators.GUARDED

    def stopped(self, status: int, x: Array, p: Array) -> PlantDivergedError:
        """Return the error of a status without dx/dt."""
        raise RuntimeError(f'{self.machine.name}: expected rates at every state, found status {status}')

    def _run(
        self,
        x: Array,
        p: Array,
        period: Period,
        start: float,
        end: float,
        limit: float,
        positive: NDArray[np.bool_],
        events: list[Event],
    ) -> int:
        """Advance x in place by steps that end at the knots of the inputs; return the status."""
        status, step = integrators.DONE, (end - start) / period.substeps
        if self.system.time_index is not None:
            x[self.system.time_index] = start
        for since, until, knots, table in stretches(period.knots, period.table, start, end):
            count = max(1, math.ceil((until - since) / step - 1e-9))
            status, _, event_count = run_rk4_watched(
                self.codes,
                x,
                since,
                (until - since) / count,
                count,
                knots,
                table,
                p,
                limit,
                0,
                self._trace,
                positive,
                self._watcher.table,
            )
            events += self._watcher.events(event_count)
            if status != integrators.DONE:
                break
        return status

    def _drop_within(self, x: Array, p: Array, period: Period) -> float | None:
        """Return the time within the period at which the payload is released, s, or None."""
        times, (start, end) = [], (period.start, period.end)
        if period.drop_time is not None and period.drop_time < end:
            times.append(max(start, period.drop_time))
        if period.drop_tilt is not None:
            limit = period.drop_tilt + self._tilt_at_rest
            low, high = 0.0, 1.0
            if self._tilt_after(x, p, period, end) >= limit:
                while high - low > 1e-9:
                    middle = 0.5 * (low + high)
                    tilted = self._tilt_after(x, p, period, start + middle * (end - start)) >= limit
                    low, high = (low, middle) if tilted else (middle, high)
                times.append(start + high * (end - start))
        return min(times) if times else None

    def _tilt_after(self, x: Array, p: Array, period: Period, end: float) -> float:
        """Return the tilt at a time within the period, rad, without changing the state."""
        x = x.copy()
        self._run(x, p, period, period.start, end, NO_LIMIT, self._watcher.positive.copy(), [])
        return self._tilt(x)

    def _tilt(self, x: Array) -> float:
        return base_tilt(self.machine.base.attachment, x)
