"""Records of actuators: one file a kind, with its keys and checks. `actuators` lists the kinds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.places import Places
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import text


@dataclass(frozen=True)
class ActuatorRecord:
    """An actuator of one joint, as the machine YAML has it.

    Attributes:
        kind: `type` in the machine YAML.
        takes_oil: a shared pump may feed it.
    """

    kind: ClassVar[str]
    takes_oil: ClassVar[bool] = False

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

    @classmethod
    def contradiction(cls, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return what is expected and what was found where values exclude each other; None where they do not."""
        return None

    def check(self, joint: Joint, places: Places, report: Report) -> None:
        """Report what does not fit its joint, or its other numbers."""
