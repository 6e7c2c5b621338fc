"""Writing rosbag2 directories that are complete at every moment, and summaries of bags.

`BagWriter` writes raw CDR messages to MCAP or SQLite; `bag_summary` summarizes a bag, finished or not. This package is
independent of the runtime.
"""

from __future__ import annotations

from roslite.bags.bag import BagError, BagWriter, Topic
from roslite.bags.info import BagSummary, TopicSummary, bag_summary
from roslite.bags.metadata import QosRecord

__all__ = ['BagError', 'BagSummary', 'BagWriter', 'QosRecord', 'Topic', 'TopicSummary', 'bag_summary']
