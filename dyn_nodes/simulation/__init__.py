"""A machine with its elements becomes a system that runs."""

from dyn_nodes.simulation.initial import NoEquilibriumError, initial_state, settle
from dyn_nodes.simulation.rigid_body import RigidBodyModel
from dyn_nodes.simulation.system import Settings, System
from dyn_nodes.simulation.trace import Inputs, Run

__all__ = ['Inputs', 'NoEquilibriumError', 'RigidBodyModel', 'Run', 'Settings', 'System', 'initial_state', 'settle']
