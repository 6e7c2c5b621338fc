"""Bring managed nodes up before time starts: configure all, then activate all, in the order of their names."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware.lifecycle import lifecycle_services
from dyn_nodes.nodes.running import RunFailed

TRANSITIONS = {'configure': (1, ('inactive', 'active')), 'activate': (3, ('active',))}
"""Number in lifecycle_msgs/msg/Transition and the states in which the transition is done already."""
ANSWER_TIMEOUT = 2.0
"""Wall time after which a request without an answer is repeated, s."""


class BringUp:
    """Transitions of managed nodes by the services of their life cycle, one after the other.

    Without rclpy or `lifecycle_msgs` the nodes are always active, and there is nothing to do.

    Args:
        node: the calling node.
        names: of the managed nodes, in the calling node's namespace (empty names are ignored).
    """

    def __init__(self, node: Any, names: Sequence[str]) -> None:
        services = lifecycle_services()
        self.names = [name for name in names if name] if services else []
        self._node: Any = node
        self._services: Any = services
        self._steps = deque((transition, name) for transition in TRANSITIONS for name in self.names)
        self._clients: dict[tuple[str, str], Any] = {}
        self._call: Any = None
        self._asks_state = False

    def missing(self) -> str:
        """Take an answer and send the next request; return the transition that is awaited, or ''.

        Raises:
            RunFailed: a node does not make a transition.
        """
        while self._steps:
            transition, name = self._steps[0]
            if self._call is None and not self._send(transition, name):
                return f'{name} does not offer its life cycle yet'
            client, future, deadline = self._call
            if not future.done():
                if time.monotonic() > deadline:
                    client.remove_pending_request(future)
                    self._call, self._asks_state = None, True
                return f'{name} has not answered {transition} yet'
            self._call = None
            self._take(transition, name, future.result())
        for client in self._clients.values():
            self._node.destroy_client(client)
        self._clients.clear()
        return ''

    def _send(self, transition: str, name: str) -> bool:
        verb, kind = ('get_state', self._services[1]) if self._asks_state else ('change_state', self._services[0])
        if (name, verb) not in self._clients:
            self._clients[name, verb] = self._node.create_client(kind, f'{name}/{verb}')
        client, request = self._clients[name, verb], kind.Request()
        if not client.service_is_ready():
            return False
        if not self._asks_state:
            request.transition.id = TRANSITIONS[transition][0]
        self._call = client, client.call_async(request), time.monotonic() + ANSWER_TIMEOUT
        return True

    def _take(self, transition: str, name: str, answer: Any) -> None:
        """Continue after an answer; the state decides where a change failed or its answer was lost."""
        if not self._asks_state:
            if answer.success:
                self._steps.popleft()
            self._asks_state = not answer.success
            return
        self._asks_state = False
        state = answer.current_state.label
        if state in TRANSITIONS[transition][1]:
            self._steps.popleft()
        elif not state.endswith('ing'):
            raise RunFailed(f'{name}: transition {transition} failed; the node is {state}')
