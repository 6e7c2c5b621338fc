"""Deformable objects: elastic, viscously damped bodies that robots hold at grasps (tanner-1998, chapters 3 and 4).

A `Mesh` of tetrahedra or bricks and a `Material` make `FiniteElements`; `condensed` reduces them to the motion of the
grasps. `Lattice` is the coarse model: rods between the grasps.
"""
