"""Execution of the runs of a sweep by a worker."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes import __version__
from dyn_nodes.analysis.sweeps.factors import Case, case_of
from dyn_nodes.analysis.sweeps.outcomes import OUTCOMES, Cell, Observed, columns_of, signal
from dyn_nodes.analysis.sweeps.sweep import Level, Sweep
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings, System, initial_state
from dyn_nodes.simulation.batches import fill_outputs, run_batch
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.stability.balance import BalanceObserver
from dyn_nodes.stability.observers import balance_observer

SUFFIX = '/voltage'
TOGETHER = 64
"""Greatest number of runs in memory at a time, with all their samples."""
NO_START, NO_TASK = 'no start', 'no task'
"""Further values of the status of `SystemRun`: no equilibrium at the start; the values make the task invalid."""


def inputs_of_actuators(system: System) -> dict[str, str]:
    """Return the inputs of a system by their names in a sweep: the name of an actuator, else the name of the input."""
    return {name.removesuffix(SUFFIX): name for name in system.input_names}


def status_kinds(sweep: Sweep) -> dict[str, str]:
    """Return name -> kind (`flag`, `number`, `text`, `count`) of all columns of a sweep, in their order."""
    factors = {factor.name: 'number' for factor in sweep.factors}
    outcomes = {**columns_of(sweep), **dict.fromkeys(sweep.expressions, 'number')}
    return {'run': 'count', **factors, 'status': 'text', 'end_time': 'number', 'detail': 'text', **outcomes}


def sample_kinds(sweep: Sweep, states: Sequence[str]) -> dict[str, str]:
    """Return name -> kind of all columns of a sweep's dataset, in their order, for a machine with these states."""
    margins = sweep.measures if 'least_margin' in sweep.outcomes else ()
    flags = [name for name, kind in columns_of(sweep).items() if kind == 'flag']
    return {
        'run': 'count',
        'time': 'number',
        **dict.fromkeys(states, 'number'),
        **dict.fromkeys(margins, 'number'),
        **dict.fromkeys(flags, 'flag'),
    }


class Made(NamedTuple):
    """Results of the runs of a part.

    Attributes:
        rows: one tuple per run, in the order of `status_kinds`.
        samples: name -> (n,) columns of the dataset, in the order of `sample_kinds`; None without a dataset.
    """

    rows: list[tuple[Cell, ...]]
    samples: dict[str, Array] | None = None


class Begun(NamedTuple):
    """A run with valid initial state.

    Attributes:
        number: number of the run.  values: (k,) of the factors.  case: case of these values.
        p: (n,) parameters.  start: initial state.  duration: s.
    """

    number: int
    values: tuple[float, ...]
    case: Case
    p: Array
    start: Array
    duration: float


class Trials:
    """Runs of a sweep; a machine is compiled once.

    Args:
        sweep: sweep with at least the machines of these runs.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._systems: dict[Level, System] = {}
        self._observers: dict[Level, BalanceObserver | None] = {}
        self._kept_samples: dict[int, dict[str, Array]] = {}
        self._watch = bool({'lift_off', 'recovered'} & set(sweep.outcomes))

    def system(self, level: Level = ()) -> System:
        """Return the compiled machine of a level."""
        if level not in self._systems:
            self._systems[level] = System(self.sweep.machine(level))
        return self._systems[level]

    def rows(self, first: int, values: Array) -> list[tuple[Cell, ...]]:
        """Execute consecutive runs; return their rows, in the order of `status_kinds`.

        Runs of one machine and one duration are executed together, as far as `batches.takes_lanes` permits. No run
        depends on the others of its batch: any order and any batch size gives the same bytes.

        Args:
            first: number of the first run.
            values: (n, k) of the factors.
        """
        begun, rows = self._begun(first, values)
        for level, duration in dict.fromkeys((other.case.level, other.duration) for other in begun):
            alike = [other for other in begun if (other.case.level, other.duration) == (level, duration)]
            for offset in range(0, len(alike), TOGETHER):
                block = alike[offset : offset + TOGETHER]
                for member, run in zip(block, self._run_together(block)):
                    rows[member.number] = self._made(member, run)
        return [rows[number] for number in sorted(rows)]

    def row(self, number: int, values: Array) -> tuple[Cell, ...]:
        """Execute a run; return its row."""
        return self.rows(number, np.atleast_2d(values))[0]

    def take_samples(self) -> list[dict[str, Array]]:
        """Return the samples of the runs since the last call, in the order of their numbers."""
        samples = [self._kept_samples[number] for number in sorted(self._kept_samples)]
        self._kept_samples.clear()
        return samples

    def _begun(self, first: int, values: Array) -> tuple[list[Begun], dict[int, tuple[Cell, ...]]]:
        """Return the runs that can start, and the rows of all others by number."""
        begun: list[Begun] = []
        rows: dict[int, tuple[Cell, ...]] = {}
        for number, row in enumerate(values, first):
            levels = [float(value) for value in row]
            status = NO_TASK
            try:
                case = case_of(self.sweep.factors, levels, self.sweep.profile)
                status = NO_START
                p, start = self.start(case)
            except (NoEquilibriumError, ValueError) as error:
                rows[number] = (number, *levels, status, float('nan'), str(error), *self._missing_outcomes)
                continue
            begun.append(Begun(number, tuple(levels), case, p, start, self._duration(case)))
        return begun, rows

    def _made(self, begun: Begun, run: SystemRun) -> tuple[Cell, ...]:
        seen = self._seen(begun.case, run)
        cells = self._outcomes(seen)
        if self.sweep.record_period is not None:
            self._kept_samples[begun.number] = self._samples(begun.number, seen, cells)
        return (begun.number, *begun.values, run.status, run.end_time, run.detail, *cells)

    def start(self, case: Case) -> tuple[Array, Array]:
        """Return the parameters and the initial state of a case.

        Raises:
            NoEquilibriumError: the machine has no equilibrium at the initial positions.
            ValueError (also MachineError): constraints cannot be satisfied, or a cylinder is at its dead centre.
        """
        system = self.system(case.level)
        angles = system.machine.slope
        slope = (case.slope.get('roll', angles[0]), case.slope.get('pitch', angles[1]))
        p = system.parameters(case.parameters, slope if case.slope else None)
        return p, initial_state(system, p, {**self.sweep.joints, **case.joints})

    def run(self, case: Case, p: Array, start: Array) -> SystemRun:
        """Return the run of a case with its parameters from its initial state."""
        return self._run_together([Begun(0, (), case, p, start, self._duration(case))])[0]

    def _duration(self, case: Case) -> float:
        """Return the duration of a case, s."""
        if self.sweep.duration is not None:
            return self.sweep.duration
        return case.profile.duration if case.profile else 0.0

    def _run_together(self, block: Sequence[Begun]) -> list[SystemRun]:
        """Return runs of one machine and one duration, on one core."""
        system, sweep = self.system(block[0].case.level), self.sweep
        times = sweep.sample_period * np.arange(max(1, round(block[0].duration / sweep.sample_period)) + 1)
        runs = run_batch(
            system,
            np.array([begun.start for begun in block]),
            times,
            [self._inputs(system, begun.case) for begun in block],
            np.array([begun.p for begun in block]),
            Settings(step=sweep.step, watch=self._watch),
            threads=1,
        )
        fill_outputs(runs)
        return runs

    def _inputs(self, system: System, case: Case) -> Inputs:
        """Return the voltages of the task; voltages of levers replace them."""
        names = inputs_of_actuators(system)
        knots = np.zeros(1) if case.profile is None else case.profile.knot_times
        columns: dict[str, Any] = {}
        if case.profile is not None:
            volts = case.profile.evaluate(knots, tuple(names))
            columns = {names[name]: volts[:, k] for k, name in enumerate(names)}
        for name, held in {**self.sweep.levers, **case.levers}.items():
            columns[names[name]] = np.full(len(knots), held)
        return Inputs(knots, columns)

    @cached_property
    def _missing_outcomes(self) -> tuple[Cell, ...]:
        """Outcomes of a run that cannot start."""
        return tuple(False if kind == 'flag' else float('nan') for kind in self._outcome_kinds.values())

    @cached_property
    def _outcome_kinds(self) -> Mapping[str, str]:
        return {**columns_of(self.sweep), **dict.fromkeys(self.sweep.expressions, 'number')}

    def _observer(self, level: Level) -> BalanceObserver | None:
        if level not in self._observers:
            wanted = 'least_margin' in self.sweep.outcomes
            system = self.system(level)
            self._observers[level] = balance_observer(system, self.sweep.measures) if wanted else None
        return self._observers[level]

    def _seen(self, case: Case, run: SystemRun) -> Observed:
        observer = self._observer(case.level)
        margins = {} if observer is None else observer.course(run.all_outputs, run.parameters[:3])
        contacts = run.system.machine.ground_contacts if self._watch else ()
        loads = [run.output(f'{contact.name}/normal_force') for contact in contacts]
        return Observed(run, margins, np.column_stack([np.empty((len(run.times), 0)), *loads]))

    def _outcomes(self, seen: Observed) -> tuple[Cell, ...]:
        run = seen.run
        cells = [cell for name in OUTCOMES if name in self.sweep.outcomes for cell in OUTCOMES[name].values(seen)]
        results = [
            expression.value(run.times, lambda name: signal(run, name))
            for expression in self.sweep.expressions.values()
        ]
        return (*cells, *results)

    def _samples(self, number: int, seen: Observed, cells: Sequence[Cell]) -> dict[str, Array]:
        """Return the rows of a run in the dataset: its states, its margins, and its flags in each row."""
        every = round((self.sweep.record_period or 0.0) / self.sweep.sample_period)
        run, selected = seen.run, slice(None, None, every)
        times = run.times[selected]
        flags = [(name, cell) for (name, kind), cell in zip(self._outcome_kinds.items(), cells) if kind == 'flag']
        return {
            'run': np.full(len(times), float(number)),
            'time': times,
            **{name: run.states[selected, k] for k, name in enumerate(run.system.state_names)},
            **{name: np.asarray(values)[selected] for name, values in seen.margins.items()},
            **{name: np.full(len(times), float(cell)) for name, cell in flags},
        }


_kept: dict[str, Trials] = {}
"""Trials of the last sweep in this process, with its compiled machines."""
_turn = threading.Lock()
"""A worker of a cluster may have several threads; runs take turns."""


class OtherVersionError(UserError, RuntimeError):
    """A worker has another version of this package than its driver."""


def run_part(identity: str, version: str, sweep: Sweep, first: int, values: Array) -> Made:
    """Return the rows and samples of consecutive runs; this function is sent to other processes.

    Args:
        identity: identity of the whole sweep.
        version: version of the driver's package.
        sweep: sweep with the machines of these runs.
        first: number of the first run.
        values: (n, k) of the factors.

    Raises:
        OtherVersionError: this process has another version.
    """
    if version != __version__:
        raise OtherVersionError(f'expected dyn_nodes {version} on every worker, found {__version__}')
    with _turn:
        trials = _kept.get(identity)
        if trials is None:
            _kept.clear()
            trials = _kept[identity] = Trials(sweep)
        trials.sweep.machines.update(sweep.machines)
        rows = trials.rows(first, values)
        return Made(rows, _stacked(sweep, trials) if sweep.record_period is not None else None)


def _stacked(sweep: Sweep, trials: Trials) -> dict[str, Array]:
    """Return the samples of all runs of a part, by column; empty columns if no run could start."""
    names = sample_kinds(sweep, trials.system(next(iter(sweep.machines))).state_names)
    samples = trials.take_samples()
    return {name: np.concatenate([np.empty(0), *(columns[name] for columns in samples)]) for name in names}
