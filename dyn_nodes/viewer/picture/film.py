"""Films: pictures of several instants in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import printable
from dyn_nodes.viewer.geometry import ground_rotation, rotation_of
from dyn_nodes.viewer.picture.camera import camera_for
from dyn_nodes.viewer.picture.painter import Painter
from dyn_nodes.viewer.robot import Robot
from dyn_nodes.viewer.situation import with_situations
from dyn_nodes.viewer.snapshot import Snapshot

Picture = NDArray[np.uint8]
FORMATS = {'.gif': 'GIF', '.webp': 'WEBP', '.png': 'PNG'}
"""Formats of films by file extension."""
COLOURS = 200
MEDIAN_CUT: Any = 0
NO_DITHER: Any = 0
"""Constants of Pillow, whose names differ between versions."""


class FilmError(UserError, ValueError):
    """A film that cannot be created; the message is one line."""


def film(
    robot: Robot,
    snapshots: Sequence[Snapshot],
    size: tuple[int, int],
    preset: str = 'Follow',
    load_link: str = '',
    title: str = '',
    events: Sequence[str] = (),
) -> Iterator[Picture]:
    """Yield a picture (height, width, 3) of every instant; the camera shows the machine at all of them.

    Args:
        robot: shape of the machine.
        snapshots: instants, at least one.
        size: width and height, pixels.
        preset: name of a camera preset of the cockpit.
        load_link: link on which the load is drawn.
        title: text before the time.
        events: text of recent events for every instant; () for none.
    """
    if any(snapshot.situation is None for snapshot in snapshots):
        with_situations(snapshots)
    corners = []
    for snapshot in snapshots:
        base = rotation_of(snapshot.base_quaternion)
        points = base.apply(robot.corners(snapshot.joints)) + np.asarray(snapshot.base_position)
        corners.append(ground_rotation(*snapshot.slope).apply(points))
    camera = camera_for(corners, *size, preset)
    covered = Painter(robot, camera, load_link).covered(snapshots[-1])
    painter = Painter(robot, camera_for(corners, *size, preset, covered), load_link)
    for k, snapshot in enumerate(snapshots):
        yield painter.draw(snapshot, title, events[k] if events else '')


def recorded_film(
    recording: Any,
    robot: Robot,
    times: Sequence[float],
    size: tuple[int, int],
    preset: str = 'Follow',
    load_link: str = '',
    title: str = '',
) -> Iterator[Picture]:
    """Yield the pictures of a recorded run at times, s, with its events.

    Args:
        recording: `dyn_nodes.viewer.replay.Recording`.
        robot: shape of the machine.
        times: instants, at least one, s.
        size: width and height, pixels.
        preset: name of a camera preset of the cockpit.
        load_link: link on which the load is drawn.
        title: text before the time.
    """
    snapshots = [recording.at(time) for time in times]
    events = [printable(recording.event(time)) for time in times]
    yield from film(robot, snapshots, size, preset, load_link, printable(title), events)


def save(path: Path, pictures: Iterable[Picture], period: float, samples: Iterable[Picture] = ()) -> None:
    """Write pictures as a repeating film.

    Args:
        path: file; its extension selects GIF, WebP or PNG (animated).
        pictures: (height, width, 3), all of one size, at least one. With samples a GIF takes them one by one.
        period: duration of each picture, s.
        samples: pictures with the colours of the film; () for some of all pictures.

    Raises:
        FilmError: another extension, or no pictures.
        OSError: the file cannot be written.
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise FilmError(f'{path}: expected a name that ends in {", ".join(FORMATS)}')
    from PIL import Image

    sheet = [Image.fromarray(picture) for picture in samples]
    images: Iterator[Any] = (Image.fromarray(picture) for picture in pictures)
    options: dict[str, Any] = {'duration': round(1000.0 * period), 'loop': 0}
    if kind == 'GIF':
        if not sheet:
            sheet = list(images)
            images = iter(sheet)
        palette = _palette(sheet) if sheet else None
        images = (image.quantize(palette=palette, dither=NO_DITHER) for image in images)
        options |= {'optimize': True, 'disposal': 1}
    first = next(images, None)
    if first is None:
        raise FilmError('expected pictures, found none')
    first.save(path, kind, save_all=True, append_images=images, **options)


def _palette(images: Sequence[Any]) -> Any:
    """Return a palette image from some pictures; with one palette for all, the file stores only changes."""
    from PIL import Image

    some = images[:: max(1, len(images) // 8)]
    width, height = some[0].size
    sheet = Image.new('RGB', (width, height * len(some)))
    for k, image in enumerate(some):
        sheet.paste(image, (0, k * height))
    return sheet.quantize(COLOURS, method=MEDIAN_CUT)
