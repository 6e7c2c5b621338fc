"""Thin ROS nodes: parameters, topics, clock; no physics."""

import sys

if sys.argv[:1] == ['-m'] and any(word.startswith(f'{__name__}.') for word in sys.orig_argv):
    # `python -m dyn_nodes.nodes.<node>` imports this package first: a signal must end the imports of the node quietly
    from dyn_nodes.common.leaving import leave_on_signals

    leave_on_signals(0)
