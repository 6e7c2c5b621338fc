"""A machine that is simulated step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, State, state_of
from dyn_nodes.library.inputs import Saturation, Values, values_at
from dyn_nodes.library.margins import Margins
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import checked_name, rows_of
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.stability.observers import balance_observer

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded
    from dyn_nodes.simulation.plant import Plant

RUNNING = 'running'


class Simulator:
    """A machine in simulation, created by `Machine.simulator`.

    It computes the same as `Machine.simulate` with a function: the inputs of a step are held for its period.

    Attributes:
        machine: the simulated machine.
        plant: with all further results (`dyn_nodes.simulation.plant.Plant`).
        conditions: payload and slope.
        status: `running`, or the status of a run that ended (`Run.status`).
        detail: reason of another status than `running`, with numbers.
        events: events so far, as in `Run.events`.
    """

    def __init__(self, machine: Loaded, plant: Plant, quantity: str, conditions: Conditions) -> None:
        self.machine, self.plant, self.conditions = machine, plant, conditions
        self._quantity, self._inputs = quantity, inputs_of(plant.system, quantity)
        self._saturation = Saturation(effort_limits(machine))
        self.status, self.detail, self.events = RUNNING, '', list[Event]()

    def __repr__(self) -> str:
        return f'<simulator of {self.machine.name}: {self.time:g} s, {self.status}; {self.conditions}>'

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.plant.time

    @property
    def x(self) -> State:
        """(n,) state, in the order of `state_names` of the plant's system."""
        return state_of(self.plant.x.copy(), self.conditions)

    @property
    def q(self) -> State:
        """(nq,) positions."""
        return state_of(self.plant.x[: self.plant.system.nq].copy(), self.conditions)

    @property
    def v(self) -> Array:
        """(nv,) velocities."""
        system = self.plant.system
        return np.array(self.plant.x[system.nq : system.nq + system.nv])

    @property
    def u(self) -> Array:
        """(m,) inputs of the last step."""
        return self.plant.u.copy()

    def __getitem__(self, name: str) -> float:
        """Return a state, input or output by name, such as a joint. Raises KeyError with the nearest name."""
        system = self.plant.system
        columns = {'state': system.state_names, 'input': system.input_names, 'output': system.output_names}
        checked_name(self.machine.name, 'column', name, [name for names in columns.values() for name in names])
        if name in system.state_names:
            return float(self.plant.x[system.index('state', name)])
        return (
            float(self.plant.u[system.index('input', name)]) if name in system.input_names else self.plant.output(name)
        )

    def step(self, u: Values | None = None) -> State:
        """Advance by one period and return the state x (n,).

        Args:
            u: voltages, V, or torques, N m or N, by name, or an array in the order of `actuators` or `driven`. Others
                keep their last value; None: all do.

        Raises:
            KeyError: no such actuator or joint.
            ValueError: invalid numbers, or a machine whose simulation has ended: `status` is not `running`.
        """
        if self.status != RUNNING:
            raise ValueError(f'{self.machine.name}: step: the machine is {self.status}: {self.detail}')
        with shown('runs'):
            self.advance({} if u is None else u)
        return self.x

    def advance(self, u: Values) -> bool:
        """Advance by one period; return False if the state is that before, because the integration failed.

        Args:
            u: as for `step`.
        """
        plant = self.plant
        requested = values_at(self.machine.name, self._quantity, u, self._inputs)
        applied, cut = self._saturation.cut(requested, plant.time)
        self.events += cut
        plant.set_inputs(applied)
        try:
            plant.advance()
        except PlantDivergedError as error:
            self.status, self.detail = getattr(error, 'kind', 'diverged').replace('_', ' '), str(error)
            return False
        self.events += plant.take_events()
        if plant.overturned:
            self.status, self.detail = plant.system.dynamics.guarded(plant.x)
        return True

    def reset(self, x0: ArrayLike | None = None) -> State:
        """Restart at time zero and return the state x (n,).

        Args:
            x0: (n,) state; None: the state at rest with which the simulator was created.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        self.plant.reset()
        self.status, self.detail, self.events = RUNNING, '', []
        if x0 is not None:
            start_from(self.plant, state_from(self.machine.name, x0, self.plant.system), stepped=True)
        return self.x

    def margins(self, measures: Sequence[str] = DEFAULT_MEASURES) -> Margins:
        """Return tip-over margins by measure and edge, and ground reactions, of the present state.

        Args:
            measures: names; see `dyn_nodes.measures`.

        Raises:
            KeyError: no such measure.
            ValueError: a machine without a support polygon.
        """
        for name in measures:
            checked_name(self.machine.name, 'stability measure', name, tuple(MEASURES))
        observer = balance_observer(self.plant.system, tuple(measures))
        if observer is None:
            raise ValueError(f'{self.machine.name}: margins: too few support points for a support polygon')
        return Margins([observer.observe(self.plant.outputs(), self.plant.p[:3])], None, self.conditions)


def state_from(owner: str, x0: ArrayLike, system: Any) -> Array:
    """Return a state (n,) of a system. Raises ValueError, with the name of the machine, for another shape."""
    x = rows_of(owner, 'x0', x0, system.state_names)
    if x.ndim != 1:
        raise ValueError(f'{owner}: x0: expected shape ({len(system.state_names)},); found {x.shape}')
    return x


def start_from(plant: Plant, x0: Array, stepped: bool = False) -> None:
    """Set the state of a plant at rest; efforts that hold its joints there become its inputs.

    Args:
        plant: at rest.
        x0: (n,) state.
        stepped: the plant itself is advanced.
    """
    nq, nv = plant.system.nq, plant.system.nv
    plant.x = x0.copy()
    plant.x[nq : nq + nv] = 0.0
    if plant.system.actuation == 'effort':
        plant.set_inputs({})
        plant.set_efforts(plant.holding_efforts())
    plant.x = x0
    if stepped:
        plant.open_at(x0)


def effort_limits(machine: Loaded) -> dict[str, float]:
    """Return the finite effort limits by input name."""
    joints = machine.data.actuated_joints
    return {f'{joint.name}/effort': joint.effort_limit for joint in joints if np.isfinite(joint.effort_limit)}


def inputs_of(system: Any, quantity: str) -> dict[str, str]:
    """Return the names of the inputs that can be driven, by actuator or joint."""
    ending = '/voltage' if quantity == 'voltage' else '/effort'
    return {name.removesuffix(ending): name for name in system.input_names if name.endswith(ending)}
