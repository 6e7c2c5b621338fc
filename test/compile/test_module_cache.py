"""Generated modules: made once, never stale, safe among processes."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest
from numba import njit
from numba.core import event

from dyn_nodes.common import loops
from dyn_nodes.common.compiling import CompilationNotice
from dyn_nodes.compile import build_module, cache, cache_directory, compile_functions, source_digest
from dyn_nodes.compile import module as module_text
from dyn_nodes.compile.cache import prune
from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.guard import LengthError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cache_root(tmp_path, monkeypatch):
    """Return a separate cache for the test."""
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    return tmp_path / 'cache'


class Maker:
    """Counts its traces."""

    def __init__(self, factor=2.0):
        self.calls, self.factor = 0, factor

    def __call__(self):
        self.calls += 1
        x = ca.SX.sym('x', 2)
        return {'scaled': ca.Function('scaled', [x], [self.factor * x])}, {'factor': self.factor}


def doubled_twice(x, y):
    scaled_at(x, y)  # noqa: F821
    scaled_at(y, y)  # noqa: F821


def build(make, key='a', **options):
    return build_module('cache_test', [key], make, **options)


def forget(built):
    """Make the next build load from disk, as in another process."""
    name = built._module.__name__
    sys.modules.pop(name)


def test_second_build_traces_nothing(cache_root):
    make = Maker()
    first = build(make)
    forget(first)
    second = build(make)
    assert make.calls == 1
    assert second.meta['factor'] == 2.0
    assert second.directory == first.directory
    output = np.empty(2)
    second.scaled(np.array([1.0, -3.0]), output)
    np.testing.assert_array_equal(output, [2, -6])


def test_another_key_makes_another_module(cache_root):
    one, two = Maker(2.0), Maker(3.0)
    assert build(one, 'a').directory != build(two, 'b').directory
    assert (one.calls, two.calls) == (1, 1)
    output = np.empty(2)
    build(two, 'b').scaled(np.ones(2), output)
    np.testing.assert_array_equal(output, [3, 3])


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Yield a package whose source text is part of the cache key; `edit(text, subpackage)` changes it."""
    monkeypatch.setattr(cache, 'PACKAGE', tmp_path / 'package')

    def edit(text, subpackage='elements/forces'):
        file = tmp_path / 'package' / subpackage / 'law.py'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        source_digest.cache_clear()

    edit('K = 1\n')
    edit('K = 1\n', 'compile')
    yield edit
    source_digest.cache_clear()


def test_changed_source_text_is_traced_again_and_compiled_where_expressions_differ(cache_root, package):
    before = build(Maker(2.0))
    package('K = 2\n')
    changed = Maker(3.0)
    after = build(changed)
    assert changed.calls == 1
    assert after.directory != before.directory
    output = np.empty(2)
    after.scaled(np.ones(2), output)
    np.testing.assert_array_equal(output, [3, 3])


def test_a_comment_compiles_nothing(cache_root, package):
    before, text = build(Maker()), []
    forget(before)
    machine_code = sorted((path, path.stat().st_mtime_ns) for path in before.directory.rglob('*.nb*'))
    package('K = 1  # a constant\n')
    make = Maker()
    with CompilationNotice(text.append):
        after = build(make)
    assert make.calls == 1
    assert after.directory == before.directory
    assert machine_code
    assert sorted((path, path.stat().st_mtime_ns) for path in after.directory.rglob('*.nb*')) == machine_code
    assert text == []


def test_another_compiler_makes_another_module(cache_root, package):
    before = build(Maker())
    package('K = 3\n', 'compile')
    assert build(Maker()).directory != before.directory


def test_other_versions_of_the_tools_make_another_module(cache_root, monkeypatch):
    make = Maker()
    build(make)
    monkeypatch.setattr(module_text, '_versions', lambda: 'casadi 99')
    build(make)
    assert make.calls == 2


def test_drivers_call_kernels_and_count_in_the_key(cache_root):
    make = Maker()
    plain, driven = build(make), build(make, drivers=[doubled_twice, '\nLIMIT = 4.5\n'])
    assert plain.directory != driven.directory
    output = np.empty(2)
    driven.doubled_twice(np.array([1.0, 2.0]), output)
    np.testing.assert_array_equal(output, [4, 8])
    assert driven.LIMIT == 4.5


def test_kernels_serve_other_compiled_code(cache_root):
    module = build(Maker())

    @njit
    def sum_of_scaled(code, rows):
        total, output = 0.0, np.empty(2)
        for k in range(rows.shape[0]):
            total += call_code(code, rows[k], output) + output.sum()  # its status is 0
        return total

    assert sum_of_scaled(module.code('scaled'), np.arange(6.0).reshape(3, 2)) == 30.0


def test_a_module_without_drivers_compiles_no_function_for_python(cache_root):
    """A function for Python costs as much as a kernel; the functions of `calls` serve all modules."""

    class Compilations(event.Listener):
        names: ClassVar[list[str]] = []

        def on_start(self, event):
            self.names.append(event.data['dispatcher'].py_func.__module__)

        def on_end(self, event):
            pass

    build(Maker()).scaled(np.ones(2), np.empty(2))  # `calls` may be compiled here
    with event.install_listener('numba:compile', Compilations()):
        other = build_module('cache_test', ['other'], Maker(3.0))
        y = np.empty(2)
        other.scaled(np.ones(2), y)
    assert y.tolist() == [3.0, 3.0]
    assert Compilations.names == []


def test_shared_calls_reject_wrong_lengths_rows_and_columns(cache_root):
    x, p = ca.SX.sym('x', 3), ca.SX.sym('p', 1)
    functions = {'law': ca.Function('law', [x, p], [ca.vertcat(p * x, ca.sumsqr(x)), x[:2]])}
    module = build_module('shared_calls', ['a'], lambda: (functions, {}), batch=('law',))
    sizes = (3, 1, 4, 2)
    for argument in range(4):
        arrays = [np.full(size + (k == argument), 7.0) for k, size in enumerate(sizes)]
        wanted = (
            f"'law', argument {argument}: expected a vector of {sizes[argument]} numbers, found {len(arrays[argument])}"
        )
        with pytest.raises(LengthError, match=wanted):
            module.law(*arrays)
        assert all((array == 7.0).all() for array in arrays)
        wide = [np.ones((5, size + (k == argument))) for k, size in enumerate(sizes)]
        with pytest.raises(
            LengthError, match=f"'law', argument {argument}: expected an array of {sizes[argument]} col"
        ):
            module.law_batch(*wide)
    for argument in range(1, 4):
        short = [np.ones((5 - (k == argument), size)) for k, size in enumerate(sizes)]
        with pytest.raises(LengthError, match=f'argument {argument}: expected as many rows as argument 0, 5, found 4'):
            module.law_batch(*short)
    with pytest.raises(TypeError):
        module.law_batch(*(np.ones(size) for size in sizes))
    good = [np.full((5, size), 2.0) for size in sizes]
    module.law_batch(*good)
    np.testing.assert_array_equal(good[2], np.tile([4.0, 4.0, 4.0, 12.0], (5, 1)))


@pytest.mark.parametrize('wrong', [np.zeros(2, dtype=np.int64), np.zeros(4)[::2], np.zeros((1, 2)), [0.0, 0.0]])
def test_arguments_of_another_type_are_rejected(cache_root, wrong):
    with pytest.raises(
        TypeError, match="kernel 'scaled', argument 0: expected a contiguous, writable vector of float64, found"
    ):
        build(Maker()).scaled(wrong, np.empty(2))


def test_unknown_kernel_is_named(cache_root):
    with pytest.raises(AttributeError, match="'cache_test' has no kernel or driver 'halved'"):
        build(Maker()).halved  # noqa: B018


def test_equal_functions_share_a_module(cache_root):
    x = ca.SX.sym('x', 2)
    y = ca.SX.sym('another_name', 2)
    one = compile_functions('shared', {'f': ca.Function('f', [x], [ca.sin(x)])})
    two = compile_functions('shared', {'f': ca.Function('f', [y], [ca.sin(y)])})
    three = compile_functions('shared', {'f': ca.Function('f', [y], [ca.cos(y)])})
    assert one.directory == two.directory != three.directory


def test_variable_selects_the_cache(cache_root):
    assert cache_directory() == cache_root
    assert build(Maker()).directory.parent == cache_root


def test_default_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv('DYN_NODES_CACHE', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert cache_directory() == tmp_path / 'dyn_nodes'


def test_cache_that_cannot_be_written_falls_back_to_a_private_one(monkeypatch, tmp_path):
    blocked = tmp_path / 'file'
    blocked.write_text('not a directory')
    monkeypatch.setenv('DYN_NODES_CACHE', str(blocked / 'cache'))
    cache_root = cache_directory()
    assert cache_root.is_dir()
    assert blocked not in cache_root.parents
    assert cache_directory() == cache_root  # the same for the whole process
    make = Maker()
    assert build(make).directory.parent == cache_root
    build(make)
    assert make.calls == 1


def test_prune_deletes_the_least_recently_used(tmp_path):
    for k in range(5):
        directory = tmp_path / f'module{k}'
        (directory / '__pycache__').mkdir(parents=True)
        (directory / 'module.py').write_text('')
        (directory / '__pycache__' / 'code.nbc').write_text('')
        (directory / 'meta.json').write_text('{}')
        os.utime(directory / 'meta.json', (1000 - k, 1000 - k))
    (tmp_path / 'unrelated').mkdir()
    prune(tmp_path, kept=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['module0', 'module1', 'unrelated']


def test_module_in_use_counts_as_recently_used(cache_root):
    old, new = build(Maker(), 'old'), build(Maker(), 'new')
    for age, built in ((1000, old), (2000, new)):
        os.utime(built.directory / 'meta.json', (age, age))
    forget(old)
    source = (old.directory / 'module.py').stat().st_mtime_ns
    build(Maker(), 'old')
    prune(cache_root, kept=1)
    assert [path for path in cache_root.iterdir() if path.is_dir()] == [old.directory]
    assert len(list(cache_root.glob('trace-*'))) == 2  # the note of the other one is stale, without harm
    assert build(Maker(), 'new').directory == new.directory
    prune(cache_root, kept_traces=1)
    assert len(list(cache_root.glob('trace-*'))) == 1
    assert (
        old.directory / 'module.py'
    ).stat().st_mtime_ns == source  # Numba's cache is valid only while this is unchanged


PROCESS = textwrap.dedent(
    """
    import sys
    import casadi as ca, numpy as np
    from dyn_nodes.common import turns
    from dyn_nodes.compile import build_module
    from dyn_nodes.common.loops import code_of, kernels_of
    from dyn_nodes.common.compiling import CompilationNotice
    from dyn_nodes.compile.calls import compiled

    def make():
        print('traced')
        x = ca.SX.sym('x', 2)
        return {'f': ca.Function('f', [x], [ca.sin(x) + 1])}, {}

    if 'alone' in sys.argv:
        turns.fcntl = None
    print('ready', flush=True)
    sys.stdin.readline()  # all at once
    y, said = np.empty(2), []
    with CompilationNotice(said.append):
        module = build_module('rivals', ['a'], make)
    module.f(np.zeros(2), y)
    assert (y == 1).all()
    loop = compiled(1)
    print('compiled', module._f_holder.cache_hits == 0, sum(loop.stats.cache_misses.values()))
    print(said[0].split(',')[0], said[1][:11])
    """
)


def run_at_once(count, *words):
    """Return the output of processes that simultaneously build one module and compile one loop on an empty cache."""
    rivals = [
        subprocess.Popen(
            [sys.executable, '-c', PROCESS, *words],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    for rival in rivals:
        assert rival.stdout.readline() == 'ready\n', rival.communicate()
    for rival in rivals:
        rival.stdin.write('go\n')
        rival.stdin.flush()
    printed = []
    for rival in rivals:
        text, errors = rival.communicate(timeout=120)
        assert rival.returncode == 0, errors
        printed += text.splitlines()
    return printed


def test_of_processes_that_need_the_same_module_one_builds_it_and_the_others_report_waiting(cache_root):
    printed = run_at_once(3)
    assert printed.count('traced') == 1
    assert sorted(line for line in printed if line.startswith('compiled ')) == [
        'compiled False 0',
        'compiled False 0',
        'compiled True 1',
    ]
    assert printed.count('compiling rivals compiled in') == 3


def test_processes_that_build_the_same_at_once_without_turns_all_work(cache_root):
    run_at_once(2, 'alone')
    # no partial module remains, and no function for Python was compiled
    result = {path.name.split('-')[0] for path in cache_root.iterdir() if path.is_dir()}
    assert result == {'compile', 'module'}


ATTACKS = (
    """x\"\"\"+str(__import__("pathlib").Path("MARK").touch())+\"\"\"\'\'\'""",
    'x\\',
    'two\nlines\nimport pathlib; pathlib.Path("MARK").touch()',
    '../../../outside',
    '{name}{0}%s',
    'x' * 5000,
    'nul\x00 and \ud800',
    '',
)


@pytest.mark.parametrize('attack', ATTACKS, ids=range(len(ATTACKS)))
def test_no_name_reaches_generated_text_or_a_path(cache_root, monkeypatch, tmp_path, attack):
    monkeypatch.chdir(tmp_path)
    built = build_module(attack, [attack], Maker())
    forget(built)
    built = build_module(attack, [attack], Maker())
    output = np.empty(2)
    built.scaled(np.array([1.0, -3.0]), output)
    np.testing.assert_array_equal(output, [2, -6])
    plain = build(Maker())
    assert (built.directory / 'module.py').read_text() == (plain.directory / 'module.py').read_text()
    assert built.directory.parent == cache_root
    assert built.directory.name.removeprefix('module-').isalnum()
    assert built.meta['name'] == attack
    assert {path.name for path in tmp_path.iterdir()} == {'cache'}


@pytest.mark.parametrize('name', ['', 'a b', 'a\n', 'class', 'f():pass#', '../f', 'é'])
def test_the_name_of_a_kernel_is_an_identifier(cache_root, name):
    x = ca.SX.sym('x')
    with pytest.raises(ValueError, match='name of a kernel: expected a Python identifier'):
        build_module('kernel_names', [name], lambda: ({name: ca.Function('f', [x], [x])}, {}))
    assert not list(cache_root.glob('m*'))


def test_a_compilation_is_announced_once_per_machine_and_its_end_after_it(cache_root):
    lines = []
    with CompilationNotice(lines.append):
        build_module('crane: rigid', ['first'], Maker())
        build_module('crane: load', ['second'], Maker(3.0))
        assert lines == ['compiling crane, once, about 20 s']
    assert len(lines) == 2
    assert re.fullmatch(r'compiled in \d+ s', lines[1])


def test_cached_modules_are_loaded_without_a_message(cache_root):
    forget(build_module('crane: rigid', ['first'], Maker()))
    lines = []
    with CompilationNotice(lines.append):
        build_module('crane: rigid', ['first'], Maker())
    assert lines == []


def test_a_module_without_machine_code_is_announced(cache_root):
    built = build_module('crane: rigid', ['first'], Maker())
    forget(built)
    for index in built.directory.rglob('*.nbi'):
        index.unlink()
    lines = []
    with CompilationNotice(lines.append):
        build_module('crane: rigid', ['first'], Maker())
    assert lines[0].startswith('compiling crane, once')


def test_kernels_with_a_label_are_announced_once_and_not_from_the_cache(cache_root, tmp_path):
    (tmp_path / 'folder').mkdir()
    path = tmp_path / 'folder' / 'sums.py'
    path.write_text("""
from dyn_nodes.common.loops import kernels_of

kernel = kernels_of(__file__, label='sums')


@kernel
def twice(x):
    return x + x


@kernel
def four_times(x):
    return twice(twice(x))
""")
    lines: list[str] = []
    for _ in range(2):
        with CompilationNotice(lines.append):
            assert runpy.run_path(str(path))['four_times'](1.5) == 6.0
        assert lines[0] == 'compiling sums, once, about 20 s'
        assert re.fullmatch(r'compiled in \d+ s', lines[1])
        assert len(lines) == 2


def test_outside_of_a_notice_compilation_prints_nothing(cache_root, capfd):
    with CompilationNotice(print):
        pass
    build_module('crane: rigid', ['first'], Maker())
    assert capfd.readouterr() == ('', '')


CALLING = """
import sys
sys.path.insert(0, sys.argv[1])
from parent.above.kernels import doubled

print(doubled(1.0), sum(doubled.stats.cache_hits.values()))
"""


def test_kernels_of_two_versions_of_numba_have_separate_directories(cache_root, monkeypatch):
    """In one directory, each version would replace the index of the other, and both compile again at every change."""
    monkeypatch.setattr(loops, 'kernel_directory', loops.kernel_directory.__wrapped__)
    package = Path(loops.__file__).parent
    first = loops.kernel_directory(package)
    monkeypatch.setattr(loops.numba, '__version__', '0.0.0')
    assert first.is_dir()
    assert loops.kernel_directory(package) != first


def test_a_kernel_that_calls_another_package_never_outlives_the_text_of_that_package(cache_root, tmp_path):
    below, above = tmp_path / 'parent' / 'below' / 'kernels.py', tmp_path / 'parent' / 'above' / 'kernels.py'
    for path in (below, above):
        path.parent.mkdir(parents=True)
    head = 'from dyn_nodes.common.loops import kernels_of\n'
    above.write_text(f"""{head}
from parent.below import kernels as below


@kernels_of(__file__, others=[below.__file__])
def doubled(x):
    return 2.0 * below.shifted(x)
""")
    result = []
    for shift in (1.0, 1.0, 2.0):
        below.write_text(f'{head}\n\n@kernels_of(__file__)\ndef shifted(x):\n    return x + {shift}\n')
        ran = subprocess.run(
            [sys.executable, '-B', '-c', CALLING, str(tmp_path)], capture_output=True, text=True, check=True
        )
        result.append(ran.stdout.split())
    assert result == [['4.0', '0'], ['4.0', '1'], ['6.0', '0']]
