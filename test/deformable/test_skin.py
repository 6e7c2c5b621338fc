"""The drawn surface of a reduced body: positions, stresses and thinning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.teams.deformable.deformable_object import DeformableObject
from dyn_nodes.teams.deformable.elements import corner_strains
from dyn_nodes.teams.deformable.grasps import fixed_points, patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh
from dyn_nodes.teams.deformable.skin import skin_of, thinned, von_mises

SOLID = Material(young_modulus=1e7, poisson_ratio=0.3, density=200.0)
LENGTH, WIDTH, HEIGHT = 1.0, 0.1, 0.05


@pytest.fixture(scope='module', params=['brick', 'tetrahedron'])
def beam(request):
    fine = (20, 2, 1) if request.param == 'brick' else (40, 6, 6)
    mesh = box_mesh((LENGTH, WIDTH, HEIGHT), fine, request.param)
    faces = [patch(mesh, (x, 0.0, 0.0), (0.0, WIDTH, HEIGHT), name) for x, name in ((-0.5, 'a'), (0.5, 'b'))]
    points = tuple(point for face in faces for point in fixed_points(face, mesh.nodes))
    return DeformableObject('beam', SOLID, mesh, points)


def test_stress_of_a_bent_beam_is_its_moment_over_its_section(beam):
    """Ends turned against each other: uniform moment E I angle / L, stress E h angle / 2 L at top and bottom."""
    skin, angle = skin_of(beam, 2000), 0.01
    points = beam.positions.copy()
    for nodes, side in ((slice(0, 3), 1.0), (slice(3, 6), -1.0)):
        turn = Rotation.from_rotvec((0.0, side * angle / 2.0, 0.0)).as_matrix()
        middle = points[nodes].mean(axis=0)
        points[nodes] = (points[nodes] - middle) @ turn.T + middle
    _, stress = skin.at(points)
    at = skin.positions + skin.body.middle
    surface = (np.abs(at[:, 0]) < 0.25) & (np.abs(np.abs(at[:, 2]) - HEIGHT / 2.0) < 1e-9)
    expected = 1e7 * angle * HEIGHT / (2.0 * LENGTH)
    assert surface.sum() > 20
    # linear tetrahedra average over the depth of an element, and are too stiff
    tolerance = 0.02 if beam.mesh.kind == 'brick' else 0.35
    np.testing.assert_allclose(stress[surface], expected, rtol=tolerance)


@pytest.mark.parametrize('vibrations', [0, 4])
def test_a_clamped_beam_has_the_sag_and_the_stress_of_its_weight(beam, vibrations):
    """Middle of a beam with built-in ends: q L^4 / 384 E I and q L^2 / 24, with and without vibrations in their sag."""
    held = replace(beam, vibrations=vibrations)
    skin, gravity = skin_of(held, 4000), np.array([0.0, 0.0, -9.81])
    amplitudes = held.reduced.load(gravity)[18:] / held.reduced.frequencies**2
    corners, stress = skin.at(held.positions, amplitudes, gravity)
    at = skin.positions + skin.body.middle
    middle = (np.abs(at[:, 0]) < 1e-9) & (np.abs(np.abs(at[:, 2]) - HEIGHT / 2.0) < 1e-9)
    assert middle.sum() >= 2
    line, inertia = 200.0 * 9.81 * WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12.0
    bricks = beam.mesh.kind == 'brick'
    sag = line * LENGTH**4 / (384.0 * 1e7 * inertia)
    np.testing.assert_allclose((corners - at)[middle, 2], -sag, rtol=0.06 if bricks else 0.35)
    expected = line * LENGTH**2 / 24.0 * (HEIGHT / 2.0) / inertia
    np.testing.assert_allclose(stress[middle], expected, rtol=0.06 if bricks else 0.45)


def test_a_body_that_turns_as_a_whole_has_no_stress_and_keeps_its_shape(beam):
    skin = skin_of(beam, 2000)
    turn = Rotation.from_rotvec((0.4, -1.1, 2.0)).as_matrix()
    corners, stress = skin.at(beam.positions @ turn.T + (1.0, 2.0, 3.0))
    np.testing.assert_allclose(corners, (skin.positions + skin.body.middle) @ turn.T + (1.0, 2.0, 3.0), atol=1e-10)
    assert stress.max() < 1.0


def test_strains_at_corners_equal_a_uniform_field():
    mesh = box_mesh((1.0, 0.7, 0.3), (2, 2, 1))
    mesh.nodes[:] += 0.02 * np.random.default_rng(2).normal(size=mesh.nodes.shape)
    gradient = np.array([(1e-3, 2e-3, 0.0), (0.0, -5e-4, 1e-3), (3e-3, 0.0, 2e-4)])
    moved = (mesh.nodes @ gradient.T)[mesh.elements].reshape(len(mesh.elements), 1, 24, 1)
    result = (corner_strains(mesh, SOLID) @ moved)[..., 0]
    expected = [1e-3, -5e-4, 2e-4, 2e-3, 1e-3, 3e-3]
    np.testing.assert_allclose(result, np.broadcast_to(expected, result.shape), atol=1e-12)


@pytest.mark.parametrize('most', [200, 600, 100_000])
def test_a_fine_surface_is_thinned_to_a_closed_one_of_the_same_size(most):
    mesh = box_mesh((1.0, 0.6, 0.02), (60, 40, 1))
    kept, faces = thinned(mesh, most)
    assert 0.3 * min(most, 9000) < len(faces) <= most
    corners = mesh.nodes[kept]
    np.testing.assert_allclose(np.ptp(corners, axis=0), (1.0, 0.6, 0.02))
    a, b, c = (corners[faces[:, k]] for k in range(3))
    assert np.einsum('ij,ij->', a, np.cross(b, c)) / 6.0 == pytest.approx(0.012, rel=1e-9), 'the volume inside'
    edges = {(int(face[k]), int(face[(k + 1) % 3])) for face in faces for k in range(3)}
    assert all((end, start) in edges for start, end in edges)


def test_von_mises_stress_of_tension_and_of_shear():
    assert von_mises(np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])) == pytest.approx(3.0)
    assert von_mises(np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])) == pytest.approx(2.0 * np.sqrt(3.0))
    assert von_mises(np.array([5.0, 5.0, 5.0, 0.0, 0.0, 0.0])) == 0.0
