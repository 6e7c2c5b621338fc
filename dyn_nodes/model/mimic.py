"""Mimic joints of a URDF: position = multiplier * position of the leader + offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lxml import etree

from dyn_nodes.model.problems import Report, did_you_mean


class Mimic(NamedTuple):
    """The joint that a mimic joint follows; `line` of the element in the URDF."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0
    line: int = 0


def read_mimics(urdf: str) -> dict[str, Mimic]:
    """Return the mimic joints of a valid URDF by name."""
    result = {}
    for joint in etree.fromstring(urdf.encode('utf-8')).findall('joint'):
        mimic = joint.find('mimic')
        if mimic is not None:
            numbers = float(mimic.get('multiplier', 1.0)), float(mimic.get('offset', 0.0))
            leader = (mimic.get('joint') or '').strip()
            result[(joint.get('name') or '').strip()] = Mimic(leader, *numbers, int(mimic.sourceline or 0))
    return result


def resolved(mimics: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """Return the mimic joints with the joint at the end of the chain as leader, without joints of a ring."""
    result = {}
    for joint, mimic in mimics.items():
        leader, multiplier, offset, line = mimic
        for _ in mimics:
            if leader not in mimics:
                result[joint] = Mimic(leader, multiplier, offset, line)
                break
            following = mimics[leader]
            offset += multiplier * following.offset
            multiplier *= following.multiplier
            leader = following.leader
    return result


def check_mimics(mimics: Mapping[str, Mimic], joints: Mapping[str, int], report: Report) -> None:
    """Report leaders that the URDF does not have, and rings of mimic joints.

    Args:
        mimics: by joint.
        joints: line of every joint of the URDF.
        report: of the URDF.
    """
    ends = resolved(mimics)
    for joint, mimic in mimics.items():
        where = f'joint {joint}, mimic'
        if mimic.leader not in joints:
            report.add(mimic.line, where, 'a joint of this URDF', did_you_mean(mimic.leader, joints))
        elif joint not in ends:
            report.add(mimic.line, where, 'a joint that does not follow this one', repr(mimic.leader))
