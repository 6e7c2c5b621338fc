"""Linearization of systems about a state or along a motion, by exact derivatives.

    linearizer = Linearizer(system, outputs=['hook_x', 'boom_joint'])
    model = linearizer.at(x, u, p)                      # about one state
    models = linearizer.along(run, np.linspace(0, 2, 21))

The traced equations are differentiated; at a kink (a closed valve, a wheel that just touches the ground) derivatives
are one-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import near
from dyn_nodes.multibody import Tree, build_tree
from dyn_nodes.simulation.linear.deviations import Choice, Coordinates, Deviations
from dyn_nodes.simulation.linear.model import LinearModel, OperatingPoint
from dyn_nodes.simulation.linear.output_slopes import OutputSlopes, constrained_outputs, tree_outputs

RUN_STATES = ('time', 'work', 'heat')
"""States of a system with constraints that do not describe its motion."""


class Linearizer:
    """Linear models of a system in minimal coordinates.

    Args:
        system: a `System`, with or without constraints.
        outputs: names of outputs or states of the system; None: the positions of its driven joints, or of all joints
            without drives.

    Raises:
        KeyError: unknown output.
        ValueError: a system on rigid ground, whose modes have no common state.
    """

    def __init__(self, system: Any, outputs: Sequence[str] | None = None) -> None:
        if not hasattr(system, 'jacobians'):
            name = system.machine.name
            raise ValueError(f'{name}: expected a system with derivatives of dx/dt, found one on rigid ground')
        self.system = system
        self.blocks = system.blocks
        self.tree: Tree = self.blocks.tree if self.blocks is not None else build_tree(system.machine, system.base)
        self.outputs = tuple(self._driven if outputs is None else outputs)
        valid = {*system.state_names, *system.output_names}
        for name in self.outputs:
            if name not in valid:
                raise KeyError(f'unknown output {name!r}; known: {", ".join(sorted(valid))}{near(name, sorted(valid))}')

    @property
    def _driven(self) -> tuple[str, ...]:
        """Positions of driven joints, or of all joints without drives."""
        joints = [body.name for body in self.tree.bodies if body.kind != 'free']
        named = {name.split('/')[0] for name in self.system.input_names}
        named |= {
            actuator.joint for actuator in getattr(self.system.machine, 'actuators', ()) if actuator.name in named
        }
        return tuple(name for name in joints if name in named) or tuple(joints)

    @cached_property
    def _dropped(self) -> tuple[str, ...]:
        if self.blocks is not None:
            states = self.blocks.element_states
            return (*RUN_STATES, *(state.name for state in states if state.discrete))
        plant = self.system.dynamics.assembly()
        books = (*plant.states.names[plant.book_slice], *plant.states.names[plant.audit_slice])
        return (*books, *(state.name for state in plant.element_states if state.discrete))

    @cached_property
    def coordinates(self) -> Coordinates:
        """Minimal coordinates of the system."""
        return Coordinates(self.tree, self.system.state_names, self.blocks, self._dropped, self._driven)

    @cached_property
    def _slopes(self) -> OutputSlopes:
        build = tree_outputs if self.blocks is None else constrained_outputs
        return build(self.system, [name for name in self.outputs if name not in self.system.state_names])

    @cached_property
    def _scales(self) -> dict[str, float]:
        """Typical magnitudes of states by name, if not 1."""
        return dict(self.system.scales)

    def deviations(
        self, x: ArrayLike, u: ArrayLike | None = None, p: Array | None = None, choice: Choice | None = None
    ) -> Deviations:
        """Return the minimal coordinates of deviations from a state. Raises ValueError if dx/dt is undefined."""
        state, inputs, values = self._vectors(x, u, p)
        return self._deviations(state, inputs, values, self._rate(state, inputs, values), choice)

    def at(
        self,
        x: ArrayLike,
        u: ArrayLike | None = None,
        p: Array | None = None,
        time: float = 0.0,
        choice: Choice | None = None,
    ) -> LinearModel:
        """Return the linear model about a state.

        Args:
            x: (N,) state of the system that satisfies its constraints.
            u: (m,) inputs; None: zero.
            p: (k,) parameters; None: the defaults.
            time: of the point, s.
            choice: independent coordinates to keep; None: the best conditioned.

        Raises:
            ValueError: vectors of another length; a state without dx/dt; an output that the state does not determine.
        """
        state, inputs, values = self._vectors(x, u, p)
        rate = self._rate(state, inputs, values)
        deviations = self._deviations(state, inputs, values, rate, choice)
        by_state, by_input = self.system.jacobians(state, inputs, values)
        A, B = deviations.reduced(by_state, by_input)
        C, D = self._outputs(state, inputs, values)
        scales = np.array([self._scales.get(name, 1.0) for name in deviations.names])
        point = OperatingPoint(state, inputs, values, rate, time)
        names = tuple(self.system.input_names)
        return LinearModel(A, B, C @ deviations.into, D, deviations.names, names, self.outputs, scales, point)

    def along(self, run: Any, times: ArrayLike | None = None) -> list[LinearModel]:
        """Return the linear models at the samples of a run nearest to times, s, all in the same coordinates.

        Raises:
            ValueError: the coordinates of the first sample do not determine the motion at another one.
        """
        wanted = run.times if times is None else np.atleast_1d(np.asarray(times, float))
        samples = [int(np.argmin(np.abs(run.times - time))) for time in wanted]
        inputs = run.inputs.at(run.times[samples], self.system.input_names)
        choice: Choice | None = None
        models = []
        for sample, u in zip(samples, inputs):
            if choice is None:
                choice = self.deviations(run.states[sample], u, run.parameters).choice
            models.append(self.at(run.states[sample], u, run.parameters, float(run.times[sample]), choice))
        return models

    def _vectors(self, x: ArrayLike, u: ArrayLike | None, p: Array | None) -> tuple[Array, Array, Array]:
        state = np.array(x, dtype=np.float64)
        inputs = np.zeros(len(self.system.input_names)) if u is None else np.array(u, dtype=np.float64)
        values = self.system.parameters() if p is None else np.array(p, dtype=np.float64)
        self.system.check(state, inputs, values)
        if not (np.isfinite(state).all() and np.isfinite(inputs).all()):
            raise ValueError(f'{self.system.name}: expected a state at which dx/dt is defined')
        return state, inputs, values

    def _rate(self, x: Array, u: Array, p: Array) -> Array:
        rate = np.asarray(self.system.rhs(x, u, p))
        if not np.isfinite(rate).all():
            raise ValueError(f'{self.system.name}: expected a state at which dx/dt is defined')
        return rate

    def _deviations(self, x: Array, u: Array, p: Array, rate: Array, choice: Choice | None) -> Deviations:
        numbers = None if self.blocks is None else self.system.constraints.numbers(p, x)
        return self.coordinates.at(x, rate, numbers, choice)

    def _outputs(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the derivatives of the outputs by the whole state (l, N) and the inputs (l, m)."""
        C, D = np.zeros((len(self.outputs), len(x))), np.zeros((len(self.outputs), len(u)))
        states = list(self.system.state_names)
        traced = [k for k, name in enumerate(self.outputs) if name not in states]
        for k, name in enumerate(self.outputs):
            if name in states:
                C[k, states.index(name)] = 1.0
        if traced:
            C[traced], D[traced] = self._slopes(x, u, p)
        return C, D


def linearize(
    system: Any,
    x: ArrayLike,
    u: ArrayLike | None = None,
    p: Array | None = None,
    outputs: Sequence[str] | None = None,
) -> LinearModel:
    """Return the linear model of a system about a state; arguments: see `Linearizer` and `Linearizer.at`."""
    return Linearizer(system, outputs).at(x, u, p)
