"""One mechanism of the zoo: `init`, then a minute in which its drives move to and fro, and the gaps of its loops."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mechanism_urdf import urdf_of
from benchmarks.zoo_trial import output_of, problems_of

SECONDS, PERIOD, STEP = 60.0, 5e-3, 1e-3
"""Length of a run, period of the drives, greatest step of the integrator, s."""
SWEEP, ANGLE, WAY = 0.2, 0.3, 0.03
"""Travel of a drive: share of its range, and greatest value in rad or m."""
FREQUENCY = 0.25
"""Frequency of the motion, Hz."""
LEAST_MOTION = 1e-3
"""Least travel of the joint that moves most, m or rad."""
GREATEST_GAP = 1e-9
"""Greatest gap of a loop or coupling, m or rad."""


def trial(path: Path, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the results of a mechanism: its size, rows, gap, motion, and `refused` with the reason or ''.

    An MJCF or SDF file gives its tree as a URDF, and its loops to `init --closures`.
    """
    from dyn_nodes.commands import init
    from dyn_nodes.common.errors import UserError
    from dyn_nodes.model import load_machine

    with tempfile.TemporaryDirectory() as folder:
        urdf, closures = path, []
        if path.suffix != '.urdf':
            urdf, closures = Path(folder) / f'{path.stem}.urdf', ['--closures', str(path)]
            urdf.write_text(urdf_of(path), encoding='utf-8')
        config = Path(folder) / f'{urdf.stem}.yaml'
        try:
            status, text = output_of(init, ['init', str(urdf), '-o', str(config), '--lightest', '0', *closures])
        except UserError as error:
            status, text = 1, str(error)
        if status:
            return {'refused': f'init: {problems_of(text)}'}
        machine = load_machine(urdf, config)
        kinds = sorted({entry.kind for entry in machine.constraints})
        result = {'mass': machine.total_mass, 'base': machine.base.attachment, 'constraints': len(machine.constraints)}
        result |= {'kinds': ', '.join(kinds), 'joints': len(machine.movable_joints)}
        if not machine.constraints:
            return {**result, 'refused': 'no loop or mimic joint that moves a mass'}
        return {**result, **run(machine, seconds)}


def run(machine: Any, seconds: float) -> dict[str, Any]:
    """Run a machine whose drives move to and fro; return the greatest gap and motion, and the reason of the end."""
    from dyn_nodes.simulation.period import PlantDivergedError
    from dyn_nodes.simulation.plant import Plant

    gap = moved = 0.0
    try:
        plant = Plant(machine, 'effort', PERIOD, STEP, ())
        start, way = plant.positions.copy(), ways(machine, plant)
        for k in range(round(seconds / PERIOD)):
            phase = 2.0 * np.pi * FREQUENCY * PERIOD * (k + 1)
            target, rate = 0.5 * (1.0 - np.cos(phase)), np.pi * FREQUENCY * np.sin(phase)
            plant.set_efforts(plant.servo_efforts(start + target * way, rate * way))
            plant.advance()
            gap = max(gap, plant.output('constraint_drift'))
            moved = max(moved, float(np.abs(plant.positions - start).max()))
            if plant.overturned:
                return {'gap': gap, 'moved': moved, 'refused': f'it overturns after {plant.time:.1f} s'}
    except (PlantDivergedError, ValueError) as error:
        return {'gap': gap, 'moved': moved, 'refused': str(error).split('\n', maxsplit=1)[0]}
    reason = '' if gap <= GREATEST_GAP else f'a gap of {gap:.1e} m or rad'
    if moved < LEAST_MOTION:
        reason = reason or 'nothing moves'
    return {'gap': gap, 'moved': moved, 'refused': reason}


def ways(machine: Any, plant: Any) -> np.ndarray:
    """Return the wanted travel of every joint (n,), rad or m: driven joints into their range, as far as loops allow."""
    from dyn_nodes.constraints import projected_velocity

    start, blocks = plant.positions, plant.system.blocks
    indices = [blocks.tree.velocity_index(joint.name) for joint in machine.movable_joints]
    driven = {joint.name for joint in machine.actuated_joints}
    wanted, most = np.zeros(blocks.tree.nv), np.zeros(len(start))
    for k, joint in enumerate(machine.movable_joints):
        travel = joint.upper - start[k], start[k] - joint.lower
        most[k] = min(WAY if joint.type == 'prismatic' else ANGLE, SWEEP * max(travel))
        if joint.name in driven:
            wanted[indices[k]] = most[k] * (1.0 if travel[0] >= travel[1] else -1.0)
    way = projected_velocity(blocks, plant.x[: plant.system.nq], wanted)[indices]
    return np.asarray(way * min([1.0, *(most[k] / abs(way[k]) for k in range(len(way)) if abs(way[k]) > 1e-9)]))


def main() -> int:
    """Print the results of a mechanism as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file', type=Path)
    parser.add_argument('seconds', type=float, nargs='?', default=SECONDS)
    args = parser.parse_args()
    print(json.dumps(trial(args.file, args.seconds)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
