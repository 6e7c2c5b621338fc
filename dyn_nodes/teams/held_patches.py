"""Held points of an object's patches: one for a ball grasp, three for a fixed grasp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.team import GraspEntry, ObjectModel
from dyn_nodes.teams.deformable.deformable_object import DeformableObject
from dyn_nodes.teams.deformable.grasps import Grasp, fixed_points, on_a_line
from dyn_nodes.teams.reach import hand_pose
from dyn_nodes.teams.team import TeamGrasp, TeamObject, TeamRobot

FEWEST = {'lattice': 2, 'condensed': 3}
"""Least number of points that determine the rigid motions of a model."""


def held(item: DeformableObject, patches: Sequence[str]) -> DeformableObject:
    """Return an object with the named grasps, in this order."""
    by_name = {grasp.name: grasp for grasp in item.grasps}
    return replace(item, grasps=tuple(by_name[name] for name in patches))


def held_points(item: DeformableObject, grasps: Sequence[GraspEntry]) -> DeformableObject:
    """Return an object with its held points as grasps. Raises ValueError for a fixed grasp of a patch on a line."""
    points: list[Grasp] = []
    for patch, entry in zip(held(item, [grasp.patch for grasp in grasps]).grasps, grasps):
        points.extend(fixed_points(patch, item.mesh.nodes) if entry.kind == 'fixed' else (patch,))
    return replace(item, grasps=tuple(points))


def nodes_of(grasps: Sequence[GraspEntry]) -> list[tuple[int, ...]]:
    """Return the indices of the points of each grasp."""
    nodes, start = [], 0
    for entry in grasps:
        size = 3 if entry.kind == 'fixed' else 1
        nodes.append(tuple(range(start, start + size)))
        start += size
    return nodes


def lost(item: DeformableObject, model: ObjectModel, grasps: Sequence[GraspEntry]) -> tuple[str, str] | None:
    """Return the expected and the actual grasps of an object for a message if they do not hold it, else None.

    Raises:
        ValueError: a fixed grasp of a patch on a line.
    """
    names = [entry.patch for entry in grasps]
    listed = f'{len(names)} ({", ".join(names) or "none"})'
    points = held_points(item, grasps).positions
    if len(points) < FEWEST[model]:
        motion = 'falls' if len(names) == 0 else 'turns freely'
        return f'{FEWEST[model]} or more grasps on it (model: {model}); with fewer it {motion}', listed
    if model == 'condensed' and on_a_line(points):
        return 'grasps that are not on a line, about which it turns freely (model: lattice takes them)', listed
    return None


def placed_grasps(
    grasps: Mapping[str, GraspEntry],
    robots: Mapping[str, TeamRobot],
    objects: Mapping[str, TeamObject],
    patches: Mapping[str, Array],
) -> dict[str, TeamGrasp]:
    """Return the grasps of a team, with patches (3,) in the world by grasp."""
    nodes: dict[str, tuple[int, ...]] = {}
    for name in objects:
        on_it = [grasp for grasp, entry in grasps.items() if entry.object == name]
        nodes |= dict(zip(on_it, nodes_of([grasps[grasp] for grasp in on_it])))
    made = {}
    for key, entry in grasps.items():
        position, rotation = hand_pose(robots[entry.robot].machine, entry.hand)
        distance = float(np.linalg.norm(patches[key] - position))
        points = objects[entry.object].patches[list(nodes[key])]
        arms = (points - points.mean(axis=0)) @ rotation
        made[key] = TeamGrasp(
            name=key, position=position, rotation=rotation, distance=distance, nodes=nodes[key],
            arms=arms, **vars(entry),
        )  # fmt: skip
    return made
