"""`dyn-nodes contact`: checks wheel contacts along a planned motion (`plan`) or under random commands (`drive`)."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.contact_drive import add_drive_parser, run_drive
from dyn_nodes.commands.option_types import at_least, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dyn_nodes.analysis.contact_check import Breach, ContactReport
    from dyn_nodes.analysis.motion_plan import MotionPlan
    from dyn_nodes.model.assumptions import Assumption

SHORTEST = 1e-4


def add_parser(subparsers: Subparsers) -> None:
    """Add the `contact` command to the command line."""
    parser = add_command(
        subparsers,
        'contact',
        'Find where wheels would slide or lift along a planned motion.',
        'dyn-nodes contact plan config/plans/agv_mecanum_arm.yaml\n'
        'dyn-nodes contact plan fetch.yaml --friction 0.3 --plot contact.png\n'
        'dyn-nodes contact drive agv_mecanum_arm --runs 50',
    )
    verbs = parser.add_subparsers(metavar='VERB', dest='verb', required=True)
    plan = add_command(
        verbs,
        'plan',
        'Find instants of a planned motion without admissible ground reactions.',
        'dyn-nodes contact plan fetch.yaml --margin 20 --json',
        'Check every instant of a motion for admissible ground reactions, which balance\n'
        'gravity and inertia, pull no wheel down and stay inside the friction cones.\n'
        'Prints the intervals without admissible reactions, the tightest wheel there, the\n'
        'admissible speed of the motion, and the least change of one joint that makes the\n'
        'worst instant admissible. Exit status 0 if the whole motion is admissible, else 1.',
    )
    plan.add_argument('plan', metavar='PLAN', type=Path, help='YAML file: machine and points of the motion')
    for name, unit, least, default, text in (
        ('payload', 'KG', 0.0, None, "mass in the implement (the plan's)"),
        ('friction', 'X', 1e-3, None, "static coefficient of all wheels (the machine's)"),
        ('margin', 'N', 0.0, 0.0, 'least margin of every wheel (0)'),
        ('step', 'S', SHORTEST, 0.01, 'time between instants (0.01)'),
    ):
        plan.add_argument(f'--{name}', type=at_least(least), default=default, metavar=unit, help=text)
    plan.add_argument('--json', action='store_true', help='print JSON, SI units')
    plan.add_argument('--plot', type=picture, metavar='FILE', help='margin and friction uses: .png, .svg or .pdf')
    add_drive_parser(verbs)


def run(args: argparse.Namespace) -> int:
    """Check the motion and print the result; return 0 if the whole motion is admissible, else 1."""
    if args.verb == 'drive':
        return run_drive(args)
    report = _report(args)
    assumed = _assumed(args, report.plan)
    if args.json:
        tables.print_json(_as_json(report, assumed))
    else:
        _print(report, assumed)
    if args.plot:
        from dyn_nodes.analysis.contact_plots import plot_report
        from dyn_nodes.analysis.plots import RESOLUTION, style

        try:
            with style():
                plot_report(report).savefig(args.plot, dpi=RESOLUTION)
        except OSError as error:
            raise CommandError(f'{args.plot}: {error.strerror or error}') from None
    return 1 if report.breaches else 0


def _report(args: argparse.Namespace) -> ContactReport:
    from dyn_nodes.analysis.contact_check import ContactCheck, ContactCheckError
    from dyn_nodes.analysis.motion_plan import load_motion_plan
    from dyn_nodes.model.problems import MachineError
    from dyn_nodes.nodes.machines import checked_payload, machine_of

    try:
        plan = load_motion_plan(args.plan, machine_of)
        if args.payload is not None:
            plan = plan._replace(payload=checked_payload(plan.machine, args.payload))
        return ContactCheck(plan.machine, plan.payload, args.friction).report(plan, args.step, args.margin)
    except MachineError as error:
        raise CommandError(str(error)) from None
    except (ContactCheckError, ValueError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f'{args.plan}: {error.strerror or error}') from None


def _assumed(args: argparse.Namespace, plan: MotionPlan) -> tuple[Assumption, ...]:
    """Return the conditions that neither the plan nor the options specify."""
    from dyn_nodes.model.assumptions import friction_of, payload_of, slope_of

    weighed = args.payload is not None or plan.payload_specified
    assumed = () if weighed else payload_of(plan.machine, 'payload in the plan, nor --payload')
    assumed += friction_of(plan.machine, '--friction') if args.friction is None else ()
    return assumed + slope_of(plan.machine, 'slope in the plan')


def _as_json(report: ContactReport, assumed: Sequence[Assumption]) -> dict[str, Any]:
    from dyn_nodes.model.assumptions import plain

    reactions = report.reactions.result
    return {
        'motion': report.plan.name,
        'machine': report.plan.machine.name,
        'payload': report.plan.payload,
        'assumed': plain(assumed),
        'admissible': not report.breaches,
        'breaches': [breach._asdict() for breach in report.breaches],
        'pace': report.pace,
        'posture': None if report.posture is None else report.posture._asdict(),
        'wheels': list(report.wheels),
        'times': report.reactions.times,
        'margin': reactions.margin,
        'possible': reactions.possible,
        'robust': reactions.robust,
        'friction_use': reactions.friction_use,
    }


def _print(report: ContactReport, assumed: Sequence[Assumption]) -> None:
    from dyn_nodes.model.assumptions import lines

    console = tables.console()
    times, reactions = report.reactions
    title = f'{report.plan.name}: ' if report.plan.name else ''
    console.print(
        f'{title}{report.plan.machine.name} with {report.plan.payload:g} kg, {times[-1]:g} s, {len(times)} instants',
        soft_wrap=True,
    )
    for line in lines(assumed):
        console.print(line, soft_wrap=True)
    least = int(reactions.margin.argmin())
    console.print(f'least margin {reactions.margin[least]:.1f} N at {times[least]:.2f} s', soft_wrap=True)
    if not report.breaches:
        console.print('reactions are admissible all along', style='green')
        return
    tables.show(report.breaches, COLUMNS, title='no admissible reactions')
    for line in advice(report):
        console.print(line, soft_wrap=True)


COLUMNS: dict[str, Callable[[Breach], str]] = {
    'from, s': lambda breach: f'{breach.start:.2f}',
    'to, s': lambda breach: f'{breach.end:.2f}',
    'worst, s': lambda breach: f'{breach.worst:.2f}',
    'margin, N': lambda breach: f'{breach.margin:.1f}',
    'friction use': lambda breach: f'{breach.friction_use:.2f}' if math.isfinite(breach.friction_use) else '-',
    'tightest wheel': lambda breach: breach.wheel,
    '': lambda breach: 'lifts' if breach.lifts else 'slides',
}


def advice(report: ContactReport) -> list[str]:
    """Return advice: an admissible speed, and another posture at the worst instant."""
    goal = f'a margin of {report.wanted:g} N' if report.wanted else 'admissible reactions'
    if report.pace is None:
        lines = [f'slower: no speed gives {goal} everywhere, not even standing still']
    else:
        lines = [f'slower: at {report.pace:.3f} of the speed it has {goal} everywhere']
    worst = min(report.breaches, key=lambda breach: breach.margin)
    if report.posture is None:
        return [*lines, f'another posture: no joint alone gives {goal} at {worst.worst:.2f} s']
    joint = next(
        candidate for candidate in report.plan.machine.movable_joints if candidate.name == report.posture.joint
    )
    unit = 'm' if joint.type == 'prismatic' else 'rad'
    text = f'another posture: {report.posture.joint} {report.posture.change:+.3f} {unit} at {worst.worst:.2f} s'
    return [*lines, f'{text} gives {goal} there']
