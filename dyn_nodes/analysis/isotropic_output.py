"""Plot, table, JSON and vehicle YAML of isotropic layouts (`dyn_nodes.multibody.isotropic_design`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.analysis.omni_output import draw_vehicle
from dyn_nodes.analysis.plots import BLACK, BLUE, GREY, ORANGE, RESOLUTION, style
from dyn_nodes.multibody.isotropic_design import ROOT, Design, condition_map
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
RATIOS, ANGLES = (0.25, 3.0), (0.0, 180.0)
MOST_DRAWN = 6


def table_rows(design: Design) -> list[tuple[str, ...]]:
    """Return number, x and y, m, hub, roller and line, degrees, of every wheel."""
    rows = []
    for number, wheel in enumerate(design.layout.wheels, 1):
        x, y = centre(wheel)
        angles = (math.degrees(angle) for angle in (wheel.hub, wheel.roller, line_direction(wheel)))
        rows.append((str(number), *(f'{value + 0.0:.5g}' for value in (_tidy(x), _tidy(y), *map(_tidy, angles)))))
    return rows


def centre(wheel: OmniWheel) -> tuple[float, float]:
    """Return the centre of a wheel, m."""
    return wheel.distance * math.cos(wheel.direction), wheel.distance * math.sin(wheel.direction)


def line_direction(wheel: OmniWheel) -> float:
    """Return the direction of the roller's axis on the floor, 0 to pi, rad."""
    angle = (wheel.hub + wheel.roller) % math.pi
    return 0.0 if math.pi - angle < 1e-9 else angle


def _tidy(value: float) -> float:
    return 0.0 if abs(value) < 1e-9 else value


def as_json(designs: Sequence[Design]) -> list[dict[str, Any]]:
    """Return the layouts as plain numbers, SI units."""
    names = ('roller', 'hub', 'direction', 'distance', 'radius', 'roller_radius')
    return [
        {
            'family': design.family,
            'note': design.note,
            'characteristic_length': design.layout.length,
            'sigma': design.layout.sigma,
            'condition_number': design.layout.condition if math.isfinite(design.layout.condition) else None,
            'residual': design.layout.residual,
            'wheels': [{name: getattr(wheel, name) for name in names} for wheel in design.layout.wheels],
        }
        for design in designs
    ]


def vehicle_yaml(design: Design) -> str:
    """Return a layout as a vehicle for `dyn-nodes omni`; its masses and inertias are marked as placeholders."""
    layout = design.layout
    reason = "'a placeholder of the design: replace it'"
    lines = [
        f'# {design.family}: {design.note}.',
        f'# Characteristic length {layout.length:.6g} m, condition number {layout.condition:.9g}.',
        f'platform: {{mass: {{value: 30.0, assumed: {reason}}}, yaw_inertia: {{value: 1.5, assumed: {reason}}}}}',
        'defaults:',
        '  wheel:',
        f'    mass: {{value: 2.0, assumed: {reason}}}',
        f'    axial_inertia: {{value: 0.01, assumed: {reason}}}',
        f'    diametral_inertia: {{value: 0.005, assumed: {reason}}}',
        'wheels:',
    ]
    for number, wheel in enumerate(layout.wheels, 1):
        position = f'distance: {wheel.distance:.12g}, direction: {wheel.direction:.15g}'
        angles = f'hub: {wheel.hub:.15g}, roller: {wheel.roller:.15g}'
        sizes = f'radius: {wheel.radius:.12g}, roller_radius: {wheel.roller_radius:.12g}'
        lines.append(f'  wheel_{number}: {{{position}, {angles}, {sizes}}}')
    return '\n'.join(lines) + '\n'


# ------------------------------------------------------------------------------------------------ the picture


def draw(designs: Sequence[Design], count: int) -> Figure:
    """Draw the condition number over the design space of stars, and the layouts next to it."""
    from matplotlib.figure import Figure

    shown = list(designs[:MOST_DRAWN])
    columns = 2 if len(shown) > 1 else 1
    rows = -(-len(shown) // columns)
    with style():
        figure = Figure(figsize=(6.6 + 2.9 * columns, max(3.1 * rows, 4.6) + 0.4), dpi=RESOLUTION, layout='constrained')
        parts = figure.add_gridspec(1, 2, width_ratios=(6.6, 2.9 * columns))
        _draw_map(shown, count, figure.add_subplot(parts[0]))
        grid = parts[1].subgridspec(rows, columns)
        for k, design in enumerate(shown):
            _draw_layout(design, figure.add_subplot(grid[k // columns, k % columns]))
        figure.suptitle(f'Isotropic layouts of {count} wheels', x=0.01, ha='left', fontweight='bold', fontsize=13)
        return figure


def _draw_map(designs: Sequence[Design], count: int, axes: Any) -> None:
    from matplotlib.colors import BoundaryNorm

    ratios, angles = np.linspace(*RATIOS, 221), np.linspace(*ANGLES, 241)
    values = condition_map(ratios, np.radians(angles), count)
    shades = BoundaryNorm(LEVELS, 256, extend='max')
    filled = axes.contourf(ratios, angles, values, LEVELS, cmap='viridis_r', norm=shades, extend='max')
    axes.contour(ratios, angles, values, LEVELS[1:], colors='white', linewidths=0.5, alpha=0.6)
    even = np.r_[ROOT, np.linspace(ROOT, RATIOS[1], 400)[1:]]
    curve = np.degrees(np.arcsin(np.minimum(ROOT / even, 1.0)))
    outline = {'color': 'white', 'linewidth': 4.2}
    for line in (curve, 180.0 - curve):
        axes.plot(even, line, **outline)
        axes.plot(even, line, color=ORANGE, linewidth=2.2, label='isotropic' if line is curve else None)
    axes.axvline(ROOT, color=BLACK, linewidth=0.9, linestyle=':')
    axes.axvspan(RATIOS[0], ROOT, facecolor='white', alpha=0.35, edgecolor='none')
    text = 'wheels too near: no isotropic layout'
    axes.text(0.5 * (RATIOS[0] + ROOT), 90.0, text, rotation=90, va='center', ha='center', fontsize=9)
    stars = [design for design in designs if design.family.startswith('star')]
    for design in stars:
        wheel = design.layout.wheels[0]
        xi = math.degrees((wheel.roller + wheel.hub - wheel.direction) % math.pi)
        axes.plot([wheel.distance / design.layout.length], [xi], 'o', color='white', markersize=9, zorder=5)
        axes.plot([wheel.distance / design.layout.length], [xi], 'o', color=BLACK, markersize=6, zorder=6)
    if stars:
        axes.plot([], [], 'o', color=BLACK, markersize=6, label='the stars shown')
    axes.set(xlabel='distance of the wheels / characteristic length', ylabel='from radius to roller axis, deg')
    axes.set(xlim=RATIOS, ylim=ANGLES, yticks=range(0, 181, 30))
    axes.grid(visible=False)
    axes.set_title('condition number of stars (repeated by turns)')
    axes.legend(loc='center right', frameon=True, framealpha=0.92, edgecolor='none')
    bar = axes.figure.colorbar(filled, ax=axes, pad=0.02, ticks=LEVELS)
    bar.ax.set_yticklabels([f'{level:g}' for level in LEVELS])


def _draw_layout(design: Design, axes: Any) -> None:
    from matplotlib.patches import Circle

    layout = design.layout
    reach = max(wheel.distance + 1.25 * wheel.radius for wheel in layout.wheels)
    axes.add_patch(
        Circle((0.0, 0.0), layout.length * ROOT, fill=False, edgecolor=ORANGE, linewidth=1.0, linestyle='--')
    )
    for wheel in layout.wheels:
        at, angle = np.array(centre(wheel)), line_direction(wheel)
        along = 4.0 * reach * np.array([math.cos(angle), math.sin(angle)])
        axes.plot(*np.array([at - along, at + along]).T, color=ORANGE, linewidth=0.7, alpha=0.55, zorder=1)
    draw_vehicle(axes, OmniVehicle(layout.wheels), np.zeros(3))
    axes.plot([0.0], [0.0], '+', color=BLUE, markersize=7)
    axes.set(xlim=(-1.15 * reach, 1.15 * reach), ylim=(-1.15 * reach, 1.15 * reach))
    axes.set_aspect('equal')
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(design.family, fontsize=9.5, loc='center', pad=3)
    text = f'L = {layout.length:.4g} m, condition number {layout.condition:.6g}'
    axes.text(0.5, -0.01, text, transform=axes.transAxes, ha='center', va='top', fontsize=7.5, color=GREY)
