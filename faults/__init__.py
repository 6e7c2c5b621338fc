"""Fault campaign of dyn_nodes: damaged files, absurd messages, processes that die, a computer that fails.

`python -m faults` runs it and writes docs/verification/faults.md; `python -m faults.soak` runs the nodes for
hours and measures growth.
"""
