"""Kernels of the permissible payload: edges, joints and grip for many postures and slew angles.

Forces are linear in gravity and in the accelerations of a stop, and a slew joint turns the part of the machine above it
as a whole. A posture is therefore described by six columns: the forces of gravity of 1 m/s2 along x, y and z, of the
arm's stop, of the slew's stop and of the slew's speed, in axes that turn with the slew; one set without payload
(`unloaded`) and one for each kilogram of it (`per_kg`).
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.stability._kernels import kernel

COLUMNS, ARM, SLEW, SPIN = 6, 3, 4, 5
"""Number of columns of a posture, and the indices of the columns of arm stop, slew stop and slew speed."""
FLAT = 1e-9
"""Effort per kilogram below which a joint does not carry the payload, N m/kg or N/kg."""
INSIDE = 1.0 - 1e-9
"""Greatest square of the friction use of a wheel that certainly holds."""


@kernel
def standing_payload(pressing, per_kg):
    """Return the payload at which an edge is relieved, kg; inf if none does, 0 if it is relieved without payload."""
    if pressing <= 0.0:
        return 0.0
    return -pressing / per_kg if per_kg < 0.0 else np.inf


@kernel
def lifted_payload(effort, per_kg, low, high):
    """Return the payload at which a joint reaches its least or greatest effort, kg; 0 if exceeded without payload."""
    if effort > high or effort < low:
        return 0.0
    if not abs(per_kg) > FLAT:
        return np.inf
    return (high - effort if per_kg > 0.0 else effort - low) / abs(per_kg)


@kernel
def edge_kernel(unloaded, per_kg, rows, still, pull, signs, rest, stop):
    """Fill the greatest payloads (n, s) that relieve no edge, at `rest` and in the worst `stop`, on the worst heading.

    `unloaded` and `per_kg` (n, 6, 6): wrench of the ground for each column of a posture. `rows` (s, e, 6): map it to
    the pressing moment on an edge at a slew angle. `still` (h, e): pressing moment of the part that does not slew.
    `pull` (h, s, 3): gravity in axes that slew. `signs` (k, 2): of the accelerations of arm and slew in each stop.
    """
    a, b = np.empty(COLUMNS), np.empty(COLUMNS)
    for n in range(unloaded.shape[0]):
        for s in range(rows.shape[0]):
            least, least_stop = np.inf, np.inf
            for e in range(rows.shape[1]):
                for c in range(COLUMNS):
                    x, y = 0.0, 0.0
                    for i in range(6):
                        x += rows[s, e, i] * unloaded[n, c, i]
                        y += rows[s, e, i] * per_kg[n, c, i]
                    a[c], b[c] = x, y
                for h in range(pull.shape[0]):
                    x, y, z = pull[h, s, 0], pull[h, s, 1], pull[h, s, 2]
                    pressing = still[h, e] + x * a[0] + y * a[1] + z * a[2]
                    load = x * b[0] + y * b[1] + z * b[2]
                    least = min(least, standing_payload(pressing, load))
                    pressing, load = pressing + a[SPIN], load + b[SPIN]
                    for k in range(signs.shape[0]):
                        p, q = signs[k, 0], signs[k, 1]
                        stopped = standing_payload(pressing + p * a[ARM] + q * a[SLEW], load + p * b[ARM] + q * b[SLEW])
                        least_stop = min(least_stop, stopped)
            rest[n, s], stop[n, s] = least, least_stop


@kernel
def joint_kernel(unloaded, per_kg, lifts, holds, pull, signs, rest, stop):
    """Fill the greatest payloads (n, s) within the efforts of all joints, at `rest` and in the worst `stop`.

    `unloaded` and `per_kg` (n, 6, j): effort of the joints for each column of a posture. `lifts` and `holds` (n, s or
    1, j, 2): least and greatest efforts at rest and in a stop. `pull` and `signs`: see `edge_kernel`.
    """
    for n in range(unloaded.shape[0]):
        for s in range(pull.shape[1]):
            least, least_stop = np.inf, np.inf
            turned = s if lifts.shape[1] > 1 else 0
            for j in range(unloaded.shape[2]):
                low, high = lifts[n, turned, j, 0], lifts[n, turned, j, 1]
                hold_low, hold_high = holds[n, turned, j, 0], holds[n, turned, j, 1]
                for h in range(pull.shape[0]):
                    x, y, z = pull[h, s, 0], pull[h, s, 1], pull[h, s, 2]
                    effort = x * unloaded[n, 0, j] + y * unloaded[n, 1, j] + z * unloaded[n, 2, j]
                    load = x * per_kg[n, 0, j] + y * per_kg[n, 1, j] + z * per_kg[n, 2, j]
                    least = min(least, lifted_payload(effort, load, low, high))
                    effort, load = effort + unloaded[n, SPIN, j], load + per_kg[n, SPIN, j]
                    for k in range(signs.shape[0]):
                        p, q = signs[k, 0], signs[k, 1]
                        stopped = lifted_payload(
                            effort + p * unloaded[n, ARM, j] + q * unloaded[n, SLEW, j],
                            load + p * per_kg[n, ARM, j] + q * per_kg[n, SLEW, j],
                            hold_low,
                            hold_high,
                        )
                        least_stop = min(least_stop, stopped)
            rest[n, s], stop[n, s] = least, least_stop


@kernel
def grip_kernel(
    unloaded, per_kg, turns, origin, still, pull, signs, at_rest, in_stop, wheels, split, spare, friction, held
):
    """Fill whether the wheels certainly hold payloads: one explicit split of the load is inside the friction cones.

    `unloaded`, `per_kg` and `signs`: see `edge_kernel`. `turns` (s, 3, 3): of the slew about `origin` (3,), m. `still`
    (6,): wrench of the ground for the part that does not slew. `pull` (s, 3): gravity in axes that slew. `at_rest` and
    `in_stop` (n, s): payloads, kg. `wheels` (w, 3): ground points, m, on level ground. `split` (w, 3): normal forces
    of least norm for a normal force and its moments about x and y. `spare` (w,): self-balanced normal forces, or
    zeros. `friction` (w,): coefficients. `held` (n, 1 + k, s): True if the wheels hold, at rest and in each stop;
    False if undecided. States that are already True are skipped.
    """
    force, moment = np.empty((COLUMNS, 3)), np.empty((COLUMNS, 3))
    f, m, turned, normal = np.empty(3), np.empty(3), np.empty(6), np.empty(wheels.shape[0])
    for n in range(unloaded.shape[0]):
        for s in range(turns.shape[0]):
            loaded = -1.0  # payload of `force` and `moment`, shared by several stops
            for k in range(1 + signs.shape[0]):
                if held[n, k, s]:
                    continue
                payload = at_rest[n, s] if k == 0 else in_stop[n, s]
                if payload != loaded:
                    _loaded(unloaded[n], per_kg[n], payload, force, moment)
                    loaded = payload
                for i in range(3):
                    f[i], m[i] = 0.0, 0.0
                    for c in range(3):
                        f[i] += pull[s, c] * force[c, i]
                        m[i] += pull[s, c] * moment[c, i]
                    if k > 0:
                        p, q = signs[k - 1, 0], signs[k - 1, 1]
                        f[i] += force[SPIN, i] + p * force[ARM, i] + q * force[SLEW, i]
                        m[i] += moment[SPIN, i] + p * moment[ARM, i] + q * moment[SLEW, i]
                _turn(turns[s], origin, f, m, turned)
                for i in range(6):
                    turned[i] += still[i]
                held[n, k, s] = _holds(turned, wheels, split, spare, friction, normal)


@kernel
def _loaded(unloaded, per_kg, payload, force, moment):
    """Write forces and moments (6, 3) of the columns of a posture with its payload."""
    for c in range(COLUMNS):
        for i in range(3):
            moment[c, i] = unloaded[c, i] + payload * per_kg[c, i]
            force[c, i] = unloaded[c, 3 + i] + payload * per_kg[c, 3 + i]


@kernel
def _turn(turn, origin, f, m, out):
    """Write a wrench [moment; force] about the base's origin after its turn about another point."""
    x = m[0] - (origin[1] * f[2] - origin[2] * f[1])
    y = m[1] - (origin[2] * f[0] - origin[0] * f[2])
    z = m[2] - (origin[0] * f[1] - origin[1] * f[0])
    for i in range(3):
        out[i] = turn[i, 0] * x + turn[i, 1] * y + turn[i, 2] * z
        out[3 + i] = turn[i, 0] * f[0] + turn[i, 1] * f[1] + turn[i, 2] * f[2]
    out[0] += origin[1] * out[5] - origin[2] * out[4]
    out[1] += origin[2] * out[3] - origin[0] * out[5]
    out[2] += origin[0] * out[4] - origin[1] * out[3]


@kernel
def _holds(wrench, wheels, split, spare, friction, normal):
    """Return whether a split of the ground's wrench [moment; force] is inside the friction cones.

    Normal forces are the least-norm solution plus the multiple of `spare` in the middle of its range without pulls.
    Friction is shared as on yielding ground: in proportion to coefficient times normal force and to a rigid motion of
    the footprint.
    """
    count, up = wheels.shape[0], wheels[0, 2]
    fx, fy, fz = wrench[3], wrench[4], wrench[5]
    mx, my, mz = wrench[0] + up * fy, wrench[1] - up * fx, wrench[2]
    low, high = -np.inf, np.inf
    for j in range(count):
        normal[j] = split[j, 0] * fz + split[j, 1] * mx + split[j, 2] * my
        if spare[j] > 0.0:
            low = max(low, -normal[j] / spare[j])
        elif spare[j] < 0.0:
            high = min(high, -normal[j] / spare[j])
        elif not normal[j] >= 0.0:
            return False
    if not low <= high:
        return False
    between = 0.5 * (low + high) if high < np.inf else 0.0
    total, cx, cy = 0.0, 0.0, 0.0
    for j in range(count):
        normal[j] = max(normal[j] + between * spare[j], 0.0)
        weight = friction[j] * normal[j]
        total += weight
        cx += weight * wheels[j, 0]
        cy += weight * wheels[j, 1]
    if not total > 0.0:
        return False
    cx, cy = cx / total, cy / total
    spread = 0.0
    for j in range(count):
        spread += friction[j] * normal[j] * ((wheels[j, 0] - cx) ** 2 + (wheels[j, 1] - cy) ** 2)
    yaw = mz - (cx * fy - cy * fx)
    spin = yaw / spread if spread > 0.0 else (0.0 if yaw == 0.0 else np.inf)
    for j in range(count):
        if friction[j] * normal[j] > 0.0:
            vx, vy = fx / total - spin * (wheels[j, 1] - cy), fy / total + spin * (wheels[j, 0] - cx)
            if not vx * vx + vy * vy <= INSIDE:
                return False
    return True
