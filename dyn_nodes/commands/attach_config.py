"""One machine YAML of two, for `dyn-nodes attach`: that of the platform, with what the arm's has laid beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dyn_nodes.commands import CommandError
from dyn_nodes.common.printing import printable
from dyn_nodes.common.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text

ELEMENTS = ('wheels', 'contacts', 'actuators', 'pumps', 'constraints', 'loads', 'joints')
"""Mappings by name, which are put together. Those of joints have joints for names."""

OF_THE_PLATFORM = ('name', 'gravity', 'slope', 'overturn_angle', 'base')
"""Keys of the arm's file that do not count: it stands on the platform now."""


def joined_config(platform: Path | None, arm: Path | None, name: str, prefix: str, root: str, mount: str = '') -> str:
    """Return the text of the new machine YAML.

    Names of the arm's links, joints and elements get the prefix, as in the URDF. The payload is that of either.

    Args:
        platform: machine YAML of the platform; None: there is none.
        arm: machine YAML of the arm; None: there is none.
        name: of the new machine.
        prefix: put before the arm's names.
        root: root link of the platform, which is on a free base where no file says.
        mount: joint between platform and arm, whose reaction is to be published; empty: none.

    Raises:
        CommandError: a file that can't be read, names or payloads that both have.
    """
    below, above = _read(platform), _with_prefix(_spread(_read(arm)), prefix)
    result: dict[str, Any] = {'name': name}
    result.update({key: value for key, value in below.items() if key != 'name'})
    result.setdefault('base', {'link': root, 'attachment': 'free'})
    for key in ELEMENTS:
        if key in above:
            both = set(result.get(key) or {}) & set(above[key])
            if both:
                raise CommandError(f'{key}: both files have {", ".join(sorted(both))}; --prefix distinguishes them')
            result[key] = {**(result.get(key) or {}), **above[key]}
    for key in ('locked', 'reactions'):
        if key in above:
            result[key] = [*(result.get(key) or []), *above[key]]
    if mount:
        result['reactions'] = [*(result.get('reactions') or []), mount]
    if 'payload' in above:
        if 'payload' in result:
            raise CommandError(f'payload: both {platform} and {arm} have one, a machine carries one')
        result['payload'] = above['payload']
    for key in ('joint_positions', 'joint_velocities'):
        own = (above.get('initial') or {}).get(key)
        if own:
            initial = dict(result.get('initial') or {})
            initial[key] = {**(initial.get(key) or {}), **own}
            result['initial'] = initial
    sources = ' and '.join(path.name for path in (platform, arm) if path is not None)
    head = (
        f'# Written by `dyn-nodes attach` from {printable(sources)}. '
        'Keys and their meaning: docs/reference/machine_yaml.md.\n\n'
    )
    return head + yaml.dump(
        result, Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=120, allow_unicode=True
    )


class _Dumper(yaml.SafeDumper):
    """Writes everything out: a file for people has no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        content = load_yaml(read_text(path, LARGEST_YAML))
    except TextFileError as error:
        raise CommandError(f'{path}: {error}') from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise CommandError(f'{path}: expected a mapping, found {type(content).__name__}')
    return content


def _spread(config: dict[str, Any]) -> dict[str, Any]:
    """Return the file with its `defaults` laid under its own elements, where those of another file don't reach."""
    result = dict(config)
    shared = result.pop('defaults', None) or {}
    if 'wheels' in result:
        wheel = shared.get('wheel') or {}
        result['wheels'] = {name: _merged(wheel, entry) for name, entry in result['wheels'].items()}
    if 'actuators' in result:
        result['actuators'] = {name: _actuator_over(shared, entry) for name, entry in result['actuators'].items()}
    return result


def _actuator_over(shared: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an actuator laid over its kind in `defaults`, and that over the tables that kinds share."""
    from dyn_nodes.model.actuators import actuator_keys, actuator_kinds

    kind = str(entry.get('type'))
    keys = actuator_keys(kind) if kind in actuator_kinds() else ()
    below = {key.name: shared[key.name] for key in keys if key.shared and key.name in shared}
    return _merged(_merged(below, shared.get(kind) or {}), entry)


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(lower)
    for key, value in upper.items():
        deep = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if deep else value
    return result


def _with_prefix(config: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the file with the prefix before every name of a link, joint or element of the file."""
    result = {key: value for key, value in config.items() if key not in OF_THE_PLATFORM}
    named = {'link', 'joint', 'sprocket'}

    def renamed(value: Any, key: str = '') -> Any:
        if isinstance(value, dict):
            if key in ('joint_positions', 'joint_velocities', 'coefficients'):
                return {prefix + name: number for name, number in value.items()}
            return {name: renamed(entry, name) for name, entry in value.items()}
        if key in named and isinstance(value, str) and value != 'world':
            return prefix + value
        return value

    for key, value in result.items():
        if key in ELEMENTS:
            result[key] = {prefix + name: renamed(entry) for name, entry in (value or {}).items()}
        elif key in ('locked', 'reactions'):
            result[key] = [prefix + name for name in value or []]
        else:
            result[key] = renamed(value, key)
    for pump in (result.get('pumps') or {}).values():
        pump['actuators'] = [prefix + name for name in pump.get('actuators') or []]
    return result
