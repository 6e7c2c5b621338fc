"""Lines of the values of a machine YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_nodes.model.yaml_source import Entry


@dataclass(frozen=True)
class SourceMap:
    """Lines of the values of a machine YAML.

    Attributes:
        entries: entry of the file by dotted key of the value; keys of the element, also for `defaults`.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)

    def line(self, key: str) -> int:
        """Return the line of a dotted key, or of the nearest enclosing mapping in the file."""
        while key and key not in self.entries:
            key = key.rpartition('.')[0]
        return self.entries[key].line if key in self.entries else 0

    def written(self, key: str) -> str:
        """Return the dotted key of a value in the file: the same key, or one below `defaults`."""
        return self.entries[key].path if key in self.entries else key
