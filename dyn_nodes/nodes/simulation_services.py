"""Services of simulation_interfaces for the dynamics node: pause, reset, step and state of the base.

Available if the package is installed, and on the embedded runtime, which includes the definitions. The action
SimulateSteps needs rclpy and the package. Not supported: spawning, worlds, setting the state of an entity. The
acceleration of an entity is zero.
"""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable
from typing import Any, Protocol

from dyn_nodes.middleware import RUNTIME, Clock, ClockType, Future, service
from dyn_nodes.middleware.actions import NoActionsError, action
from dyn_nodes.model import Machine
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.nodes.pacing import PacedNode, Pacer
from dyn_nodes.nodes.stamps import stamp_of

PACKAGE = 'simulation_interfaces'
UNSUPPORTED, OK, NOT_FOUND, INCORRECT_STATE, FAILED = range(5)
ALREADY, INCORRECT_TRANSITION = 101, 103
STOPPED, PLAYING, PAUSED, QUITTING, NO_WORLD, LOADING = range(6)
TIME_AND_STATE = 3
ROBOT = 1
ENTITY_STATE, RESET, GET_STATE, SET_STATE, PAUSE, STEP_ONE, STEP_MANY, STEP_ACTION = 10, 20, 24, 25, 26, 31, 32, 33
POLL_PERIOD = 0.001
AT_ONCE = 200
"""Number of steps of a monolithic machine after which other callbacks run."""


def are_available() -> bool:
    """Return whether the definitions of the services are available."""
    return RUNTIME == 'embedded' or importlib.util.find_spec(PACKAGE) is not None


class SimulatingNode(PacedNode, Protocol):
    """The parts of the dynamics node that the services use.

    Attributes:
        machine: the machine.
        pacer: moves the node's time.
        paced: real time.
    """

    machine: Machine
    pacer: Pacer
    paced: bool

    def finish(self) -> None:
        """End the run."""

    def put_back(self) -> str:
        """Reset to the initial posture and time 0; return why that is not possible, or ''."""
        raise NotImplementedError

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """Create a service."""

    def destroy_timer(self, timer: Any) -> Any:
        """Destroy a timer."""


class SimulationServices:
    """The services, below the name of the node (`~/step_simulation`).

    Args:
        node: the dynamics node.
    """

    def __init__(self, node: SimulatingNode) -> None:
        self.node = node
        self._is_stopped = False
        self._is_stepping = False
        for name, answer in (
            ('GetSimulatorFeatures', self._features),
            ('GetSimulationState', self._get_state),
            ('SetSimulationState', self._set_state),
            ('StepSimulation', self._step),
            ('ResetSimulation', self._reset),
            ('GetEntityState', self._entity_state),
            ('GetEntities', self._entities),
        ):
            topic = re.sub(r'(?<!^)([A-Z])', r'_\1', name).lower()
            node.create_service(service(f'{PACKAGE}/srv/{name}'), f'~/{topic}', answer)
        self.server = self._action_server()

    @property
    def _is_lockstep(self) -> bool:
        """Return whether time is paced by answers alone and may not depend on the wall clock."""
        return not self.node.paced

    @property
    def state(self) -> int:
        """Return the state of the simulation."""
        if self.node.finished:
            return QUITTING
        if not self.node.pacer.paused:
            self._is_stopped = False
            return PLAYING
        return STOPPED if self._is_stopped else PAUSED

    def _features(self, request: Any, response: Any) -> Any:
        features = [ENTITY_STATE, RESET, GET_STATE, SET_STATE, PAUSE, STEP_ONE]
        features += [] if self._is_lockstep else [STEP_MANY]
        response.features.features = features if self.server is None else [*features, STEP_ACTION]
        response.features.custom_info = 'a step is one exchange_period; reset puts time and state back together'
        return response

    def _get_state(self, request: Any, response: Any) -> Any:
        response.state.state = self.state
        response.result.result = OK
        return response

    def _set_state(self, request: Any, response: Any) -> Any:
        wanted, present = request.state.state, self.state
        if wanted not in (STOPPED, PLAYING, PAUSED, QUITTING):
            return _answer(response, UNSUPPORTED, f'state {wanted} is not supported: the machine is always loaded')
        if wanted == present:
            return _answer(response, ALREADY, 'the simulation is in this state already')
        if present == QUITTING:
            return _answer(response, INCORRECT_TRANSITION, 'the simulation is over')
        if self._is_stepping:
            return _answer(response, INCORRECT_STATE, 'steps are being taken')
        if wanted == QUITTING:
            self.node.finish()
            return _answer(response, OK)
        self.node.pacer.pause(wanted != PLAYING)
        self._is_stopped = wanted == STOPPED
        return self._put_back(response) if wanted == STOPPED else _answer(response, OK)

    def _put_back(self, response: Any) -> Any:
        failure = self.node.put_back()
        return _answer(response, FAILED if failure else OK, failure)

    def _reset(self, request: Any, response: Any) -> Any:
        if request.scope and request.scope & TIME_AND_STATE != TIME_AND_STATE:
            return _answer(response, UNSUPPORTED, 'time and state are put back together: scope 0, 3 or 255')
        if self._is_stepping:
            return _answer(response, INCORRECT_STATE, 'steps are being taken')
        return self._put_back(response)

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _step(self, request: Any, response: Any) -> Any:
        return _answer(response, *await self._take_steps(request.steps, lambda count: True))

    async def _take_steps(self, steps: int, goes_on: Callable[[int], bool]) -> tuple[int, str]:
        """Take steps; return result and message.

        Args:
            steps: their number.
            goes_on: called after each step with the number of completed ones; false ends the steps.
        """
        rejection = self._why_not_step(steps)
        if rejection is not None:
            return rejection
        self._is_stepping = True
        try:
            for count in range(steps):
                if not self._is_lockstep and not self.node.pacer.has_command():
                    await self._let_others_answer(count)
                before = self.node.plant.time
                self.node.pacer.single_step()
                if self.node.plant.time <= before:
                    return FAILED, f'after {count} steps: no command for this instant yet'
                if not goes_on(count + 1):
                    return FAILED, f'canceled after {count + 1} steps'
                if not self._is_lockstep and count + 1 < steps:
                    await self._let_others_answer(count)
        finally:
            self._is_stepping = False
        return OK, ''

    def _action_server(self) -> Any:
        """Return the server of the action `~/simulate_steps`; None, with a line in the log, without such actions."""
        try:
            module, kind = action(f'{PACKAGE}/action/SimulateSteps')
        except NoActionsError as error:
            self.node.get_logger().info(f'no action ~/simulate_steps: {error}')
            return None

        async def execute(handle: Any) -> Any:
            steps = handle.request.steps

            def report(count: int) -> bool:
                handle.publish_feedback(kind.Feedback(completed_steps=count, remaining_steps=steps - count))
                return not handle.is_cancel_requested

            answer = _answer(kind.Result(), *await self._take_steps(steps, report))
            if answer.result.result == OK:
                handle.succeed()
            else:
                handle.canceled() if handle.is_cancel_requested else handle.abort()
            return answer

        accept = module.CancelResponse.ACCEPT
        return module.ActionServer(
            self.node, kind, '~/simulate_steps', execute_callback=execute, cancel_callback=lambda handle: accept
        )

    def _why_not_step(self, steps: int) -> tuple[int, str] | None:
        if self._is_stepping:
            return INCORRECT_STATE, 'steps are being taken'
        if self._is_lockstep and steps > 1:
            return UNSUPPORTED, 'in lockstep one step at a time: each needs the efforts of its instant'
        if self.state not in (PAUSED, STOPPED):
            return FAILED, 'pause first: steps are taken only while paused'
        self._is_stopped = False
        return None

    async def _let_others_answer(self, count: int) -> None:
        """Wait for the efforts after a step, at most for the timeout of the node."""
        node = self.node
        if node.monolithic and (count + 1) % AT_ONCE:
            return
        answered = Future()
        before, until = node.commands, time.monotonic() + node.pacer.timeout

        def check() -> None:
            is_here = node.pacer.has_command() if node.pacer.waits else node.commands != before
            is_due = node.monolithic or is_here or time.monotonic() > until
            if is_due and not answered.done():
                answered.set_result(None)

        timer = node.create_timer(POLL_PERIOD, check, clock=Clock(clock_type=ClockType.STEADY_TIME))
        try:
            await answered
        finally:
            node.destroy_timer(timer)

    # -- the machine as an entity ------------------------------------------------------------------------------------

    def _entity_state(self, request: Any, response: Any) -> Any:
        node = self.node
        if request.entity != node.machine.name:
            return _answer(response, NOT_FOUND, f'no entity {request.entity!r}; there is {node.machine.name!r}')
        position, quaternion = node.plant.base_pose()
        turn = matrix_of_quaternion(quaternion)
        state = response.state
        state.header.stamp, state.header.frame_id = stamp_of(node.plant.time), node.values['world_frame']
        _fill(state.pose.position, position)
        _fill(state.pose.orientation, quaternion)
        for target, velocity in zip((state.twist.linear, state.twist.angular), node.plant.base_twist()):
            _fill(target, turn @ velocity)
        return _answer(response, OK)

    def _entities(self, request: Any, response: Any) -> Any:
        filters = request.filters
        if len(filters.tags.tags) or len(filters.bounds.points):
            return _answer(response, UNSUPPORTED, 'entities are not filtered by tags or bounds')
        try:
            is_named = re.search(filters.filter, self.node.machine.name) is not None
        except re.error as error:
            return _answer(response, FAILED, f'filter: {error}')
        is_meant = not len(filters.categories) or any(item.category == ROBOT for item in filters.categories)
        response.entities = [self.node.machine.name] if is_named and is_meant else []
        return _answer(response, OK)


def _answer(response: Any, result: int, text: str = '') -> Any:
    response.result.result, response.result.error_message = result, text
    return response


def _fill(target: Any, values: Any) -> None:
    for name, value in zip(('x', 'y', 'z', 'w'), values):
        setattr(target, name, float(value))
