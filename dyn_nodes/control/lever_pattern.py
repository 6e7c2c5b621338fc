"""The YAML mapping from the axes of a gamepad and the keys of a keyboard to valve voltages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import MachineError, Report, did_you_mean
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry

TOP_KEYS = ('dead_man_button', 'override_button', 'dead_band', 'expo', 'timeout', 'levers')
LEVER_KEYS = ('axis', 'invert', 'volts', 'keys', 'positive', 'negative')
RESERVED_KEYS = ' q0123456789'
"""Keys of the keyboard teleop itself: neutral, quit, throw."""


class LeverPatternError(MachineError):
    """A lever file has faults; `problems` has all of them, `str()` one line for each."""


@dataclass(frozen=True)
class Lever:
    """One valve's lever.

    Attributes:
        axis: number of the gamepad's axis; None: no axis.
        sign: +1 or -1: of the volts at the positive end of the axis.
        volts: at the end of the travel, V.
        keys: the key for positive and the key for negative volts, or ''.
        positive, negative: their effect, in a word.
    """

    axis: int | None
    sign: float
    volts: float
    keys: str = ''
    positive: str = '+'
    negative: str = '-'


@dataclass(frozen=True)
class LeverPattern:
    """All levers.

    Attributes:
        dead_man_button: number of the button that must be held.
        override_button: number of the button that, held too, overrides a governor; None: no button.
        dead_band: part of the travel.  expo: 0 to 1.  timeout: s.
        levers: by actuator, in the order of the file.
    """

    dead_man_button: int
    override_button: int | None
    dead_band: float
    expo: float
    timeout: float
    levers: Mapping[str, Lever]


def shape(value: float, dead_band: float, expo: float) -> float:
    """Return a lever's effect, -1 to 1: zero within the dead band, then (1 - expo) x + expo x^3.

    x grows continuously from 0 at the edge of the dead band to 1 at the end of the travel.
    """
    size = min(abs(value), 1.0)
    if size <= dead_band:
        return 0.0
    x = (size - dead_band) / (1.0 - dead_band)
    effect = (1.0 - expo) * x + expo * x**3
    return effect if value > 0.0 else -effect


def load_lever_pattern(path: str | Path, actuators: Sequence[str]) -> LeverPattern:
    """Read a lever file.

    Args:
        path: of the YAML file.
        actuators: names that may have a lever; not all need one.

    Raises:
        LeverPatternError: with file, line, key, expected and found, for every fault.
    """
    return load_file(path, lambda root, report: _Reader(report, actuators).pattern(root), LeverPatternError)


class _Reader:
    def __init__(self, report: Report, actuators: Sequence[str]) -> None:
        self.report, self.actuators = report, actuators
        self.schema = SchemaReader(report)
        self._keys: dict[str, str] = {}

    def pattern(self, root: Entry) -> LeverPattern | None:
        self._check_keys(root, TOP_KEYS)
        button = self._whole(root, 'dead_man_button')
        override = self._whole(root, 'override_button') if 'override_button' in root.mapping else None
        if override is not None and override == button:
            entry = root.mapping['override_button']
            self.report.add(entry.line, entry.path, 'another button than dead_man_button', entry.describe())
        dead_band = self._number(root, 'dead_band', 0.0, 0.9)
        expo = self._number(root, 'expo', 0.0, 1.0)
        timeout = self._number(root, 'timeout', 0.05, 10.0)
        listed = root.mapping.get('levers')
        if listed is None or not listed.mapping:
            actual = 'nothing' if listed is None else listed.describe()
            self.report.add(listed.line if listed else root.line, 'levers', 'a mapping of actuators', actual)
            return None
        levers = {name: self._lever(name, entry) for name, entry in listed.mapping.items()}
        if self.report.failed or button is None:
            return None
        named = {name: lever for name, lever in levers.items() if lever}
        return LeverPattern(button, override, dead_band, expo, timeout, named)

    def _lever(self, name: str, entry: Entry) -> Lever | None:
        if name not in self.actuators:
            expected = f'one of {", ".join(self.actuators)}'
            self.report.add(entry.line, entry.path, expected, did_you_mean(name, self.actuators))
            return None
        self._check_keys(entry, LEVER_KEYS)
        axis = self._whole(entry, 'axis') if 'axis' in entry.mapping else None
        volts = self._number(entry, 'volts', 0.0, 100.0)
        keys = self._pair_of_keys(entry.mapping['keys'], name) if 'keys' in entry.mapping else ''
        words = [self._word(entry, key, default) for key, default in (('positive', '+'), ('negative', '-'))]
        return Lever(axis, -1.0 if self._flag(entry, 'invert') else 1.0, volts, keys, *words)

    def _check_keys(self, entry: Entry, keys: Sequence[str]) -> None:
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path or 'file', f'a mapping with {", ".join(keys)}', entry.describe())
        for key, child in entry.mapping.items():
            if key not in keys:
                self.report.add(child.line, child.path, f'one of {", ".join(keys)}', did_you_mean(key, keys))

    def _whole(self, entry: Entry, key: str) -> int | None:
        child = entry.mapping.get(key)
        if child is not None and child.kind == 'text' and child.text.isdecimal():
            return int(child.text)
        actual = 'nothing' if child is None else child.describe()
        self.report.add((child or entry).line, self._path(entry, key), 'a whole number from 0', actual)
        return None

    def _number(self, entry: Entry, key: str, low: float, high: float) -> float:
        child = entry.mapping.get(key)
        if child is None:
            self.report.add(entry.line, self._path(entry, key), f'a number from {low:g} to {high:g}', 'nothing')
            return low
        value = self.schema.number(child)
        if value is not None and not low <= value <= high:
            self.report.add(child.line, child.path, f'a number from {low:g} to {high:g}', f'{value:g}')
        return low if value is None else value

    def _flag(self, entry: Entry, key: str) -> bool:
        child = entry.mapping.get(key)
        if child is None:
            return False
        if child.kind != 'bool':
            self.report.add(child.line, child.path, 'true or false', child.describe())
        return child.text.lower() == 'true'

    def _word(self, entry: Entry, key: str, default: str) -> str:
        child = entry.mapping.get(key)
        if child is None:
            return default
        if child.kind not in ('text', 'quoted'):
            self.report.add(child.line, child.path, 'a word', child.describe())
        return child.text

    def _pair_of_keys(self, entry: Entry, name: str) -> str:
        keys = entry.text
        if len(keys) != 2 or keys[0] == keys[1] or any(key in RESERVED_KEYS for key in keys):
            self.report.add(entry.line, entry.path, 'two different keys, none of q, blank, 0 to 9', entry.describe())
            return ''
        for key in keys:
            if self._keys.setdefault(key, name) != name:
                self.report.add(entry.line, entry.path, 'unique keys', f'{key!r}, the key of {self._keys[key]}')
        return keys

    @staticmethod
    def _path(entry: Entry, key: str) -> str:
        return f'{entry.path}.{key}' if entry.path else key
