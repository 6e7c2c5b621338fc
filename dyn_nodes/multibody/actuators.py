"""Protocol of actuators: elements that drive one joint and follow commands.

A kind of actuator is one class. It names its states, inputs and parameters before anything is traced; `terms` then gets
the motion of the joint and the symbols of these names, and returns everything that a system gathers. An actuator needs
nothing of the bodies but the motion of its joint, so the same class serves a machine and an actuator node beside it.

Energy: along every motion

    effort * rate = supplied_power - d(stored_energy)/dt - dissipated_power,  dissipated_power >= 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from dyn_nodes.multibody.elements import Element, Surface, Symbols
from dyn_nodes.multibody.spatial import Expression


class Quantity(NamedTuple):
    """A number that an actuator reports: its name without that of the actuator, and its unit."""

    name: str
    unit: str


class ActuatorTerms(NamedTuple):
    """An actuator at one state.

    Attributes:
        effort: on the joint, N m or N.
        rates: of the states, in their order.
        outputs: by name, `<actuator>/<quantity>`.
        surfaces: values whose signs are watched for events.
        supplied_power: that flows into the actuator beside that of the joint, W; negative where it flows out.
        stored_energy: J.
        dissipated_power: that turns into heat, W.
    """

    effort: Expression
    rates: Sequence[Expression]
    outputs: Mapping[str, Expression]
    surfaces: Sequence[Surface]
    supplied_power: Expression
    stored_energy: Expression
    dissipated_power: Expression


class ActuatorElement(Element):
    """An actuator of one joint.

    Attributes:
        record: its numbers, as the machine file has them; they may be expressions.
        topic: below which a node publishes its quantities, `<topic>/<actuator>/<quantity>`.
    """

    record: Any
    topic: ClassVar[str] = 'actuators'

    @property
    def name(self) -> str:
        """Name, unique in its machine."""
        return str(self.record.name)

    @property
    def joint(self) -> str:
        """Name of the joint that it moves."""
        return str(self.record.joint)

    @property
    @abstractmethod
    def reported(self) -> tuple[Quantity, ...]:
        """States and outputs that an actuator node publishes."""

    @abstractmethod
    def terms(self, position: Expression, rate: Expression, symbols: Symbols, feed: Any = None) -> ActuatorTerms:
        """Evaluate the actuator.

        Args:
            position: of the joint, rad or m.
            rate: of the joint, rad/s or m/s.
            symbols: of its states, inputs and parameters by name.
            feed: share of a source that several actuators have in common; None: its own source.
        """

    @abstractmethod
    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return the values of its states that hold an effort (N m or N) at a position of the joint (rad or m).

        Raises ValueError where nothing holds it.
        """

    @abstractmethod
    def locked_stiffness(self, position: Any) -> Any:
        """Return the stiffness of the joint while the command is neutral, N m/rad or N/m."""

    @abstractmethod
    def capacity(self, position: Any, source: float, holding: bool) -> tuple[Any, Any]:
        """Return the least and the greatest effort at rest, N m or N.

        Args:
            position: of the joint, rad or m; a number or an array.
            source: limit of what it is fed from, such as the relief pressure of the pump, Pa.
            holding: against a load, the command neutral; else while it begins to move.
        """

    @abstractmethod
    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return plain facts for `dyn-nodes check`.

        Among them is `travel`, a text; `flow`, `relief_pressure` and `line_relief_pressure` where it takes oil.

        Args:
            lower: limit of the joint, rad or m.
            upper: limit of the joint, rad or m.
            start: initial position, rad or m.
        """
