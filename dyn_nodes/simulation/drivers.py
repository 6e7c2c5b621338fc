"""Integrators, compiled together with a plant's kernels: the whole step, the whole run, is machine code.

The text of these functions is compiled inside a generated module, where `rhs_at`, `guard_at` and `jacobian_at` are the
plant's kernels, which check the lengths of their arguments at every call. They are no Python to be called from here.
What no kernel sees, the rows of tables and traces, is checked where a run begins; a wrong one raises ValueError.

A first start compiles them, so they avoid what is slow to compile. A slice that is assigned brings along the text of
its error about shapes: `copy` and `keep` are loops. A literal that is handed to a function compiles that function once
for the literal and once for the variable: counters begin with `np.int64(0)`. Together a third of the time.

Inputs are a piecewise-linear table: `knots` (k,) times, rising, and `table` (k, nu); before the first and after the
last knot the end values hold. A run ends with a status: 0 done, 1 diverged (a state is not finite or beyond 1e15),
2 the guard fell below its limit, 3 the step became too small.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from __future__ import annotations

DONE, DIVERGED, GUARDED, STEP_TOO_SMALL = 0, 1, 2, 3
STATUS = ('done', 'diverged', 'guarded', 'step too small')


def table_input(t, knots, table, cursor, u):
    """Write the inputs at time t to u; return the knot interval found, to start from next time."""
    last = knots.shape[0] - 1
    while cursor < last and t >= knots[cursor + 1]:
        cursor += 1
    while cursor > 0 and t < knots[cursor]:
        cursor -= 1
    if cursor >= last or t <= knots[cursor]:
        for k in range(u.shape[0]):
            u[k] = table[cursor, k]
    else:
        s = (t - knots[cursor]) / (knots[cursor + 1] - knots[cursor])
        for k in range(u.shape[0]):
            u[k] = table[cursor, k] + s * (table[cursor + 1, k] - table[cursor, k])
    return cursor


def check_run(x, knots, table, rows, trace):
    """Demand a row of inputs a knot, and room for `rows` states: nothing else looks at these lengths."""
    if knots.shape[0] < 1 or table.shape[0] != knots.shape[0]:
        raise ValueError('inputs: expected as many rows of the table as knots, and one at least')
    if rows > 0 and (trace.shape[0] < rows or trace.shape[1] != x.shape[0]):
        raise ValueError('trace: expected a row a sample and a column a state')


def sound(x):
    """Tell whether every state is a finite number of sensible size."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * 0.0
        if abs(x[k]) > 1e15:
            return False
    return total == 0.0


def copy(x, y):
    """Write x to y."""
    for i in range(x.shape[0]):
        y[i] = x[i]


def keep(x, trace, row):
    """Write x to a row of the trace."""
    for i in range(x.shape[0]):
        trace[row, i] = x[i]


NO_SWITCHES = """

@njit(cache=True)
def after_step(x, u, p, y):
    pass
"""
"""`after_step` of a plant without discrete states."""


def after_step(x, u, p, y):
    """Replace the discrete states, which are constant within a step."""
    switch_at(x, u, p, y)
    copy(y, x)


def run_rk4(x, t0, h, steps, knots, table, p, guard_limit, stride, trace):
    """Advance x in place by `steps` classical Runge-Kutta steps; keep every `stride`-th state in `trace`.

    Returns (status, steps taken).
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    n = x.shape[0]
    k1, k2, k3, k4, y = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard = np.empty(table.shape[1]), np.empty(1)
    cursor = np.int64(0)
    half, sixth = 0.5 * h, h / 6.0
    cursor = table_input(t0, knots, table, cursor, u)
    for step in range(steps):
        t = t0 + step * h
        rhs_at(x, u, p, k1)
        for i in range(n):
            y[i] = x[i] + half * k1[i]
        cursor = table_input(t + half, knots, table, cursor, u)
        rhs_at(y, u, p, k2)
        for i in range(n):
            y[i] = x[i] + half * k2[i]
        rhs_at(y, u, p, k3)
        for i in range(n):
            y[i] = x[i] + h * k3[i]
        cursor = table_input(t0 + (step + 1) * h, knots, table, cursor, u)
        rhs_at(y, u, p, k4)
        for i in range(n):
            x[i] += sixth * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
        if not sound(x):
            return 1, step + 1
        after_step(x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        guard_at(x, guard)
        if guard[0] < guard_limit:
            return 2, step + 1
    return 0, steps


def single_step(x, t, end, h, knots, table, p, u, k, y, twice, out):
    """Write the state after the step of `run_rk4` from x at t to out; u holds the inputs at its end then."""
    n = x.shape[0]
    half, sixth = 0.5 * h, h / 6.0
    cursor = np.int64(0)
    for i in range(n):
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        cursor = table_input(end if stage == 3 else t if stage == 0 else t + half, knots, table, cursor, u)
        rhs_at(y, u, p, k)
        reach = half if stage < 2 else h
        for i in range(n):
            if stage == 0:
                out[i] = k[i]
            elif stage == 1:
                twice[i] = k[i]
            elif stage == 2:
                twice[i] += k[i]
            else:
                out[i] = x[i] + sixth * (out[i] + 2.0 * twice[i] + k[i])
            y[i] = x[i] + reach * k[i]


def watch_step(x, t, h, knots, table, p, u, k, y, twice, trial, values, positive, found, count):
    """Find what a step from x at t has passed; `values` are those of the watch at its end. Returns the new count."""
    watches = positive.shape[0]
    crossed = 0
    for j in range(watches):
        if (values[j] > 0.0) != positive[j]:
            crossed += 1
    if crossed == 0:
        return count
    inside = np.empty(values.shape[0])
    for j in range(watches):
        now = values[j] > 0.0
        if now == positive[j]:
            continue
        low, high, before, after = 0.0, 1.0, 0.0, values[watches + j]
        for _ in range(34):  # a step of 1 ms is then known to 6e-14 s
            middle = 0.5 * (low + high)
            single_step(x, t, t + middle * h, middle * h, knots, table, p, u, k, y, twice, trial)
            watch_at(trial, u, p, inside)
            if (inside[j] > 0.0) == now:
                high, after = middle, inside[watches + j]
            else:
                low, before = middle, inside[watches + j]
        if count < found.shape[0]:
            found[count, 0] = j
            found[count, 1] = t + high * h
            found[count, 2] = 1.0 if now else 0.0
            # on the near side, where a damper that has just touched has not yet been felt
            found[count, 3] = before if low > 0.0 else after
        count += 1
        positive[j] = now
    return count


def run_rk4_watched(x, t0, h, steps, knots, table, p, guard_limit, stride, trace, positive, found):
    """Do what `run_rk4` does, and watch: see `events`. `positive` (w,) are the signs up to now.

    Returns (status, steps taken, events found); as many of them as there is room for stand in `found`.
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    if found.shape[1] != 4:
        raise ValueError('found: expected four columns')
    n = x.shape[0]
    k, y, twice, trial, before = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard, values = np.empty(table.shape[1]), np.empty(1), np.empty(2 * positive.shape[0])
    count = np.int64(0)
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        copy(x, before)
        single_step(before, t, end, h, knots, table, p, u, k, y, twice, x)
        if not sound(x):
            return 1, step + 1, count
        watch_at(x, u, p, values)
        count = watch_step(before, t, h, knots, table, p, u, k, y, twice, trial, values, positive, found, count)
        table_input(end, knots, table, np.int64(0), u)
        after_step(x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        guard_at(x, guard)
        if guard[0] < guard_limit:
            return 2, step + 1, count
    return 0, steps, count


def error_norm(error, x, y, rtol, atol):
    """Root mean square of the error, each component in units of its tolerance."""
    total = 0.0
    for i in range(x.shape[0]):
        scale = atol[i] + rtol * max(abs(x[i]), abs(y[i]))
        total += (error[i] / scale) ** 2
    return np.sqrt(total / x.shape[0])


def run_dopri5(x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace):
    """Advance x in place through `times` by Dormand and Prince's 5(4) pair; keep the states at `times` in `trace`.

    Returns (status, number of times reached, steps accepted, steps rejected).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    n = x.shape[0]
    k = np.empty((7, n))
    y, error = np.empty(n), np.empty(n)
    u, guard = np.empty(table.shape[1]), np.empty(1)
    t, h = times[0], h0
    keep(x, trace, np.int64(0))
    cursor = table_input(t, knots, table, np.int64(0), u)
    rhs_at(x, u, p, k[0])
    accepted, rejected = 0, 0
    for target in range(1, times.shape[0]):
        while t < times[target]:
            remaining = times[target] - t
            step = min(h, remaining)
            last = step >= remaining * (1.0 - 1e-12)
            for stage in range(1, 7):
                for i in range(n):
                    s = 0.0
                    for j in range(stage):
                        s += DOPRI_A[stage, j] * k[j, i]
                    y[i] = x[i] + step * s
                cursor = table_input(t + DOPRI_C[stage] * step, knots, table, cursor, u)
                rhs_at(y, u, p, k[stage])
            for i in range(n):
                s = 0.0
                for j in range(7):
                    s += DOPRI_E[j] * k[j, i]
                error[i] = step * s
            norm = error_norm(error, x, y, rtol, atol)
            if norm <= 1.0:
                accepted += 1
                t = times[target] if last else t + step
                for i in range(n):
                    x[i] = y[i]
                    k[0, i] = k[6, i]
                if not sound(x):
                    return 1, target, accepted, rejected
                guard_at(x, guard)
                if guard[0] < guard_limit:
                    return 2, target, accepted, rejected
            else:
                rejected += 1
            if not norm >= 0.0:
                norm = 1e6
            factor = 0.9 * max(norm, 1e-10) ** -0.2
            grown = step * min(5.0, max(0.2, factor))
            h = grown if norm > 1.0 or not last else max(h, grown)
            if h < hmin:
                return 3, target, accepted, rejected
        keep(x, trace, target)
    return 0, times.shape[0], accepted, rejected


def factorize(matrix, order):
    """Replace a square matrix by its factors L and U, rows exchanged as `order` says; False where it is singular.

    Crout's scheme with row pivoting. NaN makes a pivot that is not positive, so it counts as singular too.
    """
    n = matrix.shape[0]
    for k in range(n):
        order[k] = k
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 0.0:
            return False
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, n):
            factor = matrix[i, k] * inverse
            matrix[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    matrix[i, j] -= factor * matrix[k, j]
    return True


def substitute(matrix, order, right, result):
    """Solve for `result` with the factors that `factorize` left."""
    n = matrix.shape[0]
    for i in range(n):
        s = right[order[i]]
        for j in range(i):
            s -= matrix[i, j] * result[j]
        result[i] = s
    for i in range(n - 1, -1, -1):
        s = result[i]
        for j in range(i + 1, n):
            s -= matrix[i, j] * result[j]
        result[i] = s / matrix[i, i]


def run_rodas3(x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace):
    """Advance x in place through `times` by the L-stable Rosenbrock method RODAS3 (order 3(2)) with the exact Jacobian.

    The inputs' time dependence enters through df/dt by a difference along the table.
    Returns (status, number of times reached, steps accepted, steps rejected).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    n = x.shape[0]
    k = np.empty((4, n))
    y, f, ft, error, right = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    flat, matrix, order = np.empty(n * n), np.empty((n, n)), np.empty(n, np.int64)
    u, v, guard = np.empty(table.shape[1]), np.empty(table.shape[1]), np.empty(1)
    t, h = times[0], h0
    keep(x, trace, np.int64(0))
    cursor = np.int64(0)
    accepted, rejected = 0, 0
    for target in range(1, times.shape[0]):
        while t < times[target]:
            remaining = times[target] - t
            step = min(h, remaining)
            last = step >= remaining * (1.0 - 1e-12)
            cursor = table_input(t, knots, table, cursor, u)
            rhs_at(x, u, p, f)
            jacobian_at(x, u, p, flat)
            cursor = table_input(t + step, knots, table, cursor, v)
            rhs_at(x, v, p, ft)
            for i in range(n):
                ft[i] = (ft[i] - f[i]) / step
                for j in range(n):
                    matrix[i, j] = -flat[j * n + i]
                matrix[i, i] += 2.0 / step
            stages = 4 if factorize(matrix, order) else 0
            for stage in range(stages):
                if stage > 1:
                    for i in range(n):
                        s = x[i]
                        for j in range(stage):
                            s += RODAS_A[stage, j] * k[j, i]
                        y[i] = s
                    cursor = table_input(t + step, knots, table, cursor, v)
                    rhs_at(y, v, p, f)
                for i in range(n):
                    s = 0.0
                    for j in range(stage):
                        s += RODAS_C[stage, j] * k[j, i]
                    right[i] = f[i] + s / step + step * RODAS_G[stage] * ft[i]
                substitute(matrix, order, right, k[stage])
            for i in range(n):
                y[i] = x[i] + 2.0 * k[0, i] + k[2, i] + k[3, i]
                error[i] = k[3, i]
            norm = error_norm(error, x, y, rtol, atol) if stages == 4 else np.inf
            if norm <= 1.0:
                accepted += 1
                t = times[target] if last else t + step
                for i in range(n):
                    x[i] = y[i]
                if not sound(x):
                    return 1, target, accepted, rejected
                guard_at(x, guard)
                if guard[0] < guard_limit:
                    return 2, target, accepted, rejected
            else:
                rejected += 1
            if not norm >= 0.0:
                norm = 1e6
            grown = step * min(5.0, max(0.2, 0.9 * max(norm, 1e-10) ** (-1.0 / 3.0)))
            h = grown if norm > 1.0 or not last else max(h, grown)
            if h < hmin:
                return 3, target, accepted, rejected
        keep(x, trace, target)
    return 0, times.shape[0], accepted, rejected


COMMON = (table_input, check_run, sound, copy, keep)
"""What every driver calls."""
CONSTANTS = """
DOPRI_C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
DOPRI_A = np.array([
    [0, 0, 0, 0, 0, 0],
    [1 / 5, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
])
DOPRI_E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
RODAS_A = np.array([[0, 0, 0], [0, 0, 0], [2.0, 0, 0], [2.0, 0, 1.0]])
RODAS_C = np.array([[0, 0, 0], [4.0, 0, 0], [1.0, -1.0, 0], [1.0, -1.0, -8 / 3]])
RODAS_G = np.array([0.5, 1.5, 0.0, 0.0])
"""
