"""Asynchronous requests of the viewer to the dynamics node: pause, step, reset, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dyn_nodes.middleware import Node, Parameter, parameter_value_to_python, service

GetParameters = service('rcl_interfaces/srv/GetParameters')
SetParameters = service('rcl_interfaces/srv/SetParameters')
SetBool = service('std_srvs/srv/SetBool')
Trigger = service('std_srvs/srv/Trigger')

WATCHED = ('slope_roll', 'slope_pitch', 'speed', 'mode')


class DynamicsClient:
    """Sends requests to the dynamics node.

    Args:
        node: the requesting node.
        target: name of the dynamics node, relative to the namespace of `node`.
        notify: called with a text when a request was rejected.

    Attributes:
        parameters: last received values by name.
    """

    def __init__(self, node: Node, target: str, notify: Callable[[str], None]) -> None:
        self.target, self.notify = target, notify
        self.parameters: dict[str, Any] = {}
        self._pause = node.create_client(SetBool, f'{target}/pause')
        self._step = node.create_client(Trigger, f'{target}/step')
        self._reset = node.create_client(Trigger, f'{target}/reset')
        self._get = node.create_client(GetParameters, f'{target}/get_parameters')
        self._set = node.create_client(SetParameters, f'{target}/set_parameters')
        self._asked: Any = None

    @property
    def is_there(self) -> bool:
        """Return whether the pause service of the dynamics node is available."""
        return bool(self._pause.service_is_ready())

    def run(self, action: str, done: Callable[[], None]) -> None:
        """Request `pause`, `play`, `step` or `reset`; `done` is called after success."""
        if action in ('pause', 'play'):
            self._call(self._pause, SetBool.Request(data=action == 'pause'), done)
        elif action == 'step':
            self._call(self._step, Trigger.Request(), done)
        elif action == 'reset':
            self._call(self._reset, Trigger.Request(), done)

    def _call(self, client: Any, request: Any, done: Callable[[], None]) -> None:
        if not client.service_is_ready():
            self.notify(f'{self.target} offers no service {client.srv_name}')
            return

        def answered(future: Any) -> None:
            response = future.result()
            if response is None:
                self.notify(f'{client.srv_name}: no answer')
            elif response.success:
                done()
            else:
                self.notify(response.message)

        client.call_async(request).add_done_callback(answered)

    def set(self, values: Mapping[str, float]) -> None:
        """Set parameters."""
        if not self._set.service_is_ready():
            self.notify(f'{self.target} is not there')
            return
        parameters = [Parameter(name, Parameter.Type.DOUBLE, float(v)).to_parameter_msg() for name, v in values.items()]

        def answered(future: Any) -> None:
            for result in future.result().results if future.result() else ():
                if not result.successful:
                    self.notify(result.reason or f'{", ".join(values)}: rejected')

        self._set.call_async(SetParameters.Request(parameters=parameters)).add_done_callback(answered)
        self.parameters.update(values)

    def ask(self) -> None:
        """Request the parameters, unless a response is pending."""
        if not self._get.service_is_ready():
            self._asked = None
            return
        if self._asked is not None and not self._asked.done():
            return
        self._asked = self._get.call_async(GetParameters.Request(names=list(WATCHED)))
        self._asked.add_done_callback(self._store_parameters)

    def _store_parameters(self, future: Any) -> None:
        if future.result() is None:
            return
        for name, value in zip(WATCHED, future.result().values):
            plain = parameter_value_to_python(value)
            if plain is not None:
                self.parameters[name] = plain
