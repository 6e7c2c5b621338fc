"""The examples of roslite's README run."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / 'roslite' / 'README.md'
NODE, LAUNCH, REGISTER, BAG = re.findall(r'^```python\n(.*?)^```', README.read_text(encoding='utf-8'), re.M | re.S)


@pytest.fixture
def example(start, tmp_path, monkeypatch):
    """Start an example in a folder for it."""
    monkeypatch.chdir(tmp_path)

    def run(text: str):
        (tmp_path / 'example.py').write_text(text)
        return start(tmp_path / 'example.py')

    return run


def test_a_node(example, node, spinner):
    from roslite.runtime.api import message

    received = []
    node.create_subscription(message('std_msgs/msg/String'), 'chatter', received.append, 10)
    process = example(NODE)
    spinner.until(lambda: received)
    assert received[0].data == 'hello'
    assert process.stop(signal.SIGINT)[:2] == (0, '')


def test_a_launch_file(example, tmp_path):
    text = '<launch><arg name="rate"/><executable cmd="touch $(dirname)/$(var rate)"/></launch>'
    (tmp_path / 'talker.launch.xml').write_text(text)
    process = example(LAUNCH)
    assert process.communicate() == ('', '')
    assert (tmp_path / '10').exists()


def test_a_registered_package(example, tmp_path):
    (tmp_path / 'a.launch.xml').write_text('<launch><node pkg="garden" exec="talker"/></launch>')
    process = example(
        REGISTER + "from roslite.launching import interpret\nprint(interpret('a.launch.xml').children[0].command)"
    )
    out, errors = process.communicate()
    assert "'-m', 'garden.talker'" in out, errors


def test_a_bag(example):
    out, errors = example(BAG).communicate()
    assert out.split('\n')[0] == '1', errors
    assert 'chatter' in out
