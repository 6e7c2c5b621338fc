"""Small machines whose joints have damping, friction, springs and limits, as a tree and with a constraint."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.model import load_machine

MASS, LENGTH, INERTIA = 2.0, 0.7, 0.05


class Part(NamedTuple):
    """Body on a joint: its values in the URDF."""

    name: str
    parent: str = 'base'
    kind: str = 'revolute'
    axis: str = '0 1 0'
    origin: str = '0 0 0'
    com: str = f'0 0 {-LENGTH}'
    limits: str = 'lower="-3" upper="3"'
    dynamics: str = ''


def urdf_of(parts, root=''):
    text = f'<robot name="joints"><link name="base">{root}</link>'
    for part in parts:
        limit = f'<limit effort="100" velocity="10" {part.limits}/>' if part.kind != 'continuous' else ''
        text += (
            f'<link name="{part.name}_link"><inertial><origin xyz="{part.com}"/><mass value="{MASS}"/>'
            f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{part.name}" type="{part.kind}"><parent link="{part.parent}"/>'
            f'<child link="{part.name}_link"/><origin xyz="{part.origin}"/><axis xyz="{part.axis}"/>{limit}'
            f'<dynamics {part.dynamics}/></joint>'
        )
    return text + '</robot>'


def machine_of(directory, parts, keys='', root=''):
    """Return the machine of some parts; `keys` are appended to its YAML."""
    urdf, config = directory / 'joints.urdf', directory / 'joints.yaml'
    urdf.write_text(urdf_of(parts, root))
    config.write_text(f'name: joints\n{keys}')
    return load_machine(urdf, config)
