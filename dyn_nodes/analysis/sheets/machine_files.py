"""URDF and machine YAML of a fitted data sheet, in the configuration of one cell of a chart.

The files have the fitted masses, centres of mass, lengths and supports. Inertias, stiffness of the supports and limits
of joints are not determined by static loads: they are assumed and marked in the YAML. A support is a strut at its
contact point; the struts are stiff, as the maker's calculation assumes rigid supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dyn_nodes.analysis.sheets.cases import Cases, SheetError, amount, option_of, with_derived
from dyn_nodes.analysis.sheets.cylinders import cylinder_lines
from dyn_nodes.analysis.sheets.fit import FittedSheet
from dyn_nodes.analysis.sheets.kinds import KINDS
from dyn_nodes.analysis.sheets.sheet import cell_cases
from dyn_nodes.common.printing import printable, xml_remark, yaml_word

SAG = 2e-4
"""Deflection of the struts by the weight of the machine, m."""
FREE_LENGTH = 0.3
"""Length of the struts without load, m."""
AXLE_SHARE, FORK_SHARE = 0.1, 0.02
"""Masses of the rear axle and of the fork or arm at the load point, taken from their parents, of the front frame."""


@dataclass
class _Link:
    """Link with its parent joint; vectors in the frame of the joint, at zero position parallel to the base."""

    name: str
    mass: float
    com: tuple[float, float, float]
    size: tuple[float, float, float]
    parent: str = ''
    joint: str = ''
    kind: str = 'revolute'
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: str = '0 -1 0'
    limits: tuple[float, float] = (-1.0, 1.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class _Machine:
    links: list[_Link] = field(default_factory=list)
    positions: dict[str, float] = field(default_factory=dict)
    supports: list[tuple[str, str, float, float, float]] = field(default_factory=list)
    free: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    payload: tuple[str, tuple[float, float, float]] = ('', (0.0, 0.0, 0.0))
    stiffness: float = 0.0  # of a tyre, N/m; 0: rigid
    free_length: float = FREE_LENGTH
    cylinders: tuple[list[str], list[str]] = field(
        default_factory=lambda: ([], [])
    )  # lines of `defaults` and `actuators`


def write_machine(fitted: FittedSheet, urdf: Path, config: Path, cell: Mapping[str, Any]) -> list[Path]:
    """Write URDF and machine YAML; return their paths.

    Args:
        fitted: a fitted sheet.
        urdf: file to write.
        config: machine YAML to write.
        cell: columns of the cell that determines configuration and initial posture; with `chart`, as for `predict`.

    Raises:
        SheetError: an unknown chart or label, or a missing column.
        OSError: the files cannot be written.
    """
    sheet = fitted.sheet
    name = str(cell.get('chart', next(iter(sheet.charts))))
    if name not in sheet.charts:
        raise SheetError(f'chart: expected one of {", ".join(sheet.charts)}, found {name!r}')
    chart = sheet.charts[name]
    row = {**chart.rows[0], **{key: value for key, value in cell.items() if key != 'chart'}}
    cases = with_derived(sheet.model, fitted.values, cell_cases(chart, [row]))
    build = _slewing if sheet.kind in ('excavator', 'crane') else _frontal
    machine = build(fitted, cases)
    title = f'{sheet.machine}; configuration of the cell {_words(row)} of {name}'
    urdf.write_text(_urdf(machine, urdf.stem, title, sheet.path.name), encoding='utf-8')
    config.write_text(_yaml(machine, urdf.stem, title, fitted), encoding='utf-8')
    return [urdf, config]


def _words(row: Mapping[str, Any]) -> str:
    return ', '.join(
        f'{key} {value:g}' if isinstance(value, float) else f'{key} {value}' for key, value in row.items() if value
    )


def _slewing(fitted: FittedSheet, cases: Cases) -> _Machine:
    """Return the links of an excavator or crane."""
    model, values = fitted.sheet.model, fitted.values

    def at(value: Any) -> float:
        return float(np.ravel(amount(value, values, cases))[0])

    machine = _Machine()
    undercarriage = option_of(model['undercarriages'], cases.label('undercarriage')[0])
    bodies = [*model['bodies'].values(), *undercarriage.get('bodies', {}).values()]
    fixed = _joined([body for body in bodies if not body.get('slews', False)], at)
    turning = _joined([body for body in bodies if body.get('slews', False)], at)
    points = [(at(x), side * at(y)) for x, y in undercarriage['supports'] for side in (1.0, -1.0)]
    spans = [max(abs(point[axis]) for point in points) for axis in (0, 1)]
    machine.links = [
        _Link('base_link', *fixed, size=(2.0 * spans[0], 2.0 * spans[1], 0.5), center=(0.0, 0.0, 0.7)),
        _Link('upper_link', *turning, (3.0, 2.2, 0.8), 'base_link', 'swing_joint', 'continuous', axis='0 0 1',
              center=(-0.5, 0.0, 1.5)),
    ]  # fmt: skip
    machine.supports = [
        (f'{"left" if y > 0 else "right"}_{index // 2}', 'base_link', x, y, FREE_LENGTH)
        for index, (x, y) in enumerate(points)
    ]
    machine.positions = {'swing_joint': 0.0}
    if 'segments' in model['arm']:
        _folding(machine, fitted, cases)
    else:
        _telescope(machine, fitted, cases, at)
    return machine


def _joined(bodies: list[Mapping[str, Any]], at: Any) -> tuple[float, tuple[float, float, float]]:
    """Return mass and centre of mass of bodies together."""
    masses = np.array([at(body['mass']) for body in bodies])
    positions = np.array([[at(body['com'][0]), at(body['com'][1])] for body in bodies])
    mass = float(masses.sum())
    x, z = (masses @ positions / mass).tolist()
    return mass, (x, 0.0, z)


def _folding(machine: _Machine, fitted: FittedSheet, cases: Cases) -> None:
    """Add the segments of a folding arm in the posture of the cell."""
    arm, values = fitted.sheet.model['arm'], fitted.values

    def at(value: Any) -> float:
        return float(np.ravel(amount(value, values, cases))[0])

    angles = KINDS[fitted.sheet.kind](fitted.sheet.model, values, cases).posture[0]
    parent, origin, last = 'upper_link', (at(arm['foot'][0]), 0.0, at(arm['foot'][1])), 0.0
    ranges = {name: (at(pair[0]), at(pair[1])) for name, pair in arm.get('joint_limits', {}).items()}
    for (name, options), angle in zip(arm['segments'].items(), angles, strict=True):
        label = cases.label(name)[0] if name in cases.labels else 'default'
        option = option_of(options, label)
        length, com = at(option['length']), (at(option['com'][0]), 0.0, at(option['com'][1]))
        limits = ranges.get(name, (-0.9, 1.5) if parent == 'upper_link' else (-2.9, 0.0))
        joint = f'{name}_joint'
        machine.links.append(
            _Link(f'{name}_link', at(option['mass']), com, (length, 0.35, 0.35), parent, joint, 'revolute', origin,
                  limits=limits, center=(length / 2.0, 0.0, 0.0))
        )  # fmt: skip
        machine.positions[joint] = float(np.clip(angle - last, *limits))
        parent, origin, last = f'{name}_link', (length, 0.0, 0.0), angle
    if 'cylinders' in arm:
        turning = {link.name.removesuffix('_link'): link.limits for link in machine.links[2:]}
        cylinders = {
            name: {key: at(value) for key, value in cylinder.items()} for name, cylinder in arm['cylinders'].items()
        }
        if not set(cylinders) <= set(turning):
            raise SheetError(f'arm.cylinders: expected segments of {", ".join(turning)}, found {", ".join(cylinders)}')
        machine.cylinders = cylinder_lines(cylinders, turning, at(arm['relief_pressure']))
    _swing_bucket(machine, arm, at, (float(cases.number('radius')[0]), float(cases.number('height')[0])))


def _swing_bucket(machine: _Machine, arm: Mapping[str, Any], at: Any, point: tuple[float, float]) -> None:
    """Set the payload at the end of the arm, or beyond it if the bucket swings out to reach the load point."""
    segments = machine.links[2:]
    last, lengths = segments[-1], [link.size[0] for link in segments]
    gap = float(np.hypot(point[0] - at(arm['foot'][0]), point[1] + at(arm.get('hang', 0.0)) - at(arm['foot'][1])))
    gap = max(gap - sum(lengths), 0.0) if len(segments) == 2 and not np.isnan(point[0]) else 0.0
    if 'bucket' in arm and gap > 0.0:
        shift = at(arm['bucket']['mass']) * at(arm['bucket']['swing']) * gap / last.mass
        last.com = (last.com[0] + shift, 0.0, last.com[2])
    machine.payload = (last.name, (last.size[0] + gap, 0.0, 0.0))


def _telescope(machine: _Machine, fitted: FittedSheet, cases: Cases, at: Any) -> None:
    """Add a telescopic boom; its centre of mass is exact at the length of the cell and at the least length."""
    sheet, values = fitted.sheet, fitted.values
    arm, length = sheet.model['arm'], float(cases.number('boom_length')[0])
    least = min(float(chart.cases.number('boom_length').min()) for chart in sheet.charts.values())
    greatest = max(float(chart.cases.number('boom_length').max()) for chart in sheet.charts.values())

    def com(metres: float) -> float:
        column = np.array([metres])
        numbers = {**cases.numbers, 'boom_length': column}
        labels = {**cases.labels, 'boom_length': np.array([f'{metres:g}'], dtype=object)}
        return float(
            np.ravel(amount(arm['com'], values, with_derived(sheet.model, values, Cases(numbers, labels, 1))))[0]
        )

    mass, foot = at(arm['mass']), (at(arm['foot'][0]), 0.0, at(arm['foot'][1]))
    extension = length - least
    rate = (com(length) - com(least)) / extension if extension > 0.0 else 0.35
    moving = max(rate, 0.01) * mass
    inner = com(least) - moving / mass * least / 2.0
    base_com = (inner / (1.0 - moving / mass), 0.0, 0.0)
    angle = float(KINDS[sheet.kind](sheet.model, values, cases).posture[0][0])
    machine.links += [
        _Link('boom_link', mass - moving, base_com, (least, 0.6, 0.7), 'upper_link', 'boom_joint', 'revolute', foot,
              limits=(-0.1, 1.45), center=(least / 2.0, 0.0, 0.0)),
        _Link('telescope_link', moving, (-least / 2.0, 0.0, 0.0), (least, 0.4, 0.5), 'boom_link', 'extend_joint',
              'prismatic', (least, 0.0, 0.0), '1 0 0', (0.0, max(greatest - least, 0.1)), (-least / 2.0, 0.0, 0.0)),
    ]  # fmt: skip
    machine.positions |= {'boom_joint': angle, 'extend_joint': extension}
    machine.payload = ('telescope_link', (0.0, 0.0, 0.0))


def _frontal(fitted: FittedSheet, cases: Cases) -> _Machine:
    """Return the links of a loader or forklift: the front axle at the origin, the rear axle free to oscillate."""
    model, values = fitted.sheet.model, fitted.values

    def at(value: Any) -> float:
        return float(np.ravel(amount(value, values, cases))[0])

    machine = _Machine()
    bodies = [body for body in model['bodies'].values() if at(body['mass']) != 0.0]
    front = _joined([body for body in bodies if body.get('frame') != 'rear'], at)
    wheelbase = at(model['axles']['front']) - at(model['axles']['rear'])
    half, height = at(model.get('half_tread', 0.3 * wheelbase)), at(model.get('axle_height', FREE_LENGTH))
    load = (at(model['load'][0]), 0.0, at(model['load'][1]))
    axle, fork = AXLE_SHARE * front[0], FORK_SHARE * front[0]
    front = _less(front, fork, load)
    carrier, axle_at = 'base_link', (-wheelbase, 0.0, height)
    if 'hinge' in model:
        hinge, angle = at(model['hinge']), at(model.get('articulation', 0.0))
        axle_at = (-wheelbase - hinge, 0.0, height)
        rear = _less(_joined([body for body in bodies if body.get('frame') == 'rear'], at), axle, axle_at)
        machine.links.append(
            _Link('rear_link', *rear, (1.8, 1.4, 1.0), 'base_link', 'articulation_joint', 'revolute', (hinge, 0.0, 0.0),
                  '0 0 1', (-0.8, 0.8), rear[1])
        )  # fmt: skip
        machine.positions['articulation_joint'] = angle
        carrier = 'rear_link'
    else:
        front = _less(front, axle, axle_at)
    machine.links.insert(0, _Link('base_link', *front, (1.5, 1.2, 0.6), center=front[1]))
    machine.links += [
        _Link('rear_axle', axle, (0.0, 0.0, 0.0), (0.3, 2.0 * half, 0.3), carrier, 'rear_axle_joint', 'revolute',
              axle_at, '1 0 0', (-0.2, 0.2)),
        _Link('lift_link', fork, (0.0, 0.0, 0.0), (0.3, 1.5, 0.3), 'base_link', 'lift_joint', 'prismatic', load,
              '0 0 1', (-0.4, 3.0)),
    ]  # fmt: skip
    machine.positions |= {'rear_axle_joint': 0.0, 'lift_joint': 0.0}
    machine.free = ['rear_axle_joint']
    if 'tyres' in cases.labels and cases.label('tyres')[0] == 'deflect':
        machine.stiffness, machine.free_length = at(model['tyre_stiffness']), height
    top = machine.free_length
    machine.supports = [
        ('front_left', 'base_link', 0.0, half, top),
        ('front_right', 'base_link', 0.0, -half, top),
        ('rear_left', 'rear_axle', 0.0, half, top - height),
        ('rear_right', 'rear_axle', 0.0, -half, top - height),
    ]
    machine.payload = ('lift_link', (0.0, 0.0, 0.0))
    return machine


def _less(
    body: tuple[float, tuple[float, float, float]], mass: float, point: tuple[float, float, float]
) -> tuple[float, tuple[float, float, float]]:
    """Return mass and centre of mass of a body without a part of it at a point."""
    x, y, z = ((body[0] * np.array(body[1]) - mass * np.array(point)) / (body[0] - mass)).tolist()
    return body[0] - mass, (x, y, z)


def _urdf(machine: _Machine, name: str, title: str, sheet: str) -> str:
    source = f'{xml_remark(title)}. Written from {xml_remark(sheet)}'
    lines = [
        '<?xml version="1.0"?>',
        f'<!-- {source}: masses, centres of mass and lengths are fitted to published loads;',
        '  inertias (of boxes), shapes and limits of joints are assumed. Origin on the ground. -->',
        f'<robot name={quoteattr(printable(name))}>',
    ]
    for link in machine.links:
        a, b, c = (edge**2 * link.mass / 12.0 for edge in link.size)
        lines += [
            f'  <link name="{link.name}">',
            '    <inertial>',
            f'      <origin xyz="{_numbers(link.com)}"/>',
            f'      <mass value="{link.mass:.6f}"/>',
            f'      <inertia ixx="{b + c:.4f}" iyy="{a + c:.4f}" izz="{a + b:.4f}" ixy="0" ixz="0" iyz="0"/>',
            '    </inertial>',
            '    <visual>',
            f'      <origin xyz="{_numbers(link.center)}"/>',
            f'      <geometry><box size="{_numbers(link.size)}"/></geometry>',
            '    </visual>',
            '  </link>',
        ]
        if link.joint:
            limits = f'lower="{link.limits[0]:.6f}" upper="{link.limits[1]:.6f}" '
            lines += [
                f'  <joint name="{link.joint}" type="{link.kind}">',
                f'    <origin xyz="{_numbers(link.origin)}"/>',
                f'    <parent link="{link.parent}"/>',
                f'    <child link="{link.name}"/>',
                f'    <axis xyz="{link.axis}"/>',
                f'    <limit {"" if link.kind == "continuous" else limits}effort="1e7" velocity="1"/>',
                '  </joint>',
            ]
    return '\n'.join([*lines, '</robot>', ''])


def _numbers(values: tuple[float, float, float]) -> str:
    return ' '.join(f'{value:.6f}' for value in values)


def _greatest_load(fitted: FittedSheet) -> float:
    """Return the greatest published rated, tipping or carried load, kg."""
    charts = fitted.sheet.charts.values()
    loads = [float(chart.load.max()) for chart in charts if chart.measure in ('rated_load', 'tipping_load')]
    loads += [float(chart.cases.number('carried').max()) for chart in charts if 'carried' in chart.cases.numbers]
    return max(loads, default=max(float(chart.load.max()) for chart in charts))


def _yaml(machine: _Machine, name: str, title: str, fitted: FittedSheet) -> str:
    weight = 9.81 * sum(link.mass for link in machine.links)
    stiffness = machine.stiffness or weight / len(machine.supports) / SAG
    reason = (
        'fitted to loads on tyres that deflect'
        if machine.stiffness
        else f'rigid, as the chart assumes: {1000 * SAG:g} mm by the weight'
    )
    damping = 0.2 * 2.0 * np.sqrt(stiffness * weight / 9.81 / len(machine.supports))
    link, position = machine.payload
    greatest = _greatest_load(fitted)
    lines = [
        f'# {printable(title)}.',
        f'# Written from {printable(fitted.sheet.path.name)}: the supports are fitted to published loads.',
        '# Keys: docs/reference/machine_yaml.md.',
        '',
        f'name: {yaml_word(name)}',
        'base: {link: base_link, attachment: free}',
        'initial:',
        '  joint_positions:',
        *(f'    {joint}: {value:.9f}' for joint, value in machine.positions.items()),
        '',
        'payload:',
        f'  link: {link}',
        f'  position: [{", ".join(f"{value:.6f}" for value in position)}]',
        '  mass: 0.0',
        f'  limit: {greatest:.0f}  # greatest published load',
        '',
        'defaults:',
        '  wheel:',
        f"    stiffness: {{value: {stiffness:.6g}, assumed: '{reason}'}}",
        f"    damping: {{value: {damping:.4g}, assumed: 'a fifth of the critical one'}}",
        f"    free_length: {{value: {machine.free_length}, assumed: 'length of a strut above its contact point'}}",
        '    friction:',
        "      static: {value: 0.8, assumed: 'firm ground'}",
        "      kinetic: {value: 0.7, assumed: 'firm ground'}",
        "      bristle_stiffness: {value: 100.0, assumed: 'slides after 8 mm'}",
        "      bristle_damping: {value: 0.3, assumed: 'a bristle well damped'}",
        "      viscous: {value: 0.0, assumed: 'dry friction'}",
        "      stribeck_exponent: {value: 1.0, assumed: 'usual'}",
        *machine.cylinders[0],
        '',
        'wheels:',
        *(
            f'  {support}: {{link: {link}, position: [{x:.6f}, {y:.6f}, {z:.6f}]}}'
            for support, link, x, y, z in machine.supports
        ),
    ]
    lines += machine.cylinders[1]
    if machine.free:
        lines += ['', 'joints:', *(f'  {joint}: {{class: free}}' for joint in machine.free)]
    return '\n'.join([*lines, ''])
