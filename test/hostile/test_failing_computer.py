"""No directory for a cache, a full disk, a used port: one line reports it."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3

import pytest

from dyn_nodes.cli import main
from dyn_nodes.common import sealing
from dyn_nodes.middleware import Context, Parameter, init
from dyn_nodes.middleware.bags import BagError, BagWriter, Topic
from dyn_nodes.nodes import recorder_node, viewer_node
from roslite.bags.sqlite_file import SqliteFile


def test_check_without_a_writable_cache_warns_and_works(monkeypatch, capsys):
    compiled, warned = sealing.cache_directory(), []
    for name in ('DYN_NODES_CACHE', 'XDG_CACHE_HOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('HOME', '/proc/none')
    monkeypatch.setattr(sealing, 'private_directory', lambda: compiled)  # compiling again takes minutes
    monkeypatch.setattr(sealing, 'report_once', warned.append)
    assert main(['check', 'log_loader']) == 0
    assert 'no problems' in capsys.readouterr().out
    assert sealing.cache_directory() == compiled  # if all code was compiled already, the cache has not been used
    assert any('/proc/none/.cache/dyn_nodes cannot be written' in text for text in warned), warned


@pytest.fixture
def full_disk(monkeypatch):
    """Return a function after which nothing can be written."""

    def fill() -> None:
        def no_space(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def full(*_, **__):
            raise sqlite3.OperationalError('database or disk is full')

        monkeypatch.setattr('roslite.bags.mcap_file.os.pwrite', no_space)
        for method in ('commit', 'close', 'stage'):
            monkeypatch.setattr(SqliteFile, method, full)

    return fill


def test_a_bag_on_a_full_disk_is_an_error_that_names_it(full_disk, tmp_path):
    full_disk()
    with pytest.raises(BagError, match=r'bag: the bag cannot be written: No space left on device'):
        BagWriter(tmp_path / 'bag')


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_disk_that_fills_up_is_an_os_error_of_every_storage(storage, full_disk, tmp_path):
    bag = BagWriter(tmp_path / 'bag', storage)
    number = bag.add_topic(Topic('/load', 'std_msgs/msg/Float64', 'float64 data'))
    bag.checkpoint([(number, 1, 1, b'\0\1\0\0' + bytes(8))])
    full_disk()
    with pytest.raises(OSError, match=r'space|full'):
        bag.checkpoint([(number, 2, 2, b'\0\1\0\0' + bytes(8))])
    with pytest.raises(OSError, match=r'space|full'):
        bag.close()


def test_a_recorder_on_a_full_disk_ends_with_one_line(full_disk, tmp_path, capfd):
    full_disk()
    status = recorder_node.main(['recorder_node', '--ros-args', '-p', f'directory:={tmp_path / "bag"}'])
    lines = capfd.readouterr().err.splitlines()
    assert (status, len(lines)) == (1, 1)
    assert lines[0].endswith('the bag cannot be written: No space left on device')


def test_a_recorder_whose_disk_is_full_at_the_end_reports_it(full_disk, tmp_path):
    context = Context()
    init(args=['recorder'], context=context)
    directory = Parameter('directory', value=str(tmp_path / 'bag'))
    node = recorder_node.RecorderNode(context=context, parameter_overrides=[directory])
    full_disk()
    node.destroy_node()
    context.try_shutdown()
    assert node.failure == 'the bag cannot be written: [Errno 28] No space left on device'


def test_a_viewer_with_a_used_port_ends_with_one_line(capfd):
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert viewer_node.main(['viewer_node', '--ros-args', '-p', f'port:={port}']) == 1
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if 'the page cannot listen' in line] == lines
    assert len(lines) == 1
