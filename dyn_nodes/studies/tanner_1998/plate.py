"""Three RM-1 carry a plate of finite elements along a figure of eight; machines and object are simulated separately.

The robots of `config/teams/team_triangle.yaml` run in one plant each, as in the dynamics node. They hold the sheet of
that file, modelled as a stiffer, vibrating plate of finite elements. The controller is the team controller node's,
which models the plate as three rods. The plants compute the ground reactions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import Gains, TeamLaw
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.cosimulation.held_object import Grip, HeldHand, HeldObject
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.tanner_1998.robot import FRICTION
from dyn_nodes.teams import Team, load_team
from dyn_nodes.teams.carry_limits import Reserve
from dyn_nodes.teams.carry_plan import CarryPlan, Course, carriage_of
from dyn_nodes.teams.deformable.skin import skin_of
from dyn_nodes.teams.holding import Holder, holders_of

TEAM, PLATE = 'team_triangle', 'triangle'
PERIOD, STEP = 0.005, 5e-4
"""Periods of the exchange between robots and plate and of the integration, s."""
BEARING = np.pi
"""Initial direction of the path from the axis of the plate, rad."""
SQUEEZE = 5.0
STIFFER, VIBRATIONS = 100.0, 3
"""Young's modulus over the sheet's, which would sag by a quarter of its side; number of vibration modes."""
DRAWN = 20
"""Number of periods between two evaluations of the stress."""
FAST = 5.0
"""Inactive limit of speed, m/s, and of joint rates, rad/s."""
ROUGH = Reserve(friction=20.0)
"""Reserve without friction limit: only efforts and lifting wheels bound the speed."""
BEGINNING = 2.5
"""Duration of the run without friction limit, s."""


class Ride(NamedTuple):
    """A run.

    Attributes:
        deviation: greatest distance of a hand from its reference, m.
        use: (t,) greatest friction utilization of a wheel, of all robots.
        load: (t,) least normal force of a wheel, N.
        strain: greatest stress of von Mises in the plate over Young's modulus.
        duration: of the whole path, s.
    """

    deviation: float
    use: Array
    load: Array
    strain: float
    duration: float


def team_with_plate() -> Team:
    """Return the team with its sheet replaced by a plate of finite elements."""
    team = load_team(TEAM)
    held = team.objects[PLATE]
    material = replace(held.item.material, young_modulus=STIFFER * held.item.material.young_modulus)
    item = replace(held.item, material=material, vibrations=VIBRATIONS)
    return replace(team, objects={PLATE: replace(held, item=item, model='condensed')})


def plan_of(team: Team, holders: list[Holder], limited: bool) -> CarryPlan:
    """Return the plan of the figure of eight, within the friction of the wheels or without friction limit."""
    reserve = Reserve() if limited else ROUGH
    carriage = carriage_of(team, PLATE, holders, SQUEEZE, reserve, FAST, FAST)
    return carriage.along(Course('figure_of_eight', bearing=BEARING))


class PlantTeam:
    """Robots in plants, and the plate between their hands.

    Args:
        team: of robots that hold one object by ball grasps.
        holders: these robots.
    """

    def __init__(self, team: Team, holders: list[Holder]) -> None:
        self.holders = holders
        self.plants = [Plant(team.robots[holder.name].machine, 'effort', PERIOD, STEP, ()) for holder in holders]
        machine = self.plants[0].machine
        grips = [Grip(grasp.nodes, grasp.arms) for grasp in team.grasps_on(PLATE)]
        gravity = np.array(gravity_vector(machine.gravity, machine.slope))
        self.plate = HeldObject(team.objects[PLATE].item.reduced, gravity, grips=grips)
        self._indices = [
            [plant.joints.index(name) for name in holder.joints] for plant, holder in zip(self.plants, holders)
        ]
        self.plate.start(self.hands())

    def hands(self) -> list[HeldHand]:
        """Return the hands under the current efforts."""
        hands = []
        for plant, holder in zip(self.plants, self.holders):
            state = plant.hands.state(holder.hand)
            hands.append(HeldHand(state.position, state.velocity, *plant.hands.mobility(holder.hand)))
        return hands

    def advance(self, law: TeamLaw, plan: CarryPlan, time: float) -> float:
        """Advance by a period from a time, s; return the greatest deviation of a hand from its reference, m."""
        reference = plan.at(time)
        seen = [plant.hands.state(holder.hand) for plant, holder in zip(self.plants, self.holders)]
        states = [
            holder.state(hand.position, hand.rotation, plant.positions[indices], plant.velocities[indices])
            for holder, hand, plant, indices in zip(self.holders, seen, self.plants, self._indices)
        ]
        for plant, indices, efforts in zip(self.plants, self._indices, law.efforts(reference, states)):
            whole = np.zeros(len(plant.joints))
            whole[indices] = efforts
            plant.set_efforts(whole)
        for plant, holder, wrench in zip(self.plants, self.holders, self.plate.advance(self.hands(), PERIOD)):
            plant.hands.set_wrench(holder.hand, wrench)
        for plant in self.plants:
            plant.advance()
        positions = np.array([hand.position for hand in seen])
        return float(np.linalg.norm(positions - reference.hands.position, axis=1).max())

    def wheels(self) -> tuple[float, float]:
        """Return the greatest friction utilization of a wheel and the least normal force, N."""
        forces = np.array([
            plant.constraints.ground_reaction(wheel)[2]
            for plant in self.plants if plant.constraints is not None for wheel in plant.constraints.wheels
        ])  # fmt: skip
        use = np.hypot(forces[:, 0], forces[:, 1]) / (FRICTION * np.maximum(forces[:, 2], 1e-9))
        return float(use.max()), float(forces[:, 2].min())


def ride(limited: bool) -> Ride:
    """Return a run along the whole path, or along its first part if friction does not bound the speed."""
    team = team_with_plate()
    holders = holders_of(team, PLATE, FRICTION)
    plan = plan_of(team, holders, limited)
    law = TeamLaw(plan.plan.formation, Gains(), np.array([holder.ability.efforts for holder in holders]))
    carriers = PlantTeam(team, holders)
    item = team.objects[PLATE].item
    skin = skin_of(item)
    deviation, strain, wheels = 0.0, 0.0, []
    for k in range(int(np.ceil((plan.ends if limited else BEGINNING) / PERIOD))):
        deviation = max(deviation, carriers.advance(law, plan, k * PERIOD))
        wheels.append(carriers.wheels())
        if k % DRAWN == 0:
            _, stress = skin.at(carriers.plate.position, carriers.plate.amplitudes, carriers.plate.gravity)
            strain = max(strain, float(stress.max()) / item.material.young_modulus)
    use, load = np.transpose(wheels)
    return Ride(deviation, use, load, strain, plan.profile.duration)


@study(
    'tanner-1998/carry-plate', 'Three RM-1 carry a plate of finite elements along a figure of eight within the friction'
)
def carry_plate(s: StudyRun) -> None:
    """Check a whole figure of eight within the limits, and its first part without the friction limit."""
    whole, unlimited = s.map(ride, [True, False], 'eight')
    s.holds('no wheel slips: all forces of least norm are within the friction', 'C20, C22', whole.use.max() < 1.0,
            value=float(whole.use.max()))  # fmt: skip
    s.holds('no wheel lifts: least normal force, N', 'C21', whole.load.min() > 0.0, value=float(whole.load.min()))
    s.near('greatest deviation of a hand, m', 'control', 0.0, whole.deviation, absolute=2e-3)
    s.holds("the plate's strains are small: greatest stress over Young's modulus", 'C15', 0.0 < whole.strain < 1e-3,
            expected='below 1e-3', value=whole.strain)  # fmt: skip
    slips = unlimited.use > 1.0
    s.holds('without the limit of the friction a wheel slips', 'C22', bool(slips.any()),
            value=float(unlimited.use.max()))  # fmt: skip
    s.holds('the limit costs time', 'control', whole.duration > unlimited.duration, expected=unlimited.duration,
            value=whole.duration)  # fmt: skip
    s.note(f'{whole.duration:.2f} s within the friction of the wheels, {unlimited.duration:.2f} s without its limit')
    s.note(f'without the limit wheels slip for {PERIOD * float(slips.sum()):.2f} s of {BEGINNING:g} s')
