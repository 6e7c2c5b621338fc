"""Small machines on feet, as URDF and YAML text: a box with sliders, and a box on legs whose joints carry it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine

INERTIAL = '<inertial><mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'
CORNERS = {'front_left': (1, 1), 'front_right': (1, -1), 'rear_left': (-1, 1), 'rear_right': (-1, -1)}


def link(name: str, mass: float, inertia: float) -> str:
    return f'<link name="{name}">{INERTIAL.format(mass=mass, i=inertia)}</link>'


def joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    at: Sequence[float],
    axis: str,
    span: float = 1.0,
    effort: float = 1e4,
) -> str:
    position = ' '.join(str(value) for value in at)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{position}"/>'
        f'<axis xyz="{axis}"/><limit lower="{-span}" upper="{span}" effort="1e4" velocity="10"/></joint>'
    )


def loaded(folder: Path, name: str, elements: Sequence[str], config: str) -> Machine:
    urdf, yaml = folder / f'{name}.urdf', folder / f'{name}.yaml'
    urdf.write_text(f'<robot name="{name}">{"".join(elements)}</robot>')
    yaml.write_text(f'name: {name}\n{config}')
    return load_machine(urdf, yaml)


def slider_box(folder: Path, attachment: str = 'free', sliders: int = 1, friction: str = 'lugre') -> Machine:
    """Return a box of 100 kg on four feet (two in the plane) with sliders on top of each other."""
    elements = [link('box', 100.0, 5.0)]
    for k in range(sliders):
        below = 'box' if k == 0 else f'slide_{k}'
        elements.append(link(f'slide_{k + 1}', 10.0, 0.5))
        elements.append(joint(f'slider_{k + 1}', 'prismatic', below, f'slide_{k + 1}', (0, 0, 0.3), '1 0 0', 0.3))
    corners = CORNERS if attachment != 'planar' else {'front': (1, 0), 'rear': (-1, 0)}
    model = '' if friction == 'none' else f'\n    friction: {{model: {friction}, static: 0.9, kinetic: 0.7}}'
    config = f'base: {{link: box, attachment: {attachment}}}\ndefaults:\n  wheel:\n    stiffness: 5.0e+4\n'
    config += f'    damping: 1000.0{model}\nwheels:\n'
    for name, (x, y) in corners.items():
        config += f'  {name}: {{link: box, position: [{0.5 * x}, {0.4 * y}, 0.0], free_length: 0.3}}\n'
    return loaded(folder, f'sliders_{attachment}_{sliders}_{friction}', elements, config)


def legged_box(folder: Path, knee: float = 1.2) -> Machine:
    """Return a box of 12 kg on four bent legs of two joints each, as quadrupeds have them."""
    elements, positions = [link('box', 12.0, 0.2)], []
    config = 'base: {link: box, attachment: free}\ndefaults:\n  wheel:\n    stiffness: 1.0e+4\n    damping: 120.0\n'
    config += '    friction: {static: 0.9, kinetic: 0.7}\nwheels:\n'
    for name, (x, y) in CORNERS.items():
        elements += [link(f'{name}_thigh', 1.0, 0.006), link(f'{name}_shank', 0.5, 0.02)]
        elements.append(joint(f'{name}_hip', 'revolute', 'box', f'{name}_thigh', (0.25 * x, 0.15 * y, 0), '0 1 0', 3.0))
        elements.append(joint(f'{name}_knee', 'revolute', f'{name}_thigh', f'{name}_shank', (0, 0, -0.2), '0 1 0', 3.0))
        positions += [f'{name}_hip: {0.5 * knee}', f'{name}_knee: {-knee}']
        config += f'  {name}: {{link: {name}_shank, position: [0.0, 0.0, -0.2], free_length: 0.02}}\n'
    config += f'initial:\n  joint_positions: {{{", ".join(positions)}}}\n'
    return loaded(folder, 'legged_box', elements, config)
