"""Entry points of the array loops: tipping of many arm states, rest and balance of one position."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.stability.equilibrium._kernels import inlined, kernel
from dyn_nodes.stability.equilibrium.balance import balance
from dyn_nodes.stability.equilibrium.lean import UNKNOWN, lean_payload
from dyn_nodes.stability.equilibrium.search import NOT_STANDING, Ramp, put, settle, tip

ARM = np.dtype([('mass', 'f8'), ('moment', 'f8', (3,)), ('mount', 'f8', (3,))], align=True)
"""An arm in one posture, in axes of the body that carries it: mass, kg, and mass times centre of mass, kg m, without
payload, and position of the payload, m."""


@kernel
def balance_kernel(gear, q, payload, gravity, multipliers, at):
    """Fill the balance at a position and return the weight, N."""
    return balance(gear, q, payload, gravity, multipliers, at)


@kernel
def settle_kernel(gear, q, payload, gravity, multipliers, at):
    """Move a position to the rest reached from it, in place; see `settle`."""
    return settle(gear, q, payload, gravity, multipliers, at)


@kernel
def tipping_kernel(
    gear, start, arms, ramp, gravities, edges, settings, levels, stages, multipliers, positions, loads, at
):
    """Fill the loads at which, for each arm state, a support lifts, equilibrium is lost and the machine falls.

    Args:
        gear: of the machine without its arm; the body that carries the arm and the load are changed temporarily.
        start: (n,) position from which it is set down.
        arms: (k,) `ARM`.
        ramp: growth of the load.
        gravities: (h, 3) at the start of the ramp, m/s2; results are for the one with the least first loss.
        edges: (e, 2) supports at the ends of the edges of the support polygon of a machine that stands as one body;
            they give the first loss directly if possible. Empty: every path is followed.
        settings: start of the ramp, first step, greatest load and final step at the end of a path, kg or rad.
        levels: 1: up to the first loss; `LEVELS`: up to the fall.
        stages: (r, 3) events of the last state: kind, number, load; filled.
        multipliers: (m,) of the constraints in the last state.
        positions: (3, n) of the last state: at the end, before the first loss, and before the fall; filled.
        loads: (3, k) filled; the first is NOT_STANDING if the machine does not stand at the start.
        at: scratch.

    Returns:
        Number of the events.
    """
    joint, load, count, worst = gear.joints[gear.load[0].body], gear.load[0], 0, 0
    mass, moment, headings = joint.mass, joint.moment.copy(), gravities.shape[0]
    at_once = edges.shape[0] > 0 and start.shape[0] == 3 and multipliers.shape[0] == 0
    for k in range(arms.shape[0]):
        joint.mass = mass + arms[k].mass
        for a in range(3):
            joint.moment[a] = moment[a] + arms[k].moment[a]
            load.point[a] = arms[k].mount[a]
            loads[a, k] = np.inf
        first, worst, stands = worst, 0, True
        if headings > 1 or levels == 1:
            for i in range(headings):  # the first heading was the worst of the previous state
                h = (first + i) % headings
                if at_once:
                    loss = lean_payload(gear, start, gravities[h], edges, positions[0], at)
                    if loss != UNKNOWN and loss <= settings[2]:
                        if loss < loads[1, k]:
                            loads[0, k], loads[1, k], worst = np.inf, loss, h
                        continue
                most = min(settings[2], loads[1, k])
                lift_off, loss, _, count = _set_down(
                    gear, start, ramp, gravities[h], settings, most, 1, stages, multipliers, positions, at
                )
                if lift_off == NOT_STANDING:
                    loads[0, k], loads[1, k], loads[2, k], stands, worst = lift_off, 0.0, 0.0, False, h
                    break
                if loss < loads[1, k]:
                    loads[0, k], loads[1, k], worst = lift_off, loss, h
        if stands and levels > 1:
            lift_off, loss, fall, count = _set_down(
                gear, start, ramp, gravities[worst], settings, settings[2], levels, stages, multipliers, positions, at
            )
            loads[0, k], loads[1, k], loads[2, k] = lift_off, loss, fall
            if lift_off == NOT_STANDING:
                loads[1, k], loads[2, k] = 0.0, 0.0
    joint.mass = mass
    for a in range(3):
        joint.moment[a] = moment[a]
    return count


@inlined
def _set_down(gear, start, ramp, gravity, settings, most, levels, stages, multipliers, positions, at):
    """Set a machine down at the start of a ramp and follow it; arguments and results as for `tip`."""
    put(start, positions[0])
    for r in range(multipliers.shape[0]):
        multipliers[r] = 0.0
    now = Ramp(ramp.payload, gravity, ramp.size, ramp.direction, ramp.turns)
    first, step, fine = settings[0], settings[1], settings[3]
    lost, fell = positions[1], positions[2]
    return tip(gear, now, first, positions[0], multipliers, step, most, fine, levels, stages, lost, fell, at)
