"""E9 to E11, S7 to S9: a deformable bar and plate, and robots that hold a bar and a triangle."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.team import BAR, TRIANGLE, Team, facing
from dyn_nodes.studies.tanner_1998.vehicle import rm_1
from dyn_nodes.teams.deformable.condensation import HeldBody, condensed
from dyn_nodes.teams.deformable.finite_elements import FiniteElements, assemble
from dyn_nodes.teams.deformable.grasps import Grasp, patch
from dyn_nodes.teams.deformable.lattice_fit import fit_masses
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh

SOFT = Material(young_modulus=1e5, poisson_ratio=0.3, density=100.0, damping=200.0)
SHEET = Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0)
AXIAL = 1e5 * 0.2 * 0.1 / 0.6
RODS = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)])
TWO = (((0.3, 0.2, (0.1, 0.2, -0.1)), (0.5, 20.0, 4.0), (1.0, 1.5)),
       ((-0.3, 0.1, (-0.2, 0.1, 0.15)), (-0.3, 19.0, 5.0), (-1.0, -1.2)))  # fmt: skip
THREE = (((0.2, 0.1, (0.1, 0.2, -0.1)), (0.5, 20.0, 4.0), (1.0, 1.5)),
         ((-0.1, 0.2, (-0.2, 0.1, 0.15)), (-0.3, 19.0, 5.0), (-1.0, -1.2)),
         ((0.15, -0.1, (0.05, -0.1, 0.1)), (0.2, 18.0, 4.5), (0.5, 0.2)))  # fmt: skip
"""Motion of the axle and the arm, efforts of joints and wheels, of each robot."""


def plate() -> tuple[FiniteElements, list[Grasp]]:
    """Return OBJ-2 and its four grasps."""
    body = assemble(box_mesh((1.0, 0.6, 0.02), (20, 12, 1)), SHEET)
    corners = ((-0.45, -0.25, 0.0), (0.45, -0.25, 0.0), (0.45, 0.25, 0.0), (-0.45, 0.25, 0.0))
    return body, [patch(body.mesh, corner, (0.1, 0.1, 0.02)) for corner in corners]


@study('tanner-1998/e9', 'A bar and a plate of finite elements: invariants, stiffness, equivalent rods (E9, S7, S8)')
def e9(s: StudyRun) -> None:
    """Check the invariants of the bodies and their stiffness between the grasps."""
    bar = assemble(box_mesh((0.6, 0.2, 0.1), (6, 2, 2)), SOFT, incompatible=False)
    s.near('mass of the bar, kg', '6.7', 1.2, bar.total_mass, relative=1e-12)
    for axis, expected, value in zip('xyz', (0.005, 0.037, 0.040), bar.inertia.diagonal()):
        s.near(f'its inertia about {axis}, kg m2', '6.7', expected, float(value), relative=1e-12)
    values = np.linalg.eigvalsh(bar.stiffness.toarray())
    s.near('stiffness of its first deformation mode, N/m', '6.7', 47.89, float(values[6]), absolute=0.005)
    ends = [patch(bar.mesh, (x, 0.0, 0.0), (0.0, 0.2, 0.1)) for x in (-0.3, 0.3)]
    along = float(condensed(bar, ends).stiffness[3, 3])
    s.near('axial stiffness between its end faces over E A / L', '6.7', 1.0, along / AXIAL, absolute=1e-9)
    body, grasps = plate()
    held = HeldBody(body, grasps)
    reduced = condensed(body, grasps, held=held)
    stiffnesses = tabulated('tanner-1998/6.7/plate')[0]
    for k, (expected, value) in enumerate(zip(stiffnesses, np.linalg.eigvalsh(reduced.stiffness)[6:])):
        s.near(f'stiffness {k + 1} of the plate between its corners, N/m', '6.7', expected, float(value), relative=1e-3)
    moved = np.random.default_rng(3).normal(size=12)
    _, force = held.solve(np.zeros(3 * len(body.mesh.nodes)), moved)
    apart = float(np.abs(force - reduced.stiffness @ moved).max() / np.abs(force).max())
    s.near('hand forces differ from the condensed plate, relative', 'S7', 0.0, apart, absolute=1e-9)
    thin = np.diag([2.4 / 12.0, 2.4 * 0.36 / 12.0, 0.0])
    masses = fit_masses(reduced.positions.reshape(-1, 3), RODS, 2.4, np.zeros(3), thin)
    s.near('mass of its rods less mass of the plate, kg', 'S8', 0.0, masses.mass_residual, absolute=1e-12)
    s.near('distance of the centres of mass, m', 'S8', 0.0, masses.center_residual, absolute=1e-12)


def check_team(s: StudyRun, team: Team, cases: tuple, expected: Array, section: str) -> None:
    """Check grasp accelerations of a team against the saddle-point solution, and both momentum balances."""
    start = facing(team.load, [motion for motion, _, _ in cases])
    members = team.members(start, [rm_1().efforts(joints, drives) for _, joints, drives in cases])
    held, other = team.solve(members), team.solve(members, at_once=True)
    for k, (value, component) in enumerate(zip(expected, held.acceleration)):
        name = f'acceleration of hand {k // 3 + 1} along {"xyz"[k % 3]}, m/s2'
        s.near(name, section, value, float(component), relative=1e-7)
    apart = float(np.abs(held.acceleration - other.acceleration).max())
    s.near('augmented object less saddle point, m/s2', 'S9', 0.0, apart, absolute=1e-10)
    left = team.balance(members, held)
    s.near('residual of the linear momentum, N', section, 0.0, float(np.abs(left.force).max()), absolute=1e-8)
    s.near('residual of the angular momentum, N m', section, 0.0, float(np.abs(left.moment).max()), absolute=1e-8)


@study(
    'tanner-1998/e10', 'Two RM-1 with a bar: accelerations, augmented object against saddle point, momenta (E10, S9)'
)
def e10(s: StudyRun) -> None:
    """Check the specified instant."""
    check_team(s, Team(BAR), TWO, tabulated('tanner-1998/6.8/instant')[1], '6.8')


@study('tanner-1998/e11', 'Three RM-1 with a triangle: accelerations, augmented object against saddle point (E11, S9)')
def e11(s: StudyRun) -> None:
    """Check the specified instant."""
    check_team(s, Team(TRIANGLE), THREE, tabulated('tanner-1998/6.9/instant')[0], '6.9')
