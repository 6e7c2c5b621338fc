"""Ends while Cyclone never returns from deleting the domain."""

from __future__ import annotations

import time

from roslite.runtime import dds
from roslite.runtime.api import Node, init, try_shutdown

init(args=['stuck'])
Node('stuck').destroy_node()
try_shutdown()
dds.delete_entity = lambda entity: time.sleep(60.0)
print('ready', flush=True)
