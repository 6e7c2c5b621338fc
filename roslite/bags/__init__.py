"""Bags: rosbag2 directories that are complete at every moment, and what is in them.

`BagWriter` writes raw CDR messages to MCAP or SQLite; `bag_summary` reads what a bag holds, finished or not. Nothing in
this package knows the runtime.
"""

from __future__ import annotations

from roslite.bags.bag import BagError, BagWriter, Topic
from roslite.bags.info import BagSummary, TopicSummary, bag_summary
from roslite.bags.metadata import QosRecord

__all__ = ['BagError', 'BagSummary', 'BagWriter', 'QosRecord', 'Topic', 'TopicSummary', 'bag_summary']
