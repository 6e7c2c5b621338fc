"""`dyn-nodes linearize`: linear model of a machine about a posture or a time of a bag."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, tables
from dyn_nodes.commands.option_types import at_least, between, finite, numbers_by_name, picture, positive

if TYPE_CHECKING:
    from dyn_nodes.model.assumptions import Assumption
    from dyn_nodes.model.machine import Machine
    from dyn_nodes.simulation.linear import LinearModel
    from dyn_nodes.simulation.plant import Plant

PERIOD = 1e-3
LONGEST = 60.0
"""Longest motion before the linearization, s."""
OPEN = '--input and --after open them'


def add_parser(subparsers: Subparsers) -> None:
    """Add the `linearize` command to the command line."""
    parser = add_command(
        subparsers,
        'linearize',
        'Make a linear model about a state: poles, modes, Bode, controllability.',
        'dyn-nodes linearize log_loader --posture boom_joint=0.5,stick_joint=-1.0 --payload 500\n'
        'dyn-nodes linearize log_loader --input boom/voltage=2 --after 0.5 --bode boom/voltage boom_joint\n'
        'dyn-nodes linearize log_loader --plot poles.png\n'
        'dyn-nodes linearize arm_a6 --npz arm_a6.npz\n'
        'dyn-nodes linearize log_loader --bag runs/latest/bag --at 6.5 --json',
    )
    add_machine_and_config(parser)
    parser.add_argument('--posture', metavar='POSTURE', default='', help="joint=position,... (the machine's)")
    parser.add_argument(
        '--payload', type=at_least(0.0, 'kg'), metavar='KG', help="mass in the implement (the machine's)"
    )
    parser.add_argument('--efforts', action='store_true', help='joint efforts as inputs, without actuators')
    parser.add_argument(
        '--input',
        type=numbers_by_name,
        nargs='+',
        default=[],
        metavar='NAME=X',
        help='values of inputs, V, N or N m (0; holding efforts)',
    )
    parser.add_argument(
        '--after',
        type=between(0.0, LONGEST, 's'),
        default=0.0,
        metavar='S',
        help='linearize after a motion of this time under the inputs (0)',
    )
    parser.add_argument('--bag', type=Path, metavar='BAG', help='take the state from a bag of these nodes')
    parser.add_argument('--at', type=finite, metavar='S', help='time in the bag')
    parser.add_argument('--namespace', metavar='NS', help='of the machine, if the bag contains several')
    parser.add_argument(
        '--outputs', nargs='+', metavar='NAME', help='outputs or states (the positions of the driven joints)'
    )
    parser.add_argument('--bode', nargs=2, metavar=('INPUT', 'OUTPUT'), help='print gain and phase of this pair')
    parser.add_argument('--frequencies', nargs='+', type=positive(), metavar='HZ', help='frequencies of --bode')
    parser.add_argument('--json', action='store_true', help='print everything as JSON, SI units')
    parser.add_argument('--npz', type=Path, metavar='FILE', help='file for A, B, C, D, names, poles and the state')
    parser.add_argument('--plot', type=picture, metavar='FILE', help='plot of poles and --bode: .png, .svg or .pdf')


def run(args: argparse.Namespace) -> int:
    """Make, print and write the model."""
    from dyn_nodes.model.assumptions import lines, plain

    _check(args)
    plant, model, notes = _model(args)
    assumed = _assumed(args, plant.machine)
    notes += lines(assumed)
    try:
        bode = model.bode(args.bode[0], args.bode[1], args.frequencies) if args.bode else None
    except (KeyError, ValueError) as error:
        raise CommandError(f'--bode: {error.args[0]}') from None
    if bode is not None and not bode.gain.any():
        notes.append(
            f'no transfer from {args.bode[0]} to {args.bode[1]} in this state: closed valves pass no oil; {OPEN}'
        )
    if args.json:
        tables.print_json({**_as_json(plant, model, bode, notes), 'assumed': plain(assumed)}, indent=None)
    else:
        _print(plant, model, bode, notes)
    try:
        if args.npz:
            _write_npz(args.npz, model)
        if args.plot:
            _write_plot(args.plot, model, tuple(args.bode) if args.bode else None)
    except OSError as error:
        raise CommandError(f'{error.filename}: {error.strerror or error}') from None
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise CommandError for inconsistent options."""
    if (args.bag is None) != (args.at is None):
        raise CommandError('--bag and --at: expected both or neither', 2)
    if args.bag is not None and (args.posture or args.after):
        raise CommandError('--bag: expected no --posture and no --after, which it replaces', 2)


def _model(args: argparse.Namespace) -> tuple[Plant, LinearModel, list[str]]:
    """Return the plant in its state, the linear model, and notes about the state."""
    from dyn_nodes.nodes.machines import checked_payload, joint_positions, machine_of
    from dyn_nodes.simulation.linear import Linearizer
    from dyn_nodes.simulation.plant import Plant, PlantDivergedError

    try:
        machine = machine_of(args.machine, args.config)
        joints = joint_positions(args.posture, machine)
        values = {} if args.payload is None else {'payload_mass': checked_payload(machine, args.payload)}
        actuation: Any = 'hydraulic' if machine.actuators and not args.efforts else 'effort'
        plant = Plant(machine, actuation, PERIOD, PERIOD, (), joints, values)
        plant.set_inputs({name: value for inputs in args.input for name, value in inputs.items()})
        for _ in range(round(args.after / PERIOD)):
            plant.advance()
        x, u = plant.x, plant.u
        notes: list[str] = []
        if args.bag is not None:
            x, u, notes = _from_bag(args, plant)
        return plant, Linearizer(plant.system, args.outputs).at(x, u, plant.p, args.at or plant.time), notes
    except PlantDivergedError as error:
        raise CommandError(f'--after: {error}') from None
    except (KeyError, ValueError) as error:
        text = str(error.args[0] if isinstance(error, KeyError) else error)
        for parameter, option in (('initial_positions', '--posture'), ('config', '--config'), ('machine', 'MACHINE')):
            text = text.replace(f'parameter {parameter!r}', option)
        raise CommandError(text) from None


def _assumed(args: argparse.Namespace, machine: Machine) -> tuple[Assumption, ...]:
    """Return the conditions that the options do not specify."""
    from dyn_nodes.model.assumptions import payload_of, posture_of, slope_of
    from dyn_nodes.nodes.machines import joint_positions

    assumed = payload_of(machine, '--payload') if args.payload is None else ()
    if args.bag is None:
        assumed += posture_of(machine, '--posture', joint_positions(args.posture, machine) if args.posture else ())
    return assumed + slope_of(machine, 'option for it')


def _from_bag(args: argparse.Namespace, plant: Plant) -> tuple[Any, Any, list[str]]:
    from dyn_nodes.analysis.bag_reading import read_bag
    from dyn_nodes.analysis.recorded_state import recorded_state

    try:
        data = read_bag(args.bag, namespace=args.namespace)
        recorded = recorded_state(plant.system, data, args.at, plant.x, plant.u)
    except OSError as error:
        raise CommandError(f'{error.filename or args.bag}: {error.strerror or error}') from None
    notes = [f'state of {args.bag} at {recorded.time:g} s']
    if recorded.missing:
        notes.append(f'not in the bag, taken at rest: {", ".join(recorded.missing)}')
    return recorded.x, recorded.u, notes


def _as_json(plant: Plant, model: LinearModel, bode: Any, notes: list[str]) -> dict[str, Any]:
    reach, seen = model.controllability(), model.observability()
    result = {'machine': plant.machine.name, 'stable': model.stable, 'notes': notes, **model.as_dict()}
    for name, subspace in (('controllability', reach), ('observability', seen)):
        result[name] = {'rank': subspace.rank, 'order': subspace.order, 'rest': list(subspace.rest)}
    if bode is not None:
        result['bode'] = {'hertz': bode.hertz, 'gain': bode.gain, 'phase': bode.phase}
    return result


def _print(plant: Plant, model: LinearModel, bode: Any, notes: list[str]) -> None:
    console = tables.console()
    growing = sum(mode.count for mode in model.modes() if mode.grows)
    still = sum(mode.count for mode in model.modes() if mode.pole == 0)
    growth = f'{growing} pole{" grows" if growing == 1 else "s grow"}' if growing else 'no pole grows'
    inputs = ', '.join(model.input_names) or 'none'
    rest = f', {still} at the origin' if still else ''
    console.print(f'{plant.machine.name}: {len(model.state_names)} states, inputs {inputs}; {growth}{rest}')
    for note in notes:
        console.print(note, style='dim')
    rows = []
    for mode in model.modes():
        sign = '' if not mode.oscillates else f' ± {mode.pole.imag:.4g}i'
        times = f'{mode.count} x ' if mode.pole == 0 else ''
        undamped = 'undamped' if mode.oscillates else 'integrator'
        decay = f'{mode.time_constant:.4g}' if math.isfinite(mode.time_constant) else undamped
        frequency, damping = (f'{mode.frequency:.4g}', f'{mode.damping_ratio:.3f}') if mode.oscillates else ('', '')
        states = ', '.join(f'{name} {100 * share:.0f} %' for name, share in mode.main_states() if share > 0.005)
        rows.append((f'{times}{mode.pole.real:.4g}{sign}', frequency, damping, decay, states))
    tables.show(rows, ('pole, 1/s', 'Hz', 'damping ratio', 'time constant, s', 'states, share'))
    for label, subspace in (('inputs reach', model.controllability()), ('outputs see', model.observability())):
        rest = f'; the rest lies mostly in {", ".join(subspace.rest[:6])}' if subspace.rest else ''
        console.print(
            f'{label} {subspace.rank} of {subspace.order} states{rest}{" ..." if len(subspace.rest) > 6 else ""}'
        )
    if bode is not None:
        step = max(1, len(bode.hertz) // 20)
        lines = zip(*(values[::step] for values in (bode.hertz, bode.gain, bode.decibels, bode.phase)))
        tables.show(lines, BODE)


BODE: dict[str, Callable[[Sequence[float]], str]] = {
    'Hz': lambda line: f'{line[0]:.4g}',
    'gain': lambda line: f'{line[1]:.4g}',
    'dB': lambda line: f'{line[2]:.2f}',
    'phase, deg': lambda line: f'{math.degrees(line[3]):.1f}',
}


def _write_npz(path: Path, model: LinearModel) -> None:
    import numpy as np

    with path.open('wb') as file:
        np.savez(file, **model.arrays())


def _write_plot(path: Path, model: LinearModel, pair: tuple[str, str] | None) -> None:
    from dyn_nodes.analysis.linear_plots import plot_model
    from dyn_nodes.analysis.plots import RESOLUTION, style

    with style():
        plot_model(model, pair).savefig(path, dpi=RESOLUTION)
