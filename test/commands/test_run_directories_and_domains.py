from __future__ import annotations

import os
import socket

import pytest

from dyn_nodes.commands.free_domain import choose_domain, claimed_domain, is_used
from dyn_nodes.commands.run_directory import new_run_directory, point_latest


def test_runs_of_the_same_second_get_separate_directories(tmp_path):
    made = [new_run_directory(tmp_path / 'runs') for _ in range(3)]
    assert len({path.name for path in made}) == 3
    assert all(path.is_dir() for path in made)


def test_latest_points_to_the_newest_run_by_a_relative_path(tmp_path):
    root = tmp_path / 'runs'
    for _ in range(2):
        run = new_run_directory(root)
        assert point_latest(run)
    assert (root / 'latest').resolve() == run
    assert os.readlink(root / 'latest') == run.name
    assert not list(root.glob('.latest*'))


def test_a_directory_named_latest_is_no_failure(tmp_path):
    run = new_run_directory(tmp_path)
    (tmp_path / 'latest').mkdir()
    assert point_latest(run) is False
    assert not list(tmp_path.glob('.latest*'))


def test_the_users_domain_is_kept():
    assert choose_domain({'ROS_DOMAIN_ID': '42'}) == 42


def test_a_domain_with_a_participant_is_passed_over():
    free = choose_domain({})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(('', 7400 + 250 * free + 10))
        assert is_used(free)
        assert choose_domain({}) > free
    assert not is_used(free)


def test_a_claimed_domain_is_not_chosen_again_until_the_claim_ends():
    with claimed_domain({}) as first, claimed_domain({}) as second:
        assert first < second
        assert is_used(first)
        assert choose_domain({}) > second
    assert not is_used(first)
    assert not is_used(second)
    with claimed_domain({'ROS_DOMAIN_ID': '42'}) as users:
        assert users == 42


@pytest.mark.parametrize('text', ['', 'abc', '-1'])
def test_an_invalid_domain_is_replaced(text):
    assert 0 <= choose_domain({'ROS_DOMAIN_ID': text}) <= 101
