"""Machines defined in Python, and the algorithms evaluated on them without compilation."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from dyn_nodes.model.machine import Base, InitialState, Joint, Link, Machine, frozen_array
from dyn_nodes.multibody import TreeState, build_tree, forward_dynamics, inverse_dynamics, mass_matrix
from dyn_nodes.multibody.virtual_links import insert_virtual_links, virtual_joint_forces, virtual_names

ORIGIN = (0.0, 0.0, 0.0)


def link(name, mass=0.0, com=ORIGIN, inertia=(0.0, 0.0, 0.0)):
    tensor = np.diag(inertia) if np.ndim(inertia) == 1 else inertia
    return Link(name, mass, frozen_array(com, (3,)), frozen_array(tensor, (3, 3)))


def joint(name, kind, parent, child, axis=(0.0, 0.0, 1.0), position=ORIGIN, rotation=None):
    origin = np.eye(4)
    origin[:3, 3] = position
    if rotation is not None:
        origin[:3, :3] = rotation
    return Joint(name, kind, parent, child, frozen_array(origin, (4, 4)), frozen_array(axis, (3,)))


def machine(links, joints, attachment='fixed', name='small'):
    return Machine(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        base=Base(links[0].name, attachment),
        wheels=(),
        actuators=(),
        payload=None,
        initial=InitialState(),
        gravity=9.81,
        slope=(0.0, 0.0),
        overturn_angle=1.3,
        urdf='',
        sources=(),
    )


class Traced:
    """Algorithms of a machine, evaluated by the expression graph."""

    def __init__(self, of, base='quaternion', payload=0.0):
        self.tree = build_tree(of, base)
        self.nq, self.nv = self.tree.nq, self.tree.nv
        self.position_names, self.velocity_names = self.tree.position_names, self.tree.velocity_names
        self.q, self.v = ca.SX.sym('q', self.nq), ca.SX.sym('v', self.nv)
        self.a, self.g = ca.SX.sym('a', self.nv), ca.SX.sym('g', 3)
        self.state = TreeState(self.tree, self.q, self.v, payload)
        state, inputs = self.state, [self.q, self.v, self.a, self.g]
        self._inverse = ca.Function('inverse', inputs, [inverse_dynamics(state, self.a, self.g)])
        self._forward = ca.Function('forward', inputs, [forward_dynamics(state, self.a, self.g)])
        self._mass = ca.Function('mass', [self.q], [mass_matrix(state)])
        self._links = {}

    def inverse_dynamics(self, q, v, a, gravity=(0.0, 0.0, -9.81)):
        return np.array(self._inverse(q, v, a, gravity)).ravel()

    def forward_dynamics(self, q, v, tau, gravity=(0.0, 0.0, -9.81)):
        return np.array(self._forward(q, v, tau, gravity)).ravel()

    def mass_matrix(self, q):
        return np.array(self._mass(q))

    def link(self, name, q, v):
        """Return rotation (3, 3), position (3,), Jacobian (6, nv) and its rate times v (6,), of a link in the world."""
        if name not in self._links:
            frame = self.tree.frame(name)
            pose, state = self.state.frame_pose(frame), self.state
            outputs = [pose.R, pose.p, state.jacobian(frame), state.jacobian_rate_times_velocity(frame)]
            self._links[name] = ca.Function('link', [self.q, self.v], outputs)
        R, p, J, rate = (np.array(part) for part in self._links[name](q, v))
        return R, p.ravel(), J, rate.ravel()


@lru_cache
def traced(of):
    """Return the algorithms of a machine, traced once."""
    return Traced(of)


def reaction(of, name, links, side, q, v, a, gravity=(0.0, 0.0, -9.81)):
    """Return forces (m,) along virtual links at a joint, for the plain machine's q, v and a."""
    return np.array(reaction_function(of, name, tuple(links), side)(q, v, a, gravity)).ravel()


@lru_cache
def reaction_function(of, name, links, side):
    plain, tree = traced(of), build_tree(insert_virtual_links(of, name, links, side))

    def full(names, available, values):
        return ca.vertcat(*(values[available.index(key)] if key in available else ca.SX(0) for key in names))

    state = TreeState(
        tree,
        full(tree.position_names, plain.position_names, plain.q),
        full(tree.velocity_names, plain.velocity_names, plain.v),
    )
    rates = full(tree.velocity_names, plain.velocity_names, plain.a)
    forces = virtual_joint_forces(state, rates, plain.g, virtual_names(name, len(links)))
    return ca.Function('reaction', [plain.q, plain.v, plain.a, plain.g], [forces])
