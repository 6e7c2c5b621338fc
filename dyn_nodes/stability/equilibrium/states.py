"""Entry points of the array loops: tipping of many states of an arm, rest and balance of one position."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.stability.equilibrium._kernels import inlined, kernel
from dyn_nodes.stability.equilibrium.balance import balance
from dyn_nodes.stability.equilibrium.lean import UNKNOWN, lean_payload
from dyn_nodes.stability.equilibrium.search import NOT_STANDING, Ramp, put, settle, tip

ARM = np.dtype([('mass', 'f8'), ('moment', 'f8', (3,)), ('mount', 'f8', (3,))], align=True)
"""An arm in one posture: mass, kg, mass times centre of mass, kg m, without payload, and the place of the payload, m,
in axes of the body that carries it."""


@kernel
def balance_kernel(gear, q, payload, gravity, multipliers, at):
    """Fill the balance at a position and return the weight, N."""
    return balance(gear, q, payload, gravity, multipliers, at)


@kernel
def settle_kernel(gear, q, payload, gravity, multipliers, at):
    """Let a machine sink from a position to rest, in place, as `settle` does, and return what it returns."""
    return settle(gear, q, payload, gravity, multipliers, at)


@kernel
def tipping_kernel(
    gear, start, arms, ramp, gravities, edges, settings, levels, stages, multipliers, positions, loads, at
):
    """Fill the loads of states of the arm at which a support lifts, equilibrium is lost, and the machine falls.

    Args:
        gear: of the machine without its arm; its body that carries the arm and its load are changed meanwhile.
        start: (n,) position from which it is set down.
        arms: (k,) `ARM`.
        ramp: how the load grows.
        gravities: (h, 3) at the start of the ramp, m/s2; the one with the least first loss counts, its fall too.
        edges: (e, 2) supports at the ends of the edges of the support polygon of a machine that stands as one body;
            with them the first loss alone is found at once where it can be. Empty: every path is followed.
        settings: start of the ramp, first step, greatest load and step at which the end of a path is found, kg or rad.
        levels: 1: up to the first loss; `LEVELS`: up to the fall.
        stages: (r, 3) events of the last state: kind, number, load; filled.
        multipliers: (m,) of the constraints; those of the last state.
        positions: (3, n) of the last state: where it ends, before the first loss, and before the fall; filled.
        loads: (3, k) filled; the first is NOT_STANDING where the machine does not stand at the start.
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
            for i in range(headings):  # beginning with the one that was worst for the state before
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
    """Set a machine down at the start of a ramp and follow it; arguments and results are those of `tip`."""
    put(start, positions[0])
    for r in range(multipliers.shape[0]):
        multipliers[r] = 0.0
    now = Ramp(ramp.payload, gravity, ramp.size, ramp.direction, ramp.turns)
    first, step, fine = settings[0], settings[1], settings[3]
    lost, fell = positions[1], positions[2]
    return tip(gear, now, first, positions[0], multipliers, step, most, fine, levels, stages, lost, fell, at)
