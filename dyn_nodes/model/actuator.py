"""Records of actuators: one file a kind, with its keys and checks. `actuators` lists the kinds."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.magnitudes.limits import limits_of
from dyn_nodes.model.magnitudes.relation import Quantity, Relation
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import text
from dyn_nodes.model.source_map import SourceMap


class Drive(NamedTuple):
    """Where an actuator works, for the relations of its numbers.

    Attributes:
        joint: that it moves.
        inertia: that the joint moves, without the rotor, kg m2 or kg; infinite where it moves none.
        extent: greatest side of the machine, m.
        flow, relief: of the pump; None: its own.
    """

    joint: Joint
    inertia: float
    extent: float
    flow: Quantity | None = None
    relief: Quantity | None = None

    @property
    def velocity(self) -> Quantity:
        """Velocity limit of the joint, infinite where there is none."""
        return limits_of(self.joint)[0]

    @property
    def effort(self) -> Quantity:
        """Effort limit of the joint, infinite where there is none."""
        return limits_of(self.joint)[1]


@dataclass(frozen=True)
class ActuatorRecord:
    """An actuator of one joint, as the machine YAML has it.

    Attributes:
        kind: `type` in the machine YAML.
    """

    kind: ClassVar[str]

    name: str
    joint: Annotated[str, text('the joint that it moves')]

    @property
    def command_limit(self) -> float:
        """Greatest command, V; a greater one is clipped."""
        return math.inf

    @property
    def source_limit(self) -> float:
        """Limit of a source that it has alone, such as the relief pressure of its pump, Pa."""
        return math.inf

    @property
    def reflected_inertia(self) -> float:
        """Inertia of its spinning rotor, at the joint, kg m2 or kg."""
        return 0.0

    @classmethod
    def contradiction(cls, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return what is expected and what was found where values exclude each other; None where they do not."""
        return None

    def relations(self, drive: 'Drive') -> Iterator[Relation]:
        """Yield the relations of its numbers to each other and to its joint."""
        yield from ()

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report what does not fit its joint, or its other numbers."""
