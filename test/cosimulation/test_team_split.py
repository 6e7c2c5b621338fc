"""Robots and the object that they hold as separate simulations, against the team as one model.

`python test/cosimulation/test_team_split.py` prints the table of docs/teams.md.
"""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.cosimulation.held_object import HeldHand, HeldObject
from dyn_nodes.simulation import Inputs
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.teams import Team, load_team
from dyn_nodes.teams.system import TeamSystem

END = 0.3
PUSH = {'left/arm_joint_1': 6.0, 'left/arm_joint_2': 12.0, 'right/arm_joint_2': 9.0, 'right/left_drive': 3.0}
"""Efforts over those of rest, N m: the bar is lifted, turned and pulled."""


def split(team: Team, period: float) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return where the hands are at the end, and the efforts, by robot and by joint of a robot."""
    plants = {name: Plant(robot.machine, 'effort', period, 0.0005, ()) for name, robot in team.robots.items()}
    efforts = {}
    for name, plant in plants.items():
        pushed = {joint: PUSH.get(f'{name}/{joint}', 0.0) for joint in plant.actuated}
        plant.set_inputs({f'{joint}/effort': plant.u[k] + pushed[joint] for k, joint in enumerate(plant.actuated)})
        efforts |= {f'{name}/{joint}': float(plant.u[k]) for k, joint in enumerate(plant.actuated)}
    bar = HeldObject(team.objects['bar'].item.lattice, next(iter(plants.values())).p[:3])
    grasps = team.grasps_on('bar')

    def hands() -> list[HeldHand]:
        found = []
        for grasp in grasps:
            own = plants[grasp.robot].hands
            state = own.state(grasp.hand)
            found.append(HeldHand(state.position, state.velocity, *own.mobility(grasp.hand)))
        return found

    bar.begin(hands())
    for _ in range(round(END / period)):
        for grasp, force in zip(grasps, bar.advance(hands(), period)):
            plants[grasp.robot].hands.set_wrench(grasp.hand, np.concatenate([force, np.zeros(3)]))
        for plant in plants.values():
            plant.advance()
    return {grasp.robot: plants[grasp.robot].hands.state(grasp.hand).position for grasp in grasps}, efforts


def whole(team: Team, efforts: dict[str, float]) -> dict[str, np.ndarray]:
    """Return where the hands are at the end, of the team as one model."""
    system = TeamSystem(team)
    inputs = Inputs.constant({f'{name}/effort': value for name, value in efforts.items()})
    run = system.run(system.start, np.array([0.0, END]), inputs)
    nodes = system.nodes(run.states[-1], 'bar')
    return {grasp.robot: nodes[k] for k, grasp in enumerate(team.grasps_on('bar'))}


def errors(periods: tuple[float, ...]) -> tuple[list[float], float]:
    """Return the error of the hands, m, for each period, and how far they have moved."""
    team = load_team('team_bar')
    ends = [split(team, period) for period in periods]
    expected = whole(team, ends[0][1])
    moved = max(float(np.linalg.norm(expected[grasp.robot] - grasp.position)) for grasp in team.grasps.values())
    return [max(float(np.linalg.norm(at[name] - expected[name])) for name in at) for at, _ in ends], moved


@pytest.mark.slow
def test_the_split_of_a_team_by_topics_agrees_with_the_whole():
    """Fast counterpart: test_held_object.py, with hands that are points."""
    (fine, coarse), moved = errors((0.002, 0.005))
    assert moved > 0.05
    assert fine < 0.6 * coarse
    assert coarse < 2e-3 * moved


if __name__ == '__main__':
    periods = (0.001, 0.002, 0.005)
    found, moved = errors(periods)
    print(f'hands moved by {1e3 * moved:.1f} mm in {END} s')
    for period, error in zip(periods, found):
        print(f'exchange {1e3 * period:g} ms: {1e6 * error:.2f} um')
