"""Robots and their held object as separate simulations, against the team as one model.

`python test/cosimulation/test_team_split.py` prints the table of docs/reference/teams.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.simulation import Inputs
from dyn_nodes.simulation.cosimulation.held_object import Grip, HeldHand, HeldObject
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.teams import Team, load_team
from dyn_nodes.teams.system import TeamSystem

END = 0.3
PUSH = {'left/arm_joint_1': 6.0, 'left/arm_joint_2': 12.0, 'right/arm_joint_2': 9.0, 'right/left_drive': 3.0}
"""Efforts added to those at rest, N m: the bar is lifted, turned and pulled."""


def split(team: Team, period: float) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the final positions of the hands, and the efforts by robot and joint."""
    plants = {name: Plant(robot.machine, 'effort', period, 0.0005, ()) for name, robot in team.robots.items()}
    efforts = {}
    for name, plant in plants.items():
        pushed = {joint: PUSH.get(f'{name}/{joint}', 0.0) for joint in plant.actuated}
        plant.set_inputs({f'{joint}/effort': plant.u[k] + pushed[joint] for k, joint in enumerate(plant.actuated)})
        efforts |= {f'{name}/{joint}': float(plant.u[k]) for k, joint in enumerate(plant.actuated)}
    held, grasps = team.objects['bar'], team.grasps_on('bar')
    body = held.item.lattice if held.model == 'lattice' else held.item.reduced
    bar = HeldObject(body, next(iter(plants.values())).p[:3], grips=[Grip(grasp.nodes, grasp.arms) for grasp in grasps])

    def hands() -> list[HeldHand]:
        held = []
        for grasp in grasps:
            hand_set = plants[grasp.robot].hands
            state = hand_set.state(grasp.hand)
            mobility = hand_set.mobility(grasp.hand, 6 if grasp.kind == 'fixed' else 3)
            held.append(HeldHand(state.position, state.velocity, *mobility, state.rotation, state.angular_velocity))
        return held

    bar.start(hands())
    for _ in range(round(END / period)):
        for grasp, wrench in zip(grasps, bar.advance(hands(), period)):
            plants[grasp.robot].hands.set_wrench(grasp.hand, wrench)
        for plant in plants.values():
            plant.advance()
    return {grasp.robot: plants[grasp.robot].hands.state(grasp.hand).position for grasp in grasps}, efforts


def whole(team: Team, efforts: dict[str, float]) -> dict[str, np.ndarray]:
    """Return the final positions of the hands for the team as one model."""
    system = TeamSystem(team)
    inputs = Inputs.constant({f'{name}/effort': value for name, value in efforts.items()})
    run = system.run(system.start, np.array([0.0, END]), inputs)
    nodes = system.nodes(run.states[-1], 'bar')
    return {grasp.robot: nodes[list(grasp.nodes)].mean(axis=0) for grasp in team.grasps_on('bar')}


def in_fixed_grasps(folder: Path) -> Path:
    """Write the file of the same team with its bar of finite elements in fixed grasps; return its path."""
    text = find_resource('config/teams/team_bar.yaml').read_text().replace('bar}\n', 'bar, model: condensed}\n')
    for end in ('left', 'right'):
        text = text.replace(f'patch: {end}}}', f'patch: {end}, kind: fixed}}')
    file = folder / 'team.yaml'
    file.write_text(text)
    return file


def errors(periods: tuple[float, ...], team: Team) -> tuple[list[float], float]:
    """Return the error of the hands, m, for each period, and the distance that they have moved."""
    ends = [split(team, period) for period in periods]
    expected = whole(team, ends[0][1])
    moved = max(float(np.linalg.norm(expected[grasp.robot] - grasp.position)) for grasp in team.grasps.values())
    return [max(float(np.linalg.norm(at[name] - expected[name])) for name in at) for at, _ in ends], moved


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['ball', 'fixed'])
def test_the_split_of_a_team_by_topics_agrees_with_the_whole(kind, tmp_path):
    """Fast counterparts: test_held_object.py and test_held_finite_elements.py, with points and balls as hands."""
    team = load_team('team_bar' if kind == 'ball' else in_fixed_grasps(tmp_path))
    (fine, coarse), moved = errors((0.002, 0.005), team)
    assert moved > 0.05
    assert fine < 0.6 * coarse
    assert coarse < 2e-3 * moved


if __name__ == '__main__':
    periods = (0.001, 0.002, 0.005)
    with tempfile.TemporaryDirectory() as folder:
        for name in ('team_bar', in_fixed_grasps(Path(folder))):
            deviations, moved = errors(periods, load_team(name))
            kinds = 'ball' if name == 'team_bar' else 'fixed'
            print(f'{kinds} grasps: hands moved by {1e3 * moved:.1f} mm in {END} s')
            for period, error in zip(periods, deviations):
                print(f'exchange {1e3 * period:g} ms: {1e6 * error:.2f} um')
