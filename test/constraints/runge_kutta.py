"""Classical Runge-Kutta steps of a constrained system, an independent integrator for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np

from dyn_nodes.constraints import ConstraintBlocks


def runge_kutta(
    system: ConstraintBlocks,
    q: np.ndarray,
    v: np.ndarray,
    acceleration: Callable[[float, np.ndarray, np.ndarray], np.ndarray],
    step: float,
    steps: int,
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield time, q and v at the start and after every step; the quaternion of the free first body stays unit."""
    rate = ca.Function('rate', [system.q, system.v], [system.state.position_rate])

    def derivative(t, q, v):
        return np.array(rate(q, v)).ravel(), acceleration(t, q, v)

    q, v = q.copy(), v.copy()
    yield 0.0, q, v
    for k in range(steps):
        t = k * step
        k1 = derivative(t, q, v)
        k2 = derivative(t + 0.5 * step, q + 0.5 * step * k1[0], v + 0.5 * step * k1[1])
        k3 = derivative(t + 0.5 * step, q + 0.5 * step * k2[0], v + 0.5 * step * k2[1])
        k4 = derivative(t + step, q + step * k3[0], v + step * k3[1])
        q, v = (x + step / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i, x in enumerate((q, v)))
        q[3:7] /= np.linalg.norm(q[3:7])
        yield t + step, q, v
