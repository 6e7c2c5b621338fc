"""Files of a box on feet with a four-bar linkage on top: wheels on springs with a closed loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from standing_machines import CORNERS, link, loaded

from dyn_nodes.model.constraint import JointClass
from dyn_nodes.model.machine import Joint, Link, Machine

BAR = (
    '<link name="{name}"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>'
    '<inertia ixx="0.02" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
    '<origin xyz="{at}"/><axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="1e4" velocity="20"/></joint>'
)
MASSES = {'box': 100.0, 'crank': 20.0, 'coupler': 30.0, 'rocker': 20.0}
LOOP = """
constraints:
  pin: {kind: point, first: {link: coupler, position: [0.9, 0, 0]}, second: {link: rocker, position: [0.5, 0, 0]}}
joints:
  coupler_joint: {class: free}
  rocker_joint: {class: free}
"""


def friction_of(model: str) -> str:
    return '' if model == 'none' else f'\n    friction: {{model: {model}, static: 0.9, kinetic: 0.7}}'


def standing_linkage(folder: Path, attachment: str = 'free', friction: str = 'lugre', keys: str = LOOP) -> Machine:
    """Return a box of 100 kg on four feet (two in the plane); its crank drives a coupler and a rocker."""
    elements = [link('box', MASSES['box'], 8.0)]
    bars = {'crank': ('box', '-0.45 0 0.2', 0.25), 'coupler': ('crank', '0.5 0 0', 0.45)}
    bars['rocker'] = ('box', '0.45 0 0.2', 0.25)
    for name, (parent, at, com) in bars.items():
        inertia = MASSES[name] * com**2 / 3
        elements.append(BAR.format(name=name, parent=parent, at=at, com=com, mass=MASSES[name], i=inertia))
    corners = CORNERS if attachment != 'planar' else {'front': (1, 0), 'rear': (-1, 0)}
    config = f'base: {{link: box, attachment: {attachment}}}\ndefaults:\n  wheel:\n    stiffness: 5.0e+4\n'
    config += f'    damping: 1500.0{friction_of(friction)}\nwheels:\n'
    for name, (x, y) in corners.items():
        config += f'  {name}: {{link: box, position: [{0.6 * x}, {0.4 * y}, 0.0], free_length: 0.3}}\n'
    start = '{crank_joint: 1.2, coupler_joint: -1.2, rocker_joint: 1.2}'
    config += f'initial:\n  joint_positions: {start}\n'
    return loaded(folder, f'linkage_{attachment}_{friction}', elements, config + keys)


def with_lock(machine: Machine, mass: float = 1e-6) -> Machine:
    """Return the machine with a tiny mass on its base behind a locked joint: a constraint without effect."""
    speck = Link('speck', mass, np.zeros(3), mass * np.eye(3))
    axis = np.array([0.0, 0.0, 1.0])
    joint = Joint('speck_joint', 'revolute', machine.base.link, 'speck', np.eye(4), axis, -1.0, 1.0)
    classes = (*machine.joint_classes, JointClass('speck_joint', 'locked'))
    return replace(machine, links=(*machine.links, speck), joints=(*machine.joints, joint), joint_classes=classes)
