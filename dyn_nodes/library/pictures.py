"""Films and pages of a run, from the bag that it would be saved to."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dyn_nodes.common.optional import needed
from dyn_nodes.library.bag import save_bag

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Sampled
    from dyn_nodes.viewer.replay import ReplayPage, ReplayRun


def film_run(
    run: Sampled, path: Path, size: tuple[int, int], rate: float, speed: float, camera: str, title: str | None
) -> Path:
    """Write a film of a run; arguments and errors as for `Run.film`."""
    needed('PIL', 'yourdfpy', extra='viewer')
    from dyn_nodes.viewer.camera import PRESETS
    from dyn_nodes.viewer.picture import recorded_film, save
    from dyn_nodes.viewer.picture.film import FORMATS

    if path.suffix.lower() not in FORMATS:
        raise ValueError(f'{path}: expected a name that ends in {", ".join(FORMATS)}')
    if camera not in PRESETS:
        raise ValueError(f'camera: expected one of {", ".join(PRESETS)}, found {camera!r}')
    if not (rate > 0.0 and speed > 0.0):
        raise ValueError(f'rate, speed: expected above 0, found {rate!r}, {speed!r}')
    shown = recorded(run)
    step = speed / rate
    times = [step * k for k in range(int(shown.recording.duration / step + 1e-9) + 1)]
    text = shown.name if title is None else title
    pictures = recorded_film(shown.recording, shown.robot, times, size, camera, shown.load_link, text)
    save(path, pictures, 1.0 / rate)
    return path


def view_run(run: Sampled, port: int, wait: bool) -> ReplayPage:
    """Show a run on a page; arguments and errors as for `Run.view`."""
    needed('viser', 'yourdfpy', extra='viewer')
    from dyn_nodes.viewer.replay import ReplayPage
    from dyn_nodes.viewer.time_line import advance_until, play

    page = ReplayPage([recorded(run)], port=port)
    print(f'{run.machine.name} on {page.cockpit.address}', flush=True)
    if wait:
        play(page, None)
    else:
        threading.Thread(target=advance_until, args=(page, lambda _: page.stopped), daemon=True).start()
    return page


def recorded(run: Sampled) -> ReplayRun:
    """Return a run as the cockpit shows it."""
    from dyn_nodes.common.share import folders_above
    from dyn_nodes.nodes.bag_snapshots import read_replay
    from dyn_nodes.viewer.replay import ReplayRun
    from dyn_nodes.viewer.robot import load_robot

    data: Any = run.machine.data
    rate = 1.5 * len(run) / float(run.times[-1]) if len(run) > 1 else 1.0  # every sample is shown
    with TemporaryDirectory() as folder:
        replay = read_replay(save_bag(run, Path(folder) / 'bag'), data, rate=rate)
    robot, mount = load_robot(data.urdf, folders_above(data.sources[0])), data.payload
    if mount is None or mount.link not in robot.links:
        return ReplayRun(data.name, replay, robot)
    x, y, z = mount.position
    return ReplayRun(data.name, replay, robot, mount.link, (float(x), float(y), float(z)))
