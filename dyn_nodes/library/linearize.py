"""Linear models of a machine about a state, a posture at rest, or the posture of its machine YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.carried import Conditions, are_assumed, not_at_rest, warn
from dyn_nodes.library.motion import motion_of, starts
from dyn_nodes.library.notice import shown
from dyn_nodes.library.vectors import by_name, rows_of

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded
    from dyn_nodes.simulation import System
    from dyn_nodes.simulation.linear import LinearModel


def linear_model(
    machine: Loaded,
    x: ArrayLike | None,
    u: ArrayLike | Mapping[str, float] | None,
    outputs: Sequence[str] | None,
    torque: bool,
    payload: float | None,
    slope: float | tuple[float, float] | None,
) -> LinearModel:
    """Return a linear model; arguments and errors as for `Machine.linearize`."""
    from dyn_nodes.simulation.linear import Linearizer

    system, conditions = machine.system(torque), machine.conditions_for(payload, slope, x)
    plant = machine.plant(torque, payload=conditions.payload, slope=conditions.slope)
    p = plant.p
    if x is None:
        state = plant.x
    elif np.shape(x) == (len(system.state_names),):
        state = rows_of(machine.name, 'x', x, system.state_names)
    elif np.shape(x) in ((system.nq,), (len(machine.joints),)):
        state = _resting(machine, system, x, conditions)
    else:
        sizes = f'({len(system.state_names)},), or ({system.nq},) of positions, or ({len(machine.joints)},) of joints'
        raise ValueError(f'{machine.name}: x: expected shape {sizes}; found {np.shape(x)}')
    with shown('linear model'):
        linearizer, inputs = Linearizer(system, outputs), _inputs(machine, system, state, u, p)
        if x is not None and are_assumed(payload, slope, x) and starts(system, state, inputs, p):
            warn(not_at_rest(machine.name, 'x', conditions))
        return linearizer.at(state, inputs, p)


def _resting(machine: Loaded, system: System, q: ArrayLike, conditions: Conditions) -> Array:
    """Return the state at rest with specified joint positions, and with the base pose of q if q contains one."""
    payload, slope, _ = conditions
    motion = motion_of(machine, q, None, None, payload, slope)
    joints = {name: float(motion.q[0, machine.position_names.index(name)]) for name in machine.joints}
    plant = machine.plant(system.actuation == 'effort', joints, payload, slope)
    state = plant.x.copy()
    if not motion.standing:
        state[: system.nq] = motion.q[0]
    return state


def _inputs(machine: Loaded, system: System, x: Array, u: ArrayLike | Mapping[str, float] | None, p: Array) -> Array:
    """Return inputs (m,) from `u`; None: efforts that hold the joints, and closed valves."""
    names = system.input_names
    result = np.zeros(len(names))
    if isinstance(u, Mapping):
        numbers = by_name(machine.name, 'u', {_full(names, key): value for key, value in u.items()}, names, 'input')
        for name, value in numbers.items():
            result[system.index('input', name)] = value
        return result
    if u is not None:
        return rows_of(machine.name, 'u', u, names)
    efforts = [k for k, name in enumerate(names) if name.endswith('/effort')]
    if not efforts:
        return result
    rates = [system.index('state', f'{names[k].removesuffix("/effort")}_rate') for k in efforts]
    still = x.copy()
    still[system.nq : system.nq + system.nv] = 0.0
    slopes = system.jacobians(still, result, p)[1][np.ix_(rates, efforts)]
    result[efforts] = np.linalg.lstsq(slopes, -system.rhs(still, result, p)[rates], rcond=1e-9)[0]
    return result


def _full(names: Sequence[str], key: str) -> str:
    """Return the full name of the input of an actuator or joint; other names unchanged."""
    return next((name for name in names if name.rpartition('/')[0] == key), key)
