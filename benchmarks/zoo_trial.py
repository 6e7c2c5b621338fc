"""One machine of the zoo: `init`, `check`, then seconds as a node without commands."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 5.0
MOST_MOTION = 1e-3
"""Greatest motion of a joint, rad or m, and of the base over the greatest distance of two contacts."""
MOST_TILT = 1e-3
"""Greatest tilt of the base, rad."""


def trial(urdf: Path, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the results of a machine: its size, motion, warnings, and `refused` with the reason or ''."""
    from dyn_nodes.commands import check, init
    from dyn_nodes.common.errors import UserError

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / f'{urdf.stem}.yaml'
        try:
            status, text = output_of(init, ['init', str(urdf), '-o', str(config)])
        except UserError as error:
            status, text = 1, str(error)
        if status:
            return {'refused': f'init: {problems_of(text)}'}
        status, text = output_of(check, ['check', str(urdf), '--config', str(config), '--json'])
        report = json.loads(text[text.index('{') :])
        if status:
            first = report['problems'][0]
            return {'refused': f'check: {first["where"]}: expected {first["expected"]}, found {first["found"]}'}
        result = {**size(report['machine']), 'warnings': len(report['warnings'])}
        return {**result, **run_as_node(urdf, config, seconds)}


def size(facts: dict[str, Any]) -> dict[str, Any]:
    """Return mass, degrees of freedom and contacts of a machine's summary."""
    return {
        'mass': facts['mass'],
        'freedoms': facts['degrees_of_freedom']['total'],
        'contacts': len((facts['static'] or {'wheels': ()})['wheels']),
        'base': facts['base']['attachment'],
    }


def run_as_node(urdf: Path, config: Path, seconds: float) -> dict[str, Any]:
    """Run dynamics_node with held joints, without commands; return the motion of base and joints."""
    from dyn_nodes.middleware import Context, Parameter, init
    from dyn_nodes.nodes.dynamics_node import DynamicsNode

    context = Context()
    init(args=['zoo'], context=context)
    values = {'machine': str(urdf), 'config': str(config), 'mode': 'lockstep'}
    try:
        node = DynamicsNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
        motion = _motion(node, seconds)
    except Exception as error:
        return {'refused': f'dynamics_node: {type(error).__name__}: {str(error).splitlines()[0]}'}
    finally:
        context.try_shutdown()
    return motion


def _motion(node: Any, seconds: float) -> dict[str, Any]:
    plant = node.plant
    position, turn = (np.array(part) for part in plant.base_pose())
    joints = plant.positions.copy()
    worst = np.zeros(3)
    while plant.time < seconds - 1e-9:
        if not node.advance():
            return {'refused': f'dynamics_node: {node.health.fault or "overturned"} at t = {plant.time:.3f} s'}
        node.announce()
        here, now = plant.base_pose()
        tilt = 2.0 * np.arccos(min(1.0, abs(float(now @ turn))))
        moved = np.abs(plant.positions - joints).max(initial=0.0)
        worst = np.maximum(worst, [float(np.linalg.norm(here - position)), tilt, moved])
    motion = {'base_motion': worst[0], 'tilt': worst[1], 'joint_motion': worst[2], 'refused': ''}
    if worst[0] > MOST_MOTION * max(1.0, _reach(node)) or worst[1] > MOST_TILT or worst[2] > MOST_MOTION:
        motion['refused'] = f'it moves: base {worst[0]:.2g} m, {worst[1]:.2g} rad, joints {worst[2]:.2g}'
    return motion


def _reach(node: Any) -> float:
    """Return the greatest distance of two contacts, m."""
    balance = node.plant.balance()
    if balance is None:
        return 0.0
    points = balance.points[balance.polygon, :2]
    return float(np.linalg.norm(points[:, None] - points[None], axis=2).max(initial=0.0))


def output_of(command: Any, words: list[str]) -> tuple[int, str]:
    """Return exit status and output of a command."""
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(words)
    run: Callable[[Any], int] = getattr(args, 'run', command.run)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = run(args)
    return status, out.getvalue()


def problems_of(text: str) -> str:
    """Return the first problem that a command printed and the number of the others."""
    lines = [line for line in text.splitlines() if ': expected ' in line] or text.splitlines()[:1]
    return lines[0].split(': ', 1)[-1] + (f' (and {len(lines) - 1} more)' if len(lines) > 1 else '') if lines else ''


if __name__ == '__main__':
    os.environ.setdefault('DYN_NODES_GUARD', '1')
    print(json.dumps(trial(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)))
