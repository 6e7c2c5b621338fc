"""Systems made from machines: dynamics, initial states, integration and results of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.simulation.hybrid import Event, HybridError, HybridModel, HybridRun
from dyn_nodes.simulation.initial import settle
from dyn_nodes.simulation.reaction import JointReaction, Wrench, joint_reaction
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.settings import Settings, Stabilization
from dyn_nodes.simulation.start import initial_state
from dyn_nodes.simulation.system import System

if TYPE_CHECKING:
    from dyn_nodes.simulation.rigid_ground import RigidGroundModel

__all__ = [
    'Event',
    'HybridError',
    'HybridModel',
    'HybridRun',
    'Inputs',
    'JointReaction',
    'NoEquilibriumError',
    'RigidGroundModel',
    'SystemRun',
    'Settings',
    'Stabilization',
    'System',
    'Wrench',
    'initial_state',
    'joint_reaction',
    'settle',
]


def __getattr__(name: str) -> Any:
    """Import the rigid ground at its first use, because it imports constraints and SciPy."""
    if name == 'RigidGroundModel':
        from dyn_nodes.simulation.rigid_ground import RigidGroundModel

        return RigidGroundModel
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
