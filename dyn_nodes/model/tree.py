"""Order of the links of a URDF, with problems if it is not a tree."""

from __future__ import annotations

from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.urdf_checks import Outline


def order_tree(outline: Outline, report: Report) -> tuple[list[str], list[str]] | None:
    """Return the links, root first and parents before children, and the joints that move links[1:].

    Depth first, children in the order of the file. Reports a fault and returns None if the graph is not a tree:
    unknown links, a link with two parents (a closed loop), no root, several roots.
    """
    before = len(report.problems)
    movers: dict[str, str] = {}
    children: dict[str, list[str]] = {}
    for joint, line in outline.joints.items():
        parent, child = outline.parent.get(joint), outline.child.get(joint)
        for end, link in (('parent', parent), ('child', child)):
            if link is not None and link not in outline.links:
                actual = did_you_mean(link, outline.links)
                report.add(line, f'joint {joint}, {end}', 'a link of this URDF', actual)
        if parent is None or child is None:
            continue
        if parent == child:
            report.add(line, f'joint {joint}', 'two different links', f'{child!r} twice')
        elif child in movers:
            expected = f'one parent joint of link {child} ({movers[child]} is one)'
            report.add(line, f'joint {joint}, child', expected, 'a second one, which closes a loop')
        else:
            movers[child] = joint
            children.setdefault(parent, []).append(joint)
    if len(report.problems) > before or outline.torn or not outline.links:
        return None
    roots = [link for link in outline.links if link not in movers]
    if not roots:
        link, line = next(iter(outline.links.items()))
        report.add(line, f'link {link}', 'a tree with one root link', 'a loop: every link has a parent joint')
        return None
    links, joints = _walk(roots[0], children, outline)
    _check_reached(set(links), roots, movers, outline, report)
    return (links, joints) if len(report.problems) == before else None


def _walk(root: str, children: dict[str, list[str]], outline: Outline) -> tuple[list[str], list[str]]:
    links, joints = [root], []
    stack = list(reversed(children.get(root, [])))
    while stack:
        joint = stack.pop()
        link = outline.child[joint]
        joints.append(joint)
        links.append(link)
        stack.extend(reversed(children.get(link, [])))
    return links, joints


def _check_reached(
    reached: set[str], roots: list[str], movers: dict[str, str], outline: Outline, report: Report
) -> None:
    for root in roots[1:]:
        expected = f'one root link ({roots[0]} is one)'
        report.add(outline.links[root], f'link {root}', expected, 'a second one: no joint has it as its child')
        reached.add(root)
    for link in outline.links:
        loop = _loop_of(link, movers, outline) if link not in reached else None
        if loop:
            line = outline.joints[movers[link]]
            report.add(line, f'link {link}', f'a tree below {roots[0]}', f'a loop: {" -> ".join(loop)}')
            reached.update(loop)


def _loop_of(link: str, movers: dict[str, str], outline: Outline) -> list[str] | None:
    path = [link]
    while path[-1] in movers:
        above = outline.parent[movers[path[-1]]]
        path.append(above)
        if above == link:
            return path[::-1]
        if above in path[:-1]:
            return None
    return None
