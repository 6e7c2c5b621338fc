"""Table, CSV, JSON and plot of a vehicle along a path (`omni_levels`)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.omni_levels import OmniRun
from dyn_nodes.analysis.plots import BLACK, BLUE, GREY, LINES, ORANGE, RESOLUTION, style
from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.omni_vehicle import OmniVehicle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = list[tuple[str, Array]]
Row = tuple[str, ...]


# ------------------------------------------------------------------------------------------------ the table


def headings(run: OmniRun) -> Row:
    """Return the headings of the table's columns."""
    heads = ['wheel', 'drive', 'peak rate, rad/s', 'peak acceleration, rad/s2', 'peak roller rate, rad/s']
    if run.hub_angles is not None:
        heads.append('angle at the end, rad')
    if run.torques is not None:
        heads += ['peak torque, N m', 'at, s', 'limit, N m', 'peak power, W']
    return tuple(heads)


def table_rows(run: OmniRun) -> list[Row]:
    """Return the table: the extremes of every wheel, with sign."""
    rows = []
    drives = list(run.machine.drives)
    for k, name in enumerate(run.machine.wheels):
        motions = (run.wheels.hub_rates, run.wheels.hub_accelerations, run.wheels.roller_rates)
        row = [name, 'driven' if name in drives else 'free', *(f'{extreme(m[:, k])[0]:.6g}' for m in motions)]
        if run.hub_angles is not None:
            row.append(f'{run.hub_angles[-1, k]:.6g}')
        if run.torques is not None and run.power is not None:
            row += _torque_cells(run, drives.index(name), k) if name in drives else [''] * 4
        rows.append(tuple(row))
    return rows


def _torque_cells(run: OmniRun, drive: int, wheel: int) -> list[str]:
    assert run.torques is not None
    assert run.power is not None
    peak, index = extreme(run.torques[:, drive])
    limit = run.machine.limits[wheel]
    shown = f'{limit:g}' if np.isfinite(limit) else 'none'
    return [f'{peak:.6f}', f'{run.motion.times[index]:.4g}', shown, f'{extreme(run.power[:, drive])[0]:.5g}']


def extreme(values: Array) -> tuple[float, int]:
    """Return the value (of n) of greatest magnitude, and its index; round-off is zero."""
    index = int(np.argmax(np.abs(values)))
    value = float(values[index])
    return (value, index) if abs(value) > 1e-12 else (0.0, index)


def remarks(run: OmniRun) -> list[str]:
    """Return remarks that are not in the table."""
    texts = []
    if run.energy is not None and run.torques is not None and run.power is not None:
        work = float(np.trapezoid(run.power.sum(axis=1), run.motion.times))
        texts.append(
            f'effort (integral of the squared torques): {run.effort:.6f} N2 m2 s; greatest kinetic energy: '
            f'{float(run.energy.max()):.6f} J; net work of the drives: {work + 0.0:.2e} J'
        )
    if len(run.machine.drives) == 3 and np.isfinite(run.machine.limits[run.machine.vehicle.driven]).any():
        texts.append('three drives determine the torques uniquely: their limits are only checked')
    if run.errors is not None:
        yaw, x, y = np.abs(run.errors).max(axis=0)
        texts.append(f'simulated against planned: yaw {yaw:.2e} rad, x {x:.2e} m, y {y:.2e} m at most')
    return texts


# ------------------------------------------------------------------------------------------------ CSV and JSON


def columns(run: OmniRun) -> Columns:
    """Return every history (n,) by name with its unit, as in the CSV; time, x, y and yaw can be read as a path."""
    motion, names = run.motion, run.machine.wheels
    result: Columns = [('time', motion.times)]
    result += [('x', motion.pose[:, 1]), ('y', motion.pose[:, 2]), ('yaw', motion.pose[:, 0])]
    for label, values in (('yaw_rate', 0), ('vx', 1), ('vy', 2)):
        result.append((label, motion.twist[:, values]))
    tables: list[tuple[str, tuple[str, ...], Array | None]] = [
        ('rate', names, run.wheels.hub_rates),
        ('acceleration', names, run.wheels.hub_accelerations),
        ('roller_rate', names, run.wheels.roller_rates),
        ('angle', names, run.hub_angles),
        ('roller_angle', names, run.roller_angles),
        ('torque', run.machine.drives, run.torques),
    ]
    for quantity, wheels, table in tables:
        if table is not None:
            result += [(f'{name}_{quantity}', column) for name, column in zip(wheels, table.T)]
    if run.simulated is not None:
        for label, index in (('simulated_x', 1), ('simulated_y', 2), ('simulated_yaw', 0)):
            result.append((label, run.simulated.pose[:, index]))
    return result


def write_csv(run: OmniRun, path: Path) -> None:
    """Write all histories, one sample per line, in SI units."""
    table = columns(run)
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow([name for name, _ in table])
        writer.writerows([[f'{value:.12g}' for value in row] for row in np.column_stack([c for _, c in table])])


def as_json(run: OmniRun) -> dict[str, Any]:
    """Return summary and histories as plain numbers, SI units."""
    machine = run.machine
    summary: dict[str, Any] = {}
    if run.torques is not None and run.energy is not None:
        peaks = np.abs(run.torques).max(axis=0)
        summary['peak_torques'] = dict(zip(machine.drives, peaks.tolist()))
        summary['effort'] = run.effort
        summary['greatest_energy'] = float(run.energy.max())
    rates = np.abs(run.wheels.hub_rates).max(axis=0)
    summary['peak_rates'] = dict(zip(machine.wheels, rates.tolist()))
    if run.errors is not None:
        summary['simulation_error'] = dict(zip(('yaw', 'x', 'y'), np.abs(run.errors).max(axis=0).tolist()))
    limits = {name: float(v) if np.isfinite(v) else None for name, v in zip(machine.wheels, machine.limits)}
    return {
        'vehicle': machine.name,
        'path': run.path,
        'level': run.level,
        'drives': list(machine.drives),
        'limits': limits,
        **summary,
        'histories': {name: values.tolist() for name, values in columns(run)},
    }


# ------------------------------------------------------------------------------------------------ the picture


def draw(run: OmniRun) -> Figure:
    """Draw the path from above with the vehicle on it, and the histories of the level next to it."""
    from matplotlib.figure import Figure

    with style():
        channels = _channels(run)
        rows = len(channels)
        figure = Figure(figsize=(12.0, max(2.1 * rows, 6.0) + 0.5), dpi=RESOLUTION, layout='constrained')
        halves = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.25))
        left = halves[0].subgridspec(2, 1, height_ratios=(1.6, 1.0))
        _draw_path(run, figure.add_subplot(left[0]))
        _draw_layout(run, figure.add_subplot(left[1]))
        grid = halves[1].subgridspec(rows, 1)
        panels = [figure.add_subplot(grid[k]) for k in range(rows)]
        for panel, (label, lines) in zip(panels, channels.items()):
            for number, (name, values) in enumerate(lines.items()):
                line_style: dict[str, Any] = {
                    'color': LINES[number % len(LINES)],
                    'linestyle': ('-', '--')[number // len(LINES) % 2],
                }
                panel.plot(run.motion.times, values, linewidth=1.2, label=name, **line_style)
            panel.set_ylabel(label)
            panel.set_xlim(run.motion.times[0], run.motion.times[-1])
            panel.tick_params(labelbottom=panel is panels[-1])
        drawing.legend(panels[0], 4 if len(run.machine.wheels) <= 4 else 3)
        if run.errors is not None:
            panels[-1].legend(loc='upper left', ncol=3)
        panels[-1].set_xlabel('time, s')
        figure.suptitle(f'{run.machine.name} along {run.path}', x=0.01, ha='left', fontweight='bold', fontsize=13)
        return figure


def _channels(run: OmniRun) -> dict[str, dict[str, Array]]:
    names, drives = run.machine.wheels, run.machine.drives
    channels = {'hub rate, rad/s': dict(zip(names, run.wheels.hub_rates.T))}
    channels['roller rate, rad/s'] = dict(zip(names, run.wheels.roller_rates.T))
    if run.hub_angles is not None and run.torques is None:
        channels['hub angle, rad'] = dict(zip(names, run.hub_angles.T))
    if run.torques is not None and run.power is not None:
        channels = {'torque, N m': dict(zip(drives, run.torques.T)), **channels}
        channels['power, W'] = dict(zip(drives, run.power.T))
    if run.errors is not None:
        scaled = 1e6 * run.errors
        channels['simulated - planned, 1e-6'] = {'yaw, rad': scaled[:, 0], 'x, m': scaled[:, 1], 'y, m': scaled[:, 2]}
    return channels


def _draw_path(run: OmniRun, axes: Any) -> None:
    pose = run.motion.pose
    axes.plot(pose[:, 1], pose[:, 2], color=GREY, linewidth=1.2, label='planned')
    if run.simulated is not None:
        axes.plot(run.simulated.pose[:, 1], run.simulated.pose[:, 2], '--', color=ORANGE, linewidth=1.4)
        axes.plot([], [], '--', color=ORANGE, linewidth=1.4, label='simulated')
    span = max(float(np.ptp(pose[:, 1])), float(np.ptp(pose[:, 2])), 1.0)
    size = max(max(wheel.distance for wheel in run.machine.vehicle.wheels), 0.05 * span)
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(pose[:, 1:], axis=0).T))])
    stops = np.linspace(0.0, length[-1], max(2, min(9, int(length[-1] / (2.6 * size)) + 1)))
    for k in np.unique(np.searchsorted(length, stops - 1e-12)):
        draw_vehicle(axes, run.machine.vehicle, pose[min(k, len(pose) - 1)])
    axes.set_aspect('equal')
    axes.margins(0.08)
    axes.set(xlabel='x, m', ylabel='y, m')
    axes.legend(loc='best')


def _draw_layout(run: OmniRun, axes: Any) -> None:
    vehicle = run.machine.vehicle
    draw_vehicle(axes, vehicle, np.zeros(3))
    reach = max(wheel.distance + wheel.radius for wheel in vehicle.wheels)
    for name, wheel in zip(run.machine.wheels, vehicle.wheels):
        at = (wheel.distance + 1.7 * wheel.radius) * np.array([np.cos(wheel.direction), np.sin(wheel.direction)])
        axes.text(*at, name, ha='center', va='center', fontsize=8)
    axes.set(xlim=(-1.5 * reach, 1.5 * reach), ylim=(-1.3 * reach, 1.3 * reach))
    axes.set_aspect('equal')
    axes.axis('off')
    axes.text(
        0.5,
        -0.02,
        'from above; orange: axis of the roller on the floor; white wheel: no motor',
        transform=axes.transAxes,
        ha='center',
        fontsize=7.5,
        color=GREY,
    )


def draw_vehicle(axes: Any, vehicle: OmniVehicle, pose: Array, scale: float = 1.0) -> None:
    """Draw a vehicle from above at [yaw, x, y]: its wheels, the roller axes on the floor, and the direction ahead."""
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import Affine2D

    transform = Affine2D().scale(scale).rotate(pose[0]).translate(pose[1], pose[2]) + axes.transData
    centres = np.array([w.distance * np.array([np.cos(w.direction), np.sin(w.direction)]) for w in vehicle.wheels])
    order = np.argsort(np.arctan2(centres[:, 1], centres[:, 0]))
    axes.fill(*centres[order].T, facecolor=BLUE, alpha=0.10, edgecolor=BLUE, linewidth=0.8, transform=transform)
    for wheel, centre in zip(vehicle.wheels, centres):
        width, height = 0.7 * wheel.radius, 2.0 * wheel.radius  # along the hub, and across it
        turn = Affine2D().rotate(wheel.hub).translate(*centre) + transform
        face: dict[str, Any] = {
            'facecolor': '#d9d9d9' if wheel.driven else 'white',
            'edgecolor': BLACK,
            'linewidth': 0.8,
        }
        axes.add_patch(Rectangle((-0.5 * width, -0.5 * height), width, height, transform=turn, zorder=3, **face))
        along = 0.9 * wheel.radius * np.array([np.cos(wheel.hub + wheel.roller), np.sin(wheel.hub + wheel.roller)])
        ends = np.array([centre - along, centre + along])
        axes.plot(*ends.T, color=ORANGE, linewidth=1.2, transform=transform, zorder=4)
    ahead = max(float(np.linalg.norm(centres, axis=1).max()), 0.1)
    axes.plot([0.0, 0.6 * ahead], [0.0, 0.0], color=BLUE, linewidth=1.2, transform=transform, zorder=4)
    axes.plot([0.0], [0.0], 'o', color=BLUE, markersize=3, transform=transform, zorder=4)
