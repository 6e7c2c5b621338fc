"""`python -m dyn_nodes`: the `dyn-nodes` command."""

import sys

from dyn_nodes.entry import command

sys.exit(command())
