"""Checks of linkages: can a cylinder reach the whole range of its joint?"""

from __future__ import annotations

import math

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.linkage import Linkage, PinTriangle, SlidingRod, piston_position
from dyn_nodes.model.problems import Report, number

LEAST_SINE = 1e-6  # of the angle between the pins; less is a dead centre


def check_linkage(linkage: PinTriangle, joint: Joint, where: str, line: int, report: Report) -> None:
    """Check that the pins allow every position of the joint.

    The pins and the joint axis form a triangle that the cylinder closes. Over the whole range of the joint its
    length must stay within the stroke and its lever arm dX/dq must keep the sign of `direction`.
    """
    if not _check_direction(linkage, where, line, report):
        return
    shortest, longest = abs(linkage.a - linkage.b), linkage.a + linkage.b
    extended = linkage.retracted_length + linkage.stroke
    if extended < shortest or linkage.retracted_length > longest:
        expected = f'a cylinder that closes the triangle of a and b: {number(shortest)} to {number(longest)} m'
        actual = f'{number(linkage.retracted_length)} to {number(extended)} m'
        report.add(line, where, expected, actual)
        return
    if _check_lever_arm(linkage, joint, where, line, report):
        _check_stroke(linkage, joint, where, line, report)


def check_rod(rod: SlidingRod, joint: Joint, where: str, line: int, report: Report) -> None:
    """Check that the stroke of a rod covers the range of its joint."""
    if _check_direction(rod, where, line, report):
        _check_stroke(rod, joint, where, line, report)


def _check_direction(linkage: Linkage, where: str, line: int, report: Report) -> bool:
    if linkage.direction in (-1.0, 1.0):
        return True
    report.add(line, f'{where}.direction', '1 or -1', number(linkage.direction))
    return False


def _check_stroke(linkage: Linkage, joint: Joint, where: str, line: int, report: Report) -> None:
    for position in (joint.lower, joint.upper):
        extension = piston_position(linkage, position)
        if not -1e-9 <= extension <= linkage.stroke + 1e-9:
            expected = f'a piston position within the stroke, 0 to {number(linkage.stroke)} m, over the whole joint'
            report.add(line, where, expected, f'{number(extension)} m at {_at(joint, position)}')


def _check_lever_arm(linkage: PinTriangle, joint: Joint, where: str, line: int, report: Report) -> bool:
    """Check the sign of dX/dq = direction a b sin(phi) / s with phi = direction q + angle."""
    ends = sorted(linkage.direction * position + linkage.angle for position in (joint.lower, joint.upper))
    turn = math.ceil((ends[0] - LEAST_SINE) / math.pi)
    if turn * math.pi <= ends[1] + LEAST_SINE:
        position = (turn * math.pi - linkage.angle) * linkage.direction
        expected = 'a lever arm that does not change sign over the range of the joint'
        report.add(line, where, expected, f'a dead centre at {_at(joint, position)}')
        return False
    if math.sin(0.5 * (ends[0] + ends[1])) < 0:
        expected = f'direction {number(linkage.direction)}: extension that moves {joint.name} this way'
        actual = 'pins whose extension moves it the other way (is the sign of angle or direction wrong?)'
        report.add(line, where, expected, actual)
        return False
    return True


def _at(joint: Joint, position: float) -> str:
    if joint.type == 'prismatic':
        return f'{joint.name} = {position:.4f} m'
    return f'{joint.name} = {position:.4f} rad ({math.degrees(position):.1f} deg)'
