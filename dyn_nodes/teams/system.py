"""A team as one exact model for simulation.

    team = load_team('team_bar')
    system = TeamSystem(team)
    run = system.run(system.start, np.linspace(0.0, 1.0, 101), Inputs.constant({'left/arm_joint_2/effort': 21.0}))
    run.output('bar/left/force_z')

Signals of a robot have its name as prefix: `left/arm_joint_2_rate`. Alternatively a team runs as one node per robot and
one for the object, coupled by topics; this model has no communication step between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.system import System
from dyn_nodes.teams.condensed_model import CondensedModel
from dyn_nodes.teams.dynamics import TeamDynamics
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.object_model import LatticeModel, ObjectModel
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.team import Team, TeamObject


class TeamSystem(System):
    """Robots and the objects that they hold.

    Args:
        team: of a file.
        released: names of grasps that are not held: their patches move freely.

    Attributes:
        dynamics: kernels, and the traced `equations`.

    Raises:
        MachineError: a robot whose constraints cannot be met.
        NoEquilibriumError: a robot on springs tips or slides.
        KeyError: a grasp that the team does not have.
    """

    def __init__(self, team: Team, released: Collection[str] = ()) -> None:
        unknown = sorted(set(released) - set(team.grasps))
        if unknown:
            raise KeyError(f'unknown grasp {unknown[0]!r}; known: {", ".join(team.grasps)}')
        held = [grasp for grasp in team.grasps.values() if grasp.name not in released]
        hands = {name: [grasp for grasp in held if grasp.robot == name] for name in team.robots}
        robots: list[RobotModel] = []
        numbers: dict[tuple[str, int], tuple[int, int]] = {}
        for k, (name, robot) in enumerate(team.robots.items()):
            points = [(grasp, j) for grasp in hands[name] for j in range(len(grasp.nodes))]
            numbers |= {(grasp.name, j): (k, number) for number, (grasp, j) in enumerate(points)}
            arms = [grasp.arms[j] for grasp, j in points]
            robots.append(RobotModel.of_machine(name, robot.machine, [grasp.hand for grasp, _ in points], arms))
        holdings = [_holding(team, item, numbers) for item in team.objects.values()]
        self._take(TeamDynamics(team.name, robots, holdings))

    @classmethod
    def of_models(cls, name: str, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> TeamSystem:
        """Return the system of robots and objects without a team file.

        Args:
            name: for messages and the cache.
            robots: with distinct names.
            holdings: objects, and the hands that hold their nodes.
        """
        system = cls.__new__(cls)
        system._take(TeamDynamics(name, robots, holdings))
        return system

    @property
    def start(self) -> Array:
        """(n,) state at the start."""
        return np.array(self.dynamics.start)

    def robot_positions(self, x: Array, robot: str) -> Array:
        """Return the positions (nq,) of a robot at a state. Raises ValueError for an unknown robot."""
        return np.array(x[self.dynamics.equations.layout.q[self._number(robot)]])

    def _number(self, robot: str) -> int:
        return [model.name for model in self.dynamics.robots].index(robot)

    def nodes(self, x: Array, item: str) -> Array:
        """Return the positions (m, 3) of an object's nodes at a state, m."""
        positions: Array = self.dynamics.nodes(x, [holding.name for holding in self.dynamics.holdings].index(item))
        return positions


def energy_balance(run: SystemRun) -> Array:
    """Return (t,) change of energy plus heat less work of a team since the start, J: the error of the integrator."""
    total = run.output('kinetic_energy') + run.output('potential_energy') + run.state('heat') - run.state('work')
    return np.asarray(total - total[0])


def _holding(team: Team, item: TeamObject, numbers: dict[tuple[str, int], tuple[int, int]]) -> Holding:
    grasps = team.grasps_on(item.name)
    hands = tuple(numbers.get((grasp.name, j)) for grasp in grasps for j in range(len(grasp.nodes)))
    patches = item.patches
    free = [patches[k] for k, hand in enumerate(hands) if hand is None]
    names = tuple(grasp.name for grasp in item.item.grasps)
    held = tuple((grasp.patch, grasp.nodes) for grasp in grasps)
    return Holding(item.name, object_model(item), names, hands, np.array(free), held)


def object_model(item: TeamObject) -> ObjectModel:
    """Return the traced model of an object of a team."""
    return LatticeModel(item.item.lattice) if item.model == 'lattice' else CondensedModel(item.item.reduced)
