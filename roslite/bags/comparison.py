"""Comparison of two bags, byte by byte and message by message."""

from __future__ import annotations

import filecmp
import hashlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from roslite.bags.reading import BagReader

Message = tuple[int, bytes]
"""Log time, ns, and digest of the CDR: bags may be larger than memory."""


@dataclass(frozen=True)
class Difference:
    """The first message of a topic in which two bags differ.

    Attributes:
        topic: name of the topic; empty for the order of messages of several topics.
        type: type of its messages.
        index: index of the message in its topic.
        first: message of the first bag; None: no more messages.
        second: message of the second bag; None: no more messages.
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
        identical: file names and the bytes of all files are equal.
        counts: numbers of messages of both bags, by topic.
        differences: one per topic that differs.
    """

    identical: bool
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    @property
    def same_messages(self) -> bool:
        """True if every topic has the same messages at the same times in the same order."""
        return not self.differences


def compare_bags(first: Path | str, second: Path | str, with_times: bool = True) -> Comparison:
    """Return the comparison of two bag directories.

    Args:
        first: one directory.
        second: the other directory.
        with_times: also compare log times; with rclpy they come from the wall clock or the last /clock received.

    Raises:
        BagError: a bag cannot be read.
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
    messages: dict[str, list[Message]] = defaultdict(list)
    with BagReader(path) as reader:
        types = {connection.topic: connection.msgtype for connection in reader.connections}
        for connection, time, data in reader.messages():
            messages[connection.topic].append((time, hashlib.blake2b(data, digest_size=16).digest()))
    return messages, types


def _same_bytes(first: Path, second: Path) -> bool:
    names = [sorted(file.name for file in path.iterdir()) if path.is_dir() else [path.name] for path in (first, second)]
    if names[0] != names[1] or not first.is_dir():
        return False
    return all(filecmp.cmp(first / name, second / name, shallow=False) for name in names[0])
