"""Padding in serialized messages: CDR leaves it undefined, Fast DDS writes the previous content of its buffer.

Two runs with equal messages would then give two different bags. A recorder sets the padding to zero.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

LITTLE_ENDIAN = 1
_codecs: dict[str, Any] = {}


def zero_padding(name: str, data: bytes) -> bytes:
    """Return a serialized message with its padding set to zero and its length a multiple of 4.

    Args:
        name: its type, `pkg/msg/Name`.
        data: CDR with its header. Returned unchanged if the definition of the type is unknown, it is big endian, or it
            is not the encoding of the type.
    """
    if name not in _codecs:
        _codecs[name] = _codec_of(name)
    codec = _codecs[name]
    if codec is None or len(data) < 4 or data[1] != LITTLE_ENDIAN:
        return data
    try:
        made = codec.encode(codec.decode(data))
    except (TypeError, ValueError):
        return data
    if not 0 <= len(data) - len(made) < 4:
        return data
    return bytes(made) + bytes(-len(made) & 3)  # the wire carries a multiple of 4, a delivery within a process may not


def _codec_of(name: str) -> Any:
    # rosbags is imported when it is needed, so that nodes that do not record start without that package
    find: Callable[[str], Any] = importlib.import_module('roslite.runtime.types').codec
    try:
        return find(name)
    except (KeyError, ValueError):
        return None
