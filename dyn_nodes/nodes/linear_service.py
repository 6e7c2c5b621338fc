"""Service `~/linearize` of the dynamics node: the linear model about the present state as JSON."""

from __future__ import annotations

import json
from typing import Any, Protocol

from dyn_nodes.middleware import service
from dyn_nodes.nodes.pacing import Pacer
from dyn_nodes.simulation.plant import Plant

Trigger = service('std_srvs/srv/Trigger')


class LinearizedNode(Protocol):
    """The parts of the dynamics node that the service uses.

    Attributes:
        plant: the machine.
        pacer: moves the node's time.
        paced: real time.
    """

    plant: Plant
    pacer: Pacer
    paced: bool

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """Create a service."""


class LinearizeService:
    """The service. It may compile exact derivatives first, while simulated time is stopped.

    Args:
        node: the dynamics node.
    """

    def __init__(self, node: LinearizedNode) -> None:
        self.node = node
        self._linearizer: Any = None
        node.create_service(Trigger, '~/linearize', self.answer)

    def answer(self, request: Any, response: Any) -> Any:
        """Answer with A, B, C, D, names, poles and modes as JSON, or with the reason of a failure."""
        node = self.node
        if node.paced and not node.pacer.paused:
            response.success, response.message = False, 'pause first: in real time a model takes longer than a period'
            return response
        try:
            response.message = json.dumps(self._model().as_dict())
            response.success = True
        except ValueError as error:
            response.success, response.message = False, str(error)
        return response

    def _model(self) -> Any:
        from dyn_nodes.simulation.linear import Linearizer  # imports SciPy

        plant = self.node.plant
        if self._linearizer is None:
            self._linearizer = Linearizer(plant.system)
        return self._linearizer.at(plant.x, plant.u, plant.p, plant.time)
