"""Patches of an object as hands hold them: a ball grasp holds one point, a fixed one three."""

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
"""Points that leave no rigid motion of a model open which its forces see."""


def held(item: DeformableObject, patches: Sequence[str]) -> DeformableObject:
    """Return an object with some of its grasps, in their order."""
    known = {grasp.name: grasp for grasp in item.grasps}
    return replace(item, grasps=tuple(known[name] for name in patches))


def held_points(item: DeformableObject, grasps: Sequence[GraspEntry]) -> DeformableObject:
    """Return an object with the points that hands hold. Raises ValueError for a fixed grasp of a patch on a line."""
    points: list[Grasp] = []
    for patch, own in zip(held(item, [grasp.patch for grasp in grasps]).grasps, grasps):
        points.extend(fixed_points(patch, item.mesh.nodes) if own.kind == 'fixed' else (patch,))
    return replace(item, grasps=tuple(points))


def nodes_of(grasps: Sequence[GraspEntry]) -> list[tuple[int, ...]]:
    """Return the numbers of the points of each grasp."""
    found, start = [], 0
    for own in grasps:
        size = 3 if own.kind == 'fixed' else 1
        found.append(tuple(range(start, start + size)))
        start += size
    return found


def lost(item: DeformableObject, model: ObjectModel, grasps: Sequence[GraspEntry]) -> tuple[str, str] | None:
    """Return what was expected of the grasps on an object, and what was found, where they do not hold it.

    Raises:
        ValueError: a fixed grasp of a patch on a line.
    """
    names = [own.patch for own in grasps]
    found = f'{len(names)} ({", ".join(names) or "none"})'
    points = held_points(item, grasps).positions
    if len(points) < FEWEST[model]:
        what = 'falls' if len(names) == 0 else 'turns freely'
        return f'{FEWEST[model]} or more grasps on it (model: {model}); with fewer it {what}', found
    if model == 'condensed' and on_a_line(points):
        return 'grasps that are not on a line, about which it turns freely (model: lattice takes them)', found
    return None


def placed_grasps(
    grasps: Mapping[str, GraspEntry],
    robots: Mapping[str, TeamRobot],
    objects: Mapping[str, TeamObject],
    patches: Mapping[str, Array],
) -> dict[str, TeamGrasp]:
    """Return the grasps with hands and patches (3,) at their places."""
    nodes: dict[str, tuple[int, ...]] = {}
    for name in objects:
        on_it = [grasp for grasp, own in grasps.items() if own.object == name]
        nodes |= dict(zip(on_it, nodes_of([grasps[grasp] for grasp in on_it])))
    made = {}
    for key, own in grasps.items():
        position, rotation = hand_pose(robots[own.robot].machine, own.hand)
        distance = float(np.linalg.norm(patches[key] - position))
        points = objects[own.object].patches[list(nodes[key])]
        arms = (points - points.mean(axis=0)) @ rotation
        made[key] = TeamGrasp(
            name=key, position=position, rotation=rotation, distance=distance, nodes=nodes[key],
            arms=arms, **vars(own),
        )  # fmt: skip
    return made
