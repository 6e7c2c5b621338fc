"""A loaded machine: dynamics, margins, reactions, runs, linear models, kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dyn_nodes.library.carried import Conditions, State, are_assumed, conditions_of, state_of, warn
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import by_name, known_name, number, rows_of
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES
from dyn_nodes.model.machine import Machine as MachineData

if TYPE_CHECKING:
    from dyn_nodes.control import VoltageProfile
    from dyn_nodes.library.dynamics import Dynamics
    from dyn_nodes.library.inputs import Drive
    from dyn_nodes.library.kernel import Kernel
    from dyn_nodes.library.margins import Margins
    from dyn_nodes.library.reactions import Reaction
    from dyn_nodes.library.run import Run
    from dyn_nodes.simulation import System
    from dyn_nodes.simulation.linear import LinearModel
    from dyn_nodes.simulation.plant import Plant
    from dyn_nodes.stability.equilibrium.tipping import Tipping

Slope = tuple[float, float]
PERIOD, STEP = 0.01, 1e-3


class Machine:
    """A machine, made by `load`.

    What it needs is compiled at the first use and then taken from the cache. `slope` is that of the ground, (roll,
    pitch), rad; positive pitch: the front is downhill. `payload` is the mass in the implement, kg. Where a method is
    not given them, they are those of the state that it is given (`State.conditions`), else those of the machine:
    `carrying` makes one with others than its machine YAML.

    Attributes:
        data: the validated content of its files.
        name: of the machine.
        conditions: payload, slope and changes of the machine YAML where nothing else is given.
        joints: names of its movable joints, in the order of every vector of joints.
        driven: names of the joints that something drives.
        actuators: names of its cylinders and motors; empty where joints take efforts.
    """

    def __init__(self, data: MachineData, conditions: Conditions | None = None) -> None:
        self.data, self.name = data, data.name
        self.conditions = conditions or _of_files(data)
        self.joints = tuple(joint.name for joint in data.movable_joints)
        self.driven = tuple(joint.name for joint in data.actuated_joints)
        self.actuators = tuple(own.name for own in data.actuators)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what `pickle` keeps: content of the files, payload, slope. Compiled code comes from the cache."""
        return type(self), (self.data, self.conditions)

    def __repr__(self) -> str:
        mobile = {'fixed': 'on a fixed base', 'planar': 'in a plane', 'free': 'on a free base'}
        contacts = [own.name for own in self.data.ground_contacts] + [own.name for own in self.data.rigid_wheels]
        parts = [f'{len(self.joints)} joints', mobile[self.data.base.attachment]]
        parts += [f'{len(contacts)} contacts'] if contacts else []
        parts += [f'{len(self.actuators)} actuators'] if self.actuators else []
        parts += [str(self.conditions)] if self.conditions != _of_files(self.data) else []
        return f'<{self.name}: {self.data.total_mass:.5g} kg, {", ".join(parts)}>'

    def carrying(self, payload: float | None = None, slope: Slope | None = None) -> Machine:
        """Return the same machine with another payload or on another slope, for all its methods.

        Args:
            payload: kg; None: as this one.
            slope: of the ground, rad; None: as this one.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        conditions = Conditions(self.checked_payload(payload), self._slope(slope), self.conditions.changes)
        return Machine(self.data, conditions)

    @property
    def position_names(self) -> tuple[str, ...]:
        """Names of the positions q (nq,): of the base, then of the joints."""
        return tuple(self._system.state_names[: self._system.nq])

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities v (nv,): of the base, then of the joints."""
        nq, nv = self._system.nq, self._system.nv
        return tuple(name.removesuffix('_rate') for name in self._system.state_names[nq : nq + nv])

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the state x (n,): q, v, then the states of wheels, oil and motors."""
        return tuple(self._system.state_names)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs u (m,): voltages, V, and efforts of joints without an actuator, N m or N."""
        return tuple(self._system.input_names)

    def index(self, name: str) -> int:
        """Return the place of a name in the state x, such as a joint's. Raises KeyError with the nearest name."""
        return self.state_names.index(known_name(self.name, 'state', name, self.state_names))

    # -- at rest -------------------------------------------------------------------------------------------------------

    def posture(
        self,
        joints: Mapping[str, float] | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        **positions: float,
    ) -> State:
        """Return the positions q (nq,) of the machine at rest.

        The base stands on its wheels, flexible and passive joints have given way, loops are closed.

        Args:
            joints: positions by name, over those of the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: a number that is not finite, or a posture in which it cannot rest; the message says why.
        """
        return self.rest_state({**(joints or {}), **positions}, payload, slope)[: self._system.nq].copy()

    def rest_state(
        self,
        joints: Mapping[str, float] | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        torque: bool = False,
        **positions: float,
    ) -> State:
        """Return the state x (n,) at rest, the oil holding the joints.

        Args:
            joints: positions by name, over those of the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            torque: the state of the machine without its actuators, as `simulate(torque=...)` has it.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: as for `posture`.
        """
        from dyn_nodes.simulation.start import initial_state

        given, system = self._given_joints({**(joints or {}), **positions}), self.system(torque)
        conditions = self.conditions_for(payload, slope)
        p = system.parameters({'payload_mass': conditions.payload}, conditions.slope)
        with shown('state at rest'):
            return state_of(initial_state(system, p, given), conditions)

    # -- dynamics, margins, runs ---------------------------------------------------------------------------------------

    def dynamics(self, payload: float | None = None, slope: Slope | None = None) -> Dynamics:
        """Return the rigid-body dynamics: mass matrix, gravity, forward and inverse dynamics, Jacobians.

        Args:
            payload: kg.
            slope: of the ground, rad.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        from dyn_nodes.library.dynamics import Dynamics

        return Dynamics(self.data, self.conditions_for(payload, slope))

    def margins(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        measures: Sequence[str] = DEFAULT_MEASURES,
        payload: float | None = None,
        slope: Slope | None = None,
    ) -> Margins:
        """Return tip-over margins by measure and edge, and ground reactions, of one motion or many.

        The load on the ground is gravity and inertia of the motion; the springs of the wheels share it out.

        Args:
            q: positions (nq,) or (t, nq); or those of the joints alone, (nj,) or (t, nj): the base then stands as its
                wheels let it, as always where wheels are constraints or the machine is planar. None: the posture of
                the machine YAML.
            v: velocities, likewise, (nv,) or (nj,); None: at rest.
            a: accelerations, likewise; None: none.
            measures: names; see `dyn_nodes.measures`.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such measure.
            ValueError: a machine that stands on fewer than three points; a motion, where wheels are constraints or
                the machine is planar; a shape or number as in `Dynamics`.
        """
        from dyn_nodes.library.margins import margins_of

        for name in measures:
            known_name(self.name, 'stability measure', name, tuple(MEASURES))
        conditions = self.conditions_for(payload, slope, q, v)
        return margins_of(self, q, v, a, tuple(measures), conditions, are_assumed(payload, slope, q, v))

    def tipping(
        self,
        joints: Mapping[str, float] | None = None,
        *,
        payload: float | None = None,
        slope: Slope | None = None,
        downhill: float | None = None,
    ) -> Tipping:
        """Return how the machine tips at rest: as its payload grows, or as the ground under it is inclined.

        The stable equilibrium on springs and tyres is followed, joints without a drive giving way: `load` of the result
        is that of the first loss of equilibrium, `fall` that at which the machine overturns.

        Args:
            joints: positions by name, over those of the machine YAML, rad or m.
            payload: kg, from which on it grows; None: from nothing, or on growing slopes that of the machine YAML.
            slope: of the ground on which the payload grows, rad.
            downhill: heading of the downhill direction of growing slopes from the front, counter-clockwise, rad; loads
                of the result are then angles, rad. None: the payload grows.

        Raises:
            KeyError: no such joint.
            ValueError: it does not stand at the start, has no payload that could grow, or its equilibrium cannot be
                computed.
        """
        from dyn_nodes.library.tipping import tipping_of

        mass = 0.0 if downhill is None and payload is None else self.checked_payload(payload)
        return tipping_of(self.data, self._given_joints(joints or {}), mass, self.gravity_vector(slope), downhill)

    def reactions(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        joint: str,
        side: str = 'child',
        payload: float | None = None,
        slope: Slope | None = None,
    ) -> Reaction:
        """Return force and torque of the parent link on the child link at a joint (abo-shanab-2003, section 3.3).

        Args:
            q: positions as for `margins`.
            v: velocities; None: at rest.
            a: accelerations; None: none.
            joint: name of a movable or fixed joint.
            side: whose axes the vectors are in: `child` or `parent`.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such joint.
            ValueError: a motion, where constraints hold the machine; a shape or number as in `Dynamics`.
        """
        from dyn_nodes.library.reactions import reaction_of

        known_name(self.name, 'joint', joint, [own.name for own in self.data.joints])
        known_name(self.name, 'side', side, ('child', 'parent'))
        conditions = self.conditions_for(payload, slope, q, v)
        return reaction_of(self, q, v, a, joint, side, conditions.payload, conditions.slope)

    def simulate(
        self,
        duration: float | None = None,
        *,
        voltage: Drive | None = None,
        torque: Drive | None = None,
        task: str | Path | VoltageProfile | None = None,
        joints: Mapping[str, float] | None = None,
        x0: ArrayLike | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        period: float = PERIOD,
        step: float = STEP,
    ) -> Run:
        """Run the machine from rest, or from a state.

        Of `voltage`, `torque` and `task` one may be given. A voltage or torque is: numbers by name, constant;
        `(times, values)` by name, piecewise linear, s; an array in the order of `actuators` or `driven`; or a function
        of time t and state x (n,) that returns numbers by name or such an array, held for a period; or `...`, which
        gives none. Valves without a voltage stay closed; joints without a torque have the constant effort that holds
        them at the start. With `torque` no actuator is part of the machine.

        Args:
            duration: s; None: that of the task.
            voltage: of the actuators, V.
            torque: of the driven joints, N m or N.
            task: name of a task of this package, path of a task YAML, or a `VoltageProfile`.
            joints: positions at the start by name, over those of the machine YAML, rad or m.
            x0: (n,) state at the start instead, such as `run.last`; not beside functions.
            payload: kg.
            slope: of the ground, rad.
            period: between two samples, s.
            step: greatest one of the integrator, s; a machine with fast motions takes shorter ones.

        Returns:
            The run, up to where it ends: it may overturn or diverge, see `Run.status`.

        Raises:
            KeyError: no such actuator or joint.
            ValueError: a machine without actuators and a voltage; numbers that make no sense; a start in which it
                cannot rest.
        """
        from dyn_nodes.library.simulate import Request, simulate

        request = Request(duration, voltage, torque, task, joints or {}, x0, payload, slope, period, step)
        return simulate(self, request)

    def linearize(
        self,
        x: ArrayLike | None = None,
        u: ArrayLike | Mapping[str, float] | None = None,
        *,
        outputs: Sequence[str] | None = None,
        torque: bool = False,
        payload: float | None = None,
        slope: Slope | None = None,
    ) -> LinearModel:
        """Return the linear model dx/dt = A x + B u, y = C x + D u of deviations, by exact derivatives.

        It unpacks as `A, B, C, D`; its states are minimal coordinates, `state_names` of the model.

        Args:
            x: state (n,); or positions q (nq,) or those of the joints (nj,), for the state at rest there. None: the
                state at rest of the machine YAML.
            u: (m,) inputs, or by name, others zero; None: closed valves, and the efforts that hold the driven joints.
            outputs: names of states or outputs; None: the positions of the driven joints.
            torque: take joint efforts as inputs, without actuators.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such input or output.
            ValueError: another shape; a state without dx/dt.
        """
        from dyn_nodes.library.linearize import linear_model

        return linear_model(self, x, u, outputs, torque, payload, slope)

    def kernel(self, name: str) -> Kernel:
        """Return a compiled function of the rigid bodies: callable from Python and Numba, and as C source.

        Args:
            name: `forward_dynamics`, `inverse_dynamics`, `mass_matrix`, `forward_dynamics_mass_matrix`,
                `position_rate`, `energy`, `momentum` or `center_of_mass`.

        Raises:
            KeyError: no such function.
        """
        from dyn_nodes.library.kernel import kernel_of

        return kernel_of(self, name)

    # -- shared by the modules of this room ----------------------------------------------------------------------------

    def system(self, torque: bool = False) -> System:
        """Return the compiled system behind runs and linear models.

        Args:
            torque: without actuators, efforts of the driven joints as inputs.
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
        """Return gravity (3,) in the frame of the ground, m/s2. Raises ValueError for a slope of no two numbers."""
        from dyn_nodes.simulation.assembly import gravity_vector

        return gravity_vector(self.data.gravity, self._slope(slope))

    def checked_payload(self, payload: float | None) -> float:
        """Return a payload that the machine can carry, kg."""
        mount = self.data.payload
        if payload is None:
            return self.conditions.payload
        mass = number(self.name, 'payload', payload)
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
        """Return payload and slope: as given, else those of the first state that has some, else those of the machine.

        States that were found with other changes of the machine YAML give a warning.

        Args:
            payload: kg, or None.
            slope: of the ground, rad, or None.
            *arrays: states and positions.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        known = conditions_of(*arrays)
        if known is None:
            return Conditions(self.checked_payload(payload), self._slope(slope), self.conditions.changes)
        if known.changes != self.conditions.changes:
            warn(f'{self.name}: {self.conditions}; found a state with: {known}')
        return Conditions(
            self.checked_payload(known.payload if payload is None else payload),
            self._slope(known.slope if slope is None else slope),
            self.conditions.changes,
        )

    def _slope(self, slope: Slope | None) -> Slope:
        if slope is None:
            return self.conditions.slope
        roll, pitch = rows_of(self.name, 'slope', slope, ('roll', 'pitch'))
        return float(roll), float(pitch)

    def plant(
        self,
        torque: bool = False,
        joints: Mapping[str, float] | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        period: float = PERIOD,
        step: float = STEP,
        measures: tuple[str, ...] = (),
    ) -> Plant:
        """Return the machine at rest as a plant that is advanced step by step (`dyn_nodes.simulation.plant.Plant`).

        Args:
            torque: without actuators, efforts of the driven joints as inputs.
            joints: positions by name, over those of the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            period: of `Plant.advance`, s.
            step: greatest one of the integrator, s.
            measures: stability measures that it computes.

        Raises:
            KeyError: no such joint.
            ValueError: it cannot rest there, or numbers that make no sense.
        """
        from dyn_nodes.simulation.plant import Plant

        given = self._given_joints(joints or {})
        values = {'payload_mass': self.checked_payload(payload)}
        system = self.system(torque)
        with shown('state at rest'):
            return Plant(self.data, system.actuation, period, step, measures, given, values, self._slope(slope))

    def _given_joints(self, joints: Mapping[str, float]) -> dict[str, float]:
        """Return positions by name. Raises KeyError for an unknown joint, ValueError for one beyond its limits."""
        given = by_name(self.name, 'joints', joints, self.joints, 'joint')
        for name, value in given.items():
            joint = self.data.joint(name)
            if not joint.lower <= value <= joint.upper:
                raise ValueError(
                    f'{self.name}: joints[{name!r}]: expected {joint.lower:g} to {joint.upper:g}, found {value:g}'
                )
        return given


def _of_files(data: MachineData) -> Conditions:
    """Return payload and slope of a machine YAML."""
    return Conditions(0.0 if data.payload is None else data.payload.mass, data.slope, {})
