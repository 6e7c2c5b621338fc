"""`dyn-nodes design`: finds layouts of wheels with specified properties."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import SEED, count, finite, pair, pairs

if TYPE_CHECKING:
    from dyn_nodes.multibody.isotropic_design import Design


def add_parser(subparsers: Subparsers) -> None:
    """Add the `design` command to the command line."""
    parser = add_command(
        subparsers,
        'design',
        'Find layouts of wheels with specified properties.',
        'dyn-nodes design isotropic --wheels 3 --plot three.png\n'
        'dyn-nodes design isotropic --wheels 4 --roller 45 --distance 0.4 --length 0.4 --vehicle mine.yaml\n'
        'dyn-nodes design isotropic --wheels 4 --places "0.3,0.2 -0.3,0.2 -0.3,-0.2 0.3,-0.2"',
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    isotropic = verbs.add_parser(
        'isotropic',
        help='Find isotropic layouts of omnidirectional wheels.',
        description='Find isotropic layouts of omnidirectional wheels: condition number one at a characteristic '
        'length. Prints all families; for specified positions (--places) the layout nearest to isotropy.',
    )
    isotropic.add_argument('--wheels', type=count(), required=True, metavar='N', help='number of wheels, all driven')
    isotropic.add_argument(
        '--roller', type=finite, nargs='+', default=[90.0], metavar='DEG',
        help='angle from the hub to the roller on the floor, degrees: one for all, or one for each wheel (90)',
    )  # fmt: skip
    for name, default, text in (
        ('distance', None, 'distance of the wheels from the centre, m (0.3)'),
        ('length', None, 'characteristic length, m (the greatest that the distance allows)'),
        ('radius', 0.1, 'radius of the wheels, m (0.1)'),
        ('roller-radius', 0.01, 'radius of the rollers, m (0.01)'),
    ):
        isotropic.add_argument(f'--{name}', type=finite, default=default, metavar='M', help=text)
    isotropic.add_argument('--places', metavar="'X,Y X,Y ...'", type=pairs, help='specified positions of the wheels, m')
    isotropic.add_argument(
        '--rectangle',
        metavar='A,B',
        type=pair,
        help='half length and half width of four Mecanum wheels on parallel hubs, m (0.8 and 0.6 of the distance)',
    )
    isotropic.add_argument(
        '--samples', type=count(), default=2, metavar='K', help='number of layouts without symmetry (2)'
    )
    isotropic.add_argument('--seed', type=SEED, default=0, metavar='N', help='seed of the random numbers (0)')
    isotropic.add_argument('--plot', metavar='FILE', help='plot of the design space with the layouts: PNG, SVG or PDF')
    isotropic.add_argument('--vehicle', metavar='FILE', help='write the first layout as a YAML for `dyn-nodes omni`')
    isotropic.add_argument('--json', action='store_true', help='print JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Find and print layouts; return 0 if all are isotropic, else 1."""
    designs = _designs(args)
    if args.json:
        from dyn_nodes.analysis.isotropic_output import as_json

        tables.print_json(as_json(designs))
    else:
        _print(designs, args.wheels)
    _write(designs, args)
    return 0 if all(design.layout.isotropic for design in designs) else 1


def _designs(args: argparse.Namespace) -> list[Design]:
    from dyn_nodes.multibody.isotropic_design import general, rectangles, require_possible, stars

    rollers = args.roller * args.wheels if len(args.roller) == 1 else args.roller
    if len(rollers) != args.wheels and args.wheels >= 3:
        raise CommandError(f'--roller: expected one angle, or {args.wheels}, found {len(args.roller)}', 2)
    alpha = [math.radians(angle) for angle in rollers]
    require_possible(alpha, args.radius, args.distance, args.length)
    require_possible(alpha, args.roller_radius)
    if args.places:
        return [_nearest(args, alpha)]
    sizes = (args.radius, args.roller_radius)
    distance = args.distance or (0.3 if args.length is None else max(0.3, args.length / math.sqrt(2.0)))
    designs = []
    if len(set(alpha)) == 1:
        designs += stars(args.wheels, alpha[0], *sizes, distance, args.length)
    if args.rectangle:
        designs += _rectangles(args, alpha)
    elif args.wheels == 4 and all(abs(abs(math.tan(angle)) - 1.0) < 1e-9 for angle in alpha) and args.length is None:
        designs += rectangles(0.8 * distance, 0.6 * distance, *sizes)
    if args.wheels > 3 or len(set(alpha)) > 1:
        reach = args.length or distance
        designs += itertools.islice(general(alpha, *sizes, distance, reach, args.seed), args.samples)
    return designs


def _rectangles(args: argparse.Namespace, alpha: list[float]) -> list[Design]:
    from dyn_nodes.multibody.isotropic_design import ImpossibleDesignError, rectangles

    half_length, half_width = args.rectangle
    if args.wheels != 4 or min(half_length, half_width) <= 0.0:
        raise CommandError(
            f'--rectangle: expected four wheels and lengths > 0 m, found {args.wheels} and {args.rectangle}', 2
        )
    if any(abs(abs(math.tan(angle)) - 1.0) > 1e-9 for angle in alpha):
        raise ImpossibleDesignError(
            'wheels on parallel hubs in a rectangle: expected rollers at 45 degrees (--roller 45); with any other '
            'angle the longitudinal and lateral directions differ'
        )
    return rectangles(half_length, half_width, args.radius, args.roller_radius)


def _nearest(args: argparse.Namespace, alpha: list[float]) -> Design:
    """Return the layout nearest to isotropy at specified positions; hubs and rollers may turn."""
    from dyn_nodes.multibody.isotropic_design import Design, require_possible
    from dyn_nodes.multibody.isotropy import synthesize
    from dyn_nodes.multibody.omni_vehicle import OmniWheel

    positions = args.places
    if len(positions) != args.wheels:
        raise CommandError(f'--places: expected {args.wheels} places, found {len(positions)}', 2)
    reach = max(math.hypot(*position) for position in positions)
    require_possible([0.5 * math.pi] * args.wheels, args.radius, reach, args.length)
    wheels = [
        OmniWheel(a, math.atan2(y, x), math.atan2(y, x), math.hypot(x, y), args.radius, args.roller_radius)
        for a, (x, y) in zip(alpha, positions)
    ]
    layout = synthesize(wheels, args.length, seed=args.seed)
    note = 'hubs and rollers turned until the six conditions hold' if layout.isotropic else (
        'no isotropic layout was found at these positions; this layout is the nearest'
    )  # fmt: skip
    return Design('in given places', note, layout)


def _print(designs: list[Design], count: int) -> None:
    from dyn_nodes.analysis.isotropic_output import table_rows
    from dyn_nodes.multibody.isotropic_design import freedom

    console = tables.console(110)
    for design in designs:
        layout = design.layout
        title = f'{design.family}: {design.note}'
        properties = (
            f'L = {layout.length:.6g} m, sigma = {layout.sigma:.6g} 1/m, condition number {layout.condition:.9g}'
        )
        headings = ('wheel', 'x, m', 'y, m', 'hub, deg', 'roller, deg', 'roller axis, deg')
        tables.show(table_rows(design), headings, title=title)
        console.print(properties, style='italic')
    free = freedom(count)
    freedoms = str(free) if free else 'none except the mirror image'
    console.print(
        f'Free parameters of isotropic layouts of {count} equal wheels, up to rotation: {freedoms}. Every wheel may be '
        'moved along its roller axis, and its hub may turn about the fixed roller.',
        style='dim',
    )


def _write(designs: list[Design], args: argparse.Namespace) -> None:
    from dyn_nodes.analysis.isotropic_output import draw, vehicle_yaml

    try:
        if args.plot:
            draw(designs, args.wheels).savefig(args.plot)
            print(f'written: {args.plot}', file=sys.stderr)
        if args.vehicle:
            Path(args.vehicle).write_text(vehicle_yaml(designs[0]), encoding='utf-8')
            print(f'written: {args.vehicle}', file=sys.stderr)
    except OSError as error:
        raise CommandError(f'{error.filename or args.plot}: {error.strerror or error}') from None
    except ValueError as error:  # unknown suffix of the picture
        raise CommandError(f'--plot: {error}', 2) from None
