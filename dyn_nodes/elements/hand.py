"""Hands: wrench of a held object on a point of a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from dyn_nodes.model.hand import Hand
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, PointForce, Symbols
from dyn_nodes.multibody.spatial import Expression, dot
from dyn_nodes.multibody.tree import Frame, Tree

WRENCH = ('force_x', 'force_y', 'force_z', 'torque_x', 'torque_y', 'torque_z')


def wrench_names(hand: str) -> tuple[str, ...]:
    """Return the names of the parameters of a hand: force, N, and torque, N m, in the axes of the world."""
    return tuple(f'{hand}/{part}' for part in WRENCH)


def hand_frame(tree: Tree, hand: Hand) -> Frame:
    """Return the frame of a hand in its body: the point, and the axes of its link."""
    link = tree.frame(hand.link)
    return Frame(link.body, link.R, link.p + link.R @ hand.point)


class HeldWrench(ForceElement):
    """Wrench of a held object on the machine.

    It is a set of parameters, constant over an exchange period, and enters the motion, the efforts that hold the
    machine, and the reactions at its joints and on the ground.

    Args:
        hand: hand of the machine.
    """

    def __init__(self, hand: Hand) -> None:
        self.hand = hand

    @property
    def name(self) -> str:
        """Return the name of the hand."""
        return self.hand.name

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return force and torque; zero for an empty hand."""
        return dict.fromkeys(wrench_names(self.name), 0.0)

    def _wrench(self, symbols: Symbols) -> tuple[Expression, Expression]:
        parts = [symbols[name] for name in wrench_names(self.name)]
        return ca.vertcat(*parts[:3]), ca.vertcat(*parts[3:])

    def point_forces(self, state: TreeState, symbols: Symbols) -> Sequence[PointForce]:
        """Return force and torque at the hand; empty on a fixed link."""
        frame = hand_frame(state.tree, self.hand)
        if frame.body < 0:
            return ()
        return [PointForce(frame.body, state.frame_pose(frame).p, *self._wrench(symbols))]

    def supplied_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of the wrench on the machine, W."""
        force, torque = self._wrench(symbols)
        motion = state.frame_velocity(hand_frame(state.tree, self.hand))
        return dot(force, motion.v) + dot(torque, motion.w)


def held_wrenches(machine: Machine) -> tuple[HeldWrench, ...]:
    """Return the elements of the hands of a machine."""
    return tuple(HeldWrench(hand) for hand in machine.grasps)
