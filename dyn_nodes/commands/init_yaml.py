"""A first machine YAML as text: every guess says that it is one, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyn_nodes.commands.init_contacts import Contact
from dyn_nodes.commands.init_guess import DAMPING_RATIO, Guess
from dyn_nodes.commands.init_joints import Joints
from dyn_nodes.common.printing import printable, yaml_word
from dyn_nodes.model.machine import Machine

HEAD = """\
# {name}: what {urdf} can not say. A first version, written by `dyn-nodes init`.
#
# Wherever it says "guess:", a value was guessed from the URDF, and how. Put in what you know, or your own reason in
# place of "guess: ...". `dyn-nodes check {urdf} --config THIS_FILE --assumed` lists what is left.
# SI units, radians, frames after REP 103. All keys are explained in docs/reference/machine_yaml.md.

name: {name}
"""
FREE = """\
base:
  link: {root}
  attachment: free  # guess: it stands on its contacts
"""
FIXED = """\
base:
  link: {root}
  attachment: fixed  # guess: {reason}; there are no ground reactions and margins until this is `free`
"""
NO_ACTUATORS = """\
# guess: no hydraulics, a URDF knows none. The joints take efforts, or positions and velocities, on joint_command; until
# something comes they are held where they are. Cylinders and motors go here: see `actuators` in the documentation.
"""


def machine_yaml(machine: Machine, urdf: str, guess: Guess, attachment: str, reason: str = '') -> str:
    """Return the YAML's text.

    Args:
        machine: read from the URDF alone.
        urdf: name of its file, as it shall stand in the comments.
        guess: what was guessed.
        attachment: `free` or `fixed`.
        reason: why it is fixed.
    """
    parts = [HEAD.format(name=yaml_word(machine.name), urdf=printable(urdf))]
    base = FREE if attachment == 'free' else FIXED
    parts.append(base.format(root=yaml_word(machine.links[0].name), reason=printable(reason)))
    joints = guess.joints
    parts += [_initial(machine, joints), _locked(joints), _classes(joints), _constraints(joints)]
    parts += [_payload(guess), _reactions(guess)]
    parts += [_wheels(guess), NO_ACTUATORS]
    return '\n'.join(part for part in parts if part)


def _initial(machine: Machine, joints: Joints) -> str:
    lines = ['initial:']
    movable = [joint.name for joint in machine.movable_joints if joint.name not in joints.locked]
    named = [name for name in joints.positions if name in joints.locked]
    if movable or named:
        lines.append('  joint_positions:  # guess: all joints at 0, or just inside their limits where 0 is outside')
        lines += [f'    {yaml_word(name)}: {_exact(joints.positions.get(name, 0.0))}' for name in (*movable, *named)]
    lines.append('  settle: true')
    return '\n'.join(lines) + '\n'


def _locked(joints: Joints) -> str:
    if not joints.locked:
        return ''
    head = ['# Joints fixed at their initial position; the fewer joints move, the faster the machine runs.', 'locked:']
    return _explained(head, [(f'- {yaml_word(name)}', f'guess: {reason}') for name, reason in joints.locked.items()])


def _classes(joints: Joints) -> str:
    if not joints.classes:
        return ''
    classes = joints.classes.items()
    return _explained(
        ['joints:'], [(f'{yaml_word(name)}: {{class: {own}}}', f'guess: {why}') for name, (own, why) in classes]
    )


def _constraints(joints: Joints) -> str:
    if not joints.constraints:
        return ''
    entries = [
        (f'{yaml_word(own.name)}: {_flow({"kind": own.kind, **own.keys})}', own.source) for own in joints.constraints
    ]
    return _explained(['constraints:'], entries)


def _explained(lines: list[str], entries: Sequence[tuple[str, str]]) -> str:
    """Return a section: entries below its head, each with its reason above it where that changes."""
    before = ''
    for entry, reason in entries:
        if reason != before:
            lines.append(f'  # {printable(reason)}')
        before = reason
        lines.append(f'  {entry}')
    return '\n'.join(lines) + '\n'


def _flow(value: Any) -> str:
    """Return a value in YAML's flow style."""
    if isinstance(value, Mapping):
        return f'{{{", ".join(f"{yaml_word(key)}: {_flow(own)}" for key, own in value.items())}}}'
    if isinstance(value, str):
        return yaml_word(value)
    if isinstance(value, float):
        return _exact(value)
    return f'[{", ".join(_exact(float(own)) for own in value)}]'


def _exact(value: float) -> str:
    text = f'{value + 0.0:.15g}'
    return text if any(mark in text for mark in '.en') else f'{text}.0'


def _payload(guess: Guess) -> str:
    if not guess.payload:
        return ''
    limit = _assumed(_number(guess.payload_limit), "a tenth of the machine's mass; put the rated load")
    return (
        f'payload:\n'
        f'  link: {_assumed(yaml_word(guess.payload), guess.how_payload)}\n'
        f'  position: {_assumed("[0.0, 0.0, 0.0]", "at the origin of the link")}\n'
        f'  mass: 0.0\n'
        f'  limit: {limit}\n'
    )


def _reactions(guess: Guess) -> str:
    if not guess.reactions:
        return ''
    return (
        '# guess: the first joint of the arm; its bearing carries all the rest\n'
        f'reactions: [{", ".join(yaml_word(name) for name in guess.reactions)}]\n'
    )


def _wheels(guess: Guess) -> str:
    if not guess.contacts:
        return ''
    sag = f'{1e3 * guess.sag:.3g} mm of static sag, {guess.how_sag}'
    count = len(guess.contacts)
    lines = [
        'defaults:',
        '  wheel:',
        f'    stiffness: {_assumed(_number(guess.stiffness), f"{guess.mass:.4g} kg on {count} contacts with {sag}")}',
        f'    damping: {_assumed(_number(guess.damping), f"damping ratio {DAMPING_RATIO:g} of its share of the mass")}',
        '    friction:',
        f'      static: {_assumed("0.9", "rubber on dry ground")}',
        f'      kinetic: {_assumed("0.5", "rubber on dry ground")}',
        '',
        f'# guess: {printable(guess.how_contacts)};',
        '# all are taken to touch one plane. `position`: where the strut begins; `free_length`: its height there.',
        'wheels:',
    ]
    for contact in guess.contacts:
        lines += _wheel(contact)
    return '\n'.join(lines) + '\n'


def _wheel(contact: Contact) -> list[str]:
    return [
        f'  {yaml_word(contact.name)}:',
        f'    link: {yaml_word(contact.link)}',
        f'    position: {_assumed(_vector(contact.position), contact.how)}',
        f'    free_length: {_assumed(_number(contact.free_length), "its height above the lowest contact")}',
    ]


def _assumed(value: str, how: str) -> str:
    quoted = printable(how).replace("'", "''")
    return f"{{value: {value}, assumed: 'guess: {quoted}'}}"


def _vector(values: Sequence[float] | np.ndarray) -> str:
    return f'[{", ".join(_number(float(value)) for value in values)}]'


def _number(value: float) -> str:
    text = f'{round(value, 6) + 0.0:.6g}'
    return text if any(mark in text for mark in '.e') else f'{text}.0'
