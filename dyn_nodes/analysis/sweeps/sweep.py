"""Definition of a sweep: all data on which its runs depend, in a form that other processes can receive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from dyn_nodes import __version__
from dyn_nodes.analysis.sweeps.design import Design, Distribution, Levels
from dyn_nodes.analysis.sweeps.expression import Expression
from dyn_nodes.analysis.sweeps.factors import Factor
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.voltage_profile import VoltageProfile
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine

Level = tuple[float, ...]
LEAST_PART, MOST_PART, PARTS, OF_EIGHT = 16, 1000, 500, 8
"""Least, greatest number of runs of a part; parts of a sweep; lanes of a vector.

A part is a 500th of all runs, within these bounds, and a multiple of eight so that no lane of a vector stays empty. The
size depends on the sweep alone, never on the workers or the processor.
"""


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep.

    Attributes:
        name, description: texts.
        machines: machines by the values of the structural factors; key `()` without structural factors.
        profile: task; None without a task.
        levers: voltage by actuator, V, constant over the run.
        joints: initial joint positions that replace the positions of the machine, rad or m.
        duration: s; None for the duration of the task at its pace.
        step: step of the integrator, s.
        sample_period: period of the samples for outcomes, s.
        design, factors, distributions: values of the runs; factors and distributions have the same order.
        outcomes: names of built-in outcomes.  measures: stability measures of `least_margin`.
        expressions: further outcomes by name.
        record_period: period of the rows of the dataset, s; None without a dataset.
        files: names or paths of URDF and machine YAML. The results do not depend on the paths.
    """

    name: str
    description: str
    machines: dict[Level, Machine]
    profile: VoltageProfile | None
    levers: Mapping[str, float]
    joints: Mapping[str, float]
    duration: float | None
    step: float
    sample_period: float
    design: Design
    factors: tuple[Factor, ...]
    distributions: tuple[Distribution, ...]
    outcomes: tuple[str, ...]
    measures: tuple[str, ...]
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    record_period: float | None = None
    files: tuple[str, str] = ('', '')

    @cached_property
    def values(self) -> Array:
        """Return the values of all runs, (runs, factors)."""
        return self.design.values(self.distributions)

    @property
    def varied(self) -> dict[str, list[float]]:
        """Levels of the factors that vary one at a time, by name, in the order of the factors."""
        pairs = [(self.factors[k].name, self.distributions[k]) for k in self.design.varied]
        return {name: list(levels.values) for name, levels in pairs if isinstance(levels, Levels)}

    @property
    def part_size(self) -> int:
        """Runs of a part; the last one may be shorter."""
        share = -(-self.design.runs // (PARTS * OF_EIGHT)) * OF_EIGHT
        return int(min(MOST_PART, max(LEAST_PART, share)))

    @property
    def parts(self) -> int:
        """Number of parts."""
        return -(-self.design.runs // self.part_size)

    def runs_of(self, part: int) -> range:
        """Return the numbers of the runs of a part."""
        return range(part * self.part_size, min((part + 1) * self.part_size, self.design.runs))

    def machine(self, level: Level = ()) -> Machine:
        """Return the machine at the values of the structural factors, by default at the first ones."""
        return self.machines[level] if level else next(iter(self.machines.values()))

    def for_part(self, part: int) -> tuple[Sweep, Array]:
        """Return the data of a worker: the sweep with the machines of the part only, and the values of its runs."""
        rows = self.values[self.runs_of(part).start : self.runs_of(part).stop]
        structural = [k for k, factor in enumerate(self.factors) if factor.structural]
        levels = dict.fromkeys(tuple(row) for row in rows[:, structural].tolist())
        return replace(self, machines={level: self.machines[level] for level in levels}), rows

    @property
    def definition(self) -> dict[str, Any]:
        """Definition of a run except the values of its factors, as plain data."""
        task = self.profile
        return {
            'files': list(self.files),
            'task': None if task is None else {'duration': task.duration, 'segments': _plain(task)},
            'levers': dict(self.levers),
            'joint_positions': dict(self.joints),
            'duration': self.duration,
            'step': self.step,
            'sample_period': self.sample_period,
            'factors': [asdict(factor) for factor in self.factors],
            'outcomes': list(self.outcomes),
            'measures': list(self.measures),
            'expressions': {name: expression.text for name, expression in self.expressions.items()},
        }

    @cached_property
    def identity(self) -> str:
        """Return a hash of all data on which the results depend."""
        content: dict[str, Any] = {
            'version': __version__,
            'machines': [[list(level), machine_fingerprint(machine)] for level, machine in self.machines.items()],
            'profile': None if self.profile is None else _plain(self.profile),
            'levers': dict(self.levers),
            'joints': dict(self.joints),
            'times': [self.duration, self.step, self.sample_period, self.record_period],
            'design': asdict(self.design),
            'factors': [asdict(factor) for factor in self.factors],
            'distributions': [
                [type(distribution).__name__, asdict(distribution)] for distribution in self.distributions
            ],
            'outcomes': [list(self.outcomes), list(self.measures)],
            'expressions': {name: expression.text for name, expression in self.expressions.items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(task: VoltageProfile) -> list[dict[str, Any]]:
    return [asdict(segment) for segment in task.segments]
