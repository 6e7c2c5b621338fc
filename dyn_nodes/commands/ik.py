"""`dyn-nodes ik`: computes joint positions for a pose of a link."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, tables
from dyn_nodes.commands.option_types import at_least, count, finite, positive

if TYPE_CHECKING:
    from dyn_nodes.analysis.closed_hand import ClosedResult
    from dyn_nodes.control.hand import HandTask, Result, Solution
    from dyn_nodes.model.machine import Machine

POSE_NUMBERS = 6
SIDES = {-1: 'lower limit', 0: '', 1: 'upper limit'}


def add_parser(subparsers: Subparsers) -> None:
    """Add the `ik` command to the command line."""
    parser = add_command(
        subparsers,
        'ik',
        'Find joint positions that bring a link to a pose, within the joint limits.',
        'dyn-nodes ik log_loader --link payload_link --pose 5.5 1.0 0.5\n'
        'dyn-nodes ik arm_pa10 --link link_7 --pose 0.4 0.1 0.7 0 1.57 0 --starts 20 --json\n'
        'dyn-nodes ik stewart_platform --link platform --pose 0.1 0.05 1.8 0 0 0.2',
    )
    add_machine_and_config(parser)
    parser.add_argument('--link', metavar='LINK', required=True, help='link to move')
    parser.add_argument(
        '--pose',
        type=finite,
        nargs='+',
        required=True,
        metavar='X',
        help='x y z, m, and roll pitch yaw, rad, of the link in axes of the base link; x y z only: position',
    )
    parser.add_argument(
        '--rows',
        nargs='+',
        metavar='ROW',
        help='rows of x y z rx ry rz to meet (the pose with six joints or more or closed loops, else the position)',
    )
    parser.add_argument(
        '--posture', metavar='POSTURE', default='', help="initial posture: joint=position,... (the machine's)"
    )
    parser.add_argument('--joints', nargs='+', metavar='JOINT', help='joints to move (all driven joints to the link)')
    parser.add_argument(
        '--damping',
        type=at_least(0.0),
        default=0.0,
        metavar='X',
        help='damping of every step, over the residual; 0: Newton (0)',
    )
    parser.add_argument(
        '--starts',
        type=count(1),
        default=1,
        metavar='N',
        help='number of initial postures; more than 1 yields several solutions (1)',
    )
    parser.add_argument(
        '--tolerance', type=at_least(0.0), default=1e-12, metavar='M', help='greatest residual of a solution (1e-12)'
    )
    parser.add_argument('--length', type=positive(), default=1.0, metavar='M', help='length equivalent to 1 rad (1)')
    parser.add_argument('--json', action='store_true', help='print everything as JSON, SI units')


def run(args: argparse.Namespace) -> int:
    """Solve and print; return 0 if the target is reached, else 1."""
    from dyn_nodes.analysis.hand_pose import joints_for_pose
    from dyn_nodes.control.hand import HandError, Settings
    from dyn_nodes.nodes.machines import joint_positions, machine_of

    try:
        machine = machine_of(args.machine, args.config)
        _check(args, machine)
        posture = dict(joint_positions(args.posture, machine))
        settings = Settings(tolerance=args.tolerance, damping=args.damping, starts=args.starts)
        solved = joints_for_pose(
            machine, args.link, args.pose, posture, args.rows or (), args.joints, args.length, settings
        )
    except HandError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        text = (
            str(error).replace("parameter 'initial_positions'", '--posture').replace("parameter 'config'", '--config')
        )
        raise CommandError(text.replace("parameter 'machine': ", '')) from None
    task, result = solved.task, solved.result
    if args.json:
        tables.print_json(_as_json(result, args.link, task))
    else:
        _print(result, machine)
    return 0 if result.reached else 1


def _check(args: argparse.Namespace, machine: Machine) -> None:
    """Raise CommandError for options that do not suit each other or the machine."""
    from dyn_nodes.analysis.closed_hand import loop_constraints

    if args.damping and loop_constraints(machine):
        raise CommandError('--damping: expected 0 for a machine with closed loops', 2)
    if len(args.pose) not in (3, POSE_NUMBERS):
        raise CommandError(f'--pose: expected 3 or 6 numbers, found {len(args.pose)}', 2)
    if len(args.pose) == 3 and any(row.startswith('r') for row in args.rows or ()):
        raise CommandError('--pose: expected 6 numbers with a row rx, ry or rz, found 3', 2)


def _as_json(result: Result | ClosedResult, link: str, task: HandTask) -> dict[str, Any]:
    return {
        'link': link,
        'rows': list(task.rows),
        'reached': result.reached,
        'statement': result.statement,
        'starts': result.starts,
        'solutions': [_solution_json(each) for each in result.solutions],
    }


def _solution_json(solution: Solution) -> dict[str, Any]:
    from dyn_nodes.model.rotations import rpy_of_matrix

    return {
        'joints': dict(zip(solution.joints, solution.positions)),
        'reached': solution.reached,
        'residual': {'distance': solution.distance, 'angle': solution.angle},
        'pose': [*solution.pose.position.tolist(), *rpy_of_matrix(solution.pose.rotation).tolist()],
        'iterations': solution.iterations,
        'condition': solution.condition,
        'at_limit': {name: SIDES[side] for name, side in solution.at_limit.items()},
    }


def _print(result: Result | ClosedResult, machine: Machine) -> None:
    from dyn_nodes.model.rotations import rpy_of_matrix

    console = tables.console()
    console.print(result.statement)
    for solution in result.solutions:
        rows = []
        for name, value in zip(solution.joints, solution.positions.tolist()):
            joint = machine.joint(name)
            turns = joint.type != 'prismatic'
            limits = f'{joint.lower:.4g} to {joint.upper:.4g}' if math.isfinite(joint.lower) else ''
            degrees = f'{math.degrees(value):.2f}' if turns else ''
            rows.append((name, f'{value:.9g}', degrees, limits, SIDES[solution.at_limit.get(name, 0)]))
        tables.show(rows, ('joint', 'position', 'deg', 'limits', ''))
        position = ' '.join(f'{value:.6g}' for value in solution.pose.position)
        turn = ' '.join(f'{value:.6g}' for value in rpy_of_matrix(solution.pose.rotation))
        console.print(
            f'at {position} m, roll pitch yaw {turn} rad; residual {solution.distance:.3g} m, {solution.angle:.3g} rad'
        )
