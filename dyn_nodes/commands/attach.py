"""`dyn-nodes attach`: joins an arm and a platform in one URDF and one machine YAML."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import MACHINE_HELP, CommandError, Subparsers, add_command, add_out
from dyn_nodes.commands.attach_config import joined_config
from dyn_nodes.commands.option_types import finite
from dyn_nodes.common.printing import xml_remark
from dyn_nodes.model.limits import NAME

if TYPE_CHECKING:
    from dyn_nodes.model import Machine

KEPT = ('link', 'joint', 'material')
"""Elements of the arm that are copied into the new URDF."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'attach',
        'Write one URDF of an arm fixed to a link of a platform.',
        'dyn-nodes attach platform.urdf ur10.urdf --to mount --prefix ur10_ -o ur10_on_platform.urdf\n'
        'dyn-nodes attach truck.urdf crane.urdf --to bed --xyz -1.2 0 0.9 --rpy 0 0 3.1416 -o loader.urdf\n'
        'dyn-nodes attach agv.urdf arm.urdf --to base_link --prefix arm_ -o both.urdf --config agv.yaml '
        '--arm-config arm.yaml --out-config both.yaml',
    )
    parser.add_argument('platform', metavar='PLATFORM', type=Path, help=MACHINE_HELP)
    parser.add_argument('arm', metavar='ARM', type=Path, help=MACHINE_HELP)
    parser.add_argument(
        '--to', metavar='LINK', required=True, help="link of the platform that the arm's root is fixed to"
    )
    parser.add_argument(
        '--xyz', metavar=('X', 'Y', 'Z'), nargs=3, type=finite, default=(0.0, 0.0, 0.0), help='position on the link, m'
    )
    parser.add_argument('--rpy', metavar=('R', 'P', 'Y'), nargs=3, type=finite, default=(0.0, 0.0, 0.0), help='rad')
    parser.add_argument('--prefix', default='', help="put before every name of the arm's links and joints")
    parser.add_argument('--name', help='name of the new machine (PLATFORM_with_ARM)')
    add_out(parser, 'file to write; - for standard output', 'URDF', type=str, required=True)
    parser.add_argument('--config', metavar='YAML', type=Path, help='machine YAML of the platform')
    parser.add_argument('--arm-config', metavar='YAML', type=Path, help='machine YAML of the arm')
    parser.add_argument('--out-config', metavar='YAML', type=Path, help='joint machine YAML to write')
    parser.add_argument('--force', action='store_true', help='overwrite existing files')


def run(args: argparse.Namespace) -> int:
    """Write the URDF and, if requested, the machine YAML; return 0, or 1 if an input has faults, which are printed.

    Raises:
        CommandError: an unknown link, equal names, an output that can't be written or exists already.
    """
    _check_outputs(args)
    platform, arm = _read(args.platform, args.config), _read(args.arm, args.arm_config)
    if platform is None or arm is None:
        print('no URDF was written: there are faults', file=sys.stderr)
        return 1
    text, left_out = _joined(platform, arm, args)
    config = None
    if args.out_config is not None:
        mount = _mount(arm, args)
        mount = mount if re.match(NAME, mount) else ''  # it becomes part of a topic
        config = joined_config(
            args.config, args.arm_config, _name(platform, arm, args), args.prefix, platform.base.link, mount
        )
    if args.out == '-':
        print(text, end='')
        return 0
    _write(Path(args.out), text)
    print(f'{args.out}: {arm.name} on link {args.to} of {platform.name}, {len(platform.links) + len(arm.links)} links')
    if left_out:
        print(f'  left out, of the arm: {", ".join(f"<{tag}>" for tag in left_out)}')
    if config is not None:
        _write(args.out_config, config)
        print(f'{args.out_config}: dyn-nodes check {args.out} --config {args.out_config}')
    return 0


def _check_outputs(args: argparse.Namespace) -> None:
    """Raise CommandError for inconsistent options or existing outputs."""
    if args.out_config is None and (args.config or args.arm_config):
        raise CommandError('--config and --arm-config: expected --out-config with them, found none', 2)
    if args.out_config is not None and (args.out == '-' or not (args.config or args.arm_config)):
        raise CommandError('--out-config: expected -o with a file, and --config, --arm-config or both', 2)
    for path in (None if args.out == '-' else Path(args.out), args.out_config):
        if path is not None and path.exists() and not args.force:
            raise CommandError(f'{path} exists; --force overwrites it')


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise CommandError(f'{path} cannot be written: {error.strerror}') from None


def _name(platform: Machine, arm: Machine, args: argparse.Namespace) -> str:
    return args.name or f'{platform.name}_with_{arm.name}'


def _mount(arm: Machine, args: argparse.Namespace) -> str:
    """Return the name of the joint between platform and arm."""
    return f'{args.prefix or arm.name + "_"}attachment'


def _read(path: Path, config: Path | None) -> Machine | None:
    from dyn_nodes.model import load_machine_report
    from dyn_nodes.model.named import machine_files

    try:
        urdf = machine_files(str(path))[0]
    except ValueError as error:
        raise CommandError(str(error)) from None
    report = load_machine_report(urdf, config, massless_joints=True)
    for problem in report.problems:
        print(problem, file=sys.stderr)
    return report.machine


def _joined(platform: Machine, arm: Machine, args: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the text of the new URDF and the tags of the arm's elements that were left out."""
    from lxml import etree

    from dyn_nodes.model.problems import did_you_mean

    links = {link.name for link in platform.links}
    if args.to not in links:
        raise CommandError(f'--to: expected a link of {args.platform}, found {did_you_mean(args.to, sorted(links))}')
    both = links & {args.prefix + link.name for link in arm.links}
    both |= {joint.name for joint in platform.joints} & {args.prefix + joint.name for joint in arm.joints}
    if both:
        raise CommandError(
            f'both have {", ".join(sorted(both))}; --prefix {arm.name}_ makes the names of the arm unique'
        )
    root = etree.fromstring(platform.urdf.encode('utf-8'))
    root.set('name', _name(platform, arm, args))
    guest = etree.fromstring(arm.urdf.encode('utf-8'))
    _rename(guest, args.prefix)
    _point_at_meshes(root, args.platform)
    _point_at_meshes(guest, args.arm)
    joint = etree.SubElement(root, 'joint', name=_mount(arm, args), type='fixed')
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
    remark = xml_remark(f'Written by dyn-nodes attach: {arm.name} on {args.to} of {platform.name}.')
    head = f'<?xml version="1.0"?>\n<!-- {remark} -->\n'
    return f'{head}{etree.tostring(root, encoding="unicode")}\n', left_out


def _rename(root: Any, prefix: str) -> None:
    """Put the prefix before the names of links, joints and materials and before all references to them."""
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
    """Replace mesh paths relative to the URDF by absolute file URLs, which stay valid in another directory."""
    from dyn_nodes.common.share import find_mesh, folders_above

    for mesh in root.iter('mesh'):
        path = find_mesh(mesh.get('filename') or '', folders_above(urdf))
        if path is not None:
            mesh.set('filename', f'file://{path.resolve()}')


def _numbers(values: Any) -> str:
    return ' '.join(f'{value:.17g}' for value in values)
