"""Selection of the runtime: rclpy if it can be imported, the embedded runtime otherwise.

The environment variable DYN_NODES_MIDDLEWARE forces a choice: `embedded` or `rclpy`.
"""

from __future__ import annotations

import importlib.util
import os

VARIABLE = 'DYN_NODES_MIDDLEWARE'


def choose_runtime() -> str:
    """Return 'rclpy' or 'embedded'.

    Raises:
        ValueError: the environment variable has another value.
    """
    wanted = os.environ.get(VARIABLE, '')
    if wanted not in ('', 'embedded', 'rclpy'):
        raise ValueError(f"{VARIABLE}: expected 'embedded' or 'rclpy', found {wanted!r}")
    if wanted:
        return wanted
    return 'rclpy' if importlib.util.find_spec('rclpy') else 'embedded'


RUNTIME = choose_runtime()
