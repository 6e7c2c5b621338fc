"""What the vehicle controller says of itself on /diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.nodes.diagnostics import WARN, Health
from dyn_nodes.nodes.follower import FollowerHealth

if TYPE_CHECKING:
    from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode

REMEMBERED = 1.0
"""Time for which slip and demands that were not followed are reported, s."""


class VehicleHealth(FollowerHealth):
    """Gathers the node's statuses.

    Attributes:
        infeasible: how often a demand began that the vehicle cannot follow.
    """

    silence = ('no command is due', 'no commands, the joints are left to who moves them')
    node: VehicleControllerNode

    def __init__(self, node: VehicleControllerNode) -> None:
        super().__init__(node)
        self.infeasible = 0
        self._refused: tuple[float, str] = (-np.inf, '')
        self._slip: tuple[float, str, float] = (-np.inf, '', 0.0)

    def sources(self) -> dict[str, Callable[[], Health]]:
        """Return the statuses by name."""
        return {'joint_states': self.joint_states, 'cmd_vel': self.cmd_vel, 'wheels': self.wheels}

    def restart(self) -> None:
        """Forget what was seen, but not the counts: time starts again."""
        self._refused, self._slip = (-np.inf, ''), (-np.inf, '', 0.0)

    def note(self) -> None:
        """Look at the present instant."""
        node = self.node
        refused = node.motion.refused
        if refused:
            if node.time - self._refused[0] > REMEMBERED:
                self.infeasible += 1
            self._refused = node.time, refused[0]
        slip = node.motion.odometry.slip
        most = int(np.argmax(slip))
        if slip[most] > node.values['slip_warning']:
            self._slip = node.time, node.motion.base.names[most], float(slip[most])

    def cmd_vel(self) -> Health:
        """What is wanted, and what of it is not followed."""
        node = self.node
        vx, vy, wz = node.wanted
        values = {
            'wanted': f'{vx:.3f} m/s, {vy:.3f} m/s, {wz:.3f} rad/s',
            'received': str(node.twists),
            'timeouts': str(node.timeouts),
            'infeasible demands': str(self.infeasible),
            'trajectories': str(node.trajectories),
            'sent': str(node.sent),
            **node.refusals.values(),
        }
        health = Health(text=node.state, values=values)
        since, what = self._refused
        if node.time - since < REMEMBERED:
            health.worse(WARN, f'not followed: {what}')
        if node.refusals.recent(node.now()):
            health.worse(WARN, f'refused: {node.refusals.last}')
        return health

    def wheels(self) -> Health:
        """Odometry and slip."""
        node = self.node
        odometry = node.motion.odometry
        x, y, yaw = odometry.pose
        dimensions = odometry.slip_dimensions()
        values = {
            'pose': f'{x:.3f} m, {y:.3f} m, {yaw:.4f} rad',
            'distance': f'{odometry.distance:.2f} m',
            'slip can be seen in': f'{dimensions} combinations of wheel speeds'
            if dimensions
            else 'none: no spare wheel',
            'at their effort limit': ', '.join(node.motion.servo.saturated) or 'none',
            **{f'slip of {name}': f'{slip:.4f} m/s' for name, slip in zip(node.motion.base.names, odometry.slip)},
        }
        health = Health(text='rolling' if dimensions else 'rolling; slip cannot be seen', values=values)
        since, name, slip = self._slip
        if node.time - since < REMEMBERED:
            health.worse(WARN, f'{name} slips by {slip:.3f} m/s')
        return health
