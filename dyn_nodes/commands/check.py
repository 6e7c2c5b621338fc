"""`dyn-nodes check`: validates a machine, a team or a CAN mapping and prints its properties."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dyn_nodes.commands import MACHINE_HELP, CommandError, Subparsers, add_command, add_machine_and_config, tables
from dyn_nodes.commands.problem_lines import print_problems
from dyn_nodes.common.share import share_directory
from dyn_nodes.measures import MEASURES, Measure
from dyn_nodes.model import LoadReport, Machine, Problem, load_machine_report
from dyn_nodes.model.named import YAML_ENDINGS, is_name, machine_files, packaged_machines

if TYPE_CHECKING:
    from dyn_nodes.model.shapes import Shapes


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add the `check` command to the command line."""
    parser = add_command(
        subparsers,
        'check',
        'Validate a machine, a team or the mapping of a CAN bus; print its properties.',
        'dyn-nodes check log_loader\n'
        'dyn-nodes check my_machine.urdf --config my_machine.yaml --assumed\n'
        'dyn-nodes check team_bar\n'
        'dyn-nodes check config/can/log_loader.yaml',
        'Validate a URDF and a machine YAML, the YAML of a team or of a CAN bus. Prints every fault with file '
        'and line, or tables of the machine: joints, masses, actuators, loads at rest; of a team its robots, '
        'objects and grasps. Exit status 0 if the machine has no faults and its plant can be built, else 1.',
    )
    text = f'{MACHINE_HELP}; or a team, by name or YAML, or the YAML of a CAN bus'
    add_machine_and_config(parser, 'urdf', help=text)
    parser.add_argument('yaml', nargs='?', help=argparse.SUPPRESS)  # the earlier form of --config
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument('--assumed', action='store_true', help='list the values that are marked as assumed')
    parser.set_defaults(run=run)
    return parser


def run(args: argparse.Namespace) -> int:
    """Check the machine; return 0 if it has no faults, else 1."""
    if args.yaml and args.config:
        raise CommandError(f'expected one machine YAML, found {args.yaml} and --config {args.config}', 2)
    args.urdf = _of_package(args.urdf)
    alone = not args.yaml and not args.config
    team = _team_of_name(args.urdf) if alone else None
    kind = 'team' if team else _kind(args.urdf) if alone else 'machine'
    if kind == 'team':
        from dyn_nodes.commands.team_check import check_team

        return check_team(team or args.urdf, args.json)
    if kind == 'mapping':
        from dyn_nodes.commands.can_check import check_mapping

        return check_mapping(args.urdf, args.json)
    try:
        files = machine_files(args.urdf, args.config or args.yaml)
    except ValueError as error:
        raise CommandError(str(error)) from None
    report, facts = _checked_at_once(load_machine_report(*files))
    if args.json:
        tables.print_json(_as_json(report, facts))
    elif facts is None:
        print_problems(report.problems, report.warnings)
    else:
        _print_machine(report, facts, list_assumed=args.assumed)
    return 0 if report.machine is not None else 1


def _of_package(path: str) -> str:
    """Return a path, or the file of the package with this path if it exists only there."""
    is_here = Path(path).is_absolute() or Path(path).exists() or not path.endswith(YAML_ENDINGS)
    return path if is_here or not (share_directory() / path).is_file() else str(share_directory() / path)


def _team_of_name(name: str) -> str | None:
    """Return the YAML of the package's team of this name; None if there is none or a machine has the name."""
    if not is_name(name, YAML_ENDINGS) or name in packaged_machines():
        return None
    path = share_directory() / 'config' / 'teams' / f'{name}.yaml'
    return str(path) if path.is_file() else None


def _kind(path: str) -> str:
    """Return the kind of a file from its keys: `team` (also if unreadable), `mapping` of a CAN bus, or `machine`."""
    if not path.endswith(('.yaml', '.yml')):
        return 'machine'
    from dyn_nodes.model.problems import Report
    from dyn_nodes.model.yaml_source import read_yaml

    root = read_yaml(Path(path), Report(path))
    if root is not None and 'dbc' in root.mapping:
        return 'mapping'
    return 'team' if root is None or 'robots' in root.mapping else 'machine'


def with_plant(report: LoadReport) -> LoadReport:
    """Return the report with the problems of the machine's plant."""
    from dyn_nodes.commands.build_check import build_problems

    if report.machine is None:
        return report
    problems = build_problems(report.machine)
    return LoadReport(None, problems, report.warnings) if problems else report


def checked(report: LoadReport) -> tuple[LoadReport, dict[str, Any] | None]:
    """Return the report with the results of plant, loads at rest and magnitudes, and the facts of the machine.

    The facts are None if the machine has faults.
    """
    sound, facts = _with_facts(with_plant(report))
    if report.machine is None:
        return sound, facts
    static = (facts or {}).get('static') or {}
    loads = {name: wheel['load'] for name, wheel in static.get('wheels', {}).items()}
    return sound._replace(warnings=(*sound.warnings, *_magnitudes(report.machine, loads))), facts


def _checked_at_once(report: LoadReport) -> tuple[LoadReport, dict[str, Any] | None]:
    """Return `checked`; kernels without machine code run as Python code, except with loops, which take minutes."""
    if report.machine is not None and not report.machine.constraints:
        from dyn_nodes.common.loops import NotInPythonError, in_python

        with suppress(NotInPythonError), in_python():
            return checked(report)
    return checked(report)


def _magnitudes(machine: Machine, loads: Mapping[str, float]) -> tuple[Problem, ...]:
    """Return warnings of inconsistent numbers, with their probable unit."""
    from dyn_nodes.common.share import folders_above
    from dyn_nodes.model.magnitudes.machine import magnitude_warnings
    from dyn_nodes.model.shapes import Shapes

    shapes = Shapes(machine.urdf, folders_above(machine.sources[0]))
    return (*magnitude_warnings(machine, shapes, loads), *_meshes(machine, shapes))


def _meshes(machine: Machine, shapes: Shapes) -> Iterator[Problem]:
    """Yield warnings of meshes that cannot be read."""
    from dyn_nodes.model.xml_source import UrdfLines

    shapes.read_meshes()
    urdf = machine.sources[0]
    lines = UrdfLines(urdf).named('link')
    for (link, name), (expected, actual) in shapes.faults.items():
        yield Problem(urdf, lines.get(link, 0), f'link {link}, mesh {name or "without a name"}', expected, actual)


def _with_facts(report: LoadReport) -> tuple[LoadReport, dict[str, Any] | None]:
    """Return the report with warnings of excessive loads at rest, and the facts of a machine without faults."""
    from dyn_nodes.commands.machine_summary import machine_summary
    from dyn_nodes.commands.static_loads import load_warnings, stance_warnings

    if report.machine is None:
        return report, None
    facts = machine_summary(report.machine)
    warnings = (*stance_warnings(report.machine, facts), *load_warnings(report.machine, facts))
    return report._replace(warnings=(*report.warnings, *warnings)), facts


def _as_json(report: LoadReport, facts: dict[str, Any] | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        'valid': report.machine is not None,
        'problems': [asdict(problem) for problem in report.problems],
        'warnings': [asdict(warning) for warning in report.warnings],
    }
    if facts is not None:
        result['machine'] = facts
    return result


def _print_machine(report: LoadReport, facts: dict[str, Any], list_assumed: bool) -> None:
    console = tables.console()
    _print_overview(console, facts)
    for table in _joint_tables(facts, console.width):
        console.print(table)
    console.print(tables.table(facts['links'], _LINK_CELLS, 'links'))
    if facts['actuators']:
        for table in _actuator_tables(facts, console.width):
            console.print(table)
        if any(actuator['locked_stiffness'] for actuator in facts['actuators']):
            tables.print_sentence(console, f'stiffness of the locked joints, at the start: {_locked_stiffness(facts)}')
    _print_statics(console, facts['static'])
    _print_rigid_ground(console, facts['rigid_ground'], facts['static'])
    _print_constraints(console, facts['constraints'])
    _print_assumed(console, facts['assumed'], list_assumed)
    for warning in report.warnings:
        tables.print_sentence(console, f'warning: {warning}', style='yellow')
    console.print('no problems', style='green')


def _locked_stiffness(facts: dict[str, Any]) -> str:
    sliding = {joint['name'] for joint in facts['joints'] if joint['type'] == 'prismatic'}
    values = [
        (
            f'{actuator["name"]} {actuator["locked_stiffness"] / 1e6:.4g}',
            'MN/m' if actuator['joint'] in sliding else 'MN m/rad',
        )
        for actuator in facts['actuators']
    ]
    if len({unit for _, unit in values}) == 1:
        return f'{", ".join(value for value, _ in values)} {values[0][1]}'
    return ', '.join(f'{value} {unit}' for value, unit in values)


def _print_overview(console: Console, facts: dict[str, Any]) -> None:
    freedoms, payload = facts['degrees_of_freedom'], facts['payload']
    table = Table(title=f'machine {facts["name"]}', show_header=False, title_justify='left', title_style='bold')
    table.add_row('files', ', '.join(facts['sources']))
    table.add_row('base', f'{facts["base"]["link"]}, {facts["base"]["attachment"]}')
    counts = f'{freedoms["base"]} of the base + {freedoms["joints"]} of the joints = {freedoms["total"]}'
    table.add_row('degrees of freedom', counts)
    table.add_row('mass', f'{facts["mass"]:.6g} kg')
    if payload is not None:
        held = f'{payload["mass"]:.6g} kg at {payload["link"]}, at most {payload["limit"]:.6g} kg'
        table.add_row('payload', held)
    center = f'{_point(facts["center_of_mass"])} m in {facts["base"]["link"]}, at the start'
    table.add_row('centre of mass', f'{center}{"" if payload is None else ", with the payload"}')
    moves = ', '.join(f'{name} {value:.6g}' for name, value in facts['initial_velocities'].items())
    if moves:
        table.add_row('starts with', f'{moves} (m/s, rad/s)')
    table.add_row('assumed values', f'{len(facts["assumed"])}')
    console.print(table)


def _joint_tables(facts: dict[str, Any], width: int) -> list[Table]:
    """Return the table of the joints, in two parts if the terminal is too narrow."""
    kinds, positions, limits = ('type', 'moves'), ('lower', 'upper', 'start'), ('velocity', 'effort')
    if width >= tables.NARROWEST:
        return [_joint_table('joints', facts, (*kinds, *positions, *limits))]
    return [
        _joint_table('joints', facts, (*kinds, *limits)),
        _joint_table('positions of the joints, m or rad', facts, positions),
    ]


def _joint_table(title: str, facts: dict[str, Any], headings: tuple[str, ...]) -> Table:
    table: Table = tables.table(facts['joints'], {name: _JOINT_CELLS[name] for name in ('joint', *headings)}, title)
    for column in table.columns:
        column.no_wrap = column.header not in ('joint', 'type', 'moves')
    return table


_JOINT_CELLS: dict[str, Callable[[dict[str, Any]], str]] = {
    'joint': lambda joint: str(joint['name']),
    'type': lambda joint: str(joint['type']),
    'moves': lambda joint: str(joint['child']),
    'lower': lambda joint: _position(joint['lower'], joint['type']),
    'upper': lambda joint: _position(joint['upper'], joint['type']),
    'start': lambda joint: _position(joint['initial'], joint['type']),
    'velocity': lambda joint: _limit(joint['velocity_limit'], joint['type']),
    'effort': lambda joint: _limit(joint['effort_limit'], joint['type']),
}
"""Cells of a joint by heading."""


_LINK_CELLS: dict[str, Callable[[dict[str, Any]], str]] = {
    'link': lambda link: str(link['name']),
    'mass, kg': lambda link: f'{link["mass"]:.6g}' if link['mass'] > 0 else '0',
    'centre of mass, m': lambda link: _point(link['com']) if link['mass'] > 0 else '',
    'principal moments, kg m2': lambda link: (
        ', '.join(f'{value:.4g}' for value in link['principal_moments']) if link['mass'] > 0 else ''
    ),
}
"""Cells of a link by heading."""


def _actuator_tables(facts: dict[str, Any], width: int) -> list[Table]:
    """Return the table of the actuators, in two parts if the terminal is too narrow."""
    actuators = facts['actuators']
    words = ('type', 'joint', 'travel')
    parts = [
        (headings, of) for key, headings, of in _ACTUATOR_COLUMNS if any(key in actuator for actuator in actuators)
    ]
    numbers = [heading for headings, _ in parts for heading in headings]
    described = [[actuator['name'], *(actuator[word] for word in words)] for actuator in actuators]
    counted = [
        [actuator['name'], *(cell for headings, of in parts for cell in of(actuator) or [''] * len(headings))]
        for actuator in actuators
    ]
    if width >= tables.NARROWEST:
        both = [[*some, *others[1:]] for some, others in zip(described, counted)]
        return [tables.table(both, ('actuator', *words, *numbers), 'actuators')]
    made = [tables.table(described, ('actuator', *words), 'actuators')]
    return [*made, tables.table(counted, ('actuator', *numbers), 'limits of the actuators')] if numbers else made


def _oil(actuator: dict[str, Any]) -> list[str]:
    if 'flow' not in actuator:
        return []
    shared = f' of pump {actuator["pump"]}' if actuator['pump'] else ''
    pressures = (f'{actuator[key] / 1e6:.4g}' for key in ('relief_pressure', 'line_relief_pressure'))
    return [f'{actuator["flow"] * 6e4:.4g}{shared}', *pressures]


def _electric(actuator: dict[str, Any]) -> list[str]:
    keys = ('stall_effort', 'no_load_speed', 'reflected_inertia', 'holding_current')
    numbers = [actuator[key] for key in keys] if keys[0] in actuator else []
    return ['' if number is None else f'{number:.4g}' for number in numbers]


_ACTUATOR_COLUMNS = (
    ('flow', ('flow, l/min', 'relief, MPa', 'line relief, MPa'), _oil),
    ('stall_effort', ('stall effort', 'speed without load', 'inertia of the rotor', 'holds with, A'), _electric),
)
"""Columns by kind of actuator: a key of its facts, headings, and a function of its cells."""


def _print_statics(console: Console, static: dict[str, Any] | None) -> None:
    if static is None:
        return
    if not static['stands']:
        console.print('at rest: the machine does not stand on its wheels in its initial posture', style='red')
        return
    rows = []
    for name, wheel in static['wheels'].items():
        numbers = (f'{wheel["load"]:.1f}', f'{wheel["share"]:.1%}', f'{1e3 * wheel["compression"]:.1f}')
        rows.append((name, *numbers, _point(wheel['contact'])))
    headings = ('wheel or track', 'load, N', 'share', 'compression, mm', 'contact x, y, m')
    console.print(tables.table(rows, headings, 'at rest'))
    pitch, roll = math.degrees(static['pitch']), math.degrees(static['roll'])
    tables.print_sentence(
        console,
        f'weight {static["weight"]:.1f} N, pitch {pitch:.3f} deg, roll {roll:.3f} deg, '
        f'base {static["base_height"]:.4f} m above the ground, centre of mass {_point(static["center_of_mass"])} m',
    )
    for name, gap in static['raised'].items():
        tables.print_sentence(
            console, f'{name} is {1e3 * gap:.0f} mm above the ground: it does not support the machine'
        )
    _print_tipping(console, static['tipping'])
    if 'margins' in static:
        corners = '  '.join(f'({_point(corner)})' for corner in static['support_polygon'])
        tables.print_sentence(console, f'support polygon, m: {corners}')
        console.print(_margin_table(static))


def _print_tipping(console: Console, tipping: dict[str, Any] | None) -> None:
    """Print the loads at which the machine tips."""
    if tipping is None:
        return
    if tipping['load'] is None:
        tables.print_sentence(console, 'tipping load in this posture: none up to the greatest payload that was tried')
        return
    axis = f', about {" and ".join(tipping["axis"])}' if tipping['axis'] else ''
    text = f'tipping load in this posture: {tipping["load"]:.0f} kg{axis}'
    if tipping['first_lift_off'] < tipping['load'] - 0.5:
        text += f'; a support lifts first at {tipping["first_lift_off"]:.0f} kg'
    if tipping['fall'] is None:
        text += '; it does not overturn up to the greatest payload that was tried'
    elif tipping['fall'] > tipping['load'] + 0.5:
        over = f', about {" and ".join(tipping["fall_axis"])}' if tipping['fall_axis'] else ''
        text += f'; it comes to rest again and overturns at {tipping["fall"]:.0f} kg{over}'
    tables.print_sentence(console, text)


def _nearest_way(ways: list[list[str]], static: dict[str, Any] | None) -> tuple[list[str], list[str]] | None:
    """Return contacts that lift off together, and the two that the machine tips over, nearest to the centre of mass.

    None if the contacts at rest are unknown, or if the machine tips over a single contact.
    """
    if static is None or not static['stands']:
        return None
    points = {name: np.array(wheel['contact'][:2]) for name, wheel in static['wheels'].items()}
    center, near = np.array(static['center_of_mass'][:2]), []
    for lifted in ways:
        edge = [name for name in points if name not in lifted]
        if len(edge) != 2:
            continue
        along = points[edge[1]] - points[edge[0]]
        away = center - points[edge[0]]
        near.append((abs(along[0] * away[1] - along[1] * away[0]) / float(np.hypot(*along)), lifted, edge))
    return min(near)[1:] if near else None


def _print_rigid_ground(console: Console, facts: dict[str, Any] | None, static: dict[str, Any] | None) -> None:
    if facts is None:
        return
    text = f'not for this machine: {facts["refused"]}'
    if facts['refused'] is None:
        ways = '; '.join(' and '.join(names) for names in facts['leave'])
        shared = 'normal forces unique' if facts['unique'] else 'normal forces shared'
        text = f'{facts["contacts"]} contacts, {facts["independent"]} of {facts["rows"]} rows independent, {shared}; '
        nearest = _nearest_way(facts['leave'], static)
        if nearest is None:
            text += f'it tips where these lift off: {ways}'
        else:
            lifted, edge = nearest
            text += f'it tips first over {" and ".join(edge)}, where {" and ".join(lifted)} lift off'
    tables.print_sentence(console, f'rigid ground (contact_model: rigid): {text}')


def _margin_table(static: dict[str, Any]) -> Table:
    rows = []
    for name, margin in static['margins'].items():
        measure = MEASURES[name]
        values = ', '.join(f'{edge} {_margin(value, measure)}' for edge, value in zip(margin['names'], margin['edges']))
        rows.append((measure.label, _margin(margin['value'], measure), values))
    return tables.table(rows, ('measure', 'margin', 'by edge, wheel or track'), 'static margins')


def _print_constraints(console: Console, facts: dict[str, Any] | None) -> None:
    if facts is None:
        return
    table = Table(title='constraints', show_header=False, title_justify='left', title_style='bold')
    table.add_row('topology', facts['topology'])
    table.add_row('velocities', f'{facts["velocities"]}')
    table.add_row('rows', f'{facts["rows"]}, {facts["rank"]} of them independent')
    table.add_row('mobility', f'{facts["mobility"]}')
    table.add_row('underactuation', f'{facts["underactuation"]} ({facts["actuators"]} independent actuators)')
    if facts['redundant']:
        table.add_row('redundant rows', f'{len(facts["redundant"])}, such as {", ".join(facts["redundant"])}')
        table.add_row('forces not unique', ', '.join(facts['indeterminate']))
    console.print(table)


def _print_assumed(console: Console, assumed: dict[str, str], list_them: bool) -> None:
    if not assumed:
        return
    if not list_them:
        console.print(f'{len(assumed)} values are marked as assumed; --assumed lists them')
        return
    console.print(tables.table(assumed.items(), ('key', 'reason'), 'assumed values'))


def _margin(value: float | None, measure: Measure) -> str:
    return '-' if value is None else measure.display(value)


def _position(value: float | None, kind: str) -> str:
    if kind == 'fixed' or value is None:
        return ''
    return f'{value:.4f} m' if kind == 'prismatic' else f'{value:.4f} ({math.degrees(value):.1f}\N{DEGREE SIGN})'


def _limit(value: float | None, kind: str) -> str:
    return '' if value is None or kind == 'fixed' else f'{value:.6g}'


def _point(values: list[float]) -> str:
    return ', '.join(f'{value:.3f}' for value in values)
