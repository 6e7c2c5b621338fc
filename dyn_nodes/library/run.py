"""Result of a simulation: columns by name, margins, tables, figures, export to a bag."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.optional import matplotlib, pandas
from dyn_nodes.library.carried import Conditions, State, state_of
from dyn_nodes.library.html import table
from dyn_nodes.library.margins import Margins
from dyn_nodes.library.vectors import checked_name
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES
from dyn_nodes.multibody.base_motion import base_tilt
from dyn_nodes.simulation.run import SystemRun as SystemRun
from dyn_nodes.stability.observers import balance_observer

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded
    from dyn_nodes.viewer.replay import ReplayPage

PICTURES = ('.png', '.svg', '.pdf')
SHOWN = 20
"""Greatest number of events in the table of a notebook."""


class Run:
    """A run, created by `Machine.simulate`.

    Attributes:
        machine: the simulated machine.
        raw: run of the system, with all further results (`dyn_nodes.simulation.SystemRun`).
        times: (t,) sample times up to the end of the run, s.
        conditions: payload and slope of the run.
        x: (t, n) states.
        last: (n,) state at the end, to continue with `simulate(x0=...)`.
        status: `done`, `overturned`, `inaccurate` (a check of the guard failed), `diverged`, `step too small`, or the
            reason why the model ends.
        detail: reason of a status other than `done`, with numbers.
        checks: checks of the guard: energy balance and gaps, measured and allowed values.
        error: bound of the greatest error of positions of a run with `accuracy`; NaN: not estimated.
        events: events in order of time: lift-off and touch-down of wheels, opening relief valves, overturning.
    """

    def __init__(self, machine: Loaded, raw: SystemRun, conditions: Conditions, error: float = np.nan) -> None:
        self.machine, self.raw, self.conditions, self.error = machine, raw, conditions, error
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
        """(t, m) inputs from each sample time on."""
        return self.raw.u

    @property
    def overturned(self) -> bool:
        """True if the run ended because the base tilted beyond the machine's limit."""
        return self.raw.overturned

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns: states, inputs and outputs."""
        system = self.raw.system
        return (*system.state_names, *system.input_names, *system.output_names)

    def __getitem__(self, name: str) -> Array:
        """Return a state, input or output (t,) by name, such as a joint. Raises KeyError with the nearest name."""
        checked_name(self.machine.name, 'column', name, self.names)
        system = self.raw.system
        if name in system.state_names:
            return self.raw.state(name)
        if name in system.input_names:
            return np.asarray(self.u[:, system.index('input', name)])
        return self.raw.output(name)

    @cached_property
    def tilt(self) -> Array:
        """(t,) angle between the z axis of the base and the ground normal, rad."""
        attachment = self.machine.data.base.attachment
        return np.array([base_tilt(attachment, q) for q in self.q])

    @property
    def stands(self) -> bool:
        """True if the machine has a support polygon and therefore margins."""
        return balance_observer(self.raw.system, ()) is not None

    def margins(self, measures: Sequence[str] = DEFAULT_MEASURES) -> Margins:
        """Return tip-over margins by measure and edge, and ground reactions, at every sample.

        Forces come from the simulated ground: springs, dampers and friction, or the constraints of the wheels.

        Args:
            measures: names; see `dyn_nodes.measures`.

        Raises:
            KeyError: no such measure.
            ValueError: a machine without a support polygon.
        """
        for name in measures:
            checked_name(self.machine.name, 'stability measure', name, tuple(MEASURES))
        if tuple(measures) not in self._margins:
            self._margins[tuple(measures)] = self._observed(tuple(measures))
        return self._margins[tuple(measures)]

    def _observed(self, measures: tuple[str, ...]) -> Margins:
        try:
            observer = balance_observer(self.raw.system, measures)
        except KeyError as error:  # a measure that is not defined for so few points
            raise ValueError(f'{self.machine.name}: {error.args[0]}') from None
        if observer is None:
            raise ValueError(f'{self.machine.name}: margins: too few support points for a support polygon')
        gravity = self.raw.parameters[:3]
        balances = [observer.observe(y, gravity) for y in self.raw.all_outputs]
        return Margins(balances, self.times, self.conditions, 'time')

    def to_pandas(self) -> Any:
        """Return a DataFrame over time, s, with one column per state, input and output.

        Raises:
            ImportError: pandas is not installed.
        """
        outputs = self.raw.all_outputs
        values = np.column_stack([self.x, self.u, outputs])
        index = pandas().Index(self.times, name='time')
        return pandas().DataFrame(values, index=index, columns=list(self.names))

    def _repr_html_(self) -> str:
        rows = [(f'{event.time:.3f} s', event.kind, event.details.get('text', '')) for event in self.events[:SHOWN]]
        more = [('', f'{len(self.events) - SHOWN} more', '')] if len(self.events) > SHOWN else []
        return table(('time', 'event', ''), [*rows, *more], repr(self)[1:-1])

    def plot(self, *names: str | Path, path: str | Path | None = None, ax: Any = None) -> Any:
        """Return a figure of joints, tilt, least margins and inputs over time (`matplotlib.figure.Figure`).

        Args:
            *names: states, inputs or outputs to draw over time instead, into `ax`; none: the joints. A single name
                with a suffix .png, .svg or .pdf is `path`.
            path: file to write the figure to: .png, .svg or .pdf; None: no file.
            ax: `matplotlib.axes.Axes` to draw into; they are returned instead of a figure.

        Raises:
            ImportError: Matplotlib is not installed.
            KeyError: no such name.
        """
        matplotlib()
        from dyn_nodes.library.plot import plot_columns, plot_run

        if len(names) == 1 and Path(names[0]).suffix in PICTURES:
            path, names = names[0], ()
        if ax is None and not names:
            return plot_run(self, path)
        columns = [checked_name(self.machine.name, 'column', str(name), self.names) for name in names]
        return plot_columns(self, columns or list(self.machine.joints), path, ax)

    def film(
        self,
        path: str | Path,
        *,
        size: tuple[int, int] = (640, 400),
        rate: float = 12.0,
        speed: float = 1.0,
        camera: str = 'Follow',
        title: str | None = None,
    ) -> Path:
        """Write an animated picture of the machine with its margins, and return its path.

        Args:
            path: file: .gif, .webp or .png.
            size: width and height, pixels.
            rate: pictures a second.
            speed: times real time.
            camera: `Follow`, `Side`, `Front` or `Top`.
            title: text before the time; None: name of the machine.

        Raises:
            ImportError: Pillow or yourdfpy is not installed.
            ValueError: another suffix or camera.
        """
        from dyn_nodes.library.pictures import film_run

        return film_run(self, Path(path), size, rate, speed, camera, title)

    def view(self, port: int = 0, wait: bool = True) -> ReplayPage:
        """Replay the run on a page for a browser, on this computer only; its address is printed.

        Args:
            port: of the page; 0: a free one.
            wait: until Ctrl-C; False: return at once, while a thread plays; `stop()` of the result closes the page.

        Raises:
            ImportError: viser or yourdfpy is not installed.
            OSError: the port is in use.
        """
        from dyn_nodes.library.pictures import view_run

        return view_run(self, port, wait)

    def save(self, path: str | Path) -> Path:
        """Write the run to a file for `read_run`, and return its path.

        The file has times, states, inputs, parameters, events and checks, and the names of the machine's files.

        Args:
            path: of the file, such as `run.npz`.

        Raises:
            FileExistsError: the path exists.
        """
        from dyn_nodes.library.saved import save_run

        return save_run(self, Path(path))

    def save_bag(self, path: str | Path | None = None) -> Path:
        """Write an MCAP bag for ROS 2, PlotJuggler, Foxglove and `dyn-nodes report` into a new directory.

        The topics are the same as in `dynamics_node`: `joint_states`, `odom`, `robot_description`, and for a machine
        with a support polygon `ground_reactions/<wheel>`, `stability/<measure>` and its `edges`.

        Args:
            path: directory; None: name of the machine and local time in the working directory, such as
                `log_loader_2025_01_31-13_45_00`.

        Returns:
            The directory.

        Raises:
            FileExistsError: the path exists.
        """
        from dyn_nodes.library.bag import save_bag

        if path is None:
            path = f'{self.machine.name}_{datetime.now():%Y_%m_%d-%H_%M_%S}'
        return save_bag(self, Path(path))
