"""Only code stored by this user runs from the cache: damaged, truncated, foreign and tampered files are rejected."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from dyn_nodes.common import sealing
from dyn_nodes.common.numba_internals import SealedFiles
from dyn_nodes.compile import cache_directory

ROOT = Path(__file__).resolve().parents[2]
USER = textwrap.dedent(
    """
    import sys
    import casadi as ca, numpy as np
    from dyn_nodes.compile import build_module

    def make():
        print('traced')
        x = ca.SX.sym('x', 2)
        return {'f': ca.Function('f', [x], [ca.sin(x) + 1])}, {'number': 7}

    twice = '\\n\\n@njit(cache=True)\\ndef twice(x, y):\\n    f_at(x, y)\\n    f_at(y, y)\\n'
    y = np.empty(2)
    module = build_module('sealed', ['a'], make, drivers=[twice])
    module.f(np.zeros(2), y)
    assert (y == 1).all() and module.meta['number'] == 7
    module.twice(np.zeros(2), y)
    assert abs(y - 1 - np.sin(1)).max() < 1e-15
    print('compiled', sum(f.stats.cache_misses[s] for f in (module.f, module.twice) for s in f.stats.cache_misses))
    """
)


def use(cache_root: Path, **environment: str) -> subprocess.CompletedProcess:
    """Use the cache in a separate process."""
    surroundings = {**os.environ, 'PYTHONPATH': str(ROOT), 'DYN_NODES_CACHE': str(cache_root), **environment}
    surroundings.pop('DYN_NODES_GUARD', None)
    run = subprocess.run(
        [sys.executable, '-c', USER], env=surroundings, capture_output=True, text=True, timeout=250, check=False
    )
    assert run.returncode == 0, run.stderr
    assert 'Traceback' not in run.stderr
    return run


@pytest.fixture(scope='module')
def original(tmp_path_factory):
    cache_root = tmp_path_factory.mktemp('sealed') / 'cache'
    assert use(cache_root).stderr == ''
    return cache_root


@pytest.fixture
def cache_root(original, tmp_path):
    """Return a copy of a filled cache, with its file times."""
    shutil.copytree(original, tmp_path / 'cache')
    return tmp_path / 'cache'


def only(cache_root: Path, pattern: str) -> Path:
    return next(iter(sorted(cache_root.glob(pattern))))


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, cache_root):
        self.cache_root = cache_root

    def __reduce__(self):
        return (Path.touch, (self.cache_root,))


def test_unchanged_cache_is_used_without_a_message(cache_root):
    result = use(cache_root)
    assert result.stderr == ''
    assert result.stdout.split() == ['compiled', '0']
    assert (cache_root / 'key').stat().st_mode & 0o077 == 0
    assert cache_root.stat().st_mode & 0o022 == 0


CHANGES = {
    'cut short': lambda content: content[: len(content) // 2],
    'empty': lambda content: b'',
    'a bit': lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
    'foreign': lambda content: b'x' * 5000,
}


@pytest.mark.parametrize('pattern', ['*/module.py', '*/f.npz', '*/manifest'])
@pytest.mark.parametrize('change', CHANGES)
def test_damaged_module_is_detected_before_it_runs_and_is_rebuilt(cache_root, monkeypatch, pattern, change):
    from dyn_nodes.compile.manifest import verified_files

    path = only(cache_root, pattern)
    assert verified_files(cache_root, path.parent) is not None
    path.write_bytes(CHANGES[change](path.read_bytes()))
    reports = []
    monkeypatch.setattr('dyn_nodes.compile.manifest.report', reports.append)
    assert verified_files(cache_root, path.parent) is None
    assert len(reports) == 1
    assert '\n' not in reports[0]
    assert not path.parent.exists()


def test_tampered_text_does_not_run_and_is_reported_in_one_line(cache_root, tmp_path):
    trace = tmp_path / 'ran'
    path = only(cache_root, '*/module.py')
    path.write_text(f'open({str(trace)!r}, "w")\n' + path.read_text())
    result = use(cache_root)
    assert not trace.exists()
    assert result.stdout.split()[0] == 'traced'
    assert len(result.stderr.strip().splitlines()) == 1
    assert 'damaged, missing or foreign: made again' in result.stderr
    assert use(cache_root).stderr == ''


@pytest.mark.parametrize('change', CHANGES)
def test_damaged_note_of_a_trace_is_not_followed(cache_root, change):
    note = only(cache_root, 'trace-*')
    note.write_bytes(CHANGES[change](note.read_bytes()))
    result = use(cache_root)
    assert result.stdout.split() == ['traced', 'compiled', '0']
    assert len(result.stderr.strip().splitlines()) == 1
    assert 'damaged or not of this user: traced again' in result.stderr
    assert use(cache_root).stderr == ''


def test_note_of_another_trace_is_not_followed(cache_root):
    note = only(cache_root, 'trace-*')
    assert sealing.unsealed(cache_root, note.name, note.read_bytes()) is not None
    assert sealing.unsealed(cache_root, f'{note.name[:-1]}_', note.read_bytes()) is None


def test_tampered_pickles_are_not_unpickled(cache_root, tmp_path):
    traces = []
    for path in [*cache_root.rglob('*.nbi'), *cache_root.rglob('*.nbc')]:
        traces.append(tmp_path / f'ran{len(traces)}')
        path.write_bytes(pickle.dumps(Evil(traces[-1])))
    result = use(cache_root)
    assert traces
    assert not any(trace.exists() for trace in traces)
    lines = result.stderr.strip().splitlines()
    assert lines
    assert all('damaged or not of this user: compiled again' in line for line in lines)
    assert use(cache_root).stderr == ''


def test_python_s_own_copy_of_a_module_does_not_run(cache_root, tmp_path):
    import importlib.util
    import marshal

    trace = tmp_path / 'ran'
    source = only(cache_root, '*/module.py')
    copy = Path(importlib.util.cache_from_source(str(source)))
    copy.parent.mkdir(exist_ok=True)
    status = source.stat()
    head = importlib.util.MAGIC_NUMBER + b'\0' * 4
    head += int(status.st_mtime).to_bytes(4, 'little') + (status.st_size & 0xFFFFFFFF).to_bytes(4, 'little')
    copy.write_bytes(head + marshal.dumps(compile(f'open({str(trace)!r}, "w")', str(source), 'exec')))
    use(cache_root)
    assert not trace.exists()


def test_entries_of_another_key_are_foreign(cache_root):
    (cache_root / 'key').unlink()
    result = use(cache_root)
    assert result.stdout.split()[0] == 'traced'
    assert 'made again' in result.stderr


def test_machine_code_moved_to_another_name_is_invalid(cache_root):
    sound = only(cache_root, '*/manifest').read_bytes()
    name = only(cache_root, '*/manifest').parent.name
    assert sealing.unsealed(cache_root, f'{name}/manifest', sound) is not None
    assert sealing.unsealed(cache_root, 'module-other/manifest', sound) is None


@pytest.mark.parametrize('state', ['readable by all', 'short', 'a link'])
def test_key_readable_by_others_is_replaced(tmp_path, monkeypatch, state):
    reports = []
    monkeypatch.setattr(sealing, 'report', reports.append)
    first, path = sealing.key_of(tmp_path), tmp_path / 'key'
    if state == 'readable by all':
        path.chmod(0o644)
    elif state == 'short':
        path.write_bytes(b'short')
    else:
        os.rename(path, tmp_path / 'elsewhere')
        path.symlink_to(tmp_path / 'elsewhere')
    second = sealing.key_of(tmp_path)
    assert first != second
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(reports) == 1
    assert sealing.key_of(tmp_path) == second


def test_directory_writable_by_others_is_closed_to_them(tmp_path, monkeypatch):
    directory = tmp_path / 'open'
    directory.mkdir()
    directory.chmod(0o777)
    monkeypatch.setenv('DYN_NODES_CACHE', str(directory))
    assert cache_directory() == directory
    assert directory.stat().st_mode & 0o777 == 0o755


def test_directory_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'theirs'))
    monkeypatch.setattr(os, 'geteuid', lambda: 123456)
    assert tmp_path not in cache_directory().parents


def test_user_without_a_home_has_a_private_cache(monkeypatch):
    monkeypatch.delenv('DYN_NODES_CACHE') if 'DYN_NODES_CACHE' in os.environ else None
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)

    def nowhere():
        raise RuntimeError('Could not determine home directory.')

    monkeypatch.setattr(Path, 'home', nowhere)
    directory = cache_directory()
    assert directory.is_dir()
    assert directory.stat().st_mode & 0o077 == 0


def test_private_cache_is_removed_when_its_process_ends_not_a_fork_of_it():
    code = (
        'import os\nfrom dyn_nodes.common.sealing import private_directory\nmade = private_directory()\n'
        'if os.fork() == 0:\n    raise SystemExit\nos.wait()\nprint(made, made.is_dir())'
    )
    path, was_there = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.split()
    assert was_there == 'True'
    assert not Path(path).exists()


def test_full_disk_is_reported_once_and_the_module_works(tmp_path, monkeypatch):
    import casadi as ca
    import numpy as np

    from dyn_nodes.compile import build_module
    from dyn_nodes.compile import module as module_text

    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    reports, real = [], Path.write_text

    def full(path, *arguments, **options):
        if (tmp_path / 'cache') in path.parents:
            raise OSError(errno.ENOSPC, 'No space left on device')
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, 'write_text', full)
    monkeypatch.setattr(module_text, 'report', reports.append)
    x = ca.SX.sym('x', 2)
    module = build_module('full_disk', ['a'], lambda: ({'f': ca.Function('f', [x], [2 * x])}, {}))
    y = np.empty(2)
    module.f(np.ones(2), y)
    assert (y == 2.0).all()
    assert len(reports) == 1
    assert 'No space left on device' in reports[0]
    assert not list((tmp_path / 'cache').glob('making-*'))


SAVER = """
import sys
from pathlib import Path

from dyn_nodes.common.numba_internals import SealedFiles

class Slow(SealedFiles):
    def _save_index(self, overloads):
        print('index', flush=True)
        sys.stdin.readline()
        super()._save_index(overloads)

Slow.root = Path(sys.argv[1])
Slow(sys.argv[1], 'kernel', 'stamp').save('first', 'code of the first')
"""


def test_two_processes_that_store_signatures_of_one_function_at_once_keep_both(tmp_path):
    process = subprocess.Popen(
        [sys.executable, '-c', SAVER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == 'index\n'  # it has read the index, and writes it later
    threading.Timer(0.5, process.communicate, ['\n']).start()
    files = SealedFiles(str(tmp_path), 'kernel', 'stamp')
    files.root = tmp_path
    files.save('second', 'code of the second')
    assert process.wait(60) == 0
    assert files.load('first') == 'code of the first'
    assert files.load('second') == 'code of the second'
