"""Ends of the constraints of a machine file as frames of a tree."""

from __future__ import annotations

from dyn_nodes.model.constraint import WORLD, End, LoopRecord
from dyn_nodes.multibody import Frame, Tree


def frame_of(tree: Tree, end: End) -> Frame:
    """Return the frame of an end in its body. Raises KeyError for an unknown link."""
    if end.link == WORLD:
        return Frame(-1, end.rotation, end.position)
    link = tree.frame(end.link)
    return Frame(link.body, link.R @ end.rotation, link.p + link.R @ end.position)


def end_frames(tree: Tree, loop: LoopRecord) -> tuple[Frame, Frame]:
    """Return the frames of both ends. Raises KeyError for an unknown link."""
    return frame_of(tree, loop.first), frame_of(tree, loop.second)
