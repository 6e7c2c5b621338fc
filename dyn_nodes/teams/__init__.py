"""Teams of machines and the objects that they hold."""

from dyn_nodes.teams.team import Team, TeamGrasp, TeamObject, TeamRobot
from dyn_nodes.teams.team_file import load_team

__all__ = ['Team', 'TeamGrasp', 'TeamObject', 'TeamRobot', 'load_team']
