"""Lattices of rods and grids of springs: numbers of tanner-1998, section 6.7."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse
from scipy.sparse import linalg
from scipy.spatial.transform import Rotation

from dyn_nodes.studies.reference import tabulated
from dyn_nodes.teams.deformable.condensation import condensed
from dyn_nodes.teams.deformable.finite_elements import assemble, factors_of
from dyn_nodes.teams.deformable.grasps import patch
from dyn_nodes.teams.deformable.lattice import Lattice, chain, lattice_of_volume, simplest_rods
from dyn_nodes.teams.deformable.lattice_fit import fit_masses, fit_stiffness
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Mesh, box_mesh
from dyn_nodes.teams.deformable.spring_grid import spring_grid

AXIAL = 1e5 * 0.2 * 0.1 / 0.6
BAR = Material(young_modulus=1e5, poisson_ratio=0.3, density=100.0, damping=200.0)
CAUCHY = Material(young_modulus=1e5, poisson_ratio=0.25, density=100.0)
PLATE = Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0)
PATCHES = np.array([(-0.45, -0.25, 0.0), (0.45, -0.25, 0.0), (0.45, 0.25, 0.0), (-0.45, 0.25, 0.0)])
CORNERS = PATCHES / (0.9, 0.5, 1.0) * (1.0, 0.6, 1.0)
THIN = np.diag([2.4 * 1.0**2 / 12.0, 2.4 * 0.6**2 / 12.0, 0.0])
"""Second moments of a thin plate of 1 m by 0.6 m with 2.4 kg."""
RODS = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)])
"""Rods: long side, short side, long side, short side, diagonals."""


def second_moment(lattice: Lattice) -> np.ndarray:
    return lattice.nodes.T @ (lattice.mass @ lattice.nodes)


def massive(nodes, rod_mass, node_mass=0.0):
    none = np.zeros(len(RODS))
    return Lattice(nodes, RODS, none, none, np.asarray(rod_mass) + none, np.zeros(len(nodes)) + node_mass)


@pytest.fixture(scope='module')
def plate_stiffness():
    body = assemble(box_mesh((1.0, 0.6, 0.02), (20, 12, 1)), PLATE)
    return condensed(body, [patch(body.mesh, position, (0.1, 0.1, 0.02)) for position in PATCHES]).stiffness


def test_the_rod_of_the_bar_has_its_stiffness_and_is_invariant_to_turns():
    bar = lattice_of_volume(((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0)), np.array([(0, 1)]), [1.2], BAR)
    stiffness, damping, spurious, _ = tabulated('tanner-1998/6.7/rod')
    assert (bar.stiffness[0], bar.damping[0]) == pytest.approx((AXIAL, damping), abs=1e-6)
    assert bar.stiffness[0] == pytest.approx(stiffness, abs=5e-4)
    for angle, force in zip((5.0, 30.0), spurious):
        turned = bar.nodes @ Rotation.from_euler('z', angle, degrees=True).as_matrix().T
        linear = bar.linear_stiffness @ (turned - bar.nodes).ravel()
        assert linear[3] == pytest.approx(force, abs=1e-6)
        assert np.abs(bar.forces(turned)).max() < 1e-11
        assert bar.energy(turned) == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(
    ('count', 'consistent', 'lumped'),
    [*zip((1, 2, 4, 8, 16), *tabulated('tanner-1998/6.7/chain')[:2])],
)
def test_the_first_axial_frequency_of_a_chain_of_rods(count, consistent, lumped):
    bar = chain(0.6, count, 1.2, AXIAL)
    stiffness = bar.linear_stiffness.toarray()[::3, ::3]
    for mass, expected in ((bar.mass.toarray(), consistent), (np.diag(bar.lumped_mass), lumped)):
        assert np.sqrt(scipy.linalg.eigh(stiffness, mass, eigvals_only=True)[1]) == pytest.approx(expected, abs=1e-6)
    exact = np.pi * np.sqrt(1e5 / 100.0) / 0.6
    assert exact == pytest.approx(tabulated('tanner-1998/6.7/chain')[2], abs=1e-6)
    assert lumped < exact < consistent


@pytest.mark.parametrize(
    ('cells', 'frequency', 'sag'),
    [*zip(((6, 2, 1), (12, 4, 2), (24, 8, 4)), *tabulated('tanner-1998/6.7/grid')[1:])],
)
def test_a_grid_of_springs_is_an_isotropic_body_with_poisson_s_ratio_one_quarter(cells, frequency, sag):
    grid = spring_grid((0.6, 0.2, 0.1), cells, CAUCHY)
    stiffness, masses = grid.linear_stiffness, np.repeat(grid.lumped_mass, 3)
    assert grid.lumped_mass.sum() == pytest.approx(1.2)
    assert CAUCHY.elasticity[[0, 0, 3], [0, 1, 3]] == pytest.approx([1.2e5, 0.4e5, 0.4e5])
    for strain in np.random.default_rng(1).normal(size=(3, 3, 3)):
        strain = strain + strain.T
        moved = (grid.nodes @ strain).ravel()
        engineering = np.append(np.diag(strain), 2.0 * strain[[0, 1, 2], [1, 2, 0]])
        assert moved @ (stiffness @ moved) == pytest.approx(engineering @ CAUCHY.elasticity @ engineering * 0.012)
    contracted = (grid.nodes * (1.0, -0.25, -0.25)).ravel()
    pull = (stiffness @ contracted)[::3]
    assert pull[grid.nodes[:, 0] > 0.3 - 1e-9].sum() == pytest.approx(0.6 * AXIAL)
    values, modes = linalg.eigsh(stiffness.tocsc(), 8, sparse.diags(masses).tocsc(), sigma=164.0**2)
    wave = np.zeros(len(masses))
    wave[::3] = np.sin(np.pi * grid.nodes[:, 0] / 0.6)
    axial = np.argmax(np.abs(modes.T @ (masses * wave)))
    assert np.sqrt(values[axial]) == pytest.approx(frequency, abs=1e-6)
    free = np.repeat(np.abs(grid.nodes[:, 0]) < 0.3 - 1e-9, 3)
    result = np.zeros(len(free))
    load = np.outer(grid.lumped_mass, (0.0, 0.0, -9.81)).ravel()
    result[free] = factors_of(stiffness[free][:, free]).solve(load[free])
    middle = np.argmin(np.linalg.norm(grid.nodes, axis=1))
    assert -1e3 * result[3 * middle + 2] == pytest.approx(sag, abs=6e-4)


def test_cells_that_are_no_cubes_are_rejected():
    with pytest.raises(ValueError, match=r'expected cubic cells, found 0.1 x 0.1 x 0.05 m'):
        spring_grid((0.6, 0.2, 0.1), (6, 2, 2), CAUCHY)


def test_rods_between_the_corners_of_the_plate_lack_its_twist(plate_stiffness):
    in_plane = np.flatnonzero(np.arange(12) % 3 != 2)
    fit = fit_stiffness(PATCHES[:, :2], RODS, plate_stiffness[np.ix_(in_plane, in_plane)])
    (longer, shorter, diagonal), residual, eigenvalues = tabulated('tanner-1998/6.7/plate_rods')
    assert fit.rods == pytest.approx([longer, shorter, longer, shorter, diagonal, diagonal], abs=0.006)
    assert fit.residual == pytest.approx(residual, abs=1e-6)
    none = np.zeros(6)
    values = np.linalg.eigvalsh(Lattice(PATCHES, RODS, fit.rods, none, none, none[:4]).linear_stiffness.toarray())
    assert values[:7] == pytest.approx(0.0, abs=1e-9)
    assert values[7:] == pytest.approx(eigenvalues[1:], abs=0.02)


@pytest.mark.pins('tanner-1998/3.1/S8')
def test_masses_of_rods_that_have_mass_centre_and_inertia_of_the_plate():
    for nodes, expected in ((CORNERS, (0.0, 0.0, 1.2)), (PATCHES, tabulated('tanner-1998/6.7/plate_mass')[1])):
        fit = fit_masses(nodes, RODS, 2.4, np.zeros(3), THIN)
        assert fit.rods == pytest.approx([expected[0], expected[1]] * 2 + [expected[2]] * 2, abs=1e-6)
        assert not fit.nodes.any()
        assert max(fit.mass_residual, fit.center_residual, fit.inertia_residual) < 1e-12
        assert second_moment(massive(nodes, fit.rods)) == pytest.approx(THIN, abs=1e-12)


@pytest.mark.pins('tanner-1998/6.7/plate_mass')
def test_masses_by_length_and_corner_lumps_have_too_much_inertia():
    lengths = massive(CORNERS, 0.0).lengths
    uniform = massive(CORNERS, 2.4 * lengths / lengths.sum())
    ratio = np.diag(second_moment(uniform))[:2] / np.diag(THIN)[:2]
    assert sorted(ratio) == pytest.approx([1.434, 1.723], abs=5e-4)
    assert np.diag(second_moment(massive(CORNERS, 0.0, 0.6)))[:2] == pytest.approx(3.0 * np.diag(THIN)[:2])


def test_diagonal_rods_of_the_plate_s_volume_are_a_mechanism():
    rods = lattice_of_volume(PATCHES, RODS[4:], [1.2, 1.2], PLATE)
    assert rods.stiffness == pytest.approx([tabulated('tanner-1998/6.7/plate_volume')[0]] * 2, abs=1e-3)
    assert np.count_nonzero(np.linalg.eigvalsh(rods.linear_stiffness.toarray()) > 1e-6) == 2


@pytest.mark.parametrize(
    ('poisson', 'stiffness', 'residual'),
    [*zip((0.0, 0.25, 0.3, 0.4), *tabulated('tanner-1998/6.7/tetrahedron'))],
)
def test_rods_fit_a_tetrahedron_best_with_poisson_s_ratio_one_quarter(poisson, stiffness, residual):
    nodes = 0.1 * np.array([(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)], dtype=float)
    material = Material(young_modulus=1e5, poisson_ratio=poisson, density=100.0)
    body = assemble(Mesh(nodes, np.array([(0, 1, 2, 3)])), material)
    fit = fit_stiffness(nodes, simplest_rods(nodes), body.stiffness.toarray())
    assert fit.rods == pytest.approx([stiffness] * 6, abs=1e-3)
    assert fit.residual == pytest.approx(residual, abs=1e-6)


def test_lumps_replace_rods_that_cannot_have_the_centre_of_mass():
    """The rods of a triangle can have it only within the triangle of their midpoints."""
    nodes = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    rods = simplest_rods(nodes)
    inside = fit_masses(nodes, rods, 1.0, (0.4, 0.4, 0.0), np.zeros((3, 3)))
    assert not inside.nodes.any()
    assert (inside.rods @ nodes[rods].mean(axis=1)) == pytest.approx((0.4, 0.4, 0.0), abs=1e-5)
    outside = fit_masses(nodes, rods, 1.0, (0.8, 0.1, 0.0), np.diag([0.1, 0.1, 0.0]))
    assert outside.nodes == pytest.approx((0.1, 0.8, 0.1), abs=1e-5)
    assert not outside.rods.any()
    assert outside.inertia_residual > 0.1


def test_five_nodes_are_joined_by_delaunay_s_edges():
    tent = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)], dtype=float)
    assert {tuple(rod) for rod in simplest_rods(tent).tolist()} >= {(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (2, 4)}
    flat = np.array([(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1), (0.5, 0.5, 1)], dtype=float)
    assert len(simplest_rods(flat)) == 8


def test_forces_are_the_gradient_of_the_energy_and_damping_loses_it():
    random = np.random.default_rng(4)
    grid = spring_grid((0.3, 0.2, 0.1), (3, 2, 1), BAR)
    moved = grid.nodes + 0.01 * random.normal(size=grid.nodes.shape)
    speed = random.normal(size=grid.nodes.shape)
    step = 1e-6
    slope = (grid.energy(moved + step * speed) - grid.energy(moved - step * speed)) / (2.0 * step)
    elastic = grid.forces(moved)
    assert np.sum(elastic * speed) == pytest.approx(slope, rel=1e-6)
    assert np.sum((grid.forces(moved, speed) - elastic) * speed) == pytest.approx(grid.lost_power(moved, speed))
    assert elastic.sum(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert np.cross(moved, grid.forces(moved, speed)).sum(axis=0) == pytest.approx(0.0, abs=1e-9)
