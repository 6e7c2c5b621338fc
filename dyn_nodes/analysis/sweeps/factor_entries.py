"""The factors of a sweep's YAML."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_nodes.analysis.sweeps.design import Distribution, Levels, Normal, Span
from dyn_nodes.analysis.sweeps.factors import Factor, factor_of
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.sweep import TARGETS, AngleFactorEntry, FactorEntry
from dyn_nodes.model.yaml_source import Entry

MOST_COUNT = 100_000


@dataclass(frozen=True)
class ReadFactor:
    """A factor, its distribution, and where it stands.

    Attributes:
        levels: its values, where it has listed or counted ones.
    """

    factor: Factor
    entry: Entry
    distribution: Distribution
    levels: tuple[float, ...]

    def at(self, kind: str) -> Distribution:
        """Return what a design of a kind draws from; structural factors have their levels in every one."""
        return Levels(self.levels) if self.levels and (kind == 'grid' or self.factor.structural) else self.distribution

    def check_grid(self, report: Report) -> None:
        """Record a factor without levels as a fault of a grid."""
        if not self.levels:
            report.add(self.entry.line, self.entry.path, 'values, or from, to and count (of a grid)', 'no levels')


class _FaultError(Exception):
    """What is wrong with an entry."""

    def __init__(self, entry: Entry, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.entry, self.expected, self.found = entry, expected, found


class FactorReader:
    """Reads the mapping `factors`; faults go to the reader's report."""

    def __init__(self, reader: SchemaReader) -> None:
        self.reader, self.report = reader, reader.report

    def read(self, listed: object) -> list[ReadFactor]:
        """Return the factors of an entry, without those that have faults."""
        entries = self.reader.named(listed if isinstance(listed, Entry) else None)
        if isinstance(listed, Entry) and not entries and not self.report.failed:
            self.report.add(listed.line, listed.path, 'a factor at least', 'none')
        found = [self._factor(name, entry) for name, entry in entries.items()]
        return [own for own in found if own is not None]

    def _factor(self, name: str, entry: Entry) -> ReadFactor | None:
        given = [target for target in TARGETS if target in entry.mapping]
        if len(given) != 1 and entry.kind == 'map':
            expected = f'one of {", ".join(TARGETS)}'
            self.report.add(entry.line, entry.path, expected, ' and '.join(given) or 'none')
            return None
        key = entry.mapping[given[0]].text if given else ''
        factor = factor_of(name, given[0], key) if given else None  # type: ignore[arg-type]
        record = AngleFactorEntry if factor is not None and factor.angle else FactorEntry
        before = len(self.report.problems)
        values = self.reader.table(entry, keys_of(record))
        own: FactorEntry | None = build(record, values)
        if own is None or factor is None or len(self.report.problems) > before:
            return None
        if factor.target == 'pace' and key != 'task':
            self.report.add(entry.mapping['pace'].line, f'{entry.path}.pace', 'task', repr(key))
            return None
        try:
            return ReadFactor(factor, entry, *_distribution(entry, own))
        except _FaultError as fault:
            self.report.add(fault.entry.line, fault.entry.path, fault.expected, fault.found)
            return None


def _distribution(entry: Entry, own: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    if own.values:
        return _listed(entry, own)
    if own.mean is not None or own.deviation is not None:
        return _normal(entry, own)
    if own.least is None or own.most is None:
        expected = 'values, or from and to, or mean and deviation'
        found = ' and '.join(key for key in ('from', 'to', 'count', 'mean') if key in entry.mapping) or 'none'
        raise _FaultError(entry, expected, found)
    if not own.least < own.most:
        raise _FaultError(entry.mapping['to'], f'a number above {own.least:g} (from)', f'{own.most:g}')
    if own.spacing == 'logarithmic' and own.least <= 0.0:
        raise _FaultError(entry.mapping['from'], 'a number above 0 for logarithmic spacing', f'{own.least:g}')
    span = Span(own.least, own.most, own.spacing == 'logarithmic')
    if own.count is None:
        return span, ()
    if own.count != int(own.count) or own.count > MOST_COUNT:
        raise _FaultError(entry.mapping['count'], f'a whole number up to {MOST_COUNT}', f'{own.count:g}')
    return span, span.levels(int(own.count)).values


def _listed(entry: Entry, own: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    others = [key for key in ('from', 'to', 'count', 'mean', 'deviation') if key in entry.mapping]
    if others:
        raise _FaultError(entry, 'values alone', f'{" and ".join(others)}, too')
    if len(set(own.values)) != len(own.values):
        raise _FaultError(entry.mapping['values'], 'different numbers', 'one of them twice')
    return Levels(own.values), own.values


def _normal(entry: Entry, own: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    if own.mean is None or own.deviation is None or own.count is not None:
        found = ' and '.join(key for key in ('mean', 'deviation', 'count') if key in entry.mapping)
        raise _FaultError(entry, 'mean and deviation, and from and to at most', found)
    least = -float('inf') if own.least is None else own.least
    most = float('inf') if own.most is None else own.most
    if not least < most or abs(min(max(own.mean, least), most) - own.mean) > 6.0 * own.deviation:
        raise _FaultError(entry, 'bounds within six deviations of the mean, from below to', f'{least:g}, {most:g}')
    return Normal(own.mean, own.deviation, least, most), ()
