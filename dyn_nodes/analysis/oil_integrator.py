"""Fixed-step integrator for the two pressures of an actuator, compiled together with its kernels.

At a vanishing pressure drop an orifice is thousands of times faster than everything else, and at a check valve that
opens it becomes so within a step. Explicit and linearly implicit steps chatter there: the pressures are right on
average, their derivatives by a parameter are not. SDIRK2 (Alexander 1977) is of second order and L-stable; Newton's
method solves its stages, and with fixed steps its result is as smooth a function of the parameters as the model.

The text of these functions is compiled inside a generated module, see `dyn_nodes.simulation.drivers`.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from __future__ import annotations


def solve_stage(base, gh, u, p, y, f, J):
    """Solve y = base + gh f(y) from the guess in y (2,); f holds f(y) at the end."""
    rhs_at(y, u, p, f)
    e0, e1 = y[0] - base[0] - gh * f[0], y[1] - base[1] - gh * f[1]
    size = abs(e0) + abs(e1)
    for _ in range(40):
        if not size > 1e-3:  # Pa
            return
        jacobian_at(y, u, p, J)
        a, c, b, d = 1.0 - gh * J[0], -gh * J[1], -gh * J[2], 1.0 - gh * J[3]
        determinant = a * d - b * c
        s0, s1 = (d * e0 - b * e1) / determinant, (a * e1 - c * e0) / determinant
        y0, y1, before = y[0], y[1], size
        factor = 1.0
        for _ in range(12):  # shorter where the step goes over a kink
            y[0], y[1] = y0 - factor * s0, y1 - factor * s1
            rhs_at(y, u, p, f)
            e0, e1 = y[0] - base[0] - gh * f[0], y[1] - base[1] - gh * f[1]
            size = abs(e0) + abs(e1)
            if size < before:
                break
            factor *= 0.5


def run_oil(x, step, substeps, inputs, p, trace):
    """Advance x (2,) through the rows of `inputs` (n, m), linear in between; keep it at every row in `trace` (n, 2).

    Returns False where the numbers ran away.
    """
    if x.shape[0] != 2 or trace.shape[0] < inputs.shape[0] or trace.shape[1] != 2 or inputs.shape[0] < 1:
        raise ValueError('run_oil: expected two pressures, a row of inputs, and a row of the trace for each')
    g = 1.0 - np.sqrt(0.5)
    h = step / substeps
    width = inputs.shape[1]
    u, f, J, y, base = np.empty(width), np.empty(2), np.empty(4), np.empty(2), np.empty(2)
    trace[0, 0], trace[0, 1] = x[0], x[1]
    for row in range(inputs.shape[0] - 1):
        for part in range(substeps):
            for k in range(width):
                u[k] = inputs[row, k] + (part + g) / substeps * (inputs[row + 1, k] - inputs[row, k])
            y[0], y[1] = x[0], x[1]
            solve_stage(x, g * h, u, p, y, f, J)
            base[0], base[1] = x[0] + (1.0 - g) * h * f[0], x[1] + (1.0 - g) * h * f[1]
            for k in range(width):
                u[k] = inputs[row, k] + (part + 1.0) / substeps * (inputs[row + 1, k] - inputs[row, k])
            solve_stage(base, g * h, u, p, y, f, J)
            x[0], x[1] = y[0], y[1]
        if not abs(x[0]) + abs(x[1]) < 1e12:
            return False
        trace[row + 1, 0], trace[row + 1, 1] = x[0], x[1]
    return True
