"""The check-list of a release finds versions that differ and entries of the changelog that are too long."""

from __future__ import annotations

import re
import shutil

import pytest
from release_check import ROOT, Failed, changelog, package_version, versions

FILES = ('package.xml', 'CITATION.cff', 'CHANGELOG.rst', 'dyn_nodes/__init__.py', 'roslite/__init__.py')


@pytest.fixture
def copy(tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_places_have_the_version_of_the_package_manifest():
    assert versions() == package_version()
    assert re.fullmatch(r'\d+ lines for \d+\.\d+\.\d+', changelog())


@pytest.mark.parametrize('name', FILES)
def test_a_file_with_another_version_is_named(copy, name):
    text = (copy / name).read_text()
    (copy / name).write_text(text.replace(package_version(), '9.9.9', 1))
    with pytest.raises(Failed, match=r'expected version'):
        versions(copy)


def test_a_long_entry_of_the_changelog_is_rejected(copy):
    text = (copy / 'CHANGELOG.rst').read_text()
    (copy / 'CHANGELOG.rst').write_text(text.replace('* ', '* one more\n' * 31 + '* ', 1))
    with pytest.raises(Failed, match='at most 30 lines'):
        changelog(copy)
