"""Reader of a sweep's YAML. Every error names file, line and key; the keys are declared in `model.sweep`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from dyn_nodes.analysis.sweeps.design import MOST_RUNS, Design, Levels, block_of
from dyn_nodes.analysis.sweeps.expression import Expression, ExpressionError, parse
from dyn_nodes.analysis.sweeps.factor_entries import FactorReader, ReadFactor
from dyn_nodes.analysis.sweeps.names import NameChecks
from dyn_nodes.analysis.sweeps.outcomes import OUTCOMES
from dyn_nodes.analysis.sweeps.sweep import Level, Sweep
from dyn_nodes.common.share import find_resource, named_file
from dyn_nodes.control.voltage_profile import TaskError, VoltageProfile, load_voltage_profile
from dyn_nodes.measures import MEASURES
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import MachineError, Report, did_you_mean
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.sweep import DesignEntry, SweepEntries
from dyn_nodes.model.yaml_source import Entry

MOST_LEVELS = 100
"""Greatest number of machines that a sweep compiles."""
MOST_SAMPLES = 1_000_000
"""Greatest number of samples of a run for its outcomes."""
YAML = ('.yaml', '.yml')


def load_sweep(source: str | Path) -> Sweep:
    """Return the sweep of a file.

    Args:
        source: path of its YAML, or the name of a file in `config/sweeps`.

    Raises:
        MachineError: with file, line, key, expected and found value for every error, also of the machine and the task.
        FileNotFoundError: no file has this name.
    """
    path = named_file(source, 'config/sweeps')
    return load_file(path, lambda root, report: _Reader(report, path).read(root))


class _Reader:
    """Reader of one file."""

    def __init__(self, report: Report, path: Path) -> None:
        self.report, self.path = report, path
        self.reader = SchemaReader(report)

    def read(self, root: Entry) -> Sweep | None:
        values = self.reader.table(root, keys_of(SweepEntries))
        factors = FactorReader(self.reader).read(values.get('factors'))
        expressions = self._expressions(values.get('expressions'))
        self._check_names('outcomes', values.get('outcomes', ()), OUTCOMES)
        self._check_names('measures', values.get('measures', ()), MEASURES)
        if self.report.failed:
            return None
        entries: SweepEntries = build(SweepEntries, {**values, 'factors': None, 'expressions': None})
        design = self._design(root, entries.design, factors)
        machines = self._machines(root, entries, factors)
        profile = self._profile(root, entries)
        self._times(root, entries, profile)
        if self.report.failed or design is None or not machines:
            return None
        sweep = Sweep(
            entries.name or self.path.stem,
            entries.description,
            machines,
            profile,
            entries.levers,
            entries.joint_positions,
            entries.duration,
            entries.step,
            entries.sample_period,
            design,
            tuple(factor.factor for factor in factors),
            tuple(factor.at('grid' if k in design.varied else design.kind) for k, factor in enumerate(factors)),
            tuple(entries.outcomes),
            tuple(entries.measures),
            expressions,
            entries.record_period,
            self._files(entries),
        )
        NameChecks(self.report, root, sweep).check()
        return None if self.report.failed else sweep

    def _check_names(self, key: str, names: Iterable[str], valid: Iterable[str]) -> None:
        for name in names:
            if name not in valid:
                entry = self.reader.entries[f'{key}.{name}']
                self.report.add(entry.line, entry.path, f'one of {", ".join(valid)}', did_you_mean(name, valid))

    def _expressions(self, listed: object) -> dict[str, Expression]:
        expressions: dict[str, Expression] = {}
        for name, entry in self.reader.named(listed if isinstance(listed, Entry) else None).items():
            if entry.kind not in ('text', 'quoted'):
                self.report.add(entry.line, entry.path, 'an expression', entry.describe())
                continue
            try:
                expressions[name] = parse(entry.text)
            except ExpressionError as error:
                self.report.add(entry.line, entry.path, error.expected, error.actual)
        return expressions

    def _design(self, root: Entry, design: DesignEntry, factors: list[ReadFactor]) -> Design | None:
        entry = root.mapping.get('design', root)
        runs_entry = entry.mapping.get('runs', entry)
        seed = entry.mapping.get('seed', entry)
        if design.seed != int(design.seed) or design.seed >= 2**32:
            self.report.add(seed.line, 'design.seed', 'a whole number below 4294967296', f'{design.seed:g}')
        runs = design.runs
        if design.kind == 'grid':
            if runs is not None:
                self.report.add(runs_entry.line, 'design.runs', 'no number of runs for a grid', f'{runs:g}')
            count = 1
            for factor in factors:
                factor.check_grid(self.report)
                levels = factor.at('grid')
                count *= len(levels.values) if isinstance(levels, Levels) else 1
            runs = float(count)
        elif runs is None:
            self.report.add(entry.line, 'design.runs', f'the number of runs of kind {design.kind}', 'nothing')
            return None
        if runs != int(runs) or runs > MOST_RUNS:
            self.report.add(runs_entry.line, 'design.runs', f'a whole number up to {MOST_RUNS}', f'{runs:g}')
        elif design.kind == 'saltelli':
            self._check_saltelli(runs_entry.line, int(runs), len(factors) + 2)
        varied = self._varied(entry, design, factors)
        if self.report.failed:
            return None
        total = int(runs) * block_of([factors[k].levels for k in varied])
        if total > MOST_RUNS:
            self.report.add(runs_entry.line, 'design.runs', f'at most {MOST_RUNS} runs', f'{total} including `varied`')
            return None
        return Design(design.kind, total, int(design.seed), varied)

    def _varied(self, entry: Entry, design: DesignEntry, factors: list[ReadFactor]) -> tuple[int, ...]:
        """Return the indices of the factors that vary one at a time."""
        names = [factor.factor.name for factor in factors]
        indices = []
        for name in dict.fromkeys(design.varied):
            line = entry.mapping['varied'].line
            if design.kind in ('grid', 'saltelli'):
                self.report.add(line, 'design.varied', 'no varied factors for this kind of design', name)
            elif name not in names:
                self.report.add(line, 'design.varied', 'one of the factors', did_you_mean(name, names))
            elif not factors[names.index(name)].levels:
                self.report.add(line, 'design.varied', 'a factor with values', name)
            else:
                indices.append(names.index(name))
        return tuple(sorted(indices))

    def _check_saltelli(self, line: int, runs: int, block: int) -> None:
        points = runs / block
        if points < 2 or not math.log2(points).is_integer():
            near = 2 ** max(1, round(math.log2(max(points, 1.0))))
            expected = f'{block} (factors and 2 more) times a power of two, such as {block * near}'
            self.report.add(line, 'design.runs', expected, f'{runs}')

    # -- machine and task ---------------------------------------------------------------------------------------------

    def _machines(self, root: Entry, entries: SweepEntries, factors: list[ReadFactor]) -> dict[Level, Machine]:
        """Return the machine at every combination of the values of structural factors."""
        files = self._machine_files(root, entries)
        levels = self._levels(factors)
        if files is None or self.report.failed:
            return {}
        machines: dict[Level, Machine] = {}
        keys = [factor.factor.key for factor in factors if factor.factor.structural]
        for level in levels:
            try:
                machines[level] = load_machine(*files, dict(zip(keys, level)))
            except MachineError as error:
                if not level:
                    self.report.problems.extend(error.problems)
                    break
                entry = next(factor.entry for factor in factors if factor.factor.structural)
                values = ', '.join(f'{key} = {value:g}' for key, value in zip(keys, level))
                self.report.add(entry.line, entry.path, f'a machine with {values}', str(error.problems[0]))
                break
        return machines

    def _levels(self, factors: list[ReadFactor]) -> list[Level]:
        levels: list[Level] = [()]
        for factor in factors:
            if not factor.factor.structural:
                continue
            if not factor.levels:
                expected = 'values, or a count (each value of this key compiles)'
                self.report.add(factor.entry.line, factor.entry.path, expected, 'a continuous range')
                return []
            levels = [(*level, value) for level in levels for value in factor.levels]
            if len(levels) > MOST_LEVELS:
                expected = f'at most {MOST_LEVELS} machines to compile'
                self.report.add(factor.entry.line, factor.entry.path, expected, f'{len(levels)}')
                return []
        return levels

    def _machine_files(self, root: Entry, entries: SweepEntries) -> tuple[Path, Path | None] | None:
        named = not _is_path(entries.machine)
        urdf = self._resource(root, 'machine', entries.machine, 'urdf/{}.urdf' if named else '')
        config = entries.config or (entries.machine if named else '')
        if not config:
            return None if urdf is None else (urdf, None)
        key = 'config' if entries.config else 'machine'
        path = self._resource(root, key, config, '' if config.endswith(YAML) else 'config/{}.yaml')
        return None if urdf is None or path is None else (urdf, path)

    def _files(self, entries: SweepEntries) -> tuple[str, str]:
        """Return URDF and configuration: names of the package, or absolute paths of other files."""
        named = not _is_path(entries.machine)
        urdf = entries.machine if named else str((self.path.parent / entries.machine).resolve())
        config = entries.config or (entries.machine if named else '')
        return urdf, str((self.path.parent / config).resolve()) if config.endswith(YAML) else config

    def _resource(self, root: Entry, key: str, name: str, pattern: str) -> Path | None:
        """Return a file of the package by its name, or a file by its path relative to the sweep's file."""
        entry = root.mapping[key]
        if not pattern:
            path = self.path.parent / name
            if not path.is_file():
                self.report.add(entry.line, key, 'a file', f'none: {name}')
                return None
            return path
        try:
            return find_resource(pattern.format(name))
        except FileNotFoundError as error:
            self.report.add(entry.line, key, f'a name of {pattern.split("/")[0]}/', str(error))
            return None

    def _profile(self, root: Entry, entries: SweepEntries) -> VoltageProfile | None:
        if not entries.task:
            return None
        pattern = '' if entries.task.endswith(YAML) else 'config/tasks/{}.yaml'
        path = self._resource(root, 'task', entries.task, pattern)
        if path is None:
            return None
        try:
            return load_voltage_profile(path, recovery=entries.recovery)
        except TaskError as error:
            self.report.problems.extend(error.problems)
            return None

    def _times(self, root: Entry, entries: SweepEntries, profile: VoltageProfile | None) -> None:
        duration = entries.duration or (profile.duration if profile is not None else 0.0)
        period = root.mapping.get('sample_period', root)
        if not entries.task and entries.duration is None:
            self.report.add(root.line, 'duration', 'a duration (s), or a task', 'neither')
        if not entries.step <= entries.sample_period:
            entry = root.mapping.get('step', period)
            self.report.add(
                entry.line, entry.path, f'a step up to the sample period, {entries.sample_period:g} s', entries.step
            )
        if entries.record_period is not None:
            parts = entries.record_period / entries.sample_period
            if parts < 0.5 or abs(parts - round(parts)) > 1e-9 * parts:
                entry = root.mapping['record_period']
                expected = f'a multiple of the sample period, {entries.sample_period:g} s'
                self.report.add(entry.line, entry.path, expected, f'{entries.record_period:g}')
        if duration / entries.sample_period > MOST_SAMPLES:
            expected = f'at most {MOST_SAMPLES} samples of a run of {duration:g} s'
            self.report.add(period.line, 'sample_period', expected, f'{duration / entries.sample_period:.3g}')


def _is_path(urdf: str) -> bool:
    """Return whether a URDF is specified by its path, not by a name of this package."""
    return '/' in urdf or urdf.endswith(('.urdf', '.xacro'))
