"""Write the key tables of docs/machine_yaml.md: `python -m dyn_nodes.model.schema_doc`."""

from __future__ import annotations

from dyn_nodes.model import schema
from dyn_nodes.model.schema import REQUIRED, Key

SECTIONS = (
    ('The file', schema.MACHINE),
    ('`slope`', schema.SLOPE),
    ('`base`', schema.BASE),
    ('`initial`', schema.INITIAL),
    ('`payload`', schema.PAYLOAD),
    ('`wheels.<name>`', schema.WHEEL),
    ('`wheels.<name>.friction`', schema.FRICTION),
    ('`wheels.<name>.rolling`', schema.ROLLING),
    ('`terrain.<name>`', schema.RISE),
    ('`actuators.<name>` of type `cylinder`', schema.CYLINDER),
    ('`actuators.<name>.linkage`', schema.LINKAGE),
    ('`actuators.<name>.rod`', schema.ROD),
    ('`actuators.<name>` of type `motor`', schema.MOTOR),
    ('`actuators.<name>.valve`', schema.VALVE),
    ('`actuators.<name>.supply`', schema.SUPPLY),
    ('`pumps.<name>`', schema.PUMP),
    ('`constraints.<name>`', schema.CONSTRAINT),
    ('`constraints.<name>.first` and `.second`', schema.END),
    ('`constraints.<name>.profile` and `.ground`', schema.PROFILE),
    ('`loads.<name>`', schema.LOAD),
    ('`loads.<name>.inertia`', schema.INERTIA),
    ('`joints.<name>`', schema.JOINT_CLASS),
    ('`defaults`', schema.DEFAULTS),
)
KINDS = {
    'vector': '[x, y, z]',
    'flag': 'true or false',
    'table': 'mapping',
    'partial': 'mapping',
    'named': 'mapping of names',
    'positions': 'mapping of joints',
    'names': 'list of names',
    'numbers': 'list of numbers',
}


def key_tables() -> str:
    """Return every key of a machine YAML as Markdown tables."""
    return '\n'.join(_table(title, keys) for title, keys in SECTIONS)


def _table(title: str, keys: tuple[Key, ...]) -> str:
    rows = [f'| `{key.name}` | {_value(key)} | {key.unit} | {_default(key)} | {key.meaning} |' for key in keys]
    head = ['| key | value | unit | default | meaning |', '|---|---|---|---|---|']
    return '\n'.join([f'### {title}', '', *head, *rows, ''])


def _value(key: Key) -> str:
    if key.kind == 'choice':
        return ', '.join(f'`{choice}`' for choice in key.choices)
    bound = {'any': '', 'positive': ' > 0', 'non-negative': ' >= 0'}[key.sign]
    return KINDS.get(key.kind, key.kind) + bound


def _default(key: Key) -> str:
    if key.default is REQUIRED:
        return 'required'
    if key.default in (None, {}, ()):
        return ''
    if isinstance(key.default, tuple):
        return f'[{", ".join(f"{value:g}" for value in key.default)}]'
    if isinstance(key.default, bool):
        return str(key.default).lower()
    return f'{key.default:g}' if isinstance(key.default, float) else f'{key.default}'


if __name__ == '__main__':
    print(key_tables())
