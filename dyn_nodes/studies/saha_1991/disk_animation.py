"""Animation of the rolling disk: the four circles and a general motion, by several of the twelve schemes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.studies.saha_1991.disk import CIRCLES, DISK, GENERAL, STEP
from dyn_nodes.studies.saha_1991.disk_motion import DiskMotion, disk_motion
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES
from dyn_nodes.viewer.animation import Animation, Body, Trace, disc
from dyn_nodes.viewer.colours import AMBER, BLUE, GREEN, PURPLE, RED, SKY, WHITE, Rgb

DEFAULT_SCHEMES = ('F1', 'F2')
DURATION = 3.5  # s
COLOURS: tuple[Rgb, ...] = (BLUE, AMBER, GREEN, PURPLE, SKY, RED)
FLAT = 0.03  # rad from lying flat, where the frames of the schemes are singular and the animation ends
NOTES = {
    'A': 'Unstable: each scheme leaves the circle when its error has grown.',
    'B': 'Unstable, as A.',
    'C': 'Unstable, as A.',
    'D': 'Stable: every scheme stays on it.',
}


def animations(schemes: Sequence[str] = DEFAULT_SCHEMES) -> dict[str, Animation]:
    """Return the motions by name, all schemes in one scene; the first hides others at the same position.

    Raises:
        ValueError: an unknown scheme, or more schemes than colours.
    """
    unknown = [name for name in schemes if name not in SCHEMES]
    if unknown or not 1 <= len(schemes) <= len(COLOURS):
        names = ', '.join(unknown or schemes) or 'none'
        raise ValueError(f'expected 1 to {len(COLOURS)} schemes among {", ".join(SCHEMES)}; found {names}')
    made = {'general motion': _animation('A general motion', GENERAL, schemes, 'From a tilt of 20 degrees.')}
    for circle, rates in CIRCLES.items():
        title = f'Circle {circle}: heading {rates[0]:g} rad/s, spin {rates[1]:g} rad/s'
        made[f'circle {circle}'] = _animation(title, DISK.steady_state(*rates), schemes, NOTES[circle])
    return made


def _animation(title: str, start: np.ndarray, schemes: Sequence[str], note: str) -> Animation:
    bodies, traces, energies, tilts = {}, {}, {}, {}
    general = start is GENERAL
    for number, (scheme, colour) in enumerate(zip(dict.fromkeys(schemes), COLOURS)):
        run = DISK.run(scheme, start, STEP, round(DURATION / STEP))  # type: ignore[arg-type]
        motion = _cut(disk_motion(DISK, scheme, run, start[2]))
        # each disk is slightly smaller than the previous one, so that disks at one position do not flicker
        smaller = 1.0 - 0.015 * number
        shapes = disc(smaller * DISK.radius, 0.06 * (1.0 - 0.1 * number) * DISK.radius, (colour, WHITE))
        bodies[scheme] = Body(shapes, motion.times, motion.centre, motion.rotations)
        traces[f'{scheme} contact'] = Trace(motion.times, motion.contact * np.array([1.0, 1.0, 0.0]), colour)
        error = np.abs(motion.energy / motion.energy[0] - 1.0)
        energies[scheme] = motion.times, np.log10(np.maximum(error, 1e-18))
        tilts[scheme] = motion.times, np.degrees(motion.tilt) if general else 1e3 * np.degrees(motion.tilt - start[0])
    name = 'Tilt, deg' if general else 'Tilt off the circle, mdeg'
    curves = {name: tilts, 'log10 of relative energy error': energies}
    reach = np.vstack([body.positions for body in bodies.values()])
    span = max(float(np.ptp(reach[:, :2], axis=0).max()) + 2.0 * DISK.radius, 3.0 * DISK.radius)
    return Animation(title, DURATION, span, bodies, traces, curves, note)


def _cut(motion: DiskMotion) -> DiskMotion:
    """Return the motion until the disk almost lies flat, or its scheme fails."""
    over = np.abs(motion.rotations[:, 2, 2]) > np.cos(FLAT)
    over[1:] |= np.linalg.norm(np.diff(motion.centre, axis=0), axis=1) > DISK.radius
    end = max(int(np.argmax(over)), 2) if over.any() else len(over)
    fields = (motion.times, motion.centre, motion.contact, motion.rotations, motion.energy, motion.tilt)
    return DiskMotion(*(values[:end] for values in fields))
