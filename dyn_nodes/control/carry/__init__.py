"""Robots that carry one object together: paths, references, speed along the path, forces.

robots = [HoldingRobot(blocks, actuated, hand, carrier)] * 2
formation = Formation.around(robots, load, reach, height)
plan = planned(formation, figure_of_eight(2.0, 2.0), np.linspace(0.0, 2.0 * np.pi, 300), starts)
profile = fastest_within(plan, abilities)            # slow enough for the grip of the wheels along the whole path
law = TeamLaw(formation, gains)
law.efforts(plan.at(*profile.at(t)), states)
"""

from __future__ import annotations

from dyn_nodes.control.carry.formation import Formation
from dyn_nodes.control.carry.law import Gains, TeamLaw
from dyn_nodes.control.carry.pace import Halfplanes, Profile, braked, fastest
from dyn_nodes.control.carry.paths import between, figure_of_eight, moved, straight
from dyn_nodes.control.carry.plan import PathPlan, Reference, planned
from dyn_nodes.control.carry.robot import HoldingRobot, RobotNumbers

__all__ = [
    'Formation',
    'Gains',
    'Halfplanes',
    'HoldingRobot',
    'PathPlan',
    'Profile',
    'Reference',
    'RobotNumbers',
    'TeamLaw',
    'between',
    'braked',
    'fastest',
    'figure_of_eight',
    'moved',
    'planned',
    'straight',
]
