"""Elements, grasps and condensation: numbers of tanner-1998, section 6.7, and scikit-fem as an independent check."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from dyn_nodes.studies.reference import tabulated
from dyn_nodes.teams.deformable.condensation import HeldBody, condensed
from dyn_nodes.teams.deformable.elements import InvertedElementError
from dyn_nodes.teams.deformable.finite_elements import FiniteElements, assemble, factors_of
from dyn_nodes.teams.deformable.grasps import on_a_line, patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import CORNERS, Mesh, box_mesh, refined

BAR = Material(young_modulus=1e5, poisson_ratio=0.3, density=100.0, damping=200.0)
BAR_SIZE = (0.6, 0.2, 0.1)
AXIAL = 1e5 * 0.2 * 0.1 / 0.6
PLATE = Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0)
GRAVITY = np.array([0.0, 0.0, -9.81])


def bar(divisions=(6, 2, 2), kind='brick', incompatible=False, material=BAR) -> FiniteElements:
    return assemble(box_mesh(BAR_SIZE, divisions, kind), material, incompatible)


def ends(body, size=(0.0, 0.2, 0.1)):
    return [patch(body.mesh, (x, 0.0, 0.0), size, name) for x, name in ((-0.3, 'left'), (0.3, 'right'))]


def between_clamped_ends(body, load, stretch=0.0):
    """Return displacements (n, 3) with all nodes of both end faces held, the right face displaced by `stretch`."""
    x = body.mesh.nodes[:, 0]
    held = np.repeat(np.abs(x) > 0.3 - 1e-9, 3)
    result = np.zeros(len(held))
    result[::3] = np.where(held[::3], np.sign(x) * stretch / 2.0, 0.0)
    load = load - body.stiffness @ result
    result[~held] = factors_of(body.stiffness[~held][:, ~held]).solve(load[~held])
    return result.reshape(-1, 3)


def corners_of_the_plate(divisions=(20, 12, 1)):
    body = assemble(box_mesh((1.0, 0.6, 0.02), divisions), PLATE)
    positions = ((-0.45, -0.25, 0.0), (0.45, -0.25, 0.0), (0.45, 0.25, 0.0), (-0.45, 0.25, 0.0))
    return body, [patch(body.mesh, order, (0.1, 0.1, 0.02)) for order in positions]


def test_moduli_of_the_material():
    assert (BAR.shear_modulus, BAR.lame_modulus) == pytest.approx(tabulated('tanner-1998/6.7/material')[0], abs=1e-3)
    three, two, one = tabulated('tanner-1998/6.7/material')[1]
    assert np.linalg.eigvalsh(BAR.elasticity) == pytest.approx([three] * 3 + [two] * 2 + [one], abs=1e-3)


@pytest.mark.pins('tanner-1998/6.7/invariants')
@pytest.mark.parametrize('kind', ['brick', 'tetrahedron'])
def test_mass_inertia_and_rigid_motions_of_the_bar(kind):
    body = bar(kind=kind)
    assert body.total_mass == pytest.approx(1.2, abs=1e-14)
    assert body.volume == pytest.approx(0.012, abs=1e-15)
    assert body.center_of_mass == pytest.approx(0.0, abs=1e-14)
    assert body.inertia == pytest.approx(np.diag([0.005, 0.037, 0.040]), abs=1e-14)
    values = np.linalg.eigvalsh(body.stiffness.toarray())
    assert values[:6] == pytest.approx(0.0, abs=1e-9)
    assert values[6] > 40.0
    if kind == 'brick':
        assert values[6] == pytest.approx(47.89, abs=0.005)
    assert np.abs(body.damping @ body.rigid_motions).max() < 1e-13


@pytest.mark.parametrize(('kind', 'incompatible'), [('brick', False), ('brick', True), ('tetrahedron', False)])
def test_a_constant_strain_is_kept_by_skewed_elements(kind, incompatible):
    strain = np.array([(1e-3, 2e-4, 0.0), (2e-4, -3e-4, 1e-4), (0.0, 1e-4, -3e-4)])
    mesh = box_mesh(BAR_SIZE, (6, 2, 2), kind)
    inner = np.ones(len(mesh.nodes), dtype=bool)
    inner[np.unique(mesh.surface)] = False
    nodes = mesh.nodes + 0.01 * inner[:, None] * np.sin(100.0 * mesh.nodes + (1.0, 2.0, 3.0))
    body = assemble(Mesh(nodes, mesh.elements), BAR, incompatible)
    displacement = (nodes @ strain).ravel()
    force = (body.stiffness @ displacement).reshape(-1, 3)
    assert np.abs(force[inner]).max() < 1e-12
    assert body.strains(displacement) == pytest.approx(
        np.tile([1e-3, -3e-4, -3e-4, 4e-4, 2e-4, 0.0], (len(mesh.elements), 1))
    )
    assert 0.5 * displacement @ (body.stiffness @ displacement) == pytest.approx(
        tabulated('tanner-1998/6.7/patch')[1], abs=5e-13
    )


@pytest.mark.parametrize(
    ('divisions', 'clamped', 'point'),
    [*zip(((6, 2, 2), (12, 4, 2), (24, 8, 4)), *tabulated('tanner-1998/6.7/axial')[1:])],
)
def test_axial_stiffness_by_the_kind_of_grasp(divisions, clamped, point):
    """Averaged over the end faces it is E A / L; with single nodes it goes to zero with the size of the elements."""
    body = bar(divisions)
    assert condensed(body, ends(body)).stiffness[3, 3] / AXIAL == pytest.approx(1.0, abs=1e-10)
    assert condensed(body, ends(body, (0.0, 0.0, 0.0))).stiffness[3, 3] / AXIAL == pytest.approx(point, abs=1e-6)
    stretched = between_clamped_ends(body, np.zeros(3 * len(body.mesh.nodes)), 1.0).ravel()
    force = (body.stiffness @ stretched)[::3]
    assert force[body.mesh.nodes[:, 0] > 0.3 - 1e-9].sum() / AXIAL == pytest.approx(clamped, abs=1e-6)


def test_two_nodes_in_the_elasticity_of_a_body_are_too_stiff():
    """Displacements that vary only along the bar, from two nodes: the reason for rods in lattices (F39)."""
    body = bar((6, 2, 2))
    share = 0.5 + body.mesh.nodes[:, 0] / 0.6
    two = np.hstack([np.kron(weight[:, None], np.eye(3)) for weight in (1.0 - share, share)])
    stiffness = two.T @ (body.stiffness @ two)
    (along, across), ratio = tabulated('tanner-1998/6.7/literal')
    assert stiffness[3:, 3:] == pytest.approx(np.diag([along, across, across]), abs=1e-3)
    assert stiffness[3, 3] / AXIAL == pytest.approx(ratio, abs=1e-6)


@pytest.mark.pins('tanner-1998/6.7/sag')
@pytest.mark.parametrize(
    ('poisson', 'divisions', 'sag', 'locked'),
    [
        (0.25, (12, 4, 2), 4.767, 4.357),
        (0.25, (24, 8, 4), 4.987, 4.859),
        (0.30, (12, 4, 2), 4.722, 4.278),
        (0.30, (24, 8, 4), 4.955, 4.812),
    ],
)
def test_sag_of_the_bar_between_clamped_ends(poisson, divisions, sag, locked):
    """Bricks with incompatible modes converge to the Timoshenko beam faster than bricks without."""
    material = Material(young_modulus=1e5, poisson_ratio=poisson, density=100.0)
    for incompatible, expected in ((True, sag), (False, locked)):
        body = bar(divisions, incompatible=incompatible, material=material)
        sagging = between_clamped_ends(body, body.load(GRAVITY))
        middle = np.argmin(np.linalg.norm(body.mesh.nodes, axis=1))
        assert -1e3 * sagging[middle, 2] == pytest.approx(expected, abs=6e-4)
    weight, moment = 1.2 * 9.81 / 0.6, 0.2 * 0.1**3 / 12.0
    beam = weight * 0.6**4 / (384.0 * 1e5 * moment) + weight * 0.6**2 / (
        8.0 * 5.0 / 6.0 * material.shear_modulus * 0.02
    )
    assert 1e3 * beam == pytest.approx({0.25: 5.297, 0.30: 5.350}[poisson], abs=6e-4)
    assert locked < sag < 1e3 * beam


@pytest.mark.parametrize(
    ('divisions', 'expected'),
    [*zip(((20, 12, 1), (10, 6, 1)), tabulated('tanner-1998/6.7/plate'))],
)
def test_stiffness_of_the_plate_between_its_corners(divisions, expected):
    body, grasps = corners_of_the_plate(divisions)
    plate = condensed(body, grasps)
    assert plate.positions.reshape(4, 3)[0] == pytest.approx((-0.45, -0.25, 0.0), abs=1e-12)
    values = np.linalg.eigvalsh(plate.stiffness)
    assert values[:6] == pytest.approx(0.0, abs=1e-7)
    assert values[6:] == pytest.approx(expected, abs=0.006)
    flexural = 1e6 * 0.02**3 / (12.0 * (1.0 - 0.3**2))
    bound = 0.7 * flexural * 1.0 * 0.6 / (2.0 * 0.45**2 * 0.25**2)
    assert flexural == pytest.approx(0.732601, abs=5e-7)
    assert bound == pytest.approx(tabulated('tanner-1998/6.7/plate')[2], abs=1e-3)
    assert values[6] < bound, 'corners that turn freely are softer than a uniform twist'


@pytest.mark.pins('tanner-1998/3.1/S7')
def test_motion_of_the_grasps_determines_the_motion_of_the_body_and_its_forces():
    body, grasps = corners_of_the_plate((10, 6, 1))
    held, plate = HeldBody(body, grasps), condensed(body, grasps)
    moved = np.random.default_rng(3).normal(size=12)
    result, force = held.solve(np.zeros(3 * len(body.mesh.nodes)), moved)
    assert held.average @ result == pytest.approx(moved, abs=1e-12)
    assert result == pytest.approx(plate.shapes @ moved, abs=1e-9)
    assert force == pytest.approx(plate.stiffness @ moved, abs=1e-6)
    rest = body.stiffness @ result - held.average.T @ force
    assert np.abs(rest).max() < 1e-9 * np.abs(force).max()
    carried = held.solve(body.load(GRAVITY))[1].reshape(4, 3)
    assert carried == pytest.approx(np.tile([0.0, 0.0, 2.4 * 9.81 / 4.0], (4, 1)), abs=1e-8)


def test_grasps_with_common_nodes_balance_the_load():
    body = bar((6, 2, 2))
    boxes = [
        ((-0.3, 0.0, 0.0), (0.0, 0.2, 0.1)),
        ((0.3, 0.0, 0.0), (0.0, 0.2, 0.1)),
        ((0.3, 0.1, 0.0), (0.0, 0.0, 0.1)),
    ]
    held = HeldBody(body, [patch(body.mesh, *box) for box in boxes])
    result, force = held.solve(body.load(GRAVITY), np.full(9, 0.01))
    rest = body.stiffness @ result - body.load(GRAVITY) - held.average.T @ force
    assert np.abs(rest).max() < 1e-10
    assert force.reshape(3, 3).sum(axis=0) == pytest.approx((0.0, 0.0, 1.2 * 9.81))


def test_a_body_between_two_grasps_turns_freely_about_their_line():
    body = bar((6, 2, 2))
    grasps = ends(body)
    assert on_a_line([grasp.position for grasp in grasps])
    spin = body.rigid_motions[:, 3]
    reduced = condensed(body, grasps, vibrations=3)
    assert reduced.shapes.T @ (body.full_mass @ spin) == pytest.approx(0.0, abs=1e-10)
    assert reduced.frequencies.min() > 1.0


def test_vibrations_with_the_grasps_at_rest_equal_the_inner_problem():
    body = bar((4, 2, 2))
    grasps = [*ends(body), patch(body.mesh, (0.0, 0.1, 0.05))]
    reduced = condensed(body, grasps, vibrations=4)
    basis = scipy.linalg.null_space(HeldBody(body, grasps).average.toarray())
    inner = [basis.T @ (matrix @ basis) for matrix in (body.stiffness, body.full_mass)]
    expected = np.sqrt(scipy.linalg.eigh(*inner, eigvals_only=True, subset_by_index=(0, 3)))
    assert reduced.frequencies == pytest.approx(expected, rel=1e-8)
    assert reduced.mass[9:, 9:] == pytest.approx(np.eye(4), abs=1e-10)
    assert reduced.stiffness[:9, 9:] == pytest.approx(0.0, abs=1e-6)
    assert reduced.load(GRAVITY)[2:9:3].sum() == pytest.approx(-1.2 * 9.81)


def test_frequencies_of_a_free_bar_equal_a_beam():
    steel = Material(young_modulus=2.1e11, poisson_ratio=0.3, density=7850.0)
    body = assemble(box_mesh((1.0, 0.02, 0.03), (40, 1, 1)), steel)
    bending = 4.730040745**2 * np.sqrt(steel.young_modulus / (12.0 * steel.density))
    assert body.frequencies(2) == pytest.approx([bending * 0.02, bending * 0.03], rel=0.005)


@pytest.mark.parametrize('kind', ['brick', 'tetrahedron'])
def test_matrices_equal_scikit_fem(kind):
    skfem = pytest.importorskip('skfem')
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    mesh = box_mesh(BAR_SIZE, (3, 2, 2), kind)
    body = assemble(Mesh(mesh.nodes + 0.01 * np.sin(40.0 * mesh.nodes), mesh.elements), BAR, incompatible=False)
    made = skfem.MeshHex if kind == 'brick' else skfem.MeshTet
    theirs = made(body.mesh.nodes.T.copy(), _as_skfem(skfem, body.mesh))
    element = skfem.ElementHex1() if kind == 'brick' else skfem.ElementTetP1()
    basis = skfem.Basis(theirs, skfem.ElementVector(element), intorder=2 if kind == 'tetrahedron' else 3)

    @skfem.BilinearForm
    def stiffness(u, v, w):
        strain = sym_grad(u)
        stress = 2.0 * BAR.shear_modulus * strain + BAR.lame_modulus * eye(trace(strain), 3)
        return ddot(stress, sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, w):
        return BAR.density * dot(u, v)

    for ours, form in ((body.stiffness, stiffness), (body.full_mass, mass)):
        expected = form.assemble(basis).toarray()
        dofs = basis.nodal_dofs.T.ravel()
        assert ours.toarray() == pytest.approx(expected[np.ix_(dofs, dofs)], abs=1e-11 * np.abs(expected).max())


def _as_skfem(skfem, mesh):
    if mesh.kind == 'tetrahedron':
        return mesh.elements.T.copy()
    corners = skfem.MeshHex().p.T  # of the unit cube, in the order of its only element
    ours = (CORNERS + 1.0) / 2.0
    order = [int(np.argmin(np.abs(ours - corner).sum(axis=1))) for corner in corners[skfem.MeshHex().t[:, 0]]]
    return mesh.elements[:, order].T.copy()


@pytest.mark.parametrize('kind', ['brick', 'tetrahedron'])
def test_refined_elements_fill_the_same_volume_and_keep_the_old_nodes(kind):
    mesh = box_mesh(BAR_SIZE, (2, 1, 1), kind)
    finer = refined(mesh)
    assert len(finer.elements) == 8 * len(mesh.elements)
    assert finer.nodes[: len(mesh.nodes)] == pytest.approx(mesh.nodes)
    assert len(np.unique(finer.nodes.round(9), axis=0)) == len(finer.nodes) == 5 * 3 * 3
    assert assemble(finer, BAR).volume == pytest.approx(0.012)
    assert len(finer.surface) == 4 * len(mesh.surface)


def test_an_inverted_element_is_reported():
    mesh = box_mesh(BAR_SIZE, (2, 1, 1), 'tetrahedron')
    elements = mesh.elements.copy()
    elements[5, [0, 1]] = elements[5, [1, 0]]
    with pytest.raises(InvertedElementError, match='element 5: expected a positive volume, found -'):
        assemble(Mesh(mesh.nodes, elements), BAR)


def test_a_patch_without_nodes_names_the_nearest_one():
    with pytest.raises(
        ValueError, match=r'expected a box with at least one node, found none; the nearest is at \[0.3, 0, 0\]'
    ):
        patch(box_mesh(BAR_SIZE, (6, 2, 2)), (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
