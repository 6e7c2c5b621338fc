"""Options of the verbs of `dyn-nodes governor`: the box of cases, the settings of the governor, the file of runs."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, add_jobs, add_machine_and_config, add_out
from dyn_nodes.commands.option_types import SEED, between
from dyn_nodes.governor.settings import CRITERIA, JERK, GovernorSettings

if TYPE_CHECKING:
    from dyn_nodes.governor.campaign.cases import Box
    from dyn_nodes.governor.campaign.troubles import TroubleBox
    from dyn_nodes.model.machine import Machine

MARGINS = {
    'reserve': 'least load of a wheel on a stop, over its mean',
    'tipping-reserve': 'least moment about an edge on a stop, over its mean',
    'rise': 'additional reserve if an output grows',
    'least': 'least load of a wheel on the way to a more stable posture',
    'slack': 'alternative limit, if lower: load at rest minus this',
}
DEFAULTS = GovernorSettings()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add machine, box, processes and file to a verb."""
    add_machine_and_config(parser)
    parser.add_argument('--seed', metavar='N', type=SEED, default=1, help='seed of the random numbers (1)')
    add_doubts(parser, 1000.0)
    unknown = ', unknown to the governor (0)'
    for name, unit, most, default, text in (
        ('slope', 'DEG', 30.0, 5.0, 'steepest ground (5)'),
        ('noise', 'X', 100.0, 0.0, 'factor on the sensor errors of dyn-nodes monitor check (0)'),
        ('jitter', '%', 100.0, 0.0, 'random reduction of delays (0)'),
        ('oil-error', '%', 90.0, 0.0, f"greatest error of the oil's bulk modulus{unknown}"),
        ('suspension-error', '%', 90.0, 0.0, f"greatest error of the wheels' stiffness and damping{unknown}"),
    ):
        parser.add_argument(f'--{name}', metavar=unit, type=between(0.0, most), default=default, help=text)
    parser.add_argument(
        '--duration', metavar='S', type=between(1.0, 120.0), default=10.0, help='length of a lever sequence (10)'
    )
    parser.add_argument(
        '--any-start',
        action='store_true',
        help='start at rest in a random posture, or as near to it as the governor certifies',
    )
    parser.add_argument('--nominal', action='store_true', help='exact model: level ground, no errors, no delay')
    parser.add_argument(
        '--unaware', action='store_true', help='the governor uses its default errors and delay, not the options above'
    )
    add_margins(parser)
    parser.add_argument('--no-stops', action='store_true', help='no end stops of joints')
    parser.add_argument('--no-imu', action='store_true', help='the governor has no IMU and assumes level ground')
    add_jobs(parser)
    add_out(parser, 'directory of the runs, which a later call continues')


def add_doubts(parser: argparse.ArgumentParser, latest: float) -> None:
    """Add the model errors and the delay, ms, that the governor takes into account."""
    for name, unit, most, default, text in (
        ('mass-error', '%', 50.0, 100.0 * DEFAULTS.mass_error, 'greatest error of the masses of all links'),
        (
            'center-error',
            'MM',
            500.0,
            1e3 * DEFAULTS.center_error,
            'greatest error of the centres of mass of all links',
        ),
        ('payload-error', '%', 100.0, 100.0 * DEFAULTS.payload_error, 'greatest error of the payload'),
        ('delay', 'MS', latest, 1e3 * DEFAULTS.delay, 'longest delay from measurement to valve'),
    ):
        text = f'{text} ({default:g})'
        parser.add_argument(f'--{name}', metavar=unit, type=between(0.0, most), default=default, help=text)


def add_efforts(parser: argparse.ArgumentParser) -> None:
    """Add the options of joints that efforts move instead of hydraulics."""
    parser.add_argument(
        '--efforts',
        action='store_true',
        help='efforts within their limits move the joints, no hydraulics; levers command up to 3 rad/s2',
    )
    parser.add_argument(
        '--jerk',
        metavar='X',
        type=between(0.1, 1e4),
        help=f'greatest jerk of joints with --efforts, rad/s3 or m/s3 ({JERK:g})',
    )


def add_margins(parser: argparse.ArgumentParser) -> None:
    """Add criterion and margins of the governor; defaults are those in `GovernorSettings`."""
    parser.add_argument(
        '--criterion',
        choices=CRITERIA,
        default=DEFAULTS.criterion,
        help=f'no wheel lifts, or no edge and not above the rated load ({DEFAULTS.criterion})',
    )
    for name, text in MARGINS.items():
        text = f'{text} ({getattr(DEFAULTS, _field(name)):g})'
        parser.add_argument(f'--{name}', metavar='SHARE', type=between(0.0, 0.9), help=text)


def _field(option: str) -> str:
    """Return the field of the settings for an option."""
    return option.replace('-', '_')


def check(args: argparse.Namespace) -> None:
    """Raise CommandError for --jerk without --efforts."""
    if args.jerk is not None and not args.efforts:
        raise CommandError('--jerk: expected --efforts with it, found none', 2)


def as_governed(machine: Machine, efforts: bool) -> Machine:
    """Return a machine as it is governed: parked, on the wheels that carry it, and without actuators by efforts."""
    from dyn_nodes.model.locking import parked
    from dyn_nodes.stability.equilibrium.standing import on_standing_wheels

    return on_standing_wheels(parked(replace(machine, actuators=()) if efforts else machine))


def machine_and_box(args: argparse.Namespace) -> tuple[Machine, Box]:
    """Return the machine and the box around it.

    Raises:
        CommandError: the machine does not exist or the governor does not support it.
    """
    slope = 0.0 if args.nominal else math.radians(args.slope)
    more: dict[str, Any] = {'duration': args.duration, 'stops': not args.no_stops, 'imu': not args.no_imu}
    more['any_start'] = args.any_start
    return governed(args, slope=slope, troubles=_troubles(args), **_doubts(args), **more)


def governed(args: argparse.Namespace, **changes: Any) -> tuple[Machine, Box]:
    """Return the machine as it is governed, and its box with these fields (`box_of`).

    Raises:
        CommandError: the machine does not exist or the governor does not support it.
    """
    from dyn_nodes.governor.campaign.cases import box_of
    from dyn_nodes.nodes.machines import machine_of

    try:
        machine, efforts = machine_of(args.machine, args.config), getattr(args, 'efforts', False)
        machine = as_governed(machine, efforts)
        if args.criterion == 'tipping' and machine.base.attachment == 'planar':
            raise ValueError(f'--criterion tipping: expected a machine in space, found {machine.name!r} in its plane')
        return machine, box_of(machine, efforts, **changes)
    except ValueError as error:
        text = str(error).replace("parameter 'config'", '--config').replace("parameter 'machine': ", '')
        raise CommandError(text) from None


def _troubles(args: argparse.Namespace) -> TroubleBox:
    from dyn_nodes.governor.campaign.troubles import TroubleBox

    return TroubleBox(
        oil=0.01 * args.oil_error,
        suspension=0.01 * args.suspension_error,
        noise=args.noise,
        jitter=0.01 * args.jitter,
        drops=getattr(args, 'drop', False),
        grabs=getattr(args, 'grab', 0.0),
    )


def _doubts(args: argparse.Namespace) -> dict[str, float]:
    """Return the relative errors and the delay, s."""
    factors = {'mass_error': 0.01, 'center_error': 1e-3, 'payload_error': 0.01, 'delay': 1e-3}
    is_nominal = getattr(args, 'nominal', False)
    return {name: 0.0 if is_nominal else factor * getattr(args, name) for name, factor in factors.items()}


def settings(args: argparse.Namespace) -> GovernorSettings:
    """Return the settings of the governor with the specified errors and delay."""
    changes: dict[str, Any] = {
        field: value for field in map(_field, MARGINS) if (value := getattr(args, field)) is not None
    }
    changes['criterion'] = args.criterion
    changes |= {} if getattr(args, 'unaware', False) else _doubts(args)
    changes['bring_down'] = getattr(args, 'bring_down', False)
    if getattr(args, 'efforts', False):
        changes['rate'] = JERK if args.jerk is None else args.jerk
    return replace(DEFAULTS, **changes)


def is_tested(starts: int) -> bool:
    """Return whether any start was certified; report if none was."""
    if not starts:
        print(
            'no start is certified: nothing was tested (rejected starts; see the page of the governor)', file=sys.stderr
        )
    return starts > 0


def runs_file(args: argparse.Namespace, name: str = 'runs.jsonl') -> Path | None:
    """Return the file of the runs in the directory `--out`, which is created; None without --out."""
    if args.out is None:
        return None
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f'--out: {error.filename}: {error.strerror}') from None
    return Path(args.out / name)
