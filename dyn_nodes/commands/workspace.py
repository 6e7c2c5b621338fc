"""`dyn-nodes workspace`: computes positions, condition numbers and stiffness of a link over its workspace."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, tables
from dyn_nodes.commands.option_types import SEED, count, numbers_by_name, pair, picture, positive, wrong

if TYPE_CHECKING:
    from dyn_nodes.control.hand import HandTask
    from dyn_nodes.control.hand.workspace import Workspace
    from dyn_nodes.model.machine import Machine

MOST_POSTURES = 1_000_000
Ranges = dict[str, tuple[float, float]]
Survey = tuple['Workspace', 'HandTask', list[str]]
POSTURES, CLOSED_POSTURES = 20_000, 500


def add_parser(subparsers: Subparsers) -> None:
    """Add the `workspace` command to the command line."""
    parser = add_command(
        subparsers,
        'workspace',
        'Compute the workspace of a link with its dexterity and stiffness.',
        'dyn-nodes workspace log_loader --link payload_link --plot workspace.png\n'
        'dyn-nodes workspace log_loader --link payload_link --stiffness swing_joint=2e7 --json\n'
        'dyn-nodes workspace stewart_platform --link platform --rows x y z rx ry rz',
    )
    add_machine_and_config(parser)
    parser.add_argument('--link', metavar='LINK', required=True, help='link to move')
    parser.add_argument('--joints', metavar='JOINT', nargs='+', help='joints to move (all driven joints to the link)')
    parser.add_argument('--rows', metavar='ROW', nargs='+', help='rows of the condition number, of x y z rx ry rz')
    parser.add_argument('--length', type=positive(), default=1.0, metavar='M', help='length equivalent to 1 rad (1)')
    parser.add_argument(
        '--range',
        dest='ranges',
        type=_range,
        metavar='J=A,B',
        nargs='+',
        default=[],
        help="ranges of joints (the machine's limits)",
    )
    parser.add_argument(
        '--stiffness',
        type=numbers_by_name,
        metavar='J=K',
        nargs='+',
        default=[],
        help='stiffness of joints, N m/rad or N/m (of trapped oil)',
    )
    parser.add_argument(
        '--postures',
        type=count(1, MOST_POSTURES),
        metavar='N',
        help=f'number of postures ({POSTURES}; with closed loops {CLOSED_POSTURES})',
    )
    parser.add_argument('--seed', type=SEED, default=0, metavar='N', help='seed of the postures (0)')
    parser.add_argument('--json', action='store_true', help='print the result as JSON, SI units')
    parser.add_argument('--npz', metavar='FILE', help='file for all postures, positions, conditions and stiffnesses')
    parser.add_argument(
        '--plot', type=picture, metavar='FILE', help='plot of the workspace from the side and from above'
    )


def run(args: argparse.Namespace) -> int:
    """Compute, print and write the workspace; return 0."""
    from dyn_nodes.control.hand import HandError

    try:
        space, task, notes = _survey(args)
    except HandError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        text = str(error).replace("parameter 'config'", '--config')
        raise CommandError(text.replace("parameter 'machine': ", '')) from None
    facts = _facts(space, task) | ({'notes': notes} if notes else {})
    if args.json:
        tables.print_json(facts)
    else:
        _print(facts, args.link)
    _write(args, space)
    return 0


def _survey(args: argparse.Namespace) -> Survey:
    """Return the workspace, the rows of its condition number, and notes."""
    from dyn_nodes.analysis.closed_hand import loop_constraints
    from dyn_nodes.nodes.machines import machine_of

    ranges = dict(args.ranges)
    stiffness = {name: value for group in args.stiffness for name, value in group.items()}
    machine = machine_of(args.machine, args.config)
    if loop_constraints(machine):
        return _survey_closed(args, machine, ranges, stiffness)
    return _survey_tree(args, machine, ranges, stiffness)


def _survey_tree(args: argparse.Namespace, machine: Machine, ranges: Ranges, stiffness: dict[str, float]) -> Survey:
    from dyn_nodes.control.hand import HandKinematics, HandTask
    from dyn_nodes.control.hand.workspace import joint_stiffness, ranges_of, spread, survey

    hand = HandKinematics.of(machine, args.link, args.joints)
    task = HandTask(tuple(args.rows or hand.default_task.rows), args.length)
    names = set(hand.names)
    start = hand.posture({name: q for name, q in machine.initial.joint_positions.items() if name in names})
    postures = spread(ranges_of(hand, ranges), args.postures or POSTURES, args.seed)
    return survey(hand, postures, task, start, joint_stiffness(machine, hand, stiffness)), task, []


def _survey_closed(args: argparse.Namespace, machine: Machine, ranges: Ranges, stiffness: dict[str, float]) -> Survey:
    from dyn_nodes.analysis.closed_hand import ClosedHand
    from dyn_nodes.analysis.closed_workspace import closed_workspace
    from dyn_nodes.control.hand import HandTask

    if args.joints:
        raise CommandError('--joints: expected no --joints for a machine with closed loops, which its drives move', 2)
    hand = ClosedHand(machine, args.link)
    task = HandTask(tuple(args.rows or hand.positions_that_move), args.length)
    result = closed_workspace(hand, args.postures or CLOSED_POSTURES, args.seed, task, ranges, stiffness)
    tried = f'{result.tried} postures of {", ".join(result.space.joints)} tried'
    return (
        result.space,
        task,
        [f'{tried}: at {result.open} the loops do not close, at {result.beyond} joints exceed their limits'],
    )


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the joint and the numbers of `JOINT=LEAST,GREATEST`."""
    name, sign, numbers = text.partition('=')
    if not (name and sign):
        raise wrong('JOINT=LEAST,GREATEST', text)
    return name, pair(numbers)


def _facts(space: Workspace, task: HandTask) -> dict[str, Any]:
    import numpy as np

    def at(k: int) -> dict[str, Any]:
        position = [float(part) for part in space.positions[k]]
        stiffness = float(space.stiffness[k])
        return {
            'posture': dict(zip(space.joints, map(float, space.postures[k]))),
            'position': position,
            'reach': float(space.reach[k]),
            'condition': float(space.condition[k]) if np.isfinite(space.condition[k]) else None,
            'manipulability': float(space.manipulability[k]),
            'stiffness': stiffness if np.isfinite(stiffness) else None,
        }

    indices = {
        'farthest': int(np.argmax(space.reach)),
        'highest': int(np.argmax(space.positions[:, 2])),
        'lowest': int(np.argmin(space.positions[:, 2])),
        'best_condition': int(np.argmin(space.condition)),
        'greatest_manipulability': int(np.argmax(space.manipulability)),
    }
    if np.isfinite(space.stiffness).any():
        indices['softest'] = int(np.nanargmin(space.stiffness))
        indices['stiffest'] = int(np.nanargmax(np.where(np.isfinite(space.stiffness), space.stiffness, np.nan)))
    conditions = np.percentile(space.condition, (50, 90), method='nearest')
    return {
        'postures': len(space.postures),
        'joints': list(space.joints),
        'rows': list(task.rows),
        'condition_median': float(conditions[0]) if np.isfinite(conditions[0]) else None,
        'condition_90': float(conditions[1]) if np.isfinite(conditions[1]) else None,
        'singular': int(np.count_nonzero(~np.isfinite(space.condition))),
        **{name: at(k) for name, k in indices.items()},
    }


def _print(facts: dict[str, Any], link: str) -> None:
    """Print a column for each extreme posture and a row for each joint."""

    def shown(value: float | None) -> str:
        return '-' if value is None else f'{value:.4g}'

    console = tables.console()
    extremes = {name: extreme for name, extreme in facts.items() if isinstance(extreme, dict)}
    rows: dict[str, list[float | None]] = {
        'reach, m': [extreme['reach'] for extreme in extremes.values()],
        'height, m': [extreme['position'][2] for extreme in extremes.values()],
        f'condition of {" ".join(facts["rows"])}': [extreme['condition'] for extreme in extremes.values()],
    }
    if 'softest' in extremes:
        rows['stiffness, kN/m'] = [
            extreme['stiffness'] and 1e-3 * extreme['stiffness'] for extreme in extremes.values()
        ]
    rows |= {name: [extreme['posture'][name] for extreme in extremes.values()] for name in facts['joints']}
    lines = [(name, *map(shown, values)) for name, values in rows.items()]
    headings = ('', *(name.replace('_', ' ') for name in extremes))
    tables.show(lines, headings, title=f'{link}: {facts["postures"]} postures')
    for note in facts.get('notes', ()):
        console.print(note, style='dim')
    median, most = shown(facts['condition_median']), shown(facts['condition_90'])
    console.print(
        f'condition number: {median} in the median, below {most} in nine of ten; singular: {facts["singular"]}'
    )


def _write(args: argparse.Namespace, space: Workspace) -> None:
    try:
        if args.npz:
            _write_npz(args.npz, space)
        if args.plot:
            from dyn_nodes.analysis.workspace_plot import workspace_figure

            workspace_figure(space, f'{args.link} of {args.machine}').savefig(args.plot)
    except (OSError, ValueError) as error:
        raise CommandError(f'{args.plot if args.plot else args.npz}: {error}') from None


def _write_npz(path: str, space: Workspace) -> None:
    import numpy as np

    np.savez_compressed(
        path,
        joints=np.array(space.joints),
        postures=space.postures,
        positions=space.positions,
        condition=space.condition,
        manipulability=space.manipulability,
        stiffness=space.stiffness,
        vertical_stiffness=space.vertical_stiffness,
    )
