"""Hands of a machine: points at which it holds objects. Data only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from dyn_nodes.model.bodies import Array
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import frozen_vector, text, vector
from dyn_nodes.model.source_map import SourceMap


@dataclass(frozen=True, eq=False)
class Hand:
    """A point of a link at which a machine holds an object.

    The object exerts a wrench there, in the axes of the world: an input of the running machine.
    """

    name: str
    link: Annotated[str, text('the link that it is a point of')]
    point: Annotated[Array, vector('in the frame of the link', 'm', (0.0, 0.0, 0.0), read=frozen_vector)]


def check_hands(hands: tuple[Hand, ...], links: Mapping[str, object], source_map: SourceMap, report: Report) -> None:
    """Report hands on links that the URDF does not have, and names that cannot be part of a topic."""
    for hand in hands:
        where = f'grasps.{hand.name}'
        if hand.link not in links:
            line = source_map.line(f'{where}.link')
            report.add(line, f'{where}.link', 'a link of the URDF', did_you_mean(hand.link, links))
        if not re.match(NAME, hand.name):
            expected = 'a name of letters, digits and underscores (it is part of the topic grasp_states/<name>)'
            report.add(source_map.line(where), where, expected, repr(hand.name))
