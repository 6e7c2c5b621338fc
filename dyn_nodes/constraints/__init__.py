"""What holds bodies: loops, grasps, locks, couplings, prescribed motion, impact; and how such systems are solved.

A constraint gives its rows (`Rows`), `ConstraintBlocks` traces a tree with its constraints and forces,
`constrained_dynamics` solves it, `analyse` counts it, `assemble` and `projected_velocity` make initial states.
`natural_orthogonal_complement` is a formulation by twists, `kane` one by partial velocities with the wrench between an
arm and its vehicle, `transfer` one by influence coefficients; `witnesses` holds others, for checks.
"""

from dyn_nodes.constraints.analysis import Analysis, analyse, arm_class
from dyn_nodes.constraints.assembly import assemble, assemble_within, moved, projected_velocity
from dyn_nodes.constraints.blocks import Blocks, ConstraintBlocks
from dyn_nodes.constraints.deficient import PseudoJoints, SubspaceSolution, hold_pseudo_joints, subspace_dynamics
from dyn_nodes.constraints.errors import (
    AssemblyError,
    BeyondLimitsError,
    ConstraintError,
    ContradictoryConstraintsError,
    MethodError,
    SingularMotionError,
)
from dyn_nodes.constraints.flexible import FlexibleSolution, flexible_dynamics
from dyn_nodes.constraints.joints import Coupling, Lock, Prescribed
from dyn_nodes.constraints.loops import Distance, Loop, axes_along, world_frame
from dyn_nodes.constraints.minimal_equations import MinimalEquations
from dyn_nodes.constraints.natural_complement import NaturalOrthogonalComplement, natural_orthogonal_complement
from dyn_nodes.constraints.observer import ForceObserver, Forces
from dyn_nodes.constraints.pair_graph import PairGraph, system_loops
from dyn_nodes.constraints.pair_wrenches import ConstraintWrenches
from dyn_nodes.constraints.rollers import RollerWheel
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
    'ConstraintWrenches',
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
    'MinimalEquations',
    'NaturalOrthogonalComplement',
    'PairGraph',
    'Prescribed',
    'PseudoJoints',
    'RollerWheel',
    'RollingArm',
    'RollingWheel',
    'Rows',
    'SingularMotionError',
    'Solution',
    'SubspaceSolution',
    'analyse',
    'arm_class',
    'assemble',
    'assemble_within',
    'axes_along',
    'constrained_dynamics',
    'flexible_dynamics',
    'free_acceleration',
    'hold_pseudo_joints',
    'moved',
    'natural_orthogonal_complement',
    'projected_velocity',
    'subspace_dynamics',
    'system_loops',
    'world_frame',
]
