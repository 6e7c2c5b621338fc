"""A plate of 10,000 nodes between four hands: a condensed step against real time, and how times grow with the nodes.

    python benchmarks/deformable.py [--quick]

Prints JSON. `bench.py` runs it. A step is one of classical Runge-Kutta of the thrown plate with six vibrations, called
from Python. `slope`: log time over log number of nodes, from a quarter of the nodes to all.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of
from dyn_nodes.teams.deformable.condensation import condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.finite_elements import assemble
from dyn_nodes.teams.deformable.grasps import patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh
from dyn_nodes.teams.deformable.spring_grid import spring_grid

PLATE = Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0, retardation=1e-3)
"""OBJ-2 of the source. A stiffer plate takes shorter steps: with the square root of the modulus."""
SIZE = (1.0, 0.6, 0.02)
COARSE, FINE = (50, 25, 1), (100, 50, 1)
CORNERS = [(x, y, 0.0) for x, y in ((-0.45, -0.25), (0.45, -0.25), (0.45, 0.25), (-0.45, 0.25))]
VIBRATIONS = 6
STABLE = 2.0
"""Product of step and greatest frequency; classical Runge-Kutta is stable up to 2.8."""
GRAVITY = (0.0, 0.0, -9.81)


def seconds(function: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the least time of a call and its result."""
    best, answer = np.inf, None
    for _ in range(rounds):
        start = time.perf_counter()
        answer = function()
        best = min(best, time.perf_counter() - start)
    return best, answer


def stepper(body: CorotatedBody, step: float) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the state of a thrown plate and the function that advances it by a step."""
    size = 3 * body.count
    half = size + VIBRATIONS

    def slope(x: np.ndarray) -> np.ndarray:
        moved = body.accelerations(x[:size], x[half : half + size], x[size:half], x[half + size :], GRAVITY)
        return np.concatenate([x[half:], moved])

    def advanced(x: np.ndarray) -> np.ndarray:
        a = slope(x)
        b = slope(x + 0.5 * step * a)
        c = slope(x + 0.5 * step * b)
        d = slope(x + step * c)
        return np.asarray(x + step / 6.0 * (a + 2.0 * b + 2.0 * c + d))

    points = body.reduced.positions.reshape(-1, 3)
    thrown = np.cross((1.0, 2.0, 0.5), points) + np.array([0.0, 0.0, 2.0])
    return np.concatenate([points.ravel(), np.zeros(VIBRATIONS), thrown.ravel(), np.zeros(VIBRATIONS)]), advanced


def measure(quick: bool) -> dict[str, Any]:
    """Return the figures: times in s, the step of the run and its time in us."""
    rounds = 1 if quick else 3
    made: dict[str, list[float]] = {'assemble': [], 'condense': [], 'rods': []}
    for divisions in (COARSE, FINE):
        taken, body = seconds(lambda d=divisions: assemble(box_mesh(SIZE, d), PLATE), rounds)
        made['assemble'].append(taken)
        grasps = [patch(body.mesh, corner, (0.1, 0.1, 0.02)) for corner in CORNERS]
        taken, reduced = seconds(lambda b=body, g=grasps: condensed(b, g, VIBRATIONS), rounds)
        made['condense'].append(taken)
        edge = SIZE[0] / divisions[0]
        grid = spring_grid((SIZE[0], divisions[1] * edge, edge), divisions, PLATE)
        made['rods'].append(1e-6 * best_of([lambda g=grid: g.forces(g.nodes)], 5 if quick else 50)[0])
    nodes = [(d[0] + 1) * (d[1] + 1) * (d[2] + 1) for d in (COARSE, FINE)]
    fastest = np.sqrt(np.linalg.eigvals(np.linalg.solve(reduced.mass, reduced.stiffness)).real.max())
    step = float(STABLE / fastest)
    state, advanced = stepper(CorotatedBody(reduced), step)
    end = state
    for _ in range(200):
        end = advanced(end)
    if not np.isfinite(end).all() or np.abs(end[12 : 12 + VIBRATIONS]).max() > 1.0:
        raise ValueError('the run does not stay finite: nothing to time')
    taken_us = best_of([lambda: advanced(end)], 20 if quick else 200)[0]
    growth = {f'{name}_slope': float(np.log(b / a) / np.log(nodes[1] / nodes[0])) for name, (a, b) in made.items()}
    return {
        'nodes': nodes[1],
        'step_us': 1e6 * step,
        'ours': taken_us,
        'real_time_factor': 1e6 * step / taken_us,
        **{f'{name}_s': values[1] for name, values in made.items()},
        **growth,
    }


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(measure(parser.parse_args().quick), indent=2))
