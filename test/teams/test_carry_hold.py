"""Adversary of the safe state: robots whose commands end at any instant of a figure of eight with their object.

A robot also loses its object when another one is killed; all robots keep it when their controller is killed.
`python test/teams/test_carry_hold.py` searches 100 instants of the first case and 50 of the second; prints the worst.
"""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.simulation.cosimulation.held_object import HeldHand, HeldObject
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.teams import load_team
from dyn_nodes.teams.carry_limits import Reserve
from dyn_nodes.teams.carry_plan import Course, carriage_of
from dyn_nodes.teams.holding import holders_of

PERIOD = 0.005
SECONDS = 2.5


def case(count):
    """Return team, robots, plan, and instants of it, denser at its start."""
    team = load_team('team_bar')
    holders = holders_of(team, 'bar', 0.7)
    plan = carriage_of(team, 'bar', holders, 5.0, Reserve(), 1.0).along(Course(bearing=0.5 * np.pi))
    times = np.concatenate([np.linspace(0.05, 3.0, count), np.linspace(3.1, plan.ends - 0.05, count)])
    return team, holders, plan, [float(t) for t in times]


def plant_of(team, holder):
    plant = Plant(team.robots[holder.name].machine, 'effort', PERIOD, 5e-4, ())
    plant.run_out.together = True
    return plant


def outcomes(count):
    """Return the least wheel load over its value at rest, the speed gain, travel and last speed of the hand."""
    team, holders, plan, times = case(count)
    plant = plant_of(team, holders[1])
    at_rest = min(loads_of(plant))
    return {
        (holder.name, round(t, 3)): outcome(plant, holder, k, plan.at(t), at_rest)
        for k, holder in enumerate(holders)
        for t in times
    }


def put(plant, holder, k, reference):
    """Set a robot to the state of a reference, with the force of the object on its hand."""
    state = reference.states[k]
    plant.reset()
    nq, nv = plant.system.nq, plant.system.nv
    plant.x[:nq] = state.q
    plant.x[nq : nq + nv] = velocities(holder.robot.blocks.tree, state.q, holder.robot.motions(state.q)[2] @ state.u)
    plant.hands.set_wrench(holder.hand, np.concatenate([-reference.forces[k], np.zeros(3)]))
    return plant.positions.copy(), np.zeros(len(plant.joints))


def lead(plant, target, led):
    plant.let_wheels_run_out(target, led)
    plant.set_efforts(plant.servo_efforts(target, led))


def outcome(plant, holder, k, reference, at_rest):
    target, led = put(plant, holder, k, reference)
    first = plant.hands.state(holder.hand)
    least, fastest = np.inf, 0.0
    for _ in range(round(SECONDS / PERIOD)):
        lead(plant, target, led)
        plant.advance()
        hand = plant.hands.state(holder.hand)
        least, fastest = min(least, *loads_of(plant)), max(fastest, float(np.linalg.norm(hand.velocity)))
    way = float(np.linalg.norm(hand.position - first.position))
    before = float(np.linalg.norm(first.velocity))
    return least / at_rest, fastest - before, way, float(np.linalg.norm(hand.velocity))


def together(count):
    """Return the least wheel load over its value at rest and the greatest force on a hand, N, if all keep the bar."""
    team, holders, plan, times = case(count)
    plants = [plant_of(team, holder) for holder in holders]
    at_rest = min(loads_of(plants[0]))
    result = {}
    for t in times:
        reference, least, pull = plan.at(t), np.inf, 0.0
        aims = [put(plant, holder, k, reference) for k, (plant, holder) in enumerate(zip(plants, holders))]
        bar = HeldObject(team.objects['bar'].item.lattice, np.array([0.0, 0.0, -9.81]))
        for tick in range(round(SECONDS / PERIOD)):
            for plant, aim in zip(plants, aims):
                lead(plant, *aim)
            hands = [held(plant, holder.hand) for plant, holder in zip(plants, holders)]
            if tick == 0:
                bar.start(hands)
            for plant, holder, force in zip(plants, holders, bar.advance(hands, PERIOD)):
                plant.hands.set_wrench(holder.hand, np.concatenate([force, np.zeros(3)]))
                pull = max(pull, float(np.linalg.norm(force)))
            for plant in plants:
                plant.advance()
                least = min(least, *loads_of(plant))
        result[round(t, 3)] = least / at_rest, pull
    return result


def held(plant, hand):
    state = plant.hands.state(hand)
    return HeldHand(state.position, state.velocity, *plant.hands.mobility(hand))


def velocities(tree, q, rates):
    """Return velocities (nv,) of a free base, in its axes, and of joints from the rates of the positions (nq,)."""
    x, y, z, w = q[3:7]
    turn = 2.0 * np.array([(w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z)]) @ rates[3:7]
    rotation = np.array(
        [
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ]
    )
    return np.concatenate([turn, rotation.T @ rates[:3], rates[7:]])


def loads_of(plant):
    return [float(plant.constraints.ground_reaction(wheel)[2][2]) for wheel in plant.constraints.wheels]


@pytest.mark.slow
def test_a_robot_whose_commands_end_at_any_instant_comes_to_rest_on_all_its_wheels_and_throws_nothing():
    """Fast counterpart: test_wheel_run_out.py, the law alone."""
    for (robot, time), (load, faster, way, last) in outcomes(6).items():
        where = f'{robot} at {time:g} s'
        assert load > 0.3, where
        assert faster < 0.01, where
        assert way < 1.3, where
        assert last < 1e-3, where


@pytest.mark.slow
def test_robots_that_all_lose_their_commands_keep_the_bar_and_none_falls():
    """Fast counterpart: test_wheel_run_out.py: their time is independent of their speeds."""
    for time, (load, pull) in together(6).items():
        assert load > 0.3, f'at {time:g} s'
        assert pull < 80.0, f'at {time:g} s'


if __name__ == '__main__':
    measured = outcomes(25)
    for name, column, sign in (
        ('least load', 0, 1),
        ('faster, m/s', 1, -1),
        ('way, m', 2, -1),
        ('last speed, m/s', 3, -1),
    ):
        worst = min(measured, key=lambda case: sign * measured[case][column])
        print(f'{name}: {measured[worst][column]:.4g} ({worst[0]} at {worst[1]:g} s)')
    kept = together(25)
    worst = min(kept, key=lambda case: kept[case][0])
    print(f'least load, all with the bar: {kept[worst][0]:.4g} (at {worst:g} s)')
    worst = max(kept, key=lambda case: kept[case][1])
    print(f'greatest force of the bar: {kept[worst][1]:.4g} N (at {worst:g} s)')
