"""Messages of bags, see `roslite/bags/reading.py`."""

from __future__ import annotations

from roslite.bags.comparison import compare_bags
from roslite.bags.reading import WALL_CLOCK, BagReader

__all__ = ['BagReader', 'WALL_CLOCK', 'compare_bags']
