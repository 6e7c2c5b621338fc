"""Fixtures of the tests of arms on motors."""

from __future__ import annotations

import pytest
from reacher import advance_of, reacher


@pytest.fixture(scope='session')
def reacher_machine(tmp_path_factory):
    return reacher(tmp_path_factory.mktemp('reacher'))


@pytest.fixture(scope='session')
def advance(reacher_machine):
    return advance_of(reacher_machine)
