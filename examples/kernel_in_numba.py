"""A loop of your own in machine code around the compiled dynamics: an arm swings freely, semi-implicit Euler."""

import numpy as np
from numba import njit

import dyn_nodes as dn


@njit
def fall(kernel, q, v, tau, p, a, step, count):
    """Advance q and v by `count` steps in place."""
    for _ in range(count):
        kernel(q, v, tau, p, a)
        for k in range(len(v)):
            v[k] += step * a[k]
            q[k] += step * v[k]


def main(count: int = 20_000) -> float:
    """Let an arm swing for 1 s; return the drift of its energy over the kinetic energy."""
    machine = dn.load('arm_a6')
    dynamics, kernel = machine.dynamics(), machine.kernel('forward_dynamics')
    q, v = np.full(len(machine.joints), 0.3), np.zeros(len(machine.joints))
    before = dynamics.energy(q, v)
    fall(kernel.jitted, q, v, np.zeros(len(v)), kernel.parameters, kernel.result(), 1.0 / count, count)
    after = dynamics.energy(q, v)
    drift = float(abs(after.sum() - before.sum()) / after[0])
    print(f'{count} steps; kinetic energy {before[0]:.1f} -> {after[0]:.1f} J, drift of the sum {drift:.1e}')
    return drift


if __name__ == '__main__':
    main()
