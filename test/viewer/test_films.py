"""Recorded runs as instants and as films."""

from __future__ import annotations

import argparse
import dataclasses
import weakref

import numpy as np
import pytest
from PIL import Image
from small_bags import LIFT_OFF, SECONDS, write_bag

from dyn_nodes import cli
from dyn_nodes.commands.recorded_machine import read_recorded
from dyn_nodes.measures import measure
from dyn_nodes.middleware.bags import BagError
from dyn_nodes.nodes.bag_snapshots import read_replay, stamp_of
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.viewer.picture import Camera, Painter, camera_for, save
from dyn_nodes.viewer.picture.film import film
from dyn_nodes.viewer.picture.raster import fill_triangles
from dyn_nodes.viewer.robot import load_robot
from dyn_nodes.viewer.snapshot import Margin, Snapshot


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'first')


@pytest.fixture(scope='module')
def replay(bag):
    return read_replay(bag, machine_of('log_loader', ''))


@pytest.fixture(scope='module')
def robot(replay):
    return load_robot(replay.description)


def yellow(picture: np.ndarray) -> np.ndarray:
    """Return the mask (height, width) of pixels in the colour of the machine."""
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    return (red > 120) & (green > 80) & (blue < 60)


# -- instants ----------------------------------------------------------------------------------------------------------


def test_instants_have_the_newest_message_of_every_topic(replay):
    assert replay.duration == pytest.approx(SECONDS, abs=0.05)
    assert 0.02 <= np.diff(replay.times).min() <= np.diff(replay.times).max() <= 0.05
    for time in (0.0, 1.0, 3.0):
        assert replay.at(time).joints['boom_joint'] == pytest.approx(0.8 - 0.1 * time, abs=0.005)
    assert replay.at(1.0).margins['zmp_degree'].value == 0.8
    assert replay.at(3.0).margins['zmp_degree'].value == 1e-17
    assert replay.at(0.0).payload == 5100.0
    assert replay.at(-1.0) is replay.snapshots[0]
    assert replay.at(1e9) is replay.snapshots[-1]


def test_events_have_their_time_and_disappear_after_ten_seconds(replay):
    assert replay.events == [(pytest.approx(LIFT_OFF, abs=0.05), 'lift off: rear left')]
    assert replay.event(LIFT_OFF - 0.1) == ''
    assert replay.event(SECONDS) == 'lift off: rear left'
    assert replay.event(LIFT_OFF + 11.0) == ''


def test_stamps_of_a_wall_clock_are_shown_since_the_start(tmp_path):
    replay = read_replay(write_bag(tmp_path / 'day', start=1.7e9))
    assert replay.at(1.0).time == pytest.approx(1.0, abs=0.05)
    assert replay.duration == pytest.approx(SECONDS, abs=0.05)


def test_a_machine_in_a_namespace_is_found_and_a_wrong_one_is_named(tmp_path):
    bag = write_bag(tmp_path / 'left', prefix='left/')
    assert read_replay(bag).at(1.0).joints['boom_joint'] == pytest.approx(0.7, abs=0.005)
    assert len(read_replay(bag, namespace='/left').times) > 10
    with pytest.raises(BagError, match='expected /right/joint_states, found /left/joint_states'):
        read_replay(bag, namespace='right')


def test_a_message_without_a_header_is_rejected():
    with pytest.raises(BagError, match='expected a header, found 3 bytes'):
        stamp_of(b'\0\1\0')
    assert stamp_of(bytes((0, 1, 0, 0, 2, 0, 0, 0, 0, 202, 154, 59))) == 3.0


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_the_nearer_triangle_is_visible():
    near = [(2.0, 2.0, 0.5), (18.0, 2.0, 0.5), (2.0, 18.0, 0.5)]
    far = [(0.0, 0.0, 0.1), (30.0, 0.0, 0.1), (0.0, 30.0, 0.1)]
    behind = [(0.0, 0.0, 0.0), (30.0, 0.0, 1.0), (0.0, 30.0, 1.0)]
    for order in ((0, 1, 2), (2, 1, 0)):
        triangles = np.array([near, far, behind])[list(order)]
        colours = np.diag([100.0, 200.0, 250.0])[list(order)]
        depth, image = np.zeros((20, 20)), np.zeros((20, 20, 3))
        fill_triangles(triangles, colours, depth, image)
        assert image[5, 5].tolist() == [100.0, 0.0, 0.0]
        assert image[1, 1].tolist() == [0.0, 200.0, 0.0]
        assert depth[19, 19] == 0.0 or image[19, 19, 1] == 200.0


def test_points_are_on_the_rays_of_their_pixels():
    camera = Camera(np.array((4.0, -6.0, 3.0)), np.array((0.5, 0.0, 1.0)), 64, 40)
    rays = camera.rays()
    points = camera.eye + 7.0 * rays[[3, 20, 39], [2, 32, 63]]
    placed = camera.project(points)
    assert placed[:, 0] == pytest.approx([2.5, 32.5, 63.5])
    assert placed[:, 1] == pytest.approx([3.5, 20.5, 39.5])
    assert placed[:, 2] == pytest.approx([1 / 7.0] * 3)
    assert camera.project(camera.eye - rays[20, 32])[0, 2] == 0.0


@pytest.mark.parametrize('preset', ['Follow', 'Side', 'Front', 'Top'])
def test_the_whole_machine_is_in_the_picture(robot, preset):
    corners = robot.corners({'boom_joint': 0.5, 'stick_joint': -0.6}) + np.array((0.0, 0.0, 1.5))
    camera = camera_for([corners], 320, 200, preset)
    placed = camera.project(corners)
    assert (placed[:, 2] > 0.0).all()
    assert (placed[:, :2] > 0.0).all()
    assert (placed[:, :2] < (320, 200)).all()


def test_a_picture_shows_machine_load_and_danger(replay, robot):
    corners = robot.corners(replay.at(0.0).joints) + np.array((0.0, 0.0, 1.5))
    painter = Painter(robot, camera_for([corners], 320, 200), 'payload_link')
    good, bad = painter.draw(replay.at(1.0), 'log loader'), painter.draw(replay.at(3.0), 'log loader', 'lift off')
    assert good.shape == (200, 320, 3)
    assert yellow(good).mean() > 0.01
    assert np.abs(good.astype(int) - painter.draw(replay.at(1.0), 'log loader')).max() == 0
    assert good[12, 10].tolist()[1] > good[12, 10].tolist()[0]  # the banner is green, then red
    assert bad[12, 10].tolist()[0] > 2 * bad[12, 10].tolist()[1]
    snapshot = replay.at(1.0)
    snapshot.payload = 0.0
    dropped = painter.draw(snapshot, 'log loader')
    snapshot.payload = 5100.0
    assert 0.001 < (np.abs(good.astype(int) - dropped).max(axis=2) > 40).mean() < 0.1


def test_the_boom_of_the_picture_descends_with_the_joint(robot):
    high, low = (Snapshot(joints={'boom_joint': q}, base_position=(0.0, 0.0, 1.5)) for q in (0.7, 0.1))
    corners = [robot.corners(snapshot.joints) + np.array((0.0, 0.0, 1.5)) for snapshot in (high, low)]
    painter = Painter(robot, camera_for(corners, 320, 200, 'Side'))
    tops = [np.flatnonzero(yellow(painter.draw(snapshot)).any(axis=1)).min() for snapshot in (high, low)]
    assert tops[0] < tops[1] - 10


# -- films -------------------------------------------------------------------------------------------------------------


def test_film_writes_pictures_at_their_rate(bag, tmp_path, capsys):
    output = tmp_path / 'new' / 'run.gif'
    arguments = ['--from', '1', '--to', '3', '--rate', '5', '--size', '160x100']
    assert cli.main(['bag', 'film', str(bag), '-o', str(output), *arguments]) == 0
    assert f'{output}: 11 pictures, 2.2 s' in capsys.readouterr().out
    with Image.open(output) as image:
        assert (image.size, image.n_frames, image.info['duration'], image.info['loop']) == ((160, 100), 11, 200, 0)
        first = np.asarray(image.convert('RGB'))
        image.seek(10)
        assert (np.abs(first.astype(int) - np.asarray(image.convert('RGB'))).max(axis=2) > 40).mean() > 0.01


def test_the_machine_of_a_film_is_beside_the_bars_of_its_margins(robot, replay):
    snapshot, size = replay.at(0.5), (640, 400)
    wide = dict.fromkeys(('static', 'zmp', 'force_angle', 'extended_energy', 'load_share', 'net_moment'), Margin(0.1))
    snapshot = dataclasses.replace(snapshot, margins=wide)
    points = robot.corners(snapshot.joints) + np.asarray(snapshot.base_position)
    plain = camera_for([points], *size)
    covered = Painter(robot, plain).covered(snapshot)
    assert 150.0 < covered < 0.5 * size[0]
    assert plain.project(points)[:, 0].min() < covered
    across = camera_for([points], *size, covered=covered).project(points)[:, 0]
    assert covered < across.min() < across.max() < size[0]
    picture = next(film(robot, [snapshot], size))
    assert yellow(picture[:, : round(covered)]).sum() == 0


def test_a_film_of_a_given_length_is_slow_motion_with_an_instant_for_each_picture(bag, tmp_path, capsys):
    output = tmp_path / 'slow.gif'
    arguments = ['--from', '1', '--to', '1.5', '--rate', '10', '--size', '160x100', '--length', '2.5']
    assert cli.main(['bag', 'film', str(bag), '-o', str(output), *arguments]) == 0
    text = capsys.readouterr()
    assert f'{output}: drawing 26 pictures' in text.err
    assert f'{output}: 26 pictures, 2.6 s' in text.out
    options = argparse.Namespace(machine='log_loader', config=None, namespace=None)
    usual, fine = (len(read_recorded(str(bag), options, rate).replay.times) for rate in (0.0, 50.0))
    assert fine == pytest.approx(SECONDS * 50 + 1, abs=1)
    assert usual < 0.7 * fine


def test_pictures_of_a_film_are_taken_one_by_one(tmp_path):
    alive = []

    def pictures():
        for k in range(20):
            picture = np.full((40, 60, 3), 10 * k, dtype=np.uint8)
            alive.append(weakref.ref(picture))
            assert sum(each() is not None for each in alive) <= 4, 'a long film does not fit into memory as a whole'
            yield picture

    save(tmp_path / 'film.gif', pictures(), 0.1, [np.full((40, 60, 3), 90, dtype=np.uint8)])
    with Image.open(tmp_path / 'film.gif') as image:
        assert image.size == (60, 40)
    assert len(alive) == 20


def test_two_bags_are_beside_each_other(bag, tmp_path):
    other = write_bag(tmp_path / 'second', swing=1.0)
    output = tmp_path / 'both.webp'
    arguments = ['--to', '0', '--size', '160x100', '--title', 'left', '--title', 'right']
    assert cli.main(['bag', 'film', str(bag), str(other), '-o', str(output), *arguments]) == 0
    with Image.open(output) as image:
        picture = np.asarray(image.convert('RGB'))
    assert picture.shape == (100, 320, 3)
    halves = picture[:, :160], picture[:, 160:]
    assert all(yellow(half).mean() > 0.005 for half in halves)
    assert (np.abs(halves[0].astype(int) - halves[1]).max(axis=2) > 40).mean() > 0.02


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['-o', 'x.mp4'], '--out: expected a name that ends in .gif, .webp, .png, found x.mp4'),
        (['-o', 'x.gif', '--camera', 'Low'], "--camera: expected one of Follow, Side, Front, Top, found 'Low'"),
        (['-o', 'x.gif', '--size', '9x9'], "--size: expected WIDTHxHEIGHT, 64 to 4096 pixels each, found '9x9'"),
        (['-o', 'x.gif', '--speed', 'nan'], '--speed: expected 0.01 to 100, found nan'),
        (['-o', 'x.gif', '--from', '3', '--to', '2'], 'expected 1 to 5000 pictures, found 0'),
        (['-o', 'x.gif', '--machine', 'log_lader'], "unknown machine 'log_lader' (did you mean 'log_loader'?)"),
    ],
)
def test_wrong_options_are_named(bag, arguments, message, capsys):
    assert cli.main(['bag', 'film', str(bag), *arguments]) in (1, 2)
    assert message in capsys.readouterr().err


def test_a_missing_bag_is_one_line(tmp_path, capsys):
    assert cli.main(['bag', 'view', str(tmp_path / 'none')]) == 1
    assert capsys.readouterr().err.count('\n') == 1


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('net_moment', -5.5e-12, '0 N m'),
        ('zmp', 2.4e-16, '0'),
        ('static', -4e-4, '0 m'),
        ('static', -0.012, '-0.012 m'),
        ('load_share', 1e-7, '0 %'),
        ('energy', 25_600.0, '25.6 kJ'),
    ],
)
def test_round_off_is_shown_as_zero(name, value, text):
    assert measure(name).display(value) == text
