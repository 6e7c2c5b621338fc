"""Base class of friction laws, each with keys, expressions and checks. `friction` has one file per law."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from dyn_nodes.model.magnitudes.relation import Quantity, Relation
from dyn_nodes.model.schema import number

Scalar = Any  # a Python float, a casadi DM or an SX expression


class Friction(NamedTuple):
    """Friction in one direction.

    Attributes:
        force: on the body, N.
        deflection_rate: of the mean bristle, or of the wheel against its foot, m/s.
        stick: flag after this instant, 1: the foot sticks, 0: it slips; 1 for a law without flags.
    """

    force: Scalar
    deflection_rate: Scalar
    stick: Scalar = 1.0


@dataclass(frozen=True)
class FrictionLaw:
    """Friction of a wheel or foot on the ground, with one deflection per direction.

    Attributes:
        kind: `model` in the machine YAML.
        deflection: prefix of the names of the states.
        sticks: whether each direction has a stick flag, constant within a step and updated between steps.
    """

    kind: ClassVar[str]
    deflection: ClassVar[str] = 'bristle'
    sticks: ClassVar[bool] = False

    static: Annotated[float, number('friction coefficient at rest, mu_s', '', 'positive')] = 0.9
    kinetic: Annotated[float, number('friction coefficient while sliding fast, mu_c <= mu_s', '', 'positive')] = 0.5

    def on_wheel(self, stiffness: float, damping: float) -> 'FrictionLaw':
        """Return the law with the stiffness, N/m, and damping, N s/m, of the wheel for absent ones."""
        return self

    def friction(self, slip_speed: Scalar, deflection: Scalar, stick: Scalar, normal: Scalar) -> Friction:
        """Return friction in one direction.

        Args:
            slip_speed: of the body's contact point along the direction, m/s.
            deflection: m.
            stick: flag, 1 or 0.
            normal: normal force, N >= 0.
        """
        raise NotImplementedError

    def relations(self, key: str, free_length: Quantity, load: float, gravity: float) -> Iterator[Relation]:
        """Yield the relations of the numbers of the law to each other and to the wheel.

        Args:
            key: dotted key of the law.
            free_length: of the wheel, m.
            load: normal force at rest, N; 0 without load.
            gravity: m/s2.
        """
        yield from ()
