"""Kane's equations for vehicles with arms and any other system, a formulation beside the others (tanner-1998)."""

from dyn_nodes.constraints.kane.equations import AppliedWrench, KaneEquations
from dyn_nodes.constraints.kane.formulation import KanesEquations, kanes_equations
from dyn_nodes.constraints.kane.mounts import Mount, MountWrench, mount_at, mount_of
from dyn_nodes.constraints.kane.speeds import GeneralizedSpeeds, link_speeds

__all__ = [
    'AppliedWrench',
    'GeneralizedSpeeds',
    'KaneEquations',
    'KanesEquations',
    'Mount',
    'MountWrench',
    'kanes_equations',
    'link_speeds',
    'mount_at',
    'mount_of',
]
