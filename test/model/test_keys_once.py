"""Every key of the machine YAML is declared once, at the field of its record; no other code names or copies it.

`python test/model/test_keys_once.py [FOLDER]` prints the count for the modules of a folder.
"""

import ast
import dataclasses
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import pytest

from dyn_nodes.analysis.omni_keys import omni_keys
from dyn_nodes.model.actuators import actuator_kinds
from dyn_nodes.model.config import read_config
from dyn_nodes.model.machine import Base, MachineFile
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema import Key, build, keys_of, number, one_table_of, table
from dyn_nodes.model.schema_doc import sections
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import read_yaml

MODEL = Path(__file__).resolve().parents[2] / 'dyn_nodes' / 'model'
CONSTRAINTS = MODEL.parent / 'constraints' / 'kinds'
OMNI = [MODEL.parent / 'analysis' / name for name in ('omni_keys.py', 'omni_config.py')]
"""Modules for the YAML of platforms on omnidirectional wheels, which has the same records and reader."""
DECLARING = {'Key', '_number'}
READING = {'get', '_get', 'pop'}
URDF = {
    'urdf.py',
    'urdf_checks.py',
    'shapes.py',
    'mass_checks.py',
    'locking.py',
    'load.py',
    'xml_source.py',
    'mimic.py',
}
"""Modules that read the URDF, which has attributes of the same names."""
OTHERS = {
    'config.py': {'wheel', 'wheels', 'actuators', 'pumps', 'terrain', 'constraints', 'loads', 'joints', 'type', 'base'}
    | {'link', 'friction', 'name', 'initial', 'defaults'},
    'constraint_config.py': {'kind', 'times', 'values', 'inertia'},
    '__init__.py': {'model'},
    'discovery.py': {'kind'},
}
"""Keys that a module may name: named mappings with special readers, the root link, keys in messages, the key that
selects the friction law, and the attribute of a class for its kind."""


class Statement(NamedTuple):
    """A declaration, lookup or copy of a key by name."""

    module: str
    line: int
    key: str
    how: str


def statements(paths: Iterable[Path], keys: set[str]) -> Iterator[Statement]:
    """Yield the statements that name keys: fields of records, declarations by name, lookups, copies by keyword."""
    for path in sorted(path for path in paths if path.name not in URDF):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            for key, how in _named_by(node):
                if key in keys:
                    yield Statement(path.name, node.lineno, key, how)


def _named_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.ClassDef):
        for entry in node.body:
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                yield entry.target.id, 'field'
    elif isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, 'attr', '')
        first = node.args[0] if node.args else None
        second = node.args[1] if len(node.args) > 1 else None
        for argument in (first, second if called == '_get' else None):
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                if called in DECLARING:
                    yield argument.value, 'declaration'
                elif called in READING:
                    yield argument.value, 'lookup'
        for keyword in node.keywords:
            if keyword.arg is not None and isinstance(keyword.value, (ast.Attribute, ast.Subscript, ast.Call)):
                yield keyword.arg, 'copy'
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        yield node.slice.value, 'lookup'


def declaring() -> list[Path]:
    """Return the modules with the records of the machine YAML."""
    return [*MODEL.rglob('*.py'), *CONSTRAINTS.glob('*.py')]


def all_keys() -> dict[str, set[str]]:
    """Return the name of every key, and the titles of the mappings that have it."""
    mappings: dict[str, set[str]] = {}
    for section in sections():
        for key in section.keys:
            mappings.setdefault(key.name, set()).add(section.titles[0])
    return mappings


def test_a_key_is_named_only_at_its_declaration():
    others = [statement for statement in statements(declaring(), set(all_keys())) if statement.how != 'field']
    unexpected = [statement for statement in others if statement.key not in OTHERS.get(statement.module, set())]
    assert unexpected == []


def test_every_key_is_the_field_of_a_record_with_its_meaning():
    kinds = set(actuator_kinds())
    written = kinds | {'defaults', 'wheel', 'valve', 'supply', 'type', 'model', 'class', 'joints', 'rod'}
    fields = {statement.key for statement in statements(declaring(), set(all_keys())) if statement.how == 'field'}
    assert set(all_keys()) - fields - written == set()
    assert all(key.meaning for section in sections() for key in section.keys)


def test_keys_of_an_omnidirectional_platform_are_fields_of_its_records():
    keys = {statement.name: statement for key in omni_keys() for statement in (key, *key.table)}
    named = [statement for statement in statements(OMNI, set(keys)) if statement.how != 'field']
    # an overlay of mappings needs `defaults`, `wheel` and `wheels`; messages name the key `roller`
    assert {statement.key for statement in named if statement.module == 'omni_config.py'} <= {
        'defaults', 'wheel', 'wheels', 'roller', 'name', 'platform',
    }  # fmt: skip
    assert {statement.key for statement in named if statement.module == 'omni_keys.py'} == {'wheel', 'defaults'}
    fields = {statement.key for statement in statements(OMNI, set(keys)) if statement.how == 'field'}
    assert set(keys) - fields == {'wheel', 'defaults'}


@dataclass(frozen=True)
class Spring:
    stiffness: Annotated[float, number('of the spring', 'N/m', 'positive')]
    rest: Annotated[float, number('unstressed length', 'm')] = 0.25
    note: str = ''


@dataclass(frozen=True)
class Rubber:
    stiffness: Annotated[float, number('of the spring', 'N/m', 'positive')]
    loss: Annotated[float, number('share that is lost')] = 0.1


@dataclass(frozen=True)
class Buffer:
    spring: Annotated[Spring, table('that carries', Spring)]
    pad: Annotated[
        Spring | Rubber | None,
        one_table_of(
            'below it', Key('model', 'choice', 'law', default='steel'), lambda: {'steel': Spring, 'rubber': Rubber}
        ),
    ] = None


def read(folder: Path, text: str, tolerant: bool = False):
    path = folder / 'buffer.yaml'
    path.write_text(text, encoding='utf-8')
    report = Report(path.name)
    values = SchemaReader(report).table(read_yaml(path, report), keys_of(Buffer))
    return build(Buffer, values, tolerant), [str(problem) for problem in report.problems]


def test_reader_errors_and_defaults_follow_from_the_fields_of_a_record(tmp_path):
    buffer, problems = read(tmp_path, 'spring: {stiffness: 2.0}\npad: {model: rubber, stiffness: 3}\n')
    assert problems == []
    assert buffer == Buffer(Spring(2.0), Rubber(3.0))
    assert read(tmp_path, 'spring: {stiffness: 2.0}\n')[0] == Buffer(Spring(2.0))
    buffer, problems = read(tmp_path, 'spring: {rest: 2500}\n')
    assert buffer is None
    assert problems == [
        'buffer.yaml:1: spring.stiffness: expected a value (N/m): of the spring, found nothing',
        'buffer.yaml:1: spring.rest: expected a number in m, found 2500 m, which looks like millimetres '
        '(2500 mm = 2.5 m)',
    ]


def test_a_tolerant_reader_replaces_faulty_values_by_existing_defaults(tmp_path):
    strict, tolerant = (read(tmp_path, 'spring: {stiffness: 2, rest: x}\n', lenient)[0] for lenient in (False, True))
    assert strict is None
    assert tolerant == Buffer(Spring(2.0))
    assert read(tmp_path, 'spring: {stiffness: x}\n', tolerant=True)[0] is None


def test_a_record_without_evaluated_annotations_is_rejected():
    @dataclass(frozen=True)
    class Unread:
        mass: "Annotated[float, number('of it', 'kg')]"

    with pytest.raises(TypeError, match=r'Unread\.mass: expected an evaluated annotation'):
        keys_of(Unread)


def test_the_meaning_of_a_key_names_its_record_if_there_are_several():
    (pad,) = (key for key in keys_of(Buffer) if key.name == 'pad')
    assert [key.name for key in pad.table] == ['model', 'stiffness', 'rest', 'loss']
    assert pad.table[3].meaning == 'share that is lost; of rubber only'
    assert pad.table[0].choices == ('steel', 'rubber')


def test_an_empty_file_gives_the_defaults_of_the_record(tmp_path):
    path = tmp_path / 'empty.yaml'
    path.write_text('name: crane\n', encoding='utf-8')
    report = Report(path.name)
    config, plain = read_config(read_yaml(path, report), 'base_link', report), MachineFile(name='crane')
    assert report.problems == []
    assert config.base == Base('base_link', 'fixed')
    same = [field.name for field in dataclasses.fields(MachineFile) if field.name != 'base']
    assert [getattr(config, name) for name in same] == [getattr(plain, name) for name in same]


if __name__ == '__main__':
    counted = list(statements((Path(sys.argv[1]) if len(sys.argv) > 1 else MODEL).rglob('*.py'), set(all_keys())))
    for kind in ('field', 'declaration', 'lookup', 'copy'):
        print(f'{kind:12} {sum(statement.how == kind for statement in counted):4}')
