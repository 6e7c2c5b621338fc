"""Serial arms: A6 with six revolutes or with slides (spec 7.1, 7.2), and the wrist-partitioned arm A3 (spec 7.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody import Tree, TreeBuilder
from dyn_nodes.studies.freeman_1985.chains import LinkMass, SerialChain

QUARTER = np.pi / 2

A6_Q = np.array([0.3, -0.7, 1.1, 0.5, -0.9, 0.2])
A6_V = np.array([0.5, -0.4, 0.7, 0.3, -0.2, 0.9])
A6_A = np.array([1.0, 0.5, -0.8, 0.2, 0.6, -0.3])
A6_JERK = np.array([-0.5, 0.3, 0.2, 1.0, -1.0, 0.4])
A6_TOOL = (0.03, -0.02, 0.12)
A6_GRAVITY = (0.0, 0.0, -9.81)
A6_FORCE = (10.0, -5.0, 20.0)
A6_MOMENT = (0.5, -0.3, 0.8)
A3_Q = np.array([0.7, 0.4, -1.1])
A3_GRAVITY = (0.0, 0.0, -386.4)


def symmetric(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Array:
    """Return the symmetric matrix (3, 3) with these six entries."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


A6_MASSES: Mapping[int, LinkMass] = {
    1: LinkMass(8.0, (0.0, 0.02, -0.1), symmetric(0.3, 0.3, 0.15, 0.01, 0.0, 0.02)),
    2: LinkMass(15.0, (0.2, 0.01, 0.05), symmetric(0.1, 0.5, 0.55, -0.02, 0.03, 0.01)),
    3: LinkMass(5.0, (0.01, -0.05, 0.02), symmetric(0.09, 0.02, 0.09, 0.004, 0.002, -0.003)),
    4: LinkMass(1.0, (0.0, 0.01, -0.1), symmetric(0.004, 0.004, 0.002, 0.0003, 0.0, 0.0002)),
    5: LinkMass(0.4, (0.0, 0.02, 0.01), symmetric(0.0008, 0.0005, 0.0008, 0.0001, 0.00005, 0.0)),
    6: LinkMass(0.2, (0.005, 0.0, 0.03), symmetric(0.0002, 0.0002, 0.0001, 0.00002, 0.0, 0.00001)),
}


def arm_a6(kinds: str = 'RRRRRR') -> Tree:
    """Return the PUMA-like arm, frame `tool` at its tool point; variants with slides have the offsets of the spec."""
    lengths = (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0)
    twists = (-QUARTER, 0.0, QUARTER, -QUARTER, QUARTER, 0.0)
    offsets = (0.6604, 0.1501, 0.0, 0.4318, 0.0, 0.0565) if 'P' not in kinds else (0.66, 0.15, 0.30, 0.43, 0.0, 0.0565)
    builder = TreeBuilder()
    bodies = SerialChain(kinds, lengths, twists, offsets, (), A6_MASSES).add_to(builder)
    builder.add_frame('tool', bodies[-1], p=A6_TOOL)
    return builder.build()


def arm_a3() -> Tree:
    """Return the wrist-partitioned arm, inch, lbf, s; frame `wrist` at the end of its third link."""
    masses = {
        1: LinkMass(0.0, inertia=(0.5, 0.5, 0.4)),
        2: LinkMass(0.05, (5.0, 0.0, 0.0), (0.02, 0.42, 0.42)),
        3: LinkMass(0.03, (4.0, 0.0, 0.0), (0.01, 0.16, 0.16)),
    }
    builder = TreeBuilder()
    chain = SerialChain('RRR', (0.0, 10.0, 8.0), (QUARTER, 0.0, 0.0), (20.0, 0.0, 0.0), (), masses)
    builder.add_frame('wrist', chain.add_to(builder)[-1], p=(8.0, 0.0, 0.0))
    return builder.build()
