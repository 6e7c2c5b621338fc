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
        electric: a motor with a current, which holds nothing by itself at 0 V.
    """

    kind: ClassVar[str]
    takes_oil: ClassVar[bool] = False
    electric: ClassVar[bool] = False

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

    def check(self, joint: Joint, places: Places, report: Report) -> None:
        """Report what does not fit its joint, or its other numbers."""
