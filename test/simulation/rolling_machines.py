"""Small vehicles on rolling wheels, written to files: the caster vehicle of saha-1991 and four Mecanum wheels."""

from __future__ import annotations

import math
from pathlib import Path

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine

GRAVITY = 9.81


def disc(name: str, mass: float, axial: float, diametral: float) -> str:
    """Return the link of a wheel with its axle along y."""
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        f'<inertia ixx="{diametral}" iyy="{axial}" izz="{diametral}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def hinge(name: str, parent: str, child: str, at: tuple[float, float, float], axis: str = '0 1 0') -> str:
    """Return a continuous joint."""
    x, y, z = at
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} {y} {z}"/><axis xyz="{axis}"/></joint>'
    )


def platform(mass: float, yaw_inertia: float, at: tuple[float, float, float]) -> str:
    """Return the base link."""
    x, y, z = at
    flat = 0.6 * yaw_inertia
    return (
        f'<link name="base_link"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>'
        f'<inertia ixx="{flat}" iyy="{flat}" izz="{yaw_inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def friction(stiffness: float, damping: float, static: float = 0.9) -> str:
    """Return the section `friction` of a wheel."""
    return (
        f'{{static: {static}, kinetic: {static}, bristle_stiffness: {stiffness}, bristle_damping: {damping}, '
        'viscous: 0.0, stribeck_speed: 0.5, stribeck_exponent: 1}'
    )


def write(folder: Path, name: str, urdf: str, config: str) -> Machine:
    """Write both files and load the machine."""
    (folder / f'{name}.urdf').write_text(f'<robot name="{name}">{urdf}</robot>')
    (folder / f'{name}.yaml').write_text(config)
    return load_machine(folder / f'{name}.urdf', folder / f'{name}.yaml')


def caster_vehicle(folder: Path, stiffness: float, damping: float, relaxation: float, slope: float = 0.0) -> Machine:
    """Return the vehicle of `CasterVehicle` with tyres: base_link at the centre of mass, on the ground; x ahead."""
    a, b, d, r, half, mass = 0.101, 0.202, 0.025, 0.05, 0.2, 20.0
    urdf = platform(mass, 0.4083, (0.0, 0.0, 0.03))
    for side, y in (('left', half), ('right', -half)):
        urdf += disc(f'{side}_wheel', 2.0, 0.0025, 0.00125) + hinge(side, 'base_link', f'{side}_wheel', (-a, y, r))
    # the fork itself weighs nothing in the source: a gram keeps the tree regular
    urdf += '<link name="fork"><inertial><mass value="1e-3"/>'
    urdf += '<inertia ixx="1e-7" iyy="1e-7" izz="1e-7" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    urdf += hinge('swivel', 'base_link', 'fork', (b, 0.0, r), '0 0 1')
    urdf += disc('caster_wheel', 2.0, 0.0025, 0.00125) + hinge('caster', 'fork', 'caster_wheel', (-d, 0.0, 0.0))
    spring = 2e5
    behind, ahead, weight = a, b - d, 9.81
    # loads of the axle and of the caster: every wheel is larger by its deflection, so that all axles are at height r
    front = weight * (mass * behind + 2.0 * (behind + ahead)) / (behind + ahead)
    rear = (weight * (mass + 6.0) - front) / 2
    config = f"""
name: caster_vehicle
base: {{attachment: free}}
slope: {{pitch: {slope}}}
defaults:
  wheel:
    position: [0, 0, 0]
    stiffness: {spring}
    damping: 1.0e3
    friction: {friction(stiffness, damping)}
    rolling: {{axis: [0, 1, 0], relaxation_length: {relaxation}}}
wheels:
  left: {{link: left_wheel, free_length: {r + rear / spring}}}
  right: {{link: right_wheel, free_length: {r + rear / spring}}}
  caster: {{link: caster_wheel, free_length: {r + front / spring}}}
joints:
  swivel: {{class: free}}
  caster: {{class: free}}
"""
    return write(folder, 'caster_vehicle', urdf, config)


def mecanum(folder: Path, stiffness: float, damping: float) -> Machine:
    """Return a platform with four Mecanum wheels at its corners; the rollers form an X seen from above."""
    x, y, r, mass, spring = 0.3, 0.25, 0.1, 60.0, 3e5
    urdf = platform(mass, 4.0, (0.0, 0.0, 0.05))
    load = GRAVITY * (mass + 8.0) / 4
    wheels = ''
    for name, px, py, angle in (
        ('front_left', x, y, -math.pi / 4),
        ('front_right', x, -y, math.pi / 4),
        ('rear_left', -x, y, math.pi / 4),
        ('rear_right', -x, -y, -math.pi / 4),
    ):
        urdf += disc(f'{name}_wheel', 2.0, 0.01, 0.006) + hinge(name, 'base_link', f'{name}_wheel', (px, py, r))
        wheels += f'  {name}: {{link: {name}_wheel, rolling: {{axis: [0, 1, 0], roller_angle: {angle}}}}}\n'
    config = f"""
name: mecanum
base: {{attachment: free}}
defaults:
  wheel:
    position: [0, 0, 0]
    stiffness: {spring}
    damping: 2.0e3
    free_length: {r + load / spring}
    friction: {friction(stiffness, damping)}
wheels:
{wheels}"""
    return write(folder, 'mecanum', urdf, config)
