"""Text and YAML of untrusted files, see `roslite/textfile.py`."""

from __future__ import annotations

from roslite.textfile import (
    DEEPEST,
    LARGEST_YAML,
    MOST_ENTRIES,
    UNFINISHED,
    TextFileError,
    load_yaml,
    read_bytes,
    read_text,
    replacing,
    write_whole,
    yaml_fault,
)

__all__ = [
    'LARGEST_YAML',
    'MOST_ENTRIES',
    'DEEPEST',
    'UNFINISHED',
    'TextFileError',
    'load_yaml',
    'read_bytes',
    'read_text',
    'replacing',
    'write_whole',
    'yaml_fault',
]
