"""Load-moment indicator: utilisation of the rated load in a posture.

    indicator = LoadMomentIndicator(machine)
    moment = indicator.evaluate({'boom_joint': 0.3}, payload=2000.0, gravity=np.array([0.0, 0.0, -9.81]))
    moment.utilisation, moment.rated, moment.edge

Rated load (the rule of ISO 10567 and of the load charts): a share of the tipping load, 75 % by default, at most the
payload limit of the machine YAML. The tipping load is computed as in the load charts: static equilibrium on springs,
tyres and joints (`equilibrium`). Hydraulic lift capacity and motion are not included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import carrying_links
from dyn_nodes.stability.at_rest import stands_on_springs
from dyn_nodes.stability.equilibrium.axes import carrying_supports
from dyn_nodes.stability.equilibrium.gear import GearError, RunningGear, running_gear
from dyn_nodes.stability.equilibrium.tipping import first_loss, rigid_edges, settle
from dyn_nodes.stability.polygon import name_edges

if TYPE_CHECKING:
    from dyn_nodes.constraints.linkages import Loops

RATED_SHARE = 0.75
"""Share of the tipping load that is rated (ISO 10567, EN 474-1)."""


class LoadMoment(NamedTuple):
    """Load and rated load in a posture.

    Attributes:
        utilisation: load over rated load, equal to the ratio of their moments about the tipping axis; inf if the
            machine tips without load.
        rated: rated load, kg; 0 if the machine tips without load.
        tipping: tipping load, kg; inf if no load tips the machine.
        edge: name of the edge over which it tips; '' if unknown.
    """

    utilisation: float
    rated: float
    tipping: float
    edge: str


class LoadMomentIndicator:
    """Rates the load of a machine.

    Args:
        machine: on springs, with a payload.
        share: rated share of the tipping load.

    Raises:
        GearError: the machine has no payload, no supports on springs, or no equilibrium in its initial posture.
    """

    def __init__(self, machine: Machine, share: float = RATED_SHARE) -> None:
        if machine.payload is None or not stands_on_springs(machine):
            raise GearError(f'{machine.name}: expected a payload and supports on springs')
        self.machine, self.share, self._limit = machine, share, machine.payload.limit
        carrying = carrying_links(machine)
        self._loops: Loops | None = None
        self._held = [joint.name for joint in machine.movable_joints if joint.child not in carrying]
        start = running_gear(machine, None, self._held)
        rest = settle(start, 0.0, np.array([0.0, 0.0, -machine.gravity]))
        if rest is None:
            raise GearError(f'{machine.name}: no equilibrium without payload in the initial posture')
        self._edges = rigid_edges(start, carrying_supports(rest.compression))
        points = start.gear.supports['point'][self._edges[:, 0]] if len(self._edges) else np.zeros((0, 3))
        self._names = name_edges(points) if len(points) else ()

    def evaluate(self, positions: Mapping[str, float], payload: float, gravity: Array) -> LoadMoment:
        """Return the load moment at rest.

        Args:
            positions: of joints by name, rad or m; other joints are in the initial position, or near it where
                linkages move them.
            payload: kg.
            gravity: (3,) in axes of the ground, x along the heading of the base, m/s2.

        Raises:
            GearError: the linkages do not close at some positions.
        """
        running = running_gear(self.machine, self._closed(positions), self._held)
        tipping = first_loss(running, gravity, self._edges)
        rated = min(self.share * tipping, self._limit)
        utilisation = 0.0 if payload <= 0.0 < rated else payload / rated if rated > 0.0 else math.inf
        return LoadMoment(utilisation, rated, tipping, self._edge(running, gravity))

    def _closed(self, positions: Mapping[str, float]) -> Mapping[str, float]:
        """Return positions that close the linkages; complete positions are measured, and stay."""
        if not self.machine.constraints or len(positions) >= len(self.machine.movable_joints):
            return positions
        from dyn_nodes.constraints.errors import AssemblyError
        from dyn_nodes.constraints.linkages import Loops

        self._loops = self._loops or Loops.of(self.machine)
        try:
            return positions if self._loops is None else self._loops.closed(positions)
        except AssemblyError as error:
            raise GearError(f'{self.machine.name}: linkages: {error}') from None

    def _edge(self, running: RunningGear, gravity: Array) -> str:
        """Return the edge that a growing load relieves first on the upright machine; '' if none is relieved."""
        if not self._names:
            return ''
        gear = running.gear
        joint, load = gear.joints[gear.base], gear.load['point'][0]
        starts, ends = (gear.supports['point'][self._edges[:, side]] for side in (0, 1))
        starts = starts - np.outer(gear.supports['free_length'][self._edges[:, 0]], (0.0, 0.0, 1.0))
        along = ends - starts
        lean = gravity / gravity[2]

        def lever(center: Array) -> Array:
            away = center - starts
            away = away - np.outer(away[:, 2], lean)
            return np.asarray(along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0])

        inside, outside = joint['mass'] * lever(joint['moment'] / joint['mass']), -lever(load)
        with np.errstate(divide='ignore', invalid='ignore'):
            payloads = np.where(outside > 0.0, inside / outside, np.inf)
        return str(self._names[int(np.argmin(payloads))]) if np.isfinite(payloads).any() else ''
