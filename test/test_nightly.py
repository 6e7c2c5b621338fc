"""The nightly tests run in an order drawn by a seed, and their page lists the failures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Simple

import nightly
import pytest
import scheduling

REPORT = """<testsuites><testsuite time="90.0">
<testcase classname="test.can.test_a" name="test_b[x|y]" time="80.0"/>
<testcase classname="test.can.test_a" name="test_c" time="1.0"><failure message="assert 1 == 2&#10;more"/></testcase>
<testcase classname="test.can.test_a" name="test_d" time="1.0"><error message="no file"/></testcase>
<testcase classname="test.can.test_a" name="test_e" time="0.0"><skipped message="no browser"/></testcase>
</testsuite></testsuites>"""


def items():
    return [Simple(path=Path(f'test_{file}.py'), name=f'test_{k}') for file in 'abcd' for k in range(5)]


def names(seed):
    tests = items()
    scheduling.shuffle(tests, seed)
    return [(item.path.name, item.name) for item in tests]


def test_the_order_is_determined_by_the_seed_and_has_every_test_once():
    plain = [(item.path.name, item.name) for item in items()]
    assert names(1) == names(1) != names(2)
    assert sorted(names(1)) == plain != names(1)
    backwards = items()[::-1]
    scheduling.shuffle(backwards, 1)
    assert [item.path.name for item in backwards] == [file for file, _ in names(1)]


def test_the_tests_of_a_file_stay_together():
    files = [file for file, _ in names(3)]
    assert [file for k, file in enumerate(files) if k == 0 or files[k - 1] != file] == list(dict.fromkeys(files))


def test_the_page_counts_and_names_what_failed(tmp_path):
    (tmp_path / 'report.xml').write_text(REPORT)
    text, passed = nightly.page(tmp_path / 'report.xml', 'python test/nightly.py --seed 1')
    assert not passed
    lines = text.splitlines()
    assert 'Written by `python test/nightly.py --seed 1`: 1 error, 1 failure, 1 passed, 1 skipped in 2 minutes' in text
    assert '| test/can/test\\_a.py::test\\_c | assert 1 == 2 |' in lines
    assert '| test/can/test\\_a.py::test\\_d | no file |' in lines
    assert '| test/can/test\\_a.py::test\\_b\\[x\\|y] | 80 |' in lines


def test_the_page_reports_no_failures_and_a_run_without_tests_has_not_passed(tmp_path):
    (tmp_path / 'report.xml').write_text('<testsuite time="1"><testcase classname="a" name="b"/></testsuite>')
    text, passed = nightly.page(tmp_path / 'report.xml', 'x')
    assert passed
    assert 'None failed.' in text
    (tmp_path / 'report.xml').write_text('<testsuite time="1"></testsuite>')
    assert not nightly.page(tmp_path / 'report.xml', 'x')[1]


@pytest.mark.parametrize('passes', [True, False])
def test_the_command_runs_the_tests_by_its_seed_and_writes_the_page(tmp_path, monkeypatch, passes):
    arguments = []

    def run(words, report):
        arguments.extend(words)
        report.write_text('<testsuite time="1"><testcase classname="a" name="b"/></testsuite>' if passes else REPORT)

    monkeypatch.setattr(nightly, 'run', run)
    out = tmp_path / 'nightly.md'
    assert nightly.main(['--seed', '7', '--out', str(out), 'test/can']) == (0 if passes else 1)
    assert {'--shuffle=7', '--hypothesis-seed=7', 'test/can'} <= set(arguments)
    assert 'Written by `python test/nightly.py --seed 7 test/can`' in out.read_text()
