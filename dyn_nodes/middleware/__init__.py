"""The only door to ROS: one API, rclpy's, on real rclpy where it is installed and on the embedded runtime elsewhere.

```python
from dyn_nodes.middleware import Node, init, message, spin

JointState = message('sensor_msgs/msg/JointState')
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .select import RUNTIME

if TYPE_CHECKING or RUNTIME == 'embedded':
    from .embedded.api import *  # noqa: F403
    from .embedded.api import __all__ as _names
else:
    from .real import *  # noqa: F403
    from .real import __all__ as _names

__all__ = ['RUNTIME', *_names]
