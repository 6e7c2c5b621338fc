"""Bags: rosbag2 directories that are complete at every moment, and what is in them.

`BagWriter` writes raw CDR messages to MCAP or SQLite; `bag_summary` reads what a bag holds, finished or not. Nothing in
this room knows the middleware.
"""

from __future__ import annotations

from dyn_nodes.recording.bag import BagError, BagWriter, Topic
from dyn_nodes.recording.info import BagSummary, TopicSummary, bag_summary
from dyn_nodes.recording.metadata import QosRecord

__all__ = ['BagError', 'BagSummary', 'BagWriter', 'QosRecord', 'Topic', 'TopicSummary', 'bag_summary']
