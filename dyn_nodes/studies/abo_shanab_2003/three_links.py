"""The three-link chain of section 3.3 as a machine, for virtual links by `joint_reaction`.

The chain moves in the x-z plane: z is up, and a positive angle turns a link from -z towards +x. The source's angles are
absolute, joint positions relative; its y is z here.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Base, InitialState, Joint, Link, Machine, frozen_array
from dyn_nodes.simulation import System, joint_reaction
from dyn_nodes.studies.abo_shanab_2003.dh_machines import GRAVITY
from dyn_nodes.studies.abo_shanab_2003.virtual_link_examples import ThreeLinkChain

CHAIN = ThreeLinkChain(
    (1.0, 0.8, 0.6), (0.5, 0.4, 0.3), (10.0, 8.0, 5.0), (10.0 / 12.0, 8.0 * 0.64 / 12.0, 5.0 * 0.36 / 12.0)
)
OPENED = 'joint_2'
"""The joint A between links 1 and 2."""


def machine_of(chain: ThreeLinkChain) -> Machine:
    """Return the chain as a machine of joints that turn about -y."""
    links, joints = [_link('ground', 0.0, 0.0, 0.0)], []
    for k in range(3):
        links.append(_link(f'link_{k + 1}', chain.mass[k], chain.com[k], chain.inertia[k]))
        origin = np.eye(4)
        origin[2, 3] = -chain.length[k - 1] if k else 0.0
        joints.append(
            Joint(
                f'joint_{k + 1}',
                'continuous',
                links[k].name,
                links[k + 1].name,
                frozen_array(origin, (4, 4)),
                frozen_array((0, -1, 0), (3,)),
            )
        )
    return Machine(
        name='three_links',
        links=tuple(links),
        joints=tuple(joints),
        base=Base('ground', 'fixed'),
        wheels=(),
        actuators=(),
        payload=None,
        initial=InitialState(),
        gravity=GRAVITY,
        slope=(0.0, 0.0),
        overturn_angle=1.3,
        urdf='',
        sources=(),
    )


def _link(name: str, mass: float, com: float, inertia: float) -> Link:
    # a rod along z has no inertia about its axis
    tensor = np.diag([inertia, inertia, 0.0])
    return Link(name, mass, frozen_array((0, 0, -com), (3,)), frozen_array(tensor, (3, 3)))


@cache
def chain_system() -> System:
    """Return the compiled chain, driven by joint efforts."""
    return System(machine_of(CHAIN), 'effort')


def state_of(angles: ArrayLike, rates: ArrayLike) -> Array:
    """Return the state (8,) of absolute angles and rates, rad and rad/s, with zero work and heat."""
    return np.concatenate([np.diff(angles, prepend=0.0), np.diff(rates, prepend=0.0), np.zeros(2)])


def efforts_of(torques: ArrayLike) -> Array:
    """Return the joint efforts (3,) of torques conjugate to the absolute angles, N m."""
    return np.cumsum(np.asarray(torques, dtype=np.float64)[::-1])[::-1].copy()


def accelerations(angles: ArrayLike, rates: ArrayLike, torques: ArrayLike) -> Array:
    """Return the absolute angular accelerations (3,), rad/s2."""
    system = chain_system()
    y = system.outputs(state_of(angles, rates), efforts_of(torques), system.parameters())
    return np.cumsum([y[system.index('output', f'joint_{k + 1}_acceleration')] for k in range(3)])


def reaction(angles: ArrayLike, rates: ArrayLike, torques: ArrayLike) -> Array:
    """Return the force (2,) of link 1 on link 2 at A by virtual links, along x and up, N."""
    wrench = joint_reaction(chain_system(), state_of(angles, rates), OPENED, efforts_of(torques))
    return in_world(wrench.force, np.asarray(angles, dtype=np.float64)[1])


def in_world(force: Array, angle: ArrayLike) -> Array:
    """Return forces (..., 3) in the frame of a link at an absolute angle as (..., 2) along x and up."""
    sine, cosine = np.sin(angle), np.cos(angle)
    along, up = force[..., 0], force[..., 2]
    return np.stack([cosine * along - sine * up, sine * along + cosine * up], axis=-1)
