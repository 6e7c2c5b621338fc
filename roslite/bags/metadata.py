"""`metadata.yaml` of a rosbag2 directory, in the layout of version 9 (ROS 2 Jazzy).

It is replaced at every checkpoint, several times a second. The text is therefore assembled directly: a general YAML
writer would take longer than the rest of a checkpoint.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roslite.printing import YAML_WORDS

VERSION = 9
ROS_DISTRO = 'jazzy'
INFINITE = 9223372036854775807
_PLAIN = re.compile(r'[A-Za-z/_][A-Za-z0-9/_.~-]*')


@dataclass(frozen=True)
class QosRecord:
    """The QoS profile offered by a publisher, in rosbag2's terms.

    Attributes:
        history: `keep_last`, `keep_all` or `unknown` (not part of discovery).
        depth: queue length.
        reliability: `reliable` or `best_effort`.
        durability: `volatile` or `transient_local`.
        deadline: ns.
        lifespan: ns.
        liveliness: `automatic` or `manual_by_topic`.
        lease_duration: ns.
    """

    history: str = 'unknown'
    depth: int = 0
    reliability: str = 'reliable'
    durability: str = 'volatile'
    deadline: int = INFINITE
    lifespan: int = INFINITE
    liveliness: str = 'automatic'
    lease_duration: int = INFINITE

    def yaml(self, indent: str = '') -> str:
        """Return the profile as an item of a YAML list, every line indented."""
        lines = [
            f'- history: {self.history}',
            f'  depth: {self.depth}',
            f'  reliability: {self.reliability}',
            f'  durability: {self.durability}',
            *_duration('deadline', self.deadline),
            *_duration('lifespan', self.lifespan),
            f'  liveliness: {self.liveliness}',
            *_duration('liveliness_lease_duration', self.lease_duration),
            '  avoid_ros_namespace_conventions: false',
        ]
        return '\n'.join(indent + line for line in lines)


def _duration(name: str, nanoseconds: int) -> list[str]:
    seconds, rest = divmod(nanoseconds, 10**9)
    return [f'  {name}:', f'    sec: {seconds}', f'    nsec: {rest}']


def qos_list(profiles: Iterable[QosRecord], indent: str = '') -> str:
    """Return profiles as a YAML list; empty for none."""
    return '\n'.join(profile.yaml(indent) for profile in profiles)


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in YAML_WORDS else _quoted(text)


def _quoted(text: str) -> str:
    """Return a text quoted for YAML and JSON: JSON escapes without surrogate pairs."""
    return '"' + ''.join(c if ord(c) > 0xFFFF else json.dumps(c)[1:-1] for c in text) + '"'


@dataclass(frozen=True)
class TopicRecord:
    """A topic in `metadata.yaml`, with cached text."""

    name: str
    type: str
    type_hash: str
    qos: tuple[QosRecord, ...]

    def yaml(self, count: int) -> str:
        """Return the item of the topic with its number of messages."""
        return f'{self._description}      message_count: {count}\n'

    @cached_property
    def _description(self) -> str:
        profiles = f'\n{qos_list(self.qos, " " * 10)}' if self.qos else ' []'
        return (
            '    - topic_metadata:\n'
            f'        name: {_scalar(self.name)}\n'
            f'        type: {_scalar(self.type)}\n'
            '        serialization_format: cdr\n'
            f'        offered_qos_profiles:{profiles}\n'
            f'        type_description_hash: {_scalar(self.type_hash) or json.dumps("")}\n'
        )


def metadata_text(
    storage: str,
    file_name: str,
    topics: Mapping[TopicRecord, int],
    start: int | None,
    end: int,
    custom: Mapping[str, str] | None = None,
) -> str:
    """Return the content of the file.

    Args:
        storage: `mcap` or `sqlite3`.
        file_name: name of the storage file in the directory.
        topics: number of messages by topic.
        start: earliest log time, ns; None without messages.
        end: latest log time, ns.
        custom: free text by key.
    """
    total = sum(topics.values())
    first = INFINITE if start is None else start
    duration = 0 if start is None else end - start
    items = ''.join(topic.yaml(count) for topic, count in topics.items())
    extra = ''.join(f'\n    {_scalar(key)}: {_quoted(value)}' for key, value in (custom or {}).items())
    return (
        'rosbag2_bagfile_information:\n'
        f'  version: {VERSION}\n'
        f'  storage_identifier: {storage}\n'
        f'  duration:\n    nanoseconds: {duration}\n'
        f'  starting_time:\n    nanoseconds_since_epoch: {first}\n'
        f'  message_count: {total}\n'
        f'  topics_with_message_count:{chr(10) + items if items else " []" + chr(10)}'
        '  compression_format: ""\n'
        '  compression_mode: ""\n'
        f'  relative_file_paths:\n    - {_scalar(file_name)}\n'
        '  files:\n'
        f'    - path: {_scalar(file_name)}\n'
        f'      starting_time:\n        nanoseconds_since_epoch: {first}\n'
        f'      duration:\n        nanoseconds: {duration}\n'
        f'      message_count: {total}\n'
        f'  custom_data:{extra or " ~"}\n'
        f'  ros_distro: {ROS_DISTRO}\n'
    )


class ReplacedFile:
    """A small text file that is replaced atomically.

    Args:
        path: the file. `stage` writes a file beside it, `commit` renames that.
    """

    def __init__(self, path: Path):
        self.path = path
        self._next = path.with_name(f'.{path.name}.next')
        self._staged = False

    def stage(self, text: str) -> None:
        """Write the next content beside the file."""
        self._next.write_text(text, encoding='utf-8')
        self._staged = True

    def commit(self) -> None:
        """Replace the file by the staged content with one system call."""
        if self._staged:
            os.replace(self._next, self.path)
            self._staged = False
