"""`dyn-nodes init`: writes a first machine YAML for a URDF with marked guesses."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import MACHINE_HELP, CommandError, Subparsers, add_command, add_out, init_sheet
from dyn_nodes.commands.option_types import between, positive

if TYPE_CHECKING:
    from dyn_nodes.commands.init_guess import Guess
    from dyn_nodes.commands.init_joints import Loops
    from dyn_nodes.model import LoadReport, Machine

LIGHTEST = 0.005
"""Share of the machine's mass; joints that move less are held."""
SHOWN = 3
"""Warnings of one kind that are printed."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'init',
        'Write a first machine YAML for a URDF, with marked guesses.',
        'dyn-nodes init my_machine.urdf -o my_machine.yaml\n'
        'dyn-nodes check my_machine.urdf --config my_machine.yaml\n'
        'dyn-nodes init --from-sheet gehl_603 -o gehl.yaml',
    )
    parser.add_argument('urdf', metavar='MACHINE', type=Path, nargs='?', help=MACHINE_HELP)
    add_out(parser, "file to write; - for standard output (default: the URDF's name, .yaml)", 'YAML', type=str)
    parser.add_argument(
        '--closures',
        metavar='FILE',
        type=Path,
        help='loops that the URDF leaves out: loop_closures.yaml of the SolidWorks exporter, an MJCF or an SDF file '
        '(default: loop_closures.yaml beside the URDF or in config/, and <gazebo> joints of the URDF)',
    )
    parser.add_argument(
        '--lightest',
        metavar='SHARE',
        type=between(0.0, 1.0),
        default=LIGHTEST,
        help='hold joints that move less than this share of the mass (default %(default)s; 0: none)',
    )
    filling = parser.add_mutually_exclusive_group()
    filling.add_argument(
        '--mass',
        metavar='KG',
        type=positive(unit='kg'),
        help='mass of the machine: give links without inertial one from their shapes, in a new URDF',
    )
    filling.add_argument('--density', metavar='KG/M3', type=positive(unit='kg/m3'), help='the same, of this density')
    parser.add_argument('--force', action='store_true', help='overwrite an existing file')
    init_sheet.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write the YAML; return 0, or 1 if the URDF has faults, which are printed.

    Raises:
        CommandError: the output exists or can't be written.
    """
    from dyn_nodes.model import load_machine_report
    from dyn_nodes.model.named import machine_files

    if (args.urdf is None) == (args.from_sheet is None):
        raise CommandError('expected either MACHINE or --from-sheet SHEET', 2)
    if args.from_sheet is not None:
        return init_sheet.run(args)
    output = args.out or f'{args.urdf.stem}.yaml'
    if output != '-' and os.path.exists(output) and not args.force:
        raise CommandError(f'{output} exists; --force overwrites it')
    try:
        args.urdf = machine_files(str(args.urdf))[0]
    except ValueError as error:
        raise CommandError(str(error)) from None
    if args.mass or args.density:
        _fill_inertials(args, output)
    report = load_machine_report(args.urdf, massless_joints=True)
    if report.machine is None:
        for problem in report.problems:
            print(problem, file=sys.stderr)
        print('no YAML was written: the URDF has faults', file=sys.stderr)
        return 1
    if report.machine.total_mass <= 0.0:
        raise CommandError(f'{args.urdf}: expected at least one link with a mass, found none')
    loops = _loops(report.machine, args.urdf, args.closures)
    text, guess, checked, reason = _write_and_check(report.machine, args.urdf, loops, args.lightest)
    if output == '-':
        print(text, end='')
        return 0
    try:
        Path(output).write_text(text, encoding='utf-8')
    except OSError as error:
        raise CommandError(f'{output} cannot be written: {error.strerror}') from None
    _print_result(output, guess, checked, reason)
    guesses, values = text.count('guess:') - 2, len(checked.machine.assumed) if checked.machine else 0
    count = f'{values} assumed values, as `check` counts them, and {guesses - values} comments'
    print(f'{guesses} guesses, each marked "guess:" in the file: {count}; check them, then run')
    urdf, made = shlex.quote(str(args.urdf)), shlex.quote(output)
    print(f'  dyn-nodes check {urdf} --config {made}')
    control = '' if checked.machine and checked.machine.movable_joints else ' controller:=false'
    print(f'  dyn-nodes launch machine machine:={urdf} config:={made}{control}')
    return 0


def _fill_inertials(args: argparse.Namespace, output: str) -> None:
    """Write a URDF with inertials of all links beside the YAML; `args.urdf` becomes its path. Raises CommandError."""
    from dyn_nodes.analysis.shape_inertia import ShapeInertiaError, fill_inertials
    from dyn_nodes.common.share import MeshError, folders_above
    from dyn_nodes.model import load_machine_report

    report = load_machine_report(args.urdf, massless_joints=True)
    if report.machine is None:
        return  # its faults are printed by the caller
    path = (Path(f'{args.urdf.stem}.yaml') if output == '-' else Path(output)).with_suffix('.urdf')
    if path.resolve() == args.urdf.resolve():
        path = path.with_name(f'{path.stem}_filled.urdf')
    if path.exists() and not args.force:
        raise CommandError(f'{path} exists; --force overwrites it')
    try:
        filled = fill_inertials(report.machine.urdf, folders_above(args.urdf), args.density, args.mass)
        path.write_text(filled.urdf, encoding='utf-8')
    except (MeshError, ShapeInertiaError) as error:
        raise CommandError(f'{args.urdf}: {error}') from None
    except OSError as error:
        raise CommandError(f'{path} cannot be written: {error.strerror}') from None
    for link in filled.hulls:
        print(f'warning: link {link}: its mesh is not closed; its convex hull counts', file=sys.stderr)
    masses = ', '.join(f'{name} {mass:.4g}' for name, mass in filled.masses.items())
    print(
        f'{path}: inertials of {len(filled.masses)} links at {filled.density:.4g} kg/m3, kg: {masses}', file=sys.stderr
    )
    args.urdf = path


def _loops(machine: Machine, urdf: Path, closures: Path | None) -> Loops:
    """Return the loops that files close; print warnings. Raises CommandError for faults in the files."""
    from dyn_nodes.commands.init_closures import files_beside, read_closures
    from dyn_nodes.commands.init_closures.closure import Closures, loops_of
    from dyn_nodes.model.problems import Report

    result = Closures('')
    for path in [closures] if closures is not None else files_beside(urdf):
        report = Report(str(path))
        loaded = read_closures(path, machine, report)
        for warning in report.sorted_warnings():
            print(f'warning: {warning}', file=sys.stderr)
        if loaded is None:
            raise CommandError('\n'.join(str(problem) for problem in report.sorted_problems()))
        result = result if result.pairs or result.mimics else loaded
    return loops_of(machine, result)


def _write_and_check(machine: Machine, urdf: Path, loops: Loops, lightest: float) -> tuple[str, Guess, LoadReport, str]:
    """Return the text, the guesses, the report of `check`, and the reason for a fixed base ('' if it is free).

    Raises CommandError if `check` rejects the machine with a free and with a fixed base.
    """
    from dyn_nodes.commands.init_guess import guess_machine
    from dyn_nodes.commands.init_joints import drive_passive_joints
    from dyn_nodes.common.share import folders_above
    from dyn_nodes.model.mimic import read_mimics
    from dyn_nodes.model.shapes import Shapes

    shapes = Shapes(machine.urdf, folders_above(urdf))
    guess = guess_machine(machine, shapes, {**read_mimics(machine.urdf), **loops.mimics}, loops, lightest)
    for warning in shapes.warnings[:SHOWN]:
        print(f'warning: {warning}', file=sys.stderr)
    if len(shapes.warnings) > SHOWN:
        print(f'warning: and {len(shapes.warnings) - SHOWN} more', file=sys.stderr)
    classes = dict(guess.joints.classes)
    attachment, reason = ('free', '') if guess.contacts else ('fixed', guess.how_contacts)
    if loops.holds_world:
        attachment, reason = 'fixed', 'a loop holds it to the world'
    while True:
        text, checked, problem = _checked(machine, urdf, guess, attachment, reason)
        if problem and drive_passive_joints(machine, guess.joints, problem):
            text, checked, problem = _checked(machine, urdf, guess, attachment, reason)
        if not problem:
            return text, guess, checked, reason
        if attachment == 'fixed':
            raise CommandError(f'{urdf}: {problem}')
        attachment, reason, guess.joints.classes = 'fixed', problem, dict(classes)


def _checked(machine: Machine, urdf: Path, guess: Guess, attachment: str, reason: str) -> tuple[str, LoadReport, str]:
    """Return the text of a YAML, the report of `check`, and its first problem ('' for none)."""
    from dyn_nodes.commands.check import with_plant
    from dyn_nodes.commands.init_yaml import machine_yaml

    text = machine_yaml(machine, urdf.name, guess, attachment, reason)
    loaded = _load(urdf, text)
    if attachment == 'free' and loaded.machine is not None and _tips(loaded.machine):
        return text, loaded, 'it tips over its contacts in the initial posture'
    checked = with_plant(loaded)
    return text, checked, '' if checked.machine is not None else checked.problems[0].found


def _tips(machine: Machine) -> bool:
    """Return whether a machine tips over its contacts in its initial posture."""
    from dyn_nodes.commands.build_check import checked_start
    from dyn_nodes.model.equilibrium import NoEquilibriumError
    from dyn_nodes.stability.equilibrium.standing import at_rest

    if at_rest(machine) is not None:
        return False
    try:
        checked_start(machine)
    except NoEquilibriumError:
        return True
    except ValueError:
        return False  # the check of the new file reports the reason
    return False


def _load(urdf: Path, text: str) -> LoadReport:
    from dyn_nodes.model import load_machine_report

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'machine.yaml'
        path.write_text(text, encoding='utf-8')
        return load_machine_report(urdf, path)


def _print_result(output: str, guess: Guess, checked: LoadReport, reason: str) -> None:
    machine = checked.machine
    assert machine is not None
    print(f'{output}: {machine.name}, {machine.total_mass:.4g} kg, {len(machine.movable_joints)} joints that move')
    if guess.contacts:
        print(f'  contacts: {guess.how_contacts}')
    for contact in guess.contacts:
        print(f'    {contact.name}: {contact.how}')
    joints = guess.joints
    if joints.locked:
        print(f'  held joints: {len(joints.locked)}')
    if joints.constraints:
        print(f'  constraints: {", ".join(constraint.name for constraint in joints.constraints)}')
    for name, (kind, why) in joints.classes.items():
        if kind == 'actuated':
            print(f'  {name}: class {kind}, because its {why}')
    if guess.payload:
        print(f'  payload: {guess.payload}, {guess.how_payload}')
    if reason:
        print(f'  no margins: the base is fixed, because {reason}')
