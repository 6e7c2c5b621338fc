"""Errors of constraints."""

from __future__ import annotations

from dyn_nodes.common.errors import UserError


class ConstraintError(UserError, ValueError):
    """A constraint, or a set of constraints, that cannot be satisfied."""


class AssemblyError(ConstraintError):
    """Loops that cannot be closed, or not from the guess.

    Attributes:
        gaps: greatest residual of each constraint that stays open, by name; m or rad.
    """

    def __init__(self, message: str, gaps: dict[str, float]) -> None:
        super().__init__(message)
        self.gaps = gaps


class BeyondLimitsError(ConstraintError):
    """Loops that close only with a joint beyond its limits.

    Attributes:
        joint: name.
    """

    def __init__(self, joint: str, position: float, lower: float, upper: float) -> None:
        super().__init__(f'{joint} at {position:.6g}, beyond its limits {lower:.6g} to {upper:.6g}')
        self.joint = joint


class ContradictoryConstraintsError(ConstraintError):
    """Dependent rows that require different motions."""


class SingularMotionError(ConstraintError):
    """A motion that the constraints allow and that moves no mass: its acceleration is undefined."""


class MethodError(ConstraintError):
    """A method of solution that does not apply to this system."""
