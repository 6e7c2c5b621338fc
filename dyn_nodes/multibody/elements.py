"""Elements of a system: components that exert forces on bodies or have states besides positions and velocities.

An element names its states, inputs and parameters before tracing. Its methods then receive the kinematics and the
symbols of these names, and return expressions. A system collects forces, rates, outputs, energies and surfaces of all
its elements in one loop each; the same element serves a plain tree and a system with constraints.

Energy: along every motion, the power of the force on the bodies is

    force . v = supplied_power - d(potential_energy)/dt - dissipated_power,  dissipated_power >= 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import casadi as ca

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression, Force, cross


class ElementState(NamedTuple):
    """A state of an element besides the positions and velocities of the bodies.

    Attributes:
        name: `<element>/<quantity>`, unique in its system.
        scale: typical magnitude, in SI units; tolerances of adaptive integrators are relative to it.
        start: value at rest without load.
        balances: at rest, its value follows from the balance of forces.
        discrete: it has no rate and changes only between the steps of an integrator, to the value of `after_step`.
        stiff: it may return to its equilibrium much faster than the bodies move, at a rate that depends on its value;
            integrators solve for it (`stiff_states`).
    """

    name: str
    scale: float = 1.0
    start: float = 0.0
    balances: bool = False
    discrete: bool = False
    stiff: bool = False


class Command(NamedTuple):
    """An input of an element.

    Attributes:
        name: `<element>/<quantity>`.
        dead_time: delay between a command and the response of the element, s.
    """

    name: str
    dead_time: float = 0.0


class Watch(NamedTuple):
    """A value whose sign changes are events.

    Attributes:
        rise, fall: kind of the event at which the value becomes positive, or stops being positive; empty: none.
        quantity: name of the number that is reported with the event.
        subject: names of the parts of the event by kind: `wheel`, or `actuator`, `joint` and `relief`, ...
    """

    rise: str
    fall: str
    quantity: str
    subject: Mapping[str, str]


class Surface(NamedTuple):
    """A watch with its expressions: the value whose sign changes are events, and the reported number."""

    watch: Watch
    value: Expression
    quantity: Expression


class PointForce(NamedTuple):
    """A force on a body, with an optional torque.

    Attributes:
        body: index of the body.
        point: (3,) of application, world frame, m.
        force: (3,) world frame, N.
        torque: (3,) world frame, N m; None: zero.
    """

    body: int
    point: Expression
    force: Expression
    torque: Expression | None = None


class GroundPoint(NamedTuple):
    """A contact of the machine with the ground, world frame.

    Attributes:
        name: of the wheel or foot.
        body: index of the body on which the ground acts.
        point: (3,) of the ground, m.
        application_point: (3,) of the force, m: `point`, or the attachment above it.
        force: (3,) of the ground on the machine, N.
        longitudinal, normal: (3,) unit axes of the contact frame.
    """

    name: str
    body: int
    point: Expression
    application_point: Expression
    force: Expression
    longitudinal: Expression
    normal: Expression


class Symbols(Protocol):
    """The symbols of states and parameters by name."""

    def __getitem__(self, name: str, /) -> Expression: ...


def symbolic(record: Any, **fields: Any) -> Any:
    """Return a record of the machine with some of its values replaced by expressions."""
    return replace(record, **fields)


class Element(ABC):
    """Names of an element, available before tracing."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name, unique in its system."""

    @property
    def states(self) -> tuple[ElementState, ...]:
        """States, `<element>/<quantity>`, in the order of their rates."""
        return ()

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Commands that it follows."""
        return ()

    @property
    def parameters(self) -> Mapping[str, float]:
        """Defaults of its parameters by name; several elements may share a parameter."""
        return {}


class ForceElement(Element):
    """A spring, damper, friction, tyre or drag: forces that follow from the state.

    Its force on the bodies is the sum of `generalized_force` and `point_forces`; most elements have only one of them.

    Attributes:
        drives: its force counts as effort of the joint (`effort` of joint_states): True for springs, False for losses
            and stops.
        rests: its force may hold a machine at rest, without motion of the bodies.
    """

    drives = False
    rests = False

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return its effort (state.width,) along every generalized velocity, such as state.jacobian(frame)^T wrench."""
        return ca.SX(state.width, 1)

    def point_forces(self, state: TreeState, symbols: Symbols) -> Sequence[PointForce]:
        """Return its forces at points of bodies, for recursive dynamics without a Jacobian."""
        return ()

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rates of its states; 0 for discrete ones."""
        return ()

    def after_step(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the values of its discrete states after this instant, by name."""
        return {}

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy stored in it, J."""
        return ca.SX(0)

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power converted to heat, W, not negative."""
        return ca.SX(0)

    def supplied_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power from its source into the element, W."""
        return ca.SX(0)

    def work_accounts(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the power of its point forces on the bodies by account (`suspension`, `friction`), W."""
        return {}

    def friction_use(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the use of the greatest static friction, by state with `balances`; above 1 the contact slides."""
        return {}

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return outputs by name, `<element>/<quantity>`."""
        return {}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the values whose sign changes are events."""
        return ()


class ContactElement(ForceElement):
    """A force element of ground contact."""

    @abstractmethod
    def ground_points(self, state: TreeState, symbols: Symbols) -> Sequence[GroundPoint]:
        """Return its contacts, one or more."""

    def point_forces(self, state: TreeState, symbols: Symbols) -> Sequence[PointForce]:
        """Return the forces of the ground."""
        points = self.ground_points(state, symbols)
        return [PointForce(contact.body, contact.application_point, contact.force) for contact in points]


def external_forces(elements: Iterable[ForceElement], state: TreeState, symbols: Symbols) -> dict[int, Force]:
    """Return the spatial force on each body of the point forces of elements, for the recursive dynamics.

    Moments about the origin of a body are summed in the world first.
    """
    totals: dict[int, tuple[Expression, Expression]] = {}
    for element in elements:
        for body, point, force, torque in element.point_forces(state, symbols):
            if body < 0:  # on the world
                continue
            arm = point - state.poses[body].p
            moment, total = totals.get(body, (ca.SX(3, 1), ca.SX(3, 1)))
            about_origin = cross(arm, force) if torque is None else cross(arm, force) + torque
            totals[body] = (moment + about_origin, total + force)
    result = {}
    for body, (moment, force) in totals.items():
        R = state.poses[body].R
        result[body] = Force(ca.mtimes(R.T, moment), ca.mtimes(R.T, force))
    return result


def total_force(element: ForceElement, state: TreeState, symbols: Symbols) -> Expression:
    """Return the effort (state.width,) of an element along every generalized velocity, point forces included."""
    efforts = (state.effort_of(*force) for force in element.point_forces(state, symbols))
    return sum(efforts, element.generalized_force(state, symbols))


def ground_wrench(points: Iterable[GroundPoint], about: Expression) -> tuple[Expression, Expression]:
    """Return the force of the ground on a machine (3,), N, and its moment about a point (3,), N m."""
    force, moment = ca.SX(3, 1), ca.SX(3, 1)
    for contact in points:
        force = force + contact.force
        moment = moment + cross(contact.application_point - about, contact.force)
    return force, moment
