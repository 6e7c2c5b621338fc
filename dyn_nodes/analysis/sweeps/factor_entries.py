"""Reader of the factors in a sweep's YAML."""

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
    """A factor, its distribution, and its entry in the YAML.

    Attributes:
        levels: listed or counted values; empty for a continuous range.
    """

    factor: Factor
    entry: Entry
    distribution: Distribution
    levels: tuple[float, ...]

    def at(self, kind: str) -> Distribution:
        """Return the distribution for a kind of design; structural factors always have their levels."""
        return Levels(self.levels) if self.levels and (kind == 'grid' or self.factor.structural) else self.distribution

    def check_grid(self, report: Report) -> None:
        """Record a factor without levels as an error of a grid."""
        if not self.levels:
            report.add(self.entry.line, self.entry.path, 'values, or from, to and count (of a grid)', 'no levels')


class _FaultError(Exception):
    """Error in an entry."""

    def __init__(self, entry: Entry, expected: str, actual: str) -> None:
        super().__init__(expected, actual)
        self.entry, self.expected, self.actual = entry, expected, actual


class FactorReader:
    """Reader of the mapping `factors`; errors go to the reader's report."""

    def __init__(self, reader: SchemaReader) -> None:
        self.reader, self.report = reader, reader.report

    def read(self, listed: object) -> list[ReadFactor]:
        """Return the factors of an entry, without those with errors."""
        entries = self.reader.named(listed if isinstance(listed, Entry) else None)
        if isinstance(listed, Entry) and not entries and not self.report.failed:
            self.report.add(listed.line, listed.path, 'at least one factor', 'none')
        factors = [self._factor(name, entry) for name, entry in entries.items()]
        return [factor for factor in factors if factor is not None]

    def _factor(self, name: str, entry: Entry) -> ReadFactor | None:
        targets = [target for target in TARGETS if target in entry.mapping]
        if len(targets) != 1 and entry.kind == 'map':
            expected = f'one of {", ".join(TARGETS)}'
            self.report.add(entry.line, entry.path, expected, ' and '.join(targets) or 'none')
            return None
        key = entry.mapping[targets[0]].text if targets else ''
        factor = factor_of(name, targets[0], key) if targets else None  # type: ignore[arg-type]
        record = AngleFactorEntry if factor is not None and factor.angle else FactorEntry
        before = len(self.report.problems)
        values = self.reader.table(entry, keys_of(record))
        values_entry: FactorEntry | None = build(record, values)
        if values_entry is None or factor is None or len(self.report.problems) > before:
            return None
        if factor.target == 'pace' and key != 'task':
            self.report.add(entry.mapping['pace'].line, f'{entry.path}.pace', 'task', repr(key))
            return None
        try:
            return ReadFactor(factor, entry, *_distribution(entry, values_entry))
        except _FaultError as fault:
            self.report.add(fault.entry.line, fault.entry.path, fault.expected, fault.actual)
            return None


def _distribution(entry: Entry, factor: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    if factor.values:
        return _listed(entry, factor)
    if factor.mean is not None or factor.deviation is not None:
        return _normal(entry, factor)
    if factor.least is None or factor.most is None:
        expected = 'values, or from and to, or mean and deviation'
        keys = ' and '.join(key for key in ('from', 'to', 'count', 'mean') if key in entry.mapping) or 'none'
        raise _FaultError(entry, expected, keys)
    if not factor.least < factor.most:
        raise _FaultError(entry.mapping['to'], f'a number above {factor.least:g} (from)', f'{factor.most:g}')
    if factor.spacing == 'logarithmic' and factor.least <= 0.0:
        raise _FaultError(entry.mapping['from'], 'a number above 0 for logarithmic spacing', f'{factor.least:g}')
    span = Span(factor.least, factor.most, factor.spacing == 'logarithmic')
    if factor.count is None:
        return span, ()
    if factor.count != int(factor.count) or factor.count > MOST_COUNT:
        raise _FaultError(entry.mapping['count'], f'a whole number up to {MOST_COUNT}', f'{factor.count:g}')
    return span, span.levels(int(factor.count)).values


def _listed(entry: Entry, factor: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    others = [key for key in ('from', 'to', 'count', 'mean', 'deviation') if key in entry.mapping]
    if others:
        raise _FaultError(entry, 'values alone', f'{" and ".join(others)}, too')
    if len(set(factor.values)) != len(factor.values):
        raise _FaultError(entry.mapping['values'], 'different numbers', 'one of them twice')
    return Levels(factor.values), factor.values


def _normal(entry: Entry, factor: FactorEntry) -> tuple[Distribution, tuple[float, ...]]:
    if factor.mean is None or factor.deviation is None or factor.count is not None:
        keys = ' and '.join(key for key in ('mean', 'deviation', 'count') if key in entry.mapping)
        raise _FaultError(entry, 'mean and deviation, and from and to at most', keys)
    least = -float('inf') if factor.least is None else factor.least
    most = float('inf') if factor.most is None else factor.most
    if not least < most or abs(min(max(factor.mean, least), most) - factor.mean) > 6.0 * factor.deviation:
        raise _FaultError(entry, 'bounds within six deviations of the mean, from below to', f'{least:g}, {most:g}')
    return Normal(factor.mean, factor.deviation, least, most), ()
