"""Finished motions on a page: the rolling disk as it is computed, in a headless Chromium where there is one."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, find_chromium

from dyn_nodes import cli
from dyn_nodes.studies.animations import animations_of
from dyn_nodes.studies.saha_1991.disk import CIRCLES, DISK, GENERAL
from dyn_nodes.studies.saha_1991.disk_motion import disk_motion
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES

pytest.importorskip('viser', reason='the viewer needs viser')
from dyn_nodes.viewer.player import SHOWN, Player

SCREENSHOTS = Path(__file__).resolve().parents[2] / 'build' / 'screenshots'
LOCAL = ('http://127.0.0.1:', 'ws://127.0.0.1:', 'blob:http://127.0.0.1:', 'data:')


@pytest.fixture(scope='module')
def motions():
    return animations_of('saha-1991/disk', ('F1', 'F2', 'D4'))


@pytest.fixture
def player(motions):
    made = Player(motions)
    yield made
    made.stop()


@pytest.mark.parametrize('start', [GENERAL, DISK.steady_state(*CIRCLES['D'])], ids=['general', 'circle D'])
@pytest.mark.parametrize('scheme', [name for name in SCHEMES if name != 'F1'])
def test_all_schemes_show_the_same_poses(scheme, start):
    shown, expected = (disk_motion(DISK, name, DISK.run(name, start, 1e-3, 1000), start[2]) for name in (scheme, 'F1'))
    assert shown.rotations == pytest.approx(expected.rotations, abs=1e-7)
    assert shown.contact == pytest.approx(expected.contact, abs=1e-9)


def test_the_shown_disc_rolls_on_its_contact_without_slip():
    motion = disk_motion(DISK, 'D1', DISK.run('D1', GENERAL, 1e-3, 1000))
    assert motion.contact[:, 2] == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(motion.centre - motion.contact, axis=1) == pytest.approx(DISK.radius, abs=1e-12)
    # the point of the disc at the contact has no velocity: its place in the disc's axes, moved with the pose
    for k in (200, 500, 800):
        contact_point = motion.rotations[k].T @ (motion.contact[k] - motion.centre[k])
        before, after = (motion.centre[j] + motion.rotations[j] @ contact_point for j in (k - 1, k + 1))
        speed = np.linalg.norm(after - before) / 2e-3
        assert speed < 2e-3 * np.linalg.norm(motion.centre[k + 1] - motion.centre[k - 1]) / 2e-3 + 1e-4


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match='expected 1 to 6 schemes among F1, F2'):
        animations_of('saha-1991/disk', ('F9',))


def test_a_body_that_has_come_to_its_end_stays_there(motions):
    body = motions['circle A'].bodies['F2']
    assert body.times[-1] < 3.5, 'the scheme falls off the circle, and the disk lies down'
    assert body.pose(3.5)[0] == pytest.approx(body.positions[-1])
    assert body.pose(0.0)[0] == pytest.approx(body.positions[0])


def test_the_page_has_the_pose_of_the_motion_and_time_goes_on(player):
    player.show('circle D')
    player.speed = 1.0
    player.advance(0.5)
    assert player.time == pytest.approx(0.5)
    body = player.animation.bodies['F1']
    position, rotation = body.pose(0.5)
    handle = player.handles['body/F1']
    assert handle.position == pytest.approx(position * SHOWN / player.animation.span, abs=1e-3)
    w, x, y, z = handle.wxyz
    assert 2 * (x * z + w * y) == pytest.approx(rotation[0, 2], abs=1e-3)
    player.playing = False
    player.advance(0.5)
    assert player.time == pytest.approx(0.5)
    player.playing, player.time = True, 3.4
    player.advance(0.2)
    assert player.time == 0.0, 'at its end it begins anew'


def test_what_stands_still_sends_nothing(player):
    player.playing = False
    player.draw()
    sent = player.messages
    for _ in range(5):
        player.advance(0.1)
    assert player.messages == sent


def test_the_stream_has_every_pose_of_every_body(motions, tmp_path, capsys):
    file = tmp_path / 'poses.csv'
    command = ['study', 'view', 'saha-1991/disk', '--variants', 'F1', 'D4', '--motion', 'circle D', '--csv', str(file)]
    assert cli.main(command) == 0
    with file.open() as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 2 * 501
    times = [float(row['time']) for row in rows]
    assert times == sorted(times)
    last = np.array([float(rows[-1][f'r{i}{k}']) for i in (1, 2, 3) for k in (1, 2, 3)]).reshape(3, 3)
    assert last @ last.T == pytest.approx(np.eye(3), abs=1e-9)


@pytest.mark.parametrize(
    ('arguments', 'part'),
    [
        (['saha-1991/omni'], "no motion of study 'saha-1991/omni' to view; available: saha-1991/disk"),
        (['saha-1991/disk', '--variants', 'F6'], 'expected 1 to 6 schemes'),
        (['saha-1991/disk', '--motion', 'circle E'], '--motion: expected one of general motion, circle A'),
        (['saha-1991/disk', '--motion', 'circle A', '--csv', '/no/such/folder/x.csv'], '--csv /no/such/folder/x.csv'),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, part, capsys):
    assert cli.main(['study', 'view', *arguments]) == 1
    error = capsys.readouterr().err
    assert part in error
    assert error.count('\n') == 1


def test_the_command_opens_a_page_on_this_machine_only(capsys):
    assert cli.main(['study', 'view', 'saha-1991/disk', '--port', '0', '--duration', '0.3']) == 0
    assert 'on http://127.0.0.1:' in capsys.readouterr().out


@pytest.mark.slow
def test_the_disc_rolls_in_the_browser(player):
    from PIL import Image

    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium: install the package chromium, or name one in $CHROMIUM')

    def picture(name: str = '') -> np.ndarray:
        data = browser.screenshot(SCREENSHOTS / f'{name}.png' if name else None)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'), dtype=np.int16)

    def blue(image: np.ndarray) -> float:
        red, green, other = np.moveaxis(image, 2, 0)
        return float(((other > red + 60) & (other > green + 25)).mean())

    player.show('circle D')
    player.playing = False
    player.stage.set_shadows(False)  # slow where the browser has no graphics processor
    with Chromium(program, 1200, 700) as browser:
        browser.open(player.address)
        browser.wait_for("document.querySelector('[data-motion]')?.dataset.motion === 'circle D'", 60.0)
        browser.style('.mantine-Notification-root { display: none }')

        def until(done, time_shown: float) -> np.ndarray:
            deadline, player.time = time.monotonic() + 60.0, time_shown
            while True:
                player.advance(0.0)
                time.sleep(0.5)
                image = picture('rolling_disk')
                if done(image):
                    return image
                assert time.monotonic() < deadline, 'not within a minute'

        first = until(lambda image: blue(image) > 0.004, 0.1)  # the disc is there
        until(lambda image: (np.abs(first - image).max(axis=2) > 40).mean() > 0.01, 1.2)  # and rolls
        assert [address for address in browser.requests if not address.startswith(LOCAL)] == []
        assert browser.errors == []
