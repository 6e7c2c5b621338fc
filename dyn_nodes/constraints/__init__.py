"""Constraints on bodies (loops, grasps, locks, couplings, prescribed motion, impact) and solvers of such systems.

A constraint returns its rows (`Rows`), `ConstraintBlocks` traces a tree with its constraints and forces,
`constrained_dynamics` solves it, `analyse` counts it, `assemble` and `projected_velocity` compute initial states.
`kane` computes the wrench between an arm and its vehicle. Other formulations are in `studies`.
"""

from dyn_nodes.constraints.analysis import Analysis, analyse, arm_class
from dyn_nodes.constraints.assembly import assemble, assemble_within, moved, projected_velocity
from dyn_nodes.constraints.blocks import Blocks, ConstraintBlocks
from dyn_nodes.constraints.errors import (
    AssemblyError,
    BeyondLimitsError,
    ConstraintError,
    ContradictoryConstraintsError,
    MethodError,
    SingularMotionError,
)
from dyn_nodes.constraints.joints import Coupling, Lock, Prescribed
from dyn_nodes.constraints.loops import Distance, Loop, axes_along, world_frame
from dyn_nodes.constraints.observer import ForceObserver, Forces
from dyn_nodes.constraints.rolling import RollingArm, RollingWheel
from dyn_nodes.constraints.rows import Constraint, Rows
from dyn_nodes.constraints.solve import METHODS, Method, Solution, constrained_dynamics, free_acceleration

__all__ = [
    'METHODS',
    'Analysis',
    'AssemblyError',
    'BeyondLimitsError',
    'Blocks',
    'Constraint',
    'ConstraintBlocks',
    'ConstraintError',
    'ContradictoryConstraintsError',
    'Coupling',
    'Distance',
    'ForceObserver',
    'Forces',
    'Lock',
    'Loop',
    'Method',
    'MethodError',
    'Prescribed',
    'RollingArm',
    'RollingWheel',
    'Rows',
    'SingularMotionError',
    'Solution',
    'analyse',
    'arm_class',
    'assemble',
    'assemble_within',
    'axes_along',
    'constrained_dynamics',
    'free_acceleration',
    'moved',
    'projected_velocity',
    'world_frame',
]
