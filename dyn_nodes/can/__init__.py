"""Signals of a machine's CAN bus as quantities in SI units, and back: DBC, mapping, checks, frames. Knows no ROS.

`cantools` reads the DBC; it is imported where a DBC is read, and comes with the extra `can`.
"""
