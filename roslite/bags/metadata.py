"""`metadata.yaml` of a rosbag2 directory, in the layout of version 9 (ROS 2 Jazzy).

It is replaced at every checkpoint, several times a second, so the text is put together by hand: a general YAML writer
takes longer for it than everything else does.
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
    """The QoS profile that a publisher offers, with rosbag2's words.

    Attributes:
        history: `keep_last`, `keep_all` or `unknown` (discovery doesn't show it).
        depth: Queue length.
        reliability: `reliable` or `best_effort`.
        durability: `volatile` or `transient_local`.
        deadline: Nanoseconds.
        lifespan: Nanoseconds.
        liveliness: `automatic` or `manual_by_topic`.
        lease_duration: Nanoseconds.
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
        """The profile as an item of a YAML list, every line indented."""
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
    """Several profiles as a YAML list; empty for none."""
    return '\n'.join(profile.yaml(indent) for profile in profiles)


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in YAML_WORDS else _quoted(text)


def _quoted(text: str) -> str:
    """Return a text as YAML and JSON read it alike: escapes of JSON, without its pairs of surrogates."""
    return '"' + ''.join(c if ord(c) > 0xFFFF else json.dumps(c)[1:-1] for c in text) + '"'


@dataclass(frozen=True)
class TopicRecord:
    """A topic as `metadata.yaml` has it; its text is made once."""

    name: str
    type: str
    type_hash: str
    qos: tuple[QosRecord, ...]

    def yaml(self, count: int) -> str:
        """The topic's item, with its number of messages."""
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
    """The whole file.

    Args:
        storage: `mcap` or `sqlite3`.
        file_name: Name of the storage file in the directory.
        topics: Number of messages by topic.
        start: Earliest log time in nanoseconds, None without messages.
        end: Latest log time.
        custom: Free text by key.
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
    """A small text file that is only ever replaced as a whole.

    Args:
        path: The file. `stage` writes beside it, `commit` renames.
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
        """Put what was staged in the file's place, by one system call."""
        if self._staged:
            os.replace(self._next, self.path)
            self._staged = False
