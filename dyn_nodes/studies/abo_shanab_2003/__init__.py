"""Experiments E1 to E15 of abo-shanab-2003 (tip-over of a hydraulic log-loader)."""
