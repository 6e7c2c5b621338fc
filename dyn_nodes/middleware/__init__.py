"""The only interface to ROS: rclpy's API, from rclpy if it is installed and from `roslite` otherwise.

```python
from dyn_nodes.middleware import Node, init, message, spin

JointState = message('sensor_msgs/msg/JointState')
```

The runtime is selected and imported when the first of its names is used. The modules `launching`, `bags`, `bag_reader`
and `parameter_files` are the same with both runtimes, and load neither.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roslite.runtime.api import *  # noqa: F403

    from .select import RUNTIME as RUNTIME
else:

    def __getattr__(name: str) -> Any:
        """Return a name of the chosen runtime, after its import."""
        if name.startswith('__') and name != '__all__':
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        chosen = importlib.import_module(f'{__name__}.select').RUNTIME
        api = importlib.import_module('roslite.runtime.api' if chosen == 'embedded' else f'{__name__}.real')
        names = {'RUNTIME': chosen, **{one: getattr(api, one) for one in api.__all__}}
        globals().update(names, __all__=list(names))
        if name not in globals():
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        return globals()[name]
