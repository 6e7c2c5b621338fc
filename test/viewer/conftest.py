"""Fixtures of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import CANVAS_SCALE
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


@pytest.fixture(scope='session', autouse=True)
def _lights_only() -> Iterator[None]:
    """Light pages by lamps alone: in software the environment map takes half of the time of a frame.

    Pictures of the documentation, which have `CANVAS_SCALE=1`, have it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if CANVAS_SCALE != '1':
            patch.setattr('viser.SceneApi.configure_environment_map', lambda *_, **__: None, raising=False)
        yield
