"""Limits of the payload state by state: inverse dynamics of every state, and bisection for sliding."""

from __future__ import annotations

from itertools import product

import numpy as np

from dyn_nodes.analysis.load_chart import ChartSettings, limits_of, slope_gravity
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.model.posture import initial_positions


def greatest_untipped(demand):
    """Return the payload (N,) that relieves the first edge, kg; 0 if one is relieved without it, inf if none is."""
    with np.errstate(divide='ignore', invalid='ignore'):
        load = np.where(demand.pressing_per_kg < 0.0, -demand.pressing / demand.pressing_per_kg, np.inf)
    load[demand.pressing <= 0.0] = 0.0
    return load.min(axis=1)


def greatest_lifted(demand, low, high):
    """Return the payload (N,) at which the first joint needs its least or greatest effort (N, c), kg; 0 if beyond."""
    slope, effort = demand.effort_per_kg, demand.effort
    reserve = np.where(slope > 0.0, high - effort, effort - low)
    with np.errstate(divide='ignore', invalid='ignore'):
        load = np.where(np.abs(slope) > 1e-9, reserve / np.abs(slope), np.inf)
    load[(effort > high) | (effort < low)] = 0.0
    return load.min(axis=1)


def stops(statics, settings, q):
    """Return rates and accelerations (N, c) of the chain for every combination of signs of the two decelerations."""
    first = statics.chain.index(statics.arm[0])
    step = np.zeros(q.shape[1])
    step[first] = 1e-6
    lever = np.linalg.norm(statics.mount(q + step) - statics.mount(q - step), axis=1) / 2e-6
    for arm_sign, slew_sign in product((-1.0, 1.0), (-1.0, 1.0) if statics.swing is not None else (0.0,)):
        rate, acceleration = np.zeros_like(q), np.zeros_like(q)
        acceleration[:, first] = arm_sign * settings.arm_deceleration / np.maximum(lever, 0.1)
        if statics.swing is not None:
            swing = statics.chain.index(statics.swing)
            rate[:, swing], acceleration[:, swing] = settings.slew_speed, slew_sign * settings.slew_deceleration
        yield rate, acceleration


def payloads(statics, settings, q, slope, headings):
    """Return greatest payloads (4, N): tipping, lifting, and both in the worst stop, on the worst heading."""
    lifts, holds = statics.capacities(q, holding=False), statics.capacities(q, holding=True)
    least = np.full((4, len(q)), np.inf)
    for heading in headings:
        pull = slope_gravity(statics.machine.gravity, slope, heading)
        rest = statics.demand(q, pull)
        rows = [greatest_untipped(rest), greatest_lifted(rest, *lifts)]
        moving = [statics.demand(q, pull, *motion) for motion in stops(statics, settings, q)]
        rows.append(np.min([greatest_untipped(demand) for demand in moving], axis=0))
        rows.append(np.min([greatest_lifted(demand, *holds) for demand in moving], axis=0))
        least = np.minimum(least, rows)
    return least


def greatest_held(margin, demand, bound):
    """Return payloads (N,) with admissible reactions, by bisection; inf if they exist up to the bound (N,)."""
    states = np.arange(len(bound))
    held, empty = margin(demand, states, 0.9999 * bound) >= 0.0, margin(demand, states, np.zeros(len(bound))) >= 0.0
    low, high = np.zeros(len(bound)), bound.copy()
    for _ in range(30):
        middle = 0.5 * (low + high)
        inside = margin(demand, states, middle) >= 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(held, np.inf, np.where(empty, low, 0.0))


def limits_at_start(machine):
    """Return the limits with the arm of a machine at its start."""
    statics, at = LoadStatics(machine), initial_positions(machine)
    arm = np.array([[at[joint.name] for joint in statics.arm]])
    swing = np.array([0.0 if statics.swing is None else at[statics.swing.name]])
    return limits_of(statics, ChartSettings(), arm, swing)
