"""Fixtures of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from domains import next_domain

from dyn_nodes.middleware import Context, init


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Yield a context in a separate domain."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(next_domain()))
    made = Context()
    init(args=['viewer'], context=made)
    yield made
    made.try_shutdown()
