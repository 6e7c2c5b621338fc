"""Protocols of a loaded machine and of a run, as used by the modules that implement their methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, State
from dyn_nodes.model.machine import Machine as MachineData
from dyn_nodes.simulation.run import SystemRun as SystemRun

if TYPE_CHECKING:
    from dyn_nodes.library.vectors import Coordinates
    from dyn_nodes.simulation import System
    from dyn_nodes.simulation.plant import Plant


class Loaded(Protocol):
    """A loaded machine; see `dyn_nodes.library.machine.Machine`."""

    data: MachineData
    name: str
    conditions: Conditions
    joints: tuple[str, ...]
    driven: tuple[str, ...]
    actuators: tuple[str, ...]

    @property
    def position_names(self) -> tuple[str, ...]:
        """Names of the positions."""

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities."""

    @property
    def coordinates(self) -> tuple[Coordinates, Coordinates]:
        """Positions and velocities that methods of motions accept."""

    @property
    def standings(self) -> Any:
        """Equilibria for `margins` (`dyn_nodes.library.margins.Standings`)."""

    @property
    def idle_plants(self) -> dict[tuple[str, ...], list[Plant]]:
        """Plants by measures that no call uses now."""

    def checked_joints(self, joints: Mapping[str, float] | ArrayLike | None) -> dict[str, float]:
        """Return positions by name within their limits."""

    def posture(
        self,
        joints: Mapping[str, float] | ArrayLike | None = None,
        payload: float | None = None,
        slope: float | tuple[float, float] | None = None,
    ) -> State:
        """Return the positions at rest."""

    def conditions_for(
        self, payload: float | None, slope: float | tuple[float, float] | None, *arrays: Any
    ) -> Conditions:
        """Return payload and slope from the arguments, from a state, or of the machine."""

    def gravity_vector(self) -> tuple[float, float, float]:
        """Return gravity in the ground frame."""

    def system(self, torque: bool = False) -> System:
        """Return the compiled system."""

    def plant(
        self,
        torque: bool = False,
        joints: Mapping[str, float] | ArrayLike | None = None,
        payload: float | None = None,
        slope: float | tuple[float, float] | None = None,
        period: float = 0.01,
        step: float = 1e-3,
        measures: tuple[str, ...] = (),
    ) -> Plant:
        """Return the machine at rest."""

    def resting_plant(
        self,
        torque: bool,
        joints: Mapping[str, float] | ArrayLike | None,
        payload: float,
        slope: tuple[float, float],
        period: float,
        step: float,
    ) -> Plant:
        """Return the machine at rest, which must not be changed."""


class Sampled(Protocol):
    """A run; see `dyn_nodes.library.run.Run`."""

    machine: Loaded
    raw: SystemRun
    times: Array

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> Array: ...

    @property
    def q(self) -> Array:
        """Positions."""

    @property
    def v(self) -> Array:
        """Velocities."""

    @property
    def tilt(self) -> Array:
        """Tilt of the base."""

    @property
    def stands(self) -> bool:
        """True if the machine has margins."""

    def margins(self, measures: Sequence[str] = ...) -> Any:
        """Return margins and ground reactions."""
