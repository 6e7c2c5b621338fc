"""Parameter files of ROS 2, on either runtime, see `roslite/runtime/arguments.py`."""

from __future__ import annotations

from roslite.runtime.arguments import load_parameter_file, matches_node
from roslite.runtime.exceptions import RCLInvalidROSArgsError

__all__ = ['RCLInvalidROSArgsError', 'load_parameter_file', 'matches_node']
