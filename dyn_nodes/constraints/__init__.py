"""What holds bodies: loops, grasps, locks, couplings, prescribed motion, impact; and how such systems are solved.

A constraint gives its rows (`Rows`), `ConstraintBlocks` traces a tree with its constraints and forces,
`constrained_dynamics` solves it, `analyse` counts it, `assemble` and `projected_velocity` make initial states.
"""

from dyn_nodes.constraints.analysis import Analysis, analyse, arm_class
from dyn_nodes.constraints.assembly import assemble, moved, projected_velocity
from dyn_nodes.constraints.blocks import Blocks, ConstraintBlocks
from dyn_nodes.constraints.deficient import PseudoJoints, SubspaceSolution, hold_pseudo_joints, subspace_dynamics
from dyn_nodes.constraints.errors import (
    AssemblyError,
    ConstraintError,
    ContradictoryConstraintsError,
    MethodError,
    SingularMotionError,
)
from dyn_nodes.constraints.flexible import FlexibleSolution, flexible_dynamics
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
    'Blocks',
    'Constraint',
    'ConstraintBlocks',
    'ConstraintError',
    'ContradictoryConstraintsError',
    'Coupling',
    'Distance',
    'FlexibleSolution',
    'ForceObserver',
    'Forces',
    'Lock',
    'Loop',
    'Method',
    'MethodError',
    'Prescribed',
    'PseudoJoints',
    'RollingArm',
    'RollingWheel',
    'Rows',
    'SingularMotionError',
    'Solution',
    'SubspaceSolution',
    'analyse',
    'arm_class',
    'assemble',
    'axes_along',
    'constrained_dynamics',
    'flexible_dynamics',
    'free_acceleration',
    'hold_pseudo_joints',
    'moved',
    'projected_velocity',
    'subspace_dynamics',
    'world_frame',
]
