"""Reading of untrusted bags: screened, with one type of error, without the message types stored in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from rosbags.rosbag2 import Reader

from roslite.bags.bag import BagError
from roslite.bags.screening import LARGEST_CHUNK, LATEST, expand, screen_bag, unreadable

T = TypeVar('T')
Message = tuple[Any, int, bytes]
"""Connection of rosbags, log time in nanoseconds, CDR."""
WALL_CLOCK = 1e8
"""Log time above which all times of a bag are wall time, s; simulations are shorter than three years."""


class BagReader:
    """Reads a rosbag2 directory or a storage file; a context manager.

    All errors of rosbags for damaged files are converted to BagError.

    Args:
        path: of the bag.

    Attributes:
        connections: connections of rosbags, one per topic and type.
        start_time: earliest log time, ns.

    Raises:
        BagError: no bag, or one that cannot be read safely.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise BagError(f'{self.path}: expected a bag directory or file, found nothing')
        if self.path.is_dir() and not (self.path / 'metadata.yaml').exists():
            raise BagError(f'{self.path}: expected a bag directory, found no metadata.yaml in it')
        screen_bag(self.path)
        self._reader = self._guarded(lambda: Reader(self.path))
        self._expands = False

    def __enter__(self) -> BagReader:
        self._guarded(self._reader.open)
        storage = self._reader.storage
        if storage.metadata.compression_mode == 'message':
            self._expands = True  # decompress here with a size limit instead of in the reader
            storage.metadata = storage.metadata._replace(compression_mode=None)
        self.connections = list(self._reader.connections)
        self.start_time = self._guarded(lambda: int(self._reader.start_time))
        for item in self.connections:
            if not (isinstance(item.topic, str) and isinstance(item.msgtype, str) and type(item.msgcount) is int):
                self._reader.close()
                raise BagError(f'{self.path}: expected names and types of topics, found {item.topic!r:.100}')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    @property
    def custom_data(self) -> dict[str, str]:
        """Free text of the metadata by key; empty if there is none."""
        metadata = self._guarded(lambda: self._reader.storage.metadata)
        custom = getattr(metadata, 'custom', None)
        return {str(key): str(value) for key, value in custom.items()} if isinstance(custom, dict) else {}

    def messages(
        self, connections: Collection[Any] | None = None, start: int | None = None, stop: int | None = None
    ) -> Iterator[Message]:
        """Yield messages in order of log time.

        Args:
            connections: selected connections; None: all.
            start: first log time, ns.
            stop: exclusive last log time, ns.

        Raises:
            BagError: a damaged bag.
        """
        chosen = self.connections if connections is None else connections
        source = self._guarded(lambda: iter(self._reader.messages(chosen, start, stop)))
        while True:
            entry = self._guarded(lambda: next(source, None))
            if entry is None:
                return
            connection, time, data = entry
            if not 0 <= time <= LATEST:
                raise BagError(f'{self.path}: log time: expected 0 to {LATEST} ns, found {time}')
            if not isinstance(data, bytes | bytearray | memoryview):
                raise BagError(f'{self.path}: a message: expected bytes, found {type(data).__name__}')
            content = bytes(data)
            yield connection, time, expand(content, 'zstd', LARGEST_CHUNK, self.path) if self._expands else content

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (Exception, RecursionError, MemoryError) as error:  # parsers of damaged files may raise any error
            raise unreadable(self.path, error) from None
