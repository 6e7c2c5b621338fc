"""A run of a machine: columns by name, margins, tables, pictures, a bag."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, State, state_of
from dyn_nodes.library.margins import Margins
from dyn_nodes.library.optional import matplotlib, pandas
from dyn_nodes.library.vectors import known_name
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES
from dyn_nodes.multibody.base_motion import base_tilt
from dyn_nodes.simulation.run import Run as SystemRun
from dyn_nodes.stability.observers import balance_observer

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded


class Run:
    """A run, made by `Machine.simulate`.

    Attributes:
        machine: whose it is.
        raw: the run of its system, with everything else (`dyn_nodes.simulation.Run`).
        times: (t,) of the samples, s; they end where the run does.
        conditions: payload and slope under which it ran.
        x: (t, n) states.
        last: (n,) state at the very end, to go on from by `simulate(x0=...)`.
        status: `done`, `overturned`, `inaccurate` (it failed a check of its guard), `diverged`, `step too
            small`, or why the model ends there.
        detail: reason of a status other than `done`, with numbers.
        checks: of the guard: energy balance and gaps, with what was measured and what is allowed.
        events: what happened, in the order of time: wheels that lift and touch down, reliefs that open, overturning.
    """

    def __init__(self, machine: Loaded, raw: SystemRun, conditions: Conditions) -> None:
        self.machine, self.raw, self.conditions = machine, raw, conditions
        self.times, self.x, self.last = raw.times, state_of(raw.states, conditions), state_of(raw.last, conditions)
        self.status, self.detail, self.checks, self.events = raw.status, raw.detail, raw.checks, tuple(raw.events)
        self._margins: dict[tuple[str, ...], Margins] = {}

    def __repr__(self) -> str:
        name, samples = self.machine.name, f'{len(self.times)} samples'
        return f'<run of {name}: {self.times[-1]:g} s, {samples}, {self.status}; {self.conditions}>'

    def __len__(self) -> int:
        return len(self.times)

    @property
    def q(self) -> State:
        """(t, nq) positions."""
        return state_of(self.raw.q, self.conditions)

    @property
    def v(self) -> Array:
        """(t, nv) velocities."""
        return self.raw.v

    @property
    def u(self) -> Array:
        """(t, m) inputs that act from each time on."""
        return self.raw.u

    @property
    def overturned(self) -> bool:
        """True where the base tilted beyond the machine's limit, which ends a run."""
        return self.raw.overturned

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns: states, inputs and outputs."""
        system = self.raw.system
        return (*system.state_names, *system.input_names, *system.output_names)

    def __getitem__(self, name: str) -> Array:
        """Return a state, input or output (t,) by name, such as a joint's. Raises KeyError with the nearest name."""
        known_name(self.machine.name, 'column', name, self.names)
        system = self.raw.system
        if name in system.state_names:
            return self.raw.state(name)
        if name in system.input_names:
            return np.asarray(self.u[:, system.index('input', name)])
        return self.raw.output(name)

    @cached_property
    def tilt(self) -> Array:
        """(t,) angle between the base's z axis and the normal of the ground, rad."""
        attachment = self.machine.data.base.attachment
        return np.array([base_tilt(attachment, q) for q in self.q])

    @property
    def stands(self) -> bool:
        """True where the machine has a support polygon, and so margins."""
        return balance_observer(self.raw.system, ()) is not None

    def margins(self, measures: Sequence[str] = DEFAULT_MEASURES) -> Margins:
        """Return tip-over margins by measure and edge, and ground reactions, at every sample.

        The forces are those of the simulated ground: springs, dampers and friction, or the constraints of the wheels.

        Args:
            measures: names; see `dyn_nodes.measures`.

        Raises:
            KeyError: no such measure.
            ValueError: a machine without a support polygon.
        """
        for name in measures:
            known_name(self.machine.name, 'stability measure', name, tuple(MEASURES))
        if tuple(measures) not in self._margins:
            self._margins[tuple(measures)] = self._observed(tuple(measures))
        return self._margins[tuple(measures)]

    def _observed(self, measures: tuple[str, ...]) -> Margins:
        try:
            observer = balance_observer(self.raw.system, measures)
        except KeyError as error:  # a measure that is not defined on so few points
            raise ValueError(f'{self.machine.name}: {error.args[0]}') from None
        if observer is None:
            raise ValueError(f'{self.machine.name}: margins: it stands on too few points to have a support polygon')
        gravity = self.raw.parameters[:3]
        balances = [observer.observe(y, gravity) for y in self.raw.all_outputs]
        return Margins(balances, self.times, self.conditions, 'time')

    def to_pandas(self) -> Any:
        """Return a DataFrame over time, s, with a column a state, input and output. Raises ImportError."""
        outputs = self.raw.all_outputs
        values = np.column_stack([self.x, self.u, outputs])
        index = pandas().Index(self.times, name='time')
        return pandas().DataFrame(values, index=index, columns=list(self.names))

    def plot(self, path: str | Path | None = None) -> Any:
        """Return a figure of joints, tilt, least margins and inputs over time (`matplotlib.figure.Figure`).

        Args:
            path: also write it there: .png, .svg or .pdf.

        Raises:
            ImportError: Matplotlib is not installed.
        """
        matplotlib()
        from dyn_nodes.library.plot import plot_run

        return plot_run(self, path)

    def save_bag(self, path: str | Path | None = None) -> Path:
        """Write a bag that ROS 2, PlotJuggler, Foxglove and `dyn-nodes report` read: a new directory, MCAP.

        Topics are those of `dynamics_node`: `joint_states`, `odom`, `robot_description`, and where the machine stands,
        `ground_reactions/<wheel>`, `stability/<measure>` and its `edges`.

        Args:
            path: of the directory; None: name of the machine and local time in the working directory, as
                `log_loader_2025_01_31-13_45_00`.

        Returns:
            The directory.

        Raises:
            FileExistsError: there is something of that name.
        """
        from dyn_nodes.library.bag import save_bag

        if path is None:
            path = f'{self.machine.name}_{datetime.now():%Y_%m_%d-%H_%M_%S}'
        return save_bag(self, Path(path))
