"""RM-1 robots that carry a bar or a triangle along a path within the friction of their wheels (C20 to C23)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import Formation, Gains, HoldingRobot, PathPlan, Profile, TeamLaw
from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.control.platform_path import Path
from dyn_nodes.multibody import Frame
from dyn_nodes.stability import AdmissibleReactions
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.robot import FRICTION, HEIGHT, MOUNT
from dyn_nodes.studies.tanner_1998.team import POSTURE, REACH
from dyn_nodes.studies.tanner_1998.team_run import Hold, Instant, TeamRun, TeamState, TeamTrace
from dyn_nodes.studies.tanner_1998.vehicle import ARM, rm_1
from dyn_nodes.teams.carry_limits import Ability, Reserve, reactions
from dyn_nodes.teams.deformable.lattice import Lattice

ACTUATED = ('left', 'right', *ARM)
MOST = np.array([12.0, 12.0, 40.0, 60.0, 30.0])
"""Effort limits of wheels and joints, N m."""
GRIP = np.array([1.0, 1.0, 0.0])
"""Factor of the friction coefficient of each wheel; the caster carries no horizontal force."""
PERIOD = 0.01
GAINS = Gains()
ABILITY = Ability(MOST, np.full(len(MOST), np.inf), FRICTION * GRIP)
HEADING = 2.0
"""Direction of the initial offset of a team from its path, rad."""
HAND_HEIGHT = float(tabulated('tanner-1998/6.2/energy')[1][2]) + HEIGHT


EFFORTS_ALONE = Reserve(friction=20.0, lift=-1e4)
"""Reserve without wheel limits: only efforts bound the speed."""


@cache
def holding_rm_1(arm: float = 1.0) -> HoldingRobot:
    """Return RM-1 with its hand and its arm mount as carrier; `arm`: factor of the arm masses."""
    robot = rm_1(arm)
    carrier = Frame(robot.blocks.tree.body('roll'), np.eye(3), MOUNT)
    posture = robot.position((0.0, 0.0, 0.0, *POSTURE))
    return HoldingRobot(robot.blocks, ACTUATED, robot.hand, carrier, posture)


def team_around(load: Lattice, squeeze: float = 0.0) -> Formation:
    """Return RM-1 robots around an object, each in the posture of the source with its arm pointing at its node."""
    return Formation.around([holding_rm_1()] * len(load.nodes), load, REACH - MOUNT[0], HAND_HEIGHT, squeeze)


def starts(formation: Formation, path: Path, parameter: float) -> list[Array]:
    """Return the positions (nq,) of the robots at the start of a path; each heads along its carrier's velocity."""
    hands, carriers = formation.spread(path([parameter]))
    positions = []
    for hand, carrier, rate in zip(hands.position[0], carriers.position[0], carriers.rate[0]):
        yaw = float(np.arctan2(rate[1], rate[0]))
        bearing = float(np.arctan2(hand[1] - carrier[1], hand[0] - carrier[0])) - yaw
        x, y = carrier - MOUNT[0] * np.array([np.cos(yaw), np.sin(yaw)])
        positions.append(rm_1().position((x, y, yaw, bearing, *POSTURE[1:])))
    return positions


def abilities(formation: Formation) -> list[Ability]:
    """Return the effort and friction limits of a team's robots on the source's ground."""
    return [ABILITY] * len(formation.robots)


@dataclass(frozen=True)
class Reality:
    """Deviations of the simulated team from its controller's model.

    Attributes:
        load: factor of the object's mass, stiffness and damping.
        arm: factor of the arms' masses.
        friction: coefficient of the ground.
        offset: of the whole team from the start of its path, m.
        delay: of the measured states, in periods.
        holding: forces at which the hands slip off, N; empty: no slip.
    """

    load: float = 1.0
    arm: float = 1.0
    friction: float = FRICTION
    offset: float = 0.0
    delay: int = 0
    holding: tuple[float, ...] = ()


class Carried(NamedTuple):
    """Verdict on a run.

    Attributes:
        trace: the run.
        deviation: (t, m) of the hands from their references, m.
        reactions: of every robot at the samples.
        lasted: time of the first sample without admissible reactions, s; otherwise the end time.
        kept: the same for the split of least norm.
        why: wheel that slips or lifts at the end of `kept`; '' if none does.
    """

    trace: TeamTrace
    deviation: Array
    reactions: list[AdmissibleReactions]
    lasted: float
    kept: float
    why: str

    @property
    def robust(self) -> bool:
        """True if the split of least norm is admissible at all samples."""
        return all(bool(reaction.robust.all()) for reaction in self.reactions)

    @property
    def margin(self) -> float:
        """Least margin of all robots, N."""
        return float(min(reaction.margin.min() for reaction in self.reactions))

    @property
    def use(self) -> float:
        """Greatest friction utilization of the split of least norm."""
        return float(max(reaction.friction_use.max() for reaction in self.reactions))


def heavier(load: Lattice, factor: float) -> Lattice:
    """Return an object with its masses, stiffness and damping multiplied by a factor."""
    return load._replace(
        stiffness=factor * load.stiffness, damping=factor * load.damping, rod_mass=factor * load.rod_mass,
        node_mass=factor * load.node_mass,
    )  # fmt: skip


def run_team(
    plan: PathPlan, profile: Profile, reality: Reality = Reality(), gains: Gains = GAINS, seconds: float = np.inf
) -> TeamTrace:
    """Return a run of a team along its plan."""
    formation = plan.formation
    law = TeamLaw(formation, gains, MOST)
    robots = [holding_rm_1(reality.arm)] * len(formation.robots)
    holding = reality.holding or (np.inf,) * len(robots)
    holds = [Hold(f'robot_{k}', force) for k, force in enumerate(holding)]
    team = TeamRun(robots, heavier(formation.load, reality.load), holds)
    seen: list[TeamState] = []

    def control(time: float, state: TeamState) -> list[Array]:
        seen.append(state)
        measured = seen[max(0, len(seen) - 1 - reality.delay)]
        free = [not holds for holds in state.held]
        return law.efforts(plan.at(*profile.at(time)), measured.robots, free)

    back = reality.offset * np.array([np.cos(HEADING), np.sin(HEADING)])
    first = [RobotState(_shifted(way.q[0], back), np.zeros(len(ACTUATED))) for way in plan.ways]
    count = int(np.ceil((min(seconds, profile.duration)) / PERIOD))
    return team.run(team.start(first), control, PERIOD, count)


def _shifted(q: Array, by: Array) -> Array:
    moved = np.array(q)
    names = rm_1().blocks.tree.position_names
    moved[[names.index('x'), names.index('y')]] += by
    return moved


def judged(plan: PathPlan, profile: Profile, trace: TeamTrace, reality: Reality = Reality()) -> Carried:
    """Return the ground reactions along a run and the deviations of the hands from their references."""
    times = np.array([instant.time for instant in trace.instants])
    wanted = np.array([plan.at(*profile.at(float(t))).hands.position for t in times])
    robots = plan.formation.robots
    hands = np.array([[robot.motions(state.q)[0][:3] for robot, state in zip(robots, instant.state.robots)]
                      for instant in trace.instants])  # fmt: skip
    reactions_by_robot = [
        _reactions_of(holding_rm_1(reality.arm), k, trace.instants, reality.friction) for k in range(hands.shape[1])
    ]
    possible = np.all([reaction.possible for reaction in reactions_by_robot], axis=0)
    robust = np.all([reaction.robust for reaction in reactions_by_robot], axis=0)
    lasted, kept = (
        float(times[-1] if admissible.all() else times[np.argmin(admissible)]) for admissible in (possible, robust)
    )
    why = '' if robust.all() else _blamed(reactions_by_robot, int(np.argmin(robust)))
    return Carried(trace, np.linalg.norm(hands - wanted, axis=2), reactions_by_robot, lasted, kept, why)


def _reactions_of(robot: HoldingRobot, k: int, instants: Sequence[Instant], friction: float) -> AdmissibleReactions:
    grounds = [robot.ground(*instant.state.robots[k], instant.changes[k], -instant.forces[k]) for instant in instants]
    return reactions(grounds, np.array([robot.tractions(instant.efforts[k]) for instant in instants]), friction * GRIP)


def _blamed(reactions_by_robot: Sequence[AdmissibleReactions], instant: int) -> str:
    for k, reaction in enumerate(reactions_by_robot):
        if not reaction.robust[instant]:
            wheel = int(reaction.tightest[instant])
            lifted = reaction.split[instant, :, 2].min() < 0.0
            name = ('left', 'right', 'caster')[int(reaction.split[instant, :, 2].argmin()) if lifted else wheel]
            return f'robot {k}: wheel {name} {"lifts" if lifted else "slips"}'
    return ''
