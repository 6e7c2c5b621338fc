"""`dyn-nodes size`: computes the demands of a task on the drives, and selects motors and gears."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, tables

if TYPE_CHECKING:
    from dyn_nodes.analysis.bag_reading import BagData
    from dyn_nodes.analysis.drive_sizing import DriveDemand, GearChoice, JointMotion
    from dyn_nodes.analysis.motor_catalogue import CatalogueMotor


def add_parser(subparsers: Subparsers) -> None:
    """Add the `size` command to the command line."""
    parser = add_command(
        subparsers,
        'size',
        'Compute the demands of a recorded task on the drives; select motors and gears.',
        'dyn-nodes size runs/latest/bag\n'
        'dyn-nodes size arm_bag --machine arm_a6 --motors motors.yaml --plot drives.png',
        'From velocities and efforts of joint_states: greatest and RMS effort, speed,\n'
        'power and work of every joint. With motors of the machine or of a catalogue:\n'
        'the gear ratios that keep the limits of voltage and current, and the ratio with\n'
        'the least heat in the winding. Gears are assumed rigid and lossless.',
    )
    parser.add_argument('bag', metavar='BAG', help='rosbag2 directory or file')
    add_machine_and_config(parser, '--machine')
    parser.add_argument(
        '--motors',
        metavar='YAML',
        help='catalogue of motors, with the keys of a dc_motor and continuous_current '
        '(the motors of the machine, each at its joint)',
    )
    parser.add_argument('--joints', metavar='JOINT', nargs='+', help='joints to evaluate (all with an effort)')
    parser.add_argument('--namespace', metavar='NS', help="of the machine's topics, if the bag contains several")
    parser.add_argument('--json', action='store_true', help='print JSON, SI units')
    parser.add_argument(
        '--plot', metavar='FILE', help='plot of efforts over speeds with the limits of the selected motors'
    )


def run(args: argparse.Namespace) -> int:
    """Print demands and choices; return 0, or 1 if a joint has no suitable motor."""
    from dyn_nodes.analysis.drive_sizing import demand, gear_choice

    machine_motors = _motors_of_machine(args)
    catalogue = _catalogue(args.motors)
    motions = _motions(args, machine_motors)
    demands = {joint: demand(motion) for joint, motion in motions.items()}
    choices: dict[str, list[GearChoice]] = {}
    for joint, motion in motions.items():
        candidates = catalogue or ([machine_motors[joint]] if joint in machine_motors else [])
        choices[joint] = [gear_choice(motion, motor) for motor in candidates]
    if args.json:
        tables.print_json(_as_json(demands, choices))
    else:
        _print(demands, choices, {joint: motor.drive_ratio for joint, motor in machine_motors.items()})
    if args.plot:
        _plot(args.plot, motions, choices, {motor.name: motor for motor in (*catalogue, *machine_motors.values())})
    return 1 if any(gears and not any(choice.fits for choice in gears) for gears in choices.values()) else 0


def _motors_of_machine(args: argparse.Namespace) -> dict[str, CatalogueMotor]:
    """Return the motors of the machine by joint."""
    if args.machine is None:
        if args.config:
            raise CommandError('--config: expected --machine with it', 2)
        return {}
    from dyn_nodes.analysis.motor_catalogue import as_catalogue_motor
    from dyn_nodes.model.actuators.dc_motor import DcMotorActuator
    from dyn_nodes.nodes.machines import machine_of

    try:
        machine = machine_of(args.machine, args.config)
    except ValueError as error:
        text = str(error).replace("parameter 'config'", '--config')
        raise CommandError(text.replace("parameter 'machine': ", '')) from None
    motors = [actuator for actuator in machine.actuators if isinstance(actuator, DcMotorActuator)]
    return {actuator.joint: as_catalogue_motor(actuator) for actuator in motors}


def _catalogue(path: str | None) -> tuple[CatalogueMotor, ...]:
    from dyn_nodes.analysis.motor_catalogue import load_catalogue

    if path is None:
        return ()
    return load_catalogue(path)


def _motions(args: argparse.Namespace, motors: Mapping[str, CatalogueMotor]) -> dict[str, JointMotion]:
    from dyn_nodes.analysis.bag_reading import read_bag

    data = read_bag(args.bag, namespace=args.namespace)
    columns = data.table('joint_states').columns
    recorded = [name.rpartition('/')[0] for name in columns if name.endswith('/effort')]
    unknown = [name for name in args.joints or () if name not in recorded]
    if unknown:
        raise CommandError(
            f'--joints: expected joints of the bag, {", ".join(recorded)}, found {", ".join(unknown)}', 2
        )
    motions = {}
    for joint in args.joints or recorded:
        inertia = motors[joint].reflected_inertia if joint in motors else 0.0
        motion = _motion(data, joint, inertia)
        if motion is not None and (args.joints or motion.effort.any()):
            motions[joint] = motion
    if not motions:
        raise CommandError(f'{args.bag}: expected velocities and efforts in joint_states, found none')
    return motions


def _motion(data: BagData, joint: str, inertia: float) -> JointMotion | None:
    """Return the motion of a joint; None if velocity or effort is missing."""
    import numpy as np

    from dyn_nodes.analysis.drive_sizing import JointMotion

    table = data.table('joint_states')
    velocity, effort = table[f'{joint}/velocity'], table[f'{joint}/effort']
    whole = np.isfinite(velocity) & np.isfinite(effort) & np.isfinite(table.time)
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(table.time)) > 0.0])
    kept = whole & rising
    if np.count_nonzero(kept) < 3:
        return None
    return JointMotion.of_samples(table.time[kept], velocity[kept], effort[kept], inertia)


def _as_json(demands: Mapping[str, DriveDemand], choices: Mapping[str, Sequence[GearChoice]]) -> dict[str, Any]:
    return {
        joint: {
            'demand': demand,
            'motors': [
                {
                    'motor': choice.motor,
                    'fits': choice.fits,
                    'least_ratio': choice.least,
                    'greatest_ratio': choice.greatest,
                    'best': choice.best,
                }
                for choice in choices[joint]
            ],
        }
        for joint, demand in demands.items()
    }


def _print(
    demands: Mapping[str, DriveDemand], choices: Mapping[str, Sequence[GearChoice]], present: Mapping[str, float]
) -> None:
    tables.show(demands.items(), DEMANDS, title='demands of the task on the joints')
    tables.console().print('efforts in N m or N, speeds in rad/s or m/s')
    if not any(choices.values()):
        return
    rows = [
        (joint, choice.motor, f'{present[joint]:.4g}' if joint in present else '', *_cells(choice))
        for joint, gears in choices.items()
        for choice in sorted(gears, key=lambda gear: (not gear.fits, gear.best.heat))
    ]
    headings = ('joint', 'motor', 'ratio now', 'ratios that do', 'coolest', 'current', 'RMS', 'voltage', 'heat', '')
    tables.show(rows, headings, title='motors and gears')
    for joint, gears in choices.items():
        if gears and not any(choice.fits for choice in gears):
            print(f'dyn-nodes: {joint}: no motor does this task', file=sys.stderr)


DEMANDS: dict[str, Callable[[tuple[str, DriveDemand]], str]] = {
    'joint': lambda item: item[0],
    'effort': lambda item: f'{item[1].peak_effort:.4g}',
    'RMS': lambda item: f'{item[1].rms_effort:.4g}',
    'speed': lambda item: f'{item[1].peak_speed:.4g}',
    'power': lambda item: f'{item[1].peak_power:.4g} W',
    'comes back': lambda item: f'{item[1].peak_return:.4g} W',
    'work': lambda item: f'{item[1].work:.4g} J',
    'returned': lambda item: f'{item[1].returned:.4g} J',
}


def _cells(choice: GearChoice) -> tuple[str, ...]:
    best = choice.best
    does = f'{choice.least:.4g} to {choice.greatest:.4g}' if choice.fits else 'none'
    values = (f'{best.peak_current:.4g} A', f'{best.rms_current:.4g} A', f'{best.peak_voltage:.4g} V')
    remark = '' if choice.fits else f'too small: {", ".join(best.exceeded)}'
    return does, f'{best.ratio:.4g}', *values, f'{best.heat:.4g} W', remark


def _plot(
    path: str,
    motions: Mapping[str, JointMotion],
    choices: Mapping[str, Sequence[GearChoice]],
    motors: Mapping[str, CatalogueMotor],
) -> None:
    from dyn_nodes.analysis.drive_plot import drive_figure

    best = {
        joint: min(gears, key=lambda choice: (not choice.fits, choice.best.heat))
        for joint, gears in choices.items()
        if gears
    }
    chosen = {joint: (motors[choice.motor], choice.best.ratio) for joint, choice in best.items()}
    try:
        drive_figure(motions, chosen).savefig(path)
    except (OSError, ValueError) as error:
        raise CommandError(f'--plot: {path}: {error}') from None
