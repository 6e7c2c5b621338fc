"""`dyn-nodes check TEAM.yaml`: validates a team and prints its robots, objects and grasps at rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.commands import tables
from dyn_nodes.commands.problem_lines import print_rejection

if TYPE_CHECKING:
    from dyn_nodes.teams.team import Team
    from dyn_nodes.teams.team_check import RobotFacts, TeamFacts


def check_team(path: str, as_json: bool) -> int:
    """Check a team and print it; return 0 if it has no faults, else 1."""
    from dyn_nodes.model import MachineError
    from dyn_nodes.teams.team_check import team_facts
    from dyn_nodes.teams.team_file import load_team

    try:
        team = load_team(Path(path))
    except MachineError as error:
        print_rejection(error, as_json)
        return 1
    problems = _plants(team)
    if problems:
        print_rejection(MachineError(problems), as_json)
        return 1
    facts = team_facts(team)
    if as_json:
        tables.print_json(_as_json(team, facts))
    else:
        _print(team, facts)
    return 0


def _plants(team: Team) -> list[Any]:
    """Return the problems of the plants of all machines without duplicates."""
    from dyn_nodes.commands.build_check import build_problems

    problems: dict[Any, None] = {}
    for robot in team.robots.values():
        problems |= dict.fromkeys(build_problems(robot.machine))
    return list(problems)


def _as_json(team: Team, facts: TeamFacts) -> dict[str, Any]:
    robots = {
        name: {
            'machine': team.robots[name].machine.name,
            'urdf': team.robots[name].urdf,
            'config': team.robots[name].config,
            'pose': list(team.robots[name].pose),
            'mass': robot.mass,
            'ground': _ground(robot),
        }
        for name, robot in facts.robots.items()
    }
    objects = {
        name: {
            'object': item.item.name, 'model': item.model, 'mass': facts.masses[name],
            'position': item.position.tolist(), 'rotation': item.rotation.tolist(),
        }
        for name, item in team.objects.items()
    }  # fmt: skip
    grasps = {
        name: {
            'robot': grasp.robot, 'hand': grasp.hand, 'object': grasp.object, 'patch': grasp.patch, 'kind': grasp.kind,
            'distance': grasp.distance, 'position': grasp.position.tolist(), 'force': facts.grasps[name].force.tolist(),
            'holding_force': grasp.holding_force, 'reserve': facts.grasps[name].reserve,
            'torque': facts.grasps[name].torque.tolist(),
            'holding_torque': grasp.holding_torque, 'torque_reserve': facts.grasps[name].torque_reserve,
        }
        for name, grasp in team.grasps.items()
    }  # fmt: skip
    return {'valid': True, 'team': team.name, 'robots': robots, 'objects': objects, 'grasps': grasps}


def _ground(robot: RobotFacts) -> dict[str, Any] | None:
    reactions = robot.reactions
    if reactions is None:
        return None
    return {
        'possible': bool(reactions.possible),
        'robust': bool(reactions.robust),
        'margin': float(reactions.margin),
        'normal_forces': dict(zip(robot.wheels, (float(force) for force in reactions.split[:, 2]))),
        'friction_use': dict(zip(robot.wheels, (float(use) for use in reactions.friction_use))),
        'friction_assumed': robot.assumed,
    }


def _print(team: Team, facts: TeamFacts) -> None:
    from dyn_nodes.teams.team_check import FRICTION

    console = tables.console()
    _print_robots(team, facts)
    _print_objects(team, facts)
    _print_grasps(team, facts)
    if any(robot.assumed for robot in facts.robots.values()):
        console.print(f'friction {FRICTION:g} is assumed of wheels that roll by constraint', soft_wrap=True)
    for name, robot in facts.robots.items():
        if robot.reactions is not None and not robot.reactions.possible:
            console.print(f'warning: {name} cannot stand still: no ground reactions hold it', style='yellow')
    for name, grasp in facts.grasps.items():
        if grasp.reserve is not None and grasp.reserve < 0.0:
            console.print(f'warning: {name} slips off at rest: it holds {-grasp.reserve:.4g} N less', style='yellow')
        if grasp.torque_reserve is not None and grasp.torque_reserve < 0.0:
            text = f'warning: {name} slips off at rest: it holds {-grasp.torque_reserve:.4g} N m less'
            console.print(text, style='yellow')
    console.print('no problems', style='green')


def _print_robots(team: Team, facts: TeamFacts) -> None:
    headings = ('robot', 'machine', 'x, y, m', 'heading, rad', 'mass, kg', 'normal forces at rest, N', 'margin, N')
    rows = []
    for name, robot in facts.robots.items():
        pose = team.robots[name].pose
        ground = robot.reactions
        normal = margin = ''
        if ground is not None:
            normal = ', '.join(f'{wheel} {force:.1f}' for wheel, force in zip(robot.wheels, ground.split[:, 2]))
            margin = f'{float(ground.margin):.1f}'
        machine = team.robots[name].machine.name
        rows.append((name, machine, _numbers(pose[:2], 4), _numbers(pose[2:], 4), f'{robot.mass:.6g}', normal, margin))
    tables.show(rows, headings, title=f'team {team.name}')


def _print_objects(team: Team, facts: TeamFacts) -> None:
    rows = []
    for name, item in team.objects.items():
        mass, count = f'{facts.masses[name]:.6g}', f'{len(team.grasps_on(name))}'
        rows.append((name, item.item.name, item.model, mass, _numbers(item.position, 4), count))
    tables.show(rows, ('object', 'file', 'model', 'mass, kg', 'position, m', 'grasps'), title='objects')


def _print_grasps(team: Team, facts: TeamFacts) -> None:
    headings = ('grasp', 'hand', 'patch', 'kind', 'distance, mm', 'force at rest, N', 'torque, N m', 'holds')
    rows = []
    for name, grasp in team.grasps.items():
        force = _numbers(facts.grasps[name].force, 3)
        torque = _numbers(facts.grasps[name].torque, 3) if grasp.kind == 'fixed' else ''
        limits = ((grasp.holding_force, 'N'), (grasp.holding_torque, 'N m'))
        holds = ', '.join(f'{limit:.6g} {unit}' for limit, unit in limits if limit is not None)
        hand, patch = f'{grasp.robot}/{grasp.hand}', f'{grasp.object}/{grasp.patch}'
        rows.append((name, hand, patch, grasp.kind, f'{1e3 * grasp.distance:.3f}', force, torque, holds))
    tables.show(rows, headings, title='grasps')


def _numbers(values: Any, digits: int) -> str:
    """Return the text of numbers with some digits; zero has no sign."""
    return ', '.join(f'{value + 0.0:.{digits}f}' for value in np.round(values, digits))
