"""Reach of the payload for the cockpit, computed in small parts between its pictures."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model import Machine
from dyn_nodes.monitor.reach_band import ReachBand, ReachLimit
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.viewer.geometry import yaw_of
from dyn_nodes.viewer.snapshot import Load, Reach, Snapshot

BUDGET = 0.004
"""Time for the computation between two pictures, s."""
AGREEMENT, MISSES = 0.03, 3
"""Greatest relative deviation from the published tipping load, and number of messages with a greater one that withdraw
the reach: the ground, or the machine file of the node that publishes it, is another one."""
SAME_GROUND = 0.02
"""Greatest change of gravity over its magnitude on the same ground."""


class ViewerReach:
    """Follows the reach of the payload of a machine.

    It is shown only for the present payload, posture and ground, and while the tipping load that is published for the
    present posture is the computed one.

    Args:
        machine: the machine; None: there is no reach.
    """

    def __init__(self, machine: Machine | None) -> None:
        self._machine = machine
        self._limit: ReachLimit | None = None
        self._solver: Iterator[ReachBand | None] | None = None
        self._band: ReachBand | None = None
        self._gravity: Array = np.zeros(3)
        self._load: Load | None = None
        self._misses = 0

    def update(self, snapshot: Snapshot) -> Reach | None:
        """Return the reach of an instant; None: unknown."""
        load, limit = snapshot.load, self._limit_for(snapshot.load)
        if limit is None or load is None or not limit.needed <= snapshot.joints.keys():
            self._solver = self._band = None
            return None
        gravity = self._gravity_on(snapshot)
        if load is not self._load:
            self._load = load
            tipping = limit.indicator.evaluate(snapshot.joints, load.payload, gravity).tipping
            agrees = abs(tipping - load.tipping) <= AGREEMENT * load.tipping or tipping == load.tipping
            self._misses = 0 if agrees else self._misses + 1
        if self._misses >= MISSES:
            self._solver = self._band = None
            return None
        if np.abs(gravity - self._gravity).max() > SAME_GROUND * float(np.linalg.norm(gravity)):
            self._gravity, self._solver, self._band = gravity, None, None
        self._advance(limit, snapshot, load)
        band = self._band
        if band is None or not limit.is_valid(band, snapshot.joints, load.payload):
            return None
        return Reach(band.centre, band.angles, band.reach, band.is_closed, limit.distance(snapshot.joints))

    def _limit_for(self, load: Load | None) -> ReachLimit | None:
        """Return the computation for a load moment; None without a known one, or if the machine has no such reach.

        It is made with the first load moment, before the page drives, and takes about 1 s.
        """
        if self._machine is None or load is None or math.isnan(load.tipping) or not 0.0 < load.share < 1.0:
            return None
        if self._limit is None or self._limit.indicator.share != load.share:
            try:
                self._limit = ReachLimit(self._machine, load.share)
            except GearError:
                self._machine = None
        return self._limit if self._machine is not None and load.payload > 0.0 else None

    def _gravity_on(self, snapshot: Snapshot) -> Array:
        """Return gravity (3,) in axes of the ground, x along the heading of the base, m/s2."""
        assert self._machine is not None
        roll, pitch = snapshot.slope
        down = np.array((np.sin(pitch), -np.sin(roll) * np.cos(pitch), -np.cos(roll) * np.cos(pitch)))
        yaw = yaw_of(snapshot.base_quaternion)
        turn = np.array(((np.cos(yaw), np.sin(yaw), 0.0), (-np.sin(yaw), np.cos(yaw), 0.0), (0.0, 0.0, 1.0)))
        return np.asarray(self._machine.gravity * (turn @ down))

    def _advance(self, limit: ReachLimit, snapshot: Snapshot, load: Load) -> None:
        """Continue the computation, or start it if the band is not of the present posture and payload."""
        if self._solver is None:
            if self._band is not None and limit.is_valid(self._band, snapshot.joints, load.payload, 0.25):
                return
            self._solver = limit.solve(snapshot.joints, load.payload, self._gravity)
        end = time.perf_counter() + BUDGET
        while time.perf_counter() < end:
            band = next(self._solver)
            if band is not None:
                self._band, self._solver = band, None
                return
