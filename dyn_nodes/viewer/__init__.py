"""The browser view: a machine in three dimensions, its margins, its levers. Knows viser; knows no ROS and no physics.

Import from the modules: `viser` itself is needed only by `scene`, `panel`, `camera` and `cockpit`.
"""
