"""Kane's equations in numbers: mounts, and the wrench between an arm and its vehicle (tanner-1998)."""

from dyn_nodes.constraints.kane.equations import AppliedWrench, KaneEquations
from dyn_nodes.constraints.kane.mounts import Mount, MountWrench, mount_at, mount_of

__all__ = [
    'AppliedWrench',
    'KaneEquations',
    'Mount',
    'MountWrench',
    'mount_at',
    'mount_of',
]
