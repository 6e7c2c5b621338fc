"""Kernels of the log-loader for one state and in lanes, compared with the limit of the processor.

    python -m benchmarks.floor

Prints for every kernel its operations, divisions and roots, and the time of a call from Python for one state and for
one state per lane, ns, less the time of the smallest kernel: the call. The floor is the longer of two: divisions
and roots at the measured rate of independent ones, and all operations at `ISSUED` a cycle, the cycle
from a chain of dependent integer operations. Times are the least of many short slices.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import casadi as ca
import numba
import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.compile import Tape, compile_functions
from dyn_nodes.compile.lanes import interleaved, lane_count
from dyn_nodes.compile.module import lane_module
from dyn_nodes.model import load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.simulation import System, initial_state
from dyn_nodes.simulation.batches.runs import lane_kernels

ISSUED = 4
"""Arithmetic instructions that a current core issues per cycle."""
KERNELS = ('rhs', 'outputs', 'stiff', 'watch')
DYNAMICS = 'forward_dynamics'
"""Kernel of the rigid bodies alone, with a free base, as in the batches of `bench.py`."""
COUNT, SHORT, LONG = 64, 1, 8
"""Number of independent chains of one operation, and their lengths."""


def least(call: Callable[[], Any], calls: int = 500, slices: int = 200) -> float:
    """Return the least time of a call, ns."""
    return min(timeit.repeat(call, number=calls, repeat=slices)) / calls * 1e9


@numba.njit
def dependent(count: int, x: Any) -> Any:
    """Execute three dependent operations of one cycle each, `count` times."""
    for _ in range(count):
        x = (x ^ (x >> np.uint64(7))) + np.uint64(0x9E3779B97F4A7C15)
    return x


def cycle() -> float:
    """Return the time of a cycle, ns."""
    dependent(10, np.uint64(3))
    return least(lambda: dependent(10_000, np.uint64(3)), 10) / 30_000


def rates(lanes: int) -> tuple[float, float]:
    """Return the times of a division and of a root, each of `lanes` numbers and one of many independent ones, ns."""
    x, y = ca.SX.sym('x', COUNT), ca.SX.sym('y', COUNT)
    functions = {}
    for name, act in (('div', lambda a, b: a / b), ('sqrt', lambda a, b: ca.sqrt(a))):
        for length in (SHORT, LONG):
            columns = []
            for k in range(COUNT):
                value = x[k]
                for step in range(length):
                    value = act(value, y[(k + step) % COUNT])
                columns.append(value)
            functions[f'{name}{length}'] = ca.Function('f', [x, y], [ca.vertcat(*columns)])
    module = compile_functions('floor', functions)
    if lanes > 1:
        module = lane_module(module, tuple(functions), lanes)
    operands = [np.linspace(1.0, 2.0, COUNT * lanes) for _ in range(2)]
    out = np.empty(COUNT * lanes)
    times = {name: least(lambda name=name: getattr(module, name)(*operands, out)) for name in functions}
    values = [(times[f'{name}{LONG}'] - times[f'{name}{SHORT}']) / COUNT / (LONG - SHORT) for name in ('div', 'sqrt')]
    return values[0], values[1]


def arguments(system: System, kernel: str, tape: Tape) -> list[np.ndarray]:
    """Return a state, inputs and parameters as a kernel takes them, and an array for its results."""
    p = system.parameters()
    x, u = initial_state(system, p), np.ones(len(system.input_names))
    if kernel == 'stiff':
        u = np.concatenate([u, x[system.module.meta['stiff']], [1e-3]])
    return [*(x, u, p)[: len(tape.inputs)], np.empty(tape.outputs[0])]


def seconds(call: Callable[..., Any], inputs: list[np.ndarray], lanes: int) -> float:
    """Return the time of a call of a kernel, ns."""
    wide = [interleaved(np.tile(item, (lanes, 1)), lanes) for item in inputs]
    return least(lambda: call(*wide))


def main() -> None:
    """Print the table."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    system, bodies = System(machine), RigidBodyModel(machine)
    tapes = {name: Tape.load(system.module.directory / f'{name}.npz') for name in (*KERNELS, 'guard')}
    inputs = {name: arguments(system, name, tape) for name, tape in tapes.items()}
    tapes[DYNAMICS] = Tape.load(bodies.kernels.directory / f'{DYNAMICS}.npz')
    q, rest = np.concatenate([np.zeros(6), np.ones(bodies.nq - 6)]), np.ones(bodies.nv)
    inputs[DYNAMICS] = [q, rest, rest, bodies.parameters(payload=0.0), np.empty(bodies.nv)]
    wide = lane_count()
    one = cycle()
    print(f'a cycle {one:.3f} ns')
    for lanes, module, dynamics in (
        (1, system.module, bodies.kernels),
        (wide, lane_kernels(system.module), lane_module(bodies.kernels, (DYNAMICS,), wide)),
    ):
        division, root = rates(lanes)
        call = seconds(module.guard, inputs['guard'], lanes)
        print(f'{lanes} lanes: a division {division / one:.1f}, a root {root / one:.1f} cycles; the call {call:.0f} ns')
        for name in (*KERNELS, DYNAMICS):
            tape, codes = tapes[name], tapes[name].code[:, 0]
            divisions, roots = int(np.isin(codes, (ca.OP_DIV, ca.OP_INV)).sum()), int((codes == ca.OP_SQRT).sum())
            floor = max(tape.operations / ISSUED * one, divisions * division + roots * root)
            time = seconds(getattr(dynamics if name == DYNAMICS else module, name), inputs[name], lanes) - call
            print(
                f'  {name:16s} {tape.operations:5d} operations, {divisions:3d} divisions, {roots:2d} roots: '
                f'{time:4.0f} ns, {time / lanes:4.0f} a state, floor {floor:4.0f} ns, {time / floor:.1f} times'
            )


if __name__ == '__main__':
    main()
