"""Protocol of actuators: elements that drive one joint and follow commands.

A kind of actuator is one class. It names its states, inputs and parameters before tracing; `terms` then receives the
motion of the joint and the symbols of these names, and returns all terms that a system collects. An actuator depends on
the bodies only through the motion of its joint, so the same class serves a machine and an actuator node.

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
    """A number that an actuator reports: name without the actuator's name, and unit."""

    name: str
    unit: str


class ActuatorTerms(NamedTuple):
    """An actuator at one state.

    Attributes:
        effort: on the joint, N m or N.
        rates: of the states, in their order.
        outputs: by name, `<actuator>/<quantity>`.
        surfaces: values whose sign changes are events.
        supplied_power: power from the source into the actuator, W; negative if it flows out.
        stored_energy: J.
        dissipated_power: power converted to heat, W.
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
        record: its values from the machine file; they may be expressions.
        topic: prefix of the topics on which a node publishes its quantities, `<topic>/<actuator>/<quantity>`.
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
            feed: share of a source that several actuators have in common; None: a separate source.
        """

    @abstractmethod
    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return the values of its states that hold an effort (N m or N) at a position of the joint (rad or m).

        Raises ValueError if no state holds it.
        """

    @abstractmethod
    def locked_stiffness(self, position: Any) -> Any:
        """Return the stiffness of the joint with a neutral command, N m/rad or N/m."""

    @abstractmethod
    def capacity(self, position: Any, source: float, holding: bool) -> tuple[Any, Any]:
        """Return the least and the greatest effort at rest, N m or N.

        Args:
            position: of the joint, rad or m; a number or an array.
            source: limit of its source, such as the relief pressure of the pump, Pa.
            holding: True: holding a load with a neutral command; False: starting to move.
        """

    @abstractmethod
    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return facts for `dyn-nodes check`.

        They include `travel`, a text, and for hydraulic actuators `flow`, `relief_pressure` and `line_relief_pressure`.

        Args:
            lower: limit of the joint, rad or m.
            upper: limit of the joint, rad or m.
            start: initial position, rad or m.
        """
