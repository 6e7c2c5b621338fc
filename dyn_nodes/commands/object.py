"""`dyn-nodes object`: checks deformable objects that robots hold."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import count
from dyn_nodes.common.printing import near

if TYPE_CHECKING:
    from dyn_nodes.teams.deformable.deformable_object import DeformableObject
    from dyn_nodes.teams.deformable.object_check import ObjectFacts

MOST_FREQUENCIES = 50
ROUND_OFF = 1e-9
"""Relative magnitude in a row below which a number is printed as zero."""
SHOWN = 6
"""Number of stiffnesses that are printed; `--json` contains all."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the `object` command to the command line."""
    parser = add_command(
        subparsers,
        'object',
        'Check deformable objects that robots hold.',
        'dyn-nodes object check bar\ndyn-nodes object check my_plank.yaml --frequencies 10 --refine --json',
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    text = 'Compute frequencies, stiffness between the grasps, sag, and the error of rods.'
    check = add_command(verbs, 'check', text, 'dyn-nodes object check bar')
    check.add_argument('file', metavar='FILE', help='YAML of the object, or the name of one in config/objects')
    check.add_argument(
        '--frequencies',
        type=count(0, MOST_FREQUENCIES),
        default=6,
        metavar='N',
        help='number of frequencies, free and with fixed grasps (6)',
    )
    check.add_argument('--refine', action='store_true', help='compare the stiffness with elements of half the size')
    check.add_argument('--json', action='store_true', help='print everything as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Check and print; return 0, or 1 if the file has faults."""
    from dyn_nodes.model import MachineError
    from dyn_nodes.teams.deformable.object_check import object_facts, refinement
    from dyn_nodes.teams.deformable.object_file import load_object

    try:
        item = load_object(_file(args.file))
    except MachineError as error:
        print(error, file=sys.stderr)
        return 1
    facts = object_facts(item, args.frequencies)
    change = refinement(item).tolist() if args.refine else None
    if args.json:
        tables.print_json(_as_json(item, facts, change), indent=None)
    else:
        _print(item, facts, change)
    return 0


def _file(name: str) -> Path:
    """Return the file of a path, or of a name in the share directory."""
    from dyn_nodes.common.share import find_resource, share_directory

    if Path(name).exists() or '/' in name or Path(name).suffix:
        return Path(name)
    try:
        return find_resource(f'config/objects/{name}.yaml')
    except FileNotFoundError:
        names = sorted(file.stem for file in (share_directory() / 'config/objects').glob('*.yaml'))
        actual = f'{name!r}{near(name, names)}'
        raise CommandError(f'object: expected a file, or one of {", ".join(names)}; found {actual}') from None


def _as_json(item: DeformableObject, facts: ObjectFacts, change: list[float] | None) -> dict[str, Any]:
    plain = {name: value for name, value in facts._asdict().items() if name not in ('masses', 'stiffnesses')}
    rods = {
        'between': [[item.grasps[i].name, item.grasps[j].name] for i, j in item.lattice.rods.tolist()],
        'stiffness': item.lattice.stiffness,
        'rod_mass': facts.masses.rods,
        'node_mass': facts.masses.nodes,
        'mass_residual': facts.masses.mass_residual,
        'center_residual': facts.masses.center_residual,
        'inertia_residual': facts.masses.inertia_residual,
        'stiffness_residual': None if facts.stiffnesses is None else facts.stiffnesses.residual,
    }
    return {'name': item.name, 'model': item.model, **plain, 'rods': rods, 'refinement': change}


def _print(item: DeformableObject, facts: ObjectFacts, change: list[float] | None) -> None:
    write = tables.console().print
    counts = f'{facts.nodes} nodes, {facts.elements} {item.mesh.kind}s, {len(item.grasps)} grasps'
    write(f'{item.name}: {counts}, model {item.model}')
    write(f'  mass              {facts.mass:.6g} kg in {facts.volume:.6g} m3, centre {_row(facts.center_of_mass)} m')
    write(f'  inertia           {_row(facts.inertia.diagonal())} kg m2 about its axes')
    write(f'  free              {_row(facts.free_frequencies)} Hz')
    write(f'  grasps at rest    {_row(facts.held_frequencies)} Hz')
    more = f' and {len(facts.stiffness) - SHOWN} more' if len(facts.stiffness) > SHOWN else ''
    write(f'  stiffness         {_row(facts.stiffness[:SHOWN])}{more} N/m between the grasps')
    if change is not None:
        from dyn_nodes.teams.deformable.object_check import SETTLED

        worst = max(abs(value) for value in change)
        verdict = 'fine enough' if worst < SETTLED else f'expected below {100.0 * SETTLED:g} %: use more divisions'
        write(f'  elements halved   stiffness changes by {100.0 * worst:.3g} % at most: {verdict}')
    write(f'  sag by weight     {1e3 * abs(facts.sag[2]):.4g} mm at {_row(facts.sag_at)} m')
    for name, force in facts.grasp_forces.items():
        write(f'  {name:<17} holds {_row(force)} N')
    write(f'  reduced           mass residual {facts.reduced_mass_residual:.2g} kg')
    _print_rods(item, facts, write)


def _print_rods(item: DeformableObject, facts: ObjectFacts, write: Any) -> None:
    masses = facts.masses
    lumps = 'lumps at the grasps' if masses.nodes.any() else 'masses of rods'
    write(
        f'  as rods           {lumps}; residuals: mass {masses.mass_residual:.2g} kg,'
        f' centre {masses.center_residual:.2g} m, inertia {100.0 * masses.inertia_residual:.3g} %'
    )
    if facts.stiffnesses is None:
        write('                    one rod: no sag')
    else:
        write(f'                    stiffness residual {100.0 * facts.stiffnesses.residual:.3g} %')
    for (i, j), stiffness, mass in zip(item.lattice.rods.tolist(), item.lattice.stiffness, item.lattice.rod_mass):
        write(f'    {item.grasps[i].name} - {item.grasps[j].name}: {stiffness:.6g} N/m, {mass:.4g} kg')


def _row(values: Any) -> str:
    numbers = [float(value) for value in values]
    least = ROUND_OFF * max((abs(number) for number in numbers), default=0.0)
    return ', '.join(f'{number:.5g}' if abs(number) > least else '0' for number in numbers) or 'none'
