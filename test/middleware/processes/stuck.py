"""Ends while Cyclone never comes back from deleting the domain."""

from __future__ import annotations

import time

from dyn_nodes.middleware import Node, init, try_shutdown
from dyn_nodes.middleware.embedded import dds

init(args=['stuck'])
Node('stuck').destroy_node()
try_shutdown()
dds.delete_entity = lambda entity: time.sleep(60.0)
print('ready', flush=True)
