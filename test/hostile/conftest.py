"""The modules of the fault campaign, and a separate domain."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

DOMAIN = 1 + (os.getpid() + 20) % 100


@pytest.fixture(autouse=True)
def _separate_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
