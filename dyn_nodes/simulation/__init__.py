"""A machine with its elements becomes a system that runs."""

from dyn_nodes.simulation.hybrid import Event, HybridError, HybridModel, HybridRun
from dyn_nodes.simulation.initial import NoEquilibriumError, initial_state, settle
from dyn_nodes.simulation.reaction import JointReaction, Wrench, joint_reaction
from dyn_nodes.simulation.rigid_body import RigidBodyModel
from dyn_nodes.simulation.rigid_ground import RigidGroundModel
from dyn_nodes.simulation.system import Settings, System
from dyn_nodes.simulation.trace import Inputs, Run

__all__ = [
    'Event',
    'HybridError',
    'HybridModel',
    'HybridRun',
    'Inputs',
    'JointReaction',
    'NoEquilibriumError',
    'RigidBodyModel',
    'RigidGroundModel',
    'Run',
    'Settings',
    'System',
    'Wrench',
    'initial_state',
    'joint_reaction',
    'settle',
]
