"""Browser view of a machine: three-dimensional scene, margins, levers. Depends on viser, not on ROS or the dynamics.

Import from the modules: only `scene`, `panel`, `camera` and `cockpit` need `viser`.
"""
