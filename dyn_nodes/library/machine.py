"""A loaded machine: dynamics, margins, reactions, runs, linear models, kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, State, are_assumed, state_of
from dyn_nodes.library.html import table
from dyn_nodes.library.machine_base import PERIOD, STEP, Joints, LoadedMachine, Slope, conditions_of_files
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import checked_name, number
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES

if TYPE_CHECKING:
    from dyn_nodes.control import VoltageProfile
    from dyn_nodes.library.dynamics import Dynamics
    from dyn_nodes.library.inputs import Drive
    from dyn_nodes.library.kernel import Kernel
    from dyn_nodes.library.margins import Margins, Standings
    from dyn_nodes.library.reactions import Reaction
    from dyn_nodes.library.run import Run
    from dyn_nodes.library.simulator import Simulator
    from dyn_nodes.library.vectors import Coordinates
    from dyn_nodes.simulation.linear import LinearModel
    from dyn_nodes.simulation.plant import Plant
    from dyn_nodes.stability.equilibrium.tipping import Tipping


class Machine(LoadedMachine):
    """A machine, created by `load`.

    Functions are compiled at their first use and then read from the cache. `slope` is the slope of the ground, (roll,
    pitch), or the pitch alone, rad; positive pitch: the front is downhill. `payload` is the mass in the implement, kg.
    Both are optional arguments of the methods. Defaults are the conditions of the state that is passed
    (`State.conditions`), else the conditions of the machine. `carrying` returns a machine with other conditions than
    its machine YAML.

    Attributes:
        data: validated content of the files.
        name: name of the machine.
        conditions: default payload and slope, and changes to the machine YAML.
        joints: names of the movable joints, in the order of every vector of joints.
        driven: names of the joints with a drive.
        actuators: names of the cylinders and motors; empty if efforts drive the joints.
    """

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
        parts += [str(self.conditions)] if self.conditions != conditions_of_files(self.data) else []
        return f'<{self.name}: {self.data.total_mass:.5g} kg, {", ".join(parts)}>'

    def _repr_html_(self) -> str:
        rows = []
        for joint in self.data.movable_joints:
            rows.append((joint.name, joint.type, f'{joint.lower:.4g}', f'{joint.upper:.4g}'))
        return table(('joint', 'type', 'lower', 'upper'), rows, repr(self)[1:-1])

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

    def changed(self, changes: Mapping[str, float]) -> Machine:
        """Return the machine of the same files with other numbers, such as `{'gravity': 1.62}`.

        Args:
            changes: as for `load`, in addition to the changes of this machine.

        Raises:
            ValueError: an unknown key or a value that the machine cannot have; missing files.
        """
        from dyn_nodes.library.changes import machine_data

        payload, slope, earlier = self.conditions
        everything, (urdf, *yaml) = {**earlier, **changes}, [Path(source) for source in self.data.sources]
        data = machine_data(urdf, yaml[0] if yaml else None, everything)
        return Machine(data, Conditions(0.0, slope, everything)).carrying(payload)

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

    @property
    def nq(self) -> int:
        """Number of positions q."""
        return self._system.nq

    @property
    def nv(self) -> int:
        """Number of velocities v."""
        return self._system.nv

    @property
    def nx(self) -> int:
        """Number of states x."""
        return len(self._system.state_names)

    @property
    def nu(self) -> int:
        """Number of inputs u."""
        return len(self._system.input_names)

    @property
    def lower(self) -> Array:
        """(nj,) lower limits of the joints, rad or m; -inf without a limit."""
        return np.array([self.data.joint(name).lower for name in self.joints])

    @property
    def upper(self) -> Array:
        """(nj,) upper limits of the joints, rad or m; inf without a limit."""
        return np.array([self.data.joint(name).upper for name in self.joints])

    @property
    def mass(self) -> float:
        """Mass with the payload of the machine's conditions, kg."""
        return self.data.total_mass + self.conditions.payload

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links, the base first, parents before children."""
        return tuple(link.name for link in self.data.links)

    @cached_property
    def hand(self) -> str:
        """Name of the link of the implement: the one with the payload, else the last after the most movable joints."""
        if self.data.payload is not None:
            return self.data.payload.link
        depths = dict.fromkeys(self.links, 0)
        for joint in self.data.joints:
            depths[joint.child] = depths[joint.parent] + joint.movable
        return max(reversed(self.links), key=depths.__getitem__)

    def index(self, name: str) -> int:
        """Return the index of a name, such as a joint, in the state x. Raises KeyError with the nearest name."""
        return self.state_names.index(checked_name(self.name, 'state', name, self.state_names))

    # -- at rest -------------------------------------------------------------------------------------------------------

    def posture(
        self,
        joints: Joints | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        **positions: float,
    ) -> State:
        """Return the positions q (nq,) of the machine at rest.

        The base rests on its wheels, flexible and passive joints are deflected, loops are closed.

        Args:
            joints: positions by name, others from the machine YAML, or an array (nj,), rad or m.
            payload: kg.
            slope: of the ground, rad.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: a number that is not finite, or a posture without a state at rest, with the reason.
        """
        return self.rest_state(joints, payload, slope, False, **positions)[: self._system.nq].copy()

    def rest_state(
        self,
        joints: Joints | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        torque: bool = False,
        **positions: float,
    ) -> State:
        """Return the state x (n,) at rest, with oil pressures that hold the joints.

        Args:
            joints: positions by name, others from the machine YAML, or an array (nj,), rad or m.
            payload: kg.
            slope: of the ground, rad.
            torque: return the state of the machine without its actuators, as in `simulate(torque=...)`.
            **positions: the same as `joints`, as keywords.

        Raises:
            KeyError: no such joint.
            ValueError: as for `posture`.
        """
        from dyn_nodes.simulation.start import initial_state

        positions_at_start, system = self.checked_joints(joints, positions), self.system(torque)
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
        penalty: float | None = None,
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
            penalty: for searches over postures: for one q that has no margins, or joints beyond their limits, all
                values are -penalty (1 + overrun) and invalid, with the sum of overruns, rad or m. None: an exception
                for the former, the margins of the posture for the latter.

        Raises:
            KeyError: no such measure.
            ValueError: a machine with fewer than three support points; a motion, if wheels are constraints or the
                machine is planar; a shape or number as in `Dynamics`.
        """
        if measures is not DEFAULT_MEASURES:
            for name in measures:
                checked_name(self.name, 'stability measure', name, tuple(MEASURES))
        conditions = self.conditions_for(payload, slope, q, v)
        if penalty is not None:
            return self.standings.penalised(
                self, q, v, a, tuple(measures), conditions, number(self.name, 'penalty', penalty)
            )
        assumed = are_assumed(payload, slope, q, v)
        return self.standings.margins_of(self, q, v, a, tuple(measures), conditions, assumed)

    def tipping(
        self,
        joints: Joints | None = None,
        *,
        payload: float | None = None,
        slope: Slope | None = None,
        downhill: float | None = None,
    ) -> Tipping:
        """Return how the machine tips at rest, as its payload or the slope of the ground increases.

        The stable equilibrium on springs and tyres is followed; joints without a drive deflect. `load` of the result
        is the load at the first loss of equilibrium, `fall` the load at which the machine overturns.

        Args:
            joints: positions by name, others from the machine YAML, or an array (nj,), rad or m.
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
        return tipping_of(self.data, self.checked_joints(joints), mass, self.gravity_vector(slope), downhill)

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
        joints: Joints | None = None,
        x0: ArrayLike | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        period: float = PERIOD,
        step: float | None = None,
        accuracy: float | None = None,
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
            joints: initial positions by name, others from the machine YAML, or an array (nj,), rad or m.
            x0: (n,) initial state instead of `joints`, such as `run.last`.
            payload: kg.
            slope: of the ground, rad.
            period: between two samples, s.
            step: of equal steps, s; fast motions shorten them. None: 1 ms with functions, else controlled steps.
            accuracy: greatest error of positions (m of the base, rad or m of joints, components of the quaternion) at
                the samples, in place of `step`: controlled steps, and the run is repeated with a smaller tolerance
                until the difference confirms the accuracy (`Run.error`). Not with functions as inputs.

        Returns:
            The run. It ends early if the machine overturns or the integration fails, see `Run.status`.

        Raises:
            KeyError: no such actuator or joint.
            ValueError: a voltage for a machine without actuators; invalid numbers; a start without a state at rest;
                an accuracy with functions as inputs.
        """
        from dyn_nodes.library.simulate import Request, simulate

        request = Request(duration, voltage, torque, task, joints, x0, payload, slope, period, step, accuracy)
        return simulate(self, request)

    def simulator(
        self,
        *,
        torque: bool = False,
        joints: Joints | None = None,
        x0: ArrayLike | None = None,
        payload: float | None = None,
        slope: Slope | None = None,
        period: float = PERIOD,
        step: float = STEP,
    ) -> Simulator:
        """Return the machine in simulation, to be advanced by `step(u)`.

        Args:
            torque: without actuators; inputs are the torques of the driven joints.
            joints: initial positions by name, others from the machine YAML, or an array (nj,), rad or m.
            x0: (n,) initial state instead of `joints`, such as `run.last`.
            payload: kg.
            slope: of the ground, rad.
            period: of a step, s.
            step: maximum step of the integrator, s.

        Raises:
            KeyError: no such joint.
            ValueError: a start without a state at rest, or invalid numbers.
        """
        from dyn_nodes.library.simulate import simulator_of

        return simulator_of(self, torque, joints, x0, self.conditions_for(payload, slope, x0), period, step)

    def ik(
        self,
        target: ArrayLike,
        link: str | None = None,
        *,
        joints: Joints | None = None,
        rows: Sequence[str] = (),
        starts: int = 1,
    ) -> State:
        """Return joint positions (nj,) that bring a link to a pose, within the joint limits.

        Args:
            target: (3,) position, m; (6,) with roll, pitch, yaw, rad; or (4, 4); in axes of the base link.
            link: to move; None: `hand`.
            joints: posture from which the search starts, as for `posture`.
            rows: of x, y, z, rx, ry, rz to meet; (): the position, and with six joints or more or with closed loops
                the orientation, too.
            starts: number of postures from which the search starts; others than the first are random.

        Raises:
            KeyError: no such link or joint.
            ValueError: out of reach, with the nearest distance; another shape.
        """
        from dyn_nodes.library.reach import joints_of

        name = checked_name(self.name, 'link', self.hand if link is None else link, self.links)
        return joints_of(self, target, name, self.checked_joints(joints), rows, starts)

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

    @cached_property
    def idle_plants(self) -> dict[tuple[str, ...], list[Plant]]:
        """Plants at rest by measures, for `margins` and `reactions`; one in use is not among them."""
        return {}
