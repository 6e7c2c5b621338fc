"""Damaged inputs of commands: objects, meshes, motions, teams, vehicles, motors, runs of a governor, logs of a bus.

Every case is given to the command that reads it, or to the reader of the node that does. Each ends in a result or in
lines of an error, within a time limit; a warning of a library on the terminal is a fault, too.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from unittest import mock

from faults.bags import run_command
from faults.files import ROOT, damage

CIRCLE = """time,x,y,yaw
0,0,0,0
1,0.5,0.2,0.3
2.5,1,0,0
"""
BODY = 'mesh: {file: body.msh}\nmaterial: {young_modulus: 1.0e6, poisson_ratio: 0.3, density: 500.0, damping: 3.0}\n'
GRASPS = """grasps:
  front: {position: [0.5, -0.1, 0.0], size: [0.0, 0.2, 0.2]}
  left: {position: [-0.5, 0.1, 0.0], size: [0.0, 0.0, 0.2]}
  right: {position: [-0.5, -0.1, 0.0], size: [0.0, 0.0, 0.2]}
"""
MOTORS = """motors:
  small: {voltage_limit: 24.0, current_limit: 10.0, resistance: 0.5, torque_constant: 0.05, gear_ratio: 50.0,
    rotor_inertia: 1.0e-5, continuous_current: 4.0}
"""
COLUMNS = 'time,SwingAngle,JointVelocities.SwingRate,BoomLength,StickLength,BoomVolts\n' + ''.join(
    f'{0.01 * k:.2f},{10 + 0.1 * k:.1f},10.0,1980.0,{1500 + k},{0.1 * k:.1f}\n' for k in range(20)
)
BUS = ROOT / 'config' / 'can'
LEVERS = ((1.0, (4.0, -3.0, 2.0)), (0.5, (-8.0, 8.0, 0.0)))
MACHINE = 'log_loader'
MOST_LINES = 100
"""Greatest number of lines of an error: one for each problem; the reader lists about 50."""


@functools.cache
def texts() -> dict[str, tuple[str, ...]]:
    """Return the good inputs by kind."""
    plans, poses, objects, vehicles, teams = (
        tuple(path.read_text(encoding='utf-8') for path in sorted((ROOT / 'config' / name).glob('*.yaml')))
        for name in ('plans', 'poses', 'objects', 'omni', 'teams')
    )
    return {
        'object': (*objects, BODY + GRASPS),
        'mesh': tuple(map(mesh_text, ('gmsh22', 'vtk42', 'abaqus'))),
        'plan': plans,
        'poses': poses,
        'team': teams,
        'vehicle': vehicles,
        'waypoints': (CIRCLE,),
        'motors': (MOTORS,),
        'cases': (_lines(1),),
        'runs': (_lines(3),),
        'mapping': ((BUS / 'log_loader.yaml').read_text().replace('dbc: ', f'dbc: {BUS}/'),),
        'dbc': ((BUS / 'log_loader.dbc').read_text(),),
        'columns': (COLUMNS,),
        'frames': (_frames('asc'), _frames('csv')),
    }


def _frames(suffix: str) -> str:
    """Return a log of frames of a log-loader's bus."""
    import can

    from dyn_nodes.can.mapping_file import load_mapping
    from dyn_nodes.can.sender import Sender

    mapping = load_mapping(MACHINE)[0]
    sender = Sender(mapping.frames)
    values = {channel.key: 1.0 for frame in mapping.frames for channel in frame.channels}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f'log.{suffix}'
        with can.Logger(str(path)) as logger:
            for k in range(20):
                for frame in mapping.frames:
                    raw = sender.encode(frame, values)
                    if raw is not None:
                        logger.on_message_received(can.Message(0.01 * k, raw.identifier, raw.extended, data=raw.data))
        return path.read_text()


def mesh_text(form: str) -> str:
    """Return a beam of tetrahedra in a file format of meshio."""
    import meshio

    from dyn_nodes.teams.deformable.mesh import box_mesh

    beam = box_mesh((1.0, 0.2, 0.2), (4, 1, 1), 'tetrahedron')
    options = {'gmsh22': {'binary': False}, 'vtk42': {'binary': False}}.get(form, {})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / 'beam'
        meshio.Mesh(beam.nodes, [('tetra', beam.elements)]).write(path, file_format=form, **options)
        return path.read_text()


def _lines(count: int) -> str:
    """Return the runs.jsonl of a governor campaign without simulations."""
    from dyn_nodes.governor.campaign.campaign import Campaign, random_cases
    from dyn_nodes.governor.campaign.cases import Case, box_of

    machine = _machine()
    cases = [Case(LEVERS, 500.0, 400.0, duration=1.5), *random_cases(box_of(machine, duration=1.0), count, 1)]
    with tempfile.TemporaryDirectory() as directory, _no_simulation():
        path = Path(directory) / 'runs.jsonl'
        with Campaign(machine, path) as campaign:
            campaign.run(cases)
        return path.read_text()


@functools.cache
def _machine() -> Any:
    from dyn_nodes.nodes.machines import machine_of

    return machine_of(MACHINE, '')


@contextlib.contextmanager
def _no_simulation() -> Iterator[None]:
    """Replace the simulations of governor campaigns by a constant outcome."""
    from dyn_nodes.governor.campaign.governed_run import RunOutcome

    rig = mock.Mock()
    rig.run.return_value = RunOutcome(False, False, False, 10.5, None, 0.01, 0.4, 1.0)
    with mock.patch('dyn_nodes.governor.campaign.campaign.Rig', return_value=rig):
        yield


def case(number: int, seed: int) -> tuple[str, bytes]:
    """Return kind and damaged content of a case; equal numbers give equal cases."""
    rng = random.Random(f'input {seed} {number}')
    kind = rng.choice(sorted(texts()))
    return kind, damage(rng.choice(texts()[kind]), rng)


# -- readers, in a worker ---


def _command(*words: str) -> Callable[[Path], str]:
    """Return the function that passes a file to a command; FILE and DIRECTORY stand for its path and directory."""

    def read(path: Path) -> str:
        paths = {'FILE': str(path), 'DIRECTORY': str(path.parent)}
        with _no_simulation():
            return run_command([paths.get(word, word) for word in words], MOST_LINES)

    return read


def _mesh(path: Path) -> str:
    whole = path.with_name('whole.yaml')
    whole.write_text(BODY.replace('body.msh', path.name) + GRASPS)
    return _command('object', 'check', str(whole), '--frequencies', '2')(path)


def _dbc(path: Path) -> str:
    mapping = path.with_name('mapping.yaml')
    mapping.write_text(texts()['mapping'][0].replace(f'{BUS}/log_loader.dbc', path.name))
    return _command('check', str(mapping))(path)


def _poses(path: Path) -> str:
    from dyn_nodes.control.pose_task import load_pose_task
    from dyn_nodes.model import MachineError

    return _rejected(lambda: load_pose_task(path), MachineError)


def _team(path: Path) -> str:
    from dyn_nodes.model import MachineError
    from dyn_nodes.teams import load_team

    return _rejected(lambda: load_team(path), MachineError)


def _motors(path: Path) -> str:
    from dyn_nodes.analysis.motor_catalogue import load_catalogue
    from dyn_nodes.model import MachineError

    return _rejected(lambda: load_catalogue(path), MachineError)


def _rejected(read: Callable[[], object], error: type[Exception]) -> str:
    """Read; return the fault of the raised error, or ''."""
    try:
        read()
    except error as raised:
        unprintable = [line for line in str(raised).split('\n') if not line.isprintable()]
        return f'an error that is no line: {unprintable[0]!r}' if unprintable else ''
    return ''


GOVERNOR = ('governor', 'test', MACHINE, '--jobs', '1', '--only-governed', '--duration', '1')
READERS: dict[str, Callable[[Path], str]] = {
    'object': _command('object', 'check', 'FILE', '--frequencies', '2'),
    'mesh': _mesh,
    'plan': _command('contact', 'plan', 'FILE', '--step', '0.2', '--json'),
    'poses': _poses,
    'team': _team,
    'vehicle': _command('omni', 'torques', 'FILE', 'circle', '--step', '0.5'),
    'waypoints': _command('omni', 'rates', str(ROOT / 'config/omni/three_wheels.yaml'), 'FILE', '--step', '0.5'),
    'motors': _motors,
    'cases': _command(*GOVERNOR, '--runs', '0', '--cases', 'FILE'),
    'runs': _command(*GOVERNOR, '--runs', '3', '--out', 'DIRECTORY'),
    'mapping': _command('check', 'FILE'),
    'dbc': _dbc,
    'columns': _command('bag', 'import', 'FILE', '--mapping', MACHINE),
    'frames': _command('bag', 'import', 'FILE', '--mapping', MACHINE),
}
NAMES = {
    'mesh': 'body.msh',
    'waypoints': 'path.csv',
    'cases': 'cases.jsonl',
    'runs': 'runs.jsonl',
    'columns': 'log.csv',
    'dbc': 'bus.dbc',
}
MESHES = {'$MeshFormat': 'body.msh', '# vtk DataFile': 'body.vtk', '*HEADING': 'body.inp'}


def name_of(kind: str, content: bytes) -> str:
    """Return the file name of a case; the suffix of a mesh gives its format."""
    if kind == 'mesh':
        return next((name for start, name in MESHES.items() if start.encode() in content[:200]), 'body.msh')
    if kind == 'frames':
        return 'log.csv' if b'arbitration_id' in content[:200] else 'log.asc'
    return NAMES.get(kind, 'damaged.yaml')


def examine(kind: str, content: bytes, directory: Path) -> str:
    """Write a case and read it; return the fault, or ''."""
    path = directory / name_of(kind, content)
    path.write_bytes(content)
    if kind == 'object':
        (directory / 'body.msh').write_text(texts()['mesh'][0])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        try:
            return READERS[kind](path)
        except Exception as error:
            return ' '.join(f'{type(error).__name__}: {error}'.split())


def work(seed: int, start: int, end: int, out: IO[str]) -> None:
    """Read the cases from `start` to `end`; print a line at each start and one for each fault."""
    for number in range(start, end):
        kind, content = case(number, seed)
        print(f'begin {number} {kind}', file=out, flush=True)
        with tempfile.TemporaryDirectory() as name:
            fault = examine(kind, content, Path(name))
        if fault:
            print(f'fault {number} {kind} {fault[:300]}', file=out, flush=True)
    print('done', file=out, flush=True)


if __name__ == '__main__':
    work(*(int(word) for word in sys.argv[1:4]), sys.stdout)
