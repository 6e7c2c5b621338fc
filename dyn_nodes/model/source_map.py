"""Where the values of a machine YAML stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_nodes.model.yaml_source import Entry


@dataclass(frozen=True)
class SourceMap:
    """Lines of the values of a machine YAML.

    Attributes:
        entries: dotted key, as if nothing came from `defaults` -> the entry of the file that holds the value.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)

    def line(self, key: str) -> int:
        """Return the line of a dotted key, or of the nearest mapping around it that stands in the file."""
        while key and key not in self.entries:
            key = key.rpartition('.')[0]
        return self.entries[key].line if key in self.entries else 0

    def written(self, key: str) -> str:
        """Return the dotted key under which the file holds a value: the same, or one below `defaults`."""
        return self.entries[key].path if key in self.entries else key
