"""Load-moment indicator of a node: utilisation of the rated load on topics and as a status."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import BAND_OF_STAGE, DANGER, stage_of
from dyn_nodes.middleware import message
from dyn_nodes.model import Machine
from dyn_nodes.nodes.diagnostics import Health, status_message
from dyn_nodes.nodes.group_values import GroupPublisher
from dyn_nodes.nodes.stability_health import LEVEL_OF_BAND
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.stability.load_moment import LoadMoment, LoadMomentIndicator

DiagnosticStatus = message('diagnostic_msgs/msg/DiagnosticStatus')
Float64 = message('std_msgs/msg/Float64')

STATUS = 'load_moment'
"""Name of the status and of the group of topics."""


class LoadMomentReport:
    """Publishes `load_moment/utilisation` (%), `/rated_load` (kg), `/values` (both with a stamp) and `/state`.

    Machines without payload or without supports on springs have no load-moment indicator and no such topics.

    Args:
        node: the node.
        machine: its machine.
        share: rated share of the tipping load.
        qos: of the topics.
        prefix: of the topics, '' or `monitor`.

    Attributes:
        moment: the last load moment; None: not known now.
    """

    def __init__(self, node: Any, machine: Machine, share: float, qos: Any, prefix: str = '') -> None:
        self.node, self._payload = node, 0.0
        self.moment: LoadMoment | None = None
        try:
            self._indicator: LoadMomentIndicator | None = LoadMomentIndicator(machine, share)
        except GearError:
            self._indicator = None
            return
        start = f'{prefix}/{STATUS}' if prefix else STATUS
        self._utilisation = node.create_publisher(Float64, f'{start}/utilisation', qos)
        self._rated = node.create_publisher(Float64, f'{start}/rated_load', qos)
        self._state = node.create_publisher(DiagnosticStatus, f'{start}/state', qos)
        self._values = GroupPublisher(node, f'{start}/values', qos)

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the status for /diagnostics by name; empty without a load-moment indicator."""
        return {} if self._indicator is None else {STATUS: self.health}

    def evaluate(self, positions: Mapping[str, float], payload: float, gravity: Array) -> None:
        """Compute the load moment; arguments as `LoadMomentIndicator.evaluate`."""
        if self._indicator is not None:
            self.moment, self._payload = self._indicator.evaluate(positions, payload, gravity), payload

    def publish(self, positions: Mapping[str, float], payload: float, gravity: Array) -> None:
        """Compute and publish the load moment; arguments as `LoadMomentIndicator.evaluate`."""
        if self._indicator is None:
            return
        self.evaluate(positions, payload, gravity)
        assert self.moment is not None
        self._send(100.0 * self.moment.utilisation, self.moment.rated)

    def withdraw(self) -> None:
        """Publish NaN: the last load moment is out of date."""
        if self._indicator is not None:
            self.moment = None
            self._send(math.nan, math.nan)

    def _send(self, utilisation: float, rated: float) -> None:
        self._utilisation.publish(Float64(data=utilisation))
        self._rated.publish(Float64(data=rated))
        self._values.publish({STATUS: (('utilisation', 'rated_load'), (utilisation, rated))})
        self._state.publish(status_message(self.node, STATUS, self.health()))

    def health(self) -> Health:
        """Return the status `load_moment`: utilisation, stage, edge, rated and remaining load."""
        moment = self.moment
        if moment is None:
            return Health(LEVEL_OF_BAND[DANGER], 'unknown: measurements are missing')
        stage = stage_of(moment.utilisation)
        where = f' over the {moment.edge}' if moment.edge else ''
        text = f'{stage}: {percent_of(moment.utilisation)} % of the rated load of {moment.rated:.0f} kg{where}'
        if not moment.rated > 0.0:
            text = f'{stage}: no rated load in this posture: the machine tips without load{where}'
        values = {
            'stage': stage,
            'utilisation': percent_of(moment.utilisation, 1),
            'payload': f'{self._payload:.1f}',
            'rated load': f'{moment.rated:.1f}',
            'rated share': '' if self._indicator is None else f'{self._indicator.share:g}',
            'remaining payload': f'{moment.rated - self._payload:.1f}',
            'tipping load': f'{moment.tipping:.1f}',
            'edge': moment.edge,
        }
        return Health(LEVEL_OF_BAND[BAND_OF_STAGE[stage]], text, values)
