"""A YAML file whose matter is one mapping of names: poses of a motion, motors of a catalogue."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from dyn_nodes.model.problems import MachineError, Report
from dyn_nodes.model.schema import Key
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry, read_yaml

Part = TypeVar('Part')
Make = Callable[[SchemaReader, str, Entry], Part | None]
"""Makes a part of its name and its entry; None where the reader's report says why it cannot be made."""


def load_named(path: str | Path, keys: Sequence[Key], key: str, expected: str, make: Make[Part]) -> tuple[Part, ...]:
    """Return the parts that a file lists by name, in its order.

    Args:
        path: of the YAML file.
        keys: that may stand at its top.
        key: the one among them that lists the parts.
        expected: what is missing where none is listed, such as 'a motor at least'.
        make: makes one part.

    Raises:
        MachineError: with file, line, key, what was expected and what was found, for every fault.
    """
    report = Report(str(path))
    root = read_yaml(Path(path), report)
    parts: tuple[Part, ...] = ()
    if root is not None:
        reader = SchemaReader(report)
        listed = reader.table(root, keys).get(key)
        entries = reader.named(listed if isinstance(listed, Entry) else None)
        made = [make(reader, name, entry) for name, entry in entries.items()]
        parts = tuple(part for part in made if part is not None)
        if not parts and not report.failed:
            report.add(root.line, key, expected, 'none')
    if report.failed:
        raise MachineError(report.sorted_problems())
    return parts
