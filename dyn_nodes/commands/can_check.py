"""`dyn-nodes check MAPPING.yaml`: checks the mapping of a CAN bus and prints its signals and resolutions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, tables
from dyn_nodes.commands.problem_lines import print_rejection
from dyn_nodes.model.problems import MachineError

if TYPE_CHECKING:
    from dyn_nodes.can.mapping import CanMapping, Channel, Frame

SI = {'imu': '', 'pressure': 'Pa', 'payload': 'kg', 'wheel_load': 'N', 'command': 'V'}


def check_mapping(path: str, as_json: bool) -> int:
    """Check a mapping; return 0 if it has no faults, else 1.

    Raises:
        CommandError: cantools is not installed.
    """
    from dyn_nodes.can.mapping_file import load_mapping

    try:
        mapping, warnings = load_mapping(path)
    except ImportError as error:
        text = f'a mapping of a CAN bus needs {error.name}: {sys.executable} -m pip install "dyn_nodes[can]"'
        raise CommandError(text) from None
    except MachineError as error:
        print_rejection(error, as_json)
        return 1
    if as_json:
        shown = {'valid': True, 'problems': [], 'warnings': [vars(warning) for warning in warnings]}
        tables.print_json({**shown, **mapping_facts(mapping)})
        return 0
    _print(mapping)
    for warning in warnings:
        tables.console().print(f'warning: {warning}', style='yellow', soft_wrap=True)
    tables.console().print('no problems', style='green')
    return 0


def mapping_facts(mapping: CanMapping) -> dict[str, Any]:
    """Return the frames and channels of a mapping for JSON."""
    return {'machine': mapping.machine.name, 'frames': [_frame_facts(frame) for frame in mapping.frames]}


def _frame_facts(frame: Frame) -> dict[str, Any]:
    from dyn_nodes.can.mapping import resolution

    return {
        'message': frame.name,
        'identifier': frame.message.frame_id,
        'sent_by': 'bridge' if frame.is_command else 'machine',
        'period': frame.period,
        'timeout': frame.timeout,
        'counter': frame.counter,
        'checksum': frame.checksum,
        'signals': [
            {
                'signal': channel.signal,
                'kind': channel.kind,
                'name': channel.name,
                'resolution': resolution(frame, channel),
            }
            for channel in frame.channels
        ],
    }


def _unit(mapping: CanMapping, channel: Channel) -> str:
    if channel.kind == 'imu':
        return 'rad/s' if channel.name.startswith('angular') else 'm/s2'
    if channel.kind in SI:
        return SI[channel.kind]
    unit = 'm' if mapping.machine.joint(channel.name).type == 'prismatic' else 'rad'
    return unit if channel.kind == 'position' else f'{unit}/s'


def _print(mapping: CanMapping) -> None:
    from dyn_nodes.can.mapping import resolution

    rows = []
    title = f'bus of {mapping.machine.name}: {mapping.sources[1]}'
    for frame in mapping.frames:
        start = [
            f'{frame.name} 0x{frame.message.frame_id:X}{" J1939" if frame.is_j1939 else ""}',
            'bridge' if frame.is_command else 'machine',
            f'{1e3 * frame.period:g}',
        ]
        for channel in frame.channels:
            step = f'{resolution(frame, channel):.3g} {_unit(mapping, channel)}'
            name = channel.name if channel.kind == channel.name else f'{channel.kind} {channel.name}'
            rows.append((*start, channel.signal, name, step))
            start = ['', '', '']
    tables.show(rows, ('message', 'sent by', 'every, ms', 'signal', 'quantity', 'one step'), title=title)
