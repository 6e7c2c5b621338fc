"""Results on disk: readers compare checksums, no part counts twice, the note has a schema, nothing is executed."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from small_sweep import content

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dyn_nodes import cli  # noqa: E402
from dyn_nodes.analysis.sweeps import driver  # noqa: E402
from dyn_nodes.analysis.sweeps.replay import LAUNCH, ReplayError, write_replay  # noqa: E402
from dyn_nodes.analysis.sweeps.report import read_results, write_csv  # noqa: E402
from dyn_nodes.analysis.sweeps.store import StoreError, read_note  # noqa: E402
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep  # noqa: E402
from dyn_nodes.middleware.launching import LaunchError, interpret  # noqa: E402
from dyn_nodes.model import MachineError  # noqa: E402
from faults import results  # noqa: E402


@pytest.fixture(scope='module')
def good(tmp_path_factory):
    directory = tmp_path_factory.mktemp('good')
    results.write_good(directory)
    return directory


@pytest.fixture
def directory(good, tmp_path):
    return Path(shutil.copytree(good, tmp_path / 'results'))


@pytest.fixture(autouse=True)
def _nothing_to_compile(monkeypatch):
    monkeypatch.setattr(driver, '_compile', lambda sweep, parts: None)


def completed(directory):
    remarks = []
    driver.run_sweep(results.sweep(), directory, results.Workers(), remark=remarks.append)
    return remarks


def flipped(path, offset=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if offset is None else offset] ^= 1
    path.write_bytes(data)
    return path


@pytest.mark.parametrize('folder', ['parts', 'samples'])
@pytest.mark.parametrize('offset', [5, None, -10])
def test_a_damaged_file_is_rejected_by_readers_and_recomputed_by_the_driver(directory, good, capsys, folder, offset):
    flipped(directory / folder / 'part-000001.parquet', offset)
    for words in (['report'], ['worst', '--outcome', 'greatest_tilt']):
        assert cli.main(['sweep', words[0], str(directory), *words[1:]]) == 1
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert 'manifest.jsonl:2: part-000001.parquet: expected the SHA-256' in lines[0]
    remarks = completed(directory)
    assert len(remarks) == 1
    assert 'part-000001.parquet: expected the SHA-256' in remarks[0]
    assert remarks[0].endswith('runs 16 to 31 are made again')
    assert content(directory) == content(good)


def test_the_command_reports_the_recomputed_runs(directory, monkeypatch, capsys, tmp_path):
    path = tmp_path / 'sweep.yaml'
    path.write_text(results.SWEEP)
    monkeypatch.setattr('dyn_nodes.commands.sweep._workers', lambda args: _Closing())
    flipped(directory / 'parts' / 'part-000000.parquet')
    assert cli.main(['sweep', str(path), '--out', str(directory), '--json']) == 0
    output = capsys.readouterr()
    assert 'runs 0 to 15 are made again' in output.err
    assert json.loads(output.out)['made'] == 16


class _Closing(results.Workers):
    def close(self):
        pass


@pytest.mark.parametrize('change', ['thrice', 'first again', 'exchanged', 'gap', 'unknown', 'rows', 'no JSON', 'deep'])
def test_a_manifest_that_does_not_list_each_part_once_in_order_is_rejected(directory, good, change):
    path = directory / 'manifest.jsonl'
    lines = path.read_text().splitlines()
    lines = {
        'thrice': [lines[0]] * 3 + lines[1:],
        'first again': [*lines, lines[0]],
        'exchanged': [lines[1], lines[0], *lines[2:]],
        'gap': [lines[0], *lines[2:]],
        'unknown': [*lines, lines[0].replace('000000', '000009')],
        'rows': [lines[0].replace('"rows": 16', '"rows": 15'), *lines[1:]],
        'no JSON': ['{', *lines],
        'deep': ['[' * 100_000, *lines],
    }[change]
    path.write_text(''.join(f'{line}\n' for line in lines))
    with pytest.raises(StoreError, match=r'manifest.jsonl:\d+: '):
        read_results(directory)
    completed(directory)
    assert content(directory) == content(good)


def test_a_line_cut_by_an_interruption_is_no_fault(directory):
    path = directory / 'manifest.jsonl'
    path.write_bytes(path.read_bytes()[:-20])
    assert read_results(directory).table.num_rows == 32


def test_a_part_without_a_line_is_adopted_only_if_it_equals_the_recomputed_part(directory, good):
    """It has no checksum: damage is detected by the checksums of its pages and by the bytes of an equal part."""
    (directory / 'manifest.jsonl').unlink()
    assert completed(directory) == []
    assert content(directory) == content(good)
    path = directory / 'parts' / 'part-000001.parquet'
    whole = path.read_bytes()
    assert pq.ParquetFile(path, page_checksum_verification=True).read().num_rows == 16
    for offset in range(4, len(whole) - 8, 97):
        (directory / 'manifest.jsonl').unlink()
        path.write_bytes(whole)
        flipped(path, offset)
        assert len(completed(directory)) == 1, offset
        assert path.read_bytes() == whole


def test_a_part_of_other_runs_is_not_adopted(directory, good):
    (directory / 'manifest.jsonl').unlink()
    path = directory / 'parts' / 'part-000001.parquet'
    table = pq.read_table(path)
    changed = pa.array([2.0 * value for value in table.column('payload').to_pylist()])
    changed = table.set_column(1, 'payload', changed).replace_schema_metadata(table.schema.metadata)
    pq.write_table(changed, path, compression='zstd', write_page_checksum=True)
    (remark,) = completed(directory)
    assert 'expected the values of payload in these runs' in remark
    assert content(directory) == content(good)


def test_a_part_that_expands_without_end_is_rejected_before_it_is_read(directory):
    path = directory / 'parts' / 'part-000000.parquet'
    table = pq.read_table(path)
    rows = pa.table({'run': pa.array([0] * 2_000_000)}).replace_schema_metadata(table.schema.metadata)
    pq.write_table(rows, path)
    import hashlib

    manifest = directory / 'manifest.jsonl'
    lines = manifest.read_text().splitlines(keepends=True)
    entry = {**json.loads(lines[0]), 'sha256': hashlib.sha256(path.read_bytes()).hexdigest()}
    manifest.write_text(json.dumps(entry) + '\n' + ''.join(lines[1:]))
    with pytest.raises(StoreError, match='expected 16 runs, found 2000000'):
        read_results(directory)


# -- the note ---


def changed_note(directory, change, sums=True):
    from dyn_nodes.analysis.sweeps.note import note_text

    path = directory / 'sweep.json'
    note = json.loads(path.read_text())
    kept = note.pop('checksums')
    change(note)
    path.write_text(note_text(note) if sums else json.dumps({**note, 'checksums': kept}))


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda note: note.update(runs='many'), "runs: expected a number, found 'many'"),
        (lambda note: note.update(runs=-1), 'runs: expected a number > 0'),
        (lambda note: note.update(parts=4), 'parts: expected 3: 40 runs of 16'),
        (lambda note: note.update(factors='payload'), "factors: expected a list of names, found 'payload'"),
        (lambda note: note.update(design='all'), 'design: expected one of grid'),
        (lambda note: note['columns'].update(run='text'), 'columns: expected the columns run: count'),
        (lambda note: note['units'].update(payload=3), "units.payload: expected a text, found '3'"),
        (lambda note: note.update(varied={'payload': []}), 'varied.payload: expected a list of numbers'),
        (lambda note: note.update(other=1), "other: expected a key of this mapping, found 'other'"),
        (lambda note: note['definition'].update(step=float('nan')), 'definition.step: expected a finite number'),
        (lambda note: note['definition'].update(files=[1, 2]), "definition.files[0]: expected a text, found '1'"),
        (lambda note: note['definition']['factors'][0].update(target='all'), 'target: expected one of parameter'),
        (lambda note: note['definition']['factors'].pop(), 'definition.factors: expected a list of the factors'),
        (lambda note: note.update(name='../../outside'), 'name: expected a letter'),
    ],
)
def test_a_fault_of_the_note_has_its_line_and_key(directory, capsys, change, message):
    changed_note(directory, change)
    assert cli.main(['sweep', 'report', str(directory)]) == 1
    assert message in capsys.readouterr().err


def test_a_changed_value_of_the_note_is_detected_by_its_checksum(directory, good):
    changed_note(directory, lambda note: note.update(seed=8), sums=False)
    with pytest.raises(
        StoreError, match='seed: expected the value that checksums was computed from, found another value'
    ):
        read_note(directory)
    (remark,) = completed(directory)
    assert remark.endswith('the note is written again')
    assert content(directory) == content(good)


@pytest.mark.parametrize('name', results.HOSTILE)
def test_no_hostile_name_of_a_factor_is_read_or_loaded(directory, tmp_path, name):
    def rename(note):
        note['factors'][0] = note['definition']['factors'][0]['name'] = name
        note['columns'] = {name if key == 'payload' else key: kind for key, kind in note['columns'].items()}

    changed_note(directory, rename)
    with pytest.raises(StoreError):
        read_results(directory)
    path = tmp_path / 'hostile.yaml'
    path.write_text(results.SWEEP.replace('  payload:', f'  {json.dumps(name)}:'))
    with pytest.raises(MachineError) as caught:
        load_sweep(path)
    assert all(line.isprintable() for line in str(caught.value).split('\n'))


@pytest.mark.parametrize('field', ['machine', 'config', 'parameter', 'joint', 'factor', 'segment'])
@pytest.mark.parametrize('name', results.HOSTILE)
def test_a_replay_of_hostile_names_starts_only_its_machine(good, tmp_path, monkeypatch, field, name):
    """The results come directly from a caller of the library, unchecked by a reader of the note."""
    stored = read_results(good)
    note = json.loads(json.dumps(stored.note))
    definition, table = note['definition'], stored.table
    if field in ('machine', 'config'):
        definition['files'][field == 'config'] = name
    elif field == 'parameter':
        definition['factors'][0]['key'] = name
    elif field == 'joint':
        definition['joint_positions'] = {name: 0.1}
    elif field == 'segment':
        definition['task']['segments'][0]['name'] = name
    else:
        definition['factors'][0]['name'] = name
        table = table.rename_columns([name if column == 'payload' else column for column in table.column_names])
    monkeypatch.chdir(tmp_path)
    made, error = _replayed(stored._replace(note=note, table=table), tmp_path / 'worst')
    assert error.isprintable()
    description = _interpreted(made)
    if description is not None:
        assert {child.executable for child in description.children} <= set(_nodes(good, tmp_path))
        words = [word for child in description.children for word in child.command]
        assert field != 'machine' or any(name in word for word in words)
    assert not list(tmp_path.rglob('MARK'))


def _replayed(stored, directory):
    """Return the directory of a replay and no error, or none and the error."""
    try:
        return write_replay(stored, 0, directory), ''
    except ReplayError as error:
        return None, str(error)


def _interpreted(made):
    """Return the started replay; None without a replay or a machine of its name."""
    with contextlib.suppress(LaunchError):
        return None if made is None else interpret(made / LAUNCH)


def _nodes(good, tmp_path):
    made = write_replay(read_results(good), 0, tmp_path / 'plain')
    return [child.executable for child in interpret(made / LAUNCH).children]


def test_files_are_written_beside_links_and_not_through_them(directory, tmp_path, capsys):
    outside = tmp_path / 'outside'
    outside.write_text('as it was')
    names = ('results.csv', 'results.csv.unfinished', 'boundary.csv', 'map.png', 'tornado.png')
    for name in names:
        (directory / name).symlink_to(outside)
    assert cli.main(['sweep', 'report', str(directory)]) == 0, capsys.readouterr().err
    assert outside.read_text() == 'as it was'
    assert not any((directory / name).is_symlink() for name in names)
    assert pcsv.read_csv(directory / 'results.csv').num_rows == 40
    (directory / 'worst').symlink_to(tmp_path)
    assert cli.main(['sweep', 'worst', str(directory)]) == 1
    assert 'expected a directory, found a link' in capsys.readouterr().err


def test_a_file_that_cannot_be_finished_leaves_nothing_behind(directory, good):
    target = directory / 'results.csv'
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        write_csv(read_results(good), target)
    assert list(directory.glob('*.unfinished')) == []


def test_damaged_results_are_never_read_as_other_results(good, tmp_path):
    for number in range(42):
        case = Path(shutil.copytree(good, tmp_path / str(number)))
        kind = results.make(number, 3, case)
        assert list(results.examine(case, good)) == [], (number, kind)
