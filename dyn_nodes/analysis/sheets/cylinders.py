"""Cylinders of a written machine: published bores, strokes and relief pressure, with assumed pins.

Both pins of a cylinder are placed so that its stroke turns the joint over its whole range, between `CLOSED` and
`CLOSED` + range at the joint, which must be below 2.4 rad. Their real positions are seldom published: the hydraulic
lift capacity of a written machine is an estimate, its tipping load is not affected.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

CLOSED = 0.55
"""Angle between the pins of a retracted cylinder, seen from the joint, rad."""
SPARE = 0.02
"""Angle by which the stroke reaches beyond each limit of the joint, rad."""
RETRACTED = 1.45
"""Pin distance of a retracted cylinder over its stroke."""
ROD = 0.7
"""Diameter of a rod over its bore."""
OIL = 3.0e-3
"""Oil in hoses and end of a cylinder, m3."""
DEFAULTS = """
  valve:
    inlet_gain: {value: 2.0e-2, assumed: 'usual for the class'}
    outlet_gain: {value: 1.0e-2, assumed: 'half the inlet'}
    bypass_area: {value: 1.5e-4, assumed: 'usual for the class'}
    bypass_stroke: {value: 6.0e-3, assumed: 'usual for the class'}
    dead_zone: {value: 5.0e-4, assumed: 'usual for the class'}
    time_constant: {value: 0.08, assumed: 'a usual large servo valve'}
    gain: {value: 1.0e-3, assumed: '1 mm of spool per volt'}
    voltage_limit: {value: 8.0, assumed: 'levers give up to 8 V'}
    spool_limit: {value: 1.0e-2, assumed: 'a stop beyond the travel that 8 V command'}
  supply:
    relief_pressure: RELIEF
    line_relief_pressure: {value: LINE, assumed: 'about 10 % above the pump relief'}
    line_relief_area: {value: 1.0e-4, assumed: 'passes the flow of a pushed cylinder'}
    makeup_area: {value: 2.0e-4, assumed: 'anti-cavitation check, twice the relief'}
    tank_pressure: {value: 0.2e6, assumed: 'a usual return-line pressure'}
    bulk_modulus: {value: 9.0e8, assumed: 'mineral oil with hoses'}
    orifice_coefficient: {value: 2.910428e-2, assumed: 'a sharp edge and mineral oil'}
    smoothing: {value: 1.0e3, assumed: 'regularizes the root of the pressure drop'}
    flow: {value: 3.0e-3, assumed: 'a full stroke in some seconds'}
  cylinder:
    idle_pressure: {value: 1.0e6, assumed: 'start at rest with the unloaded side at 1 MPa'}"""
"""Valve, pump and oil of all cylinders."""


def cylinder_lines(
    cylinders: Mapping[str, Mapping[str, float]], ranges: Mapping[str, tuple[float, float]], relief: float
) -> tuple[list[str], list[str]]:
    """Return the lines of the sections `defaults` and `actuators` of a machine YAML.

    Args:
        cylinders: `bore` and `stroke`, m, and `number` by name of the segment that they turn.
        ranges: limits of the joint of each segment, rad; extension raises the first joint and folds the others in.
        relief: pressure, Pa.
    """
    defaults = (
        DEFAULTS.replace('RELIEF', f'{relief:.6g}').replace('LINE', f'{1.1 * relief:.6g}').strip('\n').split('\n')
    )
    lines = ['', 'actuators:']
    for index, (name, cylinder) in enumerate(cylinders.items()):
        low, high = ranges[name][0] - SPARE, ranges[name][1] + SPARE
        direction = 1 if index == 0 else -1
        angle = CLOSED - low if direction > 0 else CLOSED + high
        first, second = _pins(RETRACTED * cylinder['stroke'], cylinder['stroke'], high - low)
        area = cylinder.get('number', 1.0) * np.pi / 4.0 * cylinder['bore'] ** 2
        rod = area * (1.0 - ROD**2)
        pins = "assumed: 'pins are not published; the stroke covers the range of the joint'"
        lines += [
            f'  {name}:',
            '    type: cylinder',
            f'    joint: {name}_joint',
            '    linkage:',
            f'      a: {{value: {first:.6f}, {pins}}}',
            f'      b: {{value: {second:.6f}, {pins}}}',
            f'      angle: {{value: {angle:.6f}, {pins}}}',
            f'      direction: {direction}',
            f'      retracted_length: {{value: {RETRACTED * cylinder["stroke"]:.6f}, {pins}}}',
            f'      stroke: {cylinder["stroke"]:g}',
            f'    head_area: {area:.6e}',
            f"    rod_area: {{value: {rod:.6e}, assumed: 'rod of {ROD:g} of the bore'}}",
            f"    head_volume: {{value: {OIL:g}, assumed: 'hoses and end volume'}}",
            f"    rod_volume: {{value: {rod * cylinder['stroke'] + OIL:.6e}, assumed: 'rod side and hoses'}}",
            "    viscous: {value: 4.0e4, assumed: 'damps a locked cylinder'}",
        ]
    return defaults, lines


def _pins(retracted: float, stroke: float, turn: float) -> tuple[float, float]:
    """Return the distances of both pins from the joint, m, by the law of cosines at both ends of the stroke."""
    ends = np.cos([CLOSED, CLOSED + turn])
    lengths = np.array([retracted, retracted + stroke]) ** 2
    product = (lengths[1] - lengths[0]) / (2.0 * (ends[0] - ends[1]))
    squares = lengths[0] + 2.0 * product * ends[0]
    root = np.sqrt(max(squares**2 - 4.0 * product**2, 0.0))
    return float(np.sqrt(0.5 * (squares + root))), float(np.sqrt(0.5 * (squares - root)))
