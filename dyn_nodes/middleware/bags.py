"""Bags, and the ordering of messages for them, see `roslite/bags`."""

from __future__ import annotations

from roslite.bags import BagError, BagWriter, QosRecord, Topic, bag_summary
from roslite.bags.metadata import INFINITE
from roslite.bags.ordering import HoldBack, simulated_time
from roslite.bags.screening import LATEST, unreadable

MIXED = 'machines_mixed'
"""Key of `custom_data`: topics on which a recorder has received data of two machines, with their publishers."""

__all__ = [
    'BagError',
    'BagWriter',
    'HoldBack',
    'INFINITE',
    'LATEST',
    'MIXED',
    'QosRecord',
    'Topic',
    'bag_summary',
    'simulated_time',
    'unreadable',
]
