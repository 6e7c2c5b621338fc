"""Base class of actuator records, each with its keys and checks. `actuators` has one file per kind."""

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
    """Joint and pump of an actuator, for the relations of its numbers.

    Attributes:
        joint: moved by the actuator.
        inertia: moved by the joint, without the rotor, kg m2 or kg; infinite if there is none.
        extent: greatest side of the machine, m.
        flow, relief: of the shared pump; None: the actuator has its pump.
    """

    joint: Joint
    inertia: float
    extent: float
    flow: Quantity | None = None
    relief: Quantity | None = None

    @property
    def velocity(self) -> Quantity:
        """Velocity limit of the joint; infinite if it has none."""
        return limits_of(self.joint)[0]

    @property
    def effort(self) -> Quantity:
        """Effort limit of the joint; infinite if it has none."""
        return limits_of(self.joint)[1]


@dataclass(frozen=True)
class ActuatorRecord:
    """An actuator of one joint in the machine YAML.

    Attributes:
        kind: `type` in the machine YAML.
    """

    kind: ClassVar[str]

    name: str
    joint: Annotated[str, text('the joint that it moves')]

    @property
    def command_limit(self) -> float:
        """Greatest command, V; greater ones are clipped."""
        return math.inf

    @property
    def source_limit(self) -> float:
        """Limit of a source that feeds only this actuator, such as the relief pressure of its pump, Pa."""
        return math.inf

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor, reflected to the joint, kg m2 or kg."""
        return 0.0

    @classmethod
    def contradiction(cls, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the expected and the actual values as texts if values exclude each other, else None."""
        return None

    def relations(self, drive: 'Drive') -> Iterator[Relation]:
        """Yield the relations of the actuator's numbers to each other and to its joint."""
        yield from ()

    def check(self, joint: Joint, source_map: SourceMap, report: Report) -> None:
        """Report numbers that contradict the joint or each other."""
