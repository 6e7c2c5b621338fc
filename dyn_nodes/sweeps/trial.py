"""Runs of a sweep, one by one: what a worker does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes import __version__
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings, System, initial_state
from dyn_nodes.simulation.run import Run
from dyn_nodes.stability.balance import BalanceObserver, balance_observer
from dyn_nodes.sweeps.factors import Case, case_of
from dyn_nodes.sweeps.outcomes import OUTCOMES, Cell, Observed, columns_of, signal
from dyn_nodes.sweeps.sweep import Level, Sweep

Array = NDArray[np.float64]
SUFFIX = '/voltage'
NO_START, NO_TASK, OVERTURNED = 'no start', 'no task', 'overturned'
"""Status of runs beside those of `Run`: the machine has no equilibrium at the start; the task is none at these values;
the machine overturned, where the run ends."""


def inputs_of_actuators(system: System) -> dict[str, str]:
    """Return the inputs of a system by the names that a sweep has for them: of an actuator, else their own."""
    return {name.removesuffix(SUFFIX): name for name in system.input_names}


def status_kinds(sweep: Sweep) -> dict[str, str]:
    """Return name -> kind (`flag`, `number`, `text`, `count`) of all columns of a sweep, in their order."""
    factors = {own.name: 'number' for own in sweep.factors}
    outcomes = {**columns_of(sweep), **dict.fromkeys(sweep.expressions, 'number')}
    return {'run': 'count', **factors, 'status': 'text', 'end_time': 'number', **outcomes}


class Trials:
    """Runs of a sweep; a machine is compiled once.

    Args:
        sweep: whose runs they are; it needs the machines of these runs alone.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._systems: dict[Level, System] = {}
        self._observers: dict[Level, BalanceObserver | None] = {}
        self._watch = bool({'lift_off', 'recovered'} & set(sweep.outcomes))

    def system(self, level: Level = ()) -> System:
        """Return the compiled machine of a level."""
        if level not in self._systems:
            self._systems[level] = System(self.sweep.machine(level))
        return self._systems[level]

    def row(self, number: int, values: Array) -> tuple[Cell, ...]:
        """Make a run; return its row, in the order of `status_kinds`.

        Args:
            number: of the run.
            values: (k,) of the factors.
        """
        given = [float(value) for value in values]
        try:
            case = case_of(self.sweep.factors, given, self.sweep.profile)
        except ValueError:
            return (number, *given, NO_TASK, float('nan'), *self._nothing)
        try:
            p, start = self.start(case)
        except (NoEquilibriumError, ValueError):
            return (number, *given, NO_START, float('nan'), *self._nothing)
        run = self.run(case, p, start)
        status = OVERTURNED if run.overturned else run.status
        return (number, *given, status, run.end_time, *self._outcomes(case, run))

    def start(self, case: Case) -> tuple[Array, Array]:
        """Return the parameters of a case, and the state from which it starts.

        Raises:
            NoEquilibriumError: the machine cannot rest there.
            ValueError (MachineError among them): constraints that cannot be met, a cylinder at its dead centre.
        """
        system = self.system(case.level)
        own = system.machine.slope
        slope = (case.slope.get('roll', own[0]), case.slope.get('pitch', own[1]))
        p = system.parameters(case.parameters, slope if case.slope else None)
        return p, initial_state(system, p, {**self.sweep.joints, **case.joints})

    def run(self, case: Case, p: Array, start: Array) -> Run:
        """Return the run of a case with its parameters from its start."""
        system, sweep = self.system(case.level), self.sweep
        duration = sweep.duration if sweep.duration is not None else case.profile.duration if case.profile else 0.0
        times = sweep.sample_period * np.arange(max(1, round(duration / sweep.sample_period)) + 1)
        return system.run(start, times, self._inputs(system, case), p, Settings(step=sweep.step, watch=self._watch))

    def _inputs(self, system: System, case: Case) -> Inputs:
        """Return the voltages of the task, and over them those of levers."""
        names = inputs_of_actuators(system)
        knots = np.zeros(1) if case.profile is None else case.profile.knot_times
        columns: dict[str, Any] = {}
        if case.profile is not None:
            volts = case.profile.evaluate(knots, tuple(names))
            columns = {names[own]: volts[:, k] for k, own in enumerate(names)}
        for own, held in {**self.sweep.levers, **case.levers}.items():
            columns[names[own]] = np.full(len(knots), held)
        return Inputs(knots, columns)

    @cached_property
    def _nothing(self) -> tuple[Cell, ...]:
        """Outcomes of a run that cannot begin."""
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

    def _outcomes(self, case: Case, run: Run) -> tuple[Cell, ...]:
        contacts = run.system.machine.ground_contacts if self._watch else ()
        loads = [run.output(f'{own.name}/normal_force') for own in contacts]
        seen = Observed(run, self._observer(case.level), np.column_stack([np.empty((len(run.times), 0)), *loads]))
        cells = [cell for name in OUTCOMES if name in self.sweep.outcomes for cell in OUTCOMES[name].values(seen)]
        found = [own.value(run.times, lambda name: signal(run, name)) for own in self.sweep.expressions.values()]
        return (*cells, *found)


_kept: dict[str, Trials] = {}
"""Of this process: the trials of the last sweep, with its compiled machines."""
_turn = threading.Lock()
"""A worker of a cluster may have several threads; runs take turns."""


class OtherVersionError(RuntimeError):
    """A worker has another version of this package than its driver."""


def run_part(identity: str, version: str, sweep: Sweep, first: int, values: Array) -> list[tuple[Cell, ...]]:
    """Return the rows of consecutive runs: the function that goes to other processes.

    Args:
        identity: of the whole sweep.
        version: of the driver's package.
        sweep: with the machines that these runs need.
        first: number of the first run.
        values: (n, k) of the factors.

    Raises:
        OtherVersionError: this process has another version.
    """
    if version != __version__:
        raise OtherVersionError(f'expected dyn_nodes {version} on every worker, found {__version__}')
    with _turn:
        known = _kept.get(identity)
        if known is None:
            _kept.clear()
            known = _kept[identity] = Trials(sweep)
        known.sweep.machines.update(sweep.machines)
        return [known.row(first + k, row) for k, row in enumerate(values)]
