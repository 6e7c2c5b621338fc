"""`dyn-nodes attach`: one URDF of two, an arm on a platform."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command

if TYPE_CHECKING:
    from dyn_nodes.model import Machine

KEPT = ('link', 'joint', 'material')
"""Elements of the arm that go into the new URDF."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'attach',
        'Write one URDF of two: an arm fixed to a link of a platform.',
        'dyn-nodes attach platform.urdf ur10.urdf --to mount --prefix ur10_ -o ur10_on_platform.urdf\n'
        'dyn-nodes attach truck.urdf crane.urdf --to bed --xyz -1.2 0 0.9 --rpy 0 0 3.1416 -o loader.urdf',
    )
    parser.add_argument('platform', metavar='PLATFORM', type=Path, help='URDF or xacro file')
    parser.add_argument('arm', metavar='ARM', type=Path, help='URDF or xacro file')
    parser.add_argument(
        '--to', metavar='LINK', required=True, help="link of the platform that the arm's root is fixed to"
    )
    parser.add_argument('--xyz', metavar=('X', 'Y', 'Z'), nargs=3, type=float, default=(0.0, 0.0, 0.0), help='there, m')
    parser.add_argument('--rpy', metavar=('R', 'P', 'Y'), nargs=3, type=float, default=(0.0, 0.0, 0.0), help='rad')
    parser.add_argument('--prefix', default='', help="put before every name of the arm's links and joints")
    parser.add_argument('--name', help='of the new machine (default: PLATFORM_with_ARM)')
    parser.add_argument('-o', '--output', metavar='URDF', required=True, help='file to write; - for standard output')
    parser.add_argument('--force', action='store_true', help='write over a file that is there')


def run(args: argparse.Namespace) -> int:
    """Write the URDF; 1 where one of the two has faults, which are printed.

    Raises:
        CommandError: an unknown link, equal names, an output that can't be written or is there already.
    """
    if args.output != '-' and Path(args.output).exists() and not args.force:
        raise CommandError(f'{args.output} is there already; --force writes over it')
    platform, arm = _read(args.platform), _read(args.arm)
    if platform is None or arm is None:
        print('no URDF was written: there are faults', file=sys.stderr)
        return 1
    text, left_out = _joined(platform, arm, args)
    if args.output == '-':
        print(text, end='')
        return 0
    try:
        Path(args.output).write_text(text, encoding='utf-8')
    except OSError as error:
        raise CommandError(f'{args.output} cannot be written: {error.strerror}') from None
    print(
        f'{args.output}: {arm.name} on link {args.to} of {platform.name}, {len(platform.links) + len(arm.links)} links'
    )
    if left_out:
        print(f'  left out, of the arm: {", ".join(f"<{tag}>" for tag in left_out)}')
    return 0


def _read(path: Path) -> Machine | None:
    from dyn_nodes.model import load_machine_report

    report = load_machine_report(path, massless_joints=True)
    for problem in report.problems:
        print(problem, file=sys.stderr)
    return report.machine


def _joined(platform: Machine, arm: Machine, args: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the new URDF's text and the tags of what was left out of the arm."""
    from lxml import etree

    from dyn_nodes.model.problems import did_you_mean

    links = {link.name for link in platform.links}
    if args.to not in links:
        raise CommandError(f'--to: expected a link of {args.platform}, found {did_you_mean(args.to, sorted(links))}')
    both = links & {args.prefix + link.name for link in arm.links}
    both |= {joint.name for joint in platform.joints} & {args.prefix + joint.name for joint in arm.joints}
    if both:
        raise CommandError(f'both have {", ".join(sorted(both))}; --prefix {arm.name}_ gives the arm names of its own')
    root = etree.fromstring(platform.urdf.encode('utf-8'))
    root.set('name', args.name or f'{platform.name}_with_{arm.name}')
    guest = etree.fromstring(arm.urdf.encode('utf-8'))
    _rename(guest, args.prefix)
    _point_at_meshes(root, args.platform)
    _point_at_meshes(guest, args.arm)
    joint = etree.SubElement(root, 'joint', name=f'{args.prefix or arm.name + "_"}attachment', type='fixed')
    etree.SubElement(joint, 'parent', link=args.to)
    etree.SubElement(joint, 'child', link=args.prefix + arm.links[0].name)
    etree.SubElement(joint, 'origin', xyz=_numbers(args.xyz), rpy=_numbers(args.rpy))
    left_out = []
    for element in guest:
        if element.tag in KEPT:
            root.append(element)
        elif isinstance(element.tag, str) and element.tag not in left_out:
            left_out.append(element.tag)
    etree.indent(root)
    return f'<?xml version="1.0"?>\n{etree.tostring(root, encoding="unicode")}\n', left_out


def _rename(root: Any, prefix: str) -> None:
    """Put the prefix before the names of links, joints and materials, and wherever they are used."""
    for tag, attribute in (
        ('link', 'name'),
        ('joint', 'name'),
        ('joint/parent', 'link'),
        ('joint/child', 'link'),
        ('joint/mimic', 'joint'),
        ('material', 'name'),
        ('link/visual/material', 'name'),
    ):
        for element in root.findall(tag):
            if element.get(attribute):
                element.set(attribute, prefix + element.get(attribute).strip())


def _point_at_meshes(root: Any, urdf: Path) -> None:
    """Write meshes that are found from where the URDF lies as files: they are then found from elsewhere too."""
    from dyn_nodes.share import find_mesh, folders_above

    for mesh in root.iter('mesh'):
        path = find_mesh(mesh.get('filename') or '', folders_above(urdf))
        if path is not None:
            mesh.set('filename', f'file://{path.resolve()}')


def _numbers(values: Any) -> str:
    return ' '.join(f'{value:.17g}' for value in values)
