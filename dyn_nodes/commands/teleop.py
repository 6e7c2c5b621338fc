"""`dyn-nodes teleop`: controls the valves of a machine, or a vehicle, from the keyboard."""

from __future__ import annotations

import argparse
import sys

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config
from dyn_nodes.commands.option_types import positive


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'teleop',
        'Control the valves of a running machine, or a vehicle, from the keyboard.',
        'dyn-nodes teleop\ndyn-nodes teleop --machine my.urdf --config my.yaml --levers my_levers.yaml\n'
        'dyn-nodes teleop --cmd-vel --linear 0.5',
    )
    add_machine_and_config(parser, '--machine', default='log_loader')
    parser.add_argument(
        '--levers', default='teleop', help='assignment of the keys: a YAML file, or its name in config/'
    )
    parser.add_argument(
        '--throw',
        type=positive(1.0),
        default=0.5,
        help='part of the full voltage or speed for a key; default: %(default)s',
    )
    parser.add_argument('--cmd-vel', action='store_true', help='drive a vehicle: twists on cmd_vel instead of volts')
    for name, default, text in (('linear', 1.0, 'speed, m/s'), ('angular', 1.5, 'yaw rate, rad/s')):
        parser.add_argument(
            f'--{name}', type=positive(), default=default, help=f'greatest {text}; default: %(default)s'
        )
    parser.add_argument('--unstamped', action='store_true', help='publish cmd_vel as Twist instead of TwistStamped')
    parser.add_argument('--governed', action='store_true', help='publish voltages to a governor instead of the valves')
    parser.add_argument('--namespace', default='', help='of the machine')


def run(args: argparse.Namespace) -> int:
    """Run the keyboard control until q is pressed.

    Raises:
        CommandError: not in a terminal, or a file is wrong.
    """
    if not sys.stdin.isatty():
        raise CommandError('teleop reads keys: run it in a terminal')
    from dyn_nodes.middleware import Parameter, init
    from dyn_nodes.nodes.keyboard_teleop import KeyboardNode, KeyboardTeleop, KeyboardTwist, drive

    def make() -> KeyboardNode:
        if args.cmd_vel:
            stamped = not args.unstamped
            return KeyboardTwist(args.linear, args.angular, stamped, args.throw, namespace=args.namespace)
        names = 'machine', 'config', 'levers', 'governed'
        values = {name: getattr(args, name) for name in names}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        return KeyboardTeleop(args.throw, namespace=args.namespace, parameter_overrides=overrides)

    with init(args=[]):
        try:
            node = make()
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from None
        try:
            drive(node)
        finally:
            node.destroy_node()
    return 0
