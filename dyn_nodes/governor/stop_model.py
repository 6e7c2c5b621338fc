"""How a machine comes to rest when its valves are led to neutral: joints, oil and suspension integrated ahead.

The model is that of the simulated plant, from the same text, but for the ground: friction holds the base, which has
three coordinates left, its height and two small angles, and springs may pull. A push below zero is a wheel that lifts.
Loads are split into those of the links and those of a kilogram of payload, in which they are linear.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.compile import build_module
from dyn_nodes.compile.elimination import eliminated_jacobian as jacobian
from dyn_nodes.compile.lanes import lane_count
from dyn_nodes.compile.module import lane_module
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.governor.drives import Drives, EffortDrives, OilDrives
from dyn_nodes.governor.records import (
    AXES,
    LEAST_PUSH,
    PAYLOAD,
    STEP,
    SURROUNDINGS,
    MachineCode,
    StateLayout,
    state_layout,
    support_layout,
)
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import hanging_joints
from dyn_nodes.multibody import TreeState, build_tree, inverse_dynamics
from dyn_nodes.multibody.dynamics import mass_matrix
from dyn_nodes.multibody.spatial import Expression, entries, solve_symmetric

BETWEEN = 0.55
"""Where between its ends a step takes oil and joints that push each other; at 0.5 nothing is damped by the method."""
STEP_TIME = 0.01
"""Step of the prediction, s."""
NEWTON, FARTHEST = 4, 0.7
"""Steps to where passive joints hang, and the longest of them, rad."""


def layout_of(machine: Machine, drives: Drives) -> StateLayout:
    """Return the layout of the state of a stop."""
    return state_layout(len(machine.movable_joints), len(drives.states), len(machine.supports))


class _Trace:
    """The expressions of a machine whose base rocks about two axes in the ground, and moves up and down."""

    def __init__(self, machine: Machine, drives: Drives) -> None:
        self.machine, self.drives = machine, drives
        tree = build_tree(machine)
        n = tree.nv - 6
        self.q, self.v, self.a = (ca.SX.sym(name, n) for name in ('q', 'v', 'a'))
        self.surroundings, self.rock, self.push = (
            ca.SX.sym('known', SURROUNDINGS),
            ca.SX.sym('rock', 3),
            ca.SX.sym('push', 3),
        )
        self.shake = ca.SX.sym('shake', 6)
        self.felt, self.payload = self.surroundings[:PAYLOAD], ca.SX.sym('payload')
        self.ahead, self.left, normal, foot = (self.surroundings[k : k + 3] for k in range(AXES, STEP, 3))
        zero = ca.SX(3, 1)
        axes = (ca.vertcat(zero, normal), *(ca.vertcat(axis, ca.cross(foot, axis)) for axis in (self.ahead, self.left)))
        self.motions = ca.horzcat(*axes)
        still = ca.vertcat(zero, ca.SX([0, 0, 0, 1]))
        position, rate = ca.vertcat(still, self.q), ca.vertcat(ca.mtimes(self.motions, self.rock), self.v)
        self.state = TreeState(tree, position, rate, self.payload)
        names, commands = drives.states, drives.commands
        self.oil, self.volts = ca.SX.sym('oil', len(names)), ca.SX.sym('volts', len(commands))
        self.passive = [own for own in joint_elements(machine) if not own.states]
        constants = {name: ca.SX(value) for own in self.passive for name, value in own.parameters.items()}
        constants |= {name: ca.SX(value) for name, value in drives.parameters.items()}
        constants['joint_stop_scale'] = ca.SX(1)
        self.symbols = {
            **constants,
            **{name: self.oil[k] for k, name in enumerate(names)},
            **{name: self.volts[k] for k, name in enumerate(commands)},
        }

    def moved(self) -> tuple[Expression, Expression, Expression]:
        """Mean accelerations (3 + n,) of base and joints over a step, mean rates of the oil, and what is done (6,).

        Linearly implicit: stops, dampers and what else holds a joint by itself at the end of the step, oil between its
        ends (`BETWEEN`), pressures by what they lose alone at the end.
        """
        size, step = self.state.tree.nv, self.surroundings[STEP]
        basis = ca.diagcat(self.motions, ca.SX.eye(size - 6))
        bias = inverse_dynamics(self.state, ca.SX(size, 1), -self.felt)
        effort = (self.drives.within(self) + self._joints())[6:]
        flow = self.drives.rates(self)
        lasting = 1.0 / (1.0 + step * ca.fmax(-ca.diag(jacobian(flow, self.oil)), 0.0))
        pushed = jacobian(effort, self.oil)
        swept = ca.mtimes(ca.diag(lasting), jacobian(flow, self.v))
        stiff, damped = (ca.fmax(-ca.diag(jacobian(effort, own)), 0.0) for own in (self.q, self.v))
        locked = -((BETWEEN * step) ** 2) * ca.diag(ca.mtimes(pushed, swept))
        matrix = ca.mtimes([basis.T, mass_matrix(self.state), basis])
        implicit = matrix + ca.diagcat(ca.SX(3, 3), ca.diag(step * (damped + step * stiff) + locked))
        effort = effort + BETWEEN * step * ca.mtimes(pushed, lasting * flow) - step * stiff * self.v
        force = ca.vertcat(self.push, effort + self.drives.beyond(self)[6:]) - ca.mtimes(basis.T, bias)
        order = list(reversed(range(size - 3)))
        rates = solve_symmetric(implicit[order, order], force[order])[order]
        oil = lasting * flow + BETWEEN * step * ca.mtimes(swept, rates[3:])
        return rates, oil, self._loads(ca.mtimes(basis, rates))

    def _loads(self, motion: Expression) -> Expression:
        """What links and a kilogram of payload do to the ground (6,) at accelerations (6 + n,) of base and joints.

        At those of `moved` all of it is what the springs push, so that the payload alone is to be known.
        """
        some = ca.SX.sym('motion', motion.shape[0])
        load = -ca.mtimes(self.motions.T, inverse_dynamics(self.state, some, -self.felt)[:6])
        kilogram = ca.substitute(ca.jacobian(load, self.payload), some, motion)
        return ca.vertcat(-self.push - self.payload * kilogram, kilogram)

    def stride(self) -> tuple[list[Expression], list[Expression], list[Expression]]:
        """Return inputs and outputs of `stride`, then the outputs of `standing`, whose inputs are some of these.

        Inputs are state, outputs of the levers, surroundings and support (`records`). Outputs of `stride` are the state
        after a step, with the least shares up to its start, and (2,) the least share now and the fastest joint.
        """
        rates, oil, split = self.moved()
        n, w = self.q.shape[0], len(self.machine.supports)
        lean, time = ca.SX.sym('lean', 3), ca.SX.sym('time')
        at = support_layout(w)
        low, when, stand = ca.SX.sym('low', w), ca.SX.sym('when', w), ca.SX.sym('stand', at.size)
        aside, back, stiffness, damping, squeeze = (stand[k * w : (k + 1) * w] for k in range(5))
        shares = ca.reshape(stand[at.shares : at.errors], 3, w).T
        errors, mean_push, offset = stand[at.errors : at.mean_push], stand[at.mean_push], stand[at.offset :]
        rows = ca.horzcat(ca.SX.ones(w), aside, back)
        push = stiffness * (squeeze - ca.mtimes(rows, lean)) - damping * ca.mtimes(rows, self.rock)
        # the base turns, and with it gravity in its axes
        axis = lean[1] * self.ahead + lean[2] * self.left
        here = ca.vertcat(self.felt - ca.cross(axis, self.felt), self.surroundings[PAYLOAD:])
        pushed = ca.fmax(push, self.surroundings[LEAST_PUSH])
        found = ca.substitute(ca.vertcat(rates, oil, split), self.push, ca.mtimes(rows.T, pushed))
        found = ca.substitute(found, self.surroundings, here)
        rates, oil, split = found[: 3 + n], found[3 + n : -6], found[-6:]
        margin = (push - _unsure(errors, shares, split) - offset) / mean_push
        kept = margin >= low
        step = self.surroundings[STEP]
        v, turn = self.v + step * rates[3:], self.rock + step * rates[:3]
        after = ca.vertcat(
            self.q + step * v,
            v,
            self.oil + step * oil,
            turn,
            lean + step * turn,
            ca.if_else(kept, low, margin),
            ca.if_else(kept, when, time),
            time + step,
        )
        state = ca.vertcat(self.q, self.v, self.oil, self.rock, lean, low, when, time)
        seen = ca.vertcat(_least(margin), ca.mmax(ca.fabs(self.v)))
        standing = self._rest(shares, errors, mean_push, offset)
        return [state, self.volts, self.surroundings, stand], [after, seen], [standing]

    def _rest(self, shares: Expression, errors: Expression, mean_push: Expression, offset: Expression) -> Expression:
        """Return least shares (w,) where the machine comes to rest at the joints of a state."""
        split = self.standing()
        carried = ca.mtimes(shares, split[:3] + self.surroundings[PAYLOAD] * split[3:])
        return (carried - _unsure(errors, shares, split) - offset) / mean_push

    def _joints(self) -> Expression:
        return sum(
            (own.generalized_force(self.state, self.symbols) for own in self.passive), ca.SX(self.state.tree.nv, 1)
        )

    def _split(self, wrench: Expression) -> Expression:
        """Return what the links do, and a kilogram of payload."""
        share = ca.jacobian(wrench, self.payload)
        return ca.vertcat(wrench - self.payload * share, share)

    def standing(self) -> Expression:
        """What links and a kilogram of payload do to the ground (6,), at rest, with what hangs hanging plumb."""
        load = -ca.mtimes(self.motions.T, self._at_rest()[:6])
        return ca.substitute(self._split(load), self.q, self._hanging())

    def _at_rest(self) -> Expression:
        """Forces (6 + n,) on base and joints at rest, from gravity."""
        moving = ca.vertcat(self.v, self.rock)
        forces = inverse_dynamics(self.state, ca.SX(self.state.tree.nv, 1), -self.felt)
        return ca.substitute(forces, moving, ca.SX.zeros(moving.shape[0]))

    def _hanging(self) -> Expression:
        """Positions (n,) of the joints where passive ones have come to rest below the others: Newton steps."""
        names = [joint.name for joint in self.machine.movable_joints]
        places = [names.index(name) for name in hanging_joints(self.machine)]
        if not places:
            return self.q
        hung, q = entries(self.q, places), ca.SX(self.q)
        torque = entries(self._at_rest()[6:], places)
        slope = ca.jacobian(torque, hung)
        step = solve_symmetric(slope, torque)
        for _ in range(NEWTON):
            moved = ca.fmin(ca.fmax(ca.substitute(step, self.q, q), -FARTHEST), FARTHEST)
            for k, place in enumerate(places):
                q[place] -= moved[k]
        return q

    def place(self, joint: str) -> int:
        """Return the place of a joint among all."""
        return self.state.tree.velocity_index(joint) - 6

    def moving(self, rates: Expression) -> Expression:
        """Efforts (n,) at which the joints have these accelerations (n,), the base at rest."""
        forces = inverse_dynamics(self.state, ca.vertcat(ca.SX(6, 1), rates), -self.felt)[6:]
        return ca.substitute(forces, self.rock, ca.SX.zeros(3))

    def shown(self) -> Expression:
        """What joints and base that accelerate as they do show of the drives."""
        motion = ca.vertcat(self.shake[:3], ca.SX(3, 1), self.a)
        needed = inverse_dynamics(self.state, motion, -self.shake[3:]) - self._joints()
        return self.drives.of_motion(self, needed[6:])


def _unsure(errors: Expression, shares: Expression, split: Expression) -> Expression:
    """Return what springs may carry less than known, N, by what links and a kilogram of payload do (6,) to them."""
    links, kilogram = ca.mtimes(shares, split[:3]), ca.mtimes(shares, split[3:])
    return errors[0] * ca.fabs(links) + ca.fmax(errors[1] * kilogram, -errors[2] * kilogram)


def _least(values: Expression) -> Expression:
    """Return the least of values."""
    least = values[0]
    for k in range(1, values.shape[0]):
        least = ca.fmin(least, values[k])
    return least


class StopModel:
    """Compiled model of a machine that comes to rest.

    Args:
        machine: on wheels, its joints moved by these drives alone.
        drives: of its joints; hydraulic actuators, where none are given.

    Attributes:
        layout: of the state of a stop.
        kernels: compiled functions; of efforts, `efforts` and `inertia` too.
        code: addresses of the machine code that predictions call. Vector kernels have 4, 8 and so on up to the lanes of
            this computer. What needs few lanes takes few: a narrow kernel is done sooner than a wide one. All give the
            same bits; two lanes would not, for which LLVM makes other instructions.
    """

    def __init__(self, machine: Machine, drives: Drives | None = None) -> None:
        self.machine, self.drives = machine, drives or OilDrives(machine, STEP_TIME)
        self.layout = layout_of(machine, self.drives)
        key = [machine_fingerprint(machine), type(self.drives).__name__]
        self.kernels = build_module(f'{machine.name}: stops', key, self._functions)
        widths = [2**k for k in range(2, lane_count().bit_length() + 1)]
        self._wide = [lane_module(self.kernels, ('stride',), lanes, single=True) for lanes in widths]
        self.code = MachineCode(
            np.array(widths),
            np.array([module.code('stride') for module in self._wide]),
            *(self.kernels.code(name) for name in ('stride', 'standing', 'start')),
        )

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        own = _Trace(self.machine, self.drives)
        base = ca.vec(mass_matrix(own.state)[:6, :6])
        before, after, rest = own.stride()
        state, _, surroundings, stand = before
        begin = [own.q, own.v, own.a, surroundings, own.rock, own.shake]

        def outputs(*expressions: Expression) -> list[Expression]:
            return [ca.densify(ca.substitute(found, own.payload, surroundings[PAYLOAD])) for found in expressions]

        functions = {
            'stride': ca.Function('stride', before, outputs(*after)),
            'start': ca.Function('start', begin, outputs(own.shown(), base, self.drives.levers(own))),
            'standing': ca.Function('standing', [state, surroundings, stand], outputs(*rest)),
        }
        if isinstance(self.drives, EffortDrives):
            moved = outputs(self.drives.moving(own, own.a))
            functions['efforts'] = ca.Function('efforts', [own.q, own.v, own.a, surroundings], moved)
            places = [6 + place for place in self.drives.places.tolist()]
            inertia = outputs(ca.vec(mass_matrix(own.state)[places, places]))
            functions['inertia'] = ca.Function('inertia', [own.q, surroundings], inertia)
        return functions, {}
