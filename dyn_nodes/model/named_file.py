"""A YAML file as one thing, such as a team or a task, or as one mapping of names, such as the motors of a catalogue."""

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
"""Makes a part of its name and its entry; None where the reader's report says why it cannot be made."""


def load_file(
    path: str | Path, make: Callable[[Entry, Report], Whole | None], error_type: type[MachineError] = MachineError
) -> Whole:
    """Return what a file describes.

    Args:
        path: of the YAML file.
        make: makes it of the file's top; what it reports as wrong, or None, refuses the file.
        error_type: the error to raise.

    Raises:
        MachineError: `error_type`, with file, line, key, what was expected and what was found, for every fault.
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
        keys: that may stand at its top.
        key: the one among them that lists the parts.
        expected: what is missing where none is listed, such as 'a motor at least'.
        make: makes one part.

    Raises:
        MachineError: with file, line, key, what was expected and what was found, for every fault.
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
