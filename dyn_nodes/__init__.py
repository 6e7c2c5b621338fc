"""Dynamics, hydraulics, ground reactions and tip-over stability of mobile manipulators: ROS 2 nodes, and a library.

    import dyn_nodes as dn

    m = dn.load('log_loader')                 # or load('machine.urdf', 'machine.yaml')
    d = m.dynamics()
    margins = m.margins()

The library is imported when the first of its names is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = '0.2.0'

if TYPE_CHECKING:
    from dyn_nodes.library import (
        Conditions,
        DataSheet,
        Dynamics,
        Kernel,
        LinearModel,
        Machine,
        Margins,
        MarginValues,
        Reaction,
        Run,
        Simulator,
        State,
        UserError,
        certify,
        load,
        machines,
        read_bag,
        read_run,
        read_sheet,
    )

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


def __getattr__(name: str) -> Any:
    """Return a name of the library."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module('dyn_nodes.library'), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, *(name for name in globals() if name.startswith('__'))])
