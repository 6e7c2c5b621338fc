"""Loading of a YAML file with one object, such as a team, or a mapping of names, such as a motor catalogue."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from dyn_nodes.model.problems import MachineError, Report
from dyn_nodes.model.schema import Key
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry, read_yaml

Whole = TypeVar('Whole')
Part = TypeVar('Part')
Make = Callable[[SchemaReader, str, Entry], Part | None]
"""Returns a part from its name and its entry; None if the reader reported faults."""


def load_file(
    path: str | Path, make: Callable[[Entry, Report], Whole | None], error_type: type[MachineError] = MachineError
) -> Whole:
    """Return the object that a file describes.

    Args:
        path: of the YAML file.
        make: returns the object from the root of the file; reported faults or None reject the file.
        error_type: error to raise.

    Raises:
        MachineError: `error_type`, with file, line, key, expected and actual value of every fault.
    """
    report = Report(str(path))
    root = read_yaml(Path(path), report)
    made = make(root, report) if root is not None else None
    if report.failed or made is None:
        raise error_type(report.sorted_problems(), report.sorted_warnings())
    return made


def load_named(path: str | Path, keys: Sequence[Key], key: str, expected: str, make: Make[Part]) -> tuple[Part, ...]:
    """Return the parts that a file lists by name, in its order.

    Args:
        path: of the YAML file.
        keys: of the root mapping.
        key: the key that lists the parts.
        expected: text for an empty list, such as 'a motor at least'.
        make: returns one part.

    Raises:
        MachineError: with file, line, key, expected and actual value of every fault.
    """

    def parts_of(root: Entry, report: Report) -> tuple[Part, ...]:
        reader = SchemaReader(report)
        listed = reader.table(root, keys).get(key)
        entries = reader.named(listed if isinstance(listed, Entry) else None)
        made = [make(reader, name, entry) for name, entry in entries.items()]
        parts = tuple(part for part in made if part is not None)
        if not parts and not report.failed:
            report.add(root.line, key, expected, 'none')
        return parts

    return load_file(path, parts_of)
