"""Python library: load a machine by name or from its files; compute dynamics, margins, runs and linear models.

    import dyn_nodes as dn

    m = dn.load('log_loader')
    d = m.dynamics()
    M, g = d.mass_matrix(q), d.gravity(q)

`dyn_nodes` exports these names and imports this package when the first of them is used.
"""

from dyn_nodes.common.errors import UserError
from dyn_nodes.library.carried import Conditions, State
from dyn_nodes.library.certified import certify
from dyn_nodes.library.data_sheet import DataSheet, read_sheet
from dyn_nodes.library.dynamics import Dynamics
from dyn_nodes.library.kernel import Kernel
from dyn_nodes.library.machine import Machine
from dyn_nodes.library.margins import Margins, MarginValues
from dyn_nodes.library.named import load, machines
from dyn_nodes.library.reactions import Reaction
from dyn_nodes.library.readers import read_bag, read_run
from dyn_nodes.library.run import Run
from dyn_nodes.library.simulator import Simulator
from dyn_nodes.simulation.linear import LinearModel

__all__ = [
    'load',
    'machines',
    'certify',
    'read_run',
    'read_bag',
    'read_sheet',
    'DataSheet',
    'Machine',
    'State',
    'Conditions',
    'Dynamics',
    'Margins',
    'MarginValues',
    'Reaction',
    'Run',
    'Simulator',
    'LinearModel',
    'Kernel',
    'UserError',
]
