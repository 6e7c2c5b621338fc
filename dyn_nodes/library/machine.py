"""A loaded machine: dynamics, margins, reactions, runs, linear models, kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dyn_nodes.library.carried import Conditions, State, are_assumed, conditions_of, state_of, warn
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import by_name, checked_name, number, rows_of
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES
from dyn_nodes.model.machine import Machine as MachineData

if TYPE_CHECKING:
    from dyn_nodes.control import VoltageProfile
    from dyn_nodes.library.dynamics import Dynamics
    from dyn_nodes.library.inputs import Drive
    from dyn_nodes.library.kernel import Kernel
    from dyn_nodes.library.margins import Margins, Standings
    from dyn_nodes.library.reactions import Reaction
    from dyn_nodes.library.run import Run
    from dyn_nodes.library.vectors import Coordinates
    from dyn_nodes.simulation import System
    from dyn_nodes.simulation.linear import LinearModel
    from dyn_nodes.simulation.plant import Plant
    from dyn_nodes.stability.equilibrium.tipping import Tipping

Slope = tuple[float, float]
PERIOD, STEP = 0.01, 1e-3


class Machine:
    """A machine, created by `load`.

    Functions are compiled at their first use and then read from the cache. `slope` is the slope of the ground, (roll,
    pitch), rad; positive pitch: the front is downhill. `payload` is the mass in the implement, kg. Both are optional
    arguments of the methods. Defaults are the conditions of the state that is passed (`State.conditions`), else the
    conditions of the machine. `carrying` returns a machine with other conditions than its machine YAML.

    Attributes:
        data: validated content of the files.
        name: name of the machine.
        conditions: default payload and slope, and changes to the machine YAML.
        joints: names of the movable joints, in the order of every vector of joints.
        driven: names of the joints with a drive.
        actuators: names of the cylinders and motors; empty if efforts drive the joints.
    """

    def __init__(self, data: MachineData, conditions: Conditions | None = None) -> None:
        self.data, self.name = data, data.name
        self.conditions = conditions or _of_files(data)
        self.joints = tuple(joint.name for joint in data.movable_joints)
        self.driven = tuple(joint.name for joint in data.actuated_joints)
        self.actuators = tuple(actuator.name for actuator in data.actuators)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the content of the files and the conditions for `pickle`. Compiled code comes from the cache."""
        return type(self), (self.data, self.conditions)

    def __repr__(self) -> str:
        mobile = {'fixed': 'on a fixed base', 'planar': 'in a plane', 'free': 'on a free base'}
        contacts = [contact.name for contact in self.data.ground_contacts] + [
            contact.name for contact in self.data.rigid_wheels
        ]
        parts = [f'{len(self.joints)} joints', mobile[self.data.base.attachment]]
        parts += [f'{len(contacts)} contacts'] if contacts else []
        parts += [f'{len(self.actuators)} actuators'] if self.actuators else []
        parts += [str(self.conditions)] if self.conditions != _of_files(self.data) else []
        return f'<{self.name}: {self.data.total_mass:.5g} kg, {", ".join(parts)}>'

    def carrying(self, payload: float | None = None, slope: Slope | None = None) -> Machine:
        """Return the same machine with another payload or on another slope, for all its methods.

        Args:
            payload: kg; None: unchanged.
            slope: of the ground, rad; None: unchanged.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        conditions = Conditions(self.checked_payload(payload), self._slope(slope), self.conditions.changes)
        return Machine(self.data, conditions)

    @cached_property
    def position_names(self) -> tuple[str, ...]:
        """Names of the positions q (nq,): of the base, then of the joints."""
        return tuple(self._system.state_names[: self._system.nq])

    @cached_property
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
        """Return the index of a name, such as a joint, in the state x. Raises KeyError with the nearest name."""
        return self.state_names.index(checked_name(self.name, 'state', name, self.state_names))

    # -- at rest -------------------------------------------------------------------------------------------------------

    def posture(
        self,
        joints: Mapping[str, float] | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        **positions: float,
    ) -> State:
        """Return the positions q (nq,) of the machine at rest.

        The base rests on its wheels, flexible and passive joints are deflected, loops are closed.

        Args:
            joints: positions by name, others from the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: a number that is not finite, or a posture without a state at rest, with the reason.
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
        """Return the state x (n,) at rest, with oil pressures that hold the joints.

        Args:
            joints: positions by name, others from the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            torque: return the state of the machine without its actuators, as in `simulate(torque=...)`.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: as for `posture`.
        """
        from dyn_nodes.simulation.start import initial_state

        positions_at_start, system = self._checked_joints({**(joints or {}), **positions}), self.system(torque)
        conditions = self.conditions_for(payload, slope)
        p = system.parameters({'payload_mass': conditions.payload}, conditions.slope)
        with shown('state at rest'):
            return state_of(initial_state(system, p, positions_at_start), conditions)

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
        """Return tip-over margins by measure and edge, and ground reactions, for one motion or many.

        The load on the ground is gravity and inertia of the motion, distributed by the springs of the wheels.

        Args:
            q: positions (nq,) or (t, nq), or joint positions alone, (nj,) or (t, nj). With joint positions alone, the
                base rests on its wheels; this is always so if wheels are constraints or the machine is planar. None:
                the posture of the machine YAML.
            v: velocities (nv,) or (nj,), or rows of them; None: at rest.
            a: accelerations, same shapes; None: zero.
            measures: names; see `dyn_nodes.measures`.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such measure.
            ValueError: a machine with fewer than three support points; a motion, if wheels are constraints or the
                machine is planar; a shape or number as in `Dynamics`.
        """
        from dyn_nodes.library.margins import margins_of

        if measures is not DEFAULT_MEASURES:
            for name in measures:
                checked_name(self.name, 'stability measure', name, tuple(MEASURES))
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
        """Return how the machine tips at rest, as its payload or the slope of the ground increases.

        The stable equilibrium on springs and tyres is followed; joints without a drive deflect. `load` of the result
        is the load at the first loss of equilibrium, `fall` the load at which the machine overturns.

        Args:
            joints: positions by name, others from the machine YAML, rad or m.
            payload: initial payload, kg; None: zero, or for increasing slopes the payload of the machine YAML.
            slope: of the ground under an increasing payload, rad.
            downhill: heading of the downhill direction of increasing slopes, from the front, counter-clockwise, rad;
                loads of the result are then angles, rad. None: the payload increases.

        Raises:
            KeyError: no such joint.
            ValueError: no equilibrium at the start, no payload in the machine YAML, or an equilibrium that cannot be
                computed.
        """
        from dyn_nodes.library.tipping import tipping_of

        mass = 0.0 if downhill is None and payload is None else self.checked_payload(payload)
        return tipping_of(self.data, self._checked_joints(joints or {}), mass, self.gravity_vector(slope), downhill)

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
        """Return force and torque that the parent link exerts on the child link at a joint (abo-shanab-2003, 3.3).

        Args:
            q: positions as for `margins`.
            v: velocities; None: at rest.
            a: accelerations; None: zero.
            joint: name of a movable or fixed joint.
            side: link in whose axes the vectors are: `child` or `parent`.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such joint.
            ValueError: a motion of a machine with constraints; a shape or number as in `Dynamics`.
        """
        from dyn_nodes.library.reactions import reaction_of

        checked_name(self.name, 'joint', joint, [element.name for element in self.data.joints])
        checked_name(self.name, 'side', side, ('child', 'parent'))
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

        Pass at most one of `voltage`, `torque` and `task`. A voltage or torque is: constant numbers by name;
        `(times, values)` by name, piecewise linear, times in s; an array in the order of `actuators` or `driven`; a
        function of time t and state x (n,) that returns numbers by name or such an array, held for a period; or `...`
        for none. Valves without a voltage stay closed; joints without a torque have the constant effort that holds
        them at the start. With `torque`, the machine is simulated without its actuators.

        Args:
            duration: s; None: duration of the task.
            voltage: of the actuators, V.
            torque: of the driven joints, N m or N.
            task: name of a task of this package, path of a task YAML, or a `VoltageProfile`.
            joints: initial positions by name, others from the machine YAML, rad or m.
            x0: (n,) initial state instead of `joints`, such as `run.last`; not with functions.
            payload: kg.
            slope: of the ground, rad.
            period: between two samples, s.
            step: maximum step of the integrator, s; machines with fast dynamics use shorter steps.

        Returns:
            The run. It ends early if the machine overturns or the integration fails, see `Run.status`.

        Raises:
            KeyError: no such actuator or joint.
            ValueError: a voltage for a machine without actuators; invalid numbers; a start without a state at rest.
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

        It unpacks as `A, B, C, D`. Its states are minimal coordinates, see `state_names` of the model.

        Args:
            x: state (n,), or positions q (nq,) or joint positions (nj,) of a state at rest. None: the state at rest
                of the machine YAML.
            u: (m,) inputs, or by name, others zero; None: closed valves, and the efforts that hold the driven joints.
            outputs: names of states or outputs; None: the positions of the driven joints.
            torque: take joint efforts as inputs, without actuators.
            payload: kg.
            slope: of the ground, rad.

        Raises:
            KeyError: no such input or output.
            ValueError: another shape; a state in which dx/dt is not defined.
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

    # -- shared by the modules of this package -------------------------------------------------------------------------

    def system(self, torque: bool = False) -> System:
        """Return the compiled system that runs and linear models use.

        Args:
            torque: without actuators; efforts of the driven joints are inputs.
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

    @cached_property
    def coordinates(self) -> tuple[Coordinates, Coordinates]:
        """Positions and velocities that `margins` and `reactions` accept."""
        from dyn_nodes.library.motion import motion_coordinates

        coordinates: tuple[Coordinates, Coordinates]
        coordinates = motion_coordinates(self.data, self.position_names, self.velocity_names)
        return coordinates

    @cached_property
    def standings(self) -> Standings:
        """Equilibria that `margins` has computed with."""
        from dyn_nodes.library.margins import Standings

        return Standings(self.data)

    def gravity_vector(self, slope: Slope | None = None) -> tuple[float, float, float]:
        """Return gravity (3,) in the ground frame, m/s2. Raises ValueError unless the slope is two numbers."""
        from dyn_nodes.simulation.assembly import gravity_vector

        return gravity_vector(self.data.gravity, self._slope(slope))

    def checked_payload(self, payload: float | None) -> float:
        """Return the payload, kg. Raises ValueError for one that the machine cannot carry."""
        mount = self.data.payload
        if payload is None:
            return self.conditions.payload
        mass = payload if type(payload) is float and isfinite(payload) else number(self.name, 'payload', payload)
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
        """Return payload and slope from the arguments, else from the first state with conditions, else the machine's.

        A state computed with other changes to the machine YAML causes a warning.

        Args:
            payload: kg, or None.
            slope: of the ground, rad, or None.
            *arrays: states and positions.

        Raises:
            ValueError: a payload that the machine cannot carry, numbers that are not finite.
        """
        carried = conditions_of(*arrays)
        if payload is None and slope is None and carried in (None, self.conditions):
            return self.conditions
        if carried is None:
            return Conditions(self.checked_payload(payload), self._slope(slope), self.conditions.changes)
        if carried.changes != self.conditions.changes:
            warn(f'{self.name}: {self.conditions}; found a state with: {carried}')
        return Conditions(
            self.checked_payload(carried.payload if payload is None else payload),
            self._slope(carried.slope if slope is None else slope),
            self.conditions.changes,
        )

    def _slope(self, slope: Slope | None) -> Slope:
        if slope is None:
            return self.conditions.slope
        if (
            type(slope) is tuple
            and len(slope) == 2
            and all(type(angle) is float and isfinite(angle) for angle in slope)
        ):
            return slope
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
        """Return the machine at rest as a plant for simulation step by step (`dyn_nodes.simulation.plant.Plant`).

        Args:
            torque: without actuators; efforts of the driven joints are inputs.
            joints: positions by name, others from the machine YAML, rad or m.
            payload: kg.
            slope: of the ground, rad.
            period: of `Plant.advance`, s.
            step: maximum step of the integrator, s.
            measures: stability measures to compute.

        Raises:
            KeyError: no such joint.
            ValueError: no state at rest, or invalid numbers.
        """
        from dyn_nodes.simulation.plant import Plant

        positions = self._checked_joints(joints or {})
        values = {'payload_mass': self.checked_payload(payload)}
        system = self.system(torque)
        with shown('state at rest'):
            return Plant(self.data, system.actuation, period, step, measures, positions, values, self._slope(slope))

    def _checked_joints(self, joints: Mapping[str, float]) -> dict[str, float]:
        """Return positions by name. Raises KeyError for an unknown joint, ValueError for one beyond its limits."""
        positions = by_name(self.name, 'joints', joints, self.joints, 'joint')
        for name, value in positions.items():
            joint = self.data.joint(name)
            if not joint.lower <= value <= joint.upper:
                raise ValueError(
                    f'{self.name}: joints[{name!r}]: expected {joint.lower:g} to {joint.upper:g}, found {value:g}'
                )
        return positions


def _of_files(data: MachineData) -> Conditions:
    """Return payload and slope of the machine YAML."""
    return Conditions(0.0 if data.payload is None else data.payload.mass, data.slope, {})
