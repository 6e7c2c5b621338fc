"""Model of a machine that comes to rest when its valves are led to neutral: joints, oil and suspension.

The model is built from the same text as the simulated plant, except for the ground: friction holds the base, which has
three coordinates left, its height and two small angles, and springs may pull. A push below zero is a wheel that lifts.
Loads are split into a part of the links and a part per kilogram of payload, in which they are linear.

The springs of a pivoted axle also push on its joint. Where the axle turns about its pivot, its wheels stay where they
are on the ground and the base is displaced by `sway`: so the friction of the wheels, shared in proportion to their
loads, acts on the pivot.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.compile import build_module
from dyn_nodes.compile.elimination import eliminated_jacobian as jacobian
from dyn_nodes.compile.lanes import lane_count
from dyn_nodes.compile.module import lane_module
from dyn_nodes.constraints.linkages import Linkages
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.governor.drives import Drives, EffortDrives, OilDrives
from dyn_nodes.governor.records import (
    AXES,
    HEFT,
    IMPLICIT,
    LEAST_COUNTED,
    LEAST_PUSH,
    ORIGIN,
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
from dyn_nodes.stability.equilibrium.standing import gives_way

BETWEEN = 0.55
"""Implicitness of a step for oil and joints that push each other, and for a base that rocks
fast, from 0 at its start to 1 at its end; at 0.5 the method adds no damping."""
STEP_TIME = 0.01
"""Step of the prediction, s."""
NEWTON, FARTHEST = 4, 0.7
"""Number of Newton steps to the rest positions of passive joints, and the greatest step, rad."""


def layout_of(machine: Machine, drives: Drives) -> StateLayout:
    """Return the layout of the state of a stop."""
    return state_layout(len(machine.movable_joints), len(drives.states), len(machine.supports))


def pivots_of(machine: Machine) -> list[int]:
    """Return the indices of the joints between base and supports that give way, among the movable ones."""
    names = [joint.name for joint in machine.movable_joints]
    return [names.index(name) for name in gives_way(machine)]


class _Trace:
    """The expressions of a machine whose base rocks about two axes in the ground, and moves up and down."""

    def __init__(self, machine: Machine, drives: Drives) -> None:
        self.machine, self.drives = machine, drives
        tree = build_tree(machine)
        n = tree.nv - 6
        self.q, self.v, self.a = (ca.SX.sym(name, n) for name in ('q', 'v', 'a'))
        self.linkages = Linkages(machine, drives.joints, self.q, self.v) if machine.constraints else None
        self.pivots = pivots_of(machine)
        self.moved_rows = [0, 1, 2, *(3 + index for index in self.pivots)]
        count = len(self.moved_rows)
        self.surroundings, self.rock, self.push = (
            ca.SX.sym('surroundings', SURROUNDINGS),
            ca.SX.sym('rock', 3),
            ca.SX.sym('push', count),
        )
        self.support = ca.SX.sym('support', support_layout(len(machine.supports), len(self.pivots)).size)
        self.shake, self.soft = ca.SX.sym('shake', 6), ca.SX.sym('soft', count, count)
        self.specific_force, self.payload = self.surroundings[:PAYLOAD], ca.SX.sym('payload')
        self.heft = self.surroundings[HEFT]
        self.ahead, self.left, normal, foot = (self.surroundings[k : k + 3] for k in range(AXES, STEP, 3))
        zero = ca.SX(3, 1)
        axes = (ca.vertcat(zero, normal), *(ca.vertcat(axis, ca.cross(foot, axis)) for axis in (self.ahead, self.left)))
        self.motions = ca.horzcat(*axes)
        self.basis = ca.diagcat(self.motions, ca.SX.eye(n))
        if self.pivots:
            self.basis[:6, self.moved_rows[3:]] = self._sway(foot, normal)
        still = ca.vertcat(zero, ca.SX([0, 0, 0, 1]))
        position, rate = ca.vertcat(still, self.q), ca.vertcat(ca.mtimes(self.motions, self.rock), self.v)
        self.state = TreeState(tree, position, rate, self.payload)
        names, commands = drives.states, drives.commands
        self.oil, self.volts = ca.SX.sym('oil', len(names)), ca.SX.sym('volts', len(commands))
        self.passive = [element for element in joint_elements(machine) if not element.states]
        constants = {name: ca.SX(value) for element in self.passive for name, value in element.parameters.items()}
        constants |= {name: ca.SX(value) for name, value in drives.parameters.items()}
        constants['joint_stop_scale'] = ca.SX(1)
        self.symbols = {
            **constants,
            **{name: self.oil[k] for k, name in enumerate(names)},
            **{name: self.volts[k] for k, name in enumerate(commands)},
        }

    def moved(self) -> tuple[Expression, ...]:
        """Return accelerations (3 + n,) of base and joints in a step, rates of the oil, and loads (2 r,) on the ground.

        Links of `heft` times their mass with a payload m move under forces as the links of the model with m / heft move
        under forces over heft; the loads belong to the links of the model and to a kilogram.

        Accelerations and rates are means over the step. Linearly implicit: joint limits, dampers and other forces of a
        single joint at the end of the step, oil and, if the base rocks fast, its springs between the ends (`BETWEEN`),
        the decay of each oil state alone at the end. `soft` (r, r) is the decrease of the push of the springs by the
        accelerations.
        """
        size, step, basis = self.state.tree.nv, self.surroundings[STEP], self.basis
        bias = inverse_dynamics(self.state, ca.SX(size, 1), -self.specific_force)
        effort = (self.drives.within(self) + self._joints())[6:] / self.heft
        flow = self.drives.rates(self)
        lasting = 1.0 / (1.0 + step * ca.fmax(-ca.diag(jacobian(flow, self.oil)), 0.0))
        pushed = jacobian(effort, self.oil)
        swept = ca.mtimes(ca.diag(lasting), jacobian(flow, self.v))
        stiff, damped = (ca.fmax(-ca.diag(jacobian(effort, variable)), 0.0) for variable in (self.q, self.v))
        locked = -((BETWEEN * step) ** 2) * ca.diag(ca.mtimes(pushed, swept))
        matrix = ca.mtimes([basis.T, mass_matrix(self.state), basis])
        implicit = matrix + ca.diagcat(ca.SX(3, 3), ca.diag(step * (damped + step * stiff) + locked))
        implicit[self.moved_rows, self.moved_rows] += self.soft / self.heft
        alone = self.drives.bounded(self.oil + step * lasting * flow) - self.oil
        effort = effort + BETWEEN * ca.mtimes(pushed, alone) - step * stiff * self.v
        push = self.push / self.heft
        force = ca.vertcat(ca.SX(3, 1), effort + self.drives.beyond(self)[6:] / self.heft)
        force[self.moved_rows] += push
        force -= ca.mtimes(basis.T, bias)
        rates = self._solved(implicit, force)
        oil = lasting * flow + BETWEEN * step * ca.mtimes(swept, rates[3:])
        push = self.push - ca.mtimes(self.soft, rates[self.moved_rows])
        return self._closed(rates, oil, self._loads(ca.mtimes(basis, rates), push))

    def _sway(self, foot: Expression, normal: Expression) -> Expression:
        """Return the motions (6, g) of the base by turns of the pivots, from `Support.sway`."""
        at, zero = support_layout(len(self.machine.supports), len(self.pivots)), ca.SX(3, 1)
        held = ca.horzcat(
            ca.vertcat(zero, self.ahead), ca.vertcat(zero, self.left), ca.vertcat(normal, ca.cross(foot, normal))
        )
        return ca.mtimes(held, ca.reshape(self.support[at.sway : at.slants], len(self.pivots), 3).T)

    def on_pivots(self) -> list[Expression]:
        """Return `Support.pivot_rows`, the displacement of each contact ahead and to the left, and `Support.slants`.

        These are (w g,), (2 w g,) and (2 g g,), by unit turns of the pivots on a base at rest.
        """
        tree, q, normal = self.state.tree, self.q[self.pivots], self.surroundings[AXES + 6 : ORIGIN]
        rows, contacts, slants = [], [], []
        for support in self.machine.supports:
            frame = tree.frame(support.link)
            pose = self.state.poses[frame.body]
            point = pose.point(ca.SX(frame.p + frame.R @ support.position))
            down = ca.mtimes(pose.R.T, (ca.dot(normal, self.surroundings[ORIGIN:STEP] - point)) * normal)
            local = ca.mtimes(pose.R.T, point - pose.p) + down
            fixed = ca.SX.sym('fixed', 3)
            moved = ca.substitute(ca.jacobian(pose.point(fixed), q), fixed, local)
            rows.append(ca.mtimes(normal.T, moved))
            contacts += [ca.mtimes(axis.T, moved) for axis in (self.ahead, self.left)]
        bodies = [tree.body(self.machine.movable_joints[index].name) for index in self.pivots]
        axes = [ca.mtimes(self.state.poses[body].R, ca.SX(tree.bodies[body].axis)) for body in bodies]
        for body in bodies:
            above = self.state.supports(body)
            slants += [
                ca.horzcat(*(ca.dot(axis, turn) if other in above else 0.0 for other, axis in zip(bodies, axes)))
                for turn in (self.ahead, self.left)
            ]
        return [ca.vec(ca.vertcat(*part).T) for part in (rows, contacts, slants)]

    def _solved(self, implicit: Expression, force: Expression) -> Expression:
        """Return the accelerations (3 + n,) of base and joints under forces (3 + n,), with closed linkages."""
        if self.linkages is None:
            return _solve(implicit, force)
        join = ca.diagcat(ca.SX.eye(3), self.linkages.complement)
        alone = ca.vertcat(ca.SX(3, 1), self.linkages.particular)
        reduced = ca.mtimes([join.T, implicit, join])
        rates = _solve(reduced, ca.mtimes(join.T, force - ca.mtimes(implicit, alone)))
        return ca.densify(alone + ca.mtimes(join, rates))

    def _closed(self, *results: Expression) -> tuple[Expression, ...]:
        """Return results at joint velocities and accelerations that follow from the independent ones."""
        if self.linkages is None:
            return results
        v, a = self.linkages.closed(self.v), self.linkages.closed(self.a) + self.linkages.particular
        a = ca.substitute(a, self.v, v)
        return tuple(ca.substitute(list(results), [self.v, self.a], [v, a]))

    def _loads(self, motion: Expression, push: Expression) -> Expression:
        """Return the loads (2 r,) on the ground of links and of a kilogram of payload at accelerations (6 + n,).

        At the accelerations of `moved` the sum equals the push (r,) of the springs, so that only the payload's part is
        computed.
        """
        some = ca.SX.sym('motion', motion.shape[0])
        load = -self._on_supports(inverse_dynamics(self.state, some, -self.specific_force))
        kilogram = ca.substitute(ca.jacobian(load, self.payload), some, motion)
        return ca.vertcat(-push / self.heft - self.payload * kilogram, kilogram)

    def stride(self) -> tuple[list[Expression], list[Expression], list[Expression]]:
        """Return inputs and outputs of `stride`, then the outputs of `standing`, whose inputs are a subset.

        Inputs are state, outputs of the levers, surroundings and support (`records`). Outputs of `stride` are the state
        after a step, with the least shares up to its start, and (2,) the least present share and the speed of the
        fastest joint. For the outputs of `standing` see `_rest`.
        """
        rates, oil, split = self.moved()
        n, w = self.q.shape[0], len(self.machine.supports)
        lean, time = ca.SX.sym('lean', 3), ca.SX.sym('time')
        g, r = len(self.pivots), len(self.moved_rows)
        at = support_layout(w, g)
        low, when, support = ca.SX.sym('low', w), ca.SX.sym('when', w), self.support
        aside, back, stiffness, damping, squeeze = (support[k * w : (k + 1) * w] for k in range(5))
        shares = ca.reshape(support[at.shares : at.bounds], r, w).T
        bounds, mean_push = support[at.bounds : at.mean_push], support[at.mean_push]
        offset = support[at.offset : at.edges]
        edges = ca.reshape(support[at.edges : at.rated], w, w).T
        rows = ca.horzcat(ca.SX.ones(w), aside, back, ca.reshape(support[at.pivot_rows : at.pivot_start], g, w).T)
        turned = ca.vertcat(lean, self.q[self.pivots] - support[at.pivot_start : at.sway])
        turning = ca.vertcat(self.rock, self.v[self.pivots])
        push = stiffness * (squeeze - ca.mtimes(rows, turned)) - damping * ca.mtimes(rows, turning)
        # the base turns, and with it gravity in its axes
        axis = lean[1] * self.ahead + lean[2] * self.left
        here = ca.vertcat(self.specific_force - ca.cross(axis, self.specific_force), self.surroundings[PAYLOAD:])
        later, is_implicit = BETWEEN * self.surroundings[STEP], self.surroundings[IMPLICIT]
        carries = is_implicit * (push >= self.surroundings[LEAST_PUSH])
        pushed = ca.fmax(push - carries * later * stiffness * ca.mtimes(rows, turning), self.surroundings[LEAST_PUSH])
        soft = ca.mtimes([rows.T, ca.diag(carries * later * (later * stiffness + damping)), rows])
        results = ca.substitute(ca.vertcat(rates, oil, split), self.surroundings, here)
        symbols = ca.vertcat(self.push, ca.vec(self.soft))
        results = ca.substitute(results, symbols, ca.vertcat(ca.mtimes(rows.T, pushed), ca.vec(soft)))
        rates, oil, split = results[: 3 + n], results[3 + n : -2 * r], results[-2 * r :]
        counted = _counted(edges, push, self.surroundings[LEAST_COUNTED])
        margin = (counted - self._unsure(bounds, shares, split) - offset) / mean_push
        step, (q, v) = self.surroundings[STEP], (self.q, self.v)
        if self.linkages is not None:
            q, v = q - self.linkages.gap, self.linkages.closed(v)
            margin = ca.if_else(self.linkages.soundness > 0.0, margin, -ca.inf)
        kept = margin >= low
        v, turn = v + step * rates[3:], self.rock + step * rates[:3]
        q = q + step * v
        for index in self.pivots:  # implicit on the springs, like the base
            q[index] -= (step - later) * step * rates[3 + index]
        after = ca.vertcat(
            q,
            v,
            self.drives.bounded(self.oil + step * oil),
            turn,
            lean + step * (self.rock + ca.if_else(is_implicit, later, step) * rates[:3]),
            ca.if_else(kept, low, margin),
            ca.if_else(kept, when, time),
            time + step,
        )
        state = ca.vertcat(self.q, self.v, self.oil, self.rock, lean, low, when, time)
        seen = ca.vertcat(_least(margin), ca.mmax(ca.fabs(self.v)))
        standing = self._rest(shares, bounds, mean_push, offset, support[at.rated], support[at.allowance])
        return [state, self.volts, self.surroundings, support], [after, seen], [standing]

    def _rest(
        self,
        shares: Expression,
        bounds: Expression,
        mean_push: Expression,
        offset: Expression,
        rated: Expression,
        allowance: Expression,
    ) -> Expression:
        """Return least shares (w,) at rest at the joints of a state, then those with the rated payload.

        The latter belong to the links of the model, and include the allowance; inf without a rated payload.
        """
        split, r = self.standing(), len(self.moved_rows)
        carried = ca.mtimes(shares, self.heft * split[:r] + self.surroundings[PAYLOAD] * split[r:])
        left = ca.mtimes(shares, split[:r] + rated * split[r:]) / mean_push + allowance
        limited = ca.if_else(rated >= 0.0, left, ca.inf)
        return ca.vertcat((carried - self._unsure(bounds, shares, split) - offset) / mean_push, limited)

    def _unsure(self, bounds: Expression, shares: Expression, split: Expression) -> Expression:
        """Return by how much loads `split` (2 r,) of other masses within `bounds` (4,) push each spring less, N."""
        r = len(self.moved_rows)
        links, kilogram = ca.mtimes(shares, split[:r]), ca.mtimes(shares, split[r:])
        less, more = self.heft - bounds[0], self.heft - bounds[1]
        lighter, heavier = self.surroundings[PAYLOAD] - bounds[2], self.surroundings[PAYLOAD] - bounds[3]
        return ca.fmax(less * links, more * links) + ca.fmax(lighter * kilogram, heavier * kilogram)

    def _joints(self) -> Expression:
        return sum(
            (element.generalized_force(self.state, self.symbols) for element in self.passive),
            ca.SX(self.state.tree.nv, 1),
        )

    def _on_supports(self, forces: Expression) -> Expression:
        """Return the parts (r,) of forces (6 + n,) on base and joints that the springs balance."""
        return ca.mtimes(self.basis[:, self.moved_rows].T, forces)

    def _split(self, wrench: Expression) -> Expression:
        """Return the parts of a wrench from the links and from a kilogram of payload."""
        share = ca.jacobian(wrench, self.payload)
        return ca.vertcat(wrench - self.payload * share, share)

    def standing(self) -> Expression:
        """Return the loads (2 r,) on the ground of links and a kilogram of payload at rest, passive joints hanging."""
        load = -self._on_supports(self._at_rest())
        loads = ca.substitute(self._split(load), self.q, self._hanging())
        return loads if self.linkages is None else ca.substitute(loads, self.q, self.q - self.linkages.gap)

    def _at_rest(self) -> Expression:
        """Return the gravity forces (6 + n,) on base and joints at rest."""
        moving = ca.vertcat(self.v, self.rock)
        forces = inverse_dynamics(self.state, ca.SX(self.state.tree.nv, 1), -self.specific_force)
        return ca.substitute(forces, moving, ca.SX.zeros(moving.shape[0]))

    def _hanging(self) -> Expression:
        """Return the positions (n,) of the joints with passive ones at rest, by Newton steps."""
        names = [joint.name for joint in self.machine.movable_joints]
        indices = [names.index(name) for name in hanging_joints(self.machine)]
        if self.linkages is not None:
            indices = [index for index in indices if index in self.linkages.independent]
        if not indices:
            return self.q
        hung, q = entries(self.q, indices), ca.SX(self.q)
        torque = entries(self._at_rest()[6:], indices)
        slope = ca.jacobian(torque, hung)
        step = solve_symmetric(slope, torque)
        for _ in range(NEWTON):
            moved = ca.fmin(ca.fmax(ca.substitute(step, self.q, q), -FARTHEST), FARTHEST)
            for k, index in enumerate(indices):
                q[index] -= moved[k]
        return q

    def index(self, joint: str) -> int:
        """Return the index of a joint among all."""
        return self.state.tree.velocity_index(joint) - 6

    def moving(self, rates: Expression) -> Expression:
        """Return the efforts (n,) at which the joints have these accelerations (n,), the base at rest."""
        forces = inverse_dynamics(self.state, ca.vertcat(ca.SX(6, 1), rates), -self.specific_force)[6:]
        return ca.substitute(forces, self.rock, ca.SX.zeros(3))

    def shown(self) -> tuple[Expression, ...]:
        """Return results of the accelerations of joints and base.

        These are the numbers of the drives that follow from them, and the loads (2 r,) of the links of the
        model and of a kilogram of payload.
        """
        motion = ca.vertcat(self.shake[:3], ca.SX(3, 1), self.a)
        forces = inverse_dynamics(self.state, motion, -self.shake[3:])
        needed = (self.heft * forces - self._joints())[6:]
        needed = needed if self.linkages is None else self.linkages.summed(needed)
        loads = self._split(-self._on_supports(forces))
        return self._closed(self.drives.of_motion(self, needed), loads)


def _counted(edges: Expression, push: Expression, least: Expression) -> Expression:
    """Return the weighted pushes (w,) of the shares, without pushes below `least`, 0 or -inf.

    With 0 a share in which no spring pushes is the one of its nearest spring to the ground, below 0: a share of 0 for
    all of them would not show whether a motion raises the machine further.
    """
    w, sums = push.shape[0], ca.mtimes(edges, ca.fmax(push, least))
    nearest = []
    for e in range(w):
        pulls = [ca.if_else(edges[e, i] > 0.0, edges[e, i] * push[i], -ca.inf) for i in range(w)]
        nearest.append(-_least(-ca.vertcat(*pulls)))
    return sums + ca.if_else(least >= 0.0, ca.fmin(ca.vertcat(*nearest), 0.0), 0.0)


def _solve(matrix: Expression, right: Expression) -> Expression:
    """Solve for base and joints, the last joint first: its inertia meets the fewest others."""
    order = list(reversed(range(matrix.shape[0])))
    return solve_symmetric(matrix[order, order], right[order])[order]


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
        drives: of its joints; hydraulic actuators by default.

    Attributes:
        layout: of the state of a stop.
        pivots: (g,) indices of the joints between base and supports that give way.
        kernels: compiled functions; for efforts also `efforts` and `inertia`.
        code: addresses of the machine code that predictions call. Vector kernels have 4, 8 and so on up to the lanes of
            this computer. A kernel with fewer lanes finishes sooner and is used if few are needed. All give the same
            bits; two lanes would not, because LLVM generates other instructions for them.
    """

    def __init__(self, machine: Machine, drives: Drives | None = None) -> None:
        self.machine, self.drives = machine, drives or OilDrives(machine, STEP_TIME)
        self.layout = layout_of(machine, self.drives)
        self.pivots = np.array(pivots_of(machine), dtype=np.intp)
        key = [machine_fingerprint(machine), type(self.drives).__name__]
        self.kernels = build_module(f'{machine.name}: stops', key, self._functions)
        widths = [2**k for k in range(2, lane_count().bit_length() + 1)]
        self._wide = [lane_module(self.kernels, ('stride',), lanes, single=True) for lanes in widths]
        addresses = [self.kernels.code(name) for name in ('stride', 'standing', 'start')]
        addresses.append(self.kernels.code('pivots') if len(self.pivots) else 0)
        self.code = MachineCode(
            np.array(widths),
            np.array([module.code('stride') for module in self._wide]),
            *addresses,
        )

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        trace = _Trace(self.machine, self.drives)
        base = trace.heft * ca.vec(mass_matrix(trace.state)[:6, :6])
        shown, loads = trace.shown()
        before, after, rest = trace.stride()
        state, _, surroundings, support = before
        inputs = [trace.q, trace.v, trace.a, surroundings, support, trace.rock, trace.shake]

        def outputs(*expressions: Expression) -> list[Expression]:
            return [
                ca.densify(ca.substitute(expression, trace.payload, surroundings[PAYLOAD] / surroundings[HEFT]))
                for expression in expressions
            ]

        functions = {
            'stride': ca.Function('stride', before, outputs(*after)),
            'start': ca.Function('start', inputs, outputs(shown, base, self.drives.levers(trace), loads)),
            'standing': ca.Function('standing', [state, surroundings, support], outputs(*rest)),
        }
        if trace.pivots:
            functions['pivots'] = ca.Function('pivots', [trace.q, surroundings], outputs(*trace.on_pivots()))
        if isinstance(self.drives, EffortDrives):
            moved = outputs(self.drives.moving(trace, trace.a))
            functions['efforts'] = ca.Function('efforts', [trace.q, trace.v, trace.a, surroundings], moved)
            indices = [6 + index for index in self.drives.indices.tolist()]
            inertia = outputs(ca.vec(mass_matrix(trace.state)[indices, indices]))
            functions['inertia'] = ca.Function('inertia', [trace.q, surroundings], inertia)
        return functions, {}
