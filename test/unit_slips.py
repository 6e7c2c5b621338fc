"""Common unit mistakes in the files of a machine: every dimensional number of its URDF and its machine YAML."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from lxml import etree

from dyn_nodes.model import actuators, contacts
from dyn_nodes.model.config import machine_keys
from dyn_nodes.model.constraint import JointClass, Load
from dyn_nodes.model.constraint_kinds import constraint_keys
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.hydraulic import SharedPump
from dyn_nodes.model.machine import Karnopp, LuGre
from dyn_nodes.model.schema import Key, keys_of
from dyn_nodes.model.terrain import Rise
from dyn_nodes.model.wheel import Wheel

DEGREES = math.degrees(1.0)
TYPED: dict[str, dict[str, float]] = {
    'm': {'mm': 1e3, 'cm': 1e2},
    'rad': {'deg': DEGREES},
    'm2': {'mm2': 1e6, 'cm2': 1e4},
    'm3': {'l': 1e3, 'cm3': 1e6},
    'm3/s': {'l/min': 6e4, 'l/s': 1e3},
    'm3/rad': {'cm3/rev': 2e6 * math.pi, 'l/rev': 2e3 * math.pi, 'cm3/rad': 1e6},
    'kg': {'t': 1e-3, 'g': 1e3},
    'kg m2': {'kg cm2': 1e4, 'kg mm2': 1e6, 't m2': 1e-3, 'g mm2': 1e9},
    'N/m': {'N/mm': 1e-3, 'MN/m': 1e-6},
    'N s/m': {'N s/mm': 1e-3},
    'N m s/rad': {'kN m s/rad': 1e-3},
    'Pa': {'bar': 1e-5, 'MPa': 1e-6, 'kPa': 1e-3, 'psi': 1.450377e-4},
    's': {'ms': 1e3},
    'V': {'mV': 1e3},
    'm/V': {'mm/V': 1e3},
    'A': {'mA': 1e3},
    'ohm': {'mohm': 1e3},
    'H': {'mH': 1e3},
    'N m/A': {'mN m/A': 1e3, 'mV/rpm': 1e3 * 2.0 * math.pi / 60.0, 'V/krpm': 1e3 * 2.0 * math.pi / 60.0},
    'm/s2': {'cm/s2': 1e2},
    'm/s': {'km/h': 3.6, 'mm/s': 1e3},
    'rad/s': {'deg/s': DEGREES, 'rpm': 60.0 / (2.0 * math.pi)},
    '1/m': {'1/mm': 1e-3},
    's/m': {'s/mm': 1e-3},
    'Hz': {'rpm': 60.0},
    'N m': {'kN m': 1e-3, 'N mm': 1e3},
    'N': {'kN': 1e-3, 'mN': 1e3},
    'm3/(s Pa)': {'l/min/bar': 6e9, 'm3/(s bar)': 1e5},
    'm^(3/2)/kg^(1/2)': {'of a density in g/cm3': math.sqrt(1e3)},
    'friction': {'percent': 1e2},
}
"""Factors of numbers typed in a wrong unit, by SI unit."""
EITHER = {'N m/rad or N/m': 'N/m', 'N m s/rad or N s/m': 'N s/m', 'rad/rad or rad/m': ''}
FRICTIONS = ('static', 'kinetic', 'friction')


class Slip(NamedTuple):
    """One number typed in another unit.

    Attributes:
        file: `urdf` or `yaml`.
        location: dotted key, or element and attribute of the URDF.
        unit: of the typed number.
        path: of the number in the file.
        factor: on it.
    """

    file: str
    location: str
    unit: str
    path: tuple[Any, ...]
    factor: float


def yaml_slips(values: dict[str, Any]) -> Iterator[Slip]:
    """Return the slips of a machine YAML: one for every number and every common unit."""
    for path, unit in _numbers(values, machine_keys(), ()):
        for name, factor in TYPED.get(EITHER.get(unit, unit), {}).items():
            yield Slip('yaml', '.'.join(map(str, path)), name, path, factor)


def _numbers(values: Any, keys: tuple[Key, ...], path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    for key in keys:
        entry = values.get(key.name) if isinstance(values, dict) else None
        if entry is None:
            continue
        here = (*path, key.name)
        if key.kind == 'named':
            for name, member in entry.items():
                yield from _numbers(member, _keys_of(key.name, member), (*here, name))
        elif key.name == 'friction' and key.kind == 'table':
            yield from _numbers(entry, keys_of(Karnopp if entry.get('model') == 'karnopp' else LuGre), here)
        elif key.kind in ('table', 'partial'):
            yield from _numbers(entry, key.table, here)
        elif key.kind == 'positions' and key.unit:
            units = ('rad', 'm') if key.unit == 'rad or m' else ('rad/s', 'm/s')
            yield from (((*here, name), units[0]) for name, value in entry.items() if _size(value))
        elif key.kind in ('number', 'vector'):
            unit = 'friction' if key.name in FRICTIONS else key.unit
            if _size(entry):
                yield here, unit


def _size(value: Any) -> float:
    value = value['value'] if isinstance(value, dict) else value
    return max(map(abs, value)) if isinstance(value, list) else float(value)


def _keys_of(kind: str, entry: dict[str, Any]) -> tuple[Key, ...]:
    if kind == 'actuators':
        return actuators.actuator_keys(entry['type'])
    if kind == 'contacts':
        return contacts.contact_keys(entry['type'])
    if kind == 'constraints':
        return constraint_keys()
    records = {
        'wheels': Wheel, 'pumps': SharedPump, 'loads': Load, 'joints': JointClass, 'terrain': Rise, 'grasps': Hand,
    }  # fmt: skip
    return keys_of(records[kind])


def urdf_slips(root: etree._Element) -> Iterator[Slip]:
    """Return the slips of a URDF."""
    tree = root.getroottree()
    for link in root.findall('link'):
        for element in link.iter('mass', 'inertia', 'origin', 'box', 'cylinder', 'sphere'):
            if element.tag == 'origin' and element.getparent().tag != 'inertial':
                continue
            attributes, unit = {
                'mass': (('value',), 'kg'), 'inertia': (('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), 'kg m2'),
                'origin': (('xyz',), 'm'), 'box': (('size',), 'm'), 'cylinder': (('radius', 'length'), 'm'),
                'sphere': (('radius',), 'm'),
            }[str(element.tag)]  # fmt: skip
            yield from _attribute_slips(tree, element, f'link {link.get("name")}', attributes, unit)
    for joint in root.findall('joint'):
        name, slides, fixed = (
            f'joint {joint.get("name")}',
            joint.get('type') == 'prismatic',
            joint.get('type') == 'fixed',
        )
        groups_by_tag = {
            'origin': [(('xyz',), 'm'), (('rpy',), 'rad')],
            'limit': [
                (('lower', 'upper'), 'm' if slides else 'rad'), (('velocity',), 'm/s' if slides else 'rad/s'),
                (('effort',), 'N' if slides else 'N m'),
            ],
            'dynamics': [(('damping',), 'N s/m' if slides else 'N m s/rad'), (('friction',), 'N' if slides else 'N m')],
        }  # fmt: skip
        for tag, groups in groups_by_tag.items():
            element = joint.find(tag)
            for attributes, unit in groups if element is not None and not (fixed and tag != 'origin') else ():
                if joint.get('type') == 'continuous' and 'lower' in attributes:
                    continue
                yield from _attribute_slips(tree, element, name, attributes, unit)


def _attribute_slips(
    tree: etree._ElementTree, element: etree._Element, name: str, attributes: tuple[str, ...], unit: str
) -> Iterator[Slip]:
    present = [key for key in attributes if element.get(key) and any(float(word) for word in element.get(key).split())]
    for typed, factor in TYPED[unit].items() if present else ():
        path = (tree.getpath(element), tuple(present))
        yield Slip('urdf', f'{name}, {element.tag} {present[0]}', typed, path, factor)


def slipped(slip: Slip, urdf: Path, config: Path, folder: Path) -> tuple[Path, Path]:
    """Write the files of a machine with a slip; return their paths."""
    urdf_out, config_out = folder / urdf.name, folder / config.name
    if slip.file == 'urdf':
        root = etree.parse(str(urdf))
        path, attributes = slip.path
        element = root.xpath(path)[0]
        for key in attributes:
            element.set(key, ' '.join(repr(float(word) * slip.factor) for word in element.get(key).split()))
        root.write(str(urdf_out))
        return urdf_out, config
    values = copy.deepcopy(yaml.safe_load(config.read_text()))
    inner, last = values, slip.path[-1]
    for key in slip.path[:-1]:
        inner = inner[key]
    if isinstance(inner[last], dict):
        inner, last = inner[last], 'value'
    old = inner[last]
    inner[last] = [slip.factor * value for value in old] if isinstance(old, list) else slip.factor * float(old)
    config_out.write_text(yaml.safe_dump(values, sort_keys=False))
    return urdf, config_out
