"""Layouts of RViz for a machine and a team: displays of their topics, scaled to the size of the machine."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from dyn_nodes.commands.rviz_window import HEIGHT, WIDTH, window_state
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.shapes import Shapes
from dyn_nodes.viewer.framing import distance_to_show

if TYPE_CHECKING:
    from dyn_nodes.teams.team import Team

Layout = dict[str, Any]

OBLIQUE, SIDE, ABOVE = (0.35, 5.25), (0.1, 4.71), (1.2, 4.71)
"""Pitch and yaw of the camera, rad."""
ROUND = 1.6
"""Distance of the camera over the least distance that shows the whole machine."""
SEEN = np.array((1.0, 0.9))
"""Half width and half height of the used part of the picture, over half its height."""
CELLS = (0.1, 0.25, 0.5, 1.0)
"""Possible cell sizes of the grid, m."""
WEIGHT_SHOWN = 0.3
"""Length of the arrow of the machine's weight over the distance of the camera."""
LOOP_FORCES = 10.0
"""Typical forces in the joints of a machine on the ground, over its weight."""
FLOATING = 0.1
"""Acceleration that replaces gravity for the scale of forces without gravity, m/s2."""


def machine_layout(machine: Machine) -> Layout:
    """Return the layout of a machine; its topics are relative to the namespace of RViz."""
    layout, shown = _template()
    points = shape_points(machine)
    grounded = bool(machine.ground_contacts or machine.rigid_wheels)
    pitch, yaw = OBLIQUE if grounded else _across(machine)
    distance = _set_view(layout, points, pitch, yaw, _followed(machine))
    _set_sizes(shown, distance)
    wrench = shown['Ground reactions']['Displays'][0]
    weight = machine.total_mass * (machine.gravity or FLOATING)
    length = WEIGHT_SHOWN * distance / weight if weight > 0.0 else 1.0
    wheels = [*machine.rigid_wheels, *machine.ground_contacts]
    groups = {
        'Ground reactions': (wheels, 'ground_reactions', length),
        'Constraint reactions': (
            machine.loops,
            'constraint_reactions',
            length / LOOP_FORCES if grounded else length,
        ),
    }
    displays = [shown['Grid'], shown['Machine'], shown['TF']]
    if _has_support_polygon(machine):
        displays += [shown[name] for name in ('Stability', 'Support polygon', 'Centre of mass', 'Zero moment point')]
    elif machine.loads:
        displays.append({**shown['Stability'], 'Name': 'Loads'})
    for title, (entries, topic, scale) in groups.items():
        displays += _group(
            shown, title, [(entry.name, f'{topic}/{entry.name}') for entry in entries], wrench, scale, distance
        )
    joints = [(name, f'joint_reactions/{name}') for name in machine.reactions]
    displays += _group(shown, 'Joint reactions', joints, wrench, length / LOOP_FORCES, distance, enabled=False)
    layout['Visualization Manager']['Displays'] = [*displays, shown['Odometry']]
    return layout


def team_layout(team: Team) -> Layout:
    """Return the layout of a team in no namespace: every robot by its prefix, and the objects."""
    layout, shown = _template()
    points = np.concatenate([shape_points(robot.machine) for robot in team.robots.values()])
    distance = _set_view(layout, points, *OBLIQUE, '<Fixed Frame>')
    _set_sizes(shown, distance)
    robots, margins = [], []
    for name in team.robots:
        robots.append(_on_topic(shown['Machine'], f'Robot {name}', f'{name}/robot_description', 'Description Topic'))
        robots[-1]['TF Prefix'] = name
        margins.append(_on_topic(shown['Stability'], f'Stability {name}', f'{name}/markers'))
        margins[-1].update(Enabled=False, Value=False)
    objects = _on_topic(shown['Stability'], 'Object', 'object_markers')
    layout['Visualization Manager']['Displays'] = [shown['Grid'], *robots, shown['TF'], objects, *margins]
    return layout


def shape_points(machine: Machine) -> Array:
    """Return points (n, 3) of the machine's shapes, loads and joints in its initial posture, in the world, m."""
    root = np.eye(4)
    start = machine.initial.pose
    root[:3, :3], root[:3, 3] = matrix_of_rpy(start[3:]), start[:3]
    poses = link_poses(machine.links, machine.joints, initial_positions(machine), root)
    shapes = Shapes(machine.urdf)
    clouds = [pose[None, :3, 3] for pose in poses.values()]
    for name, pose in poses.items():
        points, radii = shapes.points(name)
        in_world = points @ pose[:3, :3].T + pose[:3, 3]
        clouds += [in_world] + [in_world + sign * radii[:, None] for sign in (-1.0, 1.0)]
    clouds += [np.array([load.position]) for load in machine.loads]
    every = np.concatenate(clouds)
    if machine.ground_contacts and machine.initial.settle:
        every[:, 2] -= every[:, 2].min()
    return np.asarray(every)


def _template() -> tuple[Layout, dict[str, Layout]]:
    """Return the template, and its displays by name."""
    layout: Layout = yaml.safe_load(find_resource('config/template.rviz').read_text())
    window = {'QMainWindow State': window_state(), 'Width': WIDTH, 'Height': HEIGHT}
    layout['Window Geometry'].update(window)
    return layout, {display['Name']: display for display in layout['Visualization Manager']['Displays']}


def _has_support_polygon(machine: Machine) -> bool:
    """Return whether the machine has a support polygon, by the rule of `balance_observer`."""
    feet = sum(support.corner for support in machine.supports) + len(machine.rigid_wheels)
    return feet >= (2 if machine.base.attachment == 'planar' else 3)


def _followed(machine: Machine) -> str:
    """Return the frame that the camera follows: the base, or `odom` for a rolling base."""
    rolling = any(wheel.first.link == machine.base.link for wheel in machine.rigid_wheels)
    return 'odom' if rolling else machine.base.link


def _across(machine: Machine) -> tuple[float, float]:
    """Return pitch and yaw, rad, of a camera along the joints' axes if these are parallel, else `OBLIQUE`."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    axes = np.array(
        [poses[joint.child][:3, :3] @ joint.axis for joint in machine.movable_joints if joint.type != 'prismatic']
    ).reshape(-1, 3)
    if not len(axes) or np.linalg.norm(np.cross(axes, axes[0]), axis=1).max() > 1e-6:
        return OBLIQUE
    if abs(axes[0, 2]) > 0.9:
        return ABOVE
    return SIDE if abs(axes[0, 1]) > 0.9 else OBLIQUE


def _set_view(layout: Layout, points: Array, pitch: float, yaw: float, followed: str) -> float:
    """Set the views so that all points are visible; return the distance of the camera from their middle, m."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    away = np.array((math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch)))
    distance = rounded(ROUND * max(distance_to_show(points, middle, away, SEEN), 0.1))
    views = layout['Visualization Manager']['Views']
    follow, top = views['Saved']
    focus = [round(float(number), 2) for number in middle]
    for view, frame in ((views['Current'], '<Fixed Frame>'), (follow, followed)):
        focal = dict(zip('XYZ', focus, strict=True))
        view.update({'Distance': distance, 'Pitch': pitch, 'Yaw': yaw, 'Focal Point': focal, 'Target Frame': frame})
    top.update(Scale=rounded(700.0 / distance), X=focus[0], Y=focus[1])
    return distance


def _set_sizes(shown: Mapping[str, Layout], distance: float) -> None:
    """Scale the displays to the distance of the camera, m."""
    shown['Grid']['Cell Size'] = max((cell for cell in CELLS if cell <= distance / 6.0), default=CELLS[0])
    shown['TF']['Marker Scale'] = rounded(distance / 8.0)
    shown['Centre of mass']['Radius'] = rounded(distance / 80.0)
    shown['Zero moment point']['Radius'] = rounded(distance / 100.0)
    shown['Odometry']['Shape'].update(
        {'Axes Length': rounded(distance / 16.0), 'Axes Radius': rounded(distance / 160.0)}
    )


def _group(
    shown: Mapping[str, Layout],
    title: str,
    topics: Iterable[tuple[str, str]],
    wrench: Layout,
    scale: float,
    distance: float,
    enabled: bool = True,
) -> list[Layout]:
    """Return a list with the group of wrench displays; empty without topics."""
    displays = []
    for name, topic in topics:
        displays.append(_on_topic(wrench, name.replace('_', ' ').capitalize(), topic))
        displays[-1].update(
            {'Force Arrow Scale': rounded(scale), 'Torque Arrow Scale': rounded(scale), 'Value': enabled}
            | {'Arrow Width': rounded(distance / 90.0), 'Enabled': enabled}
        )
    return [{**shown['Ground reactions'], 'Name': title, 'Enabled': enabled, 'Displays': displays}] if displays else []


def _on_topic(display: Layout, name: str, topic: str, key: str = 'Topic') -> Layout:
    result = copy.deepcopy(display)
    result['Name'], result[key]['Value'] = name, topic
    return result


def rounded(number: float) -> float:
    """Return a positive number rounded to two digits."""
    return float(f'{number:.1e}')
