"""Compares two bags: byte for byte, and message for message where they differ."""

from __future__ import annotations

import filecmp
import hashlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from roslite.bags.reading import BagReader

Message = tuple[int, bytes]
"""Log time in nanoseconds, digest of the CDR: bags may be larger than the memory."""


@dataclass(frozen=True)
class Difference:
    """The first message of a topic in which two bags differ.

    Attributes:
        topic: its name; empty for the order of messages of several topics.
        type: of its messages.
        index: of the message in its topic.
        first, second: message of each bag; None where the bag has no more.
    """

    topic: str
    type: str
    index: int
    first: Message | None
    second: Message | None


@dataclass
class Comparison:
    """Result of a comparison of two bags.

    Attributes:
        identical: file names and the bytes of all files.
        counts: messages of both bags, by topic.
        differences: one for each topic that differs.
    """

    identical: bool
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    @property
    def same_messages(self) -> bool:
        """Whether every topic has the same messages at the same times, in its order."""
        return not self.differences


def compare_bags(first: Path | str, second: Path | str, with_times: bool = True) -> Comparison:
    """Compare two bag directories.

    Args:
        first: one directory.
        second: the other one.
        with_times: log times count, too; on rclpy they are those of the wall clock, or of the last /clock received.

    Raises:
        BagError: one of them can't be read.
    """
    paths = Path(first), Path(second)
    contents = [_messages(path) for path in paths]
    result = Comparison(_same_bytes(*paths))
    kinds = {topic: kind for _, types in contents for topic, kind in types.items()}
    for topic in sorted(kinds):
        one, other = (messages.get(topic, []) for messages, _ in contents)
        result.counts[topic] = len(one), len(other)
        for index, (a, b) in enumerate(itertools.zip_longest(one, other)):
            if a != b and (with_times or a is None or b is None or a[1] != b[1]):
                result.differences.append(Difference(topic, kinds[topic], index, a, b))
                break
    return result


def _messages(path: Path) -> tuple[dict[str, list[Message]], dict[str, str]]:
    found: dict[str, list[Message]] = defaultdict(list)
    with BagReader(path) as reader:
        types = {connection.topic: connection.msgtype for connection in reader.connections}
        for connection, time, data in reader.messages():
            found[connection.topic].append((time, hashlib.blake2b(data, digest_size=16).digest()))
    return found, types


def _same_bytes(first: Path, second: Path) -> bool:
    names = [sorted(file.name for file in path.iterdir()) if path.is_dir() else [path.name] for path in (first, second)]
    if names[0] != names[1] or not first.is_dir():
        return False
    return all(filecmp.cmp(first / name, second / name, shallow=False) for name in names[0])
