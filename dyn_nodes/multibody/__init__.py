"""Multibody mechanics: spatial algebra, trees with virtual links, recursive dynamics."""

from dyn_nodes.multibody.dynamics import (
    bias_force,
    forward_dynamics,
    forward_dynamics_mass_matrix,
    inverse_dynamics,
    mass_matrix,
)
from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.parameters import Parameters
from dyn_nodes.multibody.tree import Frame, Tree, TreeBuilder, build_tree

__all__ = [
    'Frame',
    'Parameters',
    'Tree',
    'TreeBuilder',
    'TreeState',
    'bias_force',
    'build_tree',
    'forward_dynamics',
    'forward_dynamics_mass_matrix',
    'inverse_dynamics',
    'mass_matrix',
]
