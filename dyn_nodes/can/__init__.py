"""Conversion between signals of a machine's CAN bus and quantities in SI units: DBC, mapping, checks, frames. No ROS.

`cantools` reads the DBC. It is imported only to read a DBC, and installed with the extra `can`.
"""
